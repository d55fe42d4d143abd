//! A device: it begins matches at random times and takes part in those it is invited to.

use super::matcher::{Held, Matrix};
use super::message::{Exchange, MatchId};
use super::pairs::disturb;
use super::{Done, Message, Ppgm, Work, counter, mechanism};
use folkmoot_draws::{Purpose, exponential, index};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const WHEN: Purpose = Purpose(*b"pp-when ");
const WHOM: Purpose = Purpose(*b"pp-whom ");
const NOISE: Purpose = Purpose(*b"pp-devns");

/// The timer of the next match; the others belong to open ones.
const NEXT: TimerId = TimerId(0);

/// A device's state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    model: Option<Arc<[f32]>>,
    open: Vec<Open>,
    n_begun: u32,
    n_timers: u32,
    /// Nanoseconds from the beginning of each own match to its score.
    pub(super) latencies: Vec<u64>,
    /// Matches in which the device took part to the end, and with which of its graphs: the view from above, for checks.
    pub(super) played: Vec<(MatchId, u32)>,
}

/// A match under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    id: MatchId,
    other: ClientId,
    graph: u32,
    /// Exchanges that are over.
    step: u32,
    held: Option<Held>,
    /// The other's messages that came, by their numbers.
    came: Vec<(u32, Vec<f32>)>,
    /// A step is being computed.
    busy: bool,
    timer: u32,
    begun_at: SimTime,
}

pub(super) type Cx<'a, 'b, 'c> = &'a mut Context<'b, 'c, Ppgm>;

impl Client {
    pub(super) fn handle(
        &mut self,
        system: &Ppgm,
        event: Event<Ppgm>,
        cx: Cx<'_, '_, '_>,
    ) -> Result<(), StrategyError> {
        let Party::Client(me) = cx.me() else { return Ok(()) };
        match event {
            Event::Message { from, message } => self.receive(system, me, from, message, cx)?,
            Event::Done(Done::Held { id, held }) => self.advance(system, me, id, held, cx),
            Event::Timer(NEXT) => {
                self.begin(system, me, cx);
                self.schedule(system, cx);
            }
            Event::Timer(TimerId(timer)) => {
                if let Some(at) = self.open.iter().position(|open| open.timer == timer) {
                    self.abandon(me, at, cx);
                }
            }
            Event::Undelivered { to, message, .. } => self.repeat(me, to, message, cx),
            _ => {}
        }
        Ok(())
    }

    /// Sends a message to a device that was away again, unless its match is over by now; gives the match up if that was the last time.
    fn repeat(&mut self, me: ClientId, to: Party, mut message: Message, cx: Cx<'_, '_, '_>) {
        let (id, retries) = match &mut message {
            Message::Exchange(Exchange { id, retries, .. }) | Message::Invite { id, retries } => (*id, retries),
            _ => return,
        };
        let Some(at) = self.open.iter().position(|open| open.id == id) else {
            return;
        };
        let Some(left) = retries.checked_sub(1) else {
            return self.abandon(me, at, cx);
        };
        *retries = left;
        cx.count(counter::REPEATED, 1);
        cx.send(to, message);
    }

    fn receive(
        &mut self,
        system: &Ppgm,
        me: ClientId,
        from: Party,
        message: Message,
        cx: Cx<'_, '_, '_>,
    ) -> Result<(), StrategyError> {
        match (message, from) {
            (Message::Model(model), _) => {
                self.model = Some(model);
                self.schedule(system, cx);
            }
            (Message::Invite { id, .. }, Party::Client(other)) => {
                self.join(system, me, id, other, cx);
            }
            (Message::Exchange(Exchange { id, step, data, .. }), Party::Client(other)) => {
                let known = self.open.iter().any(|open| open.id == id);
                if known || (step == 0 && id.initiator == other.0 && self.join(system, me, id, other, cx)) {
                    let open = self.open.iter_mut().find(|open| open.id == id);
                    let open = open.expect("it is known, or was joined just now");
                    open.came.push((step, data));
                    self.meet(system, id, cx)?;
                }
            }
            (Message::Score { id, .. }, _) => {
                if let Some(at) = self.open.iter().position(|open| open.id == id) {
                    let waited = cx.now() - self.open[at].begun_at;
                    // A device that was away finds the score and the end of its patience at once.
                    if waited > patience(system) {
                        self.abandon(me, at, cx);
                        return Ok(());
                    }
                    let open = self.open.swap_remove(at);
                    if id.initiator == me.0 {
                        self.latencies.push(waited.0);
                        cx.count(counter::SCORED, 1);
                    }
                    self.played.push((id, open.graph));
                }
            }
            _ => {
                return Err(StrategyError(
                    "a device got a message that is for the service".to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// Sets the time of the next match, if there is one before matching ends.
    fn schedule(&self, system: &Ppgm, cx: Cx<'_, '_, '_>) {
        let deployment = &system.params.deployment;
        if deployment.matches_per_client <= 0.0 || cx.n_clients() < 2 {
            return;
        }
        let mean_s = deployment.duration_s / deployment.matches_per_client;
        let after = SimSpan::from_secs(mean_s * exponential(&mut cx.rng(WHEN)));
        if cx.now().as_secs() + after.as_secs() <= deployment.duration_s {
            cx.timer(after, NEXT);
        }
    }

    /// Begins a match with somebody at random.
    fn begin(&mut self, system: &Ppgm, me: ClientId, cx: Cx<'_, '_, '_>) {
        let mut rng = cx.rng(WHOM);
        let others = cx.n_clients() as usize - 1;
        let drawn = index(&mut rng, others) as u32;
        let other = ClientId(drawn + u32::from(drawn >= me.0));
        let id = MatchId {
            initiator: me.0,
            serial: self.n_begun,
        };
        if self.enter(system, me, id, other, cx) {
            self.n_begun += 1;
            cx.count(counter::BEGUN, 1);
            if system.matcher.n_exchanges() == 0 {
                let retries = system.params.deployment.retries;
                cx.send(Party::Client(other), Message::Invite { id, retries });
            }
        }
    }

    /// Joins a match; false if the device cannot.
    fn join(&mut self, system: &Ppgm, me: ClientId, id: MatchId, other: ClientId, cx: Cx<'_, '_, '_>) -> bool {
        let joined = self.enter(system, me, id, other, cx);
        cx.count(counter::DECLINED, u64::from(!joined));
        joined
    }

    /// Opens a match with one of the device's graphs; false without a graph or a model.
    fn enter(&mut self, system: &Ppgm, me: ClientId, id: MatchId, other: ClientId, cx: Cx<'_, '_, '_>) -> bool {
        let shard = system.partition.shard(me.0 as usize);
        let Some(model) = self.model.clone().filter(|_| !shard.is_empty()) else {
            return false;
        };
        let mut rng = cx.rng(Purpose(*b"pp-graph"));
        let graph = shard[index(&mut rng, shard.len())];
        self.n_timers += 1;
        cx.timer(patience(system), TimerId(self.n_timers));
        self.open.push(Open {
            id,
            other,
            graph,
            step: 0,
            held: None,
            came: Vec::new(),
            busy: true,
            timer: self.n_timers,
            begun_at: cx.now(),
        });
        let model = (!cx.dry_run()).then_some(model);
        cx.compute(Work::Begin { id, graph, model }, system.cost(graph, 0));
        true
    }

    /// A step is done: send what it gave, and go on if the next message is here.
    fn advance(&mut self, system: &Ppgm, me: ClientId, id: MatchId, mut held: Held, cx: Cx<'_, '_, '_>) {
        let Some(open) = self.open.iter_mut().find(|open| open.id == id) else {
            return;
        };
        open.busy = false;
        if open.held.is_some() {
            open.step += 1;
        }
        if open.step == system.matcher.n_exchanges() {
            disturb(system.noise.as_ref(), &mut held.state, || cx.rng(NOISE));
            // Whatever the noise, the numbers have no bound, so that no budget follows from it.
            cx.spend(mechanism::RESULT, f64::INFINITY);
            let data = held.state.data;
            // The match stays open until its score comes, but there is nothing left to compute.
            open.held = Some(Held::default());
            open.busy = true;
            cx.send(Party::Server, Message::Result { id, data });
            return;
        }
        if let Some(sent) = &held.sent {
            cx.spend(mechanism::EXCHANGE, f64::INFINITY);
            let exchange = Exchange {
                id,
                step: open.step,
                data: sent.data.clone(),
                retries: system.params.deployment.retries,
            };
            cx.send(Party::Client(open.other), Message::Exchange(exchange));
        }
        open.held = Some(held);
        if self.meet(system, id, cx).is_err() {
            self.give_up(me, id, cx);
        }
    }

    /// Computes the next step, if both sides of it are here.
    fn meet(&mut self, system: &Ppgm, id: MatchId, cx: Cx<'_, '_, '_>) -> Result<(), StrategyError> {
        let Some(open) = self.open.iter_mut().find(|open| open.id == id && !open.busy) else {
            return Ok(());
        };
        let Some(at) = open.came.iter().position(|(step, _)| *step == open.step) else {
            return Ok(());
        };
        let (Some(held), Some(model)) = (open.held.clone(), self.model.clone()) else {
            return Ok(());
        };
        let (_, data) = open.came.swap_remove(at);
        let n_columns = system
            .matcher
            .sent_shape(open.step, 0)
            .map_or(0, |(_, columns)| columns);
        if n_columns == 0 || data.is_empty() || !data.len().is_multiple_of(n_columns) {
            return Err(StrategyError(format!(
                "a device sent {} numbers, which are no rows of {n_columns}",
                data.len()
            )));
        }
        open.busy = true;
        let theirs = Matrix {
            n_columns: n_columns as u32,
            data,
        };
        let (step, graph) = (open.step, open.graph);
        let work = Work::Meet {
            id,
            step,
            graph,
            parts: Box::new((held, theirs)),
            model: (!cx.dry_run()).then_some(model),
        };
        cx.compute(work, system.cost(graph, step + 1));
        Ok(())
    }

    fn give_up(&mut self, me: ClientId, id: MatchId, cx: Cx<'_, '_, '_>) {
        if let Some(at) = self.open.iter().position(|open| open.id == id) {
            self.abandon(me, at, cx);
        }
    }

    /// Forgets an open match. It counts as lost for the device that began it.
    fn abandon(&mut self, me: ClientId, at: usize, cx: Cx<'_, '_, '_>) {
        let open = self.open.swap_remove(at);
        cx.count(counter::LOST, u64::from(open.id.initiator == me.0));
    }
}

/// For how long a device keeps an open match.
fn patience(system: &Ppgm) -> SimSpan {
    SimSpan::from_secs(system.params.deployment.patience_s)
}
