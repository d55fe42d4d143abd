//! An exchange small enough to follow by hand: clients on a ring hold a number each, and train with
//! the sum of their neighbours'.

use super::tests::{firsts, protocol, slow};
use super::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::{availability, cohort};
use folkmoot_learning::Init;
use folkmoot_learning::Layout;
use serde::{Deserialize, Serialize};

/// Which way numbers go.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// To the server, which answers with the sum of the two neighbours' numbers.
    Server,
    /// To both neighbours; a client is ready when it has heard both.
    Peers,
    /// Masked to the server, which answers with the sum of all.
    Sums,
}

struct Ring {
    layout: Layout,
    n_clients: u32,
    way: Way,
    /// Operations that it takes a client to make something of what another says.
    effort: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Number(u32);

impl Extra for Number {
    const NAME: &'static str = "number";
}

impl Payload for Number {
    fn encoded_len(&self) -> usize {
        4
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.0]);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Number(reader.u32()?))
    }
}

/// What a client has heard, and from how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sum(u32, u32);

fn one() -> Layout {
    let mut layout = Layout::new();
    layout.weight("one", 1, 1, Init::Zeros);
    layout
}

impl Ring {
    fn neighbours(&self, client: u32) -> [ClientId; 2] {
        let n = self.n_clients;
        [(client + n - 1) % n, (client + 1) % n].map(ClientId)
    }
}

impl Trainer for Ring {
    type Shard<'a> = u32;
    type ClientState = Sum;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_samples(&self, _: u32) -> u32 {
        1
    }

    fn cost(&self, _: u32, _: Round) -> f64 {
        1.0
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Sum> {
        let add = task.kept.map_or(1000, |sum| sum.0);
        Trained::model(task.parameters.iter().map(|x| x + add as f32).collect())
    }
}

/// Numbers on their way round the ring.
struct Passing;

impl Exchange<Ring> for Passing {
    type Message = Number;
    type ServerState = ();

    fn statistics(&self, _: &Ring, client: u32) -> Vec<f64> {
        vec![f64::from(client)]
    }

    fn effort(&self, ring: &Ring, _: u32, _: Option<&Sum>, heard: &Heard<Number>) -> f64 {
        match heard {
            Heard::Opening => 0.0,
            Heard::Server(_) | Heard::Client(..) => ring.effort,
        }
    }

    fn prepare(&self, ring: &Ring, preparation: Preparation<'_, '_, Ring, Number>, _: bool) -> Says<Number, Sum> {
        self.tell(ring, preparation.shard, preparation.kept, preparation.heard.clone())
    }

    fn tell(&self, ring: &Ring, client: u32, kept: Option<&Sum>, heard: Heard<Number>) -> Says<Number, Sum> {
        let Sum(sum, n) = kept.copied().unwrap_or_default();
        match heard {
            Heard::Opening if ring.way == Way::Server => Says {
                to_server: Some(Number(client)),
                ..Says::nothing()
            },
            Heard::Opening if ring.way == Way::Peers => Says {
                to_clients: ring.neighbours(client).map(|to| (to, Number(client))).to_vec(),
                ..Says::nothing()
            },
            Heard::Opening => Says::nothing(),
            Heard::Server(Number(number)) => Says {
                kept: Some(Sum(number, 2)),
                ..Says::ready()
            },
            Heard::Client(from, Number(number)) => {
                assert!(ring.neighbours(client).contains(&from) && number == from.0);
                Says {
                    kept: Some(Sum(sum + number, n + 1)),
                    is_ready: n + 1 == 2,
                    ..Says::nothing()
                }
            }
        }
    }

    fn answer(
        &self,
        ring: &Ring,
        (): &mut (),
        gathered: Gathered<Number>,
    ) -> Result<Vec<(ClientId, Number)>, StrategyError> {
        Ok(match gathered {
            Gathered::Each(told) => {
                let of = |id: ClientId| {
                    told.iter()
                        .find(|(from, _)| *from == id)
                        .map_or(0, |(_, number)| number.0)
                };
                let sum = |id: u32| ring.neighbours(id).into_iter().map(of).sum();
                told.iter().map(|(id, _)| (*id, Number(sum(id.0)))).collect()
            }
            Gathered::Sums(sums) if ring.way == Way::Sums => {
                let all = Number(sums[0].round() as u32);
                (0..ring.n_clients).map(|id| (ClientId(id), all.clone())).collect()
            }
            Gathered::Sums(_) => Vec::new(),
        })
    }
}

fn rounds(ring: Ring, protocol: Protocol) -> Rounds<Ring, (), Passing> {
    Rounds::new(ring, protocol).with_exchange(Some(Passing))
}

struct Numbers(u32);

impl Shards<Rounds<Ring, (), Passing>> for Numbers {
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

struct Watch;

impl RoundEvaluator<Ring, (), Passing> for Watch {
    fn after_round(&self, _: &Ring, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        sheet.score("all", "first", f64::from(parameters[0]), 1);
    }

    fn at_end(&self, end: &RoundEnd<'_, Ring, (), Passing>, sheet: &mut Sheet) {
        let heard = (0..end.trainer.n_clients).filter_map(|id| end.kept(ClientId(id)));
        sheet.number("heard", heard.map(|sum| f64::from(sum.1)).sum());
    }
}

fn play(way: Way, protocol: Protocol, world: &World) -> Result<Outcome, RunError> {
    play_with(0.0, way, protocol, world)
}

fn play_with(effort: f64, way: Way, protocol: Protocol, world: &World) -> Result<Outcome, RunError> {
    let n_clients = 5;
    let ring = Ring {
        layout: one(),
        n_clients,
        way,
        effort,
    };
    let system = System {
        strategy: &rounds(ring, protocol),
        shards: &Numbers(n_clients),
        evaluator: &Watched(Watch),
    };
    let options = Options {
        wire_check: true,
        ..Options::default()
    };
    run(system, world, 5, options, &mut Unobserved)
}

/// Messages and payload bytes of a kind, with its phase.
fn sent(outcome: &Outcome, name: &str) -> (u64, u64) {
    let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
    rows.fold((0, 0), |(n, bytes), (kind, .., cell)| {
        assert_eq!(kind.phase, "exchange");
        (n + cell.sent, bytes + cell.payload_bytes)
    })
}

#[test]
fn training_begins_when_all_have_what_they_need() {
    // On the ring of 5 every number is a neighbour's of two: the mean of the sums is 2 * 10 / 5.
    for (way, n) in [(Way::Server, 10), (Way::Peers, 10)] {
        let outcome = play(way, protocol(3), &World::ideal()).unwrap();
        assert_eq!(firsts(&outcome), [0.0, 4.0, 8.0], "{way:?}");
        assert_eq!(sent(&outcome, "number"), (n, 4 * n));
        assert_eq!(sent(&outcome, "ready"), (5, 0));
        assert_eq!(
            (outcome.tables.rounds[0].cohort, outcome.tables.rounds[0].completed),
            (5, 5)
        );
        let row = outcome
            .tables
            .privacy
            .iter()
            .find(|row| row.mechanism == "none: number")
            .unwrap();
        assert_eq!(row.releases, if way == Way::Peers { 10 } else { 5 });
    }
}

#[test]
fn masked_numbers_come_to_their_sum_and_go_nowhere_else() {
    let secure = Protocol {
        secure: Secure::Pairwise { threshold: 0.6 },
        ..protocol(3)
    };
    let outcome = play(Way::Sums, secure.clone(), &World::ideal()).unwrap();
    assert_eq!(firsts(&outcome), [0.0, 10.0, 20.0]);
    // The answers alone: what clients told is masked.
    assert_eq!(sent(&outcome, "number"), (5, 20));
    // Among clients nothing needs a mask, and training waits for the slower of both.
    let outcome = play(Way::Peers, secure, &World::ideal()).unwrap();
    assert_eq!(firsts(&outcome), [0.0, 4.0, 8.0]);
    assert_eq!(sent(&outcome, "ready"), (5, 0));
}

#[test]
fn an_exchange_asks_all_though_a_round_asks_few() {
    let few = World {
        cohort: Box::new(cohort::Size { n: 2, over_select: 1.0 }),
        ..slow()
    };
    let outcome = play(Way::Server, protocol(2), &few).unwrap();
    assert_eq!(
        (outcome.tables.rounds[0].cohort, outcome.tables.rounds[1].cohort),
        (5, 2)
    );
    assert!(firsts(&outcome)[1] < 1000.0, "everybody knows its sum");
}

#[test]
fn who_hears_nothing_trains_on_what_it_has_and_an_exchange_with_nobody_ends_the_run() {
    let away = |online_prob| World {
        availability: Box::new(availability::Bernoulli { online_prob }),
        deadline: Some(SimSpan::from_secs(10.0)),
        ..World::ideal()
    };
    let given_up = Protocol {
        absent: Absent::GiveUp,
        ..protocol(40)
    };
    let some = play(Way::Server, given_up.clone(), &away(0.5)).unwrap();
    let completed = some.tables.rounds[0].completed;
    assert!((1..5).contains(&completed), "{completed}");
    let steps: Vec<f64> = firsts(&some).windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        steps.iter().any(|step| *step > 100.0),
        "one who was away then trains without"
    );
    let error = play(Way::Server, given_up, &away(0.0)).err().unwrap().to_string();
    assert!(
        error.contains("no client got what the first round exchanges"),
        "{error}"
    );
}

#[test]
fn an_exchange_needs_a_round_before_training() {
    let task = || Ring {
        layout: one(),
        n_clients: 3,
        way: Way::Server,
        effort: 0.0,
    };
    let error = rounds(task(), protocol(1)).check().unwrap_err().to_string();
    assert!(error.starts_with("protocol.rounds: must be at least 2"), "{error}");
}

/// An effort changes when things are said and nothing of what is said: who hears two at a time
/// works on one after the other.
#[test]
fn what_takes_effort_is_work_of_a_device_one_thing_after_the_other() {
    for (way, seconds) in [(Way::Server, 3.0), (Way::Peers, 6.0)] {
        let at_once = play(way, protocol(3), &slow()).unwrap();
        let worked = play_with(3.0, way, protocol(3), &slow()).unwrap();
        assert_eq!(firsts(&worked), firsts(&at_once), "{way:?}");
        assert_eq!(sent(&worked, "number"), sent(&at_once, "number"));
        assert_eq!(sent(&worked, "ready"), (5, 0));
        let later = worked.tables.rounds[0].virtual_s - at_once.tables.rounds[0].virtual_s;
        assert!((later - seconds).abs() < 1e-6, "{later} s later, {way:?}");
    }
}

/// Whoever has a deadline before it is done trains on what it has.
#[test]
fn work_that_lasts_beyond_the_deadline_is_not_waited_for() {
    let hurried = World {
        deadline: Some(SimSpan::from_secs(2.0)),
        ..slow()
    };
    let error = play_with(3.0, Way::Server, protocol(3), &hurried)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("raise deadline_ms"), "{error}");
}
