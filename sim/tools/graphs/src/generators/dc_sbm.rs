//! Degree-corrected stochastic block model with labels: communities, heavy-tailed degrees, and as
//! many labels a node as wanted.
//!
//! B. Karrer, M. E. J. Newman. Stochastic Blockmodels and Community Structure in Networks. Phys.
//! Rev. E 83 (2011), Sec. V: a share `assortativity` of all edges joins nodes of one class, the
//! rest ignores classes; within both, nodes are drawn in proportion to their propensities.
//! Deviation: the number of edges is fixed, and no edge is drawn twice.

use folkmoot_draws::SimRng;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use super::distinct_edges;
use crate::Labels;

/// Checked parameters; `DatasetSpec::DcSbm` documents them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DcSbm {
    pub(crate) n_nodes: u32,
    pub(crate) n_classes: u32,
    pub(crate) mean_degree: f64,
    pub(crate) assortativity: f64,
    pub(crate) degree_exponent: f64,
    pub(crate) max_degree_share: f64,
    pub(crate) second_label_prob: f64,
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
    let n_edges = (f64::from(parameters.n_nodes) * parameters.mean_degree / 2.0) as usize;
    let edges = distinct_edges(n_edges, rng, |rng| {
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
