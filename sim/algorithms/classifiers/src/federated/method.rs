//! What a method of federated training is: what travels, what a client learns and keeps, and what it answers with.

use super::{OwnModel, Params};
use crate::classifier::{Classifier, Course, Shard};
use folkmoot_codecs::Shape;
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_engine::prelude::ClientId;
use folkmoot_learning::{Batch, Moments};
use folkmoot_parts::{Rules, kind};
use folkmoot_rounds::{Aggregation, NOT_SAID, Rule, Secure, Update, Updates};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A way to train a model, or one for each client, in rounds: a part that a card names as `method`.
///
/// All vectors are of `f32` in the order of the network's layout: what learns, then the buffers. The defaults are those of federated
/// averaging: the model travels both ways, its mean is the new one, and clients answer with it.
pub trait Method: Send + Sync {
    /// How many numbers of a model the server has and sends. Default: a whole one's.
    fn n_down(&self, common: &Common) -> usize {
        common.n_parameters()
    }

    /// Rows and columns of the matrices in which those of them stand that learn, the first ones. Default: all of a whole model's.
    fn shapes(&self, common: &Common) -> Vec<Shape> {
        common.classifier.network().layout().shapes()
    }

    /// How many numbers a client sends. Default: as many as it gets.
    fn n_up(&self, common: &Common) -> usize {
        self.n_down(common)
    }

    /// The same of what a client sends. Default: as of what it gets.
    fn update_shapes(&self, common: &Common) -> Vec<Shape> {
        self.shapes(common)
    }

    /// Where in what a client was sent the numbers begin from which those of its update that learn have come; `others` stand behind these. Default:
    /// they are the first.
    fn begins(&self, _common: &Common, _others: &[f32]) -> usize {
        0
    }

    /// What the server has before the first round: [`n_down`](Self::n_down) numbers. Default: a whole model.
    fn initial(&self, common: &Common, rng: &mut SimRng) -> Vec<f32> {
        common.classifier.network().layout().initialise(rng)
    }

    /// Passes over the training items in one round, where a plain training makes `epochs`. Default: as many.
    fn passes(&self, epochs: f64) -> f64 {
        epochs
    }

    /// A client's part of a round. Pure: on any thread, once or more often.
    fn train(&self, local: &Local<'_>) -> Learned;

    /// Puts right what a client keeps, where it keeps anything, by the change of what learns as the server reads it, behind a codec or a clip; there is
    /// none where the update is refused. Whether it is kept then. Default: it is, as it was trained.
    fn is_read(&self, _kept: &mut Vec<f32>, _change: &dyn Fn() -> Option<Vec<f32>>) -> bool {
        true
    }

    /// The model that a client answers with, a whole one, given the server's last and what it keeps. Default: the server's.
    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        local.parameters.to_vec()
    }

    /// The whole model among the server's numbers that all clients share, if there is one. Default: all of them.
    fn global(&self, parameters: &[f32]) -> Option<Vec<f32>> {
        Some(parameters.to_vec())
    }

    /// Whose model changes at a server that has one for each client, and how much each update counts in it: as many numbers as there are updates, in their
    /// order, at least 0 and not all 0. Divided by its sum such a row is one of a row-stochastic matrix `W`, and its client `i` is sent
    /// `Σ_j W_ij y_j` from then on, of the first [`n_down`](Self::n_down) numbers; who has no model yet is sent what the rule makes of all. `memory` is what
    /// the server keeps, at first nothing. Default: one model for all.
    fn rows(
        &self,
        _common: &Common,
        _memory: &mut Vec<f64>,
        _answers: &Answers<'_>,
    ) -> Option<Vec<(ClientId, Vec<f64>)>> {
        None
    }

    /// What updates come to, where the server sees them one by one. Default: what the card's rule makes of them.
    fn combine(&self, _common: &Common, rule: &dyn Rule, updates: &Updates<'_>) -> Vec<f64> {
        rule.combine(updates)
    }

    /// What the server makes of that: `memory` is what it keeps, at first nothing, `model` its present numbers, and `weight` that of all
    /// updates together. Default: it takes it as it is.
    fn settle(
        &self,
        _common: &Common,
        _memory: &mut Vec<f64>,
        _model: &[f32],
        mean: Vec<f64>,
        _weight: f64,
    ) -> Vec<f64> {
        mean
    }

    /// Whether all that clients tell is the change of one model for all, of which the server makes no more than the sum; else what they tell besides. What
    /// they keep may go into it. Default: it is not said, and clients cannot be hidden.
    ///
    /// # Errors
    ///
    /// What else they tell, with the way out.
    fn tells_model_alone(&self) -> Result<(), &'static str> {
        Err(NOT_SAID)
    }

    /// Whether the server's numbers end as a whole model does and updates do without these, so that a common scale of inputs can stand there. Default: no.
    fn carries_scale(&self) -> bool {
        false
    }

    /// Whether it can train what it is given. Default: it can.
    ///
    /// # Errors
    ///
    /// Why it cannot, with the way out.
    fn check(&self, _common: &Common) -> Result<(), &'static str> {
        Ok(())
    }

    /// What it asks of the settings beside its own. Default: nothing.
    fn rules(&self, _params: &Params, _rules: &mut Rules) {}
}

kind!(Method, "federated method", super::Global {});

/// The updates of a round, and what they are updates of.
pub struct Answers<'a> {
    /// The updates: models, with what is told besides behind them.
    pub updates: &'a Updates<'a>,
    pub(super) own: &'a BTreeMap<u32, OwnModel>,
}

impl Answers<'_> {
    /// The model that a client was sent in this round.
    pub fn sent(&self, client: ClientId) -> &[f32] {
        self.own.get(&client.0).map_or(self.updates.model, |OwnModel(own)| own)
    }

    /// A row for each update's own client.
    pub(super) fn each(&self, rows: impl IntoIterator<Item = Vec<f64>>) -> Vec<(ClientId, Vec<f64>)> {
        let clients = self.updates.all.iter().map(|update| update.client);
        clients.zip(rows).collect()
    }
}

/// What a method asks of the protocol whose server looks at each update by itself and makes several models of them; `why` is why a buffer is no use to it.
pub(super) fn sees_updates(params: &Params, rules: &mut Rules, name: &str, why: &str) {
    let protocol = &params.protocol;
    let mut require = |holds: bool, field: &str, rule: String| rules.require(holds, &format!("protocol.{field}"), rule);
    let is_synchronous = protocol.aggregation == Aggregation::Synchronous;
    require(
        is_synchronous,
        "aggregation",
        format!("must be Synchronous with {name}: {why}"),
    );
    let rule = format!("must be Off with {name}: a sum over clients of several models is one of none");
    require(protocol.secure == Secure::Off, "secure", rule);
    let rule = format!("must be Average() with {name}, which has several models");
    require(protocol.server.takes_mean(), "server", rule);
}

/// The same of one whose server has a model for each client.
pub(super) fn has_own_models(params: &Params, rules: &mut Rules, name: &str) {
    sees_updates(params, rules, name, "models of clients are made of a round's updates");
    let protocol = &params.protocol;
    let rule = format!("must be Mean() with {name}, which weighs updates by itself");
    rules.require(protocol.rule.is_mean(), "protocol.rule", rule);
}

/// The models among updates that have more behind them.
pub(super) fn models_of<'a>(updates: &Updates<'a>, n: usize) -> Updates<'a> {
    let model = |update: &Update<'a>| Update {
        values: &update.values[..n],
        ..*update
    };
    Updates {
        all: updates.all.iter().map(model).collect(),
        ..*updates
    }
}

/// The cosine of the angle between two vectors; 0 where one has no length.
pub(super) fn cosine(x: &[f32], y: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| -> f64 { x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum() };
    let lengths = dot(x, x).sqrt() * dot(y, y).sqrt();
    if lengths > 0.0 { dot(x, y) / lengths } else { 0.0 }
}

/// What every party of a run knows.
pub struct Common {
    /// The network and how it is trained.
    pub classifier: Classifier,
    /// What models are drawn from that clients begin with by themselves.
    pub start_seed: u32,
    /// The number of clients.
    pub n_clients: u32,
    /// A graph without anybody's data, on which clients compare their models; drawn from the start where a method wants one.
    pub(super) proxy: OnceLock<Batch>,
}

impl Common {
    /// What every party of a run with so many clients knows.
    pub fn new(classifier: Classifier, start_seed: u32, n_clients: u32) -> Common {
        Common {
            classifier,
            start_seed,
            n_clients,
            proxy: OnceLock::new(),
        }
    }

    /// The numbers of a whole model.
    pub fn n_parameters(&self) -> usize {
        self.classifier.network().layout().len()
    }

    /// A whole model that every party can draw without being sent it.
    pub fn start(&self) -> Vec<f32> {
        let mut rng = Streams::new(u64::from(self.start_seed)).global(super::START);
        self.classifier.network().layout().initialise(&mut rng)
    }
}

/// What a client has at hand.
pub struct Local<'a> {
    /// What all know.
    pub common: &'a Common,
    /// All that it holds.
    pub shard: &'a Shard,
    /// What the server has sent: [`Method::n_down`] numbers.
    pub parameters: &'a [f32],
    /// What it has kept of its trainings, if anything.
    pub kept: Option<&'a [f32]>,
    /// How many passes over its training items it makes; all of the settings' where it is left open.
    pub passes: Option<u32>,
    /// Streams of this client in this round.
    pub streams: &'a dyn Fn(Purpose) -> SimRng,
    /// What optimisers keep of rounds before, where they do: the one of what is sent, and the one of what is kept. What an answer is trained with
    /// is a copy.
    pub moments: Option<&'a [Cell<Moments>; 2]>,
}

/// The stream of a plain training, as every strategy in rounds has it.
pub(super) const LOCAL: Purpose = Purpose(*b"rd-local");

impl<'a> Local<'a> {
    /// The network and how it is trained.
    pub fn classifier(&self) -> &Classifier {
        &self.common.classifier
    }

    /// The stream of a plain training in this round; the same batches whenever it is asked for.
    pub fn rng(&self) -> SimRng {
        (self.streams)(LOCAL)
    }

    /// A plain course, of as many passes as this client makes.
    pub fn course(&self) -> Course<'a> {
        Course {
            epochs: self.passes,
            moments: self.moments.map(|[of_sent, _]| of_sent),
            ..Course::default()
        }
    }

    /// The same for a second model, one that the client keeps.
    pub fn own_course(&self) -> Course<'a> {
        Course {
            moments: self.moments.map(|[_, of_own]| of_own),
            ..self.course()
        }
    }

    /// A plain training from a whole model.
    pub fn train(&self, model: &[f32]) -> Vec<f32> {
        self.train_along(model, &self.course())
    }

    /// Training from a whole model along a course.
    pub fn train_along(&self, model: &[f32], course: &Course<'_>) -> Vec<f32> {
        self.classifier()
            .train_along(self.shard, model, course, &mut self.rng())
            .0
    }

    /// Whether there is anything to learn from.
    pub fn learns(&self) -> bool {
        self.shard.n_train() > 0
    }
}

/// What a client makes of a round.
#[derive(Debug)]
pub struct Learned {
    /// What it sends: [`Method::n_up`] numbers.
    pub sent: Vec<f32>,
    /// What it keeps in the place of what it kept, if that changes; never sent.
    pub kept: Option<Vec<f32>>,
}

impl Learned {
    /// What it sends, and nothing kept.
    pub fn sent(sent: Vec<f32>) -> Learned {
        Learned { sent, kept: None }
    }
}
