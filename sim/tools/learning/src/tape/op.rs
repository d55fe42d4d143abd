//! The operations that a tape records, with what their gradients need to know.

use super::Var;
use super::custom::Custom;
use super::propagation::Weights;
use crate::DegreeRule;
use crate::csr::Csr;
use crate::kernels::elementwise;

/// How a value came about. Shapes and places are in its entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op<'g> {
    Leaf,
    /// The same, with the numbers that are not 0.
    Scarce(&'g Csr),
    /// A part or another shape of a value, in the same memory.
    View,
    /// `a b`
    Matmul(Var, Var),
    /// `a bᵀ`
    MatmulTransposed(Var, Var),
    /// `relu?(x w + b)`
    Linear {
        x: Var,
        w: Var,
        bias: Option<Var>,
        relu: bool,
    },
    /// `a + scale b`
    AddScaled(Var, f32, Var),
    /// `a b`, element by element.
    Multiply(Var, Var),
    /// `scale x`
    Scale(f32, Var),
    /// `(1 + s) x + a`, `s` a scalar.
    AddRescaled {
        a: Var,
        x: Var,
        s: Var,
    },
    /// `relu?(x_i + row)`
    AddRow {
        x: Var,
        row: Var,
        relu: bool,
    },
    /// `x_i row`
    MultiplyRow(Var, Var),
    /// `f(x)`
    Apply(elementwise::Function, Var),
    /// The sum of all, times a factor.
    Sum(Var, f32),
    /// For each segment of rows, their sum, divided by their number if the flag is set.
    SegmentSum(Var, Option<&'g [u32]>, bool),
    /// For each segment of rows, their largest; its row is the auxiliary value.
    SegmentMax(Var, Option<&'g [u32]>),
    /// `ln Σ_j e^(x_ij)`
    LogSumExp(Var),
    /// The products of blocks of columns with a vector.
    BlockDot {
        x: Var,
        v: Var,
    },
    /// The cosine of rows.
    Cosine(Var, Var),
    /// The softmax of rows.
    Softmax(Var),
    /// Rows of mean 0 and variance 1.
    NormaliseRows(Var),
    /// Columns of mean 0 and variance 1.
    NormaliseColumns(Var),
    /// Columns moved and scaled by given statistics.
    Standardise {
        x: Var,
        variance: Var,
        epsilon: f32,
    },
    Propagate {
        csr: &'g Csr,
        weights: Weights,
        x: Var,
    },
    /// Sums over blocks of a dense matrix.
    PropagateDense {
        a: Var,
        x: Var,
        bounds: Option<&'g [u32]>,
    },
    /// `D^−1/2 A D^−1/2` on the arcs of a graph.
    NormaliseArcs {
        csr: &'g Csr,
        weights: Var,
        rule: DegreeRule,
    },
    /// The same on dense blocks, with self loops if the flag is set.
    NormaliseDense {
        a: Var,
        bounds: Option<&'g [u32]>,
        rule: DegreeRule,
    },
    /// `a_s + b_t` for each arc from `s` to `t`.
    ArcSum {
        csr: &'g Csr,
        a: Var,
        b: Var,
    },
    /// `a_t · b_s` for each arc from `s` to `t`.
    ArcDot {
        csr: &'g Csr,
        a: Var,
        b: Var,
    },
    /// The softmax over the arcs into each target.
    ArcSoftmax(&'g Csr, Var),
    /// Rows by their ids.
    Gather(Var, &'g [u32]),
    /// Values below each other or side by side: so many operands from a position of the list.
    ConcatRows {
        first: u32,
        n: u32,
    },
    ConcatColumns {
        first: u32,
        n: u32,
    },
    /// The rows of so many blocks in turn.
    Interleave(Var, u32),
    /// Columns from a position on.
    SliceColumns(Var, u32),
    /// The mean over the blocks of columns.
    MeanBlocks(Var),
    /// Scaled products of queries and keys, by heads.
    AttentionScores {
        query: Var,
        key: Var,
        n_heads: u32,
    },
    /// Values weighted by heads.
    AttentionMix {
        weights: Var,
        value: Var,
        n_heads: u32,
    },
    Lstm {
        gates: Var,
        w: Var,
        n_steps: u32,
        reverse: bool,
    },
    /// Node-graph matches. From `first`, the list of operands has `n_pairs` matrices, as many
    /// others, and the perspectives.
    Perspectives {
        first: u32,
        n_pairs: u32,
    },
    /// The last states of sequences. From `first`, the list of operands has the input, two weights
    /// and two biases.
    LstmLast {
        first: u32,
        reverse: bool,
    },
    CrossEntropy {
        logits: Var,
        labels: &'g [u32],
        mask: Option<&'g [bool]>,
    },
    Logistic {
        logits: Var,
        targets: &'g [f32],
        mask: Option<&'g [bool]>,
    },
    SquaredError {
        x: Var,
        targets: &'g [f32],
        mask: Option<&'g [bool]>,
    },
    /// An operation from outside.
    Custom(Custom<'g>),
}
