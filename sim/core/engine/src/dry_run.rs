//! Dry runs: all messages, no training.
//!
//! Handlers run as in any run and do not know that a run is dry. Two things differ, and both are
//! decided here: a job returns the strategy's [`placeholder`](Strategy::placeholder) instead of its
//! result, and the evaluator is asked for counts and not for scores. Two dependences on values
//! remain. A stop condition that reads scores never holds, and an encoding whose length depends on
//! values has another length. A dry run warns of both.

use crate::evaluator::{End, Evaluator, Heard};
use crate::job::JobContext;
use crate::run_context::Ground;
use crate::strategy::{Setup, Strategy};
use crate::world::{ClientSelection, Stop};
use folkmoot_metrics::{Direction, Kind, Ledger, Party, Round, Sheet};

impl<S: Strategy> Ground<'_, S> {
    /// The result of a participant's work, or its placeholder.
    pub(crate) fn perform(&self, (work, cx): &(S::Work, JobContext)) -> S::Done {
        let shard = match cx.me() {
            Party::Server => None,
            Party::Client(id) => Some(self.shards.shard(id)),
        };
        match self.is_dry {
            true => self.strategy.placeholder(shard, work, cx),
            false => self.strategy.perform(shard, work, cx),
        }
    }

    /// Leaves the outcome of the trusted set-up with the server, or its placeholder.
    pub(crate) fn prepare(&self, server: &mut S::Server, setup: &Setup<'_>) {
        match self.is_dry {
            true => self.shards.placeholder(self.strategy, server, setup),
            false => self.shards.prepare(self.strategy, server, setup),
        }
    }
}

/// An evaluator of which only the counts are asked for.
pub(crate) struct CountsOnly<'a, S: Strategy>(pub(crate) &'a dyn Evaluator<S>);

impl<S: Strategy> Evaluator<S> for CountsOnly<'_, S> {
    fn see(&self, sight: S::Sight, count: &mut dyn FnMut(usize, u64)) {
        self.0.see(sight, count);
    }

    fn overhear(&self, heard: &Heard<'_, S>) {
        self.0.overhear(heard);
    }

    fn reads_clients(&self, strategy: &S) -> bool {
        self.0.reads_clients(strategy)
    }

    fn controls(&self, strategy: &S, sheet: &mut Sheet) {
        self.0.controls(strategy, sheet);
    }

    fn at_end(&self, end: &End<'_, S>, sheet: &mut Sheet) {
        self.0.at_end(end, sheet);
        warn_of_stop(&end.setup.world.stop, sheet);
        warn_of_selection(end.setup.selection(), sheet);
        warn_of_sizes(&end.strategy.sized_by_values(), end.ledger, sheet);
    }

    fn expected_messages(
        &self,
        strategy: &S,
        setup: &Setup<'_>,
        kind: Kind,
        round: Round,
        direction: Direction,
    ) -> Option<f64> {
        self.0.expected_messages(strategy, setup, kind, round, direction)
    }
}

fn warn_of_stop(stop: &Stop, sheet: &mut Sheet) {
    for (is_set, field) in [(!stop.at.is_empty(), "target_reached"), (stop.diverged, "diverged")] {
        if is_set {
            sheet.warn(format!(
                "dry run: stop.{field} has no effect, since it depends on scores; the real run can end earlier and send fewer messages"
            ));
        }
    }
}

fn warn_of_selection(selection: &dyn ClientSelection, sheet: &mut Sheet) {
    if !selection.metrics().is_empty() {
        sheet.warn(format!(
            "dry run: cohort: {} depends on {}, which a dry run lacks; the real run selects other clients",
            selection.name(),
            selection.metrics().join(", ")
        ));
    }
}

fn warn_of_sizes(sized_by_values: &[&str], ledger: &Ledger, sheet: &mut Sheet) {
    let mut kinds: Vec<&str> = (ledger.rows())
        .filter(|(kind, _, _, cell)| cell.sent > 0 && sized_by_values.contains(&kind.name))
        .map(|(kind, ..)| kind.name)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        sheet.warn(format!(
            "dry run: the sizes of {} are not those of the real run, since their encoding depends on values; so do all times \
             that depend on these sizes",
            kinds.join(", ")
        ));
    }
}
