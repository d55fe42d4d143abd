//! Numbers and texts as people read them: the same in a terminal and on a page.

use crate::curves::has_durations;
use crate::estimate::{Estimate, Scale};
use crate::metric::Unit;
use std::borrow::Cow;

/// A whole number with thin groups: 1234567 as `1 234 567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(" ")
}

/// How many there are of something: `1 seed`, `3 seeds`.
pub fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(n as u64))
}

/// Bytes with a decimal unit.
pub fn bytes(n: u64) -> String {
    let scale = Scale::of(Unit::Bytes, n as f64);
    match scale.suffix {
        " B" => format!("{n} B"),
        suffix => format!("{:.1}{suffix}", scale.apply(n as f64)),
    }
}

/// A measured number: whole as it is, else with six significant digits at most.
pub fn number(x: f64) -> String {
    if !x.is_finite() || (x.fract() == 0.0 && x.abs() < 1e15) {
        return format!("{x}");
    }
    let size = x.abs();
    if !(1e-4..1e9).contains(&size) {
        return format!("{x:.4e}");
    }
    let whole_digits = if size < 1.0 { 1 } else { (size as u64).to_string().len() };
    format!("{x:.*}", 7usize.saturating_sub(whole_digits).min(6))
}

/// A whole number with thin groups, negative ones with a minus sign.
pub(crate) fn grouped(x: f64) -> String {
    let sign = if x < 0.0 { "−" } else { "" };
    format!("{sign}{}", count(x.abs() as u64))
}

/// A number with four significant digits, whole ones in groups.
pub fn digits(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    if x.is_nan() {
        return "n/a".to_owned();
    }
    let sign = if x < 0.0 { "−" } else { "" };
    let size = x.abs();
    let text = match size {
        0.0 => return "0".to_owned(),
        _ if !(1e-4..1e15).contains(&size) => {
            let text = format!("{size:.3e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
            format!("{mantissa}e{exponent}").replace('-', "−")
        }
        _ if size >= 1000.0 || size.fract() == 0.0 => count(size.round() as u64),
        _ if size >= 100.0 => format!("{size:.1}"),
        _ if size >= 10.0 => format!("{size:.2}"),
        _ if size >= 1.0 => format!("{size:.3}"),
        _ => format!("{size:.4}"),
    };
    format!("{sign}{text}")
}

/// The name of a field at the end of its path.
pub fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Whether a terminal, a page or a scheduler may take a character for something else than text: a
/// control character, a line separator or a directional mark (Unicode 17, `Bidi_Control`).
pub fn is_hidden(c: char) -> bool {
    let is_mark = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_mark
}

/// A user's text on one line: hidden characters as a card writes them, such as `\n` or `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    with_escapes(text, is_hidden)
}

/// The same for a text of several lines, which stay lines, with their tabs.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    with_escapes(text, |c| is_hidden(c) && !matches!(c, '\n' | '\t'))
}

fn with_escapes(text: &str, escapes: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&escapes) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| match c {
        c if !escapes(c) => c.to_string(),
        '\n' | '\r' | '\t' => c.escape_default().to_string(),
        c => c.escape_unicode().to_string(),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// The number of this name with its unit.
pub fn measured(name: &str, x: f64, unit: Unit) -> String {
    // The clock of an ideal network counts hops.
    match unit {
        Unit::Seconds if name.starts_with("virtual_s") && x > 0.0 && !has_durations(x) => {
            "no time, on an ideal network".to_owned()
        }
        _ => Estimate::of_mean(&[x], unit).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_written_as_in_a_card() {
        let hostile = "\u{1b}[2J\u{7}\0\u{9b}a\tb\nc\r\u{202e}gnp\u{2066}\u{200f}\u{61c}\u{2028}é算👩\u{200d}💻";
        let shown =
            "\\u{1b}[2J\\u{7}\\u{0}\\u{9b}a\\tb\\nc\\r\\u{202e}gnp\\u{2066}\\u{200f}\\u{61c}\\u{2028}é算👩\u{200d}💻";
        assert_eq!(visible(hostile), shown);
        assert_eq!(visible_lines("a\tb\nc\r\u{1b}"), "a\tb\nc\\r\\u{1b}");
        assert!(matches!(visible("plain: “text”"), Cow::Borrowed(_)));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(12), "12");
        assert_eq!(
            (counted(1, "seed"), counted(1500, "point")),
            ("1 seed".to_owned(), "1 500 points".to_owned())
        );
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(4_386_000_000_000), "4.4 TB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(number(32.638_888_9), "32.63889");
        assert_eq!(number(39.0), "39");
        assert_eq!(number(f64::INFINITY), "inf");
        assert_eq!(number(0.001_234_5), "0.001234");
        assert_eq!(
            measured("virtual_s", 8e-9, Unit::Seconds),
            "no time, on an ideal network"
        );
        assert_eq!(measured("latency_s", 0.0005, Unit::Seconds), "500 µs");
        assert_eq!(measured("virtual_s", 1.5, Unit::Seconds), "1.500 s");
    }
}
