//! FedWalk's settings, as a card states them.

use super::encoder::Encoder;
use super::options::{Absent, Curious, Linkage, Metric, Pool, Rows, SelfHop, Variant};
use crate::node_embedding::{Embedding, Evaluation};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, component};

/// The parameters of [`super::FedWalk`]. Defaults are the paper's.
#[component(
    name = "FedWalk",
    about = "unsupervised node embedding by random walks over devices (KDD 2022)",
    rules,
    settle
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Which reading of the system sets what a card leaves open.
    pub variant: Variant,
    /// Entries of a finished walk, l.
    #[component(default = 40, in = 1..=10_000)]
    pub walk_length: u32,
    /// Walks started at every vertex, gamma, one per round.
    #[component(default = 80, in = 1..=100_000)]
    pub walks_per_node: u32,
    /// Probability p that a holder predicts two hops at once.
    #[component(default = 0.2, in = 0..=1)]
    pub predictor_prob: f64,
    /// Bins of the group plan, k; where it is left out floor(ln |V|), the largest the paper allows.
    #[component(in = 1..=255)]
    pub n_bins: Option<u32>,
    /// Both budgets below at once, the paper's one symbol, where a card does not state them.
    #[component(above = 0, in = 1e-6..=1e6)]
    pub epsilon: Option<f64>,
    /// Budget of the noisy degree vectors.
    #[component(default = 2.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon_degree: f64,
    /// Budget of one encoded entry; also carried by walk messages.
    #[component(default = 2.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon_encoder: f64,
    /// What becomes of a vertex before it is appended to a walk.
    pub encoder: Chosen<dyn Encoder>,
    /// Which vertices a predicted hop may lead to.
    pub pool: Pool,
    /// Clients upload their ordered matrices (phase A4), from which the tree is made; otherwise it
    /// is made of the degree vectors, which is a true post-processing of what they released.
    #[component(default = true)]
    pub m_upload: bool,
    /// Fresh Laplace noise of scale 1/epsilon on every entry of an uploaded matrix; read with
    /// `m_upload` only. It hides which vectors the rows are, not how many there are. None where it
    /// is left out, as published.
    #[component(above = 0, in = 1e-6..=1e6)]
    pub epsilon_matrix: Option<f64>,
    /// How clusters are merged to make the tree.
    pub linkage: Linkage,
    /// The distance of rows in time warping.
    pub metric: Metric,
    /// What a predicted hop to the sender itself costs.
    pub self_hop: SelfHop,
    /// Append the first vertex twice at a predicted hop, as line 27 of Algorithm 1 reads to the
    /// letter.
    pub literal_line27: bool,
    /// Begin a walk's sequence with its start.
    pub prepend_start: bool,
    /// Which rows of the dissimilarity matrix each client downloads in phase A5.
    pub rows: Rows,
    /// How numbers are packed: degree vectors, those of uploaded matrices, and dissimilarities. It
    /// must pack each number by itself, since rows are sent on request. Vectors are released by
    /// then, so that rounding them costs no privacy.
    pub codec: Chosen<dyn Codec>,
    /// What becomes of a walk whose next holder is absent.
    pub absent: Absent,
    /// What the server learns from the walks.
    pub embedding: Embedding,
    /// How the vectors are scored.
    pub evaluation: Evaluation,
    /// Measure what the server could learn of the edges: rows uploaded and asked for, first and
    /// last entries and pairs of the walks, and the vectors.
    #[component(default = true)]
    pub attacks: bool,
    /// Which devices remember what passes through them, for an attack from among the devices.
    pub curious: Curious,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        rules.require(
            self.rows != Rows::Off || !self.pool.reads_tree(),
            "rows",
            "must not be Off when pools are read off the tree; set pool: Vector to do without",
        );
        rules.require(
            self.rows != Rows::Off || rules.is_broken("encoder") || !self.encodes_by_score(),
            "rows",
            "must not be Off when the encoder reads the tree; set encoder: Identity or RandomisedResponse to do without",
        );
        if !rules.is_broken("codec") {
            let rule = "must pack each number by itself, as Half(), Bfloat() and Uniform() do, with symbols: Fixed; a row is sent without the others";
            rules.require(self.codec.packs_singly(), "codec", rule);
        }
        rules.require(
            self.walk_length != 1 || self.embedding == Embedding::Off,
            "walk_length",
            "must be at least 2 for anything to be learned; set embedding: Off to count messages alone",
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
