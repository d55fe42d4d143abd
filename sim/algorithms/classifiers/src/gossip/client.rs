//! A client's side: training, models of its neighbours, and the mean of them.

use super::coding::Said;
use super::message::{Peer, Up};
use super::mixing::{drawn_near, mixed};
use super::{Done, Gossip, Method, Work, counter};
use crate::classifier::Shard;
use folkmoot_draws::{exponential, index};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const PICK: Purpose = Purpose(*b"go-pick ");
const CLOCK: Purpose = Purpose(*b"go-clock");
const PACKED: Purpose = Purpose(*b"go-pack ");
/// Models are sent as they are, so that nothing is drawn.
const SENT: Channel = Channel::new(0, Purpose(*b"go-sent "));

/// What a client is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// It has not begun.
    Idle,
    /// `Pairwise`: its clock has not struck.
    Asleep,
    Training,
    /// It waits for models of its neighbours.
    Waiting,
    /// It has ended its last round.
    Over,
}

/// A model that has come, for a round that this client has not ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Parcel {
    round: u32,
    from: u32,
    #[serde(with = "shared")]
    model: Arc<[f32]>,
}

/// What has come along a link to this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Carried {
    pub(super) from: u32,
    pub(super) models: u64,
    /// How many bytes they had.
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    phase: Phase,
    /// The round it is in: exchanges that it has ended, or been left out of.
    round: u32,
    #[serde(with = "shared")]
    model: Arc<[f32]>,
    /// Where its training began; in `Pairwise`, the model may move meanwhile.
    #[serde(with = "shared")]
    start: Arc<[f32]>,
    /// What training has made of it.
    #[serde(with = "shared")]
    trained: Arc<[f32]>,
    /// What its neighbours make of the model that it has sent them last.
    #[serde(with = "shared")]
    said: Arc<[f32]>,
    /// What a codec that feeds back has left out of what it has sent; nothing at first.
    memory: Vec<f32>,
    inbox: Vec<Parcel>,
    /// The latest round that a neighbour was heard in.
    newest: u32,
    /// How many trainings have been ended: the result of one that was begun twice is known for
    /// late.
    n_trained: u32,
    /// When what it is about should be over; later, something was lost while it was away.
    due: SimTime,
    /// When its training began.
    began: SimTime,
    /// How long it takes a training to be one that was lost.
    patience: SimSpan,
    carried: Vec<Carried>,
    /// Its neighbours in this round and how much each counts, ascending.
    peers: Vec<(u32, f64)>,
}

type Context<'a> = ClientContext<'a, Gossip>;

impl Client {
    /// Without a model, which it has from its first event on.
    pub(super) fn new(gossip: &Gossip) -> Client {
        let model: Arc<[f32]> = Arc::default();
        Client {
            phase: Phase::Idle,
            round: 0,
            start: Arc::clone(&model),
            trained: Arc::clone(&model),
            said: Arc::clone(&model),
            memory: Vec::new(),
            model,
            inbox: Vec::new(),
            newest: 0,
            n_trained: 0,
            due: SimTime::ZERO,
            began: SimTime::ZERO,
            patience: gossip.timeout(),
            carried: Vec::new(),
            peers: Vec::new(),
        }
    }

    /// Its own model; `None` before its first event.
    pub fn model(&self) -> Option<&[f32]> {
        (!self.model.is_empty()).then_some(&*self.model)
    }

    /// Whether it has come to the end of its last round.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// What came along its links.
    pub(super) fn carried(&self) -> &[Carried] {
        &self.carried
    }

    pub(super) fn handle(&mut self, gossip: &Gossip, shard: &Shard, event: ClientEvent<Gossip>, cx: &mut Context<'_>) {
        if self.model.is_empty() {
            self.model = gossip.start(cx.me());
            self.trained = Arc::clone(&self.model);
        }
        match event {
            ClientEvent::Start if self.phase == Phase::Idle => self.begin(gossip, shard, 0, cx),
            ClientEvent::Done(done) => self.learned(gossip, shard, done, cx),
            ClientEvent::Timer(TimerId(round)) if round == self.round && cx.now() >= self.due => {
                self.struck(gossip, shard, cx);
            }
            ClientEvent::Peer { from, message } => self.hear(gossip, shard, (from, message), cx),
            _ => {}
        }
    }

    /// Begins a round, or a later one that its neighbours are in.
    fn begin(&mut self, gossip: &Gossip, shard: &Shard, round: u32, cx: &mut Context<'_>) {
        self.enter(gossip, round, cx);
        if self.round >= gossip.rounds() {
            self.phase = Phase::Over;
            self.due = SimTime::NEVER;
            self.inbox.clear();
            return;
        }
        self.start = Arc::clone(&self.model);
        match gossip.method() {
            Method::Averaging => self.train(gossip, shard, cx),
            Method::Dpsgd => {
                self.broadcast(gossip, cx);
                self.train(gossip, shard, cx);
            }
            Method::Pairwise { pause_s } => {
                self.phase = Phase::Asleep;
                self.wake_after(SimSpan::from_secs(pause_s * exponential(&mut cx.rng(CLOCK))), cx);
            }
        }
    }

    /// Goes to a round, or on to the latest that was heard of where that is more than one further:
    /// there nobody waits for it any more.
    fn enter(&mut self, gossip: &Gossip, round: u32, cx: &mut Context<'_>) {
        let joined = if self.is_behind(gossip, round, cx.now()) {
            self.newest
        } else {
            round
        };
        cx.continue_round(Round(joined));
        cx.count(counter::SKIPPED, u64::from(joined - round));
        self.round = joined;
        self.peers = gossip.peers(cx.me(), joined);
        self.inbox.retain(|parcel| parcel.round >= joined);
    }

    /// Whether its neighbours have given this client up in the rounds after `round`: one was heard
    /// more than one round later. Where links change, that one may be of other rounds, and only a
    /// client that has been away joins it.
    fn is_behind(&self, gossip: &Gossip, round: u32, now: SimTime) -> bool {
        let may_join = !gossip.params().topology.changes() || now > self.due;
        !gossip.method().is_pairwise() && may_join && self.newest > round.saturating_add(1)
    }

    fn train(&mut self, gossip: &Gossip, shard: &Shard, cx: &mut Context<'_>) {
        self.phase = Phase::Training;
        self.began = cx.now();
        self.due = cx.now() + self.patience;
        let malicious = &gossip.params().malicious;
        let attackers = malicious.attackers(
            (Round(self.round), &gossip.drawn),
            (cx.n_clients(), |client| cx.size_of(client)),
            |purpose| cx.run_rng(purpose),
        );
        let work = Work {
            n_trained: self.n_trained,
            model: Arc::clone(&self.start),
            attacks: attackers.binary_search(&cx.me().0).is_ok(),
        };
        let computes = !work.attacks || malicious.adversary.trains();
        cx.compute(work, if computes { gossip.cost(shard) } else { 0.0 });
    }

    fn wake_after(&mut self, span: SimSpan, cx: &mut Context<'_>) {
        self.due = cx.now() + span;
        cx.timer(span, TimerId(self.round));
    }

    /// A training is over.
    fn learned(&mut self, gossip: &Gossip, shard: &Shard, done: Done, cx: &mut Context<'_>) {
        cx.continue_round(Round(self.round));
        if self.phase != Phase::Training || done.n_trained != self.n_trained {
            return;
        }
        self.n_trained += 1;
        self.patience = gossip
            .timeout()
            .max(SimSpan((cx.now().0 - self.began.0).saturating_mul(2)));
        self.trained = done.model.into();
        self.phase = Phase::Waiting;
        match gossip.method() {
            Method::Averaging => {
                self.model = Arc::clone(&self.trained);
                self.enter(gossip, self.round, cx);
                self.broadcast(gossip, cx);
            }
            Method::Dpsgd => {}
            Method::Pairwise { .. } => {
                // What others brought meanwhile stays, and what was learned comes on top.
                self.model = moved(&self.model, &self.trained, &self.start, 1.0);
                if !self.peers.is_empty() {
                    let (partner, _) = self.peers[index(&mut cx.rng(PICK), self.peers.len())];
                    if let Some(said) = self.say(gossip, 1, cx) {
                        self.said = said.heard;
                        cx.send_peer(ClientId(partner), Peer::model(said.sent));
                    }
                }
            }
        }
        match self.has_all(gossip) {
            true => self.mix(gossip, shard, cx),
            false => self.wake_after(gossip.timeout(), cx),
        }
    }

    /// Sends its model to all neighbours of this round: one release, whoever hears it.
    fn broadcast(&mut self, gossip: &Gossip, cx: &mut Context<'_>) {
        self.said = Arc::clone(&self.model);
        if self.peers.is_empty() {
            return;
        }
        if let Some(said) = self.say(gossip, self.peers.len(), cx) {
            self.said = said.heard;
            for (neighbour, _) in &self.peers {
                cx.send_peer(ClientId(*neighbour), Peer::model(said.sent.clone()));
            }
        }
    }

    /// Its model as it is sent to so many; one that cannot be is refused by each.
    fn say(&mut self, gossip: &Gossip, n_receivers: usize, cx: &mut Context<'_>) -> Option<Said> {
        let said = gossip.say(&self.model, &mut self.memory, &mut cx.rng(PACKED));
        match said {
            Some(said) => Some(cx.unprotected(SENT, said)),
            None => {
                cx.count(counter::REFUSED, n_receivers as u64);
                None
            }
        }
    }

    /// Whether nothing more is to be waited for in this round.
    fn has_all(&self, gossip: &Gossip) -> bool {
        let came = || self.inbox.iter().filter(|parcel| parcel.round == self.round).count();
        self.peers.is_empty() || !gossip.method().is_pairwise() && came() >= self.peers.len()
    }

    /// Its clock has struck, or it has waited long enough.
    fn struck(&mut self, gossip: &Gossip, shard: &Shard, cx: &mut Context<'_>) {
        cx.continue_round(Round(self.round));
        match self.phase {
            Phase::Idle => self.begin(gossip, shard, 0, cx),
            Phase::Asleep => {
                self.start = Arc::clone(&self.model);
                self.train(gossip, shard, cx);
            }
            Phase::Waiting => self.mix(gossip, shard, cx),
            Phase::Training | Phase::Over => {}
        }
    }

    /// A model has come.
    fn hear(&mut self, gossip: &Gossip, shard: &Shard, (from, message): (ClientId, Peer), cx: &mut Context<'_>) {
        let round = cx.event_round().0;
        let model = gossip.model_in(&message).into_owned();
        self.note(from, message.encoded_len() as u64);
        if model.iter().any(|x| !x.is_finite()) {
            cx.count(counter::REFUSED, 1);
        } else if gossip.method().is_pairwise() {
            self.meet(gossip, shard, (from, &model, message.is_answer()), cx);
        } else {
            self.newest = self.newest.max(round);
            match round < self.round || self.phase == Phase::Over {
                true => cx.count(counter::LATE, 1),
                false => self.inbox.push(Parcel {
                    round,
                    from: from.0,
                    model,
                }),
            }
            if self.phase == Phase::Waiting && self.has_all(gossip) {
                self.mix(gossip, shard, cx);
            }
        }
        self.recover(gossip, shard, cx);
    }

    /// Two clients meet: each moves half of the way to what the other was, so that their sum stays,
    /// whatever has happened to either since.
    fn meet(
        &mut self,
        gossip: &Gossip,
        shard: &Shard,
        (from, theirs, is_answer): (ClientId, &[f32], bool),
        cx: &mut Context<'_>,
    ) {
        let share = 0.5 * gossip.params().mixing;
        if is_answer {
            let is_awaited = self.phase == Phase::Waiting && cx.event_round().0 == self.round;
            if !is_awaited {
                return cx.count(counter::LATE, 1);
            }
            self.model = moved(&self.model, theirs, &self.said, share);
            return self.end(gossip, shard, cx);
        }
        if let Some(said) = self.say(gossip, 1, cx) {
            cx.send_peer(from, Peer::answer(said.sent));
            self.model = moved(&self.model, theirs, &said.heard, share);
        }
    }

    /// Takes up what was lost while this client was away: a clock that never struck, or a training
    /// whose result never came.
    fn recover(&mut self, gossip: &Gossip, shard: &Shard, cx: &mut Context<'_>) {
        if cx.now() <= self.due {
            return;
        }
        match self.phase {
            Phase::Training => {
                self.patience = SimSpan(self.patience.0.saturating_mul(2));
                cx.continue_round(Round(self.round));
                cx.count(counter::RESTARTED, 1);
                match self.is_behind(gossip, self.round, cx.now()) {
                    true => self.begin(gossip, shard, self.round, cx),
                    false => self.train(gossip, shard, cx),
                }
            }
            _ => self.struck(gossip, shard, cx),
        }
    }

    /// Counts a model that has come.
    fn note(&mut self, ClientId(from): ClientId, bytes: u64) {
        match self.carried.binary_search_by_key(&from, |carried| carried.from) {
            Ok(at) => {
                self.carried[at].models += 1;
                self.carried[at].bytes += bytes;
            }
            Err(at) => self.carried.insert(at, Carried { from, models: 1, bytes }),
        }
    }

    /// Makes one model of those that have come, and ends the round.
    fn mix(&mut self, gossip: &Gossip, shard: &Shard, cx: &mut Context<'_>) {
        cx.continue_round(Round(self.round));
        if gossip.method().is_pairwise() {
            // The answer was lost, or its sender is away.
            cx.count(counter::MISSING, u64::from(!self.peers.is_empty()));
            return self.end(gossip, shard, cx);
        }
        self.inbox.sort_by_key(|parcel| (parcel.round, parcel.from));
        let n_came = self.inbox.partition_point(|parcel| parcel.round <= self.round);
        let parcels: Vec<Parcel> = self.inbox.drain(..n_came).collect();
        cx.count(counter::MISSING, self.peers.len().saturating_sub(parcels.len()) as u64);
        let mut came: Vec<(u32, f64, &[f32])> = Vec::with_capacity(parcels.len());
        for Parcel { from, model, .. } in &parcels {
            if let Ok(at) = self.peers.binary_search_by_key(from, |(id, _)| *id) {
                came.push((*from, self.peers[at].1, model));
            }
        }
        let mean: Arc<[f32]> = match gossip.is_direct() {
            true => mixed(cx.me().0, &self.model, &came).into(),
            false => drawn_near(&self.model, &self.said, &came, gossip.params().mixing).into(),
        };
        self.model = match gossip.method() {
            Method::Dpsgd => moved(&mean, &self.trained, &self.start, 1.0),
            _ => mean,
        };
        self.end(gossip, shard, cx);
    }

    /// Ends a round, tells whoever measures, and begins the next.
    fn end(&mut self, gossip: &Gossip, shard: &Shard, cx: &mut Context<'_>) {
        cx.continue_round(Round(self.round));
        let shown = gossip.is_evaluated(self.round).then(|| Arc::clone(&self.model));
        cx.send(Up::Report(Counted {
            content: shown,
            bytes: 0,
        }));
        self.begin(gossip, shard, self.round + 1, cx);
    }
}

/// `model + share (to - from)`, in double precision.
fn moved(model: &[f32], to: &[f32], from: &[f32], share: f64) -> Arc<[f32]> {
    let step =
        |((x, to), from): ((&f32, &f32), &f32)| (f64::from(*x) + share * (f64::from(*to) - f64::from(*from))) as f32;
    model.iter().zip(to).zip(from).map(step).collect()
}
