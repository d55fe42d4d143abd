//! The algorithm: its parameters and model, and the jobs of devices and service.

use super::matcher::{self, Held, Input, Matcher, Matrix};
use super::message::MatchId;
use super::options::{Distillation, Model, Noise, Sends};
use super::pairs::{Deployed, SCORED};
use super::params::Params;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
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
    pub(super) params: Params,
    pub(super) matcher: Box<dyn Matcher>,
    pub(super) noise: Option<Noise>,
    pub(super) teacher: Option<Box<Ppgm>>,
}

/// What is worked on in the background.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// A device reads its graph.
    Begin {
        id: MatchId,
        /// Which of its graphs.
        graph: u32,
        #[serde(with = "shared")]
        model: Arc<[f32]>,
    },
    /// A device reads the other's message.
    Meet {
        id: MatchId,
        step: u32,
        /// Which of the device's graphs.
        graph: u32,
        /// What the device had, and what came.
        parts: Box<(Held, Matrix)>,
        #[serde(with = "shared")]
        model: Arc<[f32]>,
    },
    /// The service compares two representations.
    Score {
        id: MatchId,
        invited: u32,
        /// The initiator's and the other's.
        sent: Box<[Matrix; 2]>,
        #[serde(with = "shared")]
        model: Arc<[f32]>,
    },
}

/// What comes of it.
pub enum Done {
    /// A device's part of a match.
    Held {
        id: MatchId,
        held: Held,
    },
    Scored {
        scored: Scored,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub id: MatchId,
    pub invited: u32,
    pub score: f32,
}

/// Draws of the initial model.
const START: Purpose = Purpose(*b"pp-start");
/// What a codec rounds at random.
pub(super) const PACKING: Purpose = Purpose(*b"pp-packg");

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

    pub fn matcher(&self) -> &dyn Matcher {
        self.matcher.as_ref()
    }

    /// The columns of message number `step` to the other device; 0 where there is none.
    pub(super) fn sent_columns(&self, step: u32) -> usize {
        self.matcher.sent_shape(step, 0).map_or(0, |(_, columns)| columns)
    }

    /// The width of what its models compute.
    pub(super) fn hidden(&self) -> usize {
        self.params.size.hidden as usize
    }

    /// Operations of a device's step on one of its graphs: the products of its nodes with square
    /// matrices of the hidden width, of which the encoder has as many as layers and each attention
    /// two.
    pub(super) fn cost(&self, graph: &Input, step: u32) -> f64 {
        let nodes = graph.n_nodes() as f64;
        let width = f64::from(self.params.size.hidden);
        let products = match step {
            0 => f64::from(self.params.size.layers) + 2.0,
            _ => 2.0,
        };
        2.0 * nodes * width * width * products
    }

    pub(super) fn blank(&self, graph: &Input, step: u32) -> Held {
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

    /// The model before training.
    pub fn initial(&self, rng: impl FnOnce(Purpose) -> SimRng) -> Vec<f32> {
        self.matcher.layout().initialise(&mut rng(START))
    }

    /// A model as devices use it; its noise comes from `streams`.
    pub fn deployed<'a>(&'a self, parameters: &'a [f32], streams: Streams) -> Deployed<'a> {
        Deployed {
            matcher: self.matcher.as_ref(),
            parameters,
            noise: self.noise,
            codec: &*self.params.codec,
            padding: (self.params.form.padding, self.params.training.batch_pairs as usize),
            streams,
            purpose: SCORED,
        }
    }
}
