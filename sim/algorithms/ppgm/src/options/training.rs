//! The split of the data, training, and deployment, as a card names them.

use folkmoot_parts::component;

/// Training, validation and test sets: 80, 10 and 10 % of the classes.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// By the class order that came with the data; random if it has none.
    #[default]
    Published,
    /// By a random class order, different for each seed.
    Random,
}

/// Training on raw pairs, outside the threat model.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Epochs over the training graphs; each graph is in one matching and one non-matching pair per
    /// epoch.
    #[component(default = 100, in = 0..=100_000)]
    pub epochs: u32,
    /// Batch size in pairs.
    #[component(default = 10, in = 1..=10_000)]
    pub batch_pairs: u32,
    /// Learning rate (Adam).
    #[component(default = 0.0005, above = 0, in = 1e-8..=10, alias = "rate")]
    pub learning_rate: f64,
    /// Weight decay (L2), added to the mean gradient of a batch.
    #[component(default = 0.0, in = 0..1)]
    pub weight_decay: f64,
    /// Model selection: the epoch whose model is deployed.
    pub choice: Choice,
}

/// Model selection: the epoch whose model is deployed.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first epoch with the highest ROC AUC on validation pairs.
    #[default]
    BestValidation,
    /// The last epoch.
    Last,
}

/// Deployment: each device starts matches with random others at random times.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deployment {
    /// Mean number of matches started per client that is always online. An offline client starts
    /// none and does not catch up.
    #[component(default = 1.0, in = 0..=100_000)]
    pub matches_per_client: f64,
    /// Period during which clients start matches.
    #[component(default = 86_400.0, above = 0, in = 1e-3..=1e9, unit = "s")]
    pub duration_s: f64,
    /// Timeout after which a client assumes that its partner is offline.
    #[component(default = 1000.0, in = 0..=1e9, unit = "ms")]
    pub timeout_ms: f64,
    /// Number of retransmissions of a message.
    #[component(default = 2, in = 0..=1_000)]
    pub retries: u32,
    /// Time after which a client discards an open match.
    #[component(default = 60.0, above = 0, in = 1e-3..=1e9, unit = "s")]
    pub patience_s: f64,
}
