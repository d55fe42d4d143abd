//! FedWalk's settings, as a card states them.

use super::encoder::Encoder;
use super::options::{Absent, Curious, Linkage, Metric, Pool, Rows, SelfHop, Variant};
use crate::node_embedding::{Embedding, Evaluation};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, component};

/// The parameters of [`super::FedWalk`]. Defaults are the paper's.
#[component(
    name = "FedWalk",
    about = "unsupervised node embedding by random walks across clients (KDD 2022)",
    rules,
    settle
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Variant of the algorithm; sets the defaults of options that the card omits.
    pub variant: Variant,
    /// Length of a finished walk in entries, l in the paper.
    #[component(default = 40, in = 1..=10_000)]
    pub walk_length: u32,
    /// Number of walks started at each vertex, gamma in the paper; one per round.
    #[component(default = 80, in = 1..=100_000)]
    pub walks_per_node: u32,
    /// Probability p that a client predicts two hops at once.
    #[component(default = 0.2, in = 0..=1)]
    pub predictor_prob: f64,
    /// Number of bins of the group plan, k in the paper. If omitted, floor(ln |V|), the largest
    /// that the paper allows.
    #[component(in = 1..=255)]
    pub n_bins: Option<u32>,
    /// Epsilon of the paper: default of both `epsilon_degree` and `epsilon_encoder`.
    #[component(above = 0, in = 1e-6..=1e6)]
    pub epsilon: Option<f64>,
    /// Epsilon of the noisy degree vectors.
    #[component(default = 2.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon_degree: f64,
    /// Epsilon of one encoded entry; also sent with walk messages.
    #[component(default = 2.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon_encoder: f64,
    /// Encoder of a vertex before it is appended to a walk.
    pub encoder: Chosen<dyn Encoder>,
    /// Candidate set of a predicted hop.
    pub pool: Pool,
    /// Whether clients upload their ordered matrices (phase A4), from which the tree is built.
    /// Otherwise the tree is built from the released degree vectors, by post-processing.
    #[component(default = true)]
    pub m_upload: bool,
    /// Epsilon of fresh Laplace noise of scale 1/epsilon on every entry of an uploaded matrix. It
    /// hides which vectors the rows are, not their number. Only with `m_upload`; if omitted, no
    /// noise, as published.
    #[component(above = 0, in = 1e-6..=1e6)]
    pub epsilon_matrix: Option<f64>,
    /// Linkage criterion of the clustering tree.
    pub linkage: Linkage,
    /// Distance of rows in dynamic time warping.
    pub metric: Metric,
    /// Cost of a predicted hop back to the sender.
    pub self_hop: SelfHop,
    /// Append the first vertex twice at a predicted hop, as line 27 of Algorithm 1 literally says.
    pub literal_line27: bool,
    /// Whether the sequence of a walk starts with its start vertex.
    pub prepend_start: bool,
    /// Rows of the dissimilarity matrix that each client downloads in phase A5.
    pub rows: Rows,
    /// Compression of degree vectors, uploaded matrices and dissimilarities. The codec must encode
    /// each value separately, since rows are sent on request. Rounding is post-processing and costs
    /// no privacy.
    pub codec: Chosen<dyn Codec>,
    /// Handling of a walk whose next client is offline.
    pub absent: Absent,
    /// Embedding that the server trains on the walks.
    pub embedding: Embedding,
    /// Evaluation of the embeddings.
    pub evaluation: Evaluation,
    /// Whether to run the attacks by the server on edges: from uploaded and requested rows, walk
    /// entries, and embeddings.
    #[component(default = true)]
    pub attacks: bool,
    /// Honest-but-curious clients, for an attack by clients.
    pub curious: Curious,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        rules.require(
            self.rows != Rows::Off || !self.pool.reads_tree(),
            "rows",
            "must not be Off when candidate sets come from the tree; set pool: Vector to avoid the tree",
        );
        rules.require(
            self.rows != Rows::Off || rules.is_broken("encoder") || !self.encodes_by_score(),
            "rows",
            "must not be Off when the encoder uses the tree; set encoder: Identity or RandomisedResponse to avoid it",
        );
        if !rules.is_broken("codec") {
            let rule = "must encode each value separately, as Half(), Bfloat() and Uniform() do, with symbols: Fixed; rows are sent one by one";
            rules.require(self.codec.packs_singly(), "codec", rule);
        }
        rules.require(
            self.walk_length != 1 || self.embedding == Embedding::Off,
            "walk_length",
            "must be at least 2 to train embeddings; set embedding: Off to count messages only",
        );
    }

    /// Gives the value that stands for both budgets to those that the card does not state.
    pub(super) fn settle(&mut self, is_written: &dyn Fn(&str) -> bool) {
        if let Some(epsilon) = self.epsilon.take() {
            for (field, budget) in [
                ("epsilon_degree", &mut self.epsilon_degree),
                ("epsilon_encoder", &mut self.epsilon_encoder),
            ] {
                if !is_written(field) {
                    *budget = epsilon;
                }
            }
        }
    }

    /// Whether devices read the tree: for pools, or to encode.
    pub fn reads_tree(&self) -> bool {
        self.pool.reads_tree() || self.encodes_by_score()
    }

    /// Whether entries are encoded by what clients know of the tree, however large it is.
    fn encodes_by_score(&self) -> bool {
        self.encoder
            .entries(2, self.epsilon_encoder)
            .is_ok_and(|entries| entries.reads_scores())
    }

    /// Whether devices name to the server the vertices whose dissimilarities they need.
    pub fn asks_for_rows(&self) -> bool {
        self.m_upload && matches!(self.rows, Rows::Neighbours | Rows::OnRequest)
    }

    /// Whether predicted hops are drawn from pools that are read off the tree, so that the messages
    /// depend on it.
    pub(super) fn draws_from_tree(&self) -> bool {
        self.pool.reads_tree() && self.predictor_prob > 0.0
    }

    /// The number of bins for `n_nodes` vertices: as stated, else floor(ln |V|), never more than
    /// there are vertices.
    pub fn bins(&self, n_nodes: usize) -> usize {
        let default = floor_ln(n_nodes);
        self.n_bins.map_or(default, |n| n as usize).clamp(1, n_nodes.max(1))
    }
}

/// floor(ln n) for n >= 1, by comparing with the powers of e, whose closest approach to an integer
/// is far above rounding.
fn floor_ln(n: usize) -> usize {
    let mut bound = std::f64::consts::E;
    let mut floor = 0;
    while bound <= n as f64 {
        bound *= std::f64::consts::E;
        floor += 1;
    }
    floor
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_parts::Value;

    #[test]
    fn the_default_number_of_bins_is_the_floor_of_the_logarithm() {
        let params = Params::default();
        let bins = [1, 2, 3, 20, 21, 34, 1_000, 10_312, 80_513, 1_000_000].map(|n| params.bins(n));
        assert_eq!(bins, [1, 1, 1, 2, 3, 3, 6, 9, 11, 13]);
        assert_eq!(
            Params {
                n_bins: Some(5),
                ..params
            }
            .bins(3),
            3,
            "no bin may be empty"
        );
    }

    #[test]
    fn one_epsilon_stands_for_both_budgets_but_where_one_is_written() {
        let mut params = Params {
            epsilon: Some(0.5),
            epsilon_encoder: 3.0,
            ..Params::default()
        };
        params.settle(&|path| path == "epsilon_encoder");
        assert_eq!((params.epsilon_degree, params.epsilon_encoder), (0.5, 3.0));
        assert_eq!(params.epsilon, None, "what is resolved says it once");
    }

    #[test]
    fn every_broken_rule_is_named() {
        let params = Params {
            walk_length: 0,
            predictor_prob: 1.5,
            epsilon_degree: f64::NAN,
            ..Params::default()
        };
        let fields: Vec<String> = params.broken().into_iter().map(|broken| broken.path).collect();
        assert_eq!(fields, ["walk_length", "predictor_prob", "epsilon_degree"]);
    }
}
