//! What numbers, messages and columns are called and mean, looked up by name.

use crate::algorithm::Algorithm;
use crate::registry::Registry;
use crate::summary::TERMS;
use crate::text::suggest;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::Tables;
use folkmoot_metrics::figures::is_called;
use folkmoot_metrics::key::{MetricKey, PREFIXES, base};
use folkmoot_metrics::run_dir::ARTIFACTS;
use folkmoot_metrics::sweep_dir::{POINTS, POINTS_COLUMNS};
use folkmoot_metrics::table::Column;
use folkmoot_metrics::term::{Answering, find};
use folkmoot_metrics::trace::{self, TRACE};

/// What a strategy says of its numbers and messages.
pub struct Glossary {
    pub strategy: &'static str,
    /// What its numbers mean; empty if it says nothing.
    pub terms: Vec<Term>,
    /// Its messages and which way they go.
    pub kinds: Vec<(Direction, Declared)>,
}

impl Glossary {
    pub(crate) fn of<P: Algorithm>() -> Self {
        fn kinds<W: Wire>(way: Direction) -> impl Iterator<Item = (Direction, Declared)> {
            W::KINDS.iter().map(move |declared| (way, *declared))
        }
        Glossary {
            strategy: P::NAME,
            terms: P::default().about().terms,
            kinds: kinds::<<P::Strategy as Strategy>::Down>(Direction::Downlink)
                .chain(kinds::<<P::Strategy as Strategy>::Up>(Direction::Uplink))
                .chain(kinds::<<P::Strategy as Strategy>::Peer>(Direction::Peer))
                .collect(),
        }
    }

    /// Adds what the numbers of attacks mean, if it can be attacked.
    pub(crate) fn add(&mut self, is_attacked: bool, terms: &[Term]) {
        // Without terms of its own it says nothing of its numbers, and is not asked.
        if is_attacked && !self.terms.is_empty() {
            self.terms.extend_from_slice(terms);
        }
    }

    /// What a number of its runs means; `None` if they have none of that name.
    pub fn number(&self, metric: &str) -> Option<Term> {
        let name = base(metric);
        let of_messages = || {
            let kind = name.strip_suffix("_messages").or(name.strip_suffix("_payload_bytes"));
            kind.is_none_or(|kind| self.kinds.iter().any(|(_, known)| known.kind.name == kind))
        };
        let is_exact = TERMS.iter().any(|term| term.name == name);
        // Totals of a run are not those of a part of the data.
        let is_of_part = MetricKey::parse(name).split.is_some();
        let every = || find(TERMS, name).filter(|_| is_exact || !is_of_part && of_messages());
        find(&self.terms, name).or_else(every)
    }

    /// Every name that is no pattern, with those of the parts of the data.
    fn names(&self) -> Vec<String> {
        let totals = TERMS.iter().map(|term| term.name.to_string());
        let all = self.scores().into_iter().chain(totals);
        all.filter(|name| !name.contains('*')).collect()
    }

    /// Every name that may be that of a score, which is none of a run's totals: its own, and with
    /// those of the parts of the data.
    fn scores(&self) -> Vec<String> {
        let plain = self.terms.iter().map(|term| &*term.name);
        let plain: Vec<&str> = plain.filter(|name| !name.contains('*')).collect();
        let parts = PREFIXES
            .iter()
            .flat_map(|(prefix, ..)| plain.iter().map(move |name| format!("{prefix}{name}")));
        plain.iter().map(|name| (*name).to_owned()).chain(parts).collect()
    }
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// A number of a run; of these strategies, or of every one where none is named.
    Number(Term, Vec<&'static str>),
    /// A kind of message of a strategy.
    Message(Direction, Declared, &'static str),
    /// A column of a table: the table's file, and the column.
    Column(String, Column),
    /// A table: its file, and its columns.
    Table(String, Vec<Column>),
    /// The trace: its file, and what stands in it.
    Trace(&'static str, &'static [(&'static str, &'static str)]),
}

/// Everything but fields and parts of cards that is called so.
pub fn look_up(name: &str, registry: &Registry) -> Vec<Word> {
    let mut words = Vec::new();
    let mut numbers: Vec<(Term, Vec<&'static str>)> = Vec::new();
    if let Some(term) = TERMS.iter().find(|term| term.name == base(name)) {
        numbers.push((term.clone(), Vec::new()));
    } else {
        for glossary in registry.glossaries() {
            let Some(term) = glossary.number(name) else { continue };
            match numbers.iter_mut().find(|(known, _)| *known == term) {
                Some((_, of)) => of.push(glossary.strategy),
                None => numbers.push((term, vec![glossary.strategy])),
            }
        }
    }
    words.extend(numbers.into_iter().map(|(term, of)| Word::Number(term, of)));
    for glossary in registry.glossaries() {
        let kinds = glossary.kinds.iter().filter(|(_, known)| known.kind.name == name);
        words.extend(kinds.map(|(way, kind)| Word::Message(*way, *kind, glossary.strategy)));
    }
    if ["trace", TRACE].contains(&name) {
        words.push(Word::Trace(TRACE, trace::LINES));
    }
    for (file, columns) in tables(registry) {
        let (_, last) = file.rsplit_once('/').unwrap_or(("", &file));
        if file == name || name.ends_with(".csv") && is_called(last, name) {
            words.push(Word::Table(file, columns));
        } else {
            let is_named = |known: &str| known == name || known.contains('*') && is_called(known, name);
            let named = columns.into_iter().filter(|column| is_named(column.name));
            words.extend(named.map(|column| Word::Column(file.clone(), column)));
        }
    }
    words
}

/// The tables of run and sweep directories by their paths there, each with its columns; `*` stands
/// for a metric.
pub fn tables(registry: &Registry) -> Vec<(String, Vec<Column>)> {
    let of_run = Tables::ALL
        .iter()
        .map(|table| (table.file.to_owned(), (table.columns)()));
    let artifacts = registry.artifact_tables().iter();
    let artifacts = artifacts.map(|table| (format!("{ARTIFACTS}/{}", table.file), table.columns.to_vec()));
    let points = (POINTS.to_owned(), POINTS_COLUMNS.to_vec());
    of_run.chain(artifacts).chain([points]).collect()
}

/// What is wrong with the name of a score that is to be reached; `None` if one of the strategies
/// may have it, or says nothing of its numbers.
pub fn no_score(score: &str, strategies: &[String], registry: &Registry) -> Option<String> {
    let (mut known, mut wrong) = (Vec::new(), None);
    for glossary in of_all(strategies, registry)? {
        if let Some(term) = find(&glossary.terms, score) {
            let part = missing_part(&term)?;
            wrong = Some(format!("is scored on parts of the data; name one: `{part}{score}`"));
        }
        known.extend(glossary.scores());
    }
    if wrong.is_some() {
        return wrong;
    }
    let of = strategies.join(" or ");
    Some(match TERMS.iter().any(|term| term.name == score) {
        true => "is a total of the run, and no score of a round".to_owned(),
        false => format!("no run of {of} has a score `{score}`{}", near(score, &known)),
    })
}

/// The part of the data that the name of a model's score leaves out, if it does: a model is scored
/// on parts, and what looks at all is called by itself.
fn missing_part(term: &Term) -> Option<&'static str> {
    let is_of_model = term.scored.is_some_and(|scored| scored.model != Answering::Probe);
    let has_part = MetricKey::parse(&term.name).split.is_some();
    (is_of_model && !has_part).then_some("test_")
}

/// What strategies say of their numbers; `None` if one says nothing.
fn of_all<'a>(strategies: &[String], registry: &'a Registry) -> Option<Vec<&'a Glossary>> {
    let of = |strategy: &String| {
        let mut all = registry.glossaries().iter();
        all.find(|glossary| glossary.strategy == strategy && !glossary.terms.is_empty())
    };
    strategies.iter().map(of).collect()
}

/// The name that is meant, if one is near: a list of all would be longer than the card.
fn near(name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = suggest(name, &known);
    match near.contains("did you mean") {
        true => near,
        false => String::new(),
    }
}

/// What is wrong with the name of a number that none of the strategies has; `None` if one has it,
/// or says nothing of its numbers.
pub fn unknown(metric: &str, strategies: &[String], registry: &Registry) -> Option<String> {
    let mut known = Vec::new();
    for glossary in of_all(strategies, registry)? {
        if glossary.number(metric).is_some() {
            return None;
        }
        known.extend(glossary.names());
    }
    Some(format!(
        "no run of {} has a number `{metric}`{}",
        strategies.join(" or "),
        near(metric, &known)
    ))
}
