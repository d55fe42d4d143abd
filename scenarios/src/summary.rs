//! The numbers of `summary.json`: totals that every run has, then the strategy's own.

use crate::algorithm::{Finished, Runnable};
use folkmoot_metrics::key::base;
use folkmoot_metrics::records::{CUT_EDGES, EPSILON};
use folkmoot_metrics::sweep_dir::WARNINGS;
use folkmoot_metrics::term::{find, meanings};
use folkmoot_metrics::{Cell, Direction, DropReason, Meaning, Sheet, Target, Term, Unit, curves_of, target, terms};
use std::collections::BTreeMap;

/// What a run comes to in numbers, and what they are.
pub struct Summary {
    /// The numbers by name.
    pub numbers: BTreeMap<String, f64>,
    /// What they and the scores are measured in, if it is more than a plain number.
    pub units: BTreeMap<String, Unit>,
    /// What they and the scores mean.
    pub terms: BTreeMap<String, Meaning>,
    /// What a reader of the results must know.
    pub warnings: Vec<String>,
}

/// The summary of a finished run of a strategy, whose numbers have these terms.
pub fn summarise(finished: &Finished, strategy: &Runnable, terms: &[Term], targets: &[Target]) -> Summary {
    let (mut terms, split) = (terms.to_vec(), strategy.about.split.clone());
    terms.extend_from_slice(TERMS);
    let outcome = &finished.outcome;
    terms.extend_from_slice(&outcome.terms);
    let (mut sheet, total) = (Sheet::new(), outcome.ledger.total());
    sheet.number("virtual_s", outcome.end.as_secs());
    let counts = [
        ("rounds", outcome.tables.rounds.len() as u64),
        ("late_results", outcome.tables.rounds.iter().map(|row| row.late).sum()),
        ("handled_events", outcome.handled),
        ("messages_sent", total.sent),
        ("messages_delivered", total.delivered),
        ("messages_dropped", total.dropped_total()),
        ("messages_in_flight", total.in_flight),
        ("messages_retried", total.retried),
    ];
    for (name, n) in counts {
        sheet.number(name, n as f64);
    }
    sheet.number("payload_bytes", total.payload_bytes as f64);
    sheet.number("header_bytes", total.header_bytes as f64);
    for reason in DropReason::ALL {
        let name = format!("dropped_{}", reason.as_str());
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
        sheet.number(format!("{name}_messages"), cell.sent as f64);
        sheet.number(format!("{name}_payload_bytes"), cell.payload_bytes as f64);
    }
    let curves = match targets {
        [] => Vec::new(),
        _ => curves_of(&outcome.tables.scores, &outcome.tables.messages),
    };
    for target in targets {
        target.conclude(&curves, &mut sheet);
        // A dry run has no scores at all.
        if !curves.is_empty() && !curves.iter().any(|curve| curve.name() == target.score) {
            sheet.warn(format!("targets: the run has no score called {}", target.score));
        }
    }
    if outcome.stopped_early {
        sheet.number("stopped_early", 1.0);
    }
    let warnings: Vec<String> = outcome.warnings.iter().cloned().chain(sheet.take_warnings()).collect();
    if !warnings.is_empty() {
        sheet.number(WARNINGS, warnings.len() as f64);
    }
    let numbers = sheet.take_summary().into_iter().chain(outcome.summary.iter().cloned());
    let numbers: BTreeMap<String, f64> = numbers.collect();
    let readings = outcome.tables.readings.iter().map(|row| row.metric.as_str());
    let scores = outcome
        .tables
        .scores
        .iter()
        .map(|row| row.metric.as_str())
        .chain(readings);
    let names = || numbers.keys().map(|name| base(name)).chain(scores.clone());
    // A strategy that has terms says a unit there, and one without where it writes a number down.
    let mut units = outcome.units.clone();
    let known = names().filter_map(|name| Some((name.to_owned(), find(&terms, name)?.unit)));
    units.extend(known.filter(|(_, unit)| *unit != Unit::Number));
    Summary {
        terms: meanings(&terms, split.as_deref(), names()),
        warnings,
        units,
        numbers,
    }
}

pub const TERMS: &[Term] = terms! {
    "virtual_s", "Virtual time", Seconds [lower]:
        "Virtual time from the start to the end of the run.";
    "rounds", "Rounds", Count []:
        "Rounds completed by the server.";
    target::REACHED, "Target reached", Share [higher]:
        "Whether a metric reached the card's target, 1 or 0; over runs, the fraction of runs that did.";
    target::ROUNDS, "Rounds to the target", Count [lower]:
        "Rounds until the metric first reached the target.";
    target::TIME, "Virtual time to the target", Seconds [lower]:
        "Virtual time until the metric first reached the target.";
    target::BYTES, "Bytes to the target", Bytes [lower]:
        "Bytes transmitted, including headers and retransmissions, until the metric first reached the target.";
    "stopped_early", "Stopped early", Count []:
        "Whether the card's `stop` ended the run before its last round, 1 or 0.";
    = CUT_EDGES;
    = EPSILON;
    WARNINGS, "Warnings", Count [lower]:
        "Number of warnings of the run; manifest.json has their texts.";
    "late_results", "Late results", Count [lower]:
        "Results that arrived after the deadline of their round.";
    "handled_events", "Handled events", Count []:
        "Events processed by the simulator, a measure of the simulation cost.";
    "messages_sent", "Messages sent", Count [lower]:
        "Messages sent, not counting retransmissions.";
    "messages_delivered", "Messages delivered", Count []:
        "Messages that reached their receiver.";
    "messages_dropped", "Messages dropped", Count [lower]:
        "Messages that never arrive, for any reason.";
    "messages_in_flight", "Messages in flight", Count []:
        "Messages in transit, or queued for an offline receiver, when the run ended.";
    "messages_retried", "Retransmissions", Count [lower]:
        "Retransmissions over all messages.";
    "payload_bytes", "Payload bytes", Bytes [lower]:
        "Payload bytes of all messages, including retransmissions.";
    "header_bytes", "Header bytes", Bytes [lower]:
        "Header bytes of all messages, including retransmissions.";
    "dropped_loss", "Dropped by loss", Count [lower]:
        "Messages lost by the network, including all their retransmissions.";
    "dropped_absent", "Dropped by absence", Count [lower]:
        "Messages whose receiver was offline.";
    "dropped_dropout", "Dropped by dropout", Count [lower]:
        "Messages whose receiver had dropped out of the round.";
    "uplink_messages", "Uplink messages", Count [lower]:
        "Messages from clients to the server.";
    "downlink_messages", "Downlink messages", Count [lower]:
        "Messages from the server to clients.";
    "peer_messages", "Peer messages", Count [lower]:
        "Messages from client to client.";
    "uplink_payload_bytes", "Uplink payload", Bytes [lower]:
        "Payload bytes from clients to the server, including retransmissions.";
    "downlink_payload_bytes", "Downlink payload", Bytes [lower]:
        "Payload bytes from the server to clients, including retransmissions.";
    "peer_payload_bytes", "Peer payload", Bytes [lower]:
        "Payload bytes between clients, including retransmissions.";
    "*_messages", "* messages", Count [lower]:
        "Messages of the kind `*`.";
    "*_payload_bytes", "* payload", Bytes [lower]:
        "Payload bytes of messages of the kind `*`, including retransmissions.";
    "online_share", "Clients online", Number [fraction]:
        "Fraction of clients online at the end of a round.";
    "epsilon_mean_*", "Mean epsilon so far, *", Number [from(0.0), lower]:
        "Epsilon accounted to a client for `*` until the end of a round (basic composition), mean over clients.";
};
