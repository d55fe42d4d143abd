//! PPGM's settings, as a card states them.

use super::options::{Attack, Deployment, Distillation, Form, Model, Size, Split, Task, Thorough, Training, Variant};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, component};

/// The parameters of [`super::Ppgm`]. Defaults are the paper's.
#[component(
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
    /// How what leaves a device in a match is packed, once it is trained: g or what the model sends
    /// there, and what goes to the service. It must send every number. Whoever overhears a match
    /// reads what came.
    pub codec: Chosen<dyn Codec>,
    /// What its scores are to say.
    pub task: Task,
    /// Its sizes.
    pub size: Size,
    /// What the text and the released code do differently.
    pub form: Form,
    /// Training, validation and test sets.
    pub split: Split,
    /// Training, which is central and before all else.
    pub training: Training,
    /// A model that a run has kept, in the place of training: its `model.npy`, relative to a data
    /// folder or absolute. It is attacked, measured and deployed as that of a training would be;
    /// nothing is said of the way to it, or of a teacher. Keep that run's data, task, model, size,
    /// form, seed and split, or graphs that it trained on test it.
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
