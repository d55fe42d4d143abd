//! A client's training: epochs of steps on its shard, in memory that each thread keeps.

use super::Classifier;
use super::data::{Kind, Part, Shard, View};
use super::loss::Truths;
use super::task::Truth;
use folkmoot_draws::shuffle;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Batch, Layout, Moments, Tape, Var};
use std::cell::Cell;
use std::ops::Range;

/// What a thread keeps from one training to the next; no result depends on what it held.
struct Scratch {
    moments: Moments,
    order: Vec<u32>,
    batch: Batch,
    /// The nodes that a small batch of nodes reads.
    near: Batch,
    n_features: usize,
    truth: Truth,
    mask: Vec<bool>,
    known: Vec<bool>,
}

impl Scratch {
    fn new(n_features: usize) -> Self {
        Scratch {
            moments: Moments::new(),
            order: Vec::new(),
            batch: Batch::new(n_features),
            near: Batch::new(n_features),
            n_features,
            truth: Truth::default(),
            mask: Vec::new(),
            known: Vec::new(),
        }
    }
}

/// What a course of training does besides following the gradient of the loss. The default does
/// nothing besides, but for the settings' `fedprox_mu`, which pulls to where the course begins.
#[derive(Clone, Copy, Default)]
pub struct Course<'a> {
    /// A strength and a place: `strength / 2 ‖w − place‖²` is added to the loss, where the
    /// settings' `fedprox_mu` otherwise pulls to the start.
    pub pull: Option<(f32, &'a [f32])>,
    /// Added to the gradient of every step as it is; empty for nothing. It has the length of the
    /// parameters, or of those that learn.
    pub correction: &'a [f32],
    /// Parts of the model that stay as they are, to the bit.
    pub frozen: &'a [Range<usize>],
    /// What its rows are to be like, and unlike.
    pub contrast: Option<Contrast<'a>>,
    /// Passes over the training items, where they are not those of the settings.
    pub epochs: Option<u32>,
    /// A single step on one batch, whatever the passes.
    pub is_one_step: bool,
    /// What the optimiser has of the steps before, in whose place it leaves what it has at the end;
    /// without it, it starts afresh.
    pub moments: Option<&'a Cell<Moments>>,
}

impl Course<'_> {
    /// Whether, but for the settings, a weight without a gradient stays as it is, and nothing looks
    /// at the model from outside.
    pub(super) fn moves_by_gradient_alone(&self) -> bool {
        let Course {
            pull,
            correction,
            frozen,
            contrast,
            epochs: _,
            is_one_step: _,
            moments,
        } = self;
        pull.is_none() && correction.is_empty() && frozen.is_empty() && contrast.is_none() && moments.is_none()
    }
}

/// MOON's term of the loss: `weight` times the mean over items of
/// `ln(1 + exp((cos(z, z_away) − cos(z, z_near)) / temperature))`, where `z` is the row that the
/// last linear layer reads, and the two others are rows of the same item by models that stay as
/// they are (Li et al. 2021, equation 3).
#[derive(Clone, Copy)]
pub struct Contrast<'a> {
    /// How much it counts beside the loss of the task.
    pub weight: f32,
    /// What cosines are divided by.
    pub temperature: f32,
    /// The model whose rows are to be near.
    pub near: &'a [f32],
    /// The model whose rows are to be far.
    pub away: &'a [f32],
}

thread_local! {
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Classifier {
    /// The model after training on a shard, from `parameters`.
    ///
    /// `rng` orders the items of small batches and draws dropouts: for each epoch first the order,
    /// then step by step the masks.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn train(&self, shard: &Shard, parameters: &[f32], rng: &mut SimRng) -> Vec<f32> {
        self.train_along(shard, parameters, &Course::default(), rng).0
    }

    /// The same with so many passes over the training items, where they are not those of the
    /// settings.
    ///
    /// # Panics
    ///
    /// As [`train`](Self::train).
    pub fn train_passes(&self, shard: &Shard, parameters: &[f32], epochs: Option<u32>, rng: &mut SimRng) -> Vec<f32> {
        let course = Course {
            epochs,
            ..Course::default()
        };
        self.train_along(shard, parameters, &course, rng).0
    }

    /// The same along a course, and the number of steps.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network, or what the course names has another length.
    pub fn train_along(
        &self,
        shard: &Shard,
        parameters: &[f32],
        course: &Course<'_>,
        rng: &mut SimRng,
    ) -> (Vec<f32>, u64) {
        let epochs = match course.is_one_step {
            true => 1,
            false => course.epochs.unwrap_or(self.training.epochs),
        };
        if shard.n_train() == 0 || epochs == 0 {
            return (parameters.to_vec(), 0);
        }
        let Some(model) = self.narrow(shard, parameters, course) else {
            let own = (self.network.layout(), parameters);
            return self.follow((shard, None), own, (course, epochs), rng);
        };
        let own = (&model.layout, &model.parameters[..]);
        let (trained, n_steps) = self.follow((shard, Some(&model.narrow.batch)), own, (course, epochs), rng);
        (model.widen(parameters, &trained), n_steps)
    }

    /// A course from `parameters`; the nodes of the shard are those of `nodes` where these are
    /// others.
    fn follow(
        &self,
        (shard, nodes): (&Shard, Option<&Batch>),
        (layout, parameters): (&Layout, &[f32]),
        (course, epochs): (&Course<'_>, u32),
        rng: &mut SimRng,
    ) -> (Vec<f32>, u64) {
        let proximal = self.training.fedprox_mu as f32;
        let way = Way {
            pull: course.pull.or((proximal > 0.0).then_some((proximal, parameters))),
            start: parameters,
            course,
        };
        let n_features = self.network.n_features();
        let spare = SPARE.take().filter(|scratch| scratch.n_features == n_features);
        let mut scratch = spare.unwrap_or_else(|| Box::new(Scratch::new(n_features)));
        match course.moments {
            Some(moments) => scratch.moments = moments.take(),
            None => scratch.moments.reset(),
        }
        let trained = Tape::with_own(|tape| {
            tape.load(layout, parameters);
            let n_batches = match self.training.batch_size {
                Some(size) if (size as usize) < shard.n_items() => {
                    let size = size as usize;
                    (0..epochs).for_each(|_| self.epoch((shard, nodes), size, way, tape, &mut scratch, rng));
                    match course.is_one_step {
                        true => 1,
                        false => shard.n_items().div_ceil(size),
                    }
                }
                _ => {
                    let view = shard.view(Part::Train).of(nodes);
                    for _ in 0..epochs {
                        tape.reset();
                        self.step(view, way, tape, &mut scratch.moments, rng);
                    }
                    1
                }
            };
            let mut trained = tape.parameters().to_vec();
            way.hold(&mut trained);
            (trained, u64::from(epochs) * n_batches as u64)
        });
        if let Some(moments) = course.moments {
            moments.set(std::mem::take(&mut scratch.moments));
        }
        SPARE.set(Some(scratch));
        trained
    }

    /// The gradient over all training items at `parameters`, with that of the weight decay: one
    /// number for each that learns.
    ///
    /// `rng` draws dropouts.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn gradient(&self, shard: &Shard, parameters: &[f32], rng: &mut SimRng) -> Vec<f32> {
        let decay = self.training.weight_decay as f32;
        let gradient = self.loss_gradient(shard, parameters, rng);
        parameters.iter().zip(gradient).map(|(w, g)| g + decay * w).collect()
    }

    /// The same without that of the weight decay.
    ///
    /// # Panics
    ///
    /// As [`gradient`](Self::gradient).
    pub fn loss_gradient(&self, shard: &Shard, parameters: &[f32], rng: &mut SimRng) -> Vec<f32> {
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            self.backward(shard.view(Part::Train), None, tape, rng);
            tape.parameters_mut().1.to_vec()
        })
    }

    /// One pass over the training items in batches of `size`, the last as large as what is left.
    fn epoch(
        &self,
        (shard, nodes): (&Shard, Option<&Batch>),
        size: usize,
        way: Way<'_>,
        tape: &mut Tape<'_>,
        scratch: &mut Scratch,
        rng: &mut SimRng,
    ) {
        let Scratch {
            moments,
            order,
            batch,
            near,
            truth,
            mask,
            known,
            ..
        } = scratch;
        order.clear();
        order.extend(0..shard.n_items() as u32);
        shuffle(rng, order);
        let n_steps = if way.course.is_one_step { 1 } else { usize::MAX };
        for items in order.chunks(size).take(n_steps) {
            // The batch is filled anew while no tape looks at it.
            let mut own = std::mem::take(tape).recycle();
            let view = match shard.kind() {
                Kind::Graphs { single, .. } => {
                    batch.clear();
                    truth.clear_for(&single[items[0] as usize].2);
                    for &item in items {
                        let (csr, features, own) = &single[item as usize];
                        batch.push(csr, features);
                        truth.extend(own);
                    }
                    View::whole(batch, truth)
                }
                Kind::Nodes {
                    batch,
                    truth: all,
                    train,
                    ..
                } => {
                    let whole = nodes.unwrap_or(batch);
                    let n_hops = self.network.n_hops(whole);
                    let wanted = || items.iter().map(|item| train[*item as usize]);
                    let is_near = n_hops.is_some_and(|n_hops| near.refill_near(whole, wanted(), n_hops));
                    let some = near.nodes_of_whole().filter(|_| is_near).map(|(nodes, _)| nodes);
                    mask.clear();
                    mask.resize(all.n_rows(), false);
                    wanted().for_each(|node| mask[node as usize] = true);
                    let (batch, truth) = match some {
                        None => (whole, &**all),
                        Some(nodes) => {
                            truth.clear_for(all);
                            nodes.iter().for_each(|node| truth.extend_by(all, *node as usize));
                            // Ascending, so that each stands at or behind its new place.
                            (0..).zip(nodes).for_each(|(at, node)| mask[at] = mask[*node as usize]);
                            mask.truncate(nodes.len());
                            (&*near, &*truth)
                        }
                    };
                    truth.known_in(mask, known);
                    View {
                        batch,
                        truth,
                        mask: Some(mask),
                        known,
                    }
                }
            };
            self.step(view, way, &mut own, moments, rng);
            *tape = own.recycle();
        }
    }

    /// The gradient of the loss on `view`, on a tape that holds the model alone.
    pub(super) fn backward<'g>(
        &'g self,
        view: View<'g>,
        contrast: Option<Contrast<'_>>,
        tape: &mut Tape<'g>,
        rng: &mut SimRng,
    ) {
        let (rows, logits) = self.network.rows_and_logits(tape, view.batch, Some(rng));
        let mut loss = self.training.loss.loss(tape, logits, Truths::of(self.task, view));
        if let Some(contrast) = contrast {
            let term = self.contrast(view, contrast, rows, tape);
            loss = tape.add_scaled(loss, contrast.weight, term);
        }
        tape.backward(loss);
    }

    /// The term of a contrast for `rows`, without its weight.
    fn contrast(&self, view: View<'_>, contrast: Contrast<'_>, rows: Var, tape: &mut Tape<'_>) -> Var {
        let (n_rows, n_columns) = tape.shape(rows);
        let [near, away] = [contrast.near, contrast.away].map(|model| {
            let fixed = self.rows(view, model);
            let fixed = tape.constant(n_rows, n_columns, &fixed);
            let cosine = tape.cosine(rows, fixed);
            tape.scale(1.0 / contrast.temperature, cosine)
        });
        let both = tape.concat_columns(&[near, away]);
        let both = tape.log_sum_exp(both);
        let each = tape.subtract(both, near);
        let share = 1.0 / view.len().max(1) as f32;
        let shares = tape.constant_with(n_rows, 1, |shares| {
            for (i, to) in shares.iter_mut().enumerate() {
                *to = if view.mask.is_none_or(|mask| mask[i]) {
                    share
                } else {
                    0.0
                };
            }
        });
        let each = tape.multiply(each, shares);
        tape.sum(each)
    }

    /// The rows that the last linear layer reads, by a model that stays as it is: shape
    /// `(rows, columns)`, row-major.
    fn rows(&self, view: View<'_>, parameters: &[f32]) -> Vec<f32> {
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            let (rows, _) = self.network.rows_and_logits(tape, view.batch, None);
            tape.value(rows).to_vec()
        })
    }

    /// One step on what the tape holds.
    fn step<'g>(&'g self, view: View<'g>, way: Way<'_>, tape: &mut Tape<'g>, moments: &mut Moments, rng: &mut SimRng) {
        self.backward(view, way.course.contrast, tape, rng);
        if let Some((strength, place)) = way.pull {
            tape.add_proximal(strength, place);
        }
        if !way.course.correction.is_empty() {
            tape.add_to_gradient(way.course.correction);
        }
        let (parameters, gradient) = tape.parameters_mut();
        self.optimiser.step(moments, parameters, gradient);
        way.hold(parameters);
    }
}

/// A course with where it begins.
#[derive(Clone, Copy)]
struct Way<'a> {
    pull: Option<(f32, &'a [f32])>,
    start: &'a [f32],
    course: &'a Course<'a>,
}

impl Way<'_> {
    /// Puts back what stays as it is, as far as `parameters` reach.
    fn hold(&self, parameters: &mut [f32]) {
        for range in self.course.frozen {
            let range = range.start.min(parameters.len())..range.end.min(parameters.len());
            parameters[range.clone()].copy_from_slice(&self.start[range]);
        }
    }
}
