//! The last states of an LSTM over sequences of different lengths.
//!
//! Sequences are packed by descending length and end together: at each step those that have begun
//! are the first ones, and one product moves them all. A sequence's state does not depend on the
//! others of its batch.

use super::backward::Back;
use super::op::Op;
use super::products::{multiply_transposed, multiply_whole, room, split, split_mut, turn};
use super::{Tape, Var};
use crate::kernels::{elementwise, recurrent};
use std::ops::Range;

/// Gradients with respect to a state are 0 below this fraction of the largest one with respect to
/// the sequence's last state, since a sum in single precision loses them. Back-propagation through
/// a sequence ends once all are 0.
const NEGLIGIBLE: f32 = 1.0 / (1u64 << 32) as f32;
/// Gradients with respect to a state are 0 below it in any case: their products would be subnormal,
/// and arithmetic with subnormal numbers is slow.
const LEAST: f32 = 1e-30;

/// Floats that store a [`Sequence`].
const PLACE: usize = 3;

/// A sequence's rows. Sequences are in order of descending length, then of position.
#[derive(Clone, Copy)]
struct Sequence {
    /// Position in the batch.
    at: usize,
    first_row: usize,
    n_steps: usize,
}

/// The sequences of a batch, in auxiliary floats.
#[derive(Clone, Copy)]
struct Order<'a>(&'a [f32]);

impl<'a> Order<'a> {
    fn write(lengths: &[usize], to: &'a mut [f32]) -> Order<'a> {
        let mut first_row = 0;
        for (at, &length) in lengths.iter().enumerate() {
            let longer = lengths.iter().filter(|other| **other > length).count();
            let rank = longer + lengths[..at].iter().filter(|other| **other == length).count();
            for (to, x) in to[PLACE * rank..].iter_mut().zip([at, first_row, length]) {
                *to = f32::from_bits(x as u32);
            }
            first_row += length;
        }
        Order(to)
    }

    fn get(self, rank: usize) -> Sequence {
        let [at, first_row, n_steps] = std::array::from_fn(|i| self.0[PLACE * rank + i].to_bits() as usize);
        Sequence { at, first_row, n_steps }
    }

    fn all(self) -> impl Iterator<Item = Sequence> {
        (0..self.0.len() / PLACE).map(move |rank| self.get(rank))
    }

    /// The number of steps of the longest.
    fn n_steps(self) -> usize {
        self.all().next().map_or(0, |longest| longest.n_steps)
    }

    /// The packed rows of the steps with `left` steps after them.
    fn rows(self, left: usize) -> Range<usize> {
        let later = |left| self.all().map(|sequence| sequence.n_steps.min(left)).sum();
        later(left)..later(left + 1)
    }
}

impl Sequence {
    /// The row of the step with `left` steps after it.
    fn row(self, left: usize, reverse: bool) -> usize {
        self.first_row + if reverse { left } else { self.n_steps - 1 - left }
    }
}

/// The numbers of auxiliary floats for `rows` rows of `d` inputs, `h` hidden units and `n`
/// sequences: their order, packed inputs, gates, cells, tanh of the cells, and hidden states.
fn sizes(rows: usize, d: usize, h: usize, n: usize) -> [usize; 6] {
    [PLACE * n, rows * d, rows * 4 * h, rows * h, rows * h, rows * h]
}

impl Tape<'_> {
    /// The last hidden state of each sequence in one direction of an LSTM; shape
    /// `(n_sequences, h)`, zeros for an empty sequence.
    ///
    /// `x` has shape `(Σ lengths, n_in)`: the steps of the first sequence, then those of the
    /// second. If `reverse`, time runs backwards. A row equals the last state of
    /// [`lstm`](Self::lstm) on its sequence alone, bit for bit. Gradients with respect to a state
    /// are cut to 0 below 2⁻³² of the largest one with respect to the last state.
    ///
    /// `weights` are those of inputs and of states, of shapes `(n_in, 4 h)` and `(h, 4 h)`, and
    /// their biases, of shape `(1, 4 h)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn lstm_last(&mut self, x: Var, weights: [Var; 4], lengths: &[usize], reverse: bool) -> Var {
        let [w_ih, w_hh, b_ih, b_hh] = weights;
        let operands = [x, w_ih, w_hh, b_ih, b_hh];
        let ((rows, d), (h, wide), n) = (self.shape(x), self.shape(operands[2]), lengths.len());
        assert!(
            self.shape(operands[1]) == (d, wide) && wide == 4 * h,
            "there are four gates a hidden unit"
        );
        assert_eq!(
            lengths.iter().sum::<usize>(),
            rows,
            "every step of a sequence has a row"
        );
        let needs = operands.iter().any(|var| self.needs_gradient(*var));
        let first = self.operands.len() as u32;
        self.operands.extend(operands);
        let sizes = sizes(rows, d, h, n);
        let var = self.push_with(Op::LstmLast { first, reverse }, n, h, needs, sizes.iter().sum());
        let to = self.open(var);
        let [x, w_ih, w_hh, b_ih, b_hh] = operands.map(|var| to.operand(var));
        let [order, inputs, open, cells, bent, hidden] = split_mut(to.aux, sizes);
        let order = Order::write(lengths, order);
        for left in 0..order.n_steps() {
            let packed = order.rows(left);
            let packed = inputs[packed.start * d..packed.end * d].chunks_exact_mut(d);
            for (sequence, to) in order.all().zip(packed) {
                to.copy_from_slice(&x[sequence.row(left, reverse) * d..][..d]);
            }
        }
        multiply_whole([rows, d, wide], inputs, w_ih, open, false);
        elementwise::add_row(None, b_ih, false, open);
        elementwise::add_row(None, b_hh, false, open);
        for left in (0..order.n_steps()).rev() {
            let (packed, packed_before) = (order.rows(left), order.rows(left + 1));
            let [now, before] = [&packed, &packed_before].map(|rows| rows.start * h..rows.end * h);
            let open = &mut open[4 * now.start..4 * now.end];
            let shape = [packed_before.len(), h, wide];
            multiply_whole(shape, &hidden[before.clone()], w_hh, open, true);
            let n_before = before.len();
            cells.copy_within(before, now.start);
            cells[now.start + n_before..now.end].fill(0.0);
            let rows = open.chunks_exact_mut(wide).zip(cells[now.clone()].chunks_exact_mut(h));
            let rows = rows.zip(bent[now.clone()].chunks_exact_mut(h));
            for (((open, cell), bent), hidden) in rows.zip(hidden[now].chunks_exact_mut(h)) {
                recurrent::lstm_step(open, cell, bent, hidden);
            }
        }
        to.y.fill(0.0);
        let last = order.all().take_while(|sequence| sequence.n_steps > 0);
        for (sequence, hidden) in last.zip(hidden.chunks_exact(h)) {
            to.y[sequence.at * h..][..h].copy_from_slice(hidden);
        }
        var
    }
}

/// Goes back step by step with the sequences whose gradient is not 0 yet. Their rows are kept next
/// to each other, so that one product gives the gradient of each operand.
pub(super) fn lstm_last_back(back: &mut Back<'_, '_>, first: u32, reverse: bool, gy: &[f32]) {
    let &[x, w_ih, w_hh, b_ih, b_hh] = back.operands(first, 5) else {
        unreachable!("it was listed with five operands");
    };
    let ((rows, d), (h, wide), n) = (back.shape(x), back.shape(w_hh), back.result_shape().0);
    let [order, inputs, open, cells, bent, hidden] = split(back.result().1, sizes(rows, d, h, n));
    let order = Order(order);
    let mut scratch = std::mem::take(back.scratch);
    let sizes = [
        wide * h.max(d),
        n * h,
        n * h,
        n,
        n,
        rows * wide,
        rows * h,
        rows * d,
        rows,
    ];
    let [turned, by_hidden, by_cell, least, ranks, slopes, states, steps, sources] =
        split_mut(room(&mut scratch, sizes.iter().sum()), sizes);
    turn(back.value(w_hh), h, wide, turned);
    // The live sequences, each with its gradients with respect to the states.
    let mut n_live = 0;
    for (rank, sequence) in order.all().enumerate().take_while(|(_, sequence)| sequence.n_steps > 0) {
        let own = rank * h..(rank + 1) * h;
        by_hidden[own.clone()].copy_from_slice(&gy[sequence.at * h..][..h]);
        by_cell[own.clone()].fill(0.0);
        least[rank] = (elementwise::largest(&by_hidden[own]) * NEGLIGIBLE).max(LEAST);
        ranks[rank] = f32::from_bits(rank as u32);
        n_live += 1;
    }
    let mut n_rows = 0;
    for left in 0..order.n_steps() {
        let (packed, before) = (order.rows(left).start, order.rows(left + 1));
        let slopes = &mut slopes[n_rows * wide..][..n_live * wide];
        let mut n_met = 0;
        for (at, slopes) in slopes.chunks_exact_mut(wide).enumerate() {
            let (own, rank) = (at * h..(at + 1) * h, ranks[at].to_bits() as usize);
            let (row, row_before) = (packed + rank, before.start + rank);
            let to = &mut states[(n_rows + at) * h..][..h];
            let cell_before = match rank < before.len() {
                true => {
                    n_met += 1;
                    to.copy_from_slice(&hidden[row_before * h..][..h]);
                    &cells[row_before * h..][..h]
                }
                false => {
                    to.fill(0.0);
                    &[]
                }
            };
            let open = recurrent::Open {
                gates: &open[row * wide..][..wide],
                bent: &bent[row * h..][..h],
                before: cell_before,
            };
            recurrent::lstm_step_back(&open, &by_hidden[own.clone()], &mut by_cell[own], slopes);
            steps[(n_rows + at) * d..][..d].copy_from_slice(&inputs[row * d..][..d]);
            sources[n_rows + at] = f32::from_bits(order.get(rank).row(left, reverse) as u32);
        }
        n_rows += n_live;
        // The last sequences are those that begin here.
        multiply_whole([n_met, wide, h], slopes, turned, by_hidden, false);
        n_live = 0;
        for at in 0..n_met {
            let own = at * h..(at + 1) * h;
            let rank = ranks[at].to_bits() as usize;
            // No short circuit: both must be cut.
            let states = elementwise::cut(least[rank], &mut by_hidden[own.clone()]);
            if elementwise::cut(least[rank], &mut by_cell[own.clone()]) || states {
                by_hidden.copy_within(own.clone(), n_live * h);
                by_cell.copy_within(own, n_live * h);
                ranks[n_live] = ranks[at];
                n_live += 1;
            }
        }
    }
    let slopes = &slopes[..n_rows * wide];
    for bias in [b_ih, b_hh] {
        if let Some(gradient) = back.gradient(bias) {
            elementwise::add_rows(gradient, slopes);
        }
    }
    for (weight, operand, m) in [(w_hh, &*states, h), (w_ih, &*steps, d)] {
        if let Some((gradient, add)) = back.gradient_to_write(weight) {
            multiply_transposed([m, n_rows, wide], operand, slopes, gradient, add);
        }
    }
    let w_ih = back.value(w_ih);
    if let Some(gradient) = back.gradient(x) {
        turn(w_ih, d, wide, turned);
        multiply_whole([n_rows, wide, d], slopes, turned, steps, false);
        for (step, source) in steps.chunks_exact(d).zip(&sources[..n_rows]) {
            let row = source.to_bits() as usize;
            elementwise::add_scaled(&mut gradient[row * d..][..d], 1.0, step);
        }
    }
    *back.scratch = scratch;
}
