//! `folkmoot explain`: what a part or a field of a card, a number, a message or a column is.

mod said;

use crate::args::ExplainArgs;
use crate::context::Program;
use crate::exit::Exit;
use crate::list::Topic;
use crate::output::print;
use crate::text::{self, table};
use folkmoot_metrics::figures::KnownFigure;
use folkmoot_metrics::key::MARKS;
use folkmoot_metrics::sweep_dir::POINTS;
use folkmoot_metrics::{Better, Scored, Term, Unit};
use folkmoot_parts::{Body, Field, Shape, Variant, with_article};
use folkmoot_scenarios::axis::Described;
use folkmoot_scenarios::explain::{
    Found, components_of, ending_in, explain as find, paths, variants_called, with_group_default,
};
use folkmoot_scenarios::glossary::{Word, look_up};
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::sweep::plan;
use folkmoot_scenarios::text::{Source, meant};
use said::SAID;

/// Hits of a search that are listed.
const MOST_HITS: usize = 20;

pub(crate) fn explain(program: &Program, args: &ExplainArgs) -> Result<(), Exit> {
    let asked = args.path.as_str();
    let blocks = exact(program, asked);
    let blocks = match blocks.is_empty() {
        true => other_names(program, asked),
        false => blocks,
    };
    if !blocks.is_empty() {
        return print(&blocks.join("\n\n"));
    }
    let why = find(asked, &program.registry).err().unwrap_or_default();
    match search(program, asked) {
        Some(hits) => print(&format!("nothing is called {asked}; it occurs in\n{hits}")),
        None => Err(Exit::usage(format!(
            "error: {why}\nhelp: {0} list, or {0} explain strategy",
            program.name
        ))),
    }
}

/// What exactly this path or name means.
fn exact(program: &Program, asked: &str) -> Vec<String> {
    let registry = &program.registry;
    let words = look_up(asked, registry);
    let figures: Vec<KnownFigure> = registry.figures().called(asked).collect();
    let is_known = !words.is_empty() || !figures.is_empty();
    let mut paths = Vec::new();
    let found = find(asked, registry).unwrap_or_else(|_| {
        paths = ending_in(asked, registry);
        match paths.as_slice() {
            [_] if !is_known => find(&paths.remove(0), registry).unwrap_or_default(),
            [] => variants_called(asked, registry),
            _ => Vec::new(),
        }
    });
    let mut blocks = alike(found.iter().map(|found| of_found(program, found)));
    blocks.extend(words.iter().map(|word| of_word(asked, word)));
    let of_figure = |known: KnownFigure| format!("{}, a figure of a {}\n  {}", known.name, known.of, known.about);
    blocks.extend(figures.into_iter().map(of_figure));
    if !paths.is_empty() {
        blocks.push(of_paths(program, asked, &paths));
    }
    blocks.extend(of_card(program, asked));
    let said = SAID
        .iter()
        .filter(|(words, _)| words.contains(&asked.to_lowercase().as_str()));
    blocks.extend(said.map(|(_, about)| format!("{asked}, a term in outputs\n  {about}")));
    blocks
}

/// Texts that differ in their first line alone as one, with all first lines.
fn alike(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut known: Vec<(Vec<String>, String)> = Vec::new();
    for text in texts {
        let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
        match known.iter_mut().find(|(_, other)| !body.is_empty() && other == body) {
            Some((heads, _)) => heads.push(head.to_owned()),
            None => known.push((vec![head.to_owned()], body.to_owned())),
        }
    }
    let whole = |(heads, body): (Vec<String>, String)| format!("{}\n{body}", heads.join("\n"));
    known
        .into_iter()
        .map(whole)
        .map(|text| text.trim_end().to_owned())
        .collect()
}

/// What it means that has another name in other programs and papers.
fn other_names(program: &Program, asked: &str) -> Vec<String> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let known = program.registry.known_as();
    if let Some(known) = known.iter().find(|known| plain(known.name) == plain(asked)) {
        let head = format!("{}, a setting: strategy: {}", known.name, known.strategy);
        let found = find(known.path, &program.registry).unwrap_or_default();
        let found = found.iter().map(|found| of_found(program, found));
        return [head].into_iter().chain(found).collect();
    }
    let Some(here) = meant(asked) else {
        return Vec::new();
    };
    let mut blocks = exact(program, here);
    if !blocks.is_empty() {
        blocks.insert(0, format!("{asked} is called {here} here"));
    }
    blocks
}

fn of_found(program: &Program, found: &Found) -> String {
    match found {
        Found::Component(component) => of_component(program, component),
        Found::Field { path, field, source } => of_field(program, path, field, source),
        Found::Variant { path, variant } => of_variant(path, variant),
    }
}

/// A shipped card: its question, its runs and its data.
fn of_card(program: &Program, name: &str) -> Option<String> {
    let (_, text) = program.registry.cards().iter().find(|(known, _)| *known == name)?;
    let scenario = check(name, &Source::new(name, text).ok()?, &program.registry).ok()?;
    let n_runs = n_runs(program, &scenario);
    let needs = match files_of(&program.registry, &scenario) {
        None => "no files".to_owned(),
        Some(files) => format!("the files of {}", files.split('(').next().unwrap_or(files)),
    };
    let cost = program.registry.cost(name);
    let cost = cost.map_or(String::new(), |cost| {
        let about = if cost.is_lower_bound { "more than" } else { "about" };
        format!(", {about} {}", text::lasting(cost.run_s * n_runs as f64))
    });
    let program = &program.name;
    Some(format!(
        "{name}, a card: {}\n  needs    {needs}\n  run      {program} run {name}\n  sweep    {program} sweep {name} ({}{cost})\n  text     \
         {program} show {name}",
        scenario.question(),
        text::counted(n_runs, "run")
    ))
}

/// How many runs the sweep of a card has.
pub(crate) fn n_runs(program: &Program, scenario: &Scenario) -> usize {
    plan(scenario, crate::context::VERSION, &program.registry, 1).map_or(1, |plan| plan.points.len())
}

/// The data set of a card, if it is read from files.
pub(crate) fn files_of<'a>(registry: &Registry, scenario: &'a Scenario) -> Option<&'a str> {
    let text = scenario.dataset_text();
    let entries = registry.entries(text.split('(').next().unwrap_or_default());
    let is_built_in = entries.iter().any(|entry| entry.file.is_none());
    (!scenario.dataset().is_generated() && !is_built_in).then_some(text)
}

/// Fields, components, metrics and cards whose name or description has these words.
fn search(program: &Program, asked: &str) -> Option<String> {
    let registry = &program.registry;
    let topic = Topic::of(&[meant(asked).unwrap_or(asked)]);
    let mut hits: Vec<[String; 3]> = Vec::new();
    let mut hit = |name: &str, kind: &str, about: &str, text: &str| {
        let is_new = !hits.iter().any(|[known, ..]| known.trim() == name);
        if is_new && topic.is_in(&format!("{name} {about} {text}")) {
            hits.push([format!("  {name}"), kind.to_owned(), about.to_owned()]);
        }
    };
    registry
        .parts()
        .for_each(|part| hit(part.name, part.what, &part.about, ""));
    for (name, text) in registry.cards() {
        let source = Source::new(name, text).ok();
        let card = source.and_then(|source| check(name, &source, registry).ok());
        card.iter().for_each(|card| hit(name, "card", card.question(), text));
    }
    let glossaries = registry.glossaries().iter();
    for term in glossaries.flat_map(|glossary| &glossary.terms) {
        hit(&term.name, "metric", &term.words, "");
    }
    for path in paths(registry) {
        if let Ok([Found::Field { field, .. }, ..]) = find(&path, registry).as_deref() {
            hit(&path, "field", field.about, "");
        }
    }
    let n = hits.len();
    hits.truncate(MOST_HITS);
    let rows: Vec<Vec<String>> = hits.into_iter().map(|row| row.to_vec()).collect();
    let more = match n.saturating_sub(MOST_HITS) {
        0 => String::new(),
        more => format!("\n  and {more} more; cards alone: {} list {asked}", program.name),
    };
    (n > 0).then(|| table(&["  name", "kind", "what it is"], &rows, 3) + &more)
}

/// Fields of one name in several places, with what the first that a path leads to says of itself.
fn of_paths(program: &Program, name: &str, paths: &[String]) -> String {
    let row = |path: &String| {
        let about = match find(path, &program.registry).unwrap_or_default().first() {
            Some(Found::Field { field, .. }) => field.about,
            _ => "",
        };
        vec![format!("  {path}"), about.to_owned()]
    };
    let rows: Vec<Vec<String>> = paths.iter().map(row).collect();
    format!(
        "{name}, a field of cards; {} explain PATH explains it\n{}",
        program.name,
        table(&["  path", "what it is"], &rows, 2)
    )
}

fn of_word(name: &str, word: &Word) -> String {
    match word {
        Word::Number(term, of) => of_number(name, term, of),
        Word::Message(way, kind, strategy) => {
            let content = if kind.kind.materialised {
                "materialised: the simulation sends every byte that is counted"
            } else {
                "size only: its bytes are counted, and not all of its content is made"
            };
            let head = format!(
                "{name}, a message of {strategy} in phase {}: {}, {content}",
                kind.kind.phase,
                way.as_str()
            );
            let about = (!kind.about.is_empty()).then(|| format!("  {}", kind.about));
            let payload = (!kind.payload.is_empty()).then(|| format!("  carries  {}", kind.payload.replace('`', "")));
            let numbers = format!("  metrics  {name}_messages, {name}_payload_bytes");
            let lines = [Some(head), about, payload, Some(numbers)];
            lines.into_iter().flatten().collect::<Vec<String>>().join("\n")
        }
        Word::Column(file, column) => {
            format!(
                "{}, a column of {file}: {}\n  {}",
                column.name, column.holds, column.about
            )
        }
        Word::Trace(file, lines) => {
            let rows: Vec<Vec<String>> = lines
                .iter()
                .map(|(what, holds)| vec![format!("  {what}"), (*holds).to_owned()])
                .collect();
            format!(
                "{file}, what happened in a run in virtual time, from run --trace\n  https://ui.perfetto.dev opens it, \
                 plot draws it as timeline, and compare names the first event that differs\n{}",
                table(&["  event", "in the file"], &rows, 2)
            )
        }
        Word::Table(file, columns) => {
            let rows = columns.iter().map(|column| {
                let cells = [&format!("  {}", column.name), column.holds, column.about];
                cells.map(str::to_owned).to_vec()
            });
            let rows: Vec<Vec<String>> = rows.collect();
            let columns = table(&["  column", "cells", "what it is"], &rows, 3);
            let of = if file == POINTS { "sweep" } else { "run" };
            format!("{file}, a table of a {of} directory\n{columns}")
        }
    }
}

fn of_number(name: &str, term: &Term, of: &[&str]) -> String {
    let whose = match of {
        [] => "every run".to_owned(),
        of => of.join(", "),
    };
    let mut lines = vec![
        format!("{}, a metric of {whose}: {}", term.name, term.words),
        format!("  {}", term.about),
    ];
    let mut put = |name: &str, text: &str| lines.push(format!("  {name:<11}{text}"));
    put("unit", unit(term.unit));
    match term.range {
        (Some(least), Some(most)) => put("range", &format!("{least}..={most}")),
        (Some(least), None) => put("range", &format!("at least {least}")),
        (None, Some(most)) => put("range", &format!("at most {most}")),
        (None, None) => {}
    }
    if let Some(which) = term.better {
        put("better", better(which));
    }
    match term.attack.map(|attack| attack.blind) {
        Some(Some(blind)) => put("attack", &format!("guessing blindly reaches {blind}")),
        Some(None) => put("attack", "what guessing blindly reaches depends on the data"),
        None => {}
    }
    for (question, answer) in term.scored.iter().flat_map(Scored::words) {
        put(question, answer);
    }
    if !term.source.is_empty() {
        put("source", &term.source);
    }
    if let Some((_, about)) = MARKS.iter().find(|(mark, _)| name.contains(mark)) {
        put("here", about);
    }
    lines.join("\n")
}

/// What a number is measured in.
pub(crate) fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "dimensionless",
        Unit::Count => "count",
        Unit::Share => "fraction (0 to 1)",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Seconds => "s",
    }
}

/// Which values are better.
pub(crate) fn better(which: Better) -> &'static str {
    match which {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}

fn of_component(program: &Program, part: &Described) -> String {
    let what = with_article(part.what);
    let named_in = paths(&program.registry).into_iter().filter(|path| {
        let found = find(path, &program.registry).unwrap_or_default();
        let is_named = |found: &Found| match found {
            Found::Field { field, .. } => components_of(field, &program.registry)
                .iter()
                .any(|other| other.name == part.name),
            _ => false,
        };
        found.iter().any(is_named)
    });
    let named_in: Vec<String> = named_in.collect();
    let head = format!(
        "{}, {what}: {}\n  used in  {}\n  source   {}",
        part.name,
        part.about,
        named_in.join(", "),
        part.source
    );
    with(head, &[fields(&part.shape.fields(), "field"), sets(&part.shape)])
}

fn of_field(program: &Program, path: &str, field: &Field, source: &str) -> String {
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
    put("default", &default(field));
    put("source", source);
    let head = lines.join("\n");
    let parts = components_of(field, &program.registry);
    if !parts.is_empty() {
        let rows = parts
            .iter()
            .map(|part| vec![format!("  {}", part.name), part.about.clone()]);
        let rows: Vec<Vec<String>> = rows.collect();
        return with(head, &[table(&["  name", "what it is"], &rows, 2)]);
    }
    let inner = items(&field.shape);
    let here: Vec<Field> = inner
        .fields()
        .into_iter()
        .map(|one| with_group_default(field.default.as_deref(), one))
        .collect();
    let here: Vec<&Field> = here.iter().collect();
    match inner {
        Shape::Choice(all) => with(
            head,
            &[
                variants(all, field.default.as_deref()),
                fields(&here, "field of variants"),
                laid(all),
            ],
        ),
        _ => with(head, &[fields(&here, "field"), sets(inner)]),
    }
}

fn of_variant(path: &str, variant: &Variant) -> String {
    let head = format!("{path}\n  {}", variant.about);
    let one = match &variant.body {
        Body::One(field) => {
            let range = range_of(field);
            format!("  holds    {} {range}", field.shape.words())
                .trim_end()
                .to_owned()
        }
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
pub(crate) fn items(shape: &Shape) -> &Shape {
    match shape.inner() {
        Shape::List(item) => items(item),
        other => other,
    }
}

/// A field's default in words.
pub(crate) fn default(field: &Field) -> String {
    match field.default.as_deref() {
        None => "none; it must be given".to_owned(),
        Some("()") if field.shape == Shape::Named => "none; it must be given".to_owned(),
        Some("None") => "none; it may be left out".to_owned(),
        Some(text) => text.to_owned(),
    }
}

/// Which numbers a field takes, and their unit; blank where it says neither.
pub(crate) fn range_of(field: &Field) -> String {
    let texts = [field.range, field.unit].into_iter().flatten();
    texts.collect::<Vec<&str>>().join(" ")
}

fn fields(fields: &[&Field], what: &str) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = fields
        .iter()
        .map(|field| {
            let default = match field.default.as_deref() {
                None => "must be given".to_owned(),
                Some(text) if text.chars().count() > 28 => format!("see explain {}", field.name),
                Some(text) => text.to_owned(),
            };
            vec![
                format!("  {}", field.name),
                default,
                range_of(field),
                field.about.to_owned(),
            ]
        })
        .collect();
    table(&[&format!("  {what}"), "default", "range", "what it is"], &rows, 4)
}

/// With the default of the field that is one of them, which may differ from that of their type.
fn variants(all: &[Variant], default: Option<&str>) -> String {
    let default = default.and_then(|text| text.split('(').next());
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|variant| {
            let mark = if Some(variant.name) == default {
                " (default)"
            } else {
                ""
            };
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
        false => table(&["  variant", "changes these defaults"], &rows, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_scenarios::text::apply;

    /// `text::apply` knows no registry and lists the fields with keys in quotes by itself.
    #[test]
    fn settings_write_keys_in_quotes_in_maps_and_nowhere_else() {
        let registry = crate::shipped();
        let empty = Source::new("card", "()").unwrap();
        let is_written = |path: &str| apply(&empty, path, "1").is_ok();
        let mut maps = Vec::new();
        for path in paths(&registry) {
            let mut depth = 0;
            for found in find(&path, &registry).unwrap_or_default() {
                let Found::Field { field, .. } = found else { continue };
                let (mut shape, mut own) = (field.shape.inner().clone(), 0);
                while let Shape::Map(item) = shape {
                    shape = item.inner().clone();
                    own += 1;
                }
                depth = depth.max(own);
            }
            let mut key = path.clone();
            for _ in 0..depth {
                key += ".\"a.b\"";
                assert!(is_written(&key), "{key}: add it to MAPS of text::set");
                maps.push(key.clone());
            }
            // What a map holds may be free, and have such keys in turn.
            key += ".\"a.b\"";
            assert!(
                depth > 0 || !is_written(&key),
                "{key}: remove it from MAPS of text::set"
            );
        }
        assert!(maps.len() >= 4, "{maps:?}");
    }
}
