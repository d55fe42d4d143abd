//! A server optimizer: it changes the global model by the combined update.

use folkmoot::prelude::*;
use folkmoot::rounds::{ServerMoments, ServerOptimiser};
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// Half of the mean change.
#[component(name = "HalfWay", about = "half of the mean change")]
#[derive(Clone, Copy, Debug)]
struct HalfWay {}

impl ServerOptimiser for HalfWay {
    fn step(&self, _: &mut ServerMoments, weights: &mut [f32], change: &[f64]) {
        for (weight, change) in weights.iter_mut().zip(change) {
            *weight = (f64::from(*weight) + change / 2.0) as f32;
        }
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn ServerOptimiser, HalfWay>()?;
    registry.add_card("server_optimizer", include_str!("../cards/server_optimizer.ron"))
}
