//! A unit of work: some centres of one sentence, against parameters that do not move meanwhile.

use std::ops::Range;

use folkmoot_draws::{Alias, SimRng, index_by_word};

use super::SkipGram;
use super::huffman::Huffman;
use crate::kernels::{self, MAX_OUTPUTS, Output, Scratch, Step};

/// What all units read.
pub(super) struct Shared<'a> {
    pub(super) settings: &'a SkipGram,
    pub(super) tokens: &'a [u32],
    /// The length of a row in memory.
    pub(super) stride: usize,
    /// Where the rows of the vertices' outputs start.
    pub(super) first_output: u32,
    /// Where the rows of the tree's inner nodes start.
    pub(super) first_inner: u32,
    pub(super) negatives: Option<Alias>,
    pub(super) tree: Option<Huffman>,
}

/// Some centres of a sentence, as positions among all tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) sentence: Range<usize>,
    pub(super) centres: Range<usize>,
}

/// The rows that a unit touches and how it changes them.
///
/// Slots come in order of first use: first the inputs, which hold values while the unit works, then
/// the outputs, which hold changes.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// The parameter row of each slot.
    pub(super) ids: Vec<u32>,
    /// A row for each slot; after [`work`](Unit::work), what to add to its parameters.
    pub(super) rows: Vec<f32>,
    slots: SlotTable,
    /// The input slot of each position from the first context on.
    of_position: Vec<u32>,
    contexts: Vec<u32>,
    outputs: Vec<Output>,
    scratch: Scratch,
}

impl Unit {
    pub(super) fn new(shared: &Shared<'_>) -> Unit {
        Unit {
            scratch: Scratch::new(shared.stride, 2 * shared.settings.window),
            ..Unit::default()
        }
    }

    /// Learns from `piece` at `rate`; all draws come from `rng`.
    pub(super) fn work(&mut self, shared: &Shared<'_>, parameters: &[f32], piece: &Piece, rate: f32, rng: &mut SimRng) {
        let (stride, window) = (shared.stride, shared.settings.window);
        self.slots.clear();
        self.ids.clear();
        self.rows.clear();
        self.of_position.clear();
        let first = piece.centres.start.saturating_sub(window).max(piece.sentence.start);
        let last = (piece.centres.end + window).min(piece.sentence.end);
        for &vertex in &shared.tokens[first..last] {
            let (slot, fresh) = self.slots.find_or_insert(vertex, &mut self.ids);
            if fresh {
                self.rows
                    .extend_from_slice(&parameters[vertex as usize * stride..][..stride]);
            }
            self.of_position.push(slot);
        }
        let n_inputs = self.ids.len();
        for centre in piece.centres.clone() {
            let reach = 1 + index_by_word(rng, window);
            let (at, end) = (centre - first, (centre + reach + 1).min(last) - first);
            self.contexts.clear();
            self.contexts
                .extend_from_slice(&self.of_position[at.saturating_sub(reach)..at]);
            self.contexts.extend_from_slice(&self.of_position[at + 1..end]);
            let vertex = shared.tokens[centre];
            if let Some(tree) = &shared.tree {
                self.outputs.clear();
                for &(inner, second) in tree.path(vertex) {
                    self.push_output(shared.first_inner + inner, !second, stride);
                }
                self.step(stride, n_inputs, parameters, rate, 0..self.contexts.len());
            }
            let Some(negatives) = &shared.negatives else { continue };
            let n_contexts = self.contexts.len();
            let per_step = if shared.settings.shared_negatives {
                n_contexts
            } else {
                1
            };
            for start in (0..n_contexts).step_by(per_step.max(1)) {
                self.outputs.clear();
                self.push_output(shared.first_output + vertex, true, stride);
                for _ in 0..shared.settings.negatives {
                    let negative = negatives.draw(rng);
                    if negative != vertex {
                        self.push_output(shared.first_output + negative, false, stride);
                    }
                }
                self.step(stride, n_inputs, parameters, rate, start..start + per_step);
            }
        }
        for slot in 0..n_inputs {
            let row = &parameters[self.ids[slot] as usize * stride..][..stride];
            kernels::add(&mut self.rows[slot * stride..][..stride], row, -1.0);
        }
    }

    /// Adds an output to those of the next step.
    fn push_output(&mut self, row: u32, positive: bool, stride: usize) {
        let (slot, fresh) = self.slots.find_or_insert(row, &mut self.ids);
        if fresh {
            self.rows.resize(self.rows.len() + stride, 0.0);
        }
        self.outputs.push(Output { row, slot, positive });
    }

    /// One step of the contexts `which` against all outputs, in groups of equal size: each group
    /// sees what those before it left.
    fn step(&mut self, stride: usize, n_inputs: usize, parameters: &[f32], rate: f32, which: Range<usize>) {
        if which.is_empty() || self.outputs.is_empty() {
            return;
        }
        let (inputs, changes) = self.rows.split_at_mut(n_inputs * stride);
        let n_groups = self.outputs.len().div_ceil(MAX_OUTPUTS);
        for output in &mut self.outputs {
            output.slot -= n_inputs as u32;
        }
        for outputs in self.outputs.chunks(self.outputs.len().div_ceil(n_groups)) {
            let step = Step {
                stride,
                contexts: &self.contexts[which.clone()],
                parameters,
                outputs,
                rate,
            };
            kernels::step(&step, inputs, changes, &mut self.scratch);
        }
    }
}

/// Which slot a parameter row has: open addressing over the few rows of one unit.
#[derive(Debug, Default)]
struct SlotTable {
    /// Slot + 1, or 0; a power of two of entries, at most half of them in use.
    entries: Vec<u32>,
    used: Vec<u32>,
}

impl SlotTable {
    fn clear(&mut self) {
        for &entry in &self.used {
            self.entries[entry as usize] = 0;
        }
        self.used.clear();
    }

    /// The slot of `id`, and whether it is new: then it was appended to `ids`.
    fn find_or_insert(&mut self, id: u32, ids: &mut Vec<u32>) -> (u32, bool) {
        if self.entries.len() < 2 * (self.used.len() + 1) {
            self.grow(ids);
        }
        let mut entry = self.home(id);
        loop {
            match self.entries[entry] {
                0 => break,
                slot if ids[slot as usize - 1] == id => return (slot - 1, false),
                _ => entry = (entry + 1) & (self.entries.len() - 1),
            }
        }
        ids.push(id);
        self.entries[entry] = ids.len() as u32;
        self.used.push(entry as u32);
        (ids.len() as u32 - 1, true)
    }

    fn home(&self, id: u32) -> usize {
        // Fibonacci hashing: the high bits of a product with 2^32 over the golden ratio.
        (id.wrapping_mul(0x9e37_79b9) >> (32 - self.entries.len().trailing_zeros())) as usize
    }

    fn grow(&mut self, ids: &[u32]) {
        self.entries = vec![0; (2 * self.entries.len()).max(1024)];
        self.used.clear();
        for (slot, &id) in ids.iter().enumerate() {
            let mut entry = self.home(id);
            while self.entries[entry] != 0 {
                entry = (entry + 1) & (self.entries.len() - 1);
            }
            self.entries[entry] = slot as u32 + 1;
            self.used.push(entry as u32);
        }
    }
}
