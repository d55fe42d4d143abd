//! An aggregator: it combines the updates of a round into one.

use folkmoot::prelude::*;
use folkmoot::rounds::{Rule, RuleContext, Updates};
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// The median of each number, or of an even number of updates a point between the two in the
/// middle.
#[component(name = "Middle", about = "the middle of each coordinate, or near it")]
#[derive(Clone, Copy, Debug)]
struct Middle {
    /// Where between the two in the middle: 0 is the lesser, 1 the greater.
    #[component(default = 0.5, in = 0..=1)]
    between: f64,
}

impl Rule for Middle {
    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
        let median = |i: usize| {
            let mut column: Vec<f64> = updates.all.iter().map(|update| update.value(i)).collect();
            column.sort_unstable_by(f64::total_cmp);
            let (lesser, greater) = (column[(column.len() - 1) / 2], column[column.len() / 2]);
            lesser + self.between * (greater - lesser)
        };
        (0..updates.n_values()).map(median).collect()
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn Rule, Middle>()?;
    registry.add_card("aggregator", include_str!("../cards/aggregator.ron"))
}
