//! The page of a sweep.

use crate::ReportError;
use crate::page::{Block, Cell, Column, Page, Table};
use crate::{parts, run};
use folkmoot_metrics::figures::Figures;
use folkmoot_metrics::findings::{self, Arm};
use folkmoot_metrics::key::{base, reference_label};
use folkmoot_metrics::run_dir::MANIFEST;
use folkmoot_metrics::words::{count, counted};
use folkmoot_metrics::{Estimate, Meaning, Numbers, ReadError, RunDir, Spread, SweepDir, Unit};
use folkmoot_plots::{Drawing, pictures_of_sweep};
use std::collections::BTreeMap;

/// The figures that answer the card's question, as their names begin.
const ANSWERING: [&str; 2] = ["headline", "target-"];
/// More arms than these have no columns of their own in a table of attacks.
const MOST_COLUMNS: usize = 8;
/// So many runs of arms are read for their messages and their privacy.
const MOST_ARMS: usize = 40;

pub(crate) fn page(sweep: &SweepDir, known: &Figures) -> Result<Page, ReportError> {
    let manifest = &sweep.manifest;
    let (arms, axes) = (findings::arms(sweep), findings::axes(sweep));
    let mut page = Page::new(&manifest.name, &manifest.question, about(sweep, arms.len()));
    page.badges = badges(sweep);
    let mut blocks = Vec::new();
    let found = findings::contrasts(sweep, &arms);
    let said = findings::sentences(&found, usize::MAX);
    if !said.is_empty() {
        blocks.push(Block::List(said.clone()));
    }
    let mut pictures = pictures_of_sweep(sweep, known, &Drawing::default())?;
    // What the findings above are of; their sentences need not stand there twice.
    let answering = pictures
        .iter()
        .position(|picture| ANSWERING.iter().any(|name| picture.name.starts_with(name)));
    if let Some(at) = answering {
        let mut picture = pictures.remove(at);
        picture.notes.retain(|note| !said.contains(note));
        blocks.push(Block::Picture(picture));
    }
    blocks.push(Block::Table(headline(sweep, &arms, &axes, &found)));
    blocks.extend(targets(sweep, &arms, &axes).into_iter().map(Block::Table));
    page.add("answer", "Answer", blocks);
    page.add("warnings", "Warnings", run::warnings(&findings::warnings(sweep)?));
    page.add("figures", "Figures", pictures.into_iter().map(Block::Picture).collect());
    let runs = first_runs(sweep, &arms)?;
    page.add("messages", "Messages", messages(&arms, &axes, &runs));
    page.add("privacy", "Privacy", privacy(sweep, &arms, &axes, &runs));
    if let Some((_, first)) = runs.first() {
        let mut data = parts::data(first, known)?;
        if !data.is_empty() {
            let all = sweep.points.len();
            data.insert(
                0,
                Block::Text(format!(
                    "As in {}; the directory of each of the {} has its own.",
                    name_of(first),
                    counted(all, "point")
                )),
            );
        }
        page.add("data", "Data and clients", data);
    }
    page.add("repeat", "Repeat it", repeat(sweep));
    Ok(page)
}

fn name_of(run: &RunDir) -> String {
    run.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(crate) fn about(sweep: &SweepDir, n_arms: usize) -> String {
    let manifest = &sweep.manifest;
    let seeds: Vec<String> = manifest.seeds.iter().map(u64::to_string).collect();
    let shown = match seeds.len() {
        0..=8 => format!(" ({})", seeds.join(", ")),
        _ => String::new(),
    };
    let data: Vec<&str> = manifest.data_fingerprints.keys().map(String::as_str).collect();
    let data = if data.is_empty() {
        String::new()
    } else {
        format!(" on {}", data.join(", "))
    };
    format!(
        "{}{data}, each under {}{shown}.",
        counted(n_arms, "arm"),
        counted(seeds.len(), "seed")
    )
}

pub(crate) fn badges(sweep: &SweepDir) -> Vec<String> {
    let mut badges = Vec::new();
    badges.extend(sweep.unfinished().map(|there| format!("Not finished: {there} so far")));
    if sweep.manifest.dry_run {
        badges.push("A dry run: every message simulated, nothing learned".to_owned());
    }
    badges
}

/// A number of a sweep: what is known of it.
pub(crate) struct Known {
    pub(crate) words: String,
    unit: Unit,
    meaning: Option<Meaning>,
}

impl Known {
    /// A value of it, in its unit.
    pub(crate) fn written(&self, number: f64) -> String {
        parts::written(self.unit, number)
    }
}

pub(crate) fn known(sweep: &SweepDir, name: &str) -> Known {
    let numbers = Numbers {
        summary: &BTreeMap::new(),
        units: &sweep.manifest.units,
        terms: &sweep.manifest.terms,
    };
    let answer = numbers.answer(name);
    Known {
        words: answer.words,
        unit: sweep.manifest.units.get(base(name)).copied().unwrap_or_default(),
        meaning: answer.meaning,
    }
}

/// A mean with half of its interval below it.
pub(crate) fn cell(cell: &findings::Cell, if_none: &str) -> Cell {
    let Estimate { mean, half, unit } = &cell.estimate;
    if mean.is_empty() {
        return Cell::number(if_none, f64::NAN);
    }
    Cell {
        detail: half.as_ref().map_or(String::new(), |half| format!("± {half}")),
        ..Cell::number(format!("{mean}{unit}"), cell.mean)
    }
}

/// What an arm is called.
pub(crate) fn label(values: &[String]) -> String {
    match values {
        [] => "the only arm".to_owned(),
        values => values.join(", "),
    }
}

fn of_arm(arm: &Arm<'_>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = arm
        .values
        .iter()
        .map(|text| match text.parse::<f64>() {
            Ok(value) => Cell::number(text, value),
            Err(_) => Cell::text(text),
        })
        .collect();
    if let Some(last) = cells.last_mut().filter(|_| arm.is_warned()) {
        last.detail = "with warnings".to_owned();
    }
    cells
}

/// The headline by arm, each number with its references below.
fn headline(sweep: &SweepDir, arms: &[Arm<'_>], axes: &[&str], found: &[findings::Finding]) -> Table {
    let columns = findings::columns(sweep, arms);
    let mut heads: Vec<Column> = axes.iter().map(|axis| Column::text(axis)).collect();
    let mut rows: Vec<Vec<Cell>> = arms.iter().map(of_arm).collect();
    // A reference that is the same for all arms needs no column.
    let mut common: Vec<String> = Vec::new();
    for column in &columns {
        let known = known(sweep, &column.name);
        if let Some((metric, label)) = &column.reference {
            let first = &column.cells[0];
            if arms.len() > 1 && column.cells.iter().all(|cell| cell.mean == first.mean) {
                let of = findings::small(sweep.manifest.terms.get(base(metric)), metric);
                common.push(format!("{} of {of}: {}", label.replace('_', " "), first.estimate));
                continue;
            }
        }
        let text = match &column.reference {
            Some((_, label)) => format!("… {}", label.replace('_', " ")),
            None => known.words.clone(),
        };
        heads.push(Column {
            about: known.meaning.as_ref().map_or(String::new(), Meaning::sentences),
            ..Column::number(&text)
        });
        for (i, row) in rows.iter_mut().enumerate() {
            let if_none = if column.reference.is_some() { "–" } else { "n/a" };
            let mut cell = cell(&column.cells[i], if_none);
            if column.reference.is_some() {
                cell.detail.clear();
            }
            cell.is_best = column.best.contains(&i);
            row.push(cell);
        }
        if let Some(finding) = found.iter().find(|finding| finding.metric == column.name) {
            heads.push(Column::number("Difference"));
            for (i, row) in rows.iter_mut().enumerate() {
                let own = finding.differences.iter().find(|one| one.arms[0] == i);
                row.push(own.map_or(Cell::number("–", f64::NAN), |one| {
                    Cell::number(finding.cell(one), one.paired.mean)
                }));
            }
        }
    }
    let mut table = Table::new("The answer by arm", heads, rows, "points.csv");
    if !common.is_empty() {
        table
            .notes
            .push(format!("The same for all arms: {}.", common.join("; ")));
    }
    table.notes.push(
        "Means over seeds, with the half-width of the 95 % confidence interval (Student's t) below. Bold: the best, and what is not \
         significantly worse."
            .to_owned(),
    );
    if !found.is_empty() {
        table.notes.push(
            "Differences are from the baseline that the card names, paired by seed. *: p < 0.05 after Holm's correction for the arms that are compared, or the same difference under each of three seeds or more; intervals are not corrected."
                .to_owned(),
        );
    }
    table
}

/// What each target took.
fn targets(sweep: &SweepDir, arms: &[Arm<'_>], axes: &[&str]) -> Vec<Table> {
    let table = |reached: findings::Reached| {
        let heads = ["Virtual time", "Bytes on the wire", "Rounds"].map(Column::number);
        let heads = axes
            .iter()
            .map(|axis| Column::text(axis))
            .chain([Column::text("Reached")])
            .chain(heads);
        let row = |(arm, ([n, of], took)): (&Arm<'_>, &([usize; 2], [findings::Cell; 3]))| {
            let took = took.iter().map(|took| cell(took, "not reached"));
            let cells = of_arm(arm)
                .into_iter()
                .chain([Cell::text(format!("{n} of {of} seeds"))])
                .chain(took);
            cells.collect()
        };
        let rows = arms.iter().zip(&reached.arms).map(row).collect();
        let term = sweep.manifest.terms.get(base(&reached.score));
        let caption = format!("To {} {}", findings::small(term, &reached.score), reached.value);
        let mut table = Table::new(&caption, heads.collect(), rows, "points.csv");
        table.notes.push("Means over the seeds that reached it.".to_owned());
        table
    };
    findings::targets(sweep, arms).into_iter().map(table).collect()
}

/// The run of each arm under its first seed, as far as they are there: a sweep may have been copied
/// without its runs.
fn first_runs<'a>(sweep: &SweepDir, arms: &[Arm<'a>]) -> Result<Vec<(&'a [String], RunDir)>, ReadError> {
    let points = sweep.manifest.points();
    let dir = |arm: &Arm<'a>| {
        let point = points.get(arm.rows.first()?.point as usize)?;
        let dir = sweep.manifest.point_path(&sweep.path, point);
        dir.join(MANIFEST).is_file().then_some((arm.values, dir))
    };
    let there = arms.iter().take(MOST_ARMS).filter_map(dir);
    there.map(|(values, dir)| Ok((values, RunDir::open(&dir)?))).collect()
}

/// What is said of tables that hold the first run of each arm.
fn of_first(arms: &[Arm<'_>], runs: &[(&[String], RunDir)]) -> String {
    let seed = runs.first().map_or(0, |(_, run)| run.manifest.seed);
    let left = match arms.len() - runs.len() {
        0 => String::new(),
        n => format!(" {} are left out.", counted(n, "arm")),
    };
    format!("Of the run of each arm under its first seed, {seed}.{left}")
}

fn messages(arms: &[Arm<'_>], axes: &[&str], runs: &[(&[String], RunDir)]) -> Vec<Block> {
    let of_arms = runs
        .iter()
        .map(|(values, run)| (values.to_vec(), run.tables.messages.as_slice()))
        .collect();
    let table = parts::messages(axes, &of_arms);
    let told = table.map(|mut table| {
        table.notes.push(of_first(arms, runs));
        Block::Table(table)
    });
    told.into_iter().collect()
}

fn privacy(sweep: &SweepDir, arms: &[Arm<'_>], axes: &[&str], runs: &[(&[String], RunDir)]) -> Vec<Block> {
    let of_arms = runs
        .iter()
        .map(|(values, run)| (values.to_vec(), run.tables.privacy.as_slice()))
        .collect();
    let mut blocks = Vec::new();
    if let Some(said) = parts::unprotected(runs.iter().flat_map(|(_, run)| &run.tables.privacy)) {
        blocks.push(Block::Text(said));
    } else if let Some(mut table) = parts::privacy(axes, &of_arms) {
        table.notes.push(of_first(arms, runs));
        blocks.push(Block::Table(table));
    }
    blocks.extend(attacks(sweep, arms, axes).map(Block::Table));
    if blocks.is_empty() {
        blocks.push(Block::Text(parts::NO_PRIVACY.to_owned()));
    }
    blocks
}

/// What attackers have reached: a column for each of a few arms, otherwise a row for each arm.
fn attacks(sweep: &SweepDir, arms: &[Arm<'_>], axes: &[&str]) -> Option<Table> {
    let names = sweep.points.iter().flat_map(|row| row.summary.keys());
    let names = parts::attacks(names, &sweep.manifest.terms);
    let is_matrix = (2..=MOST_COLUMNS).contains(&arms.len()) && names.len() > 1;
    let mut rows = Vec::new();
    for name in names {
        let known = known(sweep, name);
        let Some(meaning) = &known.meaning else { continue };
        let mut row: Vec<Cell> = Vec::new();
        for arm in arms {
            let numbers = arm.numbers(name);
            if numbers.is_empty() {
                row.extend(is_matrix.then(|| Cell::number("–", f64::NAN)));
                continue;
            }
            let reached = reached(sweep, arm, name, &known);
            let mean = Spread::of(&numbers).mean;
            if is_matrix {
                row.push(reached);
                continue;
            }
            let mut cells = parts::attack(&known.words, reached, mean, meaning);
            // What it is is said once for all arms.
            if arm.values != arms[0].values {
                cells[0].detail.clear();
            }
            rows.push(of_arm(arm).into_iter().chain(cells).collect());
        }
        if is_matrix {
            let [name, blind] = parts::attacked(&known.words, meaning);
            rows.push([name, blind].into_iter().chain(row).collect());
        }
    }
    if rows.is_empty() {
        return None;
    }
    let columns = match is_matrix {
        true => {
            let names = arms.iter().map(|arm| Column::number(&label(arm.values)));
            let first = [Column::text("Attack"), Column::number("Blind guess")];
            first.into_iter().chain(names).collect()
        }
        false => parts::attack_columns(axes),
    };
    let mut table = Table::new("What attackers have reached", columns, rows, "points.csv");
    table.notes.push(parts::OF_ATTACKS.to_owned());
    Some(table)
}

/// What an attacker reached in an arm, with the references of that number.
fn reached(sweep: &SweepDir, arm: &Arm<'_>, name: &str, known: &Known) -> Cell {
    let references = arm.rows.first().into_iter().flat_map(|row| row.summary.keys());
    let references = references.filter_map(|other| {
        let label = reference_label(other, name)?.replace('_', " ");
        Some((label, Spread::of(&arm.numbers(other)).mean))
    });
    let references: Vec<(String, f64)> = references.collect();
    let mut reached = cell(&arm.cell(name, known.unit, sweep), "");
    let details = [reached.detail, parts::list(known.unit, &references)];
    reached.detail = (details.into_iter().filter(|detail| !detail.is_empty()))
        .collect::<Vec<_>>()
        .join("; ");
    reached
}

pub(crate) fn repeat(sweep: &SweepDir) -> Vec<Block> {
    let manifest = &sweep.manifest;
    let mut facts = vec![
        ("Version".to_owned(), manifest.version.clone()),
        ("Target".to_owned(), manifest.target.clone()),
        ("Points".to_owned(), count(manifest.n_points() as u64)),
    ];
    let prints = manifest.data_fingerprints.iter();
    facts.extend(prints.map(|(name, print)| (format!("Fingerprint of {name}"), print.clone())));
    vec![Block::Code(manifest.command.clone()), Block::Facts(facts)]
}
