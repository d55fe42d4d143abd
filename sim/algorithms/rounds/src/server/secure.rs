//! The server's side of secure aggregation: four stages of a round, each over when all answers have
//! come, when its time is up, or when nothing is under way any more.

use super::super::exchange::{Gathered, Gathering};
use super::super::message::{Down, Extra, Up};
use super::super::secure::{Lagrange, PublicKeys, Roster, Sealed, Unmasking, recover};
use super::super::{Exchange, Rounds, SidePayload, Trainer};
use super::model::Turn;
use crate::{LATE, LOST};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the server waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    #[default]
    Keys,
    Shares,
    Updates,
    Unmasking,
    /// The sums of an exchange are known, and clients are answered.
    Exchange,
}

/// The open round, in which updates are masked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: State")]
pub(super) struct SecureAggregation<T> {
    answers: Gather,
    /// Clients asked for the round.
    asked: u64,
    session: Session,
    /// In an exchange, what came of it.
    exchange: Gathering<T>,
}

impl<T> Default for SecureAggregation<T> {
    fn default() -> Self {
        SecureAggregation {
            answers: Gather::default(),
            asked: 0,
            session: Session::default(),
            exchange: Gathering::default(),
        }
    }
}

/// What the server knows in a secure round.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Session {
    stage: Stage,
    /// Public keys of those who sent them.
    keys: BTreeMap<u32, [u64; 2]>,
    /// Sealed shares by receiver: from whom, and what.
    sealed: BTreeMap<u32, Vec<(u32, [u64; 2])>>,
    sharers: Vec<u32>,
    /// The sum of the masked updates, and whose they are.
    sum: Vec<u64>,
    survivors: Vec<u32>,
    /// Shares that came back, by who holds them.
    returned: BTreeMap<u32, Vec<(u32, u64)>>,
}

impl<T: Extra> SecureAggregation<T> {
    pub(super) fn handle<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        event: ServerEvent<Rounds<R, P, X>>,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        match event {
            ServerEvent::Start => self.open(turn),
            ServerEvent::Message { from, message } => match self.receive((from, message), turn) {
                true => self.answered(turn),
                false => Ok(()),
            },
            ServerEvent::Undelivered { message, .. } => {
                turn.cx.count(
                    LOST,
                    u64::from(matches!(
                        message,
                        Down::Model(..) | Down::PackedModel(..) | Down::Opening | Down::Told(_)
                    )),
                );
                match turn.cx.event_round() == turn.cx.round() {
                    true => self.answered(turn),
                    false => Ok(()),
                }
            }
            ServerEvent::Timer(timer) if timer == self.answers.timer() => self.next_stage(turn),
            ServerEvent::Quiet => self.next_stage(turn),
            _ => Ok(()),
        }
    }

    pub(super) fn extra_came<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        match turn.cx.event_round() == turn.cx.round() && self.session.stage == Stage::Updates {
            true => self.answered(turn),
            false => Ok(()),
        }
    }

    fn open<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        let cohort = turn.asked()?;
        self.asked = cohort.len() as u64;
        let message = turn.message();
        cohort.into_iter().for_each(|id| turn.cx.send(id, message.clone()));
        self.answers.begin(self.asked, self.asked, turn.cx);
        Ok(())
    }

    /// Takes a message in; whether it is one that was waited for.
    fn receive<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        (client, message): (ClientId, Up<P::Extra, T>),
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> bool {
        let (id, stage) = (client.0, self.session.stage);
        if turn.cx.event_round() != turn.cx.round() {
            if matches!(message, Up::Masked(_)) {
                turn.cx.late(turn.cx.event_round());
                turn.cx.count(LATE, 1);
            }
            return false;
        }
        let session = &mut self.session;
        match (message, stage) {
            (Up::Keys(PublicKeys(keys)), Stage::Keys) => drop(session.keys.insert(id, keys)),
            (Up::Shares(Sealed(shares)), Stage::Shares) => {
                session.sharers.push(id);
                for (to, sealed) in shares {
                    session.sealed.entry(to).or_default().push((id, sealed));
                }
            }
            (Up::Masked(values), Stage::Updates) => {
                session.sum.resize(values.len(), 0);
                let add = |(sum, x): (&mut u64, u64)| *sum = sum.wrapping_add(x);
                session.sum.iter_mut().zip(values).for_each(add);
                session.survivors.push(id);
            }
            (Up::Withdrawal(index, bits), Stage::Updates) => turn.refuse(client, (index, bits)),
            (Up::Unmasking(Unmasking(shares)), Stage::Unmasking) => drop(session.returned.insert(id, shares)),
            (Up::Told(told), _) => {
                self.exchange.told(client, told);
                return stage == Stage::Exchange;
            }
            (Up::Ready, _) => {
                self.exchange.ready();
                return stage == Stage::Exchange;
            }
            // It comes after the end of its stage: the others went on without it.
            (Up::Masked(_), _) => {
                turn.cx.count(LATE, 1);
                return false;
            }
            _ => return false,
        }
        true
    }

    /// One message fewer is due.
    fn answered<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        match self.answers.answered(1) {
            true => self.next_stage(turn),
            false => Ok(()),
        }
    }

    /// Goes on to the next stage with what has come, or gives the round up where too few are left
    /// to reconstruct a secret.
    fn next_stage<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        if self.session.stage == Stage::Exchange {
            return match self.exchange.answer(turn)? {
                Some(n) => {
                    self.answers.begin(n, n, turn.cx);
                    Ok(())
                }
                None => self.end_exchange(turn),
            };
        }
        let session = &mut self.session;
        session.sharers.sort_unstable();
        session.survivors.sort_unstable();
        let n = match session.stage {
            Stage::Keys => session.keys.len(),
            Stage::Shares => session.sharers.len(),
            Stage::Updates => session.survivors.len().min(session.sharers.len()),
            Stage::Unmasking => session.returned.len(),
            Stage::Exchange => 0,
        };
        let threshold = turn.rounds.protocol.threshold(session.keys.len());
        let too_few = session.stage == Stage::Updates && n < turn.rounds.protocol.min_updates as usize;
        if n == 0 || n < threshold || too_few {
            return self.close(None, turn);
        }
        let mut due = n as u64;
        session.stage = match session.stage {
            Stage::Keys => {
                let roster: Arc<[(u32, [u64; 2])]> = session.keys.iter().map(|(id, keys)| (*id, *keys)).collect();
                for (id, _) in roster.iter() {
                    turn.cx.send(ClientId(*id), Down::Roster(Roster(Arc::clone(&roster))));
                }
                Stage::Shares
            }
            Stage::Shares => {
                for id in &session.sharers {
                    let sealed = session.sealed.remove(id).unwrap_or_default();
                    turn.cx.send(ClientId(*id), Down::Shares(Sealed(sealed)));
                }
                due *= turn.rounds.owed(turn.cx.round());
                Stage::Updates
            }
            Stage::Updates => {
                let survivors: Arc<[u32]> = session.survivors.clone().into();
                for id in survivors.iter() {
                    turn.cx.send(ClientId(*id), Down::Survivors(Arc::clone(&survivors)));
                }
                Stage::Unmasking
            }
            Stage::Unmasking | Stage::Exchange => {
                let sums = session.unmask(threshold);
                return match turn.rounds.is_exchange(turn.cx.round()) {
                    true => self.exchange_sums(sums, turn),
                    false => self.close(Some(sums), turn),
                };
            }
        };
        self.answers.begin(n as u64, due, turn.cx);
        Ok(())
    }

    /// Goes on to answer clients, knowing the sums; ends the exchange where nobody is answered and
    /// all are ready.
    fn exchange_sums<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        mut sums: Vec<f64>,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        // The last is how many summands there are.
        sums.pop();
        self.session.stage = Stage::Exchange;
        let waits = match turn.answer(Gathered::Sums(sums))? {
            0 => self.asked.saturating_sub(self.exchange.n_ready()),
            n => n,
        };
        if waits == 0 {
            return self.end_exchange(turn);
        }
        self.answers.begin(waits, waits, turn.cx);
        Ok(())
    }

    fn end_exchange<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        self.session = Session::default();
        turn.end_exchange(self.exchange.n_ready())?;
        self.open(turn)
    }

    fn close<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        sums: Option<Vec<f64>>,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<(), StrategyError> {
        let session = std::mem::take(&mut self.session);
        let completed = match sums {
            Some(_) => session.survivors.len() as u64,
            None => 0,
        };
        let weighed = sums.and_then(|mut sums| {
            let weights = sums.pop()?;
            (weights > 0.0).then_some((sums, weights))
        });
        let is_taken = match weighed {
            sums if turn.rounds.is_opening(turn.cx.round()) => {
                turn.fix(sums.as_ref().map(|(sums, _)| &sums[..]))?;
                true
            }
            // What shares of noise there were is in the sum; the server's own comes with none, too.
            None if turn.rounds.protocol.private.has_shares() => false,
            sums if turn.rounds.protocol.private.hides_clients() => {
                let nothing = || (vec![0.0; turn.global.parameters.len()], 0.0);
                let (sums, n) = sums.unwrap_or_else(nothing);
                if n > 0.0 {
                    let mean: Vec<f64> = sums.iter().map(|sum| sum / n).collect();
                    turn.see_mean(&session.survivors, &mean);
                }
                turn.step_private(sums, n)?;
                true
            }
            Some((mut sums, weights)) => {
                sums.iter_mut().for_each(|sum| *sum /= weights);
                let lag = turn.lag(None);
                sums.iter_mut().zip(lag).for_each(|(x, lag)| *x += f64::from(lag));
                let sums = turn.rounds.spread(sums, &turn.global.parameters, turn.cx.round());
                turn.see_mean(&session.survivors, &sums);
                turn.step(sums, weights);
                true
            }
            None => false,
        };
        let report = RoundReport {
            cohort: self.asked,
            completed,
            dropped: self.asked - completed,
            staleness_mean: 0.0,
        };
        turn.end_round(is_taken, report)?;
        match turn.cx.round().0 < turn.rounds.protocol.rounds {
            true => self.open(turn),
            false => Ok(()),
        }
    }
}

impl Session {
    /// The sums of weights times samples and of samples, from the shares of the first `threshold`
    /// clients that answered.
    fn unmask(&self, threshold: usize) -> Vec<f64> {
        let holders: Vec<u32> = self.returned.keys().copied().take(threshold).collect();
        let lagrange = Lagrange::new(&holders);
        let secret = |of: u32| {
            let shares: Vec<u64> = holders
                .iter()
                .filter_map(|holder| share(&self.returned[holder], of))
                .collect();
            lagrange.secret(&shares)
        };
        let own: Vec<u64> = self.survivors.iter().map(|id| secret(*id)).collect();
        let keys: Vec<u64> = self.survivors.iter().map(|id| self.keys[id][1]).collect();
        let is_gone = |id: &u32| self.survivors.binary_search(id).is_err();
        let gone = self.sharers.iter().copied().filter(is_gone);
        let vanished: Vec<(u32, u64)> = gone.map(|id| (id, secret(id))).collect();
        recover(self.sum.clone(), &self.survivors, &own, &keys, &vanished)
    }
}

/// The share of a client's secret in a list.
fn share(shares: &[(u32, u64)], of: u32) -> Option<u64> {
    shares.iter().find(|(id, _)| *id == of).map(|(_, share)| *share)
}
