//! The split of the data, training, and deployment, as a card names them.

use folkmoot_parts::component;

/// Who trains, validates and tests: 80, 10 and 10 % of the classes.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// By the order of classes that came with the data, or a random one where none did.
    #[default]
    Published,
    /// By a random order of the classes, another one for each seed.
    Random,
}

/// Training on raw pairs, outside the threat model.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Passes over the training graphs, each with one pair that matches and one that does not.
    #[component(default = 100, in = 0..=100_000)]
    pub epochs: u32,
    /// Pairs a step.
    #[component(default = 10, in = 1..=10_000)]
    pub batch_pairs: u32,
    /// The rate of Adam.
    #[component(default = 0.0005, above = 0, in = 1e-8..=10, alias = "rate")]
    pub learning_rate: f64,
    /// Added to the gradient of the mean over a batch, times the weights.
    #[component(default = 0.0, in = 0..1)]
    pub weight_decay: f64,
    /// Which epoch's model is deployed.
    pub choice: Choice,
}

/// Which epoch's model is deployed.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first with the greatest area under the ROC curve of the validation pairs.
    #[default]
    BestValidation,
    /// The last.
    Last,
}

/// What devices do with the model once they have it: each begins matches with others at random, at
/// random times.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deployment {
    /// How many matches a client begins on average if it is never away. One that is away begins
    /// none, and does not catch up.
    #[component(default = 1.0, in = 0..=100_000)]
    pub matches_per_client: f64,
    /// For how long clients begin matches.
    #[component(default = 86_400.0, above = 0, in = 1e-3..=1e9, unit = "s")]
    pub duration_s: f64,
    /// How long a client waits to learn that the other was not there.
    #[component(default = 1000.0, in = 0..=1e9, unit = "ms")]
    pub timeout_ms: f64,
    /// How often it sends a message again.
    #[component(default = 2, in = 0..=1_000)]
    pub retries: u32,
    /// For how long a client keeps an open match.
    #[component(default = 60.0, above = 0, in = 1e-3..=1e9, unit = "s")]
    pub patience_s: f64,
}
