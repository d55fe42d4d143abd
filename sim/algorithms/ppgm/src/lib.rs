//! PPGM: two devices score the similarity of their graphs without sending a node's representation.
//!
//! Y. Hou, W. X. Zhao, Y. Li, J.-R. Wen. Privacy-Preserved Neural Graph Similarity Learning. ICDM 2022.
//! <https://arxiv.org/abs/2210.11730>
//!
//! The paper's *user device* is our client, its *matching service* our server. Training is central, on raw pairs and before
//! deployment, so outside the threat model: no message stands for it.
//!
//! | exchange   | direction | payload                                                        | bytes        |
//! |------------|-----------|----------------------------------------------------------------|--------------|
//! | `model`    | downlink  | the trained model with its codes, `f32`, once                  | 4 × n_params |
//! | `invite`   | peer      | the match's number; models without an exchange alone           | 8            |
//! | `exchange` | peer      | number and step, then g (m × d), or what the model sends there | 12 + 4 m d   |
//! | `result`   | uplink    | number, then o (d), or what the model sends there              | 8 + 4 d      |
//! | `score`    | downlink  | number and score, to both devices                              | 12           |
//!
//! With a `codec` the numbers of `exchange` and `result` take the bytes that it gives them, and 4 more for the number of rows, as
//! `packed_exchange` and `packed_result`.
//!
//! The paper's sizes lack the number of the match, without which a device could take part in one at a time only. SGNN, SGNN with
//! noise, SimGNN, GMN, GraphSim, MGMN, H2MN and EGSC's two networks run in the same protocol; what leaves a device there is what
//! [`matcher`] says of each. EGSC's student learns from a teacher who is trained before it, on other draws ([`distillation`]).
//! The noise of SGNN_LDP is drawn anew for every vector that is sent, so wherever a model is measured, and not in training, where
//! nothing is sent. Its numbers have no bound, so it keeps no budget; `SgnnPrivate`, which is no model of the paper, keeps one.
//!
//! A device begins matches with devices at random, at random times. A message to a device that is away is repeated after a time-out
//! while its sender still waits for a score; a match without one after `deployment.patience_s` is lost.
//!
//! Deviations from the paper: none of the text by `variant: AsPrinted` but the number of a match; see `options` for the others.

pub mod attack;
mod client;
pub mod data;
pub mod distillation;
pub mod edits;
pub mod federated;
pub mod learned;
pub mod matcher;
pub mod message;
pub mod options;
pub mod pairs;
pub mod params;
mod scores;
mod server;
mod terms;
pub mod train;

pub use client::Client;
pub use message::{Down, Peer, Up};
pub use params::Params;
pub use server::Server;

use data::{Data, Graphs, Own};
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed;
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use matcher::{Held, Input, Matcher, Matrix, Stages};
use message::MatchId;
use options::{Distillation, Model, Sends};
use pairs::Noise;
use scores::Watch;
use serde::{Deserialize, Serialize};
use server::Scored;
use std::sync::Arc;

/// What everybody knows of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The number of clients.
    pub n_clients: u32,
    /// Numbers that a node brings.
    pub n_features: u32,
}

/// The system: its parameters and the pieces of its model.
pub struct Ppgm {
    params: Params,
    matcher: Box<dyn Matcher>,
    noise: Option<Noise>,
    teacher: Option<Box<Ppgm>>,
}

/// What is worked on in the background.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// A device reads its graph.
    Begin {
        /// For which match.
        id: MatchId,
        /// Which of its graphs.
        graph: u32,
        /// The model.
        #[serde(with = "shared")]
        model: Arc<[f32]>,
    },
    /// A device reads the other's message.
    Meet {
        /// Of which match.
        id: MatchId,
        /// Its number.
        step: u32,
        /// Which of the device's graphs.
        graph: u32,
        /// What the device had, and what came.
        parts: Box<(Held, Matrix)>,
        /// The model.
        #[serde(with = "shared")]
        model: Arc<[f32]>,
    },
    /// The service compares two representations.
    Score {
        /// Of which match.
        id: MatchId,
        /// Who was invited.
        invited: u32,
        /// The initiator's and the other's.
        sent: Box<[Matrix; 2]>,
        /// The model.
        #[serde(with = "shared")]
        model: Arc<[f32]>,
    },
}

/// What comes of it.
pub enum Done {
    /// A device's part of a match.
    Held {
        /// Of which match.
        id: MatchId,
        /// The part.
        held: Held,
    },
    /// A score.
    Scored {
        /// With its match.
        scored: Scored,
    },
}

/// What a codec rounds at random.
const PACKING: Purpose = Purpose(*b"pp-packg");

/// The counters, in the order of [`Strategy::COUNTERS`].
pub(crate) mod counter {
    pub(crate) const BEGUN: usize = 0;
    pub(crate) const SCORED: usize = 1;
    pub(crate) const LOST: usize = 2;
    pub(crate) const REPEATED: usize = 3;
    pub(crate) const DECLINED: usize = 4;
}

/// The mechanisms, in the order of [`Strategy::mechanisms`], and their noise.
pub(crate) mod mechanism {
    use folkmoot_engine::prelude::{Channel, Purpose};

    pub(crate) const EXCHANGE: Channel = Channel::new(0, Purpose(*b"pp-excha"));
    pub(crate) const RESULT: Channel = Channel::new(1, Purpose(*b"pp-devns"));
}

impl Ppgm {
    /// The system on data of which everybody knows `facts`.
    ///
    /// # Errors
    ///
    /// When the scale of the noise is no scale.
    pub fn new(params: Params, facts: &Facts) -> Result<Self, StrategyError> {
        let noise = params.model.noise(params.size.hidden);
        let noise = noise.map_err(|error| StrategyError(error.to_string()))?;
        let teacher = match params.model.distillation() {
            Distillation::None => None,
            _ => {
                let mut params = params.clone();
                params.model = Model::EgscTeacher { sends: Sends::Graph };
                params.attack.every = 0;
                Some(Box::new(Ppgm::new(params, facts)?))
            }
        };
        Ok(Ppgm {
            matcher: matcher::build(params.model, &params.size, &params.form, facts.n_features as usize),
            params,
            noise,
            teacher,
        })
    }

    /// The model's pieces.
    pub fn matcher(&self) -> &dyn Matcher {
        self.matcher.as_ref()
    }

    /// The columns of message number `step` to the other device; 0 where there is none.
    fn sent_columns(&self, step: u32) -> usize {
        self.matcher.sent_shape(step, 0).map_or(0, |(_, columns)| columns)
    }

    /// The width of what its models compute.
    fn hidden(&self) -> usize {
        self.params.size.hidden as usize
    }

    /// Operations of a device's step on one of its graphs: the products of its nodes with square matrices of the hidden width, of
    /// which the encoder has as many as layers and each attention two.
    fn cost(&self, graph: &Input, step: u32) -> f64 {
        let nodes = graph.n_nodes() as f64;
        let width = f64::from(self.params.size.hidden);
        let products = match step {
            0 => f64::from(self.params.size.layers) + 2.0,
            _ => 2.0,
        };
        2.0 * nodes * width * width * products
    }

    fn blank(&self, graph: &Input, step: u32) -> Held {
        let n_nodes = graph.n_nodes();
        match self.matcher.sent_shape(step, n_nodes) {
            Some(shape) => Held {
                state: Matrix::default(),
                sent: Some(Matrix::zeros(shape)),
            },
            None => Held {
                state: Matrix::zeros(self.matcher.result_shape(n_nodes)),
                sent: None,
            },
        }
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Ppgm;

    fn about(&self) -> About {
        About {
            rounds: Some(1),
            terms: terms::TERMS.to_vec(),
            split: Some(split_of(&self.split, "the whole set")),
            headline: &["similarity_auc", "attack_auc"],
            models: self.trained.iter().cloned().collect(),
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Ok(Facts {
            n_clients: source.n_clients(),
            n_features: data::n_features(source.dataset, self.task)? as u32,
        })
    }

    fn build(&self, facts: &Facts) -> Result<Ppgm, StrategyError> {
        Ppgm::new(self.clone(), facts)
    }

    fn share(&self, _: &Facts, ppgm: &Ppgm, source: &Source<'_>) -> Result<Shared<Ppgm>, StrategyError> {
        let data = Data::new(self, source)?;
        if let Some(path) = &self.trained {
            let Some(model) = &data.trained else {
                return Err(StrategyError(format!(
                    "trained: {path} was not read; hand its numbers over in Source::files"
                )));
            };
            let n = ppgm.matcher.layout().len();
            let refuse = |why| Err(StrategyError(format!("trained: {path} {why}")));
            if model.len() != n {
                return refuse(format!(
                    "holds {} numbers, and the model of these settings has {n}; keep model, size and form of the run that kept it",
                    model.len()
                ));
            }
            if !model.iter().all(|x| x.is_finite()) {
                return refuse("holds a number that is not finite; train anew".to_owned());
            }
        }
        let data = Arc::new(data);
        Ok(Shared {
            shards: Box::new(Graphs::new(Arc::clone(&data), source)),
            study: Box::new(Watch::new(data, source.streams)),
        })
    }
}

impl Strategy for Ppgm {
    type Down = Down;
    type Up = Up;
    type Peer = Peer;
    type Shard<'a> = Own<'a>;
    type Work = Work;
    type Done = Done;
    type Server = Server;
    type Client = Client;
    type Sight = ();

    const COUNTERS: &'static [&'static str] = &[
        "matches_begun",
        "matches_scored",
        "matches_lost",
        "exchanges_repeated",
        "invitations_declined",
    ];

    fn server(&self, setup: &Setup<'_>) -> Result<Server, StrategyError> {
        // What training begins with.
        Ok(Server::new(self.initial(|purpose| setup.rng(purpose))))
    }

    fn client(&self, _: Own<'_>, _: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::default())
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        server.handle(self, event, cx)
    }

    fn on_client(
        &self,
        own: Own<'_>,
        client: &mut Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        client.handle(self, own, event, cx)
    }

    fn perform(&self, own: Option<Own<'_>>, work: &Work, _: &JobContext) -> Done {
        let matcher = self.matcher.as_ref();
        let input = |graph: &u32| own.expect("devices read their graphs").graph(*graph);
        match work {
            Work::Begin { id, graph, model } => Done::Held {
                id: *id,
                held: Stages::with(matcher, model, |stages| stages.begin(input(graph))),
            },
            Work::Meet {
                id,
                step,
                graph,
                parts,
                model,
            } => {
                let (input, (held, theirs)) = (input(graph), parts.as_ref());
                Done::Held {
                    id: *id,
                    held: Stages::with(matcher, model, |stages| stages.meet(*step, input, held, theirs)),
                }
            }
            Work::Score {
                id,
                invited,
                sent,
                model,
            } => {
                let [first, second] = sent.as_ref();
                Done::Scored {
                    scored: Scored {
                        id: *id,
                        invited: *invited,
                        score: Stages::with(matcher, model, |stages| stages.score(first, second)),
                    },
                }
            }
        }
    }

    /// Zeros of the right shape.
    fn placeholder(&self, own: Option<Own<'_>>, work: &Work, _: &JobContext) -> Done {
        let blank = |id: &MatchId, graph: &u32, step| Done::Held {
            id: *id,
            held: self.blank(own.expect("devices read their graphs").graph(*graph), step),
        };
        match work {
            Work::Begin { id, graph, .. } => blank(id, graph, 0),
            Work::Meet { id, step, graph, .. } => blank(id, graph, step + 1),
            Work::Score { id, invited, .. } => Done::Scored {
                scored: Scored {
                    id: *id,
                    invited: *invited,
                    score: 0.0,
                },
            },
        }
    }

    fn sized_by_values(&self) -> Vec<&'static str> {
        packed::sized_by_values(&*self.params.codec, &["packed_exchange", "packed_result"])
    }

    fn absence(&self, message: &Letter<Self>) -> Absence {
        match message {
            Letter::Down(_) | Letter::Up(_) => Absence::Wait,
            Letter::Peer(_) => Absence::Tell {
                after: SimSpan::from_millis(self.params.deployment.timeout_ms),
            },
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let info = |mechanism: &str| MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: "one graph".to_owned(),
            claimed: None,
        };
        vec![
            info("none: message to the other device"),
            info(match self.noise {
                None => "none: representation at the service",
                Some(Noise { epsilon: None, .. }) => "none: laplace noise on unbounded numbers",
                Some(Noise { epsilon: Some(_), .. }) => "laplace: numbers of a vector of length 1",
            }),
        ]
    }
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("ppgm");
    registry.add::<Params>()?;
    registry.add::<federated::Params>()
}

/// A registry with this crate and what it builds on, for tests.
///
/// # Panics
///
/// Never: their names differ.
pub fn only() -> Registry {
    let mut registry = Registry::base();
    folkmoot_rounds::register(&mut registry).expect("names differ");
    register(&mut registry).expect("names differ");
    registry
}
