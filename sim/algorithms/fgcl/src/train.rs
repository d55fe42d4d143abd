//! A client's training: steps on its graphs, in memory that each thread keeps.

use super::Fgcl;
use super::data::ClientData;
use super::leaks::Sent;
use super::options::{Setting, Views};
use super::queue::{Kept, Queue};
use super::scores::INFERENCE;
use super::step::Step;
use folkmoot_draws::shuffle;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Moments, Tape};
use folkmoot_privacy::{Law, Mechanism};
use folkmoot_rounds::{Task, Trained};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

const ORDER: Purpose = Purpose(*b"fg-order");
/// Views that are drawn at every use, and those that are drawn once.
const FRESH: Channel = Channel::new(0, Purpose(*b"fg-view "));
const FIXED: [Channel; 2] = [
    Channel::kept(0, Purpose(*b"fg-fix-1")),
    Channel::kept(0, Purpose(*b"fg-fix-2")),
];
/// The views at inference of the client's other graphs, which are drawn where they are looked at.
const LOOKS: Channel = Channel::kept(1, INFERENCE);
/// Features that are made of edges; nothing is drawn for them.
const BARE: Channel = Channel::new(2, Purpose(*b"fg-bare "));
const DROP: Purpose = Purpose(*b"fg-drop ");
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

/// What a client keeps of its trainings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Past {
    queue: Vec<Kept>,
    /// The first update, and the last where it is another; only where they are attacked.
    sent: Vec<Sent>,
    /// The optimiser's, of centralised training alone.
    moments: Option<Moments>,
}

impl Past {
    /// The first update and the last.
    pub(super) fn sent(&self) -> Vec<&Sent> {
        self.sent.iter().collect()
    }
}

/// The streams of one training.
struct Draws<'a> {
    order: SimRng,
    views: Releases<'a>,
    drop: SimRng,
    negative: SimRng,
    dropout: SimRng,
}

impl Fgcl {
    /// The model after a client's training, what the views cost, and the queue. The task's own
    /// stream is for dropout alone.
    pub(super) fn train_client(&self, task: &Task<'_, '_, Self>) -> Trained<Past> {
        let (own, parameters) = (task.shard, task.parameters);
        if own.len() == 0 {
            return self.charged(task);
        }
        let (views, before) = (self.looks(task), self.before(task));
        let (is_dense, n_features) = (self.noise.is_some(), self.network.n_features());
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
        let mut draws = Draws {
            order: task.rng_for(ORDER),
            views,
            drop: task.rng_for(DROP),
            negative: task.rng_for(NEGATIVE),
            dropout: task.rng(),
        };
        match task.kept.and_then(|past| past.moments.clone()) {
            Some(moments) => scratch.moments = moments,
            None => scratch.moments.reset(),
        }
        let trained = Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            self.fill(own, before.map(|past| past.queue.as_slice()), &mut scratch, &mut draws);
            for _ in 0..self.params.training.epochs {
                self.epoch(own, parameters, tape, &mut scratch, &mut draws);
            }
            tape.parameters().to_vec()
        });
        let mut kept = Past::default();
        if self.params.setting == Setting::Centralised {
            kept.moments = Some(std::mem::take(&mut scratch.moments));
        }
        if self.is_contrastive && !self.params.contrast.refill {
            kept.queue = scratch.queue.to_vec();
        }
        SPARE.set(Some(scratch));
        if self.params.attacks {
            let first = task.kept.and_then(|past| past.sent.first());
            kept.sent.extend(first.cloned());
            kept.sent.push(Sent::new(task.round(), parameters, &trained));
        }
        Trained {
            receipt: draws.views.receipt(),
            kept: Some(kept),
            ..Trained::model(trained)
        }
    }

    /// The model as it came, charged as for a training.
    pub(super) fn charged(&self, task: &Task<'_, '_, Self>) -> Trained<Past> {
        let mut views = self.looks(task);
        self.charge_all(task.shard, self.before(task).is_none(), &mut views);
        Trained {
            receipt: views.receipt(),
            kept: Some(Past::default()),
            ..Trained::model(task.parameters.to_vec())
        }
    }

    /// What a training costs before it draws a view.
    fn looks<'a>(&self, task: &Task<'_, 'a, Self>) -> Releases<'a> {
        let (own, mut views) = (task.shard, task.releases());
        if let Some(table) = self.noise.as_ref().and_then(|noise| noise.tables.first()) {
            let law = table.law();
            own.evaluated().iter().for_each(|id| views.charge(LOOKS, *id, law));
        }
        if self.tells_edges {
            (0..own.len() as u32).for_each(|at| views.charge(BARE, own.id(at), Law::UNPROTECTED));
        }
        views
    }

    /// What the client has kept, where its queue goes on.
    fn before<'a>(&self, task: &Task<'_, 'a, Self>) -> Option<&'a Past> {
        task.kept.filter(|_| !self.params.contrast.refill)
    }

    /// Charges for all views that a training uses and draws none of them.
    fn charge_all(&self, own: &ClientData, begins: bool, views: &mut Releases<'_>) {
        let Some(noise) = &self.noise else { return };
        let mut charge = |view: usize, at: u32| {
            if let Some(table) = noise.tables.get(view) {
                views.charge(self.channel(view), own.id(at), table.law());
            }
        };
        for at in self.first_in_queue(own).filter(|_| begins) {
            charge(0, at);
        }
        for _ in 0..self.params.training.epochs {
            for view in 0..noise.tables.len() {
                (0..own.len() as u32).for_each(|at| charge(view, at));
            }
        }
    }

    fn channel(&self, view: usize) -> Channel {
        match self.params.views {
            Views::Fresh => FRESH,
            Views::Fixed => FIXED[view],
        }
    }

    /// The graphs with which the queue begins: the last ones.
    fn first_in_queue(&self, own: &ClientData) -> std::ops::Range<u32> {
        let n = own.len() as u32;
        match self.is_contrastive {
            true => n.saturating_sub(self.params.contrast.queue)..n,
            false => n..n,
        }
    }

    /// The queue at the start: as the last training left it, or new views.
    fn fill(&self, own: &ClientData, before: Option<&[Kept]>, scratch: &mut Scratch, draws: &mut Draws<'_>) {
        scratch.queue.clear();
        let (most, order) = (self.params.contrast.queue as usize, self.params.contrast.order);
        if let Some(before) = before {
            for kept in before {
                scratch.queue.insert(kept.item, &kept.matrix, most, order);
            }
            return;
        }
        scratch.views.resize_with(scratch.views.len().max(1), Vec::new);
        for at in self.first_in_queue(own) {
            let view = &mut scratch.views[0];
            self.view(
                0,
                own,
                at,
                (&mut draws.views, &mut draws.drop),
                view,
                &mut scratch.degrees,
            );
            scratch.queue.insert(at, view, most, order);
        }
    }

    /// A view of a client's graph, if it is not the graph itself: a new one, or that which is kept.
    fn view(
        &self,
        view: usize,
        own: &ClientData,
        at: u32,
        (views, drop): (&mut Releases<'_>, &mut SimRng),
        matrix: &mut Vec<f32>,
        degrees: &mut Vec<f32>,
    ) {
        let Some(noise) = &self.noise else { return };
        let graph = own.graph(at);
        let Some(table) = noise.tables.get(view) else {
            return noise.drop_edges(graph, drop, matrix, degrees);
        };
        views
            .release_into(self.channel(view), own.id(at), table, graph, matrix)
            .expect("every table has noise");
        if !matrix.is_empty() {
            noise.prepare(graph.n_nodes, matrix, degrees);
        }
    }

    fn epoch(
        &self,
        own: &ClientData,
        anchor: &[f32],
        tape: &mut Tape<'_>,
        scratch: &mut Scratch,
        draws: &mut Draws<'_>,
    ) {
        scratch.order.clear();
        scratch.order.extend(0..own.len() as u32);
        shuffle(&mut draws.order, &mut scratch.order);
        let order = std::mem::take(&mut scratch.order);
        for items in order.chunks(self.params.training.batch_size as usize) {
            self.prepare(own, items, scratch, draws);
            // The step is filled anew while no tape looks at it.
            let mut this = std::mem::take(tape).recycle();
            let loss = self.loss(&mut this, &scratch.step, &mut draws.dropout);
            this.backward(loss);
            if self.params.training.fedprox_mu > 0.0 {
                this.add_proximal(self.params.training.fedprox_mu as f32, anchor);
            }
            let (parameters, gradient) = this.parameters_mut();
            self.optimiser.step(&mut scratch.moments, parameters, gradient);
            *tape = this.recycle();
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
    fn prepare(&self, own: &ClientData, items: &[u32], scratch: &mut Scratch, draws: &mut Draws<'_>) {
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
        step.clear();
        step.n_targets = n;
        views.resize_with(views.len().max(n * n_views), Vec::new);
        for view in 0..n_views {
            for (&item, matrix) in items.iter().zip(&mut views[view * n..]) {
                self.view(view, own, item, (&mut draws.views, &mut draws.drop), matrix, degrees);
                step.assembly.push(own.graph(item), matrix);
            }
            step.ask(own.labels(), items);
        }
        if !self.is_contrastive {
            return;
        }
        places.clear();
        for &item in items {
            let is_negative = |other| own.labels().differ(item, other);
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
            step.assembly.push(own.graph(kept.item), &kept.matrix);
        }
        let row = |place: &u32| {
            let at = unique.binary_search(place).expect("every place is among them");
            (n * n_views + at) as u32
        };
        step.negatives.extend(places.iter().map(row));
    }
}
