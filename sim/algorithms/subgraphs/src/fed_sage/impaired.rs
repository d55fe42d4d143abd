//! A client's graph without some of its nodes, which it hides from itself to learn what is missing.

use super::settings::Plan;
use folkmoot_classifiers::classifier::{Nodes, Part, Shard};
use folkmoot_draws::{SimRng, shuffle};
use folkmoot_learning::{Batch, Csr};

/// What is left when nodes are hidden, and what is known of those.
#[derive(Debug)]
pub(super) struct Impaired {
    /// The nodes that are left, by their places at the client, ascending.
    pub(super) nodes: Vec<u32>,
    /// What they bring, and `D^-1 (A + I)` of the edges between them.
    pub(super) batch: Batch,
    /// The edges between them.
    pub(super) adjacency: Csr,
    pub(super) labels: Vec<u32>,
    pub(super) trains: Vec<bool>,
    /// Of each, its neighbours that are hidden, by their places at the client.
    pub(super) missing: Vec<Vec<u32>>,
}

/// How many nodes a client with so many that validate hides.
fn n_hidden(plan: &Plan, n_validating: usize) -> usize {
    (plan.hidden_portion * n_validating as f64) as usize
}

/// How many nodes are left at a client.
pub(super) fn n_left(plan: &Plan, nodes: &Nodes<'_>) -> usize {
    let validates = nodes.are_in(Part::Validation);
    let n_validating = validates.iter().filter(|is| **is).count();
    nodes.labels.len() - n_hidden(plan, n_validating)
}

impl Impaired {
    /// What is left of nodes when those that `rng` draws are hidden.
    pub(super) fn new(plan: &Plan, shard: &Shard, nodes: &Nodes<'_>, rng: &mut SimRng) -> Impaired {
        let validates = nodes.are_in(Part::Validation).iter().enumerate();
        let mut hidden: Vec<usize> = validates.filter(|(_, is)| **is).map(|(place, _)| place).collect();
        shuffle(rng, &mut hidden);
        hidden.truncate(n_hidden(plan, hidden.len()));
        let mut is_hidden = vec![false; nodes.labels.len()];
        hidden.iter().for_each(|place| is_hidden[*place] = true);
        let left: Vec<u32> = (0..is_hidden.len() as u32)
            .filter(|place| !is_hidden[*place as usize])
            .collect();
        let (mut arcs, mut missing) = (Vec::new(), Vec::new());
        for (at, node) in (0..).zip(&left) {
            let (gone, here): (Vec<usize>, Vec<usize>) =
                nodes.neighbours(*node as usize).partition(|near| is_hidden[*near]);
            missing.push(gone.into_iter().map(|place| place as u32).collect());
            let places = here
                .into_iter()
                .filter_map(|near| left.binary_search(&(near as u32)).ok());
            arcs.extend(places.map(|near| (near as u32, at)));
        }
        let adjacency = Csr::from_arcs(left.len() as u32, &arcs, None).expect("arcs join nodes that are left");
        let d = plan.n_features;
        let rows = left
            .iter()
            .flat_map(|node| &shard.node_features()[*node as usize * d..][..d]);
        let features: Vec<f32> = rows.copied().collect();
        let mut batch = Batch::new(d);
        batch.push(&adjacency.with_self_loops().row_means(), &features);
        batch.keep_nonzeros();
        let trained = nodes.are_in(Part::Train);
        Impaired {
            batch,
            adjacency,
            labels: left.iter().map(|node| nodes.labels[*node as usize]).collect(),
            trains: left.iter().map(|node| trained[*node as usize]).collect(),
            missing,
            nodes: left,
        }
    }

    /// How many of its nodes train.
    pub(super) fn n_train(&self) -> usize {
        self.trains.iter().filter(|trains| **trains).count()
    }
}
