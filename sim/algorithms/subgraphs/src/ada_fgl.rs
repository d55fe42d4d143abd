//! AdaFGL: federated averaging, and then each client by itself makes a network for its own graph of
//! what the common model says of it.
//!
//! X. Li, Z. Wu, W. Zhang, H. Sun, R.-H. Li, G. Wang. AdaFGL: A New Paradigm for Federated Node
//! Classification with Topology Heterogeneity. ICDE 2024. <https://arxiv.org/abs/2401.11750>
//!
//! | exchange | direction | payload                                 | bytes            |
//! |----------|-----------|-----------------------------------------|------------------|
//! | `model`  | downlink  | weights                                 | 4 × n_params     |
//! | `update` | uplink    | training samples as `u32`, then weights | 4 × n_params + 4 |
//!
//! **The first step** is federated averaging, to the bit, of whatever `protocol` says.
//!
//! With `scale: Federated` statistics of what nodes bring come before it, and the scale behind the
//! weights, as in `Federated`; the second step looks at features by the same scale.
//!
//! **The second** sends nothing. Let `P` be what the last common model says of a client's nodes, a
//! softmax over its logits. Nodes of which it says alike are joined: `M_uv = 1` where the cosine of
//! the softmax of `P_u` and that of `P_v` is more than `alike`. The client's edges `A` and these
//! are weighed, `Ã = α A + (1 − α) M`, and features are passed along them: `X`, `Â X`, … ,
//! `Â^steps X` with `Â = D^-1/2 (Ã + I) D^-1/2`, side by side, are what one looks at besides the
//! features alone.
//!
//! How much labels say of neighbours' labels is measured by hiding half of the training nodes and
//! passing the labels of the others along the edges (ten times, half of what comes and half of what
//! was): the share of the hidden ones that are told rightly, `homophily`. Then, by `branch`,
//!
//! - **alike**, a perceptron of two layers on the passed features learns training labels and not to
//!   be far from `P` (mean squared error over all nodes and classes); the answer is the mean of the
//!   softmax of its logits and that of `P`;
//! - **unlike**, three perceptrons of three layers learn the labels: one on the features alone, one
//!   on the passed ones, and one, on these too, whose outputs `Z` are told to nodes like and
//!   unlike: of `R = β M + (1 − β) cos(softmax Z)` what lies above its mean is scaled to up to 1,
//!   what lies below to down to −1, each node is wholly its own, and with `R⁺`, `R⁻` what a
//!   rectifier with a slope that learns makes of `R` and `−R`, the logits are
//!   `(softmax(R⁺ Z) − softmax(R⁻ Z) + Z) / 2`. The answer is the mean of three softmaxes.
//!
//! **Deviations from the authors' code.** Scores are those of the last pass, where it takes the one
//! that is best for the validation nodes. A client none of whose training nodes can be hidden is
//! told to be unlike its neighbours. The greatest number of `R` gets its whole gradient at the
//! first place that has it.

mod evaluator;
mod likeness;
mod personal;
mod relations;
mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Branch, Params, Personal};

use folkmoot_classifiers::attacks;
use folkmoot_classifiers::classifier::{Classifier, Handed};
use folkmoot_classifiers::federated::{self, Facts, Federated};
use folkmoot_engine::prelude::*;
use folkmoot_parts::Chosen;
use folkmoot_rounds::Rounds;
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use std::sync::Arc;

impl Params {
    /// The first step by itself.
    fn first(&self) -> federated::Params {
        federated::Params {
            method: Chosen::default(),
            model: self.model.clone(),
            training: self.training.clone(),
            inputs: self.inputs,
            scale: self.scale,
            split: self.split,
            protocol: self.protocol.clone(),
            optimiser_state: self.optimiser_state,
            attacks: self.attacks.clone(),
            attacked: federated::Attacked::default(),
        }
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Federated>;

    fn about(&self) -> About {
        About {
            headline: &[
                "test_own_accuracy",
                "test_own_worst_tenth",
                "test_accuracy",
                "payload_bytes",
            ],
            ..folkmoot_classifiers::about(
                (&self.model, &self.training, &self.protocol),
                &self.split,
                &[federated::OWN_TERMS, evaluator::TERMS].concat(),
            )
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let facts = self.first().facts(source)?;
        if facts.data.classifies_graphs {
            let why = "AdaFGL classifies nodes of one graph per client, and this data set has classes of graphs; choose another data set or another strategy";
            return Err(StrategyError(why.to_owned()));
        }
        facts.data.clone().of_classes(source)?;
        Ok(facts)
    }

    fn build(&self, facts: &Facts) -> Result<Rounds<Federated>, StrategyError> {
        self.first().build(facts)
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Rounds<Federated>,
        source: &Source<'_>,
    ) -> Result<Shared<Rounds<Federated>>, StrategyError> {
        // The second step is made where answers are looked at, which needs everybody's nodes.
        let source = &source.of_all();
        let classifier: &Classifier = rounds.trainer().as_ref();
        let held = classifier.share(self.split, source)?;
        let second = evaluator::Second {
            personal: self.personal.clone(),
            held: Arc::clone(&held),
        };
        let about = (classifier, &facts.data, Arc::clone(&held));
        attacks::watch(
            Handed::watched(&held, second),
            &self.attacks,
            about,
            (self.split, source),
        )
    }
}
