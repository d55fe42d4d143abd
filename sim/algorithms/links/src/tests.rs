//! Gradients against finite differences, and what clients know of edges.
#![allow(clippy::unwrap_used, reason = "data that cannot be made fail the test")]

use crate::data::{Held, Maker, Shard};
use crate::division::{Division, Part};
use crate::pairs::{Plane, non_edges};
use crate::settings::{CrossEdges, Params, Split, Supervision};
use crate::train::LinkTrainer;
use folkmoot_draws::SeedableRng;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Graph, Partition, Partitioner, datasets, partition};
use folkmoot_scenarios::algorithm::Source;
use std::collections::BTreeSet;
use std::sync::Arc;

const SEED: u64 = 3;
const N: u32 = 60;

fn dataset() -> Arc<Dataset> {
    let spec = datasets::ContextualSbm {
        n_nodes: N,
        n_classes: 3,
        mean_degree: 8.0,
        assortativity: 0.8,
        n_features: 6,
        mark_prob: 0.5,
        other_prob: 0.1,
    };
    let rng = &mut Streams::new(4).global(Purpose(*b"testdata"));
    Arc::new(spec.load(&DataDirs::new(), rng).unwrap())
}

fn partition(dataset: &Dataset, n_clients: u32, seed: u64) -> Arc<Partition> {
    let rng = &mut Streams::new(seed).global(Purpose(*b"testpart"));
    Arc::new(partition::Iid { n_clients }.divide(dataset, rng).unwrap())
}

fn settings(text: &str) -> Params {
    crate::only().settings(text).unwrap()
}

fn held(text: &str, dataset: &Arc<Dataset>, partition: &Arc<Partition>) -> Held {
    Held::new(&settings(text), &Source::new(dataset, partition, Streams::new(SEED))).unwrap()
}

/// The whole graph as one shard.
fn whole(params: &Params) -> Shard {
    let (dataset, partition) = (dataset(), Arc::new(Partition::one_item_each(N)));
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    Maker::new(params, &source).unwrap().whole().unwrap()
}

/// The pairs of nodes of the whole graph between which a shard passes messages.
fn messages(shard: &Shard) -> BTreeSet<(u32, u32)> {
    let matrix = shard.batch().csr();
    let of_row = |row: usize| {
        matrix.columns()[matrix.range(row)]
            .iter()
            .map(move |column| (row, *column as usize))
    };
    let arcs = (0..matrix.n_rows()).flat_map(of_row).filter(|(a, b)| a != b);
    arcs.map(|(a, b)| ends(shard, (a as u32, b as u32))).collect()
}

fn ends(shard: &Shard, (a, b): (u32, u32)) -> (u32, u32) {
    let [u, v] = [a, b].map(|place| shard.nodes()[place as usize]);
    (u.min(v), u.max(v))
}

fn positives(shard: &Shard) -> BTreeSet<(u32, u32)> {
    shard.positives().iter().map(|pair| ends(shard, *pair)).collect()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for decoder in ["Dot()", "Bilinear()", "Mlp(hidden: 5)"] {
        let params = settings(&format!(
            "(model: (hidden: 6, outputs: 4), decoder: {decoder}, negatives: (per_positive: 2), inputs: Features)"
        ));
        let (shard, trainer) = (whole(&params), LinkTrainer::new(&params, 6));
        let layout = trainer.predictor().layout();
        let model = layout.initialise(&mut SimRng::seed_from_u64(1));
        let at = |model: &[f32]| trainer.loss_and_gradient(&shard, model, &mut SimRng::seed_from_u64(2));
        let (_, gradient) = at(&model);
        assert_eq!(gradient.len(), layout.n_trainable());
        assert!(
            gradient.iter().filter(|g| **g != 0.0).count() > gradient.len() / 2,
            "{decoder}"
        );
        let step = 0.01;
        for weight in (0..model.len()).step_by(3) {
            let moved = |by: f32| {
                let mut model = model.clone();
                model[weight] += by;
                f64::from(at(&model).0)
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
            let difference = (slope - f64::from(gradient[weight])).abs();
            assert!(
                difference < 2e-3,
                "{decoder}, weight {weight}: {slope} and {}",
                gradient[weight]
            );
        }
    }
}

#[test]
fn scores_do_not_depend_on_the_order_of_ends() {
    for decoder in ["Dot()", "Bilinear()", "Mlp()"] {
        let params = settings(&format!("(model: (outputs: 8), decoder: {decoder})"));
        let (shard, trainer) = (whole(&params), LinkTrainer::new(&params, 6));
        let predictor = trainer.predictor();
        let model = predictor.layout().initialise(&mut SimRng::seed_from_u64(1));
        let rows = predictor.rows(shard.batch(), &model);
        let [there, back] = [[(3, 9), (0, 40)], [(9, 3), (40, 0)]].map(|pairs| predictor.scores(&rows, &pairs, &model));
        assert!(there.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-5), "{decoder}");
        assert_ne!(there[0], there[1]);
    }
}

#[test]
fn no_client_knows_a_held_out_edge() {
    let dataset = dataset();
    let graph = dataset.graph();
    for cross in ["Unknown", "Known"] {
        for supervision in ["Same", "Apart(fraction: 0.4)"] {
            let text = format!(
                "(split: (test: 0.2, supervision: {supervision}), cross_edges: {cross}, negatives: (strangers: 3))"
            );
            let partition = partition(&dataset, 5, 1);
            let held = held(&text, &dataset, &partition);
            let division = Division::new(settings(&text).split, Streams::new(SEED));
            let edges = division.edges(graph);
            let of = |keep: fn(Part) -> bool| -> BTreeSet<(u32, u32)> {
                edges
                    .iter()
                    .filter(|(_, part)| keep(*part))
                    .map(|(edge, _)| *edge)
                    .collect()
            };
            let (passing, predicted) = (of(Part::passes_messages), of(Part::is_predicted));
            let inside = |(u, v): &(u32, u32)| held.owner(*u) == held.owner(*v);
            let expected = |edges: &BTreeSet<(u32, u32)>| -> BTreeSet<(u32, u32)> {
                edges
                    .iter()
                    .filter(|edge| cross == "Known" || inside(edge))
                    .copied()
                    .collect()
            };
            let (mut passed, mut trained) = (BTreeSet::new(), BTreeSet::new());
            for shard in held.shards() {
                assert_eq!(shard.nodes().len(), shard.nodes().iter().collect::<BTreeSet<_>>().len());
                assert!(shard.nodes().len() >= shard.n_own() + 3);
                if supervision != "Same" {
                    assert!(messages(shard).is_disjoint(&positives(shard)));
                }
                passed.extend(messages(shard));
                trained.extend(positives(shard));
            }
            assert_eq!(passed, expected(&passing), "{text}");
            assert_eq!(trained, expected(&predicted), "{text}");
            for (pairs, part) in held.evaluated().iter().zip([Part::Validation, Part::Test]) {
                for (pair, is_edge) in pairs.all.pairs.iter().zip(&pairs.all.is_edge) {
                    assert_eq!(graph.has_edge(pair.0, pair.1), *is_edge);
                    assert!(!is_edge || division.part(pair.0, pair.1) == part);
                }
                assert_eq!(pairs.all.pairs.len(), 2 * pairs.all.n_edges());
                let own = pairs.own.iter().flat_map(|pairs| &pairs.pairs);
                assert!(own.clone().all(inside) && own.count() > 0);
            }
        }
    }
}

#[test]
fn partitions_share_their_held_out_edges_and_what_they_are_ranked_against() {
    let dataset = dataset();
    let of = |seed, n_clients| {
        let partition = partition(&dataset, n_clients, seed);
        let held = held("()", &dataset, &partition);
        let [validation, test] = held.evaluated().clone();
        [validation, test].map(|pairs| (pairs.all, pairs.ranked))
    };
    assert_eq!(of(1, 4), of(2, 7));
}

#[test]
fn the_part_of_an_edge_depends_on_nothing_but_its_ends_and_the_seed() {
    let split = Split {
        validation: 0.2,
        test: 0.3,
        supervision: Supervision::Apart { fraction: 0.5 },
    };
    let division = Division::new(split, Streams::new(SEED));
    let all: Vec<(u32, u32)> = (0..80).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    let share = |part: Part| {
        let n = all.iter().filter(|(u, v)| division.part(*u, *v) == part).count();
        n as f64 / all.len() as f64
    };
    assert!(all.iter().all(|(u, v)| division.part(*u, *v) == division.part(*v, *u)));
    // 3 160 pairs: four standard deviations are at most 0.033.
    for (part, expected) in [
        (Part::Test, 0.3),
        (Part::Validation, 0.2),
        (Part::Supervised, 0.25),
        (Part::Message, 0.25),
        (Part::Both, 0.0),
    ] {
        assert!((share(part) - expected).abs() < 0.033, "{part:?}: {}", share(part));
    }
    let other = Division::new(split, Streams::new(SEED + 1));
    assert!(all.iter().any(|(u, v)| division.part(*u, *v) != other.part(*u, *v)));
}

#[test]
fn a_client_of_one_node_holds_its_ego_network() {
    let dataset = dataset();
    let partition = Arc::new(Partition::one_item_each(N));
    let known = held("(cross_edges: Known, negatives: (strangers: 4))", &dataset, &partition);
    for (node, shard) in (0..N).zip(known.shards()) {
        let near: BTreeSet<(u32, u32)> = positives(shard);
        assert!(near.iter().all(|(u, v)| *u == node || *v == node));
        assert_eq!(shard.nodes().len(), 1 + near.len() + 4);
        assert_eq!(messages(shard), near);
    }
    // With one node per client and unknown edges between clients, no client has an edge.
    let params = settings("()");
    assert_eq!(params.cross_edges, CrossEdges::Unknown);
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    let refused = Held::new(&params, &source).err().unwrap().to_string();
    assert!(refused.contains("set cross_edges: Known"), "{refused}");
}

#[test]
fn pairs_without_an_edge_are_all_there_are_where_more_are_wanted() {
    let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3)], false).unwrap();
    let rng = &mut SimRng::seed_from_u64(1);
    let mut drawn = |sides: &[u32], nodes: &[u32]| {
        let plane = Plane { graph: &graph, sides };
        non_edges(plane, nodes, 9, rng)
    };
    assert_eq!(drawn(&[], &[0, 1, 2, 3]), [(0, 2), (0, 3), (1, 3)]);
    assert_eq!(drawn(&[0, 1, 0, 1, 1], &[0, 1, 2, 3, 4]), [(0, 3), (0, 4), (2, 4)]);
    assert!(drawn(&[], &[]).is_empty());
}
