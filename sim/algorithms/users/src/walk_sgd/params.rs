//! The settings of a [`WalkSgd`](super::WalkSgd), as a card writes them.

use super::{Chain, Jumps};
use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::{Inputs, Model, Pooling, Split};
use folkmoot_classifiers::gossip::Topology;
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, component};

/// The parameters of [`WalkSgd`](super::WalkSgd).
#[component(
    name = "WalkSgd",
    about = "a model that walks from client to client along links, without a server (random-walk SGD)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Communication topology, constant during the run.
    pub topology: Chosen<dyn Topology>,
    /// Where a walk goes next.
    pub chain: Chain,
    /// Jumps; none where it is left out.
    pub jumps: Option<Jumps>,
    /// Count a gradient `1 / (n π_v)`, so that on average all clients count alike; otherwise 1.
    #[component(default = true)]
    pub weigh: bool,
    /// How a model is handed on: as it is, or packed.
    pub codec: Chosen<dyn Codec>,
    /// Walks.
    #[component(default = 1, in = 1..=65_535)]
    pub tokens: u32,
    /// Steps of each.
    #[component(default = 1_000, in = 1..=100_000_000)]
    pub steps: u32,
    /// Graph neural network.
    #[component(default = Model { readout: Pooling::Mean, ..Model::default() })]
    pub model: Model,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test sets.
    pub split: Split,
    /// The learning rate.
    #[component(default = 0.05, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Noise on every gradient; none where it is left out.
    pub noise: Option<Noise>,
    /// How many gradients a client gives at most, and what it does then; any number where it is
    /// left out.
    pub visits: Option<Visits>,
    /// How long a sender waits until it takes a client for away and draws another way.
    #[component(default = 1.0, above = 0, at_most = 1e9, unit = "s")]
    pub timeout_s: f64,
    /// So many hand-overs of a token in a row may fail at one client; one more, and the walk is
    /// stuck: the run ends with an error.
    #[component(default = 1_000_000, in = 0..=4_000_000_000)]
    pub tries: u32,
    /// Models are looked at after every so many steps, and after the last.
    #[component(default = 100, in = 1..=100_000_000)]
    pub report_every: u32,
    /// Who asks the mean of the models, when the run is over, what the training has given away.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// Normal noise on a clipped gradient.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The greatest length of a gradient; a longer one is scaled down to it.
    #[component(default = 0.4, above = 0, in = 1e-9..=1e9)]
    pub clip: f64,
    /// The standard deviation of the noise on each number, over `clip`.
    #[component(default = 1.0, in = 1e-6..=1e9)]
    pub multiplier: f64,
    /// The delta that a gradient's epsilon is stated at.
    #[component(default = 1e-6, above = 0, below = 1)]
    pub delta: f64,
}

/// How many gradients a client gives.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visits {
    /// At most.
    #[component(default = 10, in = 1..=1_000_000_000)]
    pub most: u32,
    /// What it does when it is visited again.
    pub then: Then,
}

/// What a client does that has given all its gradients.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It adds noise alone, so that nobody sees the difference.
    #[default]
    Noise,
    /// It hands the token on as it is.
    Nothing,
    /// It ends the walk.
    Stop,
}

impl Params {
    fn rules(&self, rules: &mut Rules) {
        let adds_noise = self.visits.is_some_and(|visits| visits.then == Then::Noise);
        let rule = "must not be Noise without noise, which there is none to add of; set noise: (), or then: Nothing";
        rules.require(!adds_noise || self.noise.is_some(), "visits.then", rule);
        for (i, attack) in self.attacks.iter().enumerate() {
            let field = format!("attacks.{i}");
            if !rules.is_broken(&field) {
                let rule = "reads the updates that a server was sent, and there is no server here; leave it out";
                rules.require(attack.n_rounds() == 0, &field, rule);
            }
        }
        if !rules.is_broken("codec") {
            let rule = "must be Plain, Half, Bfloat, Uniform, Qsgd or another that sends every number: who gets a model has none before";
            rules.require(self.codec.suits_models(), "codec", rule);
            let rule = "must be without feedback: what was left out of a model when it was handed on does not belong to the one that comes back, which others have changed";
            rules.require(!self.codec.feeds_back(), "codec", rule);
        }
    }

    pub(super) fn n_reports(&self) -> u32 {
        self.steps.div_ceil(self.report_every)
    }
}
