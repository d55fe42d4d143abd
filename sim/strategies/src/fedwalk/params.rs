//! FedWalk's settings, as a card states them.

use folkmoot_engine::world::Breach;
use serde::{Deserialize, Serialize};

/// The parameters of [`super::FedWalk`]. Defaults are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Entries of a finished walk, l, 1..=10000. Default 40.
    pub walk_length: u32,
    /// Walks started at every vertex, gamma, one per round, 1..=100000. Default 80.
    pub walks_per_node: u32,
    /// Probability p that a holder predicts two hops at once, 0..=1. Default 0.2.
    pub predictor_prob: f64,
    /// Bins of the group plan, k, 1..=255. Default floor(ln |V|), the largest the paper allows.
    pub n_bins: Option<u32>,
    /// Budget of the noisy degree vectors, > 0. Default 2.
    pub epsilon_degree: f64,
    /// Budget that walk messages carry for the encoder of tokens, > 0. Default 2.
    pub epsilon_encoder: f64,
    /// Which vertices a predicted hop may lead to. Default `Tree`.
    pub pool: Pool,
    /// Devices upload their ordered matrices (phase A4), from which the tree is made; otherwise it is made of the degree
    /// vectors, which is a true post-processing of what they released. Default true, as printed.
    pub m_upload: bool,
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
    /// Which rows of the dissimilarity matrix each device downloads in phase A5. Default `All`.
    pub rows: Rows,
    /// What becomes of a walk whose next holder is absent. Default `Wait`.
    pub absent: Absent,
}

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
    /// No download; only with `pool: Vector`, for which the vectors of phase A3 are enough.
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

impl Default for Params {
    fn default() -> Self {
        Params {
            walk_length: 40,
            walks_per_node: 80,
            predictor_prob: 0.2,
            n_bins: None,
            epsilon_degree: 2.0,
            epsilon_encoder: 2.0,
            pool: Pool::default(),
            m_upload: true,
            linkage: Linkage::default(),
            metric: Metric::default(),
            self_hop: SelfHop::default(),
            literal_line27: false,
            prepend_start: false,
            rows: Rows::default(),
            absent: Absent::default(),
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
            "must be All when pools are read off the tree; set pool: Vector to do without".to_owned(),
        );
        if let Absent::Reroute { timeout_ms, .. } = self.absent {
            need(
                (0.0..=1e9).contains(&timeout_ms),
                "absent.timeout_ms",
                format!("must lie in 0..=1e9, got {timeout_ms}"),
            );
        }
        breaches
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
