//! One model for all: the control.

use super::{Federated, Learned, Local, Method};
use folkmoot_parts::component;
use folkmoot_rounds::Personalisation;

/// One model for all, and every client answers with it: federated averaging, the control of
/// whatever is personal.
///
/// | exchange | direction | payload                                 | bytes            |
/// |----------|-----------|-----------------------------------------|------------------|
/// | `model`  | downlink  | weights                                 | 4 × n_params     |
/// | `update` | uplink    | training samples as `u32`, then weights | 4 × n_params + 4 |
///
/// With the same settings its model is that of the strategy `FedAvg`, to the bit. FedProx, server
/// optimisers and rules are settings.
#[component(
    name = "Global",
    about = "one global model: federated averaging, a baseline (AISTATS 2017)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Global {}

impl Method for Global {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn carries_scale(&self) -> bool {
        true
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        Learned::sent(local.train(local.parameters))
    }
}

impl Personalisation<Federated> for Global {}
