//! What papers claim, as data: every printed number, order, bound and promise, with the run that
//! tests it and the rule that decides.
//!
//! A file of claims is RON beside the cards. A claim names a shipped card, the settings and the arm
//! of its sweep, and a number of the run's summary; a grid is a printed table, each of whose cells
//! is a claim. [`Claims::read`] makes one flat list of them and refuses what could not be tested,
//! so that no claim is dropped in silence; [`crate::audit`] holds them against runs.

mod file;
mod run;
mod table;

pub use run::{Resolved, RunKey, essence};
pub use table::{Cells, Figure, Overall, Panel, Table};

use crate::audit;
use crate::glossary;
use crate::registry::Registry;
use crate::text::{Problems, Source, suggest};
use folkmoot_metrics::{PrivacyRow, RunDir};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file of claims as it comes with a program, with what was measured of it.
#[derive(Clone, Copy, Debug)]
pub struct ClaimsFile {
    /// What `folkmoot audit` calls it: the name of its folder.
    pub name: &'static str,
    pub text: &'static str,
    /// What was measured: a table as [`Evidence::record`](audit::Evidence::record) writes it.
    pub measured: &'static str,
    /// How often each number was looked at, by run and metric: a table that `tests/looks.py` writes
    /// from the history of the record.
    pub looks: &'static str,
}

/// All claims of one paper.
#[derive(Clone, Debug)]
pub struct Claims {
    /// What `folkmoot audit` calls it.
    pub name: String,
    pub system: String,
    pub paper: String,
    /// All findings, in Markdown; `{ID}` stands for the measured number of the claim ID.
    pub found: String,
    /// The main finding, a paragraph of the summary.
    pub finding: String,
    /// The claims, in the file's order, grids last.
    pub claims: Vec<Claim>,
    /// Tables of measured numbers beside the claims.
    pub tables: Vec<Table>,
    /// Differences from print over whole grids.
    pub overall: Vec<Overall>,
    /// Over how many runs printed numbers are, where the paper says so.
    pub printed_runs: Option<u32>,
    /// What is drawn of them.
    pub figures: Vec<Figure>,
    source: Source,
    /// Where in the file each claim stands.
    places: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name within the paper.
    pub id: String,
    /// What the paper says, in our words.
    pub claim: String,
    /// Where it stands in the paper.
    pub at: String,
    /// What is printed: a number where the rule needs one.
    pub printed: String,
    pub test: Test,
    /// The same statement on generated data, in seconds.
    pub quick: Option<Test>,
    /// The erratum of the paper that it is, by its number in this project's list.
    pub erratum: String,
    /// What the reader should know.
    pub note: String,
    /// What it is: summaries count each kind by itself.
    pub kind: Kind,
}

/// The kinds of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A statement of the paper.
    Statement,
    /// A number in a printed table or figure.
    Cell,
    /// A control that the paper lacks.
    Control,
}

impl Kind {
    /// All of them, in the order of tables.
    pub const ALL: [Kind; 3] = [Kind::Statement, Kind::Cell, Kind::Control];
}

/// A printed number, with its deviation if one is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    pub value: f64,
    /// The digits behind its point.
    pub decimals: usize,
    /// What is printed behind ±.
    pub deviation: Option<f64>,
}

impl Printed {
    /// The number in `text`, such as `35.35`, `+18.06` or `79.57 ± 6.73`.
    pub fn parse(text: &str) -> Option<Printed> {
        let (number, deviation) = match text.split_once('±') {
            Some((number, deviation)) => (number, Some(deviation.trim().parse().ok()?)),
            None => (text, None),
        };
        let number = number.trim().trim_start_matches('+');
        let value: f64 = number.parse().ok()?;
        let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        value.is_finite().then_some(Printed {
            value,
            decimals,
            deviation,
        })
    }
}

/// How a claim is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// What is measured; nothing where reading decides.
    pub measure: Option<Measure>,
    /// What it is compared with.
    pub against: Option<Against>,
    /// The differences that stand for one, all that the rule judges where there are any.
    pub pool: Vec<Pooled>,
    /// What measured numbers are multiplied by before they are compared.
    pub scale: f64,
    pub rule: Rule,
    /// How far the printed number may lie from the interval's ends to count as reproduced; without
    /// it nothing does by [`Rule::Statistical`].
    pub margin: Option<f64>,
    /// Over how many runs the printed number is, where the paper prints no deviation.
    pub printed_runs: Option<u32>,
    /// Why the run that a number is compared with may score at or below the constant answer, where
    /// that is the point.
    pub may_fail: String,
}

/// What a number is compared with, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    pub other: Measure,
    /// How the two are compared.
    pub change: Change,
    /// Two numbers whose difference is taken off that of the first two; an interaction alone has
    /// them.
    pub elsewhere: Option<[Measure; 2]>,
}

/// A difference among several of which a claim speaks as one. Those of one card and seed share data
/// and split, so that their mean is one value; those of other cards are values of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    pub measure: Measure,
    /// What it is compared with.
    pub other: Measure,
}

/// A number of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measure {
    /// Which run, under any seed.
    pub run: RunKey,
    /// A name of the summary, or `privacy/MECHANISM/COLUMN`.
    pub metric: String,
}

/// A column of `privacy.csv` that a claim may be of.
type PrivacyColumn = (&'static str, fn(&PrivacyRow) -> Option<f64>);

const PRIVACY_COLUMNS: [PrivacyColumn; 10] = [
    ("releases", |row| Some(row.releases as f64)),
    ("epsilon_per_release", |row| Some(row.epsilon_per_release)),
    ("epsilon_max_client", |row| Some(row.epsilon_max_client)),
    ("epsilon_mean_client", |row| Some(row.epsilon_mean_client)),
    ("epsilon_claimed", |row| row.epsilon_claimed),
    ("epsilon_basic", |row| row.epsilon_basic),
    ("epsilon_advanced", |row| row.epsilon_advanced),
    ("epsilon_renyi", |row| row.epsilon_renyi),
    ("epsilon_pld", |row| row.epsilon_pld),
    ("epsilon_total", |row| row.epsilon_total),
];

impl Measure {
    /// The mechanism and the column of a number that is one of `privacy.csv`.
    fn privacy(&self) -> Option<(&str, &str)> {
        self.metric.strip_prefix("privacy/")?.rsplit_once('/')
    }

    /// Refuses a column of `privacy.csv` that there is not.
    fn is_known_column(&self) -> Result<(), String> {
        let names = PRIVACY_COLUMNS.map(|(name, _)| name);
        match self.privacy() {
            Some((_, column)) if !names.contains(&column) => Err(format!(
                "{}: privacy.csv has no column {column}{}",
                self.metric,
                suggest(column, &names)
            )),
            None if self.metric.starts_with("privacy/") => {
                Err(format!("{}: must be privacy/MECHANISM/COLUMN", self.metric))
            }
            _ => Ok(()),
        }
    }

    /// What a finished run says of it, if it does.
    pub fn of(&self, run: &RunDir) -> Option<f64> {
        let Some((mechanism, column)) = self.privacy() else {
            return run.summary.get(&self.metric).copied();
        };
        let (_, of_row) = PRIVACY_COLUMNS.iter().find(|(name, _)| *name == column)?;
        of_row(run.tables.privacy.iter().find(|row| row.mechanism == mechanism)?)
    }
}

/// How two measured numbers are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Change {
    #[default]
    Points,
    /// By how many per cent the first is larger.
    Percent,
}

/// What decides a claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum Rule {
    /// Every seed's number, rounded to the printed digits, is the printed one.
    Exact,
    /// The 95 % interval of the difference from the printed number lies within the margin.
    /// Otherwise the printed number is contradicted beyond four standard errors, and not
    /// contradicted within them. Seeds are the unit, paired where two runs share them. The printed
    /// number counts with its noise: a printed deviation over `printed_runs` runs, or over as many
    /// as ours; without a deviation, our own over `printed_runs`.
    Statistical,
    /// The printed number lies no farther than that from the measured mean, and from either end of
    /// its 95 % interval; for printed numbers of few runs on seeds of their own, whose noise is not
    /// printed.
    Within(f64),
    /// An order or a trend.
    Shape(Shape),
    /// A difference of differences, the interaction of two things that vary: the difference from
    /// the other run is more or less than the same difference elsewhere, or alike. All four numbers
    /// are of one seed; an order has no difference and cannot stand here.
    Interaction(Shape),
    /// No seed's number is larger: for what is counted or calculated, not drawn.
    AtMost(f64),
    /// No seed's number is smaller; of numbers that are drawn [`Shape::Above`] asks.
    AtLeast(f64),
    /// Reading, or arithmetic on printed numbers, decides.
    Reading {
        /// Whether the claim holds.
        holds: bool,
        /// Why.
        because: String,
    },
    /// Nothing can decide it: the paper does not define it, or has another set-up. Nothing is
    /// measured.
    #[serde(alias = "Open")]
    NotDecidable(String),
    /// The data that it is about are not available.
    NoData(String),
    /// Nothing can decide it, and what was measured is shown for comparison.
    Shown(String),
}

/// An order, a trend or a bound. Each step is a difference paired by seed, whose 95 % interval
/// (Student's) lies on the claimed side.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum Shape {
    /// More than the other run.
    More,
    /// Less than the other run.
    Less,
    /// The number falls from each of these arms to the next.
    Order(Vec<BTreeMap<String, String>>),
    /// No farther from the other run than that.
    Alike(f64),
    /// More than that, or, beside another run, more than it by that.
    Above(f64),
    /// Less than that, or, beside another run, its difference from it is.
    Below(f64),
}

impl Claim {
    /// Why the number that a claim is about cannot be what is printed or stated, if it cannot.
    fn out_of_range(&self, registry: &Registry) -> Option<String> {
        let (test, measure) = (&self.test, self.test.measure.as_ref()?);
        if test.against.is_some() {
            return None;
        }
        let stated = match &test.rule {
            Rule::AtMost(value) | Rule::AtLeast(value) => *value,
            Rule::Shape(Shape::Above(value) | Shape::Below(value)) => *value,
            Rule::Exact | Rule::Statistical | Rule::Within(_) => Printed::parse(&self.printed)?.value,
            _ => return None,
        };
        let strategy = measure.run.resolve(registry).ok()?.strategy;
        let mut glossaries = registry.glossaries().iter();
        let term = glossaries
            .find(|glossary| glossary.strategy == strategy)?
            .number(&measure.metric)?;
        let (least, most) = term.range;
        let value = stated / test.scale;
        let is_outside = least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most);
        let bound = |bound: Option<f64>| bound.map_or("…".to_owned(), |bound| bound.to_string());
        is_outside.then(|| {
            format!(
                "{} lies in {}..={}, got {value}; a number in per cent takes `scale: 100.0`",
                measure.metric,
                bound(least),
                bound(most)
            )
        })
    }
}

impl Test {
    /// The arms of an order, each laid over the claim's own.
    pub fn steps(&self) -> Vec<Measure> {
        let (Rule::Shape(Shape::Order(arms)), Some(measure)) = (&self.rule, &self.measure) else {
            return Vec::new();
        };
        let step = |arm: &BTreeMap<String, String>| {
            let mut measure = measure.clone();
            measure.run.arm.extend(arm.clone());
            measure
        };
        arms.iter().map(step).collect()
    }

    /// All numbers that it needs.
    pub fn measures(&self) -> Vec<Measure> {
        if !self.pool.is_empty() {
            let pairs = self.pool.iter().flat_map(|pooled| [&pooled.measure, &pooled.other]);
            return pairs.cloned().collect();
        }
        let steps = self.steps();
        match (steps.is_empty(), &self.measure) {
            (true, Some(measure)) => {
                let against = self.against.iter();
                let others =
                    against.flat_map(|against| [&against.other].into_iter().chain(against.elsewhere.iter().flatten()));
                [measure].into_iter().chain(others).cloned().collect()
            }
            _ => steps,
        }
    }
}

fn refused(source: &Source, why: String) -> Problems {
    let mut problems = Problems::new(source);
    problems.push(&why);
    problems
}

impl Claims {
    /// The claims of the folder or the system of this name, or those of a file.
    ///
    /// # Errors
    ///
    /// When there is neither, or the file is faulty.
    pub fn find(name: &str, registry: &Registry) -> Result<Claims, Problems> {
        let path = Path::new(name);
        if path.is_file() {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            return file::read(&stem, &Source::read(path)?);
        }
        let plain = |name: &str| name.to_lowercase().replace('_', "-");
        let all = Claims::all(registry)?;
        let is_called = |claims: &&Claims| {
            [&claims.name, &claims.system]
                .iter()
                .any(|known| plain(known) == plain(name))
        };
        match all.iter().find(is_called) {
            Some(claims) => Ok(claims.clone()),
            None => {
                let names: Vec<&str> = all.iter().flat_map(|claims| [&*claims.name, &*claims.system]).collect();
                let why = format!("is neither a file of claims nor a system{}", suggest(name, &names));
                Err(refused(&Source::new(name, "")?, why))
            }
        }
    }

    /// All claims that a program has.
    ///
    /// # Errors
    ///
    /// When a file is faulty.
    pub fn all(registry: &Registry) -> Result<Vec<Claims>, Problems> {
        let files = registry.claims().iter();
        files.map(|file| Claims::read(file.name, file.text)).collect()
    }

    /// The claims of a file's text.
    ///
    /// # Errors
    ///
    /// Problems of shape with line and column; claims whose names are given twice, or that no rule
    /// could decide.
    pub fn read(name: &str, text: &str) -> Result<Claims, Problems> {
        file::read(name, &Source::new(&format!("{name}/claims.ron"), text)?)
    }

    /// Whether every claim, its quick twin, and every table names a run that can be made.
    ///
    /// # Errors
    ///
    /// All that do not: a card that is not shipped, an axis or a value that it has not, a setting
    /// that breaks a rule.
    pub fn check(&self, registry: &Registry) -> Result<(), Problems> {
        let mut problems = Problems::new(&self.source);
        let mut known: BTreeMap<RunKey, Result<String, String>> = BTreeMap::new();
        let mut strategy = |run: RunKey| {
            let resolved = |run: &RunKey| match run.resolve(registry) {
                Ok(resolved) => Ok(resolved.strategy),
                Err(why) => Err(format!("{}: {}", run.card, why.lines().join("; "))),
            };
            known.entry(run).or_insert_with_key(resolved).clone()
        };
        // A table may ask for a number that only some of its rows have.
        let mut refusal = |measure: Measure, is_cell: bool| match strategy(measure.run.clone()) {
            Ok(_) if is_cell || measure.privacy().is_some() => None,
            Ok(strategy) => glossary::unknown(&measure.metric, &[strategy], registry),
            Err(why) => Some(why),
        };
        for (claim, place) in self.claims.iter().zip(&self.places) {
            let twins = [("", Some(&claim.test)), ("quick: ", claim.quick.as_ref())];
            let measures = twins
                .into_iter()
                .flat_map(|(twin, test)| test.into_iter().flat_map(Test::measures).map(move |one| (twin, one)));
            let why = measures
                .filter_map(|(twin, measure)| Some(format!("{twin}{}", refusal(measure, false)?)))
                .next();
            if let Some(why) = why.or_else(|| claim.out_of_range(registry)) {
                problems.push_at(place, format!("{}: {why}", claim.id));
            }
        }
        for (i, table) in self.tables.iter().enumerate() {
            let why = match table.cells(registry) {
                Ok(cells) => cells
                    .numbers
                    .into_iter()
                    .flatten()
                    .find_map(|measure| refusal(measure, true)),
                Err(why) => Some(format!("{}: {}", table.card, why.lines().join("; "))),
            };
            if let Some(why) = why {
                problems.push_at(&format!("tables.{i}"), why);
            }
        }
        problems.into_result(())
    }

    /// The claims of the grids that a difference is over.
    pub fn in_grids<'a>(&'a self, overall: &'a Overall) -> impl Iterator<Item = &'a Claim> {
        let is_of = |claim: &&Claim| {
            let grid = claim.id.split_once('/').map(|(grid, _)| grid);
            grid.is_some_and(|grid| overall.grids.iter().any(|one| one == grid))
        };
        self.claims.iter().filter(is_of)
    }

    /// The table of that title.
    pub fn table(&self, title: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.title == title)
    }

    /// The numbers that verdicts rest on besides those that are compared: the constant answers that
    /// baselines have to beat, and what runs came to that did not reach a target. A claim can be
    /// decided without them where all runs arrive.
    pub fn supporting(&self, quick: bool) -> BTreeSet<Measure> {
        let tests = self
            .claims
            .iter()
            .filter_map(|claim| if quick { claim.quick.as_ref() } else { Some(&claim.test) });
        tests.flat_map(audit::supporting).collect()
    }

    /// Every number that tests and tables need.
    ///
    /// # Errors
    ///
    /// When a table's card has no such axis.
    pub fn measures(&self, quick: bool, registry: &Registry) -> Result<BTreeSet<Measure>, Problems> {
        let tests = self
            .claims
            .iter()
            .filter_map(|claim| if quick { claim.quick.as_ref() } else { Some(&claim.test) });
        let mut measures: BTreeSet<Measure> = tests.flat_map(Test::measures).collect();
        for table in self.tables.iter().filter(|_| !quick) {
            measures.extend(table.cells(registry)?.numbers.into_iter().flatten());
        }
        for overall in self.overall.iter().filter(|_| !quick) {
            measures.extend(audit::overall::measures(self.in_grids(overall), &overall.set));
        }
        Ok(measures)
    }
}
