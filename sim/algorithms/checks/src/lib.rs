//! What every algorithm must keep, for tests to call: a client sees its own shard and what it is
//! sent, under every setting that changes what is sent ([`holds`]); its numbers are those of
//! trusted libraries ([`golden`]); and its cards run as they should ([`cards`]).
//!
//! Two runs of one seed differ in what the *other* clients hold: their graphs, edges, features and
//! classes, as proptest draws them. How many clients and items there are, and the declared public
//! facts, are the same. Client 0 and the server are then followed message by message. What either
//! sends is a function of what it holds and of what it has received, so the first difference
//! between the two runs must be something that reached it, never something it sent: until then what
//! it sends is equal to the bit, at the same instant.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test that called")]

pub mod cards;
pub mod data;
pub mod golden;
#[cfg(test)]
mod planted;

pub use data::{Change, Two};

use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Options;
use folkmoot_engine::world::devices;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_scenarios::registry::Registry;
use proptest::test_runner::Config;
use proptest::{prop_assert, proptest};
use std::sync::{Arc, Mutex};

const SEED: u64 = 5;
const ME: Party = Party::Client(ClientId(0));

/// A message at one of its ends.
#[derive(Clone, PartialEq, Debug)]
struct Event {
    arrives: bool,
    at: SimTime,
    from: Party,
    to: Party,
    round: Round,
    kind: &'static str,
    bytes: Vec<u8>,
}

/// Writes down what client 0 and the server send and receive.
#[derive(Default)]
struct Ear(Mutex<Vec<Event>>);

fn encoded<M: Wire>(message: &M) -> (&'static str, Vec<u8>) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    let declared = M::KINDS.iter().find(|declared| declared.place == message.kind());
    (declared.unwrap().kind.name, bytes)
}

impl<S: Strategy> Evaluator<S> for Ear {
    fn overhear(&self, heard: &Heard<'_, S>) {
        let party = if heard.arrives { heard.to } else { heard.from };
        if party == ME || party == Party::Server {
            let (kind, bytes) = match heard.letter {
                Letter::Down(message) => encoded(message),
                Letter::Up(message) => encoded(message),
                Letter::Peer(message) => encoded(message),
            };
            self.0.lock().unwrap().push(Event {
                arrives: heard.arrives,
                at: heard.at,
                from: heard.from,
                to: heard.to,
                round: heard.round,
                kind,
                bytes,
            });
        }
    }
}

/// What is outside of a run's clients.
pub struct Run {
    facts: String,
    /// What a trusted party who sees all data did before the run.
    pub trusted: Option<&'static str>,
    events: Vec<Event>,
}

impl Run {
    /// What happened at one party, in its order.
    fn at(&self, party: Party) -> impl Iterator<Item = &Event> {
        let here = move |event: &&Event| party == if event.arrives { event.to } else { event.from };
        self.events.iter().filter(here)
    }
}

/// One run, with what client 0 and the server sent and received.
///
/// # Panics
///
/// When the settings are no legal ones or the run fails.
pub fn play<P: Algorithm>(params: &P, dataset: &Arc<Dataset>, partition: &Arc<Partition>) -> Run {
    assert!(params.broken().is_empty(), "{:?}", params.broken());
    let prepared = params
        .prepare(&Source::new(dataset, partition, Streams::new(SEED)))
        .unwrap();
    let (ear, system) = (Ear::default(), prepared.system());
    let trusted = system.shards.trusted();
    let world = World {
        devices: Box::new(devices::Constant { ops_per_s: 1e9 }),
        ..World::ideal()
    };
    let options = Options {
        wire_check: true,
        ..Options::default()
    };
    let overheard = System {
        evaluator: &ear,
        ..system
    };
    run(overheard, &world, SEED, options, &mut Unobserved).unwrap();
    Run {
        facts: ron::to_string(&prepared.facts).unwrap(),
        trusted,
        events: ear.0.into_inner().unwrap(),
    }
}

/// What two runs have in common at one party.
#[derive(Debug, PartialEq)]
pub struct Alike {
    /// The kinds of the messages it sent before anything differed, each once.
    pub sent: Vec<&'static str>,
    /// Whether something it received differed at last.
    pub parted: bool,
}

/// Follows one party until something differs.
fn follow(party: Party, [one, other]: [&Run; 2]) -> Result<Alike, String> {
    let mut sent = Vec::new();
    let (mut one, mut other) = (one.at(party), other.at(party));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return Ok(Alike { sent, parted: false }),
            (Some(a), Some(b)) if a == b => {
                if !a.arrives && !sent.contains(&a.kind) {
                    sent.push(a.kind);
                }
            }
            (a, b) => {
                // Whatever it does next in either run, it has the same reasons for, unless
                // something has reached it before that in the other.
                let at = |event: Option<&Event>| event.map_or(SimTime::NEVER, |event| event.at);
                let first = at(a).min(at(b));
                let spoke = |event: Option<&Event>| event.is_some_and(|event| !event.arrives && event.at == first);
                return match spoke(a) || spoke(b) {
                    true => Err(format!("{party} tells of what it cannot know: {a:?} and {b:?}")),
                    false => Ok(Alike { sent, parted: true }),
                };
            }
        }
    }
}

/// Runs both and follows client 0 and the server, who may speak of all data where a declared set-up
/// has told it of them.
///
/// # Errors
///
/// What either tells of that it cannot know.
pub fn check<P: Algorithm>(params: &P, two: &Two) -> Result<[Alike; 2], String> {
    let runs = [&two.one, &two.other].map(|dataset| play(params, dataset, &two.partition));
    let [one, other] = &runs;
    if one.facts != other.facts {
        return Err(format!("facts that all know differ: {} and {}", one.facts, other.facts));
    }
    let client = follow(ME, [one, other])?;
    let server = match (follow(Party::Server, [one, other]), one.trusted) {
        (Err(_), Some(_)) => Alike {
            sent: Vec::new(),
            parted: true,
        },
        (followed, _) => followed?,
    };
    Ok([client, server])
}

/// Checks settings on data that differ everywhere else, where the difference must be seen to
/// arrive, and on what proptest draws.
///
/// # Panics
///
/// When a client or the server tells of what it cannot know.
pub fn holds<P: Algorithm>(registry: &Registry, make: fn(Change) -> Two, cases: &[(&str, &[&str])]) {
    let all: Vec<(P, &str, &[&str])> = cases
        .iter()
        .map(|(text, sent)| (registry.settings(text).unwrap(), *text, *sent))
        .collect();
    for (params, text, sent) in &all {
        let [client, server] =
            check(params, &make(Change::everything(101))).unwrap_or_else(|leak| panic!("{text}: {leak}"));
        assert_eq!(
            client.sent, *sent,
            "{text}: what client 0 sends before it learns of others"
        );
        assert!(server.parted, "{text}: the others' data change nothing");
    }
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(6)
    };
    proptest!(config, |(change in data::changes())| {
        let two = make(change);
        for (params, text, _) in &all {
            let followed = check(params, &two);
            prop_assert!(followed.is_ok(), "{text}: {followed:?}");
        }
    });
}
