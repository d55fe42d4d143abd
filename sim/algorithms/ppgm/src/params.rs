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
    /// Preset of options; the card's own options override it.
    pub variant: Variant,
    /// Matching model: what is trained and sent.
    pub model: Model,
    /// Codec of messages in a match after training: `g` (or the model's counterpart) and the
    /// message to the service. It must send every number. The eavesdropper reads the decoded
    /// message.
    pub codec: Chosen<dyn Codec>,
    /// What the score predicts.
    pub task: Task,
    /// Model sizes.
    pub size: Size,
    /// Options in which the paper and the released code differ.
    pub form: Form,
    /// Training, validation and test sets.
    pub split: Split,
    /// Training, centralised and before deployment.
    pub training: Training,
    /// Path of a saved `model.npy`, relative to a data folder or absolute, used instead of
    /// training. It is attacked, measured and deployed like a trained model; training metrics and
    /// teacher are not reported. Keep the data, task, model, size, form, seed and split of its run;
    /// otherwise test graphs may be training graphs.
    pub trained: Option<String>,
    /// Whether to save the chosen model as `model.npy`.
    pub keep_model: bool,
    /// Attack by the eavesdropper.
    pub attack: Attack,
    /// Stronger attacks.
    pub thorough: Thorough,
    /// Matches after training.
    pub deployment: Deployment,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let is_taught = self.model.distillation() != Distillation::None;
        let rule = "needs model: EgscStudent() with a distillation, which provides the input of this head; leave it out or change model";
        rules.require(is_taught || !self.form.egsc.rec_head, "form.egsc.rec_head", rule);
        if !rules.is_broken("codec") {
            let rule = "must send every number, as Half(), Bfloat(), Uniform() and Qsgd() do: a match runs once, so omitted values are never sent";
            rules.require(self.codec.suits_models(), "codec", rule);
        }
    }
}
