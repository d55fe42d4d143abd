//! A device: it begins matches at random times and takes part in those it is invited to.

use super::algorithm::{Done, PACKING, Ppgm, Work, counter, mechanism};
use super::data::Own;
use super::matcher::{Held, Matrix};
use super::message::{Down, MatchId, Peer, Up};
use super::pairs::ResultNoise;
use folkmoot_draws::{exponential, index};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const WHEN: Purpose = Purpose(*b"pp-when ");
const WHOM: Purpose = Purpose(*b"pp-whom ");
const WHICH: Purpose = Purpose(*b"pp-graph");

/// The timer of the next match; the others belong to open ones.
const NEXT: TimerId = TimerId(0);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    #[serde(with = "shared")]
    model: Option<Arc<[f32]>>,
    open: Vec<Open>,
    n_begun: u32,
    n_timers: u32,
    /// Nanoseconds from the beginning of each own match to its score.
    pub(super) latencies: Vec<u64>,
    /// Matches in which the device took part to the end, and with which of its graphs: the view
    /// from above, for checks.
    pub(super) played: Vec<(MatchId, u32)>,
}

/// A match under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    id: MatchId,
    other: ClientId,
    /// Which of the device's graphs.
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

pub(super) type Cx<'a, 'b> = &'a mut ClientContext<'b, Ppgm>;

impl Client {
    pub(super) fn handle(
        &mut self,
        system: &Ppgm,
        own: Own<'_>,
        event: ClientEvent<Ppgm>,
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Message(Down::Model(model)) => {
                self.model = Some(model);
                self.schedule(system, cx);
            }
            ClientEvent::Message(Down::Score(id, _)) => self.end(system, own, id, cx),
            ClientEvent::Peer {
                from,
                message: Peer::Invite(id),
            } => {
                self.join(system, own, id, from, cx);
            }
            ClientEvent::Peer {
                from,
                message: Peer::Exchange(id, step, data),
            } => self.hear(system, own, (id, from), (step, data), cx)?,
            ClientEvent::Peer {
                from,
                message: Peer::PackedExchange(id, step, n_rows, packed),
            } => {
                let n_columns = system.sent_columns(step) as u32;
                let opened = Matrix::opened(&*system.params.codec, (n_rows, n_columns), &packed);
                let opened = opened.map_err(|why| StrategyError(format!("device {}: a match: {why}", from.0)))?;
                self.hear(system, own, (id, from), (step, opened.data), cx)?;
            }
            ClientEvent::Done(Done::Held { id, held }) => self.advance(system, own, id, held, cx)?,
            ClientEvent::Timer(NEXT) => {
                self.begin(system, own, cx);
                self.schedule(system, cx);
            }
            ClientEvent::Timer(TimerId(timer)) => {
                if let Some(at) = self.open.iter().position(|open| open.timer == timer) {
                    self.abandon(at, cx);
                }
            }
            ClientEvent::UndeliveredPeer {
                to,
                message,
                note: retries,
                ..
            } => self.repeat(to, message, retries, cx),
            ClientEvent::Start | ClientEvent::Done(_) | ClientEvent::Undelivered { .. } => {}
        }
        Ok(())
    }

    /// Sends a message to a device that was away again, unless its match is over by now; gives the
    /// match up if that was the last time.
    fn repeat(&mut self, to: ClientId, message: Peer, retries: u32, cx: Cx<'_, '_>) {
        let (Peer::Exchange(id, ..) | Peer::PackedExchange(id, ..) | Peer::Invite(id)) = message;
        let Some(at) = self.open.iter().position(|open| open.id == id) else {
            return;
        };
        let Some(left) = retries.checked_sub(1) else {
            return self.abandon(at, cx);
        };
        cx.count(counter::REPEATED, 1);
        cx.send_peer_noted(to, message, left);
    }

    /// A message of a match has come, of its number and with these numbers. The first of a match
    /// invites to it.
    fn hear(
        &mut self,
        system: &Ppgm,
        own: Own<'_>,
        (id, from): (MatchId, ClientId),
        (step, data): (u32, Vec<f32>),
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        let known = self.open.iter().any(|open| open.id == id);
        if known || (step == 0 && id.initiator == from.0 && self.join(system, own, id, from, cx)) {
            let open = self.open.iter_mut().find(|open| open.id == id);
            let open = open.expect("it is known, or was joined just now");
            open.came.push((step, data));
            self.meet(system, own, id, cx)?;
        }
        Ok(())
    }

    /// The score of a match has come.
    fn end(&mut self, system: &Ppgm, own: Own<'_>, id: MatchId, cx: Cx<'_, '_>) {
        let Some(at) = self.open.iter().position(|open| open.id == id) else {
            return;
        };
        let waited = cx.now() - self.open[at].begun_at;
        // A device that was away finds the score and the end of its patience at once.
        if waited > patience(system) {
            return self.abandon(at, cx);
        }
        let open = self.open.swap_remove(at);
        if id.initiator == cx.me().0 {
            self.latencies.push(waited.0);
            cx.count(counter::SCORED, 1);
        }
        self.played.push((id, own.id(open.graph)));
    }

    /// Sets the time of the next match, if there is one before matching ends.
    fn schedule(&self, system: &Ppgm, cx: Cx<'_, '_>) {
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
    fn begin(&mut self, system: &Ppgm, own: Own<'_>, cx: Cx<'_, '_>) {
        let (me, mut rng) = (cx.me().0, cx.rng(WHOM));
        let others = cx.n_clients() as usize - 1;
        let drawn = index(&mut rng, others) as u32;
        let other = ClientId(drawn + u32::from(drawn >= me));
        let id = MatchId {
            initiator: me,
            serial: self.n_begun,
        };
        if self.enter(system, own, id, other, cx) {
            self.n_begun += 1;
            cx.count(counter::BEGUN, 1);
            if system.matcher.n_exchanges() == 0 {
                cx.send_peer_noted(other, Peer::Invite(id), system.params.deployment.retries);
            }
        }
    }

    /// Joins a match; false if the device cannot.
    fn join(&mut self, system: &Ppgm, own: Own<'_>, id: MatchId, other: ClientId, cx: Cx<'_, '_>) -> bool {
        let joined = self.enter(system, own, id, other, cx);
        cx.count(counter::DECLINED, u64::from(!joined));
        joined
    }

    /// Opens a match with one of the device's graphs; false without a graph or a model.
    fn enter(&mut self, system: &Ppgm, own: Own<'_>, id: MatchId, other: ClientId, cx: Cx<'_, '_>) -> bool {
        let Some(model) = self.model.clone().filter(|_| !own.is_empty()) else {
            return false;
        };
        let graph = index(&mut cx.rng(WHICH), own.len()) as u32;
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
        let cost = system.cost(own.graph(graph), 0);
        cx.compute(Work::Begin { id, graph, model }, cost);
        true
    }

    /// A step is done: send what it gave, and go on if the next message is here.
    fn advance(
        &mut self,
        system: &Ppgm,
        own: Own<'_>,
        id: MatchId,
        held: Held,
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        let Some(open) = self.open.iter_mut().find(|open| open.id == id) else {
            return Ok(());
        };
        open.busy = false;
        if open.held.is_some() {
            open.step += 1;
        }
        if open.step == system.matcher.n_exchanges() {
            let result = cx.release(mechanism::RESULT, &ResultNoise(system.noise), &held.state)?;
            // The match stays open until its score comes, but there is nothing left to compute.
            open.held = Some(Held::default());
            open.busy = true;
            let packed = result.packed(&*system.params.codec, &mut cx.rng(PACKING));
            cx.send(match packed {
                Some((n_rows, packed)) => Up::PackedResult(id, n_rows, packed),
                None => Up::Result(id, result.data),
            });
            return Ok(());
        }
        if let Some(sent) = &held.sent {
            let rows = cx.unprotected(mechanism::EXCHANGE, sent.clone());
            let exchange = match rows.packed(&*system.params.codec, &mut cx.rng(PACKING)) {
                Some((n_rows, packed)) => Peer::PackedExchange(id, open.step, n_rows, packed),
                None => Peer::Exchange(id, open.step, rows.data),
            };
            cx.send_peer_noted(open.other, exchange, system.params.deployment.retries);
        }
        open.held = Some(held);
        self.meet(system, own, id, cx)
    }

    /// Computes the next step, if both sides of it are here.
    fn meet(&mut self, system: &Ppgm, own: Own<'_>, id: MatchId, cx: Cx<'_, '_>) -> Result<(), StrategyError> {
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
        let n_columns = system.sent_columns(open.step);
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
            model,
        };
        cx.compute(work, system.cost(own.graph(graph), step + 1));
        Ok(())
    }

    /// Forgets an open match. It counts as lost for the device that began it.
    fn abandon(&mut self, at: usize, cx: Cx<'_, '_>) {
        let open = self.open.swap_remove(at);
        cx.count(counter::LOST, u64::from(open.id.initiator == cx.me().0));
    }
}

/// For how long a device keeps an open match.
fn patience(system: &Ppgm) -> SimSpan {
    SimSpan::from_secs(system.params.deployment.patience_s)
}
