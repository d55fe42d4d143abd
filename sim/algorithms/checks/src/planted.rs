//! A strategy that tells of what it must not know, in whichever way it is asked to: the follower of
//! messages must catch each.

use super::{Change, check, data};
use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Dataset;
use folkmoot_parts::component;
use folkmoot_scenarios::algorithm::{Algorithm, Shared, Source};
use serde::Serialize;

/// Where others' data get through.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leak {
    /// Nowhere: client 0 sends the number of its own edges, and the server asks a second time once
    /// it has heard all.
    #[default]
    Nowhere,
    /// The declared facts have a number that is not public.
    Facts,
    /// So do they, but no manifest would list it.
    HiddenFacts,
    /// A shard is more than the client's own.
    Shard,
    /// The server is handed something before the run, and nobody says so.
    SetUp,
    /// How long work takes tells of others.
    Time,
}

/// The parameters, which are the strategy as well.
#[component(name = "Planted", about = "a strategy that leaks")]
#[derive(Clone, Debug, PartialEq)]
struct Planted {
    /// Where.
    leak: Leak,
    /// What is known to all, or should not be.
    known: u32,
}

#[derive(Serialize)]
struct Facts {
    known: u32,
    #[serde(skip)]
    hidden: u32,
}

messages! {
    enum Down {
        0, "test", "question" => Question(of: u32),
    }
}

messages! {
    enum Up {
        1, "test", "answer" => Answer(edges: u32),
    }
}

fn n_edges(dataset: &Dataset) -> u32 {
    dataset.graphs.iter().map(|graph| graph.n_edges() as u32).sum()
}

/// What each client holds: numbers of edges.
struct Edges {
    counts: Vec<u32>,
    set_up: u32,
}

impl Shards<Planted> for Edges {
    fn n_clients(&self) -> u32 {
        self.counts.len() as u32
    }

    fn shard(&self, client: ClientId) -> u32 {
        self.counts[client.0 as usize]
    }

    fn size(&self, _: ClientId) -> u64 {
        1
    }

    fn prepare(&self, _: &Planted, server: &mut (u32, u32), _: &Setup<'_>) {
        server.1 = self.set_up;
    }
}

impl Algorithm for Planted {
    type Facts = Facts;
    type Strategy = Planted;

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let of = |leak| if self.leak == leak { n_edges(source.dataset) } else { 0 };
        Ok(Facts {
            known: of(Leak::Facts),
            hidden: of(Leak::HiddenFacts),
        })
    }

    fn build(&self, facts: &Facts) -> Result<Planted, StrategyError> {
        Ok(Planted {
            known: facts.known + facts.hidden,
            ..self.clone()
        })
    }

    fn share(&self, _: &Facts, _: &Planted, source: &Source<'_>) -> Result<Shared<Planted>, StrategyError> {
        let of = |leak| if self.leak == leak { n_edges(source.dataset) } else { 0 };
        let own = |client: usize| -> u32 {
            let graphs = source.partition.shard(client).iter();
            graphs
                .map(|graph| source.dataset.graphs[*graph as usize].n_edges() as u32)
                .sum()
        };
        let more = of(Leak::Shard) + of(Leak::Time);
        Ok(Shared {
            shards: Box::new(Edges {
                counts: (0..source.partition.n_clients())
                    .map(|client| own(client) + more)
                    .collect(),
                set_up: of(Leak::SetUp),
            }),
            evaluator: Box::new(NoEvaluator),
        })
    }
}

impl Strategy for Planted {
    type Down = Down;
    type Up = Up;
    type Peer = Never;
    type Shard<'a> = u32;
    type Work = u32;
    type Done = u32;
    /// How many have answered, and what is asked of them; then the sum of what they said.
    type Server = (u32, u32);
    type Client = ();
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<(u32, u32), StrategyError> {
        Ok((0, 0))
    }

    fn client(&self, _: u32, _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn on_server(
        &self,
        (answers, sum): &mut (u32, u32),
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        if let ServerEvent::Message {
            message: Up::Answer(edges),
            ..
        } = event
        {
            *answers += 1;
            *sum += edges;
        }
        match *answers {
            n if n == 2 * cx.n_clients() => cx.finish(),
            n if n % cx.n_clients() == 0 => {
                (0..cx.n_clients()).for_each(|id| cx.send(ClientId(id), Down::Question(*sum)))
            }
            _ => {}
        }
        Ok(())
    }

    fn on_client(
        &self,
        edges: u32,
        (): &mut (),
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Message(Down::Question(_)) => cx.compute(edges, f64::from(edges) * 1e6),
            ClientEvent::Done(edges) => cx.send(Up::Answer(edges + self.known)),
            _ => {}
        }
        Ok(())
    }

    fn perform(&self, _: Option<u32>, edges: &u32, _: &JobContext) -> u32 {
        match self.leak {
            Leak::Time => 7,
            _ => *edges,
        }
    }
}

fn caught(leak: Leak) -> String {
    let planted = Planted { leak, known: 0 };
    check(&planted, &data::graphs(Change::everything(101))).unwrap_err()
}

#[test]
fn a_strategy_without_a_leak_passes() {
    let [client, server] = check(&Planted::default(), &data::graphs(Change::everything(101))).unwrap();
    assert_eq!((client.sent, client.parted), (vec!["answer"], true));
    assert_eq!((server.sent, server.parted), (vec!["question"], true));
}

#[test]
fn every_planted_leak_is_caught() {
    let facts = caught(Leak::Facts);
    assert!(facts.starts_with("facts that all know differ"), "{facts}");
    for leak in [Leak::HiddenFacts, Leak::Shard, Leak::Time] {
        let told = caught(leak);
        assert!(
            told.starts_with("client 0 tells of what it cannot know"),
            "{leak:?}: {told}"
        );
    }
    // The server's question reaches client 0 before it says anything, so it is the server who is
    // caught.
    let told = caught(Leak::SetUp);
    assert!(
        told.starts_with("server tells") || told.starts_with("the server tells"),
        "{told}"
    );
}
