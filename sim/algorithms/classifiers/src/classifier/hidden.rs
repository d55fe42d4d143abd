//! Training that hides single graphs: gradients of graphs are cut to a length, and a step follows
//! their noisy sum.
//!
//! M. Abadi et al. Deep Learning with Differential Privacy. CCS 2016, algorithm 1, with every graph
//! in a step by a coin of its own. The divisor is how many graphs a step has on average, so that it
//! tells of nobody. <https://arxiv.org/abs/1607.00133>
//!
//! A graph whose gradient is not finite counts nothing in its step: it has no length to be cut to.

use super::Classifier;
use super::data::{Kind, Shard, View};
use super::settings::{hides_items, sends_model_alone};
use super::task::{Task, Truth};
use folkmoot_draws::bernoulli;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Batch, Moments, Tape};
use folkmoot_privacy::Mechanism;
use folkmoot_rounds::HiddenItems;

/// Sums of cut gradients. Each is about all items of a shard, so their charges add up as those
/// about one item do.
const SUMS: Channel = Channel::new(0, Purpose(*b"cl-items"));
const ITEMS: u32 = 0;

impl Classifier {
    /// Whether all that a client tells by training is the change of the model.
    ///
    /// # Errors
    ///
    /// What else it tells, with the way out.
    pub(crate) fn sends_model_alone(&self) -> Result<(), &'static str> {
        self.hides_scales()?;
        sends_model_alone(&*self.encoder, self.scale)
    }

    /// Whether no public fact is made of the training items.
    fn hides_scales(&self) -> Result<(), &'static str> {
        match self.task {
            Task::Numbers => Err(
                "the mean and deviation of the numbers to predict are public, and no noise hides what an item adds to them; learn classes, for ranges of values, or set private: Off",
            ),
            Task::Classes | Task::Labels => Ok(()),
        }
    }

    /// Whether an item's gradient is its own.
    ///
    /// # Errors
    ///
    /// Why it is not, with the way out.
    pub(crate) fn hides_items(&self) -> Result<(), &'static str> {
        if !self.network.is_graph_level() {
            return Err(
                "nodes of one graph are in each other's gradients, so that no clip bounds what one adds; use Clients, or a set of graphs",
            );
        }
        self.hides_scales()?;
        hides_items(&*self.encoder, self.scale)
    }

    /// The model after training on a shard from `parameters`, with its items hidden; `releases`
    /// gets a release for each step.
    ///
    /// Where all items are in each step and nothing is cut or noisy, it is the plain training, to
    /// the bit. Else `rng` draws step by step first who is in it, item by item, then their
    /// dropouts; in a dry run there is none, and the model stays as it came. Contrasts, corrections
    /// and frozen parts are not for it.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network, or the shard holds nodes of one graph.
    pub(crate) fn train_hidden(
        &self,
        (shard, parameters, passes): (&Shard, &[f32], Option<u32>),
        hidden: HiddenItems,
        rng: Option<&mut SimRng>,
        releases: &mut Releases<'_>,
    ) -> Vec<f32> {
        let n = shard.n_items();
        if n == 0 {
            return parameters.to_vec();
        }
        let mean = self.training.batch_size.map_or(n, |size| n.min(size as usize));
        let rate = mean as f64 / n as f64;
        let n_steps = u64::from(passes.unwrap_or(self.training.epochs)) * n.div_ceil(mean) as u64;
        let noise = hidden.noise(rate);
        let Some(rng) = rng else {
            if let Some(noise) = noise {
                (0..n_steps).for_each(|_| releases.charge(SUMS, ITEMS, noise.law()));
            }
            return parameters.to_vec();
        };
        if noise.is_none() && hidden.clip == f64::INFINITY && mean == n {
            return self.train_passes(shard, parameters, passes, rng);
        }
        let (mut model, mut moments) = (parameters.to_vec(), Moments::new());
        let proximal = self.training.fedprox_mu as f32;
        for _ in 0..n_steps {
            let drawn: Vec<usize> = (0..n).filter(|_| bernoulli(rng, rate)).collect();
            let sum = self.sum_of_cut(shard, &drawn, &model, hidden.clip, rng);
            let sum = match noise {
                Some(noise) => releases.release(SUMS, ITEMS, &noise, &sum).expect("sums are finite"),
                None => sum,
            };
            let gradient: Vec<f32> = (sum.iter().zip(&model).zip(parameters))
                .map(|((sum, w), start)| (sum / mean as f64) as f32 + proximal * (w - start))
                .collect();
            self.optimiser.step(&mut moments, &mut model, &gradient);
        }
        model
    }

    /// The sum over items of the gradients at `parameters`, each no longer than `clip`, in
    /// ascending order of the items.
    pub(super) fn sum_of_cut(
        &self,
        shard: &Shard,
        items: &[usize],
        parameters: &[f32],
        clip: f64,
        rng: &mut SimRng,
    ) -> Vec<f64> {
        let Kind::Graphs { single, .. } = shard.kind() else {
            unreachable!("items are graphs");
        };
        let mut sum = vec![0.0; parameters.len()];
        let (mut batch, mut all) = (Batch::new(self.network.n_features()), Truth::default());
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            for item in items {
                let mut own = std::mem::take(tape).recycle();
                batch.clear();
                let (csr, features, truth) = &single[*item];
                all.clear_for(truth);
                batch.push(csr, features);
                all.extend(truth);
                self.backward(View::whole(&batch, &all), None, &mut own, rng);
                add_cut(&mut sum, own.parameters_mut().1, clip);
                *tape = own.recycle();
            }
        });
        sum
    }
}

/// Adds `gradient`, made no longer than `clip`.
fn add_cut(sum: &mut [f64], gradient: &[f32], clip: f64) {
    let squares = gradient.iter().map(|g| f64::from(*g) * f64::from(*g));
    let length = squares.sum::<f64>().sqrt();
    if !length.is_finite() {
        return;
    }
    let factor = if length > clip { clip / length } else { 1.0 };
    sum.iter_mut()
        .zip(gradient)
        .for_each(|(sum, g)| *sum += factor * f64::from(*g));
}
