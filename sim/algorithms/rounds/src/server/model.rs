//! The global model, and how updates move it.

use super::super::exchange::Gathered;
use super::super::message::{Down, Weights};
use super::super::private::factor;
use super::super::{
    Aggregation, Exchange, Memory, Rounds, RuleContext, RuleMemory, ServerMoments, SidePayload, Trainer, Update,
    Updates,
};
use super::detection::Detection;
use super::seen::Seen;
use crate::evaluator::REFUSED_UPDATES;
use crate::packed::{Packed, first_not_finite};
use crate::{EMPTY, REFUSED};
use folkmoot_codecs::Damaged;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const RULE: Purpose = Purpose(*b"rd-rule ");
const TRUSTED: Purpose = Purpose(*b"rd-trust");
const PACKED: Purpose = Purpose(*b"rd-down ");
const PACKED_OWN: Purpose = Purpose(*b"rd-downo");
const PACKED_ORDER: Purpose = Purpose(*b"rd-downc");

/// What ends a run whose server is sent bytes that no codec has written.
pub(super) fn unread(client: ClientId, damaged: Damaged) -> StrategyError {
    StrategyError(format!("an update of client {}: {damaged}", client.0))
}

/// What the server has whichever way rounds go.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "C: State, M: State")]
pub(crate) struct Global<C, M> {
    #[serde(with = "shared")]
    pub(crate) parameters: Arc<[f32]>,
    /// The model as it is sent down, once it has been packed.
    #[serde(with = "shared")]
    packed: Option<Arc<[u8]>>,
    moments: ServerMoments,
    refused: Vec<Refused>,
    /// Rounds until now without an update that had refused ones, in a row.
    rounds_without_accepted_update: u32,
    /// How many were refused when the last round ended.
    refused_before: usize,
    /// Of the last rounds, the oldest first; nothing where nobody evaluates it.
    pub(super) seen: Vec<Seen>,
    pub(super) collected: C,
    /// What the server makes of an exchange before any training.
    exchanged: M,
    pub(crate) memory: Memory,
    /// What the trainer's own aggregator keeps.
    pub(crate) aggregated: Vec<u8>,
    /// What the card's rule keeps.
    rule: RuleMemory,
    /// How often the card's rule was right about whom it excluded.
    pub(super) detection: Detection,
}

/// An update and how it came.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Received {
    pub(super) client: ClientId,
    pub(super) at: SimTime,
    /// How many rounds older its model was than the present one.
    pub(super) staleness: u32,
    pub(super) n_samples: u32,
    pub(super) weights: Vec<f32>,
    /// What it reports, in the order of [`Rounds::metrics`].
    pub(super) metrics: Vec<f32>,
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

impl<C: State + Default, M: State + Default> Global<C, M> {
    pub(super) fn new(parameters: Vec<f32>) -> Self {
        Global {
            parameters: parameters.into(),
            packed: None,
            moments: ServerMoments::default(),
            refused: Vec::new(),
            rounds_without_accepted_update: 0,
            refused_before: 0,
            seen: Vec::new(),
            collected: C::default(),
            exchanged: M::default(),
            memory: Memory::default(),
            aggregated: Vec::new(),
            rule: RuleMemory::default(),
            detection: Detection::default(),
        }
    }
}

impl<C: State, M: State> Global<C, M> {
    /// For how many rounds now all updates that came were refused.
    pub(super) fn rounds_without_accepted_update(&self) -> u32 {
        self.rounds_without_accepted_update
    }

    /// A round has ended, with or without an update.
    fn count_round(&mut self, is_taken: bool) {
        let has_refused = self.refused.len() > self.refused_before;
        self.refused_before = self.refused.len();
        match (is_taken, has_refused) {
            (true, _) => self.rounds_without_accepted_update = 0,
            (false, true) => self.rounds_without_accepted_update += 1,
            (false, false) => {}
        }
    }

    /// How many updates were refused for a finite number, which fixed point cannot hold, and the
    /// largest size of those numbers.
    pub(super) fn beyond_range(&self) -> (usize, f32) {
        let sizes = self.refused.iter().map(|refused| f32::from_bits(refused.bits).abs());
        let beyond = sizes.filter(|size| size.is_finite());
        beyond.fold((0, 0.0), |(n, largest), size| (n + 1, largest.max(size)))
    }

    /// The table of refused updates, if there are any.
    pub(super) fn refusals(&self) -> Option<String> {
        let mut table = REFUSED_UPDATES.header(&[]);
        for refused in &self.refused {
            let value = f32::from_bits(refused.bits);
            let (client, round) = (refused.client.0, refused.round.0);
            table += &format!("{client},{round},{},{value}\n", refused.index);
        }
        (!self.refused.is_empty()).then_some(table)
    }
}

/// What an event of the server is handled with, whichever way rounds go.
pub(in super::super) struct Turn<'a, 'c, R: Trainer, P: SidePayload<R>, X: Exchange<R>> {
    pub(crate) global: &'a mut Global<P::ServerState, X::ServerState>,
    pub(crate) rounds: &'a Rounds<R, P, X>,
    pub(crate) cx: &'a mut ServerContext<'c, Rounds<R, P, X>>,
    /// Metrics that the update of the event reports.
    pub(super) reported_metrics: Vec<f32>,
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Turn<'_, '_, R, P, X> {
    /// Whom this round asks: its cohort, and in an exchange everybody.
    ///
    /// # Errors
    ///
    /// When the card's selection fails.
    pub(super) fn asked(&mut self) -> Result<Vec<ClientId>, StrategyError> {
        match self.rounds.is_exchange(self.cx.round()) {
            true => Ok((0..self.cx.n_clients()).map(ClientId).collect()),
            false => self.cx.cohort(),
        }
    }

    /// What a client is sent in this round, where `all` is what everybody is.
    pub(super) fn message_to(&self, client: ClientId, all: &Down<P::Order, X::Message>) -> Down<P::Order, X::Message> {
        match (all, self.global.memory.own_model(client)) {
            (Down::Model(order, _), Some(own)) => Down::Model(order.clone(), own),
            (Down::PackedModel(order, _), Some(own)) => Down::PackedModel(order.clone(), self.pack_own(&own)),
            _ => all.clone(),
        }
    }

    /// A client's own model as it is sent in this round, in whichever event; those who have the
    /// same are sent the same.
    fn pack_own(&self, own: &[f32]) -> Packed {
        self.rounds.pack_model(own, &mut self.cx.round_rng(PACKED_OWN))
    }

    /// The model that the server has for a client.
    pub(super) fn model_of(&self, client: ClientId) -> Arc<[f32]> {
        let own = self.global.memory.own_model(client);
        own.unwrap_or_else(|| Arc::clone(&self.global.parameters))
    }

    /// The model, and what is asked for besides, as it is sent in this round; in the opening that
    /// statistics are wanted.
    pub(super) fn message(&mut self) -> Down<P::Order, X::Message> {
        if self.rounds.is_opening(self.cx.round()) {
            return Down::Opening;
        }
        let order = self
            .rounds
            .payload
            .order(&self.rounds.trainer, self.cx.round(), &self.global.collected);
        if self.rounds.protocol.downlink_codec.is_plain() {
            return Down::Model(order, Arc::clone(&self.global.parameters));
        }
        let (rounds, cx, global) = (self.rounds, &*self.cx, &mut *self.global);
        let packed = global
            .packed
            .get_or_insert_with(|| rounds.pack_model(&global.parameters, &mut cx.rng(PACKED)).0);
        let packed = Packed(Arc::clone(packed));
        Down::PackedModel(rounds.pack_order(order, &mut cx.round_rng(PACKED_ORDER)), packed)
    }

    /// A model that is other than the one before.
    pub(crate) fn set_model(&mut self, model: Vec<f32>) {
        self.global.parameters = model.into();
        self.global.packed = None;
    }

    /// A packed update of this model, if what comes out is sound.
    pub(super) fn unpack(
        &mut self,
        client: ClientId,
        model: &[f32],
        (n_samples, packed): (u32, Packed),
    ) -> Result<Option<Received>, StrategyError> {
        let opened = self.rounds.open_update(&packed, model);
        let weights = opened.map_err(|damaged| unread(client, damaged))?;
        Ok(self.receive(client, (n_samples, weights.into())))
    }

    /// By how much the server's model for a client is more than what that reads of it; nothing
    /// where clients do not send models that they have made of a packed one.
    pub(super) fn lag(&self, own: Option<Arc<[f32]>>) -> Vec<f32> {
        let (rounds, global) = (self.rounds, &*self.global);
        match (own, &global.packed) {
            _ if !rounds.rebases() => Vec::new(),
            (Some(own), _) => rounds.lag(&own, self.pack_own(&own)),
            (None, Some(packed)) => rounds.lag(&global.parameters, Packed(Arc::clone(packed))),
            (None, None) => Vec::new(),
        }
    }

    /// Names an update that takes no part for the number at `index`.
    pub(super) fn refuse(&mut self, client: ClientId, (index, bits): (u32, u32)) {
        self.global.refused.push(Refused {
            client,
            round: self.cx.event_round(),
            index,
            bits,
        });
        self.cx.count(REFUSED, 1);
    }

    /// An update that is sound.
    pub(super) fn receive(&mut self, client: ClientId, (n_samples, weights): (u32, Weights)) -> Option<Received> {
        match weights.sound() {
            Ok(mut weights) => {
                let lag = self.lag(self.global.memory.own_model(client));
                if !lag.is_empty() {
                    let (learning, others) = weights.split_at_mut(self.rounds.n_learning());
                    let lag = &lag[self.rounds.begins(others)..];
                    learning.iter_mut().zip(lag).for_each(|(x, lag)| *x += lag);
                }
                Some(Received {
                    client,
                    at: self.cx.now(),
                    staleness: self.cx.round().0 - self.cx.event_round().0,
                    n_samples,
                    weights,
                    metrics: std::mem::take(&mut self.reported_metrics),
                })
            }
            Err(what) => {
                self.refuse(client, what);
                None
            }
        }
    }

    /// Reports the round; after the last, ends the run.
    pub(super) fn end_round(&mut self, is_taken: bool, report: RoundReport) -> Result<(), StrategyError> {
        let round = self.cx.round();
        if !is_taken {
            self.cx.count(EMPTY, 1);
        }
        self.global.count_round(is_taken);
        if let Some(index) = first_not_finite(&self.global.parameters) {
            return Err(StrategyError(format!(
                "the server's step makes parameter {index} of the model infinite in round {}; lower protocol.server_optimizer.learning_rate",
                round.0
            )));
        }
        self.cx.round_done(report);
        if round.0 + 1 >= self.rounds.protocol.rounds {
            self.cx.finish();
        }
        Ok(())
    }

    /// The clients that attack in this round, ascending.
    fn attackers(&self) -> Arc<[u32]> {
        let cx = &*self.cx;
        let clients = (cx.n_clients(), |client| cx.size_of(client));
        self.rounds
            .attackers(cx.round(), clients, |purpose| cx.run_rng(purpose))
    }

    /// Makes the updates of colluding clients of their honest ones, in ascending order of the
    /// clients.
    fn collude(&self, updates: &mut [Received]) {
        let rounds = self.rounds;
        if !rounds.protocol.malicious.adversary.colludes() {
            return;
        }
        let attackers = self.attackers();
        let n_updates = updates.len();
        let attacks = |received: &&mut Received| attackers.binary_search(&received.client.0).is_ok();
        let colluding: Vec<&mut Received> = updates.iter_mut().filter(attacks).collect();
        let models: Vec<Arc<[f32]>> = match rounds.sends_changes() {
            true => vec![Arc::default(); colluding.len()],
            false => colluding
                .iter()
                .map(|received| self.model_of(received.client))
                .collect(),
        };
        let colluding = colluding.into_iter().zip(&models);
        let mut colluding: Vec<(&mut [f32], &[f32])> = colluding
            .map(|(received, model)| (&mut received.weights[..], &**model))
            .collect();
        rounds.collude(&mut colluding, n_updates);
    }

    /// Moves the model by what the rule makes of updates, in ascending order of their clients.
    /// False if they are too few or weigh nothing.
    pub(super) fn take_in(&mut self, mut updates: Vec<Received>) -> Result<bool, StrategyError> {
        // A stable sort: several updates of one client stay in the order in which they came.
        updates.sort_by_key(|received| received.client);
        self.collude(&mut updates);
        self.see_each(&updates);
        let protocol = &self.rounds.protocol;
        if updates.len() < protocol.min_updates as usize {
            return Ok(false);
        }
        let weighty = |received: &&Received| protocol.weight(received.n_samples) > 0.0;
        let all = updates.iter().filter(weighty).map(|received| Update {
            client: received.client,
            weight: protocol.weight(received.n_samples),
            discount: protocol.discount(received.staleness),
            values: &received.weights,
        });
        let all: Vec<Update<'_>> = all.collect();
        if all.len() < protocol.aggregator.fewest().max(1) as usize {
            return Ok(false);
        }
        let of = updates.iter().filter(weighty);
        let of: Vec<_> = of.map(|received| (received.staleness, &received.metrics[..])).collect();
        let stalest = updates.iter().map(|received| received.staleness).max().unwrap_or(0);
        let weight = all.iter().map(|update| update.weight).sum();
        let own = match self.rounds.aggregator() {
            Some(own) => Some(self.aggregate(own, &all, &of)?),
            None => None,
        };
        let (rounds, trainer, rule) = (self.rounds, &self.rounds.trainer, &*protocol.aggregator);
        let attackers = rule.accuses().then(|| self.attackers());
        let Global {
            parameters,
            rule: kept,
            memory,
            detection,
            ..
        } = &mut *self.global;
        let updates = Updates {
            all,
            model: match rounds.sends_changes() {
                true => &[],
                false => &parameters[..rounds.n_sent()],
            },
            n_trainable: rounds.n_learning(),
        };
        let mut context = RuleContext::new(kept, self.cx.round_rng(RULE));
        let trusts = rule.trusted_items().is_some();
        if let Some(items) = rounds.added.items.as_ref().filter(|_| trusts) {
            let trained = items.trusted(trainer, parameters, &mut self.cx.round_rng(TRUSTED));
            let change = |(y, x): (&f32, &f32)| f64::from(*y) - f64::from(*x);
            let change = trained.iter().zip(&**parameters).map(change);
            context.trusted = Some(change.take(updates.n_trainable).collect());
        }
        let mut combined = match (own, &rounds.added.method) {
            (Some(own), _) => own,
            (None, Some(method)) => {
                memory.renew(&**method, trainer, rounds.travels.n_down, &updates);
                method.combine(trainer, rule, &updates, &mut context)
            }
            (None, None) => rule.combine(&updates, &mut context),
        };
        let excluded = context.excluded;
        if let Some(attackers) = attackers {
            detection.count(updates.all.iter().map(|update| update.client), &excluded, &attackers);
        }
        if let Aggregation::Mixed { share, discount } = protocol.aggregation {
            // Its one update is a model.
            let share = share * discount.factor(stalest);
            for (y, x) in combined.iter_mut().zip(&*self.global.parameters) {
                *y = (1.0 - share) * f64::from(*x) + share * *y;
            }
        }
        self.step(combined, weight);
        Ok(true)
    }

    /// Moves the model by all updates of a private round, each cut to its length, in ascending
    /// order of their clients.
    pub(super) fn take_in_private(&mut self, mut updates: Vec<Received>) -> Result<(), StrategyError> {
        updates.sort_by_key(|received| received.client);
        self.collude(&mut updates);
        self.see_each(&updates);
        let clip = self.rounds.protocol.private.clip();
        let model = &self.global.parameters;
        let mut sum = vec![0.0; model.len()];
        for received in &updates {
            let factor = factor(model, &received.weights, clip);
            for ((sum, x), y) in sum.iter_mut().zip(&**model).zip(&received.weights) {
                let (x, y) = (f64::from(*x), f64::from(*y));
                // As it is, to the bit, where nothing is cut.
                *sum += if factor < 1.0 { x + factor * (y - x) } else { y };
            }
        }
        self.step_private(sum, updates.len() as f64)
    }

    /// Moves the model by a sum of `n` models whose changes have been cut: whoever is missing of
    /// those expected counts as unchanged.
    pub(super) fn step_private(&mut self, mut sum: Vec<f64>, n: f64) -> Result<(), StrategyError> {
        let expected = self.cx.selection().mean_asked(self.cx.n_clients());
        let missing = expected - n;
        if missing != 0.0 {
            let model = self.global.parameters.iter();
            sum.iter_mut()
                .zip(model)
                .for_each(|(sum, x)| *sum += missing * f64::from(*x));
        }
        let mut mean = self.rounds.release_sum(sum, self.cx)?;
        mean.iter_mut().for_each(|x| *x /= expected);
        self.step(mean, expected);
        Ok(())
    }

    /// Answers in an exchange; to how many.
    pub(in super::super) fn answer(&mut self, gathered: Gathered<X::Message>) -> Result<u64, StrategyError> {
        let answers = self
            .rounds
            .exchange()
            .answer(&self.rounds.trainer, &mut self.global.exchanged, gathered)?;
        let n = answers.len() as u64;
        for (client, told) in answers {
            self.cx.send(client, Down::Told(told));
        }
        Ok(n)
    }

    /// Ends an exchange that has left so many clients ready to train.
    pub(super) fn end_exchange(&mut self, n_ready: u64) -> Result<(), StrategyError> {
        if n_ready == 0 {
            return Err(StrategyError(format!(
                "no client got what the first round exchanges before training; {}",
                self.cx.remedy()
            )));
        }
        let asked = u64::from(self.cx.n_clients());
        let report = RoundReport {
            cohort: asked,
            completed: n_ready,
            dropped: asked - n_ready,
            staleness_mean: 0.0,
        };
        self.end_round(true, report)
    }

    /// Ends the opening with the sums of what clients told.
    pub(super) fn fix(&mut self, sums: Option<&[f64]>) -> Result<(), StrategyError> {
        let Some(sums) = sums else {
            return Err(StrategyError(format!(
                "no client gave the statistics that the first round asks for; {}, or ask more clients with cohort",
                self.cx.remedy()
            )));
        };
        let statistics = self
            .rounds
            .added
            .statistics
            .as_ref()
            .expect("only statistics are fixed");
        let (fixed, n_sent) = ((statistics.fixed)(&self.rounds.trainer, sums), self.rounds.n_sent());
        let mut model = self.global.parameters.to_vec();
        model[n_sent..].copy_from_slice(&fixed);
        self.set_model(model);
        Ok(())
    }

    /// Moves the model by what updates of this `weight` come to: their mean, or what a rule puts in
    /// its place.
    pub(super) fn step(&mut self, mean: Vec<f64>, weight: f64) {
        let rounds = self.rounds;
        let Global { parameters, memory, .. } = &mut *self.global;
        let mean = match &rounds.added.method {
            Some(method) => method.settle(&rounds.trainer, &mut memory.numbers, parameters, mean, weight),
            None => mean,
        };
        let n_trainable = rounds.travels.n_trainable();
        let mut model = self.global.parameters.to_vec();
        let n_sent = rounds.n_sent();
        assert_eq!(
            mean.len(),
            n_sent,
            "a rule gives one number for each of the model's that come back"
        );
        let change = |model: &[f32], i: usize| match rounds.sends_changes() {
            true => mean[i],
            false => mean[i] - f64::from(model[i]),
        };
        let n_stepped = if rounds.protocol.server_optimizer.takes_mean() {
            0
        } else {
            n_trainable
        };
        let changes: Vec<f64> = (0..n_stepped).map(|i| change(&model, i)).collect();
        rounds
            .protocol
            .server_optimizer
            .step(&mut self.global.moments, &mut model[..n_stepped], &changes);
        for (i, x) in model[..n_sent].iter_mut().enumerate().skip(n_stepped) {
            *x = match rounds.sends_changes() {
                true => (f64::from(*x) + mean[i]) as f32,
                false => mean[i] as f32,
            };
        }
        self.set_model(model);
    }
}
