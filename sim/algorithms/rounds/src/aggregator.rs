//! An aggregator of an algorithm's own, instead of the card's.

use crate::server::Turn;
use crate::{Exchange, Rounds, SidePayload, Trainer, Update};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::ClientSelection;

const AGGREGATE: Purpose = Purpose(*b"rd-aggr ");

/// An aggregator of an algorithm's own, given to [`Rounds::aggregating`].
pub trait Aggregator: Send + Sync {
    /// For messages.
    fn name(&self) -> &str;

    /// The metrics that clients report with their updates for it, at 4 bytes each.
    fn metrics(&self) -> &[String];

    /// The new model, with as many numbers as `model`. `state` is kept from round to round, in
    /// checkpoints; empty at first. Pure.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn aggregate(&self, round: Aggregating<'_>, state: &mut Vec<u8>) -> Result<Vec<f32>, StrategyError>;
}

/// What an aggregator has.
pub struct Aggregating<'a> {
    pub round: Round,
    /// The round's stream for it.
    pub rng: SimRng,
    /// The present model.
    pub model: &'a [f32],
    /// In ascending order of their clients.
    pub updates: Vec<ClientUpdate>,
}

/// An update as an aggregator sees it.
pub struct ClientUpdate {
    pub client: ClientId,
    /// By the card's `weighting`: above 0.
    pub weight: f64,
    /// Rounds that its model was older than the present one.
    pub staleness: u32,
    /// The values of [`Aggregator::metrics`].
    pub metrics: Vec<f32>,
    /// The client's model; where updates are changes, the present model with the change added.
    pub values: Vec<f32>,
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Rounds<R, P, X> {
    /// The metrics that clients report: those of the selection, then those of the aggregator.
    pub(crate) fn metrics(&self, selection: &dyn ClientSelection) -> Vec<String> {
        let mut names = selection.metrics().to_vec();
        for name in self.aggregator().map_or(&[][..], Aggregator::metrics) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Turn<'_, '_, R, P, X> {
    /// What the algorithm's aggregator makes of updates, in the form in which they came; of each its
    /// staleness and what it reports.
    pub(crate) fn aggregate(
        &mut self,
        own: &dyn Aggregator,
        updates: &[Update<'_>],
        of: &[(u32, &[f32])],
    ) -> Result<Vec<f64>, StrategyError> {
        let names = self.rounds.metrics(self.cx.selection());
        let model = self.global.parameters.clone();
        let sends_changes = self.rounds.sends_changes();
        let place = |name: &String| names.iter().position(|known| known == name);
        let one = |(update, (staleness, reported)): (&Update<'_>, &(u32, &[f32]))| {
            let metric = |name| place(name).and_then(|at| reported.get(at)).copied();
            ClientUpdate {
                client: update.client,
                weight: update.weight,
                staleness: *staleness,
                metrics: own
                    .metrics()
                    .iter()
                    .map(|name| metric(name).unwrap_or(f32::NAN))
                    .collect(),
                values: match sends_changes {
                    true => update
                        .values
                        .iter()
                        .zip(&*model)
                        .map(|(change, x)| x + change)
                        .collect(),
                    false => update.values.to_vec(),
                },
            }
        };
        let round = Aggregating {
            round: self.cx.round(),
            rng: self.cx.round_rng(AGGREGATE),
            model: &model,
            updates: updates.iter().zip(of).map(one).collect(),
        };
        let new = own.aggregate(round, &mut self.global.aggregated)?;
        let in_form = |(y, x): (f32, &f32)| match sends_changes {
            true => f64::from(y) - f64::from(*x),
            false => f64::from(y),
        };
        Ok(new.into_iter().zip(&*model).map(in_form).collect())
    }
}
