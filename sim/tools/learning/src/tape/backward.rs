//! The way back: every operation that matters, in reverse order, adds to the gradients of its
//! operands.

use super::op::Op;
use super::products::Turned;
use super::{Entry, Place, Tape, Var};
use super::{
    attention, degrees, edges, losses, normal, perspectives, pointwise, products, propagation, recurrent, reductions,
    rows, sequences, shapes,
};
use crate::csr::Csr;

/// What an operation reads and writes on its way back; the gradient of its result comes beside it.
pub(super) struct Back<'a, 'g> {
    values: &'a [f32],
    entries: &'a mut [Entry<'g>],
    /// The gradients of all that came before.
    below: &'a mut [f32],
    operands: &'a [Var],
    /// Room for intermediate results; its length and content mean nothing.
    pub(super) scratch: &'a mut Vec<f32>,
    pub(super) turned: &'a mut Turned,
    n_parameters: usize,
    result: Entry<'g>,
}

impl<'a, 'g> Back<'a, 'g> {
    /// The value of an operand.
    pub(super) fn value(&self, var: Var) -> &'a [f32] {
        let entry = &self.entries[var.0 as usize];
        match entry.place {
            Place::Arena(at) => &self.values[at..][..entry.len()],
            Place::Borrowed(data) => data,
        }
    }

    /// The numbers of an operand that are not 0, where they are known.
    pub(super) fn nonzeros(&self, var: Var) -> Option<&'g Csr> {
        match self.entries[var.0 as usize].op {
            Op::Scarce(nonzeros) => Some(nonzeros),
            _ => None,
        }
    }

    /// Where a parameter lies.
    pub(super) fn parameter_place(&self, var: Var) -> Option<usize> {
        match self.entries[var.0 as usize].place {
            Place::Arena(at) if (var.0 as usize) < self.n_parameters => Some(at),
            _ => None,
        }
    }

    pub(super) fn shape(&self, var: Var) -> (usize, usize) {
        let entry = &self.entries[var.0 as usize];
        (entry.rows as usize, entry.columns as usize)
    }

    /// The shape of the result.
    pub(super) fn result_shape(&self) -> (usize, usize) {
        (self.result.rows as usize, self.result.columns as usize)
    }

    /// The value of the result and the auxiliary floats behind it.
    pub(super) fn result(&self) -> (&'a [f32], &'a [f32]) {
        let Place::Arena(at) = self.result.place else {
            unreachable!("results lie in the arena");
        };
        let (y, rest) = self.values[at..].split_at(self.result.len());
        (y, &rest[..self.result.aux as usize])
    }

    /// The operands from a position of the list.
    pub(super) fn operands(&self, first: u32, n: u32) -> &'a [Var] {
        &self.operands[first as usize..][..n as usize]
    }

    pub(super) fn needs(&self, var: Var) -> bool {
        self.entries[var.0 as usize].needs_gradient
    }

    /// The gradient of an operand, to be added to; `None` if nobody needs it.
    pub(super) fn gradient(&mut self, var: Var) -> Option<&mut [f32]> {
        self.claim(var, false).map(|(gradient, _)| gradient)
    }

    /// The same, and whether there is something to add to: if not, it must be written whole.
    pub(super) fn gradient_to_write(&mut self, var: Var) -> Option<(&mut [f32], bool)> {
        self.claim(var, true)
    }

    fn claim(&mut self, var: Var, overwrites: bool) -> Option<(&mut [f32], bool)> {
        claim(self.entries, self.below, var, overwrites)
    }
}

fn claim<'b>(
    entries: &mut [Entry<'_>],
    gradients: &'b mut [f32],
    var: Var,
    overwrites: bool,
) -> Option<(&'b mut [f32], bool)> {
    let entry = entries[var.0 as usize];
    let Place::Arena(at) = entry.place else { return None };
    if !entry.needs_gradient {
        return None;
    }
    let root = &mut entries[entry.root as usize];
    let first = !root.touched;
    root.touched = true;
    let whole = entry.root == var.0;
    if first && !(whole && overwrites) {
        // A view writes only its part, so the rest must be there before it.
        let Place::Arena(at) = root.place else {
            unreachable!("what a view shows lies where the view lies");
        };
        gradients[at..][..root.len()].fill(0.0);
    }
    Some((&mut gradients[at..][..entry.len()], !(first && whole && overwrites)))
}

impl<'g> Tape<'g> {
    /// Computes the gradients of `loss` by all parameters and [`variables`](Tape::variable).
    ///
    /// What `loss` does not depend on has the gradient 0. A second call starts afresh.
    ///
    /// # Panics
    /// If `loss` is not a scalar.
    pub fn backward(&mut self, loss: Var) {
        assert_eq!(self.shape(loss), (1, 1), "a loss has one number");
        for entry in &mut self.entries {
            entry.touched = false;
        }
        self.turned.begin(self.n_parameters);
        if let Some((seed, _)) = claim(&mut self.entries, &mut self.gradients, loss, false) {
            seed[0] = 1.0;
        }
        for index in (self.n_parameters..=loss.0 as usize).rev() {
            let entry = self.entries[index];
            let Place::Arena(at) = entry.place else { continue };
            let touched = self.entries[entry.root as usize].touched;
            if !touched || !entry.needs_gradient || matches!(entry.op, Op::Leaf | Op::View) {
                continue;
            }
            let (below, above) = self.gradients.split_at_mut(at);
            let mut back = Back {
                values: &self.values,
                entries: &mut self.entries,
                below,
                operands: &self.operands,
                scratch: &mut self.scratch,
                turned: &mut self.turned,
                n_parameters: self.n_parameters,
                result: entry,
            };
            dispatch(&mut back, entry.op, &mut above[..entry.len()]);
        }
        for entry in &self.entries {
            if let (Op::Leaf, Place::Arena(at), true, false) =
                (entry.op, entry.place, entry.needs_gradient, entry.touched)
            {
                self.gradients[at..][..entry.len()].fill(0.0);
            }
        }
    }
}

fn dispatch(back: &mut Back<'_, '_>, op: Op<'_>, gy: &mut [f32]) {
    match op {
        Op::Leaf | Op::Scarce(_) | Op::View => unreachable!("they have no operands"),
        Op::Matmul(a, b) => products::matmul_back(back, a, b, gy),
        Op::MatmulTransposed(a, b) => products::matmul_transposed_back(back, a, b, gy),
        Op::Linear { x, w, bias, relu } => products::linear_back(back, x, w, bias, relu, gy),
        Op::AddScaled(a, scale, b) => pointwise::add_scaled_back(back, a, scale, b, gy),
        Op::Multiply(a, b) => pointwise::multiply_back(back, a, b, gy),
        Op::Scale(scale, x) => pointwise::scale_back(back, scale, x, gy),
        Op::AddRescaled { a, x, s } => pointwise::add_rescaled_back(back, a, x, s, gy),
        Op::AddRow { x, row, relu } => pointwise::add_row_back(back, x, row, relu, gy),
        Op::MultiplyRow(x, row) => pointwise::multiply_row_back(back, x, row, gy),
        Op::Apply(function, x) => pointwise::apply_back(back, function, x, gy),
        Op::Sum(x, scale) => reductions::sum_back(back, x, scale, gy),
        Op::SegmentSum(x, bounds, mean) => reductions::segment_sum_back(back, x, bounds, mean, gy),
        Op::SegmentMax(x, bounds) => reductions::segment_max_back(back, x, bounds, gy),
        Op::LogSumExp(x) => rows::log_sum_exp_back(back, x, gy),
        Op::BlockDot { x, v } => reductions::block_dot_back(back, x, v, gy),
        Op::MeanBlocks(x) => reductions::mean_blocks_back(back, x, gy),
        Op::Cosine(a, b) => rows::cosine_back(back, a, b, gy),
        Op::Softmax(x) => rows::softmax_back(back, x, gy),
        Op::NormaliseRows(x) => normal::rows_back(back, x, gy),
        Op::NormaliseColumns(x) => normal::columns_back(back, x, gy),
        Op::Standardise { x, variance, epsilon } => normal::standardise_back(back, x, variance, epsilon, gy),
        Op::Propagate { csr, weights, x } => propagation::propagate_back(back, csr, weights, x, gy),
        Op::PropagateDense { a, x, bounds } => propagation::dense_back(back, a, x, bounds, gy),
        Op::NormaliseArcs { csr, weights, rule } => degrees::normalise_arcs_back(back, csr, weights, rule, gy),
        Op::NormaliseDense { a, bounds, rule } => degrees::normalise_dense_back(back, a, bounds, rule, gy),
        Op::ArcSum { csr, a, b } => edges::sum_back(back, csr, a, b, gy),
        Op::ArcDot { csr, a, b } => edges::dot_back(back, csr, a, b, gy),
        Op::ArcSoftmax(csr, x) => edges::softmax_back(back, csr, x, gy),
        Op::Gather(x, ids) => shapes::gather_back(back, x, ids, gy),
        Op::ConcatRows { first, n } => shapes::concat_rows_back(back, first, n, gy),
        Op::ConcatColumns { first, n } => shapes::concat_columns_back(back, first, n, gy),
        Op::Interleave(x, n_blocks) => shapes::interleave_back(back, x, n_blocks, gy),
        Op::SliceColumns(x, from) => shapes::slice_columns_back(back, x, from, gy),
        Op::AttentionScores { query, key, n_heads } => attention::scores_back(back, query, key, n_heads, gy),
        Op::AttentionMix {
            weights,
            value,
            n_heads,
        } => attention::mix_back(back, weights, value, n_heads, gy),
        Op::Lstm {
            gates,
            w,
            n_steps,
            reverse,
        } => recurrent::lstm_back(back, gates, w, n_steps, reverse, gy),
        Op::Perspectives { first, n_pairs } => perspectives::perspectives_back(back, first, n_pairs, gy),
        Op::LstmLast { first, reverse } => sequences::lstm_last_back(back, first, reverse, gy),
        Op::CrossEntropy { logits, labels, mask } => losses::cross_entropy_back(back, logits, labels, mask, gy),
        Op::Logistic { logits, targets, mask } => losses::logistic_back(back, logits, targets, mask, gy),
        Op::SquaredError { x, targets, mask } => losses::squared_error_back(back, x, targets, mask, gy),
        Op::Custom(custom) => custom.backward(back, gy),
    }
}
