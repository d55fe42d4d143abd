//! Claims held against runs: what was measured, and the verdict.
//!
//! [`Evidence`] gathers numbers by run and seed, from the shipped record and from finished
//! directories, which are known by what they ran and not by their names; [`decide`] gives a claim
//! its [`Finding`]; [`pages`] writes them down.

mod baseline;
mod horizon;
pub mod overall;
pub mod pages;
#[cfg(test)]
mod tests;
mod verdict;

pub use overall::Overview;
pub use verdict::{Finding, STANDARD_ERRORS, Verdict, decide, spread_text};

use crate::claims::{Claim, Claims, Kind, Measure, Printed, Rule, RunKey, Test, essence};
use crate::registry::Registry;
use crate::text::{Problems, Source};
use folkmoot_metrics::run_dir::MANIFEST;
use folkmoot_metrics::sweep_dir::{POINTS_DIR, SWEEP};
use folkmoot_metrics::{ControlRow, MetricKey, ReadError, RunDir, Spread};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The card as it was written then ([`Resolved::written`](crate::claims::Resolved::written)).
    pub card: String,
    /// The version of the results of its algorithm.
    pub version: u32,
    /// The fingerprint of its result.
    pub fingerprint: String,
    /// The numbers, by metric.
    pub values: BTreeMap<String, f64>,
}

/// Numbers by run and seed.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    runs: BTreeMap<String, BTreeMap<u64, Measured>>,
    /// How often the record was looked at until a number had its present seeds, by run and metric.
    looks: BTreeMap<(String, String), u32>,
    /// What the cards state today, by run.
    expected: BTreeMap<String, Expected>,
    /// Runs whose result is another one than was recorded: run, seed, and both fingerprints.
    pub moved: Vec<String>,
}

/// What a card states of a run today.
#[derive(Clone, Debug, PartialEq)]
struct Expected {
    /// The version of the results of its algorithm.
    version: u32,
    /// The seeds of its sweep.
    seeds: Vec<u64>,
}

/// The columns of a record.
const COLUMNS: [&str; 7] = ["run", "card", "seed", "version", "fingerprint", "metric", "value"];

/// The columns of the table of looks.
const LOOKS_COLUMNS: [&str; 3] = ["run", "metric", "looks"];

impl Evidence {
    /// What is recorded beside the claims that a program has.
    ///
    /// # Errors
    ///
    /// When a record is damaged: its file and line.
    pub fn recorded(registry: &Registry) -> Result<Evidence, String> {
        let mut evidence = Evidence::default();
        for file in registry.claims() {
            let damaged = |what: &str, why: String| format!("{what} of {}: {why}", file.name);
            evidence.read(file.measured).map_err(|why| damaged("record", why))?;
            evidence.read_looks(file.looks).map_err(|why| damaged("looks", why))?;
        }
        Ok(evidence)
    }

    /// Adds the records in a folder and in the folders in it, such as `scenarios`; returns whether
    /// there is one.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read or a record is damaged: its file and line.
    pub fn read_records(&mut self, dir: &Path) -> Result<bool, String> {
        let within = |dir: &Path| -> Result<Vec<PathBuf>, String> {
            let entries = std::fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let entries = entries.map_err(|why| format!("{}: {why}", dir.display()))?;
            let mut paths: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
            paths.sort();
            Ok(paths)
        };
        let mut paths = Vec::new();
        for path in within(dir)? {
            // Run and sweep directories have tables of their own, of another form.
            let is_record = |path: &PathBuf| path.ends_with("measured.csv") || path.ends_with("looks.csv");
            match path.is_dir() {
                true => paths.extend(within(&path)?.into_iter().filter(is_record)),
                false => paths.push(path),
            }
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
        let mut is_any = false;
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
            let header = text.lines().next().unwrap_or_default();
            if header == COLUMNS.join(",") {
                self.read(&text).map_err(|why| format!("{}: {why}", path.display()))?;
                is_any = true;
            } else if header == LOOKS_COLUMNS.join(",") {
                self.read_looks(&text)
                    .map_err(|why| format!("{}: {why}", path.display()))?;
            }
        }
        Ok(is_any)
    }

    fn read_looks(&mut self, text: &str) -> Result<(), String> {
        for (record, line) in csv::Reader::from_reader(text.as_bytes()).records().zip(2..) {
            let record = record.map_err(|error| error.to_string())?;
            let looks = record[2].parse();
            let looks = looks.map_err(|_| format!("line {line}: looks must be a number"))?;
            self.looks.insert((record[0].to_owned(), record[1].to_owned()), looks);
        }
        Ok(())
    }

    /// Adds what a record says: a table as [`Evidence::record`] writes it.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and in which line.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        let mut lines = csv::Reader::from_reader(text.as_bytes());
        let header = lines.headers().map_err(|error| error.to_string())?;
        if header.iter().ne(COLUMNS) {
            return Err(format!("the columns must be {}", COLUMNS.join(",")));
        }
        let mut known: BTreeSet<[String; 3]> = BTreeSet::new();
        for (record, line) in lines.records().zip(2..) {
            let record = record.map_err(|error| error.to_string())?;
            if !known.insert([0, 2, 5].map(|at| record[at].to_owned())) {
                let (run, seed, metric) = (&record[0], &record[2], &record[5]);
                return Err(format!(
                    "line {line}: a second {metric} of {run}, seed {seed}; keep one of them"
                ));
            }
            let bad = |column: &str| format!("line {line}: {column} must be a number");
            let seed = record[2].parse().map_err(|_| bad("seed"))?;
            let version = record[3].parse().map_err(|_| bad("version"))?;
            let value = record[6].parse().map_err(|_| bad("value"))?;
            let run = self
                .runs
                .entry(record[0].to_owned())
                .or_default()
                .entry(seed)
                .or_default();
            record[1].clone_into(&mut run.card);
            run.version = version;
            record[4].clone_into(&mut run.fingerprint);
            run.values.insert(record[5].to_owned(), value);
        }
        Ok(())
    }

    /// Forgets the runs of cards that are written otherwise today, whose numbers would stand for
    /// what nobody ran; returns which.
    pub fn forget_changed(&mut self, wanted: &Wanted) -> Vec<String> {
        let is_changed = |run: &str, seeds: &BTreeMap<u64, Measured>| {
            let today = wanted.cards.get(run);
            today.is_some_and(|card| seeds.values().any(|measured| measured.card != *card))
        };
        let changed = self.runs.iter().filter(|(run, seeds)| is_changed(run, seeds));
        let changed: Vec<String> = changed.map(|(run, _)| run.clone()).collect();
        self.runs.retain(|run, _| !changed.contains(run));
        changed
    }

    /// Takes note of what cards state today, by which missing seeds and stale numbers are found.
    pub fn expect(&mut self, wanted: &Wanted) {
        self.expected.extend(wanted.expected.clone());
    }

    /// How often the record was looked at until a number had its present seeds; 1 where its history
    /// is not known.
    fn looks(&self, measure: &Measure) -> u32 {
        let key = (measure.run.to_string(), measure.metric.clone());
        self.looks.get(&key).copied().unwrap_or(1)
    }

    /// Whether a number is of another version of the results than today's.
    fn is_stale(&self, measure: &Measure) -> bool {
        let run = measure.run.to_string();
        let Some(expected) = self.expected.get(&run) else {
            return false;
        };
        let has = |measured: &&Measured| measured.values.contains_key(&measure.metric);
        let mut measured = self.runs.get(&run).into_iter().flat_map(BTreeMap::values).filter(has);
        measured.any(|measured| measured.version != expected.version)
    }

    /// The seeds that the card of a run states and that the record lacks, where it has any seed.
    fn missing_seeds(&self, run: &str) -> Vec<u64> {
        match (self.expected.get(run), self.runs.get(run)) {
            (Some(expected), Some(runs)) if !runs.is_empty() => {
                let is_missing = |seed: &&u64| !runs.contains_key(seed);
                expected.seeds.iter().filter(is_missing).copied().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The runs of which the record lacks a seed that a card states, with these seeds.
    pub fn incomplete(&self) -> Vec<(String, Vec<u64>)> {
        let runs = self.expected.keys().map(|run| (run.clone(), self.missing_seeds(run)));
        runs.filter(|(_, seeds)| !seeds.is_empty()).collect()
    }

    /// The runs with numbers of another version of the results than today's.
    pub fn stale(&self) -> Vec<String> {
        let is_stale = |(run, expected): &(&String, &Expected)| {
            let mut runs = self.runs.get(*run).into_iter().flat_map(BTreeMap::values);
            runs.any(|measured| measured.version != expected.version)
        };
        self.expected
            .iter()
            .filter(is_stale)
            .map(|(run, _)| run.clone())
            .collect()
    }

    /// The numbers of `measures` as a record, sorted.
    pub fn record(&self, measures: &BTreeSet<Measure>) -> String {
        let mut lines = csv::Writer::from_writer(Vec::new());
        // Writing to memory cannot fail.
        let _ = lines.write_record(COLUMNS);
        for measure in measures {
            let run = measure.run.to_string();
            for (seed, measured) in self.runs.get(&run).into_iter().flatten() {
                if let Some(value) = measured.values.get(&measure.metric) {
                    let (seed, value) = (seed.to_string(), format!("{value}"));
                    let Measured { card, fingerprint, .. } = measured;
                    let version = measured.version.to_string();
                    let _ = lines.write_record([&run, card, &seed, &version, fingerprint, &measure.metric, &value]);
                }
            }
        }
        String::from_utf8(lines.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    /// Adds a run's numbers. One of another fingerprint takes the place of what was known of that
    /// run and seed.
    pub fn add(&mut self, run: &RunKey, seed: u64, measured: Measured) {
        self.add_named(&run.to_string(), seed, measured);
    }

    /// Adds controls to a run that is known.
    fn add_controls(&mut self, run: &RunKey, seed: u64, values: BTreeMap<String, f64>) {
        let known = self
            .runs
            .get_mut(&run.to_string())
            .and_then(|seeds| seeds.get_mut(&seed));
        if let Some(known) = known {
            known.values.extend(values);
        }
    }

    fn add_named(&mut self, run: &str, seed: u64, measured: Measured) {
        let known = self.runs.entry(run.to_owned()).or_default().entry(seed).or_default();
        if !known.fingerprint.is_empty() && known.fingerprint != measured.fingerprint {
            self.moved.push(format!(
                "{run}, seed {seed}: {}, recorded {}",
                short(&measured.fingerprint),
                short(&known.fingerprint)
            ));
            *known = Measured::default();
        }
        known.card = measured.card;
        known.version = measured.version;
        known.fingerprint = measured.fingerprint;
        known.values.extend(measured.values);
    }

    /// Adds all that `other` knows; where results differ, it has the word.
    pub fn merge(&mut self, other: &Evidence) {
        for (run, seeds) in &other.runs {
            for (&seed, measured) in seeds {
                self.add_named(run, seed, measured.clone());
            }
        }
    }

    /// A number by seed.
    fn of(&self, measure: &Measure) -> BTreeMap<u64, f64> {
        let runs = self.runs.get(&measure.run.to_string()).into_iter().flatten();
        let value = |(&seed, measured): (&u64, &Measured)| Some((seed, *measured.values.get(&measure.metric)?));
        runs.filter_map(value).collect()
    }

    /// Mean and spread of a number over its seeds, if it was measured.
    pub fn spread(&self, measure: &Measure, scale: f64) -> Option<Spread> {
        let values = self.values(measure, scale);
        (!values.is_empty()).then(|| Spread::of(&values))
    }

    /// What each seed says of a number.
    pub fn values(&self, measure: &Measure, scale: f64) -> Vec<f64> {
        self.of(measure).values().map(|value| value * scale).collect()
    }

    /// The seeds under which a run was made.
    pub fn seeds(&self, run: &RunKey) -> Vec<u64> {
        self.runs
            .get(&run.to_string())
            .into_iter()
            .flat_map(BTreeMap::keys)
            .copied()
            .collect()
    }

    /// Whether the run was made under this seed.
    pub fn has(&self, measure: &Measure, seed: u64) -> bool {
        self.of(measure).contains_key(&seed)
    }

    /// The fingerprints of the runs that a number is of, by seed.
    pub fn fingerprints(&self, measure: &Measure) -> Vec<String> {
        let runs = self.runs.get(&measure.run.to_string()).into_iter().flatten();
        runs.map(|(seed, measured)| format!("{seed}:{}", short(&measured.fingerprint)))
            .collect()
    }
}

/// The numbers that a verdict rests on besides those that are compared.
pub(crate) fn supporting(test: &Test) -> Vec<Measure> {
    baseline::constants(test).chain(horizon::needed(test)).collect()
}

fn short(fingerprint: &str) -> &str {
    fingerprint.get(..16).unwrap_or(fingerprint)
}

/// Which numbers are wanted, by what their runs do.
pub struct Wanted {
    by_essence: BTreeMap<String, Vec<(RunKey, Vec<Measure>)>>,
    /// The card of each run as it is written.
    cards: BTreeMap<String, String>,
    expected: BTreeMap<String, Expected>,
}

impl Wanted {
    /// Those of `measures`.
    ///
    /// # Errors
    ///
    /// When a run has no legal card.
    pub fn new(measures: &BTreeSet<Measure>, registry: &Registry) -> Result<Wanted, Problems> {
        let mut by_run: BTreeMap<&RunKey, Vec<Measure>> = BTreeMap::new();
        for measure in measures {
            by_run.entry(&measure.run).or_default().push(measure.clone());
        }
        let mut by_essence: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let (mut cards, mut expected) = (BTreeMap::new(), BTreeMap::new());
        for (run, measures) in by_run {
            let resolved = run.resolve(registry)?;
            let essence = essence(&resolved.source, registry)?;
            by_essence.entry(essence).or_default().push((run.clone(), measures));
            cards.insert(run.to_string(), resolved.written(registry)?);
            let states = Expected {
                version: resolved.results_version,
                seeds: resolved.seeds,
            };
            expected.insert(run.to_string(), states);
        }
        Ok(Wanted {
            by_essence,
            cards,
            expected,
        })
    }

    /// Adds what finished run and sweep directories in or below `dir` say.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read, or a result in it is damaged.
    pub fn gather(&self, dir: &Path, registry: &Registry, evidence: &mut Evidence) -> Result<Gathered, ReadError> {
        let mut gathered = Gathered::default();
        for path in run_dirs(dir)? {
            let run = RunDir::open(&path)?.completed();
            let Some(fingerprint) = run.manifest.result_fingerprint.as_ref() else {
                continue;
            };
            let source = Source::new(&run.manifest.name, &run.scenario);
            let Ok(essence) = source.and_then(|source| essence(&source, registry)) else {
                gathered.illegal.push(path);
                continue;
            };
            for (key, measures) in self.by_essence.get(&essence).into_iter().flatten() {
                let values = measures
                    .iter()
                    .filter_map(|measure| Some((measure.metric.clone(), measure.of(&run)?)));
                // A dry run has learned nothing: only its controls count, which follow from the
                // data, beside what was measured.
                if run.manifest.dry_run {
                    let name = |row: &ControlRow| MetricKey::of(&row.metric).against(&row.control).to_string();
                    let controls = run.tables.controls.iter().map(name);
                    let controls: BTreeSet<String> = controls.collect();
                    let values = values.filter(|(metric, _)| controls.contains(metric));
                    evidence.add_controls(key, run.manifest.seed, values.collect());
                    continue;
                }
                let measured = Measured {
                    version: run.manifest.results_version,
                    card: self.cards.get(&key.to_string()).cloned().unwrap_or_default(),
                    fingerprint: short(fingerprint).to_owned(),
                    values: values.collect(),
                };
                evidence.add(key, run.manifest.seed, measured);
                gathered.runs.insert((key.clone(), run.manifest.seed));
            }
        }
        Ok(gathered)
    }
}

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Those that test a claim, with their seeds.
    pub runs: BTreeSet<(RunKey, u64)>,
    /// Finished runs whose card this program refuses, as one of another version may be.
    pub illegal: Vec<PathBuf>,
}

/// The run directories in and below a folder, sorted; links are not followed.
fn run_dirs(dir: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if dir.join(MANIFEST).is_file() {
        return Ok(vec![dir.to_owned()]);
    }
    let below = match dir.join(SWEEP).is_file() {
        true => dir.join(POINTS_DIR),
        false => dir.to_owned(),
    };
    let unreadable = |source| ReadError::Io {
        path: below.clone(),
        source,
    };
    let mut dirs = Vec::new();
    for entry in std::fs::read_dir(&below).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().map_err(unreadable)?.is_dir() {
            dirs.push(entry.path());
        }
    }
    dirs.sort();
    let runs: Vec<Vec<PathBuf>> = dirs.iter().map(|dir| run_dirs(dir)).collect::<Result<_, _>>()?;
    Ok(runs.concat())
}

/// One paper's claims and what was found of them.
pub struct Audited {
    pub claims: Claims,
    /// A finding for each.
    pub findings: Vec<Finding>,
    /// The differences from print over whole grids, in the order of the file.
    pub overall: Vec<Overview>,
}

impl Audited {
    /// All findings of a paper's claims.
    pub fn new(claims: Claims, quick: bool, evidence: &Evidence) -> Audited {
        let found = claims.claims.iter().map(|claim| decide(claim, quick, evidence));
        let mut findings: Vec<Finding> = found.collect();
        verdict::discover(&mut findings);
        let overall = claims.overall.iter().map(|overall| {
            let cells = claims.in_grids(overall);
            overall::compare(cells, &overall.set, claims.printed_runs.unwrap_or(1), evidence)
        });
        let overall = overall.collect();
        Audited {
            claims,
            findings,
            overall,
        }
    }

    /// Each printed number that runs give by themselves, with the mean of what was measured;
    /// changes from one run to another, whose units differ, are left out, and so are counts.
    pub fn numbers(&self) -> Vec<(f64, f64)> {
        let number = |(claim, finding): (&Claim, &Finding)| match (&claim.test.rule, &claim.test.against) {
            (Rule::Statistical | Rule::Within(_), None) => {
                Some((Printed::parse(&claim.printed)?.value, finding.measured?.mean))
            }
            _ => None,
        };
        self.rows().filter_map(number).collect()
    }

    /// The claims with their findings.
    pub fn rows(&self) -> impl Iterator<Item = (&Claim, &Finding)> {
        self.claims.claims.iter().zip(&self.findings)
    }

    /// Number of the paper's claims per verdict, in the order of [`Verdict::ALL`]; own controls are
    /// not counted.
    pub fn counts(&self) -> [usize; Verdict::ALL.len()] {
        let published = |verdict| {
            let is = |(claim, finding): &(&Claim, &Finding)| claim.kind != Kind::Control && finding.verdict == verdict;
            self.rows().filter(is).count()
        };
        Verdict::ALL.map(published)
    }
}
