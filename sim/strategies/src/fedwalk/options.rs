//! FedWalk's choices, as a card names them.

use serde::{Deserialize, Serialize};

/// Which vertices a predicted hop may lead to: in each bin as many as the noisy count says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pool {
    /// Those of the bin that are nearest in the clustering tree.
    #[default]
    Tree,
    /// Those of all vertices that are nearest in the tree, bin by bin: nested sets with repeats, as the algorithm's wording
    /// allows.
    Global,
    /// Those of the bin whose degree vectors are nearest in L1: no tree is needed.
    Vector,
}

/// How clusters are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Linkage {
    /// By the mean dissimilarity of their members.
    #[default]
    Average,
    /// By the least.
    Single,
    /// By the greatest.
    Complete,
    /// By Ward's formula on the dissimilarities.
    Ward,
}

/// The distance of rows in time warping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// The sum of absolute differences.
    #[default]
    L1,
    /// The root of the sum of squares.
    L2,
}

impl From<Linkage> for folkmoot_similarity::linkage::Linkage {
    fn from(linkage: Linkage) -> Self {
        match linkage {
            Linkage::Average => Self::Average,
            Linkage::Single => Self::Single,
            Linkage::Complete => Self::Complete,
            Linkage::Ward => Self::Ward,
        }
    }
}

impl From<Metric> for folkmoot_similarity::dtw::Metric {
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::L1 => Self::L1,
            Metric::L2 => Self::L2,
        }
    }
}

/// What becomes of a vertex before its index is appended to a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoder {
    /// The exponential mechanism with the printed factor: probability proportional to exp(epsilon × score). Its true cost is
    /// whatever the scores make it, not epsilon.
    #[default]
    AsPrinted,
    /// The exponential mechanism as it must be for its epsilon: exp(epsilon × score / 2Δ), Δ the largest absolute score of any pair.
    Calibrated,
    /// exp(epsilon × score / Δ): scores scaled to 0..=1.
    Normalised,
    /// The vertex itself with probability e^epsilon / (e^epsilon + |V| - 1), else any other one alike: epsilon per entry, truly.
    RandomisedResponse,
    /// The vertex itself.
    Identity,
}

impl Encoder {
    /// Whether it reads the tree and the dissimilarities.
    pub fn reads_scores(self) -> bool {
        matches!(self, Encoder::AsPrinted | Encoder::Calibrated | Encoder::Normalised)
    }

    /// Whether it needs the largest score of all pairs.
    pub fn is_scaled(self) -> bool {
        matches!(self, Encoder::Calibrated | Encoder::Normalised)
    }
}

/// Which reading of the system sets the options that a card leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// The paper's letter: matrices uploaded, the whole matrix to every device, the unscaled exponential mechanism.
    #[default]
    AsPrinted,
    /// The authors' code: none is public, so the same as `AsPrinted`.
    AsReleased,
    /// What is sound: `m_upload: false`, `rows: OnRequest`, `encoder: RandomisedResponse`.
    Corrected,
}

/// What a predicted hop to the sender itself costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SelfHop {
    /// A message like any other, as Algorithm 1 line 29 has it.
    #[default]
    Message,
    /// Nothing: the holder goes on at once.
    Free,
}

/// Which rows of the dissimilarity matrix each device downloads in phase A5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rows {
    /// The tree and the whole matrix, as printed: `8 (|V| - 1) + 4 |V|²` bytes, counted for every device and carried once.
    /// Without uploaded matrices there is only the tree.
    #[default]
    All,
    /// The tree, and the rows of the device's own neighbours; the row of a predicted vertex is asked of the server when its
    /// entry is to be encoded, and kept.
    Neighbours,
    /// The tree alone; every row is asked of the server when it is first needed, and kept. A walk waits meanwhile.
    OnRequest,
    /// No download; only with `pool: Vector`, for which the vectors of phase A3 are enough, and an encoder that needs no tree.
    Off,
}

/// What becomes of a walk whose next holder is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Absent {
    /// It waits for the holder to come back.
    #[default]
    Wait,
    /// The sender is told after a time-out and sends it to another of its neighbours.
    Reroute {
        /// Milliseconds, >= 0. Default 500.
        #[serde(default = "default_timeout_ms")]
        timeout_ms: f64,
        /// How often one hop is tried again, 0..=255. Default 3.
        #[serde(default = "default_tries")]
        tries: u8,
    },
    /// It is lost.
    GiveUp,
}

fn default_timeout_ms() -> f64 {
    500.0
}

fn default_tries() -> u8 {
    3
}
