//! Learning without a server as a run: the identities that define its methods, how fast topologies
//! mix, and that nobody waits for ever.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "gossip/codecs.rs"]
mod codecs;
#[path = "unlike/clients.rs"]
mod unlike;

use folkmoot_classifiers::fed_avg;
use folkmoot_classifiers::gossip::{Gossip, Params, contraction};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_engine::world::{Dist, DropoutSpec, availability, devices};
use folkmoot_scenarios::algorithm::{Algorithm, Prepared, Source};
use std::f64::consts::TAU;
use std::sync::Mutex;
use unlike::{N_CLIENTS, SEED};

/// Of a client's graphs.
const MIN_SIZE: u32 = 4;
const REST: &str = "model: (encoder: Gin, hidden: 8, readout: Mean), inputs: Degree(most: 8),
    split: Shares(train: 0.6, validation: 0.1)";
/// Full batches of plain steps.
const PLAIN: &str = "training: (epochs: 1, learning_rate: 0.05)";
/// So small that no number moves.
const STILL: &str = "start: Own, training: (learning_rate: 1e-30)";

fn params(more: &str) -> Params {
    let text = format!("({REST}, {more})");
    folkmoot_classifiers::only()
        .settings(&text)
        .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn prepared<P: Algorithm>(params: &P) -> Prepared<P> {
    unlike::prepared(params, MIN_SIZE)
}

/// Keeps the models that clients end with.
#[derive(Default)]
struct Look(Mutex<Vec<Vec<f32>>>);

impl Evaluator<Gossip> for Look {
    fn at_end(&self, end: &End<'_, Gossip>, _: &mut Sheet) {
        let models = end.clients.iter().map(|(_, client)| client.model().unwrap().to_vec());
        *self.0.lock().unwrap() = models.collect();
    }
}

fn models_in(params: &Params, world: &World, options: Options) -> (Outcome, Vec<Vec<f32>>) {
    let (prepared, look) = (prepared(params), Look::default());
    let watched = System {
        evaluator: &look,
        ..prepared.system()
    };
    let outcome = run(watched, world, SEED, options, &mut Unobserved).unwrap();
    (outcome, look.0.into_inner().unwrap())
}

/// The models of all clients after so many rounds in an ideal world.
fn models(more: &str, rounds: u32) -> Vec<Vec<f32>> {
    let params = params(&format!("{more}, rounds: {rounds}"));
    models_in(&params, &World::ideal(), Options::default()).1
}

/// What a run writes down of itself.
fn outcome(params: &Params, world: &World, options: Options) -> Outcome {
    let prepared = prepared(params);
    run(prepared.system(), world, SEED, options, &mut Unobserved).unwrap()
}

fn score(outcome: &Outcome, metric: &str) -> Vec<f64> {
    let rows = outcome.tables.scores.iter().filter(|row| row.metric == metric);
    rows.map(|row| row.value).collect()
}

fn number(outcome: &Outcome, metric: &str) -> f64 {
    let found = outcome.summary.iter().find(|(name, _)| name == metric);
    found.unwrap_or_else(|| panic!("no {metric}")).1
}

fn counted(outcome: &Outcome, counter: &str) -> u64 {
    let found = outcome.counters.iter().find(|(name, _)| *name == counter);
    found.unwrap().1.iter().sum()
}

fn mean(models: &[Vec<f32>]) -> Vec<f64> {
    let at = |i| models.iter().map(|model| f64::from(model[i])).sum::<f64>() / models.len() as f64;
    (0..models[0].len()).map(at).collect()
}

/// The largest difference of two models' numbers.
fn apart(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - b).abs())
        .fold(0.0, f64::max)
}

fn wide(model: &[f32]) -> Vec<f64> {
    model.iter().map(|x| f64::from(*x)).collect()
}

/// The models that clients begin with: what they end with where nothing moves them and no message
/// arrives.
fn starts() -> Vec<Vec<f32>> {
    let quiet = World {
        network: Box::new(Links {
            peer: LinkClass {
                loss_prob: 1.0,
                ..LinkClass::default()
            },
            max_retries: 0,
            ..Links::default()
        }),
        ..World::ideal()
    };
    models_in(
        &params(&format!("{STILL}, rounds: 1, timeout_s: 1")),
        &quiet,
        Options::default(),
    )
    .1
}

#[test]
fn one_exchange_over_a_complete_graph_reaches_the_mean() {
    let start = starts();
    let mean = mean(&start);
    assert!(start.iter().all(|model| apart(model, &mean) > 0.01), "they begin apart");
    for weights in ["Uniform", "Metropolis"] {
        let ended = models(&format!("topology: Complete(), weights: {weights}, {STILL}"), 1);
        for model in &ended {
            assert!(apart(model, &mean) < 1e-7, "{weights}: {}", apart(model, &mean));
            assert!(*model == ended[0], "all have the same bits");
        }
    }
}

#[test]
fn doubly_stochastic_weights_leave_the_mean_and_others_move_it() {
    let before = mean(&starts());
    let moved = |topology: &str, weights: &str| {
        let ended = models(&format!("topology: {topology}, weights: {weights}, {STILL}"), 6);
        let after = mean(&ended);
        before
            .iter()
            .zip(&after)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max)
    };
    for topology in [
        "Ring(neighbours: 4)",
        "Torus()",
        "SmallWorld(neighbours: 2, rewired: 0.3)",
        "ErdosRenyi(degree: 3.5)",
        "Changing(neighbours: 3)",
    ] {
        let moved = moved(topology, "Metropolis");
        assert!(moved < 1e-6, "{topology}: {moved}");
    }
    let control = moved("ErdosRenyi(degree: 3.5)", "Uniform");
    assert!(control > 1e-3, "clients with many neighbours count more: {control}");
}

#[test]
fn a_ring_mixes_at_the_rate_of_its_second_eigenvalue() {
    let ring = params(&format!("topology: Ring(neighbours: 2), {STILL}, rounds: 40"));
    let outcome = outcome(&ring, &World::ideal(), Options::default());
    let distances = score(&outcome, "consensus_distance");
    let second = 1.0 / 3.0 + 2.0 / 3.0 * libm::cos(TAU / f64::from(N_CLIENTS));
    let rate = distances[25] / distances[24];
    assert_eq!(distances.len(), 40);
    assert!((rate - second).abs() < 1e-3, "{rate} and {second}");
    let gap = number(&outcome, "spectral_gap");
    assert!((gap - (1.0 - second)).abs() < 1e-9, "{gap}");
    // Never slower than by the factor that is reported.
    assert!(
        distances[..25]
            .windows(2)
            .all(|pair| pair[1] <= pair[0] * second * (1.0 + 1e-5))
    );
    let graph = prepared(&ring).strategy.graph(0);
    assert!((contraction(ring.weights, 1.0, &[graph]) - second).abs() < 1e-9);
}

/// FedAvg's model after so many rounds, all clients counting alike.
fn averaged(rounds: u32) -> Vec<f32> {
    let text = format!("({REST}, {PLAIN}, protocol: (rounds: {rounds}, weighting: Uniform))");
    let params: fed_avg::Params = folkmoot_classifiers::only().settings(&text).unwrap();
    unlike::averaged(&params, &World::ideal(), MIN_SIZE)
}

/// All clients, by a loop that follows gradients itself.
struct Reference {
    prepared: Prepared<Params>,
    models: Vec<Vec<f64>>,
}

impl Reference {
    fn new(params: &Params) -> Reference {
        let prepared = prepared(params);
        let layout = prepared.strategy.classifier().network().layout();
        let rng = &mut Streams::new(u64::from(prepared.facts.start_seed)).global(Purpose(*b"go-start"));
        let start = wide(&layout.initialise(rng));
        Reference {
            models: vec![start; N_CLIENTS as usize],
            prepared,
        }
    }

    /// `- rate × gradient` of a client at a model.
    fn step(&self, client: usize, model: &[f64]) -> Vec<f64> {
        let gossip = &self.prepared.strategy;
        let shard = self.prepared.shared.shards.shard(ClientId(client as u32));
        let narrow: Vec<f32> = model.iter().map(|x| *x as f32).collect();
        let rng = &mut Streams::new(0).global(Purpose(*b"nothing "));
        let gradient = gossip.classifier().gradient(shard, &narrow, rng);
        let rate = gossip.params().training.learning_rate;
        let mut step = vec![0.0; model.len()];
        step.iter_mut()
            .zip(gradient)
            .for_each(|(step, g)| *step = -rate * f64::from(g));
        step
    }

    fn mixed(&self, client: u32, models: &[Vec<f64>]) -> Vec<f64> {
        let graph = self.prepared.strategy.graph(0);
        let mut sum = models[client as usize].clone();
        for &j in graph.neighbours(client) {
            let weight = self.prepared.strategy.params().weights.of(&graph, client, j);
            for (sum, (own, other)) in sum
                .iter_mut()
                .zip(models[client as usize].iter().zip(&models[j as usize]))
            {
                *sum += weight * (other - own);
            }
        }
        sum
    }

    /// One round of D-PSGD, or of averaging after a step.
    fn round(&mut self, adapts_first: bool) {
        let n = self.models.len();
        let steps: Vec<Vec<f64>> = (0..n).map(|i| self.step(i, &self.models[i])).collect();
        let plus = |model: &[f64], step: &[f64]| model.iter().zip(step).map(|(x, s)| x + s).collect::<Vec<f64>>();
        self.models = match adapts_first {
            true => {
                let adapted: Vec<Vec<f64>> = (0..n).map(|i| plus(&self.models[i], &steps[i])).collect();
                (0..n).map(|i| self.mixed(i as u32, &adapted)).collect()
            }
            false => (0..n)
                .map(|i| plus(&self.mixed(i as u32, &self.models), &steps[i]))
                .collect(),
        };
    }
}

#[test]
fn methods_follow_their_equations() {
    for (method, adapts_first) in [("Dpsgd", false), ("Averaging", true)] {
        let more = format!("method: {method}, topology: SmallWorld(neighbours: 4, rewired: 0.5), {PLAIN}");
        let mut reference = Reference::new(&params(&more));
        let start = reference.models[0].clone();
        (0..4).for_each(|_| reference.round(adapts_first));
        let ended = models(&more, 4);
        for (ours, theirs) in ended.iter().zip(&reference.models) {
            assert!(apart(ours, theirs) < 2e-6, "{method}: {}", apart(ours, theirs));
            assert!(apart(ours, &start) > 1e-3, "it learns");
        }
    }
}

/// On a complete graph, averaging after one step is FedSGD in every round; D-PSGD, whose gradients
/// are taken where each client stands, has FedSGD's model as the mean after the first round, and
/// only then.
#[test]
fn on_a_complete_graph_averaging_is_fed_sgd_and_d_psgd_begins_so() {
    let sgd = |rounds: u32| {
        let mut reference = Reference::new(&params(&format!("topology: Complete(), {PLAIN}")));
        let mut model = reference.models[0].clone();
        for _ in 0..rounds {
            let steps: Vec<Vec<f64>> = (0..N_CLIENTS as usize).map(|i| reference.step(i, &model)).collect();
            for (i, x) in model.iter_mut().enumerate() {
                *x += steps.iter().map(|step| step[i]).sum::<f64>() / f64::from(N_CLIENTS);
            }
        }
        reference.models = vec![model.clone()];
        model
    };
    for rounds in [1, 5] {
        let expected = sgd(rounds);
        for model in models(&format!("topology: Complete(), {PLAIN}"), rounds) {
            assert!(
                apart(&model, &expected) < 2e-6,
                "{rounds}: {}",
                apart(&model, &expected)
            );
        }
    }
    let of_mean = |rounds| {
        let ended = models(&format!("method: Dpsgd, topology: Complete(), {PLAIN}"), rounds);
        let mean: Vec<f32> = mean(&ended).iter().map(|x| *x as f32).collect();
        apart(&mean, &sgd(rounds))
    };
    assert!(of_mean(1) < 1e-6, "{}", of_mean(1));
    assert!(of_mean(5) > 1e-5, "{}", of_mean(5));
}

#[test]
fn averaging_on_a_complete_graph_learns_as_fed_avg_does() {
    let rounds = 30;
    let params = params(&format!("topology: Complete(), {PLAIN}, rounds: {rounds}"));
    let ours = number(&outcome(&params, &World::ideal(), Options::default()), "test_accuracy");
    let prepared = prepared(&params);
    let theirs = averaged(rounds);
    let gossip = &prepared.strategy;
    let (dataset, partition) = unlike::data(MIN_SIZE);
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    let held = gossip.classifier().share(params.split, &source).unwrap();
    let scores = gossip.classifier().evaluate(&held, &theirs);
    let accuracy = scores
        .iter()
        .find(|score| score.split == "test" && score.metric == "accuracy");
    let accuracy = accuracy.unwrap().value;
    // They begin with other models, so they end nearby and not alike.
    assert!((ours - accuracy).abs() < 0.15 && ours > 0.5, "{ours} and {accuracy}");
}

#[test]
fn messages_have_the_sizes_of_the_table_and_dry_runs_send_the_same() {
    for (method, topology, per_round) in [
        ("Averaging", "Ring(neighbours: 4)", 4 * N_CLIENTS),
        ("Dpsgd", "Complete()", 7 * N_CLIENTS),
        ("Averaging", "Changing()", N_CLIENTS),
        ("Pairwise()", "Torus()", N_CLIENTS),
    ] {
        let params = params(&format!("method: {method}, topology: {topology}, {PLAIN}, rounds: 3"));
        let p = prepared(&params).strategy.classifier().network().layout().len() as u64;
        let wet = outcome(&params, &World::ideal(), Options::default());
        let total = |kind: &str| {
            let of_kind = wet.ledger.rows().filter(|(k, ..)| k.name == kind);
            of_kind.fold((0, 0), |(sent, bytes), (.., cell)| {
                (sent + cell.sent, bytes + cell.payload_bytes)
            })
        };
        let sent = u64::from(3 * per_round);
        assert_eq!(total("model"), (sent, 4 * p * sent), "{method}");
        assert_eq!(total("report"), (u64::from(3 * N_CLIENTS), 0), "{method}");
        let answers = if method == "Pairwise()" { sent } else { 0 };
        assert_eq!(total("answer"), (answers, 4 * p * answers), "{method}");
        let is_down = |direction: Direction| direction == Direction::Downlink;
        assert!(
            !wet.ledger.rows().any(|(_, _, direction, _)| is_down(direction)),
            "no server speaks"
        );
        if method != "Pairwise()" {
            for row in &wet.tables.messages {
                assert_eq!(row.expected_messages, Some(row.sent as f64), "{method}: {row:?}");
            }
        }
        let dry = Options {
            dry_run: true,
            ..Options::default()
        };
        let dry = outcome(&params, &World::ideal(), dry);
        assert!(
            dry.ledger == wet.ledger
                && dry.tables.rounds == wet.tables.rounds
                && dry.tables.privacy == wet.tables.privacy
        );
        assert!(wet.tables.privacy.iter().all(|row| row.mechanism.starts_with("none")));
        assert_eq!(wet.tables.rounds.len(), 3);
        assert!(
            wet.tables
                .rounds
                .iter()
                .all(|row| row.completed == u64::from(N_CLIENTS))
        );
    }
}

/// Slow links that lose messages, unlike devices, and clients that come, go and leave in mid-round.
fn rough(loss_prob: f64) -> World {
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
            peer: class(30.0),
            max_retries: 0,
            ..Links::default()
        }),
        devices: Box::new(devices::LogNormal {
            median_ops_per_s: 1e6,
            sigma: 1.5,
        }),
        availability: Box::new(availability::Bernoulli { online_prob: 0.8 }),
        dropout: DropoutSpec {
            prob: 0.2,
            ..DropoutSpec::default()
        },
        ..World::ideal()
    }
}

const METHODS: [&str; 3] = ["Averaging", "Dpsgd", "Pairwise(pause_s: 0.5)"];

#[test]
fn nobody_waits_for_ever_whatever_is_lost_and_whoever_is_away() {
    for method in METHODS {
        for topology in ["Ring()", "Torus()", "Complete()", "Changing(neighbours: 2)"] {
            let params = params(&format!(
                "method: {method}, topology: {topology}, {PLAIN}, rounds: 12, timeout_s: 2"
            ));
            let ended = outcome(&params, &rough(0.2), Options::default());
            let n_reports: u64 = ended.tables.rounds.iter().map(|row| row.completed).sum();
            assert!(
                ended.tables.rounds.len() >= 6,
                "{method} {topology}: {} rounds",
                ended.tables.rounds.len()
            );
            assert!(n_reports > 20, "{method} {topology}: {n_reports} reports");
            assert!(counted(&ended, "missing_models") > 5, "{method} {topology}");
            // All was lost in vain if nothing was learned of anybody.
            assert!(number(&ended, "link_bytes_most") > 0.0);
        }
    }
}

#[test]
fn where_nothing_is_lost_the_slow_are_waited_for() {
    let world = World {
        availability: Box::new(availability::Always {}),
        dropout: DropoutSpec::default(),
        ..rough(0.0)
    };
    for topology in ["Ring()", "Changing()", "Complete()"] {
        for method in &METHODS[..2] {
            let params = params(&format!("method: {method}, topology: {topology}, {PLAIN}, rounds: 12"));
            let ended = outcome(&params, &world, Options::default());
            for counter in ["missing_models", "late_models", "skipped_rounds", "repeated_trainings"] {
                assert_eq!(counted(&ended, counter), 0, "{method} {topology}: {counter}");
            }
            assert_eq!(ended.tables.rounds.len(), 12);
        }
    }
}

#[test]
fn nothing_depends_on_how_it_is_run() {
    for method in METHODS {
        let params = params(&format!(
            "method: {method}, start: Own, topology: SmallWorld(), training: (batch_size: 3), rounds: 5, timeout_s: 2"
        ));
        let played = |threads, windows, wire_check| {
            let options = Options {
                threads,
                windows,
                wire_check,
                ..Options::default()
            };
            let (outcome, models) = models_in(&params, &rough(0.2), options);
            format!("{:?} {:?} {models:?}", outcome.ledger, outcome.tables.rounds)
        };
        let first = played(1, true, false);
        for (threads, windows, wire_check) in [(1, false, false), (2, true, false), (4, true, true)] {
            assert!(
                first == played(threads, windows, wire_check),
                "{method} {threads} {windows} {wire_check}"
            );
        }
    }
}

#[test]
fn pairs_that_meet_keep_the_mean_and_come_together() {
    let world = World {
        devices: Box::new(devices::Constant { ops_per_s: 1e6 }),
        network: Box::new(Links {
            peer: LinkClass {
                latency_ms: Dist::Uniform { low: 5.0, high: 500.0 },
                loss_prob: 0.0,
            },
            ..Links::default()
        }),
        ..World::ideal()
    };
    let pairs = params(&format!(
        "method: Pairwise(pause_s: 0.1), topology: Complete(), {STILL}, rounds: 30"
    ));
    let (_, ended) = models_in(&pairs, &world, Options::default());
    let before = mean(&starts());
    let moved = before
        .iter()
        .zip(mean(&ended))
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(moved < 1e-6, "meetings overlap, and nothing is lost: {moved}");
    let distances = score(&outcome(&pairs, &world, Options::default()), "consensus_distance");
    assert!(distances[29] < 0.02 * distances[0], "{distances:?}");
}

#[test]
fn a_model_that_is_not_finite_is_refused_and_said_to_have_diverged() {
    let params = params("training: (learning_rate: 1e30), topology: Complete(), rounds: 3");
    let ended = outcome(&params, &World::ideal(), Options::default());
    assert!(counted(&ended, "refused_models") > 0);
    assert!(
        ended.warnings.iter().any(|warning| warning.contains("not finite")),
        "{:?}",
        ended.warnings
    );
}

#[test]
fn what_links_carried_is_what_the_ledger_says_was_delivered() {
    let params = params(&format!(
        "topology: Ring(), {PLAIN}, rounds: 4, timeout_s: 1, keep_links: true"
    ));
    let ended = outcome(&params, &rough(0.3), Options::default());
    let table = ended
        .artifacts
        .iter()
        .find(|artifact| artifact.path == "links.csv")
        .unwrap();
    let text = String::from_utf8(table.bytes.clone()).unwrap();
    let models: u64 = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap().parse::<u64>().unwrap())
        .sum();
    let delivered: u64 = ended
        .tables
        .messages
        .iter()
        .filter(|row| row.kind == "model")
        .map(|row| row.delivered)
        .sum();
    assert_eq!(models, delivered);
    assert!(models > 0 && text.starts_with("from,to,models,payload_bytes\n"));
    let ring = |line: &str| {
        let ends: Vec<u32> = line.split(',').take(2).map(|end| end.parse().unwrap()).collect();
        [1, N_CLIENTS - 1].contains(&ends[0].abs_diff(ends[1]))
    };
    assert!(text.lines().skip(1).all(ring), "{text}");
}

#[test]
fn links_that_fall_into_parts_are_refused_before_the_run() {
    let (dataset, partition) = unlike::data(MIN_SIZE);
    let source = Source::new(&dataset, &partition, Streams::new(SEED));
    let refused = params("topology: ErdosRenyi(degree: 0.4)")
        .prepare(&source)
        .err()
        .unwrap();
    let text = refused.to_string();
    assert!(
        text.starts_with("Gossip: topology: ") && text.contains("raise topology.degree"),
        "{text}"
    );
}
