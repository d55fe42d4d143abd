//! PPGM's settings, as a card states them.

use super::attack::{Attack, Thorough};
use super::options::{Distillation, Form, Model, Size, Task, Variant};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, part};

/// The parameters of [`super::Ppgm`]. Defaults are the paper's.
#[part(
    name = "Ppgm",
    about = "similarity of two devices' graphs without sending their nodes (ICDM 2022)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Which set of options a card starts from.
    pub variant: Variant,
    /// What is learned and sent.
    pub model: Model,
    /// How what leaves a device in a match is packed, once it is trained: g or what the model sends there, and what goes to the service. It
    /// must send every number. Whoever overhears a match reads what came.
    pub codec: Chosen<dyn Codec>,
    /// What its scores are to say.
    pub task: Task,
    /// Its sizes.
    pub size: Size,
    /// What the text and the released code do differently.
    pub form: Form,
    /// Who trains, validates and tests.
    pub split: Split,
    /// Training, which is central and before all else.
    pub training: Training,
    /// A model that a run has kept, in the place of training: its `model.npy`, relative to a data folder or absolute. It is attacked, measured
    /// and deployed as that of a training would be; nothing is said of the way to it, or of a teacher. Keep that run's data, task, model, size, form,
    /// seed and split, or graphs that it trained on test it.
    pub trained: Option<String>,
    /// Whether the chosen model is kept, as `model.npy`.
    pub keep_model: bool,
    /// The eavesdropper.
    pub attack: Attack,
    /// Those who try harder.
    pub thorough: Thorough,
    /// What clients do with the model.
    pub deployment: Deployment,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let is_taught = self.model.distillation() != Distillation::None;
        let rule = "needs model: EgscStudent() with a distillation, which makes what the head reads; leave it out or change model";
        rules.require(is_taught || !self.form.egsc.rec_head, "form.egsc.rec_head", rule);
        if !rules.is_broken("codec") {
            let rule = "must send every number, as Half(), Bfloat(), Uniform() and Qsgd() do: a match is played once, and what is left out of it never comes";
            rules.require(self.codec.suits_models(), "codec", rule);
        }
    }
}

/// Who trains, validates and tests: 80, 10 and 10 % of the classes.
#[part]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// By the order of classes that came with the data, or a random one where none did.
    #[default]
    Published,
    /// By a random order of the classes, another one for each seed.
    Random,
}

/// Training on raw pairs, outside the threat model.
#[part]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Passes over the training graphs, each with one pair that matches and one that does not.
    #[part(default = 100, in = 0..=100_000)]
    pub epochs: u32,
    /// Pairs a step.
    #[part(default = 10, in = 1..=10_000)]
    pub batch_pairs: u32,
    /// The rate of Adam.
    #[part(default = 0.0005, above = 0, in = 1e-8..=10)]
    pub rate: f64,
    /// Added to the gradient of the mean over a batch, times the weights.
    #[part(default = 0.0, in = 0..1)]
    pub weight_decay: f64,
    /// Which epoch's model is deployed.
    pub choice: Choice,
}

/// Which epoch's model is deployed.
#[part]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first with the greatest area under the ROC curve of the validation pairs.
    #[default]
    BestValidation,
    /// The last.
    Last,
}

/// What devices do with the model once they have it: each begins matches with others at random, at random times.
#[part]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deployment {
    /// How many matches a client begins on average if it is never away. One that is away begins none, and does not catch up.
    #[part(default = 1.0, in = 0..=100_000)]
    pub matches_per_client: f64,
    /// For how long clients begin matches.
    #[part(default = 86_400.0, above = 0, in = 1e-3..=1e9, unit = "s")]
    pub duration_s: f64,
    /// How long a client waits to learn that the other was not there.
    #[part(default = 1000.0, in = 0..=1e9, unit = "ms")]
    pub timeout_ms: f64,
    /// How often it sends a message again.
    #[part(default = 2, in = 0..=1_000)]
    pub retries: u32,
    /// For how long a client keeps an open match.
    #[part(default = 60.0, above = 0, in = 1e-3..=1e9, unit = "s")]
    pub patience_s: f64,
}
