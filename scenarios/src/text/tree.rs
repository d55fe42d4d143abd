//! The tree of spans: where every field and value of a card is written.
//!
//! It owns offsets only, no text, so that it stays true for any copy of the text with the same
//! layout. Paths are dotted: `strategy.walk_length` is a field inside a struct or variant,
//! `seeds.0` an item of a list or tuple, and `sweep.axes."strategy.walk_length"` a map entry whose
//! key is no plain word. `Some(…)` is looked through, because cards may leave it out.

use folkmoot_metrics::words::{is_hidden, visible};
use std::borrow::Cow;

/// A stretch of text as byte offsets: `start` is included, `end` is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The text of this span, or nothing if the span is not one of `text`.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// Whether the cursor position `offset` touches this span; both ends count.
    pub(super) fn touches(self, offset: usize) -> bool {
        self.start <= offset && offset <= self.end
    }
}

/// What a value looks like, before anyone knows which type it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    Letter,
    Bytes,
    /// `true`, `None`, a unit variant.
    Word,
    List,
    Map,
    /// `( … )`, with or without a name before it, fields or items inside it.
    Parens,
}

/// One value, with the key it stands under.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) key: Option<Span>,
    pub(super) kind: Kind,
    /// The word before the parentheses of a variant or named struct.
    pub(super) name: Option<Span>,
    /// The whole value, its name included.
    pub(super) value: Span,
    /// Offset of the opening bracket of a list, map or parentheses.
    pub(super) open: usize,
    /// After the value, or after its comma if it has one.
    pub(super) end: usize,
    pub(super) children: Vec<usize>,
}

impl Node {
    /// From the key, if there is one, to the end of the value.
    pub(super) fn entry(&self) -> Span {
        Span::new(self.key.map_or(self.value.start, |key| key.start), self.value.end)
    }

    pub(super) fn has_comma(&self) -> bool {
        self.end > self.value.end
    }

    pub(super) fn is_container(&self) -> bool {
        matches!(self.kind, Kind::List | Kind::Map | Kind::Parens)
    }

    /// The part to underline: a caret line under a whole struct would say nothing.
    pub(super) fn head(&self) -> Span {
        match (self.is_container(), self.name) {
            (true, Some(name)) => name,
            (true, None) => Span::new(self.open, self.open + 1),
            (false, _) => self.value,
        }
    }
}

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeadEnd {
    /// The deepest node that the path reaches.
    pub(super) node: usize,
    /// How many components lead there.
    pub(super) depth: usize,
}

/// All values of one text; node 0 is the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Names in `#![enable(…)]`.
    pub(super) extensions: Vec<Span>,
}

/// The fields of a card whose keys may contain dots: settings of the user's app.
const DOTTED: [[&str; 2]; 2] = [["strategy", "config"], ["strategy", "run_config"]];

impl Tree {
    /// The parts of a path. Behind a field whose keys may hold dots, all is one key, unless the card
    /// writes the first part as a key.
    pub(super) fn split(&self, text: &str, path: &str) -> Result<Vec<String>, String> {
        let parts = split_path(path)?;
        let is_dotted = |map: &[&str; 2]| parts.len() > 3 && map.iter().zip(&parts).all(|(known, part)| known == part);
        match DOTTED.iter().any(is_dotted) && self.find(text, &parts[..3]).is_err() {
            true => Ok([&parts[..2], &[parts[2..].join(".")]].concat()),
            false => Ok(parts),
        }
    }

    /// The node that `parts` leads to, starting at the root.
    pub(super) fn find(&self, text: &str, parts: &[String]) -> Result<usize, DeadEnd> {
        let mut at = 0;
        for (depth, part) in parts.iter().enumerate() {
            at = self.child(text, at, part).ok_or(DeadEnd {
                node: self.content(text, at),
                depth,
            })?;
        }
        Ok(at)
    }

    /// The node itself, or what `Some(…)` holds.
    pub(super) fn content(&self, text: &str, mut at: usize) -> usize {
        loop {
            let node = &self.nodes[at];
            match (node.name, node.children.as_slice()) {
                (Some(name), &[only]) if name.of(text) == "Some" && self.nodes[only].key.is_none() => at = only,
                _ => return at,
            }
        }
    }

    fn child(&self, text: &str, at: usize, part: &str) -> Option<usize> {
        let node = &self.nodes[self.content(text, at)];
        let first = *node.children.first()?;
        if self.nodes[first].key.is_some() {
            let is_called = |&&id: &&usize| self.nodes[id].key.is_some_and(|key| bare_key(key.of(text)) == part);
            return node.children.iter().find(is_called).copied();
        }
        // `parse` alone would also take `+1` and `007`, which are no way to write an index.
        let idx: usize = part.parse().ok()?;
        (idx.to_string() == part).then(|| node.children.get(idx).copied())?
    }

    /// The dotted path of a node; the root's is empty.
    pub(super) fn path(&self, text: &str, mut at: usize) -> String {
        let mut parts = Vec::new();
        while let Some(parent) = self.nodes[at].parent {
            parts.push(self.part(text, parent, at));
            at = parent;
        }
        parts.reverse();
        // Items inside `Some(…)` have an empty part: the path goes on as if it were not there.
        parts.retain(|part| !part.is_empty());
        parts.join(".")
    }

    fn part(&self, text: &str, parent: usize, at: usize) -> String {
        match self.nodes[at].key {
            Some(key) => quoted_part(&bare_key(key.of(text))),
            None if self.nodes[parent].name.is_some_and(|name| name.of(text) == "Some") => String::new(),
            None => self.nodes[parent]
                .children
                .iter()
                .position(|&id| id == at)
                .map_or(String::new(), |i| i.to_string()),
        }
    }

    /// The smallest node whose entry touches `offset`.
    pub(super) fn at_offset(&self, offset: usize) -> Option<usize> {
        self.smallest(|node| node.entry().touches(offset))
    }

    /// The smallest list, map or struct with `offset` between its brackets.
    pub(super) fn container_around(&self, offset: usize) -> Option<usize> {
        self.smallest(|node| node.is_container() && node.open < offset && offset < node.value.end)
    }

    fn smallest(&self, accepts: impl Fn(&Node) -> bool) -> Option<usize> {
        let candidates = self.nodes.iter().enumerate().filter(|(_, node)| accepts(node));
        candidates
            .min_by_key(|(_, node)| node.value.end - node.value.start)
            .map(|(id, _)| id)
    }
}

/// A field name without `r#`, a map key as the text that it stands for; of escaped characters, those
/// that are hidden stay so.
pub(super) fn bare_key(key: &str) -> Cow<'_, str> {
    let is_text = key.starts_with(['"', 'r']) && key.contains('"');
    let inner = key.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|inner| !inner.contains('\\')) {
        Some(inner) => Cow::Borrowed(inner),
        None if is_text => match ron::from_str::<String>(key) {
            Ok(text) => Cow::Owned(visible(&text).into_owned()),
            Err(_) => Cow::Borrowed(key),
        },
        None => Cow::Borrowed(key.strip_prefix("r#").unwrap_or(key)),
    }
}

/// One component as it is written in a path.
pub(crate) fn quoted_part(part: &str) -> String {
    let is_plain = !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if is_plain {
        part.to_owned()
    } else {
        format!("\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// What stands before the closing quote, without the backslashes that guard quotes and backslashes,
/// and what stands after it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((part, &text[at + 1..])),
            '\\' if text[at + 1..].starts_with(['"', '\\']) => part.extend(chars.next().map(|(_, c)| c)),
            c => part.push(c),
        }
    }
    None
}

/// Splits a dotted path; a component in double quotes may hold dots.
///
/// # Errors
/// The rule that the path breaks, as a message.
pub(crate) fn split_path(path: &str) -> Result<Vec<String>, String> {
    let mut parts = Vec::new();
    let mut rest = path.trim();
    if rest.is_empty() {
        return Err("needs the path of a field, as in seed=1".to_owned());
    }
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(inner) => unquoted(inner).ok_or_else(|| "a quoted part of the path is never closed".to_owned())?,
            None => {
                let (part, after) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                (part.to_owned(), after)
            }
        };
        if part.is_empty() || part.chars().any(is_hidden) {
            return Err("a path is field names joined by single dots, as in network.loss_prob".to_owned());
        }
        parts.push(part);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(parts),
            None => return Err("a quoted part of the path ends at a dot".to_owned()),
        }
    }
}

/// Joins two paths, either of which may be empty.
pub(super) fn join_path(prefix: &str, path: &str) -> String {
    let dot = if prefix.is_empty() || path.is_empty() { "" } else { "." };
    format!("{prefix}{dot}{path}")
}
