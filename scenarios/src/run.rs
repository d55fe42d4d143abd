//! One run, from a checked scenario to its directory.

mod load;
mod program;

pub use load::{Cache, Loaded, load, load_data};

use crate::algorithm::Job;
use crate::scenario::Scenario;
use crate::summary::summarise;
use crate::text::Problems;
use folkmoot_engine::prelude::*;
use folkmoot_engine::ranks::{Alone, Ranks, agree};
use folkmoot_engine::run::{Observer, Pause, Saved};
use folkmoot_graphs::{DataError, Dataset, PartitionError};
use folkmoot_metrics::run_dir::{Manifest, Parent, Record, RunResult, RunWriter, WriteError, Writer};
use folkmoot_metrics::trace::{Event, Followed, MOST_EVENTS};
use folkmoot_metrics::{
    Division, Kind, Meaning, MessageRow, ObservationRow, RoundRow, TimingRow, Unit, complete, lints,
};
use folkmoot_privacy::{GRANULARITY, NoiseForm};
use std::collections::BTreeMap;
use std::path::Path;
use thiserror::Error;

/// Why a scenario has no result.
#[derive(Debug, Error)]
pub enum Failure {
    /// The card, once the data are known.
    #[error("{0}")]
    Card(#[source] Box<Problems>),
    /// The data cannot be had.
    #[error("{0}")]
    Data(#[source] DataError),
    /// The data cannot be shared out so.
    #[error("{0}")]
    Partition(#[source] PartitionError),
    /// The results cannot be written.
    #[error("{0}")]
    Write(#[source] WriteError),
    /// The run failed.
    #[error("{0}")]
    Run(#[source] RunError),
    /// The data would take more memory than there is.
    #[error("{0}")]
    Memory(String),
    /// Another rank cannot go on.
    #[error("rank {rank}: {why}")]
    Elsewhere {
        /// Which.
        rank: usize,
        /// Why.
        why: String,
    },
}

impl Failure {
    /// That of another rank, by what it says.
    pub fn elsewhere(rank: usize, why: String) -> Failure {
        Failure::Elsewhere { rank, why }
    }
}

/// Wall clock and progress, which belong to whoever runs: no result depends on them.
pub trait Watcher: Send {
    /// A stage is over; the time since the last call belongs to it, beside what it had before.
    fn lap(&mut self, stage: &str);

    /// Rounds have ended: how many so far.
    fn progress(&mut self, rounds: usize);

    /// Rounds have ended, or the run has: the rows that are new since the last call. Default:
    /// nothing.
    fn progressed(&mut self, _rounds: &[RoundRow], _scores: &[ScoreRow]) {}

    /// Whether the finished rounds that have been handed over are to be written by now; a run that
    /// is given up writes them in any case. Default: yes.
    fn wants_progress_saved(&mut self) -> bool {
        true
    }

    /// Asked after every window, which began at `at` of virtual time, with the number of finished
    /// rounds: whether to save the run's state. Default: no.
    fn pause(&mut self, _at: SimTime, _rounds: usize) -> Pause {
        Pause::GoOn
    }

    /// Asked before data are drawn and before states are made, which will take so many bytes more,
    /// by an estimate. Default: they will.
    ///
    /// # Errors
    ///
    /// There is not so much memory; the message ends the run.
    fn fits(&mut self, _bytes: u64) -> Result<(), String> {
        Ok(())
    }

    /// Something that a reader of data dropped, changed or did not read. Default: nothing is
    /// printed.
    fn note(&mut self, _note: &str) {}

    /// Something has gone wrong that costs the run nothing so far. Default: nobody is told.
    fn warn(&mut self, _warning: &str) {}

    /// The rows of `timing.csv`.
    fn timing(&mut self) -> Vec<TimingRow>;
}

/// Nobody watches.
impl Watcher for () {
    fn lap(&mut self, _: &str) {}

    fn progress(&mut self, _: usize) {}

    fn timing(&mut self) -> Vec<TimingRow> {
        Vec::new()
    }
}

/// What identifies a run in its manifest.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The program's version.
    pub version: String,
    /// The target it was built for.
    pub target: String,
    /// The command that repeats the run.
    pub command: String,
    /// What the machine lacks for the same bits elsewhere.
    pub warnings: Vec<String>,
}

/// A run on the disk.
pub struct Report {
    /// `summary.json`, and what [`complete`] adds.
    pub summary: BTreeMap<String, f64>,
    /// What the numbers are measured in.
    pub units: BTreeMap<String, Unit>,
    /// What they mean.
    pub terms: BTreeMap<String, Meaning>,
    /// `messages.csv`.
    pub messages: Vec<MessageRow>,
    /// The fingerprint of the result.
    pub fingerprint: String,
    /// What a reader of the results must know.
    pub warnings: Vec<String>,
    /// What a reader of the results may want to change.
    pub notes: Vec<String>,
}

/// How a scenario is run.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// The engine's options.
    pub options: Options,
    /// The checkpoint to go on from, if any.
    pub saved: Option<&'a Saved>,
    /// With whom.
    pub ranks: &'a dyn Ranks,
}

/// Runs a scenario in this process and writes its directory.
///
/// # Errors
///
/// See [`Failure`]. Nothing is left behind unless finished rounds are.
pub fn run_into(
    dir: &Path,
    scenario: &Scenario,
    loaded: &Loaded,
    options: Options,
    identity: &Identity,
    watcher: &mut dyn Watcher,
) -> Result<Report, Failure> {
    let writer = begin(dir, scenario, loaded, options, identity, None)?;
    let how = How {
        options,
        saved: None,
        ranks: &Alone,
    };
    let report = play(Some(writer), scenario, loaded, how, watcher)?;
    Ok(report.expect("who is alone is the first"))
}

/// Makes the directory of a run, which may begin with the state of another, and with its trace if
/// that was traced.
///
/// # Errors
///
/// When it cannot be written.
pub fn begin(
    dir: &Path,
    scenario: &Scenario,
    loaded: &Loaded,
    options: Options,
    identity: &Identity,
    parent: Option<(Parent, &Saved)>,
) -> Result<RunWriter, Failure> {
    let (division, split) = loaded.partition.split(&loaded.dataset);
    let manifest = Manifest {
        parent: parent.as_ref().map(|(parent, _)| parent.clone()),
        division: Some(division),
        ..manifest(scenario, loaded, options, identity)
    };
    let begun = RunWriter::create(dir, &scenario.resolved(), manifest).and_then(|mut writer| {
        writer.save_partition(&split)?;
        let programs = loaded.files.programs.values().flat_map(|program| &program.sources);
        writer.save_sources(programs.map(|(name, content)| (name.as_str(), content.as_slice())))?;
        match (&parent, options.trace) {
            (Some((parent, saved)), _) => {
                writer.go_on_with_trace(Path::new(&parent.dir), &saved.0)?;
                writer.save_checkpoint(&saved.0)?;
            }
            (None, Some(n)) => writer.begin_trace(Followed::new(loaded.n_clients(), n))?,
            (None, None) => {}
        }
        Ok(writer)
    });
    begun.map_err(Failure::Write)
}

fn manifest(scenario: &Scenario, loaded: &Loaded, options: Options, identity: &Identity) -> Manifest {
    Manifest {
        name: scenario.name().to_owned(),
        version: identity.version.clone(),
        target: identity.target.clone(),
        seed: scenario.seed(),
        results_version: scenario.strategy().about.results_version,
        dry_run: options.dry_run,
        data_fingerprints: loaded.fingerprints(),
        programs: loaded
            .files
            .programs
            .iter()
            .map(|(name, program)| (name.clone(), program.path.display().to_string()))
            .collect(),
        command: identity.command.clone(),
        question: scenario.question().to_owned(),
        headline: scenario.answers(),
        noise: format!("{:?}", scenario.noise()),
        noise_granularity: (scenario.noise() == NoiseForm::Discrete).then_some(GRANULARITY),
        figures: scenario.figures().to_vec(),
        notes: [loaded.dataset.notes.as_slice(), loaded.partition.notes(), &loaded.notes].concat(),
        warnings: identity.warnings.clone(),
        ..Manifest::default()
    }
}

/// Runs a scenario, together with other ranks that do the same. The first writes the directory, the
/// others have none.
///
/// # Errors
///
/// See [`Failure`]. A directory that held a state keeps it.
pub fn play(
    writer: Option<RunWriter>,
    scenario: &Scenario,
    loaded: &Loaded,
    how: How<'_>,
    watcher: &mut dyn Watcher,
) -> Result<Option<Report>, Failure> {
    let dir = writer.as_ref().map(|writer| writer.dir().to_owned());
    let job = Job {
        dataset: &loaded.dataset,
        partition: &loaded.partition,
        world: &loaded.world,
        files: &loaded.files,
        keep: scenario.keep(),
        evaluators: scenario.evaluators(),
        dir: dir.as_deref(),
        seed: scenario.seed(),
        options: how.options,
        saved: how.saved,
        ranks: how.ranks,
    };
    let division = writer.as_ref().and_then(|writer| writer.manifest().division.clone());
    let writer = writer.map(Writer::spawn).transpose().map_err(Failure::Write);
    let Some(writer) = agree(how.ranks, writer, Failure::elsewhere)? else {
        let finished = scenario.strategy().run(&job, &mut Follower(watcher));
        return undamaged(finished, loaded, how.ranks).map(|_| None);
    };
    let mut saver = Saver {
        writer,
        seen: 0,
        error: None,
        unsaved: Unsaved::default(),
        untraced: 0,
        dataset: &loaded.dataset,
        watcher,
    };
    let finished = scenario.strategy().run(&job, &mut saver);
    let Saver {
        writer,
        error,
        unsaved,
        untraced,
        ..
    } = saver;
    let finished = undamaged(finished, loaded, how.ranks);
    if let Some(error) = error {
        return Err(Failure::Write(error));
    }
    let mut finished = finished?.expect("the first rank has the outcome");
    watcher.lap("score");

    let mut summary = summarise(&finished, scenario.strategy(), scenario.terms(), scenario.targets());
    let held = finished.outcome.memory.iter().map(|(part, bytes)| TimingRow {
        stage: format!("memory: {part}"),
        seconds: 0.0,
        peak_memory_bytes: None,
        memory_bytes: Some(*bytes),
    });
    let mut tables = finished.outcome.tables;
    tables.observations = observations(scenario, &finished.outcome.counters);
    tables.timing = watcher.timing().into_iter().chain(held).collect();
    let warnings: Vec<String> = std::mem::take(&mut summary.warnings)
        .into_iter()
        .chain(unsaved.warning())
        .chain(too_long(untraced))
        .chain(std::mem::take(&mut finished.outcome.doubts))
        .chain(lints(&summary.numbers))
        .collect();
    let notes: Vec<String> = division
        .iter()
        .filter_map(|division| cut_note(division, scenario))
        .collect();
    let hashed = summary.numbers.clone();
    complete(
        (division.as_ref(), &tables),
        &mut summary.numbers,
        &mut summary.units,
        &mut summary.terms,
    );
    let unhashed = summary.numbers.keys().filter(|name| !hashed.contains_key(*name));
    let result = RunResult {
        unhashed: unhashed.cloned().collect(),
        readings_after: finished.outcome.readings_after,
        summary: summary.numbers.clone(),
        units: summary.units.clone(),
        terms: summary.terms.clone(),
        artifacts: finished.outcome.artifacts,
        tables,
        public_facts: finished.public_facts,
        trusted: finished.trusted.into_iter().map(str::to_owned).collect(),
        warnings: warnings.clone(),
        notes: notes.clone(),
    };
    let messages = result.tables.messages.clone();
    let fingerprint = writer.finish(result).map_err(Failure::Write)?;
    Ok(Some(Report {
        summary: summary.numbers,
        units: summary.units,
        terms: summary.terms,
        messages,
        fingerprint,
        warnings,
        notes,
    }))
}

/// What to say of one graph of which most edges are cut, with a partition that keeps more of them,
/// unless it is one.
fn cut_note(division: &Division, scenario: &Scenario) -> Option<String> {
    let note = division.cut_note()?;
    let follows_edges = ["Louvain", "Multilevel"]
        .iter()
        .any(|name| scenario.partition_text().starts_with(name));
    Some(match follows_edges {
        true => note,
        false => format!(
            "{note}; help: partition: Louvain(n_clients: {}) keeps more of them within clients",
            division.clients
        ),
    })
}

/// What to say of a trace that has no place for so many events.
fn too_long(untraced: u64) -> Option<String> {
    (untraced > 0).then(|| {
        format!("the trace ends with its event {MOST_EVENTS}, and lacks {untraced} or more: --trace-clients follows fewer clients, to the end")
    })
}

/// What a run came to, unless it was computed from damaged data, or failed for that, at any rank:
/// then it is nothing.
fn undamaged<T>(finished: Result<T, RunError>, loaded: &Loaded, ranks: &dyn Ranks) -> Result<T, Failure> {
    let damage = loaded.dataset.damage().map(Failure::Data);
    let is_whole = damage.map_or(Ok(()), Err);
    // A run that fails, fails at all ranks.
    agree(ranks, is_whole, Failure::elsewhere)?;
    finished.map_err(Failure::Run)
}

fn observations(scenario: &Scenario, counters: &[(&'static str, Vec<u64>)]) -> Vec<ObservationRow> {
    let observed = counters
        .iter()
        .filter(|(name, _)| scenario.observe().iter().any(|wanted| wanted == name));
    observed
        .flat_map(|(name, by_round)| {
            by_round.iter().enumerate().map(|(round, &value)| ObservationRow {
                round: round as u32,
                metric: (*name).to_owned(),
                value: value as f64,
            })
        })
        .collect()
}

/// What other ranks than the first have to say: that somebody wants to stop.
struct Follower<'a>(&'a mut dyn Watcher);

impl Observer for Follower<'_> {
    fn needs(&mut self, bytes: u64) -> Result<(), String> {
        self.0.fits(bytes)
    }

    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }

    fn pause(&mut self, at: SimTime, rounds: usize) -> Pause {
        self.0.pause(at, rounds)
    }
}

/// States that could not be saved.
#[derive(Default)]
struct Unsaved {
    n: usize,
    /// Why the last could not.
    why: String,
    /// Whether the last that was to be saved is one.
    is_last: bool,
}

impl Unsaved {
    fn warning(&self) -> Option<String> {
        let n = self.n;
        (n > 0).then(|| format!("the run's state could not be saved {n} times: {}", self.why))
    }
}

/// Hands finished rounds to the writer's thread.
struct Saver<'a> {
    writer: Writer,
    seen: usize,
    error: Option<WriteError>,
    unsaved: Unsaved,
    /// Events without a place in the trace.
    untraced: u64,
    dataset: &'a Dataset,
    watcher: &'a mut dyn Watcher,
}

impl Saver<'_> {
    fn save(&mut self, rounds: &[RoundRow], messages: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), WriteError> {
        // A save rewrites whole tables: after the first rounds it waits until there are some per
        // cent more.
        if rounds.len() < self.seen + 1 + self.seen / 32 {
            return Ok(());
        }
        for row in &rounds[self.seen..] {
            self.writer.send(Record::Round(row.clone()))?;
        }
        self.seen = rounds.len();
        self.writer.send(Record::Messages(messages()))?;
        match self.watcher.wants_progress_saved() {
            true => self.writer.send(Record::Save),
            false => Ok(()),
        }
    }

    /// Keeps an error for whoever runs; the engine gets its text.
    fn keep(&mut self, written: Result<(), WriteError>) -> Result<(), String> {
        written.map_err(|error| {
            let text = error.to_string();
            self.error = Some(error);
            text
        })
    }
}

impl Observer for Saver<'_> {
    fn needs(&mut self, bytes: u64) -> Result<(), String> {
        self.watcher.fits(bytes)
    }

    fn rounds_done(
        &mut self,
        rounds: &[RoundRow],
        messages: &mut dyn FnMut() -> Vec<MessageRow>,
    ) -> Result<(), String> {
        self.watcher.progress(rounds.len());
        // A round on damaged data is none to be saved, and the next would be no better.
        if let Some(damage) = self.dataset.damage() {
            return Err(damage.to_string());
        }
        let saved = self.save(rounds, messages);
        self.keep(saved)
    }

    fn progressed(&mut self, rounds: &[RoundRow], scores: &[ScoreRow]) {
        self.watcher.progressed(rounds, scores);
    }

    fn stage_done(&mut self, stage: &str) {
        self.watcher.lap(stage);
    }

    fn traced(&mut self, events: Vec<Event>, kinds: &[Kind]) -> Result<(), String> {
        let written = self
            .writer
            .add_events(events, kinds)
            .map(|untraced| self.untraced = untraced);
        self.keep(written)
    }

    fn pause(&mut self, at: SimTime, rounds: usize) -> Pause {
        self.watcher.pause(at, rounds)
    }

    /// A state that cannot be saved ends the run only where it was to end with it: what the run has
    /// come to is worth more than a state, the one before is there still, and the disk may have
    /// room again by the next.
    fn checkpoint(&mut self, saved: Saved, pause: Pause) -> Result<(), String> {
        let written = match self.writer.save_checkpoint(saved.0) {
            Ok(Err(error)) if pause != Pause::Stop => {
                let why = error.to_string();
                if !self.unsaved.is_last {
                    self.watcher
                        .warn(&format!("the run goes on, but its state is not saved: {why}"));
                }
                self.unsaved = Unsaved {
                    n: self.unsaved.n + 1,
                    why,
                    is_last: true,
                };
                return Ok(());
            }
            written => written.and_then(|written| written),
        };
        self.unsaved.is_last = false;
        self.keep(written)
    }
}
