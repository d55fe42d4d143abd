//! Ditto: models of one's own that are drawn to the global one.

use super::{Federated, Learned, Local, Method, Params};
use crate::classifier::Course;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::Personalisation;

/// Ditto: beside a global model, which is federated averaging's whatever is set here, each client
/// has one of its own that is drawn to it.
///
/// T. Li, S. Hu, A. Beirami, V. Smith. Ditto: Fair and Robust Federated Learning Through
/// Personalization. ICML 2021, algorithm 1. <https://arxiv.org/abs/2012.04221>
///
/// | exchange | direction | payload                                      | bytes            |
/// |----------|-----------|----------------------------------------------|------------------|
/// | `model`  | downlink  | weights `x`                                  | 4 × n_params     |
/// | `update` | uplink    | training samples as `u32`, then weights of `x` | 4 × n_params + 4 |
///
/// A client in the cohort trains `x` as federated averaging does, and then its own `v_i`, over the
/// same batches, by steps `v_i ← v_i − rate (g(v_i) + strength (v_i − x))`. It answers with `v_i`,
/// which it never sends and which begins as the first `x` that it is sent. A `strength` of 0 leaves
/// each client to itself.
#[component(
    name = "Ditto",
    about = "Ditto: a global model, and personalised models regularised towards it (ICML 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Ditto {
    /// Strength of the proximal term towards the global model, lambda in the paper; times
    /// `training.learning_rate` below 2.
    #[component(default = 1.0, at_least = 0, f32)]
    pub strength: f64,
}

impl Method for Ditto {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn carries_scale(&self) -> bool {
        true
    }

    fn passes(&self, epochs: f64) -> f64 {
        2.0 * epochs
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let course = Course {
            pull: Some((self.strength as f32, local.parameters)),
            ..local.own_course()
        };
        let own = local.train_along(&self.own(local), &course);
        Learned {
            sent: local.train(local.parameters),
            kept: local.learns().then_some(own),
        }
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        local.kept.unwrap_or(local.parameters).to_vec()
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let reach = self.strength * params.training.learning_rate;
        let rule =
            format!("times training.learning_rate must be below 2, got {reach}: personalised models would diverge");
        rules.require(reach < 2.0 || reach.is_nan(), "method.strength", rule);
    }
}

impl Personalisation<Federated> for Ditto {}
