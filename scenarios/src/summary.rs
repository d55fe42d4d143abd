//! The numbers of `summary.json`: totals that every run has, then the strategy's own.

use crate::registry::Finished;
use folkmoot_metrics::{Cell, Direction, DropReason};
use std::collections::BTreeMap;

/// The summary of a finished run.
pub fn summarise(finished: &Finished) -> BTreeMap<String, f64> {
    let outcome = &finished.outcome;
    let mut summary = BTreeMap::new();
    let mut put = |name: &str, value: f64| {
        summary.insert(name.to_owned(), value);
    };
    let total = outcome.ledger.total();
    put("virtual_s", outcome.end.as_secs());
    put("rounds", outcome.rounds.len() as f64);
    put(
        "late_results",
        outcome.rounds.iter().map(|row| row.late).sum::<u64>() as f64,
    );
    put("handled_events", outcome.handled as f64);
    put("messages_sent", total.sent as f64);
    put("messages_delivered", total.delivered as f64);
    put("messages_dropped", total.dropped_total() as f64);
    put("messages_in_flight", total.in_flight as f64);
    put("messages_retried", total.retried as f64);
    put("payload_bytes", total.payload_bytes as f64);
    put("header_bytes", total.header_bytes as f64);
    for reason in DropReason::ALL {
        put(
            &format!("dropped_{}", reason.as_str()),
            total.dropped[reason as usize] as f64,
        );
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
        put(&format!("{name}_messages"), cell.sent as f64);
        put(&format!("{name}_payload_bytes"), cell.payload_bytes as f64);
    }
    summary.extend(outcome.summary.iter().cloned());
    summary
}
