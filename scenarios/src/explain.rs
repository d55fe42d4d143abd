//! What a part or a field of a card is: its meaning, kind, unit, range and default, looked up by
//! name or path.
//!
//! A path is that of the card, `strategy.model.hidden`, or begins with a part's name,
//! `FedAvg.model.hidden`. Below a field that names a part, it means that field of every part that
//! has it; below a choice, of every variant, unless it names the variant:
//! `network.uplink.latency_ms.Uniform.low`.

use crate::axis::Described;
use crate::file::ScenarioFile;
use crate::registry::Registry;
use crate::text::{Source, suggest};
use folkmoot_parts::{Body, Field, Shape, Value, Variant};

/// What a path leads to.
#[derive(Clone, Debug)]
pub enum Found {
    /// A part by its name.
    Part(Described),
    Field {
        /// The path with the names of parts and variants in it, such as
        /// `FedAvg.model.encoder.Gat.heads`.
        path: String,
        /// What the field says of itself.
        field: Field,
        /// Where it is declared, or the part that it belongs to.
        source: &'static str,
    },
    /// A variant of a choice.
    Variant {
        /// The path with the name of the variant at its end.
        path: String,
        /// What the variant says of itself.
        variant: Variant,
    },
}

/// Everything that `path` can mean, in the order of the registry.
///
/// # Errors
///
/// The part of the path that nothing is called by, with the nearest name that there is.
pub fn explain(path: &str, registry: &Registry) -> Result<Vec<Found>, String> {
    let parts: Vec<&str> = path.split('.').map(str::trim).collect();
    let mut search = Search {
        registry,
        found: Vec::new(),
        missed: Vec::new(),
    };
    let named: Vec<&Described> = registry.parts().filter(|part| part.is_called(parts[0])).collect();
    for part in &named {
        match parts.len() {
            1 => search.found.push(Found::Part((*part).clone())),
            _ => search.descend(&Place::of(part), &parts[1..]),
        }
    }
    if named.is_empty() {
        let card = Place {
            path: String::new(),
            shape: ScenarioFile::shape(),
            default: None,
            source: std::any::type_name::<ScenarioFile>(),
        };
        search.descend(&card, &parts);
    }
    match search.found.is_empty() {
        false => Ok(search.found),
        true => Err(search.nearest(&parts)),
    }
}

/// Every path that leads to a part or to a field, for completions.
pub fn paths(registry: &Registry) -> Vec<String> {
    let mut all = Vec::new();
    for field in ScenarioFile::shape().fields() {
        below(field.name, field, registry, &[], &mut all);
    }
    all.extend(registry.parts().map(|part| part.name.to_owned()));
    all.sort_unstable();
    all.dedup();
    all
}

/// The paths that end in `name`, the field of which is so called wherever it stands.
pub fn ending_in(name: &str, registry: &Registry) -> Vec<String> {
    let mut all = paths(registry);
    all.retain(|path| path.strip_suffix(name).is_some_and(|before| before.ends_with('.')));
    all
}

/// The variants of this name, once for each choice that has one.
pub fn variants_called(name: &str, registry: &Registry) -> Vec<Found> {
    let named = paths(registry)
        .into_iter()
        .filter_map(|path| explain(&format!("{path}.{name}"), registry).ok())
        .flatten()
        .filter(|found| matches!(found, Found::Variant { .. }));
    let mut known: Vec<String> = Vec::new();
    named
        .filter(|found| match found {
            Found::Variant { path, .. } if !known.contains(path) => {
                known.push(path.clone());
                true
            }
            _ => false,
        })
        .collect()
}

/// The parts that a field may name; none if it is not for a name.
pub fn parts_of<'a>(field: &Field, registry: &'a Registry) -> Vec<&'a Described> {
    let named = match inner(&field.shape) {
        Shape::Named => field.name,
        Shape::Component(what) => what,
        _ => return Vec::new(),
    };
    registry.parts().filter(|part| part.field == named).collect()
}

/// Adds the path of a field and those below it; `around` are the kinds of the parts that it lies
/// in, of which none is entered twice.
fn below(path: &str, field: &Field, registry: &Registry, around: &[&str], all: &mut Vec<String>) {
    all.push(path.to_owned());
    let mut parts = parts_of(field, registry);
    parts.retain(|part| !around.contains(&part.field));
    let around: Vec<&str> = around
        .iter()
        .copied()
        .chain(parts.first().map(|part| part.field))
        .collect();
    let of_parts = parts.iter().flat_map(|part| part.shape.fields());
    for field in field.shape.fields().into_iter().chain(of_parts) {
        below(&format!("{path}.{}", field.name), field, registry, &around, all);
    }
}

/// A value that fields are looked up in.
#[derive(Clone)]
struct Place {
    path: String,
    shape: Shape,
    /// What stands here if a card writes nothing, for a field.
    default: Option<String>,
    source: &'static str,
}

impl Place {
    fn of(part: &Described) -> Self {
        Place {
            path: part.name.to_owned(),
            shape: part.shape.clone(),
            default: None,
            source: part.source,
        }
    }

    fn below(&self, name: &str, shape: &Shape) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Place {
            path: format!("{}{dot}{name}", self.path),
            shape: shape.clone(),
            default: None,
            source: self.source,
        }
    }

    /// A field of this place, with the default that it has here, which may differ from that of its
    /// type.
    fn placed(&self, field: &Field) -> Field {
        placed(self.default.as_deref(), field)
    }

    /// Its fields, each with what holds it: the place itself or one of its variants. One that
    /// several variants have alike stands once.
    fn fields(&self) -> Vec<(Place, Field)> {
        let mut all: Vec<(Place, Field)> = Vec::new();
        match inner(&self.shape) {
            Shape::Fields(fields) => all.extend(fields.iter().map(|field| (self.clone(), field.clone()))),
            Shape::Choice(variants) => {
                let holders = variants
                    .iter()
                    .map(|variant| self.below(variant.name, &body_of(variant)));
                for (holder, field) in holders.flat_map(|holder| holder.fields()) {
                    if !all.iter().any(|(_, known)| *known == field) {
                        all.push((holder, field));
                    }
                }
            }
            _ => {}
        }
        all
    }
}

/// A field of a group with the default that it has there: the group's, as a card writes it, may
/// differ from that of its type.
pub fn placed(group: Option<&str>, field: &Field) -> Field {
    let group = group.and_then(|group| Source::new("default", group).ok());
    let here = group.as_ref().and_then(|group| group.value(field.name));
    Field {
        default: here.map(str::to_owned).or_else(|| field.default.clone()),
        ..field.clone()
    }
}

/// What a search has come to.
struct Search<'a> {
    registry: &'a Registry,
    found: Vec<Found>,
    /// Where nothing fitted: how many parts of the path were left, and the names there.
    missed: Vec<(usize, Vec<&'static str>)>,
}

impl Search<'_> {
    fn descend(&mut self, place: &Place, parts: &[&str]) {
        let (name, rest) = (parts[0], &parts[1..]);
        let mut names: Vec<&'static str> = Vec::new();
        for (holder, field) in place.fields() {
            names.push(field.name);
            if field.is_called(name) {
                self.enter(&holder, field, rest);
            }
        }
        if let Shape::Choice(variants) = inner(&place.shape) {
            for variant in variants {
                names.push(variant.name);
                let place = place.below(variant.name, &body_of(variant));
                match (variant.is_called(name), rest.is_empty()) {
                    (false, _) => {}
                    (true, true) => self.found.push(Found::Variant {
                        path: place.path,
                        variant: variant.clone(),
                    }),
                    (true, false) => self.descend(&place, rest),
                }
            }
        }
        if !names.contains(&name) {
            self.missed.push((parts.len(), names));
        }
    }

    fn enter(&mut self, holder: &Place, field: Field, rest: &[&str]) {
        let mut place = holder.below(field.name, &field.shape);
        if rest.is_empty() {
            let (path, source, field) = (place.path, place.source, holder.placed(&field));
            self.found.push(Found::Field { path, field, source });
            return;
        }
        let parts = parts_of(&field, self.registry);
        for part in &parts {
            // `strategy.FedAvg.model` says which one is meant.
            match rest {
                [name] if *name == part.name => self.found.push(Found::Part((*part).clone())),
                [name, rest @ ..] if *name == part.name => self.descend(&Place::of(part), rest),
                _ => self.descend(&Place::of(part), rest),
            }
        }
        if parts.is_empty() {
            place.default = holder.placed(&field).default;
            self.descend(&place, rest);
        }
    }

    /// What is wrong with a path, told where the search came farthest.
    fn nearest(&self, parts: &[&str]) -> String {
        let left = self.missed.iter().map(|(left, _)| *left).min().unwrap_or(parts.len());
        let farthest = self.missed.iter().filter(|missed| missed.0 == left);
        let mut known: Vec<&str> = farthest.flat_map(|(_, names)| names.iter().copied()).collect();
        if left == parts.len() {
            known.extend(self.registry.parts().map(|part| part.name));
        }
        known.sort_unstable();
        known.dedup();
        let wrong = parts[parts.len() - left];
        let (before, _) = parts.split_at(parts.len() - left);
        let place = if before.is_empty() {
            "a card".to_owned()
        } else {
            before.join(".")
        };
        format!("there is no `{wrong}` in {place}{}", suggest(wrong, &known))
    }
}

/// The kind of a value, or of the items of a list.
fn inner(shape: &Shape) -> &Shape {
    match shape.inner() {
        Shape::List(item) => inner(item),
        other => other,
    }
}

fn body_of(variant: &Variant) -> Shape {
    match &variant.body {
        Body::Nothing => Shape::Fields(Vec::new()),
        Body::One(field) => field.shape.clone(),
        Body::Fields(fields) => Shape::Fields(fields.clone()),
    }
}
