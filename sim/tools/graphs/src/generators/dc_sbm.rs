//! Degree-corrected stochastic block model with labels: communities, heavy-tailed degrees, and as
//! many labels a node as wanted.
//!
//! B. Karrer, M. E. J. Newman. Stochastic Blockmodels and Community Structure in Networks. Phys.
//! Rev. E 83 (2011), Sec. V: a share `assortativity` of all edges joins nodes of one class, the
//! rest ignores classes; within both, nodes are drawn in proportion to their propensities.
//! Deviation: the number of edges is fixed, and no edge is drawn twice.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules, component};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use super::{
    Generator, assemble, check_mean_degree, check_min_degree, distinct_edges, half, lift, n_edges, note_missing,
};
use crate::{DataError, Dataset, Labels};

/// Degree-corrected stochastic block model with labels (Karrer & Newman 2011).
#[component(name = "DcSbm", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcSbm {
    /// Number of nodes.
    #[component(default = 1_000, in = 2..=67_108_864)]
    pub n_nodes: u32,
    /// Number of classes of equal size, 1..=n_nodes.
    #[component(default = 10)]
    pub n_classes: u32,
    /// Mean degree (edges × 2 / nodes), in 0..=(n_nodes − 1) / 2.
    #[component(default = 10.0)]
    pub mean_degree: f64,
    /// Expected fraction of edges within a class.
    #[component(default = 0.7, in = 0..=1)]
    pub assortativity: f64,
    /// Exponent of the power law of degrees.
    #[component(default = 2.5, in = 1.5..=100)]
    pub degree_exponent: f64,
    /// Maximum expected degree, as a fraction of the nodes.
    #[component(default = 0.2, above = 0, at_most = 1)]
    pub max_degree_share: f64,
    /// Probability that a node has a second class.
    #[component(default = 0.0, in = 0..=1)]
    pub second_label_prob: f64,
    /// Minimum degree, at most 64.
    #[component(default = 1)]
    pub min_degree: u32,
}

impl DcSbm {
    fn rules(&self, rules: &mut Rules) {
        let (n_nodes, n_classes) = (self.n_nodes, self.n_classes);
        if rules.is_broken("n_nodes") {
            return;
        }
        let rule = format!("must lie in 1..={n_nodes} (n_nodes), got {n_classes}");
        rules.require((1..=n_nodes).contains(&n_classes), "n_classes", rule);
        check_mean_degree(self.mean_degree, n_nodes, half(n_nodes), rules);
        let rule = "must be 0 with a single class; there is no second one";
        rules.require(
            n_classes > 1 || self.second_label_prob == 0.0,
            "second_label_prob",
            rule,
        );
        check_min_degree(self.min_degree, n_nodes, rules);
    }
}

impl Generator for DcSbm {
    const ENTRY: [&'static str; 2] = [
        "DcSbm()",
        "generated: degree-corrected stochastic block model with labels",
    ];

    fn n_nodes(&self) -> u64 {
        self.n_nodes.into()
    }

    fn mean_degree(&self) -> f64 {
        self.mean_degree
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        draw(Self::NAME, self, rng)
    }
}

/// The data set `name` of a block model.
pub(super) fn draw(name: &str, parameters: &DcSbm, rng: &mut SimRng) -> Result<Dataset, DataError> {
    let (n_nodes, min_degree) = (parameters.n_nodes, parameters.min_degree);
    let (mut edges, model) = dc_sbm(parameters, rng);
    let missing = n_edges(n_nodes, parameters.mean_degree) - edges.len();
    let added = lift(n_nodes, &mut edges, min_degree, rng, |node, rng| {
        model.partner(node, rng)
    });
    let mut dataset = assemble(name, n_nodes, edges, Some(model.into_labels()), (added, min_degree))?;
    note_missing(&mut dataset, missing);
    Ok(dataset)
}

/// Draws nodes in proportion to their propensities.
struct Urn {
    members: Vec<u32>,
    law: WeightedAliasIndex<f64>,
}

impl Urn {
    fn new(members: Vec<u32>, propensities: &[f64]) -> Urn {
        let weights = members.iter().map(|&node| propensities[node as usize]).collect();
        let law = WeightedAliasIndex::new(weights).expect("every class has a node, and propensities are at least 1");
        Urn { members, law }
    }

    fn draw(&self, rng: &mut SimRng) -> u32 {
        self.members[self.law.sample(rng)]
    }
}

/// The model after classes and propensities are drawn: it can go on drawing edges.
pub(crate) struct Model {
    parameters: DcSbm,
    labels: Labels,
    everyone: Urn,
    by_class: Vec<Urn>,
}

/// Draws classes, propensities and then `n_nodes × mean_degree / 2` distinct edges, as far as the
/// model yields them.
pub(crate) fn dc_sbm(parameters: &DcSbm, rng: &mut SimRng) -> (Vec<u64>, Model) {
    let labels = labels(parameters, rng);
    let propensities = propensities(parameters, rng);
    let members = |class: u32| {
        (0..parameters.n_nodes)
            .filter(|&node| labels.of(node).contains(&class))
            .collect()
    };
    let by_class = (0..parameters.n_classes)
        .map(|class| Urn::new(members(class), &propensities))
        .collect();
    let everyone = Urn::new((0..parameters.n_nodes).collect(), &propensities);
    let model = Model {
        parameters: *parameters,
        labels,
        everyone,
        by_class,
    };
    let edges = distinct_edges(n_edges(parameters.n_nodes, parameters.mean_degree), rng, |rng| {
        let from = model.everyone.draw(rng);
        (from, model.partner(from, rng))
    });
    (edges, model)
}

impl Model {
    /// The other end of an edge at `node`, by the model's law.
    pub(crate) fn partner(&self, node: u32, rng: &mut SimRng) -> u32 {
        if rng.random::<f64>() >= self.parameters.assortativity {
            return self.everyone.draw(rng);
        }
        let classes = self.labels.of(node);
        let class = if classes.len() == 1 {
            classes[0]
        } else {
            classes[rng.random_range(0..classes.len() as u32) as usize]
        };
        self.by_class[class as usize].draw(rng)
    }

    pub(crate) fn into_labels(self) -> Labels {
        self.labels
    }
}

/// Classes of equal size, give or take one, in random order; with some probability a second class
/// each.
fn labels(parameters: &DcSbm, rng: &mut SimRng) -> Labels {
    let n_classes = parameters.n_classes;
    let mut classes: Vec<u32> = (0..parameters.n_nodes).map(|node| node % n_classes).collect();
    classes.shuffle(rng);
    let mut pairs: Vec<(u32, u32)> = (0..).zip(classes).collect();
    if parameters.second_label_prob > 0.0 {
        for node in 0..parameters.n_nodes {
            if rng.random::<f64>() < parameters.second_label_prob {
                let other = (pairs[node as usize].1 + 1 + rng.random_range(0..n_classes - 1)) % n_classes;
                pairs.push((node, other));
            }
        }
    }
    Labels::from_pairs(parameters.n_nodes, n_classes, &pairs).expect("nodes and classes are drawn in range")
}

/// Passes that bring the largest expected degree below its cap: lowering a propensity lowers the
/// mean, hence the cap, again.
const CAP_PASSES: u32 = 16;

/// Pareto propensities, at least 1, with tail exponent `degree_exponent`, capped so that the
/// largest expected degree is about `max_degree_share × n_nodes`.
fn propensities(parameters: &DcSbm, rng: &mut SimRng) -> Vec<f64> {
    let n_nodes = f64::from(parameters.n_nodes);
    let power = -1.0 / (parameters.degree_exponent - 1.0);
    let mut drawn: Vec<f64> = (0..parameters.n_nodes)
        .map(|_| libm::pow(1.0 - rng.random::<f64>(), power))
        .collect();
    for _ in 0..CAP_PASSES {
        let mean = drawn.iter().sum::<f64>() / n_nodes;
        let cap = (parameters.max_degree_share * n_nodes / parameters.mean_degree * mean).max(1.0);
        let mut changed = false;
        for propensity in &mut drawn {
            if *propensity > cap {
                *propensity = cap;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    drawn
}
