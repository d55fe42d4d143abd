//! Synchronous rounds: a cohort is asked, and the round ends when enough have answered, or the
//! deadline has come, or nothing is under way any more.

use super::super::exchange::Gathering;
use super::super::message::{Down, Extra, Up};
use super::super::{Exchange, Rounds, SidePayload, Trainer};
use super::model::{Received, Turn};
use crate::{LATE, LOST};
use folkmoot_draws::draw_first;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};

const TIES: Purpose = Purpose(*b"rd-ties ");

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: State")]
pub(super) struct Synchronous<T> {
    answers: Gather,
    /// In the order in which they came.
    updates: Vec<Received>,
    /// In the opening, whose and what.
    statistics: Vec<(ClientId, Vec<f64>)>,
    /// In an exchange, what came of it.
    exchange: Gathering<T>,
    n_extras: u64,
    brings_extras: bool,
    /// It has all it needs and ends when the present instant is over.
    is_closing: bool,
}

impl<T> Default for Synchronous<T> {
    fn default() -> Self {
        Synchronous {
            answers: Gather::default(),
            updates: Vec::new(),
            statistics: Vec::new(),
            exchange: Gathering::default(),
            n_extras: 0,
            brings_extras: false,
            is_closing: false,
        }
    }
}

impl<T: Extra> Synchronous<T> {
    pub(super) fn handle<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        event: ServerEvent<Rounds<R, P, X>>,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        match event {
            ServerEvent::Start => self.open(turn),
            ServerEvent::Message {
                from,
                message:
                    message @ (Up::Update(..)
                    | Up::PackedUpdate(..)
                    | Up::Withdrawal(..)
                    | Up::Statistics(_)
                    | Up::Told(_)
                    | Up::Ready),
            } => {
                if turn.cx.event_round() != turn.cx.round() {
                    turn.cx.late(turn.cx.event_round());
                    turn.cx.count(LATE, 1);
                    return Ok(());
                }
                match message {
                    Up::Update(n_samples, weights) => {
                        self.updates.extend(turn.receive(from, (n_samples, weights)));
                    }
                    Up::PackedUpdate(n_samples, packed) => {
                        let model = turn.model_of(from);
                        self.updates.extend(turn.unpack(from, &model, (n_samples, packed))?);
                    }
                    Up::Withdrawal(index, bits) => turn.refuse(from, (index, bits)),
                    Up::Statistics(bits) => {
                        let values = bits.into_iter().map(f64::from_bits).collect();
                        self.statistics.push((from, values));
                    }
                    Up::Told(told) => self.exchange.told(from, told),
                    Up::Ready => self.exchange.ready(),
                    _ => {}
                }
                self.answered(turn, 1)
            }
            ServerEvent::Undelivered {
                message: Down::Model(..) | Down::PackedModel(..) | Down::Opening | Down::Told(_),
                ..
            } => {
                turn.cx.count(LOST, 1);
                let owed = turn.rounds.owed(turn.cx.event_round());
                self.answered(turn, owed)
            }
            ServerEvent::Timer(timer) if timer == self.answers.timer() => self.close(turn),
            ServerEvent::Quiet => self.close(turn),
            _ => Ok(()),
        }
    }

    pub(super) fn extra_came<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        self.n_extras += u64::from(turn.cx.event_round() == turn.cx.round());
        self.answered(turn, 1)
    }

    /// So many messages fewer are due; ends the round if it has what it needs.
    fn answered<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
        n: u64,
    ) -> Result<(), StrategyError> {
        if turn.cx.event_round() != turn.cx.round() {
            return Ok(());
        }
        if self.answers.answered(n) {
            return self.close(turn);
        }
        if turn.rounds.is_exchange(turn.cx.round()) {
            return Ok(());
        }
        let needed = u64::from(turn.cx.needed());
        let has_extras = !self.brings_extras || self.n_extras >= needed;
        if !self.is_closing && has_extras && (self.updates.len() + self.statistics.len()) as u64 >= needed {
            // Whatever else comes at this very instant comes as early as the last: one nanosecond
            // later all of it is here.
            self.is_closing = true;
            turn.cx.timer(SimSpan(1), self.answers.timer());
        }
        Ok(())
    }

    fn open<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        turn.begin()?;
        let (round, cohort) = (turn.cx.round(), turn.asked()?);
        self.is_closing = false;
        self.n_extras = 0;
        self.brings_extras = turn.rounds.brings_extra(round);
        let asked = cohort.len() as u64;
        let message = turn.message();
        for id in cohort {
            let message = turn.message_to(id, &message);
            turn.cx.send(id, message);
        }
        self.answers.begin(asked, asked * turn.rounds.owed(round), turn.cx);
        Ok(())
    }

    /// Ends the round with what has come, and begins the next; an exchange goes on as long as
    /// somebody is answered.
    fn close<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        if turn.rounds.is_exchange(turn.cx.round()) {
            if let Some(n) = self.exchange.answer(turn)? {
                self.answers.begin(n, n, turn.cx);
                return Ok(());
            }
            turn.end_exchange(self.exchange.n_ready())?;
            return self.open(turn);
        }
        let mut updates = std::mem::take(&mut self.updates);
        let n_surplus = drop_surplus(&mut updates, turn.cx.needed() as usize, &mut turn.cx.rng(TIES));
        let mut statistics = std::mem::take(&mut self.statistics);
        let (round, asked) = (turn.cx.round(), self.answers.asked());
        let completed = (updates.len() + statistics.len()) as u64;
        let report = RoundReport {
            cohort: asked,
            completed,
            dropped: asked - completed,
            staleness_mean: 0.0,
        };
        let is_taken = match turn.rounds.is_opening(round) {
            false if turn.rounds.protocol.private.hides_clients() => {
                turn.take_in_private(updates)?;
                true
            }
            false => turn.take_in(updates)?,
            true => {
                statistics.sort_by_key(|(client, _)| *client);
                let sums = statistics
                    .into_iter()
                    .map(|(_, values)| values)
                    .reduce(|mut sums, values| {
                        sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
                        sums
                    });
                turn.fix(sums.as_deref())?;
                true
            }
        };
        turn.end_round(is_taken, report)?;
        (0..n_surplus).for_each(|_| turn.cx.late(round));
        turn.cx.count(LATE, n_surplus);
        match turn.cx.round().0 < turn.rounds.protocol.rounds {
            true => self.open(turn),
            false => Ok(()),
        }
    }
}

/// Keeps `needed` updates: those that came first, and of those that came at the instant of the last
/// as many as are drawn. Returns how many it drops.
fn drop_surplus(updates: &mut Vec<Received>, needed: usize, rng: &mut SimRng) -> u64 {
    let n = updates.len();
    if n <= needed {
        return 0;
    }
    let last = updates[needed - 1].at;
    let n_before = updates.partition_point(|received| received.at < last);
    let n_tied = updates.partition_point(|received| received.at <= last) - n_before;
    updates.truncate(n_before + n_tied);
    draw_first(rng, &mut updates[n_before..], needed - n_before);
    updates.truncate(needed);
    (n - needed) as u64
}
