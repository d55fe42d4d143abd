//! SCAFFOLD: averaging whose clients correct their drift by control variates, estimates of their
//! own gradient and of everybody's.
//!
//! S. P. Karimireddy, S. Kale, M. Mohri, S. Reddi, S. Stich, A. T. Suresh. SCAFFOLD: Stochastic
//! Controlled Averaging for Federated Learning. ICML 2020, algorithm 1.
//! <https://arxiv.org/abs/1910.06378>
//!
//! | exchange         | direction | payload                                                        | bytes            |
//! |------------------|-----------|----------------------------------------------------------------|------------------|
//! | `model`          | downlink  | the server's control variate `c`, then the weights `x`, `f32`  | 8 × n_params     |
//! | `packed_model`   | downlink  | both where `protocol.downlink_codec` packs them, before `c` its length as `u32` | 4 and both encodings |
//! | `update`         | uplink    | training samples as `u32`, then the weights `y_i`              | 4 × n_params + 4 |
//! | `control_change` | uplink    | the change of the client's control variate, `Δc_i`             | 4 × n_params     |
//! | `packed_control_change` | uplink | the same where `protocol.uplink_codec` packs it                      | its encoding     |
//!
//! A client takes `K` steps `y ← y − rate (g(y) − c_i + c)` from `y = x` and renews its control
//! variate ([`Renewal`]). The server moves the model by the mean change over the clients that
//! answered, times `protocol.server_optimizer`'s rate, and `c` by the sum of their `Δc_i` over the
//! number `N` of *all* clients. All control variates begin at 0.
//!
//! - **`c = mean c_i`** over all clients, at all times but for what is under way: a client's `c_i`
//!   is the sum of the `Δc_i` that it has sent and that were not lost, the server's `c` that of
//!   those that came, over `N`. A late `Δc_i` is taken in although the late model beside it is
//!   dropped. One that the network loses comes back to its sender, who takes it back.
//! - **Steps** are counted as they are made, a short last batch among them. A client without
//!   training items makes none, and its `c_i` stays; so does that of a client whose model or `Δc_i`
//!   is not finite: it sends a `Δc_i` of 0, and the model is refused.
//! - **Parameters that do not learn**, such as running statistics, are averaged; their control
//!   variates are 0 and travel with the rest.
//! - **A common scale** of inputs (`scale: Federated`) comes of statistics in the first round, and
//!   its numbers are such parameters.
//! - **Sums** of `Δc_i` are in double precision, round by round in ascending order of the clients.
//! - **Codecs.** `protocol.uplink_codec` packs `Δc_i` as it packs the change of the model
//!   (`packed_control_change`), and a client keeps what the server reads of it. No memory goes
//!   along: a renewed `c_i` is a gradient and no sum, so what was left out of one `Δc_i` is in the
//!   next. `protocol.downlink_codec` packs `c` and `x` each by itself; a client corrects and renews
//!   by the `c` that it reads, so that its `c_i` still is the mean of its gradients. A codec that
//!   rounds by more than the length of what it packs, as `RandomK` without feedback, drives the
//!   control variates apart, and is doubted.
//!
//! Deviations from the paper: a sender learns at once of what the network loses; late models are
//! dropped, not waited for.

mod control;

pub use control::{Change, Control, Controls, change_from_steps, correction};

use crate::attacks::{self, Attack};
use crate::classifier::{
    self, Classified, Classifier, Course, Facts, Inputs, LocalOptimiser, Model, Scale, Split, Target, Training,
};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_privacy::NoPrivacy;
use folkmoot_rounds::packed;
use folkmoot_rounds::{
    self, Aggregation, Protocol, Rounds, Secure, SidePayload, Task, Trained, Trainer, Trains, Weighting,
};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};

/// What a task releases besides weights: as it is, so that nothing is drawn.
const CHANGE: Channel = Channel::new(0, Purpose(*b"sc-chang"));
/// Why its clients cannot be hidden.
const TOLD: &str = "clients also tell the change of their control variate, which no clip bounds; use FedAvg";
const WHOLE_PASS: Purpose = Purpose(*b"sc-whole");

/// The parameters of [`Scaffold`].
#[component(
    name = "Scaffold",
    about = "SCAFFOLD: federated averaging with control variates against client drift (ICML 2020)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Update rule of a client's control variate.
    pub renewal: Renewal,
    /// Graph neural network.
    pub model: Model,
    /// Local training, by plain gradient descent.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Scaling of node features.
    pub scale: Scale,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds; must be synchronous, without secure aggregation.
    #[component(default = Protocol { weighting: Weighting::Uniform, ..Protocol::default() })]
    pub protocol: Protocol,
    /// Attacks on the trained model, after the run.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// Update rule of a client's control variate. With either, the paper's server weights all updates
/// equally.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Option II: `c_i ← c_i − c + (x − y_i) / (K rate)`, the mean of the gradients of the local
    /// steps.
    #[default]
    #[component(sets("protocol.weighting=Uniform"))]
    FromSteps,
    /// Option I: the gradient over all training items at the global model `x`; costs one more pass
    /// over them.
    #[component(sets("protocol.weighting=Uniform"))]
    FromGradient,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let is_plain = matches!(self.training.optimiser, LocalOptimiser::Sgd { momentum } if momentum == 0.0);
        let rule = "must be Sgd() without momentum: control variates correct gradients of plain SGD steps only";
        rules.require(is_plain, "training.optimiser", rule);
        let is_synchronous = matches!(self.protocol.aggregation, Aggregation::Synchronous);
        let rule = "must be Synchronous: all clients of a round use the same control variate c; for buffered rounds use FedAvg";
        rules.require(is_synchronous, "protocol.aggregation", rule);
        let rule = "must be Off: control variates are sent in the clear and reveal the update; for secure aggregation use FedAvg";
        rules.require(self.protocol.secure == Secure::Off, "protocol.secure", rule);
        let trains = Trains {
            sends_model_alone: Err(TOLD),
            ..classifier::trains(&self.model, &self.training, self.scale)
        };
        self.protocol.suits(&trains, rules);
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Classified<Change>, Scaffold>;

    fn about(&self) -> About {
        let mut about = crate::about((&self.model, &self.training, &self.protocol), &self.split, &[]);
        let up = packed::lints(
            "protocol.uplink_codec",
            &*self.protocol.uplink_codec,
            self.model.hidden,
            true,
        );
        about.lints.extend(up);
        About {
            headline: &["test_accuracy", "payload_bytes", "virtual_s"],
            ..about
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Ok(Facts::new(self.inputs, self.split, source)?.with(Target::Classes, self.scale, source))
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let classifier = Classifier::new(&self.model, &self.training, facts)?;
        let scaffold = Scaffold {
            renewal: self.renewal,
            rate: f64::from(self.training.learning_rate as f32),
            n_clients: facts.n_clients,
        };
        let changes = MechanismInfo {
            mechanism: "none: control variates".to_owned(),
            unit: "one shard".to_owned(),
            claimed: None,
        };
        // The gradient at the server's model is one pass more, which is not cut when a client does
        // part of its work: its cost is taken to shrink with the others.
        let passes = match self.renewal {
            Renewal::FromSteps => self.training.epochs,
            Renewal::FromGradient => self.training.epochs + 1,
        };
        Classified::new(classifier)
            .costing(f64::from(passes))
            .rounds(&self.protocol)
            .with_payload(scaffold)
            .with_mechanisms(vec![changes])
            .sending_model_alone(Err(TOLD))
            .keeping(attacks::n_rounds(&self.attacks))
            .checked()
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError> {
        attacks::share(rounds, &self.attacks, facts, (self.split, source))
    }
}

/// Control variates of clients that train a classifier.
pub struct Scaffold {
    renewal: Renewal,
    /// Of a client's step, as it is made.
    rate: f64,
    n_clients: u32,
}

impl Scaffold {
    /// The model after a client's training, and the change of its control variate; 0 where there is
    /// none to be made.
    fn descend(&self, classifier: &Classifier, task: &Descent<'_, '_>, c: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (x, n) = (task.parameters, classifier.network().layout().n_trainable());
        let nothing = vec![0.0; x.len()];
        let own = task.kept.map_or(&nothing, |Change(own)| own);
        let course = Course {
            correction: &correction(c, own),
            epochs: task.passes,
            ..Course::default()
        };
        let (y, n_steps) = classifier.train_along(task.shard, x, &course, &mut task.rng());
        let mut change = match self.renewal {
            _ if n_steps == 0 => nothing,
            Renewal::FromSteps => change_from_steps((&x[..n], &y[..n]), &c[..n], n_steps, self.rate),
            Renewal::FromGradient => {
                let gradient = classifier.gradient(task.shard, x, &mut task.rng_for(WHOLE_PASS));
                gradient.iter().zip(own).map(|(g, own)| g - own).collect()
            }
        };
        change.resize(x.len(), 0.0);
        if !y.iter().chain(&change).all(|x| x.is_finite()) {
            change.fill(0.0);
        }
        (y, change)
    }
}

/// A client's part of a round.
type Descent<'s, 'a> = Task<'s, 'a, Classified<Change>>;

/// A model and the change of a control variate as a client sends them.
fn answer(task: &Descent<'_, '_>, parameters: Vec<f32>, change: &[f32]) -> (Trained<Change>, Option<Change>) {
    let mut releases = task.releases();
    let change = releases
        .release(CHANGE, 0, &NoPrivacy::<[f32]>::new(), change)
        .expect("without a mechanism every value can be released");
    let trained = Trained {
        receipt: releases.receipt(),
        ..Trained::model(parameters)
    };
    (trained, Some(Change(change)))
}

/// A client keeps its control variate. What a training keeps is the change of it, so that two that
/// overlap both count.
impl SidePayload<Classified<Change>> for Scaffold {
    type Order = Control;
    type Extra = Change;
    type ServerState = Controls;

    const TAKES_BACK: bool = true;

    fn order(&self, trainer: &Classified<Change>, _: Round, controls: &Controls) -> Control {
        Control(controls.mean(self.n_clients, trainer.layout().len()).into())
    }

    fn is_due(&self, _: Round) -> bool {
        true
    }

    fn train(
        &self,
        trainer: &Classified<Change>,
        task: Descent<'_, '_>,
        Control(c): &Control,
    ) -> (Trained<Change>, Option<Change>) {
        let (parameters, change) = self.descend(trainer.as_ref(), &task, c);
        answer(&task, parameters, &change)
    }

    fn placeholder(
        &self,
        _: &Classified<Change>,
        task: Descent<'_, '_>,
        _: &Control,
    ) -> (Trained<Change>, Option<Change>) {
        answer(&task, task.parameters.to_vec(), &vec![0.0; task.parameters.len()])
    }

    /// A client keeps the change that the server reads, so that both count alike; what a codec
    /// leaves out of it is in the next.
    fn is_read(&self, kept: &mut Option<Change>, read: Option<&Change>) {
        *kept = read.cloned();
    }

    fn keep(&self, Change(mut own): Change, Change(change): Change) -> Change {
        own.iter_mut().zip(change).for_each(|(own, x)| *own += x);
        Change(own)
    }

    fn take_back(&self, Change(mut own): Change, Change(change): Change) -> Change {
        own.iter_mut().zip(change).for_each(|(own, x)| *own -= x);
        Change(own)
    }

    fn collect(
        &self,
        controls: &mut Controls,
        client: ClientId,
        round: Round,
        change: Change,
    ) -> Result<(), StrategyError> {
        controls.add(client, round, change);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients whose losses are `a/2 (w − b)²`, with their control variates, and the server.
    struct Quadratics {
        losses: Vec<(f32, f32)>,
        own: Vec<f32>,
        controls: Controls,
        x: f32,
    }

    impl Quadratics {
        const RATE: f32 = 0.1;
        const STEPS: u64 = 10;

        fn new(losses: &[(f32, f32)]) -> Self {
            Quadratics {
                losses: losses.to_vec(),
                own: vec![0.0; losses.len()],
                controls: Controls::default(),
                x: 0.0,
            }
        }

        fn optimum(&self) -> f32 {
            let weights: f32 = self.losses.iter().map(|(a, _)| a).sum();
            self.losses.iter().map(|(a, b)| a * b).sum::<f32>() / weights
        }

        /// A round of algorithm 1 on a cohort; without control variates it is one of FedAvg.
        fn round(&mut self, round: u32, cohort: &[usize], corrects: bool) {
            let n_clients = self.losses.len() as u32;
            let (x, c) = (self.x, self.controls.mean(n_clients, 1));
            let mut mean = 0.0;
            for &client in cohort {
                let (a, b) = self.losses[client];
                let correction = correction(&c, &self.own[client..=client])[0];
                let (mut y, mut followed) = (x, 0.0);
                for _ in 0..Self::STEPS {
                    let gradient = a * (y - b);
                    followed += gradient;
                    y -= Self::RATE * (gradient + correction);
                }
                mean += y / cohort.len() as f32;
                if corrects {
                    let change = change_from_steps((&[x], &[y]), &c, Self::STEPS, f64::from(Self::RATE));
                    self.own[client] += change[0];
                    let near = followed / Self::STEPS as f32;
                    assert!(
                        (self.own[client] - near).abs() < 1e-4 * (1.0 + near.abs()),
                        "c_i is the mean gradient"
                    );
                    self.controls.add(ClientId(client as u32), Round(round), Change(change));
                }
            }
            self.x = mean;
        }
    }

    #[test]
    fn unlike_quadratics_meet_at_the_common_optimum_where_fed_avg_does_not() {
        let losses = [(0.2, 3.0), (1.0, -1.0), (4.0, 0.5), (2.0, -2.0)];
        let run = |cohort: fn(u32) -> Vec<usize>, corrects| {
            let mut all = Quadratics::new(&losses);
            (0..400).for_each(|round| all.round(round, &cohort(round), corrects));
            (f64::from(all.x) - f64::from(all.optimum())).abs()
        };
        let all = |_| vec![0, 1, 2, 3];
        assert!(
            run(all, true) < 1e-5 && run(all, false) > 0.1,
            "{} {}",
            run(all, true),
            run(all, false)
        );
        // Two of four: without control variates the model never comes to rest.
        let some = |round: u32| vec![round as usize % 2, 2 + (round as usize / 2) % 2];
        assert!(
            run(some, true) < 1e-4 && run(some, false) > 0.1,
            "{} {}",
            run(some, true),
            run(some, false)
        );
    }

    #[test]
    fn c_is_the_mean_of_all_control_variates_whoever_takes_part() {
        let mut all = Quadratics::new(&[(0.2, 3.0), (1.0, -1.0), (4.0, 0.5)]);
        for (round, cohort) in [&[1, 0][..], &[2], &[0, 2], &[1]].into_iter().enumerate() {
            all.round(round as u32, cohort, true);
            let mean = all.own.iter().sum::<f32>() / 3.0;
            let c = all.controls.mean(3, 1)[0];
            assert!(
                (c - mean).abs() < 1e-6 * (1.0 + mean.abs()),
                "round {round}: {c} and {mean}"
            );
        }
    }

    #[test]
    fn changes_add_up_alike_in_whatever_order_those_of_a_round_come() {
        let changes = [(3, 1e8), (0, 1.0), (2, -1e8), (1, 3e-9)];
        let sum = |order: [usize; 4]| {
            let mut controls = Controls::default();
            let mut add =
                |round, at: usize| controls.add(ClientId(changes[at].0), Round(round), Change(vec![changes[at].1]));
            order.into_iter().for_each(|at| add(0, at));
            add(1, 0);
            // Late.
            add(0, 1);
            controls.sum()[0].to_bits()
        };
        assert!(
            [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]]
                .map(sum)
                .windows(2)
                .all(|pair| pair[0] == pair[1])
        );
    }

    #[test]
    fn a_control_variate_is_the_first_half_of_its_message() {
        let mut bytes = Vec::new();
        Control([1.5, -2.0].into()).encode(&mut bytes);
        bytes.extend([7; 8]);
        let mut reader = WireReader::new(&bytes);
        assert_eq!(Control::decode(&mut reader), Ok(Control([1.5, -2.0].into())));
        assert_eq!(reader.rest(), [7; 8]);
        for n in [1, 4, 7, 12] {
            assert!(Control::decode(&mut WireReader::new(&bytes[..n])).is_err());
        }
    }

    #[test]
    fn what_control_variates_do_not_fit_is_refused() {
        use folkmoot_parts::Value;
        let params = Params {
            training: Training {
                optimiser: LocalOptimiser::Sgd { momentum: 0.5 },
                ..Training::default()
            },
            protocol: Protocol {
                aggregation: Aggregation::Buffered {
                    size: 2,
                    discount: folkmoot_rounds::Discount::None,
                },
                ..Protocol::default()
            },
            ..Params::default()
        };
        let paths =
            |params: &Params| -> Vec<String> { params.broken().into_iter().map(|broken| broken.path).collect() };
        assert_eq!(paths(&params), ["training.optimiser", "protocol.aggregation"]);
        let protocol = Protocol {
            secure: Secure::Pairwise { threshold: 0.7 },
            ..Protocol::default()
        };
        assert_eq!(
            paths(&Params {
                protocol,
                ..Params::default()
            }),
            ["protocol.secure"]
        );
        assert!(Params::default().broken().is_empty());
    }
}
