//! What is written down about a run: scores, numbers, points of curves, reference values and files.

use crate::artifacts::NOT_SCORED;
use crate::ids::Round;
use crate::key::{MetricKey, score_name};
use crate::metric::{Metric, Unit};
use crate::records::{ClientScoreRow, ControlRow, ScoreRow};
use crate::run_dir::Artifact;
use crate::target::Target;
use crate::term::Term;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A sheet that an evaluator fills; the run directory is made of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    scores: Vec<ScoreRow>,
    summary: Vec<(String, f64)>,
    artifacts: Vec<Artifact>,
    client_scores: Vec<ClientScoreRow>,
    controls: Vec<ControlRow>,
    /// Of the metrics that are no plain numbers.
    units: BTreeMap<String, Unit>,
    /// The lines of `not_scored.csv`.
    missing: String,
    warnings: Vec<String>,
    /// Warnings that are no part of the result hash, of an evaluator that is asked at the end.
    #[serde(skip)]
    doubts: Vec<String>,
    /// Why nothing good is to be expected of the run any more.
    diverged: Option<String>,
    /// Why no scores can be computed.
    failed: Option<String>,
    /// What metrics mean that only the run itself knows.
    terms: Vec<Term>,
    round: u32,
    virtual_s: f64,
}

impl Sheet {
    /// An empty sheet, at the start of a run.
    pub fn new() -> Sheet {
        Sheet::default()
    }

    /// Scores from here on are of `round`, `virtual_s` seconds after the start.
    pub fn stands_at(&mut self, round: u32, virtual_s: f64) {
        (self.round, self.virtual_s) = (round, virtual_s);
    }

    /// A row of `scores.csv`: the value of `metric` over `n` samples of `split`.
    pub fn score<'a>(&mut self, split: &str, metric: impl Into<Metric<'a>>, value: f64, n: u64) {
        let (round, virtual_s) = (Round(self.round), self.virtual_s);
        self.score_of((round, virtual_s), split, metric, value, n);
    }

    /// A row of `scores.csv` of another round, such as an epoch of a training before the run.
    pub fn score_of<'a>(
        &mut self,
        (round, virtual_s): (Round, f64),
        split: &str,
        metric: impl Into<Metric<'a>>,
        value: f64,
        n: u64,
    ) {
        let metric = self.name(metric);
        self.scores.push(ScoreRow {
            round: round.0,
            virtual_s,
            split: split.to_owned(),
            metric,
            value,
            n,
        });
    }

    /// A number of `summary.json`.
    pub fn number<'a>(&mut self, metric: impl Into<Metric<'a>>, value: f64) {
        let metric = self.name(metric);
        self.summary.push((metric, value));
    }

    /// A number that there may be no value for.
    pub fn number_if<'a>(&mut self, metric: impl Into<Metric<'a>>, value: Option<f64>) {
        if let Some(value) = value {
            self.number(metric, value);
        }
    }

    /// What `label`, such as a theorem, says that `metric` should be.
    pub fn reference<'a>(&mut self, metric: impl Into<Metric<'a>>, label: &str, value: f64) {
        let metric = self.name(metric);
        self.summary
            .push((MetricKey::of(&metric).against(label).to_string(), value));
    }

    /// A point of the curve of `metric` over a parameter that one run has several values of.
    pub fn point<'a>(&mut self, metric: impl Into<Metric<'a>>, (parameter, at): (&str, impl fmt::Display), value: f64) {
        let (metric, at) = (self.name(metric), at.to_string());
        self.summary
            .push((MetricKey::of(&metric).at(parameter, &at).to_string(), value));
    }

    /// Notes the unit of a metric, and returns its name.
    fn name<'a>(&mut self, metric: impl Into<Metric<'a>>) -> String {
        let Metric { name, unit } = metric.into();
        let name = name.into_owned();
        if unit != Unit::Number {
            self.units.insert(name.clone(), unit);
        }
        name
    }

    /// What could not be computed, and why: a line of `artifacts/not_scored.csv`.
    pub fn missing(&mut self, what: &str, why: &str) {
        self.missing += &format!("{what},\"{}\"\n", why.replace('"', "'"));
    }

    /// Something that a reader of the results must know, in a whole sentence: it is said when the
    /// run ends, kept in its manifest, and marks the run in tables. Said again, it changes nothing.
    pub fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The same as [`warn`](Self::warn) at the end of a run, where the result hash already has what
    /// it follows from: the hash does not count it.
    pub fn doubt(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.doubts.contains(&warning) {
            self.doubts.push(warning);
        }
    }

    /// That training has diverged, and by what one sees it: a warning, and the end of the run where
    /// its card says so.
    pub fn diverged(&mut self, sign: impl Into<String>) {
        let (round, sign) = (self.round, sign.into());
        self.diverged
            .get_or_insert_with(|| format!("diverged by round {round}: {sign}"));
    }

    /// That scores cannot be computed, and why: the run fails. The first reason counts.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.failed.get_or_insert_with(|| why.into());
    }

    /// Why the run fails, if it does.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The meaning of a metric whose name is known only at run time; the first one counts.
    pub fn term(&mut self, term: Term) {
        if !self.terms.iter().any(|known| known.name == term.name) {
            self.terms.push(term);
        }
    }

    /// What metrics mean that only the run itself knows; the sheet then no longer holds them.
    pub fn take_terms(&mut self) -> Vec<Term> {
        std::mem::take(&mut self.terms)
    }

    /// Whether training has diverged.
    pub fn has_diverged(&self) -> bool {
        self.diverged.is_some()
    }

    /// Whether the scores of the present round reach all of these targets.
    pub fn reaches(&self, targets: &[Target]) -> bool {
        let of_round = || self.scores.iter().rev().take_while(|row| row.round == self.round);
        let is_met = |target: &Target| {
            of_round().any(|row| score_name(&row.split, &row.metric) == target.score && target.is_met_by(row.value))
        };
        !targets.is_empty() && targets.iter().all(is_met)
    }

    /// What has been warned of, of each only once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.diverged.take());
        warnings
    }

    /// What has been doubted, of each only once.
    pub fn take_doubts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.doubts)
    }

    /// A file below `artifacts/`.
    pub fn artifact(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        let path = path.into();
        self.artifacts.push(Artifact { path, bytes });
    }

    /// The rows of `client_scores.csv`, in the place of any before.
    pub fn client_scores(&mut self, rows: Vec<ClientScoreRow>) {
        self.client_scores = rows;
    }

    /// The rows of `client_scores.csv`, which the sheet then has no more.
    pub fn take_client_scores(&mut self) -> Vec<ClientScoreRow> {
        std::mem::take(&mut self.client_scores)
    }

    /// A row of `controls.csv`: what `control` scores in `metric`, over `n` test items.
    pub fn control(&mut self, control: &str, metric: &str, value: f64, n: u64) {
        self.controls.push(ControlRow {
            control: control.to_owned(),
            metric: metric.to_owned(),
            value,
            n,
        });
    }

    /// The rows of `controls.csv`, which the sheet then no longer holds.
    pub fn take_controls(&mut self) -> Vec<ControlRow> {
        std::mem::take(&mut self.controls)
    }

    pub fn scores(&self) -> &[ScoreRow] {
        &self.scores
    }

    /// The scores, which the sheet then has no more.
    pub fn take_scores(&mut self) -> Vec<ScoreRow> {
        std::mem::take(&mut self.scores)
    }

    /// The numbers, by name in the order in which they came.
    pub fn take_summary(&mut self) -> Vec<(String, f64)> {
        std::mem::take(&mut self.summary)
    }

    /// The units of all metrics that are no plain numbers, by name.
    pub fn take_units(&mut self) -> BTreeMap<String, Unit> {
        std::mem::take(&mut self.units)
    }

    pub fn take_artifacts(&mut self) -> Vec<Artifact> {
        let missing = std::mem::take(&mut self.missing);
        if !missing.is_empty() {
            self.artifact(NOT_SCORED.file, (NOT_SCORED.header(&[]) + &missing).into_bytes());
        }
        std::mem::take(&mut self.artifacts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_taken_once_with_its_units() {
        let mut sheet = Sheet::new();
        sheet.stands_at(2, 0.5);
        sheet.score("test", "auc", 0.75, 9);
        sheet.score_of((Round(7), 1.5), "all", Unit::Bytes.of("sent"), 3.0, 1);
        sheet.number("plain", 1.0);
        sheet.number_if("none", None);
        sheet.number_if(Unit::Seconds.of("took"), Some(2.0));
        sheet.reference("plain", "theory", 1.25);
        sheet.point("plain", ("gamma", 3), 4.0);
        let row = |round, virtual_s, split: &str, metric: &str, value, n| ScoreRow {
            round,
            virtual_s,
            split: split.to_owned(),
            metric: metric.to_owned(),
            value,
            n,
        };
        let scores = [row(2, 0.5, "test", "auc", 0.75, 9), row(7, 1.5, "all", "sent", 3.0, 1)];
        assert_eq!(sheet.take_scores(), scores);
        let numbers = [
            ("plain", 1.0),
            ("took", 2.0),
            ("plain@theory", 1.25),
            ("plain[gamma=3]", 4.0),
        ];
        assert_eq!(
            sheet.take_summary(),
            numbers.map(|(name, value)| (name.to_owned(), value))
        );
        let units = [("sent", Unit::Bytes), ("took", Unit::Seconds)];
        assert_eq!(
            sheet.take_units(),
            units.map(|(name, unit)| (name.to_owned(), unit)).into()
        );
        assert_eq!(
            sheet,
            Sheet {
                round: 2,
                virtual_s: 0.5,
                ..Sheet::new()
            }
        );
    }

    #[test]
    fn a_warning_is_said_once_and_divergence_where_it_was_first_seen() {
        let mut sheet = Sheet::new();
        sheet.warn("odd");
        sheet.warn("odd");
        assert!(!sheet.has_diverged());
        sheet.stands_at(3, 1.0);
        sheet.diverged("a loss of inf");
        sheet.stands_at(4, 2.0);
        sheet.diverged("another");
        assert!(sheet.has_diverged());
        assert_eq!(sheet.take_warnings(), ["odd", "diverged by round 3: a loss of inf"]);
        assert!(sheet.take_warnings().is_empty() && !sheet.has_diverged());
    }

    #[test]
    fn targets_are_reached_by_the_scores_of_one_round() {
        let target = |score: &str, at_most| Target {
            score: score.to_owned(),
            value: 0.5,
            at_most,
        };
        let both = [target("test_accuracy", false), target("loss", true)];
        let mut sheet = Sheet::new();
        sheet.score("test", "accuracy", 0.6, 1);
        assert!(sheet.reaches(&both[..1]) && !sheet.reaches(&both) && !sheet.reaches(&[]));
        sheet.stands_at(1, 1.0);
        sheet.score("all", "loss", 0.4, 1);
        assert!(!sheet.reaches(&both), "the accuracy is of another round");
        sheet.score("test", "accuracy", 0.5, 1);
        assert!(sheet.reaches(&both));
    }

    #[test]
    fn what_is_missing_becomes_one_file_behind_the_others() {
        let mut sheet = Sheet::new();
        sheet.artifact("a.bin", vec![1]);
        let whole = Artifact {
            path: "a.bin".to_owned(),
            bytes: vec![1],
        };
        assert_eq!(sheet.clone().take_artifacts(), std::slice::from_ref(&whole));
        sheet.missing("auc", "one \"class\"");
        let said = Artifact {
            path: "not_scored.csv".to_owned(),
            bytes: b"what,why\nauc,\"one 'class'\"\n".to_vec(),
        };
        assert_eq!(sheet.take_artifacts(), [whole, said]);
        assert!(sheet.take_artifacts().is_empty());
    }
}
