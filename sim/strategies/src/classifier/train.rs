//! A client's training: epochs of steps on its shard, in memory that each thread keeps.

use super::Classifier;
use super::data::{Kind, Part, Shard, View};
use folkmoot_draws::shuffle;
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

/// What a step adds to the gradient of its batch.
#[derive(Clone, Copy)]
struct Pull<'a> {
    /// Where the proximal term pulls to.
    anchor: &'a [f32],
    /// Added as it is; empty for nothing.
    correction: &'a [f32],
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
        self.train_corrected(shard, parameters, &[], self.training.epochs, rng)
            .0
    }

    /// The same in so many `epochs` with `correction` added to the gradient of every step, and the number of steps.
    ///
    /// `correction` has the length of the parameters, or of those that learn; nothing is added where it is empty.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network, or `correction` has another length.
    pub fn train_corrected(
        &self,
        shard: &Shard,
        parameters: &[f32],
        correction: &[f32],
        epochs: u32,
        rng: &mut SimRng,
    ) -> (Vec<f32>, u64) {
        if shard.n_train() == 0 {
            return (parameters.to_vec(), 0);
        }
        let pull = Pull {
            anchor: parameters,
            correction,
        };
        let n_features = self.network.n_features();
        let spare = SPARE.take().filter(|scratch| scratch.n_features == n_features);
        let mut scratch = spare.unwrap_or_else(|| Box::new(Scratch::new(n_features)));
        scratch.moments.reset();
        let trained = Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            let n_batches = match self.training.batch_size {
                Some(size) if (size as usize) < shard.n_items() => {
                    let size = size as usize;
                    (0..epochs).for_each(|_| self.epoch(shard, size, pull, tape, &mut scratch, rng));
                    shard.n_items().div_ceil(size)
                }
                _ => {
                    let view = shard.view(Part::Train);
                    for _ in 0..epochs {
                        tape.reset();
                        self.step(view, pull, tape, &mut scratch.moments, rng);
                    }
                    1
                }
            };
            (tape.parameters().to_vec(), u64::from(epochs) * n_batches as u64)
        });
        SPARE.set(Some(scratch));
        trained
    }

    /// The gradient over all training items at `parameters`, with that of the weight decay: one number for each that learns.
    ///
    /// `rng` draws dropouts.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn gradient(&self, shard: &Shard, parameters: &[f32], rng: &mut SimRng) -> Vec<f32> {
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            self.backward(shard.view(Part::Train), tape, rng);
            let decay = self.training.weight_decay as f32;
            let (parameters, gradient) = tape.parameters_mut();
            parameters.iter().zip(gradient).map(|(w, g)| g + decay * w).collect()
        })
    }

    /// One pass over the training items in batches of `size`, the last as large as what is left.
    fn epoch(
        &self,
        shard: &Shard,
        size: usize,
        pull: Pull<'_>,
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
        order.extend(0..shard.n_items() as u32);
        shuffle(rng, order);
        for items in order.chunks(size) {
            // The batch is filled anew while no tape looks at it.
            let mut own = std::mem::take(tape).recycle();
            let view = match shard.kind() {
                Kind::Graphs { single, .. } => {
                    batch.clear();
                    labels.clear();
                    for &item in items {
                        let (csr, features, own) = &single[item as usize];
                        batch.push(csr, features);
                        labels.extend(own);
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
            self.step(view, pull, &mut own, moments, rng);
            *tape = own.recycle();
        }
    }

    /// The gradient of the loss on `view`, on a tape that holds the model alone.
    fn backward<'g>(&self, view: View<'g>, tape: &mut Tape<'g>, rng: &mut SimRng) {
        let logits = self.network.logits(tape, view.batch, Some(rng));
        let loss = tape.cross_entropy(logits, view.labels, view.mask);
        tape.backward(loss);
    }

    /// One step on what the tape holds.
    fn step<'g>(&self, view: View<'g>, pull: Pull<'_>, tape: &mut Tape<'g>, moments: &mut Moments, rng: &mut SimRng) {
        self.backward(view, tape, rng);
        if self.training.proximal > 0.0 {
            tape.add_proximal(self.training.proximal as f32, pull.anchor);
        }
        if !pull.correction.is_empty() {
            tape.add_to_gradient(pull.correction);
        }
        let (parameters, gradient) = tape.parameters_mut();
        self.optimiser.step(moments, parameters, gradient);
    }
}
