//! Typed parsing that reports every problem of shape at once.
//!
//! `ron` stops at the first error. So that a user sees all of them, the field in which an error
//! lies is recorded, blanked out in a copy of the text (same length, line ends kept, so that
//! offsets stay true), and the copy is parsed again. What comes out in the end is the card with
//! defaults in the doubtful places, good enough for range checks of the rest.

use ron::error::SpannedError;
use serde::de::DeserializeOwned;

use super::explain::{Fault, Reason, explain};
use super::problems::Problems;
use super::source::Source;
use super::tree::{Span, Tree, bare_key};

/// The search for problems of shape ends after this many.
pub const MAX_PROBLEMS: usize = 20;
/// Errors that only follow from a blanked field cost a pass but are not problems.
const MAX_PASSES: usize = 3 * MAX_PROBLEMS;

/// Parses a card, or a part of one, as a `T`.
///
/// # Errors
/// All problems of shape that could be told apart, at most [`MAX_PROBLEMS`]; after a fault of
/// syntax only that.
///
/// # Complexity
/// One pass over the text for each problem, at most 60.
pub fn parse<T: DeserializeOwned>(source: &Source) -> Result<T, Problems> {
    match recover(source) {
        (Some(value), problems) => problems.into_result(value),
        (None, problems) => Err(problems),
    }
}

/// As [`parse`], but also gives what could be read, so that one call can go on to check ranges:
/// fields with a problem are as if they were not written. Without a value, there is at least one
/// problem.
///
/// [`Problems::is_doubtful`] tells which fields those are.
pub fn recover<T: DeserializeOwned>(source: &Source) -> (Option<T>, Problems) {
    let mut problems = Problems::new(source);
    let tree = match source.tree() {
        Ok(tree) => tree,
        Err(error) => {
            problems.push_span(error.span, "", &error.message);
            return (None, problems);
        }
    };
    let mut copy = Copy {
        source,
        tree,
        text: source.text().to_owned(),
        blanked: Vec::new(),
    };
    let options = source.options();
    for _ in 0..MAX_PASSES {
        let error = match options.from_str(&copy.text) {
            Ok(value) => return (Some(value), problems),
            Err(error) => error,
        };
        let fault = explain(tree, source.text(), &error.code, offset_of(&copy.text, &error));
        if copy.quote(&fault) {
            continue;
        }
        if problems.is_empty() || !copy.is_consequence(&fault) {
            problems.push_span(fault.span, &fault.path(tree, source.text()), &fault.message);
        }
        let Some(blanked) = copy.blank(&fault).filter(|_| problems.len() < MAX_PROBLEMS) else {
            break;
        };
        problems.doubt(&tree.path(source.text(), blanked));
    }
    (None, problems)
}

/// The text that is parsed again and again.
struct Copy<'a> {
    source: &'a Source,
    tree: &'a Tree,
    text: String,
    blanked: Vec<usize>,
}

impl Copy<'_> {
    /// Blanks the field or list item that a fault lies in; `None` if that is the whole text or has
    /// been done before.
    ///
    /// Items of a tuple are no candidates: without one, its neighbours would be read as something
    /// else.
    fn blank(&mut self, fault: &Fault) -> Option<usize> {
        let mut id = fault.node;
        loop {
            let node = &self.tree.nodes[id];
            let parent = node.parent?;
            if node.key.is_some() || self.tree.nodes[parent].kind == super::tree::Kind::List {
                break;
            }
            id = parent;
        }
        if self.blanked.contains(&id) {
            return None;
        }
        let node = &self.tree.nodes[id];
        let span = Span::new(node.entry().start, node.end);
        // Byte for byte, so that a character of three bytes leaves three spaces.
        let blank: String = span
            .of(&self.text)
            .bytes()
            .map(|b| if b == b'\n' { '\n' } else { ' ' })
            .collect();
        self.text.replace_range(span.start..span.end, &blank);
        self.blanked.push(id);
        Some(id)
    }

    /// Whether an error only says that a blanked field is gone.
    fn is_consequence(&self, fault: &Fault) -> bool {
        let is_inside = |&id: &usize| {
            let mut up = self.tree.nodes[id].parent;
            while let Some(parent) = up.filter(|&parent| parent != fault.node) {
                up = self.tree.nodes[parent].parent;
            }
            up.is_some()
        };
        let is_called = |id: &usize, name: &str| {
            let node = &self.tree.nodes[*id];
            node.key.is_some_and(|key| bare_key(key.of(self.source.text())) == name)
        };
        match &fault.reason {
            Reason::UnknownName => false,
            Reason::Missing(field) => {
                let of_fault = |id: &&usize| self.tree.nodes[**id].parent == Some(fault.node);
                self.blanked.iter().filter(of_fault).any(|id| is_called(id, field))
            }
            Reason::NotText | Reason::Other => self.blanked.iter().any(is_inside),
        }
    }

    /// Puts quotes around a bare word where the type wants text, if the word is the whole value of
    /// a setting.
    ///
    /// Settings are spliced in with a space on either side, which the quotes take, so that no
    /// offset moves.
    fn quote(&mut self, fault: &Fault) -> bool {
        let node = &self.tree.nodes[fault.node];
        let Span { start, end } = node.value;
        let is_padded =
            start > 0 && self.text.get(start - 1..start) == Some(" ") && self.text.get(end..=end) == Some(" ");
        let is_setting = matches!(self.source.place(node.value), super::Place::Setting(_));
        if fault.reason != Reason::NotText || node.kind != super::tree::Kind::Word || !is_padded || !is_setting {
            return false;
        }
        self.text.replace_range(start - 1..start, "\"");
        self.text.replace_range(end..=end, "\"");
        true
    }
}

/// The byte offset of the cursor at an error; the end if the position is not one of the text.
fn offset_of(text: &str, error: &SpannedError) -> usize {
    let position = error.span.end;
    let mut line_start = 0;
    for _ in 1..position.line {
        line_start += text[line_start..]
            .find('\n')
            .map_or(text.len() - line_start, |at| at + 1);
    }
    text[line_start..]
        .char_indices()
        .nth(position.col.saturating_sub(1))
        .map_or(text.len(), |(at, _)| line_start + at)
}
