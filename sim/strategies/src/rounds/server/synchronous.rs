//! Synchronous rounds: a cohort is asked, and the round ends when enough have answered, or the deadline has come, or nothing is
//! under way any more.

use super::super::message::{Down, Up};
use super::super::{RoundStrategy, Rounds};
use super::model::{Global, Received};
use super::{LATE, LOST};
use folkmoot_draws::index;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};

const TIES: Purpose = Purpose(*b"rd-ties ");

/// The open round.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Synchronous {
    answers: Gather,
    /// In the order in which they came.
    updates: Vec<Received>,
    n_extras: u64,
    brings_extras: bool,
    /// It has all it needs and ends when the present instant is over.
    is_closing: bool,
}

impl Synchronous {
    pub(super) fn handle<R: RoundStrategy>(
        &mut self,
        global: &mut Global<R::Collected>,
        rounds: &Rounds<R>,
        event: ServerEvent<Rounds<R>>,
        cx: &mut ServerContext<'_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        match event {
            ServerEvent::Start => {
                self.open(global, rounds, cx);
                Ok(())
            }
            ServerEvent::Message {
                from,
                message: Up::Update(n_samples, weights),
            } => {
                if cx.event_round() != cx.round() {
                    cx.late(cx.event_round());
                    cx.count(LATE, 1);
                    return Ok(());
                }
                self.updates.extend(global.receive(from, (n_samples, weights), cx));
                self.answered(global, rounds, cx, 1)
            }
            ServerEvent::Undelivered {
                message: Down::Model(..),
                ..
            } => {
                cx.count(LOST, 1);
                let owed = rounds.owed(cx.event_round());
                self.answered(global, rounds, cx, owed)
            }
            ServerEvent::Timer(timer) if timer == self.answers.timer() => self.close(global, rounds, cx),
            ServerEvent::Quiet => self.close(global, rounds, cx),
            _ => Ok(()),
        }
    }

    pub(super) fn extra_came<R: RoundStrategy>(
        &mut self,
        global: &mut Global<R::Collected>,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        self.n_extras += u64::from(cx.event_round() == cx.round());
        self.answered(global, rounds, cx, 1)
    }

    /// So many messages fewer are due; ends the round if it has what it needs.
    fn answered<R: RoundStrategy>(
        &mut self,
        global: &mut Global<R::Collected>,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, Rounds<R>>,
        n: u64,
    ) -> Result<(), StrategyError> {
        if cx.event_round() != cx.round() {
            return Ok(());
        }
        if self.answers.answered(n) {
            return self.close(global, rounds, cx);
        }
        let needed = u64::from(cx.needed());
        let has_extras = !self.brings_extras || self.n_extras >= needed;
        if !self.is_closing && has_extras && self.updates.len() as u64 >= needed {
            // Whatever else comes at this very instant comes as early as the last: one nanosecond later all of it is here.
            self.is_closing = true;
            cx.timer(SimSpan(1), self.answers.timer());
        }
        Ok(())
    }

    /// Begins a round.
    fn open<R: RoundStrategy>(
        &mut self,
        global: &Global<R::Collected>,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, Rounds<R>>,
    ) {
        let (round, cohort) = (cx.round(), cx.cohort());
        self.is_closing = false;
        self.n_extras = 0;
        self.brings_extras = rounds.task.brings_extra(round);
        let asked = cohort.len() as u64;
        let message = global.message(rounds, round);
        cohort.into_iter().for_each(|id| cx.send(id, message.clone()));
        self.answers.begin(asked, asked * rounds.owed(round), cx);
    }

    /// Ends the round with what has come, and begins the next.
    fn close<R: RoundStrategy>(
        &mut self,
        global: &mut Global<R::Collected>,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let mut updates = std::mem::take(&mut self.updates);
        let n_surplus = drop_surplus(&mut updates, cx.needed() as usize, &mut cx.rng(TIES));
        let (round, asked) = (cx.round(), self.answers.asked());
        let report = RoundReport {
            cohort: asked,
            completed: updates.len() as u64,
            dropped: asked - updates.len() as u64,
            staleness_mean: 0.0,
        };
        let is_taken = global.take_in(rounds, updates);
        global.end_round(rounds, is_taken, report, cx)?;
        (0..n_surplus).for_each(|_| cx.late(round));
        cx.count(LATE, n_surplus);
        if cx.round().0 < rounds.protocol.rounds {
            self.open(global, rounds, cx);
        }
        Ok(())
    }
}

/// Keeps `needed` updates: those that came first, and of those that came at the instant of the last as many as are drawn.
/// Returns how many it drops.
fn drop_surplus(updates: &mut Vec<Received>, needed: usize, rng: &mut SimRng) -> u64 {
    let n = updates.len();
    if n <= needed {
        return 0;
    }
    let last = updates[needed - 1].at;
    let n_before = updates.partition_point(|received| received.at < last);
    let n_tied = updates.partition_point(|received| received.at <= last) - n_before;
    updates.truncate(n_before + n_tied);
    let tied = &mut updates[n_before..];
    for i in 0..needed - n_before {
        let j = i + index(rng, tied.len() - i);
        tied.swap(i, j);
    }
    updates.truncate(needed);
    (n - needed) as u64
}
