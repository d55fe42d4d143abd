//! What a run has come to, in a few lines: the numbers that answer its question, and what they
//! mean.

use crate::text;
use folkmoot_metrics::Numbers;
use std::fmt::Write;

/// The numbers of these names, a block each: its name in words, its value with its unit and its
/// references, and what it says.
pub(crate) fn describe<'n>(numbers: Numbers<'_>, names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| block(numbers, name)).collect::<Vec<_>>().join("\n")
}

fn block(numbers: Numbers<'_>, name: &str) -> String {
    let answer = numbers.answer(name);
    let written = |value: &f64| text::measured(name, *value, answer.unit);
    let mut text = match &answer.meaning {
        Some(_) => format!("{}  [{name}]", answer.words),
        None => answer.words.clone(),
    };
    match &answer.value {
        Some(value) => {
            let references: Vec<String> = answer
                .references
                .iter()
                .map(|(label, value)| format!("{label}: {}", written(value)))
                .collect();
            let _ = write!(text, "  {}", written(value));
            if !references.is_empty() {
                let _ = write!(text, "  ({})", references.join("; "));
            }
        }
        None if answer.points.is_empty() => text += "  n/a: not computed in this run, or nothing to score",
        None => {}
    }
    for (at, value) in &answer.points {
        let _ = write!(text, "\n    {at}: {}", written(value));
    }
    if let Some(meaning) = &answer.meaning {
        let about = format!("{} {}", meaning.about, answer.better());
        let _ = write!(text, "\n{}", text::wrapped(about.trim_end(), "    ", "    "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::term::meanings;
    use folkmoot_metrics::{Term, Unit};
    use std::collections::BTreeMap;

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
        let terms = meanings(&terms, None, summary.keys().map(String::as_str));
        let units = BTreeMap::from([("sent_bytes".to_owned(), Unit::Bytes)]);
        let numbers = Numbers {
            summary: &summary,
            units: &units,
            terms: &terms,
        };
        let said = describe(
            numbers,
            ["accuracy", "sent_bytes", "f1", "own", "none", "accuracy@majority_class"].into_iter(),
        );
        let expected = "Accuracy  [accuracy]  0.7500  (majority class: 0.5000)\n    Right answers. Higher is better.\n\
                        Bytes sent  [sent_bytes]  1.500 MB\n    All bytes. Lower is better.\n\
                        F1  [f1]\n    at ratio 0.1: 0.1000\n    at ratio 0.5: 0.5000\n    at ratio 0.9: 0.9000\n    F1.\n\
                        own  7\n\
                        none  n/a: not computed in this run, or nothing to score\n\
                        Accuracy, majority class  [accuracy@majority_class]  0.5000\n    Right answers. Higher is better.";
        assert_eq!(said, expected);
    }
}
