//! The rows of the run directory's tables, column by column. The field names are the column names: a contract, since
//! other programs read these files.

use crate::ids::Direction;
use serde::{Deserialize, Serialize};

/// A row of `rounds.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRow {
    /// The round.
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

/// A row of `messages.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRow {
    /// The phase of the protocol.
    pub phase: String,
    /// The round.
    pub round: u32,
    /// The kind of message.
    pub kind: String,
    /// Which way.
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
    /// Whether the messages held all that was counted of them; else their bytes were counted and not carried.
    pub carried: bool,
}

/// A row of `scores.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreRow {
    /// The round.
    pub round: u32,
    /// Virtual seconds since the start.
    pub virtual_s: f64,
    /// The part of the data, or `all`.
    pub split: String,
    /// The metric's name.
    pub metric: String,
    /// Its value.
    pub value: f64,
    /// How many samples it is over.
    pub n: u64,
}

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
    pub epsilon_worst_client: f64,
    /// The mean total over the clients.
    pub epsilon_mean_client: f64,
    /// The composition rule used for these two: `basic`, or `none` where nothing protects.
    pub composition: String,
    /// What the paper claims for the whole.
    pub epsilon_claimed: Option<f64>,
    /// The delta at which the three totals that follow hold, each that of the client who spends most.
    pub delta_total: f64,
    /// Epsilon by basic composition; none where it proves nothing at that delta.
    pub epsilon_basic: Option<f64>,
    /// Epsilon by advanced composition (Dwork, Rothblum and Vadhan 2010).
    pub epsilon_advanced: Option<f64>,
    /// Epsilon by Rényi divergences (Mironov 2017).
    pub epsilon_renyi: Option<f64>,
}

/// A row of `clients.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// The client.
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
