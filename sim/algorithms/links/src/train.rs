//! A client's training: epochs of steps on its edges and on negative samples.

use crate::data::Shard;
use crate::predictor::Predictor;
use crate::settings::{Negatives, Params};
use folkmoot_classifiers::classifier::Training;
use folkmoot_draws::{index, shuffle};
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Layout, Moments, Optimiser, Tape};
use folkmoot_rounds::{Task, Trained, Trainer};

/// Draws of a negative sample until it is given up, as in a complete graph.
const TRIES: usize = 64;

/// Local training of encoder and decoder.
pub struct LinkTrainer {
    predictor: Predictor,
    training: Training,
    optimiser: Optimiser,
    negatives: Negatives,
}

/// The pairs of one step, edges first, and 1 for each edge.
#[derive(Default)]
struct Step {
    first: Vec<u32>,
    second: Vec<u32>,
    targets: Vec<f32>,
}

impl LinkTrainer {
    /// Training by the settings, of nodes with `n_features` numbers.
    pub fn new(params: &Params, n_features: usize) -> LinkTrainer {
        LinkTrainer {
            predictor: Predictor::new(params, n_features),
            optimiser: params.training.build(),
            training: params.training.clone(),
            negatives: params.negatives,
        }
    }

    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// Passes over the training edges in one round.
    pub(crate) fn epochs(&self) -> u32 {
        self.training.epochs
    }

    /// The model after `epochs` passes over the training edges of a shard, from `parameters`.
    ///
    /// `rng` draws, for each epoch, the order of the edges if there are several batches, then for
    /// each step negative samples and dropout masks.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another model.
    pub fn train_on(&self, shard: &Shard, parameters: &[f32], epochs: u32, rng: &mut SimRng) -> Vec<f32> {
        let n = shard.positives().len();
        if n == 0 {
            return parameters.to_vec();
        }
        let size = self.training.batch_size.map_or(n, |size| (size as usize).min(n));
        let proximal = self.training.fedprox_mu as f32;
        let mut moments = Moments::new();
        let mut order: Vec<u32> = (0..n as u32).collect();
        let mut step = Step::default();
        Tape::with_own(|tape| {
            tape.load(self.predictor.layout(), parameters);
            for _ in 0..epochs {
                if size < n {
                    order.sort_unstable();
                    shuffle(rng, &mut order);
                }
                for edges in order.chunks(size) {
                    // The pairs are drawn anew while no tape looks at them.
                    let mut own = std::mem::take(tape).recycle();
                    step.draw(shard, edges, self.negatives.per_positive, rng);
                    self.backward(shard, &step, &mut own, rng);
                    if proximal > 0.0 {
                        own.add_proximal(proximal, parameters);
                    }
                    let (weights, gradient) = own.parameters_mut();
                    self.optimiser.step(&mut moments, weights, gradient);
                    *tape = own.recycle();
                }
            }
            tape.parameters().to_vec()
        })
    }

    /// The gradient of the loss of a step, on a tape that holds the model alone; returns the loss,
    /// the mean binary cross entropy over the pairs.
    fn backward<'g>(&'g self, shard: &'g Shard, step: &'g Step, tape: &mut Tape<'g>, rng: &mut SimRng) -> f32 {
        let rows = self.predictor.embed(tape, shard.batch(), Some(rng));
        let scores = self.predictor.score(tape, rows, [&step.first, &step.second]);
        let loss = tape.logistic_loss(scores, &step.targets, None);
        tape.backward(loss);
        tape.scalar(loss)
    }

    /// Loss and gradient of one step on all training edges, with negative samples from `rng`.
    #[cfg(test)]
    pub(crate) fn loss_and_gradient(&self, shard: &Shard, parameters: &[f32], rng: &mut SimRng) -> (f32, Vec<f32>) {
        let edges: Vec<u32> = (0..shard.positives().len() as u32).collect();
        let mut step = Step::default();
        step.draw(shard, &edges, self.negatives.per_positive, rng);
        Tape::with_own(|tape| {
            tape.load(self.predictor.layout(), parameters);
            let mut own = std::mem::take(tape).recycle();
            let loss = self.backward(shard, &step, &mut own, rng);
            let gradient = own.parameters_mut().1.to_vec();
            *tape = own.recycle();
            (loss, gradient)
        })
    }
}

impl Step {
    /// Takes edges of a shard, and draws `per_positive` negative samples for each.
    fn draw(&mut self, shard: &Shard, edges: &[u32], per_positive: u32, rng: &mut SimRng) {
        self.first.clear();
        self.second.clear();
        self.targets.clear();
        for &edge in edges {
            let (a, b) = shard.positives()[edge as usize];
            self.push((a, b), 1.0);
        }
        for _ in 0..edges.len() * per_positive as usize {
            if let Some(pair) = negative(shard, rng) {
                self.push(pair, 0.0);
            }
        }
    }

    fn push(&mut self, (a, b): (u32, u32), target: f32) {
        self.first.push(a);
        self.second.push(b);
        self.targets.push(target);
    }
}

/// An own node and a node that the client knows, without a training edge; none if none is found.
fn negative(shard: &Shard, rng: &mut SimRng) -> Option<(u32, u32)> {
    let draw = |_| (index(rng, shard.n_own()) as u32, index(rng, shard.nodes().len()) as u32);
    (0..TRIES).map(draw).find(|(a, b)| shard.is_negative(*a, *b))
}

impl Trainer for LinkTrainer {
    type Shard<'a> = &'a Shard;
    type ClientState = ();

    fn layout(&self) -> &Layout {
        self.predictor.layout()
    }

    fn n_samples(&self, shard: &Shard) -> u32 {
        shard.positives().len() as u32
    }

    /// For each weight 2 operations forward and 4 backward: of the encoder per node and step, of
    /// the decoder, and of a product of embeddings, per pair.
    fn cost(&self, shard: &Shard, _: Round) -> f64 {
        let n = shard.positives().len();
        let size = self.training.batch_size.map_or(n, |size| (size as usize).min(n)).max(1);
        let [encoder, decoder] = self.predictor.n_weights().map(|n| n as f64);
        let n_pairs = n as f64 * f64::from(1 + self.negatives.per_positive);
        let of_nodes = n.div_ceil(size) as f64 * encoder * shard.nodes().len() as f64;
        let of_pairs = (decoder + self.predictor.width() as f64) * n_pairs;
        6.0 * f64::from(self.training.epochs) * (of_nodes + of_pairs)
    }

    fn passes(&self) -> u32 {
        self.training.epochs
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained {
        let epochs = task.passes.unwrap_or(self.training.epochs);
        Trained::model(self.train_on(task.shard, task.parameters, epochs, &mut task.rng()))
    }
}
