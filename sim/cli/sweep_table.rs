//! The table of a sweep: its headline numbers by arm, each with its references, in blocks that fit a terminal.

use crate::text::{self, WIDTH};
use folkmoot_metrics::SweepDir;
use folkmoot_metrics::findings::{self, Arm, Reached};

/// The names of arms are cut here.
const ARM: usize = 40;
/// Between two columns.
const GAP: usize = 2;

/// A column: a headline number, or what is a reference of one.
struct Column {
    name: String,
    /// What stands above it beside its number.
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

/// The headline numbers by arm: mean and interval over seeds, with references beside them.
pub(crate) fn describe(sweep: &SweepDir) -> String {
    let seeds: Vec<String> = sweep.manifest.seeds.iter().map(u64::to_string).collect();
    let head = format!(
        "{}: mean ± half of the 95 % interval (Student's t) over the seeds {}{}",
        sweep.manifest.name,
        seeds.join(", "),
        sweep
            .unfinished()
            .map_or(String::new(), |there| format!("\nunfinished: {there}")),
    );
    let arms = findings::arms(sweep);
    let axes = findings::axes(sweep);
    let mut blocks = vec![head, table(sweep, &axes, &arms)];
    let found = findings::apart(sweep);
    if !found.is_empty() {
        let sentences = found.iter().map(|apart| text::wrapped(&apart.sentence(), "", "  "));
        blocks.push(sentences.collect::<Vec<_>>().join("\n"));
    }
    blocks.extend(
        findings::targets(sweep, &arms)
            .iter()
            .map(|target| of_target(target, &axes, &arms)),
    );
    let warnings =
        findings::warnings(sweep).unwrap_or_else(|error| vec![format!("what runs warn of cannot be read: {error}")]);
    if !warnings.is_empty() {
        let warnings: Vec<String> = warnings
            .iter()
            .map(|warning| text::wrapped(warning, "  ", "    "))
            .collect();
        blocks.push(format!("! warnings\n{}", warnings.join("\n")));
    }
    blocks.join("\n\n")
}

/// Rounds, virtual time and bytes of each arm to a target, in how many of its runs.
fn of_target(target: &Reached, axes: &[&str], arms: &[Arm<'_>]) -> String {
    let header = [axes, &["reached", "rounds", "virtual s", "bytes on the wire"]].concat();
    let lines = arms.iter().zip(&target.arms).map(|(arm, (reached, took))| {
        let took = took.iter().map(|cell| cell.text.clone());
        arm.values
            .iter()
            .cloned()
            .chain([reached.clone()])
            .chain(took)
            .collect()
    });
    let lines: Vec<Vec<String>> = lines.collect();
    format!(
        "to {} {}\n{}",
        target.score,
        target.value,
        text::table(&header, &lines, axes.len())
    )
}

fn table(sweep: &SweepDir, axes: &[&str], arms: &[Arm<'_>]) -> String {
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
    let left: usize = (0..axes.len())
        .map(|i| {
            let cells = names.iter().filter_map(|row| row.get(i));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            widest.max(axes[i].chars().count()) + GAP
        })
        .sum();
    let blocks = blocks(columns(sweep, arms), WIDTH.saturating_sub(left));
    let block = |columns: &Vec<Column>| {
        let header: Vec<&str> = axes
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
        text::table(&header, &lines, axes.len())
    };
    blocks.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

/// Every headline number and what it is compared with, in this order.
fn columns(sweep: &SweepDir, arms: &[Arm<'_>]) -> Vec<Column> {
    let column = |column: findings::Column| Column {
        head: match &column.reference {
            None => column.name.clone(),
            Some((_, label)) => format!("… {label}"),
        },
        is_measured: column.reference.is_none(),
        name: column.name,
        cells: column.cells.into_iter().map(|cell| cell.text).collect(),
    };
    findings::columns(sweep, arms).into_iter().map(column).collect()
}

/// The columns in blocks of at most `width`. A number keeps its references beside it if they fit into one block; where they do not,
/// the first of a block has its whole name.
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
    use folkmoot_metrics::{Axis, SweepManifest};
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
        let said = describe(&sweep(1));
        assert!(said.contains("rate  "), "{said}");
        assert!(said.contains("test_accuracy  … a_reference_0"), "{said}");
        for n in [0, 1, 2, 3, 5, 9] {
            let said = describe(&sweep(n));
            let widest = said.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= WIDTH, "{widest}: {said}");
            for i in 0..n {
                let label = format!("a_reference_{i}");
                assert_eq!(said.matches(&label).count(), 1, "{said}");
            }
            // Once above its column, once in the sentence below.
            let above = said
                .split_once("payload_bytes: the same")
                .map_or("", |(above, _)| above);
            assert_eq!(above.matches("payload_bytes").count(), 1, "{said}");
        }
        // What begins a block of its own says whose reference it is.
        assert!(describe(&sweep(9)).contains("test_accuracy@a_reference_"));
    }
}
