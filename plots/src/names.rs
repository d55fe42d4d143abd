//! From a name as tables spell it to words for a reader, and the unit it ends in.

/// What a number counts or measures; it decides how an axis is labelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A plain number.
    #[default]
    Number,
    /// A number of things; tick labels get SI prefixes.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    Rate,
    /// Seconds.
    Seconds,
    /// Per cent of a whole; the values are shares of 1.
    Percent,
}

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

impl Unit {
    /// The step of this unit in which `largest` reads best: base units in one, and its symbol.
    pub(crate) fn step(self, largest: f64) -> (f64, &'static str) {
        let steps: &[Step] = match self {
            Unit::Number | Unit::Count => return (1.0, ""),
            Unit::Percent => return (0.01, "%"),
            Unit::Bytes => &BYTE_STEPS,
            Unit::Rate => &RATE_STEPS,
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

/// A figure's title below the name of its card, with a capital letter; either may be empty.
pub(crate) fn heading(card: &str, title: &str) -> String {
    let mut letters = title.chars();
    let title: String = letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect());
    let parts = [card, &title].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(": ")
}

/// A number with at most four significant digits.
pub(crate) fn short(x: f64) -> String {
    rounded(x, 4)
}

/// A number with at most so many significant digits, at least one; where it has an exponent, at most three.
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

/// A value with its unit, for labels beside a bar.
pub(crate) fn value_text(unit: Unit, x: f64) -> String {
    let (factor, symbol) = unit.step(x.abs());
    match unit {
        Unit::Count => si(x),
        Unit::Number => short(x),
        _ if !x.is_finite() => short(x),
        _ => format!("{} {symbol}", short(x / factor)),
    }
}

/// A metric or a field of a scenario in words, and its unit: `payload_bytes` is "Payload", bytes.
///
/// A point of a curve names its place: `micro_f1[train_ratio=0.6]` is "Micro F1 at train ratio 0.6".
pub(crate) fn words(name: &str) -> (String, Unit) {
    if let Some(point) = crate::profile::point(name) {
        let ((text, unit), (parameter, _)) = (words(point.metric), words(point.parameter));
        let (parameter, at) = (parameter.to_lowercase(), minus(&point.at.to_string()));
        return (format!("{text} at {parameter} {at}"), unit);
    }
    let name = name.rsplit('.').next().unwrap_or(name);
    let mut parts: Vec<&str> = name.split(['_', ' ']).filter(|part| !part.is_empty()).collect();
    let n = parts.len();
    let unit = match parts.as_slice() {
        [_, .., "bytes", "per", "s"] => Unit::Rate,
        [_, .., "bytes"] => Unit::Bytes,
        [_, .., "s"] if parts[n - 2] != "per" => Unit::Seconds,
        parts if parts.contains(&"bytes") => Unit::Bytes,
        [
            ..,
            "messages" | "clients" | "rounds" | "retries" | "releases" | "walks" | "nodes" | "edges",
        ] => Unit::Count,
        ["messages" | "retried" | "sent" | "delivered" | "dropped" | "n", ..] => Unit::Count,
        parts if parts.contains(&"messages") && parts.contains(&"per") => Unit::Count,
        _ => Unit::Number,
    };
    match unit {
        Unit::Rate => parts.truncate(n - 3),
        Unit::Bytes | Unit::Seconds if matches!(parts.last(), Some(&"bytes" | &"s")) => parts.truncate(n - 1),
        _ => {}
    }
    let mut out: Vec<String> = parts.iter().map(|part| word(part)).collect();
    if unit == Unit::Seconds && parts == ["virtual"] {
        out.push("time".to_owned());
    }
    if unit == Unit::Bytes && parts.len() < n && parts.len() < 2 {
        out.push("bytes".to_owned());
    }
    let text = out.join(" ");
    let mut letters = text.chars();
    let text = letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect());
    (text, unit)
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

    #[test]
    fn names_become_words_and_units() {
        let cases = [
            ("peer_messages_per_walk", "Peer messages per walk", Unit::Count),
            ("payload_bytes", "Payload bytes", Unit::Bytes),
            ("mean_uplink_bytes", "Mean uplink", Unit::Bytes),
            ("bytes_per_walk", "Bytes per walk", Unit::Bytes),
            ("virtual_s", "Virtual time", Unit::Seconds),
            ("mean_walk_s", "Mean walk", Unit::Seconds),
            ("network.rate_bytes_per_s", "Rate", Unit::Rate),
            ("micro_f1", "Micro F1", Unit::Number),
            ("micro_f1[train_ratio=0.6]", "Micro F1 at train ratio 0.6", Unit::Number),
            ("n_clients", "Number of clients", Unit::Count),
            ("strategy.epsilon", "Epsilon", Unit::Number),
            ("", "", Unit::Number),
        ];
        for (name, text, unit) in cases {
            assert_eq!(words(name), (text.to_owned(), unit), "{name}");
        }
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
    }
}
