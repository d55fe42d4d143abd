//! `--events`: what happens in runs, a line of JSON each, while they run.

use crate::args::SayArgs;
use crate::context::Program;
use crate::exit::Exit;
use crate::output::warn;
use clap::Args;
use folkmoot_engine::prelude::RunError;
use folkmoot_metrics::run_dir::encode_summary;
use folkmoot_metrics::{RoundRow, ScoreRow};
use folkmoot_scenarios::run::{Failure, Loaded, Report};
use folkmoot_scenarios::scenario::Scenario;
use serde_json::{Map, Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where events go.
#[derive(Args)]
pub(crate) struct EventArgs {
    /// Append a line of JSON for each round, score, warning and end to FILE; - prints these alone
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
}

impl EventArgs {
    fn fill_stdout(&self) -> bool {
        self.events.as_deref() == Some(Path::new("-"))
    }

    /// What is said besides events: nothing where they fill stdout.
    pub(crate) fn say(&self, say: SayArgs) -> SayArgs {
        let quiet = say.quiet || self.fill_stdout();
        SayArgs { quiet, ..say }
    }

    /// Of several processes the first writes.
    pub(crate) fn of(&self, program: &Program) -> Result<Option<Events>, Exit> {
        let path = self.events.as_ref().filter(|_| program.is_first());
        let open = |path: &PathBuf| -> Result<Events, Exit> {
            let writer: Box<dyn Write + Send> = match self.fill_stdout() {
                true => Box::new(std::io::stdout()),
                false => {
                    let file = OpenOptions::new().append(true).create(true).open(path);
                    let why = |error| Exit::usage(format!("error: --events {}: {error}", path.display()));
                    Box::new(file.map_err(why)?)
                }
            };
            Ok(Events {
                to: path.to_string_lossy().into_owned(),
                writer: Arc::new(Mutex::new(Some(writer))),
                run: Map::new(),
            })
        };
        path.map(open).transpose()
    }
}

/// A file that several runs may write to, and the fields of one of them.
#[derive(Clone)]
pub(crate) struct Events {
    to: String,
    /// `None` once a line could not be written.
    writer: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
    run: Map<String, Value>,
}

impl Events {
    /// The events of one run of a sweep: each has these fields, too.
    pub(crate) fn of(&self, fields: Value) -> Events {
        let mut run = self.run.clone();
        run.extend(object(fields));
        Events { run, ..self.clone() }
    }

    /// Writes one line. A run whose events cannot be written goes on.
    pub(crate) fn tell(&self, event: &str, fields: Value) {
        let mut line = self.run.clone();
        line.extend(object(fields));
        line.insert("event".to_owned(), event.into());
        let text = format!("{}\n", Value::Object(line));
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writer
            .as_mut()
            .map(|out| out.write_all(text.as_bytes()).and_then(|()| out.flush()));
        if let Some(Err(error)) = written {
            *writer = None;
            warn(&format!(
                "warning: --events {}: {error}; the run goes on without events",
                self.to
            ));
        }
    }

    pub(crate) fn tell_rows(&self, rounds: &[RoundRow], scores: &[ScoreRow]) {
        for row in rounds {
            self.tell(
                "round",
                json!({
                    "round": row.round,
                    "virtual_s": row.virtual_s,
                    "cohort": row.cohort,
                    "completed": row.completed,
                    "dropped": row.dropped,
                    "late": row.late,
                    "staleness_mean": row.staleness_mean,
                }),
            );
        }
        for row in scores {
            let value = number(row.value);
            self.tell(
                "score",
                json!({
                    "round": row.round,
                    "virtual_s": row.virtual_s,
                    "split": row.split,
                    "metric": row.metric,
                    "value": value,
                    "n": row.n,
                }),
            );
        }
    }

    pub(crate) fn tell_end(&self, dir: &Path, report: &Report) {
        for warning in &report.warnings {
            self.tell("warning", json!({ "text": warning }));
        }
        for note in &report.notes {
            self.tell("note", json!({ "text": note }));
        }
        let summary: Value = serde_json::from_slice(&encode_summary(&report.summary)).unwrap_or_default();
        let dir = dir.to_string_lossy();
        self.tell(
            "end",
            json!({ "dir": dir, "result_hash": report.fingerprint, "summary": summary }),
        );
    }
}

/// A run between the events of its start and its end.
pub(crate) fn within(
    events: Option<&Events>,
    dir: &Path,
    (scenario, loaded): (&Scenario, &Loaded),
    play: impl FnOnce() -> Result<Option<Report>, Failure>,
) -> Result<Option<Report>, Failure> {
    let Some(events) = events else { return play() };
    events.tell(
        "start",
        json!({
            "dir": dir.to_string_lossy(),
            "card": scenario.name(),
            "seed": scenario.seed(),
            "n_clients": loaded.n_clients(),
            "n_rounds": scenario.strategy().about.rounds,
        }),
    );
    let played = play();
    let (event, why) = match &played {
        Ok(report) => {
            report.iter().for_each(|report| events.tell_end(dir, report));
            return played;
        }
        Err(Failure::Run(error @ RunError::Stopped { .. })) => ("stopped", error.to_string()),
        Err(failure) => ("failed", failure.to_string()),
    };
    events.tell(event, json!({ "dir": dir.to_string_lossy(), "text": why }));
    played
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A number as in `summary.json`: JSON has none that is infinite or undefined.
fn number(value: f64) -> Value {
    match value.is_finite() {
        true => value.into(),
        false => value.to_string().to_lowercase().into(),
    }
}
