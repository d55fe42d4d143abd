//! The engine on a strategy that uses all of it: relays between clients, jobs, timers, counters, absences and retries.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_engine::world::{Availability, CohortSpec, Dist, DropoutSpec, availability, devices};
use serde::{Deserialize, Serialize};

/// Tokens are passed from client to client; each holder works on them, and the last one reports to the server.
struct Relay {
    rounds: u32,
    hops: u32,
    absence: Absence,
}

#[derive(Clone, Debug, PartialEq)]
enum Message {
    Begin,
    Token { hops: u32, value: u32 },
    Report { value: u32 },
}

impl Wire for Message {
    const KINDS: &'static [Kind] = &[
        Kind {
            phase: "relay",
            name: "begin",
        },
        Kind {
            phase: "relay",
            name: "token",
        },
        Kind {
            phase: "relay",
            name: "report",
        },
    ];

    fn kind(&self) -> usize {
        match self {
            Message::Begin => 0,
            Message::Token { .. } => 1,
            Message::Report { .. } => 2,
        }
    }

    fn encoded_len(&self) -> usize {
        [0, 8, 4][self.kind()]
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::Begin => {}
            Message::Token { hops, value } => put_u32s(out, &[*hops, *value]),
            Message::Report { value } => put_u32s(out, &[*value]),
        }
    }

    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = WireReader::new(bytes);
        let message = match kind {
            0 => Message::Begin,
            1 => Message::Token {
                hops: reader.u32()?,
                value: reader.u32()?,
            },
            2 => Message::Report { value: reader.u32()? },
            _ => return Err(DecodeError::UnknownKind(kind)),
        };
        reader.finish()?;
        Ok(message)
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

impl Strategy for Relay {
    type Message = Message;
    type Work = (u32, u32);
    type Done = (u32, u32);
    type Server = Server;
    type Client = Client;

    const COUNTERS: &'static [&'static str] = &["timers", "told"];

    fn server(&self, _: &Setup<'_>) -> Result<Server, StrategyError> {
        Ok(Server::default())
    }

    fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::default())
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: Event<Self>,
        cx: &mut ServerContext<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            Event::Start => return self.begin(server, cx),
            Event::Message {
                message: Message::Report { value },
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
        let over = server.reports == server.needed || matches!(event, Event::Quiet);
        let due = matches!(event, Event::Timer(TimerId(round)) if round == cx.round().0);
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
        client: &mut Client,
        event: Event<Self>,
        cx: &mut Context<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        client.log = client.log.wrapping_mul(1_000_003).wrapping_add(cx.now().0);
        match event {
            Event::Message {
                message: Message::Begin,
                ..
            } => {
                cx.timer(SimSpan::from_millis(3.0), TimerId(0));
                cx.compute((self.hops, 1), 50.0);
            }
            Event::Message {
                message: Message::Token { hops, value },
                ..
            } => {
                client.tokens += 1;
                cx.compute((hops, value), 200.0);
            }
            Event::Undelivered {
                message: Message::Token { hops, value },
                ..
            } => {
                cx.count(1, 1);
                cx.compute((hops, value + 7), 10.0);
            }
            Event::Done((0, value)) => cx.send(Party::Server, Message::Report { value }),
            Event::Done((hops, value)) => {
                let to = rng::index(&mut cx.rng(HOP), cx.n_clients() as usize) as u32;
                cx.spend(0, 0.5);
                cx.send(Party::Client(ClientId(to)), Message::Token { hops: hops - 1, value });
            }
            Event::Timer(_) => cx.count(0, 1),
            _ => {}
        }
        Ok(())
    }

    fn perform(&self, &(hops, value): &(u32, u32)) -> (u32, u32) {
        (hops, value.wrapping_mul(2_654_435_761).rotate_left(5) ^ hops)
    }

    fn absence(&self, _: &Message) -> Absence {
        self.absence
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let text = |text: &str| text.to_owned();
        vec![MechanismInfo {
            mechanism: text("toy"),
            unit: text("hop"),
            delta: 0.0,
            composition: text("basic"),
            claimed: None,
        }]
    }

    fn evaluate(&self, server: &Server, clients: &Clients<'_, Client>, _: &Report<'_>, _: &mut SimRng) -> Scores {
        let log = clients
            .iter()
            .fold(0u64, |log, (_, client)| log.rotate_left(7) ^ client.log);
        let summary = vec![
            ("sum".to_owned(), (server.sum >> 12) as f64),
            ("log".to_owned(), (log >> 12) as f64),
            (
                "tokens".to_owned(),
                clients.iter().map(|(_, client)| client.tokens as f64).sum(),
            ),
        ];
        Scores {
            artifacts: Vec::new(),
            rows: Vec::new(),
            summary,
        }
    }
}

impl Relay {
    fn begin(&self, server: &mut Server, cx: &mut ServerContext<'_, '_, Self>) -> Result<(), StrategyError> {
        let cohort = cx.cohort();
        server.needed = cohort.len() as u64;
        server.reports = 0;
        let round = cx.round();
        if let Some(deadline) = cx.deadline() {
            cx.timer(deadline, TimerId(round.0));
        }
        cohort
            .into_iter()
            .for_each(|id| cx.send(Party::Client(id), Message::Begin));
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
        max_retries: 1,
        retry_after_ms: 40.0,
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
        cohort: CohortSpec::Fraction {
            share: 0.6,
            over_select: 1.2,
        },
        deadline: Some(SimSpan::from_millis(700.0)),
        header_bytes: 40,
        ..World::ideal()
    }
}

fn play(strategy: &Relay, world: &World, options: Options) -> Outcome {
    run(strategy, 1500, world, 11, options, &mut Unobserved).unwrap()
}

/// Everything an outcome holds, as text, so that a difference can be read.
fn print(outcome: &Outcome) -> String {
    format!(
        "{:#?} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?}",
        outcome.ledger,
        outcome.rounds,
        outcome.summary,
        outcome.scores,
        outcome.privacy,
        outcome.clients,
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
        outcome.rounds.iter().map(|row| row.late).sum::<u64>() > 0,
        "{:?}",
        outcome.rounds
    );
    assert!(
        outcome
            .counters
            .iter()
            .all(|(_, by_round)| by_round.iter().sum::<u64>() > 0)
    );
    assert_eq!(outcome.rounds.len(), 4);
}

#[test]
fn in_the_ideal_world_every_token_comes_home() {
    let world = World {
        cohort: CohortSpec::Size {
            n: 100,
            over_select: 1.0,
        },
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
    assert_eq!(outcome.privacy[0].releases, 4 * 1200);
    assert_eq!(
        outcome.end,
        SimTime(4 * 14),
        "14 messages of a nanosecond each, one after the other"
    );
    assert_eq!(
        outcome.clients.iter().map(|row| row.peer_bytes).sum::<u64>(),
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
    assert!(outcome.ledger.total().in_flight > 0 && outcome.rounds.is_empty());
}

#[test]
fn adding_a_client_leaves_the_others_draws_alone() {
    let world = rough_world(availability::Always {});
    let access = |n: u32| {
        let outcome = run(&RELAY, n, &world, 11, Options::default(), &mut Unobserved).unwrap();
        assert_eq!(outcome.clients.len(), n as usize);
        (0..10)
            .map(|id| world.network.access(ClientId(id), Streams::new(11)))
            .collect::<Vec<_>>()
    };
    assert_eq!(access(10), access(11));
}

/// A server that waits for what never comes.
#[test]
fn a_stalled_run_is_an_error_that_says_so() {
    struct Waits;
    impl Strategy for Waits {
        type Message = Message;
        type Work = ();
        type Done = ();
        type Server = ();
        type Client = ();
        fn server(&self, _: &Setup<'_>) -> Result<(), StrategyError> {
            Ok(())
        }
        fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<(), StrategyError> {
            Ok(())
        }
        fn on_server(
            &self,
            _: &mut (),
            event: Event<Self>,
            cx: &mut ServerContext<'_, '_, Self>,
        ) -> Result<(), StrategyError> {
            if matches!(event, Event::Start) {
                cx.send(Party::Client(ClientId(0)), Message::Begin);
            }
            Ok(())
        }
        fn on_client(&self, _: &mut (), _: Event<Self>, cx: &mut Context<'_, '_, Self>) -> Result<(), StrategyError> {
            match cx.n_clients() {
                1 => Ok(()),
                _ => Err(StrategyError("no".to_owned())),
            }
        }
        fn perform(&self, (): &()) {}
    }
    let stalled = run(&Waits, 1, &World::ideal(), 1, Options::default(), &mut Unobserved).err();
    assert_eq!(
        stalled,
        Some(RunError::Stalled {
            at: SimTime(1),
            round: Round(0)
        })
    );
    let failed = run(&Waits, 2, &World::ideal(), 1, Options::default(), &mut Unobserved)
        .err()
        .unwrap();
    assert_eq!(failed.to_string(), "at 0.000000001 s of virtual time, client 0: no");
}
