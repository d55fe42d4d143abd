//! What an error of the reader means to someone who has never seen a Rust type.
//!
//! `ron` says where its cursor stopped. The kind of error tells whether that is after a key, in a
//! value or at the closing bracket, and so which field is meant.

use ron::Error;

use super::quote;
use super::scan::is_word_start;
use super::suggest::suggest;
use super::tree::{Kind, Node, Span, Tree};

/// One error, placed in the tree.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) node: usize,
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) reason: Reason,
}

/// What the search for further problems must know about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    UnknownName,
    Missing(String),
    NotText,
    Other,
}

impl Fault {
    pub(super) fn path(&self, tree: &Tree, text: &str) -> String {
        tree.path(text, self.node)
    }
}

/// Turns an error of the reader, with its cursor at `offset`, into words.
pub(super) fn explain(tree: &Tree, text: &str, error: &Error, offset: usize) -> Fault {
    let at_offset = tree.at_offset(offset).unwrap_or(0);
    let key_node = tree
        .nodes
        .iter()
        .position(|node| node.key.is_some_and(|key| key.end == offset));
    let by_key = key_node.unwrap_or(at_offset);
    let around = tree.container_around(offset).unwrap_or(at_offset);
    // A component without fields reads like a name that takes none.
    let takes_none =
        matches!(error, Error::NoSuchStructField { expected: [], .. }) && tree.nodes[around].name.is_some();
    let (node, reason) = match error {
        _ if takes_none => (around, Reason::Other),
        Error::NoSuchStructField { .. } => (by_key, Reason::UnknownName),
        Error::DuplicateStructField { .. } => (by_key, Reason::UnknownName),
        Error::NoSuchEnumVariant { .. } => (at_offset, Reason::UnknownName),
        Error::MissingStructField { field, .. } => (around, Reason::Missing((*field).to_owned())),
        Error::ExpectedDifferentLength { .. } => (around, Reason::Other),
        Error::ExpectedString => (at_offset, Reason::NotText),
        _ => (at_offset, Reason::Other),
    };
    let found = &tree.nodes[node];
    let is_key_meant = matches!(
        error,
        Error::NoSuchStructField { .. } | Error::DuplicateStructField { .. }
    );
    let span = match found.key {
        Some(key) if (is_key_meant && !takes_none) || offset < found.value.start => key,
        _ => found.head(),
    };
    Fault {
        node,
        span,
        message: match found.name.filter(|_| takes_none) {
            Some(name) => takes_no_values(text, name),
            None => message(tree, text, error, found, offset),
        },
        reason,
    }
}

fn message(tree: &Tree, text: &str, error: &Error, node: &Node, offset: usize) -> String {
    if let Some(expected) = expected_shape(error).filter(|_| !is_bare_text(error, node)) {
        return format!("expected {expected}, got {}", got(tree, text, node));
    }
    let got = || got(tree, text, node);
    let of = |outer: &Option<String>| variant_name(text, node, outer.as_deref());
    match error {
        Error::NoSuchStructField { expected, found, outer } => {
            let outer = outer
                .as_deref()
                .map(|name| container_name(tree, text, node, name))
                .unwrap_or_default();
            if expected.is_empty() {
                return format!("unknown field {}{outer}, which has no fields", quote(found));
            }
            format!("unknown field {}{outer}{}", quote(found), suggest(found, expected))
        }
        Error::NoSuchEnumVariant { expected, found, .. } => {
            format!("unknown variant {}{}", quote(found), suggest(found, expected))
        }
        Error::MissingStructField { field, outer } => format!("missing field {}{}", quote(field), of(outer)),
        Error::DuplicateStructField { field, .. } => format!("field {} is written twice; remove one", quote(field)),
        Error::ExpectedString => {
            format!(
                "expected text, got {}; write \"{}\"",
                got(),
                super::clip(node.value.of(text), super::MAX_QUOTE)
            )
        }
        Error::ExpectedStructLike | Error::ExpectedNamedStructLike(_) | Error::ExpectedDifferentStructName { .. } => {
            if node.kind == Kind::Word && offset > node.value.start {
                let word = quote(node.value.of(text));
                return format!("{word} needs its values, as in {}(…)", word.trim_matches('`'));
            }
            format!("expected fields in parentheses, as in ( name: value ), got {}", got())
        }
        Error::ExpectedIdentifier | Error::SuggestRawIdentifier(_) if is_positional(tree, node) => {
            format!("expected a field, as in name: value, got {}", got())
        }
        Error::ExpectedIdentifier | Error::SuggestRawIdentifier(_) => {
            let got = got();
            // So it is after a setting that reaches into a value the card leaves to its default.
            let way_out = match () {
                () if got.starts_with("fields") => "; give the whole value, with the name before the parentheses",
                () if got.starts_with("`[") => "; to compare several, name them in sweep.axes",
                () => "",
            };
            format!("expected a name, as in Name or Name(field: value), got {got}{way_out}")
        }
        Error::IntegerOutOfBounds => {
            let size = if node.value.of(text).starts_with('-') {
                "small"
            } else {
                "large"
            };
            format!("the number {} is too {size} for this field", quote(node.value.of(text)))
        }
        Error::InvalidIntegerDigit { .. } => not_whole(text, node),
        Error::InvalidValueForType { expected, found } => {
            format!("expected {}, got {}", plain_type(expected), plain_found(found))
        }
        Error::ExpectedDifferentLength { expected, found } => {
            let plural = if *found == 1 { "" } else { "s" };
            format!("expected {}, got {found} value{plural}", plain_type(expected))
        }
        Error::ExpectedComma
        | Error::ExpectedMapEnd
        | Error::ExpectedArrayEnd
        | Error::ExpectedStructLikeEnd
        | Error::ExpectedOptionEnd
        | Error::TrailingCharacters => unexpected(text, node, offset),
        Error::ExceededRecursionLimit => "brackets are nested too deeply".to_owned(),
        Error::NoSuchExtension(name) => format!("unknown extension {}", quote(name)),
        Error::Message(message) => message.clone(),
        other => lower_first(&other.to_string()),
    }
}

/// The shape that an error asks for, where that is all there is to say.
fn expected_shape(error: &Error) -> Option<&'static str> {
    match error {
        Error::ExpectedInteger => Some("a whole number"),
        Error::ExpectedFloat => Some("a number"),
        Error::ExpectedBoolean => Some("true or false"),
        Error::ExpectedString => Some("text in double quotes"),
        Error::ExpectedChar => Some("one character in single quotes"),
        Error::ExpectedByteString => Some("bytes, as in b\"…\""),
        Error::ExpectedArray => Some("a list, as in [a, b]"),
        Error::ExpectedMap => Some("a map, as in { \"key\": value }"),
        Error::ExpectedUnit => Some("()"),
        _ => None,
    }
}

/// A word where text is meant: the way out can be spelled out.
fn is_bare_text(error: &Error, node: &Node) -> bool {
    *error == Error::ExpectedString && node.kind == Kind::Word
}

/// The scanner found the syntax sound, so the reader stopped early because of the type.
fn unexpected(text: &str, node: &Node, offset: usize) -> String {
    match (node.kind, node.name) {
        (Kind::Number, _) if offset > node.value.start => not_whole(text, node),
        (Kind::Parens, Some(name)) if offset <= node.open => takes_no_values(text, name),
        _ => format!("{} is one value too many here", quote(node.value.of(text))),
    }
}

fn takes_no_values(text: &str, name: Span) -> String {
    format!("{} takes no values; leave out the parentheses", quote(name.of(text)))
}

fn not_whole(text: &str, node: &Node) -> String {
    format!(
        "expected a whole number, written without point or exponent, got {}",
        quote(node.value.of(text))
    )
}

fn got(tree: &Tree, text: &str, node: &Node) -> String {
    let word = node.value.of(text);
    match node.kind {
        Kind::Number => quote(word),
        Kind::Text => "text".to_owned(),
        Kind::Letter => "a character in single quotes".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Word if matches!(word, "true" | "false" | "None") => quote(word),
        Kind::Word => format!("the name {}", quote(word)),
        Kind::List => "a list".to_owned(),
        Kind::Map => "a map".to_owned(),
        Kind::Parens => match (node.name, node.children.first()) {
            (Some(name), _) => quote(&format!("{}(…)", super::clip(name.of(text), super::MAX_QUOTE - 3))),
            (None, Some(&first)) if tree.nodes[first].key.is_some() => "fields in parentheses".to_owned(),
            (None, Some(_)) => "values in parentheses".to_owned(),
            (None, None) => quote("()"),
        },
    }
}

/// An item without a name directly inside parentheses.
fn is_positional(tree: &Tree, node: &Node) -> bool {
    node.key.is_none()
        && node
            .parent
            .is_some_and(|parent| tree.nodes[parent].kind == Kind::Parens)
}

/// `` of `Links` `` if that name is written in the card; Rust's names of plain structs mean nothing
/// to its author.
fn variant_name(text: &str, node: &Node, outer: Option<&str>) -> String {
    let written = node.name.map(|name| name.of(text));
    outer
        .filter(|&outer| Some(outer) == written)
        .map_or(String::new(), |name| format!(" of {}", quote(name)))
}

fn container_name(tree: &Tree, text: &str, node: &Node, outer: &str) -> String {
    node.parent.map_or(String::new(), |parent| {
        variant_name(text, &tree.nodes[parent], Some(outer))
    })
}

/// Serde names types as Rust does.
fn plain_type(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, 0 or greater",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "bool" | "a boolean" => "true or false",
        "a string" | "string" => "text in double quotes",
        "a nonzero u8" | "a nonzero u16" | "a nonzero u32" | "a nonzero u64" | "a nonzero usize" => {
            "a whole number, 1 or greater"
        }
        other => other,
    }
}

fn plain_found(found: &str) -> String {
    let rules = [
        ("the unsigned integer ", ""),
        ("the signed integer ", ""),
        ("the floating point number ", ""),
        ("the boolean ", ""),
        ("the string ", "the text "),
        ("a sequence", "a list"),
    ];
    let rule = rules
        .iter()
        .find_map(|(from, to)| found.strip_prefix(from).map(|rest| format!("{to}{rest}")));
    rule.unwrap_or_else(|| found.to_owned())
}

fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) if is_word_start(first) => first.to_lowercase().chain(chars).collect(),
        _ => message.to_owned(),
    }
}
