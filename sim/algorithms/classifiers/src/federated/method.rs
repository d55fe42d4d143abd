//! What a method of federated training is: what travels, what a client learns and keeps, and what
//! it answers with.

use super::{Federated, Params};
use crate::classifier::{Classifier, Course, Shard};
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_learning::{Batch, Moments};
use folkmoot_parts::{Rules, component_type};
use folkmoot_rounds::{Aggregation, NOT_SAID, Personalisation, Secure};
use std::cell::Cell;
use std::sync::OnceLock;

/// Federated training of a model, or of one for each client: a component that a card names as
/// `method`. Its [`Personalisation`] says what travels and what the server makes of updates.
///
/// All vectors are of `f32` in the order of the network's layout: what learns, then the buffers.
/// The defaults are those of federated averaging: clients answer with the server's model.
pub trait Method: Personalisation<Federated> {
    /// Passes over the training items in one round, where a plain training makes `epochs`. Default:
    /// as many.
    fn passes(&self, epochs: f64) -> f64 {
        epochs
    }

    /// A client's part of a round. Pure: on any thread, once or more often.
    fn train(&self, local: &Local<'_>) -> Learned;

    /// The model that a client answers with, a whole one, given the server's last and what it
    /// keeps. Default: the server's.
    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        local.parameters.to_vec()
    }

    /// The whole model among the server's numbers that all clients share, if there is one. Default:
    /// all of them.
    fn global(&self, parameters: &[f32]) -> Option<Vec<f32>> {
        Some(parameters.to_vec())
    }

    /// Whether all that clients tell is the change of one model for all, of which the server makes
    /// no more than the sum; else what they tell besides. What they keep may go into it. Default:
    /// it is not said, and clients cannot be hidden.
    ///
    /// # Errors
    ///
    /// What else they tell, with the way out.
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Err(NOT_SAID)
    }

    /// Whether the server's numbers end as a whole model does and updates do without these, so that
    /// a common scale of inputs can stand there. Default: no.
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

component_type!(Method, "federated method", super::Global {});

/// What a method asks of the protocol whose server looks at each update by itself and makes several
/// models of them; `why` is why a buffer is no use to it.
pub(super) fn sees_updates(params: &Params, rules: &mut Rules, name: &str, why: &str) {
    let protocol = &params.protocol;
    let mut require = |holds: bool, field: &str, rule: String| rules.require(holds, &format!("protocol.{field}"), rule);
    let is_synchronous = protocol.aggregation == Aggregation::Synchronous;
    require(
        is_synchronous,
        "aggregation",
        format!("must be Synchronous with {name}: {why}"),
    );
    let rule = format!("must be Off with {name}: one masked sum mixes updates of several models");
    require(protocol.secure == Secure::Off, "secure", rule);
    let rule = format!("must be Average() with {name}, which has several models");
    require(protocol.server_optimizer.takes_mean(), "server_optimizer", rule);
}

/// The same of one whose server has a model for each client.
pub(super) fn has_own_models(params: &Params, rules: &mut Rules, name: &str) {
    sees_updates(
        params,
        rules,
        name,
        "the models of clients are computed from the updates of one round",
    );
    let protocol = &params.protocol;
    let rule = format!("must be Mean() with {name}, which sets its own weights of updates");
    rules.require(protocol.aggregator.is_mean(), "protocol.aggregator", rule);
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
    /// A graph without anybody's data, on which clients compare their models; drawn from the start
    /// where a method wants one.
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
    pub common: &'a Common,
    /// All that it holds.
    pub shard: &'a Shard,
    /// What the server has sent: [`Travels::n_down`](folkmoot_rounds::Travels::n_down) numbers.
    pub parameters: &'a [f32],
    /// What it has kept of its trainings, if anything.
    pub kept: Option<&'a [f32]>,
    /// How many passes over its training items it makes; all of the settings' where it is left
    /// open.
    pub passes: Option<u32>,
    /// Streams of this client in this round.
    pub streams: &'a dyn Fn(Purpose) -> SimRng,
    /// What optimisers keep of rounds before, where they do: the one of what is sent, and the one
    /// of what is kept. What an answer is trained with is a copy.
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
    /// What it sends: [`Travels::n_up`](folkmoot_rounds::Travels::n_up) numbers.
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
