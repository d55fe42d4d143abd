//! MOON: rows near the server's model and far from the last.

use super::{Federated, Learned, Local, Method, Params};
use crate::classifier::{Contrast, Course};
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::Personalisation;

/// MOON: a client's rows are drawn to those of the server's model and away from those of its own
/// last one.
///
/// Q. Li, B. He, D. Song. Model-Contrastive Federated Learning. CVPR 2021, equation 3 and algorithm
/// 1. <https://arxiv.org/abs/2103.16257>
///
/// | exchange | direction | payload                                 | bytes            |
/// |----------|-----------|-----------------------------------------|------------------|
/// | `model`  | downlink  | weights                                 | 4 × n_params     |
/// | `update` | uplink    | training samples as `u32`, then weights | 4 × n_params + 4 |
///
/// To the loss is added `weight` times the mean over items of
/// `−ln(e^{cos(z, z_g)/T} / (e^{cos(z, z_g)/T} + e^{cos(z, z_p)/T}))`, where `z` is the row that
/// the last linear layer reads, and `z_g` and `z_p` are those of the model that was sent and of the
/// one that the client made when it last took part; both stay as they are. Before it has taken part
/// the term is 0.
///
/// Deviation from the paper: rows are projected by the first linear layer of a head of two
/// (`model.head_layers: 2`), of the width of the model; with one layer they are not projected.
#[component(
    name = "Moon",
    about = "MOON: model-contrastive training towards the global and away from the previous local model (CVPR 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Moon {
    /// Weight of the contrastive term, mu in the paper. With 0, bit-identical to federated
    /// averaging.
    #[component(default = 1.0, at_least = 0, f32)]
    pub weight: f64,
    /// Temperature of the contrastive term.
    #[component(default = 0.5, above = 0, f32)]
    pub temperature: f64,
}

impl Method for Moon {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn carries_scale(&self) -> bool {
        true
    }

    /// A step reads rows by two models more, forward only: a third of a pass each.
    fn passes(&self, epochs: f64) -> f64 {
        epochs * if self.weight > 0.0 { 5.0 / 3.0 } else { 1.0 }
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let contrast = |away| Contrast {
            weight: self.weight as f32,
            temperature: self.temperature as f32,
            near: local.parameters,
            away,
        };
        let course = Course {
            contrast: local.kept.filter(|_| self.weight > 0.0).map(contrast),
            ..local.course()
        };
        let sent = local.train_along(local.parameters, &course);
        Learned {
            kept: local.learns().then(|| sent.clone()),
            sent,
        }
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let rule = "must be at least 1 with Moon, which compares the inputs of the head";
        rules.require(params.model.head_layers > 0, "model.head_layers", rule);
    }
}

impl Personalisation<Federated> for Moon {}
