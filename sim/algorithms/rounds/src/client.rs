//! The client's side of rounds.

use super::coding::{Beside, Learned};
use super::exchange::{Heard, Says};
use super::job::{Done, Left, Trained, Training, Work};
use super::message::{Down, Extra, Ordered, Peer, Up};
use super::secure::{PublicKeys, Roster, Sealed, Secrets, SharesOf, Unmasking, fixed_point, mask};
use super::{COUNTERS, Exchange, PARTIAL, Rounds, SidePayload, Trainer, WEIGHTS};
use crate::packed::{Packed, Sent, first_not_finite};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

const KEYS: Purpose = Purpose(*b"rd-keys ");
const SHARE: Purpose = Purpose(*b"rd-share");
/// Weights, or what is masked of them: as they are, so that nothing is drawn.
const SENT: Channel = Channel::new(WEIGHTS, Purpose(*b"rd-sent "));

/// A client's state: what it keeps, and in secure rounds its session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "E: State, K: State + Sync, T: State")]
pub struct Client<E, K = (), T = ()> {
    session: Option<Box<Session<E, K>>>,
    #[serde(with = "shared")]
    kept: Option<Arc<K>>,
    /// What a codec that feeds back has left out of what was sent; nothing at first.
    #[serde(with = "shared")]
    memory: Arc<[f32]>,
    /// What of its last masked change was sent, where a codec feeds back: only its sender can read
    /// it.
    masked: Vec<f32>,
    /// In an exchange, what it has heard while it prepares what it says to what it heard before;
    /// without work under way none.
    waiting: Option<VecDeque<Heard<T>>>,
}

/// What a client keeps during a secure round.
#[derive(Debug, Serialize, Deserialize)]
struct Session<E, K> {
    round: Round,
    secrets: Secrets,
    /// Ids and public keys of all who take part; empty until they come.
    #[serde(with = "shared")]
    roster: Arc<[(u32, [u64; 2])]>,
    /// Its own shares among them.
    shares: Vec<SharesOf>,
    /// Whether the others' shares have come.
    is_paired: bool,
    trained: Option<Waiting<E, K>>,
    /// In the opening, what it tells of what it holds, until it is sent.
    statistics: Option<Vec<f64>>,
}

/// What is trained, until it is sent: only then is anything spent, and anything kept.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting<E, K> {
    /// What is to be masked, or the position and the bits of a number that cannot be.
    values: Result<Vec<f32>, (u32, u32)>,
    n_samples: u32,
    extra: Option<Beside<E>>,
    receipt: Receipt,
    left: Left<K>,
}

impl<E: Extra, K: State + Sync + Clone, T: Extra> Client<E, K, T> {
    pub(super) fn new() -> Self {
        Client {
            session: None,
            kept: None,
            memory: Arc::default(),
            masked: Vec::new(),
            waiting: None,
        }
    }

    /// What it has kept of its trainings, if anything.
    pub(super) fn kept(&self) -> Option<&K> {
        self.kept.as_deref()
    }

    /// What codecs have left out of its updates; nothing where that is not kept.
    pub(super) fn left_out(&self) -> &[f32] {
        &self.memory
    }

    pub(super) fn handle<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R, Message = T>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        shard: R::Shard<'_>,
        event: ClientEvent<Rounds<R, P, X>>,
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Message(Down::Model(order, model)) => {
                self.train(rounds, shard, (Ordered::Plain(order), Sent::Plain(model)), cx);
            }
            ClientEvent::Message(Down::PackedModel(order, Packed(model))) => {
                self.train(rounds, shard, (order, Sent::Packed(model)), cx);
            }
            ClientEvent::Message(Down::Told(told)) => self.exchange(rounds, shard, Heard::Server(told), cx),
            ClientEvent::Peer {
                from,
                message: Peer::Told(told),
            } => self.exchange(rounds, shard, Heard::Client(from, told), cx),
            ClientEvent::Message(Down::Opening) if rounds.exchange.is_some() => {
                if rounds.is_secure() {
                    self.session = Some(Session::begin(Some(rounds.statistics_of(shard)), cx));
                }
                self.exchange(rounds, shard, Heard::Opening, cx);
            }
            ClientEvent::Message(Down::Opening) => {
                let statistics = rounds.statistics_of(shard);
                match rounds.is_secure() {
                    true => self.session = Some(Session::begin(Some(statistics), cx)),
                    false => {
                        let bits = statistics.into_iter().map(f64::to_bits).collect();
                        let bits = cx.unprotected(rounds.opening(), bits);
                        cx.send(Up::Statistics(bits));
                    }
                }
            }
            ClientEvent::Message(message) => {
                if let Some(session) = self.session.as_mut().filter(|session| session.round == cx.round()) {
                    let left = session.handle(rounds, message, cx);
                    self.keep(rounds, left);
                }
            }
            ClientEvent::Done(Done::Prepared(says)) => self.prepared(rounds, shard, says, cx),
            ClientEvent::Done(Done::Trained(mut done)) => {
                if let Some(why) = done.failed.take() {
                    return Err(why);
                }
                for (place, n) in done.counts.iter().enumerate() {
                    cx.count(COUNTERS.len() + place, *n);
                }
                if !rounds.is_secure() {
                    let left = send_plain(rounds, shard, *done, cx);
                    self.keep(rounds, Some(left));
                } else if let Some(session) = self.session.as_mut().filter(|session| session.round == cx.round()) {
                    // Of a round that it has left for another, nothing can be sent any more.
                    session.trained = Some(Waiting {
                        values: match done.learned {
                            Learned::Broken(index, bits) => Err((index, bits)),
                            Learned::Weights(weights) => Ok(weights.values()),
                            Learned::Packed(_) => unreachable!("what is masked is not packed"),
                        },
                        n_samples: done.n_samples.unwrap_or_else(|| rounds.trainer.n_samples(shard)),
                        extra: done.extra,
                        receipt: done.receipt,
                        left: done.left,
                    });
                    let left = session.send(rounds, cx);
                    self.keep(rounds, left);
                }
            }
            ClientEvent::Undelivered {
                message: Up::Extra(extra),
                ..
            } => self.lose(rounds, extra),
            ClientEvent::Undelivered {
                message: Up::PackedExtra(packed),
                ..
            } => self.lose(rounds, rounds.open_extra(&packed).expect("what was packed can be read")),
            ClientEvent::Undelivered {
                message: Up::PackedUpdate(_, packed) | Up::ReportedPacked(_, _, packed),
                ..
            } if rounds.protocol.uplink_codec.feeds_back() => {
                rounds.take_back(&packed, Arc::make_mut(&mut self.memory))
            }
            ClientEvent::Undelivered {
                message: Up::Masked(_), ..
            } if !self.masked.is_empty() => {
                let masked = std::mem::take(&mut self.masked);
                rounds.take_back_masked(&masked, Arc::make_mut(&mut self.memory), cx.round());
            }
            _ => {}
        }
        Ok(())
    }

    /// An extra of its own was lost on the way.
    fn lose<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        extra: E,
    ) {
        let lost = |kept| Arc::new(rounds.payload.take_back(Arc::unwrap_or_clone(kept), extra));
        self.kept = self.kept.take().map(lost);
    }

    /// A client's part of the exchange: it says at once what takes no effort, and prepares what
    /// does; one thing after the other.
    fn exchange<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R, Message = T>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        shard: R::Shard<'_>,
        heard: Heard<T>,
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) {
        if let Some(waiting) = &mut self.waiting {
            waiting.push_back(heard);
            return;
        }
        let effort = rounds
            .exchange()
            .effort(&rounds.trainer, shard, self.kept.as_deref(), &heard);
        if effort > 0.0 {
            self.waiting = Some(VecDeque::new());
            let kept = self.kept.clone();
            cx.compute(Work::Preparation { heard, kept }, effort);
            return;
        }
        let says = rounds
            .exchange()
            .tell(&rounds.trainer, shard, self.kept.as_deref(), heard);
        self.say(rounds, says, cx);
    }

    /// Says what was prepared, and goes on to what was heard meanwhile.
    fn prepared<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R, Message = T>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        shard: R::Shard<'_>,
        says: Says<T, K>,
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) {
        self.say(rounds, says, cx);
        for heard in self.waiting.take().into_iter().flatten() {
            self.exchange(rounds, shard, heard, cx);
        }
    }

    fn say<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R, Message = T>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        says: Says<T, K>,
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) {
        if let Some(kept) = says.kept {
            self.kept = Some(Arc::new(kept));
        }
        for (to, told) in says.to_clients {
            let told = cx.unprotected(rounds.opening(), told);
            cx.send_peer(to, Peer::Told(told));
        }
        if let Some(told) = says.to_server {
            let told = cx.unprotected(rounds.opening(), told);
            cx.send(Up::Told(told));
        }
        if says.is_ready {
            cx.send(Up::Ready);
        }
    }

    /// Begins to train from a model that was sent.
    fn train<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R, Message = T>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        shard: R::Shard<'_>,
        (order, model): (Ordered<P::Order>, Sent),
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) {
        if rounds.is_secure() {
            self.session = Some(Session::begin(None, cx));
        }
        let attacks = rounds.attackers(cx.round(), (cx.n_clients(), |client| cx.size_of(client)), |purpose| {
            cx.run_rng(purpose)
        });
        let work = Training {
            order,
            model,
            kept: self.kept.clone(),
            memory: Arc::clone(&self.memory),
            metrics: rounds.metrics(cx.selection()),
            attacks: attacks.binary_search(&cx.me().0).is_ok(),
        };
        let (all, passes) = (rounds.trainer.passes(), rounds.passes(|| cx.round_rng(PARTIAL)));
        let cost = match rounds.trainer.cost(shard, cx.round()) {
            cost if passes == all => cost,
            cost => cost * f64::from(passes) / f64::from(all),
        };
        let reports = work.metrics.iter().filter_map(|name| rounds.cost_of_report(name));
        let cost = reports.fold(cost, |cost, share| {
            cost + share * rounds.trainer.cost(shard, cx.round()) / f64::from(all)
        });
        let extra = rounds.payload.cost(&rounds.trainer, shard, cx.round());
        let computes = !work.attacks || rounds.protocol.malicious.adversary.trains();
        cx.compute(Work::Training(work), if computes { cost + extra } else { 0.0 });
    }

    fn keep<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        left: Option<Left<K>>,
    ) {
        let Some(Left { kept, memory, masked }) = left else {
            return;
        };
        self.memory = memory.onto(&self.memory);
        // The one before has left its access link by now, so that its loss would be known.
        self.masked = masked;
        if let Some(now) = kept {
            let kept = match self.kept.take() {
                Some(before) => rounds.payload.keep(Arc::unwrap_or_clone(before), now),
                None => now,
            };
            self.kept = Some(Arc::new(kept));
        }
    }
}

/// Sends what goes beside an update, if anything does.
fn send_extra<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(
    extra: Option<Beside<P::Extra>>,
    cx: &mut ClientContext<'_, Rounds<R, P, X>>,
) {
    match extra {
        Some(Beside::Plain(extra)) => cx.send(Up::Extra(extra)),
        Some(Beside::Packed(packed)) => cx.send(Up::PackedExtra(packed)),
        None => {}
    }
}

/// An update goes out as it is, unless it is made of noisy sums alone.
fn charge_update<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(
    rounds: &Rounds<R, P, X>,
    cx: &mut ClientContext<'_, Rounds<R, P, X>>,
) {
    if !rounds.protocol.private.is_charged_in_training() {
        cx.unprotected(SENT, ());
    }
}

fn send_plain<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(
    rounds: &Rounds<R, P, X>,
    shard: R::Shard<'_>,
    done: Trained<P::Extra, R::ClientState>,
    cx: &mut ClientContext<'_, Rounds<R, P, X>>,
) -> Left<R::ClientState> {
    cx.settle(done.receipt);
    send_extra(done.extra, cx);
    let n_samples = done.n_samples.unwrap_or_else(|| rounds.trainer.n_samples(shard));
    match done.learned {
        Learned::Weights(weights) => {
            charge_update(rounds, cx);
            cx.send(Up::update(n_samples, weights, done.metrics));
        }
        Learned::Packed(packed) => {
            charge_update(rounds, cx);
            cx.send(Up::packed_update(n_samples, packed, done.metrics));
        }
        Learned::Broken(index, bits) => cx.send(Up::Withdrawal(index, bits)),
    }
    done.left
}

impl<E: Extra, K: State + Sync + Clone> Session<E, K> {
    /// Sends the keys of the round, in which it is to send what is trained, or else these
    /// statistics.
    fn begin<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R>>(
        statistics: Option<Vec<f64>>,
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) -> Box<Self> {
        let secrets = Secrets::draw(&mut cx.rng(KEYS));
        cx.send(Up::Keys(PublicKeys(secrets.public())));
        Box::new(Session {
            round: cx.round(),
            secrets,
            roster: Arc::default(),
            shares: Vec::new(),
            is_paired: false,
            trained: None,
            statistics,
        })
    }

    /// Takes part in the round; gives what the client is to keep, once its update is sent.
    fn handle<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        message: Down<P::Order, X::Message>,
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) -> Option<Left<K>> {
        let me = cx.me().0;
        match message {
            Down::Roster(Roster(roster)) => {
                let ids: Vec<u32> = roster.iter().map(|(id, _)| *id).collect();
                let threshold = rounds.protocol.threshold(ids.len());
                let shares = self.secrets.share(threshold, &ids, &mut cx.rng(SHARE));
                let mut sealed = Vec::with_capacity(ids.len());
                for ((id, [key, _]), shares) in roster.iter().zip(shares) {
                    match *id == me {
                        true => self.shares.push(SharesOf {
                            client: *id,
                            mask: shares[0],
                            own: shares[1],
                        }),
                        false => sealed.push((*id, self.secrets.seal(*key, (me, *id), shares))),
                    }
                }
                self.roster = roster;
                cx.send(Up::Shares(Sealed(sealed)));
            }
            Down::Shares(Sealed(sealed)) => {
                for (from, sealed) in sealed {
                    if let Some([key, _]) = self.keys(from) {
                        let [mask, own] = self.secrets.seal(key, (from, me), sealed);
                        let client = from;
                        self.shares.push(SharesOf { client, mask, own });
                    }
                }
                self.is_paired = true;
                return self.send(rounds, cx);
            }
            Down::Survivors(survivors) => {
                let handed = |shares: &SharesOf| match survivors.binary_search(&shares.client) {
                    Ok(_) => (shares.client, shares.own),
                    Err(_) => (shares.client, shares.mask),
                };
                let shares = self.shares.iter().map(handed).collect();
                cx.send(Up::Unmasking(Unmasking(shares)));
            }
            Down::Model(..) | Down::PackedModel(..) | Down::Opening | Down::Told(_) => {}
        }
        None
    }

    fn keys(&self, id: u32) -> Option<[u64; 2]> {
        let at = self.roster.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.roster[at].1)
    }

    /// Sends the masked update as soon as it is trained and the others' shares are here; gives what
    /// is to be kept then.
    fn send<R: Trainer<ClientState = K>, P: SidePayload<R, Extra = E>, X: Exchange<R>>(
        &mut self,
        rounds: &Rounds<R, P, X>,
        cx: &mut ClientContext<'_, Rounds<R, P, X>>,
    ) -> Option<Left<K>> {
        let me = cx.me().0;
        if let Some(statistics) = self.statistics.take_if(|_| self.is_paired) {
            let message = self.masked(&statistics, 1.0, me);
            if matches!(message, Up::Masked(_)) {
                cx.unprotected(rounds.opening(), ());
            }
            cx.send(message);
            return None;
        }
        let trained = self.trained.take_if(|_| self.is_paired)?;
        let Waiting {
            values,
            n_samples,
            extra,
            receipt,
            mut left,
        } = trained;
        if let (Ok(values), true) = (&values, rounds.protocol.uplink_codec.feeds_back()) {
            left.masked.clone_from(values);
        }
        cx.settle(receipt);
        send_extra(extra, cx);
        let weight = rounds.protocol.weight(n_samples);
        let n = self.roster.len();
        let share = rounds.protocol.private.share(n, rounds.protocol.threshold(n));
        let message = match (values, share) {
            (Ok(values), Some(noise)) if first_not_finite(&values).is_none() => {
                let values: Vec<f64> = values.into_iter().map(f64::from).collect();
                let noisy = cx.release(SENT, &noise, &values).expect("values are finite");
                self.masked(&noisy, weight, me)
            }
            (Ok(values), share) => {
                let message = self.masked(&values, weight, me);
                if matches!(message, Up::Masked(_)) && share.is_none() {
                    charge_update(rounds, cx);
                }
                message
            }
            (Err((index, bits)), _) => Up::Withdrawal(index, bits),
        };
        cx.send(message);
        Some(left)
    }

    /// Values times their weight, then the weight, masked; or what of them fixed point cannot hold.
    fn masked<V: Copy + Into<f64>, T: Extra>(&self, values: &[V], weight: f64, me: u32) -> Up<E, T> {
        match fixed_point(values, weight) {
            Ok(mut fixed) => {
                let others = self.shares.iter().filter(|shares| shares.client != me);
                let others = others.filter_map(|shares| Some((shares.client, self.keys(shares.client)?[1])));
                mask(&mut fixed, me, &self.secrets, others);
                Up::Masked(fixed)
            }
            Err(index) => Up::Withdrawal(index as u32, (values[index].into() as f32).to_bits()),
        }
    }
}
