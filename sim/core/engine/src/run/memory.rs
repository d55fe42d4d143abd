//! What the engine holds of a run, in bytes: estimated before it, and counted after it.
//!
//! Queues, stores and boxes keep the room that they once needed, so at the end of a run they tell
//! of its fullest moment. What a state, a message or a job points to belongs to the strategy and is
//! not counted; nor are data, whose size shows between the stages of a run.

use super::Run;
use crate::event::Entry;
use crate::part::{Attendance, ClientPart};
use crate::part_state::{Account, Core};
use crate::queue::EventKey;
use crate::run_context::Env;
use crate::strategy::Strategy;
use folkmoot_metrics::ByRound;

/// An estimate of what a rank will need, its data apart: two events of every client are in its
/// queues at once.
pub(super) fn needed<S: Strategy>(env: &Env<'_, S>) -> u64 {
    let n_here = env.shares.n_here();
    let of_client = size_of::<S::Client>() + size_of::<Account>() + size_of::<Attendance>();
    let of_event = size_of::<EventKey>() + size_of::<Entry<S>>();
    let heap = env.ground.strategy.heap_bytes(n_here, &env.setup());
    u64::from(n_here) * (of_client + 2 * of_event) as u64 + heap
}

impl<S: Strategy> Run<'_, '_, S> {
    /// Bytes by what they are for. Only `record`, which the results are made of, grows with the
    /// rounds.
    pub(super) fn memory(&self) -> Vec<(&'static str, u64)> {
        let of_cores = |bytes: fn(&Core<S>) -> usize| self.cores().map(bytes).sum::<usize>();
        let of_parts = |bytes: fn(&ClientPart<S>) -> usize| self.parts.iter().map(bytes).sum::<usize>();
        let Core {
            ledger,
            counters,
            releases,
            ..
        } = &self.server.core;
        let record = &self.server.record;
        let rounds = size_of_val(record.rounds.as_slice()) + size_of_val(record.round_ends.as_slice());
        let rows = [
            ("queues", of_cores(|core| core.agendas.queue_bytes())),
            ("events", of_cores(|core| core.agendas.store_bytes())),
            ("outboxes", of_cores(Core::outbox_bytes)),
            (
                "states",
                of_parts(|part| part.states.capacity() * size_of::<S::Client>()),
            ),
            (
                "accounts",
                of_parts(|part| part.accounts.len() * (size_of::<Account>() + size_of::<Attendance>())),
            ),
            (
                "releases",
                of_parts(|part| part.spent.iter().map(|spent| spent.bytes()).sum()),
            ),
            (
                "record",
                rounds + by_round(ledger.cells()) + by_round(counters) + by_round(releases),
            ),
        ];
        rows.map(|(part, bytes)| (part, bytes as u64)).into()
    }
}

fn by_round<T>(rows: &ByRound<Vec<T>>) -> usize {
    rows.iter()
        .map(|(_, row)| size_of_val(row) + size_of_val(row.as_slice()))
        .sum()
}
