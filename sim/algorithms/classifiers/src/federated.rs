//! Federated training by a named [`Method`]: one model for all, or one for each client.
//!
//! What the methods share stands here: a graph network and its data, rounds, scores of the server's
//! model and of each client's own. A method is one file below `federated/`, which says what
//! travels, what a client learns and keeps, and what it answers with; its own documentation has its
//! table of messages, in bytes.
//!
//! - **Own models.** A client's own model is what it answers with: the server's, or one that is
//!   made of it and of what the client keeps. Where a client trains in a round that is evaluated,
//!   it counts its own test items and its hits among them; no message is sent for it, and
//!   `cohort_accuracy` is what they come to. After the last round `client_scores.csv` has every
//!   client. Both take no virtual time.
//! - **What is kept** stays at its client. It is replaced when an update is sent, whether or not it
//!   arrives.
//! - **Start.** Where clients begin with something that is never sent, all draw it from the public
//!   fact `start_seed`.
//! - **A client without training items** sends what it was sent, which counts nothing, and keeps
//!   what it has.
//! - **Scale.** With `scale: Federated` the first round asks for statistics of inputs instead of
//!   updates, 8 + 16 × n_features bytes a client, and 8 × n_features bytes more go with every
//!   model.
//! - **Stop.** A card's `stop` sees scores of the server's model alone: what clients count comes
//!   together when the run is over.

mod cut;
mod ditto;
mod evaluator;
mod fed_dyn;
mod fed_gta;
mod fed_nova;
mod fed_per;
mod fed_pub;
mod fed_star;
mod fine_tuned;
mod gcfl;
mod global;
mod ifca;
mod local_only;
mod method;
mod moon;

pub use ditto::Ditto;
pub use evaluator::{TERMS as OWN_TERMS, conclude as conclude_own};
pub use fed_dyn::FedDyn;
pub use fed_gta::{FedGta, Moments};
pub use fed_nova::FedNova;
pub use fed_per::{FedPer, FedRep};
pub use fed_pub::FedPub;
pub use fed_star::FedStar;
pub use fine_tuned::FineTuned;
pub use gcfl::{Comparison, Gcfl};
pub use global::Global;
pub use ifca::Ifca;
pub use local_only::LocalOnly;
pub use method::{Common, Learned, Local, Method};
pub use moon::Moon;

use crate::attacks::{self, Attack, Models, RoundVictim};
use crate::classifier::{self, Classifier, Handed, Held, Inputs, Model, Scale, Shard, Split, Target, Training};
use folkmoot_draws::Rng;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Layout, Moments as OptimiserMoments};
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{self, Protocol, RoundEnd, Rounds, Task, Trained, Trainer, Trains};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

const START: Purpose = Purpose(*b"fd-start");

/// The parameters of [`Federated`].
#[component(
    name = "Federated",
    about = "federated training of graph neural networks by a chosen method, with metrics per client",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Federated method: which parameters are shared and which are personal.
    pub method: Chosen<dyn Method>,
    /// Graph neural network.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Scaling of node features. `Federated` needs a method with one global model, with which the
    /// scale is sent.
    pub scale: Scale,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// State of a client's optimiser between its rounds.
    pub optimiser_state: OptimiserState,
    /// Attacks on the trained models, after the run.
    pub attacks: Vec<Chosen<dyn Attack>>,
    /// Attack target: the models of clients or of the server.
    pub attacked: Attacked,
}

/// Attack target.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attacked {
    /// The global model. A method without one is not attacked, with a warning.
    #[default]
    Server,
    /// For a client's data, the model of that client, kept locally or by the server. Shadow models
    /// are models of clients, too. Attacks on updates received by the server are rejected.
    Clients,
}

/// State of a client's optimiser, such as Adam's moments, between its rounds. Most published
/// implementations keep one optimiser per client for a whole run. A stateless device must reset it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimiserState {
    /// Reset in each round.
    #[default]
    Fresh,
    /// Kept by the client (memory of up to two models) and used with whatever model it receives
    /// next. Never sent; saved when an update is sent, whether or not it arrives.
    Kept,
}

impl Params {
    /// What is trained, for a protocol.
    pub fn trains(&self) -> Trains {
        let trains = classifier::trains(&self.model, &self.training, self.scale);
        Trains {
            sends_model_alone: self.method.sends_model_alone().and(trains.sends_model_alone),
            ..trains
        }
    }

    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let is_read = ["method", "protocol.aggregator", "protocol.server_optimizer"];
        if !is_read.iter().any(|field| rules.is_broken(field)) {
            self.method.rules(self, rules);
        }
        if !rules.is_broken("method") {
            let rule =
                "must be Raw or Standardised with this method: a common scale is sent only with one global model";
            let is_carried = self.scale != Scale::Federated || self.method.carries_scale();
            rules.require(is_carried, "scale", rule);
            self.protocol.suits(&self.trains(), rules);
            if !rules.is_broken("protocol.aggregator") {
                let is_one = self.method.sends_model_alone().is_ok() && self.method.global(&[]).is_some();
                let rule = "trains the global model at the server, and this method has several, shares a part, or sends more; use Global, or another aggregator";
                let is_trained = self.protocol.aggregator.trusted_items().is_some();
                rules.require(is_one || !is_trained, "protocol.aggregator", rule);
            }
        }
        for (i, attack) in self.attacks.iter().enumerate() {
            let field = format!("attacks.{i}");
            if self.attacked == Attacked::Clients && !rules.is_broken(&field) {
                let rule = "uses the updates received by the server and queries no client's model; set attacked: Server, or omit it";
                rules.require(attack.n_rounds() == 0, &field, rule);
            }
        }
    }
}

/// What everybody knows before a run.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    #[serde(flatten)]
    pub data: classifier::Facts,
    /// What models are drawn from that clients begin with by themselves.
    pub start_seed: u32,
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Federated>;

    fn about(&self) -> About {
        let mut about = crate::about(
            (&self.model, &self.training, &self.protocol),
            &self.split,
            evaluator::TERMS,
        );
        let is_set = self.attacked != Attacked::default();
        about.lints.extend(attacks::doubt(&self.attacks, is_set));
        About {
            headline: &[
                "test_own_accuracy",
                "test_own_worst_tenth",
                "payload_bytes",
                "virtual_s",
            ],
            ..about
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Ok(Facts {
            data: classifier::Facts::new(self.inputs, self.split, source)?.with(Target::Classes, self.scale, source),
            start_seed: source.streams.global(START).next_u32(),
        })
    }

    fn build(&self, facts: &Facts) -> Result<Rounds<Federated>, StrategyError> {
        let classifier = Classifier::new(&self.model, &self.training, &facts.data)?.under(&self.protocol);
        let task = Federated::new(self, Common::new(classifier, facts.start_seed, facts.data.n_clients));
        let refused = |why| StrategyError(format!("method: {why}"));
        task.method.check(&task.common).map_err(refused)?;
        let classifier = &task.common.classifier;
        let alone = self.method.sends_model_alone().and(classifier.sends_model_alone());
        let n_seen = attacks::n_rounds(&self.attacks);
        classifier::rounds(task, &self.protocol)
            .personalised(self.method.shared())
            .sending_model_alone(alone)
            .keeping(n_seen)
            .checked()
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Rounds<Federated>,
        source: &Source<'_>,
    ) -> Result<Shared<Rounds<Federated>>, StrategyError> {
        attacks::share(rounds, &self.attacks, &facts.data, (self.split, source))
    }
}

/// What is trained: a classifier of graphs or nodes, by a method.
pub struct Federated {
    method: Chosen<dyn Method>,
    common: Common,
    epochs: f64,
    keeps_moments: bool,
    rounds: u32,
    evaluate_every: u32,
    attacked: Attacked,
}

impl Federated {
    /// Training by the method of these settings.
    pub fn new(params: &Params, common: Common) -> Self {
        Federated {
            method: params.method.clone(),
            common,
            epochs: f64::from(params.training.epochs),
            keeps_moments: params.optimiser_state == OptimiserState::Kept,
            rounds: params.protocol.rounds,
            evaluate_every: params.protocol.evaluate_every,
            attacked: params.attacked,
        }
    }

    pub fn method(&self) -> &dyn Method {
        &*self.method
    }

    pub fn common(&self) -> &Common {
        &self.common
    }
}

/// What a client keeps of its trainings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What the method has it keep.
    pub numbers: Option<Vec<f32>>,
    /// What its optimisers have of the steps before: that of the model that it sends, and that of
    /// the one that it keeps.
    pub moments: Option<[OptimiserMoments; 2]>,
}

/// The places of the counters behind those of rounds.
const N_HITS: usize = 0;
const N_ITEMS: usize = 1;

impl AsRef<Classifier> for Federated {
    fn as_ref(&self) -> &Classifier {
        &self.common.classifier
    }
}

impl RoundVictim for Federated {
    fn shared(&self, held: &Arc<Held>, _: &Source<'_>) -> Result<Shared<Rounds<Federated>>, StrategyError> {
        Ok(Handed::watched(held, evaluator::Own(Arc::clone(held))))
    }

    fn model<'p>(&self, parameters: &'p [f32]) -> Option<Cow<'p, [f32]>> {
        self.method.global(parameters).map(Cow::Owned)
    }

    fn asked(&self, end: &RoundEnd<'_, Federated>, known: &Held) -> Option<Models> {
        match self.attacked {
            Attacked::Server => self.method.global(end.parameters).map(Models::One),
            Attacked::Clients => self.own_models(end, known).map(Models::OfClients),
        }
    }

    fn own_models(&self, end: &RoundEnd<'_, Federated>, known: &Held) -> Option<Vec<Vec<f32>>> {
        let own = |(client, shard): (usize, &Shard)| evaluator::own_model(end, ClientId(client as u32), shard);
        Some(known.shards().par_iter().enumerate().map(own).collect())
    }

    fn untrained(&self, end: &RoundEnd<'_, Federated>) -> Option<Models> {
        let first = self.method.global(&end.first_model());
        match self.attacked {
            Attacked::Server => first,
            Attacked::Clients => first.or_else(|| Some(self.common.start())),
        }
        .map(Models::One)
    }

    fn asks_clients(&self) -> bool {
        self.attacked == Attacked::Clients
    }
}

impl Trainer for Federated {
    type Shard<'a> = &'a Shard;
    type ClientState = Kept;

    const COUNTERS: &'static [&'static str] = &[
        folkmoot_rounds::COUNTERS[0],
        folkmoot_rounds::COUNTERS[1],
        folkmoot_rounds::COUNTERS[2],
        folkmoot_rounds::COUNTERS[3],
        "own_hits",
        "own_items",
    ];

    fn layout(&self) -> &Layout {
        self.common.classifier.network().layout()
    }

    fn n_samples(&self, shard: &Shard) -> u32 {
        shard.n_train() as u32
    }

    fn cost(&self, shard: &Shard, _: Round) -> f64 {
        self.common.classifier.cost(shard) * self.method.passes(self.epochs) / self.epochs
    }

    fn passes(&self) -> u32 {
        self.common.classifier.epochs()
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Kept> {
        let before = task.kept.and_then(|kept| kept.moments.clone());
        let moments = before.clone().unwrap_or_default().map(Cell::new);
        let local = Local {
            common: &self.common,
            shard: task.shard,
            parameters: task.parameters,
            kept: task.kept.and_then(|kept| kept.numbers.as_deref()),
            passes: task.passes,
            streams: &|purpose| task.rng_for(purpose),
            moments: self.keeps_moments.then_some(&moments),
        };
        let Learned { sent, kept } = self.method.train(&local);
        // An update with a number that is not finite is refused, and is to leave no trace.
        let after = self.keeps_moments.then(|| moments.each_ref().map(Cell::take));
        let after = after.filter(|both| both.iter().all(OptimiserMoments::is_finite));
        let after = after.or(before);
        let n_rounds = task.round().0 + 1;
        let is_due = n_rounds >= self.rounds || n_rounds.is_multiple_of(self.evaluate_every);
        let counts = is_due.then(|| {
            // An answer may be trained, too: with a copy.
            for (moments, after) in moments.iter().zip(after.iter().flatten()) {
                moments.set(after.clone());
            }
            let own = self.method.own(&Local {
                kept: kept.as_deref().or(local.kept),
                ..local
            });
            self.common.classifier.hits(task.shard, &own)
        });
        let is_kept = kept.is_some() || after.is_some();
        let kept = is_kept.then(|| Kept {
            numbers: kept.or_else(|| local.kept.map(<[f32]>::to_vec)),
            moments: after,
        });
        Trained {
            kept,
            counts: counts.into_iter().flatten().collect(),
            ..Trained::model(sent)
        }
    }

    fn placeholder(&self, _: Task<'_, '_, Self>) -> Trained<Kept> {
        Trained::model(vec![0.0; self.method.travels(self).n_up])
    }
}
