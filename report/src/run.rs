//! The page of a run.

use crate::ReportError;
use crate::page::{Block, Cell, Page, Table};
use crate::parts;
use folkmoot_metrics::figures::Figures;
use folkmoot_metrics::words::{count, digits};
use folkmoot_metrics::{RunDir, answers, has_durations};

/// What is said of a run of a card without a headline.
const USUAL: [&str; 4] = ["messages_sent", "messages_dropped", "payload_bytes", "virtual_s"];

pub(crate) fn page(run: &RunDir, known: &Figures) -> Result<Page, ReportError> {
    let manifest = &run.manifest;
    let mut page = Page::new(&manifest.name, &manifest.question, about(run));
    page.badges = badges(run);
    let names = names(run);
    let answers = names
        .iter()
        .map(|name| parts::answered(run.numbers().answer(name), manifest.finished));
    page.add("answer", "Answer", vec![Block::Answers(answers.collect())]);
    page.add("warnings", "Warnings", warnings(&manifest.warnings));
    let figures = parts::figures(run, known)?.into_iter().map(Block::Picture);
    page.add("figures", "Figures", figures.collect());
    let messages = parts::messages(&[], &vec![(Vec::new(), run.tables.messages.as_slice())]);
    page.add("messages", "Messages", messages.into_iter().map(Block::Table).collect());
    page.add("privacy", "Privacy", privacy(run));
    page.add("data", "Data and clients", parts::data(run, known)?);
    page.add(
        "numbers",
        "All numbers",
        parts::numbers(run).into_iter().map(Block::Table).collect(),
    );
    page.add("repeat", "Repeat it", repeat(run));
    Ok(page)
}

/// The names of the numbers that answer its question.
pub(crate) fn names(run: &RunDir) -> Vec<String> {
    match run.manifest.headline.as_slice() {
        [] => answers(&USUAL.map(str::to_owned), &run.summary),
        headline => answers(headline, &run.summary),
    }
}

/// What was run, in a line.
pub(crate) fn about(run: &RunDir) -> String {
    let manifest = &run.manifest;
    let data: Vec<&str> = manifest.data_fingerprints.keys().map(String::as_str).collect();
    let n_clients = manifest
        .division
        .as_ref()
        .map_or(run.tables.clients.len() as u64, |division| division.clients);
    let clients = match n_clients {
        0 => String::new(),
        n => format!("{} clients on ", count(n)),
    };
    let virtual_s = run
        .summary
        .get("virtual_s")
        .or(run.tables.rounds.last().map(|row| &row.virtual_s));
    let time = match virtual_s {
        Some(seconds) if has_durations(*seconds) => format!(" in {} s of virtual time", digits(*seconds)),
        _ => String::new(),
    };
    format!(
        "{clients}{}, {} rounds{time}, seed {}.",
        data.join(", "),
        count(run.tables.rounds.len() as u64),
        manifest.seed
    )
}

/// What is to be known of all numbers of the run.
pub(crate) fn badges(run: &RunDir) -> Vec<String> {
    let mut badges = Vec::new();
    if !run.manifest.finished {
        badges.push(format!(
            "Not finished: {} rounds so far",
            count(run.tables.rounds.len() as u64)
        ));
    }
    if run.manifest.dry_run {
        badges.push("A dry run: every message simulated, nothing learned".to_owned());
    }
    if run.summary.get("virtual_s").is_some_and(|end| !has_durations(*end)) {
        badges.push("An ideal world, where nothing takes time".to_owned());
    }
    badges
}

pub(crate) fn warnings(warnings: &[String]) -> Vec<Block> {
    match warnings {
        [] => Vec::new(),
        warnings => vec![Block::Warnings(warnings.to_vec())],
    }
}

/// Claimed beside spent, and what attackers have reached.
fn privacy(run: &RunDir) -> Vec<Block> {
    let spent = match parts::unprotected(run.tables.privacy.iter()) {
        Some(said) => Some(Block::Text(said)),
        None => parts::privacy(&[], &vec![(Vec::new(), run.tables.privacy.as_slice())]).map(Block::Table),
    };
    let numbers = run.numbers();
    let row = |name: &String| {
        let answer = numbers.answer(name);
        let reached = Cell {
            detail: parts::list(answer.unit, &answer.references),
            ..Cell::number(parts::written(answer.unit, answer.value?), answer.value?)
        };
        Some(parts::attack(
            &answer.words,
            reached,
            answer.value?,
            answer.meaning.as_ref()?,
        ))
    };
    let rows: Vec<_> = parts::attacks(run.summary.keys(), numbers.terms)
        .into_iter()
        .filter_map(row)
        .collect();
    let mut blocks: Vec<Block> = spent.into_iter().collect();
    if !rows.is_empty() {
        let mut table = Table::new(
            "What attackers have reached",
            parts::attack_columns(&[]),
            rows,
            "summary.json",
        );
        table.notes.push(parts::OF_ATTACKS.to_owned());
        blocks.push(Block::Table(table));
    }
    if blocks.is_empty() {
        blocks.push(Block::Text(parts::NO_PRIVACY.to_owned()));
    }
    blocks
}

/// The command, and what it must give again.
pub(crate) fn repeat(run: &RunDir) -> Vec<Block> {
    let manifest = &run.manifest;
    let mut facts = vec![
        ("Version".to_owned(), manifest.version.clone()),
        ("Target".to_owned(), manifest.target.clone()),
        ("Fingerprint of the result".to_owned(), fingerprint(run)),
    ];
    let prints = manifest.data_fingerprints.iter();
    facts.extend(prints.map(|(name, print)| (format!("Fingerprint of {name}"), print.clone())));
    let mut said: Vec<String> = manifest.notes.clone();
    said.extend(manifest.trusted.iter().map(|what| format!("Trusted: {what}")));
    if let Some(parent) = &manifest.parent {
        said.push(format!("Begun with the state that {} had saved.", parent.dir));
    }
    let mut blocks = vec![Block::Code(manifest.command.clone()), Block::Facts(facts)];
    if !said.is_empty() {
        blocks.push(Block::List(said));
    }
    blocks
}

fn fingerprint(run: &RunDir) -> String {
    let print = run.manifest.result_fingerprint.clone();
    print.unwrap_or_else(|| "none: the run is not finished".to_owned())
}
