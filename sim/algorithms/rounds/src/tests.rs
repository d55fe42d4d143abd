//! Rounds of a task small enough to follow by hand: a client adds its constant to every number.

use super::*;
use folkmoot_draws::SimRng;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_engine::world::{Dist, DropoutSpec, availability, cohort, devices};
use folkmoot_learning::Init;
use folkmoot_learning::Layout;
use folkmoot_parts::Chosen;
use folkmoot_privacy::NoisyCounts;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Client `c` adds `c + 1` to both numbers, has `c` samples and more, and works `c + 1` operations.
#[derive(Clone, Default)]
pub(super) struct Toy {
    pub(super) n_clients: u32,
    /// Who sends NaN in round 1.
    pub(super) spoilt: Option<u32>,
    /// Answers come with an extra in every second round.
    pub(super) with_extras: bool,
    /// Samples that every client has.
    pub(super) least_samples: u32,
    pub(super) layout: Layout,
}

/// Two numbers, of which the last so many do not learn.
pub(super) fn two(n_statistics: usize) -> Layout {
    let mut layout = Layout::new();
    layout.weight("learns", 1, 2 - n_statistics, Init::Zeros);
    layout.buffer("reports", 1, n_statistics, Init::Zeros);
    layout
}

/// What is sent beside an update: who from, padded to 100 bytes, so that it takes longer than the
/// update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note(u32);

impl Extra for Note {
    const NAME: &'static str = "note";
}

impl Payload for Note {
    fn encoded_len(&self) -> usize {
        100
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.0]);
        put_u32s(out, &[0; 24]);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let note = Note(reader.u32()?);
        reader.rest();
        Ok(note)
    }
}

/// Whether a note is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Wanted(bool);

impl Order for Wanted {}

impl Payload for Wanted {
    fn encoded_len(&self) -> usize {
        1
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.0));
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Wanted(reader.u8()? == 1))
    }
}

/// What each client holds: its number.
#[derive(Clone, Copy)]
pub(super) struct Numbers(pub(super) u32);

impl Shards<Rounds<Toy, Notes>> for Numbers {
    fn n_clients(&self) -> u32 {
        self.0
    }

    fn shard(&self, client: ClientId) -> u32 {
        client.0
    }

    fn size(&self, _: ClientId) -> u64 {
        1
    }
}

const NOTE: Channel = Channel::new(0, Purpose(*b"test-not"));
const THING: Channel = Channel::new(1, Purpose(*b"test-thi"));
const KEPT: Channel = Channel::kept(1, Purpose(*b"test-kep"));

/// A note costs 0.5. Besides, every training releases three things at 0.25 each, and the first one
/// two at 1 for good.
fn releases(task: &Task<'_, '_, Toy>, wants_note: bool) -> Receipt {
    let mut releases = task.releases();
    let mut release = |channel, item, epsilon| {
        let noise = NoisyCounts::new(epsilon, 1.0, "one client").unwrap();
        releases.release(channel, item, &noise, &[0.0]).unwrap();
    };
    (0..3).for_each(|item| release(THING, item, 0.25));
    (0..2).for_each(|item| release(KEPT, item, 1.0));
    if wants_note {
        release(NOTE, 0, 0.5);
    }
    releases.receipt()
}

impl Toy {
    fn wants_note(&self, round: Round) -> bool {
        self.with_extras && round.0 % 2 == 1
    }
}

impl Trainer for Toy {
    type Shard<'a> = u32;
    type ClientState = u32;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_samples(&self, client: u32) -> u32 {
        client + self.least_samples
    }

    fn cost(&self, client: u32, _: Round) -> f64 {
        f64::from(client) + 1.0
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<u32> {
        let is_spoilt = self.spoilt == Some(task.shard) && task.round() == Round(1);
        let add = if is_spoilt { f32::NAN } else { task.shard as f32 + 1.0 };
        let wants_note = self.wants_note(task.round());
        Trained {
            receipt: releases(&task, wants_note),
            kept: wants_note.then_some(task.round().0),
            ..Trained::model(task.parameters.iter().map(|x| x + add).collect())
        }
    }
}

/// Notes in every second round of a toy [`with_extras`](Toy::with_extras).
pub(super) struct Notes(bool);

impl SidePayload<Toy> for Notes {
    type Order = Wanted;
    type Extra = Note;
    type ServerState = Vec<(u32, u32)>;

    fn order(&self, toy: &Toy, round: Round, _: &Vec<(u32, u32)>) -> Wanted {
        Wanted(toy.wants_note(round))
    }

    fn is_due(&self, round: Round) -> bool {
        self.0 && round.0 % 2 == 1
    }

    fn train(&self, toy: &Toy, task: Task<'_, '_, Toy>, order: &Wanted) -> (Trained<u32>, Option<Note>) {
        let note = order.0.then_some(Note(task.shard));
        (toy.train(task), note)
    }

    fn placeholder(&self, toy: &Toy, task: Task<'_, '_, Toy>, _: &Wanted) -> (Trained<u32>, Option<Note>) {
        (toy.placeholder(task), None)
    }

    fn collect(
        &self,
        collected: &mut Vec<(u32, u32)>,
        client: ClientId,
        round: Round,
        note: Note,
    ) -> Result<(), StrategyError> {
        assert_eq!(note, Note(client.0));
        collected.push((round.0, client.0));
        Ok(())
    }
}

/// A model that begins as 0 and 10.
struct Start;

impl Personalisation<Toy> for Start {
    fn initial(&self, _: &Toy, _: &mut SimRng) -> Vec<f32> {
        vec![0.0, 10.0]
    }
}

/// Rounds of a toy.
pub(super) fn rounds(toy: Toy, protocol: Protocol) -> Rounds<Toy, Notes> {
    let info = |name: &str| MechanismInfo {
        mechanism: name.to_owned(),
        unit: "one client".to_owned(),
        claimed: None,
    };
    let notes = Notes(toy.with_extras);
    let alone = if notes.0 {
        Err("clients also send extras")
    } else {
        Ok(())
    };
    Rounds::new(toy, protocol)
        .with_payload(notes)
        .personalised(Arc::new(Start))
        .with_reports(Reports {
            cost: |_, metric| (metric == "loss").then_some(0.5),
            // Client `c` has a loss of `c`.
            metric: |_, client, _, _| client as f32,
        })
        .with_mechanisms(vec![info("note"), info("thing")])
        .sending_model_alone(alone)
}

/// Sees the model and what was collected and kept.
struct Watch;

impl RoundEvaluator<Toy, Notes> for Watch {
    fn after_round(&self, _: &Toy, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        sheet.score("all", "first", f64::from(parameters[0]), 1);
    }

    fn at_end(&self, end: &RoundEnd<'_, Toy, Notes>, sheet: &mut Sheet) {
        let kept = (0..end.trainer.n_clients).filter_map(|id| end.kept(ClientId(id)));
        sheet.number("notes", end.collected.len() as f64);
        sheet.number("second", f64::from(end.parameters[1]));
        let left_out = (0..end.trainer.n_clients).flat_map(|id| end.left_out(ClientId(id)));
        sheet.number("left_out", left_out.map(|x| f64::from(*x)).sum::<f64>());
        sheet.number("last_kept", kept.max().map_or(-1.0, |round| f64::from(*round)));
    }
}

pub(super) fn toy(n_clients: u32) -> Toy {
    Toy {
        n_clients,
        layout: two(0),
        ..Toy::default()
    }
}

pub(super) fn protocol(rounds: u32) -> Protocol {
    Protocol {
        rounds,
        ..Protocol::default()
    }
}

pub(super) fn try_play(task: Toy, protocol: Protocol, world: &World, options: Options) -> Result<Outcome, RunError> {
    let n_clients = task.n_clients;
    let system = System {
        strategy: &rounds(task, protocol),
        shards: &Numbers(n_clients),
        evaluator: &Watched(Watch),
    };
    run(system, world, 5, options, &mut Unobserved)
}

pub(super) fn play(task: Toy, protocol: Protocol, world: &World) -> Outcome {
    let outcome = try_play(task, protocol, world, Options::default());
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

/// The first number after each round.
pub(super) fn firsts(outcome: &Outcome) -> Vec<f64> {
    let rows = outcome.tables.scores.iter().filter(|row| row.metric == "first");
    rows.map(|row| row.value).collect()
}

pub(super) fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

/// All that a result consists of.
pub(super) fn everything(outcome: Outcome) -> String {
    let Outcome {
        ledger,
        tables,
        summary,
        artifacts,
        ..
    } = outcome;
    format!("{ledger:?} {tables:?} {summary:?} {artifacts:?}")
}

/// Client `c` takes `c + 1` seconds.
pub(super) fn slow() -> World {
    World {
        devices: Box::new(devices::Constant { ops_per_s: 1.0 }),
        ..World::ideal()
    }
}

#[test]
fn means_are_weighted_by_samples_or_not() {
    // Clients 0 to 3 add 1 to 4 and weigh 0 to 3: (2 + 6 + 12) / 6.
    let outcome = play(toy(4), protocol(2), &World::ideal());
    assert_eq!(
        firsts(&outcome),
        [20.0 / 6.0, 40.0 / 6.0].map(|x: f64| f64::from(x as f32))
    );
    assert!((number(&outcome, "second") - 10.0 - 40.0 / 6.0).abs() < 1e-5);
    // Client 0 has learned from nothing.
    let uniform = Protocol {
        weighting: Weighting::Uniform,
        ..protocol(1)
    };
    assert_eq!(firsts(&play(toy(4), uniform, &World::ideal())), [3.0]);
}

#[test]
fn one_update_is_the_new_model_and_none_leaves_the_old_one() {
    let one = World {
        cohort: Box::new(cohort::Size { n: 1, over_select: 1.0 }),
        ..World::ideal()
    };
    let outcome = play(toy(50), protocol(1), &one);
    let round = &outcome.tables.rounds[0];
    assert_eq!((round.cohort, round.completed), (1, 1));
    assert_eq!(firsts(&outcome)[0].fract(), 0.0);
    // A single client without samples: its update weighs nothing.
    let outcome = play(toy(1), protocol(3), &World::ideal());
    assert_eq!(firsts(&outcome), [0.0; 3]);
    assert_eq!(number(&outcome, "rounds_without_update"), 3.0);
    // Nobody is ever there.
    let away = World {
        availability: Box::new(availability::Bernoulli { online_prob: 0.0 }),
        ..World::ideal()
    };
    let outcome = play(toy(4), protocol(3), &away);
    assert_eq!(firsts(&outcome), [0.0; 3]);
    assert_eq!(number(&outcome, "lost_models"), 12.0);
    assert!(
        outcome
            .tables
            .rounds
            .iter()
            .all(|row| (row.completed, row.dropped) == (0, 4))
    );
}

#[test]
fn an_update_with_nan_is_refused_and_named() {
    let task = Toy {
        spoilt: Some(2),
        ..toy(4)
    };
    let outcome = play(task, protocol(3), &World::ideal());
    assert_eq!(number(&outcome, "refused_updates"), 1.0);
    let table = outcome
        .artifacts
        .iter()
        .find(|a| a.path == "refused_updates.csv")
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&table.bytes),
        "client,round,index,value\n2,1,0,NaN\n"
    );
    let completed: Vec<u64> = outcome.tables.rounds.iter().map(|row| row.completed).collect();
    assert_eq!(completed, [4, 3, 4]);
    // Without client 2: (2 + 12) / 4.
    let steps: Vec<f64> = firsts(&outcome).windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        (steps[0] - 3.5).abs() < 1e-5 && (steps[1] - 20.0 / 6.0).abs() < 1e-5,
        "{steps:?}"
    );
    assert!(play(toy(4), protocol(3), &World::ideal()).artifacts.is_empty());
}

#[test]
fn a_late_update_is_counted_but_not_aggregated() {
    let world = World {
        deadline: Some(SimSpan::from_secs(3.5)),
        ..slow()
    };
    let outcome = play(toy(5), protocol(2), &world);
    // Clients 3 and 4 take 4 and 5 seconds; 0, 1 and 2 are in time: (2 + 6) / 3.
    assert!((firsts(&outcome)[0] - 8.0 / 3.0).abs() < 1e-6);
    let first = &outcome.tables.rounds[0];
    assert_eq!((first.cohort, first.completed, first.dropped, first.late), (5, 3, 0, 2));
    assert!((first.virtual_s - 3.5).abs() < 1e-6);
    let strict = Protocol {
        min_updates: 4,
        ..protocol(2)
    };
    let outcome = play(toy(5), strict.clone(), &world);
    assert_eq!(firsts(&outcome), [0.0; 2]);
    assert_eq!(number(&outcome, "rounds_without_update"), 2.0);
    let error = try_play(toy(3), strict, &World::ideal(), Options::default())
        .err()
        .unwrap();
    assert!(error.to_string().contains("must be at most 3"), "{error}");
}

#[test]
fn what_comes_first_counts_where_speeds_differ() {
    let world = World {
        cohort: Box::new(cohort::Size { n: 2, over_select: 3.0 }),
        ..slow()
    };
    let outcome = play(toy(6), protocol(1), &world);
    // Clients 0 and 1 are the fastest; client 0 weighs nothing.
    assert_eq!(firsts(&outcome), [2.0]);
    assert_eq!(
        (outcome.tables.rounds[0].completed, outcome.tables.rounds[0].dropped),
        (2, 4)
    );
}

#[test]
fn an_absent_client_is_given_up_or_waited_for() {
    let world = World {
        availability: Box::new(availability::Bernoulli { online_prob: 0.5 }),
        ..World::ideal()
    };
    let outcome = play(toy(40), protocol(10), &world);
    let lost = number(&outcome, "lost_models");
    assert!((120.0..280.0).contains(&lost), "{lost}");
    let total = outcome.ledger.total();
    assert_eq!(total.sent, 400 + 400 - lost as u64);
    let wait = Protocol {
        absent: Absent::Wait,
        ..protocol(10)
    };
    let outcome = play(toy(40), wait, &world);
    assert_eq!(number(&outcome, "lost_models"), 0.0);
    assert!(outcome.tables.rounds.iter().map(|row| row.late).sum::<u64>() > 0);
}

#[test]
fn a_client_that_leaves_in_mid_round_does_not_hold_the_round_up() {
    let world = World {
        dropout: DropoutSpec {
            prob: 0.5,
            ..DropoutSpec::default()
        },
        ..slow()
    };
    for aggregation in [
        Aggregation::Synchronous,
        Aggregation::Buffered {
            size: 5,
            discount: Discount::None,
        },
    ] {
        let protocol = Protocol {
            aggregation,
            ..protocol(8)
        };
        let outcome = play(toy(20), protocol, &world);
        assert_eq!(outcome.tables.rounds.len(), 8);
        assert!(firsts(&outcome)[7] > 0.0);
    }
}

#[test]
fn a_round_waits_for_extras_and_collects_them() {
    let task = Toy {
        with_extras: true,
        ..toy(6)
    };
    let latency = |ms| LinkClass {
        latency_ms: Dist::Exponential { mean: ms, min: 1.0 },
        ..LinkClass::default()
    };
    let links = Links {
        uplink: latency(500.0),
        downlink: latency(50.0),
        ..Links::default()
    };
    let world = World {
        network: Box::new(links),
        ..World::ideal()
    };
    let outcome = play(task, protocol(4), &world);
    assert_eq!(number(&outcome, "notes"), 12.0, "those of the last round too");
    assert!(outcome.tables.rounds.iter().all(|row| row.completed == 6));
    let bytes = |name: &str| {
        let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
        rows.map(|(.., cell)| cell.payload_bytes).sum::<u64>()
    };
    assert_eq!(
        [bytes("model"), bytes("update"), bytes("note")],
        [24 * 9, 24 * 12, 12 * 100]
    );
    assert_eq!(
        (
            outcome.tables.privacy[1].releases,
            outcome.tables.privacy[1].epsilon_max_client
        ),
        (12, 1.0)
    );
    // Four times three things, one in parallel, and two once: 14 releases a client, of which each
    // thing bears 4 × 0.25 + 1.
    let things = &outcome.tables.privacy[2];
    assert_eq!((things.releases, things.epsilon_max_client), (6 * 14, 2.0));
    assert_eq!(
        (things.epsilon_per_release, things.epsilon_mean_client),
        (5.0 / 14.0, 2.0)
    );
    assert_eq!(outcome.tables.privacy[0].epsilon_max_client, f64::INFINITY);
}

#[test]
fn threads_windows_and_encoding_do_not_matter() {
    let world = || World {
        cohort: Box::new(cohort::Size {
            n: 20,
            over_select: 1.5,
        }),
        availability: Box::new(availability::Bernoulli { online_prob: 0.8 }),
        dropout: DropoutSpec {
            prob: 0.1,
            ..DropoutSpec::default()
        },
        deadline: Some(SimSpan::from_secs(60.0)),
        ..slow()
    };
    for aggregation in [
        Aggregation::Synchronous,
        Aggregation::Buffered {
            size: 7,
            discount: Discount::InverseRoot,
        },
    ] {
        let task = Toy {
            with_extras: true,
            spoilt: Some(3),
            ..toy(60)
        };
        let protocol = Protocol {
            aggregation,
            server_optimizer: Chosen::new(Yogi {
                learning_rate: 0.1,
                ..Yogi::default()
            }),
            ..protocol(12)
        };
        let print = |options| everything(try_play(task.clone(), protocol.clone(), &world(), options).unwrap());
        let first = print(Options::default());
        for (threads, windows, wire_check) in [(2, true, true), (1, false, false), (8, true, false)] {
            let options = Options {
                threads,
                windows,
                wire_check,
                ..Options::default()
            };
            assert!(print(options) == first, "{aggregation:?} {options:?}");
        }
    }
}

#[test]
fn a_model_that_overflows_ends_the_run_with_its_round() {
    let protocol = Protocol {
        server_optimizer: Chosen::new(Momentum {
            learning_rate: 1e38,
            beta: 0.9,
        }),
        ..protocol(9)
    };
    let error = try_play(toy(4), protocol, &World::ideal(), Options::default())
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .contains("lower protocol.server_optimizer.learning_rate"),
        "{error}"
    );
}
