//! The numbers of `summary.json`: totals that every run has, then the strategy's own.

use folkmoot_metrics::sweep_dir::WARNINGS;
use folkmoot_metrics::{Cell, Direction, DropReason, Sheet, Target, Unit, curves_of};
use folkmoot_strategies::settings::Finished;
use std::collections::BTreeMap;

/// The summary of a finished run, and the units of its numbers and scores.
pub fn summarise(finished: &Finished, targets: &[Target]) -> (BTreeMap<String, f64>, BTreeMap<String, Unit>) {
    let outcome = &finished.outcome;
    let (mut sheet, total) = (Sheet::new(), outcome.ledger.total());
    sheet.number(Unit::Seconds.of("virtual_s"), outcome.end.as_secs());
    let counts = [
        ("rounds", outcome.rounds.len() as u64),
        ("late_results", outcome.rounds.iter().map(|row| row.late).sum()),
        ("handled_events", outcome.handled),
        ("messages_sent", total.sent),
        ("messages_delivered", total.delivered),
        ("messages_dropped", total.dropped_total()),
        ("messages_in_flight", total.in_flight),
        ("messages_retried", total.retried),
    ];
    for (name, n) in counts {
        sheet.number(Unit::Count.of(name), n as f64);
    }
    sheet.number(Unit::Bytes.of("payload_bytes"), total.payload_bytes as f64);
    sheet.number(Unit::Bytes.of("header_bytes"), total.header_bytes as f64);
    for reason in DropReason::ALL {
        let name = Unit::Count.of(format!("dropped_{}", reason.as_str()));
        sheet.number(name, total.dropped[reason as usize] as f64);
    }
    let mut by_direction = [Cell::default(); Direction::ALL.len()];
    let mut by_kind: BTreeMap<&str, Cell> = BTreeMap::new();
    for (kind, _, direction, cell) in outcome.ledger.rows() {
        by_direction[direction as usize].merge(cell);
        by_kind.entry(kind.name).or_default().merge(cell);
    }
    let of_direction = Direction::ALL
        .iter()
        .map(|direction| (direction.as_str(), &by_direction[*direction as usize]));
    for (name, cell) in of_direction.chain(by_kind.iter().map(|(name, cell)| (*name, cell))) {
        sheet.number(Unit::Count.of(format!("{name}_messages")), cell.sent as f64);
        sheet.number(
            Unit::Bytes.of(format!("{name}_payload_bytes")),
            cell.payload_bytes as f64,
        );
    }
    if !targets.is_empty() {
        let curves = curves_of(&outcome.scores, &outcome.messages);
        targets.iter().for_each(|target| target.conclude(&curves, &mut sheet));
    }
    if outcome.stopped_early {
        sheet.number(Unit::Count.of("stopped_early"), 1.0);
    }
    if !outcome.warnings.is_empty() {
        sheet.number(Unit::Count.of(WARNINGS), outcome.warnings.len() as f64);
    }
    let (mut summary, mut units) = (BTreeMap::from_iter(sheet.take_summary()), sheet.take_units());
    summary.extend(outcome.summary.iter().cloned());
    units.extend(outcome.units.iter().map(|(name, unit)| (name.clone(), *unit)));
    (summary, units)
}
