//! `folkmoot explain`: what a part or a field of a card, a number, a message or a column is.

use crate::args::ExplainArgs;
use crate::context::Program;
use crate::exit::Exit;
use crate::output::print;
use crate::text::table;
use folkmoot_metrics::term::MARKS;
use folkmoot_metrics::{Better, Term, Unit};
use folkmoot_parts::{Body, Field, Shape, Variant, with_article};
use folkmoot_scenarios::axis::Described;
use folkmoot_scenarios::explain::{Found, explain as find, parts_of};
use folkmoot_scenarios::glossary::{Word, look_up};

pub(crate) fn explain(program: &Program, args: &ExplainArgs) -> Result<(), Exit> {
    let words = look_up(&args.path, &program.registry);
    let found = match find(&args.path, &program.registry) {
        Err(_) if !words.is_empty() => Vec::new(),
        found => found.map_err(|why| {
            let name = &program.name;
            Exit::usage(format!("error: {why}\n  see {name} list, or {name} explain strategy"))
        })?,
    };
    let mut blocks = Vec::new();
    for found in &found {
        blocks.push(match found {
            Found::Part(part) => of_part(part),
            Found::Field {
                path,
                field,
                source,
                around,
            } => of_field(program, path, (field, around.as_deref()), source),
            Found::Variant { path, variant } => of_variant(path, variant),
        });
    }
    blocks.extend(words.iter().map(|word| of_word(&args.path, word)));
    print(&blocks.join("\n\n"))
}

fn of_word(name: &str, word: &Word) -> String {
    match word {
        Word::Number(term, of) => of_number(name, term, of),
        Word::Message(way, kind, strategy) => {
            let carried = if kind.carried {
                "holds all that is counted of it"
            } else {
                "is counted, and not all of it is made"
            };
            format!(
                "{name}, a message of {strategy} in phase {}: {}, {carried}\n  numbers  {name}_messages, {name}_payload_bytes",
                kind.phase,
                way.as_str()
            )
        }
        Word::Column(file, column, holds) => format!("{column}, a column of {file}: {holds}"),
        Word::Table(file, columns) => {
            let rows: Vec<Vec<String>> = columns
                .iter()
                .map(|(column, holds)| vec![format!("  {column}"), (*holds).to_owned()])
                .collect();
            format!(
                "{file}, a table of a run directory\n{}",
                table(&["  column", "cells"], &rows, 2)
            )
        }
    }
}

fn of_number(name: &str, term: &Term, of: &[&str]) -> String {
    let whose = match of {
        [] => "every run".to_owned(),
        of => of.join(", "),
    };
    let mut lines = vec![
        format!("{}, a number of {whose}: {}", term.name, term.words),
        format!("  {}", term.about),
    ];
    let mut put = |name: &str, text: &str| lines.push(format!("  {name:<9}{text}"));
    let unit = match term.unit {
        Unit::Number => "a plain number",
        Unit::Count => "a number of things",
        Unit::Share => "a share of 1",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Seconds => "s",
    };
    put("unit", unit);
    match term.range {
        (Some(least), Some(most)) => put("range", &format!("{least}..={most}")),
        (Some(least), None) => put("range", &format!("at least {least}")),
        (None, Some(most)) => put("range", &format!("at most {most}")),
        (None, None) => {}
    }
    match term.better {
        Some(Better::Higher) => put("better", "higher"),
        Some(Better::Lower) => put("better", "lower"),
        None => {}
    }
    if !term.source.is_empty() {
        put("source", &term.source);
    }
    if let Some((_, about)) = MARKS.iter().find(|(mark, _)| name.contains(mark)) {
        put("here", about);
    }
    lines.join("\n")
}

fn of_part(part: &Described) -> String {
    let what = with_article(part.what);
    let head = format!("{}, {what}: {}\n  source   {}", part.name, part.about, part.source);
    with(head, &[fields(&part.shape.fields(), "field"), sets(&part.shape)])
}

fn of_field(program: &Program, path: &str, (field, around): (&Field, Option<&str>), source: &str) -> String {
    let mut lines = vec![path.to_owned()];
    if !field.about.is_empty() {
        lines.push(format!("  {}", field.about));
    }
    let mut put = |name: &str, text: &str| lines.push(format!("  {name:<9}{text}"));
    put("type", &field.shape.words());
    if let Some(range) = field.range {
        put("range", range);
    }
    if let Some(unit) = field.unit {
        put("unit", unit);
    }
    let default = default(field);
    match around {
        None => put("default", &default),
        Some(around) => put(
            "default",
            &format!("{default} where a card writes {around}; else see there"),
        ),
    }
    put("source", source);
    let head = lines.join("\n");
    let parts = parts_of(field, &program.registry);
    if !parts.is_empty() {
        let rows = parts
            .iter()
            .map(|part| vec![format!("  {}", part.name), part.about.clone()]);
        let rows: Vec<Vec<String>> = rows.collect();
        return with(head, &[table(&["  name", "what it is"], &rows, 2)]);
    }
    let inner = items(&field.shape);
    match inner {
        Shape::Choice(all) => with(
            head,
            &[variants(all), fields(&inner.fields(), "field of variants"), laid(all)],
        ),
        _ => with(head, &[fields(&inner.fields(), "field"), sets(inner)]),
    }
}

fn of_variant(path: &str, variant: &Variant) -> String {
    let head = format!("{path}\n  {}", variant.about);
    let one = match &variant.body {
        Body::One(field) => format!("  holds    {}{}", field.shape.words(), range(field)),
        _ => String::new(),
    };
    with(
        head,
        &[
            one,
            fields(&variant.fields(), "field"),
            laid(std::slice::from_ref(variant)),
        ],
    )
}

/// A head and what there is to add.
fn with(head: String, more: &[String]) -> String {
    let mut blocks = vec![head];
    blocks.extend(more.iter().filter(|text| !text.is_empty()).cloned());
    blocks.join("\n\n")
}

/// What the items of a list look like, or the value itself.
fn items(shape: &Shape) -> &Shape {
    match shape.inner() {
        Shape::List(item) => items(item),
        other => other,
    }
}

fn default(field: &Field) -> String {
    match field.default.as_deref() {
        None => "none; it must be given".to_owned(),
        Some("()") if field.shape == Shape::Named => "none; it must be given".to_owned(),
        Some("None") => "none; it may be left out".to_owned(),
        Some(text) => text.to_owned(),
    }
}

fn range(field: &Field) -> String {
    let unit = field.unit.unwrap_or_default();
    field
        .range
        .map_or_else(String::new, |range| format!(" {range} {unit}").trim_end().to_owned())
}

fn fields(fields: &[&Field], what: &str) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = fields
        .iter()
        .map(|field| {
            let range = match (field.range, field.unit) {
                (Some(range), Some(unit)) => format!("{range} {unit}"),
                (range, unit) => range.or(unit).unwrap_or_default().to_owned(),
            };
            let default = match field.default.as_deref() {
                None => "must be given".to_owned(),
                Some(text) if text.chars().count() > 28 => "see explain".to_owned(),
                Some(text) => text.to_owned(),
            };
            vec![format!("  {}", field.name), default, range, field.about.to_owned()]
        })
        .collect();
    table(&[&format!("  {what}"), "default", "range", "what it is"], &rows, 4)
}

fn variants(all: &[Variant]) -> String {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|variant| {
            let mark = if variant.is_default { " (default)" } else { "" };
            vec![format!("  {}{mark}", variant.name), variant.about.to_owned()]
        })
        .collect();
    table(&["  variant", "what it is"], &rows, 2)
}

/// What the variants of a part's fields lay under its other settings.
fn sets(shape: &Shape) -> String {
    let fields = shape.fields();
    let choices = fields.iter().filter_map(|field| match field.shape.inner() {
        Shape::Choice(all) => Some(laid(all)),
        _ => None,
    });
    choices
        .filter(|text| !text.is_empty())
        .collect::<Vec<String>>()
        .join("\n\n")
}

fn laid(all: &[Variant]) -> String {
    let rows: Vec<Vec<String>> = all
        .iter()
        .flat_map(|variant| {
            variant
                .sets
                .iter()
                .map(|set| vec![format!("  {}", variant.name), (*set).to_owned()])
        })
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => table(&["  variant", "sets, where a card does not"], &rows, 2),
    }
}
