//! When a run's state is saved: every so often, and when the program is asked to stop.

use crate::signals::stop_flag;
use folkmoot_engine::prelude::{SimSpan, SimTime};
use folkmoot_engine::run::Pause;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[allow(clippy::disallowed_types, reason = "when a state is saved is no part of it")]
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Every {
    /// Of time as it passes here.
    Wall(Duration),
    Rounds(usize),
    Virtual(SimSpan),
}

impl FromStr for Every {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RULE: &str = "must be a number above 0 with its unit, one of s, min, h, rounds and virtual_s";
        let (number, unit) = text.split_at(text.find(char::is_alphabetic).ok_or(RULE)?);
        let value: f64 = number.parse().map_err(|_| RULE)?;
        if !(value > 0.0 && value < 1e9) {
            return Err(RULE);
        }
        let wall = |seconds: f64| Every::Wall(Duration::from_secs_f64(value * seconds));
        match unit {
            "s" => Ok(wall(1.0)),
            "min" => Ok(wall(60.0)),
            "h" => Ok(wall(3600.0)),
            "virtual_s" => Ok(Every::Virtual(SimSpan::from_secs(value))),
            "rounds" => number.parse().map(Every::Rounds).map_err(|_| RULE),
            _ => Err(RULE),
        }
    }
}

/// Answers a run that asks after each window.
#[allow(clippy::disallowed_types, reason = "when a state is saved is no part of it")]
pub(crate) struct Pauses {
    every: Option<Every>,
    stop: Arc<AtomicBool>,
    /// When the last state had been saved; `None` while it is.
    saved_at: Option<Instant>,
    /// Where the run stood then, or at the first question.
    stood: Option<(SimTime, usize)>,
}

#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "when a state is saved is no part of it"
)]
impl Pauses {
    /// From now on, the program can be asked to stop.
    pub(crate) fn new(every: Option<Every>) -> Self {
        Pauses {
            every,
            stop: stop_flag(),
            saved_at: Some(Instant::now()),
            stood: None,
        }
    }

    /// After a window that began at `at`, with so many rounds finished.
    pub(crate) fn ask(&mut self, at: SimTime, rounds: usize) -> Pause {
        if self.stop.load(Ordering::Relaxed) {
            return Pause::Stop;
        }
        // From the end of the last save, so that a state that takes longer than the span to save
        // does not follow every window.
        let saved_at = *self.saved_at.get_or_insert_with(Instant::now);
        let (at_before, rounds_before) = *self.stood.get_or_insert((at, rounds));
        let is_due = match self.every {
            None => false,
            Some(Every::Wall(span)) => saved_at.elapsed() >= span,
            Some(Every::Rounds(n)) => rounds >= rounds_before + n,
            Some(Every::Virtual(span)) => at >= at_before + span,
        };
        if !is_due {
            return Pause::GoOn;
        }
        (self.saved_at, self.stood) = (None, Some((at, rounds)));
        Pause::Save
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_with_its_unit() {
        let read = |text: &str| text.parse::<Every>();
        let seconds = |n| Ok(Every::Wall(Duration::from_secs(n)));
        assert_eq!(
            [read("10min"), read("1.5h"), read("90s")],
            [seconds(600), seconds(5400), seconds(90)]
        );
        assert_eq!(read("20rounds"), Ok(Every::Rounds(20)));
        assert_eq!(read("3600virtual_s"), Ok(Every::Virtual(SimSpan::from_secs(3600.0))));
        for wrong in [
            "",
            "10",
            "min",
            "0min",
            "-1s",
            "1.5rounds",
            "3600 virtual_s",
            "5days",
            "infmin",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn states_are_saved_as_often_as_asked_and_no_more() {
        let asked = |every: &str, windows: &[(u64, usize)]| -> Vec<Pause> {
            let mut pauses = Pauses::new(Some(every.parse().unwrap()));
            let ask = |(s, rounds): &(u64, usize)| pauses.ask(SimTime(s * 1_000_000_000), *rounds);
            windows.iter().map(ask).collect()
        };
        let windows = [(0, 7), (2, 8), (3, 9), (7, 9), (8, 10), (9, 11)];
        let (no, yes) = (Pause::GoOn, Pause::Save);
        assert_eq!(asked("2rounds", &windows), [no, no, yes, no, no, yes]);
        assert_eq!(asked("3virtual_s", &windows), [no, no, yes, yes, no, no]);
        assert_eq!(asked("1h", &windows), [no; 6]);
    }

    /// While a state is saved, time passes that counts for nothing.
    #[test]
    fn a_span_begins_when_a_state_has_been_saved() {
        let mut pauses = Pauses::new(Some("0.2s".parse().unwrap()));
        let mut ask = || pauses.ask(SimTime(0), 0);
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(ask(), Pause::Save);
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(ask(), Pause::GoOn, "the save took that long");
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(ask(), Pause::Save);
    }
}
