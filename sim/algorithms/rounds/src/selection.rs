//! Rounds and client selection: which selections a protocol allows.

use super::{Exchange, Private, Rounds, SidePayload, Trainer};
use folkmoot_engine::prelude::*;

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Rounds<R, P, X> {
    /// Rejects a client selection that the protocol or the trainer does not allow.
    pub(super) fn suits(&self, setup: &Setup<'_>) -> Result<(), StrategyError> {
        let (selection, card) = (setup.selection(), setup.world.cohort.name());
        let name = selection.name();
        let refuse = |why: String| Err(StrategyError(why));
        if self.added.selection.is_some() && card != "All" {
            return refuse(format!(
                "cohort: must be All, got {card}: {name} selects the clients; leave cohort out of the card"
            ));
        }
        if let Some(own) = self.aggregator() {
            self.suits_aggregator(own.name())?;
        }
        if let Some(metric) = selection.metrics().first() {
            if self.is_secure() {
                return refuse(format!(
                    "protocol.secure: must be Off with {name}, for which the server sees the {metric} of each client"
                ));
            }
            if self.protocol.private != Private::Off {
                return refuse(format!(
                    "protocol.private: must be Off with {name}, for which clients report their {metric} without noise"
                ));
            }
        }
        let asked = self.metrics(selection);
        if let Some(metric) = asked.iter().find(|name| self.cost_of_report(name).is_none()) {
            return refuse(format!(
                "cohort: {name} needs the {metric} of each client, which this algorithm does not report; use FedAvg"
            ));
        }
        if self.protocol.private.hides_clients() && selection.sampling().is_none() {
            return refuse(format!(
                "protocol.private: must not be Clients with {name}, which does not sample clients with known probabilities, so \
                 that the privacy loss is unknown; use cohort: All, Size, Fraction or Poisson"
            ));
        }
        Ok(())
    }

    /// Rejects what needs the card's aggregator, or sums alone.
    fn suits_aggregator(&self, name: &str) -> Result<(), StrategyError> {
        let refuse = |why: String| Err(StrategyError(why));
        if !self.protocol.aggregator.is_mean() {
            let text = self.protocol.aggregator.text();
            return refuse(format!(
                "protocol.aggregator: must be Mean, got {text}: {name} aggregates; leave aggregator out of the card"
            ));
        }
        if self.is_secure() {
            return refuse(format!(
                "protocol.secure: must be Off with {name}, which needs single updates; with secure aggregation the server sees sums"
            ));
        }
        if self.protocol.private != Private::Off {
            return refuse(format!(
                "protocol.private: must be Off with {name}; the clipping norm bounds the sensitivity of sums alone"
            ));
        }
        Ok(())
    }
}
