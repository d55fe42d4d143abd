//! From a name as tables spell it to words for a reader, and from a value in its unit to a short
//! text.

pub(crate) use folkmoot_metrics::Unit;
use folkmoot_metrics::key::base;
use folkmoot_metrics::term::Better;
use folkmoot_metrics::{Meaning, MetricKey};
use std::collections::BTreeMap;

/// Steps of a unit: from which value on, how many base units, and the symbol.
type Step = (f64, f64, &'static str);

const BYTE_STEPS: [Step; 6] = [
    (0.0, 1.0, "B"),
    (1e3, 1e3, "kB"),
    (1e6, 1e6, "MB"),
    (1e9, 1e9, "GB"),
    (1e12, 1e12, "TB"),
    (1e15, 1e15, "PB"),
];
const RATE_STEPS: [Step; 4] = [
    (0.0, 1.0, "B/s"),
    (1e3, 1e3, "kB/s"),
    (1e6, 1e6, "MB/s"),
    (1e9, 1e9, "GB/s"),
];
const TIME_STEPS: [Step; 7] = [
    (0.0, 1e-9, "ns"),
    (1e-6, 1e-6, "µs"),
    (1e-3, 1e-3, "ms"),
    (1.0, 1.0, "s"),
    (300.0, 60.0, "min"),
    (18_000.0, 3_600.0, "h"),
    (432_000.0, 86_400.0, "days"),
];

/// The step of a unit in which `largest` reads best: base units in one, and its symbol.
pub(crate) fn step(unit: Unit, largest: f64) -> (f64, &'static str) {
    let steps: &[Step] = match unit {
        Unit::Number | Unit::Count => return (1.0, ""),
        Unit::Share => return (0.01, "%"),
        Unit::Bytes => &BYTE_STEPS,
        Unit::BytesPerSecond => &RATE_STEPS,
        Unit::Seconds if largest == 0.0 => return (1.0, "s"),
        Unit::Seconds => &TIME_STEPS,
    };
    let fits = steps
        .iter()
        .rev()
        .find(|(from, ..)| largest >= *from)
        .unwrap_or(&steps[0]);
    (fits.1, fits.2)
}

/// A number with an SI prefix where it is large: `950`, `20k`, `1.5M`.
pub(crate) fn si(x: f64) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match steps.iter().find(|(from, _)| x.abs() >= *from) {
        _ if x.abs() >= 1e15 => format!("{x:e}"),
        Some((step, prefix)) => format!("{}{prefix}", short(x / step)),
        None => short(x),
    }
}

/// Words as `a, b and c`.
pub(crate) fn small_list(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// A text with a capital letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A number with at most four significant digits.
pub(crate) fn short(x: f64) -> String {
    rounded(x, 4)
}

/// A number with at most so many significant digits, at least one; where it has an exponent, at
/// most three.
pub(crate) fn rounded(x: f64, n_digits: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return match x {
            _ if x.is_nan() => "n/a".to_owned(),
            _ if x == f64::INFINITY => "∞".to_owned(),
            _ if x == f64::NEG_INFINITY => "−∞".to_owned(),
            _ => "0".to_owned(),
        };
    }
    let digits = libm::log10(x.abs()).floor() as i32;
    if !(-4..9).contains(&digits) {
        let text = format!("{x:.*e}", (n_digits - 1).clamp(0, 2) as usize);
        return minus(&text.replace(".00e", "e").replace(".0e", "e"));
    }
    let text = format!("{x:.*}", (n_digits - 1 - digits).max(0) as usize);
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    minus(text)
}

/// The text of a number with a true minus sign.
pub(crate) fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// A large number as people write it: 3.8×10⁷.
fn power_of_ten(x: f64) -> String {
    let text = format!("{x:.1e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let raised = |c: char| {
        c.to_digit(10).map_or('⁻', |digit| {
            ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize]
        })
    };
    format!(
        "{}×10{}",
        minus(digits),
        exponent.chars().map(raised).collect::<String>()
    )
}

/// A value with its unit, for labels beside a bar.
pub(crate) fn value_text(unit: Unit, x: f64) -> String {
    let (factor, symbol) = step(unit, x.abs());
    match unit {
        Unit::Count => si(x),
        Unit::Number if x.is_finite() && x.abs() >= 1e6 => power_of_ten(x),
        Unit::Number => short(x),
        _ if !x.is_finite() => short(x),
        _ => format!("{} {symbol}", short(x / factor)),
    }
}

/// What metrics and axes are measured in, by name or path, and what metrics mean.
#[derive(Clone, Copy)]
pub(crate) struct Units<'a>(
    pub(crate) &'a BTreeMap<String, Unit>,
    pub(crate) &'a BTreeMap<String, Meaning>,
);

impl Units<'_> {
    /// The least and the largest that a metric can be.
    pub(crate) fn range(self, name: &str) -> (f64, f64) {
        let metric = base(name);
        if let Some(term) = self.1.get(metric) {
            let (least, most) = term.range;
            return (least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY));
        }
        match self.0.get(metric).copied().unwrap_or_default() {
            Unit::Share => (0.0, 1.0),
            Unit::Count | Unit::Bytes | Unit::BytesPerSecond | Unit::Seconds => (0.0, f64::INFINITY),
            Unit::Number => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// The least and the largest that a metric can be, where it has both.
    pub(crate) fn bounds(self, name: &str) -> Option<(f64, f64)> {
        let range = self.range(name);
        (range.0.is_finite() && range.1.is_finite()).then_some(range)
    }

    /// Which values of a metric are better.
    pub(crate) fn arrow(self, name: &str) -> &'static str {
        match self.1.get(base(name)).and_then(|term| term.better) {
            Some(Better::Higher) => "↑",
            Some(Better::Lower) => "↓",
            None => "",
        }
    }

    /// Whether a metric is what an attacker reaches.
    pub(crate) fn is_attack(self, name: &str) -> bool {
        self.1.get(base(name)).is_some_and(|term| term.attack.is_some())
    }

    /// What an attacker reaches who guesses blindly, if a metric is what one reaches.
    pub(crate) fn blind(self, name: &str) -> Option<f64> {
        self.1.get(base(name))?.attack?.blind
    }

    /// A metric or a field of a scenario in words, and its unit: `payload_bytes` is "Payload
    /// bytes", bytes.
    ///
    /// A point of a curve names its place: `micro_f1[train_ratio=0.6]` is "Micro F1 at train ratio
    /// 0.6".
    pub(crate) fn words(self, name: &str) -> (String, Unit) {
        if let Some(point) = point(name) {
            let ((text, unit), (parameter, _)) = (self.words(point.metric), self.words(point.parameter));
            let (parameter, at) = (parameter.to_lowercase(), minus(&point.at.to_string()));
            return (format!("{text} at {parameter} {at}"), unit);
        }
        let unit = self.0.get(name).copied().unwrap_or_default();
        match self.1.get(name) {
            Some(term) => (term.words.clone(), unit),
            None => (words(name, unit), unit),
        }
    }
}

/// A point's name, taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point<'a> {
    pub(crate) metric: &'a str,
    pub(crate) parameter: &'a str,
    pub(crate) at: f64,
}

/// The point that `name` stands for, if it stands for one.
pub(crate) fn point(name: &str) -> Option<Point<'_>> {
    let key = MetricKey::parse(name);
    let at = key.place().filter(|at| at.is_finite())?;
    let (parameter, _) = key.at?;
    Some(Point {
        metric: base(name),
        parameter,
        at,
    })
}

/// A text as part of a file name: what is not a letter or a digit becomes a hyphen.
pub(crate) fn file_part(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(plain).take(80).collect()
}

/// A name in words. A unit that it ends in is left out, since the axis has it, unless little else
/// would be left.
pub(crate) fn words(name: &str, unit: Unit) -> String {
    let name = name.rsplit('.').next().unwrap_or(name);
    let ending = match unit {
        Unit::BytesPerSecond => "_bytes_per_s",
        Unit::Bytes => "_bytes",
        Unit::Seconds => "_s",
        Unit::Number | Unit::Count | Unit::Share => "",
    };
    let stem = name.strip_suffix(ending).filter(|_| !ending.is_empty());
    let mut out: Vec<String> = stem
        .unwrap_or(name)
        .split(['_', ' '])
        .filter(|part| !part.is_empty())
        .map(word)
        .collect();
    match unit {
        Unit::Bytes if stem.is_some() && out.len() == 1 => out.push("bytes".to_owned()),
        Unit::Seconds if out == ["virtual"] => out.push("time".to_owned()),
        _ => {}
    }
    capital(&out.join(" "))
}

fn word(part: &str) -> String {
    match part {
        "n" => "number of".to_owned(),
        "prob" => "probability".to_owned(),
        "auc" | "roc" | "mrr" | "nmi" | "ari" | "rmse" | "mae" | "mse" | "f1" | "svm" | "ldp" | "dp" | "gw" | "dtw"
        | "id" => part.to_uppercase(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::Term;

    #[test]
    fn names_become_words_without_their_units() {
        let cases = [
            ("peer_messages_per_walk", "Peer messages per walk", Unit::Count),
            ("payload_bytes", "Payload bytes", Unit::Bytes),
            ("mean_uplink_bytes", "Mean uplink", Unit::Bytes),
            ("bytes_per_walk", "Bytes per walk", Unit::Bytes),
            ("virtual_s", "Virtual time", Unit::Seconds),
            ("mean_walk_s", "Mean walk", Unit::Seconds),
            ("network.rate_bytes_per_s", "Rate", Unit::BytesPerSecond),
            ("micro_f1", "Micro F1", Unit::Number),
            ("n_clients", "Number of clients", Unit::Count),
            ("strategy.epsilon", "Epsilon", Unit::Number),
            ("classes_s", "Classes s", Unit::Number),
            ("", "", Unit::Number),
        ];
        for (name, text, unit) in cases {
            let units = BTreeMap::from([(name.to_owned(), unit)]);
            assert_eq!(
                Units(&units, &BTreeMap::new()).words(name),
                (text.to_owned(), unit),
                "{name}"
            );
        }
        let units = BTreeMap::from([("walk_bytes".to_owned(), Unit::Bytes)]);
        let expected = ("Walk bytes at train ratio 0.6".to_owned(), Unit::Bytes);
        assert_eq!(
            Units(&units, &BTreeMap::new()).words("walk_bytes[train_ratio=0.6]"),
            expected
        );
        let term = Term::new("walk_bytes", "Bytes of a walk", Unit::Bytes, "", "");
        let terms = BTreeMap::from([("walk_bytes".to_owned(), term.meaning())]);
        let expected = ("Bytes of a walk at train ratio 0.6".to_owned(), Unit::Bytes);
        assert_eq!(Units(&units, &terms).words("walk_bytes[train_ratio=0.6]"), expected);
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (950.0, "950"),
            (20_000.0, "20k"),
            (1.5e6, "1.5M"),
            (1e12, "1T"),
            (-0.25, "−0.25"),
        ];
        for (x, text) in cases {
            assert_eq!(si(x), text);
        }
        assert_eq!(value_text(Unit::Seconds, 0.0035), "3.5 ms");
        assert_eq!(value_text(Unit::Bytes, 2.5e6), "2.5 MB");
        assert_eq!(value_text(Unit::Number, f64::INFINITY), "∞");
        assert_eq!(value_text(Unit::Number, 38_047_419.0), "3.8×10⁷");
    }
}
