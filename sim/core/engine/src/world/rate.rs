//! How fast an access link carries bytes: at one rate, or as a log of measurements says, over and
//! over.

use folkmoot_metrics::{Bytes, SimSpan, SimTime};
use std::sync::Arc;
use thiserror::Error;

const NS_PER_S: u128 = 1_000_000_000;

/// What an access link carries, one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rate {
    #[default]
    Unlimited,
    /// So many bytes per second; 0 counts as 1.
    Constant(u64),
    /// What a log says.
    Replay(Arc<Replay>),
}

impl Rate {
    /// In bytes/s: of a log the mean, and the largest number where there is no limit.
    pub fn bytes_per_s(&self) -> u64 {
        match self {
            Rate::Unlimited => u64::MAX,
            Rate::Constant(rate) => (*rate).max(1),
            Rate::Replay(replay) => (replay.log.mean_rate() as u64).max(1),
        }
    }

    /// When `size` has passed that began to pass at `start`, rounded up to whole nanoseconds;
    /// [`SimTime::NEVER`] if that is beyond the end of time.
    #[inline]
    pub fn through(&self, start: SimTime, size: Bytes) -> SimTime {
        match self {
            Rate::Unlimited => start,
            Rate::Constant(rate) => constant(start, *rate, size),
            Rate::Replay(replay) => replay.through(start, size),
        }
    }
}

// Most links carry everything at once, and whoever asks them has little else to do: the rest is
// kept out of their way.
#[inline(never)]
fn constant(start: SimTime, rate: u64, size: Bytes) -> SimTime {
    let ns = (u128::from(size.0) * NS_PER_S).div_ceil(u128::from(rate.max(1)));
    start + SimSpan(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// A log that begins somewhere in its middle: it is taken to repeat for ever, before time 0 too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    pub log: Arc<Log>,
    /// How much of the log has passed at time 0.
    pub passed: SimSpan,
}

impl Replay {
    /// The least time at which what has passed since `start` is at least `size`: where the rate is
    /// 0 nothing passes.
    fn through(&self, start: SimTime, size: Bytes) -> SimTime {
        let log = &*self.log;
        if size.0 == 0 {
            return start;
        }
        let period = u128::from(log.period());
        let phase = (u128::from(start.0) + u128::from(self.passed.0)) % period;
        let wanted = log.volume_until(phase as u64) + u128::from(size.0) * NS_PER_S;
        // As many whole logs as do not suffice, then a part of one that does.
        let logs = (wanted - 1) / log.volume();
        let end = logs.saturating_mul(period) + u128::from(log.time_of(wanted - logs * log.volume()));
        let end = u128::from(start.0) + (end - phase);
        SimTime(u64::try_from(end).unwrap_or(u64::MAX))
    }
}

/// Why measurements make no log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    #[error("no rate is above 0 for any time: a transfer would never end")]
    Silent,
    /// It is too long.
    #[error("the log lasts longer than 292 years")]
    Endless,
    /// A rate is too high.
    #[error("a rate is above 10^15 bytes/s")]
    TooFast,
}

/// Rates that follow each other, each for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// By ascending time, each longer than nothing.
    pieces: Vec<Piece>,
}

/// A while of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// When it ends, in nanoseconds from the log's beginning.
    end: u64,
    /// What has passed by then, in bytes times nanoseconds per second, so that it is whole.
    volume: u128,
    /// Bytes per second.
    rate: u64,
}

impl Log {
    /// A log of rates in bytes per second, each for a span; those of no length count nothing.
    ///
    /// # Errors
    ///
    /// [`LogError`], so that every transfer has an end and every sum fits.
    pub fn new(pieces: impl IntoIterator<Item = (SimSpan, u64)>) -> Result<Log, LogError> {
        let (mut end, mut volume, mut made) = (0u64, 0u128, Vec::new());
        for (span, rate) in pieces {
            if span.0 == 0 {
                continue;
            }
            if rate > 1_000_000_000_000_000 {
                return Err(LogError::TooFast);
            }
            end = end
                .checked_add(span.0)
                .filter(|end| *end <= i64::MAX as u64)
                .ok_or(LogError::Endless)?;
            volume += u128::from(span.0) * u128::from(rate);
            made.push(Piece { end, volume, rate });
        }
        match volume {
            0 => Err(LogError::Silent),
            _ => Ok(Log { pieces: made }),
        }
    }

    /// How long it lasts.
    pub fn length(&self) -> SimSpan {
        SimSpan(self.period())
    }

    /// What it carries on average, in bytes per second.
    pub fn mean_rate(&self) -> f64 {
        self.volume() as f64 / self.period() as f64
    }

    fn period(&self) -> u64 {
        self.pieces.last().map_or(1, |piece| piece.end)
    }

    fn volume(&self) -> u128 {
        self.pieces.last().map_or(1, |piece| piece.volume)
    }

    /// Where the piece before the `i`-th ends, and what has passed by then.
    fn before(&self, i: usize) -> (u64, u128) {
        i.checked_sub(1)
            .map_or((0, 0), |i| (self.pieces[i].end, self.pieces[i].volume))
    }

    /// What passes until `time`, which lies within the log.
    fn volume_until(&self, time: u64) -> u128 {
        let i = self.pieces.partition_point(|piece| piece.end <= time);
        let (start, volume) = self.before(i);
        let rate = self.pieces.get(i).map_or(0, |piece| piece.rate);
        volume + u128::from(time - start) * u128::from(rate)
    }

    /// The least time by which `volume` has passed; it is at least 1 and at most the log's.
    fn time_of(&self, volume: u128) -> u64 {
        let i = self.pieces.partition_point(|piece| piece.volume < volume);
        let (start, passed) = self.before(i);
        let rate = self.pieces.get(i).map_or(1, |piece| piece.rate.max(1));
        start + (volume - passed).div_ceil(u128::from(rate)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(pieces: &[(u64, u64)], passed: u64) -> Rate {
        let second = |(s, rate): &(u64, u64)| (SimSpan(s * 1_000_000_000), *rate);
        Rate::Replay(Arc::new(Replay {
            log: Arc::new(Log::new(pieces.iter().map(second)).unwrap()),
            passed: SimSpan(passed * 1_000_000_000),
        }))
    }

    fn at_s(s: f64) -> SimTime {
        SimTime((s * 1e9) as u64)
    }

    #[test]
    fn a_constant_rate_rounds_up_and_never_overflows() {
        let span = |rate, size| Rate::Constant(rate).through(SimTime(5), Bytes(size));
        assert_eq!(span(3, 1), SimTime(333_333_339));
        assert_eq!(span(1, u64::MAX), SimTime::NEVER);
        assert_eq!(span(0, 1), SimTime(1_000_000_005));
        assert_eq!(Rate::Unlimited.through(SimTime(5), Bytes(1 << 40)), SimTime(5));
    }

    /// Two seconds at 10 bytes/s, three of nothing, one at 4: 24 bytes in 6 s.
    #[test]
    fn a_transfer_takes_what_the_log_lets_through() {
        let rate = replay(&[(2, 10), (3, 0), (1, 4)], 0);
        let through = |start: f64, size| rate.through(at_s(start), Bytes(size));
        assert_eq!(through(0.0, 10), at_s(1.0));
        assert_eq!(
            through(0.0, 20),
            at_s(2.0),
            "what fits before the pause does not wait for its end"
        );
        assert_eq!(through(0.0, 21), at_s(5.25), "what does not, waits");
        assert_eq!(through(3.5, 2), at_s(5.5), "what begins in the pause, too");
        assert_eq!(through(0.0, 24), at_s(6.0));
        assert_eq!(through(0.0, 25), at_s(6.1), "the log begins again");
        assert_eq!(through(5.5, 2 + 24 + 24 + 5), at_s(18.5));
        assert_eq!(through(3.0, 0), at_s(3.0));
        let later = replay(&[(2, 10), (3, 0), (1, 4)], 4);
        assert_eq!(later.through(SimTime::ZERO, Bytes(4)), at_s(2.0));
        assert_eq!(later.through(SimTime::ZERO, Bytes(5)), at_s(2.1));
        assert_eq!(later.through(SimTime::NEVER, Bytes(1)), SimTime::NEVER);
        assert_eq!(later.through(SimTime::ZERO, Bytes(u64::MAX)), SimTime::NEVER);
    }

    /// A log of one rate is that rate, and of any log the end found is the first nanosecond by
    /// which the bytes have passed.
    #[test]
    fn the_end_is_the_first_instant_that_suffices() {
        let one = replay(&[(7, 13)], 3);
        let log = Log::new([(SimSpan(5), 400_000_000), (SimSpan(3), 0), (SimSpan(4), 900_000_000)]).unwrap();
        let any = Rate::Replay(Arc::new(Replay {
            log: Arc::new(log),
            passed: SimSpan(2),
        }));
        let rate_at = |ns: u64| match (ns + 2) % 12 {
            0..5 => 400_000_000u128,
            5..8 => 0,
            _ => 900_000_000,
        };
        for start in 0..40u64 {
            for size in 0..30u64 {
                let constant = Rate::Constant(13).through(SimTime(start), Bytes(size));
                assert_eq!(one.through(SimTime(start), Bytes(size)), constant);
                let (mut end, mut passed) = (start, 0u128);
                while passed < u128::from(size) * NS_PER_S {
                    passed += rate_at(end);
                    end += 1;
                }
                assert_eq!(
                    any.through(SimTime(start), Bytes(size)),
                    SimTime(end),
                    "{size} from {start}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let log = |pieces: &[(u64, u64)]| Log::new(pieces.iter().map(|(span, rate)| (SimSpan(*span), *rate)));
        assert_eq!(log(&[]), Err(LogError::Silent));
        assert_eq!(log(&[(5, 0), (0, 9)]), Err(LogError::Silent));
        assert_eq!(log(&[(u64::MAX, 1)]), Err(LogError::Endless));
        assert_eq!(log(&[(1, u64::MAX)]), Err(LogError::TooFast));
        let log = log(&[(4, 3), (0, 9), (4, 1)]).unwrap();
        assert_eq!((log.length(), log.mean_rate()), (SimSpan(8), 2.0));
    }
}
