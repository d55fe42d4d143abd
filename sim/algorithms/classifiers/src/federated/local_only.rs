//! Every client by itself: the control.

use super::{Federated, Learned, Local, Method};
use folkmoot_draws::SimRng;
use folkmoot_parts::component;
use folkmoot_rounds::{Personalisation, Travels};

/// Every client learns by itself: the control that a federation must beat.
///
/// | exchange | direction | payload                   | bytes |
/// |----------|-----------|---------------------------|-------|
/// | `model`  | downlink  | nothing: it is a turn     | 0     |
/// | `update` | uplink    | training samples as `u32` | 4     |
///
/// All begin with one model, drawn from the public `start_seed`; in each round that a client takes
/// part in it trains its own once more.
#[component(name = "LocalOnly", about = "local training without federation, a baseline")]
#[derive(Clone, Copy, Debug)]
pub struct LocalOnly {}

impl Method for LocalOnly {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Err("clients of LocalOnly send no model, so there is nothing to hide")
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let own = self.own(local);
        Learned {
            sent: Vec::new(),
            kept: Some(local.train(&own)),
        }
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        local.kept.map_or_else(|| local.common.start(), <[f32]>::to_vec)
    }

    fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
        None
    }
}

impl Personalisation<Federated> for LocalOnly {
    fn travels(&self, _: &Federated) -> Travels {
        Travels::default()
    }

    fn initial(&self, _: &Federated, _: &mut SimRng) -> Vec<f32> {
        Vec::new()
    }
}
