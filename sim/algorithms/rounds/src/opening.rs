//! What the server changes before it sends the models of a round.

use crate::OwnModel;
use crate::server::Turn;
use crate::{Exchange, SidePayload, Trainer};
use folkmoot_engine::prelude::*;
use std::collections::BTreeMap;

/// A round that is about to begin, as a function sees it that is given to
/// [`Rounds::before_rounds`](crate::Rounds::before_rounds).
pub struct Opening<'a> {
    pub round: Round,
    /// The model that the round before ended with; in the first round, the initial model.
    pub model: &'a [f32],
    /// Models of single clients, by their ids, where a
    /// [`Personalisation`](crate::Personalisation) has such.
    pub own: &'a mut BTreeMap<u32, OwnModel>,
    /// The state of the algorithm's [`Aggregator`](crate::Aggregator), without one its own: empty at
    /// first, kept in checkpoints.
    pub state: &'a mut Vec<u8>,
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Turn<'_, '_, R, P, X> {
    /// Lets the algorithm change what the round begins with.
    pub(crate) fn begin(&mut self) -> Result<(), StrategyError> {
        let rounds = self.rounds;
        let Some(before_round) = &rounds.added.before_round else {
            return Ok(());
        };
        let (round, global) = (self.cx.round(), &mut *self.global);
        let opening = Opening {
            round,
            model: &global.parameters,
            own: &mut global.memory.own,
            state: &mut global.aggregated,
        };
        if let Some(model) = before_round(opening)? {
            assert_eq!(model.len(), self.global.parameters.len(), "a model has its parameters");
            self.set_model(model);
        }
        Ok(())
    }
}
