//! FedWalk's settings, as a card states them.

use super::options::{Absent, Encoder, Linkage, Metric, Pool, Rows, SelfHop, Variant};
use crate::node_embedding::{Embedding, Evaluation};
use folkmoot_engine::world::Breach;
use serde::{Deserialize, Serialize};

/// The parameters of [`super::FedWalk`]. Defaults are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Params {
    /// Sets `m_upload`, `rows` and `encoder` where a card does not. Default `AsPrinted`.
    pub variant: Variant,
    /// Entries of a finished walk, l, 1..=10000. Default 40.
    pub walk_length: u32,
    /// Walks started at every vertex, gamma, one per round, 1..=100000. Default 80.
    pub walks_per_node: u32,
    /// Probability p that a holder predicts two hops at once, 0..=1. Default 0.2.
    pub predictor_prob: f64,
    /// Bins of the group plan, k, 1..=255. Default floor(ln |V|), the largest the paper allows.
    pub n_bins: Option<u32>,
    /// Budget of the noisy degree vectors, > 0. Default 2. A card may set this and the next one at once as `epsilon`.
    pub epsilon_degree: f64,
    /// Budget of one encoded entry, > 0; also carried by walk messages. Default 2.
    pub epsilon_encoder: f64,
    /// What becomes of a vertex before it is appended to a walk. Default by the variant.
    pub encoder: Encoder,
    /// Which vertices a predicted hop may lead to. Default `Tree`.
    pub pool: Pool,
    /// Devices upload their ordered matrices (phase A4), from which the tree is made; otherwise it is made of the degree
    /// vectors, which is a true post-processing of what they released. Default by the variant.
    pub m_upload: bool,
    /// Fresh Laplace noise of scale 1/epsilon on every entry of an uploaded matrix, > 0; read with `m_upload` only. It hides which
    /// vectors the rows are, not how many there are. Default none, as printed.
    pub epsilon_matrix: Option<f64>,
    /// How clusters are merged to make the tree. Default `Average`.
    pub linkage: Linkage,
    /// The distance of rows in time warping. Default `L1`.
    pub metric: Metric,
    /// What a predicted hop to the sender itself costs. Default `Message`.
    pub self_hop: SelfHop,
    /// Append the first vertex twice at a predicted hop, as line 27 of Algorithm 1 reads to the letter. Default false.
    pub literal_line27: bool,
    /// Begin a walk's sequence with its start. Default false.
    pub prepend_start: bool,
    /// Which rows of the dissimilarity matrix each device downloads in phase A5. Default by the variant.
    pub rows: Rows,
    /// What becomes of a walk whose next holder is absent. Default `Wait`.
    pub absent: Absent,
    /// What the server learns from the walks. Default `SkipGram()` with DeepWalk's settings.
    pub embedding: Embedding,
    /// How the vectors are scored.
    pub evaluation: Evaluation,
    /// Measure what the server could learn of the edges: row matching on uploaded matrices, first entries and pairs of the walks.
    /// Default true.
    pub attacks: bool,
}

/// The same as a card writes it: what it leaves open goes by the variant, and `epsilon` is the paper's one symbol for both
/// budgets, for cards that vary them together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Params")]
struct Written {
    variant: Variant,
    walk_length: u32,
    walks_per_node: u32,
    predictor_prob: f64,
    n_bins: Option<u32>,
    epsilon: Option<f64>,
    epsilon_degree: Option<f64>,
    epsilon_encoder: Option<f64>,
    encoder: Option<Encoder>,
    pool: Pool,
    m_upload: Option<bool>,
    epsilon_matrix: Option<f64>,
    linkage: Linkage,
    metric: Metric,
    self_hop: SelfHop,
    literal_line27: bool,
    prepend_start: bool,
    rows: Option<Rows>,
    absent: Absent,
    embedding: Embedding,
    evaluation: Evaluation,
    attacks: bool,
}

impl Default for Written {
    fn default() -> Self {
        let mut written = Written::from(Params::default());
        (written.encoder, written.m_upload, written.rows) = (None, None, None);
        (written.epsilon_degree, written.epsilon_encoder) = (None, None);
        written
    }
}

impl From<Written> for Params {
    fn from(written: Written) -> Self {
        let (m_upload, rows, encoder) = match written.variant {
            Variant::AsPrinted | Variant::AsReleased => (true, Rows::All, Encoder::AsPrinted),
            Variant::Corrected => (false, Rows::OnRequest, Encoder::RandomisedResponse),
        };
        let epsilon = written.epsilon.unwrap_or(2.0);
        Params {
            variant: written.variant,
            walk_length: written.walk_length,
            walks_per_node: written.walks_per_node,
            predictor_prob: written.predictor_prob,
            n_bins: written.n_bins,
            epsilon_degree: written.epsilon_degree.unwrap_or(epsilon),
            epsilon_encoder: written.epsilon_encoder.unwrap_or(epsilon),
            encoder: written.encoder.unwrap_or(encoder),
            pool: written.pool,
            m_upload: written.m_upload.unwrap_or(m_upload),
            epsilon_matrix: written.epsilon_matrix,
            linkage: written.linkage,
            metric: written.metric,
            self_hop: written.self_hop,
            literal_line27: written.literal_line27,
            prepend_start: written.prepend_start,
            rows: written.rows.unwrap_or(rows),
            absent: written.absent,
            embedding: written.embedding,
            evaluation: written.evaluation,
            attacks: written.attacks,
        }
    }
}

impl From<Params> for Written {
    fn from(params: Params) -> Self {
        Written {
            variant: params.variant,
            walk_length: params.walk_length,
            walks_per_node: params.walks_per_node,
            predictor_prob: params.predictor_prob,
            n_bins: params.n_bins,
            epsilon: None,
            epsilon_degree: Some(params.epsilon_degree),
            epsilon_encoder: Some(params.epsilon_encoder),
            encoder: Some(params.encoder),
            pool: params.pool,
            m_upload: Some(params.m_upload),
            epsilon_matrix: params.epsilon_matrix,
            linkage: params.linkage,
            metric: params.metric,
            self_hop: params.self_hop,
            literal_line27: params.literal_line27,
            prepend_start: params.prepend_start,
            rows: Some(params.rows),
            absent: params.absent,
            embedding: params.embedding,
            evaluation: params.evaluation,
            attacks: params.attacks,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Params {
            variant: Variant::default(),
            walk_length: 40,
            walks_per_node: 80,
            predictor_prob: 0.2,
            n_bins: None,
            epsilon_degree: 2.0,
            epsilon_encoder: 2.0,
            encoder: Encoder::default(),
            pool: Pool::default(),
            m_upload: true,
            epsilon_matrix: None,
            linkage: Linkage::default(),
            metric: Metric::default(),
            self_hop: SelfHop::default(),
            literal_line27: false,
            prepend_start: false,
            rows: Rows::default(),
            absent: Absent::default(),
            embedding: Embedding::default(),
            evaluation: Evaluation::default(),
            attacks: true,
        }
    }
}

impl Params {
    /// Every rule they break.
    pub(super) fn breaches(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut need = |holds: bool, field: &str, rule: String| {
            if !holds {
                breaches.push((field.to_owned(), rule));
            }
        };
        let in_range = |value: u32, most: u32| {
            (
                (1..=most).contains(&value),
                format!("must lie in 1..={most}, got {value}"),
            )
        };
        let (holds, rule) = in_range(self.walk_length, 10_000);
        need(holds, "walk_length", rule);
        let (holds, rule) = in_range(self.walks_per_node, 100_000);
        need(holds, "walks_per_node", rule);
        if let Some(n_bins) = self.n_bins {
            let (holds, rule) = in_range(n_bins, 255);
            need(holds, "n_bins", rule);
        }
        let p = self.predictor_prob;
        need(
            (0.0..=1.0).contains(&p),
            "predictor_prob",
            format!("must lie in 0..=1, got {p}"),
        );
        for (field, epsilon) in [
            ("epsilon_degree", self.epsilon_degree),
            ("epsilon_encoder", self.epsilon_encoder),
            ("epsilon_matrix", self.epsilon_matrix.unwrap_or(1.0)),
        ] {
            need(
                (1e-6..=1e6).contains(&epsilon),
                field,
                format!("must be greater than 0, within 1e-6..=1e6, got {epsilon}"),
            );
        }
        need(
            self.rows != Rows::Off || self.pool == Pool::Vector,
            "rows",
            "must not be Off when pools are read off the tree; set pool: Vector to do without".to_owned(),
        );
        need(
            self.rows != Rows::Off || !self.encoder.reads_scores(),
            "rows",
            "must not be Off when the encoder reads the tree; set encoder: Identity or RandomisedResponse to do without".to_owned(),
        );
        need(
            self.walk_length != 1 || self.embedding == Embedding::Off,
            "walk_length",
            "must be at least 2 for anything to be learned; set embedding: Off to count messages alone".to_owned(),
        );
        if let Absent::Reroute { timeout_ms, .. } = self.absent {
            need(
                (0.0..=1e9).contains(&timeout_ms),
                "absent.timeout_ms",
                format!("must lie in 0..=1e9, got {timeout_ms}"),
            );
        }
        breaches.extend(self.embedding.check());
        breaches.extend(self.evaluation.check());
        breaches
    }

    /// Whether devices read the tree: for pools, or to encode.
    pub fn reads_tree(&self) -> bool {
        self.pool != Pool::Vector || self.encoder.reads_scores()
    }

    /// Whether predicted hops are drawn from pools that are read off the tree, so that the messages depend on it.
    pub(super) fn draws_from_tree(&self) -> bool {
        self.pool != Pool::Vector && self.predictor_prob > 0.0
    }

    /// The number of bins for `n_nodes` vertices: as stated, else floor(ln |V|), never more than there are vertices.
    pub fn bins(&self, n_nodes: usize) -> usize {
        let default = floor_ln(n_nodes);
        self.n_bins.map_or(default, |n| n as usize).clamp(1, n_nodes.max(1))
    }
}

/// floor(ln n) for n >= 1, by comparing with the powers of e, whose closest approach to an integer is far above rounding.
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
    fn what_a_card_leaves_open_goes_by_the_variant() {
        let read = |variant, rows| {
            let written = Written {
                variant,
                rows,
                ..Written::default()
            };
            let params = Params::from(written);
            (params.m_upload, params.rows, params.encoder)
        };
        let printed = (true, Rows::All, Encoder::AsPrinted);
        assert_eq!(read(Variant::AsPrinted, None), printed);
        assert_eq!(read(Variant::AsReleased, None), printed);
        let corrected = (false, Rows::OnRequest, Encoder::RandomisedResponse);
        assert_eq!(read(Variant::Corrected, None), corrected);
        assert_eq!(read(Variant::Corrected, Some(Rows::All)).1, Rows::All);
        let both = Written {
            epsilon: Some(0.5),
            epsilon_encoder: Some(3.0),
            ..Written::default()
        };
        let both = Params::from(both);
        assert_eq!(
            (both.epsilon_degree, both.epsilon_encoder),
            (0.5, 3.0),
            "one's own value counts first"
        );
        let written = Written::from(Params::default());
        assert_eq!(Params::from(written), Params::default());
    }

    #[test]
    fn every_broken_rule_is_named() {
        let params = Params {
            walk_length: 0,
            predictor_prob: 1.5,
            epsilon_degree: f64::NAN,
            ..Params::default()
        };
        let fields: Vec<String> = params.breaches().into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["walk_length", "predictor_prob", "epsilon_degree"]);
    }
}
