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
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    #[test]
    fn on_off_gives_the_same_answer_with_and_without_a_cursor() {
        let model = OnOff {
            mean_on_s: 30.0,
            mean_off_s: 90.0,
        };
        let streams = Streams::new(4);
        let mut cursor = PresenceCursor::default();
        let mut online = 0;
        for step in 0..4_000u64 {
            let at = SimTime(step * 10_000_000_000);
            let kept = model.presence(ClientId(9), Round(0), at, &mut cursor, streams);
            let fresh = model.presence(ClientId(9), Round(0), at, &mut PresenceCursor::default(), streams);
            assert_eq!(kept, fresh, "at step {step}");
            online += u32::from(kept == Presence::Online);
        }
        assert!(
            (800..1200).contains(&online),
            "a quarter of 4000 expected, got {online}"
        );
    }

    #[test]
    fn a_periodic_client_keeps_its_hours() {
        // Nights from 6 to 10; the run begins at 3.
        let day = Periodic {
            period: SimSpan(10),
            online: SimSpan(6),
            passed: SimSpan(3),
        };
        let at = |time| day.presence(SimTime(time));
        assert_eq!([at(0), at(2), at(7), at(12)], [Presence::Online; 4]);
        let (first, second) = (Presence::Away(Some(SimTime(7))), Presence::Away(Some(SimTime(17))));
        assert_eq!([at(3), at(6), at(13)], [first, first, second]);
        for end in 0..40 {
            let online = (0..end).filter(|time| at(*time) == Presence::Online).count() as u64;
            assert_eq!(day.online(&[(Round(0), SimTime(end))]), SimSpan(online), "{end}");
        }
        assert_eq!(day.online(&[]), SimSpan::ZERO);
        for end in 0..40 {
            let mut away = Vec::new();
            day.absences(&[(Round(0), SimTime(end))], &mut |from, until| {
                away.extend(from.0..until.0);
                ControlFlow::Continue(())
            });
            let expected: Vec<u64> = (0..end).filter(|time| at(*time) != Presence::Online).collect();
            assert_eq!(away, expected, "{end}");
        }
        let never = day.presence(SimTime(u64::MAX));
        assert!(matches!(never, Presence::Online | Presence::Away(Some(_))), "{never:?}");
    }

    /// A client that toggles every millisecond, at the end of virtual time, in a block of its own.
    #[test]
    fn a_time_far_away_costs_no_more_than_a_near_one() {
        let model = OnOff {
            mean_on_s: 0.001,
            mean_off_s: 0.003,
        };
        let streams = Streams::new(4);
        let years = SimTime(500 * 365 * 24 * HOUR);
        let (mut kept, mut online) = (PresenceCursor::default(), 0);
        for step in 0..4_000 {
            let at = years + SimSpan(step * 40_000_000);
            let here = model.presence(ClientId(9), Round(0), at, &mut kept, streams);
            if step % 100 == 0 {
                let fresh = model.presence(ClientId(9), Round(0), at, &mut PresenceCursor::default(), streams);
                assert_eq!(here, fresh, "at step {step}");
            }
            assert!(kept.toggles < 20_000, "{kept:?}");
            online += u32::from(here == Presence::Online);
        }
        assert!(
            (800..1200).contains(&online),
            "a quarter of 4000 expected, got {online}"
        );
        let share = model.online(ClientId(9), &[(Round(0), years)], streams).0 as f64 / years.0 as f64;
        assert!((share - 0.25).abs() < 0.01, "{share}");
    }

    /// Where blocks meet, absences stay apart and neither time nor state is lost.
    #[test]
    fn blocks_join_without_a_seam() {
        let model = OnOff {
            mean_on_s: 0.02,
            mean_off_s: 0.02,
        };
        let first = model.block(SimTime::ZERO);
        let blocks = [0, 1, 2].map(|k| model.block(SimTime(first.end.0 + k * 10_240_000_000)));
        assert_eq!(blocks.each_ref().map(|block| block.index), [1, 2, 3]);
        assert!(blocks[0].start == first.end && blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
        let (end, streams) = (blocks[2].end, Streams::new(5));
        for client in (0..8).map(ClientId) {
            let mut told = Vec::new();
            model.absences(client, &[(Round(0), end)], streams, &mut |from, until| {
                told.push((from, until));
                ControlFlow::Continue(())
            });
            assert!(told.windows(2).all(|pair| pair[0].1 < pair[1].0));
            let late: Vec<_> = told.iter().filter(|(_, until)| *until >= first.end).collect();
            assert!(late.len() > 500);
            for (from, until) in late {
                let presence = |at| model.presence(client, Round(0), at, &mut PresenceCursor::default(), streams);
                assert_eq!(presence(*from), Presence::Away(Some(*until)));
                assert!(*until == end || presence(*until) == Presence::Online);
            }
        }
    }

    #[test]
    fn online_time_is_the_share_of_the_law() {
        let model = OnOff {
            mean_on_s: 30.0,
            mean_off_s: 90.0,
        };
        let total: u64 = (0..200)
            .map(|c| {
                model
                    .online(ClientId(c), &[(Round(0), SimTime(HOUR))], Streams::new(1))
                    .0
            })
            .sum();
        let share = total as f64 / (200.0 * HOUR as f64);
        assert!((share - 0.25).abs() < 0.02, "share {share}");
    }

    /// Absences are told in order, add up to what was not online, and are when nobody can be
    /// reached.
    #[test]
    fn absences_are_the_times_that_are_not_online() {
        let rounds: Vec<(Round, SimTime)> = (0..9)
            .map(|i| (Round(i), SimTime(u64::from(i + 1) * 40_000_000_000)))
            .collect();
        let end = SimTime(360_000_000_000);
        let (on_off, coin) = (
            OnOff {
                mean_on_s: 30.0,
                mean_off_s: 20.0,
            },
            Bernoulli { online_prob: 0.5 },
        );
        let days = Diurnal {
            day_s: 50.0,
            online_share: Dist::Uniform { low: 0.1, high: 0.9 },
            begins: 0.9,
            spread: 0.5,
        };
        let models: [&dyn Availability; 4] = [&on_off, &coin, &days, &Always {}];
        for (client, model) in (0..20)
            .map(ClientId)
            .flat_map(|client| models.map(|model| (client, model)))
        {
            let (streams, mut told) = (Streams::new(3), Vec::new());
            model.absences(client, &rounds, streams, &mut |from, until| {
                told.push((from, until));
                ControlFlow::Continue(())
            });
            let away: u64 = told.iter().map(|(from, until)| until.0 - from.0).sum();
            assert_eq!(away, end.0 - model.online(client, &rounds, streams).0);
            assert!(told.iter().all(|(from, until)| from < until && *until <= end));
            assert!(told.windows(2).all(|pair| pair[0].1 < pair[1].0), "{told:?}");
            for (from, until) in told {
                for at in [from, SimTime(until.0 - 1)] {
                    let round = Round(rounds.partition_point(|(_, end)| *end <= at) as u32);
                    let presence = model.presence(client, round, at, &mut PresenceCursor::default(), streams);
                    assert!(matches!(presence, Presence::Away(_)), "{client:?} at {at:?}");
                }
            }
        }
    }

    #[test]
    fn days_are_alike_and_time_zones_spread_them() {
        let day = |spread| Diurnal {
            day_s: 1_000.0,
            online_share: Dist::Constant(0.25),
            begins: 0.5,
            spread,
        };
        let online = |model: Diurnal, second: u64| {
            let at = SimTime(second * 1_000_000_000);
            let is_online = |c: &u32| {
                let mut cursor = PresenceCursor::default();
                model.presence(ClientId(*c), Round(0), at, &mut cursor, Streams::new(2)) == Presence::Online
            };
            (0..1_000).filter(is_online).count()
        };
        let counts = |spread, seconds: [u64; 5]| seconds.map(|second| online(day(spread), second));
        assert_eq!(counts(0.0, [0, 499, 500, 749, 750]), [0, 0, 1_000, 1_000, 0]);
        let around = counts(1.0, [0, 300, 550, 1_300, 7_300]);
        assert!(around.iter().all(|n| (200..300).contains(n)), "{around:?}");
        assert_eq!((around[1], around[1]), (around[3], around[4]), "every day is alike");
        let half = counts(0.25, [499, 625, 749, 900, 1_000]);
        assert!((420..580).contains(&half[1]) && half[2] > 980, "{half:?}");
        assert_eq!((half[0], half[4]), (0, 0));
    }

    #[test]
    fn bernoulli_is_fixed_within_a_round() {
        let model = Bernoulli { online_prob: 0.3 };
        let streams = Streams::new(1);
        let is_online = |c, r| {
            let mut cursor = PresenceCursor::default();
            model.presence(ClientId(c), Round(r), SimTime(7), &mut cursor, streams) == Presence::Online
        };
        let online = (0..10_000).filter(|&c| is_online(c, 5)).count();
        assert!((2_800..3_200).contains(&online), "{online}");
        assert!((0..100).any(|r| is_online(1, r)) && (0..100).any(|r| !is_online(1, r)));
        let rounds = [(Round(0), SimTime(10)), (Round(1), SimTime(30))];
        let expected = 10 * u64::from(is_online(2, 0)) + 20 * u64::from(is_online(2, 1));
        assert_eq!(model.online(ClientId(2), &rounds, streams), SimSpan(expected));
    }
}
