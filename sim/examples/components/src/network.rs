//! A network: when a message arrives, and whether. `LongWires` is made when a run is set up, from
//! the number of clients or from files.

use folkmoot::draws::StreamName;
use folkmoot::engine::world::network::{AccessRates, Link, Network, Verdict};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;
use folkmoot::traces::{Model, Shelf, TraceError};

/// Every message takes the same time.
#[component(name = "Wire", about = "every message takes the same time")]
#[derive(Clone, Copy, Debug)]
struct Wire {
    /// Latency.
    #[component(default = 5.0, above = 0, at_most = 1e6, unit = "ms")]
    latency_ms: f64,
}

/// A wire, longer the more clients there are.
#[component(name = "LongWires", about = "a wire, one millisecond longer for each client")]
#[derive(Clone, Copy, Debug)]
struct LongWires {}

impl Network for Wire {
    fn verdict(&self, _: Link, _: Bytes, _: StreamName) -> Verdict {
        Verdict {
            attempts: 1,
            arrives: true,
            after: self.lookahead(),
        }
    }

    fn access(&self, _: Party, _: Streams) -> AccessRates {
        AccessRates::default()
    }

    fn lookahead(&self) -> SimSpan {
        SimSpan::from_secs(self.latency_ms / 1e3).max(SimSpan(1))
    }
}

impl Model<dyn Network> for LongWires {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Network>, TraceError> {
        Ok(Box::new(Wire {
            latency_ms: f64::from(shelf.n_clients()),
        }))
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_network::<Wire>()?;
    registry.add_made_network::<LongWires>()?;
    registry.add_card("network", include_str!("../cards/network.ron"))
}
