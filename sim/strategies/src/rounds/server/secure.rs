//! The server's side of secure aggregation: four stages of a round, each over when all answers have come, when its time is up, or
//! when nothing is under way any more.

use super::super::secure::{Lagrange, SecureMessage, recover};
use super::super::{Message, RoundStrategy, Rounds};
use super::{LATE, Refused, Server};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the server waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Stage {
    #[default]
    Keys,
    Shares,
    Updates,
    Unmasking,
}

/// What the server knows in a secure round.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Session {
    stage: Stage,
    /// Public keys of those who sent them.
    keys: BTreeMap<u32, [u64; 2]>,
    /// Sealed shares by receiver: from whom, and what.
    sealed: BTreeMap<u32, Vec<(u32, [u64; 2])>>,
    /// Those who shared.
    sharers: Vec<u32>,
    /// The sum of the masked updates, and whose they are.
    sum: Vec<u64>,
    survivors: Vec<u32>,
    /// Shares that came back, by who holds them.
    returned: BTreeMap<u32, Vec<(u32, u64)>>,
}

impl<C: State> Server<C> {
    /// Handles a message of secure aggregation.
    pub(super) fn handle_secure<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        (client, message): (ClientId, SecureMessage),
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let (id, stage) = (client.0, self.session.stage);
        if cx.event_round() != cx.round() {
            if matches!(message, SecureMessage::Masked(_)) {
                cx.late(cx.event_round());
                cx.count(LATE, 1);
            }
            return Ok(());
        }
        let session = &mut self.session;
        match (message, stage) {
            (SecureMessage::Keys(keys), Stage::Keys) => drop(session.keys.insert(id, keys)),
            (SecureMessage::Shares(shares), Stage::Shares) => {
                session.sharers.push(id);
                for (to, sealed) in shares {
                    session.sealed.entry(to).or_default().push((id, sealed));
                }
            }
            (SecureMessage::Masked(values), Stage::Updates) => {
                session.sum.resize(values.len(), 0);
                let add = |(sum, x): (&mut u64, u64)| *sum = sum.wrapping_add(x);
                session.sum.iter_mut().zip(values).for_each(add);
                session.survivors.push(id);
            }
            (SecureMessage::Withdrawal(index, bits), Stage::Updates) => {
                let round = cx.round();
                self.refused.push(Refused {
                    client,
                    round,
                    index,
                    bits,
                });
                cx.count(super::REFUSED, 1);
            }
            (SecureMessage::Unmasking(shares), Stage::Unmasking) => drop(session.returned.insert(id, shares)),
            // It comes after the end of its stage: the others went on without it.
            (SecureMessage::Masked(_), _) => {
                cx.count(LATE, 1);
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.secure_answered(rounds, cx, 1)
    }

    /// So many messages fewer are due.
    pub(super) fn secure_answered<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
        n: u64,
    ) -> Result<(), StrategyError> {
        self.due = self.due.saturating_sub(n);
        match self.due {
            0 => self.next_stage(rounds, cx),
            _ => Ok(()),
        }
    }

    /// Goes on to the next stage with what has come, or gives the round up where too few are left to reconstruct a secret.
    pub(super) fn next_stage<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let session = &mut self.session;
        session.sharers.sort_unstable();
        session.survivors.sort_unstable();
        let n = match session.stage {
            Stage::Keys => session.keys.len(),
            Stage::Shares => session.sharers.len(),
            Stage::Updates => session.survivors.len().min(session.sharers.len()),
            Stage::Unmasking => session.returned.len(),
        };
        let threshold = rounds.protocol.threshold(session.keys.len());
        let too_few = session.stage == Stage::Updates && n < rounds.protocol.min_updates as usize;
        if n == 0 || n < threshold || too_few {
            return self.close_secure(rounds, None, cx);
        }
        match session.stage {
            Stage::Keys => {
                let roster: Arc<[(u32, [u64; 2])]> = session.keys.iter().map(|(id, keys)| (*id, *keys)).collect();
                for (id, _) in roster.iter() {
                    let message = Message::Secure(SecureMessage::Roster(Arc::clone(&roster)));
                    cx.send(Party::Client(ClientId(*id)), message);
                }
                session.stage = Stage::Shares;
                self.due = n as u64;
            }
            Stage::Shares => {
                for id in &session.sharers {
                    let sealed = session.sealed.remove(id).unwrap_or_default();
                    cx.send(
                        Party::Client(ClientId(*id)),
                        Message::Secure(SecureMessage::Shares(sealed)),
                    );
                }
                session.stage = Stage::Updates;
                self.due = n as u64 * super::owed(rounds, &rounds.task.order(cx.round()));
            }
            Stage::Updates => {
                let survivors: Arc<[u32]> = session.survivors.clone().into();
                for id in survivors.iter() {
                    let message = Message::Secure(SecureMessage::Survivors(Arc::clone(&survivors)));
                    cx.send(Party::Client(ClientId(*id)), message);
                }
                session.stage = Stage::Unmasking;
                self.due = n as u64;
            }
            Stage::Unmasking => {
                let sums = session.unmask(threshold);
                return self.close_secure(rounds, Some(sums), cx);
            }
        }
        self.set_stage_deadline(cx);
        Ok(())
    }

    /// The timer of the present stage, by round and stage.
    pub(super) fn stage_timer(&self, round: Round) -> TimerId {
        TimerId(4 * round.0 + self.session.stage as u32)
    }

    pub(super) fn set_stage_deadline<R: RoundStrategy<Collected = C>>(
        &self,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) {
        if let Some(deadline) = cx.deadline() {
            let timer = self.stage_timer(cx.round());
            cx.timer(deadline, timer);
        }
    }

    /// Whether an extra that comes now is waited for.
    pub(super) fn awaits_extras(&self) -> bool {
        self.session.stage == Stage::Updates
    }

    fn close_secure<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        sums: Option<Vec<f64>>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let session = std::mem::take(&mut self.session);
        let completed = if sums.is_some() {
            session.survivors.len() as u64
        } else {
            0
        };
        let is_taken = sums.is_some_and(|mut sums| match sums.pop() {
            Some(weights) => self.step(rounds, &sums, weights),
            None => false,
        });
        let report = RoundReport {
            cohort: self.asked,
            completed,
            dropped: self.asked - completed,
            staleness_mean: 0.0,
        };
        self.end_round(rounds, is_taken, report, cx)?;
        if cx.round().0 < rounds.protocol.rounds {
            self.open(rounds, cx);
        }
        Ok(())
    }
}

impl Session {
    /// The sums of weights times samples and of samples, from the shares of the first `threshold` clients that answered.
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
