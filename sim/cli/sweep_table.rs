//! The answer of a sweep: the differences that its card asks for in sentences, then a table of what
//! its targets took and one of its primary metrics, in blocks that fit a terminal.

use crate::context;
use crate::text::{self, WIDTH};
use folkmoot_metrics::findings::{self, Arm, Finding, Reached};
use folkmoot_metrics::target::{BYTES, ROUNDS, TIME};
use folkmoot_metrics::words::counted;
use folkmoot_metrics::{Better, MetricKey, SweepDir};

/// The names of arms are cut here.
const ARM: usize = 40;
const GAP: usize = 2;
/// So many findings are printed.
const MOST_FINDINGS: usize = 3;
/// With so many seeds every mean has an interval.
const SEEDS_FOR_INTERVALS: usize = 5;
/// Before the number of an arm that is among the best.
const BEST: &str = "• ";

/// A column: a primary metric, its difference from the baseline, or a reference of it.
struct Column {
    name: String,
    /// What stands above it beside its metric.
    head: String,
    is_measured: bool,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(self.head.chars().count())
    }
}

/// The answer of a sweep, printed by the program of this name.
pub(crate) fn describe(program: &str, sweep: &SweepDir) -> String {
    let arms = findings::arms(sweep);
    let axes = findings::axes(sweep);
    let found = findings::contrasts(sweep, &arms);
    let seeds = sweep.manifest.seeds.len();
    let mut head = format!(
        "{}   {} × {} = {}",
        sweep.manifest.name,
        counted(arms.len(), "configuration"),
        counted(seeds, "seed"),
        counted(sweep.points.len(), "run"),
    );
    if let Some(there) = sweep.unfinished() {
        head += &format!("\nunfinished: {there}");
    }
    let mut blocks = vec![head];
    if !sweep.manifest.question.is_empty() {
        blocks.push(text::wrapped(&sweep.manifest.question, "", ""));
    }
    blocks.extend(answer(program, sweep, &found));
    let baseline = only_baseline(sweep);
    let targets = findings::targets(sweep, &arms);
    let compared = (&found[..], baseline);
    blocks.extend(targets.iter().map(|target| of_target(target, &axes, &arms, compared)));
    let title = match targets.is_empty() {
        true => "",
        false => "At the end of the runs\n",
    };
    blocks.push(format!(
        "{title}{}",
        table(&axes, &arms, columns(sweep, &arms, compared))
    ));
    if baseline.is_none() && found.iter().any(|finding| !finding.is_identical()) {
        blocks.push(differences(&found));
    }
    blocks.push(legend(sweep, &blocks));
    let warnings =
        findings::warnings(sweep).unwrap_or_else(|error| vec![format!("the warnings of runs cannot be read: {error}")]);
    if !warnings.is_empty() {
        let warnings: Vec<String> = warnings
            .iter()
            .map(|warning| text::wrapped(warning, "  ", "    "))
            .collect();
        blocks.push(format!("! warnings\n{}", warnings.join("\n")));
    } else if arms.iter().any(Arm::is_warned) {
        blocks.push("!: runs of this arm have warnings; see its sweep directory.".to_owned());
    }
    blocks.join("\n\n")
}

/// The table of a sweep's primary metrics, in one block of any width.
pub(crate) struct Headline {
    pub(crate) heads: Vec<String>,
    /// A row for each arm.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) legend: String,
    /// How many columns, from the left, name the arm.
    pub(crate) n_names: usize,
}

pub(crate) fn headline(sweep: &SweepDir) -> Headline {
    let (arms, axes) = (findings::arms(sweep), findings::axes(sweep));
    let found = findings::contrasts(sweep, &arms);
    let columns = columns(sweep, &arms, (&found, only_baseline(sweep)));
    let heads = axes.iter().map(|axis| (*axis).to_owned());
    let row = |(at, arm): (usize, &Arm<'_>)| {
        let values = arm.values.iter().map(|value| (*value).to_owned());
        values
            .chain(columns.iter().map(|column| column.cells[at].clone()))
            .collect()
    };
    let rows: Vec<Vec<String>> = arms.iter().enumerate().map(row).collect();
    let said = [vec![String::new(); 2], rows.iter().map(|row| row.join("  ")).collect()];
    let heads: Vec<String> = heads.chain(columns.iter().map(|column| column.head.clone())).collect();
    Headline {
        legend: legend(sweep, &[said.concat(), vec![heads.join("  ")]].concat()),
        n_names: axes.len(),
        heads,
        rows,
    }
}

/// The comparisons in sentences, the first ones of them; without any, how to ask for them.
fn answer(program: &str, sweep: &SweepDir, found: &[Finding]) -> Option<String> {
    let first = sweep.manifest.axes.iter().find(|axis| axis.values.len() > 1);
    if let Some(axis) = first.filter(|_| sweep.manifest.contrasts.is_empty()) {
        return Some(format!(
            "No arm of this sweep is named as its baseline, so nothing is compared.\n  help: {} show {} --baseline {}",
            context::quoted(program),
            context::quoted(&sweep.path.to_string_lossy()),
            context::quoted(&axis.values[0])
        ));
    }
    let sentences = findings::sentences(found, MOST_FINDINGS);
    let lines: Vec<String> = sentences.iter().map(|one| text::wrapped(one, "", "  ")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The baseline of every contrast, if they have one.
fn only_baseline(sweep: &SweepDir) -> Option<&str> {
    let contrasts = &sweep.manifest.contrasts;
    let first = contrasts.first()?;
    let is_same = |other: &folkmoot_metrics::Contrast| other.axis == first.axis && other.baseline == first.baseline;
    contrasts.iter().all(is_same).then_some(first.baseline.as_str())
}

/// What an arm's cell says of its difference from the baseline.
fn versus(found: &[Finding], metric: &str, n_arms: usize) -> Option<Vec<String>> {
    let finding = found.iter().find(|finding| finding.metric == metric)?;
    if finding.is_identical() {
        return None;
    }
    let cell = |arm: usize| {
        let own = finding.differences.iter().find(|one| one.arms[0] == arm);
        match own {
            Some(one) => finding.cell(one),
            None if finding.differences.iter().any(|one| one.arms[1] == arm) => "baseline".to_owned(),
            None => String::new(),
        }
    };
    Some((0..n_arms).map(cell).collect())
}

/// The contrasts of a card that names several baselines, a row each.
fn differences(found: &[Finding]) -> String {
    let mut rows: Vec<([usize; 2], Vec<String>)> = Vec::new();
    for one in found.iter().flat_map(|finding| &finding.differences) {
        if rows.iter().all(|(arms, _)| *arms != one.arms) {
            // Quotes are for sentences.
            let [arm, baseline] = one.names.each_ref().map(|name| name.replace('"', ""));
            rows.push((one.arms, vec![cut(&format!("{arm} − {baseline}"))]));
        }
    }
    let column = |finding: &Finding| {
        let cell = |(arms, _): &([usize; 2], _)| {
            let own = finding.differences.iter().find(|one| one.arms == *arms);
            own.map_or(String::new(), |own| finding.cell(own))
        };
        Column {
            name: finding.metric.clone(),
            head: finding.metric.clone(),
            is_measured: true,
            cells: rows.iter().map(cell).collect(),
        }
    };
    let shown = found.iter().filter(|finding| !finding.is_identical());
    let columns = shown.map(column).collect();
    let names: Vec<Vec<String>> = rows.iter().map(|(_, label)| label.clone()).collect();
    grid(&["difference"], &names, columns)
}

/// What marks and intervals mean.
fn legend(sweep: &SweepDir, said: &[String]) -> String {
    let says = |mark: &str| said.iter().skip(2).any(|block| block.contains(mark));
    let seeds: Vec<String> = sweep.manifest.seeds.iter().map(u64::to_string).collect();
    let seeds = match seeds.len() {
        0..=10 => seeds.join(", "),
        n => format!("{} to {}, {n} of them", seeds[0], seeds[n - 1]),
    };
    let mut lines = vec![format!("Seeds: {seeds}.")];
    if says(" ± ") {
        lines.push(
            "±: half-width of the 95 % confidence interval over seeds (Student's t), paired for differences."
                .to_owned(),
        );
    }
    if sweep.manifest.seeds.len() == 1 {
        lines.push("With one seed nothing is tested: differences may be chance.".to_owned());
    } else if says(" vs ") || says("difference") {
        let mark = if says(" *") {
            "*: significant"
        } else {
            "No difference is significant"
        };
        let test = format!(
            "{mark} (paired t test over seeds, p < 0.05 after Holm's correction for the compared arms). \
             Intervals are not corrected."
        );
        lines.push(text::wrapped(&test, "", "   "));
        // Its cell has no half-width.
        if said.iter().any(|block| has_exact(block)) {
            let rule = "A difference that is exactly the same under three seeds or more counts as significant; it has no t test.";
            lines.push(text::wrapped(rule, "   ", "   "));
        }
    }
    if says(BEST) {
        lines.push("•: the best arm, and arms that are not significantly worse (same test).".to_owned());
    }
    if says("  @") {
        lines.push(
            "@NAME: the same metric of a control or formula of that name; `folkmoot explain METRIC@NAME`.".to_owned(),
        );
    }
    if sweep.manifest.seeds.len() < SEEDS_FOR_INTERVALS && said.iter().skip(2).any(|block| has_seeds(block)) {
        lines.push("Several values in a cell are those of the seeds; ± would leave the metric's range.".to_owned());
    }
    lines.join("\n")
}

/// Whether a cell is marked as significant and has no half-width.
fn has_exact(block: &str) -> bool {
    let cells = block.lines().flat_map(|line| line.split("  "));
    cells
        .into_iter()
        .any(|cell| cell.ends_with(" *") && !cell.contains('±'))
}

/// Whether a cell has the values of several seeds.
fn has_seeds(block: &str) -> bool {
    let is_number = |text: &str| {
        text.trim_start_matches(BEST)
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_digit())
    };
    let mut cells = block.lines().flat_map(|line| line.split("  ")).map(str::trim);
    cells.any(|cell| cell.contains(", ") && cell.split(", ").all(is_number))
}

fn arrow(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => " ↑",
        Some(Better::Lower) => " ↓",
        None => "",
    }
}

/// Virtual time, bytes and rounds of each arm to a target, in how many of its runs.
fn of_target(
    target: &Reached,
    axes: &[&str],
    arms: &[Arm<'_>],
    (found, baseline): (&[Finding], Option<&str>),
) -> String {
    let value = target.value.to_string();
    let column = |head: &str, cells: Vec<String>| Column {
        name: head.to_owned(),
        head: head.to_owned(),
        is_measured: true,
        cells,
    };
    let reached = target.arms.iter().map(|([reached, of], _)| format!("{reached}/{of}"));
    let mut columns = vec![column("reached", reached.collect())];
    for (i, (number, head)) in [(TIME, "virtual time ↓"), (BYTES, "bytes ↓"), (ROUNDS, "rounds ↓")]
        .into_iter()
        .enumerate()
    {
        let cell = |took: &findings::Cell| match took.estimate.to_string() {
            none if none.is_empty() => "–".to_owned(),
            text => text,
        };
        columns.push(column(
            head,
            target.arms.iter().map(|(_, took)| cell(&took[i])).collect(),
        ));
        let name = MetricKey::of(number).at(&target.score, &value).to_string();
        if let Some((baseline, cells)) = baseline.zip(versus(found, &name, arms.len())) {
            let head = format!("vs {}", cut(baseline));
            columns.push(Column {
                is_measured: false,
                ..column(&head, cells)
            });
        }
    }
    let censored = found
        .iter()
        .any(|one| one.censored_at.is_some() && one.metric.contains(&target.score));
    let note = match censored {
        true => "\nDifferences count a run that did not arrive as if it had at the least horizon of such runs.",
        false => "",
    };
    format!(
        "Cost to reach {} {}\n{}{note}",
        target.score,
        target.value,
        table(axes, arms, columns)
    )
}

/// A row for each arm: the values of its axes, then these columns.
fn table(axes: &[&str], arms: &[Arm<'_>], columns: Vec<Column>) -> String {
    let names: Vec<Vec<String>> = arms
        .iter()
        .map(|arm| {
            let mut cells: Vec<String> = arm.values.iter().map(|value| cut(value)).collect();
            // What there is to warn of stands below the table.
            if let Some(last) = cells.last_mut().filter(|_| arm.is_warned()) {
                last.push_str(" !");
            }
            cells
        })
        .collect();
    grid(axes, &names, columns)
}

/// Rows with these names under these heads, then the columns, in blocks that fit a terminal.
fn grid(heads: &[&str], names: &[Vec<String>], columns: Vec<Column>) -> String {
    let left: usize = (0..heads.len())
        .map(|i| {
            let cells = names.iter().filter_map(|row| row.get(i));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            widest.max(heads[i].chars().count()) + GAP
        })
        .sum();
    let blocks = blocks(columns, WIDTH.saturating_sub(left));
    let block = |columns: &Vec<Column>| {
        let header: Vec<&str> = heads
            .iter()
            .copied()
            .chain(columns.iter().map(|column| column.head.as_str()))
            .collect();
        let lines: Vec<Vec<String>> = names
            .iter()
            .enumerate()
            .map(|(i, names)| {
                let cells = columns.iter().map(|column| column.cells[i].clone());
                names.iter().cloned().chain(cells).collect()
            })
            .collect();
        text::table(&header, &lines, heads.len())
    };
    blocks.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

/// Every primary metric, its difference from the baseline and its references, in this order.
fn columns(sweep: &SweepDir, arms: &[Arm<'_>], (found, baseline): (&[Finding], Option<&str>)) -> Vec<Column> {
    let mut columns = Vec::new();
    for column in findings::columns(sweep, arms) {
        let cell = |(i, cell): (usize, &findings::Cell)| {
            let mark = if column.best.contains(&i) { BEST } else { "" };
            let text = cell.estimate.to_string();
            match (text.is_empty(), column.reference.is_some()) {
                (true, true) => String::new(),
                // What an arm has not, while others do, does not apply to it.
                (true, false) => "n/a".to_owned(),
                (false, _) => format!("{mark}{text}"),
            }
        };
        columns.push(Column {
            head: match &column.reference {
                None => column.name.clone() + arrow(column.better),
                Some((_, label)) => MetricKey::of("").against(label).to_string(),
            },
            is_measured: column.reference.is_none(),
            cells: column.cells.iter().enumerate().map(cell).collect(),
            name: column.name.clone(),
        });
        let is_measured = column.reference.is_none();
        let against = baseline
            .filter(|_| is_measured)
            .zip(versus(found, &column.name, arms.len()));
        if let Some((baseline, cells)) = against {
            columns.push(Column {
                name: column.name,
                head: format!("vs {}", cut(baseline)),
                is_measured: false,
                cells,
            });
        }
    }
    columns
}

/// The columns in blocks of at most `width`. A number keeps its references beside it if they fit
/// into one block; where they do not, the first of a block has its whole name.
fn blocks(columns: Vec<Column>, width: usize) -> Vec<Vec<Column>> {
    let mut groups: Vec<Vec<Column>> = Vec::new();
    for column in columns {
        match groups.last_mut() {
            Some(group) if !column.is_measured => group.push(column),
            _ => groups.push(vec![column]),
        }
    }
    let wide = |columns: &[Column]| columns.iter().map(|column| column.width() + GAP).sum::<usize>();
    let mut blocks: Vec<Vec<Column>> = vec![Vec::new()];
    for group in groups {
        let is_whole = wide(&group) <= width + GAP;
        let last = blocks.last().map_or(0, |block| wide(block));
        if is_whole && last > 0 && last + wide(&group) > width + GAP {
            blocks.push(Vec::new());
        }
        for mut column in group {
            let last = blocks.last().map_or(0, |block| wide(block));
            if last > 0 && last + column.width() > width {
                column.head.clone_from(&column.name);
                blocks.push(Vec::new());
            }
            blocks.last_mut().expect("there is one from the start").push(column);
        }
    }
    blocks
}

fn cut(name: &str) -> String {
    match name.chars().count() <= ARM {
        true => name.to_owned(),
        false => name.chars().take(ARM - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::sweep_dir::PointRow;
    use folkmoot_metrics::{Axis, Contrast, SweepManifest};
    use std::path::PathBuf;

    /// Two arms under two seeds, with so many references of a number.
    fn sweep(n_references: usize) -> SweepDir {
        let summary = |arm: f64| {
            let references = (0..n_references).map(|i| (format!("test_accuracy@a_reference_{i}"), 0.5));
            let own = [
                ("test_accuracy".to_owned(), 0.123_456 * arm),
                ("payload_bytes".to_owned(), 1e6),
            ];
            own.into_iter().chain(references).collect()
        };
        let manifest = SweepManifest {
            name: "card".to_owned(),
            axes: vec![Axis {
                path: "strategy.rate".to_owned(),
                values: vec!["short".to_owned(), "x".repeat(60)],
                with: None,
            }],
            seeds: vec![1, 2],
            headline: vec!["test_accuracy".to_owned(), "payload_bytes".to_owned()],
            finished: true,
            ..SweepManifest::default()
        };
        let rows = manifest.points().into_iter().map(|point| PointRow {
            point: point.point,
            summary: summary((point.seed + u64::from(point.point)) as f64),
            values: point.values,
            seed: point.seed,
        });
        SweepDir {
            path: PathBuf::new(),
            points: rows.collect(),
            manifest,
        }
    }

    #[test]
    fn references_stand_beside_their_number_and_no_line_is_too_wide() {
        let said = describe("folkmoot", &sweep(1));
        assert!(said.contains("rate  "), "{said}");
        assert!(said.contains("test_accuracy  @a_reference_0"), "{said}");
        for n in [0, 1, 2, 3, 5, 9] {
            let said = describe("folkmoot", &sweep(n));
            let widest = said.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= WIDTH, "{widest}: {said}");
            for i in 0..n {
                let label = format!("a_reference_{i}");
                assert_eq!(said.matches(&label).count(), 1, "{said}");
            }
            assert_eq!(said.matches("payload_bytes").count(), 1, "{said}");
        }
        // What begins a block of its own says whose reference it is.
        assert!(describe("folkmoot", &sweep(9)).contains("test_accuracy@a_reference_"));
    }

    #[test]
    fn differences_from_the_baseline_stand_beside_their_metric() {
        let without = describe("program", &sweep(0));
        let help = "nothing is compared.\n  help: program show '' --baseline short";
        assert!(without.contains(help), "{without}");
        let mut sweep = sweep(0);
        sweep.manifest.contrasts = vec![Contrast {
            axis: "strategy.rate".to_owned(),
            value: "x".repeat(60),
            baseline: "short".to_owned(),
        }];
        let said = describe("program", &sweep);
        let sentence = "test_accuracy: \"xxx";
        assert!(
            said.starts_with("card   2 configurations × 2 seeds = 4 runs\n\n"),
            "{said}"
        );
        assert!(
            said.lines().nth(2).is_some_and(|line| line.starts_with(sentence)),
            "{said}"
        );
        assert!(said.contains("test_accuracy  vs short"), "{said}");
        let row = said.lines().find(|line| line.starts_with("short ")).unwrap();
        assert!(row.contains("baseline"), "{said}");
        // Of several baselines each difference has a row of its own.
        sweep.manifest.contrasts.push(Contrast {
            axis: "strategy.rate".to_owned(),
            value: "short".to_owned(),
            baseline: "x".repeat(60),
        });
        let said = describe("program", &sweep);
        assert!(said.contains("short − xxx") && !said.contains("vs short"), "{said}");
    }
}
