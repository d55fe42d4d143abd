//! One model for all that each client trains on: the control.

use super::{Federated, Learned, Local, Method};
use crate::classifier::Course;
use folkmoot_draws::Purpose;
use folkmoot_parts::component;
use folkmoot_rounds::Personalisation;

const TUNING: Purpose = Purpose(*b"fd-tunes");

/// Federated averaging, and each client trains the server's model some more by itself before it
/// answers: the control of whatever is personal.
///
/// | exchange | direction | payload                                 | bytes            |
/// |----------|-----------|-----------------------------------------|------------------|
/// | `model`  | downlink  | weights                                 | 4 × n_params     |
/// | `update` | uplink    | training samples as `u32`, then weights | 4 × n_params + 4 |
///
/// What is trained in the end comes from the last model and is kept from the server, so the
/// server's model is federated averaging's. With `epochs: 1` and `optimiser_state: Kept` it is what
/// programs score that look at a client's model when it has trained.
#[component(
    name = "FineTuned",
    about = "federated averaging followed by local fine-tuning, a baseline"
)]
#[derive(Clone, Copy, Debug)]
pub struct FineTuned {
    /// Local epochs of fine-tuning from the global model before evaluation. They take no simulated
    /// time.
    #[component(default = 5, in = 0..=100_000)]
    pub epochs: u32,
}

impl Method for FineTuned {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn carries_scale(&self) -> bool {
        true
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        Learned::sent(local.train(local.parameters))
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        let course = Course {
            epochs: Some(self.epochs),
            ..local.course()
        };
        let mut rng = (local.streams)(TUNING);
        let tuned = local
            .classifier()
            .train_along(local.shard, local.parameters, &course, &mut rng);
        tuned.0
    }
}

impl Personalisation<Federated> for FineTuned {}
