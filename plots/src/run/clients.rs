//! What single clients carried, and what privacy they spent.

use super::shared::{figure, has_durations};
use crate::names::{Unit, short, value_text};
use folkmoot_metrics::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};
use folkmoot_metrics::{ClientRow, Direction, PrivacyRow, RunDir};
use std::collections::BTreeSet;

/// How many steps a distribution is drawn with at most.
const QUANTILES: usize = 400;
/// More clients have no bars of their own, and a column of bars has at most so many: a third of
/// them.
const MOST_NAMED: usize = 99;
const MOST_IN_COLUMN: usize = MOST_NAMED / 3;

type Column = (&'static str, fn(&ClientRow) -> f64);

/// What clients carry, by way.
const WAYS: [Column; 3] = [
    (Direction::Uplink.as_str(), |row| row.uplink_bytes as f64),
    (Direction::Downlink.as_str(), |row| row.downlink_bytes as f64),
    (Direction::Peer.as_str(), |row| row.peer_bytes as f64),
];

/// What the clients carried, as distributions over them, or as bars where they are few.
pub(super) fn clients(run: &RunDir) -> Vec<Figure> {
    let compute: [Column; 1] = [("", |row| row.compute_s)];
    let online: [Column; 1] = [("", |row| row.online_s)];
    let kinds: [(&str, &str, &str, Unit, &[Column]); 3] = [
        (
            "client-bytes",
            "bytes of a client",
            "Bytes of a client",
            Unit::Bytes,
            &WAYS,
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
                .tables
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
            if unit == Unit::Bytes && run.tables.clients.len() <= MOST_NAMED {
                figures.push(bytes_by_name(run));
                continue;
            }
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
                .push(format!("Distribution over {} clients.", run.tables.clients.len()));
            figures.push(figure);
        }
    }
    figures
}

/// The bytes of each client: a bar of what went up, came down and went to other clients, in up to
/// three columns on one scale.
fn bytes_by_name(run: &RunDir) -> Figure {
    let total = |row: &ClientRow| WAYS.iter().map(|(_, bytes)| bytes(row)).sum::<f64>();
    let most = run.tables.clients.iter().map(total).fold(0.0, f64::max);
    let bars = |row: &ClientRow| Row {
        label: format!("client {}", row.client),
        bars: WAYS
            .map(|(_, bytes)| Bar {
                value: Some(bytes(row)),
                ..Bar::default()
            })
            .into(),
        remark: Some(value_text(Unit::Bytes, total(row))),
        ..Row::default()
    };
    let n_columns = run.tables.clients.len().div_ceil(MOST_IN_COLUMN);
    let columns = run.tables.clients.chunks(run.tables.clients.len().div_ceil(n_columns));
    let panel = |(nth, rows): (usize, &[ClientRow])| {
        Panel::Bars(Bars {
            x: Axis {
                log_beyond: None,
                reach: vec![most],
                ..Axis::amount("Bytes of a client", Unit::Bytes)
            },
            // The first says for all what is what.
            groups: WAYS
                .map(|(way, _)| if nth == 0 { way.to_owned() } else { String::new() })
                .into(),
            rows: rows.iter().map(bars).collect(),
            stacked: true,
            references: Vec::new(),
            ..Bars::default()
        })
    };
    let about = "Sent to the server, received from it and sent to other clients, headers included.";
    Figure {
        name: "client-bytes".to_owned(),
        title: "bytes of each client".to_owned(),
        notes: vec![about.to_owned()],
        panels: columns.enumerate().map(panel).collect(),
    }
}

/// How clients fare one by one: sorted, the worst first, with the mean of all and of the worst 10
/// %.
pub(super) fn fairness(run: &RunDir) -> Option<Figure> {
    let mut all: Vec<f64> = run.tables.client_scores.iter().map(|row| row.accuracy).collect();
    all.sort_by(f64::total_cmp);
    let n = all.len();
    let n_worst = n.div_ceil(10);
    if n < 2 {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_all, mean_worst) = (mean(&all), mean(&all[..n_worst]));
    let level = |label: &str, to: f64, value: f64, nth| {
        let label = format!("{label}: {}", short(value));
        Series::new(label, Role::Theory(nth), vec![(0.0, value), (to, value)])
    };
    let series = vec![
        by_rank("a client".to_owned(), 0, &all),
        level("mean of all clients", 1.0, mean_all, 0),
        level("mean of the worst 10 %", n_worst as f64 / n as f64, mean_worst, 1),
    ];
    let mut figure = faring(series);
    figure.notes.push(format!(
        "{n} clients with test items, each with the model that it answers with; the worst 10 %: {n_worst}."
    ));
    Some(figure)
}

/// The same of several arms beside each other, each with what to call it and the accuracies of its
/// clients, of all its runs together; an arm without any keeps its colour.
pub(crate) fn fairness_of_arms(arms: Vec<(String, Vec<f64>)>) -> Option<Figure> {
    let arms = arms.into_iter().enumerate();
    let scored = arms.filter(|(_, (_, all))| !all.is_empty());
    let series = scored.map(|(nth, (label, mut all))| {
        all.sort_by(f64::total_cmp);
        by_rank(label, nth, &all)
    });
    let series: Vec<Series> = series.collect();
    (!series.is_empty()).then(|| faring(series))
}

/// A curve over the share of clients, of what they have in ascending order.
fn by_rank(label: String, nth: usize, all: &[f64]) -> Series {
    let n = all.len();
    let steps = n.min(QUANTILES);
    let ranks = (0..=steps).map(|i| (i * n / steps).min(n - 1));
    let sorted = ranks.enumerate().map(|(i, rank)| (i as f64 / steps as f64, all[rank]));
    Series {
        path: Path::Stairs,
        ..Series::new(label, Role::Data(nth), sorted.collect())
    }
}

fn faring(series: Vec<Series>) -> Figure {
    let lines = Lines {
        x: Axis {
            log_beyond: None,
            ..Axis::amount("Share of the clients, the worst first", Unit::Share)
        },
        y: Axis {
            log_beyond: None,
            ..Axis::amount("Accuracy of a client", Unit::Share)
        },
        series,
    };
    figure("fairness", "how clients fare", Panel::Lines(lines))
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

/// The privacy loss of each mechanism: what the paper claims, and what the client that loses most
/// has lost.
pub(super) fn epsilon(run: &RunDir) -> Option<Figure> {
    let claimed = run.tables.privacy.iter().any(|row| row.epsilon_claimed.is_some());
    let total = |row: &PrivacyRow| row.epsilon_total.or(Some(row.epsilon_max_client));
    let row = |row: &PrivacyRow| Row {
        label: format!("{} ({})", row.mechanism, row.unit),
        bars: vec![Bar {
            value: total(row),
            references: claimed.then_some(row.epsilon_claimed).into_iter().collect(),
            ..Bar::default()
        }],
        ..Row::default()
    };
    let spent = |row: &&PrivacyRow| row.epsilon_max_client != 0.0 || row.epsilon_claimed.is_some();
    let rows: Vec<Row> = run.tables.privacy.iter().filter(spent).map(row).collect();
    let bars = Bars {
        x: Axis {
            better: "↓",
            ..Axis::amount("Total ε", Unit::Number)
        },
        groups: vec![String::new()],
        rows,
        references: claimed.then(|| "claimed".to_owned()).into_iter().collect(),
        arrows: true,
        ..Bars::default()
    };
    let is_finite = |bar: &Bar| {
        bar.value.is_some_and(f64::is_finite) || bar.references.iter().flatten().any(|value| value.is_finite())
    };
    bars.rows.iter().flat_map(|row| &row.bars).any(is_finite).then(|| {
        let mut figure = figure("epsilon", "privacy loss by mechanism", Panel::Bars(bars));
        let deltas: BTreeSet<String> = run.tables.privacy.iter().map(|row| short(row.delta_total)).collect();
        let deltas: Vec<String> = deltas.into_iter().collect();
        figure.notes.push(format!(
            "Of the client that loses most: the least bound of several accountants, at δ = {}.",
            deltas.join(", ")
        ));
        figure
    })
}
