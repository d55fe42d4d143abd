//! PPGM: two devices score the similarity of their graphs without sending a node's representation.
//!
//! Y. Hou, W. X. Zhao, Y. Li, J.-R. Wen. Privacy-Preserved Neural Graph Similarity Learning. ICDM
//! 2022. <https://arxiv.org/abs/2210.11730>
//!
//! The paper's *user device* is our client, its *matching service* our server. Training is central,
//! on raw pairs and before deployment, so outside the threat model: no message stands for it.
//!
//! | exchange   | direction | payload                                                        | bytes        |
//! |------------|-----------|----------------------------------------------------------------|--------------|
//! | `model`    | downlink  | the trained model with its codes, `f32`, once                  | 4 × n_params |
//! | `invite`   | peer      | the match's number; models without an exchange alone           | 8            |
//! | `exchange` | peer      | number and step, then g (m × d), or what the model sends there | 12 + 4 m d   |
//! | `result`   | uplink    | number, then o (d), or what the model sends there              | 8 + 4 d      |
//! | `score`    | downlink  | number and score, to both devices                              | 12           |
//!
//! With a `codec` the numbers of `exchange` and `result` take the bytes that it gives them, and 4
//! more for the number of rows, as `packed_exchange` and `packed_result`.
//!
//! The paper's sizes lack the number of the match, without which a device could take part in one at
//! a time only. SGNN, SGNN with noise, SimGNN, GMN, GraphSim, MGMN, H2MN and EGSC's two networks
//! run in the same protocol; what leaves a device there is what [`matcher`] says of each. EGSC's
//! student learns from a teacher who is trained before it, on other draws ([`distillation`]). The
//! noise of SGNN_LDP is drawn anew for every vector that is sent, so wherever a model is measured,
//! and not in training, where nothing is sent. Its numbers have no bound, so it keeps no budget;
//! `SgnnPrivate`, which is no model of the paper, keeps one.
//!
//! A device begins matches with devices at random, at random times. A message to a device that is
//! away is repeated after a time-out while its sender still waits for a score; a match without one
//! after `deployment.patience_s` is lost.
//!
//! Deviations from the paper: none of the text by `variant: AsPublished` but the number of a match;
//! see `options` for the others.

mod algorithm;
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
mod shards;
mod tables;
mod terms;
pub mod train;
pub mod view;

pub use algorithm::{Done, Facts, Ppgm, Work};
pub use client::Client;
pub use message::{Down, Peer, Up};
pub use params::Params;
pub use server::Server;

use algorithm::Scored;
use data::{Data, Own};
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed;
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use matcher::Stages;
use message::MatchId;
use options::Noise;
use scores::Watch;
use shards::Graphs;
use std::sync::Arc;

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Ppgm;

    fn about(&self) -> About {
        About {
            results_version: self.model.results_version(),
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
            evaluator: Box::new(Watch::new(data, source.streams)),
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
    registry.add_artifact_tables(&[tables::ATTACKS, tables::OVERHEARD, tables::OVERHEARD_COLUMNS]);
    registry.add::<Params>()?;
    registry.add::<federated::Params>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, register])
}
