//! An availability model: when a client is online. `Roster` is made when a run is set up, from the
//! number of clients or from files.

use folkmoot::draws::unit;
use folkmoot::engine::world::{Availability, Periodic, Presence, PresenceCursor};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;
use folkmoot::traces::{Model, Shelf, TraceError};
use std::ops::ControlFlow;

/// Clients that are online for the same hours of every day, each in a time zone of its own.
#[component(
    name = "Shifts",
    about = "the same hours of every day, each client in a time zone of its own"
)]
#[derive(Clone, Debug)]
struct Shifts {
    /// How long a day is.
    #[component(default = 86_400.0, in = 0.001..=1e9, unit = "s")]
    day_s: f64,
    /// The share of it that a client is online.
    #[component(default = 0.5, above = 0, at_most = 1)]
    online_share: f64,
}

impl Shifts {
    /// A client's hours, which begin by a draw of its own.
    fn hours(&self, client: ClientId, streams: Streams) -> Periodic {
        let mut rng = streams.party(Purpose(*b"diurnal "), Party::Client(client), Round(0));
        let period = SimSpan::from_secs(self.day_s);
        let share = |of_day: f64| SimSpan((of_day * period.0 as f64) as u64);
        Periodic {
            period,
            online: share(self.online_share).max(SimSpan(1)),
            passed: share(unit(&mut rng)),
        }
    }
}

impl Availability for Shifts {
    fn presence(&self, client: ClientId, _: Round, at: SimTime, _: &mut PresenceCursor, streams: Streams) -> Presence {
        self.hours(client, streams).presence(at)
    }

    fn online(&self, client: ClientId, rounds: &[(Round, SimTime)], streams: Streams) -> SimSpan {
        self.hours(client, streams).online(rounds)
    }

    fn absences(
        &self,
        client: ClientId,
        rounds: &[(Round, SimTime)],
        streams: Streams,
        tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
        self.hours(client, streams).absences(rounds, tell);
    }
}

/// Hours that are fewer the more clients there are.
#[component(name = "Roster", about = "hours that are fewer the more clients there are")]
#[derive(Clone, Copy, Debug)]
struct Roster {}

impl Model<dyn Availability> for Roster {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Availability>, TraceError> {
        Ok(Box::new(Shifts {
            day_s: 86_400.0,
            online_share: 1.0 / f64::from(shelf.n_clients()).sqrt(),
        }))
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_availability::<Shifts>()?;
    registry.add_made_availability::<Roster>()?;
    registry.add_card("availability", include_str!("../cards/availability.ron"))
}
