//! Edges that make some clients' graphs more homophilous and others' less (AdaFGL, Li et al. 2024):
//! structures that are not alike.

use folkmoot_draws::{SimRng, bernoulli, unit};
use folkmoot_parts::component;

use super::{Partition, PartitionError, Partitioner, checked, enough, multilevel, one_graph, unweighted};
use crate::{DataDirs, Dataset, Graph, Labels};

/// Structure skew by random edge injection (AdaFGL, Li et al. 2024) into `Multilevel` parts:
/// homophilous parts get edges within classes, the others between classes. Every suitable
/// non-adjacent pair of a part is joined with the same probability. Clients and reports use the
/// graph with these edges. Classes of all nodes are used, including test nodes.
#[component(name = "StructureSkew")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StructureSkew {
    /// Number of clients, at most the number of nodes.
    #[component(required, at_least = 1)]
    pub n_clients: u32,
    /// Probability that a client is homophilous (edges within classes).
    #[component(default = 0.5, in = 0..=1)]
    pub homophilous: f64,
    /// Expected number of new edges per edge inside a part.
    #[component(default = 0.5, in = 0..=100)]
    pub rate: f64,
    /// Allowed relative deviation of a part's size from the even share.
    #[component(default = 0.03, in = 0..=1)]
    pub imbalance: f64,
}

impl Partitioner for StructureSkew {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let graph = one_graph(dataset, "StructureSkew")?;
        enough(dataset.n_items(), self.n_clients, 1)?;
        let shards = multilevel::cut(graph, self.n_clients as usize, self.imbalance);
        let partition = skew(dataset, shards, (self.homophilous, self.rate), rng)?;
        Ok(unweighted(partition, dataset))
    }
}

/// The given shards of the data set's graph with more edges.
fn skew(
    dataset: &Dataset,
    shards: Vec<Vec<u32>>,
    odds: (f64, f64),
    rng: &mut SimRng,
) -> Result<Partition, PartitionError> {
    let needs = |what: &'static str| PartitionError::Needs {
        rule: "StructureSkew",
        what,
    };
    let labels = dataset.node_labels.as_ref();
    let labels = labels.ok_or(needs("labels; use Multilevel instead"))?;
    if dataset.edge_labels.is_some() {
        return Err(needs(
            "a set whose edges have no labels, since new ones would have none; use Multilevel instead",
        ));
    }
    let Injected { edges, is_alike } = inject(dataset.graph(), labels, &shards, odds, rng);
    let alike = |&&(u, v): &&(u32, u32)| labels.single(u) == labels.single(v);
    let (n_alike, n_clients) = (edges.iter().filter(alike).count(), is_alike.len());
    let homophilous: Vec<String> = (0..n_clients)
        .filter(|client| is_alike[*client])
        .map(|client| client.to_string())
        .collect();
    let note = format!(
        "{} of {n_clients} clients got {n_alike} edges between nodes of one class ({}), the others {} between nodes of different classes",
        homophilous.len(),
        if homophilous.is_empty() {
            "none".to_owned()
        } else {
            homophilous.join(", ")
        },
        edges.len() - n_alike
    );
    Ok(Partition::from_shards(shards)?.with_added_edges(edges).with_note(note))
}

/// What was added to the clients' graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Injected {
    edges: Vec<(u32, u32)>,
    /// Whether each client is homophilous.
    is_alike: Vec<bool>,
}

/// Draws for each shard whether it is homophilous, which it is with probability `homophilous`, and
/// then each pair of its nodes that has no edge and whose classes are equal, or differ if it is
/// not, with one probability for all: that by which `rate` edges are to be expected for each edge
/// inside the shard, or 1.
///
/// Nodes with no class or several get no edge. Skips straight to the next pair, so that the cost is
/// that of the edges.
///
/// # Determinism
/// Draws one value for each shard, and one for each pair that is an edge then or was, and one more
/// for each shard with some.
fn inject(
    graph: &Graph,
    labels: &Labels,
    shards: &[Vec<u32>],
    (homophilous, rate): (f64, f64),
    rng: &mut SimRng,
) -> Injected {
    let graph = graph.undirected();
    let mut injected = Injected::default();
    for shard in shards {
        let is_alike = bernoulli(rng, homophilous);
        injected.is_alike.push(is_alike);
        let pairs = Pairs::new(labels, shard, is_alike);
        let joined = |&node: &u32| graph.neighbours(node).iter().map(move |&other| (node, other));
        let inside = shard
            .iter()
            .flat_map(joined)
            .filter(|(u, v)| u < v && shard.binary_search(v).is_ok());
        let (mut n_inside, mut n_joined) = (0_u64, 0_u64);
        for (u, v) in inside {
            n_inside += 1;
            let classes = (labels.single(u), labels.single(v));
            n_joined += u64::from(matches!(classes, (Some(u), Some(v)) if (u == v) == is_alike));
        }
        let probability = rate * n_inside as f64 / (pairs.n - n_joined).max(1) as f64;
        pairs.draw(probability, rng, |u, v| {
            if !graph.has_edge(u, v) {
                injected.edges.push((u.min(v), u.max(v)));
            }
        });
    }
    injected
}

/// All pairs of labelled nodes whose classes are equal, or all whose classes differ.
struct Pairs {
    /// Nodes by class, and for each the places of its partners behind it.
    nodes: Vec<u32>,
    partners: Vec<std::ops::Range<usize>>,
    n: u64,
}

impl Pairs {
    fn new(labels: &Labels, shard: &[u32], is_alike: bool) -> Pairs {
        let labelled = shard.iter().filter_map(|&node| Some((labels.single(node)?, node)));
        let mut sorted: Vec<(u32, u32)> = labelled.collect();
        sorted.sort_unstable();
        let partners = |(at, (class, _)): (usize, &(u32, u32))| {
            let end = sorted.partition_point(|(other, _)| other <= class);
            if is_alike { at + 1..end } else { end..sorted.len() }
        };
        let partners: Vec<_> = sorted.iter().enumerate().map(partners).collect();
        Pairs {
            nodes: sorted.iter().map(|(_, node)| *node).collect(),
            n: partners.iter().map(|range| range.len() as u64).sum(),
            partners,
        }
    }

    /// Tells each pair with the same probability.
    fn draw(&self, probability: f64, rng: &mut SimRng, mut tell: impl FnMut(u32, u32)) {
        if probability <= 0.0 || self.n == 0 {
            return;
        }
        let log_none = libm::log1p(-probability.min(1.0));
        let skip = |rng: &mut SimRng| match probability < 1.0 {
            // A skip beyond all pairs is the end; the cast saturates.
            true => libm::floor(libm::log(1.0 - unit(rng)) / log_none) as u64,
            false => 0,
        };
        let mut at = skip(rng);
        let mut before = 0;
        for (first, partners) in self.partners.iter().enumerate() {
            let upto = before + partners.len() as u64;
            while at < upto {
                let second = partners.start + (at - before) as usize;
                tell(self.nodes[first], self.nodes[second]);
                at = at.saturating_add(1).saturating_add(skip(rng));
            }
            before = upto;
        }
    }
}
