//! The engine on a strategy with relays, jobs, timers, counters, absences and retries.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "engine/checkpoints.rs"]
mod checkpoints;
#[path = "engine/contexts.rs"]
mod contexts;
#[path = "engine/links.rs"]
mod links;
#[path = "engine/silence.rs"]
mod silence;
#[path = "reference/stops.rs"]
mod stops;

use folkmoot_draws::{StreamName, index};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{AccessRates, Link, LinkClass, Links, Network, Verdict};
use folkmoot_engine::world::{
    Availability, Dist, DropoutSpec, OutageSpec, Presence, PresenceCursor, availability, cohort, devices,
};
use folkmoot_privacy::{Mechanism, NoiseForm, PrivacyCost, ReleaseError};
use serde::{Deserialize, Serialize};

/// Tokens are passed from client to client; each holder works on them, and the last one reports to
/// the server.
struct Relay {
    rounds: u32,
    hops: u32,
    absence: Absence,
}

messages! {
    enum Down {
        0, "relay", "begin" => Begin,
    }
}

messages! {
    /// To the server.
    enum Up {
        /// What a token came to.
        2, "relay", "report" => Report(value: u32),
    }
}

messages! {
    /// Between clients.
    enum Peer {
        /// A token with the hops it has left.
        1, "relay", "token" => Token(hops: u32, value: u32),
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Server {
    needed: u64,
    reports: u64,
    sum: u64,
}

#[derive(Default, Serialize, Deserialize)]
struct Client {
    log: u64,
    tokens: u64,
}

const HOP: Purpose = Purpose(*b"hop     ");
const TOY: Channel = Channel::new(0, Purpose(*b"toy     "));

/// A number with noise, at half an epsilon.
struct Toy;

impl Mechanism for Toy {
    type Input = u32;
    type Release = u32;

    fn release_in(&self, _: NoiseForm, value: &u32, rng: &mut SimRng) -> Result<u32, ReleaseError> {
        match *value {
            u32::MAX => Err(ReleaseError::Empty),
            value => Ok(value ^ index(rng, 1 << 20) as u32),
        }
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost {
            epsilon: 0.5,
            delta: 0.0,
            unit: "hop",
        }
    }
}

impl Strategy for Relay {
    type Down = Down;
    type Up = Up;
    type Peer = Peer;
    type Shard<'a> = ();
    type Work = (u32, u32);
    type Done = (u32, u32);
    type Server = Server;
    type Client = Client;
    type Sight = u32;

    const COUNTERS: &'static [&'static str] = &["timers", "told", "even"];

    fn server(&self, _: &Setup<'_>) -> Result<Server, StrategyError> {
        Ok(Server::default())
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::default())
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            ServerEvent::Start => return self.begin(server, cx),
            ServerEvent::Message {
                message: Up::Report(value),
                ..
            } => {
                server.sum = server.sum.wrapping_mul(31).wrapping_add(u64::from(value));
                if cx.event_round() == cx.round() {
                    server.reports += 1;
                } else {
                    cx.late(cx.event_round());
                }
            }
            _ => {}
        }
        let over = server.reports == server.needed || matches!(event, ServerEvent::Quiet);
        let due = matches!(event, ServerEvent::Timer(TimerId(round)) if round == cx.round().0);
        if over || due {
            let (cohort, completed) = (server.needed, server.reports);
            cx.round_done(RoundReport {
                cohort,
                completed,
                dropped: cohort - completed,
                staleness_mean: 0.0,
            });
            match cx.round().0 == self.rounds {
                true => cx.finish(),
                false => return self.begin(server, cx),
            }
        }
        Ok(())
    }

    fn on_client(
        &self,
        (): (),
        client: &mut Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        client.log = client.log.wrapping_mul(1_000_003).wrapping_add(cx.now().0);
        match event {
            ClientEvent::Message(Down::Begin) => {
                cx.timer(SimSpan::from_millis(3.0), TimerId(0));
                cx.compute((self.hops, 1), 50.0);
            }
            ClientEvent::Peer {
                message: Peer::Token(hops, value),
                ..
            } => {
                client.tokens += 1;
                cx.show(value);
                cx.compute((hops, value), 200.0);
            }
            ClientEvent::UndeliveredPeer {
                message: Peer::Token(hops, value),
                note,
                ..
            } => {
                cx.count(1, 1);
                cx.compute((hops, value + note), 10.0);
            }
            ClientEvent::Done((0, value)) => cx.send(Up::Report(value)),
            ClientEvent::Done((hops, value)) => {
                let to = index(&mut cx.rng(HOP), cx.n_clients() as usize) as u32;
                let noisy = cx.release(TOY, &Toy, &(value >> 1))?;
                cx.send_peer_noted(ClientId(to), Peer::Token(hops - 1, noisy), 7);
            }
            ClientEvent::Timer(_) => cx.count(0, 1),
            _ => {}
        }
        Ok(())
    }

    fn perform(&self, _: Option<()>, &(hops, value): &(u32, u32), _: &JobContext) -> (u32, u32) {
        (hops, value.wrapping_mul(2_654_435_761).rotate_left(5) ^ hops)
    }

    fn absence(&self, _: &Letter<Self>) -> Absence {
        self.absence
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let text = |text: &str| text.to_owned();
        vec![MechanismInfo {
            mechanism: text("toy"),
            unit: text("hop"),
            claimed: None,
        }]
    }
}

/// What the run comes to.
struct Log;

impl Evaluator<Relay> for Log {
    fn see(&self, value: u32, count: &mut dyn FnMut(usize, u64)) {
        count(2, u64::from(value.is_multiple_of(2)));
    }

    fn after_round(&self, ended: &Ended<'_, Relay>, sheet: &mut Sheet) {
        sheet.score("all", "reports", ended.server.reports as f64, u64::from(ended.round.0));
    }

    fn at_end(&self, end: &End<'_, Relay>, sheet: &mut Sheet) {
        let clients = || end.clients.iter().map(|(_, client)| client);
        let log = clients().fold(0u64, |log, client| log.rotate_left(7) ^ client.log);
        sheet.number("sum", (end.server.sum >> 12) as f64);
        sheet.number("log", (log >> 12) as f64);
        sheet.number("tokens", clients().map(|client| client.tokens as f64).sum());
    }
}

impl Relay {
    fn begin(&self, server: &mut Server, cx: &mut ServerContext<'_, Self>) -> Result<(), StrategyError> {
        let cohort = cx.cohort()?;
        server.needed = cohort.len() as u64;
        server.reports = 0;
        let round = cx.round();
        if let Some(deadline) = cx.deadline() {
            cx.timer(deadline, TimerId(round.0));
        }
        cohort.into_iter().for_each(|id| cx.send(id, Down::Begin));
        Ok(())
    }
}

const RELAY: Relay = Relay {
    rounds: 4,
    hops: 12,
    absence: Absence::Tell {
        after: SimSpan(30_000_000),
    },
};

/// Jitter, loss, narrow access links, slow devices, absences and dropout all at once.
fn rough_world(availability: impl Availability + 'static) -> World {
    let class = |median| LinkClass {
        latency_ms: Dist::LogNormal {
            median,
            sigma: 0.6,
            min: 2.0,
        },
        loss_prob: 0.05,
    };
    let links = Links {
        uplink: class(30.0),
        downlink: class(20.0),
        peer: class(25.0),
        up_bytes_per_s: Some(Dist::LogNormal {
            median: 2e4,
            sigma: 0.5,
            min: 1e3,
        }),
        down_bytes_per_s: Some(Dist::Constant(3e4)),
        server_up_bytes_per_s: Some(3e7),
        server_down_bytes_per_s: Some(2e7),
        max_retries: 1,
        retry_after_ms: 40.0,
        ..Links::default()
    };
    World {
        network: Box::new(links),
        devices: Box::new(devices::LogNormal {
            median_ops_per_s: 1e5,
            sigma: 0.4,
        }),
        availability: Box::new(availability),
        dropout: DropoutSpec {
            prob: 0.1,
            after_ms: Dist::Uniform { low: 0.0, high: 300.0 },
        },
        cohort: Box::new(cohort::Fraction {
            share: 0.6,
            over_select: 1.2,
        }),
        deadline: Some(SimSpan::from_millis(700.0)),
        header_bytes: 40,
        ..World::ideal()
    }
}

fn play(strategy: &Relay, world: &World, options: Options) -> Outcome {
    play_with(strategy, 1500, world, options)
}

fn play_with(strategy: &Relay, n_clients: u32, world: &World, options: Options) -> Outcome {
    try_play((strategy, n_clients), world, 11, options).unwrap()
}

fn try_play(
    (strategy, n_clients): (&Relay, u32),
    world: &World,
    seed: u64,
    options: Options,
) -> Result<Outcome, RunError> {
    let system = System {
        strategy,
        shards: &NoData(n_clients),
        evaluator: &Log,
    };
    run(system, world, seed, options, &mut Unobserved)
}

/// A network in which nothing arrives before time ends.
struct Endless;

impl Network for Endless {
    fn verdict(&self, _: Link, _: Bytes, _: StreamName) -> Verdict {
        Verdict {
            attempts: 1,
            arrives: true,
            after: SimSpan::FOREVER,
        }
    }

    fn access(&self, _: Party, _: Streams) -> AccessRates {
        AccessRates::default()
    }

    fn lookahead(&self) -> SimSpan {
        SimSpan(1)
    }
}

/// Everything an outcome holds, as text, so that a difference can be read.
fn print(outcome: &Outcome) -> String {
    format!(
        "{:#?} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?}",
        outcome.ledger,
        outcome.tables.rounds,
        outcome.summary,
        outcome.tables.scores,
        outcome.tables.privacy,
        outcome.tables.clients,
        outcome.counters,
        outcome.handled,
        outcome.end
    )
}

#[test]
fn threads_windows_and_encoding_change_nothing() {
    let worlds: [fn() -> World; 3] = [
        || rough_world(availability::Always {}),
        || rough_world(availability::Bernoulli { online_prob: 0.8 }),
        || {
            rough_world(availability::OnOff {
                mean_on_s: 0.5,
                mean_off_s: 0.2,
            })
        },
    ];
    for (i, world) in worlds.iter().enumerate() {
        for absence in [Absence::Wait, Absence::GiveUp, RELAY.absence] {
            let (strategy, world) = (Relay { absence, ..RELAY }, world());
            let first = print(&play(&strategy, &world, Options::default()));
            let mut others = vec![
                Options {
                    wire_check: true,
                    ..Options::default()
                },
                Options {
                    windows: false,
                    ..Options::default()
                },
                Options {
                    windows: false,
                    threads: 2,
                    wire_check: true,
                    ..Options::default()
                },
            ];
            others.extend([1, 2, 3, 8].map(|threads| Options {
                threads,
                ..Options::default()
            }));
            for options in others {
                let again = print(&play(&strategy, &world, options));
                assert!(first == again, "{options:?} differs in world {i} with {absence:?}");
            }
        }
    }
}

#[test]
fn every_fate_appears_and_every_row_balances() {
    let outcome = play(
        &RELAY,
        &rough_world(availability::OnOff {
            mean_on_s: 0.5,
            mean_off_s: 0.2,
        }),
        Options::default(),
    );
    let total = outcome.ledger.total();
    assert!(total.dropped.iter().all(|&n| n > 0), "{total:?}");
    assert!(total.retried > 0 && total.in_flight > 0, "{total:?}");
    assert_eq!(outcome.ledger.unbalanced(), None);
    assert!(
        outcome.tables.rounds.iter().map(|row| row.late).sum::<u64>() > 0,
        "{:?}",
        outcome.tables.rounds
    );
    assert!(
        outcome
            .counters
            .iter()
            .all(|(_, by_round)| by_round.iter().sum::<u64>() > 0)
    );
    assert_eq!(outcome.tables.rounds.len(), 4);
}

#[test]
fn in_the_ideal_world_every_token_comes_home() {
    let world = World {
        cohort: Box::new(cohort::Size {
            n: 100,
            over_select: 1.0,
        }),
        ..World::ideal()
    };
    let outcome = play(
        &RELAY,
        &world,
        Options {
            threads: 2,
            ..Options::default()
        },
    );
    let sent: Vec<(&str, u64)> = outcome
        .ledger
        .rows()
        .filter(|(_, round, ..)| round.0 == 2)
        .map(|(kind, _, _, cell)| (kind.name, cell.delivered))
        .collect();
    assert_eq!(sent, [("begin", 100), ("token", 1200), ("report", 100)]);
    assert_eq!(outcome.tables.privacy[0].releases, 4 * 1200);
    assert_eq!(
        outcome.end,
        SimTime(4 * 14),
        "14 messages of a nanosecond each, one after the other"
    );
    assert_eq!(
        outcome.tables.clients.iter().map(|row| row.peer_bytes).sum::<u64>(),
        4 * 1200 * 8
    );
}

#[test]
fn the_horizon_ends_a_run_and_leaves_messages_in_flight() {
    let world = World {
        horizon: SimSpan::from_millis(50.0),
        ..rough_world(availability::Always {})
    };
    let outcome = play(&RELAY, &world, Options::default());
    assert_eq!(outcome.end, SimTime(50_000_000));
    assert!(outcome.ledger.total().in_flight > 0 && outcome.tables.rounds.is_empty());
}

/// A client without a peer to hear from does the same whether or not there is one client more: its
/// links, its device, its absences and its own draws are named by who it is, and not by how many
/// there are.
#[test]
fn adding_a_client_leaves_the_others_draws_alone() {
    let strategy = Relay {
        rounds: 3,
        hops: 0,
        absence: Absence::GiveUp,
    };
    let world = World {
        cohort: Box::new(cohort::All {}),
        ..rough_world(availability::Bernoulli { online_prob: 0.8 })
    };
    let rows = |n: u32| play_with(&strategy, n, &world, Options::default()).tables.clients;
    let (ten, eleven) = (rows(10), rows(11));
    assert_eq!(ten[..], eleven[..10]);
    assert!(
        ten.windows(2).any(|pair| pair[0].compute_s != pair[1].compute_s),
        "{ten:?}"
    );
    assert!(ten.iter().any(|row| row.uplink_bytes != ten[0].uplink_bytes), "{ten:?}");
}

/// A server that waits for what never comes, and a client that will not.
struct Waits;

impl Strategy for Waits {
    type Down = Down;
    type Up = Never;
    type Peer = Never;
    type Shard<'a> = ();
    type Work = ();
    type Done = ();
    type Server = ();
    type Client = ();
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn on_server(
        &self,
        _: &mut (),
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        if matches!(event, ServerEvent::Start) {
            cx.send(ClientId(0), Down::Begin);
        }
        Ok(())
    }

    fn on_client(
        &self,
        (): (),
        _: &mut (),
        _: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match cx.n_clients() {
            1 => Ok(()),
            2 => Err(StrategyError("no".to_owned())),
            _ => cx.release(TOY, &Toy, &u32::MAX).map(|_| ()),
        }
    }

    fn perform(&self, _: Option<()>, (): &(), _: &JobContext) {}

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        RELAY.mechanisms()
    }
}

fn wait(n_clients: u32, world: &World) -> RunError {
    let system = System {
        strategy: &Waits,
        shards: &NoData(n_clients),
        evaluator: &NoEvaluator,
    };
    let outcome = run(system, world, 1, Options::default(), &mut Unobserved);
    outcome.err().unwrap()
}

#[test]
fn a_stalled_run_is_an_error_that_says_so() {
    let ideal = World::ideal();
    let stalled = wait(1, &ideal).to_string();
    let why = "nothing is under way, and the server goes on waiting; no setting of the card loses or delays a message";
    assert_eq!(
        stalled,
        format!("the run stalls in round 0 at 0.000000001 s of virtual time: {why}")
    );
    assert_eq!(
        wait(2, &ideal).to_string(),
        "at 0.000000001 s of virtual time, client 0: no"
    );
    let endless = World {
        network: Box::new(Endless),
        ..World::ideal()
    };
    let message = wait(1, &endless).to_string();
    assert!(message.contains("what is under way (1 in number)"), "{message}");
}

/// A value that no mechanism can release is not sent in its place: the run ends.
#[test]
fn a_release_that_fails_ends_the_run() {
    let error = wait(3, &World::ideal()).to_string();
    assert!(
        error.contains("client 0: toy: cannot release: there is nothing to choose from"),
        "{error}"
    );
}
