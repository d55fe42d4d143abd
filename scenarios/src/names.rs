//! Earlier names in cards: fields and components that were renamed are read under both names.
//!
//! A declaration states its earlier name by `#[component(alias = "…")]`. [`present`] brings the
//! text of a card to today's names before anything else looks at it. `recorded` brings it to the
//! names that were in use when the record of audited runs began, so that a rename makes no recorded
//! run another one's.

use crate::file::ScenarioFile;
use crate::registry::Registry;
use crate::text::{Names, Problems, Source, Span, apply_setting, quoted_part, split_path};
use folkmoot_parts::{Body, Field, Shape, Value};

/// The card under today's names.
#[must_use]
pub fn present(source: &Source, registry: &Registry) -> Source {
    renamed(source, registry, Towards::Present)
}

/// The card under the names that were in use when the record began.
pub(crate) fn recorded(source: &Source, registry: &Registry) -> Source {
    renamed(source, registry, Towards::Recorded)
}

/// Applies `path=value` to a card under today's names; path and value may use earlier ones.
///
/// # Errors
///
/// As [`apply_setting`].
pub fn set(source: &Source, setting: &str, registry: &Registry) -> Result<Source, Problems> {
    let setting = match setting.split_once('=') {
        Some((path, value)) => format!("{}={value}", present_path(path, registry)),
        None => setting.to_owned(),
    };
    Ok(present(&apply_setting(source, &setting)?, registry))
}

/// The path of a field under today's names; a malformed path stays as it is.
#[must_use]
pub fn present_path(path: &str, registry: &Registry) -> String {
    let top = ScenarioFile::shape();
    Walk::new(registry, &top, Towards::Present).path(path).0
}

fn renamed(source: &Source, registry: &Registry, towards: Towards) -> Source {
    let Some(names) = Names::of(source) else {
        return source.clone();
    };
    let top = ScenarioFile::shape();
    let mut walk = Walk::new(registry, &top, towards);
    walk.card(&names);
    source.under_names(&walk.edits)
}

#[derive(Clone, Copy)]
enum Towards {
    Present,
    Recorded,
}

/// Today's name of something, and an earlier one.
type Called = (&'static str, Option<&'static str>);

/// What may stand at a place of a card.
#[derive(Clone, Copy)]
enum Place<'a> {
    Shape(&'a Shape),
    /// What a field of the card, or of settings, names.
    Named(&'a str),
}

impl<'a> Place<'a> {
    /// Of a value that may be left out, what it is if written.
    fn of(shape: &'a Shape) -> Self {
        match shape.inner() {
            Shape::Component(what) => Place::Named(what),
            shape => Place::Shape(shape),
        }
    }
}

struct Walk<'a> {
    registry: &'a Registry,
    /// The fields of the card itself.
    top: &'a Shape,
    towards: Towards,
    /// Where a name is written, and what it becomes.
    edits: Vec<(Span, String)>,
}

impl<'a> Walk<'a> {
    fn new(registry: &'a Registry, top: &'a Shape, towards: Towards) -> Self {
        let edits = Vec::new();
        Walk {
            registry,
            top,
            towards,
            edits,
        }
    }

    /// What `written` becomes where it means something that has these two names.
    fn becomes(&self, written: &str, (name, alias): Called) -> Option<&'static str> {
        let (from, to) = match self.towards {
            Towards::Present => (alias?, name),
            Towards::Recorded => (name, alias?),
        };
        (written == from).then_some(to)
    }

    fn card(&mut self, names: &Names<'_>) {
        for child in names.children(0) {
            match names.key(child).as_deref() {
                Some("sweep") => self.sweep(names, child),
                Some(key) => self.value(names, child, &self.at_top(key)),
                None => {}
            }
        }
    }

    /// What may stand in a field of the card.
    fn at_top(&self, key: &str) -> Vec<Place<'a>> {
        match self.registry.parts().find(|part| part.field == key) {
            Some(part) => vec![Place::Named(part.field)],
            None => {
                let fields = self.top.fields().into_iter().filter(|field| field.name == key);
                fields.map(|field| Place::of(&field.shape)).collect()
            }
        }
    }

    /// The keys of a sweep's maps are paths, and what stands below them is values of these paths.
    fn sweep(&mut self, names: &Names<'_>, sweep: usize) {
        for map in names.children(sweep) {
            match names.key(map).as_deref() {
                Some("axes") => {
                    for (axis, places) in self.paths(names, map) {
                        names.children(axis).for_each(|value| self.value(names, value, &places));
                    }
                }
                Some("names") => {
                    self.paths(names, map);
                }
                Some("arms") => {
                    for arm in names.children(map) {
                        for (setting, places) in self.paths(names, arm) {
                            self.value(names, setting, &places);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Renames the keys of a map; its entries, and what may stand at their paths.
    fn paths(&mut self, names: &Names<'_>, map: usize) -> Vec<(usize, Vec<Place<'a>>)> {
        let mut entries = Vec::new();
        for entry in names.children(map) {
            let Some(key) = names.key(entry) else { continue };
            let (path, places) = self.path(&key);
            if path != key {
                self.edits
                    .extend(names.key_span(entry).map(|span| (span, format!("{path:?}"))));
            }
            entries.push((entry, places));
        }
        entries
    }

    /// A path with every part renamed, and what may stand at its end.
    fn path(&self, path: &str) -> (String, Vec<Place<'a>>) {
        let parts = split_path(path).unwrap_or_default();
        let Some((first, rest)) = parts.split_first() else {
            return (path.to_owned(), Vec::new());
        };
        let (mut written, mut places) = (vec![quoted_part(first)], self.at_top(first));
        for part in rest {
            if part.parse::<usize>().is_ok() {
                places = places.into_iter().flat_map(items).collect();
                written.push(part.clone());
                continue;
            }
            let fields = self.fields(&places);
            // Of several that may stand here, one that still has the name goes first.
            let known = fields.iter().find(|field| field.name == *part);
            let renamed = fields
                .iter()
                .find_map(|field| self.becomes(part, (field.name, field.alias)));
            let name = known.map_or(renamed, |field| self.becomes(part, (field.name, field.alias)));
            written.push(quoted_part(name.unwrap_or(part)));
            places = fields
                .iter()
                .filter(|field| field.is_called(part))
                .map(|field| Place::of(&field.shape))
                .collect();
        }
        (written.join("."), places)
    }

    /// The fields of all that may stand at these places.
    fn fields(&self, places: &[Place<'a>]) -> Vec<&'a Field> {
        let registry = self.registry;
        let of = |place: &Place<'a>| -> Vec<&'a Field> {
            match *place {
                Place::Named(what) => {
                    let parts = registry.parts().filter(|part| part.field == what);
                    parts.flat_map(|part| part.shape.fields()).collect()
                }
                Place::Shape(shape) => shape.fields(),
            }
        };
        places.iter().flat_map(of).collect()
    }

    /// Renames in a value what may be renamed there.
    fn value(&mut self, names: &Names<'_>, node: usize, places: &[Place<'a>]) {
        if let Some((name, span)) = names.name(node)
            && let Some((called, fields)) = places.iter().find_map(|place| self.variant(name, *place))
        {
            self.edits
                .extend(self.becomes(name, called).map(|new| (span, new.to_owned())));
            return self.below(names, node, &fields);
        }
        if names.has_keys(node) {
            let fields = self.fields(places);
            return self.below(names, node, &fields);
        }
        let inside: Vec<Place<'a>> = places.iter().copied().flat_map(items).collect();
        names.children(node).for_each(|child| self.value(names, child, &inside));
    }

    /// The names of the variant or component that is called `name`, and its fields.
    fn variant(&self, name: &str, place: Place<'a>) -> Option<(Called, Vec<&'a Field>)> {
        match place {
            Place::Named(what) => {
                let mut parts = self.registry.parts().filter(|part| part.field == what);
                let part = parts.find(|part| part.is_called(name))?;
                Some(((part.name, part.alias), part.shape.fields()))
            }
            Place::Shape(Shape::Choice(variants)) => {
                let variant = variants.iter().find(|variant| variant.is_called(name))?;
                let fields = match &variant.body {
                    Body::Nothing => Vec::new(),
                    Body::One(field) => field.shape.fields(),
                    Body::Fields(fields) => fields.iter().collect(),
                };
                Some(((variant.name, variant.alias), fields))
            }
            Place::Shape(_) => None,
        }
    }

    fn below(&mut self, names: &Names<'_>, node: usize, fields: &[&'a Field]) {
        for child in names.children(node) {
            let Some(key) = names.key(child) else { continue };
            let Some(field) = fields.iter().find(|field| field.is_called(&key)) else {
                continue;
            };
            let new = self.becomes(&key, (field.name, field.alias)).zip(names.key_span(child));
            self.edits.extend(new.map(|(new, span)| (span, new.to_owned())));
            self.value(names, child, &[Place::of(&field.shape)]);
        }
    }
}

/// What stands inside a list, a map or a tuple.
fn items(place: Place<'_>) -> Vec<Place<'_>> {
    match place {
        Place::Shape(Shape::List(item) | Shape::Map(item)) => vec![Place::of(item)],
        Place::Shape(Shape::Tuple(items)) => items.iter().map(Place::of).collect(),
        _ => Vec::new(),
    }
}
