//! The rows of the run directory's tables, column by column. The field names are the column names:
//! a contract, since other programs read these files.

use crate::ids::Direction;
use crate::metric::Unit;
use crate::spread::Spread;
use crate::table::table;
use crate::term::{Answering, Asked, Term, Weighed};
use serde::{Deserialize, Serialize};

table! {
    "rounds.csv"
    /// A row of `rounds.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct RoundRow {
        /// Round, from 0.
        pub round: u32,
        /// Virtual seconds since the start, when the round ended.
        pub virtual_s: f64,
        /// Clients selected.
        pub cohort: u64,
        /// Results received before the deadline (FedWalk: walks returned).
        pub completed: u64,
        /// Results missing when the round ended, except late ones.
        pub dropped: u64,
        /// Results after the deadline.
        pub late: u64,
        /// Mean staleness of the aggregated updates, in rounds.
        pub staleness_mean: f64,
    }
}

table! {
    "messages.csv"
    /// A row of `messages.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct MessageRow {
        /// Protocol phase, as in the algorithm's message table.
        pub phase: String,
        /// Round.
        pub round: u32,
        /// Message kind, as in the algorithm's message table.
        pub kind: String,
        /// Direction: from the server, to the server, or between clients.
        pub direction: Direction,
        /// Messages sent, without retransmissions.
        pub sent: u64,
        /// Messages that reached their receiver.
        pub delivered: u64,
        /// Messages that never arrive.
        pub dropped: u64,
        /// Messages in transit when the run ended.
        pub in_flight: u64,
        /// Retransmissions.
        pub retried: u64,
        /// Payload bytes, including retransmissions.
        pub payload_bytes: u64,
        /// Header bytes, including retransmissions.
        pub header_bytes: u64,
        /// Theoretical value of `sent`, if known.
        pub expected_messages: Option<f64>,
        /// Whether message contents were generated in full; otherwise only their sizes were
        /// counted.
        pub materialised: bool,
    }
}

/// The messages of all rounds added up, a row for each phase, kind and direction in the order in
/// which they first occur. What theory predicts is there where it is for every round.
pub fn totals(rows: &[MessageRow]) -> Vec<MessageRow> {
    let mut totals: Vec<MessageRow> = Vec::new();
    for row in rows {
        let is_alike = |total: &&mut MessageRow| {
            (&total.kind, &total.phase, total.direction) == (&row.kind, &row.phase, row.direction)
        };
        let Some(total) = totals.iter_mut().find(is_alike) else {
            totals.push(row.clone());
            continue;
        };
        let counts = [
            (&mut total.sent, row.sent),
            (&mut total.delivered, row.delivered),
            (&mut total.dropped, row.dropped),
            (&mut total.in_flight, row.in_flight),
            (&mut total.retried, row.retried),
            (&mut total.payload_bytes, row.payload_bytes),
            (&mut total.header_bytes, row.header_bytes),
        ];
        // Files that somebody changed may hold anything.
        counts.into_iter().for_each(|(sum, n)| *sum = sum.saturating_add(n));
        let expected = total.expected_messages.zip(row.expected_messages);
        total.expected_messages = expected.map(|(a, b)| a + b);
        total.materialised &= row.materialised;
    }
    totals
}

table! {
    "scores.csv"
    /// A row of `scores.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ScoreRow {
        /// Round.
        pub round: u32,
        /// Virtual seconds since the start.
        pub virtual_s: f64,
        /// Split of the data, or `all`.
        pub split: String,
        /// Name of the metric; see `folkmoot explain`.
        pub metric: String,
        /// Value of the metric.
        pub value: f64,
        /// Number of samples.
        pub n: u64,
    }
}

table! {
    "readings.csv"
    /// A row of `readings.csv`: metrics of the engine at the end of a round, for every algorithm.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ReadingRow {
        /// Round.
        pub round: u32,
        /// Virtual seconds since the start, when the round ended.
        pub virtual_s: f64,
        /// Metric: `online_share`, or `epsilon_mean_` followed by a mechanism.
        pub metric: String,
        /// Value.
        pub value: f64,
        /// Number of clients, or of releases so far.
        pub n: u64,
    }
}

impl ReadingRow {
    /// The share of the clients that are online.
    pub const ONLINE: &str = "online_share";
    /// Before a mechanism: the mean epsilon that clients have spent on it so far.
    pub const EPSILON: &str = "epsilon_mean_";

    /// The split that a row of `scores.csv` has where it is a reading of this name, as in runs made
    /// before `readings.csv`; `None` of a name that is no reading.
    pub fn split(metric: &str) -> Option<&'static str> {
        if metric == ReadingRow::ONLINE {
            Some("clients")
        } else {
            metric.starts_with(ReadingRow::EPSILON).then_some("privacy")
        }
    }
}

table! {
    "privacy.csv"; 3 added
    /// A row of `privacy.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PrivacyRow {
        /// Privacy mechanism, or `none` if a message is unprotected.
        pub mechanism: String,
        /// Unit of protection of one release.
        pub unit: String,
        /// Number of releases, over all clients.
        pub releases: u64,
        /// Epsilon of one release; infinite if unprotected.
        pub epsilon_per_release: f64,
        /// Delta of one release.
        pub delta_per_release: f64,
        /// Maximum over clients of the total epsilon.
        pub epsilon_max_client: f64,
        /// Mean over clients of the total epsilon.
        pub epsilon_mean_client: f64,
        /// Composition rule of these two: `basic`, or `none` if unprotected.
        pub composition: String,
        /// Total epsilon claimed by the paper.
        pub epsilon_claimed: Option<f64>,
        /// Delta of the following totals, each the maximum over clients.
        pub delta_total: f64,
        /// Total epsilon by basic composition; empty if it gives no bound at that delta.
        pub epsilon_basic: Option<f64>,
        /// Total epsilon by advanced composition (Dwork, Rothblum and Vadhan 2010).
        pub epsilon_advanced: Option<f64>,
        /// Total epsilon by Rényi accounting (Mironov 2017).
        pub epsilon_renyi: Option<f64>,
        /// Total epsilon by privacy-loss distributions (Koskela et al. 2020); empty if the
        /// distribution of a release is not known.
        pub epsilon_pld: Option<f64>,
        /// Least total epsilon proven by any of these; the one to report.
        pub epsilon_total: Option<f64>,
        /// Accountant that proves it: `basic`, `advanced`, `renyi`, `pld`, or `none`.
        pub accountant: String,
    }
}

table! {
    "clients.csv"
    /// A row of `clients.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ClientRow {
        /// Client id, from 0.
        pub client: u32,
        /// Number of items (nodes or graphs) of the client.
        pub shard_size: u64,
        /// Rounds in which the client participated.
        pub rounds: u64,
        /// Bytes sent to the server, including headers and retransmissions.
        pub uplink_bytes: u64,
        /// Bytes received from the server.
        pub downlink_bytes: u64,
        /// Bytes sent to other clients.
        pub peer_bytes: u64,
        /// Virtual seconds of computing.
        pub compute_s: f64,
        /// Virtual seconds online. After 65 536 absences of a client the rest is estimated from them.
        pub online_s: f64,
    }
}

table! {
    "absences.csv"
    /// A row of `absences.csv`: a period in which a client was offline. Covers all clients of a run
    /// with at most two hundred, otherwise two hundred evenly spaced ones. Not part of the result,
    /// since card and seed determine it.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct AbsenceRow {
        /// Client id.
        pub client: u32,
        /// Start of the offline period, in virtual seconds.
        pub from_s: f64,
        /// End of the offline period, or of the run. A client that was always online has a row from
        /// 0 to 0.
        pub until_s: f64,
    }
}

table! {
    "partition.csv"
    /// A row of `partition.csv`: the number of items of one label at a client. Columns about the
    /// client are repeated in each of its rows.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PartitionRow {
        /// Client id, or the first of a group of consecutive clients.
        pub client: u32,
        /// Number of consecutive clients in the row, whose values are summed; 1 for up to a
        /// thousand clients.
        pub clients: u32,
        /// Number of items (nodes or graphs) of these clients.
        pub shard_size: u64,
        /// Edges with both ends in one shard.
        pub inner_edges: u64,
        /// Edges that leave the shard (for directed graphs: outgoing arcs); invisible, or visible
        /// only to other clients.
        pub cut_edges: u64,
        /// Label, `unlabelled`, or `other labels` for rare labels if there are very many.
        pub label: String,
        /// Number of items with the label; an item may have several.
        pub items: u64,
    }
}

table! {
    "client_scores.csv"; 1 added
    /// A row of `client_scores.csv`: performance of a client's model on its own test items.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ClientScoreRow {
        /// Client id; clients without test items have no row.
        pub client: u32,
        /// Number of test items of the client.
        pub items: u64,
        /// Fraction of the test items classified correctly.
        pub accuracy: f64,
        /// Mean cross entropy over the test items; empty if not finite.
        pub loss: Option<f64>,
        /// Fraction of the client's validation items classified correctly; empty without such
        /// items.
        pub validation_accuracy: Option<f64>,
    }
}

table! {
    "controls.csv"
    /// A row of `controls.csv`: score of a baseline without graph, without training, or restricted
    /// to the client's own data. Not part of the result hash.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ControlRow {
        /// Baseline: `untrained`; for classes `client_majority`, `majority_class`; for labels
        /// `client_prior`, `label_prior`; for numbers `client_mean`, `training_mean`.
        pub control: String,
        /// Metric, by its name in `summary.json`.
        pub metric: String,
        /// Score of the baseline in that metric.
        pub value: f64,
        /// Number of test items.
        pub n: u64,
    }
}

/// The control that answers every test item with the class that most other items of its client
/// have. Where a client's classes are balanced it scores below chance, since the item that is left
/// out makes its own class the smaller one.
pub const CLIENT_MAJORITY: &str = "client_majority";
/// The control that answers every test item with the class that most training items of all clients
/// have.
pub const MAJORITY_CLASS: &str = "majority_class";
/// The control that gives each label the frequency that it has among the training items of all
/// clients.
pub const LABEL_PRIOR: &str = "label_prior";
/// The same with the frequency among the training items of the client.
pub const CLIENT_PRIOR: &str = "client_prior";
/// The control that answers with the mean number of the training items of all clients.
pub const TRAINING_MEAN: &str = "training_mean";
/// The same with the mean of the training items of the client.
pub const CLIENT_MEAN: &str = "client_mean";
/// The control that answers with the model before its first training step.
pub const UNTRAINED: &str = "untrained";

/// What [`Division::cut_of_pieces`](crate::Division::cut_of_pieces) is called.
pub const CUT_EDGES: Term = Term::new(
    "cut_edges",
    "Cut edges",
    Unit::Count,
    "Edges between nodes of different clients, for one graph partitioned into subgraphs.",
    "",
);
/// Reference of [`EPSILON`]: the total by Rényi accounting.
pub const RENYI: &str = "renyi";

/// The largest total of a mechanism, or of several that reveal the same thing, with its accountant
/// and its delta as a reference.
pub const EPSILON: Term = Term::new(
    "epsilon",
    "Epsilon",
    Unit::Number,
    "Bound on the privacy loss: the maximum over all clients and all mechanisms that add noise. Messages without noise are not counted. Except with probability δ, an attacker's odds rise at most by the factor e^ε. A value far above 10 guarantees nothing. Of several accountants, the one with the least bound is used. `privacy.csv` has the total of each mechanism and its unit of protection.",
    "",
)
.lower();

/// The accuracy of personalised models on one part of the data: [`ClientScoreRow::validation`].
pub const OWN_ACCURACY: Term = Term::new(
    "own_accuracy",
    "Accuracy of personalised models",
    Unit::Number,
    "Accuracy of each client's model on its own items, mean over clients.",
    "",
)
.from(0.0)
.up_to(1.0)
.higher()
.scored(Answering::Own, Asked::Own, Weighed::Clients);
/// What [`ClientScoreRow::worst_tenth`] is called, of one part of the data.
pub const OWN_WORST_TENTH: Term = Term::new(
    "own_worst_tenth",
    "Accuracy of the worst 10 % of clients",
    Unit::Number,
    "Accuracy of each client's model on its own items, mean over the 10 % of clients with the lowest accuracy.",
    "",
)
.from(0.0)
.up_to(1.0)
.higher()
.scored(Answering::Own, Asked::Own, Weighed::Clients);
/// What [`ClientScoreRow::spread`] is called.
pub const OWN_SPREAD: Term = Term::new(
    "own_spread",
    "Spread over clients",
    Unit::Number,
    "Standard deviation over clients of the accuracy of each client's model on its own items.",
    "",
)
.from(0.0)
.up_to(1.0)
.lower();

impl ClientScoreRow {
    /// The mean accuracy over the tenth of the clients that fare worst, rounded up; `None` without
    /// rows.
    pub fn worst_tenth(rows: &[ClientScoreRow]) -> Option<f64> {
        let mut all: Vec<f64> = rows.iter().map(|row| row.accuracy).collect();
        all.sort_unstable_by(f64::total_cmp);
        all.truncate(all.len().div_ceil(10));
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// The mean over clients of their validation accuracy, for settings to be chosen by; `None`
    /// where none has it.
    pub fn validation(rows: &[ClientScoreRow]) -> Option<f64> {
        let all: Vec<f64> = rows.iter().filter_map(|row| row.validation_accuracy).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// The standard deviation over clients of their accuracy; 0 without rows.
    pub fn spread(rows: &[ClientScoreRow]) -> f64 {
        let all: Vec<f64> = rows.iter().map(|row| row.accuracy).collect();
        Spread::of(&all).population_std()
    }
}

table! {
    "observations.csv"
    /// A row of `observations.csv`: a recorded counter, which is not part of the result.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ObservationRow {
        /// Round.
        pub round: u32,
        /// Name of the counter.
        pub metric: String,
        /// Value in that round.
        pub value: f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::result;

    #[test]
    fn the_worst_tenth_is_rounded_up_and_its_mean_is_taken() {
        let row = |(client, accuracy): (u32, f64)| ClientScoreRow {
            client,
            items: 1,
            accuracy,
            loss: None,
            validation_accuracy: None,
        };
        let rows: Vec<ClientScoreRow> = (0..11).map(|i| row((i, f64::from((i + 5) % 11) / 10.0))).collect();
        assert_eq!(ClientScoreRow::worst_tenth(&rows), Some(0.05));
        assert_eq!(ClientScoreRow::worst_tenth(&rows[6..8]), Some(0.0));
        assert_eq!(ClientScoreRow::worst_tenth(&[]), None);
    }

    #[test]
    fn totals_add_up_what_is_alike_and_keep_theory_where_every_round_has_it() {
        let mut rows = result(3).tables.messages;
        rows.iter_mut().for_each(|row| row.expected_messages = Some(2.5));
        let alike = rows
            .iter()
            .filter(|row| row.kind == rows[0].kind && row.phase == rows[0].phase)
            .count();
        let all = totals(&rows);
        assert_eq!(all[0].sent, rows[0].sent * alike as u64);
        assert_eq!(all[0].expected_messages, Some(2.5 * alike as f64));
        let sent = |rows: &[MessageRow]| rows.iter().map(|row| row.sent).sum::<u64>();
        assert_eq!(sent(&all), sent(&rows));
        rows.last_mut().unwrap().expected_messages = None;
        rows[0].payload_bytes = u64::MAX;
        let all = totals(&rows);
        assert!(all.iter().any(|row| row.expected_messages.is_none()));
        assert_eq!(all[0].payload_bytes, u64::MAX);
        let other = MessageRow {
            direction: Direction::Peer,
            kind: "other".to_owned(),
            ..rows[0].clone()
        };
        assert_eq!(totals(&[rows[0].clone(), other]).len(), 2);
    }
}
