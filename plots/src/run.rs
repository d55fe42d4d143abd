//! The standard figures of one run.

mod carried;
mod clients;
mod online;
mod scores;
mod shared;

pub(crate) use clients::fairness_of_arms;

use crate::names::{Unit, Units, capital, file_part, si, value_text};
use crate::profile;
use folkmoot_metrics::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Role, Row, Series};
use folkmoot_metrics::{MessageRow, RoundRow, RunDir};
use shared::{bytes, figure, has_durations};
use std::collections::{BTreeMap, BTreeSet};

/// How many points a curve that stays level is drawn with, about.
const LEVEL_POINTS: usize = 2_000;

/// What all curves of theory are called in a legend; each has the colour of its own curve.
const THEORY: &str = "theory (in its curve's colour)";

/// All figures for which the run has data, those of its artifacts last.
pub(crate) fn figures(run: &RunDir, of_artifacts: Vec<Figure>) -> Vec<Figure> {
    let mut figures = Vec::new();
    figures.extend(by_round(
        run,
        "messages-by-round",
        "Messages",
        Unit::Count,
        &|row| row.sent as f64,
        true,
    ));
    figures.extend(by_round(
        run,
        "bytes-by-round",
        "Bytes on the wire",
        Unit::Bytes,
        &bytes,
        false,
    ));
    figures.extend(bytes_by_kind(run));
    figures.extend(cumulative_bytes(run));
    figures.extend(scores::scores(run));
    figures.extend(profile::figures(
        &[profile::Arm {
            label: String::new(),
            runs: vec![&run.summary],
        }],
        Units(&run.manifest.units, &run.manifest.terms),
    ));
    figures.extend(participation(run));
    figures.extend(scores::availability(run));
    figures.extend(online::online(run));
    figures.extend(carried::carried(run));
    figures.extend(fate(run));
    figures.extend(clients::clients(run));
    figures.extend(clients::fairness(run));
    figures.extend(clients::epsilon(run));
    figures.extend(crate::split::figure(run));
    figures.extend(scores::epsilon_by_round(run));
    figures.extend(of_artifacts);
    let unfinished = format!("The run is not finished; rounds so far: {}.", run.tables.rounds.len());
    let is_ideal = !has_durations(run);
    for figure in &mut figures {
        if is_ideal && figure.name.starts_with("score-") {
            figure
                .notes
                .push("An ideal world: messages and work take no time.".to_owned());
        }
        figure.title = capital(&figure.title);
        if !run.manifest.finished {
            figure.notes.push(unfinished.clone());
        }
    }
    figures
}

/// The names of figures that answer most questions of a run: its first score, what was sent in all,
/// curves within it, privacy spent.
pub(crate) fn usual(run: &RunDir) -> Vec<String> {
    let score = scores::first(run).map(|metric| format!("score-{}-by-*", file_part(metric)));
    let others = ["bytes-by-kind", "by-*", "epsilon"].map(str::to_owned);
    score.into_iter().chain(others).collect()
}

/// Kinds in the order of the table, each with its rows; named with their phase where one name
/// stands in two phases.
fn kinds(run: &RunDir) -> Vec<(String, Vec<&MessageRow>)> {
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut rows: BTreeMap<(&str, &str), Vec<&MessageRow>> = BTreeMap::new();
    for row in &run.tables.messages {
        let key = (row.phase.as_str(), row.kind.as_str());
        let of_kind = rows.entry(key).or_default();
        if of_kind.is_empty() {
            order.push(key);
        }
        of_kind.push(row);
    }
    let phases: BTreeSet<&str> = order.iter().map(|(phase, _)| *phase).collect();
    let named = |(phase, kind): (&str, &str)| {
        let words = kind.replace('_', " ");
        if phases.len() > 1 && phase != kind {
            format!("{phase}: {words}")
        } else {
            words
        }
    };
    order
        .into_iter()
        .map(|key| (named(key), rows.remove(&key).unwrap_or_default()))
        .collect()
}

/// The sum of `value` by round, from the first round of `rows` to the last; rounds without a row
/// count zero.
fn sums(rows: &[&MessageRow], value: &dyn Fn(&MessageRow) -> f64) -> Vec<(f64, f64)> {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for row in rows {
        *sums.entry(row.round).or_default() += value(row);
    }
    let (Some(first), Some(last)) = (sums.keys().next(), sums.keys().next_back()) else {
        return Vec::new();
    };
    // A table may name round four billion in a row of its own; zeros are only filled in where that
    // is a drawing.
    if (last - first) as usize > 100 * sums.len() + 10_000 {
        return sums.into_iter().map(|(round, sum)| (f64::from(round), sum)).collect();
    }
    (*first..=*last)
        .map(|round| (f64::from(round), sums.get(&round).copied().unwrap_or(0.0)))
        .collect()
}

/// What theory expects by round, where it expects anything.
fn expected(rows: &[&MessageRow]) -> Vec<(f64, f64)> {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for (round, count) in rows.iter().filter_map(|row| Some((row.round, row.expected_messages?))) {
        *sums.entry(round).or_default() += count;
    }
    sums.into_iter().map(|(round, sum)| (f64::from(round), sum)).collect()
}

/// A curve per kind over rounds; bars where all is in one round.
fn by_round(
    run: &RunDir,
    name: &str,
    label: &str,
    unit: Unit,
    value: &dyn Fn(&MessageRow) -> f64,
    theory: bool,
) -> Option<Figure> {
    let kinds: Vec<_> = kinds(run)
        .into_iter()
        .filter(|(_, rows)| rows.iter().any(|row| value(row) > 0.0))
        .collect();
    let rounds: BTreeSet<u32> = kinds
        .iter()
        .flat_map(|(_, rows)| rows.iter().map(|row| row.round))
        .collect();
    if rounds.len() == 1 {
        let round = rounds.first().copied().unwrap_or_default();
        let row = |(label, rows): &(String, Vec<&MessageRow>)| {
            let predicted = expected(rows).first().map(|(_, count)| *count).filter(|_| theory);
            let sum = sums(rows, value).first().map(|(_, sum)| *sum);
            Row {
                label: label.clone(),
                bars: vec![Bar {
                    value: sum,
                    references: vec![predicted],
                    ..Bar::default()
                }],
                remark: None,
                ..Row::default()
            }
        };
        let rows: Vec<Row> = kinds.iter().map(row).collect();
        let predicted = rows
            .iter()
            .any(|row| row.bars.iter().any(|bar| bar.references.iter().any(Option::is_some)));
        let bars = Bars {
            x: Axis::amount(label, unit),
            groups: vec![String::new()],
            rows,
            stacked: false,
            references: if predicted {
                vec!["theory".to_owned()]
            } else {
                Vec::new()
            },
            ..Bars::default()
        };
        return Some(figure(name, &format!("{label} of round {round}"), Panel::Bars(bars)));
    }
    let mut series = Vec::new();
    for (index, (label, rows)) in kinds.iter().enumerate() {
        series.push(Series::new(label.clone(), Role::Data(index), sums(rows, value)));
    }
    for (index, (_, rows)) in kinds.iter().enumerate().filter(|_| theory) {
        let points = expected(rows);
        if !points.is_empty() {
            let label = if kinds.len() == 1 { "theory" } else { THEORY };
            series.push(Series::new(label, Role::TheoryOf(index), points));
        }
    }
    let lines = Lines {
        x: Axis::rounds(),
        y: Axis::amount(label, unit),
        series,
    };
    (!lines.series.is_empty()).then(|| figure(name, &format!("{label} by round"), Panel::Lines(lines)))
}

/// What each kind of message has cost in all, the largest first.
fn bytes_by_kind(run: &RunDir) -> Option<Figure> {
    let total = |(label, rows): (String, Vec<&MessageRow>)| (label, rows.into_iter().map(bytes).sum::<f64>());
    let mut totals: Vec<(String, f64)> = kinds(run)
        .into_iter()
        .map(total)
        .filter(|(_, sum)| *sum > 0.0)
        .collect();
    totals.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = totals.iter().map(|(_, sum)| sum).sum();
    let row = |(label, sum): &(String, f64)| Row {
        label: label.clone(),
        bars: vec![Bar {
            value: Some(*sum),
            ..Bar::default()
        }],
        remark: Some(format!("{} ({})", value_text(Unit::Bytes, *sum), share(*sum / all))),
        ..Row::default()
    };
    let bars = Bars {
        x: Axis {
            log_beyond: None,
            better: "↓",
            ..Axis::amount("Bytes on the wire", Unit::Bytes)
        },
        groups: vec![String::new()],
        rows: totals.iter().map(row).collect(),
        ..Bars::default()
    };
    let about = format!(
        "{} in all, headers and retransmissions included.",
        value_text(Unit::Bytes, all)
    );
    (totals.len() > 1).then(|| {
        let mut figure = figure("bytes-by-kind", "bytes by kind of message", Panel::Bars(bars));
        figure.notes.push(about);
        figure
    })
}

/// A share in whole per cent, so far as it has any.
fn share(share: f64) -> String {
    match share {
        share if share < 0.01 => "< 1 %".to_owned(),
        share => format!("{:.0} %", 100.0 * share),
    }
}

fn cumulative_bytes(run: &RunDir) -> Option<Figure> {
    let mut series = Vec::new();
    let last = run.tables.messages.iter().map(|row| row.round).max().unwrap_or(0);
    for (label, rows) in kinds(run) {
        let mut sum = 0.0;
        let mut points = sums(&rows, &bytes);
        for point in &mut points {
            sum += point.1;
            point.1 = sum;
        }
        // After the last row of this kind, the sum stays level to the end.
        let level_from = rows.iter().map(|row| row.round).max().unwrap_or(last);
        let step = ((last - level_from) as usize / LEVEL_POINTS + 1).max(1);
        points.extend(
            (level_from..=last)
                .step_by(step)
                .skip(1)
                .map(|round| (f64::from(round), sum)),
        );
        if sum > 0.0 {
            series.push(Series::new(label, Role::Data(series.len()), points));
        }
    }
    let more_than_one = run.tables.messages.iter().any(|row| row.round != last);
    // A sum starts near zero whatever it is; only totals decades apart are worth a logarithmic
    // axis.
    let totals = || {
        series
            .iter()
            .filter_map(|series: &Series| series.points.last())
            .map(|(_, total)| *total)
    };
    let apart = totals().fold(0.0, f64::max) > 1e3 * totals().fold(f64::INFINITY, f64::min);
    let y = Axis {
        log_beyond: apart.then_some(3.0),
        ..Axis::amount("Bytes so far", Unit::Bytes)
    };
    let lines = Lines {
        x: Axis::rounds(),
        y,
        series,
    };
    (more_than_one && !lines.series.is_empty()).then(|| {
        figure(
            "cumulative-bytes",
            "bytes on the wire, summed over rounds",
            Panel::Lines(lines),
        )
    })
}

/// Who was asked, who answered in time, who did not.
fn participation(run: &RunDir) -> Option<Figure> {
    type Column = (&'static str, fn(&RoundRow) -> u64);
    let columns: [Column; 4] = [
        ("asked", |row| row.cohort),
        ("in time", |row| row.completed),
        ("given up", |row| row.dropped),
        ("late", |row| row.late),
    ];
    let mut series = Vec::new();
    for (index, (label, column)) in columns.into_iter().enumerate() {
        if run.tables.rounds.iter().any(|row| column(row) > 0) {
            let points = run
                .tables
                .rounds
                .iter()
                .map(|row| (f64::from(row.round), column(row) as f64))
                .collect();
            series.push(Series::new(label, Role::Data(index), points));
        }
    }
    let lines = Lines {
        x: Axis::rounds(),
        y: Axis::amount("Results", Unit::Count),
        series,
    };
    let varies = lines
        .series
        .iter()
        .any(|series| series.points.iter().any(|point| point.1 != series.points[0].1));
    varies.then(|| figure("participation", "results asked for and received", Panel::Lines(lines)))
}

/// A count to three significant digits, for a remark.
fn rounded(count: f64) -> f64 {
    let step = libm::pow(10.0, (libm::log10(count.max(1.0)).floor() - 2.0).max(0.0));
    (count / step).round() * step
}

/// What became of the messages of each kind, as shares of those sent.
fn fate(run: &RunDir) -> Option<Figure> {
    let rows: Vec<Row> = kinds(run)
        .into_iter()
        .filter_map(|(label, rows)| {
            let sum = |count: fn(&MessageRow) -> u64| rows.iter().map(|row| count(row) as f64).sum::<f64>();
            let (sent, retried) = (sum(|row| row.sent), sum(|row| row.retried));
            let share = |count: f64| Bar {
                value: Some(count / sent),
                ..Bar::default()
            };
            let bars = vec![
                share(sum(|row| row.delivered)),
                share(sum(|row| row.dropped)),
                share(sum(|row| row.in_flight)),
            ];
            let retries = if retried > 0.0 {
                format!(", {} retries", si(rounded(retried)))
            } else {
                String::new()
            };
            (sent > 0.0).then(|| Row {
                label,
                bars,
                remark: Some(format!("{} sent{retries}", si(rounded(sent)))),
                ..Row::default()
            })
        })
        .collect();
    let groups = ["delivered", "dropped", "in flight"].map(str::to_owned).into();
    let x = Axis {
        log_beyond: None,
        ..Axis::amount("Share of the messages sent", Unit::Share)
    };
    let bars = Bars {
        x,
        groups,
        rows,
        stacked: true,
        references: Vec::new(),
        ..Bars::default()
    };
    let lost = run.tables.messages.iter().any(|row| row.dropped + row.in_flight > 0);
    lost.then(|| figure("message-fate", "what became of the messages", Panel::Bars(bars)))
}
