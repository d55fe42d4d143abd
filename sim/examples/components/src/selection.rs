//! Client selection: which clients take part in a round.

use folkmoot::draws::SimRng;
use folkmoot::engine::world::{Candidates, ClientSelection};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// Every other client, in turn by rounds.
#[component(name = "EveryOther", about = "every other client, in turn by rounds")]
#[derive(Clone, Copy, Debug)]
struct EveryOther {}

impl ClientSelection for EveryOther {
    fn name(&self) -> &str {
        "EveryOther"
    }

    fn select(&self, clients: &mut Candidates<'_>, _: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        let first = clients.round.0 % 2;
        Ok((first..clients.n_clients).step_by(2).map(ClientId).collect())
    }

    fn asked(&self, n_clients: u32) -> u32 {
        n_clients.div_ceil(2)
    }

    fn needed(&self, n_clients: u32) -> u32 {
        (n_clients / 2).max(1)
    }

    fn mean_asked(&self, n_clients: u32) -> f64 {
        f64::from(n_clients) / 2.0
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_selection::<EveryOther>()?;
    registry.add_card("selection", include_str!("../cards/selection.ron"))
}
