//! The slope that a search goes down, against differences of the distance itself.

use super::gradient_search::{Distance, slope};
use super::tests::rng;
use crate::classifier::graph_layers::{Gat, Gcn, GraphLayers, Sage};
use crate::classifier::{Classifier, Facts, Held, Inputs, Model, Split, Training};
use folkmoot_draws::{index, normal};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partition, SparseRows};
use folkmoot_parts::Chosen;
use folkmoot_scenarios::algorithm::Source;
use std::sync::Arc;

/// Six nodes on a path, three classes; all train.
fn path(encoder: Chosen<dyn GraphLayers>, layers: u32, head_layers: u32) -> (Classifier, Arc<Held>) {
    let mut rng = rng(21);
    let rows: Vec<Vec<(u32, f32)>> = (0..6)
        .map(|_| (0..4).map(|i| (i, normal(&mut rng) as f32)).collect())
        .collect();
    let classes: Vec<Option<u32>> = (0..6).map(|_| Some(index(&mut rng, 3) as u32)).collect();
    let edges: Vec<(u32, u32)> = (0..5).map(|v| (v, v + 1)).collect();
    let dataset = Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(4, &rows).unwrap())),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        n_classes: 3,
        ..Dataset::of_graph("path", Graph::from_edges(6, &edges, false).unwrap())
    });
    let partition = Arc::new(Partition::from_shards(vec![(0..6).collect()]).unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(1));
    let model = Model {
        encoder,
        layers,
        head_layers,
        hidden: 8,
        ..Model::default()
    };
    let facts = Facts::new(Inputs::Features, Split::All, &source).unwrap();
    let classifier = Classifier::new(&model, &Training::default(), &facts).unwrap();
    let held = classifier.share(Split::All, &source).unwrap();
    (classifier, held)
}

#[test]
fn the_slope_of_a_search_is_that_of_the_distance() {
    // Without a relu, with one, and with attention.
    let paths: [(Chosen<dyn GraphLayers>, u32, u32); 3] = [
        (Chosen::new(Gcn {}), 1, 0),
        (Chosen::new(Sage {}), 2, 1),
        (Chosen::new(Gat { heads: 2 }), 1, 0),
    ];
    for (encoder, layers, head_layers) in paths {
        let (classifier, held) = path(encoder.clone(), layers, head_layers);
        let view = classifier.training_view(&held.shards()[0]);
        let mut rng = rng(22);
        let mut normals = |n: usize| -> Vec<f32> { (0..n).map(|_| normal(&mut rng) as f32).collect() };
        let n_guess = view.rows().len() + view.n_items() * view.n_classes();
        let (guess, way, truth) = (normals(n_guess), normals(n_guess), normals(n_guess));
        let model = classifier.network().layout().initialise(&mut self::rng(23));
        let wanted: Vec<f64> = view
            .gradients(&truth, &model)
            .by_parameters
            .iter()
            .map(|g| f64::from(*g))
            .collect();
        for distance in [Distance::Cosine, Distance::Squared] {
            let slope = slope(distance, &view, (&guess, &model), &wanted, 1e-3);
            let along: f64 = slope.iter().zip(&way).map(|(s, w)| f64::from(*s) * f64::from(*w)).sum();
            let at = |side: f32| {
                let guess: Vec<f32> = guess.iter().zip(&way).map(|(x, w)| x + side * 2e-4 * w).collect();
                distance.of(&view.gradients(&guess, &model).by_parameters, &wanted).0
            };
            let by_differences = (at(1.0) - at(-1.0)) / 4e-4;
            assert!(
                by_differences.abs() > 1e-3,
                "{encoder:?} {distance:?}: nothing to compare"
            );
            assert!(
                (along / by_differences - 1.0).abs() < 0.02,
                "{encoder:?} {distance:?}: {along} {by_differences}"
            );
        }
    }
}
