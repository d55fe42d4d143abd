//! How the data are shared out: the labels, the size and the edges of every client's shard.

use folkmoot_metrics::figure::{ClientDataPanel, Column, Figure, Panel};
use folkmoot_metrics::{Division, PartitionRow, RunDir};
use std::collections::BTreeMap;

/// More columns than this would be too thin to see.
const MOST_COLUMNS: usize = 160;
/// More rows than this would be too low to read.
const MOST_LABELS: usize = 24;

/// The figure of a run that says how its data are shared out.
pub(crate) fn figure(run: &RunDir) -> Option<Figure> {
    let division = run.manifest.division.as_ref()?;
    let split = split(&run.tables.partition, &division.of)?;
    let mut notes: Vec<String> = cut(division).map(|cut| format!("{cut}.")).into_iter().collect();
    for (n, said) in [
        (division.shared_items, "with several clients"),
        (division.spare_items, "with none"),
    ] {
        if n > 0 {
            notes.push(format!("{n} of {} {} are {said}.", division.items, division.of));
        }
    }
    if split.clients > 1 {
        notes.push(format!(
            "A column is the mean of {} clients that follow each other.",
            split.clients
        ));
    }
    Some(Figure {
        name: "partition".to_owned(),
        title: "how the data are shared out".to_owned(),
        notes,
        panels: vec![Panel::ClientData(split)],
    })
}

fn cut(division: &Division) -> Option<String> {
    let share = 100.0 * division.cut_edges as f64 / division.edges as f64;
    let said = || {
        format!(
            "{} of {} edges join two clients and are in no shard ({share:.1} %)",
            division.cut_edges, division.edges
        )
    };
    (division.edges > 0).then(said)
}

/// How the data of arms are shared out that have names: a panel for each way, under the name of the
/// first arm that has it, and as a note what is cut.
pub(crate) fn side_by_side(arms: &[(String, Division, Vec<PartitionRow>)]) -> (Vec<Panel>, Vec<String>) {
    let mut notes = Vec::new();
    let panel = |(name, division, rows): &(String, Division, Vec<PartitionRow>)| {
        let above = name.clone();
        let split = split(rows, &division.of)?;
        notes.extend(cut(division).map(|cut| match above.is_empty() {
            true => format!("{cut}."),
            false => format!("{above}: {cut}."),
        }));
        Some(Panel::ClientData(ClientDataPanel { above, ..split }))
    };
    (arms.iter().filter_map(panel).collect(), notes)
}

fn split(rows: &[PartitionRow], items: &str) -> Option<ClientDataPanel> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    let mut n_groups = 0;
    let mut last = None;
    for row in rows {
        n_groups += usize::from(last != Some(row.client));
        last = Some(row.client);
        let sum = sums.entry(&row.label).or_insert_with(|| {
            order.push(&row.label);
            0
        });
        *sum = sum.saturating_add(row.items);
    }
    // Numbers by their size, then words; what has no label comes last, as in the table.
    let rank = |label: &&str| (label.parse::<u64>().unwrap_or(u64::MAX), matches!(*label, "unlabelled"));
    order.sort_by_key(rank);
    let mut largest = order.clone();
    largest.sort_by_key(|label| std::cmp::Reverse(sums[label]));
    largest.truncate(MOST_LABELS);
    let n_labels = order.len();
    order.retain(|label| largest.contains(label));
    let others = (n_labels > order.len()).then_some("the others");
    let labels: Vec<String> = order.iter().copied().chain(others).map(str::to_owned).collect();

    let step = n_groups.div_ceil(MOST_COLUMNS).max(1);
    let mut columns: Vec<Column> = Vec::new();
    let (mut group, mut last) = (0, None);
    for row in rows {
        let is_new = last != Some(row.client);
        if is_new {
            if group % step == 0 {
                columns.push(Column {
                    client: row.client,
                    items: vec![0.0; labels.len()],
                    ..Column::default()
                });
            }
            group += 1;
            last = Some(row.client);
        }
        let column = columns.last_mut()?;
        if is_new {
            column.clients = column.clients.saturating_add(row.clients);
            column.size += row.shard_size as f64;
            column.inner += row.inner_edges as f64;
            column.cut += row.cut_edges as f64;
        }
        let at = order.iter().position(|label| *label == row.label);
        column.items[at.unwrap_or(labels.len() - 1)] += row.items as f64;
    }
    for column in &mut columns {
        let n = f64::from(column.clients.max(1));
        let numbers = [&mut column.size, &mut column.inner, &mut column.cut];
        numbers
            .into_iter()
            .chain(&mut column.items)
            .for_each(|number| *number /= n);
    }
    let clients = columns.first()?.clients;
    // Where nothing is labelled, labels say nothing.
    let is_labelled = order.iter().any(|label| *label != "unlabelled");
    Some(ClientDataPanel {
        above: String::new(),
        items: items.to_owned(),
        labels: if is_labelled { labels } else { Vec::new() },
        columns,
        clients,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(client: u32, label: &str, items: u64) -> PartitionRow {
        PartitionRow {
            client,
            clients: 2,
            shard_size: 6,
            inner_edges: 4,
            cut_edges: 2,
            label: label.to_owned(),
            items,
        }
    }

    #[test]
    fn a_column_is_a_mean_client_and_numbers_stand_before_words() {
        let rows = [row(0, "unlabelled", 2), row(0, "10", 3), row(0, "9", 1), row(2, "9", 6)];
        let drawn = split(&rows, "nodes").unwrap();
        assert_eq!(drawn.labels, ["9", "10", "unlabelled"]);
        let items: Vec<&[f64]> = drawn.columns.iter().map(|column| column.items.as_slice()).collect();
        assert_eq!(items, [&[0.5, 1.5, 1.0][..], &[3.0, 0.0, 0.0]]);
        let first = &drawn.columns[0];
        assert_eq!(
            (first.client, first.clients, first.size, first.inner, first.cut),
            (0, 2, 3.0, 2.0, 1.0)
        );
    }

    #[test]
    fn what_has_no_room_is_put_together_and_nothing_is_lost() {
        let rows: Vec<PartitionRow> = (0..1000).map(|at| row(2 * at, &(at % 60).to_string(), 1)).collect();
        let drawn = split(&rows, "nodes").unwrap();
        assert_eq!((drawn.labels.len(), drawn.columns.len()), (MOST_LABELS + 1, 143));
        assert_eq!(drawn.labels[MOST_LABELS], "the others");
        let all = |column: &Column| f64::from(column.clients) * column.items.iter().sum::<f64>();
        assert!((drawn.columns.iter().map(all).sum::<f64>() - 1000.0).abs() < 1e-6);
        assert!(split(&[], "nodes").is_none());
        assert!(split(&[row(0, "unlabelled", 1)], "nodes").unwrap().labels.is_empty());
    }
}
