//! What metrics mean: the words of a glossary, said where a number is made and found by its name.

use crate::metric::Unit;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Which values of a metric one would rather have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The higher, the better.
    Higher,
    /// The lower, the better.
    Lower,
}

/// What a metric's value can be at least and at most; `None` where it has no such bound.
pub type Bounds = (Option<f64>, Option<f64>);

/// What a number says that an attacker has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attack {
    /// What whoever guesses without looking reaches at best, where that is known: an attack no better says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind: Option<f64>,
}

/// A metric of the glossary, or several whose names differ in a part that `*` stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The name in tables and summaries, such as `payload_bytes` or `*_messages`.
    pub name: Cow<'static, str>,
    /// The name in words, as figures write it; `*` stands for what it stands for in the name.
    pub words: Cow<'static, str>,
    /// What it is measured in.
    pub unit: Unit,
    /// What it can be.
    pub range: Bounds,
    /// Which values are better, if any are.
    pub better: Option<Better>,
    /// Whether it is what an attacker reaches.
    pub attack: Option<Attack>,
    /// What it says, in one plain sentence.
    pub about: Cow<'static, str>,
    /// The paper and equation that define it; blank where `about` is the definition.
    pub source: Cow<'static, str>,
}

/// What a metric of a run means, as its manifest says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meaning {
    /// Its name in words, without its unit.
    pub words: String,
    /// What it can be.
    pub range: Bounds,
    /// Which values are better, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// Whether it is what an attacker reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<Attack>,
    /// What it says, in one sentence.
    pub about: String,
}

/// What is put before a term's name, in words, and what it says.
pub const PREFIXES: [(&str, &str, &str); 3] = [
    ("train_", "Training", "on what clients train on"),
    (
        "validation_",
        "Validation",
        "on the part that settings are chosen by; nobody trains on it",
    ),
    (
        "test_",
        "Test",
        "on the part that nobody trains on and nothing is chosen by",
    ),
];

/// What is put behind a term's name, in words, and what it says.
pub const SUFFIXES: [(&str, &str, &str); 2] = [
    (
        "_std",
        "standard deviation",
        "the standard deviation over repetitions within the run",
    ),
    ("_standard_error", "standard error", "the standard error of the value"),
];

/// What is put behind a metric's name, `metric@label` and `metric[parameter=value]`, and what it says.
pub const MARKS: [(&str, &str); 2] = [
    (
        "@",
        "a reference: what the label behind it, such as a theorem or a control, gives for the same number",
    ),
    (
        "[",
        "a point of a curve: the number where the parameter in brackets has that value",
    ),
];

impl Term {
    /// A term with the bounds of its unit: shares lie in 0..=1, counts, bytes and seconds begin at 0, a plain number has none.
    pub const fn new(
        name: &'static str,
        words: &'static str,
        unit: Unit,
        about: &'static str,
        source: &'static str,
    ) -> Term {
        let range = match unit {
            Unit::Number => (None, None),
            Unit::Share => (Some(0.0), Some(1.0)),
            Unit::Count | Unit::Bytes | Unit::BytesPerSecond | Unit::Seconds => (Some(0.0), None),
        };
        Term {
            name: Cow::Borrowed(name),
            words: Cow::Borrowed(words),
            unit,
            range,
            better: None,
            attack: None,
            about: Cow::Borrowed(about),
            source: Cow::Borrowed(source),
        }
    }

    /// With a value of at least `least`.
    pub const fn from(mut self, least: f64) -> Term {
        self.range.0 = Some(least);
        self
    }

    /// With a value of at most `most`.
    pub const fn up_to(mut self, most: f64) -> Term {
        self.range.1 = Some(most);
        self
    }

    /// With values of which the higher are better.
    pub const fn higher(mut self) -> Term {
        self.better = Some(Better::Higher);
        self
    }

    /// With values of which the lower are better.
    pub const fn lower(mut self) -> Term {
        self.better = Some(Better::Lower);
        self
    }

    /// An attacker's success, with no blind guess to hold it against.
    pub const fn attack(mut self) -> Term {
        self.attack = Some(Attack { blind: None });
        self
    }

    /// An attacker's success, beside which guessing blindly reaches `blind`.
    pub const fn attack_beside(mut self, blind: f64) -> Term {
        self.attack = Some(Attack { blind: Some(blind) });
        self
    }

    /// What `*` stands for in `name`, if this term is of it; blank where there is no `*`.
    fn matched<'a>(&self, name: &'a str) -> Option<&'a str> {
        match self.name.split_once('*') {
            None => (self.name == name).then_some(""),
            Some((before, after)) => name
                .strip_prefix(before)?
                .strip_suffix(after)
                .filter(|rest| !rest.is_empty()),
        }
    }

    /// This term as that of `name`, whose `*` it fills.
    fn filled(&self, name: &str) -> Option<Term> {
        let rest = self.matched(name)?.replace('_', " ");
        let words = match self.words.split_once('*') {
            None => self.words.to_string(),
            Some((before, after)) => capital(&format!("{before}{rest}{after}")),
        };
        Some(Term {
            name: name.to_owned().into(),
            words: words.into(),
            about: self.about.replace('*', &rest).into(),
            ..self.clone()
        })
    }

    /// For a manifest.
    pub fn meaning(&self) -> Meaning {
        Meaning {
            words: self.words.to_string(),
            range: self.range,
            better: self.better,
            attack: self.attack,
            about: self.about.to_string(),
        }
    }
}

/// The name that a metric's points and references share: `micro_f1` of `micro_f1[train_ratio=0.5]` and of `micro_f1@clean`.
pub fn base(metric: &str) -> &str {
    let marks = MARKS.map(|(mark, _)| metric.find(mark).unwrap_or(metric.len()));
    &metric[..marks[0].min(marks[1])]
}

/// The term of a metric, by its name or that of its point, reference, part of the data, deviation or error; made of the one that fits best.
///
/// A term of the very name goes before one that a prefix or suffix is added to, and that before one with `*`, of which the one goes first
/// that leaves least to it.
pub fn find(terms: &[Term], metric: &str) -> Option<Term> {
    let name = base(metric);
    let named = |name: &str| terms.iter().find(|term| term.name == name).cloned();
    named(name)
        .or_else(|| {
            let of_part = PREFIXES.iter().find_map(|(prefix, words, about)| {
                let term = named(name.strip_prefix(prefix)?)?;
                Some(Term {
                    words: format!("{words} {}", small(&term.words)).into(),
                    about: format!("{} Here {about}.", term.about).into(),
                    ..term
                })
            });
            of_part.map(|term| Term {
                name: name.to_owned().into(),
                ..term
            })
        })
        .or_else(|| {
            SUFFIXES.iter().find_map(|(suffix, words, about)| {
                let of = name.strip_suffix(suffix)?;
                let is_spread = SUFFIXES.iter().any(|(suffix, ..)| of.ends_with(suffix));
                // Nobody takes the spread of a spread.
                let term = find(terms, of).filter(|_| !is_spread)?;
                Some(Term {
                    name: name.to_owned().into(),
                    words: format!("{}, {words}", term.words).into(),
                    about: format!("{} Here {about}.", term.about).into(),
                    // A spread is no larger than what it is of may reach, and says nothing of which values are better.
                    range: (Some(0.0), None),
                    better: None,
                    attack: None,
                    ..term
                })
            })
        })
        .or_else(|| {
            let best = terms
                .iter()
                .filter(|term| term.name.contains('*') && term.matched(name).is_some())
                .max_by_key(|term| term.name.len())?;
            best.filled(name)
        })
}

/// What the metrics of these names mean, by the name that points and references share; those without a term have no entry.
pub fn meanings<'a>(terms: &[Term], metrics: impl Iterator<Item = &'a str>) -> BTreeMap<String, Meaning> {
    let mut names: Vec<&str> = metrics.map(base).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), find(terms, name)?.meaning())))
        .collect()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// With a small first letter, unless it begins with an abbreviation: `Test ROC AUC` as `test ROC AUC`.
pub fn small(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain([second]).chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TERMS: &[Term] = &[
        Term::new("accuracy", "Accuracy", Unit::Number, "Share of right answers.", "")
            .from(0.0)
            .up_to(1.0)
            .higher(),
        Term::new(
            "published_test_accuracy",
            "Published accuracy",
            Unit::Number,
            "As published.",
            "",
        ),
        Term::new("roc_auc", "ROC AUC", Unit::Number, "Area.", "").attack_beside(0.5),
        Term::new("*_messages", "* messages", Unit::Count, "Messages of kind `*`.", ""),
        Term::new("late_*_messages", "Late * messages", Unit::Count, "Late ones.", ""),
    ];

    fn words(metric: &str) -> Option<String> {
        find(TERMS, metric).map(|term| term.words.to_string())
    }

    #[test]
    fn points_references_parts_and_spreads_lead_to_their_term() {
        let cases = [
            ("accuracy", Some("Accuracy")),
            ("test_accuracy", Some("Test accuracy")),
            ("test_roc_auc", Some("Test ROC AUC")),
            ("accuracy@clean", Some("Accuracy")),
            ("accuracy@theory, [round] 2", Some("Accuracy")),
            ("validation_accuracy[train_ratio=0.5]", Some("Validation accuracy")),
            ("test_accuracy_std[round=3]", Some("Test accuracy, standard deviation")),
            ("accuracy_standard_error", Some("Accuracy, standard error")),
            ("published_test_accuracy", Some("Published accuracy")),
            ("degree_vector_messages", Some("Degree vector messages")),
            ("late_model_messages", Some("Late model messages")),
            ("_messages", None),
            ("held_out_accuracy", None),
            ("accuracy_std_std", None),
        ];
        for (metric, expected) in cases {
            assert_eq!(words(metric).as_deref(), expected, "{metric}");
        }
    }

    #[test]
    fn what_is_found_says_what_varies_and_keeps_unit_and_bounds() {
        let term = find(TERMS, "walk_messages").unwrap();
        assert_eq!(
            (&*term.name, &*term.about, term.unit),
            ("walk_messages", "Messages of kind `walk`.", Unit::Count)
        );
        assert_eq!(term.range, (Some(0.0), None));
        let part = find(TERMS, "test_accuracy[round=1]").unwrap();
        assert_eq!(
            (&*part.name, part.range, part.better),
            ("test_accuracy", (Some(0.0), Some(1.0)), Some(Better::Higher))
        );
        let attacked = find(TERMS, "test_roc_auc[round=1]").unwrap();
        assert_eq!(attacked.meaning().attack, Some(Attack { blind: Some(0.5) }));
        assert_eq!((part.attack, find(TERMS, "roc_auc_std").unwrap().attack), (None, None));
        let spread = find(TERMS, "accuracy_std").unwrap();
        assert_eq!((spread.range, spread.better), ((Some(0.0), None), None));
    }

    #[test]
    fn meanings_are_told_once_for_all_points_and_references() {
        let metrics = ["accuracy[round=1]", "accuracy@clean", "walk_messages", "unknown"];
        let all = meanings(TERMS, metrics.into_iter());
        assert_eq!(all.keys().collect::<Vec<_>>(), ["accuracy", "walk_messages"]);
        let text = serde_json::to_string(&all["accuracy"]).unwrap();
        assert_eq!(
            text,
            r#"{"words":"Accuracy","range":[0.0,1.0],"better":"higher","about":"Share of right answers."}"#
        );
        assert_eq!(serde_json::from_str::<Meaning>(&text).unwrap(), all["accuracy"]);
    }
}
