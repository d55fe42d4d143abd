//! What a protocol asks of what is trained.

use super::{Private, Protocol};
use folkmoot_parts::Rules;

/// Why clients are not hidden whose strategy does not say what they tell.
pub const NOT_SAID: &str = "this system does not say that its clients tell the change of one model alone; use FedAvg";

/// Why items are not hidden where no training does it.
pub const NO_ITEMS: &str = "this system does not take the gradient of single items; use FedAvg on a set of graphs";

/// Why clients are not hidden whose models have running statistics.
pub const STATISTICS: &str = "running statistics of a batch normalisation tell of the data too, and a variance cannot take noise; use an encoder without it";
pub(crate) const OTHER_LENGTH: &str = "clients of this system tell something else than the change of the model that they were sent, which no clip bounds; use FedAvg";

/// What is trained, as far as a protocol asks for it: what settings tell of it before there are
/// data, or the task itself.
#[derive(Clone, Copy, Debug)]
pub struct Trains {
    /// As [`Trainer::passes`](crate::Trainer::passes).
    pub passes: u32,
    /// Whether the first round asks for statistics or exchanges.
    pub opens: bool,
    /// As [`Rounds::sending_model_alone`](crate::Rounds::sending_model_alone).
    pub sends_model_alone: Result<(), &'static str>,
    /// As [`Rounds::hiding_items`](crate::Rounds::hiding_items).
    pub hides_items: Result<(), &'static str>,
    /// Whether the rounds have [`Items`](crate::Items).
    pub has_items: bool,
}

impl Default for Trains {
    /// A single pass, that says nothing of what it tells.
    fn default() -> Self {
        Trains {
            passes: 1,
            opens: false,
            sends_model_alone: Err(NOT_SAID),
            hides_items: Err(NO_ITEMS),
            has_items: false,
        }
    }
}

impl Protocol {
    /// Notes what it asks for that these have not, below `protocol`.
    pub fn suits(&self, trains: &Trains, rules: &mut Rules) {
        if let (true, Err((field, rule))) = (trains.opens, self.opens()) {
            rules.require(false, &format!("protocol.{field}"), rule);
        }
        let can = match self.private {
            Private::Off => Ok(()),
            Private::Clients { .. } => trains.sends_model_alone,
            Private::Items { .. } => trains.hides_items,
        };
        if let Err(why) = can {
            rules.require(false, "protocol.private", format!("must be Off here: {why}"));
        }
        if !trains.has_items {
            let rule = "changes training items, which this algorithm keeps in a form of its own; use another adversary, or FedAvg";
            let is_free = rules.is_broken("protocol.malicious.adversary") || self.malicious.poison().is_none();
            rules.require(is_free, "protocol.malicious.adversary", rule);
            let rule = "trains on items of the server's own, which this algorithm keeps in a form of its own; use another aggregator, or FedAvg";
            let is_free = rules.is_broken("protocol.aggregator") || self.aggregator.trusted_items().is_none();
            rules.require(is_free, "protocol.aggregator", rule);
        }
        let has_parts = self.completeness.partial_prob <= 0.0 || trains.passes > 1;
        let rule =
            "needs more than one local epoch; raise training.epochs if this algorithm has it, or omit completeness";
        rules.require(has_parts, "protocol.completeness", rule);
    }
}
