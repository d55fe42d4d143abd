//! The wall clock and progress: the one place that looks at either.

use crate::args::EveryArgs;
use crate::context::Program;
use crate::events::Events;
use crate::memory;
use crate::output::warn;
use crate::pauses::{Every, Pauses};
use crate::text::lasting;
use folkmoot_engine::prelude::SimTime;
use folkmoot_engine::run::Pause;
use folkmoot_metrics::{RoundRow, ScoreRow, TimingRow};
use folkmoot_scenarios::run::Watcher;
use folkmoot_scenarios::scenario::Scenario;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::io::IsTerminal;
use std::time::Duration;
#[allow(
    clippy::disallowed_types,
    reason = "timing.csv and progress are about the wall clock"
)]
use std::time::Instant;

/// How long finished rounds may wait: each save rewrites whole tables and waits for the disk, a
/// fifth of the processor time of `fed-avg/algorithms-cora`.
const BETWEEN_SAVES: Duration = Duration::from_secs(1);

/// How often the state of a run of the user's own code is saved, unless it is said.
const OWN_CODE: Every = Every::Wall(Duration::from_secs(60));

/// A stopwatch with a progress bar, which shows only on a terminal.
#[allow(
    clippy::disallowed_types,
    reason = "timing.csv and progress are about the wall clock"
)]
pub(crate) struct Stopwatch {
    last: Instant,
    /// When finished rounds were last written.
    saved: Instant,
    rows: Vec<TimingRow>,
    bar: ProgressBar,
    /// Whether notes about data are printed.
    notes: bool,
    pauses: Option<Pauses>,
    /// What is said of progress where there is no bar, of how much, and since when.
    spoken: Option<(Progress, usize, Instant)>,
    events: Option<Events>,
}

#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "timing is about the wall clock"
)]
impl Stopwatch {
    /// Starts it. With the number of rounds, or of points, the bar knows how far there is to go.
    pub(crate) fn start(total: Option<u64>, unit: &'static str, quiet: bool) -> Self {
        Stopwatch {
            last: Instant::now(),
            saved: Instant::now(),
            rows: Vec::new(),
            bar: bar(total, unit, quiet),
            notes: !quiet,
            pauses: None,
            spoken: total
                .filter(|_| !quiet && !std::io::stderr().is_terminal())
                .map(|total| (Progress::of(unit), total as usize, Instant::now())),
            events: None,
        }
    }

    /// For a run of a scenario, whose state may be saved. Of several processes the first is looked
    /// at, and asked how often.
    pub(crate) fn of(program: &Program, scenario: &Scenario, quiet: bool, every: &EveryArgs) -> Self {
        let rounds = scenario.strategy().about.rounds.map(u64::from);
        let is_first = program.is_first();
        // A user's own code fails more often than ours, and is fixed while a run waits.
        let own_code = !scenario.strategy().about.programs.is_empty();
        let every = every.checkpoint_every.or(own_code.then_some(OWN_CODE));
        let every = every.filter(|_| is_first);
        Stopwatch::start(rounds, "rounds", quiet || !is_first).pausing(Pauses::new(every))
    }

    /// The same for a run whose state may be saved.
    pub(crate) fn pausing(mut self, pauses: Pauses) -> Self {
        self.pauses = Some(pauses);
        self
    }

    /// The same with or without notes about data.
    pub(crate) fn noting(mut self, notes: bool) -> Self {
        self.notes = notes;
        self
    }

    /// The same, which writes events.
    pub(crate) fn telling(mut self, events: Option<Events>) -> Self {
        self.events = events;
        self
    }

    /// Seconds since the start or the last lap.
    pub(crate) fn seconds(&self) -> f64 {
        self.last.elapsed().as_secs_f64()
    }
}

#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "timing is about the wall clock"
)]
impl Watcher for Stopwatch {
    fn lap(&mut self, stage: &str) {
        let [peak_memory_bytes, memory_bytes] = memory::status(["VmHWM:", "VmRSS:"]);
        let seconds = self.seconds();
        self.last = Instant::now();
        match self.rows.iter_mut().find(|row| row.stage == stage) {
            Some(row) => {
                row.seconds += seconds;
                row.peak_memory_bytes = peak_memory_bytes;
                row.memory_bytes = memory_bytes;
            }
            None => self.rows.push(TimingRow {
                stage: stage.to_owned(),
                seconds,
                peak_memory_bytes,
                memory_bytes,
            }),
        }
    }

    fn progress(&mut self, rounds: usize) {
        self.bar.set_position(rounds as u64);
        let line = self
            .spoken
            .as_mut()
            .and_then(|(progress, total, start)| progress.line(rounds, *total, start.elapsed().as_secs_f64()));
        if let Some(line) = line {
            warn(&line);
        }
    }

    fn progressed(&mut self, rounds: &[RoundRow], scores: &[ScoreRow]) {
        if let Some(events) = &self.events {
            events.tell_rows(rounds, scores);
        }
    }

    fn wants_progress_saved(&mut self) -> bool {
        let is_due = self.saved.elapsed() >= BETWEEN_SAVES;
        if is_due {
            self.saved = Instant::now();
        }
        is_due
    }

    fn pause(&mut self, at: SimTime, rounds: usize) -> Pause {
        let pauses = self.pauses.as_mut();
        pauses.map_or(Pause::GoOn, |pauses| pauses.ask(at, rounds))
    }

    fn fits(&mut self, bytes: u64) -> Result<(), String> {
        memory::fits(bytes)
    }

    fn note(&mut self, note: &str) {
        if self.notes {
            self.bar.suspend(|| warn(&format!("note: {note}")));
        }
        if let Some(events) = &self.events {
            events.tell("note", json!({ "text": note }));
        }
    }

    /// Also to who wants to hear of errors alone: one who counts on a state that is not there would
    /// learn of it too late.
    fn warn(&mut self, warning: &str) {
        self.bar.suspend(|| warn(&format!("warning: {warning}")));
        if let Some(events) = &self.events {
            events.tell("warning", json!({ "text": warning }));
        }
    }

    fn timing(&mut self) -> Vec<TimingRow> {
        self.bar.finish_and_clear();
        self.rows.clone()
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Progress where there is no terminal to draw a bar on.
pub(crate) struct Progress {
    unit: &'static str,
    /// How much was done before the first call.
    before: Option<usize>,
    /// When a line was last printed, in seconds since the start.
    said: f64,
}

impl Progress {
    pub(crate) fn of(unit: &'static str) -> Self {
        Progress {
            unit,
            before: None,
            said: 0.0,
        }
    }

    /// A line every ten seconds at most: how much is done, and how long the rest may take.
    pub(crate) fn line(&mut self, n_done: usize, total: usize, seconds: f64) -> Option<String> {
        const EVERY_S: f64 = 10.0;
        let before = *self.before.get_or_insert(n_done.saturating_sub(1));
        if seconds - self.said < EVERY_S || n_done >= total {
            return None;
        }
        self.said = seconds;
        let left = seconds / (n_done - before).max(1) as f64 * (total - n_done) as f64;
        Some(format!("{n_done}/{total} {}, about {} left", self.unit, lasting(left)))
    }
}

/// A bar on stderr, hidden unless that is a terminal.
pub(crate) fn bar(total: Option<u64>, unit: &str, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            format!("{{bar:32}} {{pos}}/{{len}} {unit}  {{elapsed}}, {{eta}} to go"),
        ),
        None => (
            ProgressBar::new_spinner(),
            format!("{{spinner}} {{pos}} {unit}  {{elapsed}}"),
        ),
    };
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
