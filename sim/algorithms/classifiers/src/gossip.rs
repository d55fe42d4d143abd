//! Learning without a server: clients train models of their own and average them with those of
//! their neighbours.
//!
//! X. Lian, C. Zhang, H. Zhang, C.-J. Hsieh, W. Zhang, J. Liu. Can Decentralized Algorithms
//! Outperform Centralized Algorithms? A Case Evaluator for Decentralized Parallel Stochastic
//! Gradient Descent. NIPS 2017, algorithm 1 (`Dpsgd`). <https://arxiv.org/abs/1705.09056>
//!
//! S. Boyd, A. Ghosh, B. Prabhakar, D. Shah. Randomized Gossip Algorithms. IEEE Transactions on
//! Information Theory 52(6), 2006, section I (`Pairwise`). L. Xiao, S. Boyd. Fast Linear Iterations
//! for Distributed Averaging. Systems & Control Letters 53, 2004 (matrices `W` and how fast they
//! mix).
//!
//! | exchange | direction          | payload                                    | bytes        |
//! |----------|--------------------|--------------------------------------------|--------------|
//! | `model`  | peer, to neighbours | weights, dense `f32`                      | 4 × n_params |
//! | `answer` | peer, `Pairwise`   | weights, dense `f32`                       | 4 × n_params |
//! | `packed_model`, `packed_answer` | peer, with a `codec` | what it makes of the weights that learn, then the others as `f32` | its encoding + 4 × n_others |
//! | `report` | uplink             | nothing that counts: it is for measurement | 0            |
//!
//! So in a round of `Averaging` or `Dpsgd` every link of the topology carries a model each way, and
//! in one of `Pairwise` each client causes two models on one link.
//!
//! - **No server.** Nobody sends anything down, and no model depends on what the engine's server
//!   does. It is whoever measures: each client tells it that it has ended a round, in a message
//!   without payload (a header's bytes count, if the card sets any), and holds its model up to be
//!   looked at where the round is evaluated. A round of a run's tables has ended when all clients
//!   have reported it, or a timeout after half of them have, or when nothing is under way any more.
//! - **Rounds.** A client goes on when the models of all its neighbours of its round have come, or
//!   the timeout has passed since its own was trained; the weight of a model that is missing is its
//!   own model's. One that finds neighbours more than a round ahead, who no longer wait for it,
//!   joins them in their round; where links change, only one that was away does. So nobody waits
//!   for ever, whatever is lost and whoever is away.
//! - **Absence.** A model for a client that is away is dropped. What a client had begun when it
//!   left a round is begun again when a neighbour is heard later than that should have taken.
//! - **Models.** All begin with one model, which everybody draws from the public fact `start_seed`;
//!   or each with one of its own. Running statistics of batch normalisation are averaged like
//!   weights. A model with a number that is not finite is refused as if it were missing.
//! - **Codecs.** A client packs its model once for all its neighbours and counts itself as they
//!   read it, `x_i ← x_i + mixing sum_j W_ij (d_j − d_i)` with `d` what is read of a model: what a
//!   codec takes away from one side it takes away from both, and the mean of all models stays
//!   (DeepSqueeze: H. Tang, X. Lian, S. Qiu, L. Yuan, C. Zhang, T. Zhang, J. Liu, 2019,
//!   <https://arxiv.org/abs/1907.07346>). What a codec that feeds back leaves out each client keeps
//!   in one memory, whoever it sends to, and adds to the next model. A codec that leaves numbers
//!   out and does not feed back is refused. Averaging hides nothing from a neighbour, so there is
//!   no secure sum here that a codec could break.
//! - **What is measured** is every client's own model on the test items of all clients, and the
//!   mean of all models, which nobody holds.
//!
//! Deviations from the papers: in `Pairwise` a client that meets trains first, its clock runs from
//! the end of one meeting to the next, and each moves by half of the difference of the two models
//! as they were sent, so that their sum stays although either may have met others in between; a
//! lost answer moves the one alone. A card's `cohort` and `deadline` mean nothing here. Not
//! modelled: push-sum over directed links; copies of neighbours' models that only differences are
//! sent of (CHOCO), which one lost message would part for good.

mod client;
mod coding;
pub(crate) mod evaluator;
mod message;
mod mixing;
mod server;
mod settings;
mod terms;
mod topology;

pub use client::Client;
pub use message::{Peer, Up};
pub use mixing::{Weights, contraction, drawn_near, mixed};
pub use server::Server;
pub use settings::{Attacked, Method, Start};
pub use topology::{Changing, Complete, ErdosRenyi, File, Ring, SmallWorld, Topology, Torus};

use crate::attacks::{self, Attack, Models, Victim};
use crate::classifier::{self, Classifier, Course, Handed, Held, Inputs, Model, Shard, Split, Training};
use crate::keep::Left;
use evaluator::Watch;
use folkmoot_codecs::Codec;
use folkmoot_draws::Rng;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_parts::{Chosen, component};
use folkmoot_rounds::{CRAFTED, Drawn, Malicious, packed};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const START: Purpose = Purpose(*b"go-start");
const LINKS: Purpose = Purpose(*b"go-links");
const LOCAL: Purpose = Purpose(*b"go-local");

/// The parameters of [`Gossip`].
#[component(
    name = "Gossip",
    about = "decentralised learning without a server: model averaging among neighbours (gossip, D-PSGD)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Method: averaging after training, D-PSGD, or pairwise gossip.
    pub method: Method,
    /// Communication topology.
    pub topology: Chosen<dyn Topology>,
    /// Mixing weights. Without effect in `Pairwise`.
    pub weights: Weights,
    /// Compression of models sent to neighbours.
    pub codec: Chosen<dyn Codec>,
    /// Mixing rate: fraction of the step towards the weighted mean per exchange. Values below 1
    /// damp the bursts of sparsifying codecs.
    #[component(default = 1.0, above = 0, at_most = 1)]
    pub mixing: f64,
    /// Graph neural network.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test sets.
    pub split: Split,
    /// Number of rounds of local training and averaging.
    #[component(default = 50, in = 1..=1_000_000)]
    pub rounds: u32,
    /// Timeout of a client for its neighbours' models after training, or for an answer.
    #[component(default = 60.0, above = 0, at_most = 1e9, unit = "s")]
    pub timeout_s: f64,
    /// Initial models of clients.
    pub start: Start,
    /// Rounds between evaluations; the last round is always evaluated.
    #[component(default = 1, at_least = 1)]
    pub evaluate_every: u32,
    /// Malicious clients. Their updates are the changes that their training makes to their models,
    /// which they send to all neighbours; adversaries that collude are rejected.
    pub malicious: Malicious,
    /// Attacks on the trained models, after the run.
    pub attacks: Vec<Chosen<dyn Attack>>,
    /// Attack target: the models of clients or of the server.
    pub attacked: Attacked,
    /// Keep the bytes per link as an artifact, `links.csv`, for a figure.
    pub keep_links: bool,
}

/// What everybody knows before a run.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    #[serde(flatten)]
    pub data: classifier::Facts,
    /// What first models are drawn from.
    pub start_seed: u32,
    /// What links are drawn from.
    pub links_seed: u32,
    /// Links of the topology; of its first round, where it changes.
    pub n_links: u32,
    /// The links of all rounds, unless they change.
    #[serde(skip)]
    fixed: Option<Graph>,
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Gossip;

    fn about(&self) -> About {
        About {
            rounds: Some(self.rounds),
            lints: self.lints(),
            terms: [terms::TERMS, classifier::FARING, attacks::TERMS].concat(),
            split: Some(split_of(&self.split, "each client's items")),
            headline: &[
                "test_accuracy",
                "test_worst_accuracy",
                "consensus_distance",
                "payload_bytes",
            ],
            keeps: true,
            edge_lists: self.topology.edge_list().map(str::to_owned).into_iter().collect(),
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let n_clients = source.n_clients();
        let links_seed = source.streams.global(LINKS).next_u32();
        let rng = &mut links_rng(links_seed, 0);
        let topology = &*self.topology;
        let graph = match topology.changes() {
            true => topology.graph(n_clients, rng)?,
            false => {
                let listed = topology.edge_list().and_then(|path| source.files.graphs.get(path));
                topology::connected(topology, listed, n_clients, rng)?
            }
        };
        Ok(Facts {
            data: classifier::Facts::new(self.inputs, self.split, source)?,
            start_seed: source.streams.global(START).next_u32(),
            links_seed,
            n_links: graph.n_edges() as u32,
            fixed: (!topology.changes()).then_some(graph),
        })
    }

    fn build(&self, facts: &Facts) -> Result<Gossip, StrategyError> {
        let classifier = Classifier::new(&self.model, &self.training, &facts.data)?.attacked_by(&self.malicious);
        let rng = &mut Streams::new(u64::from(facts.start_seed)).global(START);
        Ok(Gossip {
            common: classifier.network().layout().initialise(rng).into(),
            classifier,
            facts: facts.clone(),
            params: self.clone(),
            drawn: Drawn::default(),
        })
    }

    fn share(&self, _: &Facts, gossip: &Gossip, source: &Source<'_>) -> Result<Shared<Gossip>, StrategyError> {
        attacks::share(gossip, &self.attacks, &gossip.facts.data, (self.split, source))
    }
}

impl Victim for Gossip {
    fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    fn shared(&self, held: &Arc<Held>, _: &Source<'_>) -> Result<Shared<Gossip>, StrategyError> {
        Ok(Shared {
            shards: Box::new(Handed(Arc::clone(held))),
            evaluator: Box::new(Watch(Arc::clone(held))),
        })
    }

    fn known(&self, _: &End<'_, Gossip>, held: &Arc<Held>, _: &Source<'_>) -> Arc<Held> {
        Arc::clone(held)
    }

    fn asked(&self, end: &End<'_, Gossip>, _: &Held) -> Option<Models> {
        Some(self.attacked(&evaluator::last_models(end, &self.starts(end.clients.len()))))
    }

    fn untrained(&self, end: &End<'_, Gossip>) -> Option<Models> {
        let starts = self.starts(end.clients.len());
        Some(self.attacked(&starts.iter().map(|start| &**start).collect::<Vec<&[f32]>>()))
    }

    fn asks_clients(&self) -> bool {
        true
    }

    fn left(&self, end: &End<'_, Gossip>, _: &Held) -> Left {
        let starts = self.starts(end.clients.len());
        let own = evaluator::last_models(end, &starts).into_iter().map(<[f32]>::to_vec);
        Left {
            server: None,
            own: Some(own.collect()),
        }
    }
}

/// The stream that links of a round are drawn from.
fn links_rng(links_seed: u32, round: u32) -> SimRng {
    Streams::new(u64::from(links_seed)).party(LINKS, Party::Server, Round(round))
}

/// Learning without a server: its parameters, its network and what everybody knows.
pub struct Gossip {
    classifier: Classifier,
    /// The first model, where all begin alike.
    common: Arc<[f32]>,
    facts: Facts,
    params: Params,
    /// The malicious clients of the run.
    drawn: Drawn,
}

impl Gossip {
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The network and how it is trained.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The links of a round.
    pub fn graph(&self, round: u32) -> Graph {
        match &self.facts.fixed {
            Some(graph) => graph.clone(),
            None => {
                let rng = &mut links_rng(self.facts.links_seed, round);
                let drawn = self.params.topology.graph(self.facts.data.n_clients, rng);
                drawn.expect("a topology has a graph in every round if it has one in the first")
            }
        }
    }

    fn rounds(&self) -> u32 {
        self.params.rounds
    }

    fn method(&self) -> Method {
        self.params.method
    }

    fn timeout(&self) -> SimSpan {
        SimSpan::from_secs(self.params.timeout_s)
    }

    /// The neighbours of a client in a round and how much each counts, ascending; none beyond the
    /// last round.
    fn peers(&self, me: ClientId, round: u32) -> Vec<(u32, f64)> {
        if round >= self.rounds() {
            return Vec::new();
        }
        let of = |graph: &Graph| {
            let weighed = |j: &u32| (*j, self.params.weights.of(graph, me.0, *j));
            graph.neighbours(me.0).iter().map(weighed).collect()
        };
        match &self.facts.fixed {
            Some(graph) => of(graph),
            None => of(&self.graph(round)),
        }
    }

    /// A client's first model.
    fn start(&self, me: ClientId) -> Arc<[f32]> {
        match self.params.start {
            Start::Alike => Arc::clone(&self.common),
            Start::Own => {
                let streams = Streams::new(u64::from(self.facts.start_seed));
                let rng = &mut streams.party(START, Party::Client(me), Round(0));
                self.classifier.network().layout().initialise(rng).into()
            }
        }
    }

    /// The same of all.
    fn starts(&self, n_clients: u32) -> Vec<Arc<[f32]>> {
        (0..n_clients).map(|client| self.start(ClientId(client))).collect()
    }

    /// What attackers ask where clients have these models.
    fn attacked(&self, models: &[&[f32]]) -> Models {
        match self.params.attacked {
            Attacked::Clients => Models::OfClients(models.iter().map(|model| model.to_vec()).collect()),
            Attacked::Mean => Models::One(evaluator::mean(models)),
        }
    }

    /// Operations of a client's training in one round.
    fn cost(&self, shard: &Shard) -> f64 {
        match self.method() {
            Method::Dpsgd => self.classifier.step_cost(shard),
            Method::Averaging | Method::Pairwise { .. } => self.classifier.cost(shard),
        }
    }

    fn is_evaluated(&self, round: u32) -> bool {
        let n_rounds = round + 1;
        n_rounds >= self.rounds() || n_rounds.is_multiple_of(self.params.evaluate_every)
    }
}

/// A client's training, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    /// How many it has ended before.
    n_trained: u32,
    #[serde(with = "shared")]
    model: Arc<[f32]>,
    /// It is malicious, and attacks in this round.
    attacks: bool,
}

/// What comes of it.
pub struct Done {
    n_trained: u32,
    model: Vec<f32>,
}

/// The counters, in the order of [`Strategy::COUNTERS`].
pub(crate) mod counter {
    pub(crate) const MISSING: usize = 0;
    pub(crate) const LATE: usize = 1;
    pub(crate) const REFUSED: usize = 2;
    pub(crate) const SKIPPED: usize = 3;
    pub(crate) const RESTARTED: usize = 4;
    pub(crate) const LATE_REPORTS: usize = 5;
}

impl Strategy for Gossip {
    type Down = Never;
    type Up = Up;
    type Peer = Peer;
    type Shard<'a> = &'a Shard;
    type Work = Work;
    type Done = Done;
    type Server = Server;
    type Client = Client;
    type Sight = ();

    const COUNTERS: &'static [&'static str] = &[
        "missing_models",
        "late_models",
        "refused_models",
        "skipped_rounds",
        "repeated_trainings",
        "late_reports",
    ];

    fn server(&self, setup: &Setup<'_>) -> Result<Server, StrategyError> {
        if setup.n_clients == 0 {
            return Err(StrategyError(
                "there is nobody to train; use a partition with clients".to_owned(),
            ));
        }
        self.params.malicious.clients.check(setup.n_clients)?;
        Ok(Server::new(self, setup.n_clients))
    }

    fn client(&self, _: &Shard, _: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::new(self))
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        server.handle(self, event, cx);
        Ok(())
    }

    fn on_client(
        &self,
        shard: &Shard,
        client: &mut Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        client.handle(self, shard, event, cx);
        Ok(())
    }

    fn perform(&self, shard: Option<&Shard>, work: &Work, cx: &JobContext) -> Done {
        let shard = shard.expect("clients train");
        let course = Course {
            is_one_step: self.method() == Method::Dpsgd,
            ..Course::default()
        };
        let malicious = &self.params.malicious;
        let (shard, trains) = match work.attacks {
            true => (shard.poisoned(), malicious.adversary.trains()),
            false => (shard, true),
        };
        let rng = &mut cx.round_rng(LOCAL);
        let mut model = match trains {
            true => self.classifier.train_along(shard, &work.model, &course, rng).0,
            false => work.model.to_vec(),
        };
        if work.attacks {
            let n = self.classifier.network().layout().n_trainable();
            malicious.craft_alone(&work.model[..n], &mut model[..n], cx.round(), cx.round_rng(CRAFTED));
        }
        Done {
            n_trained: work.n_trained,
            model,
        }
    }

    fn placeholder(&self, _: Option<&Shard>, work: &Work, _: &JobContext) -> Done {
        Done {
            n_trained: work.n_trained,
            model: work.model.to_vec(),
        }
    }

    fn sized_by_values(&self) -> Vec<&'static str> {
        packed::sized_by_values(&*self.params.codec, &["packed_model", "packed_answer"])
    }

    /// Of every client its model, the one that it trains and its gradient, one on its way and those
    /// of two neighbours.
    fn heap_bytes(&self, n_here: u32, _: &Setup<'_>) -> u64 {
        24 * self.classifier.network().layout().len() as u64 * u64::from(n_here)
    }

    fn absence(&self, message: &Letter<Self>) -> Absence {
        match message {
            Letter::Peer(_) => Absence::GiveUp,
            Letter::Up(_) | Letter::Down(_) => Absence::Wait,
        }
    }

    fn starts_clients(&self) -> bool {
        true
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        vec![MechanismInfo {
            mechanism: "none: weights".to_owned(),
            unit: "one shard".to_owned(),
            claimed: None,
        }]
    }
}
