//! Looks up components and fields of a card by name or path: meaning, kind, unit, range, default.
//!
//! A path is that of the card, `strategy.model.hidden`, or begins with a component's name,
//! `FedAvg.model.hidden`. Below a field that names a component, it means that field of every
//! component that has it. Below a choice, it means that of every variant, unless it names one:
//! `network.uplink.latency_ms.Uniform.low`.

use crate::axis::Described;
use crate::file::ScenarioFile;
use crate::registry::Registry;
use crate::text::{Source, suggest};
use folkmoot_parts::{Body, Field, Shape, Value, Variant};

/// The target of a path.
#[derive(Clone, Debug)]
pub enum Found {
    /// A component by its name.
    Component(Described),
    Field {
        /// The path with the names of components and variants in it, such as
        /// `FedAvg.model.encoder.Gat.heads`.
        path: String,
        /// Declaration of the field.
        field: Field,
        /// Where it is declared, or the component that it belongs to.
        source: &'static str,
    },
    /// A variant of a choice.
    Variant {
        /// The path with the name of the variant at its end.
        path: String,
        /// Declaration of the variant.
        variant: Variant,
    },
}

/// Everything that `path` can mean, in the order of the registry.
///
/// # Errors
///
/// The segment of the path that names nothing, with the nearest known name.
pub fn explain(path: &str, registry: &Registry) -> Result<Vec<Found>, String> {
    let segments: Vec<&str> = path.split('.').map(str::trim).collect();
    let mut search = Search {
        registry,
        found: Vec::new(),
        missed: Vec::new(),
    };
    let named: Vec<&Described> = registry
        .parts()
        .filter(|component| component.is_called(segments[0]))
        .collect();
    for component in &named {
        match segments.len() {
            1 => search.found.push(Found::Component((*component).clone())),
            _ => search.descend(&Place::of(component), &segments[1..]),
        }
    }
    if named.is_empty() {
        let card = Place {
            path: String::new(),
            shape: ScenarioFile::shape(),
            default: None,
            source: std::any::type_name::<ScenarioFile>(),
        };
        search.descend(&card, &segments);
    }
    match search.found.is_empty() {
        false => Ok(search.found),
        true => Err(search.nearest(&segments)),
    }
}

/// Every path of a component or field, for completions.
pub fn paths(registry: &Registry) -> Vec<String> {
    let mut all = Vec::new();
    for field in ScenarioFile::shape().fields() {
        below(field.name, field, registry, &[], &mut all);
    }
    all.extend(registry.parts().map(|component| component.name.to_owned()));
    all.sort_unstable();
    all.dedup();
    all
}

/// Full paths of all fields called `name`.
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

/// The components that a field may name; none if it is not for a name.
pub fn components_of<'a>(field: &Field, registry: &'a Registry) -> Vec<&'a Described> {
    let named = match inner(&field.shape) {
        Shape::Named => field.name,
        Shape::Component(what) => what,
        _ => return Vec::new(),
    };
    registry.parts().filter(|component| component.field == named).collect()
}

/// Adds the path of a field and those below it. `around` are the types of the components that
/// contain it; none is entered twice.
fn below(path: &str, field: &Field, registry: &Registry, around: &[&str], all: &mut Vec<String>) {
    all.push(path.to_owned());
    let mut components = components_of(field, registry);
    components.retain(|component| !around.contains(&component.field));
    let around: Vec<&str> = around
        .iter()
        .copied()
        .chain(components.first().map(|component| component.field))
        .collect();
    let of_components = components.iter().flat_map(|component| component.shape.fields());
    for field in field.shape.fields().into_iter().chain(of_components) {
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
    fn of(component: &Described) -> Self {
        Place {
            path: component.name.to_owned(),
            shape: component.shape.clone(),
            default: None,
            source: component.source,
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
    fn with_default_here(&self, field: &Field) -> Field {
        with_group_default(self.default.as_deref(), field)
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

/// A field of a group with its default there. The default of the group, as a card writes it, may
/// differ from that of the field's type.
pub fn with_group_default(group: Option<&str>, field: &Field) -> Field {
    let group = group.and_then(|group| Source::new("default", group).ok());
    let here = group.as_ref().and_then(|group| group.value(field.name));
    Field {
        default: here.map(str::to_owned).or_else(|| field.default.clone()),
        ..field.clone()
    }
}

/// State of a search.
struct Search<'a> {
    registry: &'a Registry,
    found: Vec<Found>,
    /// Where no name matched: the number of segments left, and the known names.
    missed: Vec<(usize, Vec<&'static str>)>,
}

impl Search<'_> {
    fn descend(&mut self, place: &Place, segments: &[&str]) {
        let (name, rest) = (segments[0], &segments[1..]);
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
            self.missed.push((segments.len(), names));
        }
    }

    fn enter(&mut self, holder: &Place, field: Field, rest: &[&str]) {
        let mut place = holder.below(field.name, &field.shape);
        if rest.is_empty() {
            let (path, source, field) = (place.path, place.source, holder.with_default_here(&field));
            self.found.push(Found::Field { path, field, source });
            return;
        }
        let components = components_of(&field, self.registry);
        for component in &components {
            // `strategy.FedAvg.model` says which one is meant.
            match rest {
                [name] if *name == component.name => self.found.push(Found::Component((*component).clone())),
                [name, rest @ ..] if *name == component.name => self.descend(&Place::of(component), rest),
                _ => self.descend(&Place::of(component), rest),
            }
        }
        if components.is_empty() {
            place.default = holder.with_default_here(&field).default;
            self.descend(&place, rest);
        }
    }

    /// Error at the deepest point that the search reached.
    fn nearest(&self, segments: &[&str]) -> String {
        let left = self
            .missed
            .iter()
            .map(|(left, _)| *left)
            .min()
            .unwrap_or(segments.len());
        let farthest = self.missed.iter().filter(|missed| missed.0 == left);
        let mut known: Vec<&str> = farthest.flat_map(|(_, names)| names.iter().copied()).collect();
        if left == segments.len() {
            known.extend(self.registry.parts().map(|component| component.name));
        }
        known.sort_unstable();
        known.dedup();
        let wrong = segments[segments.len() - left];
        let (before, _) = segments.split_at(segments.len() - left);
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
