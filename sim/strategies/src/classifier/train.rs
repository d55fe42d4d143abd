//! A client's training: epochs of steps on its shard, in memory that each thread keeps.

use super::Classifier;
use super::data::{Kind, Part, Shard, View};
use folkmoot_draws::index;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Batch, Moments, Tape};
use std::cell::Cell;

/// What a thread keeps from one training to the next; no result depends on what it held.
struct Scratch {
    moments: Moments,
    order: Vec<u32>,
    batch: Batch,
    n_features: usize,
    labels: Vec<u32>,
    mask: Vec<bool>,
}

impl Scratch {
    fn new(n_features: usize) -> Self {
        Scratch {
            moments: Moments::new(),
            order: Vec::new(),
            batch: Batch::new(n_features),
            n_features,
            labels: Vec::new(),
            mask: Vec::new(),
        }
    }
}

thread_local! {
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Classifier {
    /// The model after training on a shard, from `parameters`.
    ///
    /// `rng` orders the items of small batches and draws dropouts: for each epoch first the order, then step by step the masks.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn train(&self, shard: &Shard, parameters: &[f32], rng: &mut SimRng) -> Vec<f32> {
        if shard.n_train() == 0 {
            return parameters.to_vec();
        }
        let n_features = self.network.n_features();
        let spare = SPARE.take().filter(|scratch| scratch.n_features == n_features);
        let mut scratch = spare.unwrap_or_else(|| Box::new(Scratch::new(n_features)));
        scratch.moments.reset();
        let trained = Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            match self.training.batch_size {
                Some(size) if (size as usize) < shard.n_train() => {
                    let size = size as usize;
                    (0..self.training.epochs)
                        .for_each(|_| self.epoch(shard, size, parameters, tape, &mut scratch, rng));
                }
                _ => {
                    let view = shard.view(Part::Train);
                    for _ in 0..self.training.epochs {
                        tape.reset();
                        self.step(view, parameters, tape, &mut scratch.moments, rng);
                    }
                }
            }
            tape.parameters().to_vec()
        });
        SPARE.set(Some(scratch));
        trained
    }

    /// One pass over the training items in batches of `size`, the last as large as what is left.
    fn epoch(
        &self,
        shard: &Shard,
        size: usize,
        anchor: &[f32],
        tape: &mut Tape<'_>,
        scratch: &mut Scratch,
        rng: &mut SimRng,
    ) {
        let Scratch {
            moments,
            order,
            batch,
            labels,
            mask,
            ..
        } = scratch;
        order.clear();
        order.extend(0..shard.n_train() as u32);
        for i in (1..order.len()).rev() {
            order.swap(i, index(rng, i + 1));
        }
        for items in order.chunks(size) {
            // The batch is filled anew while no tape looks at it.
            let mut own = std::mem::take(tape).recycle();
            let view = match shard.kind() {
                Kind::Graphs { parts, single, .. } => {
                    batch.clear();
                    labels.clear();
                    for &item in items {
                        let (csr, features) = &single[item as usize];
                        batch.push(csr, features);
                        labels.push(parts[0].1[item as usize]);
                    }
                    View {
                        batch,
                        labels,
                        mask: None,
                    }
                }
                Kind::Nodes {
                    batch, labels, train, ..
                } => {
                    mask.clear();
                    mask.resize(labels.len(), false);
                    items
                        .iter()
                        .for_each(|item| mask[train[*item as usize] as usize] = true);
                    View {
                        batch,
                        labels,
                        mask: Some(mask),
                    }
                }
            };
            self.step(view, anchor, &mut own, moments, rng);
            *tape = own.recycle();
        }
    }

    /// One step on what the tape holds.
    fn step<'g>(&self, view: View<'g>, anchor: &[f32], tape: &mut Tape<'g>, moments: &mut Moments, rng: &mut SimRng) {
        let logits = self.network.logits(tape, view.batch, Some(rng));
        let loss = tape.cross_entropy(logits, view.labels, view.mask);
        tape.backward(loss);
        if self.training.proximal > 0.0 {
            tape.add_proximal(self.training.proximal as f32, anchor);
        }
        let (parameters, gradient) = tape.parameters_mut();
        self.optimiser.step(moments, parameters, gradient);
    }
}
