//! A device model: how long a client computes. `Ranked` is made when a run is set up, from the
//! number of clients or from files.

use folkmoot::engine::world::Devices;
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;
use folkmoot::traces::{Model, Shelf, TraceError};

/// One speed for all.
#[component(name = "Steady", about = "one speed for all clients")]
#[derive(Clone, Copy, Debug)]
struct Steady {
    /// Speed.
    #[component(default = 1e6, above = 0, unit = "operations per second")]
    ops_per_s: f64,
}

/// Later clients are slower.
#[component(name = "Ranked", about = "client i takes i + 1 times as long as the first")]
#[derive(Clone, Copy, Debug)]
struct Ranked {}

impl Devices for Steady {
    fn span(&self, _: ClientId, work: f64, _: Streams) -> SimSpan {
        SimSpan::from_secs(work / self.ops_per_s)
    }
}

impl Devices for Ranked {
    fn span(&self, client: ClientId, work: f64, _: Streams) -> SimSpan {
        SimSpan::from_secs(work / 1e6 * f64::from(client.0 + 1))
    }
}

impl Model<dyn Devices> for Ranked {
    fn make(&self, _: &mut Shelf<'_>) -> Result<Box<dyn Devices>, TraceError> {
        Ok(Box::new(*self))
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_devices::<Steady>()?;
    registry.add_made_devices::<Ranked>()?;
    registry.add_card("devices", include_str!("../cards/devices.ron"))
}
