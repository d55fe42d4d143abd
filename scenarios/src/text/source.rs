//! A card's text together with where each piece of it came from.
//!
//! The text that the typed parser reads may differ from the file: settings are spliced in, and a
//! value is cut out to be parsed on its own. A source therefore keeps a list of pieces, each from
//! the file at a known offset or from a named setting, and every problem is reported in those
//! terms.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use ron::Options;
use ron::extensions::Extensions;

use super::problems::{Place, Problems};
use super::quote;
use super::scan::{SyntaxError, scan};
use super::tree::{Kind, Span, Tree, join_path};

/// Larger cards are refused; real ones take a few kilobytes.
pub const MAX_CARD_BYTES: usize = 1 << 20;
/// Far above what [`super::MAX_DEPTH`] brackets can cost `ron`, which counts several steps for
/// each.
const RON_RECURSION_LIMIT: usize = 512;

/// A place in a file as editors count it: lines and columns from 1, columns in characters, a tab
/// being one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1; lines end at a line feed.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[derive(Clone, Debug)]
enum Origin {
    /// The same text stands in the file from this offset on.
    Card(usize),
    /// The text stands nowhere, and this offset of the file is to blame for it.
    Anchor(usize),
    /// A setting, by the label its problems carry.
    Setting(Arc<str>),
}

#[derive(Clone, Debug)]
struct Piece {
    /// Offset in the source's text; a piece ends where the next one starts.
    start: usize,
    origin: Origin,
}

/// A card, a value inside one, or a card with settings applied. Cheap to clone.
#[derive(Clone)]
pub struct Source {
    name: Arc<str>,
    /// What the file holds, without a byte order mark.
    card: Arc<str>,
    text: Arc<str>,
    scanned: Arc<Result<Tree, SyntaxError>>,
    pieces: Vec<Piece>,
    /// The path of this text's root in the whole card.
    prefix: String,
    extensions: Extensions,
}

impl Source {
    /// Reads a card file.
    ///
    /// # Errors
    /// If the file cannot be read, is larger than [`MAX_CARD_BYTES`] or is not UTF-8. Faults of
    /// syntax are not found here but by [`super::parse`].
    pub fn read(path: &Path) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| Self::refused(&name, format!("cannot be read: {error}"));
        let file = File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        // One byte more than allowed is enough to know that a file, or a pipe without a length, is
        // too large.
        file.take(MAX_CARD_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        Self::from_bytes(&name, &bytes)
    }

    /// A card from memory; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Problems> {
        if bytes.len() > MAX_CARD_BYTES {
            let message = format!("is larger than {MAX_CARD_BYTES} bytes (1 MiB), the most a card may have");
            return Err(Self::refused(name, message));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::whole(name, text)),
            Err(error) => {
                let line = 1 + bytes[..error.valid_up_to()]
                    .iter()
                    .filter(|&&byte| byte == b'\n')
                    .count();
                let message =
                    format!("is not UTF-8 text: line {line} holds a byte that cannot be read; save it as UTF-8");
                Err(Self::refused(name, message))
            }
        }
    }

    /// A card from memory; `name` stands for it in messages. A byte order mark at the start is left
    /// out.
    ///
    /// # Errors
    /// If the text is larger than [`MAX_CARD_BYTES`].
    pub fn new(name: &str, text: &str) -> Result<Self, Problems> {
        Self::from_bytes(name, text.as_bytes())
    }

    fn whole(name: &str, text: &str) -> Self {
        let card: Arc<str> = text.strip_prefix('\u{feff}').unwrap_or(text).into();
        let pieces = vec![Piece {
            start: 0,
            origin: Origin::Card(0),
        }];
        let scanned = scan(&card);
        let extensions = extensions_of(&card, &scanned);
        Self {
            name: name.into(),
            text: card.clone(),
            card,
            scanned: Arc::new(scanned),
            pieces,
            prefix: String::new(),
            extensions,
        }
    }

    fn refused(name: &str, message: String) -> Problems {
        let mut problems = Problems::new(&Self::whole(name, ""));
        problems.push(message);
        problems
    }

    /// The name in messages, usually the path of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as the typed parser sees it, settings included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the user wrote: the whole file, without settings.
    #[must_use]
    pub fn card(&self) -> &str {
        &self.card
    }

    /// The path of this text's root in the whole card; empty for a card.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.prefix
    }

    /// The text of the value at `path`, if it is written.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<&str> {
        let tree = self.tree().ok()?;
        Some(tree.nodes[self.node(path)?].value.of(&self.text))
    }

    /// The value at `path` as a source of its own, whose problems carry the card's positions and
    /// paths.
    ///
    /// Nothing if the path is not written, or the card has a fault of syntax.
    #[must_use]
    pub fn within(&self, path: &str) -> Option<Self> {
        let tree = self.tree().ok()?;
        let id = self.node(path)?;
        let prefix = join_path(&self.prefix, &tree.path(&self.text, id));
        Some(self.cut(tree.nodes[id].value, prefix))
    }

    /// Line and column of an offset of [`Source::card`]; offsets past its end count as its end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let before = self.card.get(..offset).unwrap_or(&self.card);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        Position {
            line,
            column: 1 + before[line_start..].chars().count(),
        }
    }

    /// The tree of spans, or the first fault of syntax.
    pub(super) fn tree(&self) -> Result<&Tree, &SyntaxError> {
        self.scanned.as_ref().as_ref()
    }

    pub(super) fn node(&self, path: &str) -> Option<usize> {
        if path.is_empty() {
            return Some(0);
        }
        let tree = self.tree().ok()?;
        tree.find(&self.text, &tree.split(&self.text, path).ok()?).ok()
    }

    /// The reader with the extensions that every card has, and those that this one turns on.
    pub(super) fn options(&self) -> Options {
        let extensions = self.extensions | Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES;
        Options::default()
            .with_default_extension(extensions)
            .with_recursion_limit(RON_RECURSION_LIMIT)
    }

    /// Whether the value at `path`, or a part of it, comes from a setting.
    pub(crate) fn is_set(&self, path: &str) -> bool {
        let span = self.node(path).and_then(|id| Some(self.tree().ok()?.nodes[id].value));
        let ends = |i: usize| self.pieces.get(i + 1).map_or(self.text.len(), |next| next.start);
        let mut pieces = self.pieces.iter().enumerate();
        span.is_some_and(|span| {
            pieces.any(|(i, piece)| {
                let is_within = piece.start < span.end && ends(i) > span.start;
                is_within && matches!(piece.origin, Origin::Setting(_))
            })
        })
    }

    /// Where a span of [`Source::text`] comes from.
    pub(super) fn place(&self, span: Span) -> Place {
        let idx = self.pieces.partition_point(|piece| piece.start <= span.start).max(1) - 1;
        let piece = &self.pieces[idx];
        let end = self.pieces.get(idx + 1).map_or(self.text.len(), |next| next.start);
        match &piece.origin {
            Origin::Card(offset) => {
                let start = offset + (span.start - piece.start);
                Place::Card(Span::new(
                    start,
                    start + (span.end.min(end).max(span.start) - span.start),
                ))
            }
            Origin::Anchor(offset) => Place::Card(Span::new(*offset, *offset)),
            Origin::Setting(label) => Place::Setting(label.to_string()),
        }
    }

    /// A copy with `new` in the place of `span`; `label` answers for its problems.
    pub(super) fn spliced(&self, span: Span, new: &str, label: &str) -> Self {
        self.replaced(span, new, Origin::Setting(label.into()))
    }

    /// A copy with the name `new` in the place of `span`, whose problems lie where the old name is
    /// written.
    pub(super) fn renamed(&self, span: Span, new: &str) -> Self {
        let before = self.pieces_in(span).into_iter().next().map(|piece| piece.origin);
        let origin = match before {
            Some(Origin::Card(at) | Origin::Anchor(at)) => Origin::Anchor(at),
            Some(setting @ Origin::Setting(_)) => setting,
            None => Origin::Anchor(0),
        };
        self.replaced(span, new, origin)
    }

    fn replaced(&self, span: Span, new: &str, origin: Origin) -> Self {
        let text = format!("{}{new}{}", &self.text[..span.start], &self.text[span.end..]);
        let mut pieces = self.pieces_in(Span::new(0, span.start));
        pieces.push(Piece {
            start: span.start,
            origin,
        });
        let after = self.pieces_in(Span::new(span.end, self.text.len()));
        pieces.extend(after.into_iter().map(|piece| Piece {
            start: piece.start + span.start + new.len(),
            ..piece
        }));
        self.with_text(text, pieces, self.prefix.clone())
    }

    fn cut(&self, span: Span, prefix: String) -> Self {
        self.with_text(span.of(&self.text).to_owned(), self.pieces_in(span), prefix)
    }

    fn with_text(&self, text: String, pieces: Vec<Piece>, prefix: String) -> Self {
        let scanned = Arc::new(scan(&text));
        Self {
            text: text.into(),
            scanned,
            pieces,
            prefix,
            ..self.clone()
        }
    }

    /// The pieces of a stretch of the text, with offsets from its start; none if it is empty.
    fn pieces_in(&self, span: Span) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (idx, piece) in self.pieces.iter().enumerate() {
            let end = self.pieces.get(idx + 1).map_or(self.text.len(), |next| next.start);
            let start = piece.start.max(span.start);
            if start >= end.min(span.end) {
                continue;
            }
            let origin = match &piece.origin {
                Origin::Card(offset) => Origin::Card(offset + (start - piece.start)),
                other => other.clone(),
            };
            pieces.push(Piece {
                start: start - span.start,
                origin,
            });
        }
        pieces
    }
}

/// Names the source only: its text may be long, and the tree is longer.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("path", &self.prefix)
            .finish_non_exhaustive()
    }
}

fn extensions_of(text: &str, scanned: &Result<Tree, SyntaxError>) -> Extensions {
    let names = scanned
        .iter()
        .flat_map(|tree| &tree.extensions)
        .map(|span| span.of(text));
    // An unknown name is reported by the reader itself.
    names
        .filter_map(Extensions::from_ident)
        .fold(Extensions::empty(), |all, one| all | one)
}

/// The value of `source`, a name with or without parentheses, as a struct called `name`: `Karate`
/// becomes `Karate()`. What is no such value stays.
pub(crate) fn as_struct(source: &Source, name: &str) -> Source {
    let Ok(tree) = source.tree() else { return source.clone() };
    let node = &tree.nodes[tree.content(&source.text, 0)];
    let value = source.cut(node.value, source.prefix.clone());
    let written = Span::new(0, node.name.unwrap_or(node.value).of(&source.text).len());
    let value = match node.kind {
        Kind::Word => value.spliced(Span::new(written.end, written.end), "()", "the form of a name"),
        _ => value,
    };
    match written.of(&value.text) == name {
        true => value,
        false => value.renamed(written, name),
    }
}

/// A value whose type is chosen by its name, such as `FedWalk(walk_length: 40)`.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The name, `FedWalk`.
    pub name: String,
    /// What belongs to it, as a struct of its own: `(walk_length: 40)`, and `()` for a bare name.
    pub body: Source,
}

/// Splits the value of `source` into the name of a variant and its body, to be parsed by whatever
/// type the name stands for; the body keeps the card's positions and paths.
///
/// To report an unknown name at its place, use [`Problems::push_at`] with the path of the value (or
/// with an empty path on problems of the same source).
///
/// # Errors
/// If the value has a fault of syntax or is no name, with or without parentheses.
pub fn variant_of(source: &Source) -> Result<Variant, Problems> {
    let mut problems = Problems::new(source);
    let tree = match source.tree() {
        Ok(tree) => tree,
        Err(error) => {
            problems.push_span(error.span, "", &error.message);
            return Err(problems);
        }
    };
    let node = &tree.nodes[tree.content(&source.text, 0)];
    let word = node.value.of(&source.text);
    match (node.kind, node.name) {
        (Kind::Parens, Some(name)) => {
            let body = source.cut(Span::new(node.open, node.value.end), source.prefix.clone());
            Ok(Variant {
                name: name.of(&source.text).to_owned(),
                body,
            })
        }
        (Kind::Word, _) if !matches!(word, "true" | "false" | "None") => {
            let origin = match source.place(node.value) {
                Place::Setting(label) => Origin::Setting(label.into()),
                Place::Card(span) => Origin::Anchor(span.start),
                Place::Unwritten => Origin::Anchor(0),
            };
            let body = source.with_text("()".to_owned(), vec![Piece { start: 0, origin }], source.prefix.clone());
            Ok(Variant {
                name: word.to_owned(),
                body,
            })
        }
        _ => {
            let message = format!("expected a name, as in Name or Name(field: value), got {}", quote(word));
            problems.push_at("", &message);
            Err(problems)
        }
    }
}
