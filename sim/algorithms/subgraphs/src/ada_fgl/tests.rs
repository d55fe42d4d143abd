use super::likeness::{alike, homophily, softmax, weighed};
use super::personal::{PersonalResult, PropagatedLinear, personalise};
use super::relations::Relations;
use super::*;
use folkmoot_classifiers::classifier::{Model, Nodes, Part, Scale, Split, Training};
use folkmoot_draws::{Purpose, SimRng, Streams, normal};
use folkmoot_engine::run::{Options, Outcome, Unobserved, run};
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Partition, Partitioner, datasets, partition};
use folkmoot_learning::{Batch, Csr, Layout, Tape};
use folkmoot_rounds::Protocol;
use folkmoot_scenarios::algorithm::Prepared;

fn stream(seed: u64) -> SimRng {
    Streams::new(seed).global(Purpose(*b"test    "))
}

const N: usize = 9;
const C: usize = 3;

/// Nodes of which some pairs are alike.
fn relations(beta: f32) -> Relations {
    let pairs = [(0, 3), (3, 0), (1, 2), (2, 1), (4, 8), (8, 4)].map(|(u, v)| (u, v, 1.0));
    Relations {
        alike: Csr::from_entries(N as u32, N as u32, &pairs).unwrap(),
        beta,
        n_classes: C,
    }
}

fn rows() -> Vec<f32> {
    let rng = &mut stream(5);
    (0..N * C).map(|_| normal(rng) as f32).collect()
}

/// The same by the formula, with all pairs at hand.
fn by_hand(relations: &Relations, z: &[f32]) -> Vec<f64> {
    let shares: Vec<Vec<f64>> = (z.chunks_exact(C))
        .map(|row| {
            let all: Vec<f64> = row.iter().map(|x| libm::exp(f64::from(*x))).collect();
            all.iter().map(|x| x / all.iter().sum::<f64>()).collect()
        })
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let beta = f64::from(relations.beta);
    let mut r = vec![vec![0.0; N]; N];
    for i in 0..N {
        for j in (0..N).filter(|j| *j != i) {
            let (a, b) = (&shares[i], &shares[j]);
            let is_alike = relations.alike.columns()[relations.alike.range(i)].contains(&(j as u32));
            r[i][j] = (1.0 - beta) * dot(a, b) / (dot(a, a) * dot(b, b)).sqrt() + if is_alike { beta } else { 0.0 };
        }
    }
    let mean = r.iter().flatten().sum::<f64>() / (N * N) as f64;
    let largest = r.iter().flatten().copied().fold(0.0, f64::max);
    let mut out = vec![0.0; N * 2 * C];
    for i in 0..N {
        for j in 0..N {
            let scaled = match r[i][j] - mean {
                _ if i == j => 1.0,
                over if over > 0.0 => over / (largest - mean),
                over => -(over + mean) / mean,
            };
            let block = if scaled > 0.0 { 0 } else { C };
            (0..C).for_each(|c| out[i * 2 * C + block + c] += scaled * f64::from(z[j * C + c]));
        }
    }
    out
}

#[test]
fn messages_along_relations_are_those_of_the_formula() {
    for beta in [0.0, 0.2, 1.0] {
        let (relations, z) = (relations(beta), rows());
        let mut tape = Tape::new();
        let rows = tape.variable(N, C, &z);
        let both = tape.custom(&relations, &[rows], N, 2 * C);
        for (got, expected) in tape.value(both).iter().zip(by_hand(&relations, &z)) {
            assert!(
                (f64::from(*got) - expected).abs() < 1e-4,
                "{got}, not {expected}, with {beta}"
            );
        }
    }
}

/// By differences of the formula in double precision.
#[test]
fn their_gradient_is_that_of_the_formula() {
    let weights: Vec<f64> = (0..N * 2 * C).map(|i| ((i * 7 + 3) % 11) as f64 / 5.0 - 1.0).collect();
    let targets: Vec<f32> = weights.iter().map(|w| *w as f32).collect();
    for beta in [0.0, 0.2] {
        let (relations, z) = (relations(beta), rows());
        let mut tape = Tape::new();
        let rows = tape.variable(N, C, &z);
        let both = tape.custom(&relations, &[rows], N, 2 * C);
        let weights_of = tape.constant(N, 2 * C, &targets);
        let weighed = tape.multiply(both, weights_of);
        let loss = tape.sum(weighed);
        tape.backward(loss);
        let loss_of = |z: &[f32]| {
            by_hand(&relations, z)
                .iter()
                .zip(&weights)
                .map(|(y, w)| y * w)
                .sum::<f64>()
        };
        for at in 0..z.len() {
            let step = 1e-3;
            let moved = |by: f32| {
                let mut z = z.clone();
                z[at] += by;
                loss_of(&z)
            };
            let expected = (moved(step) - moved(-step)) / f64::from(2.0 * step);
            let got = f64::from(tape.gradient(rows)[at]);
            assert!(
                (got - expected).abs() < 2e-2 * expected.abs().max(1.0),
                "{got}, not {expected}, at {at} with {beta}"
            );
        }
    }
}

#[test]
fn a_single_node_has_nobody_to_tell() {
    let alone = Relations {
        alike: Csr::from_entries(1, 1, &[]).unwrap(),
        beta: 0.2,
        n_classes: 2,
    };
    let mut tape = Tape::new();
    let rows = tape.variable(1, 2, &[0.3, -0.4]);
    let both = tape.custom(&alone, &[rows], 1, 4);
    assert_eq!(tape.value(both), [0.3, -0.4, 0.0, 0.0]);
    let loss = tape.sum(both);
    tape.backward(loss);
    assert_eq!(tape.gradient(rows), [1.0, 1.0]);
}

/// A client's nodes: the shard of a graph in two halves, in each of which everybody is joined, and
/// whose labels are told apart by halves or by turns.
fn with_nodes<R>(labels: impl Fn(u32) -> u32, look: impl FnOnce(&Nodes<'_>, &[f32]) -> R) -> R {
    let n = 24;
    let mut edges = Vec::new();
    for u in 0..n {
        edges.extend((u + 1..n).filter(|v| (u < n / 2) == (*v < n / 2)).map(|v| (u, v)));
    }
    let classes: Vec<Option<u32>> = (0..n).map(|node| Some(labels(node))).collect();
    // Two thirds of a half bring its own number, a third the other's: neighbours together say what
    // one alone does not.
    let own = |node: u32| u32::from((node < n / 2) != node.is_multiple_of(3));
    let rows: Vec<Vec<(u32, f32)>> = (0..n)
        .map(|node| vec![(own(node), 1.0), (2, 0.1 * (node % 5) as f32 + 0.1)])
        .collect();
    let features = folkmoot_graphs::SparseRows::from_rows(3, &rows).unwrap();
    let dataset = Arc::new(Dataset {
        features: Some(folkmoot_graphs::Features::Sparse(features)),
        node_labels: Some(folkmoot_graphs::Labels::from_single(2, &classes).unwrap()),
        n_classes: 2,
        ..Dataset::of_graph("halves", folkmoot_graphs::Graph::from_edges(n, &edges, false).unwrap())
    });
    let partition = Arc::new(Partition::from_shards(vec![(0..n).collect()]).unwrap());
    let params = params(1);
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let prepared = params.prepare(&source).unwrap();
    let shard = prepared.shared.shards.shard(ClientId(0));
    look(&shard.nodes().unwrap(), shard.node_features())
}

fn params(rounds: u32) -> Params {
    Params {
        model: Model {
            head_layers: 0,
            hidden: 8,
            ..Model::default()
        },
        training: Training {
            learning_rate: 0.1,
            ..Training::default()
        },
        protocol: Protocol {
            rounds,
            ..Protocol::default()
        },
        split: Split::Shares {
            train: 0.5,
            validation: 0.1,
        },
        personal: Personal {
            epochs: 20,
            hidden: 8,
            ..Personal::default()
        },
        ..Params::default()
    }
}

#[test]
fn labels_tell_of_neighbours_labels_where_these_are_alike() {
    let told = |labels: fn(u32) -> u32| with_nodes(labels, |nodes, _| homophily(nodes, 2, &mut stream(1)));
    assert_eq!(told(|node| u32::from(node < 12)), 1.0);
    assert!(told(|node| node % 2) < 0.8, "labels by turns are told by chance");
}

#[test]
fn nodes_are_alike_of_which_the_same_is_said() {
    let common = softmax(&[4.0, 0.0, 4.0, 0.0, 0.0, 4.0, 0.2, 0.1], 2);
    let found = alike(&common, 4, 0.999);
    let arcs: Vec<Vec<u32>> = (0..4).map(|node| found.columns()[found.range(node)].to_vec()).collect();
    assert_eq!(arcs, [vec![1], vec![0], vec![], vec![]]);
    assert_eq!(alike(&common, 4, 1.0).n_entries(), 0, "no cosine is above 1");
}

/// Features that were passed along up to `steps` times, column by column as a layer whose weights
/// are a unit matrix finds them: shape `(n_nodes, (steps + 1) · n_features)`.
fn passed(nodes: &Nodes<'_>, features: &[f32], alike: &Csr, alpha: f64, steps: u32) -> Vec<f32> {
    let n_features = features.len() / nodes.labels.len();
    let n_all = (steps as usize + 1) * n_features;
    let mut batch = Batch::new(n_features);
    batch.push(&weighed(nodes, alike, alpha), features);
    let mut layout = Layout::new();
    let layer = PropagatedLinear::new(&mut layout, "all", steps, n_features, n_all);
    let mut unit = vec![0.0; layout.len()];
    (0..n_all).for_each(|i| unit[i * n_all + i] = 1.0);
    let mut tape = Tape::new();
    tape.load(&layout, &unit);
    let rows = batch.features(&mut tape);
    let all = layer.forward(&mut tape, rows, &batch);
    tape.value(all).to_vec()
}

/// With its own edges alone a client passes features by the normalised adjacency with loops: within
/// a half of twelve, all joined, their mean.
#[test]
fn features_are_passed_along_edges_old_and_new() {
    with_nodes(
        |node| u32::from(node < 12),
        |nodes, features| {
            let none = Csr::from_entries(24, 24, &[]).unwrap();
            let all = passed(nodes, features, &none, 1.0, 2);
            for node in 0..24 {
                assert_eq!(all[node * 9..][..3], features[node * 3..][..3]);
                let half = if node < 12 { &features[..36] } else { &features[36..] };
                for c in 0..3 {
                    let mean = half.iter().skip(c).step_by(3).sum::<f32>() / 12.0;
                    let [once, twice] = [3, 6].map(|block| all[node * 9 + block + c]);
                    assert!((once - mean).abs() < 1e-4 && (twice - mean).abs() < 1e-4);
                }
            }
            // New edges alone: nodes 0 and 23, in halves of their own, are each other's only
            // neighbours.
            let pair = Csr::from_entries(24, 24, &[(0, 23, 1.0), (23, 0, 1.0)]).unwrap();
            let all = passed(nodes, features, &pair, 0.0, 2);
            let mean: Vec<f32> = (0..3).map(|c| (features[c] + features[69 + c]) / 2.0).collect();
            for (got, expected) in [&all[3..6], &all[23 * 9 + 3..][..3]]
                .concat()
                .iter()
                .zip([&mean[..], &mean].concat())
            {
                assert!((got - expected).abs() < 1e-5);
            }
            assert_eq!(
                all[9 + 3..][..3],
                features[3..6],
                "whoever is like nobody stays as it is"
            );
        },
    );
}

#[test]
fn networks_learn_what_their_edges_tell() {
    let test_accuracy = |made: &PersonalResult, nodes: &Nodes<'_>| {
        let tested = nodes.are_in(Part::Test);
        let is_right = |node: &usize| {
            let row = &made.shares[node * 2..][..2];
            (row[1] > row[0]) == (nodes.labels[*node] == 1)
        };
        let all: Vec<usize> = (0..24).filter(|node| tested[*node]).collect();
        all.iter().filter(|node| is_right(node)).count() as f64 / all.len() as f64
    };
    for branch in [Branch::Chosen { at: 0.9 }, Branch::Chosen { at: 1.0 }, Branch::Mixed] {
        with_nodes(
            |node| u32::from(node < 12),
            |nodes, features| {
                let personal = Personal {
                    branch,
                    epochs: 60,
                    hidden: 8,
                    alpha: 1.0,
                    ..Personal::default()
                };
                let made = personalise(nodes, features, &[0.1, 0.0].repeat(24), &personal, &mut stream(2));
                for row in made.shares.chunks_exact(2) {
                    assert!((row[0] + row[1] - 1.0).abs() < 1e-5, "shares");
                }
                assert_eq!(
                    (made.homophily, made.n_alike),
                    (1.0, 24 * 23),
                    "one thing is said of all"
                );
                let accuracy = test_accuracy(&made, nodes);
                assert!(accuracy > 0.9, "{accuracy} by {branch:?}");
            },
        );
    }
}

fn played(params: &Params, threads: usize) -> Outcome {
    played_with(params, threads, 1.0)
}

/// With features times a factor.
fn played_with(params: &Params, threads: usize, factor: f32) -> Outcome {
    let spec = datasets::ContextualSbm {
        n_nodes: 60,
        n_classes: 3,
        mean_degree: 6.0,
        assortativity: 0.8,
        n_features: 12,
        mark_prob: 0.5,
        other_prob: 0.1,
    };
    let rng = |purpose: &[u8; 8]| Streams::new(1).global(Purpose(*purpose));
    let mut dataset = spec.load(&DataDirs::new(), &mut rng(b"dataset ")).unwrap();
    let marks = dataset.features.unwrap();
    let row = |node| {
        let mut row = [0.0; 12];
        marks.write_row(node, &mut row);
        Vec::from_iter((0..).zip(row.map(|x| factor * x)))
    };
    let rows: Vec<Vec<(u32, f32)>> = (0..60).map(row).collect();
    dataset.features = folkmoot_graphs::SparseRows::from_rows(12, &rows).map(folkmoot_graphs::Features::Sparse);
    let dataset = Arc::new(dataset);
    let split = partition::Iid { n_clients: 4 };
    let partition = Arc::new(split.divide(&dataset, &mut rng(b"partitn ")).unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let options = Options {
        threads,
        ..Options::default()
    };
    let prepared: Prepared<Params> = params.prepare(&source).unwrap();
    run(prepared.system(), &World::ideal(), 3, options, &mut Unobserved).unwrap()
}

#[test]
fn the_first_step_is_federated_averaging_and_the_second_sends_nothing() {
    let long = params(3);
    let short = Params {
        personal: Personal {
            epochs: 0,
            ..long.personal.clone()
        },
        ..long.clone()
    };
    let (one, other) = (played(&long, 1), played(&short, 2));
    let sent = |outcome: &Outcome| -> Vec<(u64, u64)> {
        let rows = outcome.ledger.rows();
        rows.map(|(.., cell)| (cell.sent, cell.payload_bytes)).collect()
    };
    assert_eq!(sent(&one), sent(&other));
    assert_eq!(one.tables.scores, other.tables.scores, "of the common model");
    let number = |outcome: &Outcome, name: &str| {
        let found = outcome.summary.iter().find(|(of, _)| of == name);
        found.unwrap_or_else(|| panic!("no {name}")).1
    };
    assert_ne!(number(&one, "test_own_loss"), number(&other, "test_own_loss"));
    assert_eq!(played(&long, 2).summary, one.summary, "by two threads");
}

/// Features four times as large have means and deviations four times as large, to the bit: under a
/// scale for all neither step sees a difference.
#[test]
fn both_steps_look_at_features_by_the_scale_of_all() {
    let scaled = |scale| Params { scale, ..params(4) };
    let federated = played(&scaled(Scale::Federated), 1);
    let of_kind = federated.ledger.rows().filter(|(kind, ..)| kind.name == "statistics");
    let bytes: u64 = of_kind.map(|(.., cell)| cell.payload_bytes).sum();
    // Of each client how many nodes, and a sum and one of squares of each feature.
    assert_eq!(bytes, 4 * (8 + 16 * 12));
    let larger = |scale| played_with(&scaled(scale), 1, 4.0);
    assert_eq!(larger(Scale::Federated).summary, federated.summary);
    let raw = played(&scaled(Scale::Raw), 1);
    for name in ["test_own_loss", "test_loss"] {
        let of = |outcome: &Outcome| outcome.summary.iter().find(|(of, _)| of == name).map(|(_, x)| *x);
        assert!(
            of(&raw).is_some() && of(&larger(Scale::Raw)) != of(&raw) && of(&raw) != of(&federated),
            "{name}"
        );
    }
}
