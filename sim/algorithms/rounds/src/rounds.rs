//! A trainer, the protocol of its rounds, and the values that its algorithm adds to them.

use crate::additions::Additions;
use crate::adversary::Drawn;
use crate::trains::{OTHER_LENGTH, STATISTICS};
use crate::{
    Aggregation, Exchange, INITIAL, NO_ITEMS, NOT_SAID, Personalisation, Protocol, Secure, SidePayload, Trainer,
    Trains, Travels, WEIGHTS,
};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Rules, Value};
use std::sync::Arc;

/// A [`Strategy`] that trains in rounds.
///
/// `P` is what travels with models ([`SidePayload`]), `X` what is exchanged before any training
/// ([`Exchange`]); `()` is nothing.
pub struct Rounds<R: Trainer, P = (), X = ()> {
    pub(crate) trainer: R,
    pub(crate) protocol: Protocol,
    pub(crate) payload: P,
    pub(crate) exchange: Option<X>,
    pub(crate) added: Additions<R>,
    pub(crate) travels: Travels,
    pub(crate) mechanisms: Vec<MechanismInfo>,
    pub(crate) sized_by_values: Vec<&'static str>,
    sends_model_alone: Result<(), &'static str>,
    hides_items: Result<(), &'static str>,
    /// The server keeps what it was sent in so many of the last rounds.
    pub(crate) keeps: u32,
    /// The malicious clients of the run.
    pub(crate) drawn: Drawn,
}

impl<R: Trainer> Rounds<R> {
    /// Rounds in which a model travels and nothing else.
    pub fn new(trainer: R, protocol: Protocol) -> Self {
        Rounds {
            travels: Travels::whole(&trainer),
            trainer,
            protocol,
            payload: (),
            exchange: None,
            added: Additions::default(),
            mechanisms: Vec::new(),
            sized_by_values: Vec::new(),
            sends_model_alone: Err(NOT_SAID),
            hides_items: Err(NO_ITEMS),
            keeps: 0,
            drawn: Drawn::default(),
        }
    }
}

impl<R: Trainer, P, X> Rounds<R, P, X> {
    /// The same with a payload in addition to models and updates.
    pub fn with_payload<Q: SidePayload<R>>(self, payload: Q) -> Rounds<R, Q, X> {
        self.replace(|_, exchange| (payload, exchange))
    }

    /// The same with an exchange in the first round, which then trains nothing.
    pub fn with_exchange<Y: Exchange<R>>(self, exchange: Option<Y>) -> Rounds<R, P, Y> {
        self.replace(|payload, _| (payload, exchange))
    }

    fn replace<Q, Y>(self, with: impl FnOnce(P, Option<X>) -> (Q, Option<Y>)) -> Rounds<R, Q, Y> {
        let (payload, exchange) = with(self.payload, self.exchange);
        Rounds {
            payload,
            exchange,
            trainer: self.trainer,
            protocol: self.protocol,
            added: self.added,
            travels: self.travels,
            mechanisms: self.mechanisms,
            sized_by_values: self.sized_by_values,
            sends_model_alone: self.sends_model_alone,
            hides_items: self.hides_items,
            keeps: self.keeps,
            drawn: self.drawn,
        }
    }

    /// The same with mechanisms that [`Task::releases`](crate::Task::releases) numbers. The
    /// protocol's own, for weights that are sent unprotected, comes before them.
    pub fn with_mechanisms(self, mechanisms: Vec<MechanismInfo>) -> Self {
        Rounds { mechanisms, ..self }
    }

    /// The same with messages whose size depends on values, as [`Strategy::sized_by_values`].
    pub fn sized_by_values(self, sized_by_values: Vec<&'static str>) -> Self {
        Rounds {
            sized_by_values,
            ..self
        }
    }

    /// The same with an answer to whether all that clients send about their data is the change of
    /// one model, so that a bound on its length bounds everything; else why not, with the way out.
    /// Without an answer, client-level privacy is rejected.
    pub fn sending_model_alone(self, answer: Result<(), &'static str>) -> Self {
        Rounds {
            sends_model_alone: answer,
            ..self
        }
    }

    /// The same with an answer to whether training can clip the gradient of each example and add
    /// noise, where [`Task::hidden_items`](crate::Task::hidden_items) asks for it; else why not,
    /// with the way out. Without an answer, example-level privacy is rejected.
    pub fn hiding_items(self, answer: Result<(), &'static str>) -> Self {
        Rounds {
            hides_items: answer,
            ..self
        }
    }

    /// The same with a server that keeps what it was sent in so many of the last rounds, for an
    /// evaluator of what that reveals ([`RoundEnd::seen`](crate::RoundEnd::seen)). No result
    /// changes.
    pub fn keeping(self, n_rounds: u32) -> Self {
        Rounds {
            keeps: n_rounds,
            ..self
        }
    }

    pub fn trainer(&self) -> &R {
        &self.trainer
    }

    /// What travels with models.
    pub fn payload(&self) -> &P {
        &self.payload
    }

    /// The numbers that travel in each direction.
    pub fn travels(&self) -> &Travels {
        &self.travels
    }

    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// The same, once protocol and trainer suit each other; a run checks it, too.
    ///
    /// # Errors
    ///
    /// The first rule that they break.
    pub fn checked(self) -> Result<Self, StrategyError> {
        self.check()?;
        Ok(self)
    }

    pub(crate) fn check(&self) -> Result<(), StrategyError> {
        if let Some(broken) = self.protocol.broken().first() {
            return Err(StrategyError(format!("protocol.{broken}")));
        }
        let n = self.travels.n_down;
        let alone = self.sends_model_alone.and_then(|()| match self.travels.n_trainable() {
            _ if self.n_update() != n => Err(OTHER_LENGTH),
            n_trainable if n_trainable < n => Err(STATISTICS),
            _ => Ok(()),
        });
        let trains = Trains {
            passes: self.trainer.passes(),
            opens: self.opens(),
            sends_model_alone: alone,
            hides_items: self.hides_items,
            has_items: self.added.items.is_some(),
        };
        let mut rules = Rules::default();
        self.protocol.suits(&trains, &mut rules);
        match rules.into_broken().first() {
            Some(broken) => Err(StrategyError(broken.to_string())),
            None => Ok(()),
        }
    }

    /// The server's numbers before the first round.
    pub(crate) fn initial(&self, setup: &Setup<'_>) -> Vec<f32> {
        let rng = &mut setup.rng(INITIAL);
        let model = match &self.added.method {
            Some(method) => method.initial(&self.trainer, rng),
            None => self.trainer.layout().initialise(rng),
        };
        assert_eq!(model.len(), self.travels.n_down, "a model has its parameters");
        model
    }

    /// How many of a model's last numbers statistics fix.
    pub(crate) fn n_fixed(&self) -> usize {
        self.added
            .statistics
            .as_ref()
            .map_or(0, |statistics| statistics.n_fixed)
    }

    /// Numbers of an update: those that travel up without those that statistics fix.
    pub fn n_update(&self) -> usize {
        self.travels.n_up - self.n_fixed()
    }

    /// Where in the model of a client the numbers begin that its update changes.
    pub(crate) fn begins(&self, others: &[f32]) -> usize {
        let begins = |method: &Arc<dyn Personalisation<R>>| method.begins(&self.trainer, others);
        self.added.method.as_ref().map_or(0, begins)
    }

    /// How many passes a client makes in a round; `rng` is its own stream for that, in which event
    /// or job ever.
    pub(crate) fn passes(&self, rng: impl FnOnce() -> SimRng) -> u32 {
        self.protocol.completeness.passes(self.trainer.passes(), rng)
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.protocol.secure != Secure::Off
    }

    /// Whether updates are taken in as they come, of whatever age.
    pub(crate) fn is_buffered(&self) -> bool {
        self.protocol.buffer().is_some()
    }

    /// Whether updates are changes of the model that was sent, and not models.
    pub(crate) fn sends_changes(&self) -> bool {
        matches!(self.protocol.aggregation, Aggregation::Buffered { .. })
    }

    /// Whether the first round trains nothing.
    fn opens(&self) -> bool {
        self.added.statistics.is_some() || self.exchange.is_some()
    }

    /// Whether `round` asks for statistics or exchanges, and trains nothing.
    pub(crate) fn is_opening(&self, round: Round) -> bool {
        round.0 == 0 && self.opens()
    }

    /// Whether in `round` clients and the server exchange what is needed before any training.
    pub(crate) fn is_exchange(&self, round: Round) -> bool {
        round.0 == 0 && self.exchange.is_some()
    }

    /// Statistics, or what is sent in an exchange, unprotected, so that nothing is drawn; behind
    /// the algorithm's own mechanisms.
    pub(crate) fn opening(&self) -> Channel {
        Channel::new(WEIGHTS + 1 + self.mechanisms.len(), Purpose(*b"rd-stats"))
    }
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Rounds<R, P, X> {
    /// What a client reports in the first round for the server to add up.
    pub(crate) fn statistics_of(&self, shard: R::Shard<'_>) -> Vec<f64> {
        match (&self.exchange, &self.added.statistics) {
            (Some(exchange), _) => exchange.statistics(&self.trainer, shard),
            (None, Some(statistics)) => (statistics.of)(&self.trainer, shard),
            (None, None) => Vec::new(),
        }
    }

    /// The exchange of a round that has one.
    pub(crate) fn exchange(&self) -> &X {
        self.exchange.as_ref().expect("only an exchange asks for it")
    }

    pub(crate) fn brings_extra(&self, round: Round) -> bool {
        !self.is_opening(round) && self.payload.is_due(round)
    }

    /// Messages that answer a model of `round`.
    pub(crate) fn owed(&self, round: Round) -> u64 {
        1 + u64::from(self.brings_extra(round))
    }
}
