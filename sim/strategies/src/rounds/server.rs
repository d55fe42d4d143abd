//! The server's side of rounds.

mod buffered;
mod secure;

use super::{Message, RoundStrategy, Rounds, ServerMoments, ServerOptimiser, Update};
use folkmoot_draws::{Purpose, SimRng, index};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Average;
use secure::Session;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const TIES: Purpose = Purpose(*b"rd-ties ");

/// The places of the counters.
pub(super) const REFUSED: usize = 0;
pub(super) const LATE: usize = 1;
pub(super) const LOST: usize = 2;
pub(super) const EMPTY: usize = 3;

/// The server's state.
#[derive(Debug, Serialize, Deserialize)]
pub struct Server<C> {
    parameters: Arc<[f32]>,
    moments: ServerMoments,
    /// The updates of the open round, in the order in which they came.
    updates: Vec<Received>,
    /// Clients asked in this round.
    asked: u64,
    /// Messages that its clients still owe.
    due: u64,
    /// Extras that came in this round, and whether its clients bring any.
    n_extras: u64,
    brings_extras: bool,
    /// It has all it needs and ends when the present instant is over.
    is_closing: bool,
    refused: Vec<Refused>,
    collected: C,
    /// Secure aggregation: the open round.
    session: Session,
    /// Buffered aggregation: who trains and since when, who could, and whom no model reached in this round.
    training: BTreeMap<ClientId, SimTime>,
    idle: Vec<ClientId>,
    unreached: Vec<ClientId>,
    /// Whether anything has come since all was quiet.
    has_progressed: bool,
}

/// An update and how it came.
#[derive(Debug, Serialize, Deserialize)]
struct Received {
    client: ClientId,
    at: SimTime,
    /// How many rounds older its model was than the present one.
    staleness: u32,
    update: Update,
}

/// An update that took no part, since a number in it was not finite.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Refused {
    client: ClientId,
    round: Round,
    /// Its position, and its bits.
    index: u32,
    bits: u32,
}

impl<C: State + Default> Server<C> {
    pub(super) fn new(parameters: Vec<f32>) -> Self {
        Server {
            parameters: parameters.into(),
            moments: ServerMoments::default(),
            updates: Vec::new(),
            asked: 0,
            due: 0,
            n_extras: 0,
            brings_extras: false,
            is_closing: false,
            refused: Vec::new(),
            collected: C::default(),
            session: Session::default(),
            training: BTreeMap::new(),
            idle: Vec::new(),
            unreached: Vec::new(),
            has_progressed: false,
        }
    }
}

impl<C: State> Server<C> {
    /// The global model.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// What was kept of the extras.
    pub fn collected(&self) -> &C {
        &self.collected
    }

    /// The table of refused updates, if there are any.
    pub(super) fn refusals(&self) -> Option<Artifact> {
        let mut table = "client,round,index,value\n".to_owned();
        for refused in &self.refused {
            let value = f32::from_bits(refused.bits);
            let (client, round) = (refused.client.0, refused.round.0);
            table += &format!("{client},{round},{},{value}\n", refused.index);
        }
        (!self.refused.is_empty()).then(|| Artifact {
            path: "refused_updates.csv".to_owned(),
            bytes: table.into_bytes(),
        })
    }

    pub(super) fn handle<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        event: Event<Rounds<R>>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        if let Event::Message {
            from: Party::Client(client),
            message: Message::Extra(extra),
        } = event
        {
            let round = cx.event_round();
            rounds.task.collect(&mut self.collected, client, round, extra)?;
            if rounds.is_secure() {
                let is_awaited = round == cx.round() && self.awaits_extras();
                return self.secure_answered(rounds, cx, u64::from(is_awaited));
            }
            self.n_extras += u64::from(round == cx.round());
            return self.answered(rounds, cx, round, 1);
        }
        if rounds.is_buffered() {
            return self.handle_buffered(rounds, event, cx);
        }
        match event {
            Event::Start => self.open(rounds, cx),
            Event::Message {
                from: Party::Client(client),
                message: Message::Secure(message),
            } => self.handle_secure(rounds, (client, message), cx)?,
            Event::Undelivered { message, .. } if rounds.is_secure() => {
                cx.count(LOST, u64::from(matches!(message, Message::Model { .. })));
                if cx.event_round() == cx.round() {
                    self.secure_answered(rounds, cx, 1)?;
                }
            }
            Event::Timer(timer) if rounds.is_secure() && timer == self.stage_timer(cx.round()) => {
                self.next_stage(rounds, cx)?;
            }
            Event::Quiet if rounds.is_secure() => self.next_stage(rounds, cx)?,
            Event::Message {
                from: Party::Client(client),
                message: Message::Update(update),
            } => {
                let round = cx.event_round();
                if round != cx.round() {
                    cx.late(round);
                    cx.count(LATE, 1);
                    return Ok(());
                }
                self.receive(client, round, update, cx);
                self.answered(rounds, cx, round, 1)?;
            }
            Event::Undelivered {
                message: Message::Model { order, .. },
                ..
            } => {
                cx.count(LOST, 1);
                let owed = owed(rounds, &order);
                self.answered(rounds, cx, cx.event_round(), owed)?;
            }
            Event::Timer(TimerId(round)) if !rounds.is_secure() && round == cx.round().0 => self.close(rounds, cx)?,
            Event::Quiet => self.close(rounds, cx)?,
            _ => {}
        }
        Ok(())
    }

    /// Keeps an update that is sound.
    fn receive<R: RoundStrategy<Collected = C>>(
        &mut self,
        client: ClientId,
        round: Round,
        update: Update,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) {
        if let Some(index) = first_not_finite(&update.values) {
            self.refused.push(Refused {
                client,
                round,
                index: index as u32,
                bits: update.values[index].to_bits(),
            });
            cx.count(REFUSED, 1);
            return;
        }
        self.updates.push(Received {
            client,
            at: cx.now(),
            staleness: cx.round().0 - round.0,
            update,
        });
    }

    /// So many messages fewer are due; ends the round if it has what it needs.
    fn answered<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
        round: Round,
        n: u64,
    ) -> Result<(), StrategyError> {
        if rounds.is_buffered() || round != cx.round() {
            return Ok(());
        }
        self.due = self.due.saturating_sub(n);
        if self.due == 0 {
            return self.close(rounds, cx);
        }
        let needed = u64::from(cx.needed());
        let has_extras = !self.brings_extras || self.n_extras >= needed;
        if !self.is_closing && has_extras && self.updates.len() as u64 >= needed {
            // Whatever else comes at this very instant comes as early as the last: one nanosecond later all of it is here.
            self.is_closing = true;
            cx.timer(SimSpan(1), TimerId(round.0));
        }
        Ok(())
    }

    /// Begins a round.
    fn open<R: RoundStrategy<Collected = C>>(&mut self, rounds: &Rounds<R>, cx: &mut ServerContext<'_, '_, Rounds<R>>) {
        let order = rounds.task.order(cx.round());
        let cohort = cx.cohort();
        self.asked = cohort.len() as u64;
        self.due = match rounds.is_secure() {
            true => self.asked,
            false => self.asked * owed(rounds, &order),
        };
        self.is_closing = false;
        self.n_extras = 0;
        self.brings_extras = rounds.task.brings_extra(&order);
        for id in cohort {
            let parameters = Arc::clone(&self.parameters);
            let order = order.clone();
            cx.send(Party::Client(id), Message::Model { order, parameters });
        }
        if rounds.is_secure() {
            self.set_stage_deadline(cx);
        } else if let Some(deadline) = cx.deadline() {
            let round = cx.round();
            cx.timer(deadline, TimerId(round.0));
        }
    }

    /// Ends a synchronous round with what has come, and begins the next.
    fn close<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let mut updates = std::mem::take(&mut self.updates);
        let n_surplus = drop_surplus(&mut updates, cx.needed() as usize, &mut cx.rng(TIES));
        let round = cx.round();
        let report = RoundReport {
            cohort: self.asked,
            completed: updates.len() as u64,
            dropped: self.asked - updates.len() as u64,
            staleness_mean: 0.0,
        };
        let is_taken = self.take_in(rounds, updates);
        self.end_round(rounds, is_taken, report, cx)?;
        (0..n_surplus).for_each(|_| cx.late(round));
        cx.count(LATE, n_surplus);
        if cx.round().0 < rounds.protocol.rounds {
            self.open(rounds, cx);
        }
        Ok(())
    }

    /// Scores the model where that is due, and reports the round; after the last, ends the run.
    fn end_round<R: RoundStrategy<Collected = C>>(
        &mut self,
        rounds: &Rounds<R>,
        is_taken: bool,
        report: RoundReport,
        cx: &mut ServerContext<'_, '_, Rounds<R>>,
    ) -> Result<(), StrategyError> {
        let (round, protocol) = (cx.round(), &rounds.protocol);
        if !is_taken {
            cx.count(EMPTY, 1);
        }
        if let Some(index) = first_not_finite(&self.parameters) {
            return Err(StrategyError(format!(
                "the server's step makes parameter {index} of the model infinite in round {}; lower protocol.server.rate",
                round.0
            )));
        }
        let is_last = round.0 + 1 >= protocol.rounds;
        if !cx.dry_run() && (is_last || (round.0 + 1).is_multiple_of(protocol.evaluate_every)) {
            for score in rounds.task.evaluate(round, &self.parameters) {
                cx.score(score.split, score.metric, score.value, score.n);
            }
        }
        cx.round_done(report);
        if is_last {
            cx.finish();
        }
        Ok(())
    }

    /// Moves the model by updates, in ascending order of their clients. False if they are too few or weigh nothing.
    fn take_in<R: RoundStrategy<Collected = C>>(&mut self, rounds: &Rounds<R>, mut updates: Vec<Received>) -> bool {
        if updates.len() < rounds.protocol.min_updates as usize {
            return false;
        }
        // A stable sort: several updates of one client stay in the order in which they came.
        updates.sort_by_key(|received| received.client);
        let (mut sum, mut weights) = (Average::new(), 0.0);
        for received in &updates {
            let weight = rounds.protocol.weight(received.update.n_samples);
            let discount = rounds.protocol.discount(received.staleness);
            weights += weight;
            sum.add(&received.update.values, weight * discount);
        }
        self.step(rounds, sum.sums(), weights)
    }

    /// Moves the model by the weighted sums of updates and the sum of their weights; false if that is 0.
    fn step<R: RoundStrategy<Collected = C>>(&mut self, rounds: &Rounds<R>, sums: &[f64], weights: f64) -> bool {
        if weights <= 0.0 {
            return false;
        }
        let n_trainable = rounds.task.n_trainable();
        let mut model = self.parameters.to_vec();
        let mean = |i: usize| sums[i] / weights;
        // Of whole models the mean itself is the result, without the rounding of a difference and a sum.
        let is_mean = rounds.protocol.server == ServerOptimiser::Average { rate: 1.0 };
        let change = |model: &[f32], i: usize| match rounds.is_buffered() {
            true => mean(i),
            false => mean(i) - f64::from(model[i]),
        };
        let n_stepped = if is_mean { 0 } else { n_trainable };
        let changes: Vec<f64> = (0..n_stepped).map(|i| change(&model, i)).collect();
        rounds
            .protocol
            .server
            .step(&mut self.moments, &mut model[..n_stepped], &changes);
        for (i, x) in model.iter_mut().enumerate().skip(n_stepped) {
            *x = match rounds.is_buffered() {
                true => (f64::from(*x) + mean(i)) as f32,
                false => mean(i) as f32,
            };
        }
        self.parameters = model.into();
        true
    }
}

/// The position of the first number that is not finite. Looks for it only where there is one: a pass without a way out is faster.
fn first_not_finite(values: &[f32]) -> Option<usize> {
    let is_sound = values.iter().fold(true, |sound, x| sound & x.is_finite());
    if is_sound {
        return None;
    }
    values.iter().position(|x| !x.is_finite())
}

/// Messages that answer a model.
fn owed<R: RoundStrategy>(rounds: &Rounds<R>, order: &R::Order) -> u64 {
    1 + u64::from(rounds.task.brings_extra(order))
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
