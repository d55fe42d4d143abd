//! A federated method: what a client trains, sends and keeps.

use folkmoot::classifiers::federated::{Federated, Learned, Local, Method};
use folkmoot::prelude::*;
use folkmoot::rounds::Personalisation;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// One model for all, which a client trains twice in a round.
#[component(name = "Twice", about = "one model for all, which a client trains twice in a round")]
#[derive(Clone, Copy, Debug)]
struct Twice {}

impl Method for Twice {
    fn passes(&self, epochs: f64) -> f64 {
        2.0 * epochs
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        Learned::sent(local.train(&local.train(local.parameters)))
    }
}

impl Personalisation<Federated> for Twice {}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn Method, Twice>()?;
    registry.add_card("method", include_str!("../cards/method.ron"))
}
