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
//! The paper's sizes lack the number of the match, without which a device could take part in one at a time only. SGNN, SGNN with
//! noise, SimGNN, GMN, GraphSim, MGMN and H2MN run in the same protocol; what leaves a device there is what [`matcher`] says of each.
//! The noise of SGNN_LDP is drawn anew for every vector that is sent, so wherever a model is measured, and not in training, where
//! nothing is sent.
//!
//! A device begins matches with devices at random, at random times. A message to a device that is away is repeated after a time-out
//! while its sender still waits for a score; a match without one after `deployment.patience_s` is lost.
//!
//! Deviations from the paper: none of the text by `variant: AsPrinted` but the number of a match; see `options` for the others.

pub mod attack;
mod client;
pub mod data;
pub mod federated;
pub mod learned;
pub mod matcher;
pub mod message;
pub mod options;
pub mod pairs;
pub mod params;
mod scores;
mod server;
pub mod train;

pub use client::Client;
pub use message::Message;
pub use params::Params;
pub use server::Server;

use crate::settings::Settings;
use data::Data;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_privacy::Laplace;
use learned::Learned;
use matcher::{Held, Matcher, Matrix, Stages};
use message::MatchId;
use options::Model;
use serde::{Deserialize, Serialize};
use server::Scored;
use std::sync::Arc;

/// The system: parameters, graphs, the model, and which device has which graphs.
pub struct Ppgm {
    params: Params,
    data: Data,
    matcher: Box<dyn Matcher>,
    noise: Option<Laplace>,
    partition: Arc<Partition>,
    streams: Streams,
}

/// What is worked on in the background. Without a model, in a dry run, results are zeros of the right shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// The service trains, chooses and measures a model.
    Learn,
    /// A device reads its graph.
    Begin {
        /// For which match.
        id: MatchId,
        /// Which graph.
        graph: u32,
        /// The model.
        model: Option<Arc<[f32]>>,
    },
    /// A device reads the other's message.
    Meet {
        /// Of which match.
        id: MatchId,
        /// Its number.
        step: u32,
        /// The device's own graph.
        graph: u32,
        /// What the device had, and what came.
        parts: Box<(Held, Matrix)>,
        /// The model.
        model: Option<Arc<[f32]>>,
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
        model: Option<Arc<[f32]>>,
    },
}

/// What comes of it.
pub enum Done {
    /// A model.
    Learned(Box<Learned>),
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

/// The counters, in the order of [`Strategy::COUNTERS`].
pub(crate) mod counter {
    pub(crate) const BEGUN: usize = 0;
    pub(crate) const SCORED: usize = 1;
    pub(crate) const LOST: usize = 2;
    pub(crate) const REPEATED: usize = 3;
    pub(crate) const DECLINED: usize = 4;
}

/// The mechanisms, in the order of [`Strategy::mechanisms`].
pub(crate) mod mechanism {
    pub(crate) const EXCHANGE: usize = 0;
    pub(crate) const RESULT: usize = 1;
}

impl Ppgm {
    /// The system on a set of graphs with classes and properties.
    ///
    /// # Errors
    ///
    /// When the data do not suit it; see [`Data::new`].
    pub fn new(
        params: Params,
        dataset: &Dataset,
        partition: Arc<Partition>,
        streams: Streams,
    ) -> Result<Self, StrategyError> {
        let property = params.attack.property.as_deref();
        let data = Data::new(dataset, &params.form, (params.split, property), streams)?;
        let noise = match params.model {
            Model::SgnnLdp { scale } => Some(Laplace::new(scale).map_err(|error| StrategyError(error.to_string()))?),
            _ => None,
        };
        Ok(Ppgm {
            matcher: matcher::build(params.model, &params.size, &params.form, data.n_features),
            params,
            data,
            noise,
            partition,
            streams,
        })
    }

    /// The graphs.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The model's pieces.
    pub fn matcher(&self) -> &dyn Matcher {
        self.matcher.as_ref()
    }

    /// Trains and measures a model, as the service does at the start of a run.
    pub fn train(&self) -> Learned {
        self.learn()
    }

    /// Operations of a device's step on one of its graphs: the products of its nodes with square matrices of the hidden width, of
    /// which the encoder has as many as layers and each attention two.
    fn cost(&self, graph: u32, step: u32) -> f64 {
        let nodes = self.data.inputs[graph as usize].n_nodes() as f64;
        let width = f64::from(self.params.size.hidden);
        let products = match step {
            0 => f64::from(self.params.size.layers) + 2.0,
            _ => 2.0,
        };
        2.0 * nodes * width * width * products
    }

    fn blank(&self, graph: u32, step: u32) -> Held {
        let n_nodes = self.data.inputs[graph as usize].n_nodes();
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

impl Settings for Params {
    type Strategy = Ppgm;

    fn rounds(&self) -> Option<u32> {
        Some(1)
    }

    fn build(
        &self,
        dataset: &Arc<Dataset>,
        partition: &Arc<Partition>,
        streams: Streams,
    ) -> Result<Ppgm, StrategyError> {
        Ppgm::new(self.clone(), dataset, Arc::clone(partition), streams)
            .map_err(|StrategyError(why)| StrategyError(format!("PPGM: {why}")))
    }
}

impl Strategy for Ppgm {
    type Message = Message;
    type Work = Work;
    type Done = Done;
    type Server = Server;
    type Client = Client;

    const COUNTERS: &'static [&'static str] = &[
        "matches_begun",
        "matches_scored",
        "matches_lost",
        "exchanges_repeated",
        "invitations_declined",
    ];

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
        server.handle(self, event, cx)
    }

    fn on_client(
        &self,
        client: &mut Client,
        event: Event<Self>,
        cx: &mut Context<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        client.handle(self, event, cx)
    }

    fn perform(&self, work: &Work) -> Done {
        let matcher = self.matcher.as_ref();
        match work {
            Work::Learn => Done::Learned(Box::new(self.learn())),
            Work::Begin { id, graph, model } => {
                let input = &self.data.inputs[*graph as usize];
                let begin = |model: &Arc<[f32]>| Stages::with(matcher, model, |stages| stages.begin(input));
                Done::Held {
                    id: *id,
                    held: model.as_ref().map_or_else(|| self.blank(*graph, 0), begin),
                }
            }
            Work::Meet {
                id,
                step,
                graph,
                parts,
                model,
            } => {
                let (input, (held, theirs)) = (&self.data.inputs[*graph as usize], parts.as_ref());
                let meet =
                    |model: &Arc<[f32]>| Stages::with(matcher, model, |stages| stages.meet(*step, input, held, theirs));
                Done::Held {
                    id: *id,
                    held: model.as_ref().map_or_else(|| self.blank(*graph, step + 1), meet),
                }
            }
            Work::Score {
                id,
                invited,
                sent,
                model,
            } => {
                let [first, second] = sent.as_ref();
                let score = |model: &Arc<[f32]>| Stages::with(matcher, model, |stages| stages.score(first, second));
                Done::Scored {
                    scored: Scored {
                        id: *id,
                        invited: *invited,
                        score: model.as_ref().map_or(0.0, score),
                    },
                }
            }
        }
    }

    fn absence(&self, message: &Message) -> Absence {
        match message {
            Message::Model(_) | Message::Score { .. } | Message::Result { .. } => Absence::Wait,
            Message::Invite { .. } | Message::Exchange(_) => Absence::Tell {
                after: SimSpan::from_millis(self.params.deployment.timeout_ms),
            },
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let info = |mechanism: &str| MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: "one graph".to_owned(),
            delta: 0.0,
            composition: "none".to_owned(),
            claimed: None,
        };
        vec![
            info("none: message to the other device"),
            info(match self.noise {
                None => "none: representation at the service",
                Some(_) => "none: laplace noise on unbounded numbers",
            }),
        ]
    }

    fn evaluate(&self, server: &Server, clients: &Clients<'_, Client>, report: &Report<'_>, _: &mut SimRng) -> Scores {
        scores::scores(self, server, clients, report)
    }
}
