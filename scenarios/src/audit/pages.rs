//! The findings as text: pages of Markdown that are kept beside the cards, and a table for other programs.

use super::baseline::NO_VERDICT;
use super::overall::Difference;
use super::{Audited, Evidence, Finding, Verdict, counts};
use crate::claims::{Cells, Claim, Figure, Measure, Panel, Table, Test};
use crate::registry::Registry;
use crate::text::Problems;
use folkmoot_metrics::Spread;
use folkmoot_metrics::figures::{TableCurve, TableFigure, TablePanel};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The short page: what was found, system by system, and the verdicts counted. The page of each
/// system lies in its folder.
pub fn summary(audited: &[Audited]) -> String {
    let mut page = String::from(
        "# Results\n\n\
         Published claims and what the shipped cards measure. The program writes this page, and `results.md` in each folder\n\
         beside it, from `claims.ron`, the claims and the rule that decides each, and `measured.csv`, the recorded runs with seeds and\n\
         result hashes.\n\
         `folkmoot audit` compares them again, `folkmoot audit --quick` in minutes without a data file, and\n\
         `folkmoot audit --from DIR` with runs of your own.\n\n\
         In a table, `±` is one standard error over seeds.\n\n\
         - **exact**: counts, closed forms and bounds to the printed digit, or decided by reading;\n\
         - **statistical**: agreement. The whole 95 % interval of the difference from the printed number lies within the margin\n  \
         that is stated for the metric. A printed number of a single run counts with the noise of one run;\n\
         - **shape**: a printed order or trend, each step outside of a 95 % interval paired by seed; or an interaction, by the\n  \
         same interval over the four numbers of each seed;\n\
         - **refuted**: the opposite was found by the same rule; a printed number lies more than four standard errors away;\n\
         - **not contradicted**: a printed number lies within four standard errors, but the interval exceeds the margin. With\n  \
         few seeds this agrees with nearly anything;\n\
         - **inconclusive**: the runs do not decide it;\n\
         - **not run**: runs or data are missing, or fewer than three seeds were run;\n\
         - **not decidable**: the paper does not define it, has another set-up or was not read again, or the baseline does not\n  \
         beat the constant answer (the majority class), so that the comparison supports nothing.\n\n",
    );
    let header = Verdict::ALL.map(|verdict| verdict.to_string()).join(" | ");
    let _ = writeln!(
        page,
        "| system | claims | {header} | decisions by a test | survive |\n|---|--:|{}--:|--:|",
        "--:|".repeat(Verdict::ALL.len())
    );
    let mut sums = [0; Verdict::ALL.len()];
    let mut tested = [0; 2];
    let (mut missing, mut stale, mut looked) = (0, 0, 0);
    for one in audited {
        let counts = counts(&one.findings);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        let survive: Vec<bool> = one.findings.iter().filter_map(Finding::survives).collect();
        let survivors = survive.iter().filter(|survives| **survives).count();
        tested[0] += survive.len();
        tested[1] += survivors;
        missing += one
            .findings
            .iter()
            .filter(|finding| !finding.missing.is_empty())
            .count();
        stale += one.findings.iter().filter(|finding| finding.is_stale).count();
        looked += one
            .findings
            .iter()
            .filter(|finding| finding.looks > 1 && finding.verdict.is_decided())
            .count();
        let name = format!("[{}]({}/results.md)", one.claims.system, one.claims.name);
        let _ = writeln!(
            page,
            "| {name} | {} | {} | {} | {survivors} |",
            one.findings.len(),
            joined(&counts),
            survive.len()
        );
    }
    let [n_tested, n_survive] = tested;
    let _ = writeln!(
        page,
        "| all | {} | {} | {n_tested} | {n_survive} |\n",
        sums.iter().sum::<usize>(),
        joined(&sums)
    );
    let _ = write!(
        page,
        "Of {n_tested} decisions by a test, {n_survive} survive a false discovery rate of 5 % within their paper (Benjamini and\n\
         Hochberg 1995). {looked} decisions rest on seeds that were added after an earlier look; their p values ignore that.\n\
         {missing} claims lack a seed that their card states, and {stale} rest on rows of an older version of the results;\n\
         both are marked on the pages and in `audit.csv`.\n"
    );
    page += "\n![What became of the claims](figures/verdicts.svg)\n\n![Printed numbers and what was measured](figures/printed.svg)\n";
    for one in audited.iter().filter(|one| !one.claims.found.trim().is_empty()) {
        let _ = write!(page, "\n## {}\n\n{}\n", one.claims.system, filled(one).trim());
    }
    page += "\n## Besides\n\n[Speed](speed.md), beside other programs.\n";
    page
}

fn joined(counts: &[usize]) -> String {
    let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    counts.join(" | ")
}

/// What was found, with `{ID}` replaced by what was measured of that claim.
fn filled(one: &Audited) -> String {
    let mut text = one.claims.found.clone();
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

/// The page of one system: every claim, and the tables.
///
/// # Errors
///
/// When a table's card has no such axis.
pub fn system(one: &Audited, evidence: &Evidence, registry: &Registry) -> Result<String, Problems> {
    let claims = &one.claims;
    let mut page = format!("# {}: claims and tables\n\n{}.\n\n", claims.system, claims.paper);
    let said = Verdict::ALL.iter().zip(counts(&one.findings));
    let said: Vec<String> = said.map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let _ = write!(
        page,
        "{} claims: {}. Written by the program; `folkmoot audit {}` makes it again.\n\n\
         `±` is one standard error over seeds; q is the false discovery rate at which a test is a discovery within this paper.\n\n\
         | claim | where | printed | measured | seeds | q | verdict | |\n|---|---|--:|--:|--:|--:|---|---|\n",
        claims.claims.len(),
        said.join(", "),
        claims.name
    );
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
        let marks = marks(finding);
        let why: Vec<&str> = [finding.why.as_str(), &marks, &claim.note]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        let cells = [
            format!("{}{erratum}", claim.claim),
            claim.at.clone(),
            claim.printed.clone(),
            finding.text(),
            seeds,
            finding.q.map_or_else(String::new, p_text),
            finding.verdict.to_string(),
            why.join("; "),
        ];
        let _ = writeln!(
            page,
            "| {} |",
            cells
                .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
                .join(" | ")
        );
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

/// Which runs were made, with their fingerprints.
fn runs(one: &Audited, evidence: &Evidence) -> String {
    let tests = one.claims.claims.iter().map(|claim| &claim.test);
    let mut lines: Vec<String> = tests
        .flat_map(Test::measures)
        .filter_map(|measure| {
            let prints = evidence.fingerprints(&measure);
            (!prints.is_empty()).then(|| format!("- `{}`: {}", measure.run, prints.join(", ")))
        })
        .collect();
    lines.sort();
    lines.dedup();
    match lines.is_empty() {
        true => String::new(),
        false => format!(
            "\n## Runs\n\nCard, arm and settings; then seed and fingerprint.\n\n{}\n",
            lines.join("\n")
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
        "\n## {}\n\nMean ± standard error of {metrics} over seeds, in brackets how many; `folkmoot sweep {}`{}{missing}.\n\n| {} | {} |\n|---|{}\n",
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
            Some(spread) => fixed(&spread, table.decimals),
            None => "–".to_owned(),
        };
        let cells: Vec<String> = cells.iter().map(cell).collect();
        let _ = writeln!(text, "| {row} | {} |", cells.join(" | "));
    }
    Ok(text)
}

fn fixed(spread: &Spread, decimals: usize) -> String {
    match spread.standard_error() {
        Some(error) => format!("{:.decimals$} ± {error:.decimals$} ({})", spread.mean, spread.n()),
        None => format!("{:.decimals$} (1)", spread.mean),
    }
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
