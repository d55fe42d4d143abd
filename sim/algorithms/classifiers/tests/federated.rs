//! Federated methods as runs: what each sends, the identity that defines it, and how clients are
//! scored.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "federated/codecs.rs"]
mod codecs;
#[path = "federated/fed_nova.rs"]
mod fed_nova;
#[path = "federated/own_models.rs"]
mod own_models;
#[path = "federated/private.rs"]
mod private;
#[path = "federated/scaled.rs"]
mod scaled;
#[path = "federated/state.rs"]
mod state;
#[path = "unlike/clients.rs"]
mod unlike;

use folkmoot_classifiers::classifier::Classifier;
use folkmoot_classifiers::fed_avg;
use folkmoot_classifiers::federated::{Common, FedDyn, Federated, Ifca, OptimiserState, Params};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::{cohort, devices};
use folkmoot_graphs::{Dataset, Partition, Partitioner, partition};
use folkmoot_parts::Value;
use folkmoot_rounds::{
    Mean, OwnModel, Personalisation, RoundEnd, RoundEvaluator, RuleContext, RuleMemory, Trainer, Update, Updates,
    Watched,
};
use folkmoot_scenarios::algorithm::{Algorithm, Prepared, Source};
use std::sync::{Arc, Mutex};
use unlike::{N_CLIENTS, SEED};

/// Of a client's graphs.
const MIN_SIZE: u32 = 6;
const REST: &str = "model: (encoder: GinBatchNorm, hidden: 8, readout: Mean), inputs: Degree(most: 8),
    split: Shares(train: 0.6, validation: 0.1)";
const UNIFORM: &str = "weighting: Uniform,";

fn params(method: &str, training: &str, protocol: &str) -> Params {
    let text = format!("({REST}, method: {method}, training: ({training}), protocol: ({protocol}))");
    folkmoot_classifiers::only()
        .settings(&text)
        .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn small(method: &str, rounds: u32) -> Params {
    let protocol = format!("rounds: {rounds}, {UNIFORM}");
    params(method, "epochs: 2, batch_size: 4, learning_rate: 0.05", &protocol)
}

fn prepared<P: Algorithm>(params: &P) -> Prepared<P> {
    unlike::prepared(params, MIN_SIZE)
}

/// What a run leaves at its parties.
#[derive(Default, Debug, PartialEq)]
struct Left {
    model: Vec<f32>,
    memory: Vec<f64>,
    kept: Vec<Option<Vec<f32>>>,
    own: Vec<Vec<f32>>,
    left_out: Vec<Vec<f32>>,
}

struct Look(Arc<Mutex<Left>>);

impl RoundEvaluator<Federated> for Look {
    fn after_round(&self, _: &Federated, _: Round, _: &[f32], _: &mut Sheet) {}

    fn at_end(&self, end: &RoundEnd<'_, Federated>, _: &mut Sheet) {
        let kept = |id| end.kept(ClientId(id)).and_then(|kept| kept.numbers.clone());
        *self.0.lock().unwrap() = Left {
            model: end.parameters.to_vec(),
            memory: end.memory.numbers.clone(),
            kept: (0..N_CLIENTS).map(kept).collect(),
            own: end.memory.own.values().map(|OwnModel(own)| own.to_vec()).collect(),
            left_out: (0..N_CLIENTS).map(|id| end.left_out(ClientId(id)).to_vec()).collect(),
        };
    }
}

fn left(params: &Params, world: &World, options: Options) -> (Outcome, Left) {
    let prepared = prepared(params);
    let left = Arc::default();
    let look = Watched(Look(Arc::clone(&left)));
    let watched = System {
        evaluator: &look,
        ..prepared.system()
    };
    let outcome = run(watched, world, SEED, options, &mut Unobserved).unwrap();
    (outcome, std::mem::take(&mut *left.lock().unwrap()))
}

fn model(params: &Params) -> Vec<f32> {
    left(params, &World::ideal(), Options::default()).1.model
}

fn some(n: u32) -> World {
    World {
        cohort: Box::new(cohort::Size { n, over_select: 1.0 }),
        ..World::ideal()
    }
}

/// The last model of FedAvg under the same settings.
fn averaged(params: &Params, world: &World) -> Vec<f32> {
    let theirs = fed_avg::Params {
        model: params.model.clone(),
        training: params.training.clone(),
        inputs: params.inputs,
        scale: params.scale,
        split: params.split,
        protocol: params.protocol.clone(),
        attacks: Vec::new(),
    };
    unlike::averaged(&theirs, world, MIN_SIZE)
}

const ALL: [&str; 11] = [
    "Global()",
    "LocalOnly()",
    "FineTuned(epochs: 2)",
    "FedNova()",
    "FedDyn()",
    "Moon()",
    "FedPer()",
    "FedRep()",
    "Ditto()",
    "Gcfl(by: Changes(rounds: 2))",
    "Ifca(clusters: 3)",
];

#[test]
fn messages_have_the_sizes_of_the_tables_and_dry_runs_send_the_same() {
    let prepared = prepared(&small("Global()", 1));
    let network = prepared.strategy.trainer().common().classifier.network();
    let p = network.layout().len() as u64;
    let head: usize = network.last_layers().into_iter().map(|range| range.len()).sum();
    // A head of 8 numbers for 3 classes.
    assert_eq!(head, 8 * 3 + 3);
    let shared = p - head as u64;
    let first: usize = network.first_layer().into_iter().map(|range| range.len()).sum();
    let inner = shared - first as u64;
    assert!(first > 0 && inner > 0);
    for method in ALL
        .into_iter()
        .chain(["FedPer(own_inputs: true)", "Gcfl(own_inputs: true)"])
    {
        let params = small(method, 2);
        let (wet, _) = left(&params, &World::ideal(), Options::default());
        let size = |kind: &str| {
            let of_kind = wet.ledger.rows().filter(|(k, ..)| k.name == kind);
            let cells: Vec<(u64, u64)> = of_kind.map(|(.., cell)| (cell.sent, cell.payload_bytes)).collect();
            let sent: u64 = cells.iter().map(|cell| cell.0).sum();
            assert_eq!(sent, u64::from(2 * N_CLIENTS), "{method} {kind}");
            cells.iter().map(|cell| cell.1).sum::<u64>() / sent
        };
        let (down, up) = match method {
            "LocalOnly()" => (0, 4),
            "FedPer()" | "FedRep()" => (4 * shared, 4 * shared + 4),
            "FedPer(own_inputs: true)" | "Gcfl(own_inputs: true)" => (4 * inner, 4 * inner + 4),
            "Gcfl(by: Changes(rounds: 2))" => (4 * shared, 4 * shared + 8),
            "FedNova()" => (4 * p, 4 * p + 8),
            "Ifca(clusters: 3)" => (12 * p, 4 * p + 8),
            _ => (4 * p, 4 * p + 4),
        };
        assert_eq!((size("model"), size("update")), (down, up), "{method}");
        assert_eq!(wet.ledger.rows().count(), 4, "{method} sends nothing else");
        for row in &wet.tables.messages {
            assert_eq!(row.expected_messages, Some(f64::from(N_CLIENTS)), "{method} {row:?}");
        }
        let dry = Options {
            dry_run: true,
            ..Options::default()
        };
        let (dry, _) = left(&params, &World::ideal(), dry);
        assert!(
            dry.ledger == wet.ledger && dry.tables.rounds == wet.tables.rounds,
            "{method}"
        );
    }
}

#[test]
fn what_is_federated_averaging_by_definition_is_so_to_the_bit() {
    let reference = averaged(&small("Global()", 3), &World::ideal());
    let alike = [
        "Global()",
        "FineTuned(epochs: 3)",
        "Ditto(strength: 0.1)",
        "Ditto(strength: 3)",
        "Moon(weight: 0)",
        "Ifca(clusters: 1)",
    ];
    for method in alike {
        assert!(model(&small(method, 3)) == reference, "{method}");
    }
    // The first round has no model of before to be unlike; from the second on MOON is another.
    assert!(model(&small("Moon()", 1)) == averaged(&small("Moon()", 1), &World::ideal()));
    assert!(model(&small("Moon()", 2)) != averaged(&small("Moon()", 2), &World::ideal()));
    // One step an epoch at all clients: FedNova has nothing to put right, whatever its weights.
    for more in ["", "optimiser: Sgd(momentum: 0.5),", "fedprox_mu: 0.3,"] {
        let equal = params(
            "FedNova()",
            &format!("epochs: 3, {more} learning_rate: 0.05"),
            "rounds: 3",
        );
        assert!(model(&equal) == averaged(&equal, &World::ideal()), "{more}");
    }
    assert!(
        model(&small("FedNova()", 1)) != reference,
        "clients make unlike numbers of steps"
    );
}

#[test]
fn by_itself_a_client_trains_on_from_where_it_was() {
    let params = small("LocalOnly()", 3);
    let (_, left) = left(&params, &World::ideal(), Options::default());
    let prepared = prepared(&params);
    let common = prepared.strategy.trainer().common();
    for client in 0..N_CLIENTS {
        let shard = prepared.shared.shards.shard(ClientId(client));
        let mut own = common.start();
        for round in 0..3 {
            let mut rng =
                Streams::new(SEED).party(Purpose(*b"rd-local"), Party::Client(ClientId(client)), Round(round));
            own = common.classifier.train(shard, &own, &mut rng);
        }
        assert!(left.kept[client as usize].as_ref() == Some(&own), "client {client}");
    }
    assert!(left.model.is_empty());
}

#[test]
fn a_client_that_ditto_does_not_draw_is_left_to_itself() {
    let ditto = small("Ditto(strength: 0)", 2);
    let (_, by_ditto) = left(&ditto, &World::ideal(), Options::default());
    // Its own model begins as the first that it is sent, and whoever is not asked keeps what it
    // has.
    let (_, once) = left(&small("Ditto(strength: 0)", 1), &World::ideal(), Options::default());
    let prepared = prepared(&ditto);
    for client in 0..N_CLIENTS {
        let shard = prepared.shared.shards.shard(ClientId(client));
        let rng =
            |round| Streams::new(SEED).party(Purpose(*b"rd-local"), Party::Client(ClientId(client)), Round(round));
        let before = once.kept[client as usize].as_ref().unwrap();
        let after = prepared
            .strategy
            .trainer()
            .common()
            .classifier
            .train(shard, before, &mut rng(1));
        assert!(
            by_ditto.kept[client as usize].as_ref() == Some(&after),
            "client {client}"
        );
    }
    let (_, drawn) = left(&small("Ditto(strength: 5)", 2), &World::ideal(), Options::default());
    assert!(drawn.kept != by_ditto.kept);
    let (_, few) = left(&small("Ditto()", 1), &some(3), Options::default());
    assert_eq!(few.kept.iter().flatten().count(), 3);
}

#[test]
fn a_head_stays_with_its_client_and_what_is_frozen_stays_to_the_bit() {
    let common = prepared(&small("FedRep()", 1));
    let common = common.strategy.trainer().common();
    let start = common.start();
    let head: Vec<f32> = common
        .classifier
        .network()
        .last_layers()
        .into_iter()
        .flat_map(|range| start[range].to_vec())
        .collect();
    // All epochs at the shared layers: heads are as they were drawn.
    let (_, shared) = left(
        &small("FedRep(shared_epochs: 2)", 2),
        &World::ideal(),
        Options::default(),
    );
    assert!(shared.kept.iter().flatten().all(|kept| *kept == head));
    // None: the shared layers are as the server drew them, running statistics among them, up to the
    // mean of equals.
    let (_, heads) = left(
        &small("FedRep(shared_epochs: 0)", 2),
        &World::ideal(),
        Options::default(),
    );
    let (_, once) = left(
        &small("FedRep(shared_epochs: 0)", 1),
        &World::ideal(),
        Options::default(),
    );
    assert!(heads.model == once.model && shared.model != once.model);
    assert!(heads.kept != once.kept && heads.kept.iter().flatten().all(|kept| *kept != head));
    let (_, few) = left(&small("FedPer()", 1), &some(3), Options::default());
    assert_eq!(few.kept.iter().flatten().count(), 3);
}

/// How far the server's `h` is from the mean of all `λ_i`, over the size of the largest.
fn gap(left: &Left) -> f64 {
    let mut mean = vec![0.0; left.memory.len()];
    for own in left.kept.iter().flatten() {
        mean.iter_mut()
            .zip(own)
            .for_each(|(sum, x)| *sum += f64::from(*x) / f64::from(N_CLIENTS));
    }
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |most: f64, x| most.max(x.abs()));
    let size = largest(&mut left.kept.iter().flatten().flatten().map(|x| f64::from(*x)));
    assert!(size > 1e-4, "there is something to compare: {size}");
    largest(&mut mean.iter().zip(&left.memory).map(|(a, b)| a - b)) / size
}

#[test]
fn what_fed_dyns_server_keeps_is_the_mean_of_what_clients_keep() {
    for rounds in 1..=4 {
        let (_, left) = left(&small("FedDyn()", rounds), &some(3), Options::default());
        assert!(gap(&left) < 1e-5, "{rounds}: {}", gap(&left));
    }
    let masked = params(
        "FedDyn()",
        "epochs: 2, batch_size: 4, learning_rate: 0.05",
        "rounds: 3, weighting: Uniform, secure: Pairwise()",
    );
    let (_, left) = left(&masked, &World::ideal(), Options::default());
    assert!(gap(&left) < 1e-3, "fixed point: {}", gap(&left));
}

/// Clients whose losses are `a/2 (w − b)²`, solved exactly, two of four a round: the server comes
/// to rest where the sum of all losses is least, and each `λ_i` is its client's gradient there.
#[test]
fn unlike_quadratics_meet_at_the_common_optimum_by_fed_dyn() {
    let losses = [(0.2, 3.0), (1.0, -1.0), (4.0, 0.5), (2.0, -2.0)];
    let optimum = losses.iter().map(|(a, b)| a * b).sum::<f64>() / losses.iter().map(|(a, _)| a).sum::<f64>();
    let prepared = prepared(&small("FedDyn()", 1));
    let method = FedDyn { strength: 0.5 };
    let params = small("FedDyn()", 1);
    let classifier = Classifier::new(&params.model, &params.training, &prepared.facts.data).unwrap();
    let federated = Federated::new(&params, Common::new(classifier, 0, 4));
    let n = federated.common().n_parameters();
    let (mut theta, mut own, mut memory) = (vec![0.0_f32; n], [0.0; 4], Vec::new());
    for round in 0..600 {
        let cohort = [round % 2, 2 + (round / 2) % 2];
        let mut mean = 0.0;
        for client in cohort {
            let ((a, b), x) = (losses[client], f64::from(theta[0]));
            let w = (a * b + own[client] + 0.5 * x) / (a + 0.5);
            own[client] -= 0.5 * (w - x);
            mean += w / 2.0;
        }
        let settled = method.settle(&federated, &mut memory, &theta, vec![mean; n], 2.0);
        theta.iter_mut().zip(settled).for_each(|(x, y)| *x = y as f32);
    }
    assert!(
        (f64::from(theta[0]) - optimum).abs() < 1e-4,
        "{} and {optimum}",
        theta[0]
    );
    for ((a, b), own) in losses.iter().zip(own) {
        assert!((own - a * (optimum - b)).abs() < 1e-3, "{own}");
    }
}

#[test]
fn each_of_ifcas_models_is_made_by_its_members_and_stays_without_any() {
    let prepared = prepared(&small("Ifca(clusters: 3)", 1));
    let (task, travels) = (prepared.strategy.trainer(), prepared.strategy.travels());
    let method = Ifca { clusters: 3 };
    // Three models of so many numbers that learn, and behind these what does not.
    let (n, learn) = (travels.n_down / 3, travels.n_trainable() / 3);
    assert!(learn < n);
    let with = |value: f32, cluster: f32| {
        let mut values = vec![value; n];
        values.push(cluster);
        values
    };
    let sent = [with(1.0, 2.0), with(4.0, 0.0), with(3.0, 2.0)];
    let all = sent.iter().zip(0..).map(|(values, client)| Update {
        client: ClientId(client),
        weight: 1.0,
        discount: 1.0,
        values,
    });
    let three = |n: usize| [7.0, 8.0, 9.0].into_iter().flat_map(move |x| vec![x; n]);
    let base: Vec<f32> = three(learn).chain(three(n - learn)).collect();
    let combined = method.combine(
        task,
        &Mean {},
        &Updates {
            all: all.collect(),
            model: &base,
            n_trainable: learn,
        },
        &mut RuleContext::new(
            &mut RuleMemory::default(),
            Streams::new(1).global(Purpose(*b"rd-rule ")),
        ),
    );
    assert_eq!(combined.len(), 3 * n);
    let firsts = |from: usize, n: usize| [0, 1, 2].map(|at| combined[from + at * n]);
    assert_eq!(
        (firsts(0, learn), firsts(3 * learn, n - learn)),
        ([4.0, 8.0, 2.0], [4.0, 8.0, 2.0])
    );
    let initial = method.initial(task, &mut Streams::new(1).global(Purpose(*b"test    ")));
    assert!(initial[..learn] != initial[learn..2 * learn], "models begin apart");
    assert_eq!(Ifca { clusters: 0 }.broken()[0].path, "clusters");
}

#[test]
fn clients_are_scored_one_by_one_with_what_they_answer_with() {
    for method in ALL {
        let params = small(method, 3);
        let prepared = prepared(&params);
        let outcome = run(
            prepared.system(),
            &World::ideal(),
            SEED,
            Options::default(),
            &mut Unobserved,
        )
        .unwrap();
        let number = |name: &str| outcome.summary.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        // The controls need no training: those of a dry run are the same, but for the untrained
        // model's.
        let dry = Options {
            dry_run: true,
            ..Options::default()
        };
        let dry = run(prepared.system(), &World::ideal(), SEED, dry, &mut Unobserved).unwrap();
        let of_data = outcome.tables.controls.iter().filter(|row| row.control != "untrained");
        assert_eq!(dry.tables.controls, of_data.cloned().collect::<Vec<_>>(), "{method}");
        let own = dry
            .tables
            .controls
            .iter()
            .find(|row| (row.control.as_str(), row.metric.as_str()) == ("client_majority", "test_own_accuracy"));
        let tested: u64 = outcome.tables.client_scores.iter().map(|row| row.items).sum();
        assert!(
            own.is_some_and(|row| row.n == tested && (0.0..=1.0).contains(&row.value)),
            "{method}"
        );
        let rows = &outcome.tables.client_scores;
        assert!(rows.len() > 4 && rows.is_sorted_by_key(|row| row.client), "{method}");
        let mean = rows.iter().map(|row| row.accuracy).sum::<f64>() / rows.len() as f64;
        let worst = rows.iter().map(|row| row.accuracy).fold(1.0, f64::min);
        assert!((number("test_own_accuracy").unwrap() - mean).abs() < 1e-12, "{method}");
        assert_eq!(
            number("test_own_worst_tenth"),
            Some(worst),
            "{method}: a tenth of eight is one"
        );
        let has_global = number("test_client_accuracy");
        let (own_alone, is_global) = match method {
            "LocalOnly()" | "FedPer()" | "FedRep()" => (true, false),
            "Gcfl(by: Changes(rounds: 2))" | "Ifca(clusters: 3)" => (true, false),
            "FineTuned(epochs: 2)" | "Ditto()" => (false, false),
            _ => (false, true),
        };
        assert_eq!(has_global.is_none(), own_alone, "{method}");
        if is_global {
            assert!((has_global.unwrap() - mean).abs() < 1e-12, "{method}");
        }
        // All took part in all rounds, so in each round all test items were counted.
        let items: u64 = rows.iter().map(|row| row.items).sum();
        let counted: Vec<&folkmoot_metrics::ScoreRow> = outcome
            .tables
            .scores
            .iter()
            .filter(|row| row.metric == "cohort_accuracy")
            .collect();
        assert_eq!(counted.len(), 3, "{method}");
        assert!(counted.iter().all(|row| row.n == items && row.value <= 1.0), "{method}");
    }
}

#[test]
fn own_models_win_where_clients_are_unlike() {
    let accuracy = |method: &str| {
        let params = params(
            method,
            "epochs: 4, batch_size: 4, learning_rate: 0.05",
            &format!("rounds: 12, {UNIFORM}"),
        );
        let prepared = prepared(&params);
        let outcome = run(
            prepared.system(),
            &World::ideal(),
            SEED,
            Options::default(),
            &mut Unobserved,
        )
        .unwrap();
        outcome
            .summary
            .iter()
            .find(|(n, _)| n == "test_own_accuracy")
            .unwrap()
            .1
    };
    let global = accuracy("Global()");
    for method in [
        "LocalOnly()",
        "FineTuned(epochs: 8)",
        "FedPer()",
        "Ditto(strength: 0.1)",
    ] {
        assert!(accuracy(method) > global, "{method}: {} and {global}", accuracy(method));
    }
}

#[test]
fn nothing_depends_on_how_it_is_run() {
    for method in ["Ditto()", "FedRep()", "Moon()", "FedDyn()", "Ifca(clusters: 2)"] {
        let world = || World {
            devices: Box::new(devices::LogNormal {
                median_ops_per_s: 1e6,
                sigma: 1.0,
            }),
            ..some(4)
        };
        let played = |threads, windows, wire_check| {
            let options = Options {
                threads,
                windows,
                wire_check,
                ..Options::default()
            };
            let (outcome, left) = left(&small(method, 3), &world(), options);
            format!("{:?} {:?} {left:?}", outcome.ledger, outcome.counters)
        };
        let first = played(1, true, false);
        for (threads, windows, wire_check) in [(1, false, false), (4, true, true)] {
            assert!(
                first == played(threads, windows, wire_check),
                "{method} {threads} {windows}"
            );
        }
    }
}

#[test]
fn what_a_method_does_not_fit_is_refused_with_its_place() {
    let broken = |method: &str, training: &str, protocol: &str| -> Vec<String> {
        let text = format!("({REST}, method: {method}, training: ({training}), protocol: ({protocol}))");
        match folkmoot_classifiers::only().settings::<Params>(&text) {
            Ok(params) => params.broken().into_iter().map(|broken| broken.path).collect(),
            Err(problems) => vec![format!("{problems:?}")],
        }
    };
    let places = |method: &str, training: &str, protocol: &str, expected: &[&str]| {
        let said = broken(method, training, protocol).join(" ");
        for place in expected {
            assert!(said.contains(place), "{method}: {place} in {said}");
        }
    };
    places(
        "FedNova()",
        "optimiser: Adam",
        "secure: Pairwise()",
        &["training.optimiser", "protocol.secure"],
    );
    places(
        "FedNova()",
        "",
        "aggregation: Buffered(size: 2)",
        &["protocol.aggregation"],
    );
    places(
        "FedDyn()",
        "fedprox_mu: 1",
        "aggregator: Median(), server_optimizer: Adam()",
        &[
            "training.fedprox_mu",
            "protocol.weighting",
            "protocol.aggregator",
            "protocol.server_optimizer",
        ],
    );
    places(
        "Ifca()",
        "",
        "secure: Pairwise(), server_optimizer: Adam()",
        &["protocol.secure", "protocol.server_optimizer"],
    );
    places("Ditto(strength: 300)", "", "", &["method.strength"]);
    places("FedRep(shared_epochs: 4)", "epochs: 2", "", &["method.shared_epochs"]);
    for method in ALL {
        assert!(broken(method, "", UNIFORM).is_empty(), "{method}");
        let sums = ["FedNova()", "Gcfl(by: Changes(rounds: 2))", "Ifca(clusters: 3)"].contains(&method);
        let masked = broken(method, "", &format!("{UNIFORM} secure: Pairwise()"));
        assert_eq!(masked.is_empty(), !sums, "{method}: {masked:?}");
    }
}
