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
        /// The round, from 0.
        pub round: u32,
        /// Virtual seconds since the start, when the round ended.
        pub virtual_s: f64,
        /// Clients asked to take part.
        pub cohort: u64,
        /// Results in time (FedWalk: walks returned before the deadline).
        pub completed: u64,
        /// Results given up.
        pub dropped: u64,
        /// Results after the deadline.
        pub late: u64,
        /// Mean staleness of what was aggregated, in rounds.
        pub staleness_mean: f64,
    }
}

table! {
    "messages.csv"
    /// A row of `messages.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct MessageRow {
        /// The phase of the protocol, as the strategy's table of messages calls it.
        pub phase: String,
        /// The round.
        pub round: u32,
        /// The kind of message, as the strategy's table of messages calls it.
        pub kind: String,
        /// Which way: from the server, to it, or between clients.
        pub direction: Direction,
        /// Messages handed to the network.
        pub sent: u64,
        /// Messages that reached their receiver.
        pub delivered: u64,
        /// Messages that never will.
        pub dropped: u64,
        /// Messages under way when the run ended.
        pub in_flight: u64,
        /// Transmissions beyond the first.
        pub retried: u64,
        /// Payload bytes, retries included.
        pub payload_bytes: u64,
        /// Header bytes, retries included.
        pub header_bytes: u64,
        /// What theory predicts for `sent`, where it does.
        pub expected_messages: Option<f64>,
        /// Whether the content of the messages was made in full; else only its size was counted.
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
        /// The round.
        pub round: u32,
        /// Virtual seconds since the start.
        pub virtual_s: f64,
        /// The part of the data, or `all`.
        pub split: String,
        /// The metric's name, which `folkmoot explain` explains.
        pub metric: String,
        /// The metric's value.
        pub value: f64,
        /// How many samples it is over.
        pub n: u64,
    }
}

table! {
    "readings.csv"
    /// A row of `readings.csv`: what the engine itself reads off at the end of a round, whatever
    /// the algorithm.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ReadingRow {
        /// The round.
        pub round: u32,
        /// Virtual seconds since the start, when the round ended.
        pub virtual_s: f64,
        /// What is read: `online_share`, or `epsilon_mean_` and a mechanism.
        pub metric: String,
        /// Its value.
        pub value: f64,
        /// The clients, or the releases so far, that it is over.
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
    "privacy.csv"
    /// A row of `privacy.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PrivacyRow {
        /// The mechanism, or `none` where nothing protects a message.
        pub mechanism: String,
        /// What one release protects.
        pub unit: String,
        /// Releases, over all clients.
        pub releases: u64,
        /// Epsilon of one release; infinite where nothing protects.
        pub epsilon_per_release: f64,
        /// Delta of one release.
        pub delta_per_release: f64,
        /// The largest total over the clients.
        pub epsilon_max_client: f64,
        /// The mean total over the clients.
        pub epsilon_mean_client: f64,
        /// The composition rule used for these two: `basic`, or `none` where nothing protects.
        pub composition: String,
        /// What the paper claims for the whole.
        pub epsilon_claimed: Option<f64>,
        /// The delta at which the three totals that follow hold, each that of the client who spends
        /// most.
        pub delta_total: f64,
        /// Epsilon by basic composition; none where it proves nothing at that delta.
        pub epsilon_basic: Option<f64>,
        /// Epsilon by advanced composition (Dwork, Rothblum and Vadhan 2010).
        pub epsilon_advanced: Option<f64>,
        /// Epsilon by Rényi divergences (Mironov 2017).
        pub epsilon_renyi: Option<f64>,
    }
}

table! {
    "clients.csv"
    /// A row of `clients.csv`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ClientRow {
        /// The client's id, from 0.
        pub client: u32,
        /// Its share of the data (nodes or graphs).
        pub shard_size: u64,
        /// Rounds it took part in.
        pub rounds: u64,
        /// Bytes sent to the server, headers and retries included.
        pub uplink_bytes: u64,
        /// Bytes received from the server.
        pub downlink_bytes: u64,
        /// Bytes sent to other clients.
        pub peer_bytes: u64,
        /// Virtual seconds of computing.
        pub compute_s: f64,
        /// Virtual seconds online.
        pub online_s: f64,
    }
}

table! {
    "absences.csv"
    /// A row of `absences.csv`: a time at which a client could not be reached, for all clients of a
    /// run with at most two hundred, else for two hundred spread evenly; no part of the result,
    /// from whose card and seed it follows.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct AbsenceRow {
        /// The client's id.
        pub client: u32,
        /// When it went away, in virtual seconds.
        pub from_s: f64,
        /// When it came back, or the run ended. One that was never away has a row from 0 to 0.
        pub until_s: f64,
    }
}

table! {
    "partition.csv"
    /// A row of `partition.csv`: how many items of one label a client has. What is said of the
    /// client stands in each of its rows.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PartitionRow {
        /// The client, or the first of those that the row is of.
        pub client: u32,
        /// How many clients that follow each other the row is of, all of whose numbers are added
        /// up: 1 where there are at most a thousand.
        pub clients: u32,
        /// Their share of the data (nodes or graphs).
        pub shard_size: u64,
        /// Edges that lie in one shard whole.
        pub inner_edges: u64,
        /// Edges that lead out of the shard, and so are seen by nobody or by others; of a directed
        /// graph, those that leave it.
        pub cut_edges: u64,
        /// The label, `unlabelled`, or `other labels` for the small ones of very many.
        pub label: String,
        /// How many items have it; an item may have several labels.
        pub items: u64,
    }
}

table! {
    "client_scores.csv"; 1 added
    /// A row of `client_scores.csv`: what the model that a client answers with is worth on its own
    /// test items.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ClientScoreRow {
        /// The client; one without test items has no row.
        pub client: u32,
        /// Its test items.
        pub items: u64,
        /// The share of them whose class is predicted.
        pub accuracy: f64,
        /// The mean cross entropy over them; nothing where it is not finite.
        pub loss: Option<f64>,
        /// The share of the client's validation items whose class is predicted; nothing without
        /// such items.
        pub validation_accuracy: Option<f64>,
    }
}

table! {
    "controls.csv"
    /// A row of `controls.csv`: the score of an answer that uses no graph, no training or no client
    /// but one's own. It is no part of the result hash.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ControlRow {
        /// The control: `client_majority`, `majority_class` or `untrained`.
        pub control: String,
        /// The metric, by its name in `summary.json`.
        pub metric: String,
        /// The score of the control in that metric.
        pub value: f64,
        /// Test items it is over.
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
/// The control that answers with the model before its first training step.
pub const UNTRAINED: &str = "untrained";

/// What [`Division::cut_of_pieces`](crate::Division::cut_of_pieces) is called.
pub const CUT_EDGES: Term = Term::new(
    "cut_edges",
    "Cut edges",
    Unit::Count,
    "Edges between nodes of two clients, of one graph that is shared out in pieces.",
    "",
);
/// The accuracy of personalised models on one part of the data: [`ClientScoreRow::validation`].
pub const OWN_ACCURACY: Term = Term::new(
    "own_accuracy",
    "Accuracy of own models",
    Unit::Number,
    "Accuracy of the model that a client answers with on its own items, the mean over clients.",
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
    "Accuracy of the model that a client answers with on its own items, the mean over the tenth of the clients that fare worst.",
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
    "Standard deviation over clients of the accuracy of the model that each answers with on its own items.",
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
    /// A row of `observations.csv`: something watched that is no part of the result.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ObservationRow {
        /// The round.
        pub round: u32,
        /// What was watched.
        pub metric: String,
        /// Its value in that round.
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
        let mut rows = result(3).messages;
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
