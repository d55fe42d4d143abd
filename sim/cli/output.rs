//! Printing. In a terminal some words have a colour, unless `NO_COLOR` is set; `anstream` decides,
//! as it does for `clap`. What a card, a file or an argument says cannot steer a terminal: hidden
//! characters are written as a card writes them.

use crate::exit::Exit;
use crate::text::{is_hidden, visible_lines};
use serde_json::Value;
use std::io::{ErrorKind, IsTerminal, Write};

/// What a line begins with, and its style: an escape sequence of ECMA-48.
const STYLES: [(&str, &str); 5] = [
    ("error:", "\u{1b}[1;31m"),
    ("warning:", "\u{1b}[1;33m"),
    ("! warnings", "\u{1b}[1;33m"),
    ("note:", "\u{1b}[1;36m"),
    ("help:", "\u{1b}[1;32m"),
];
/// The mark of what is among the best.
const BEST: (&str, &str) = ("•", "\u{1b}[32m");
const PLAIN: &str = "\u{1b}[0m";

/// The text with styles, for a stream that removes them where it has to.
pub(crate) fn styled(text: &str) -> String {
    let line = |line: &str| {
        let bare = line.trim_start();
        let styled = STYLES
            .iter()
            .find(|(word, _)| bare.starts_with(word))
            .map(|(word, style)| {
                let (before, after) = line.split_at(line.len() - bare.len());
                format!("{before}{style}{word}{PLAIN}{}", &after[word.len()..])
            });
        let (mark, style) = BEST;
        styled.unwrap_or_else(|| line.replace(mark, &format!("{style}{mark}{PLAIN}")))
    };
    text.split('\n').map(line).collect::<Vec<String>>().join("\n")
}

/// Prints to stdout, with a line end.
pub(crate) fn print(text: &str) -> Result<(), Exit> {
    let text = format!("{}\n", styled(&visible_lines(text.trim_end_matches('\n'))));
    written(anstream::stdout().lock(), text.as_bytes())
}

/// Prints JSON to stdout, with a line end.
pub(crate) fn print_json(value: &Value) -> Result<(), Exit> {
    written(
        std::io::stdout().lock(),
        format!("{}\n", json(&format!("{value:#}"))).as_bytes(),
    )
}

/// JSON in which hidden characters, which stand in texts alone, are written as JSON does.
pub(crate) fn json(text: &str) -> String {
    let escaped = |c: char| match is_hidden(c) && c != '\n' {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Prints a file to stdout: its bytes as they are, or in a terminal its text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Exit> {
    match std::io::stdout().is_terminal() {
        true => written(
            std::io::stdout().lock(),
            visible_lines(&String::from_utf8_lossy(bytes)).as_bytes(),
        ),
        false => written(std::io::stdout().lock(), bytes),
    }
}

/// A reader that has gone away, as `head` does, ends the program quietly.
fn written(mut out: impl Write, bytes: &[u8]) -> Result<(), Exit> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Exit::failed(format!("error: cannot write to stdout: {error}"))),
    }
}

/// A line to stderr.
pub(crate) fn warn(text: &str) {
    // With stderr closed there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "{}", styled(&visible_lines(text)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_begin_a_line_and_marks_are_styled() {
        let text = "error: no card a: b\n  help: folkmoot list\nx  • 0.9\nan error: none";
        let bare = anstream::adapter::strip_str(&styled(text)).to_string();
        assert_eq!(bare, text);
        assert_eq!(styled(text).matches(PLAIN).count(), 3, "{}", styled(text));
    }
}
