//! A block model whose nodes have binary features that mark their classes.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules, component};
use rand::RngExt;

use super::dc_sbm::{self, DcSbm};
use super::{Generator, check_mean_degree, half};
use crate::{DataError, Dataset, Features, SparseRows};

/// The most features of all nodes of a graph together.
const MAX_VALUES: u64 = 1 << 30;

/// Contextual stochastic block model with binary features instead of Gaussian ones (Deshpande,
/// Sen, Montanari & Mossel 2018). Feature `j` marks class `j` modulo `n_classes`.
#[component(name = "ContextualSbm", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextualSbm {
    /// Number of nodes.
    #[component(default = 400, in = 2..=67_108_864)]
    pub n_nodes: u32,
    /// Number of classes of equal size, 2..=n_nodes.
    #[component(default = 4)]
    pub n_classes: u32,
    /// Mean degree (edges × 2 / nodes), in 0..=(n_nodes − 1) / 2.
    #[component(default = 8.0)]
    pub mean_degree: f64,
    /// Expected fraction of edges within a class.
    #[component(default = 0.8, in = 0..=1)]
    pub assortativity: f64,
    /// Number of features per node.
    #[component(default = 32, in = 1..=100_000)]
    pub n_features: u32,
    /// Probability of a 1 in a feature that marks the node's class.
    #[component(default = 0.3, in = 0..=1)]
    pub mark_prob: f64,
    /// Probability of a 1 in a feature that marks another class.
    #[component(default = 0.1, in = 0..=1)]
    pub other_prob: f64,
}

impl ContextualSbm {
    fn rules(&self, rules: &mut Rules) {
        let (n_nodes, n_classes, n_features) = (self.n_nodes, self.n_classes, self.n_features);
        if rules.is_broken("n_nodes") {
            return;
        }
        let rule = format!("must lie in 2..={n_nodes} (n_nodes), got {n_classes}");
        rules.require((2..=n_nodes).contains(&n_classes), "n_classes", rule);
        check_mean_degree(self.mean_degree, n_nodes, half(n_nodes), rules);
        let rule =
            format!("gives {n_nodes} × {n_features} values; at most {MAX_VALUES} are drawn, lower one of the two");
        let n_values = u64::from(n_nodes) * u64::from(n_features);
        rules.require(n_values <= MAX_VALUES, "n_features", rule);
    }
}

impl Generator for ContextualSbm {
    const ENTRY: [&'static str; 2] = [
        "ContextualSbm()",
        "generated: block model with labels and binary features",
    ];

    fn n_nodes(&self) -> u64 {
        self.n_nodes.into()
    }

    fn mean_degree(&self) -> f64 {
        self.mean_degree
    }

    fn n_features(&self) -> u32 {
        self.n_features
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let blocks = DcSbm {
            n_nodes: self.n_nodes,
            n_classes: self.n_classes,
            mean_degree: self.mean_degree,
            assortativity: self.assortativity,
            // All nodes are equally likely to have an edge.
            degree_exponent: 100.0,
            max_degree_share: 1.0,
            second_label_prob: 0.0,
            min_degree: 0,
        };
        let mut dataset = dc_sbm::draw(Self::NAME, &blocks, rng)?;
        let class = |node: u32| dataset.node_labels.as_ref().and_then(|labels| labels.single(node));
        let classes: Vec<u32> = (0..self.n_nodes).filter_map(class).collect();
        let probs = (self.mark_prob, self.other_prob);
        dataset.features = Some(marks(&classes, self.n_classes, self.n_features, probs, rng));
        Ok(dataset)
    }
}

/// For each node `n_features` features, row by row: feature `j` is 1 with the first of `probs`
/// where `j` modulo `n_classes` is the node's class, with the second elsewhere.
///
/// # Determinism
///
/// Draws one number a feature, in order.
fn marks(classes: &[u32], n_classes: u32, n_features: u32, probs: (f64, f64), rng: &mut SimRng) -> Features {
    let mut row = |class: &u32| -> Vec<(u32, f32)> {
        let mut is_set = |j: &u32| {
            let prob = if j % n_classes == *class { probs.0 } else { probs.1 };
            rng.random::<f64>() < prob
        };
        (0..n_features).filter(|j| is_set(j)).map(|j| (j, 1.0)).collect()
    };
    let rows: Vec<Vec<(u32, f32)>> = classes.iter().map(&mut row).collect();
    Features::Sparse(SparseRows::from_rows(n_features, &rows).expect("columns ascend below n_features"))
}
