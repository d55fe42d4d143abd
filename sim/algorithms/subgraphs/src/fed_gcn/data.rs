//! What clients hold, and what they train on once they have been told.

use super::FedGcn;
use super::settings::Weights;
use crate::Part;
use folkmoot_classifiers::classifier::{Brings, Held, Shard};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Csr;
use folkmoot_rounds::Rounds;
use folkmoot_scenarios::algorithm::Source;
use std::collections::BTreeMap;

/// What all clients hold of the graph who hold these nodes of it.
pub(super) fn parts(task: &FedGcn, held: &Held, source: &Source<'_>) -> Vec<Part> {
    let graph = source.dataset.graph();
    let part = |(client, shard): (usize, &Shard)| {
        let nodes = source.partition.shard(client);
        task.cut.part(graph, ClientId(client as u32), nodes, shard.clone())
    };
    held.shards().iter().enumerate().map(part).collect()
}

/// What each client is given.
pub(super) struct Handed {
    pub(super) parts: Vec<Part>,
    pub(super) sizes: Vec<u64>,
}

impl Shards<Rounds<FedGcn, (), super::Neighbours>> for Handed {
    fn n_clients(&self) -> u32 {
        self.parts.len() as u32
    }

    fn shard(&self, client: ClientId) -> &Part {
        &self.parts[client.0 as usize]
    }

    fn size(&self, client: ClientId) -> u64 {
        self.sizes[client.0 as usize]
    }
}

/// The factor by which a node of this degree, itself counted, counts in a sum and its sum in
/// itself; 0 where the degree is not known.
pub(super) fn factor(weights: Weights, degree: u32) -> f64 {
    match (weights, degree) {
        (Weights::Plain, _) => 1.0,
        (Weights::Normalised, 0) => 0.0,
        (Weights::Normalised, degree) => 1.0 / f64::from(degree).sqrt(),
    }
}

impl Part {
    /// The degree of its node at this place in the whole graph, itself counted.
    pub(super) fn degree(&self, place: usize) -> u32 {
        self.neighbours(place).len() as u32 + 1
    }

    /// The features of its node at this place, of `n_features` numbers.
    pub(super) fn features(&self, place: usize, n_features: usize) -> &[f32] {
        &self.shard().node_features()[place * n_features..][..n_features]
    }

    /// Its share of the sum of any node: its own nodes among that and its neighbours, in ascending
    /// order.
    pub(super) fn share(&self, node: u32, weights: Weights, n_features: usize) -> Vec<f64> {
        let mut sum = vec![0.0; n_features];
        let mut add = |place: usize| {
            let factor = factor(weights, self.degree(place));
            let row = self.features(place, n_features);
            sum.iter_mut()
                .zip(row)
                .for_each(|(sum, x)| *sum += factor * f64::from(*x));
        };
        match self.place(node) {
            Some(own) => {
                let of_node = self.neighbours(own);
                let before = of_node.partition_point(|v| *v < node);
                let places = |nodes: &[u32]| nodes.iter().filter_map(|v| self.place(*v)).collect::<Vec<usize>>();
                places(&of_node[..before]).into_iter().for_each(&mut add);
                add(own);
                places(&of_node[before..]).into_iter().for_each(&mut add);
            }
            None => {
                let joined =
                    (0..self.nodes().len()).filter(|place| self.neighbours(*place).binary_search(&node).is_ok());
                joined.for_each(add);
            }
        }
        sum
    }
}

/// What a client trains on that was told sums: those of its own nodes, and with two hops of its
/// border, as they came, with the degrees there.
pub(super) fn of_sums(task: &FedGcn, part: &Part, sums: &[f32], border_degrees: &[u32]) -> Shard {
    let plan = &task.plan;
    let n_own = part.nodes().len();
    let n = n_own + if plan.hops == 2 { part.foreign().len() } else { 0 };
    let degree = |place: usize| match place.checked_sub(n_own) {
        None => part.degree(place),
        Some(behind) => border_degrees.get(behind).copied().unwrap_or(0),
    };
    let factors: Vec<f64> = (0..n).map(|place| factor(plan.weights, degree(place))).collect();
    let d = plan.n_features;
    let rows = sums.chunks_exact(d.max(1)).zip(&factors);
    let scaled = rows.flat_map(|(row, factor)| row.iter().map(move |x| (f64::from(*x) * factor) as f32));
    let mut scaled: Vec<f32> = scaled.collect();
    scaled.resize(n * d, 0.0);
    let arcs = arcs(part, |node| part.place_among_all(node).filter(|place| *place < n));
    let matrix = match plan.weights {
        Weights::Plain => task.encoder.propagation().matrix(&unweighted(n, &arcs)),
        Weights::Normalised => {
            let weight = |(u, v): &(u32, u32)| (factors[*u as usize] * factors[*v as usize]) as f32;
            let loops = (0..n as u32).map(|place| (place, place));
            let all = arcs.iter().copied().chain(loops);
            let mut entries: Vec<(u32, u32, f32)> = all.map(|arc| (arc.0, arc.1, weight(&arc))).collect();
            entries.sort_unstable_by_key(|(u, v, _)| (*u, *v));
            Csr::from_entries(n as u32, n as u32, &entries).expect("places are those of nodes, and weights finite")
        }
    };
    task.classifier.extended(part.shard(), &matrix, Brings::Sums(scaled))
}

/// What a client trains on that was told of others' nodes: by number, their neighbours and the bits
/// of their features.
pub(super) fn of_features(task: &FedGcn, part: &Part, others: &BTreeMap<u32, (Vec<u32>, Vec<u32>)>) -> Shard {
    let n_own = part.nodes().len();
    let numbers: Vec<u32> = others.keys().copied().collect();
    let place = |node: u32| {
        let behind = || numbers.binary_search(&node).ok().map(|place| n_own + place);
        part.place(node).or_else(behind)
    };
    let mut arcs = arcs(part, place);
    for (behind, (neighbours, _)) in others.values().enumerate() {
        let at = (n_own + behind) as u32;
        for other in neighbours.iter().filter_map(|node| place(*node)) {
            arcs.extend([(at, other as u32), (other as u32, at)]);
        }
    }
    arcs.sort_unstable();
    arcs.dedup();
    let mut features = part.shard().node_features().to_vec();
    for (_, bits) in others.values() {
        features.extend(bits.iter().map(|bits| f32::from_bits(*bits)));
    }
    let matrix = task
        .encoder
        .propagation()
        .matrix(&unweighted(n_own + numbers.len(), &arcs));
    task.classifier
        .extended(part.shard(), &matrix, Brings::Features(features))
}

/// The arcs that a client knows between nodes that have a place, in both directions, each once.
fn arcs(part: &Part, place: impl Fn(u32) -> Option<usize>) -> Vec<(u32, u32)> {
    let mut arcs = Vec::new();
    for own in 0..part.nodes().len() {
        for other in part.neighbours(own).iter().filter_map(|node| place(*node)) {
            arcs.extend([(own as u32, other as u32), (other as u32, own as u32)]);
        }
    }
    arcs.sort_unstable();
    arcs.dedup();
    arcs
}

fn unweighted(n: usize, arcs: &[(u32, u32)]) -> Csr {
    Csr::from_arcs(n as u32, arcs, None).expect("places are those of nodes")
}
