//! Tables and numbers for people.

use folkmoot_metrics::{Cell, MessageRow, Spread};
use std::collections::BTreeMap;

/// A table with a header; the first `n_left` columns are flush left, the others flush right.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], n_left: usize) -> String {
    let width = |i: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(i))
            .map(|cell| cell.chars().count());
        cells.chain([header[i].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells
            .zip(&widths)
            .enumerate()
            .map(|(i, (cell, &width))| match i < n_left {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&mut header.iter().copied())];
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    lines.join("\n")
}

/// A whole number with thin groups: 1234567 as `1 234 567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(" ")
}

/// How many there are of something: `1 seed`, `3 seeds`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(n as u64))
}

/// Bytes with a decimal unit.
pub(crate) fn bytes(n: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{n} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// A measured number: whole as it is, else with six significant digits at most.
pub(crate) fn number(x: f64) -> String {
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

/// What the figures of a sweep show as a point and its band.
pub(crate) fn mean_and_interval(numbers: &[f64], with_interval: bool) -> String {
    let spread = Spread::of(numbers);
    match spread.interval_95() {
        _ if numbers.is_empty() => String::new(),
        Some((_, hi)) if with_interval => format!("{} ± {}", number(spread.mean), number(hi - spread.mean)),
        _ => number(spread.mean),
    }
}

/// The name of a field at the end of its path.
pub(crate) fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// The message table summed over rounds, one row per phase, kind and direction.
pub(crate) fn messages(rows: &[MessageRow]) -> String {
    type Key<'a> = (&'a str, &'a str, &'a str);
    let mut order: Vec<Key<'_>> = Vec::new();
    let mut sums: BTreeMap<Key<'_>, (Cell, u64, Option<f64>)> = BTreeMap::new();
    for row in rows {
        let key = (row.phase.as_str(), row.kind.as_str(), row.direction.as_str());
        let (cell, dropped, expected) = sums.entry(key).or_insert_with(|| {
            order.push(key);
            (Cell::default(), 0, Some(0.0))
        });
        cell.sent += row.sent;
        cell.delivered += row.delivered;
        cell.in_flight += row.in_flight;
        cell.retried += row.retried;
        cell.payload_bytes += row.payload_bytes;
        cell.header_bytes += row.header_bytes;
        *dropped += row.dropped;
        *expected = expected.zip(row.expected_messages).map(|(a, b)| a + b);
    }
    let header = [
        "phase",
        "kind",
        "direction",
        "sent",
        "delivered",
        "dropped",
        "in flight",
        "retried",
        "payload",
        "headers",
        "expected",
    ];
    let lines: Vec<Vec<String>> = order
        .iter()
        .map(|key| {
            let (cell, dropped, expected) = &sums[key];
            vec![
                key.0.to_owned(),
                key.1.to_owned(),
                key.2.to_owned(),
                count(cell.sent),
                count(cell.delivered),
                count(*dropped),
                count(cell.in_flight),
                count(cell.retried),
                bytes(cell.payload_bytes),
                bytes(cell.header_bytes),
                expected.map(|x| count(x.round() as u64)).unwrap_or_default(),
            ]
        })
        .collect();
    table(&header, &lines, 3)
}

/// Summary numbers, each with its references beside it.
pub(crate) fn summary(summary: &BTreeMap<String, f64>) -> String {
    let own = summary.iter().filter(|(name, _)| !name.contains('@'));
    let width = own.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = own.map(|(name, &value)| {
        let prefix = format!("{name}@");
        let references: Vec<String> = summary
            .iter()
            .filter_map(|(other, &value)| Some(format!("{}: {}", other.strip_prefix(&prefix)?, number(value))))
            .collect();
        let references = if references.is_empty() {
            String::new()
        } else {
            format!("   ({})", references.join("; "))
        };
        format!("{name:<width$}  {}{references}", number(value))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![
            vec!["a".to_owned(), "1".to_owned()],
            vec!["long".to_owned(), "22".to_owned()],
        ];
        assert_eq!(table(&["name", "n"], &rows, 1), "name   n\na      1\nlong  22");
    }
}
