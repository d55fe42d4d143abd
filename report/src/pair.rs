//! The page of two results beside each other: settings that differ, numbers with differences,
//! figures in pairs.

use crate::page::{Block, Cell, Column, Page, Table};
use crate::{Difference, ReportError, parts, run, sweep};
use folkmoot_metrics::figures::Figures;
use folkmoot_metrics::key::is_reference;
use folkmoot_metrics::words::{bytes, count, digits};
use folkmoot_metrics::{Direction, MessageRow, RunDir, Spread, SweepDir, findings, totals};
use folkmoot_plots::{Drawing, Picture, pictures_of_sweep};
use std::collections::BTreeSet;
use std::path::Path;

/// What the two are called.
const NAMES: [&str; 2] = ["A", "B"];

pub(crate) fn runs(a: &RunDir, b: &RunDir, known: &Figures, differences: &[Difference]) -> Result<Page, ReportError> {
    let both = [a, b];
    let mut page = titled(
        both.map(|run| run.manifest.name.as_str()),
        both.map(|run| run.manifest.question.as_str()),
    );
    page.badges = marked(both.map(run::badges));
    page.add(
        "runs",
        "The two",
        vec![Block::Facts(named(both.map(|run| {
            format!("{}, {}: {}", name_of(&run.path), run.manifest.name, run::about(run))
        })))],
    );
    page.add("asked", "Settings that differ", asked(differences));
    page.add("answer", "Numbers", vec![Block::Table(numbers(both))]);
    page.add(
        "warnings",
        "Warnings",
        run::warnings(&marked(both.map(|run| run.manifest.warnings.clone()))),
    );
    page.add(
        "messages",
        "Messages",
        messages(both).into_iter().map(Block::Table).collect(),
    );
    let [of_a, of_b] = [a, b].map(|run| -> Result<_, ReportError> {
        let mut pictures = parts::figures(run, known)?;
        pictures.extend(parts::partition(run, known)?);
        Ok(pictures)
    });
    page.add("figures", "Figures", pairs(of_a?, of_b?));
    page.add(
        "repeat",
        "Repeat them",
        both.into_iter().flat_map(run::repeat).collect(),
    );
    Ok(page)
}

pub(crate) fn sweeps(
    a: &SweepDir,
    b: &SweepDir,
    known: &Figures,
    differences: &[Difference],
) -> Result<Page, ReportError> {
    let both = [a, b];
    let mut page = titled(
        both.map(|of| of.manifest.name.as_str()),
        both.map(|of| of.manifest.question.as_str()),
    );
    page.badges = marked(both.map(sweep::badges));
    let about = |of: &SweepDir| {
        let about = sweep::about(of, findings::arms(of).len());
        format!("{}, {}: {about}", name_of(&of.path), of.manifest.name)
    };
    page.add("runs", "The two", vec![Block::Facts(named(both.map(about)))]);
    page.add("asked", "Settings that differ", asked(differences));
    page.add("answer", "Numbers by arm", vec![Block::Table(by_arm(both))]);
    let [of_a, of_b] = both.map(findings::warnings);
    page.add("warnings", "Warnings", run::warnings(&marked([of_a?, of_b?])));
    let draw = |of: &SweepDir| pictures_of_sweep(of, known, &Drawing::default());
    page.add("figures", "Figures", pairs(draw(a)?, draw(b)?));
    page.add(
        "repeat",
        "Repeat them",
        both.into_iter().flat_map(sweep::repeat).collect(),
    );
    Ok(page)
}

/// What a folder is called, wherever it lies.
fn name_of(dir: &Path) -> String {
    dir.file_name()
        .unwrap_or(dir.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn titled(names: [&str; 2], questions: [&str; 2]) -> Page {
    let name = match names[0] == names[1] {
        true => names[0].to_owned(),
        false => names.join(" and "),
    };
    let question = match questions[0] == questions[1] {
        true => questions[0].to_owned(),
        false => format!("{} side by side", names.join(" and ")),
    };
    Page::new(&name, &question, "Two results side by side.".to_owned())
}

fn named(said: [String; 2]) -> Vec<(String, String)> {
    NAMES.iter().map(|name| (*name).to_owned()).zip(said).collect()
}

fn marked(said: [Vec<String>; 2]) -> Vec<String> {
    let marked = NAMES
        .iter()
        .zip(said)
        .flat_map(|(name, said)| said.into_iter().map(move |said| format!("{name}: {said}")));
    marked.collect()
}

fn asked(differences: &[Difference]) -> Vec<Block> {
    if differences.is_empty() {
        return vec![Block::Text(
            "No field of the two scenarios, as far as both can be read.".to_owned(),
        )];
    }
    let cell = |value: &Option<String>| Cell::text(value.as_deref().unwrap_or("–"));
    let row = |(path, a, b): &Difference| vec![Cell::text(path), cell(a), cell(b)];
    let columns = [Column::text("Field"), Column::text("A"), Column::text("B")];
    let rows = differences.iter().map(row).collect();
    vec![Block::Table(Table::new(
        "Fields of the two scenarios that differ",
        columns.into(),
        rows,
        "scenario.ron",
    ))]
}

/// A value of each, and by how much the second is more.
fn values(both: [Option<f64>; 2], written: &dyn Fn(f64) -> String) -> Vec<Cell> {
    let cell = |value: Option<f64>| Cell::number(value.map_or("–".to_owned(), written), value.unwrap_or(f64::NAN));
    let [a, b] = both;
    let difference = a.zip(b).map(|(a, b)| b - a).filter(|difference| !difference.is_nan());
    let share = a
        .zip(difference)
        .map(|(a, difference)| 100.0 * difference / a.abs())
        .filter(|share| share.is_finite());
    let signed = |difference: f64| match difference {
        0.0 => "0".to_owned(),
        more if more > 0.0 => format!("+{}", digits(more)),
        less => digits(less),
    };
    vec![
        cell(a),
        cell(b),
        Cell {
            detail: share
                .filter(|share| *share != 0.0)
                .map_or(String::new(), |share| format!("{share:+.2} %")),
            ..Cell::number(
                difference.map_or("–".to_owned(), signed),
                difference.unwrap_or(f64::NAN),
            )
        },
    ]
}

fn columns(first: &[&str]) -> Vec<Column> {
    let numbers = ["A", "B", "B − A"].map(Column::number);
    first.iter().map(|name| Column::text(name)).chain(numbers).collect()
}

/// Every number of both, those that answer the question first.
fn numbers(both: [&RunDir; 2]) -> Table {
    let mut names: Vec<String> = both.into_iter().flat_map(run::names).collect();
    let all: BTreeSet<&String> = both.iter().flat_map(|run| run.summary.keys()).collect();
    names.extend(all.into_iter().filter(|name| !is_reference(name)).cloned());
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()) && both.iter().any(|run| run.summary.contains_key(name)));
    let row = |name: &String| {
        let of = both
            .iter()
            .find(|run| run.summary.contains_key(name))
            .unwrap_or(&both[0]);
        let answer = of.numbers().answer(name);
        let first = Cell {
            detail: name.clone(),
            ..Cell::text(answer.words)
        };
        let cells = values(both.map(|run| run.summary.get(name).copied()), &|value| {
            parts::written(answer.unit, value)
        });
        std::iter::once(first).chain(cells).collect()
    };
    Table::new(
        "Those that answer the question first",
        columns(&["Number"]),
        names.iter().map(row).collect(),
        "summary.json",
    )
}

/// The means of every headline number of every arm.
fn by_arm(both: [&SweepDir; 2]) -> Table {
    let arms = both.map(findings::arms);
    let mut names: Vec<String> = Vec::new();
    let mut labels: Vec<&[String]> = Vec::new();
    for (of, arms) in both.iter().zip(&arms) {
        let columns = findings::columns(of, arms)
            .into_iter()
            .filter(|column| column.reference.is_none());
        names.extend(columns.map(|column| column.name));
        labels.extend(arms.iter().map(|arm| arm.values));
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let mut seen = BTreeSet::new();
    labels.retain(|label| seen.insert(*label));
    let mut rows = Vec::new();
    for name in &names {
        let known = sweep::known(both[0], name);
        for label in &labels {
            let mean = |at: usize| {
                let arm = arms[at].iter().find(|arm| arm.values == *label)?;
                Some(Spread::of(&arm.numbers(name)).mean).filter(|mean| !mean.is_nan())
            };
            let first = Cell {
                detail: name.clone(),
                ..Cell::text(&known.words)
            };
            let cells = values([mean(0), mean(1)], &|value| known.written(value));
            rows.push(
                [first, Cell::text(sweep::label(label))]
                    .into_iter()
                    .chain(cells)
                    .collect(),
            );
        }
    }
    Table::new("Means over seeds", columns(&["Number", "Arm"]), rows, "points.csv")
}

/// What both have sent of each kind.
fn messages(both: [&RunDir; 2]) -> Option<Table> {
    let sums = both.map(|run| totals(&run.tables.messages));
    let key = |row: &MessageRow| (row.phase.clone(), row.kind.clone(), row.direction);
    let mut kinds: Vec<(String, String, Direction)> = Vec::new();
    for row in sums.iter().flatten() {
        if !kinds.contains(&key(row)) {
            kinds.push(key(row));
        }
    }
    let rows = kinds.iter().map(|kind| {
        let of = |at: usize| sums[at].iter().find(|row| key(row) == *kind);
        let first = Cell {
            detail: format!("{}, {}", kind.0.replace('_', " "), kind.2.as_str()),
            ..Cell::text(kind.1.replace('_', " "))
        };
        let sent = values([0, 1].map(|at| of(at).map(|row| row.sent as f64)), &|n| count(n as u64));
        let wire = |row: &MessageRow| row.payload_bytes as f64 + row.header_bytes as f64;
        let wire = [0, 1].map(|at| of(at).map(wire));
        let wire = wire.map(|n| Cell::number(n.map_or("–".to_owned(), |n| bytes(n as u64)), n.unwrap_or(f64::NAN)));
        std::iter::once(first).chain(sent).chain(wire).collect()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let heads = ["Sent, A", "Sent, B", "B − A", "Bytes, A", "Bytes, B"].map(Column::number);
    let heads = std::iter::once(Column::text("Kind")).chain(heads);
    (!rows.is_empty()).then(|| Table::new("Messages by kind", heads.collect(), rows, "messages.csv"))
}

/// Figures of one name beside each other.
fn pairs(a: Vec<Picture>, b: Vec<Picture>) -> Vec<Block> {
    let mut left: Vec<Option<Picture>> = b.into_iter().map(Some).collect();
    let mut blocks = Vec::new();
    for picture in a {
        let twin = left
            .iter_mut()
            .find(|other| other.as_ref().is_some_and(|other| other.name == picture.name));
        blocks.push([Some(picture), twin.and_then(Option::take)]);
    }
    blocks.extend(left.into_iter().flatten().map(|alone| [None, Some(alone)]));
    let pair =
        |pair: [Option<Picture>; 2]| Block::Pair(NAMES.iter().map(|name| (*name).to_owned()).zip(pair).collect());
    blocks.into_iter().map(pair).collect()
}
