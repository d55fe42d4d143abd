//! One scale for what nodes bring to all clients: sums, squares and counts come together, mean and
//! variance go out.
//!
//! Single-pass sums in double precision: a number whose deviation is less than 1e-5 of its mean
//! counts as one that is always the same, and becomes 0 but for rounding.

use super::data::{Part, Shard};
use super::{Classifier, Scale};
use std::borrow::Cow;

impl Classifier {
    /// So many of the last numbers of a model are the scale of its inputs.
    pub fn n_fixed(&self) -> usize {
        match self.scale {
            Scale::Federated => 2 * self.network.n_features(),
            Scale::Raw | Scale::Standardised => 0,
        }
    }

    /// Of the nodes that a shard trains on: how many, the sum of each number that they bring, and
    /// that of its square.
    pub fn statistics(&self, shard: &Shard) -> Vec<f64> {
        let n_features = self.network.n_features();
        let (mut n, mut sums) = (0.0, vec![0.0; 2 * n_features]);
        let (of_values, of_squares) = sums.split_at_mut(n_features);
        let view = shard.view(Part::Train);
        for (node, row) in view.batch.rows().chunks_exact(n_features).enumerate() {
            if view.mask.is_some_and(|trains| !trains[node]) {
                continue;
            }
            n += 1.0;
            for ((x, sum), square) in row.iter().zip(&mut *of_values).zip(&mut *of_squares) {
                let x = f64::from(*x);
                *sum += x;
                *square += x * x;
            }
        }
        [vec![n], sums].concat()
    }

    /// Mean and variance of each number, from these sums over all clients.
    pub fn fixed(&self, sums: &[f64]) -> Vec<f32> {
        let n = sums[0].max(1.0);
        let (values, squares) = sums[1..].split_at(self.network.n_features());
        let means = values.iter().map(|sum| sum / n);
        let variances = means.clone().zip(squares).map(|(mean, square)| {
            let variance = square / n - mean * mean;
            match variance > 1e-10 * mean * mean {
                true => variance as f32,
                // So much that nothing is left of a difference from the mean.
                false => f32::MAX,
            }
        });
        let variances: Vec<f32> = variances.collect();
        means.map(|mean| mean as f32).chain(variances).collect()
    }

    /// What the nodes of a shard bring, as the network of this model sees it: shape
    /// `(n_nodes, n_features)`.
    ///
    /// # Panics
    ///
    /// If the parameters are fewer than the scale has numbers.
    pub fn scaled_features<'a>(&self, shard: &'a Shard, parameters: &[f32]) -> Cow<'a, [f32]> {
        let features = shard.node_features();
        let n_features = self.network.n_features();
        let (_, fixed) = parameters.split_at(parameters.len() - self.n_fixed());
        if fixed.is_empty() {
            return Cow::Borrowed(features);
        }
        let (means, variances) = fixed.split_at(n_features);
        let scaled = |row: &[f32]| -> Vec<f32> {
            let scale = means.iter().zip(variances);
            row.iter()
                .zip(scale)
                .map(|(x, (mean, variance))| (x - mean) / variance.sqrt())
                .collect()
        };
        features.chunks_exact(n_features).flat_map(scaled).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::{Facts, Held, Inputs, Model, NodeRows, Split, Target, Training};
    use folkmoot_draws::{Purpose, Streams};
    use folkmoot_graphs::{
        DataDirs, DataSource, Dataset, Features, Partition, Partitioner, SparseRows, datasets, partition,
    };
    use folkmoot_scenarios::algorithm::Source;
    use std::sync::Arc;

    /// Sixty graphs whose nodes bring a 1 and a large number that grows with their degree.
    fn graphs() -> Arc<Dataset> {
        let spec = datasets::GraphClasses {
            n_graphs: 60,
            n_classes: 3,
            min_nodes: 6,
            max_nodes: 12,
        };
        let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
        let mut dataset = spec.load(&DataDirs::new(), &mut rng).unwrap();
        let degrees = dataset
            .graphs
            .iter()
            .flat_map(|graph| (0..graph.n_nodes() as u32).map(|node| graph.degree(node)));
        let rows: Vec<[(u32, f32); 2]> = degrees.map(|degree| [(0, 1.0), (1, 1000.0 + degree as f32)]).collect();
        dataset.features = Some(Features::Sparse(SparseRows::from_rows(2, &rows).unwrap()));
        Arc::new(dataset)
    }

    fn divided(dataset: &Dataset, spec: &dyn Partitioner) -> Arc<Partition> {
        let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
        Arc::new(spec.divide(dataset, &mut rng).unwrap())
    }

    fn held(scale: Scale, dataset: &Arc<Dataset>, partition: &Arc<Partition>) -> (Classifier, Arc<Held>) {
        let source = Source::new(dataset, partition, Streams::new(5));
        let facts = Facts::new(Inputs::Features, Split::All, &source).unwrap();
        let facts = facts.with(Target::Classes, scale, &source);
        let classifier = Classifier::new(&Model::default(), &Training::default(), &facts).unwrap();
        let held = classifier.share(Split::All, &source).unwrap();
        (classifier, held)
    }

    fn one() -> partition::Iid {
        partition::Iid { n_clients: 1 }
    }

    /// What all clients' statistics come to.
    fn fixed(classifier: &Classifier, held: &Held) -> Vec<f32> {
        let mut all = held.shards().iter().map(|shard| classifier.statistics(shard));
        let first = all.next().unwrap();
        let add = |sums: Vec<f64>, more: Vec<f64>| sums.iter().zip(more).map(|(a, b)| a + b).collect();
        classifier.fixed(&all.fold(first, add))
    }

    /// The inputs of all nodes as a network sees them, in the order of the set, with the client of
    /// each.
    fn inputs(scale: Scale, dataset: &Arc<Dataset>, partition: &Arc<Partition>) -> Vec<(Vec<f32>, usize)> {
        let (classifier, held) = held(scale, dataset, partition);
        let fixed = match scale {
            Scale::Federated => fixed(&classifier, &held),
            Scale::Raw | Scale::Standardised => vec![0.0, 0.0, 1.0, 1.0],
        };
        let mut rows = Vec::new();
        for (client, shard) in held.shards().iter().enumerate() {
            for graph in classifier.input_rows(shard) {
                for row in graph.values.chunks_exact(2) {
                    let scaled = (0..2).map(|at| (row[at] - fixed[at]) / fixed[2 + at].sqrt());
                    rows.push((graph.id, scaled.collect(), client));
                }
            }
        }
        rows.sort_by_key(|(id, ..)| *id);
        rows.into_iter().map(|(_, row, client)| (row, client)).collect()
    }

    #[test]
    fn a_scale_from_sums_is_that_of_whoever_has_all_data() {
        let dataset = graphs();
        let pooled = inputs(Scale::Standardised, &dataset, &divided(&dataset, &one()));
        for n_clients in [1, 6] {
            let partition = divided(&dataset, &partition::Iid { n_clients });
            let federated = inputs(Scale::Federated, &dataset, &partition);
            for ((a, _), (b, _)) in pooled.iter().zip(&federated) {
                let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(far < 1e-4, "{a:?} {b:?}");
            }
            // Summing one after the other or client by client, the numbers are those of all of them
            // together to rounding.
            let (classifier, all) = held(Scale::Federated, &dataset, &partition);
            let values: Vec<f64> = dataset_values(&dataset);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64;
            let fixed = fixed(&classifier, &all);
            assert_eq!(fixed[..3], [1.0, mean as f32, f32::MAX]);
            assert!(
                (f64::from(fixed[3]) / variance - 1.0).abs() < 1e-6,
                "{} {variance}",
                fixed[3]
            );
        }
    }

    /// The second number of every node.
    fn dataset_values(dataset: &Dataset) -> Vec<f64> {
        let of_graph = |graph: &folkmoot_graphs::Graph| -> Vec<f64> {
            (0..graph.n_nodes() as u32)
                .map(|node| 1000.0 + graph.degree(node) as f64)
                .collect()
        };
        dataset.graphs.iter().flat_map(of_graph).collect()
    }

    /// The mean share of a node's nearest others that are of its client.
    fn same_client(rows: &[(Vec<f32>, usize)]) -> f64 {
        let share = |at: usize| {
            let distance = |other: &[f32]| -> f64 {
                let pairs = rows[at].0.iter().zip(other);
                pairs.map(|(a, b)| f64::from(a - b) * f64::from(a - b)).sum()
            };
            let others = || {
                rows.iter()
                    .enumerate()
                    .filter(|(other, _)| *other != at)
                    .map(|(_, row)| row)
            };
            let nearest = others().map(|(row, _)| distance(row)).fold(f64::INFINITY, f64::min);
            let clients = others()
                .filter(|(row, _)| distance(row) == nearest)
                .map(|(_, client)| *client);
            let is_same: Vec<bool> = clients.map(|client| client == rows[at].1).collect();
            is_same.iter().filter(|same| **same).count() as f64 / is_same.len() as f64
        };
        (0..rows.len()).map(share).sum::<f64>() / rows.len() as f64
    }

    /// A client that scales for itself is in every number it makes; under one scale for all, inputs
    /// tell no more than unscaled ones do.
    #[test]
    fn whose_a_node_is_shows_under_scales_of_their_own_alone() {
        let dataset = graphs();
        let skewed = partition::LabelSkew {
            n_clients: 6,
            alpha: 0.5,
            min_size: 1,
        };
        let partition = divided(&dataset, &skewed);
        let of = |scale| same_client(&inputs(scale, &dataset, &partition));
        let (raw, own, federated) = (of(Scale::Raw), of(Scale::Standardised), of(Scale::Federated));
        assert!(own > 0.95, "{own}");
        assert!(raw < 0.5, "{raw}");
        // Equal numbers stay equal; only where the nearest differ may rounding choose among them.
        assert!((federated - raw).abs() < 1e-3, "{federated} {raw}");
    }

    #[test]
    fn normalised_rows_sum_to_one_and_empty_ones_stay() {
        let set = graphs();
        let n_nodes = set.n_nodes();
        let rows = |node: usize| match node {
            0 => vec![],
            _ => vec![(0, 1.0), (2, -3.0)],
        };
        let rows: Vec<Vec<(u32, f32)>> = (0..n_nodes).map(rows).collect();
        let dataset = Dataset {
            features: Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap())),
            ..Dataset::clone(&set)
        };
        let brought = crate::classifier::Brought::new(Inputs::RowNormalised, &dataset).unwrap();
        let of_first = brought.of(&dataset.graphs[0], &[0, 1]).unwrap();
        assert_eq!(of_first, [0.0, 0.0, 0.0, 0.25, 0.0, -0.75]);
    }

    /// A triangle with a tail: 0, 1 and 2 are joined, and 3 to 2; and a node by itself.
    #[test]
    fn the_structure_about_a_node_is_that_of_the_graph() {
        let graph = folkmoot_graphs::Graph::from_edges(5, &[(0, 1), (0, 2), (1, 2), (2, 3)], false).unwrap();
        let dataset = Dataset::of_graph("tailed", graph.clone());
        let inputs = Inputs::Structured { walks: 3, degrees: 2 };
        let brought = crate::classifier::Brought::new(inputs, &dataset).unwrap();
        assert_eq!(brought.n_features(), 6);
        let rows = brought.of(&graph, &[0, 1, 2, 3, 4]).unwrap();
        // Back after two steps: from 0 by 1 with 1/2 · 1/2 and by 2 with 1/2 · 1/3; after three
        // both ways round.
        let of_first = [1.0, 0.0, 5.0 / 12.0, 1.0 / 6.0, 0.0, 1.0];
        let of_third = [1.0, 0.0, 2.0 / 3.0, 1.0 / 6.0, 0.0, 1.0];
        let of_tail = [1.0, 0.0, 1.0 / 3.0, 0.0, 1.0, 0.0];
        let alone = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        for (node, expected) in [(0, of_first), (2, of_third), (3, of_tail), (4, alone)] {
            for (got, expected) in rows[6 * node..].iter().zip(expected) {
                assert!((got - expected).abs() < 1e-6, "{node}: {rows:?}");
            }
        }
    }

    #[test]
    fn what_clients_hold_that_are_not_needed_here_is_not_made_ready() {
        let dataset = graphs();
        let partition = divided(&dataset, &partition::Iid { n_clients: 4 });
        let all = Source::new(&dataset, &partition, Streams::new(5));
        let facts = Facts::new(Inputs::Features, Split::All, &all).unwrap();
        let classifier = Classifier::new(&Model::default(), &Training::default(), &facts).unwrap();
        let n_items = |source: &Source<'_>| -> Vec<usize> {
            let held = classifier.share(Split::All, source).unwrap();
            held.shards().iter().map(|shard| shard.n_train()).collect()
        };
        let some = Source {
            needed: 1..3,
            ..all.clone()
        };
        assert_eq!(n_items(&all), [15; 4]);
        assert_eq!(n_items(&some), [0, 15, 15, 0]);
        assert_eq!(n_items(&some.of_all()), [15; 4]);
        // Whose clients have nothing at one rank does not end the run.
        let none = Source { needed: 2..2, ..all };
        assert_eq!(n_items(&none), [0; 4]);
    }

    #[test]
    fn a_network_scales_what_it_reads() {
        let dataset = graphs();
        let partition = divided(&dataset, &one());
        let rows = |scale| {
            let (classifier, held) = held(scale, &dataset, &partition);
            let mut model = classifier
                .network()
                .layout()
                .initialise(&mut Streams::new(5).global(Purpose(*b"test-ini")));
            let n = model.len() - classifier.n_fixed();
            if classifier.n_fixed() > 0 {
                model[n..].copy_from_slice(&fixed(&classifier, &held));
            }
            let rows = classifier.node_rows(&held.shards()[0], &model, NodeRows::Hidden);
            rows.into_iter().flat_map(|graph| graph.values).collect::<Vec<f32>>()
        };
        let (own, federated, raw) = (rows(Scale::Standardised), rows(Scale::Federated), rows(Scale::Raw));
        let far = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far(&own, &federated) < 1e-3, "{}", far(&own, &federated));
        assert!(far(&own, &raw) > 1.0, "{}", far(&own, &raw));
    }
}
