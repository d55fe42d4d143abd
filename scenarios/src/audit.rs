//! Claims held against runs: what was measured, and the verdict.
//!
//! [`Evidence`] gathers numbers by run and seed, from the shipped record and from finished directories, which are known by what
//! they ran and not by their names; [`decide`] gives a claim its [`Finding`]; [`pages`] writes them down.

pub mod pages;
#[cfg(test)]
mod tests;

use crate::claims::{Change, Claim, Claims, Measure, Printed, Rule, RunKey, SHIPPED, Shape, Test, essence};
use crate::registry::Registry;
use crate::text::{Problems, Source};
use folkmoot_metrics::run_dir::MANIFEST;
use folkmoot_metrics::sweep_dir::{POINTS_DIR, SWEEP};
use folkmoot_metrics::{PrivacyRow, ReadError, RunDir, Spread};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// How far the printed number may lie from the measured mean, in standard errors.
pub const STANDARD_ERRORS: f64 = 4.0;

/// One run's numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The card as it was written then ([`Resolved::written`](crate::claims::Resolved::written)).
    pub card: String,
    /// The fingerprint of its result.
    pub fingerprint: String,
    /// The numbers, by metric.
    pub values: BTreeMap<String, f64>,
}

/// Numbers by run and seed.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    runs: BTreeMap<String, BTreeMap<u64, Measured>>,
    /// Runs whose result is another one than was recorded: run, seed, and both fingerprints.
    pub moved: Vec<String>,
}

/// The columns of a record.
const COLUMNS: [&str; 6] = ["run", "card", "seed", "fingerprint", "metric", "value"];

impl Evidence {
    /// What is recorded beside the shipped claims.
    ///
    /// # Errors
    ///
    /// When a record is damaged: its file and line.
    pub fn recorded() -> Result<Evidence, String> {
        let mut evidence = Evidence::default();
        for (name, _, record) in SHIPPED {
            evidence
                .read(record)
                .map_err(|why| format!("claims/measured/{name}.csv: {why}"))?;
        }
        Ok(evidence)
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
        for (record, line) in lines.records().zip(2..) {
            let record = record.map_err(|error| error.to_string())?;
            let bad = |column: &str| format!("line {line}: {column} must be a number");
            let seed = record[2].parse().map_err(|_| bad("seed"))?;
            let value = record[5].parse().map_err(|_| bad("value"))?;
            let run = self
                .runs
                .entry(record[0].to_owned())
                .or_default()
                .entry(seed)
                .or_default();
            record[1].clone_into(&mut run.card);
            record[3].clone_into(&mut run.fingerprint);
            run.values.insert(record[4].to_owned(), value);
        }
        Ok(())
    }

    /// Forgets the runs of cards that are written otherwise today, whose numbers would stand for what nobody ran; returns which.
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
                    let _ = lines.write_record([&run, card, &seed, fingerprint, &measure.metric, &value]);
                }
            }
        }
        String::from_utf8(lines.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    /// Adds a run's numbers. One of another fingerprint takes the place of what was known of that run and seed.
    pub fn add(&mut self, run: &RunKey, seed: u64, measured: Measured) {
        self.add_named(&run.to_string(), seed, measured);
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
        let values: Vec<f64> = self.of(measure).values().map(|value| value * scale).collect();
        (!values.is_empty()).then(|| Spread::of(&values))
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

fn short(fingerprint: &str) -> &str {
    fingerprint.get(..16).unwrap_or(fingerprint)
}

/// Which numbers are wanted, by what their runs do.
pub struct Wanted {
    by_essence: BTreeMap<String, Vec<(RunKey, BTreeSet<String>)>>,
    /// The card of each run as it is written.
    cards: BTreeMap<String, String>,
}

impl Wanted {
    /// Those of `measures`.
    ///
    /// # Errors
    ///
    /// When a run has no legal card.
    pub fn new(measures: &BTreeSet<Measure>, registry: &Registry) -> Result<Wanted, Problems> {
        let mut by_run: BTreeMap<&RunKey, BTreeSet<String>> = BTreeMap::new();
        for measure in measures {
            by_run.entry(&measure.run).or_default().insert(measure.metric.clone());
        }
        let mut by_essence: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let mut cards = BTreeMap::new();
        for (run, metrics) in by_run {
            let resolved = run.resolve(registry)?;
            let essence = essence(&resolved.source, registry)?;
            by_essence.entry(essence).or_default().push((run.clone(), metrics));
            cards.insert(run.to_string(), resolved.written()?);
        }
        Ok(Wanted { by_essence, cards })
    }

    /// Adds what finished run and sweep directories in or below `dir` say.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read, or a result in it is damaged.
    pub fn gather(&self, dir: &Path, registry: &Registry, evidence: &mut Evidence) -> Result<Gathered, ReadError> {
        let mut gathered = Gathered::default();
        for path in run_dirs(dir)? {
            let run = RunDir::open(&path)?;
            let finished = run.manifest.result_fingerprint.as_ref();
            let Some(fingerprint) = finished.filter(|_| !run.manifest.dry_run) else {
                continue;
            };
            let source = Source::new(&run.manifest.name, &run.scenario);
            let Ok(essence) = source.and_then(|source| essence(&source, registry)) else {
                gathered.illegal.push(path);
                continue;
            };
            for (key, metrics) in self.by_essence.get(&essence).into_iter().flatten() {
                let values = metrics
                    .iter()
                    .filter_map(|metric| Some((metric.clone(), value(&run, metric)?)));
                let measured = Measured {
                    card: self.cards.get(&key.to_string()).cloned().unwrap_or_default(),
                    fingerprint: short(fingerprint).to_owned(),
                    values: values.collect(),
                };
                evidence.add(key, run.manifest.seed, measured);
                gathered.n_used += 1;
            }
        }
        Ok(gathered)
    }
}

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Gathered {
    /// How many runs test a claim.
    pub n_used: usize,
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

/// A number of a run: of its summary, or `privacy/MECHANISM/COLUMN`.
fn value(run: &RunDir, metric: &str) -> Option<f64> {
    let Some((mechanism, column)) = metric.strip_prefix("privacy/").and_then(|rest| rest.rsplit_once('/')) else {
        return run.summary.get(metric).copied();
    };
    let column = |row: &PrivacyRow| match column {
        "releases" => Some(row.releases as f64),
        "epsilon_per_release" => Some(row.epsilon_per_release),
        "epsilon_worst_client" => Some(row.epsilon_worst_client),
        "epsilon_mean_client" => Some(row.epsilon_mean_client),
        "epsilon_claimed" => row.epsilon_claimed,
        "epsilon_basic" => row.epsilon_basic,
        "epsilon_advanced" => row.epsilon_advanced,
        "epsilon_renyi" => row.epsilon_renyi,
        _ => None,
    };
    column(run.privacy.iter().find(|row| row.mechanism == mechanism)?)
}

/// What is to be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It holds to the digit, or by reading, or as a bound.
    Exact,
    /// The printed number lies within four standard errors.
    Statistical,
    /// The order or trend holds.
    Shape,
    /// It does not hold.
    Refuted,
    /// Nothing decides it.
    Open,
}

impl Verdict {
    /// All of them, in the order of tables.
    pub const ALL: [Verdict; 5] = [
        Verdict::Exact,
        Verdict::Statistical,
        Verdict::Shape,
        Verdict::Refuted,
        Verdict::Open,
    ];
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Exact => "exact",
            Verdict::Statistical => "statistical",
            Verdict::Shape => "shape",
            Verdict::Refuted => "refuted",
            Verdict::Open => "open",
        })
    }
}

/// What was found of a claim.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where the numbers do not say it.
    pub why: String,
    /// What was measured, scaled as the printed number is: over seeds, or over their differences.
    pub measured: Option<Spread>,
}

impl Finding {
    fn new(verdict: Verdict, why: impl Into<String>, measured: Option<Spread>) -> Finding {
        Finding {
            verdict,
            why: why.into(),
            measured,
        }
    }

    /// The measured mean and its standard error, as tables have it.
    pub fn text(&self) -> String {
        self.measured.as_ref().map_or_else(String::new, spread_text)
    }
}

/// `32.638 ± 0.001`: with two digits of the standard error, or six digits of a number without one.
pub fn spread_text(spread: &Spread) -> String {
    match spread.standard_error() {
        Some(error) if error > 0.0 && error.is_finite() => {
            let two_digits = |&decimals: &usize| error * 10f64.powi(decimals as i32) >= 9.95;
            let decimals = (0..9).find(two_digits).unwrap_or(9);
            format!("{:.decimals$} ± {error:.decimals$}", spread.mean)
        }
        _ if spread.mean.abs() >= 1e7 => format!("{:.4e}", spread.mean),
        _ => {
            let text = format!("{:.5}", spread.mean);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// Gives a claim its verdict by the test that is asked for; without a quick twin there is none that is quick.
pub fn decide(claim: &Claim, quick: bool, evidence: &Evidence) -> Finding {
    let test = match (quick, &claim.quick, &claim.test.rule) {
        (false, ..) | (true, None, Rule::Reading { .. } | Rule::Open(_)) => &claim.test,
        (true, Some(quick), _) => quick,
        (true, None, _) => return Finding::new(Verdict::Open, "no quick test; see without --quick", None),
    };
    match test.measure.as_ref() {
        Some(measure) => by_run(test, measure, &claim.printed, evidence),
        None => match &test.rule {
            Rule::Reading { holds: true, because } => Finding::new(Verdict::Exact, because, None),
            Rule::Reading { because, .. } => Finding::new(Verdict::Refuted, because, None),
            Rule::Open(why) => Finding::new(Verdict::Open, why, None),
            _ => Finding::new(Verdict::Open, "nothing is measured", None),
        },
    }
}

fn by_run(test: &Test, measure: &Measure, printed: &str, evidence: &Evidence) -> Finding {
    let missing = test
        .measures()
        .into_iter()
        .find(|measure| evidence.of(measure).is_empty());
    if let Some(measure) = missing {
        let why = match evidence.runs.contains_key(&measure.run.to_string()) {
            true => format!("the run has no number {}: {}", measure.metric, measure.run),
            false => format!("not run: {}", measure.run),
        };
        return Finding::new(Verdict::Open, why, None);
    }
    let measured = match &test.against {
        None => evidence
            .of(measure)
            .into_values()
            .map(|value| value * test.scale)
            .collect(),
        Some((other, change)) => changes(evidence, measure, other, *change, test.scale),
    };
    if measured.is_empty() {
        return Finding::new(Verdict::Open, "the two runs share no seed", None);
    }
    if measured.iter().any(|value| value.is_nan()) {
        return Finding::new(Verdict::Open, "under some seed there is no such number (NaN)", None);
    }
    let spread = Spread::of(&measured);
    let found = |verdict, why: String| Finding::new(verdict, why, Some(spread));
    let bound = |keeps: bool| match keeps {
        true => found(Verdict::Exact, String::new()),
        false => found(Verdict::Refuted, String::new()),
    };
    match (&test.rule, Printed::parse(printed)) {
        (Rule::AtMost(most), _) => bound(measured.iter().all(|value| value <= most)),
        (Rule::AtLeast(least), _) => bound(measured.iter().all(|value| value >= least)),
        (Rule::Exact, Some(printed)) => {
            let decimals = printed.decimals;
            let wanted = format!("{:.decimals$}", printed.value);
            bound(measured.iter().all(|value| format!("{value:.decimals$}") == wanted))
        }
        (Rule::Statistical, Some(printed)) => statistical(&spread, &printed),
        (Rule::Shape(Shape::More), _) => stepwise(&[measured], Some(spread)),
        (Rule::Shape(Shape::Less), _) => {
            let other_way: Vec<f64> = measured.iter().map(|value| -value).collect();
            stepwise(&[other_way], Some(spread))
        }
        (Rule::Shape(Shape::Order(_)), _) => {
            let steps = test.steps();
            let pairs = steps.windows(2);
            let falls = pairs.map(|pair| changes(evidence, &pair[0], &pair[1], Change::Points, test.scale));
            stepwise(&falls.collect::<Vec<_>>(), None)
        }
        (Rule::Shape(Shape::Alike(most)), _) => alike(&spread, *most),
        (Rule::Exact | Rule::Statistical, None) | (Rule::Reading { .. } | Rule::Open(_), _) => {
            found(Verdict::Open, "there is no number to compare with".to_owned())
        }
    }
}

/// How two numbers differ under each seed that both have.
fn changes(evidence: &Evidence, measure: &Measure, other: &Measure, change: Change, scale: f64) -> Vec<f64> {
    let others = evidence.of(other);
    let pairs = evidence.of(measure).into_iter();
    let pairs = pairs.filter_map(|(seed, value)| Some((value, *others.get(&seed)?)));
    let change = |(value, other): (f64, f64)| match change {
        Change::Points => scale * (value - other),
        Change::Percent => 100.0 * (value / other - 1.0),
    };
    pairs.map(change).collect()
}

fn statistical(spread: &Spread, printed: &Printed) -> Finding {
    let Some(error) = spread.standard_error() else {
        return Finding::new(Verdict::Open, "one seed has no standard error", Some(*spread));
    };
    let of_printed = printed.deviation.unwrap_or(0.0) / (spread.n() as f64).sqrt();
    let error = (error * error + of_printed * of_printed).sqrt();
    let distance = (spread.mean - printed.value).abs();
    // What is printed is rounded.
    let rounding = 0.5 * 0.1f64.powi(printed.decimals as i32);
    match distance <= STANDARD_ERRORS * error + rounding {
        // So that nobody takes a wide margin for agreement.
        true => {
            let most = STANDARD_ERRORS * error + rounding;
            let decimals = printed.decimals.max(1);
            let why = format!("off by {distance:.decimals$}, {most:.decimals$} would pass");
            Finding::new(Verdict::Statistical, why, Some(*spread))
        }
        false if error > 0.0 => {
            let why = format!("{:.1} standard errors away", distance / error);
            Finding::new(Verdict::Refuted, why, Some(*spread))
        }
        false => Finding::new(Verdict::Refuted, "", Some(*spread)),
    }
}

/// Whether each list of differences is of positive mean.
fn stepwise(steps: &[Vec<f64>], measured: Option<Spread>) -> Finding {
    let mut verdict = Verdict::Shape;
    let mut said = Vec::new();
    for step in steps {
        let spread = Spread::of(step);
        said.push(spread_text(&spread));
        let (low, high) = spread.interval_95().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        if high <= 0.0 {
            verdict = Verdict::Refuted;
        } else if low <= 0.0 && verdict == Verdict::Shape {
            verdict = Verdict::Open;
        }
    }
    let n = steps.iter().map(Vec::len).min().unwrap_or(0);
    let undecided = if verdict == Verdict::Open {
        format!("undecided over {n} seeds")
    } else {
        String::new()
    };
    let why = match steps {
        [_] => undecided,
        _ => format!(
            "steps {}{}{undecided}",
            said.join("; "),
            if undecided.is_empty() { "" } else { ": " }
        ),
    };
    Finding::new(verdict, why, measured)
}

fn alike(spread: &Spread, most: f64) -> Finding {
    let (verdict, why) = match spread.interval_95() {
        Some((low, high)) if low >= -most && high <= most => (Verdict::Shape, String::new()),
        Some((low, high)) if low > most || high < -most => (Verdict::Refuted, format!("more than {most} apart")),
        _ => (Verdict::Open, format!("undecided over {} seeds", spread.n())),
    };
    Finding::new(verdict, why, Some(*spread))
}

/// How many claims have each verdict, in the order of [`Verdict::ALL`].
pub fn counts(findings: &[Finding]) -> [usize; 5] {
    Verdict::ALL.map(|verdict| findings.iter().filter(|finding| finding.verdict == verdict).count())
}

/// One paper's claims and what was found of them.
pub struct Audited {
    /// The claims.
    pub claims: Claims,
    /// A finding for each.
    pub findings: Vec<Finding>,
}

impl Audited {
    /// All findings of a paper's claims.
    pub fn new(claims: Claims, quick: bool, evidence: &Evidence) -> Audited {
        let findings = claims
            .claims
            .iter()
            .map(|claim| decide(claim, quick, evidence))
            .collect();
        Audited { claims, findings }
    }

    /// Each printed number that runs give by themselves, with the mean of what was measured; changes from one run to another, whose units
    /// differ, are left out, and so are counts.
    pub fn numbers(&self) -> Vec<(f64, f64)> {
        let number = |(claim, finding): (&Claim, &Finding)| match (&claim.test.rule, &claim.test.against) {
            (Rule::Statistical, None) => Some((Printed::parse(&claim.printed)?.value, finding.measured?.mean)),
            _ => None,
        };
        self.rows().filter_map(number).collect()
    }

    /// The claims with their findings.
    pub fn rows(&self) -> impl Iterator<Item = (&Claim, &Finding)> {
        self.claims.claims.iter().zip(&self.findings)
    }
}
