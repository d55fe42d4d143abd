//! What a run has come to, in a few lines: the question, the numbers that answer it, and what they mean.

use crate::text;
use folkmoot_metrics::term::base;
use folkmoot_metrics::{Better, Meaning, Unit};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Points of a curve that are shown: the first, the one in the middle and the last.
const POINTS: usize = 3;

/// The numbers of a run.
pub(crate) struct Numbers<'a> {
    pub(crate) summary: &'a BTreeMap<String, f64>,
    pub(crate) units: &'a BTreeMap<String, Unit>,
    pub(crate) terms: &'a BTreeMap<String, Meaning>,
}

impl Numbers<'_> {
    /// The numbers of these names, a block each: its name in words, its value with its unit and its references, and what it says.
    pub(crate) fn describe<'n>(&self, names: impl Iterator<Item = &'n str>) -> String {
        names.map(|name| self.block(name)).collect::<Vec<_>>().join("\n")
    }

    fn block(&self, name: &str) -> String {
        let term = self.terms.get(base(name));
        let label = name.strip_prefix(base(name)).unwrap_or_default();
        let words = term.map_or(name, |term| term.words.as_str());
        let mut text = match term {
            Some(_) => format!("{words}{}  [{}{label}]", of(label), base(name)),
            None => words.to_owned(),
        };
        let points = self.points(name);
        match self.summary.get(name) {
            Some(value) => {
                let _ = write!(text, "  {}{}", self.value(name, *value), self.references(name));
            }
            None if points.is_empty() => text += "  n/a: this run has none",
            None => {}
        }
        for (at, value) in points {
            let value = self.value(name, value);
            let _ = write!(text, "\n    {at}: {value}");
        }
        if let Some(term) = term {
            let better = match term.better {
                Some(Better::Higher) => " Higher is better.",
                Some(Better::Lower) => " Lower is better.",
                None => "",
            };
            let _ = write!(text, "\n    {}{better}", term.about);
        }
        text
    }

    /// The points of the number's curve, if it has one: in the order of what they are over, and no more than can be read at once.
    fn points(&self, name: &str) -> Vec<(String, f64)> {
        if self.summary.contains_key(name) {
            return Vec::new();
        }
        let point = |(key, value): (&String, &f64)| {
            let inner = key.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
            let (parameter, at) = inner.split_once('=')?;
            let place: f64 = at.parse().unwrap_or(f64::NAN);
            Some((place, format!("at {} {at}", parameter.replace('_', " ")), *value))
        };
        let mut points: Vec<(f64, String, f64)> = self.summary.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let n = points.len();
        let shown = |i: usize| n <= POINTS || [0, n / 2, n - 1].contains(&i);
        let kept = points.into_iter().enumerate().filter(|(i, _)| shown(*i));
        kept.map(|(_, (_, at, value))| (at, value)).collect()
    }

    fn references(&self, name: &str) -> String {
        let prefix = format!("{name}@");
        let all = self.summary.iter().filter_map(|(other, value)| {
            let label = other.strip_prefix(&prefix)?.replace('_', " ");
            Some(format!("{label}: {}", self.value(name, *value)))
        });
        let all: Vec<String> = all.collect();
        match all.is_empty() {
            true => String::new(),
            false => format!("  ({})", all.join("; ")),
        }
    }

    fn value(&self, name: &str, value: f64) -> String {
        match self.units.get(base(name)).copied().unwrap_or_default() {
            Unit::Bytes if value >= 0.0 && value.is_finite() => text::bytes(value.round() as u64),
            Unit::Seconds => format!("{} s", text::number(value)),
            Unit::Share => format!("{} %", text::number(value * 100.0)),
            Unit::BytesPerSecond => format!("{} B/s", text::number(value)),
            _ => text::number(value),
        }
    }
}

/// A reference's label or a point's place, in words.
fn of(label: &str) -> String {
    match (label.strip_prefix('@'), label.strip_prefix('[')) {
        (Some(label), _) => format!(", {}", label.replace('_', " ")),
        (_, Some(point)) => format!(", {}", point.trim_end_matches(']').replace(['_', '='], " ")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::Term;
    use folkmoot_metrics::term::meanings;

    #[test]
    fn a_number_has_its_words_unit_references_and_meaning() {
        let entries = [
            ("sent_bytes", 1.5e6),
            ("accuracy", 0.75),
            ("accuracy@majority_class", 0.5),
            ("f1[ratio=0.1]", 0.1),
            ("f1[ratio=0.2]", 0.2),
            ("f1[ratio=0.5]", 0.5),
            ("f1[ratio=0.9]", 0.9),
            ("own", 7.0),
        ];
        let summary: BTreeMap<String, f64> = entries.map(|(name, value)| (name.to_owned(), value)).into();
        let terms = [
            Term::new("accuracy", "Accuracy", Unit::Number, "Right answers.", "").higher(),
            Term::new("sent_bytes", "Bytes sent", Unit::Bytes, "All bytes.", "").lower(),
            Term::new("f1", "F1", Unit::Number, "F1.", ""),
        ];
        let terms = meanings(&terms, summary.keys().map(String::as_str));
        let units = BTreeMap::from([("sent_bytes".to_owned(), Unit::Bytes)]);
        let numbers = Numbers {
            summary: &summary,
            units: &units,
            terms: &terms,
        };
        let said =
            numbers.describe(["accuracy", "sent_bytes", "f1", "own", "none", "accuracy@majority_class"].into_iter());
        let expected = "Accuracy  [accuracy]  0.750000  (majority class: 0.500000)\n    Right answers. Higher is better.\n\
                        Bytes sent  [sent_bytes]  1.5 MB\n    All bytes. Lower is better.\n\
                        F1  [f1]\n    at ratio 0.1: 0.100000\n    at ratio 0.5: 0.500000\n    at ratio 0.9: 0.900000\n    F1.\n\
                        own  7\n\
                        none  n/a: this run has none\n\
                        Accuracy, majority class  [accuracy@majority_class]  0.500000\n    Right answers. Higher is better.";
        assert_eq!(said, expected);
    }
}
