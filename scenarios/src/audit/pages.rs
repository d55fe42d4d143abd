//! The findings as text: pages of Markdown that are kept beside the cards, and a table for other
//! programs.

use super::baseline::NO_VERDICT;
use super::overall::Difference;
use super::{Audited, Evidence, Finding, Verdict, spread_text};
use crate::claims::{Against, Cells, Change, Claim, Figure, Kind, Measure, Panel, Table, Test};
use crate::registry::Registry;
use crate::text::Problems;
use folkmoot_metrics::figure::{TableCurve, TableFigure, TablePanel};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The summary: the main finding of each paper and how many of its claims hold. The page of each
/// paper lies in its folder.
pub fn summary(audited: &[Audited]) -> String {
    // Own controls are no claims of a paper.
    let published = |claim: &Claim| claim.kind != Kind::Control;
    let all = || {
        audited
            .iter()
            .flat_map(Audited::rows)
            .filter(|(claim, _)| published(claim))
    };
    let n_controls = audited.iter().flat_map(Audited::rows).count() - all().count();
    let n = |is: &dyn Fn(Verdict) -> bool| all().filter(|(_, finding)| is(finding.verdict)).count();
    let [reproduced, contradicted] = [&Verdict::is_reproduced as &dyn Fn(Verdict) -> bool, &|verdict| {
        verdict == Verdict::Refuted
    }]
    .map(n);
    let undecided = n(&|verdict| !verdict.is_decided());
    let of = |verdict: Verdict| n(&|other| other == verdict);
    let mut page = format!(
        "# Results: what reproduces, and what does not\n\n\
         We repeated experiments of papers on federated graph learning: {} groups with {} claims.\n\
         **{reproduced} reproduced, {contradicted} were contradicted, {undecided} are undecided.** A further {n_controls} statements\n\
         are controls of our own, which a paper should have tested. They are counted separately.\n\n\
         ![Verdicts by paper](figures/verdicts.svg)\n\n\
         ## Main findings\n\n",
        audited.len(),
        all().count(),
    );
    for (one, i) in audited.iter().filter(|one| !one.claims.finding.is_empty()).zip(1..) {
        let finding = filled(one, &one.claims.finding);
        let link = format!("→ [{}]({}/results.md)", one.claims.system, one.claims.name);
        let _ = writeln!(page, "{}", wrapped(&format!("{i}. {finding} {link}"), "   "));
    }
    page += "\nAccuracy and AUC run from 0 to 1; a percentage point is 0.01 of them.\n\
         `±` is the half-width of the 95 % confidence interval over seeds (Student's t), paired where two\n\
         runs are compared.\n\n\
         ## By group of papers\n\n\
         Each entry reads *reproduced / contradicted / undecided*.\n\n\
         | group | statements | table cells | own controls |\n|---|--:|--:|--:|\n";
    for one in audited {
        let cells = Kind::ALL.map(|kind| {
            let rows: Vec<_> = one.rows().filter(|(claim, _)| claim.kind == kind).collect();
            let count = |is: fn(Verdict) -> bool| rows.iter().filter(|(_, finding)| is(finding.verdict)).count();
            match rows.is_empty() {
                true => "–".to_owned(),
                false => format!(
                    "{} / {} / {}",
                    count(Verdict::is_reproduced),
                    count(|verdict| verdict == Verdict::Refuted),
                    count(|verdict| !verdict.is_decided())
                ),
            }
        });
        let _ = writeln!(
            page,
            "| [{}]({}/results.md) | {} |",
            one.claims.system,
            one.claims.name,
            cells.join(" | "),
        );
    }
    let tested: Vec<bool> = audited
        .iter()
        .flat_map(|one| &one.findings)
        .filter_map(Finding::survives)
        .collect();
    let survive = tested.iter().filter(|survives| **survives).count();
    let finding = |is: fn(&Finding) -> bool| {
        audited
            .iter()
            .flat_map(|one| &one.findings)
            .filter(|one| is(one))
            .count()
    };
    let items = [
        format!(
            "- **Reproduced**, for one of three reasons: our number has the published digits ({}); our interval lies within our margin around \
             the published number ({}); the claimed trend is significant ({}).",
            of(Verdict::Exact),
            of(Verdict::Statistical),
            of(Verdict::Shape)
        ),
        "- **Contradicted**: the opposite of the claimed trend is significant, or the published number is more than four standard errors from ours. This rule comes first: such a number is contradicted even if it is near.".to_owned(),
        format!(
            "- **Undecided**, for one of four reasons: the interval extends beyond the margin ({}); no trend is significant ({}); not run \
             ({}); not testable ({}). Not testable means that the paper does not define its terms, or that no baseline beats the majority class.",
            of(Verdict::NotContradicted),
            of(Verdict::Inconclusive),
            of(Verdict::NotRun),
            of(Verdict::NotDecidable)
        ),
        "- **Own controls** are statements of ours that a paper should have tested. The same rules apply to them.".to_owned(),
        format!(
            "- **Multiplicity**: {} claims, own controls included, were decided by a significance test. {survive} of them remain significant at a false discovery rate \
             of 5 % in each group of papers. For {} decided claims, seeds were added after results had been seen.",
            tested.len(),
            finding(|one| one.looks > 1 && one.verdict.is_decided())
        ),
        format!(
            "- **Incomplete**: {} claims have fewer seeds than planned. {} claims rest on runs of an earlier version of Folkmoot.",
            finding(|one| !one.missing.is_empty()),
            finding(|one| one.is_stale)
        ),
        "- Settings that a paper leaves open are Folkmoot's defaults, or chosen by validation.".to_owned(),
    ];
    let items = items.map(|item| wrapped(&item, "  ")).join("\n");
    let _ = write!(page, "\n## How to read this\n\n{items}\n{END}");
    page
}

const END: &str = "
`folkmoot audit --from scenarios` decides the claims again from the stored measurements, in a
minute; without `--from` it also makes the missing runs, which takes days. See
[moved results](results-log.md) and [speed](speed.md).

![Published numbers and measurements](figures/printed.svg)
";

/// The words of a paragraph in lines of at most 100 columns, all but the first indented.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        match line.chars().count() + 1 + word.chars().count() > 100 {
            true => lines.push(format!("{indent}{word}")),
            false if line.is_empty() => line.push_str(word),
            false => *line += &format!(" {word}"),
        }
    }
    lines.join("\n")
}

/// A text with `{ID}` replaced by the measured number of that claim.
fn filled(one: &Audited, text: &str) -> String {
    let mut text = text.to_owned();
    for (claim, finding) in one.rows() {
        let measured = match finding.text() {
            text if text.is_empty() => format!("({})", finding.verdict),
            // A baseline below its constant answer supports no sentence.
            text if finding.why.starts_with(NO_VERDICT) => format!("{text} (no verdict)"),
            text => text,
        };
        text = text.replace(&format!("{{{}}}", claim.id), &measured);
    }
    for (spec, found) in one.claims.overall.iter().zip(&one.overall) {
        let measured = found.all.as_ref().map_or("(not run)".to_owned(), Difference::text);
        text = text.replace(&format!("{{{}}}", spec.id), &measured);
    }
    text
}

/// The differences from print over whole grids; empty where the paper has none.
fn overall(one: &Audited) -> String {
    let cards: BTreeSet<&String> = one.overall.iter().flat_map(|found| found.sets.keys()).collect();
    if cards.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n## Difference from print over whole grids\n\n\
         Measured minus printed, the mean over the cells of a card and over cards, ± half the 95 % interval; in brackets cells × seeds. \
         Cells of a card share splits, so that their mean counts once a seed. The printed cells of a card are taken to share one split; they count with the noise of {}.\n\n\
         | runs | {} | all |\n|---|{}--:|\n",
        one.claims.printed_runs.map_or_else(
            || "one run".to_owned(),
            |n| format!("{n} run{}", if n == 1 { "" } else { "s" })
        ),
        cards
            .iter()
            .map(|card| format!("`{card}`"))
            .collect::<Vec<_>>()
            .join(" | "),
        "--:|".repeat(cards.len())
    );
    let cell = |found: Option<&Difference>| match found {
        Some(found) => format!(
            "{:.3} ± {:.3} ({} × {})",
            found.mean, found.half_width, found.n_cells, found.n_seeds
        ),
        None => "–".to_owned(),
    };
    for (spec, found) in one.claims.overall.iter().zip(&one.overall) {
        let cells = cards.iter().map(|card| cell(found.sets.get(*card)));
        let cells: Vec<String> = cells.chain([cell(found.all.as_ref())]).collect();
        let _ = writeln!(text, "| {} | {} |", spec.title, cells.join(" | "));
    }
    text
}

/// The page of one paper: findings, every claim, and the tables.
///
/// # Errors
///
/// When a table's card has no such axis.
pub fn system(one: &Audited, evidence: &Evidence, registry: &Registry) -> Result<String, Problems> {
    let claims = &one.claims;
    let n_claims: usize = one.counts().iter().sum();
    let counts = Verdict::ALL.iter().zip(one.counts()).filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let n_controls = one.findings.len() - n_claims;
    let controls = match n_controls {
        0 => String::new(),
        1 => " 1 own control is counted apart.".to_owned(),
        _ => format!(" {n_controls} own controls are counted apart."),
    };
    let mut page = format!(
        "# {}: published claims and measurements\n\n{}.\n\n\
         {n_claims} claims: {}.{controls}\n`folkmoot audit {}` writes this page again. [How to read it](../RESULTS.md#how-to-read-this)\n\n\
         `±` is the half-width of the 95 % confidence interval over seeds (Student's t; paired where two runs are compared).\n\
         Only in the column *published* it is as the paper prints it.\n",
        claims.system,
        claims.paper,
        counts.join(", "),
        claims.name
    );
    if !claims.found.trim().is_empty() {
        let _ = write!(page, "\n## Findings\n\n{}\n", filled(one, &claims.found).trim());
    }
    page += "\n## Claims\n\n\
         *Here* is the metric of the run itself, or its difference from the run that the claim compares it with: positive where the\n\
         first is larger. *n* is the number of seeds. *q* is the false discovery rate at which a test is a discovery within this paper.\n\n\
         | claim | where | published | here | metric | n | q | verdict | notes |\n|---|---|--:|--:|---|--:|--:|---|---|\n";
    // Notes that several claims have stand once, below the table.
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for (claim, finding) in one.rows() {
        for note in [finding.why.as_str(), claim.note.as_str()] {
            *times.entry(note).or_default() += 1;
        }
    }
    let mut footnotes: Vec<&str> = Vec::new();
    for (claim, finding) in one.rows() {
        let seeds = finding
            .measured
            .as_ref()
            .map_or_else(String::new, |spread| spread.n().to_string());
        let erratum = if claim.erratum.is_empty() {
            String::new()
        } else {
            format!(" ({})", claim.erratum)
        };
        let mut note = |text: &'_ str| -> String {
            let Some((&text, _)) = times
                .get_key_value(text)
                .filter(|(text, n)| **n > 1 && !text.is_empty())
            else {
                return text.to_owned();
            };
            let place = footnotes.iter().position(|one| *one == text).unwrap_or_else(|| {
                footnotes.push(text);
                footnotes.len() - 1
            });
            format!("note {}", place + 1)
        };
        let notes = [note(&finding.why), marks(finding), note(&claim.note)];
        let notes: Vec<String> = notes.into_iter().filter(|text| !text.is_empty()).collect();
        let cells = [
            format!("{}{erratum}", claim.claim),
            claim.at.clone(),
            claim.printed.clone(),
            finding.text(),
            finding.measured.map_or_else(String::new, |_| of_metric(&claim.test)),
            seeds,
            finding.q.map_or_else(String::new, p_text),
            finding.verdict.to_string(),
            notes.join("; "),
        ];
        let _ = writeln!(
            page,
            "| {} |",
            cells
                .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
                .join(" | ")
        );
    }
    for (text, i) in footnotes.iter().zip(1..) {
        let _ = writeln!(page, "{}note {i}: {text}", if i == 1 { "\n" } else { "  \n" });
    }
    page += &overall(one);
    page += &runs(one, evidence);
    for table in &claims.tables {
        let begins = |figure: &&Figure| figure.panels.first().is_some_and(|panel| panel.table == table.title);
        if let Some(figure) = claims.figures.iter().find(begins) {
            let _ = write!(page, "\n![{}](figures/{}.svg)\n", figure.title, figure.name);
        }
        page += &self::table(table, evidence, registry)?;
    }
    Ok(page)
}

/// The metric that a test measures, with its unit and sign in words.
fn of_metric(test: &Test) -> String {
    let Some(measure) = test.measure.as_ref().filter(|_| test.pool.is_empty()) else {
        return "difference".to_owned();
    };
    let metric = format!("`{}`", measure.metric);
    let metric = match test.scale {
        1.0 => metric,
        100.0 => format!("{metric}, in %"),
        scale => format!("{metric} × {scale}"),
    };
    match &test.against {
        None => metric,
        Some(Against { elsewhere: Some(_), .. }) => format!("{metric}, difference of differences"),
        Some(Against {
            change: Change::Points, ..
        }) => format!("{metric}, difference"),
        Some(Against {
            change: Change::Percent,
            ..
        }) => format!("{metric}, change in %"),
    }
}

/// What marks a finding whose record is not whole.
fn marks(finding: &Finding) -> String {
    let mut marks = Vec::new();
    if !finding.missing.is_empty() {
        let seeds: Vec<String> = finding.missing.iter().map(ToString::to_string).collect();
        marks.push(format!("**seeds missing: {}**", seeds.join(", ")));
    }
    if finding.is_stale {
        marks.push("**stale: of an older version of the results**".to_owned());
    }
    if finding.looks > 1 && finding.verdict.is_decided() {
        marks.push(format!("{} looks", finding.looks));
    }
    marks.join("; ")
}

/// A p or q value with two digits, `<0.001` below that.
fn p_text(p: f64) -> String {
    match p {
        p if p < 0.001 => "<0.001".to_owned(),
        p if p < 0.095 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// The tables of one system that are drawn, those without a run left out.
///
/// # Errors
///
/// When a table's card has no such axis, or the values of its columns are no numbers.
pub fn figures(one: &Audited, evidence: &Evidence, registry: &Registry) -> Result<Vec<TableFigure>, Problems> {
    let rows = |title: &str| -> Result<Vec<(String, TableCurve)>, Problems> {
        let Some(table) = one.claims.table(title) else {
            return Ok(Vec::new());
        };
        let places = table.places(registry)?;
        let Cells { rows, numbers, .. } = table.cells(registry)?;
        let curve = |cells: Vec<Measure>| {
            let values = cells.iter().map(|measure| evidence.values(measure, table.scale));
            let mut curve: TableCurve = places.iter().copied().zip(values).collect();
            curve.retain(|(_, values)| !values.is_empty());
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
            curve
        };
        let rows = rows.into_iter().zip(numbers.into_iter().map(curve));
        Ok(rows.filter(|(_, curve)| !curve.is_empty()).collect())
    };
    let panel = |panel: &Panel| -> Result<Option<TablePanel>, Problems> {
        let y = panel.y.clone();
        let beside = match &panel.beside {
            // Of rows that say the same, the one that was run at most places.
            Some((name, title)) => {
                let curves = rows(title)?.into_iter().map(|(_, curve)| curve);
                curves.max_by_key(Vec::len).map(|curve| (name.clone(), curve))
            }
            None => None,
        };
        let rows = rows(&panel.table)?;
        Ok((!rows.is_empty()).then_some(TablePanel { y, rows, beside }))
    };
    let mut figures = Vec::new();
    for figure in &one.claims.figures {
        let panels: Result<Vec<_>, _> = figure.panels.iter().map(panel).collect();
        let panels: Vec<TablePanel> = panels?.into_iter().flatten().collect();
        if !panels.is_empty() {
            figures.push(TableFigure {
                name: figure.name.clone(),
                title: figure.title.clone(),
                x: figure.x.clone(),
                panels,
            });
        }
    }
    Ok(figures)
}

/// The commands of the recorded runs.
fn runs(one: &Audited, evidence: &Evidence) -> String {
    let tests = one.claims.claims.iter().map(|claim| &claim.test);
    let cards: BTreeSet<String> = tests
        .flat_map(Test::measures)
        .filter(|measure| !evidence.fingerprints(measure).is_empty())
        .map(|measure| format!("`{}`", measure.run.card))
        .collect();
    match cards.is_empty() {
        true => String::new(),
        false => format!(
            "\n## Runs\n\n`folkmoot sweep CARD` repeats them: {}. Settings, seeds and hashes of each run: `measured.csv`.\n",
            cards.into_iter().collect::<Vec<_>>().join(", ")
        ),
    }
}

fn table(table: &Table, evidence: &Evidence, registry: &Registry) -> Result<String, Problems> {
    let Cells { rows, columns, numbers } = table.cells(registry)?;
    let axis = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let is_run = |measure| evidence.spread(measure, table.scale).is_some();
    let missing = match numbers.iter().flatten().all(is_run) {
        true => "",
        false => "; –: not run, or its runs have no such number",
    };
    let several = table.metrics.iter().map(|(_, metric)| metric);
    let named = several.chain(Some(&table.metric)).filter(|metric| !metric.is_empty());
    let metrics = named.map(|metric| format!("`{metric}`")).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "\n## {}\n\n{metrics}: mean ± 95 % confidence interval (seeds); `folkmoot sweep {}`{}{missing}.\n\n| {} | {} |\n|---|{}\n",
        table.title,
        table.card,
        table
            .set
            .iter()
            .map(|set| format!(" `--set '{set}'`"))
            .collect::<String>(),
        axis(&table.rows),
        columns.join(" | "),
        "--:|".repeat(columns.len())
    );
    if !numbers.iter().flatten().any(is_run) {
        return Ok(format!(
            "\n## {}\n\nNot run: `folkmoot sweep {}`.\n",
            table.title, table.card
        ));
    }
    for (row, cells) in rows.iter().zip(&numbers) {
        let cell = |measure| match evidence.spread(measure, table.scale) {
            Some(spread) => format!("{} ({})", spread_text(&spread), spread.n()),
            None => "–".to_owned(),
        };
        let cells: Vec<String> = cells.iter().map(cell).collect();
        let _ = writeln!(text, "| {row} | {} |", cells.join(" | "));
    }
    Ok(text)
}

/// The columns of `audit.csv`.
const COLUMNS: [&str; 19] = [
    "system",
    "id",
    "claim",
    "at",
    "printed",
    "measured",
    "standard_error",
    "seeds",
    "looks",
    "p",
    "q",
    "missing_seeds",
    "stale",
    "verdict",
    "why",
    "run",
    "metric",
    "fingerprints",
    "erratum",
];

/// All findings, a row a claim.
pub fn csv(audited: &[Audited], quick: bool, evidence: &Evidence) -> Vec<u8> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = lines.write_record(COLUMNS);
    for one in audited {
        for (claim, finding) in one.rows() {
            let measure = test_of(claim, quick).and_then(|test| test.measure.as_ref());
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let spread = finding.measured;
            let missing: Vec<String> = finding.missing.iter().map(ToString::to_string).collect();
            let _ = lines.write_record([
                &one.claims.name,
                &claim.id,
                &claim.claim,
                &claim.at,
                &claim.printed,
                &number(spread.map(|spread| spread.mean)),
                &number(spread.and_then(|spread| spread.standard_error())),
                &spread.map_or_else(String::new, |spread| spread.n().to_string()),
                &finding.looks.to_string(),
                &number(finding.p),
                &number(finding.q),
                &missing.join(" "),
                &u8::from(finding.is_stale).to_string(),
                &finding.verdict.to_string(),
                &finding.why,
                &measure.map_or_else(String::new, |measure| measure.run.to_string()),
                &measure.map_or_else(String::new, |measure| measure.metric.clone()),
                &measure.map_or_else(String::new, |measure| evidence.fingerprints(measure).join(" ")),
                &claim.erratum,
            ]);
        }
    }
    lines.into_inner().unwrap_or_default()
}

fn test_of(claim: &Claim, quick: bool) -> Option<&Test> {
    if quick { claim.quick.as_ref() } else { Some(&claim.test) }
}
