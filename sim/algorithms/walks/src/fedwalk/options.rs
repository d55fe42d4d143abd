//! FedWalk's choices, as a card names them.

use folkmoot_parts::component;

/// Candidate set of a predicted hop: the noisy count of each bin gives the number of candidates per
/// bin.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The vertices of the bin nearest in the clustering tree.
    #[default]
    Tree,
    /// The vertices nearest in the tree among all vertices, bin by bin: nested sets with repeats,
    /// as the wording of the algorithm allows.
    Global,
    /// The vertices of the bin with the nearest degree vectors (L1 distance). Needs no tree.
    Vector,
    /// The true neighbours, supplied by a trusted party: an upper bound for any candidate set, not
    /// deployable. Needs no tree.
    Oracle,
    /// All vertices except the current one: an uninformed control. Needs no tree.
    Random,
}

impl Pool {
    /// Whether it is read off the clustering tree.
    pub fn reads_tree(self) -> bool {
        matches!(self, Pool::Tree | Pool::Global)
    }
}

/// Linkage criterion of the hierarchical clustering.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Average linkage: mean dissimilarity of the members.
    #[default]
    Average,
    /// Single linkage: minimum dissimilarity.
    Single,
    /// Complete linkage: maximum dissimilarity.
    Complete,
    /// Ward's formula applied to the dissimilarities.
    Ward,
}

/// Distance of rows in dynamic time warping.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Sum of absolute differences.
    #[default]
    L1,
    /// Euclidean distance.
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

/// Variant of the algorithm; sets the defaults of options that the card omits.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As published: clients upload their matrices and download the whole matrix; exponential
    /// mechanism without scaling of epsilon.
    #[default]
    #[component(alias = "AsPrinted")]
    AsPublished,
    /// As in the authors' code: none is public, so identical to `AsPublished`.
    AsReleased,
    /// Corrected: nothing is uploaded in the clear, and each entry appended to a walk costs its
    /// stated epsilon.
    #[component(sets("m_upload=false", "rows=OnRequest", "encoder=RandomisedResponse"))]
    Corrected,
}

/// Cost of a predicted hop back to the sender.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfHop {
    /// A message like any other, as in Algorithm 1, line 29.
    #[default]
    Message,
    /// No message: the client continues the walk at once.
    Free,
}

/// Rows of the dissimilarity matrix that each client downloads in phase A5.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The tree and the whole matrix, as published: `8 (|V| - 1) + 4 |V|²` bytes per client (size
    /// only; materialised once). If matrices are not uploaded, only the tree.
    #[default]
    All,
    /// The tree and the rows of the client's own neighbours. The row of a predicted vertex is
    /// requested when its entry is encoded, and cached.
    Neighbours,
    /// Only the tree. Each row is requested when first needed, and cached; the walk waits for it.
    OnRequest,
    /// No download. Only with `pool: Vector`, which needs just the vectors of phase A3, and an
    /// encoder that needs no tree.
    Off,
}

/// Honest-but-curious clients, which record the walks that they forward and pool them afterwards.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curious {
    /// None.
    #[default]
    Nobody,
    /// Each client with this probability.
    Share {
        /// Probability that a client is curious.
        #[component(default = 0.01, in = 0..=1)]
        share: f64,
    },
    /// Clients with at least this many neighbours.
    Hubs {
        /// Minimum number of neighbours.
        #[component(required)]
        degree: u32,
    },
}

/// Handling of a walk whose next client is offline.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absent {
    /// The walk waits until the client is online again.
    #[default]
    Wait,
    /// After a timeout the sender forwards the walk to another neighbour.
    Reroute {
        /// Timeout of the sender.
        #[component(default = 500.0, in = 0..=1e9, unit = "ms")]
        timeout_ms: f64,
        /// Maximum number of retries per hop.
        #[component(default = 3)]
        tries: u8,
    },
    /// The walk is lost.
    GiveUp,
}
