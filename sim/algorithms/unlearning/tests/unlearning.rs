//! Runs with a request to forget, against plain loops and against runs that never had the data.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_classifiers::classifier::{Classifier, Facts, Forgotten, Inputs, LocalOptimiser, Model, Scale, Split};
use folkmoot_classifiers::classifier::{Held, Part, Score, Target, Training};
use folkmoot_classifiers::fed_avg;
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{
    DataDirs, DataSource, Dataset, Features, Labels, Partition, Partitioner, SparseRows, datasets, partition,
};
use folkmoot_learning::Average;
use folkmoot_parts::{Chosen, Component, Holds, Value};
use folkmoot_rounds::{Protocol, RoundEnd, Rounds, Trainer};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_unlearning::{Ascent, FedEraser, Forget, Keep, Local, Params, RapidRetrain, Retrain, Shards};
use folkmoot_unlearning::{UnlearningMethod, only};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const SEED: u64 = 3;
const N_CLIENTS: u32 = 6;
const ROUNDS: u32 = 4;

fn dataset(spec: datasets::GraphClasses) -> Dataset {
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    spec.load(&DataDirs::new(), &mut rng).unwrap()
}

fn graphs() -> Dataset {
    dataset(datasets::GraphClasses {
        n_graphs: 90,
        n_classes: 3,
        min_nodes: 8,
        max_nodes: 14,
    })
}

/// A ring of 90 nodes with chords; the feature of a node says its class in two of three cases.
fn nodes() -> Dataset {
    let edges: Vec<(u32, u32)> = (0..90).flat_map(|v| [(v, (v + 1) % 90), (v, (v + 6) % 90)]).collect();
    let rows: Vec<[(u32, f32); 1]> = (0..90)
        .map(|v| [(if v % 3 == 0 { (v / 3) % 3 } else { v / 30 }, 1.0)])
        .collect();
    let classes: Vec<Option<u32>> = (0..90).map(|v| Some(v / 30)).collect();
    Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap())),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        n_classes: 3,
        ..Dataset::of_graph("ring", folkmoot_graphs::Graph::from_edges(90, &edges, false).unwrap())
    }
}

fn iid(dataset: &Dataset) -> Partition {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let spec = partition::Iid { n_clients: N_CLIENTS };
    spec.divide(dataset, &mut rng).unwrap()
}

/// The split is drawn per item, independent of clients. Full batches draw no random numbers.
fn fed_avg() -> fed_avg::Params {
    fed_avg::Params {
        model: Model::default(),
        training: Training {
            epochs: 3,
            optimiser: LocalOptimiser::Adam,
            learning_rate: 0.02,
            ..Training::default()
        },
        inputs: Inputs::FeaturesOrDegree { most: 12 },
        scale: Scale::Raw,
        split: Split::Common {
            train: 0.6,
            validation: 0.0,
        },
        protocol: Protocol {
            rounds: ROUNDS,
            ..Protocol::default()
        },
        attacks: Vec::new(),
    }
}

fn params<M>(method: M, clients: &[u32], share: f64) -> Params
where
    M: Component,
    dyn UnlearningMethod: Holds<M>,
{
    let fed_avg::Params {
        model,
        training,
        inputs,
        scale,
        split,
        protocol,
        ..
    } = fed_avg();
    Params {
        forget: Forget {
            clients: clients.to_vec(),
            share,
        },
        method: Chosen::new(method),
        model,
        training,
        inputs,
        scale,
        split,
        protocol,
        attacks: Vec::new(),
    }
}

/// What a run leaves at the server: its model, and those of single clients.
type Left = (Vec<f32>, BTreeMap<u32, Vec<f32>>);

struct Ended<'a, S: Strategy> {
    inner: &'a dyn Evaluator<S>,
    left: Mutex<Option<Left>>,
}

impl<R: Trainer> Evaluator<Rounds<R>> for Ended<'_, Rounds<R>> {
    fn at_end(&self, end: &End<'_, Rounds<R>>, sheet: &mut Sheet) {
        self.inner.at_end(end, sheet);
        let of = RoundEnd::of(end);
        let own = of.memory.own.iter().map(|(client, own)| (*client, own.0.to_vec()));
        *self.left.lock().unwrap() = Some((of.parameters.to_vec(), own.collect()));
    }

    fn scores(&self, end: &End<'_, Rounds<R>>, sheet: &mut Sheet) {
        self.inner.scores(end, sheet);
    }
}

fn play<P, R>(params: &P, dataset: &Arc<Dataset>, partition: Partition) -> (Left, Outcome)
where
    P: Algorithm<Strategy = Rounds<R>> + Value,
    R: Trainer,
{
    assert!(params.broken().is_empty(), "{:?}", params.broken());
    let partition = Arc::new(partition);
    let source = Source::new(dataset, &partition, Streams::new(SEED));
    let prepared = params.prepare(&source).unwrap();
    let ended = Ended {
        inner: &*prepared.shared.evaluator,
        left: Mutex::new(None),
    };
    let system = System {
        evaluator: &ended,
        ..prepared.system()
    };
    let outcome = run(system, &World::ideal(), SEED, Options::default(), &mut Unobserved).unwrap();
    (ended.left.into_inner().unwrap().unwrap(), outcome)
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("{name} is missing")).1
}

fn bits(model: &[f32]) -> Vec<u32> {
    model.iter().map(|x| x.to_bits()).collect()
}

/// The shards of some clients, in this order.
fn only_of(partition: &Partition, clients: &[usize]) -> Partition {
    let shards = clients.iter().map(|client| partition.shard(*client).to_vec());
    Partition::from_shards(shards.collect()).unwrap()
}

#[test]
fn to_keep_changes_nothing_and_sends_nothing() {
    let dataset = Arc::new(graphs());
    let (kept, outcome) = play(&params(Keep { rounds: 0 }, &[5], 1.0), &dataset, iid(&dataset));
    let (plain, _) = play(&fed_avg(), &dataset, iid(&dataset));
    assert_eq!(bits(&kept.0), bits(&plain.0));
    for name in ["unlearning_rounds", "unlearning_bytes", "unlearning_s", "stored_bytes"] {
        assert_eq!(number(&outcome, name), 0.0, "{name}");
    }
    assert!(number(&outcome, "model_distance") > 0.01);
}

#[test]
fn retraining_gives_the_model_of_a_run_that_never_had_the_client() {
    for dataset in [graphs(), nodes()] {
        let dataset = Arc::new(dataset);
        let partition = iid(&dataset);
        let others = only_of(&partition, &[0, 1, 2, 3, 4]);
        let (retrained, outcome) = play(&params(Retrain {}, &[5], 1.0), &dataset, partition);
        let (never, _) = play(&fed_avg(), &dataset, others);
        assert_eq!(bits(&retrained.0), bits(&never.0));
        assert_eq!(number(&outcome, "unlearning_rounds"), f64::from(ROUNDS));
        let bytes = f64::from(ROUNDS * 5) * (8.0 * retrained.0.len() as f64 + 4.0);
        assert_eq!(number(&outcome, "unlearning_bytes"), bytes);
    }
}

/// Small batches are drawn anew in later rounds, in the reference as in the run.
#[test]
fn retraining_with_small_batches_is_the_reference() {
    let dataset = Arc::new(graphs());
    let mut small = params(Retrain {}, &[1, 4], 0.5);
    small.training.batch_size = Some(4);
    let (_, outcome) = play(&small, &dataset, iid(&dataset));
    assert_eq!(number(&outcome, "model_distance"), 0.0);
    assert_eq!(number(&outcome, "retrained_agreement"), 1.0);
    small.method = Chosen::new(Keep { rounds: 4 });
    let (_, outcome) = play(&small, &dataset, iid(&dataset));
    assert!(number(&outcome, "model_distance") > 0.0);
}

/// The same data with another class for each of `items`.
fn other_classes(dataset: &Dataset, items: &[u32]) -> Dataset {
    let mut other = dataset.clone();
    if dataset.is_graph_level() {
        let labels = other.graph_labels.iter_mut().flatten().zip(0..);
        let forgotten = labels.filter(|(_, item)| items.contains(item));
        forgotten.for_each(|(class, _)| *class = (*class + 1) % 3);
    } else {
        let class = |v: u32| if items.contains(&v) { (v / 30 + 1) % 3 } else { v / 30 };
        let classes: Vec<Option<u32>> = (0..90).map(|v| Some(class(v))).collect();
        other.node_labels = Some(Labels::from_single(3, &classes).unwrap());
        // Their features are others, too.
        let rows: Vec<[(u32, f32); 1]> = (0..90)
            .map(|v| [(class(v), if items.contains(&v) { 5.0 } else { 1.0 })])
            .collect();
        other.features = Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap()));
    }
    other
}

#[test]
fn a_retrained_model_does_not_depend_on_forgotten_items() {
    for dataset in [graphs(), nodes()] {
        let partition = iid(&dataset);
        let forgotten = Forgotten::new(vec![1, 4], 0.5);
        let marked: Vec<u32> = [1, 4]
            .into_iter()
            .flat_map(|client| partition.shard(client).iter().map(move |item| (client as u32, *item)))
            .filter(|(client, item)| forgotten.marks(*client, *item, Streams::new(SEED)))
            .map(|(_, item)| item)
            .collect();
        assert!((5..25).contains(&marked.len()), "{marked:?}");
        let [one, two] = [other_classes(&dataset, &[]), other_classes(&dataset, &marked)].map(Arc::new);
        let of = |params: &Params, dataset: &Arc<Dataset>| {
            let params = Params {
                split: Split::All,
                ..params.clone()
            };
            bits(&play(&params, dataset, iid(dataset)).0.0)
        };
        let retrain = params(Retrain {}, &[1, 4], 0.5);
        assert_eq!(of(&retrain, &one), of(&retrain, &two));
        let rapid = RapidRetrain {
            rounds: 2,
            steps: 2,
            learning_rate: 0.01,
            beta1: 0.9,
            beta2: 0.99,
            damping: 0.1,
        };
        let rapid = params(rapid, &[1, 4], 0.5);
        assert_eq!(of(&rapid, &one), of(&rapid, &two));
        let keep = params(Keep { rounds: 0 }, &[1, 4], 0.5);
        assert_ne!(of(&keep, &one), of(&keep, &two));
    }
}

/// A classifier and what clients hold, for plain loops.
fn loops(params: &Params, dataset: &Arc<Dataset>) -> (Classifier, Arc<Held>, Vec<f32>) {
    let partition = Arc::new(iid(dataset));
    let source = Source::new(dataset, &partition, Streams::new(SEED));
    let facts = Facts::new(params.inputs, params.split, &source).unwrap();
    let facts = facts.with(Target::Classes, params.scale, &source);
    let classifier = Classifier::new(&params.model, &params.training, &facts).unwrap();
    let held = classifier.share(params.split, &source).unwrap();
    let initial = classifier
        .network()
        .layout()
        .initialise(&mut Streams::new(SEED).global(Purpose(*b"rd-start")));
    (classifier, held, initial)
}

/// A stream for full batches, which draw no random numbers.
fn any() -> SimRng {
    Streams::new(0).global(Purpose(*b"any     "))
}

fn mean(models: &[(Vec<f32>, f64)]) -> Vec<f32> {
    let mut average = Average::new();
    models.iter().for_each(|(model, weight)| average.add(model, *weight));
    average.mean().unwrap()
}

fn minus(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn plus(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[test]
fn fed_eraser_is_a_plain_loop() {
    let dataset = Arc::new(graphs());
    let eraser = FedEraser {
        interval: 2,
        calibration_epochs: 2,
    };
    let params = params(eraser, &[5], 1.0);
    let (classifier, held, initial) = loops(&params, &dataset);
    let mut model = initial.clone();
    let mut stored = Vec::new();
    for round in 0..ROUNDS {
        let train = |shard| (classifier.train(shard, &model, &mut any()), shard.n_train() as f64);
        let trained: Vec<(Vec<f32>, f64)> = held.shards().iter().map(train).collect();
        if round % 2 == 0 {
            let change = |(new, _): &(Vec<f32>, f64)| minus(new, &model);
            stored.push(trained.iter().map(change).collect::<Vec<_>>());
        }
        model = mean(&trained);
    }
    let weights: Vec<f64> = held.shards().iter().map(|shard| shard.n_train() as f64).collect();
    let others = |changes: &[Vec<f32>]| -> Vec<(Vec<f32>, f64)> {
        changes.iter().cloned().zip(weights.iter().copied()).take(5).collect()
    };
    model = plus(&initial, &mean(&others(&stored[0])));
    let length = |x: &[f32]| x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    let mut calibrated = Vec::new();
    for (client, shard) in held.shards().iter().enumerate().take(5) {
        let new = classifier.train_passes(shard, &model, Some(2), &mut any());
        let change: Vec<f64> = new
            .iter()
            .zip(&model)
            .map(|(y, x)| f64::from(*y) - f64::from(*x))
            .collect();
        let norm = change.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = length(&stored[1][client]) / norm;
        let moved = model
            .iter()
            .zip(&change)
            .map(|(x, c)| (f64::from(*x) + scale * c) as f32);
        calibrated.push((moved.collect(), weights[client]));
    }
    model = mean(&calibrated);
    let (left, outcome) = play(&params, &dataset, iid(&dataset));
    assert_eq!(bits(&left.0), bits(&model));
    assert_eq!(number(&outcome, "unlearning_rounds"), 1.0);
    // Two rounds of six clients, each with its numbers, its id and its weight.
    assert_eq!(
        number(&outcome, "stored_bytes"),
        12.0 * 4.0 * (model.len() as f64 + 2.0)
    );
}

#[test]
fn ascent_raises_the_loss_within_its_bound() {
    let dataset = Arc::new(graphs());
    let ascent = |bound: f64, learning_rate: f64, epochs: u32| Ascent {
        bound,
        epochs,
        learning_rate,
        rounds: 1,
    };
    let params = params(ascent(0.3, 0.05, 20), &[5], 1.0);
    let (classifier, held, initial) = loops(&params, &dataset);
    let shard = &held.shards()[5];
    let mut start = initial;
    for _ in 0..10 {
        start = classifier.train(shard, &start, &mut any());
    }
    let ascended = |method: Ascent| {
        let local = Local {
            round: 0,
            classifier: &classifier,
            shard,
            parameters: &start,
            rng: &mut any(),
        };
        method.train(local)
    };
    let length = |x: &[f32]| x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    let loss = |model: &[f32]| classifier.training_loss(shard, model);
    let (before, guess) = (loss(&start), libm::log(3.0));
    assert!(before < 0.9 * guess, "{before}");
    // So long steps leave a small ball, and are drawn back to its edge.
    let held_back = ascended(ascent(0.001, 10.0, 3));
    let moved = length(&minus(&held_back, &start)) / length(&start);
    assert!((moved - 0.001).abs() < 1e-6, "{moved}");
    assert!(loss(&held_back) > before);
    // In a wide one it stops at the loss of a guess, one step late at most.
    let wide = ascended(ascent(10.0, 0.01, 10_000));
    assert!(loss(&wide) >= guess);
    assert!(length(&minus(&wide, &start)) < 10.0 * length(&start));
    let (_, outcome) = play(&params, &dataset, iid(&dataset));
    assert_eq!(number(&outcome, "unlearning_rounds"), 2.0);
}

/// What the server sends for the ascent is the mean of the other clients' models.
#[test]
fn ascent_begins_without_the_client() {
    let dataset = Arc::new(graphs());
    let still = Ascent {
        bound: 1e-9,
        epochs: 1,
        learning_rate: 1e-9,
        rounds: 0,
    };
    let params = params(still, &[5], 1.0);
    let (classifier, held, mut model) = loops(&params, &dataset);
    let mut others = Vec::new();
    for _ in 0..ROUNDS {
        let train = |shard| (classifier.train(shard, &model, &mut any()), shard.n_train() as f64);
        let trained: Vec<(Vec<f32>, f64)> = held.shards().iter().map(train).collect();
        model = mean(&trained);
        others = mean(&trained[..5]);
    }
    let (left, _) = play(&params, &dataset, iid(&dataset));
    let apart = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart(&left.0, &others) < 1e-6, "{}", apart(&left.0, &others));
    assert!(apart(&model, &others) > 1e-4);
}

#[test]
fn shards_retrain_the_affected_group_alone() {
    let dataset = Arc::new(graphs());
    let partition = iid(&dataset);
    let groups = [&[3][..], &[1, 4], &[2, 5]].map(|clients| only_of(&partition, clients));
    let params = params(Shards { groups: 3 }, &[0], 1.0);
    let (left, outcome) = play(&params, &dataset, partition);
    for (group, members) in groups.into_iter().enumerate() {
        let (alone, _) = play(&fed_avg(), &dataset, members);
        assert_eq!(bits(&left.1[&(group as u32)]), bits(&alone.0), "{group}");
        assert_eq!(left.1[&(group as u32)], left.1[&(group as u32 + 3)], "{group}");
    }
    let n = left.0.len() as f64;
    assert_eq!(
        number(&outcome, "unlearning_bytes"),
        f64::from(ROUNDS) * (8.0 * n + 4.0)
    );
    assert_eq!(number(&outcome, "stored_bytes"), 2.0 * 4.0 * n);
    assert!(outcome.summary.iter().all(|(name, _)| name != "model_distance"));
    // The models of all groups answer: as each does where they agree, and as no single one does.
    let (classifier, held, _) = loops(&params, &dataset);
    let models: Vec<&[f32]> = (0..3).map(|group| &left.1[&group][..]).collect();
    let is_it = |score: &&Score| score.split == "test" && score.metric == "accuracy";
    let together = classifier.evaluate_together(&held, &models);
    assert_eq!(
        number(&outcome, "test_accuracy"),
        together.iter().find(is_it).unwrap().value
    );
    let predicted = |models: &[&[f32]]| classifier.predicted(&held, Part::Test, models);
    let (joint, each) = (predicted(&models), models.iter().map(|model| predicted(&[model])));
    let each: Vec<Vec<u32>> = each.collect();
    for (at, class) in joint.iter().enumerate() {
        let agree = each.iter().all(|one| one[at] == each[0][at]);
        assert!(!agree || *class == each[0][at], "{at}");
    }
    assert!(each.iter().all(|one| *one != joint));
}

/// The gradients of single items have the mean that a batch has, and a step by hand.
#[test]
fn rapid_retraining_follows_the_gradients_of_items() {
    for dataset in [graphs(), nodes()] {
        let dataset = Arc::new(dataset);
        let (steps, rate, damping) = (1, 0.01, 0.1);
        let rapid = RapidRetrain {
            rounds: 1,
            steps,
            learning_rate: rate,
            beta1: 0.9,
            beta2: 0.99,
            damping,
        };
        let params = params(rapid, &[5], 1.0);
        let (classifier, held, initial) = loops(&params, &dataset);
        let shard = &held.shards()[0];
        let (mut sums, mut squares, mut n) = (vec![0.0; initial.len()], vec![0.0; initial.len()], 0.0);
        classifier.item_gradients(shard, &initial, &mut any(), &mut |gradient| {
            n += 1.0;
            for ((sum, square), g) in sums.iter_mut().zip(&mut squares).zip(gradient) {
                *sum += f64::from(*g);
                *square += f64::from(*g) * f64::from(*g);
            }
        });
        assert_eq!(n, shard.n_train() as f64);
        let whole = classifier.loss_gradient(shard, &initial, &mut any());
        for (sum, g) in sums.iter().zip(&whole) {
            assert!((sum / n - f64::from(*g)).abs() < 1e-5, "{} {g}", sum / n);
        }
        let local = Local {
            round: 0,
            classifier: &classifier,
            shard,
            parameters: &initial,
            rng: &mut any(),
        };
        let stepped = rapid.train(local);
        // After one step both means are what they are of, so that only the ratio is left.
        for ((x, y), (sum, square)) in initial.iter().zip(&stepped).zip(sums.iter().zip(&squares)) {
            let expected = f64::from(*x) - rate * (sum / n) / (square / n + damping);
            assert!((f64::from(*y) - expected).abs() < 1e-6);
        }
    }
}

#[test]
fn attackers_are_asked_about_the_forgotten_and_their_like() {
    let dataset = Arc::new(graphs());
    let settings = "(forget: (clients: [1, 4], share: 0.5), method: Keep(), inputs: Degree(), split: Shares(train: 0.5, validation: 0), \
                    protocol: (rounds: 2), attacks: [LossThreshold(), LikelihoodRatio(pairs: 3)])";
    let params = only().settings::<Params>(settings).unwrap();
    let partition = Arc::new(iid(&dataset));
    let forgotten = Forgotten::new(vec![1, 4], 0.5);
    let marks = |client: u32| {
        let items = partition.shard(client as usize).iter();
        items
            .filter(|item| forgotten.marks(client, **item, Streams::new(SEED)))
            .count()
    };
    let marked = marks(1) + marks(4);
    let (_, outcome) = play(&params, &dataset, iid(&dataset));
    let others = number(&outcome, "loss_membership_others");
    // All that is marked and does not train.
    let classifier = loops(&params, &dataset).0.forgetting(forgotten.clone());
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    let held = classifier.share(params.split, &source).unwrap();
    let gone: usize = [1, 4]
        .map(|client: usize| held.shards()[client].gone().n_train())
        .iter()
        .sum();
    assert!(gone > 0 && gone < marked);
    assert_eq!(others, (marked - gone) as f64);
    assert_eq!(others, number(&outcome, "lira_others"));
}

#[test]
fn settings_that_leave_nobody_or_keep_the_data_are_refused() {
    let broken = |text: &str| {
        only()
            .settings::<Params>(text)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    for (text, field) in [
        ("(forget: (clients: []))", "forget.clients"),
        ("(scale: Federated)", "scale"),
        ("(protocol: (aggregation: Buffered()))", "protocol.aggregation"),
        ("(protocol: (secure: Pairwise()))", "protocol.secure"),
        ("(protocol: (aggregator: Median()))", "protocol.aggregator"),
        ("(protocol: (server_optimizer: Adam()))", "protocol.server_optimizer"),
        ("(protocol: (uplink_codec: TopK()))", "protocol.uplink_codec"),
        (
            "(method: FedEraser(interval: 4), protocol: (rounds: 4))",
            "method.interval",
        ),
    ] {
        assert!(broken(text).contains(field), "{text}: {}", broken(text));
    }
    assert_eq!(broken("()"), "");
    let dataset = Arc::new(graphs());
    let partition = Arc::new(iid(&dataset));
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    for (clients, words) in [(&[6][..], "no client 6"), (&[0, 1, 2, 3, 4, 5], "none stays")] {
        let refused = params(Retrain {}, clients, 1.0).prepare(&source).err().unwrap();
        assert!(refused.0.contains(words), "{}", refused.0);
    }
    let refused = params(Shards { groups: 3 }, &[0, 3], 1.0)
        .prepare(&source)
        .err()
        .unwrap();
    assert!(refused.0.contains("no client of group 0 stays"), "{}", refused.0);
}
