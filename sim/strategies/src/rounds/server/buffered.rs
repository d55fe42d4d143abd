//! Buffered asynchronous aggregation: as many clients train at a time as a cohort has, and the server takes in their updates
//! whenever enough have come.
//!
//! J. Nguyen et al. Federated Learning with Buffered Asynchronous Aggregation. AISTATS 2022, algorithm 1.

use super::super::{Aggregation, Message, RoundStrategy, Rounds};
use super::{LOST, Server};
use folkmoot_draws::{Purpose, index};
use folkmoot_engine::prelude::*;
use std::sync::Arc;

const PICK: Purpose = Purpose(*b"rd-pick ");

impl<C: State> Server<C> {
    pub(super) fn handle_buffered<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        event: Event<Rounds<R>>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let Aggregation::Buffered { size, .. } = rounds.protocol.aggregation else {
            return Ok(());
        };
        match event {
            Event::Start => {
                let cohort = cx.cohort();
                let is_idle = |id: &ClientId| cohort.binary_search(id).is_err();
                self.idle = (0..cx.n_clients()).map(ClientId).filter(is_idle).collect();
                set_deadline(cx);
                cohort.into_iter().for_each(|id| self.ask(rounds, id, cx));
                return Ok(());
            }
            Event::Message {
                from: Party::Client(client),
                message: Message::Update(update),
            } => {
                self.has_progressed = true;
                if self.training.remove(&client).is_some() {
                    self.idle.push(client);
                }
                self.receive(client, cx.event_round(), update, cx);
                if self.updates.len() >= size as usize {
                    self.close_buffer(rounds, cx)?;
                }
            }
            Event::Undelivered {
                to: Party::Client(client),
                message: Message::Model { .. },
                ..
            } => {
                cx.count(LOST, 1);
                // Asked again at once, a population that is away would be asked without end.
                if self.training.remove(&client).is_some() {
                    self.unreached.push(client);
                }
            }
            Event::Timer(TimerId(round)) if round == cx.round().0 => {
                let deadline = cx.deadline().unwrap_or(SimSpan::FOREVER);
                let now = cx.now();
                let overdue = |since: &SimTime| *since + deadline <= now;
                let given_up: Vec<ClientId> = self
                    .training
                    .extract_if(.., |_, since| overdue(since))
                    .map(|e| e.0)
                    .collect();
                self.unreached.extend(given_up);
                self.close_buffer(rounds, cx)?;
            }
            Event::Quiet => {
                // Whoever still seems to train has left.
                let lost = std::mem::take(&mut self.training);
                self.idle.extend(lost.into_keys());
                self.idle.append(&mut self.unreached);
                if !std::mem::take(&mut self.has_progressed) {
                    self.close_buffer(rounds, cx)?;
                }
            }
            _ => return Ok(()),
        }
        self.refill(rounds, cx);
        Ok(())
    }

    /// Ends the round with what is in the buffer.
    fn close_buffer<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let updates = std::mem::take(&mut self.updates);
        let n = updates.len() as u64;
        let staleness: u64 = updates.iter().map(|received| u64::from(received.staleness)).sum();
        let report = RoundReport {
            cohort: self.asked,
            completed: n,
            dropped: self.unreached.len() as u64,
            staleness_mean: staleness as f64 / n.max(1) as f64,
        };
        self.asked = 0;
        self.idle.append(&mut self.unreached);
        let is_taken = self.take_in(rounds, updates);
        self.end_round(rounds, is_taken, report, cx)?;
        set_deadline(cx);
        Ok(())
    }

    /// Asks clients, drawn from those that are idle, until as many train as a cohort has.
    fn refill<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) {
        if cx.round().0 >= rounds.protocol.rounds {
            return;
        }
        let mut rng = cx.rng(PICK);
        while self.training.len() < cx.asked() as usize && !self.idle.is_empty() {
            let at = index(&mut rng, self.idle.len());
            let id = self.idle.swap_remove(at);
            self.ask(rounds, id, cx);
        }
    }

    fn ask<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        id: ClientId,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) {
        self.asked += 1;
        self.training.insert(id, cx.now());
        let message = Message::Model {
            order: rounds.task.order(cx.round()),
            parameters: Arc::clone(&self.parameters),
        };
        cx.send(Party::Client(id), message);
    }
}

fn set_deadline<R: RoundStrategy>(cx: &mut ServerContext<'_, '_, Rounds<R>>) {
    if let Some(deadline) = cx.deadline() {
        let round = cx.round();
        cx.timer(deadline, TimerId(round.0));
    }
}
