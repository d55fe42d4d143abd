//! Problems for people: the list, with the line of the card under each entry.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::problems::{Place, Problems};
use super::source::Source;
use super::tree::Span;
use folkmoot_metrics::words::is_hidden;

/// With more problems than these, excerpts would hide the overview, and the plain list is shown.
pub const MAX_EXCERPTS: usize = 5;
/// Characters of a line that are shown; of a longer line, those around the problem.
const MAX_LINE: usize = 110;
const BEFORE_PROBLEM: usize = 40;

impl Problems {
    /// The list of problems, with source excerpts and carets if there are at most [`MAX_EXCERPTS`].
    ///
    /// `in_colour` adds terminal styling, for a caller that knows its terminal. The length is
    /// bounded whatever the card holds.
    #[must_use]
    pub fn report(&self, in_colour: bool) -> String {
        if self.len() > MAX_EXCERPTS {
            return self.to_string();
        }
        let renderer = if in_colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let mut report = self.headline();
        for problem in self.items() {
            report.push_str("\n  ");
            report.push_str(&self.line(problem));
            if let Place::Card(span) = problem.place
                && let Some(excerpt) = excerpt(self.source(), span, &renderer)
            {
                report.push('\n');
                report.push_str(&excerpt);
            }
        }
        report
    }
}

/// The line of a problem with its number and a caret, if the line holds anything.
fn excerpt(source: &Source, span: Span, renderer: &Renderer) -> Option<String> {
    let card = source.card();
    let start = span.start.min(card.len());
    let line_start = card.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let line_end = card[start..].find('\n').map_or(card.len(), |at| start + at);
    let line = card.get(line_start..line_end)?.trim_end();
    if line.is_empty() {
        return None;
    }
    let (shown, mut from) = window(line, start - line_start);
    // Those that the library shows as they are, by others of as many bytes. It replaces the rest.
    let shown: String = shown
        .chars()
        .map(|c| match (is_hidden(c), c.len_utf8()) {
            (true, 2) => '·',
            (true, 3) => '\u{fffd}',
            _ => c,
        })
        .collect();
    // A problem at the end of a line points behind it; one of several lines is underlined on its
    // first.
    let mut to = (from + (span.end - span.start).max(1)).min(shown.len());
    from = from.min(shown.len());
    while !shown.is_char_boundary(to) {
        to += 1;
    }
    let annotation = AnnotationKind::Primary.span(from..to.max(from));
    let number = source.position(start).line;
    let snippet = Snippet::source(shown).line_start(number).annotation(annotation);
    Some(renderer.render(&[Group::with_level(Level::ERROR).element(snippet)]))
}

/// The part of a long line around the byte offset `at`, and where the offset lies in it.
fn window(line: &str, at: usize) -> (String, usize) {
    if line.chars().nth(MAX_LINE).is_none() {
        return (line.to_owned(), at);
    }
    let at = at.min(line.len());
    let start = line[..at]
        .char_indices()
        .rev()
        .nth(BEFORE_PROBLEM - 1)
        .map_or(0, |(offset, _)| offset);
    let end = line[start..]
        .char_indices()
        .nth(MAX_LINE)
        .map_or(line.len(), |(offset, _)| start + offset);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    (
        format!("{before}{}{after}", &line[start..end]),
        before.len() + at - start,
    )
}
