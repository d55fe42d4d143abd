//! Settings: `--set path=value` and the points of a sweep, spliced into the text of a card.
//!
//! A setting changes the text, not the typed value, so that it obeys exactly the rules of the card:
//! the same defaults, the same unknown fields, the same ranges. Its problems are reported under its
//! own name.

use super::problems::Problems;
use super::scan::{is_word_start, scan};
use super::source::{MAX_CARD_BYTES, Source};
use super::tree::{Kind, Node, Span, Tree, quoted_part};
use super::{clip, quote};

/// Applies `path=value` as it stands behind `--set`.
///
/// # Errors
/// As [`apply`], and if the `=` is missing.
pub fn apply_setting(source: &Source, setting: &str) -> Result<Source, Problems> {
    match setting.split_once('=') {
        Some((path, value)) => apply(source, path, value),
        None => {
            let mut problems = Problems::new(source);
            let label = format!("--set {}", clip(setting.trim(), super::MAX_QUOTE));
            problems.push_setting(&label, "needs a value after the path, as in seed=1");
            Err(problems)
        }
    }
}

/// Gives the field at a dotted `path` the value written in `value`, as the card would write it.
///
/// A value that is written is replaced; else the field is added to the deepest struct that is
/// written, with its missing parents as `(…)`. So `strategy.walk_length` reaches into the variant
/// that the card chose. A list item is named by its index, a map entry by its key, in double quotes
/// if it holds dots. A variant that the card leaves to its default must be set whole, because its
/// name is not there to take a field: `network=Links(loss_prob: 0.1)`.
///
/// Quotes around text may be left out in two cases, both unambiguous: if the value is a single word
/// and the type of the field turns out to be text, and if the value is no RON at all and either
/// holds no bracket or quote, or replaces a text.
///
/// Whether the field exists and may have this value is left to the typed parser, which calls the
/// place `--set path`.
///
/// # Errors
/// If the path or value is empty or malformed, if the path runs into a value that has no fields, or
/// if the card has a fault of syntax already.
pub fn apply(source: &Source, path: &str, value: &str) -> Result<Source, Problems> {
    apply_labelled(
        source,
        &format!("--set {}", clip(path.trim(), super::MAX_MESSAGE)),
        path,
        value,
    )
}

/// Replaces the text of a field's value; the card stays the same if it does not write that field.
///
/// # Errors
/// If the card is then larger than a card may be.
pub fn replace_if_present(source: &Source, path: &str, value: &str) -> Result<Source, Problems> {
    let (Ok(tree), Some(id)) = (source.tree(), source.node(path)) else {
        return Ok(source.clone());
    };
    let (span, text) = (tree.nodes[id].value, source.text());
    let text = format!("{}{value}{}", &text[..span.start], &text[span.end..]);
    Source::new(source.name(), &text)
}

/// As [`apply`], for one value of a sweep's axis, which its problems name:
/// `sweep axis strategy.p = 0.2`.
///
/// # Errors
/// As [`apply`].
pub fn apply_axis(source: &Source, path: &str, value: &str) -> Result<Source, Problems> {
    let label = format!(
        "sweep axis {} = {}",
        clip(path.trim(), super::MAX_MESSAGE),
        clip(value.trim(), super::MAX_QUOTE)
    );
    apply_labelled(source, &label, path, value)
}

/// As [`apply`], for one setting of an arm, which its problems name:
/// `sweep arm FedProx: strategy.p = 0.2`.
///
/// # Errors
/// As [`apply`].
pub fn apply_arm(source: &Source, arm: &str, path: &str, value: &str) -> Result<Source, Problems> {
    let label = format!(
        "sweep arm {}: {} = {}",
        clip(arm.trim(), super::MAX_QUOTE),
        clip(path.trim(), super::MAX_MESSAGE),
        clip(value.trim(), super::MAX_QUOTE)
    );
    apply_labelled(source, &label, path, value)
}

/// Applies a setting as a default: a value that the card writes at `path` stays. The card is also
/// unchanged if it has no place for such a field, as its own fault is the better message. Problems
/// of the value are reported under `label`.
#[must_use]
pub fn apply_default(source: &Source, label: &str, path: &str, value: &str) -> Source {
    match source.value(path) {
        Some(_) => source.clone(),
        None => apply_labelled(source, label, path, value).unwrap_or_else(|_| source.clone()),
    }
}

/// As [`apply`], with problems reported under `label`, such as the option `--observe`.
///
/// # Errors
/// As [`apply`].
pub fn apply_labelled(source: &Source, label: &str, path: &str, value: &str) -> Result<Source, Problems> {
    let mut problems = Problems::new(source);
    let tree = match source.tree() {
        Ok(tree) => tree,
        Err(error) => {
            problems.push_span(error.span, "", &error.message);
            return Err(problems);
        }
    };
    let spliced = tree.split(source.text(), path).and_then(|parts| {
        if parts.len() > super::MAX_DEPTH {
            return Err("the path has too many parts".to_owned());
        }
        splice(source, tree, label, &parts, value)
    });
    spliced.map_err(|message| {
        problems.push_setting(label, &message);
        problems
    })
}

fn splice(source: &Source, tree: &Tree, label: &str, parts: &[String], value: &str) -> Result<Source, String> {
    let text = source.text();
    let (span, new) = match tree.find(text, parts) {
        Ok(id) => {
            let node = &tree.nodes[id];
            let value = checked(value, node.kind == Kind::Text)?;
            // The spaces make room for quotes, should the type be text.
            (node.value, format!(" {value} "))
        }
        Err(end) => {
            let value = checked(value, false)?;
            let node = &tree.nodes[end.node];
            insertion(tree, text, node, (parts, end.depth), &value)
                .ok_or_else(|| no_such_place(tree, text, node, parts, end.depth))?
        }
    };
    if text.len() - span.of(text).len() + new.len() > MAX_CARD_BYTES {
        return Err("makes the card larger than 1 MiB, the most it may have".to_owned());
    }
    Ok(source.spliced(span, &new, label))
}

/// The fields of a card whose entries have keys in quotes. A test of the program compares them with
/// the fields of all components.
const MAPS: [&[&str]; 7] = [
    &["strategy", "config"],
    &["strategy", "run_config"],
    &["targets"],
    &["sweep", "arms"],
    &["sweep", "arms", "*"],
    &["sweep", "axes"],
    &["sweep", "names"],
];

fn is_map(path: &[String]) -> bool {
    let fits = |map: &&[&str]| {
        map.len() == path.len() && map.iter().zip(path).all(|(known, part)| *known == "*" || known == part)
    };
    MAPS.iter().any(fits)
}

/// Where and how to write the field of this path, of which `depth` parts lead to `node`; `None` if
/// that cannot take one.
fn insertion(
    tree: &Tree,
    text: &str,
    node: &Node,
    (path, depth): (&[String], usize),
    value: &str,
) -> Option<(Span, String)> {
    let takes_named_fields = node
        .children
        .first()
        .is_none_or(|&first| tree.nodes[first].key.is_some());
    let is_unit = node.kind == Kind::Word && !matches!(node.value.of(text), "true" | "false" | "None");
    let outer_is_map = node.kind == Kind::Map;
    let entry_of = |at: usize, inside: &str| {
        let part = path.get(at)?;
        let is_key = if at == depth { outer_is_map } else { is_map(&path[..at]) };
        match is_key {
            true => Some(format!("{}:{inside}", quote_key(part))),
            false => is_field_name(part).then(|| format!("{part}:{inside}")),
        }
    };
    let mut entry = format!(" {value} ");
    for at in (depth..path.len()).rev() {
        entry = entry_of(at, &entry)?;
        if at > depth {
            entry = match is_map(&path[..at]) {
                true => format!(" {{{entry}}} "),
                false => format!(" ({entry}) "),
            };
        }
    }
    match node.kind {
        Kind::Parens | Kind::Map if takes_named_fields => {
            Some(match node.children.last().map(|&last| &tree.nodes[last]) {
                None => (Span::new(node.open + 1, node.open + 1), entry),
                Some(last) if last.has_comma() => (Span::new(last.end, last.end), format!(" {entry},")),
                Some(last) => (Span::new(last.end, last.end), format!(", {entry}")),
            })
        }
        Kind::Word if is_unit => Some((Span::new(node.value.end, node.value.end), format!("({entry})"))),
        _ => None,
    }
}

fn no_such_place(tree: &Tree, text: &str, node: &Node, parts: &[String], depth: usize) -> String {
    let outer: Vec<String> = parts[..depth].iter().map(|part| quoted_part(part)).collect();
    let outer = if outer.is_empty() {
        "the card".to_owned()
    } else {
        quote(&outer.join("."))
    };
    let part = quote(&parts[depth]);
    let is_keyed = node
        .children
        .first()
        .is_some_and(|&first| tree.nodes[first].key.is_some());
    match node.kind {
        Kind::List | Kind::Parens if !is_keyed && !node.children.is_empty() => {
            format!(
                "{outer} has {} items, counted from 0, and no {part}",
                node.children.len()
            )
        }
        Kind::List => format!("{outer} is an empty list; set the whole list, as in [1, 2]"),
        Kind::Parens | Kind::Map => format!("{} is no name of a field", quote(&parts[depth..].join("."))),
        _ => format!("{outer} is {} and has no field {part}", quote(node.value.of(text))),
    }
}

/// A key as a card writes it.
fn quote_key(part: &str) -> String {
    format!("{part:?}")
}

fn is_field_name(part: &str) -> bool {
    part.starts_with(is_word_start) && part.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// The value as RON text that can stand anywhere in a card.
fn checked(value: &str, replaces_text: bool) -> Result<String, String> {
    let value = value.trim();
    if value.is_empty() {
        return Err("needs a value after the `=`; for an empty text write '\"\"'".to_owned());
    }
    if value.len() > MAX_CARD_BYTES {
        return Err("the value is larger than 1 MiB, the most a card may have".to_owned());
    }
    match scan(value) {
        // Only the value itself: a comment behind it would swallow the rest of the line it is put
        // into.
        Ok(tree) if tree.extensions.is_empty() => Ok(tree.nodes[0].value.of(value).to_owned()),
        Ok(_) => Err("a value cannot turn on extensions; write them at the top of the card".to_owned()),
        Err(_) if !value.contains(|c| "()[]{}\"'".contains(c)) => Ok(as_text(value)),
        Err(_) if replaces_text && !value.contains('"') => Ok(as_text(value)),
        Err(error) => Err(format!("the value {} is not valid: {}", quote(value), error.message)),
    }
}

fn as_text(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\"))
}
