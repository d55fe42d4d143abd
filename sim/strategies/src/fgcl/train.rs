//! A client's training: steps on its graphs, in memory that each thread keeps.

use super::Fgcl;
use super::options::Views;
use super::queue::Queue;
use super::step::Step;
use folkmoot_draws::{Purpose, SimRng, index};
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Moments, Tape};
use std::cell::Cell;

const ORDER: Purpose = Purpose(*b"fg-order");
const VIEW: Purpose = Purpose(*b"fg-view ");
const FIXED: [Purpose; 2] = [Purpose(*b"fg-fix-1"), Purpose(*b"fg-fix-2")];
const NEGATIVE: Purpose = Purpose(*b"fg-negat");

/// What a thread keeps from one training to the next; no result depends on what it held.
struct Scratch {
    moments: Moments,
    order: Vec<u32>,
    queue: Queue,
    /// The targets' first views, then their second ones.
    views: Vec<Vec<f32>>,
    degrees: Vec<f32>,
    /// The places in the queue of a step's negatives: of all targets, and each once.
    places: Vec<u32>,
    unique: Vec<u32>,
    step: Step,
    is_dense: bool,
    n_features: usize,
}

thread_local! {
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// The streams of one training.
struct Draws {
    order: SimRng,
    view: SimRng,
    negative: SimRng,
    dropout: SimRng,
}

impl Fgcl {
    /// The model after `client`'s training from `parameters` in `round`. `dropout` is used for that alone.
    ///
    /// # Panics
    ///
    /// If there is no such client, or the parameters are those of another network.
    pub fn train_client(&self, client: ClientId, round: Round, parameters: &[f32], dropout: SimRng) -> Vec<f32> {
        let shard = &self.data.shards[client.0 as usize];
        if shard.is_empty() {
            return parameters.to_vec();
        }
        let (is_dense, n_features) = (self.noise.is_some(), self.data.n_features);
        let spare = SPARE
            .take()
            .filter(|scratch| scratch.is_dense == is_dense && scratch.n_features == n_features);
        let mut scratch = spare.unwrap_or_else(|| {
            Box::new(Scratch {
                moments: Moments::new(),
                order: Vec::new(),
                queue: Queue::new(),
                views: Vec::new(),
                degrees: Vec::new(),
                places: Vec::new(),
                unique: Vec::new(),
                step: Step::new(n_features, is_dense),
                is_dense,
                n_features,
            })
        });
        let stream = |purpose| self.streams.party(purpose, Party::Client(client), round);
        let mut draws = Draws {
            order: stream(ORDER),
            view: stream(VIEW),
            negative: stream(NEGATIVE),
            dropout,
        };
        scratch.moments.reset();
        let trained = Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            self.fill(shard, &mut scratch, &mut draws);
            for _ in 0..self.params.training.epochs {
                self.epoch(shard, parameters, tape, &mut scratch, &mut draws);
            }
            tape.parameters().to_vec()
        });
        SPARE.set(Some(scratch));
        trained
    }

    /// The queue at the start: the last graphs of the shard.
    fn fill(&self, shard: &[u32], scratch: &mut Scratch, draws: &mut Draws) {
        scratch.queue.clear();
        if !self.is_contrastive {
            return;
        }
        scratch.views.resize_with(scratch.views.len().max(1), Vec::new);
        let most = self.params.contrast.queue as usize;
        for &item in &shard[shard.len().saturating_sub(most)..] {
            self.view(0, item, &mut draws.view, &mut scratch.views[0], &mut scratch.degrees);
            scratch
                .queue
                .insert(item, &scratch.views[0], most, self.params.contrast.order);
        }
    }

    /// A view of a graph, if there is noise: a new one, or that which is kept.
    fn view(&self, view: usize, item: u32, fresh: &mut SimRng, matrix: &mut Vec<f32>, degrees: &mut Vec<f32>) {
        let Some(noise) = &self.noise else { return };
        let graph = &self.data.items[item as usize];
        match self.params.views {
            Views::Fresh => noise.view(view, graph, fresh, matrix, degrees),
            Views::Fixed => {
                // Drawn again from the graph's own stream, so that it need not be kept.
                let mut own = self
                    .streams
                    .counted(FIXED[view], Party::Server, Round(0), u64::from(item));
                noise.view(view, graph, &mut own, matrix, degrees);
            }
        }
    }

    fn epoch(&self, shard: &[u32], anchor: &[f32], tape: &mut Tape<'_>, scratch: &mut Scratch, draws: &mut Draws) {
        scratch.order.clear();
        scratch.order.extend_from_slice(shard);
        for i in (1..shard.len()).rev() {
            scratch.order.swap(i, index(&mut draws.order, i + 1));
        }
        let order = std::mem::take(&mut scratch.order);
        for items in order.chunks(self.params.training.batch_size as usize) {
            self.prepare(items, scratch, draws);
            // The step is filled anew while no tape looks at it.
            let mut own = std::mem::take(tape).recycle();
            let loss = self.loss(&mut own, &scratch.step, &mut draws.dropout);
            own.backward(loss);
            if self.params.training.proximal > 0.0 {
                own.add_proximal(self.params.training.proximal as f32, anchor);
            }
            let (parameters, gradient) = own.parameters_mut();
            self.optimiser.step(&mut scratch.moments, parameters, gradient);
            *tape = own.recycle();
            if self.is_contrastive {
                let (most, order) = (self.params.contrast.queue as usize, self.params.contrast.order);
                for (&item, view) in items.iter().zip(&scratch.views) {
                    scratch.queue.insert(item, view, most, order);
                }
            }
        }
        scratch.order = order;
    }

    /// Draws views and negatives of a step's targets and puts all graphs together.
    fn prepare(&self, items: &[u32], scratch: &mut Scratch, draws: &mut Draws) {
        let Scratch {
            queue,
            views,
            degrees,
            places,
            unique,
            step,
            ..
        } = scratch;
        let (n, n_views) = (items.len(), if self.is_contrastive { 2 } else { 1 });
        let graphs = &self.data.items;
        step.clear();
        step.n_targets = n;
        views.resize_with(views.len().max(n * n_views), Vec::new);
        for view in 0..n_views {
            for (&item, matrix) in items.iter().zip(&mut views[view * n..]) {
                self.view(view, item, &mut draws.view, matrix, degrees);
                step.assembly.push(&graphs[item as usize], matrix);
            }
            step.ask(&self.data.labels, items);
        }
        if !self.is_contrastive {
            return;
        }
        places.clear();
        for &item in items {
            let is_negative = |other| self.data.labels.differ(item, other);
            let k = self.params.contrast.negatives as usize;
            queue.draw(k, is_negative, &mut draws.negative, places);
            step.ends.push(places.len());
        }
        // A view that several draws chose is encoded once.
        unique.clear();
        unique.extend_from_slice(places);
        unique.sort_unstable();
        unique.dedup();
        for &place in &*unique {
            let kept = queue.get(place);
            step.assembly.push(&graphs[kept.item as usize], &kept.matrix);
        }
        let row = |place: &u32| {
            let at = unique.binary_search(place).expect("every place is among them");
            (n * n_views + at) as u32
        };
        step.negatives.extend(places.iter().map(row));
    }
}
