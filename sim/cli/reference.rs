//! The reference as pages of Markdown: every command, card, field, part, message, number and table,
//! as the program knows them.
//!
//! `sim/book/src/reference` holds the pages of the shipped program. A program with parts of its own
//! writes its own.

mod fields;

use crate::context::Program;
use crate::exit::Exit;
use crate::explain::{better, items, unit};
use clap::{Arg, Command};
use fields::{FIELDS, Groups};
use folkmoot_metrics::Term;
use folkmoot_metrics::key::{MARKS, PREFIXES, SUFFIXES};
use folkmoot_parts::{Shape, Value};
use folkmoot_scenarios::axis::Described;
use folkmoot_scenarios::file::ScenarioFile;
use folkmoot_scenarios::glossary::{Glossary, tables};
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::summary::TERMS;
use folkmoot_scenarios::text::Source;

/// What algorithms are in a card.
const STRATEGY: &str = "strategy";

/// A page: the name of its file without the ending, its title and its text below that.
struct Page {
    file: String,
    title: String,
    body: String,
}

/// Every page by the name of its file, the index first.
///
/// # Errors
///
/// When a card that comes with the program is wrong.
pub(crate) fn pages(program: &Program, command: &Command) -> Result<Vec<(String, String)>, Exit> {
    let name = &program.name;
    let strategies: Vec<&Described> = program.registry.parts().filter(|part| part.what == STRATEGY).collect();
    let groups = Groups::of(&strategies);
    let mut all = vec![
        page("commands", "Commands", commands(command, name)),
        page("card", "Fields of a card", of_card(&program.registry)),
    ];
    let mut kinds: Vec<&'static str> = Vec::new();
    for part in program.registry.parts() {
        if part.what == STRATEGY {
            all.push(page(part.name, part.name, of_strategy(program, part, &groups)));
        } else if !kinds.contains(&part.what) {
            kinds.push(part.what);
        }
    }
    all.extend(groups.pages().map(|(file, title, body)| page(&file, &title, body)));
    for what in kinds {
        let parts = program.registry.parts().filter(|part| part.what == what);
        let body: Vec<String> = parts
            .map(|part| format!("## {}\n\n{}", part.name, of_part(part, &Groups::default())))
            .collect();
        all.push(page(&slug(what), &format!("Parts: {what}"), body.join("\n\n")));
    }
    all.push(page("numbers", "Numbers of every run", numbers_of_all()));
    all.push(page(
        "tables",
        "Tables of run and sweep directories",
        of_tables(program),
    ));
    all.push(page("figures", "Figures of runs and sweeps", of_figures(program)));
    all.push(page("cards", "Cards that come with the program", cards(program)?));
    let links = all.iter().map(|page| format!("- [{}]({}.md)", page.title, page.file));
    let index = format!(
        "Written by `{name} man --markdown --to DIR`, as `{name} explain` says it of one thing at a time.\n\n{}",
        links.collect::<Vec<String>>().join("\n")
    );
    all.insert(0, page("README", "Reference", index));
    let text = |page: Page| {
        (
            format!("{}.md", page.file),
            format!("# {}\n\n{}\n", page.title, page.body),
        )
    };
    Ok(all.into_iter().map(text).collect())
}

fn page(file: &str, title: &str, body: String) -> Page {
    Page {
        file: file.to_owned(),
        title: title.to_owned(),
        body,
    }
}

fn slug(what: &str) -> String {
    what.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-")
}

fn commands(command: &Command, name: &str) -> String {
    let mut blocks = Vec::new();
    let shown = |sub: &&Command| sub.get_name() != "help" && !sub.is_hide_set();
    for sub in command.get_subcommands().filter(shown) {
        of_command(sub, &format!("{name} {}", sub.get_name()), &mut blocks);
    }
    blocks.join("\n\n")
}

fn of_command(command: &Command, called: &str, blocks: &mut Vec<String>) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let rows = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && arg.get_id() != "help")
        .map(|arg| vec![code(&spelled(arg)), plain(&meaning(arg))]);
    let rows: Vec<Vec<String>> = rows.collect();
    let subs: Vec<&Command> = command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
        .collect();
    if subs.is_empty() {
        blocks.push(format!(
            "## {called}\n\n{about}.\n\n{}",
            table(&["argument", "what it is"], &rows)
        ));
    }
    for sub in subs {
        of_command(sub, &format!("{called} {}", sub.get_name()), blocks);
    }
}

/// An argument as it is typed.
fn spelled(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values: Vec<String> = values.iter().map(|value| format!("<{value}>")).collect();
    let takes_value = arg.get_action().takes_values();
    match arg.get_long() {
        Some(long) if takes_value => format!("--{long} {}", values.join(" ")),
        Some(long) => format!("--{long}"),
        None => values.join(" "),
    }
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = match arg.get_action().takes_values() {
        true => arg
            .get_possible_values()
            .iter()
            .map(|value| value.get_name().to_owned())
            .collect(),
        false => Vec::new(),
    };
    if !values.is_empty() {
        text += &format!(" [{}]", values.join(", "));
    }
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        text += &format!(" [default: {}]", defaults.join(" "));
    }
    text
}

fn of_card(registry: &Registry) -> String {
    let mut rows = Vec::new();
    fields::below("", &ScenarioFile::shape(), &Groups::default(), &mut rows);
    for row in &mut rows {
        let kind = registry.parts().find(|part| code(part.field) == row[0]);
        if let Some(Described { what, .. }) = kind {
            let file = if *what == STRATEGY {
                "README".to_owned()
            } else {
                slug(what)
            };
            row[1] = row[1].replace(
                "a name, with its fields",
                &format!("[{what}]({file}.md), by its name and fields"),
            );
        }
    }
    format!(
        "A card is RON text in parentheses. Below a field that names a part, such as `strategy`, the fields are those of the part.\n\n{}",
        table(&FIELDS, &rows)
    )
}

fn of_strategy(program: &Program, part: &Described, groups: &Groups) -> String {
    let mut blocks = vec![of_part(part, groups)];
    let glossary = program
        .registry
        .glossaries()
        .iter()
        .find(|glossary| glossary.strategy == part.name);
    if let Some(glossary) = glossary {
        blocks.push(format!("## Messages\n\n{}", messages(glossary)));
        if !glossary.terms.is_empty() {
            blocks.push(format!(
                "## Numbers\n\nBesides those of [every run](numbers.md):\n\n{}",
                numbers(&glossary.terms)
            ));
        }
    }
    blocks.join("\n\n")
}

fn of_part(part: &Described, groups: &Groups) -> String {
    let about = plain(part.about.trim_end_matches('.'));
    let head = format!("{}{}.", about[..1].to_uppercase(), &about[1..]);
    let fields = fields::table_of(&part.shape, groups);
    let shape = match (fields.is_empty(), items(&part.shape)) {
        (false, _) => fields,
        (true, Shape::Fields(_)) => "It has no fields.".to_owned(),
        (true, shape) => format!("It holds {}.", shape.words()),
    };
    format!("{head}\n\n{shape}")
}

fn messages(glossary: &Glossary) -> String {
    if glossary.kinds.is_empty() {
        return "It sends none.".to_owned();
    }
    let rows = glossary.kinds.iter().map(|(way, known)| {
        let counted = if known.kind.materialised {
            ""
        } else {
            " Size only: not all of its content is made."
        };
        vec![
            known.kind.phase.to_owned(),
            code(known.kind.name),
            way.as_str().to_owned(),
            known.payload.replace('|', "\\|"),
            format!("{}{counted}", plain(known.about)),
        ]
    });
    let mut rows: Vec<(usize, Vec<String>)> = glossary.kinds.iter().map(|(_, known)| known.place).zip(rows).collect();
    rows.sort_by_key(|(place, _)| *place);
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
    table(&["phase", "kind", "direction", "carries", "what it is"], &rows)
}

fn numbers_of_all() -> String {
    let rows = |all: &[(&str, &str)]| {
        let rows = all.iter().map(|(mark, about)| vec![code(mark), plain(about)]);
        table(&["in a name", "what it says"], &rows.collect::<Vec<_>>())
    };
    let prefixes = PREFIXES.map(|(prefix, _, about)| (prefix, about));
    let suffixes = SUFFIXES.map(|(suffix, _, about)| (suffix, about));
    let marks = rows(&[prefixes.as_slice(), &suffixes, &MARKS].concat());
    format!(
        "{}\n\n## What is put before and behind names\n\n{marks}",
        numbers(TERMS)
    )
}

fn numbers(terms: &[Term]) -> String {
    let rows = terms.iter().map(|term| {
        let range = match term.range {
            (Some(least), Some(most)) => format!(", {least}..={most}"),
            (Some(least), None) => format!(", at least {least}"),
            (None, Some(most)) => format!(", at most {most}"),
            (None, None) => String::new(),
        };
        let mut about = format!("{}: {}", plain(&term.words), plain(&term.about));
        if let Some(better) = term.better {
            about += &format!(" Better: {}.", self::better(better));
        }
        if !term.source.is_empty() {
            about += &format!(" ({})", plain(&term.source));
        }
        vec![code(&term.name), format!("{}{range}", unit(term.unit)), about]
    });
    table(&["number", "unit", "what it says"], &rows.collect::<Vec<_>>())
}

fn of_tables(program: &Program) -> String {
    let blocks = tables(&program.registry).into_iter().map(|(file, columns)| {
        let rows = columns
            .iter()
            .map(|column| vec![code(column.name), column.holds.to_owned(), plain(column.about)]);
        let rows: Vec<Vec<String>> = rows.collect();
        format!("## {file}\n\n{}", table(&["column", "cells", "what it is"], &rows))
    });
    blocks.collect::<Vec<String>>().join("\n\n")
}

fn of_figures(program: &Program) -> String {
    let known = program.registry.figures().known();
    let rows = known.map(|known| vec![code(known.name), known.of.to_owned(), plain(known.about)]);
    let rows: Vec<Vec<String>> = rows.collect();
    table(&["figure", "of a", "what it shows"], &rows)
}

fn cards(program: &Program) -> Result<String, Exit> {
    let mut rows = Vec::new();
    for (name, text) in program.registry.cards() {
        let scenario = check(name, &Source::new(name, text)?, &program.registry)?;
        rows.push(vec![code(name), plain(scenario.question())]);
    }
    Ok(table(&["card", "question"], &rows))
}

/// Text in a cell: what Markdown would take for its own is no longer that.
fn plain(text: &str) -> String {
    let mut is_code = false;
    let mut out = String::new();
    for c in text.chars() {
        is_code ^= c == '`';
        if c == '|' || (!is_code && matches!(c, '*' | '<' | '[' | ']')) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut lines = vec![
        format!("| {} |", header.join(" | ")),
        format!("|{}", "---|".repeat(header.len())),
    ];
    lines.extend(rows.iter().map(|row| format!("| {} |", row.join(" | "))));
    lines.join("\n")
}
