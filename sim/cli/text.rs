//! Tables and numbers for people.

use folkmoot_metrics::key::{is_reference, reference_label};
pub(crate) use folkmoot_metrics::words::{
    bytes, count, counted, is_hidden, last_part, measured, number, visible, visible_lines,
};
use folkmoot_metrics::{MessageRow, totals};
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

/// No line of a table or sentence is wider, unless a single word or number is.
pub(crate) const WIDTH: usize = 100;

/// A sentence in lines of at most [`WIDTH`] signs, each with so much before it, the first with
/// `first`.
pub(crate) fn wrapped(sentence: &str, first: &str, others: &str) -> String {
    let mut text = first.to_owned();
    let mut width = first.chars().count();
    for (i, word) in sentence.split(' ').enumerate() {
        let n = word.chars().count();
        if i > 0 && width + 1 + n > WIDTH {
            text += "\n";
            text += others;
            width = others.chars().count();
        } else if i > 0 {
            text += " ";
            width += 1;
        }
        text += word;
        width += n;
    }
    text
}

/// The message table summed over rounds, one row per phase, kind and direction.
pub(crate) fn messages(rows: &[MessageRow]) -> String {
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
    let line = |row: MessageRow| {
        vec![
            row.phase,
            row.kind,
            row.direction.as_str().to_owned(),
            count(row.sent),
            count(row.delivered),
            count(row.dropped),
            count(row.in_flight),
            count(row.retried),
            bytes(row.payload_bytes),
            bytes(row.header_bytes),
            row.expected_messages
                .map(|x| count(x.round() as u64))
                .unwrap_or_default(),
        ]
    };
    let lines: Vec<Vec<String>> = totals(rows).into_iter().map(line).collect();
    table(&header, &lines, 3)
}

/// The same without columns in which nothing has happened.
pub(crate) fn short_messages(rows: &[MessageRow]) -> String {
    let header = ["phase", "kind", "direction", "sent", "dropped", "retried", "payload"];
    let line = |row: MessageRow| {
        vec![
            row.phase,
            row.kind,
            row.direction.as_str().to_owned(),
            count(row.sent),
            count(row.dropped),
            count(row.retried),
            bytes(row.payload_bytes),
        ]
    };
    let lines: Vec<Vec<String>> = totals(rows).into_iter().map(line).collect();
    let is_told = |column: &usize| lines.iter().any(|line| line[*column] != "0");
    let told: Vec<usize> = (0..header.len()).filter(is_told).collect();
    let heads: Vec<&str> = told.iter().map(|column| header[*column]).collect();
    let cells: Vec<Vec<String>> = lines
        .iter()
        .map(|line| told.iter().map(|column| line[*column].clone()).collect())
        .collect();
    table(&heads, &cells, 3)
}

/// Summary numbers, each with its references beside it.
pub(crate) fn summary(summary: &BTreeMap<String, f64>) -> String {
    let own = summary.iter().filter(|(name, _)| !is_reference(name));
    let width = own.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = own.map(|(name, &value)| {
        let references: Vec<String> = summary
            .iter()
            .filter_map(|(other, &value)| Some(format!("{}: {}", reference_label(other, name)?, number(value))))
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

/// A time of processors in few letters: `1 s`, `12 min`, `3 h`.
pub(crate) fn lasting(seconds: f64) -> String {
    match seconds {
        ..1.0 => "1 s".to_owned(),
        1.0..90.0 => format!("{seconds:.0} s"),
        90.0..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two", "- ", "  "), "- one two");
        let (word, long) = ("x".repeat(48), "y".repeat(120));
        assert_eq!(
            wrapped(&format!("{word} {word}"), "- ", "  "),
            format!("- {word} {word}")
        );
        let three = format!("{word} {word} {word} {long}");
        assert_eq!(
            wrapped(&three, "-- ", "  "),
            format!("-- {word} {word}\n  {word}\n  {long}")
        );
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
