//! Training in rounds: what all federated strategies of that family share.
//!
//! A [`RoundStrategy`] says what is trained: how the model starts, what a client makes of it, what it is worth. [`Rounds`] turns
//! it into a [`Strategy`]: it draws cohorts, sends the model, waits for a number of answers, a deadline or the end of all
//! traffic, takes in the updates and begins the next round. [`Protocol`] holds the settings; `message` has the message table.
//!
//! - **Sums** over clients are in double precision, in ascending order of the clients.
//! - **Ties**: where a round needs fewer updates than it asks for, the first count; of those that come at the same instant a
//!   named stream draws.
//! - **Refused**: an update with a number that is not finite takes no part; `artifacts/refused_updates.csv` names its client and
//!   round, and the counter `refused_updates` counts it.
//! - **No update** in a round, fewer than `min_updates`, or none with any weight: the model and the server's moments stay as they
//!   are, and `rounds_without_update` counts the round. One update is a mean like any other.
//! - **Late** updates of synchronous rounds are counted and dropped. In buffered aggregation no update is late, only stale.
//! - **Jobs**: training is a job of the engine and overlaps across windows; nothing of it depends on the threads.
//!
//! - **Secure aggregation** hides single updates from the server; `secure` has its messages and what is real about it.
//!
//! What a client trains depends on the model it was sent, its shard, and the stream named by client and round alone.
//!
//! J. Nguyen et al. Federated Learning with Buffered Asynchronous Aggregation. AISTATS 2022. <https://arxiv.org/abs/2106.06639>
//!
//! Deviation from FedBuff: a client that does not answer is replaced when the deadline of a round comes, or when nothing is
//! under way any more; the paper does not say what becomes of it.

mod client;
mod message;
mod secure;
#[cfg(test)]
mod secure_tests;
mod server;
mod server_optimiser;
mod settings;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use message::{Message, Payload, Update};
pub use secure::SecureMessage;
pub use server::Server;
pub use server_optimiser::{ServerMoments, ServerOptimiser};
pub use settings::{Absent, Aggregation, Discount, Protocol, Secure, Weighting};

use folkmoot_engine::prelude::*;
use folkmoot_parts::Value;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is trained in rounds.
pub trait RoundStrategy: Send + Sync + Sized {
    /// What the server asks of its clients besides training, sent with the model; `()` if nothing.
    type Order: Payload;
    /// What a client sends beside its update, a message of its own; `()` if nothing.
    type Extra: Payload;
    /// What the server keeps of the extras.
    type Collected: State + Sync + Default;
    /// What a client keeps of its training for whoever evaluates the run; it is never sent. `()` if nothing.
    type Kept: State + Sync;

    /// Numbers of the model, those that do not learn included.
    fn n_parameters(&self) -> usize;

    /// So many of the first numbers learn; the others, such as running statistics, are averaged whatever the server's
    /// optimiser. Default: all.
    fn n_trainable(&self) -> usize {
        self.n_parameters()
    }

    /// The model before the first round.
    fn initial(&self, rng: &mut SimRng) -> Vec<f32>;

    /// The number of clients.
    fn n_clients(&self) -> u32;

    /// How many samples a client learns from. One without any answers with the model as it came, which counts nothing.
    fn n_samples(&self, client: ClientId) -> u32;

    /// Operations of a client's training in one round: its device takes this over its speed.
    fn cost(&self, client: ClientId) -> f64;

    /// What the server asks for in `round`.
    fn order(&self, round: Round) -> Self::Order;

    /// Whether an answer to `order` brings an extra: the round then waits for both. Default: no.
    fn brings_extra(&self, _order: &Self::Order) -> bool {
        false
    }

    /// A client's part of a round. Pure: on any thread, once or more often per task.
    fn train(&self, task: Task<'_, Self>) -> Trained<Self::Extra, Self::Kept>;

    /// What a client keeps after it has kept `before`. Default: `now` in its place.
    fn keep(_before: Self::Kept, now: Self::Kept) -> Self::Kept {
        now
    }

    /// Takes an extra in. Default: it is forgotten.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn collect(
        &self,
        _collected: &mut Self::Collected,
        _client: ClientId,
        _round: Round,
        _extra: Self::Extra,
    ) -> Result<(), StrategyError> {
        Ok(())
    }

    /// What the model is worth after `round`, seen from above: no message is sent for it.
    fn evaluate(&self, round: Round, parameters: &[f32]) -> Vec<Score>;

    /// The final scores. Default: none.
    fn conclude(&self, _end: End<'_, Self>, _report: &Report<'_>, _rng: &mut SimRng) -> Scores {
        Scores::default()
    }

    /// The mechanisms that [`Trained::spent`] numbers; the protocol's own, that weights are sent as they are, comes before.
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        Vec::new()
    }
}

/// A client's part of a round.
pub struct Task<'a, R: RoundStrategy> {
    /// Who trains.
    pub client: ClientId,
    /// The round of the model.
    pub round: Round,
    /// What the server asks for besides.
    pub order: &'a R::Order,
    /// The model that was sent.
    pub parameters: &'a [f32],
    /// Every message is wanted, and no learning: return `parameters` and an extra of the right size.
    pub dry_run: bool,
    /// The stream of this client in this round.
    pub rng: SimRng,
}

/// What came of it.
#[derive(Debug)]
pub struct Trained<E, K = ()> {
    /// The client's model.
    pub parameters: Vec<f32>,
    /// What it sends besides.
    pub extra: Option<E>,
    /// Releases of private values that went into the model or the extra.
    pub spent: Vec<Charge>,
    /// What it keeps, by [`RoundStrategy::keep`]; with `None` it keeps what it has.
    pub kept: Option<K>,
}

/// What releases by one mechanism cost during a client's training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// The mechanism, by its place in [`RoundStrategy::mechanisms`].
    pub mechanism: usize,
    /// How many, each of something else, so that they cost no more than one of them.
    pub n: u64,
    /// What each costs.
    pub epsilon: f64,
    /// Made when the client trains for the first time and used again ever after: it is charged then and no more.
    pub once: bool,
}

impl<E, K> Trained<E, K> {
    /// A model and nothing else.
    pub fn model(parameters: Vec<f32>) -> Self {
        Trained {
            parameters,
            extra: None,
            spent: Vec::new(),
            kept: None,
        }
    }
}

/// One number of [`RoundStrategy::evaluate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The part of the data.
    pub split: &'static str,
    /// The metric's name.
    pub metric: &'static str,
    /// Its value.
    pub value: f64,
    /// How many samples, or clients, it is over.
    pub n: u64,
}

/// How training ended.
pub struct End<'a, R: RoundStrategy> {
    /// The last model.
    pub parameters: &'a [f32],
    /// What the server kept of the extras.
    pub collected: &'a R::Collected,
    clients: &'a Clients<'a, Client<R::Extra, R::Kept>>,
}

impl<R: RoundStrategy> End<'_, R> {
    /// What a client kept of its last training, if it kept anything.
    pub fn kept(&self, client: ClientId) -> Option<&R::Kept> {
        self.clients.get(client)?.kept()
    }
}

const INITIAL: Purpose = Purpose(*b"rd-start");
const LOCAL: Purpose = Purpose(*b"rd-local");

/// A strategy that trains in rounds.
pub struct Rounds<R> {
    task: R,
    protocol: Protocol,
    streams: Streams,
}

impl<R: RoundStrategy> Rounds<R> {
    /// What is trained, how rounds go, and the streams of the run.
    ///
    /// # Errors
    ///
    /// The first rule that the settings break, or that there is no client.
    pub fn new(task: R, protocol: Protocol, streams: Streams) -> Result<Self, StrategyError> {
        if let Some(broken) = protocol.broken().first() {
            return Err(StrategyError(format!("protocol.{broken}")));
        }
        if task.n_clients() == 0 {
            return Err(StrategyError(
                "there is nobody to train; use a partition with clients".to_owned(),
            ));
        }
        Ok(Rounds {
            task,
            protocol,
            streams,
        })
    }

    /// What is trained.
    pub fn task(&self) -> &R {
        &self.task
    }

    /// How rounds go.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    fn is_secure(&self) -> bool {
        self.protocol.secure != Secure::Off
    }

    fn is_buffered(&self) -> bool {
        matches!(self.protocol.aggregation, Aggregation::Buffered { .. })
    }
}

/// A client's training, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work<O> {
    client: ClientId,
    round: Round,
    order: O,
    parameters: Arc<[f32]>,
    dry_run: bool,
}

impl<R: RoundStrategy> Strategy for Rounds<R> {
    type Message = Message<R::Order, R::Extra>;
    type Work = Work<R::Order>;
    type Done = Trained<R::Extra, R::Kept>;
    type Server = Server<R::Collected>;
    type Client = Client<R::Extra, R::Kept>;

    const COUNTERS: &'static [&'static str] = &[
        "refused_updates",
        "late_updates",
        "lost_models",
        "rounds_without_update",
    ];

    fn server(&self, setup: &Setup<'_>) -> Result<Self::Server, StrategyError> {
        let n_clients = self.task.n_clients();
        if setup.n_clients != n_clients {
            return Err(StrategyError(format!(
                "there are shards for {n_clients} clients and {} clients",
                setup.n_clients
            )));
        }
        let asked = setup.world.cohort.asked(n_clients);
        if self.protocol.min_updates > asked && !self.is_buffered() {
            return Err(StrategyError(format!(
                "protocol.min_updates: must be at most {asked} (clients asked in a round), got {}",
                self.protocol.min_updates
            )));
        }
        if self.is_secure() && asked > secure::MAX_CLIENTS {
            return Err(StrategyError(format!(
                "protocol.secure: takes at most {} clients a round, got {asked}; ask fewer with cohort",
                secure::MAX_CLIENTS
            )));
        }
        let model = self.task.initial(&mut setup.streams.global(INITIAL));
        assert_eq!(model.len(), self.task.n_parameters(), "a model has its parameters");
        Ok(Server::new(model))
    }

    fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<Self::Client, StrategyError> {
        Ok(Client::new())
    }

    fn on_server(
        &self,
        server: &mut Self::Server,
        event: Event<Self>,
        cx: &mut ServerContext<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        server.handle(self, event, cx)
    }

    fn on_client(
        &self,
        client: &mut Self::Client,
        event: Event<Self>,
        cx: &mut Context<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        if let Party::Client(id) = cx.me() {
            client.handle(self, id, event, cx);
        }
        Ok(())
    }

    fn perform(&self, work: &Work<R::Order>) -> Trained<R::Extra, R::Kept> {
        let mut trained = self.task.train(Task {
            client: work.client,
            round: work.round,
            order: &work.order,
            parameters: &work.parameters,
            dry_run: work.dry_run,
            rng: self.streams.party(LOCAL, Party::Client(work.client), work.round),
        });
        assert_eq!(
            trained.parameters.len(),
            work.parameters.len(),
            "a trained model has the parameters it came with"
        );
        if self.is_buffered() {
            for (x, before) in trained.parameters.iter_mut().zip(&*work.parameters) {
                *x -= before;
            }
        }
        trained
    }

    fn absence(&self, message: &Self::Message) -> Absence {
        match (message, self.protocol.absent) {
            (Message::Model { .. } | Message::Secure(_), Absent::GiveUp) => Absence::Tell { after: SimSpan::ZERO },
            _ => Absence::Wait,
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let weights = MechanismInfo {
            mechanism: match self.protocol.secure {
                Secure::Off => "none: weights",
                Secure::Pairwise { .. } => "none: sum of weights",
            }
            .to_owned(),
            unit: "one shard".to_owned(),
            delta: 0.0,
            composition: "none".to_owned(),
            claimed: None,
        };
        std::iter::once(weights).chain(self.task.mechanisms()).collect()
    }

    /// In synchronous rounds, so many as are asked, if nobody is away.
    fn expected_messages(&self, setup: &Setup<'_>, kind: Kind, round: Round, _: Direction) -> Option<f64> {
        let asked = f64::from(setup.world.cohort.asked(setup.n_clients));
        let expected = match kind.name {
            "model" => true,
            "update" => !self.is_secure(),
            "withdrawal" => false,
            name if SecureMessage::NAMES.contains(&name) => self.is_secure(),
            _ => self.task.brings_extra(&self.task.order(round)),
        };
        (expected && !self.is_buffered()).then_some(asked)
    }

    fn evaluate(
        &self,
        server: &Self::Server,
        clients: &Clients<'_, Self::Client>,
        report: &Report<'_>,
        rng: &mut SimRng,
    ) -> Scores {
        let end = End {
            parameters: server.parameters(),
            collected: server.collected(),
            clients,
        };
        let mut scores = self.task.conclude(end, report, rng);
        for (name, count) in Self::COUNTERS.iter().zip(&report.counters) {
            scores.summary.push(((*name).to_owned(), *count as f64));
        }
        scores.artifacts.extend(server.refusals());
        scores
    }
}
