//! Arms that replace a part of the card: what a strategy takes over from the card's own, and which
//! settings differ without being named.
//!
//! An arm states what it changes. `"strategy": Scaffold()` states another algorithm and nothing
//! else, so the settings that both algorithms share stay those of the card ([`inherited`]). Where a
//! value replaces a part or a group as a whole, settings that it leaves out return to their
//! defaults; a comparison then changes more than it says ([`unnamed`]).

use crate::registry::Registry;
use crate::scenario::check;
use crate::swept::Swept;
use crate::text::{Source, apply_default, differences, is_part, variant_of};
use folkmoot_parts::{Field, Shape};

/// The groups of settings that algorithms in rounds share: the same type under the same name,
/// whatever the algorithm.
const SHARED: [&str; 8] = [
    "model",
    "training",
    "optimiser_state",
    "inputs",
    "scale",
    "split",
    "protocol",
    "attacks",
];
/// The number of rounds, in algorithms with the protocol of rounds and in those with one of their
/// own.
const ROUNDS: [&str; 2] = ["protocol.rounds", "rounds"];
/// An axis of more values is not compared: it would take long, and such values are numbers.
const MOST_VALUES: usize = 1000;

/// A card whose strategy has been replaced by another algorithm, with the shared settings that
/// `card` states and the new value does not; and what these are, by path and value. Problems of
/// them bear `label`.
pub(crate) fn inherited(
    card: &Source,
    mut replaced: Source,
    label: &str,
    registry: &Registry,
) -> (Source, Vec<(String, String)>) {
    let part = |source: &Source| variant_of(&source.within("strategy")?).ok();
    let shape = |name: &str| {
        let mut parts = registry.strategies().parts();
        parts.find(|part| part.name == name).map(|part| &part.shape)
    };
    let mut taken = Vec::new();
    let (Some(old), Some(new)) = (part(card), part(&replaced)) else {
        return (replaced, taken);
    };
    let (Some(old_shape), Some(new_shape)) = (shape(&old.name), shape(&new.name)) else {
        return (replaced, taken);
    };
    if old.name == new.name {
        return (replaced, taken);
    }
    for group in SHARED {
        if let (Some(a), Some(b)) = (field(old_shape, group), field(new_shape, group)) {
            shared((&old.body, &new.body), (a, b), group, &mut taken);
        }
    }
    let at = |shape| ROUNDS.into_iter().find(|path| in_shape(shape, path).is_some());
    if let (Some(from), Some(to)) = (at(old_shape), at(new_shape))
        && let (Some(rounds), None) = (old.body.value(from), new.body.value(to))
        && from != to
    {
        taken.push((to.to_owned(), on_one_line(rounds)));
    }
    for (path, value) in &taken {
        let label = format!("{label}, as in the card's strategy: {path} = {value}");
        replaced = apply_default(&replaced, &label, &format!("strategy.{path}"), value);
    }
    (replaced, taken)
}

fn field<'a>(shape: &'a Shape, name: &str) -> Option<&'a Shape> {
    let Shape::Fields(fields) = shape else { return None };
    fields.iter().find(|field| field.name == name).map(|field| &field.shape)
}

/// What lies at a path of fields.
fn in_shape<'a>(shape: &'a Shape, path: &str) -> Option<&'a Shape> {
    path.split('.').try_fold(shape, field)
}

/// Adds what stands at `path` in the first body, and not in the second, if both read it alike.
fn shared((old, new): (&Source, &Source), (a, b): (&Shape, &Shape), path: &str, taken: &mut Vec<(String, String)>) {
    let Some(value) = old.value(path) else { return };
    match (a, b) {
        _ if a == b && new.value(path).is_none() => taken.push((path.to_owned(), on_one_line(value))),
        (Shape::Fields(fields), _) => {
            for name in fields.iter().map(|field| field.name) {
                if let (Some(a), Some(b)) = (field(a, name), field(b, name)) {
                    shared((old, new), (a, b), &format!("{path}.{name}"), taken);
                }
            }
        }
        _ => {}
    }
}

/// A setting that an arm changes without naming it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unnamed {
    path: String,
    /// Its value in the arm.
    value: String,
    /// Its value in the card without the arm.
    in_card: String,
}

/// For each value of an axis, or each arm, the settings in which it differs from the card, and from
/// another value, without naming them.
pub(crate) fn unnamed(name: &str, card: &Source, axis: &Swept, registry: &Registry) -> Vec<(usize, Vec<Unnamed>)> {
    let replaces = |(_, value): &(String, String)| value.starts_with(|c: char| c == '(' || c.is_alphabetic());
    if axis.values.len() > MOST_VALUES || !axis.values.iter().flatten().any(replaces) {
        return Vec::new();
    }
    let resolved = |source: Source| {
        // Alone, a value may break a rule that it keeps with those of other axes.
        let scenario = check(name, &source, registry).ok()?;
        Source::new(name, &scenario.resolved()).ok()
    };
    let arm = |choice| resolved(axis.apply(card, choice, registry).ok()?);
    let Some(base) = resolved(card.clone()) else {
        return Vec::new();
    };
    let values: Vec<Option<Source>> = (0..axis.values.len()).map(arm).collect();
    let of_choice = |choice: usize| {
        let settings = &axis.values[choice];
        let mut found: Vec<Unnamed> = Vec::new();
        for setting in settings {
            let Some(arm) = &values[choice] else { continue };
            for unnamed in left_out((&base, arm), setting, registry) {
                // What another setting of the arm replaces is left to that one.
                let is_named = settings.iter().any(|(path, _)| {
                    *path == unnamed.path || is_part(path, &setting.0) && is_part(&unnamed.path, path)
                });
                let differs = |other: &Source| match other.value(&unnamed.path) {
                    Some(value) => on_one_line(value) != unnamed.value,
                    None => false,
                };
                if !is_named && !found.contains(&unnamed) && values.iter().flatten().any(differs) {
                    found.push(unnamed);
                }
            }
        }
        (choice, found)
    };
    let all = (0..axis.values.len()).map(of_choice);
    all.filter(|(_, found)| !found.is_empty()).collect()
}

/// The settings below a path that a new value leaves out, where the card and the arm, both with
/// every default, differ.
fn left_out((base, arm): (&Source, &Source), (path, value): &(String, String), registry: &Registry) -> Vec<Unnamed> {
    // Two parts of different names are compared by the settings of the same name.
    let split = |source: Source| match variant_of(&source) {
        Ok(variant) => (variant.name, variant.body),
        Err(_) => (String::new(), source),
    };
    let within = |source: &Source| source.within(path).map(split);
    let (Some((a_name, a)), Some((b_name, b)), Ok((_, written))) =
        (within(base), within(arm), Source::new(path, value).map(split))
    else {
        return Vec::new();
    };
    let laid = match path == "strategy" {
        true => laid(&b_name, &written, registry),
        false => Vec::new(),
    };
    let unnamed = |(field, in_card, value): (String, Option<String>, Option<String>)| {
        let is_below = |outer: &&str| field == *outer || is_part(&field, outer);
        let is_named = field.is_empty() || written.value(&field).is_some() || laid.iter().any(&is_below);
        // What is measured changes no result. Of another part, `None` says that it has no use for a
        // setting.
        let is_measured = path == "strategy" && is_below(&"evaluation");
        let is_unused = a_name != b_name && [&in_card, &value].iter().any(|value| value.as_deref() == Some("None"));
        (!is_named && !is_measured && !is_unused).then_some(Unnamed {
            path: format!("{path}.{field}"),
            value: value?,
            in_card: in_card?,
        })
    };
    differences(&a, &b).into_iter().filter_map(unnamed).collect()
}

/// The settings that the variants which a strategy's value names lay under its own, such as
/// `variant: AsReleased`.
fn laid(strategy: &str, written: &Source, registry: &Registry) -> Vec<&'static str> {
    let mut parts = registry.strategies().parts();
    let Some(part) = parts.find(|part| part.name == strategy) else {
        return Vec::new();
    };
    let of_field = |field: &&Field| {
        let Shape::Choice(variants) = field.shape.inner() else {
            return Vec::new();
        };
        let named = written.within(field.name).and_then(|value| variant_of(&value).ok());
        let chosen = variants
            .iter()
            .find(|variant| named.as_ref().is_some_and(|named| named.name == variant.name));
        let sets = chosen.map_or(&[][..], |variant| variant.sets).iter();
        sets.filter_map(|set| Some(set.split_once('=')?.0)).collect()
    };
    part.shape.fields().iter().flat_map(of_field).collect()
}

/// The settings that an arm changes without naming them, and the way out.
pub(crate) fn warning(unnamed: &[Unnamed]) -> String {
    let each: Vec<String> = unnamed
        .iter()
        .map(|Unnamed { path, value, in_card }| format!("{path} is {value} ({in_card} in the card)"))
        .collect();
    format!(
        "changes settings that it does not name: {}; help: name them there, so that the comparison is of what it says",
        each.join(", ")
    )
}

fn on_one_line(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}
