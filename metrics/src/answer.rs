//! What a run has come to in numbers: those that answer its card's question, each with its words,
//! references and meaning.

use crate::key::{MetricKey, base, in_words, reference_label};
use crate::metric::Unit;
use crate::records::{
    CUT_EDGES, ClientScoreRow, ControlRow, EPSILON, LABEL_PRIOR, MAJORITY_CLASS, OWN_ACCURACY, OWN_SPREAD,
    OWN_WORST_TENTH, PrivacyRow, RENYI, TRAINING_MEAN,
};
use crate::run_dir::{Division, RunDir};
use crate::table::number_text;
use crate::tables::Tables;
use crate::target::{self, Target};
use crate::term::{Better, Meaning, find};
use std::collections::BTreeMap;

/// Points of a curve that are shown: the first, the one in the middle and the last.
const POINTS: usize = 3;

/// The numbers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// By name.
    pub summary: &'a BTreeMap<String, f64>,
    /// What they are measured in.
    pub units: &'a BTreeMap<String, Unit>,
    /// What they mean.
    pub terms: &'a BTreeMap<String, Meaning>,
}

/// A number put into words.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its name, or that of the curve whose points it is told by.
    pub name: String,
    /// The name in words; where nothing is known of it, the name.
    pub words: String,
    /// What it is measured in.
    pub unit: Unit,
    /// Its value; none where the run has no such number.
    pub value: Option<f64>,
    /// What else the number would be: whose, and the value.
    pub references: Vec<(String, f64)>,
    /// Some points of its curve, if it is one: where, and the value.
    pub points: Vec<(String, f64)>,
    /// What it means, if anything is known of it.
    pub meaning: Option<Meaning>,
}

impl Answer {
    /// Which values are better, as a sentence; blank where none are.
    pub fn better(&self) -> &'static str {
        match self.meaning.as_ref().and_then(|meaning| meaning.better) {
            Some(Better::Higher) => "Higher is better.",
            Some(Better::Lower) => "Lower is better.",
            None => "",
        }
    }
}

/// The names of the numbers that answer a question: the `headline`, what it took to reach targets,
/// and the privacy loss of a private run. For an accuracy that a run lacks, since it learns several
/// labels or numbers, stands the same of their scores.
pub fn answers(headline: &[String], summary: &BTreeMap<String, f64>) -> Vec<String> {
    let mut names: Vec<String> = headline.iter().flat_map(|name| of_task(name, summary)).collect();
    let targets = summary.keys().filter_map(|name| Target::of_name(name, target::REACHED));
    for of in targets {
        let took = [target::ROUNDS, target::TIME, target::BYTES].map(|number| of.name_of(number));
        match summary.contains_key(&took[0]) {
            true => names.extend(took),
            false => names.push(of.name_of(target::REACHED)),
        }
    }
    let epsilon = EPSILON.name.to_string();
    if summary.contains_key(&epsilon) && !names.contains(&epsilon) {
        names.push(epsilon);
    }
    names
}

/// A name, or where the run has none of it the counterparts that it has.
fn of_task(name: &str, summary: &BTreeMap<String, f64>) -> Vec<String> {
    let other = |score: &&str| match name.strip_suffix("own_worst_tenth") {
        Some(split) => format!("{split}own_worst_tenth_{score}"),
        None => name.replace("accuracy", score),
    };
    let is_there = |name: &String| summary.contains_key(name);
    let others = ["average_precision", "mae", "r2"].iter().map(other).filter(is_there);
    let others: Vec<String> = others.collect();
    match summary.contains_key(name) || others.is_empty() {
        true => vec![name.to_owned()],
        false => others,
    }
}

const MEAN: &str = "one that always answers the mean of the training items";
/// A score, the control whose answer is constant, and what that answer is.
const CONSTANTS: [(&str, &str, &str, &str); 4] = [
    (
        "test_accuracy",
        MAJORITY_CLASS,
        "the majority class",
        "one that always answers the most frequent class",
    ),
    (
        "test_average_precision",
        LABEL_PRIOR,
        "the frequencies of the labels",
        "one that gives every item the frequency of each label",
    ),
    ("test_r2", TRAINING_MEAN, "the training mean", MEAN),
    ("test_mae", TRAINING_MEAN, "that of the training mean", MEAN),
];

/// What the numbers of a run show that its reader must know: a model that is no better than the
/// constant answer.
///
/// Warnings of a run's sheet are counted in the summary, and so part of its fingerprint; these came
/// later, and are not.
pub fn lints(summary: &BTreeMap<String, f64>) -> Vec<String> {
    let lint = |(name, control, what, who): (&str, &str, &str, &str)| {
        let constant = summary.get(&MetricKey::of(name).against(control).to_string())?;
        let score = summary.get(name)?;
        let is_error = name == "test_mae";
        // An R² says it of errors, too.
        if is_error && summary.contains_key("test_r2") {
            return None;
        }
        let (is_no_better, side) = match is_error {
            true => (score >= constant, "below"),
            false => (score <= constant, "above"),
        };
        // What is not finite is told of as divergence.
        is_no_better.then(|| {
            format!(
                "{name} {score:.3} is not {side} {what} ({constant:.3}): the model is no better than {who}; help: more rounds, \
                 another learning rate or optimiser, or other inputs"
            )
        })
    };
    CONSTANTS.into_iter().filter_map(lint).collect()
}

/// Adds to a run's numbers what its other files say besides: of one graph in pieces how many edges
/// are cut, from its manifest, and of clients that are scored one by one the worst 10 %, the spread
/// and the validation accuracy, from `client_scores.csv`; and each control as a reference of its
/// metric, `metric@control`, from `controls.csv`; and the privacy loss, from `privacy.csv`. What its
/// summary has stays as it is.
///
/// `summary.json` has them, too, but not the part of it that the fingerprint is taken of; that of
/// an older version goes without them.
pub fn complete(
    (division, tables): (Option<&Division>, &Tables),
    summary: &mut BTreeMap<String, f64>,
    units: &mut BTreeMap<String, Unit>,
    terms: &mut BTreeMap<String, Meaning>,
) {
    let cut = division.and_then(Division::cut_of_pieces);
    let cut = cut.map(|n| (CUT_EDGES, n as f64));
    let of_clients = ClientScoreRow::worst_tenth(&tables.client_scores).map(|worst| {
        let terms = [OWN_WORST_TENTH, OWN_SPREAD];
        let of_test = [0, 1].map(|i| find(&terms, &MetricKey::of(&terms[i].name).on("test").to_string()));
        of_test
            .into_iter()
            .flatten()
            .zip([worst, ClientScoreRow::spread(&tables.client_scores)])
    });
    let validation = ClientScoreRow::validation(&tables.client_scores);
    let validation = find(&[OWN_ACCURACY], "validation_own_accuracy").zip(validation);
    // A control of a metric that the run lacks, as a dry run does, is kept for the audit.
    for ControlRow {
        control, metric, value, ..
    } in &tables.controls
    {
        let name = MetricKey::of(metric).against(control).to_string();
        summary.entry(name).or_insert(*value);
    }
    let spent = largest_loss(&tables.privacy);
    if let Some(row) = spent {
        let delta = number_text(row.delta_total);
        let by = format!("{} at delta {delta}", row.accountant);
        let renyi = (RENYI.to_owned(), row.epsilon_renyi);
        for (label, epsilon) in [(by, row.epsilon_total), renyi] {
            if let Some(epsilon) = epsilon {
                let name = MetricKey::of(&EPSILON.name).against(&label).to_string();
                summary.entry(name).or_insert(epsilon);
            }
        }
    }
    let epsilon = spent.and_then(|row| Some((EPSILON, row.epsilon_total?)));
    for (term, value) in cut
        .into_iter()
        .chain(epsilon)
        .chain(of_clients.into_iter().flatten())
        .chain(validation)
    {
        let name = term.name.to_string();
        if term.unit != Unit::Number {
            units.entry(name.clone()).or_insert(term.unit);
        }
        terms.entry(name.clone()).or_insert_with(|| term.meaning());
        summary.entry(name).or_insert(value);
    }
}

/// The row with the largest total of those that have one, of what was released.
fn largest_loss(privacy: &[PrivacyRow]) -> Option<&PrivacyRow> {
    let totals = privacy.iter().filter(|row| row.releases > 0);
    let totals = totals.filter_map(|row| Some((row.epsilon_total?, row)));
    let largest = totals.reduce(|a, b| if b.0 > a.0 { b } else { a });
    largest.map(|(_, row)| row)
}

impl RunDir {
    /// The same with everything that [`complete`] adds to its numbers.
    pub fn completed(mut self) -> Self {
        complete(
            (self.manifest.division.as_ref(), &self.tables),
            &mut self.summary,
            &mut self.manifest.units,
            &mut self.manifest.terms,
        );
        self
    }

    /// The numbers of the run.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers {
            summary: &self.summary,
            units: &self.manifest.units,
            terms: &self.manifest.terms,
        }
    }
}

impl Numbers<'_> {
    /// The number or the curve of this name.
    pub fn answer(&self, name: &str) -> Answer {
        let meaning = self.terms.get(base(name));
        let words = meaning.map(|meaning| meaning.words.clone() + &in_words(name));
        Answer {
            name: name.to_owned(),
            words: words.unwrap_or_else(|| name.to_owned()),
            unit: self.units.get(base(name)).copied().unwrap_or_default(),
            value: self.summary.get(name).copied(),
            references: self.references(name),
            points: self.points(name),
            meaning: meaning.cloned(),
        }
    }

    /// The points of the number's curve, if it has one: in the order of what they are over, and no
    /// more than can be read at once.
    fn points(&self, name: &str) -> Vec<(String, f64)> {
        if self.summary.contains_key(name) {
            return Vec::new();
        }
        let point = |(key, value): (&String, &f64)| {
            let key = MetricKey::parse(key);
            let (parameter, at) = key.at?;
            let is_point = key == MetricKey::parse(name).at(parameter, at);
            let place = key.place().unwrap_or(f64::NAN);
            is_point.then(|| (place, format!("at {} {at}", parameter.replace('_', " ")), *value))
        };
        let mut points: Vec<(f64, String, f64)> = self.summary.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let n = points.len();
        let shown = |i: usize| n <= POINTS || [0, n / 2, n - 1].contains(&i);
        let kept = points.into_iter().enumerate().filter(|(i, _)| shown(*i));
        kept.map(|(_, (_, at, value))| (at, value)).collect()
    }

    fn references(&self, name: &str) -> Vec<(String, f64)> {
        let reference =
            |(other, value): (&String, &f64)| Some((reference_label(other, name)?.replace('_', " "), *value));
        self.summary.iter().filter_map(reference).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accuracy_that_is_not_there_is_answered_by_the_scores_that_are() {
        let names = |headline: &str, there: &[&str]| {
            let summary = there.iter().map(|name| ((*name).to_owned(), 1.0)).collect();
            answers(&[headline.to_owned()], &summary).join(" ")
        };
        assert_eq!(names("test_accuracy", &["test_mae", "test_r2"]), "test_mae test_r2");
        assert_eq!(names("test_accuracy", &["test_accuracy", "test_mae"]), "test_accuracy");
        assert_eq!(names("test_accuracy", &["loss"]), "test_accuracy");
        assert_eq!(
            names("test_own_worst_tenth", &["test_own_worst_tenth_mae"]),
            "test_own_worst_tenth_mae"
        );
    }

    #[test]
    fn a_model_that_is_no_better_than_the_constant_answer_is_warned_of() {
        let summary = |accuracy: f64, constant: Option<f64>| {
            let constant = constant.map(|constant| ("test_accuracy@majority_class".to_owned(), constant));
            [("test_accuracy".to_owned(), accuracy)]
                .into_iter()
                .chain(constant)
                .collect()
        };
        let lint = lints(&summary(0.182, Some(0.2915)));
        assert!(
            lint[0].starts_with("test_accuracy 0.182 is not above the majority class (0.291"),
            "{lint:?}"
        );
        assert_eq!(lints(&summary(0.5, Some(0.5))).len(), 1);
        assert!(lints(&summary(0.51, Some(0.5))).is_empty());
        assert!(lints(&summary(0.1, None)).is_empty());
        let numbers = [("test_r2", -0.25), ("test_r2@training_mean", -0.125)];
        let lint = lints(&numbers.map(|(name, value)| (name.to_owned(), value)).into());
        let errors = [("test_mae", 2.0), ("test_mae@training_mean", 2.0)];
        let of_error = lints(&errors.map(|(name, value)| (name.to_owned(), value)).into());
        assert!(
            of_error[0].starts_with("test_mae 2.000 is not below that of the training mean (2.000)"),
            "{of_error:?}"
        );
        assert!(
            lint[0].starts_with("test_r2 -0.250 is not above the training mean (-0.125)"),
            "{lint:?}"
        );
        assert!(lints(&BTreeMap::new()).is_empty());
    }
}
