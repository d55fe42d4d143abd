//! SCAFFOLD as a run: its message table, its identities, and what becomes of control variates when
//! messages are late or lost.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "unlike/clients.rs"]
mod unlike;

use folkmoot_classifiers::classifier::{Classified, Classifier, Course, Facts, Training};
use folkmoot_classifiers::fed_avg;
use folkmoot_classifiers::scaffold::{Change, Params, Scaffold, change_from_steps, correction};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_engine::world::{Dist, DropoutSpec, availability, cohort, devices};
use folkmoot_metrics::MessageRow;
use folkmoot_rounds::{RoundEnd, RoundEvaluator, Trainer, Watched, Weighting};
use folkmoot_scenarios::algorithm::{Algorithm, Prepared, Source};
use std::sync::{Arc, Mutex};
use unlike::{N_CLIENTS, SEED};

/// Of a client's graphs.
const MIN_SIZE: u32 = 4;
const REST: &str = "model: (encoder: Gin, hidden: 8, readout: Sum), inputs: Degree(most: 8),
    split: Shares(train: 0.7, validation: 0.1)";

fn params(more: &str, rounds: u32) -> Params {
    let training = "training: (epochs: 2, batch_size: 4, learning_rate: 0.01)";
    let text = match more.contains("training:") {
        true => format!("({REST}, {more}, protocol: (rounds: {rounds}))"),
        false => format!("({REST}, {training}, {more} protocol: (rounds: {rounds}))"),
    };
    folkmoot_classifiers::only().settings(&text).unwrap()
}

fn prepared(params: &Params) -> Prepared<Params> {
    unlike::prepared(params, MIN_SIZE)
}

/// What a run leaves at its parties.
#[derive(Default)]
struct Left {
    model: Vec<f32>,
    /// The sum of all changes that reached the server.
    sum: Vec<f64>,
    own: Vec<Option<Vec<f32>>>,
}

struct Look(Arc<Mutex<Left>>);

impl RoundEvaluator<Classified<Change>, Scaffold> for Look {
    fn after_round(&self, _: &Classified<Change>, _: Round, _: &[f32], _: &mut Sheet) {}

    fn at_end(&self, end: &RoundEnd<'_, Classified<Change>, Scaffold>, _: &mut Sheet) {
        let own = |id| end.kept(ClientId(id)).map(|change| change.0.clone());
        *self.0.lock().unwrap() = Left {
            model: end.parameters.to_vec(),
            sum: end.collected.sum(),
            own: (0..N_CLIENTS).map(own).collect(),
        };
    }
}

fn play(params: &Params, world: &World, options: Options) -> (Outcome, Left) {
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

/// How far `c` is from the mean of all `c_i`, over the size of the largest.
fn gap(left: &Left) -> f64 {
    let mut sum = vec![0.0; left.sum.len()];
    for own in left.own.iter().flatten() {
        sum.iter_mut().zip(own).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |most: f64, x| most.max(x.abs()));
    let gap = largest(&mut sum.iter().zip(&left.sum).map(|(a, b)| a - b));
    let size = largest(&mut left.own.iter().flatten().flatten().map(|x| f64::from(*x)));
    assert!(size > 1e-3, "there are control variates");
    gap / size
}

#[test]
fn one_round_from_control_variates_of_zero_is_one_of_fed_avg() {
    let played = |rounds| {
        let ours = params("", rounds);
        assert_eq!(
            ours.protocol.weighting,
            Weighting::Uniform,
            "as the paper's, under whatever else a card says of rounds"
        );
        let theirs = fed_avg::Params {
            model: ours.model.clone(),
            training: ours.training.clone(),
            inputs: ours.inputs,
            scale: ours.scale,
            split: ours.split,
            protocol: ours.protocol.clone(),
            attacks: Vec::new(),
        };
        let (_, left) = play(&ours, &World::ideal(), Options::default());
        (left.model, unlike::averaged(&theirs, &World::ideal(), MIN_SIZE))
    };
    let (ours, theirs) = played(1);
    assert!(ours == theirs, "round one");
    let (ours, theirs) = played(2);
    assert!(ours != theirs, "then control variates are at work");
}

#[test]
fn messages_have_the_sizes_of_the_table_and_dry_runs_send_the_same() {
    let params = params("", 3);
    let p = prepared(&params).strategy.travels().n_down as u64;
    let (wet, _) = play(&params, &World::ideal(), Options::default());
    let size = |kind: &str| {
        let of_kind = wet.ledger.rows().filter(|(k, ..)| k.name == kind);
        let cells: Vec<(u64, u64)> = of_kind.map(|(.., cell)| (cell.sent, cell.payload_bytes)).collect();
        let sent: u64 = cells.iter().map(|cell| cell.0).sum();
        assert_eq!(sent, u64::from(3 * N_CLIENTS), "{kind}");
        cells.iter().map(|cell| cell.1).sum::<u64>() / sent
    };
    assert_eq!(
        (size("model"), size("update"), size("control_change")),
        (8 * p, 4 * p + 4, 4 * p)
    );
    for row in &wet.tables.messages {
        assert_eq!(row.expected_messages, Some(f64::from(N_CLIENTS)), "{row:?}");
    }
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let (dry, _) = play(&params, &World::ideal(), dry);
    assert!(
        dry.ledger == wet.ledger && dry.tables.rounds == wet.tables.rounds && dry.tables.privacy == wet.tables.privacy
    );
    assert_eq!(wet.tables.privacy.len(), 2);
    assert!(
        wet.tables.privacy.iter().all(|row| row.mechanism.starts_with("none")),
        "{:?}",
        wet.tables.privacy
    );
}

#[test]
fn nothing_depends_on_how_it_is_run() {
    let params = params("renewal: FromGradient,", 3);
    let played = |threads, windows, wire_check| {
        let options = Options {
            threads,
            windows,
            wire_check,
            ..Options::default()
        };
        let (outcome, left) = play(&params, &lossy(0.2), options);
        format!("{:?} {:?} {:?} {:?}", outcome.ledger, left.model, left.sum, left.own)
    };
    let first = played(1, true, false);
    for (threads, windows, wire_check) in [(1, false, false), (2, true, false), (4, true, true)] {
        assert!(
            first == played(threads, windows, wire_check),
            "{threads} {windows} {wire_check}"
        );
    }
}

/// Slow links that lose messages, slow devices, clients that come, go and leave in mid-round,
/// cohorts of three and a deadline.
fn lossy(loss_prob: f64) -> World {
    let class = |latency| LinkClass {
        latency_ms: Dist::Uniform {
            low: latency,
            high: 4.0 * latency,
        },
        loss_prob,
    };
    World {
        network: Box::new(Links {
            uplink: class(20.0),
            downlink: class(10.0),
            max_retries: 0,
            ..Links::default()
        }),
        devices: Box::new(devices::LogNormal {
            median_ops_per_s: 1e6,
            sigma: 1.0,
        }),
        availability: Box::new(availability::Bernoulli { online_prob: 0.8 }),
        dropout: DropoutSpec {
            prob: 0.1,
            ..DropoutSpec::default()
        },
        cohort: Box::new(cohort::Size { n: 3, over_select: 1.4 }),
        deadline: Some(SimSpan::from_secs(0.9)),
        ..World::ideal()
    }
}

#[test]
fn c_is_the_mean_of_all_control_variates_after_every_round() {
    for renewal in ["renewal: FromSteps,", "renewal: FromGradient,"] {
        for rounds in 1..=5 {
            let world = World {
                cohort: Box::new(cohort::Size { n: 3, over_select: 1.0 }),
                ..World::ideal()
            };
            let (_, left) = play(&params(renewal, rounds), &world, Options::default());
            let trained = left.own.iter().flatten().count();
            assert!((3..N_CLIENTS as usize).contains(&trained) || rounds > 2);
            assert!(gap(&left) < 1e-6, "{renewal} {rounds}: {}", gap(&left));
        }
    }
}

/// The sum over all rounds of one kind of message.
fn total(outcome: &Outcome, count: fn(&MessageRow) -> u64) -> u64 {
    let rows = outcome
        .tables
        .messages
        .iter()
        .filter(|row| row.kind == "control_change");
    rows.map(count).sum()
}

#[test]
fn a_change_that_is_lost_is_taken_back() {
    let world = World {
        cohort: Box::new(cohort::Size { n: 5, over_select: 1.0 }),
        deadline: None,
        ..lossy(0.4)
    };
    let (outcome, left) = play(&params("", 12), &world, Options::default());
    let (lost, came) = (total(&outcome, |row| row.dropped), total(&outcome, |row| row.delivered));
    assert!(lost > 3 && came > 10, "{lost} and {came}");
    assert!(gap(&left) < 1e-6, "{}", gap(&left));
}

#[test]
fn a_change_that_is_late_counts_although_its_model_does_not() {
    let (mut n_late, mut n_under_way, mut n_settled) = (0, 0, 0);
    for rounds in 4..16 {
        let (outcome, left) = play(&params("", rounds), &lossy(0.0), Options::default());
        let late = outcome.counters.iter().find(|(name, _)| *name == "late_updates");
        n_late += late.unwrap().1.iter().sum::<u64>();
        // The run may end while some are under way, and then c lacks what they bring.
        match total(&outcome, |row| row.in_flight) {
            0 => n_settled += u32::from(gap(&left) < 1e-6),
            _ => n_under_way += u32::from(gap(&left) > 1e-3),
        }
    }
    assert!(n_late > 10, "{n_late} late updates");
    assert!(
        n_settled > 2 && n_under_way > 0 && n_settled + n_under_way == 12,
        "{n_settled} and {n_under_way}"
    );
}

/// The mean of the gradients at the points that full batches pass through.
#[test]
fn by_option_two_a_control_variate_is_the_mean_of_the_gradients_that_were_followed() {
    let (dataset, partition) = unlike::data(MIN_SIZE);
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    let params = params("training: (epochs: 1, learning_rate: 0.05, weight_decay: 0.01)", 1);
    let facts = Facts::new(params.inputs, params.split, &source).unwrap();
    let trained = |epochs: u32| {
        let training = Training {
            epochs,
            ..params.training.clone()
        };
        Classifier::new(&params.model, &training, &facts).unwrap()
    };
    let held = trained(1).share(params.split, &source).unwrap();
    let (shard, rng) = (&held.shards()[1], || Streams::new(1).global(Purpose(*b"test    ")));
    let x = trained(1).network().layout().initialise(&mut rng());
    // c and c_i of whatever size.
    let c: Vec<f32> = (0..x.len()).map(|i| 0.02 * (i % 7) as f32).collect();
    let own: Vec<f32> = (0..x.len()).map(|i| 0.03 * (i % 5) as f32 - 0.05).collect();
    let pull = correction(&c, &own);
    let after = |epochs| {
        let course = Course {
            correction: &pull,
            ..Course::default()
        };
        trained(epochs).train_along(shard, &x, &course, &mut rng())
    };
    let (y, n_steps) = after(4);
    assert_eq!(n_steps, 4);
    let points = [x.clone(), after(1).0, after(2).0, after(3).0];
    let gradients = points.map(|point| trained(1).gradient(shard, &point, &mut rng()));
    let change = change_from_steps((&x, &y), &c, n_steps, f64::from(0.05_f32));
    for (i, change) in change.iter().enumerate() {
        let mean = gradients.iter().map(|g| f64::from(g[i])).sum::<f64>() / 4.0;
        // c_i+ = c_i + change; the steps followed g − c_i + c.
        let renewed = f64::from(own[i]) + f64::from(*change);
        let scale = 1.0 + mean.abs();
        assert!((renewed - mean).abs() < 1e-4 * scale, "{i}: {renewed} and {mean}");
    }
    assert!(gradients[0] != gradients[3] && change.iter().any(|x| x.abs() > 0.05));
}

#[test]
fn short_last_batches_count_as_the_steps_they_are() {
    let (dataset, partition) = unlike::data(MIN_SIZE);
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    let params = params("training: (epochs: 3, batch_size: 4)", 1);
    let classifier = Classifier::new(
        &params.model,
        &params.training,
        &Facts::new(params.inputs, params.split, &source).unwrap(),
    )
    .unwrap();
    let held = classifier.share(params.split, &source).unwrap();
    let mut rng = Streams::new(1).global(Purpose(*b"test    "));
    let x = classifier.network().layout().initialise(&mut rng);
    let mut n_short = 0;
    for shard in held.shards() {
        let (_, n_steps) = classifier.train_along(shard, &x, &Course::default(), &mut rng);
        assert_eq!(n_steps, 3 * shard.n_train().div_ceil(4) as u64);
        n_short += usize::from(!shard.n_train().is_multiple_of(4));
    }
    assert!(n_short > 0, "some batch is short");
}

#[test]
fn a_training_that_ends_in_no_number_leaves_control_variates_as_they_are() {
    let (outcome, left) = play(
        &params("training: (learning_rate: 1e30, epochs: 3)", 2),
        &World::ideal(),
        Options::default(),
    );
    let refused = outcome
        .counters
        .iter()
        .find(|(name, _)| *name == "refused_updates")
        .unwrap();
    assert_eq!(refused.1.iter().sum::<u64>(), u64::from(2 * N_CLIENTS));
    assert!(left.sum.iter().all(|x| *x == 0.0) && left.own.iter().flatten().flatten().all(|x| *x == 0.0));
}

#[test]
fn running_statistics_have_no_control_variate() {
    let text = "(model: (encoder: GinBatchNorm, hidden: 8), inputs: Degree(most: 8), protocol: (rounds: 2))";
    let params: Params = folkmoot_classifiers::only().settings(text).unwrap();
    let (dataset, partition) = unlike::data(MIN_SIZE);
    let prepared = params
        .prepare(&Source::new(&dataset, &partition, Streams::new(SEED)))
        .unwrap();
    let n_trainable = prepared.strategy.travels().n_trainable();
    let (_, left) = play(&params, &World::ideal(), Options::default());
    assert!(n_trainable < left.sum.len() && left.sum.len() == left.model.len());
    assert!(left.sum[..n_trainable].iter().any(|x| *x != 0.0));
    assert!(left.sum[n_trainable..].iter().all(|x| *x == 0.0));
}

/// Clients keep what the server reads of their changes, which are packed as the models' are.
#[test]
fn packed_changes_are_counted_and_c_stays_the_mean() {
    for (codec, down) in [
        ("Half()", "Plain"),
        ("Uniform(bits: 4)", "Half()"),
        ("TopK(share: 0.1)", "Qsgd(levels: 16, coding: Range)"),
        ("Sign()", "Uniform(bits: 8)"),
        ("LowRank(rank: 1)", "Bfloat()"),
    ] {
        let mut ours = params("", 4);
        let text = format!("({REST}, protocol: (uplink_codec: {codec}, downlink_codec: {down}))");
        let codecs = folkmoot_classifiers::only().settings::<Params>(&text).unwrap().protocol;
        (ours.protocol.uplink_codec, ours.protocol.downlink_codec) = (codecs.uplink_codec, codecs.downlink_codec);
        let world = World {
            cohort: Box::new(cohort::Size { n: 5, over_select: 1.0 }),
            deadline: None,
            ..lossy(0.2)
        };
        let (outcome, left) = play(&ours, &world, Options::default());
        assert!(gap(&left) < 1e-6, "{codec}: {}", gap(&left));
        let rows = |kind: &str| {
            let rows = outcome.tables.messages.iter().filter(|row| row.kind == kind);
            rows.fold((0, 0), |(n, bytes), row| (n + row.sent, bytes + row.payload_bytes))
        };
        let ((n, bytes), (n_changes, of_changes)) = (rows("packed_update"), rows("packed_control_change"));
        assert_eq!((n, rows("control_change").0), (n_changes, 0), "{codec}");
        let layout = prepared(&ours).strategy.trainer().layout().clone();
        let len = ours.protocol.uplink_codec.encoded_len(&layout.shapes()).unwrap();
        assert_eq!((bytes, of_changes), (n * (len + 4), n * len), "{codec}");
        let model = 8 * layout.len() as u64;
        let compression = |name: &str| {
            outcome
                .summary
                .iter()
                .find(|(called, _)| called == name)
                .map(|(_, x)| *x)
        };
        let plain = n * (model + 4);
        assert_eq!(
            compression("compression_up"),
            Some(plain as f64 / (bytes + of_changes) as f64)
        );
        let ((n_plain, as_it_is), (n_models, of_models)) = (rows("model"), rows("packed_model"));
        if ours.protocol.downlink_codec.is_plain() {
            assert_eq!((as_it_is, n_models), (n_plain * model, 0));
            continue;
        }
        if let Some(len) = ours.protocol.downlink_codec.encoded_len(&layout.shapes()) {
            assert_eq!(of_models, n_models * (4 + 2 * len), "{down}");
        }
        assert_eq!(n_plain, 0, "{down}");
        assert_eq!(
            compression("compression_down"),
            Some((n_models * model) as f64 / of_models as f64)
        );
    }
    let lints = |up: &str| {
        let text = format!("({REST}, protocol: (uplink_codec: {up}))");
        folkmoot_classifiers::only()
            .settings::<Params>(&text)
            .unwrap()
            .about()
            .lints
            .len()
    };
    assert_eq!(
        (
            lints("RandomK(share: 0.1, feedback: true)"),
            lints("RandomK(share: 0.1, feedback: false)")
        ),
        (0, 1)
    );
}
