//! FedWalk's choices, as a card names them.

use folkmoot_parts::component;

/// Which vertices a predicted hop may lead to: in each bin as many as the noisy count says.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Those of the bin that are nearest in the clustering tree.
    #[default]
    Tree,
    /// Those of all vertices that are nearest in the tree, bin by bin: nested sets with repeats, as
    /// the algorithm's wording allows.
    Global,
    /// Those of the bin whose degree vectors are nearest in L1: no tree is needed.
    Vector,
    /// The neighbours, as a trusted party tells every device of those of its own: the best that any
    /// pool can be, and a control that no deployment has. No tree is needed.
    Oracle,
    /// All vertices but the one predicted from: the pool that knows nothing, the other control. No
    /// tree is needed.
    Random,
}

impl Pool {
    /// Whether it is read off the clustering tree.
    pub fn reads_tree(self) -> bool {
        matches!(self, Pool::Tree | Pool::Global)
    }
}

/// How clusters are merged.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Which reading of the system sets the options that a card leaves open.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The paper's letter: matrices uploaded, the whole matrix to every device, the unscaled
    /// exponential mechanism.
    #[default]
    #[component(alias = "AsPrinted")]
    AsPublished,
    /// The authors' code: none is public, so the same as `AsPublished`.
    AsReleased,
    /// What is sound: nothing is uploaded in clear, and what is appended to a walk costs its
    /// epsilon.
    #[component(sets("m_upload=false", "rows=OnRequest", "encoder=RandomisedResponse"))]
    Corrected,
}

/// What a predicted hop to the sender itself costs.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfHop {
    /// A message like any other, as Algorithm 1 line 29 has it.
    #[default]
    Message,
    /// Nothing: the holder goes on at once.
    Free,
}

/// Which rows of the dissimilarity matrix each device downloads in phase A5.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The tree and the whole matrix, as published: `8 (|V| - 1) + 4 |V|²` bytes, counted for every
    /// device and carried once. Without uploaded matrices there is only the tree.
    #[default]
    All,
    /// The tree, and the rows of the device's own neighbours; the row of a predicted vertex is
    /// asked of the server when its entry is to be encoded, and kept.
    Neighbours,
    /// The tree alone; every row is asked of the server when it is first needed, and kept. A walk
    /// waits meanwhile.
    OnRequest,
    /// No download; only with `pool: Vector`, for which the vectors of phase A3 are enough, and an
    /// encoder that needs no tree.
    Off,
}

/// Which devices remember what passes through them and put it together afterwards.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curious {
    /// None.
    #[default]
    Nobody,
    /// Each with this probability.
    Share {
        /// The probability.
        #[component(default = 0.01, in = 0..=1)]
        share: f64,
    },
    /// Those with at least so many neighbours.
    Hubs {
        /// The number of neighbours.
        #[component(required)]
        degree: u32,
    },
}

/// What becomes of a walk whose next holder is absent.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absent {
    /// It waits for the holder to come back.
    #[default]
    Wait,
    /// The sender is told after a time-out and sends it to another of its neighbours.
    Reroute {
        /// How long the sender waits for news.
        #[component(default = 500.0, in = 0..=1e9, unit = "ms")]
        timeout_ms: f64,
        /// How often one hop is tried again.
        #[component(default = 3)]
        tries: u8,
    },
    /// It is lost.
    GiveUp,
}
