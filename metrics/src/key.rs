//! The names of metrics: the only place that writes one or takes one apart.
//!
//! ```text
//! split_metric_suffix[parameter=value]@reference      test_accuracy_std[round=3]@untrained
//! ```
//!
//! Every part except the metric may be absent. Tables, summaries and cards hold names as text.
//!
//! Promises: no text is rejected, and what is parsed prints as the same text. A bracket or a suffix
//! that does not follow the form belongs to the metric.

use std::fmt;

/// Written before a metric's name: the text, the words for it, and its meaning.
pub const PREFIXES: [(&str, &str, &str); 3] = [
    ("train_", "Training", "on training data"),
    (
        "validation_",
        "Validation",
        "on validation data: items used to choose settings, not for training",
    ),
    (
        "test_",
        "Test",
        "on test data: items used neither for training nor to choose settings",
    ),
];

/// Written after a metric's name: the text, the words for it, and its meaning.
pub const SUFFIXES: [(&str, &str, &str); 2] = [
    (
        "_std",
        "standard deviation",
        "the standard deviation over repetitions within the run",
    ),
    ("_standard_error", "standard error", "the standard error of the value"),
];

/// The suffix of a standard deviation over repetitions within the run.
pub const STD: &str = "std";

/// What `@` and `[` in a name say.
pub const MARKS: [(&str, &str); 2] = [
    (
        "@",
        "the name of a control or a formula, whose value of the same metric this is",
    ),
    (
        "[",
        "a point of a curve: the number where the parameter in brackets has that value",
    ),
];

/// The parts of a metric's name.
///
/// ```
/// use folkmoot_metrics::MetricKey;
///
/// let key = MetricKey::parse("test_accuracy[round=3]");
/// assert_eq!((key.split, key.metric, key.at), (Some("test"), "accuracy", Some(("round", "3"))));
/// assert_eq!(key.against("untrained").to_string(), "test_accuracy[round=3]@untrained");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricKey<'a> {
    /// The split that is scored: of a parsed name `train`, `validation` or `test`.
    pub split: Option<&'a str>,
    pub metric: &'a str,
    /// The statistic over repetitions: of a parsed name `std` or `standard_error`.
    pub suffix: Option<&'a str>,
    /// The point of a curve: the parameter and its value.
    pub at: Option<(&'a str, &'a str)>,
    /// The label of the reference that gives this value for the metric.
    pub reference: Option<&'a str>,
}

impl<'a> MetricKey<'a> {
    /// The name as it stands, to add parts to.
    pub fn of(name: &'a str) -> Self {
        MetricKey {
            metric: name,
            ..MetricKey::default()
        }
    }

    /// The same, scored on `split`.
    pub fn on(self, split: &'a str) -> Self {
        MetricKey {
            split: Some(split),
            ..self
        }
    }

    /// The same, at one point of its curve.
    pub fn at(self, parameter: &'a str, value: &'a str) -> Self {
        MetricKey {
            at: Some((parameter, value)),
            ..self
        }
    }

    /// The same, as the reference of this label gives it.
    pub fn against(self, label: &'a str) -> Self {
        MetricKey {
            reference: Some(label),
            ..self
        }
    }

    /// The parts of a name.
    pub fn parse(name: &'a str) -> Self {
        let (stem, at, reference) = marks(name);
        let is_split = |text: &str| {
            PREFIXES
                .iter()
                .any(|(prefix, ..)| prefix.strip_suffix('_') == Some(text))
        };
        let (split, rest) = match stem.split_once('_') {
            Some((split, rest)) if is_split(split) && !rest.is_empty() => (Some(split), rest),
            _ => (None, stem),
        };
        let stripped = SUFFIXES.iter().find_map(|(suffix, ..)| rest.strip_suffix(suffix));
        let metric = stripped.filter(|metric| !metric.is_empty()).unwrap_or(rest);
        let suffix = rest[metric.len()..].strip_prefix('_');
        MetricKey {
            split,
            metric,
            suffix,
            at,
            reference,
        }
    }

    /// The value of the parameter, if it is a number.
    pub fn place(&self) -> Option<f64> {
        self.at?.1.parse().ok()
    }
}

impl fmt::Display for MetricKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(split) = self.split {
            write!(f, "{split}_")?;
        }
        f.write_str(self.metric)?;
        if let Some(suffix) = self.suffix {
            write!(f, "_{suffix}")?;
        }
        if let Some((parameter, value)) = self.at {
            write!(f, "[{parameter}={value}]")?;
        }
        match self.reference {
            Some(label) => write!(f, "@{label}"),
            None => Ok(()),
        }
    }
}

/// The stem, the point and the reference of a name.
fn marks(name: &str) -> (&str, Option<(&str, &str)>, Option<&str>) {
    let Some(end) = name.find(['@', '[']) else {
        return (name, None, None);
    };
    let (stem, rest) = name.split_at(end);
    if let Some(label) = rest.strip_prefix('@') {
        return (stem, None, Some(label));
    }
    let (point, reference) = match rest.split_once("]@") {
        Some((point, label)) => (Some(point), Some(label)),
        None => (rest.strip_suffix(']'), None),
    };
    let at = point.and_then(|point| point.strip_prefix('[')?.split_once('='));
    match at.filter(|(parameter, _)| !stem.is_empty() && !parameter.is_empty()) {
        None => (name, None, None),
        at => (stem, at, reference),
    }
}

/// The name that the points and references of a metric share: `micro_f1` of
/// `micro_f1[train_ratio=0.5]` and of `micro_f1@clean`.
pub fn base(name: &str) -> &str {
    marks(name).0
}

/// Whether a number is a reference for another one.
pub fn is_reference(name: &str) -> bool {
    marks(name).2.is_some()
}

/// The label of `name`, if it is a reference for the number `of`.
pub fn reference_label<'a>(name: &'a str, of: &str) -> Option<&'a str> {
    name.strip_prefix(of)?.strip_prefix('@')
}

/// The point and the reference of a name in words, to follow those of the metric; blank where it
/// has neither.
pub fn in_words(name: &str) -> String {
    let key = MetricKey::parse(name);
    let at = key.at.map(|(parameter, value)| format!(", {parameter} {value}"));
    let label = key.reference.map(|label| format!(", {label}"));
    at.into_iter().chain(label).collect::<String>().replace('_', " ")
}

/// The name in `summary.json` of a score: its metric after the split, if that is not `all`.
pub fn score_name(split: &str, metric: &str) -> String {
    let key = MetricKey::of(metric);
    match split {
        "all" => key,
        split => key.on(split),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_taken_apart() {
        let plain = MetricKey::of("f1");
        let std = MetricKey {
            suffix: Some(STD),
            ..plain
        };
        let cases = [
            ("f1", plain),
            ("test_f1", plain.on("test")),
            ("f1_std[ratio=0.1]", std.at("ratio", "0.1")),
            ("f1@majority_class", plain.against("majority_class")),
            (
                "train_f1_std[a=-1e3]@b@c",
                std.on("train").at("a", "-1e3").against("b@c"),
            ),
            ("f1@theory, [round] 2", plain.against("theory, [round] 2")),
            ("f1[x@y=2]", plain.at("x@y", "2")),
        ];
        for (name, key) in cases {
            assert_eq!(MetricKey::parse(name), key, "{name}");
        }
        for name in [
            "", "_std", "test_", "all_f1", "f1[a]", "[a=1]", "f1[=1]", "f1[a=1", "f1[a]@b",
        ] {
            assert_eq!(MetricKey::parse(name), MetricKey::of(name), "{name}");
        }
        assert_eq!(MetricKey::parse("f1[a=0.5]").place(), Some(0.5));
        assert_eq!(MetricKey::parse("f1[a=b]").place(), None);
    }

    #[test]
    fn references_are_found_by_what_they_are_for() {
        assert_eq!(reference_label("f1[a=1]@clean", "f1[a=1]"), Some("clean"));
        assert_eq!(
            (reference_label("f1@clean", "f"), reference_label("f1", "f1")),
            (None, None)
        );
        assert!(is_reference("f1[a=1]@clean") && !is_reference("f1[a=1]"));
        assert_eq!(
            ["f1[train_ratio=0.6]", "f1@clean_graph", "f1"].map(in_words),
            [", train ratio 0.6", ", clean graph", ""]
        );
        assert_eq!(
            (score_name("all", "loss"), score_name("test", "loss")),
            ("loss".to_owned(), "test_loss".to_owned())
        );
    }

    proptest! {
        #[test]
        fn every_text_prints_as_it_was_parsed(name in "(train_|test_|_std|_standard_error|[a-c_@=\\[\\]é]|@l|\\[a=1\\]){0,9}|.{0,20}") {
            prop_assert_eq!(MetricKey::parse(&name).to_string(), &*name);
        }

        #[test]
        fn every_key_parses_as_it_was_printed(
            split in proptest::option::of(prop_oneof![Just("train"), Just("validation"), Just("test")]),
            metric in "m[a-z0-9]{0,8}(_of_q[a-z]{1,8})?",
            suffix in proptest::option::of(prop_oneof![Just("std"), Just("standard_error")]),
            at in proptest::option::of(("[a-z_]{1,9}", "[-+.0-9a-z]{0,9}")),
            reference in proptest::option::of("[a-z_]{0,9}"),
        ) {
            let key = MetricKey {
                split,
                metric: &metric,
                suffix,
                at: at.as_ref().map(|(parameter, value)| (parameter.as_str(), value.as_str())),
                reference: reference.as_deref(),
            };
            let name = key.to_string();
            prop_assert_eq!(MetricKey::parse(&name), key);
        }
    }
}
