//! Availability: when a client is online. Computed when asked, never by scheduling every toggle of
//! a million clients.

use super::Dist;
use folkmoot_draws::{Purpose, Rng, Streams, exponential, unit};
use folkmoot_metrics::{ClientId, Party, Round, SimSpan, SimTime};
use folkmoot_parts::component;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

const PURPOSE: Purpose = Purpose(*b"presence");

/// Whether a client can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Online,
    /// It can't, until then; `None`: until a later round reaches it.
    Away(Option<SimTime>),
}

/// Where the last question about a client ended, so that the next one, which is never about an
/// earlier time, goes on from there. It is a cache that each model uses as it likes: every answer
/// is a function of the client and the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresenceCursor {
    /// When the span ends that holds the time last asked for.
    pub until: SimTime,
    /// How many spans have begun; 0 before the first question.
    pub toggles: u32,
    /// Whether the client is online in it.
    pub online: bool,
}

/// How long the presence of clients can be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affordable {
    pub until: SimTime,
    /// The settings of the card by which it is no longer; greater values of them make it longer.
    pub settings: Vec<&'static str>,
}

/// When clients are online.
pub trait Availability: Send + Sync {
    /// The presence of `client` at `at`, as seen in `round`. For one cursor, `at` never decreases.
    fn presence(
        &self,
        client: ClientId,
        round: Round,
        at: SimTime,
        cursor: &mut PresenceCursor,
        streams: Streams,
    ) -> Presence;

    /// Whether everybody is always online, so that nobody need be asked.
    fn is_perfect(&self) -> bool {
        false
    }

    /// The settings of the card that say how often and how long clients are away. Default: the
    /// whole of `availability`, or none where everybody is always online.
    fn settings(&self) -> Vec<&'static str> {
        match self.is_perfect() {
            true => Vec::new(),
            false => vec!["availability"],
        }
    }

    /// How long the presence of `n_clients` can be followed at a cost that can be borne. Default:
    /// without end.
    fn affordable(&self, _n_clients: u32) -> Affordable {
        Affordable {
            until: SimTime::NEVER,
            settings: Vec::new(),
        }
    }

    /// How long `client` was online until the end of the last of `rounds`, given when each round
    /// ended.
    fn online(&self, client: ClientId, rounds: &[(Round, SimTime)], streams: Streams) -> SimSpan;

    /// Tells when `client` went away, each time, and when it came back or the last of `rounds`
    /// ended: in order, for whoever looks at a run event by event, and for outages that come on
    /// top. Ends at the first break.
    fn absences(
        &self,
        client: ClientId,
        rounds: &[(Round, SimTime)],
        streams: Streams,
        tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    );
}

/// A client that is online for the first part of every period, for models to answer by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    /// How long a period is; at least 1 ns.
    pub period: SimSpan,
    /// How long it is online of that; at most the period.
    pub online: SimSpan,
    /// How much of its period has passed at time 0; less than the period.
    pub passed: SimSpan,
}

impl Periodic {
    /// Whether it can be reached at `at`.
    pub fn presence(&self, at: SimTime) -> Presence {
        let hour = (u128::from(at.0) + u128::from(self.passed.0)) % u128::from(self.period.0.max(1));
        match hour < u128::from(self.online.0) {
            true => Presence::Online,
            // Less than a period away, which a span can hold.
            false => Presence::Away(Some(at + SimSpan(self.period.0 - hour as u64))),
        }
    }

    /// How long it was online until the end of the last of `rounds`, as [`Availability::online`]
    /// asks.
    pub fn online(&self, rounds: &[(Round, SimTime)]) -> SimSpan {
        let period = u128::from(self.period.0.max(1));
        let online = u128::from(self.online.0);
        let until = |time: u128| time / period * online + (time % period).min(online);
        let (end, passed) = (rounds.last().map_or(0, |(_, end)| end.0), u128::from(self.passed.0));
        SimSpan((until(u128::from(end) + passed) - until(passed)) as u64)
    }

    /// Tells of its absences until the end of the last of `rounds`, as [`Availability::absences`]
    /// asks.
    pub fn absences(&self, rounds: &[(Round, SimTime)], tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>) {
        let end = rounds.last().map_or(0, |(_, end)| end.0);
        let period = self.period.0.max(1);
        let away = period.saturating_sub(self.online.0);
        let mut back = Some(period.saturating_sub(self.passed.0));
        while let Some(until) = back {
            let since = until.saturating_sub(away);
            if away == 0 || since >= end {
                break;
            }
            if tell(SimTime(since), SimTime(until.min(end))).is_break() {
                break;
            }
            back = until.checked_add(period);
        }
    }
}

/// All clients are always online.
#[component(name = "Always", about = "all clients are always online")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Always {}

impl Availability for Always {
    fn presence(&self, _: ClientId, _: Round, _: SimTime, _: &mut PresenceCursor, _: Streams) -> Presence {
        Presence::Online
    }

    fn is_perfect(&self) -> bool {
        true
    }

    fn online(&self, _: ClientId, rounds: &[(Round, SimTime)], _: Streams) -> SimSpan {
        rounds.last().map_or(SimSpan::ZERO, |&(_, end)| end - SimTime::ZERO)
    }

    fn absences(
        &self,
        _: ClientId,
        _: &[(Round, SimTime)],
        _: Streams,
        _: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
    }
}

/// The same online hours every day, which differ between clients by time zone and duration.
#[component(
    name = "Diurnal",
    about = "the same online hours every day, by time zone and duration per client"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diurnal {
    /// Length of a day; the run starts at the beginning of a day.
    #[component(default = 86_400.0, in = 0.001..=1e9, unit = "s")]
    pub day_s: f64,
    /// Fraction of a day that a client is online, drawn once per client; values above 1 count as 1.
    #[component(default = Dist::Constant(0.3), in = 0..=1)]
    pub online_share: Dist,
    /// Time of day, as a fraction, at which clients in the first time zone come online.
    #[component(default = 0.0, in = 0..1)]
    pub begins: f64,
    /// Spread of time zones as a fraction of a day: a client comes online up to this much later,
    /// uniformly distributed. 0: all at once; 1: evenly around the clock.
    #[component(default = 0.25, in = 0..=1)]
    pub spread: f64,
}

impl Diurnal {
    fn hours(&self, client: ClientId, streams: Streams) -> Periodic {
        let mut rng = streams.party(Purpose(*b"diurnal "), Party::Client(client), Round(0));
        let period = SimSpan::from_secs(self.day_s);
        let share = |of_day: f64| ((of_day * period.0 as f64) as u64).min(period.0);
        let comes = share((self.begins + self.spread * unit(&mut rng)) % 1.0) % period.0;
        Periodic {
            period,
            online: SimSpan(share(self.online_share.draw(&mut rng)).max(1)),
            passed: SimSpan((period.0 - comes) % period.0),
        }
    }
}

impl Availability for Diurnal {
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

/// In each round a client is online independently with the same probability.
#[component(
    name = "Bernoulli",
    about = "online with a fixed probability, independently per client and round"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bernoulli {
    /// Probability that a client is online in a round.
    #[component(required, above = 0, at_most = 1)]
    pub online_prob: f64,
}

impl Bernoulli {
    /// Word `round` of the client's stream decides, so any round is found without the ones before.
    fn is_online(&self, client: ClientId, round: Round, streams: Streams) -> bool {
        let mut rng = streams.party(PURPOSE, Party::Client(client), Round(0));
        rng.set_word_pos(u128::from(round.0));
        f64::from(rng.next_u32()) < self.online_prob * 4_294_967_296.0
    }
}

impl Availability for Bernoulli {
    fn presence(
        &self,
        client: ClientId,
        round: Round,
        _: SimTime,
        cursor: &mut PresenceCursor,
        streams: Streams,
    ) -> Presence {
        if cursor.toggles != round.0 + 1 {
            *cursor = PresenceCursor {
                until: SimTime::NEVER,
                toggles: round.0 + 1,
                online: self.is_online(client, round, streams),
            };
        }
        if cursor.online {
            Presence::Online
        } else {
            Presence::Away(None)
        }
    }

    fn online(&self, client: ClientId, rounds: &[(Round, SimTime)], streams: Streams) -> SimSpan {
        let mut start = SimTime::ZERO;
        let mut online = SimSpan::ZERO;
        for &(round, end) in rounds {
            if self.is_online(client, round, streams) {
                online += end - start;
            }
            start = end;
        }
        online
    }

    fn absences(
        &self,
        client: ClientId,
        rounds: &[(Round, SimTime)],
        streams: Streams,
        tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
        let mut start = SimTime::ZERO;
        let mut away_since = None;
        for &(round, end) in rounds {
            match self.is_online(client, round, streams) {
                true => {
                    let told = away_since.take().map(|since| tell(since, start));
                    if told.is_some_and(|told| told.is_break()) {
                        return;
                    }
                }
                false => away_since = away_since.or(Some(start)),
            }
            start = end;
        }
        if let Some(since) = away_since {
            let _ = tell(since, start);
        }
    }
}

/// Up to this time, in mean cycles of an online and an offline period, periods follow one another
/// from the start of the run. Later ones are drawn in blocks, each by itself.
const FIRST_CYCLES: u64 = 65_536;

/// Length of a later block in mean cycles.
const BLOCK_CYCLES: u64 = 256;

/// At least, so that blocks can be counted to the end of virtual time.
const LEAST_BLOCK: SimSpan = SimSpan(5_000_000_000);

/// Alternating exponentially distributed online and offline periods, stationary at the start: a
/// two-state Markov process in continuous time.
///
/// From cycle 65 536 on it begins anew every 256 mean cycles, in its stationary state, so that a
/// time far away costs no more than a near one.
#[component(
    name = "OnOff",
    about = "alternating online and offline periods, exponentially distributed"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Mean online period.
    #[component(required, in = 0.001..=1e9, unit = "s")]
    pub mean_on_s: f64,
    /// Mean offline period.
    #[component(required, in = 0.001..=1e9, unit = "s")]
    pub mean_off_s: f64,
}

/// A part of time whose periods are drawn without those before it.
struct Block {
    index: u32,
    start: SimTime,
    end: SimTime,
}

impl OnOff {
    fn block(&self, at: SimTime) -> Block {
        let cycle = SimSpan::from_secs(self.mean_on_s + self.mean_off_s).0;
        let first = cycle.saturating_mul(FIRST_CYCLES);
        if at.0 < first || first == u64::MAX {
            return Block {
                index: 0,
                start: SimTime::ZERO,
                end: SimTime(first),
            };
        }
        let length = cycle.saturating_mul(BLOCK_CYCLES).max(LEAST_BLOCK.0);
        let before = (at.0 - first) / length;
        let start = SimTime(first + before * length);
        Block {
            index: before as u32 + 1,
            start,
            end: start + SimSpan(length),
        }
    }

    /// Moves `cursor` to the span that contains `at`.
    fn advance(&self, client: ClientId, at: SimTime, cursor: &mut PresenceCursor, streams: Streams) {
        if cursor.toggles > 0 && cursor.until > at {
            return;
        }
        let block = self.block(at);
        if cursor.until <= block.start {
            (cursor.toggles, cursor.until) = (0, block.start);
        }
        let mut rng = streams.party(PURPOSE, Party::Client(client), Round(block.index));
        if cursor.toggles == 0 {
            let online = unit(&mut rng) * (self.mean_on_s + self.mean_off_s) < self.mean_on_s;
            // The equilibrium: an exponential span has no memory, so the first one is drawn like
            // any other.
            cursor.online = !online;
        }
        rng.set_word_pos(2 * (u128::from(cursor.toggles) + 1));
        while cursor.toggles == 0 || cursor.until <= at {
            let start = cursor.until;
            cursor.online = !cursor.online;
            cursor.toggles += 1;
            let mean = if cursor.online { self.mean_on_s } else { self.mean_off_s };
            // One nanosecond at least, so that time moves.
            let span = SimSpan::from_secs(mean * exponential(&mut rng)).max(SimSpan(1));
            cursor.until = (start + span).min(block.end);
            if cursor.until == SimTime::NEVER {
                break;
            }
        }
    }

    /// The same, and to the last span in which the client is as then: an offline period can go on
    /// in the next block.
    fn advance_to_last(&self, client: ClientId, at: SimTime, cursor: &mut PresenceCursor, streams: Streams) {
        self.advance(client, at, cursor, streams);
        while cursor.until != SimTime::NEVER && cursor.until == self.block(cursor.until).start {
            let mut next = *cursor;
            self.advance(client, cursor.until, &mut next, streams);
            if next.online != cursor.online {
                break;
            }
            *cursor = next;
        }
    }
}

impl Availability for OnOff {
    fn presence(
        &self,
        client: ClientId,
        _: Round,
        at: SimTime,
        cursor: &mut PresenceCursor,
        streams: Streams,
    ) -> Presence {
        self.advance_to_last(client, at, cursor, streams);
        if cursor.online {
            Presence::Online
        } else {
            Presence::Away(Some(cursor.until))
        }
    }

    fn settings(&self) -> Vec<&'static str> {
        vec!["availability.mean_on_s", "availability.mean_off_s"]
    }

    fn online(&self, client: ClientId, rounds: &[(Round, SimTime)], streams: Streams) -> SimSpan {
        without_absences(self, client, rounds, streams)
    }

    fn absences(
        &self,
        client: ClientId,
        rounds: &[(Round, SimTime)],
        streams: Streams,
        tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
        let end = rounds.last().map_or(SimTime::ZERO, |&(_, end)| end);
        let (mut at, mut cursor) = (SimTime::ZERO, PresenceCursor::default());
        while at < end {
            self.advance_to_last(client, at, &mut cursor, streams);
            let until = cursor.until.min(end);
            if !cursor.online && tell(at, until).is_break() {
                break;
            }
            at = until;
        }
    }
}

/// So many absences of a client are added up; a share of later ones is estimated from them.
const COUNTED: u32 = 65_536;

/// How long `client` was online until the end of the last of `rounds`, by its absences. After
/// 65 536 absences the rest of the time counts with the same share of it.
pub(super) fn without_absences(
    model: &dyn Availability,
    client: ClientId,
    rounds: &[(Round, SimTime)],
    streams: Streams,
) -> SimSpan {
    let end = rounds.last().map_or(SimTime::ZERO, |&(_, end)| end);
    let (mut away, mut counted, mut known) = (SimSpan::ZERO, 0, end);
    model.absences(client, rounds, streams, &mut |from, until| {
        away += until - from;
        counted += 1;
        match counted < COUNTED {
            true => ControlFlow::Continue(()),
            false => {
                known = until;
                ControlFlow::Break(())
            }
        }
    });
    let online = u128::from((known - SimTime::ZERO).0.saturating_sub(away.0));
    SimSpan((online * u128::from(end.0) / u128::from(known.0.max(1))) as u64)
}

#[cfg(test)]
mod tests;
