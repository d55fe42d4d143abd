//! Between numbers and what a codec makes of them: the model on its way to clients, and what they have learned on its way back.
//!
//! Of an update the change is packed, of the numbers that learn; those that do not, such as running statistics, stand behind it as they are: in
//! buffered aggregation their change, else themselves. The server adds a change to the model that it has, whatever its clients made of the
//! packed one.

use super::message::Weights;
use super::private::cut;
use super::{RoundStrategy, Rounds};
use crate::packed::{Packed, Packing, Sent, first_not_finite};
use folkmoot_codecs::{Codec, Damaged, n_values, remember};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use std::sync::Arc;

/// What a client has learned, as it is sent.
#[derive(Debug)]
pub(super) enum Learned {
    /// Its model or the change of it; under secure aggregation what is to be masked.
    Weights(Weights),
    /// As `protocol.up` packs it.
    Packed(Packed),
    /// The position and the bits of a number that no codec packs.
    Broken(u32, u32),
}

impl<R: RoundStrategy> Rounds<R> {
    fn packing<'a>(&self, codec: &'a dyn Codec) -> Packing<'a> {
        let shapes = self.task.shapes();
        assert_eq!(n_values(&shapes), self.task.n_trainable(), "shapes hold what learns");
        Packing::new(codec, shapes)
    }

    /// How many of a model's numbers come back: all but those that statistics have fixed.
    pub(super) fn n_sent(&self) -> usize {
        self.task.n_parameters() - self.task.n_fixed()
    }

    /// A model as it is sent down.
    pub(super) fn pack_model(&self, model: &[f32], rng: &mut SimRng) -> Packed {
        self.packing(&*self.protocol.down).pack(model, None, rng)
    }

    /// The model that a client makes of what it was sent.
    pub(super) fn open_model(&self, sent: &Sent) -> Arc<[f32]> {
        match sent {
            Sent::Plain(model) => Arc::clone(model),
            Sent::Packed(bytes) => {
                let n_others = self.task.n_parameters() - self.task.n_trainable();
                let model = self.packing(&*self.protocol.down).open(bytes, n_others);
                model.expect("what the server has packed can be read").into()
            }
        }
    }

    /// What a client sends of the model that it has trained, from the one that it was sent; both without the numbers that statistics fix.
    ///
    /// `memory` is what it has not sent of earlier changes; it becomes what is not sent of this one, where `protocol.up` feeds back.
    pub(super) fn learned(
        &self,
        before: &[f32],
        mut after: Vec<f32>,
        memory: &mut Vec<f32>,
        cx: &JobContext,
    ) -> Learned {
        let codec = &*self.protocol.up;
        let n = self.task.n_trainable();
        // What the server sees one by one it cuts itself, after any codec.
        if self.is_secure() && self.protocol.private.hides_clients() {
            cut(before, &mut after, self.protocol.private.clip());
        }
        if self.sends_changes() || !codec.is_plain() {
            let n_changes = if self.sends_changes() { after.len() } else { n };
            after[..n_changes]
                .iter_mut()
                .zip(before)
                .for_each(|(x, before)| *x -= before);
        }
        if codec.is_plain() {
            return Learned::Weights(after.into());
        }
        if let Some(index) = first_not_finite(&after) {
            return Learned::Broken(index as u32, after[index].to_bits());
        }
        if self.is_secure() {
            let others = after.split_off(n);
            return Learned::Weights(self.common_part(before, after, others, memory, cx.round()).into());
        }
        let memory = codec.feeds_back().then_some(memory);
        Learned::Packed(self.packing(codec).pack(&after, memory, &mut cx.round_rng(PACKED)))
    }

    /// Of a change, the numbers that all clients of a round send, each added to the model that the client was sent, and behind them those that do
    /// not learn.
    fn common_part(
        &self,
        before: &[f32],
        mut change: Vec<f32>,
        others: Vec<f32>,
        memory: &mut Vec<f32>,
        round: Round,
    ) -> Vec<f32> {
        let codec = &*self.protocol.up;
        let common = codec.common(change.len(), round.0).expect("a rule of the protocol");
        if codec.feeds_back() {
            memory.resize(change.len(), 0.0);
            remember(memory, &change, 1.0);
            change.copy_from_slice(memory);
            common.positions.iter().for_each(|at| memory[*at as usize] = 0.0);
        }
        let value = |at: &u32| {
            let at = *at as usize;
            (f64::from(before[at]) + f64::from(change[at]) * common.scale) as f32
        };
        common.positions.iter().map(value).chain(others).collect()
    }

    /// The mean of masked updates, of which only some numbers were sent: of the others, the model's own.
    pub(super) fn spread(&self, mean: Vec<f64>, model: &[f32], round: Round) -> Vec<f64> {
        let Some(common) = self.protocol.up.common(self.task.n_trainable(), round.0) else {
            return mean;
        };
        let mut all: Vec<f64> = model[..self.n_sent()].iter().map(|x| f64::from(*x)).collect();
        let (sent, others) = mean.split_at(common.positions.len());
        for (at, x) in common.positions.into_iter().zip(sent) {
            all[at as usize] = *x;
        }
        all[self.task.n_trainable()..].copy_from_slice(others);
        all
    }

    /// What the server makes of a packed update: a model, or in buffered aggregation the change of one.
    pub(super) fn open_update(&self, packed: &Packed, model: &[f32]) -> Result<Vec<f32>, Damaged> {
        let n_others = self.task.n_update() - self.task.n_trainable();
        let mut values = self.packing(&*self.protocol.up).open(&packed.0, n_others)?;
        if !self.sends_changes() {
            let learning = &mut values[..self.task.n_trainable()];
            learning.iter_mut().zip(model).for_each(|(x, before)| *x += before);
        }
        Ok(values)
    }
}

/// Of a client in a round.
const PACKED: Purpose = Purpose(*b"rd-pack ");
