//! A strategy from another crate, whole: its messages, its states, its settings, and its place in the registry.
//!
//! A rumour starts at client 0. Whoever hears it for the first time tells `fanout` random clients and reports to the
//! server, which ends the run when nobody has anything left to say. Run it with
//! `cargo run --release -p folkmoot-strategies --example rumour`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
use folkmoot_graphs::{DataDirs, Dataset, Partition};
use folkmoot_metrics::{MessageRow, RoundRow};
use folkmoot_parts::part;
use folkmoot_scenarios::registry::{Job, Registry, TableObserver};
use folkmoot_scenarios::run::{Cache, load};
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;
use folkmoot_strategies::settings::Settings;
use std::sync::Arc;

/// Everything that travels.
#[derive(Clone)]
enum Message {
    /// The rumour, with the hops it has made (4 bytes).
    Rumour { hops: u32 },
    /// "I have heard it" (nothing).
    Heard,
}

impl Wire for Message {
    const KINDS: &'static [Kind] = &[
        Kind {
            phase: "spread",
            name: "rumour",
        },
        Kind {
            phase: "spread",
            name: "heard",
        },
    ];

    fn kind(&self) -> usize {
        match self {
            Message::Rumour { .. } => 0,
            Message::Heard => 1,
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            Message::Rumour { .. } => 4,
            Message::Heard => 0,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        if let Message::Rumour { hops } = self {
            put_u32s(out, &[*hops]);
        }
    }

    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = WireReader::new(bytes);
        let message = match kind {
            0 => Message::Rumour { hops: reader.u32()? },
            1 => Message::Heard,
            _ => return Err(DecodeError::UnknownKind(kind)),
        };
        reader.finish()?;
        Ok(message)
    }
}

/// The parameters: `strategy: Rumour(fanout: 3)`.
#[part(name = "Rumour", about = "a rumour among clients")]
#[derive(Clone, Debug)]
struct Rumour {
    /// Clients told by each who hears it.
    #[part(default = 3, in = 1..=100)]
    fanout: u32,
}

impl Settings for Rumour {
    type Strategy = Rumour;

    fn build(&self, _: &Arc<Dataset>, _: &Arc<Partition>, _: Streams) -> Result<Rumour, StrategyError> {
        Ok(self.clone())
    }
}

const TELL: Purpose = Purpose(*b"rm-tell ");

impl Strategy for Rumour {
    type Message = Message;
    type Work = ();
    type Done = ();
    /// How many have heard it.
    type Server = u64;
    /// Whether this client has.
    type Client = bool;

    fn server(&self, _: &Setup<'_>) -> Result<u64, StrategyError> {
        Ok(0)
    }

    fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<bool, StrategyError> {
        Ok(false)
    }

    fn on_server(
        &self,
        heard: &mut u64,
        event: Event<Self>,
        cx: &mut ServerContext<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            Event::Start => cx.send(Party::Client(ClientId(0)), Message::Rumour { hops: 0 }),
            Event::Message { .. } => *heard += 1,
            _ => {
                let cohort = u64::from(cx.n_clients());
                cx.score("all", "share_reached", *heard as f64 / cohort as f64, cohort);
                cx.round_done(RoundReport {
                    cohort,
                    completed: *heard,
                    ..RoundReport::default()
                });
                cx.finish();
            }
        }
        Ok(())
    }

    fn on_client(
        &self,
        knows: &mut bool,
        event: Event<Self>,
        cx: &mut Context<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        let Event::Message {
            message: Message::Rumour { hops },
            ..
        } = event
        else {
            return Ok(());
        };
        if !std::mem::replace(knows, true) {
            cx.send(Party::Server, Message::Heard);
            let mut rng = cx.rng(TELL);
            for _ in 0..self.fanout {
                let to = rng::index(&mut rng, cx.n_clients() as usize) as u32;
                cx.send(Party::Client(ClientId(to)), Message::Rumour { hops: hops + 1 });
            }
        }
        Ok(())
    }

    fn perform(&self, (): &()) {}
}

/// Nothing is saved while this small run goes on.
struct Silent;

impl TableObserver for Silent {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::shipped();
    registry.add::<Rumour>()?;
    let card = "(dataset: ErdosRenyi(n_nodes: 1000), strategy: Rumour(fanout: 2))";
    let scenario = check("rumour", &Source::new("rumour", card)?, &registry)?;
    let loaded = load(&scenario, &DataDirs::new(), &Cache::default())?;
    let job = Job {
        dataset: &loaded.dataset,
        partition: &loaded.partition,
        world: &scenario.world(),
        seed: scenario.seed(),
        options: Options::default(),
    };
    let finished = scenario.strategy().run(&job, &mut Silent)?;
    for row in &finished.messages {
        println!(
            "{} {}: {} messages, {} bytes",
            row.kind,
            row.direction.as_str(),
            row.sent,
            row.payload_bytes
        );
    }
    for score in &finished.outcome.scores {
        println!("{}: {}", score.metric, score.value);
    }
    Ok(())
}
