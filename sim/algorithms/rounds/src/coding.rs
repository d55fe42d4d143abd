//! Between numbers and what a codec makes of them: the model on its way to clients, and what they
//! have learned on its way back.
//!
//! Of an update the change is packed, of the numbers that learn; those that do not, such as running
//! statistics, stand behind it as they are: in buffered aggregation their change, else themselves.
//! The server adds a change to the model that it has, whatever its clients made of the packed one.

use super::message::{Order, Ordered, Weights};
use super::private::{cut, factor};
use super::{Aggregation, Exchange, Extra, Rounds, SidePayload, Trainer};
use crate::packed::{Packed, Packing, Sent, first_not_finite};
use folkmoot_codecs::{Codec, Damaged, n_values, remember};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// What a client sends beside what it has learned.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Beside<E> {
    Plain(E),
    /// As `protocol.uplink_codec` packs it.
    Packed(Packed),
}

/// What a client has learned, as it is sent.
#[derive(Debug)]
pub(super) enum Learned {
    /// Its model or the change of it; under secure aggregation what is to be masked.
    Weights(Weights),
    /// As `protocol.uplink_codec` packs it.
    Packed(Packed),
    /// The position and the bits of a number that no codec packs.
    Broken(u32, u32),
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Rounds<R, P, X> {
    fn packing<'a>(&self, codec: &'a dyn Codec) -> Packing<'a> {
        Packing::new(codec, self.travels.shapes.clone())
    }

    fn packing_up(&self) -> Packing<'_> {
        Packing::new(&*self.protocol.uplink_codec, self.travels.update_shapes.clone())
    }

    /// How many of an update's numbers learn, the first ones.
    pub(super) fn n_learning(&self) -> usize {
        n_values(&self.travels.update_shapes)
    }

    /// How many of a model's numbers come back: all but those that statistics have fixed.
    pub(super) fn n_sent(&self) -> usize {
        self.travels.n_down - self.n_fixed()
    }

    /// A model as it is sent down.
    pub(super) fn pack_model(&self, model: &[f32], rng: &mut SimRng) -> Packed {
        self.packing(&*self.protocol.downlink_codec).pack(model, None, rng)
    }

    /// As many numbers as a model has, as they are read.
    fn open_packed(&self, bytes: &[u8]) -> Result<Vec<f32>, Damaged> {
        let n_others = self.travels.n_down - self.travels.n_trainable();
        self.packing(&*self.protocol.downlink_codec).open(bytes, n_others)
    }

    /// The model that a client makes of what it was sent.
    pub(super) fn open_model(&self, sent: &Sent) -> Arc<[f32]> {
        match sent {
            Sent::Plain(model) => Arc::clone(model),
            Sent::Packed(bytes) => {
                let model = self.open_packed(bytes);
                model.expect("what the server has packed can be read").into()
            }
        }
    }

    /// An order as it is sent in front of a packed model.
    pub(super) fn pack_order(&self, order: P::Order, rng: &mut SimRng) -> Ordered<P::Order> {
        match order.numbers() {
            Some(numbers) => Ordered::Packed(self.pack_model(numbers, rng)),
            None => Ordered::Plain(order),
        }
    }

    /// The order that a client reads.
    pub(super) fn open_order<'a>(&self, order: &'a Ordered<P::Order>) -> Cow<'a, P::Order> {
        match order {
            Ordered::Plain(order) => Cow::Borrowed(order),
            Ordered::Packed(packed) => {
                let numbers = self
                    .open_packed(&packed.0)
                    .expect("what the server has packed can be read");
                Cow::Owned(P::Order::of(numbers).expect("what is packed is numbers"))
            }
        }
    }

    /// What a client sends of the model that it has trained, from the one that it was sent; both
    /// without the numbers that statistics fix.
    ///
    /// `memory` is what it has not sent of earlier changes; it becomes what is not sent of this
    /// one, where `protocol.uplink_codec` feeds back.
    pub(super) fn learned(
        &self,
        before: &[f32],
        mut after: Vec<f32>,
        memory: &mut Vec<f32>,
        cx: &JobContext,
    ) -> Learned {
        let codec = &*self.protocol.uplink_codec;
        let n = self.n_learning();
        // What the server sees one by one it cuts itself, after any codec.
        if self.is_secure() && self.protocol.private.hides_clients() {
            cut(before, &mut after, self.protocol.private.clip());
        }
        let begins = self.begins(&after[n..]);
        if self.sends_changes() || !codec.is_plain() {
            let (learning, others) = after.split_at_mut(n);
            subtract(learning, &before[begins..]);
            if self.sends_changes() {
                subtract(others, &before[n..]);
            }
        }
        if codec.is_plain() {
            return Learned::Weights(after.into());
        }
        if let Some(index) = first_not_finite(&after) {
            return Learned::Broken(index as u32, after[index].to_bits());
        }
        if self.is_secure() {
            let others = after.split_off(n);
            return Learned::Weights(self.common_part(after, others, memory, cx.round()).into());
        }
        let (packing, rng) = (self.packing_up(), &mut cx.round_rng(PACKED));
        if !codec.feeds_back() {
            return Learned::Packed(packing.pack(&after, None, rng));
        }
        // Of several models each has a memory of its own.
        memory.resize(self.travels.n_trainable(), 0.0);
        let mut of_these = memory[begins..][..n].to_vec();
        let packed = packing.pack(&after, Some(&mut of_these), rng);
        memory[begins..][..n].copy_from_slice(&of_these);
        Learned::Packed(packed)
    }

    /// The change of what learns, as the server reads it of what is sent; `None` where it refuses
    /// that.
    pub(super) fn read_change(&self, learned: &Learned, before: &[f32], round: Round) -> Option<Vec<f32>> {
        let n = self.n_learning();
        let mut change = match learned {
            Learned::Broken(..) => return None,
            Learned::Packed(packed) => self.open_changes(packed).expect("what was packed can be read"),
            Learned::Weights(weights) => {
                let values = weights.finite()?;
                match self
                    .protocol
                    .uplink_codec
                    .common(n, round.0)
                    .filter(|_| self.is_secure())
                {
                    Some(common) => {
                        let mut change = vec![0.0; n];
                        let sent = common.positions.iter().zip(values);
                        sent.for_each(|(at, x)| change[*at as usize] = *x);
                        change
                    }
                    None => {
                        let mut change = values.to_vec();
                        if !self.sends_changes() {
                            let begins = self.begins(&values[n..]);
                            subtract(&mut change[..n], &before[begins..]);
                        }
                        change
                    }
                }
            }
        };
        change.truncate(n);
        // As the server does, who has no other numbers then.
        if self.protocol.private.hides_clients() && !self.is_secure() {
            let factor = factor(&vec![0.0; n], &change, self.protocol.private.clip());
            change.iter_mut().for_each(|x| *x = (factor * f64::from(*x)) as f32);
        }
        Some(change)
    }

    /// An extra as it is packed, and what the server reads of it, where `protocol.uplink_codec`
    /// packs it.
    pub(super) fn pack_extra(&self, extra: &P::Extra, cx: &JobContext) -> Option<(Packed, P::Extra)> {
        let numbers = extra.numbers().filter(|_| !self.protocol.uplink_codec.is_plain())?;
        if first_not_finite(numbers).is_some() {
            return None;
        }
        let packed = self.packing_up().pack(numbers, None, &mut cx.round_rng(PACKED_EXTRA));
        let read = self.open_extra(&packed).expect("what was packed can be read");
        Some((packed, read))
    }

    /// A packed extra, as it is read.
    pub(super) fn open_extra(&self, packed: &Packed) -> Result<P::Extra, Damaged> {
        let n_others = self.travels.n_down - self.n_learning();
        let numbers = self.packing_up().open(&packed.0, n_others)?;
        P::Extra::of(numbers).ok_or(Damaged::Invalid("an extra without numbers is not packed"))
    }

    /// Of a change, the numbers that all clients of a round send, and behind them those that do not
    /// learn.
    fn common_part(&self, mut change: Vec<f32>, others: Vec<f32>, memory: &mut Vec<f32>, round: Round) -> Vec<f32> {
        let codec = &*self.protocol.uplink_codec;
        let common = codec.common(change.len(), round.0).expect("a rule of the protocol");
        if codec.feeds_back() {
            memory.resize(change.len(), 0.0);
            remember(memory, &change, 1.0);
            change.copy_from_slice(memory);
            common.positions.iter().for_each(|at| memory[*at as usize] = 0.0);
        }
        let value = |at: &u32| (f64::from(change[*at as usize]) * common.scale) as f32;
        common.positions.iter().map(value).chain(others).collect()
    }

    /// Puts back into a client's memory what its packed change has said, which was lost on the way.
    pub(super) fn take_back(&self, packed: &Packed, memory: &mut [f32]) {
        let change = self.open_changes(packed).expect("what was packed can be read");
        let (learning, others) = change.split_at(self.n_learning());
        remember(&mut memory[self.begins(others)..], learning, 1.0);
    }

    /// The same of what was masked of a change in a round, where clients keep that.
    pub(super) fn take_back_masked(&self, sent: &[f32], memory: &mut [f32], round: Round) {
        let common = self.protocol.uplink_codec.common(memory.len(), round.0);
        for (at, x) in common.iter().flat_map(|common| &common.positions).zip(sent) {
            remember(&mut memory[*at as usize..][..1], &[*x], 1.0);
        }
    }

    /// What masked updates come to, of whose change only some numbers were sent: their mean, added
    /// to the model.
    pub(super) fn spread(&self, mean: Vec<f64>, model: &[f32], round: Round) -> Vec<f64> {
        let Some(common) = self.protocol.uplink_codec.common(self.n_learning(), round.0) else {
            return mean;
        };
        let mut all: Vec<f64> = model[..self.n_sent()].iter().map(|x| f64::from(*x)).collect();
        let (sent, others) = mean.split_at(common.positions.len());
        for (at, x) in common.positions.into_iter().zip(sent) {
            all[at as usize] += *x;
        }
        all[self.n_learning()..].copy_from_slice(others);
        all
    }

    /// Whether clients send models that they have made of a packed one, which is not what the
    /// server has.
    pub(super) fn rebases(&self) -> bool {
        self.protocol.aggregation == Aggregation::Synchronous
            && self.protocol.uplink_codec.is_plain()
            && !self.protocol.downlink_codec.is_plain()
    }

    /// Whether packed changes are taken in as the models that they come to, whatever the server has
    /// by then.
    pub(super) fn adds_to_sent(&self) -> bool {
        matches!(self.protocol.aggregation, Aggregation::Mixed { .. }) && !self.protocol.uplink_codec.is_plain()
    }

    /// By how much a model is more than what clients read of it, of the numbers that learn: with
    /// that, what they send of models comes to changes of what the server has.
    pub(super) fn lag(&self, model: &[f32], sent: Packed) -> Vec<f32> {
        let mut lag = model[..self.travels.n_trainable()].to_vec();
        subtract(&mut lag, &self.open_model(&Sent::Packed(sent.0)));
        lag
    }

    /// Numbers that `protocol.uplink_codec` has packed, and behind them those that do not learn.
    fn open_changes(&self, packed: &Packed) -> Result<Vec<f32>, Damaged> {
        self.packing_up().open(&packed.0, self.n_update() - self.n_learning())
    }

    /// What the server makes of a packed update of a model that it has sent: a model, or in
    /// buffered aggregation the change of one.
    pub(super) fn open_update(&self, packed: &Packed, model: &[f32]) -> Result<Vec<f32>, Damaged> {
        let mut values = self.open_changes(packed)?;
        if !self.sends_changes() {
            let (learning, others) = values.split_at_mut(self.n_learning());
            let base = &model[self.begins(others)..];
            learning.iter_mut().zip(base).for_each(|(x, before)| *x += before);
        }
        Ok(values)
    }
}

fn subtract(values: &mut [f32], before: &[f32]) {
    values.iter_mut().zip(before).for_each(|(x, before)| *x -= before);
}

/// Of a client in a round.
const PACKED: Purpose = Purpose(*b"rd-pack ");
const PACKED_EXTRA: Purpose = Purpose(*b"rd-packx");
