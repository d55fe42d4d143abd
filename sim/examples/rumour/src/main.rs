//! A strategy from another crate: `rumour run rumour`, and every other command, knows it.
//!
//! A rumour starts at client 0. Whoever hears it for the first time tells `fanout` random clients
//! and reports to the server, which ends the run when nobody has anything left to say.

use folkmoot::draws::index;
use folkmoot::prelude::*;

messages! {
    /// From the server to the first who knows.
    enum Down {
        /// Something to tell.
        0, "spread", "begin" => Begin,
    }
}

messages! {
    /// To the server.
    enum Up {
        /// "I have heard it."
        1, "spread", "heard" => Heard,
    }
}

messages! {
    /// From client to client.
    enum Peer {
        /// The rumour, with the hops it has made.
        2, "spread", "rumour" => Rumour(hops: u32),
    }
}

/// The parameters, as `strategy: Rumour(fanout: 3)`, which are the strategy as well.
#[component(name = "Rumour", about = "a rumour among clients")]
#[derive(Clone, Debug)]
struct Rumour {
    /// Clients told by each who hears it.
    #[component(default = 3, in = 1..=100)]
    fanout: u32,
}

const TELL: Purpose = Purpose(*b"rm-tell ");

impl Strategy for Rumour {
    type Down = Down;
    type Up = Up;
    type Peer = Peer;
    type Shard<'a> = ();
    type Work = ();
    type Done = ();
    /// How many have heard it.
    type Server = u64;
    /// Whether this client has.
    type Client = bool;
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<u64, StrategyError> {
        Ok(0)
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<bool, StrategyError> {
        Ok(false)
    }

    fn on_server(
        &self,
        heard: &mut u64,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            ServerEvent::Start => cx.send(ClientId(0), Down::Begin),
            ServerEvent::Message { .. } => *heard += 1,
            _ => {
                cx.round_done(RoundReport {
                    cohort: u64::from(cx.n_clients()),
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
        (): (),
        knows: &mut bool,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let hops = match event {
            ClientEvent::Message(Down::Begin) => 0,
            ClientEvent::Peer {
                message: Peer::Rumour(hops),
                ..
            } => hops,
            _ => return Ok(()),
        };
        if !std::mem::replace(knows, true) {
            cx.send(Up::Heard);
            let mut rng = cx.rng(TELL);
            for _ in 0..self.fanout {
                let to = ClientId(index(&mut rng, cx.n_clients() as usize) as u32);
                cx.send_peer(to, Peer::Rumour(hops + 1));
            }
        }
        Ok(())
    }

    fn perform(&self, _: Option<()>, (): &(), _: &JobContext) {}
}

/// Who watches from outside says how far it got.
struct Reach;

impl Evaluator<Rumour> for Reach {
    fn after_round(&self, round: &Ended<'_, Rumour>, sheet: &mut Sheet) {
        let n = u64::from(round.setup.n_clients);
        let share = *round.server as f64 / n as f64;
        sheet.score("all", Unit::Share.of("share_reached"), share, n);
        // There is one round, so this is what the run comes to.
        sheet.number(Unit::Share.of("share_reached"), share);
    }
}

/// Nobody knows anything of the data, and nobody holds any.
impl Algorithm for Rumour {
    type Facts = ();
    type Strategy = Rumour;

    fn facts(&self, _: &Source<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn build(&self, (): &()) -> Result<Rumour, StrategyError> {
        Ok(self.clone())
    }

    fn share(&self, (): &(), _: &Rumour, source: &Source<'_>) -> Result<Shared<Rumour>, StrategyError> {
        Ok(Shared {
            shards: Box::new(NoData(source.n_clients())),
            evaluator: Box::new(Reach),
        })
    }
}

fn main() -> std::process::ExitCode {
    let mut registry = folkmoot::shipped();
    registry.add::<Rumour>().expect("no shipped strategy is called so");
    registry
        .add_card("rumour", include_str!("../rumour.ron"))
        .expect("no shipped card is called so");
    folkmoot::main(registry)
}
