//! An availability model from another crate: `diurnal run diurnal`, and every other command, knows it.

use folkmoot_draws::unit;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::{Availability, Presence, PresenceCursor};
use folkmoot_parts::part;

/// Clients that are online for the same hours of every day, each in a time zone of its own.
#[part(
    name = "Diurnal",
    about = "the same hours of every day, each client in a time zone of its own"
)]
#[derive(Clone, Debug)]
struct Diurnal {
    /// How long a day is.
    #[part(default = 86_400.0, in = 0.001..=1e9, unit = "s")]
    day_s: f64,
    /// The share of it that a client is online.
    #[part(default = 0.5, above = 0, at_most = 1)]
    online_share: f64,
}

impl Diurnal {
    /// The length of a day and of its online part, and when in its day a client begins; all in nanoseconds.
    fn hours(&self, client: ClientId, streams: Streams) -> (u64, u64, u64) {
        let mut rng = streams.party(Purpose(*b"diurnal "), Party::Client(client), Round(0));
        let day = SimSpan::from_secs(self.day_s).0;
        let share = |of_day: f64| (of_day * day as f64) as u64;
        (day, share(self.online_share).clamp(1, day), share(unit(&mut rng)))
    }
}

impl Availability for Diurnal {
    fn presence(
        &self,
        client: ClientId,
        _: Round,
        at: SimTime,
        cursor: &mut PresenceCursor,
        streams: Streams,
    ) -> Presence {
        if cursor.toggles == 0 || cursor.until <= at {
            let (day, on, zone) = self.hours(client, streams);
            let hour = (at.0 + zone) % day;
            cursor.toggles = 1;
            cursor.online = hour < on;
            cursor.until = at + SimSpan(if cursor.online { on } else { day } - hour);
        }
        match cursor.online {
            true => Presence::Online,
            false => Presence::Away(Some(cursor.until)),
        }
    }

    fn online(&self, client: ClientId, rounds: &[(Round, SimTime)], streams: Streams) -> SimSpan {
        let (day, on, zone) = self.hours(client, streams);
        let until = |hour: u64| hour / day * on + (hour % day).min(on);
        let end = rounds.last().map_or(0, |(_, end)| end.0);
        SimSpan(until(end + zone) - until(zone))
    }
}

fn main() -> std::process::ExitCode {
    let mut registry = folkmoot::Registry::shipped();
    registry
        .add_availability::<Diurnal>()
        .expect("no shipped model is called so");
    registry
        .add_card("diurnal", include_str!("../diurnal.ron"))
        .expect("no shipped card is called so");
    folkmoot::main(registry)
}
