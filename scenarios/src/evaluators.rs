//! Evaluators that a crate adds to an algorithm of another: metrics, attacks and theory by name, as
//! the card's `evaluators` lists them.

use crate::algorithm::{Algorithm, Source};
use folkmoot_engine::prelude::*;
use folkmoot_parts::Component;
use std::any::Any;

/// An evaluator of the runs of the algorithm `P`, next to the algorithm's own.
///
/// It sees everything and sends nothing: the state of the server after each round, the states of
/// all participants at the end, the ledger and the data. `Registry::add_evaluator` adds it.
///
/// ```
/// use folkmoot_engine::prelude::*;
/// use folkmoot_parts::component;
/// use folkmoot_scenarios::algorithm::{Algorithm, Source};
/// use folkmoot_scenarios::evaluators::Evaluates;
///
/// /// Messages per client.
/// #[component(name = "PerClient", about = "messages per client")]
/// #[derive(Clone, Copy, Debug)]
/// struct PerClient {}
///
/// impl<P: Algorithm> Evaluates<P> for PerClient {
///     fn evaluator(&self, _: &P::Facts, _: &Source<'_>) -> Result<Box<dyn Evaluator<P::Strategy>>, StrategyError> {
///         Ok(Box::new(*self))
///     }
///
///     fn terms() -> Vec<Term> {
///         vec![Term::new("messages_per_client", "Messages per client", Unit::Number, "Messages per client.", "")]
///     }
/// }
///
/// impl<S: Strategy> Evaluator<S> for PerClient {
///     fn at_end(&self, end: &End<'_, S>, sheet: &mut Sheet) {
///         let sent = end.ledger.total().sent as f64;
///         sheet.number("messages_per_client", sent / f64::from(end.clients.len()));
///     }
/// }
/// ```
pub trait Evaluates<P: Algorithm>: Component {
    /// Makes it, before the run. It must not change what the algorithm's own evaluator writes.
    ///
    /// # Errors
    ///
    /// When the data do not suit it.
    fn evaluator(
        &self,
        facts: &P::Facts,
        source: &Source<'_>,
    ) -> Result<Box<dyn Evaluator<P::Strategy>>, StrategyError>;

    /// The metrics that it writes. Default: none.
    fn terms() -> Vec<Term>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

/// An evaluator with its settings, for the algorithm of this name.
pub struct Added {
    pub(crate) strategy: &'static str,
    name: &'static str,
    /// A `Box<Make<P>>`.
    make: Box<dyn Any + Send + Sync>,
}

type Made<P> = Result<Box<dyn Evaluator<<P as Algorithm>::Strategy>>, StrategyError>;
type Make<P> = dyn Fn(&<P as Algorithm>::Facts, &Source<'_>) -> Made<P> + Send + Sync;

impl Added {
    pub(crate) fn of<P: Algorithm, E: Evaluates<P>>(evaluates: E) -> Box<Added> {
        let make: Box<Make<P>> = Box::new(move |facts, source| evaluates.evaluator(facts, source));
        Box::new(Added {
            strategy: P::NAME,
            name: E::NAME,
            make: Box::new(make),
        })
    }

    fn make<P: Algorithm>(&self, facts: &P::Facts, source: &Source<'_>) -> Made<P> {
        let make = self.make.downcast_ref::<Box<Make<P>>>();
        let make = make.expect("a card is checked to name evaluators of its algorithm");
        make(facts, source).map_err(|StrategyError(why)| StrategyError(format!("{}: {why}", self.name)))
    }
}

/// The algorithm's own evaluator with others.
pub(crate) fn together<P: Algorithm>(
    own: Box<dyn Evaluator<P::Strategy>>,
    added: &[Added],
    (facts, source): (&P::Facts, &Source<'_>),
) -> Made<P> {
    if added.is_empty() {
        return Ok(own);
    }
    let added = added.iter().map(|added| added.make::<P>(facts, source));
    let added = added.collect::<Result<_, _>>()?;
    Ok(Box::new(Together { own, added }))
}

struct Together<S: Strategy> {
    own: Box<dyn Evaluator<S>>,
    added: Vec<Box<dyn Evaluator<S>>>,
}

impl<S: Strategy> Together<S> {
    fn all(&self) -> impl Iterator<Item = &dyn Evaluator<S>> {
        std::iter::once(&self.own)
            .chain(&self.added)
            .map(|evaluator| &**evaluator)
    }
}

impl<S: Strategy> Evaluator<S> for Together<S> {
    fn see(&self, sight: S::Sight, count: &mut dyn FnMut(usize, u64)) {
        self.own.see(sight, count);
    }

    fn overhear(&self, heard: &Heard<'_, S>) {
        self.all().for_each(|evaluator| evaluator.overhear(heard));
    }

    fn after_round(&self, round: &Ended<'_, S>, sheet: &mut Sheet) {
        self.all().for_each(|evaluator| evaluator.after_round(round, sheet));
    }

    fn reads_clients(&self, strategy: &S) -> bool {
        self.all().any(|evaluator| evaluator.reads_clients(strategy))
    }

    fn controls(&self, strategy: &S, sheet: &mut Sheet) {
        self.all().for_each(|evaluator| evaluator.controls(strategy, sheet));
    }

    fn at_end(&self, end: &End<'_, S>, sheet: &mut Sheet) {
        self.all().for_each(|evaluator| evaluator.at_end(end, sheet));
    }

    fn scores(&self, end: &End<'_, S>, sheet: &mut Sheet) {
        self.all().for_each(|evaluator| evaluator.scores(end, sheet));
    }

    fn expected_messages(
        &self,
        strategy: &S,
        setup: &Setup<'_>,
        kind: Kind,
        round: Round,
        direction: Direction,
    ) -> Option<f64> {
        self.own.expected_messages(strategy, setup, kind, round, direction)
    }
}
