//! What single clients carried, and what privacy they spent.

use super::{figure, has_durations};
use crate::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};
use crate::names::{Unit, short};
use folkmoot_metrics::{ClientRow, Direction, PrivacyRow, RunDir};
use std::collections::BTreeSet;

/// How many steps a distribution is drawn with at most.
const QUANTILES: usize = 400;

/// What the clients carried, as distributions over them.
pub(super) fn clients(run: &RunDir) -> Vec<Figure> {
    type Column = (&'static str, fn(&ClientRow) -> f64);
    let ways: [Column; 3] = [
        (Direction::Uplink.as_str(), |row| row.uplink_bytes as f64),
        (Direction::Downlink.as_str(), |row| row.downlink_bytes as f64),
        (Direction::Peer.as_str(), |row| row.peer_bytes as f64),
    ];
    let compute: [Column; 1] = [("", |row| row.compute_s)];
    let online: [Column; 1] = [("", |row| row.online_s)];
    let kinds: [(&str, &str, &str, Unit, &[Column]); 3] = [
        (
            "client-bytes",
            "bytes of a client",
            "Bytes of a client",
            Unit::Bytes,
            &ways,
        ),
        (
            "client-compute-time",
            "computing time of a client",
            "Virtual time computing",
            Unit::Seconds,
            &compute,
        ),
        (
            "client-online-time",
            "time online of a client",
            "Virtual time online",
            Unit::Seconds,
            &online,
        ),
    ];
    let mut figures = Vec::new();
    for (name, title, label, unit, columns) in kinds {
        let mut series = Vec::new();
        for (index, (way, column)) in columns.iter().enumerate() {
            let values: Vec<f64> = run
                .clients
                .iter()
                .map(column)
                .filter(|value| value.is_finite())
                .collect();
            if values.iter().any(|value| *value > 0.0) {
                let points = distribution(values);
                series.push(Series {
                    path: Path::Stairs,
                    ..Series::new(*way, Role::Data(index), points)
                });
            }
        }
        // One step is a number, which stands in the table; an ideal world has no durations.
        let varies = |series: &Series| series.points.iter().any(|point| point.0 != series.points[0].0);
        if series.iter().any(varies) && (unit != Unit::Seconds || has_durations(run)) {
            let y = Axis {
                log_beyond: None,
                ..Axis::amount("Clients with at most this", Unit::Share)
            };
            let lines = Lines {
                x: Axis::amount(label, unit),
                y,
                series,
            };
            let mut figure = figure(name, title, Panel::Lines(lines));
            figure
                .notes
                .push(format!("Distribution over {} clients.", run.clients.len()));
            figures.push(figure);
        }
    }
    figures
}

/// The share of values that are at most x, for some hundreds of x.
fn distribution(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let mut points = vec![(values[0], 0.0)];
    let steps = n.min(QUANTILES);
    points.extend(
        (1..=steps)
            .map(|i| i * n / steps)
            .map(|rank| (values[rank - 1], rank as f64 / n as f64)),
    );
    points
}

/// Epsilon in all, of the worst client by two compositions and in the mean, against what the paper claims.
pub(super) fn epsilon(run: &RunDir) -> Option<Figure> {
    let row = |row: &PrivacyRow| {
        let bar = |value| Bar {
            value,
            references: vec![row.epsilon_claimed],
            ..Bar::default()
        };
        Row {
            label: format!("{} ({})", row.mechanism, row.unit),
            bars: vec![
                bar(Some(row.epsilon_worst_client)),
                bar(Some(row.epsilon_renyi.unwrap_or(f64::INFINITY))),
                bar(Some(row.epsilon_mean_client)),
            ],
            remark: None,
        }
    };
    let spent = |row: &&PrivacyRow| row.epsilon_worst_client != 0.0 || row.epsilon_claimed.is_some();
    let rows: Vec<Row> = run.privacy.iter().filter(spent).map(row).collect();
    let claimed = run.privacy.iter().any(|row| row.epsilon_claimed.is_some());
    let bars = Bars {
        x: Axis::amount("Epsilon in all", Unit::Number),
        groups: vec![
            "worst client: sum".to_owned(),
            "worst client: Rényi".to_owned(),
            "mean client: sum".to_owned(),
        ],
        rows,
        stacked: false,
        references: if claimed {
            vec!["claimed".to_owned()]
        } else {
            Vec::new()
        },
    };
    let is_finite = |bar: &Bar| {
        bar.value.is_some_and(f64::is_finite) || bar.references.iter().flatten().any(|value| value.is_finite())
    };
    bars.rows.iter().flat_map(|row| &row.bars).any(is_finite).then(|| {
        let mut figure = figure("epsilon", "privacy spent", Panel::Bars(bars));
        let deltas: BTreeSet<String> = run.privacy.iter().map(|row| short(row.delta_total)).collect();
        let deltas: Vec<String> = deltas.into_iter().collect();
        let note = format!(
            "Sums by basic composition; Rényi totals hold at a delta of {}.",
            deltas.join(", ")
        );
        figure.notes.push(note);
        figure
    })
}
