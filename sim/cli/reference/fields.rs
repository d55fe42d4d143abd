//! The fields of parts as rows of tables. Groups of fields that several algorithms have stand once,
//! on pages of their own.

use super::{code, plain, slug, table};
use crate::explain::{default, items, range_of};
use folkmoot_parts::{Body, Field, Shape, Variant};
use folkmoot_scenarios::axis::Described;
use std::collections::BTreeMap;

/// A group of fewer rows stands with each algorithm.
const FEWEST: usize = 5;

type Rows = Vec<Vec<String>>;

/// Fields that several algorithms have alike, with all that is below them, by their rows.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<Rows, Group>);

struct Group {
    name: &'static str,
    file: String,
    /// The algorithms that have it.
    of: Vec<&'static str>,
    /// Those in which it is not within a larger group.
    shown: Vec<&'static str>,
}

impl Groups {
    pub(super) fn of(strategies: &[&Described]) -> Groups {
        let mut groups = Groups::default();
        for strategy in strategies {
            fields_of(&strategy.shape, &mut |field| {
                let rows = rows_of(field);
                if rows.len() >= FEWEST {
                    let group = groups.0.entry(rows).or_insert_with(|| Group {
                        name: field.name,
                        file: String::new(),
                        of: Vec::new(),
                        shown: Vec::new(),
                    });
                    if group.of.last() != Some(&strategy.name) {
                        group.of.push(strategy.name);
                    }
                }
                true
            });
        }
        groups.0.retain(|_, group| group.of.len() > 1);
        for strategy in strategies {
            fields_of(&strategy.shape, &mut |field| match groups.0.get_mut(&rows_of(field)) {
                Some(group) => {
                    group.shown.push(strategy.name);
                    false
                }
                None => true,
            });
        }
        groups.0.retain(|_, group| !group.shown.is_empty());
        let mut all: Vec<&mut Group> = groups.0.values_mut().collect();
        all.sort_by(|a, b| {
            a.name
                .cmp(b.name)
                .then(b.of.len().cmp(&a.of.len()))
                .then(a.of.cmp(&b.of))
        });
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        for group in all {
            let n = taken.entry(group.name).or_default();
            *n += 1;
            let number = if *n > 1 { format!("-{n}") } else { String::new() };
            group.file = format!("fields-{}{number}", slug(group.name));
        }
        groups
    }

    fn group(&self, field: &Field) -> Option<&Group> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&rows_of(field))
    }

    /// The pages: file, title and text.
    pub(super) fn pages(&self) -> impl Iterator<Item = (String, String, String)> {
        let mut pages: Vec<(&Rows, &Group)> = self.0.iter().collect();
        pages.sort_by(|a, b| a.1.file.cmp(&b.1.file));
        pages.into_iter().map(|(rows, group)| {
            let of: Vec<String> = group.of.iter().map(|name| format!("[{name}]({name}.md)")).collect();
            let of = of.join(", ");
            let of_first = match group.file.ends_with(&slug(group.name)) {
                true => String::new(),
                false => format!(" of {}", group.of[0]),
            };
            let title = format!("Fields: {}{of_first}", group.name);
            (
                group.file.clone(),
                title,
                format!("Of {of}.\n\n{}", table(&FIELDS, rows)),
            )
        })
    }
}

/// Shows every field below a value, as long as it is told to go on below one.
fn fields_of(shape: &Shape, show: &mut dyn FnMut(&Field) -> bool) {
    let below = |field: &Field, show: &mut dyn FnMut(&Field) -> bool| {
        if show(field) {
            fields_of(&field.shape, show);
        }
    };
    match items(shape) {
        Shape::Fields(all) => all.iter().for_each(|field| below(field, show)),
        Shape::Choice(variants) => {
            for variant in variants {
                match &variant.body {
                    Body::Nothing => {}
                    Body::One(field) => fields_of(&field.shape, show),
                    Body::Fields(fields) => fields.iter().for_each(|field| below(field, show)),
                }
            }
        }
        Shape::Map(inner) => fields_of(inner, show),
        _ => {}
    }
}

/// The rows of a field and of all below it, under its own name.
fn rows_of(field: &Field) -> Rows {
    let mut rows = vec![row(field.name, field)];
    below(field.name, &field.shape, &Groups::default(), &mut rows);
    rows
}

pub(super) const FIELDS: [&str; 2] = ["field", "what it is, takes and is by default"];

/// Every field below a value, those of its fields and variants included.
pub(super) fn table_of(shape: &Shape, groups: &Groups) -> String {
    let mut rows = Vec::new();
    below("", shape, groups, &mut rows);
    match rows.is_empty() {
        true => String::new(),
        false => table(&FIELDS, &rows),
    }
}

pub(super) fn below(path: &str, shape: &Shape, groups: &Groups, rows: &mut Rows) {
    match items(shape) {
        Shape::Fields(all) => {
            for field in all {
                let path = joined(path, field.name);
                if let Some(group) = groups.group(field) {
                    let (about, name, file) = (plain(field.about), field.name, &group.file);
                    rows.push(vec![code(&path), format!("{about} Its fields: [{name}]({file}.md).")]);
                } else {
                    rows.push(row(&path, field));
                    below(&path, &field.shape, groups, rows);
                }
            }
        }
        Shape::Choice(variants) => {
            for variant in variants {
                let path = joined(path, variant.name);
                rows.push(of_variant(&path, variant));
                match &variant.body {
                    Body::Nothing => {}
                    Body::One(field) => below(&path, &field.shape, groups, rows),
                    Body::Fields(fields) => below(&path, &Shape::Fields(fields.clone()), groups, rows),
                }
            }
        }
        Shape::Map(inner) => below(path, inner, groups, rows),
        _ => {}
    }
}

fn joined(path: &str, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    }
}

fn row(path: &str, field: &Field) -> Vec<String> {
    let takes = match field.shape.inner() {
        Shape::Component(what) => format!("[{what}]({}.md)", slug(what)),
        _ => plain(&field.shape.words()),
    };
    let default = match default(field) {
        none if none.starts_with("none;") => none.replace("none; it ", ""),
        text if own(&field.shape).as_ref() == Some(&text) => "by default as below".to_owned(),
        text => format!("by default {}", code(&text)),
    };
    let takes = with_range(takes, field);
    vec![
        code(path),
        format!("{} Takes {takes}; {default}.", plain(field.about))
            .trim_start()
            .to_owned(),
    ]
}

fn with_range(takes: String, field: &Field) -> String {
    match range_of(field) {
        range if range.is_empty() => takes,
        range => format!("{takes}, {}", plain(&range)),
    }
}

/// What a value of fields is if each has its own default.
fn own(shape: &Shape) -> Option<String> {
    let Shape::Fields(fields) = shape else { return None };
    let fields = fields
        .iter()
        .map(|field| Some(format!("{}: {}", field.name, field.default.as_ref()?)));
    Some(format!("({})", fields.collect::<Option<Vec<String>>>()?.join(", ")))
}

fn of_variant(path: &str, variant: &Variant) -> Vec<String> {
    let mut about = plain(variant.about);
    if let Body::One(field) = &variant.body {
        about += &format!(" Holds {}.", with_range(plain(&field.shape.words()), field));
    }
    if variant.is_default {
        about += " The default.";
    }
    if !variant.sets.is_empty() {
        let sets: Vec<String> = variant.sets.iter().map(|set| code(set)).collect();
        about += &format!(" Sets, where a card does not, {}.", sets.join(", "));
    }
    vec![code(path), about]
}
