//! Small batches of nodes: what they read of a graph gives the gradient that the whole of it gives,
//! to the bit.

use super::data::{Part, View};
use super::graph_layers::{Gat, Gcn, Gin, GinBatchNorm, GraphConv, GraphLayers, LightGcn, Mlp, Sage, Structured, Tag};
use super::task::{Task, Truth};
use super::{Classifier, Facts, Inputs, Model, Split, Training};
use folkmoot_draws::{Purpose, Rng, SeedableRng, SimRng, Streams};
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partitioner, SparseRows, partition};
use folkmoot_learning::{Batch, Tape};
use folkmoot_parts::Chosen;
use folkmoot_scenarios::algorithm::Source;
use std::sync::Arc;

const N: u32 = 240;

fn encoders() -> [Chosen<dyn GraphLayers>; 10] {
    [
        Chosen::new(Gcn {}),
        Chosen::new(Gin {}),
        Chosen::new(GinBatchNorm {}),
        Chosen::new(GraphConv {}),
        Chosen::new(Tag { hops: 2 }),
        Chosen::new(Sage {}),
        Chosen::new(Gat { heads: 2 }),
        Chosen::new(Structured { structure: 4 }),
        Chosen::new(Mlp {}),
        Chosen::new(LightGcn {}),
    ]
}

/// A ring with chords at one end, whose nodes have wide features with few numbers, in the hands of
/// one client; they have one class each, or several labels.
fn ring(model: &Model, task: Task) -> (Classifier, Arc<super::Held>) {
    let edges: Vec<(u32, u32)> = (0..N)
        .map(|v| (v, (v + 1) % N))
        .chain((0..20).map(|v| (v, v + 7)))
        .collect();
    let mut dataset = Dataset::of_graph("ring", Graph::from_edges(N, &edges, false).unwrap());
    let first = (0..N).map(|v| (v, v * 3 / N));
    let second = (0..N)
        .filter(|v| task == Task::Labels && v % 2 == 0)
        .map(|v| (v, (v + 1) % 3));
    let pairs: Vec<(u32, u32)> = first.chain(second).collect();
    dataset.node_labels = Some(Labels::from_pairs(N, 3, &pairs).unwrap());
    dataset.n_classes = 3;
    let rows: Vec<_> = (0..N)
        .map(|v| [(v % 90, 1.0), (v % 90 + 3, 0.5), (95 + v / 60, 2.0)])
        .collect();
    dataset.features = Some(Features::Sparse(SparseRows::from_rows(100, &rows).unwrap()));
    let dataset = Arc::new(dataset);
    let spec = partition::Iid { n_clients: 1 };
    let mut rng = Streams::new(1).global(Purpose(*b"test    "));
    let partition = Arc::new(spec.divide(&dataset, &mut rng).unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let facts = Facts::new(Inputs::Features, Split::All, &source).unwrap();
    let classifier = Classifier::new(model, &Training::default(), &facts).unwrap();
    assert_eq!(classifier.task(), task);
    let held = classifier.share(Split::All, &source).unwrap();
    (classifier, held)
}

/// The gradient on a view, and what the stream gives afterwards.
fn gradient(classifier: &Classifier, view: View<'_>, model: &[f32]) -> (Vec<u32>, u64) {
    let mut rng = SimRng::seed_from_u64(5);
    let bits = Tape::with_own(|tape| {
        tape.load(classifier.network().layout(), model);
        classifier.backward(view, None, tape, &mut rng);
        tape.parameters_mut().1.iter().map(|x| x.to_bits()).collect()
    });
    (bits, rng.next_u64())
}

#[test]
fn few_nodes_give_the_gradient_of_all() {
    let mut n_near = 0;
    let tasks = [Task::Classes, Task::Labels];
    for (encoder, task) in encoders()
        .into_iter()
        .flat_map(|encoder| tasks.map(|task| (encoder.clone(), task)))
    {
        for (layers, head_layers, dropout) in [(1, 1, 0.0), (2, 0, 0.3), (2, 2, 0.5), (3, 1, 0.5)] {
            let model = Model {
                encoder: encoder.clone(),
                hidden: 8,
                layers,
                head_layers,
                dropout,
                ..Model::default()
            };
            let (classifier, held) = ring(&model, task);
            let shard = &held.shards()[0];
            let start = classifier.network().layout().initialise(&mut SimRng::seed_from_u64(1));
            let whole = shard.view(Part::Train);
            let wanted = [3, 2, 118, 200, 201, 3];
            let Some(n_hops) = classifier.network().n_hops(whole.batch) else {
                assert!(encoder.has_statistics() || encoder.n_structural().is_some());
                continue;
            };
            let mut near = Batch::new(1);
            assert!(near.refill_near(whole.batch, wanted, n_hops), "{encoder:?}");
            let (nodes, n_all) = near.nodes_of_whole().unwrap();
            assert!(nodes.len() * 2 <= n_all && n_all == N as usize);
            let masks = [(0..N).collect::<Vec<u32>>(), nodes.to_vec()]
                .map(|nodes| nodes.iter().map(|node| wanted.contains(node)).collect::<Vec<bool>>());
            let mut truth = Truth::default();
            truth.clear_for(whole.truth);
            nodes
                .iter()
                .for_each(|node| truth.extend_by(whole.truth, *node as usize));
            let mut known = [Vec::new(), Vec::new()];
            whole.truth.known_in(&masks[0], &mut known[0]);
            truth.known_in(&masks[1], &mut known[1]);
            let of_all = View {
                mask: Some(&masks[0]),
                known: &known[0],
                ..whole
            };
            let of_near = View {
                batch: &near,
                truth: &truth,
                mask: Some(&masks[1]),
                known: &known[1],
            };
            let [all, few] = [of_all, of_near].map(|view| gradient(&classifier, view, &start));
            assert!(all.0.iter().any(|bits| *bits != 0));
            assert_eq!(all, few, "{encoder:?}, {task:?}, {layers} layers, {head_layers} behind");
            n_near += 1;
        }
    }
    assert_eq!(n_near, 64);
}

#[test]
fn who_reads_most_of_a_graph_reads_all() {
    let (_, held) = ring(&Model::default(), Task::Classes);
    let whole = held.shards()[0].view(Part::Train).batch;
    let mut near = Batch::new(1);
    assert!(!near.refill_near(whole, 0..100, 50));
    assert!(near.refill_near(whole, [7], 0));
    assert_eq!((near.csr().n_rows(), near.csr().n_entries()), (1, 0));
}
