//! One step: several graphs as one batch, what is known of them, and the loss.

use super::Fgcl;
use super::data::{Item, Labels};
use super::options::{Contrast, Supervised};
use folkmoot_draws::SimRng;
use folkmoot_learning::{Adjacency, Batch, Tape, Var};

/// Graphs below each other: noisy ones as dense blocks, others as arcs.
pub(super) struct Assembly {
    is_dense: bool,
    blocks: Vec<f32>,
    features: Vec<f32>,
    bounds: Vec<u32>,
    batch: Batch,
    n_features: usize,
}

impl Assembly {
    pub(super) fn new(n_features: usize, is_dense: bool) -> Assembly {
        Assembly {
            is_dense,
            blocks: Vec::new(),
            features: Vec::new(),
            bounds: vec![0],
            batch: Batch::new(n_features),
            n_features,
        }
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.features.clear();
        self.bounds.truncate(1);
        self.batch.clear();
    }

    /// Appends a graph; `matrix` is read where graphs are noisy.
    pub(super) fn push(&mut self, item: &Item, matrix: &[f32]) {
        if !self.is_dense {
            return self.batch.push(&item.matrix, &item.features);
        }
        self.blocks.extend_from_slice(matrix);
        self.features.extend_from_slice(&item.features);
        let last = self.bounds[self.bounds.len() - 1];
        self.bounds.push(last + item.n_nodes as u32);
    }

    fn bounds(&self) -> &[u32] {
        match self.is_dense {
            true => &self.bounds,
            false => self.batch.bounds(),
        }
    }

    /// The graphs and their nodes' features, on a tape that borrows them.
    fn on<'g>(&'g self, tape: &mut Tape<'g>) -> (Adjacency<'g>, Var) {
        if !self.is_dense {
            return (self.batch.adjacency(), self.batch.features(tape));
        }
        let blocks = tape.input(1, self.blocks.len(), &self.blocks);
        let n_nodes = self.bounds[self.bounds.len() - 1] as usize;
        let x = tape.input(n_nodes, self.n_features, &self.features);
        (Adjacency::Blocks(blocks, &self.bounds), x)
    }
}

/// A step as data: the first views of the targets, their second views if there are any, then
/// negatives, each once.
pub(super) struct Step {
    pub(super) assembly: Assembly,
    pub(super) n_targets: usize,
    /// The classes of the targets, for each view again; or targets and which are known, a row for
    /// each.
    classes: Vec<u32>,
    targets: Vec<f32>,
    known: Vec<bool>,
    /// The rows of the negatives of all targets; those of target `i` end at `ends[i]`.
    pub(super) negatives: Vec<u32>,
    pub(super) ends: Vec<usize>,
}

impl Step {
    pub(super) fn new(n_features: usize, is_dense: bool) -> Step {
        Step {
            assembly: Assembly::new(n_features, is_dense),
            n_targets: 0,
            classes: Vec::new(),
            targets: Vec::new(),
            known: Vec::new(),
            negatives: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.assembly.clear();
        self.n_targets = 0;
        self.classes.clear();
        self.targets.clear();
        self.known.clear();
        self.negatives.clear();
        self.ends.clear();
    }

    /// Notes what is known of `items`, a row for each, after what was noted before.
    pub(super) fn ask(&mut self, labels: &Labels, items: &[u32]) {
        match labels {
            Labels::Classes(classes, _) => self.classes.extend(items.iter().map(|item| classes[*item as usize])),
            Labels::Tasks(tasks) => {
                for label in items.iter().flat_map(|item| tasks.of(*item)) {
                    self.known.push(label.is_some());
                    self.targets.push(if *label == Some(true) { 1.0 } else { 0.0 });
                }
            }
        }
    }

    /// How many labels are asked for.
    pub(super) fn n_known(&self) -> usize {
        self.classes.len() + self.known.iter().filter(|known| **known).count()
    }
}

impl Fgcl {
    /// The embeddings of all graphs of a step, shape `(n_graphs, hidden)`.
    fn embeddings<'g>(&self, tape: &mut Tape<'g>, step: &'g Step, rng: Option<&mut SimRng>) -> Var {
        let (adjacency, x) = step.assembly.on(tape);
        self.network.embed(tape, adjacency, x, step.assembly.bounds(), rng)
    }

    /// The logits of the first views, and the mean loss of what is asked of them, without dropout.
    pub(super) fn answers<'g>(&self, tape: &mut Tape<'g>, step: &'g Step) -> (Var, Var) {
        let z = self.embeddings(tape, step, None);
        let logits = self.network.classify(tape, z, None);
        (logits, self.supervised(tape, logits, step))
    }

    /// `L_s + lambda L_c`: the mean loss of the targets' labels, and the mean InfoNCE of those that
    /// have negatives.
    pub(super) fn loss<'g>(&self, tape: &mut Tape<'g>, step: &'g Step, rng: &mut SimRng) -> Var {
        let z = self.embeddings(tape, step, Some(&mut *rng));
        let n = step.n_targets;
        let n_rows = match self.is_contrastive && self.params.supervised == Supervised::BothViews {
            true => 2 * n,
            false => n,
        };
        let rows = tape.slice_rows(z, 0, n_rows);
        let logits = self.network.classify(tape, rows, Some(rng));
        let supervised = self.supervised(tape, logits, step);
        if !self.is_contrastive || self.params.contrast.lambda == 0.0 {
            return supervised;
        }
        let mut from = 0;
        let (mut sum, mut n_terms) = (None, 0u32);
        for (i, end) in step.ends.iter().enumerate() {
            let rows = &step.negatives[from..*end];
            from = *end;
            if rows.is_empty() {
                continue;
            }
            let (anchor, positive) = (tape.slice_rows(z, i, 1), tape.slice_rows(z, n + i, 1));
            let negatives = tape.gather_rows(z, rows);
            let term = contrastive_loss(tape, &self.params.contrast, anchor, positive, negatives);
            sum = Some(sum.map_or(term, |sum| tape.add(sum, term)));
            n_terms += 1;
        }
        match sum {
            Some(sum) => add_contrast(tape, &self.params.contrast, supervised, sum, n_terms),
            None => supervised,
        }
    }

    fn supervised<'g>(&self, tape: &mut Tape<'g>, logits: Var, step: &'g Step) -> Var {
        let (rows, columns) = tape.shape(logits);
        if step.targets.is_empty() {
            return tape.cross_entropy(logits, &step.classes[..rows], None);
        }
        let n = rows * columns;
        tape.logistic_loss(logits, &step.targets[..n], Some(&step.known[..n]))
    }
}

/// InfoNCE of one target: its two views of shape `(1, d)` against its negatives of shape `(k, d)`.
pub fn contrastive_loss(tape: &mut Tape<'_>, contrast: &Contrast, anchor: Var, positive: Var, negatives: Var) -> Var {
    let negatives = match contrast.stop_gradient {
        true => tape.detach(negatives),
        false => negatives,
    };
    let temperature = contrast.temperature as f32;
    tape.info_nce(anchor, positive, negatives, temperature, contrast.include_positive)
}

/// `supervised + lambda sum / n_terms`.
pub fn add_contrast(tape: &mut Tape<'_>, contrast: &Contrast, supervised: Var, sum: Var, n_terms: u32) -> Var {
    tape.add_scaled(supervised, (contrast.lambda / f64::from(n_terms)) as f32, sum)
}
