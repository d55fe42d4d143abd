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
    about = "random-walk SGD: a model moves from client to client along links, without a server",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Communication topology, constant during the run.
    pub topology: Chosen<dyn Topology>,
    /// Transition rule of a walk.
    pub chain: Chain,
    /// Random jumps; none by default.
    pub jumps: Option<Jumps>,
    /// Weight a gradient by `1 / (n π_v)`, so that all clients count equally on average; otherwise
    /// by 1.
    #[component(default = true)]
    pub weigh: bool,
    /// Codec of the model between clients.
    pub codec: Chosen<dyn Codec>,
    /// Number of walks.
    #[component(default = 1, in = 1..=65_535)]
    pub tokens: u32,
    /// Steps per walk.
    #[component(default = 1_000, in = 1..=100_000_000)]
    pub steps: u32,
    /// Graph neural network.
    #[component(default = Model { readout: Pooling::Mean, ..Model::default() })]
    pub model: Model,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test sets.
    pub split: Split,
    /// Learning rate.
    #[component(default = 0.05, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Gaussian noise on every gradient; none by default.
    pub noise: Option<Noise>,
    /// Limit on the gradients of a client, and its behaviour beyond; unlimited by default.
    pub visits: Option<Visits>,
    /// Timeout after which a sender assumes that a client is offline and draws another one.
    #[component(default = 1.0, above = 0, at_most = 1e9, unit = "s")]
    pub timeout_s: f64,
    /// Number of consecutive failed hand-overs of a token tolerated at one client; one more ends
    /// the run with an error.
    #[component(default = 1_000_000, in = 0..=4_000_000_000)]
    pub tries: u32,
    /// Evaluate the models after every this many steps, and after the last.
    #[component(default = 100, in = 1..=100_000_000)]
    pub report_every: u32,
    /// Attacks on the mean of the models after the run.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// Gaussian noise on a clipped gradient.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Clipping norm (L2): longer gradients are scaled down to it.
    #[component(default = 0.4, above = 0, in = 1e-9..=1e9)]
    pub clip: f64,
    /// Noise multiplier: standard deviation per coordinate, divided by `clip`.
    #[component(default = 1.0, in = 1e-6..=1e9)]
    pub multiplier: f64,
    /// Delta at which the epsilon of a gradient is stated.
    #[component(default = 1e-6, above = 0, below = 1)]
    pub delta: f64,
}

/// Limit on the gradients of a client.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visits {
    /// Maximum number of gradients.
    #[component(default = 10, in = 1..=1_000_000_000)]
    pub most: u32,
    /// Behaviour at further visits.
    pub then: Then,
}

/// Behaviour of a client whose gradients are used up.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Adds noise only, so that other clients cannot notice.
    #[default]
    Noise,
    /// Forwards the token unchanged.
    Nothing,
    /// Ends the walk.
    Stop,
}

impl Params {
    fn rules(&self, rules: &mut Rules) {
        let adds_noise = self.visits.is_some_and(|visits| visits.then == Then::Noise);
        let rule = "must not be Noise without noise on gradients; set noise: (), or then: Nothing";
        rules.require(!adds_noise || self.noise.is_some(), "visits.then", rule);
        for (i, attack) in self.attacks.iter().enumerate() {
            let field = format!("attacks.{i}");
            if !rules.is_broken(&field) {
                let rule = "uses updates sent to a server, and there is no server here; leave it out";
                rules.require(attack.n_rounds() == 0, &field, rule);
            }
        }
        if !rules.is_broken("codec") {
            let rule = "must be Plain, Half, Bfloat, Uniform, Qsgd or another codec that sends every number: the receiver has no previous model";
            rules.require(self.codec.suits_models(), "codec", rule);
            let rule = "must be without feedback: the residual of a forwarded model does not apply to the returning model, which others have changed";
            rules.require(!self.codec.feeds_back(), "codec", rule);
        }
    }

    pub(super) fn n_reports(&self) -> u32 {
        self.steps.div_ceil(self.report_every)
    }
}
