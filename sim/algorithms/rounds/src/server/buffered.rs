//! Buffered asynchronous aggregation: as many clients train as a cohort has, and whenever enough
//! updates have come, of whatever age, they are taken in.

use super::super::message::{Down, Up};
use super::super::{Exchange, Rounds, SidePayload, Trainer};
use super::model::{Received, Turn};
use crate::{LATE, LOST};
use folkmoot_draws::index;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const PICK: Purpose = Purpose(*b"rd-pick ");

/// A model as the server had it.
#[derive(Debug, Serialize, Deserialize)]
struct Model(#[serde(with = "shared")] Arc<[f32]>);

/// The buffer, and who trains.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Buffered {
    /// With so many updates it is full.
    size: usize,
    /// In the order in which they came.
    updates: Vec<Received>,
    /// Clients asked in this round.
    asked: u64,
    /// Who trains and since when, who could, and whom no model reached in this round.
    training: BTreeMap<ClientId, SimTime>,
    /// Where updates come as packed changes and are taken in as models, what each is to be added
    /// to: by its client and its round.
    sent: BTreeMap<(ClientId, Round), Model>,
    idle: Vec<ClientId>,
    unreached: Vec<ClientId>,
    /// Whether anything has come since all was quiet.
    has_progressed: bool,
}

impl Buffered {
    pub(super) fn new(size: u32) -> Self {
        Buffered {
            size: size as usize,
            updates: Vec::new(),
            asked: 0,
            training: BTreeMap::new(),
            sent: BTreeMap::new(),
            idle: Vec::new(),
            unreached: Vec::new(),
            has_progressed: false,
        }
    }

    pub(super) fn handle<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(
        &mut self,
        event: ServerEvent<Rounds<R, P, X>>,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        match event {
            ServerEvent::Start => {
                let cohort = turn.cx.cohort()?;
                let is_idle = |id: &ClientId| cohort.binary_search(id).is_err();
                self.idle = (0..turn.cx.n_clients()).map(ClientId).filter(is_idle).collect();
                set_deadline(turn.cx);
                cohort.into_iter().for_each(|id| self.ask(id, turn));
                return Ok(());
            }
            ServerEvent::Message {
                from,
                message: message @ (Up::Update(..) | Up::PackedUpdate(..) | Up::Withdrawal(..)),
            } => {
                self.has_progressed = true;
                if self.training.remove(&from).is_some() {
                    self.idle.push(from);
                }
                let model = self.sent.remove(&(from, turn.cx.event_round()));
                match message {
                    Up::Update(n_samples, weights) => self.updates.extend(turn.receive(from, (n_samples, weights))),
                    Up::PackedUpdate(n_samples, packed) => {
                        match model {
                            // The client was asked twice since.
                            None if turn.rounds.adds_to_sent() => turn.cx.count(LATE, 1),
                            model => {
                                let model = model.as_ref().map_or(&[][..], |Model(model)| model);
                                self.updates.extend(turn.unpack(from, model, (n_samples, packed))?);
                            }
                        }
                    }
                    Up::Withdrawal(index, bits) => turn.refuse(from, (index, bits)),
                    _ => {}
                }
                if self.updates.len() >= self.size {
                    self.close(turn)?;
                }
            }
            ServerEvent::Undelivered {
                to,
                message: Down::Model(..) | Down::PackedModel(..),
                ..
            } => {
                turn.cx.count(LOST, 1);
                self.sent.remove(&(to, turn.cx.event_round()));
                // Asked again at once, a population that is away would be asked without end.
                if self.training.remove(&to).is_some() {
                    self.unreached.push(to);
                }
            }
            ServerEvent::Timer(TimerId(round)) if round == turn.cx.round().0 => {
                let deadline = turn.cx.deadline().unwrap_or(SimSpan::FOREVER);
                let now = turn.cx.now();
                let overdue = |since: &SimTime| *since + deadline <= now;
                let given_up: Vec<ClientId> = self
                    .training
                    .extract_if(.., |_, since| overdue(since))
                    .map(|e| e.0)
                    .collect();
                self.unreached.extend(given_up);
                self.close(turn)?;
            }
            ServerEvent::Quiet => {
                // Whoever still seems to train has left.
                let lost = std::mem::take(&mut self.training);
                self.idle.extend(lost.into_keys());
                self.sent.clear();
                self.idle.append(&mut self.unreached);
                if !std::mem::take(&mut self.has_progressed) {
                    self.close(turn)?;
                }
            }
            _ => return Ok(()),
        }
        self.refill(turn);
        Ok(())
    }

    /// Ends the round with what is in the buffer.
    fn close<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
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
        let is_taken = turn.take_in(updates)?;
        turn.end_round(is_taken, report)?;
        set_deadline(turn.cx);
        Ok(())
    }

    /// Asks clients, drawn from those that are idle, until as many train as a cohort has.
    fn refill<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(&mut self, turn: &mut Turn<'_, '_, R, P, X>) {
        if turn.cx.round().0 >= turn.rounds.protocol.rounds {
            return;
        }
        let mut rng = turn.cx.rng(PICK);
        while self.training.len() < turn.cx.asked() as usize && !self.idle.is_empty() {
            let at = index(&mut rng, self.idle.len());
            let id = self.idle.swap_remove(at);
            self.ask(id, turn);
        }
    }

    fn ask<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(&mut self, id: ClientId, turn: &mut Turn<'_, '_, R, P, X>) {
        self.asked += 1;
        self.training.insert(id, turn.cx.now());
        if turn.rounds.adds_to_sent() {
            // What is lost on its way to here, nobody hears of: of a client no more than two models
            // are kept.
            let mut of_client = self
                .sent
                .range((id, Round(0))..=(id, Round(u32::MAX)))
                .map(|(key, _)| *key);
            if let (Some(oldest), Some(_)) = (of_client.next(), of_client.next()) {
                self.sent.remove(&oldest);
            }
            let model = Model(turn.model_of(id));
            self.sent.insert((id, turn.cx.round()), model);
        }
        let message = turn.message();
        let message = turn.message_to(id, &message);
        turn.cx.send(id, message);
    }
}

/// The deadline of a round, whose timer is called by its number.
fn set_deadline<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(cx: &mut ServerContext<'_, Rounds<R, P, X>>) {
    if let Some(deadline) = cx.deadline() {
        let round = cx.round();
        cx.timer(deadline, TimerId(round.0));
    }
}
