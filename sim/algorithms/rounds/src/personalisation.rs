//! Models that differ between the server and its clients, or from client to client.

use crate::Trainer;
use crate::rule::{Mean, Rule, RuleContext, Update, Updates};
use folkmoot_codecs::{Shape, n_values};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which numbers of a model travel, and what the server makes of updates. Given to
/// [`Rounds::personalised`](crate::Rounds::personalised). The defaults are those of federated
/// averaging: the whole model travels, and the aggregate of the updates is the new model.
pub trait Personalisation<R: Trainer>: Send + Sync {
    /// The numbers that travel. Default: a whole model in both directions.
    fn travels(&self, trainer: &R) -> Travels {
        Travels::whole(trainer)
    }

    /// Where in the model of a client the numbers begin that its update changes; `others` stand
    /// behind these in the update. Default: 0.
    fn begins(&self, _trainer: &R, _others: &[f32]) -> usize {
        0
    }

    /// The server's numbers before the first round. Default: drawn as the layout says.
    fn initial(&self, trainer: &R, rng: &mut SimRng) -> Vec<f32> {
        trainer.layout().initialise(rng)
    }

    /// Corrects what a client is to keep by the `change` of what learns as the server reads it,
    /// behind a codec or a clip; `None` where the update is rejected. Pure. Default: nothing.
    fn is_read(&self, _kept: &mut Option<R::ClientState>, _change: &dyn Fn() -> Option<Vec<f32>>) {}

    /// The clients whose model changes at a server that has one for each, with a weight for every
    /// update, at least 0 and not all 0. Divided by its sum, such a row is one of a row-stochastic
    /// matrix `W`: client `i` is then sent `Σ_j W_ij y_j` of the first [`Travels::n_down`] numbers.
    /// A client without a model is sent the aggregate of all. `memory` is the server's, at first
    /// empty. Default: one model for all.
    fn rows(&self, _trainer: &R, _memory: &mut Vec<f64>, _answers: &Answers<'_>) -> Option<Vec<(ClientId, Vec<f64>)>> {
        None
    }

    /// The aggregate of updates that the server sees one by one. Default: by the card's rule, of
    /// the first [`Travels::n_down`] numbers.
    fn combine(&self, trainer: &R, rule: &dyn Rule, updates: &Updates<'_>, context: &mut RuleContext<'_>) -> Vec<f64> {
        rule.combine(&updates.first(self.travels(trainer).n_down), context)
    }

    /// What the server makes of that, before its optimiser: `memory` is its own, at first empty,
    /// `model` its present numbers, `weight` that of all updates. Default: `mean` unchanged.
    fn settle(&self, _trainer: &R, _memory: &mut Vec<f64>, _model: &[f32], mean: Vec<f64>, _weight: f64) -> Vec<f64> {
        mean
    }
}

/// The numbers that travel in each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Travels {
    /// Numbers that the server has and sends.
    pub n_down: usize,
    /// Rows and columns of the matrices, the first numbers of these, that learn.
    pub shapes: Vec<Shape>,
    /// Numbers that a client sends, including those that [`Statistics`](crate::Statistics) fix.
    pub n_up: usize,
    /// Rows and columns of the matrices, the first numbers of these, that learn.
    pub update_shapes: Vec<Shape>,
}

impl Travels {
    /// A whole model in both directions.
    pub fn whole<R: Trainer>(trainer: &R) -> Travels {
        let layout = trainer.layout();
        Travels {
            n_down: layout.len(),
            shapes: layout.shapes(),
            n_up: layout.len(),
            update_shapes: layout.shapes(),
        }
    }

    /// The same with `n` more numbers at the end of an update, which do not learn.
    pub fn and(self, n: usize) -> Travels {
        Travels {
            n_up: self.n_up + n,
            ..self
        }
    }

    /// How many of the server's numbers learn.
    pub fn n_trainable(&self) -> usize {
        n_values(&self.shapes)
    }
}

/// State of the server in addition to its model, empty unless models are personalised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// What [`Personalisation::settle`] and [`Personalisation::rows`] make of it.
    pub numbers: Vec<f64>,
    /// Models of single clients, by their ids.
    pub own: BTreeMap<u32, OwnModel>,
}

/// A model for one client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnModel(#[serde(with = "shared")] pub Arc<[f32]>);

impl Memory {
    /// The model that the server has for a client, where that is not the one for all.
    pub fn own_model(&self, client: ClientId) -> Option<Arc<[f32]>> {
        self.own.get(&client.0).map(|OwnModel(own)| Arc::clone(own))
    }

    /// Renews the models of single clients by the updates of a round.
    pub(crate) fn renew<R: Trainer>(
        &mut self,
        method: &dyn Personalisation<R>,
        trainer: &R,
        n: usize,
        updates: &Updates<'_>,
    ) {
        let answers = Answers {
            updates,
            own: &self.own,
        };
        let Some(rows) = method.rows(trainer, &mut self.numbers, &answers) else {
            return;
        };
        // Clients with equal rows have one model, which is computed once.
        let mut made: Vec<(Vec<f64>, Arc<[f32]>)> = Vec::new();
        for (client, row) in rows {
            let own = match made.iter().find(|(of, _)| *of == row) {
                Some((_, own)) => Arc::clone(own),
                None => {
                    let weighted = updates.all.iter().zip(row.iter().copied());
                    let weighted = weighted.filter(|(_, weight)| *weight > 0.0);
                    let all = weighted.map(|(update, weight)| Update { weight, ..*update });
                    let all = Updates {
                        all: all.collect(),
                        ..*updates
                    };
                    let own = Mean::of(&all.first(n));
                    let own: Arc<[f32]> = own.into_iter().map(|x| x as f32).collect();
                    made.push((row, Arc::clone(&own)));
                    own
                }
            };
            self.own.insert(client.0, OwnModel(own));
        }
    }
}

/// The updates of a round, and the models that they are updates of.
pub struct Answers<'a> {
    /// Models, followed by what else was sent with them.
    pub updates: &'a Updates<'a>,
    own: &'a BTreeMap<u32, OwnModel>,
}

impl<'a> Answers<'a> {
    /// Answers to the server's one model.
    pub fn to_one_model(updates: &'a Updates<'a>) -> Self {
        const NONE: &BTreeMap<u32, OwnModel> = &BTreeMap::new();
        Answers { updates, own: NONE }
    }

    /// The model that a client was sent in this round.
    pub fn sent(&self, client: ClientId) -> &[f32] {
        self.own.get(&client.0).map_or(self.updates.model, |OwnModel(own)| own)
    }

    /// A row for each update's client.
    pub fn each(&self, rows: impl IntoIterator<Item = Vec<f64>>) -> Vec<(ClientId, Vec<f64>)> {
        let clients = self.updates.all.iter().map(|update| update.client);
        clients.zip(rows).collect()
    }
}
