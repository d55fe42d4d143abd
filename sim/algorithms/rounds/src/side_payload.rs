//! What travels with models in the rounds of some algorithms.

use crate::message::{Extra, Order};
use crate::{Task, Trained, Trainer};
use folkmoot_engine::prelude::*;

/// A payload of an algorithm's own in each direction: an order with the model, an extra with the
/// update. Given to [`Rounds::with_payload`](crate::Rounds::with_payload); `()` has neither.
pub trait SidePayload<R: Trainer>: Send + Sync + 'static {
    /// From the server, with the model.
    type Order: Order;
    /// From a client, a message in addition to the update.
    type Extra: Extra;
    /// What the server makes of the extras.
    type ServerState: State + Sync + Default;

    /// Whether a client hears of an extra that the network lost, and [takes it
    /// back](Self::take_back). Default: no.
    const TAKES_BACK: bool = false;

    /// The order of a round.
    fn order(&self, trainer: &R, round: Round, state: &Self::ServerState) -> Self::Order;

    /// Whether answers of `round` bring an extra: the round then waits for both.
    fn is_due(&self, round: Round) -> bool;

    /// Operations of a client in `round` in addition to its training, for the extra. Default: 0.
    fn cost(&self, _trainer: &R, _shard: R::Shard<'_>, _round: Round) -> f64 {
        0.0
    }

    /// A client's training and its extra. Pure, as [`Trainer::train`].
    fn train(
        &self,
        trainer: &R,
        task: Task<'_, '_, R>,
        order: &Self::Order,
    ) -> (Trained<R::ClientState>, Option<Self::Extra>);

    /// The same in a dry run, with an extra of the right size.
    fn placeholder(
        &self,
        trainer: &R,
        task: Task<'_, '_, R>,
        order: &Self::Order,
    ) -> (Trained<R::ClientState>, Option<Self::Extra>);

    /// Corrects what a client is to keep by the extra that the server reads, which is not what was
    /// sent where a codec compresses it. Default: nothing.
    fn is_read(&self, _kept: &mut Option<R::ClientState>, _extra: Option<&Self::Extra>) {}

    /// The state of a client that had `before` and is to keep `now`. Default: `now`.
    fn keep(&self, _before: R::ClientState, now: R::ClientState) -> R::ClientState {
        now
    }

    /// The state of a client whose extra was lost. Default: as before.
    fn take_back(&self, state: R::ClientState, _extra: Self::Extra) -> R::ClientState {
        state
    }

    /// Adds an extra to the server's state, however late it comes.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn collect(
        &self,
        state: &mut Self::ServerState,
        client: ClientId,
        round: Round,
        extra: Self::Extra,
    ) -> Result<(), StrategyError>;
}

impl<R: Trainer> SidePayload<R> for () {
    type Order = ();
    type Extra = ();
    type ServerState = ();

    fn order(&self, _: &R, _: Round, (): &()) {}

    fn is_due(&self, _: Round) -> bool {
        false
    }

    fn train(&self, trainer: &R, task: Task<'_, '_, R>, (): &()) -> (Trained<R::ClientState>, Option<()>) {
        (trainer.train(task), None)
    }

    fn placeholder(&self, trainer: &R, task: Task<'_, '_, R>, (): &()) -> (Trained<R::ClientState>, Option<()>) {
        (trainer.placeholder(task), None)
    }

    fn collect(&self, (): &mut (), _: ClientId, _: Round, (): ()) -> Result<(), StrategyError> {
        Ok(())
    }
}
