//! Node-graph matching: each row against the mean of the rows it attends to, from several
//! perspectives.

use super::backward::Back;
use super::op::Op;
use super::products::{multiply_transposed, multiply_whole, room, split, split_mut, turn};
use super::{Tape, Var};
use crate::kernels::{elementwise, perspectives, row};

/// The least squared length. A row of zeros then has the cosine 0, and rows near 0 have a bounded
/// gradient.
const SHORTEST: f32 = 1e-6;
/// Squared weights below it count as 0, since weights that decay to 0 would lead to subnormal sums,
/// which are slow. Single precision loses their share of a cosine, as lengths are at least
/// `SHORTEST`.
const LEAST: f32 = 1e-20;

/// The numbers of auxiliary floats for `n` rows, `n_others` other rows of width `d`, `n_met` pairs
/// of rows and `k` perspectives: reciprocal lengths of rows and of others, attention weights,
/// attended rows, and reciprocal lengths of rows and of attended rows from each perspective.
fn sizes([n, n_others, n_met]: [usize; 3], d: usize, k: usize) -> [usize; 5] {
    [n, n_others, n_met, n * d, 2 * n * k]
}

/// The numbers of rows, of others and of pairs of them, over all shapes.
fn totals(shapes: impl Iterator<Item = (usize, usize)>) -> [usize; 3] {
    shapes.fold([0; 3], |[n, n_others, n_met], (rows, others)| {
        [n + rows, n_others + others, n_met + rows * others]
    })
}

impl Tape<'_> {
    /// `cos(w_k ∘ x_i, w_k ∘ y_i)` for each row `x_i` of the matrices `own` and each row `w_k` of
    /// `w`: `y_i` is the mean of the rows of the other matrix, each weighted by its cosine with
    /// `x_i`, or not at all where that is negative. Each of `own` is compared with the matrix of
    /// `theirs` in its place. This is the node-graph matching of X. Ling et al., TNNLS 2021.
    ///
    /// All matrices have `d` columns. The result has shape `(rows of own, rows of w)`, matrix after
    /// matrix. Its rows do not depend on other pairs of matrices.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn perspectives(&mut self, own: &[Var], theirs: &[Var], w: Var) -> Var {
        let (k, d) = self.shape(w);
        assert_eq!(own.len(), theirs.len(), "each matrix is compared with one other");
        let vars = || own.iter().chain(theirs).chain([&w]).copied();
        assert!(vars().all(|var| self.shape(var).1 == d), "rows have one length");
        let needs = vars().any(|var| self.needs_gradient(var));
        let (first, n_pairs) = (self.operands.len() as u32, own.len() as u32);
        self.operands.extend(vars());
        let pairs = || own.iter().copied().zip(theirs.iter().copied());
        let totals = totals(pairs().map(|(own, theirs)| (self.shape(own).0, self.shape(theirs).0)));
        let (n, sizes) = (totals[0], sizes(totals, d, k));
        let op = Op::Perspectives { first, n_pairs };
        let var = self.push_with(op, n, k, needs, sizes.iter().sum());
        let to = self.open(var);
        let value = to.reader();
        let [lengths, other_lengths, shares, attended, by_length] = split_mut(to.aux, sizes);
        let most = pairs()
            .map(|(own, theirs)| [own, theirs].map(|var| value(var).len()))
            .fold([0; 2], largest);
        let room_sizes = [most[1], k * d, k * d, 3 * most[0]];
        let [turned, squares, weights, factors] = split_mut(room(to.scratch, room_sizes.iter().sum()), room_sizes);
        let w = value(w);
        square(w, squares);
        turn(squares, k, d, weights);
        let (own_lengths, attended_lengths) = by_length.split_at_mut(n * k);
        let (mut at, mut other_at, mut share_at) = (0, 0, 0);
        for (own, theirs) in pairs() {
            let (x, y) = (value(own), value(theirs));
            let (n, n_others) = (x.len() / d, y.len() / d);
            let (shares, attended) = (
                &mut shares[share_at..][..n * n_others],
                &mut attended[at * d..][..n * d],
            );
            let (lengths, other_lengths) = (&mut lengths[at..][..n], &mut other_lengths[other_at..][..n_others]);
            reciprocal_lengths(x, lengths);
            reciprocal_lengths(y, other_lengths);
            turn(y, n_others, d, turned);
            multiply_whole([n, d, n_others], x, turned, shares, false);
            for (shares, length) in shares.chunks_exact_mut(n_others.max(1)).zip(lengths) {
                perspectives::shares(shares, *length, other_lengths);
            }
            multiply_whole([n, n_others, d], shares, y, attended, false);
            let factors = &mut factors[..3 * n * d];
            multiply(x, attended, factors);
            let place = at * k..(at + n) * k;
            let (products, lengths) = (&mut to.y[place.clone()], [&mut *own_lengths, &mut *attended_lengths]);
            let [own_lengths, attended_lengths] = lengths.map(|lengths| &mut lengths[place.clone()]);
            let sums = [&mut *products, &mut *own_lengths, &mut *attended_lengths];
            for (factor, sums) in thirds(factors).into_iter().zip(sums) {
                multiply_whole([n, d, k], factor, weights, sums, false);
            }
            perspectives::cosines(SHORTEST, products, own_lengths, attended_lengths);
            (at, other_at, share_at) = (at + n, other_at + n_others, share_at + n * n_others);
        }
        var
    }
}

/// Writes the squares of weights.
fn square(w: &[f32], to: &mut [f32]) {
    elementwise::multiply(w, w, to);
    elementwise::cut(LEAST, to);
}

/// Writes `1 / |x_i|` for each row.
fn reciprocal_lengths(x: &[f32], to: &mut [f32]) {
    let d = x.len() / to.len().max(1);
    for (x, to) in x.chunks_exact(d.max(1)).zip(to) {
        *to = perspectives::reciprocal_root(SHORTEST, row::dot(x, x));
    }
}

/// Writes `x y`, `x²` and `y²`, element by element, one behind the other.
fn multiply(x: &[f32], y: &[f32], factors: &mut [f32]) {
    let [products, own_squares, other_squares] = thirds(factors);
    elementwise::multiply(x, y, products);
    elementwise::multiply(x, x, own_squares);
    elementwise::multiply(y, y, other_squares);
}

fn largest(most: [usize; 2], sizes: [usize; 2]) -> [usize; 2] {
    [0, 1].map(|i| most[i].max(sizes[i]))
}

pub(super) fn perspectives_back(back: &mut Back<'_, '_>, first: u32, n_pairs: u32, gy: &[f32]) {
    let vars = back.operands(first, 2 * n_pairs + 1);
    let (own, rest) = vars.split_at(n_pairs as usize);
    let (theirs, w) = (&rest[..n_pairs as usize], rest[n_pairs as usize]);
    let pairs = || own.iter().copied().zip(theirs.iter().copied());
    let rows = |back: &Back<'_, '_>, (own, theirs)| (back.shape(own).0, back.shape(theirs).0);
    let totals = totals(pairs().map(|pair| rows(back, pair)));
    let ((n, k), d, (y, aux)) = (back.result_shape(), back.shape(w).1, back.result());
    let [lengths, other_lengths, shares, attended, by_length] = split(aux, sizes(totals, d, k));
    let (own_lengths, attended_lengths) = by_length.split_at(n * k);
    let mut scratch = std::mem::take(back.scratch);
    let most = pairs().map(|pair| rows(back, pair).into()).fold([0; 2], largest);
    let room_sizes = [
        3 * most[0] * k,
        3 * most[0] * d,
        3 * most[0] * d,
        k * d,
        k * d,
        most[0] * most[1],
        most[1] * d,
        most[1],
    ];
    let [
        by_sums,
        by_factors,
        factors,
        squares,
        by_weights,
        by_shares,
        turned,
        by_lengths,
    ] = split_mut(room(&mut scratch, room_sizes.iter().sum()), room_sizes);
    let w_value = back.value(w);
    square(w_value, squares);
    by_weights.fill(0.0);
    let (mut at, mut other_at, mut share_at) = (0, 0, 0);
    for (own, theirs) in pairs() {
        let (x, others) = (back.value(own), back.value(theirs));
        let (n, n_others) = (x.len() / d, others.len() / d);
        let (attended, shares) = (&attended[at * d..][..n * d], &shares[share_at..][..n * n_others]);
        let (lengths, other_lengths) = (&lengths[at..][..n], &other_lengths[other_at..][..n_others]);
        let place = at * k..(at + n) * k;
        let (by_sums, by_factors, factors) = (
            &mut by_sums[..3 * n * k],
            &mut by_factors[..3 * n * d],
            &mut factors[..3 * n * d],
        );
        let by_length = [&own_lengths[place.clone()], &attended_lengths[place.clone()]];
        perspectives::cosines_back(SHORTEST, &y[place.clone()], by_length, &gy[place], thirds(by_sums));
        multiply(x, attended, factors);
        multiply_transposed([k, 3 * n, d], by_sums, factors, by_weights, true);
        multiply_whole([3 * n, k, d], by_sums, squares, by_factors, false);
        let [by_attended, by_own_squares, by_attended_squares] = thirds(by_factors);
        let by_squares = [&*by_own_squares, &*by_attended_squares];
        perspectives::factors_back(x, attended, by_attended, by_squares, back.gradient(own));
        let by_shares = &mut by_shares[..n * n_others];
        turn(others, n_others, d, turned);
        multiply_whole([n, d, n_others], by_attended, turned, by_shares, false);
        let by_lengths = &mut by_lengths[..n_others];
        by_lengths.fill(0.0);
        let mut gradient = back.gradient(own);
        let rows = by_shares
            .chunks_exact_mut(n_others.max(1))
            .zip(shares.chunks_exact(n_others.max(1)));
        for (i, (by_shares, shares)) in rows.enumerate() {
            let by_length = row::dot(by_shares, shares);
            elementwise::add_products(by_lengths, by_shares, shares);
            perspectives::shares_back(shares, lengths[i], other_lengths, by_shares);
            if let Some(gradient) = &mut gradient {
                lengthen(&mut gradient[i * d..][..d], by_length, lengths[i], &x[i * d..][..d]);
            }
        }
        if let Some(gradient) = gradient {
            multiply_whole([n, n_others, d], by_shares, others, gradient, true);
        }
        if let Some(gradient) = back.gradient(theirs) {
            multiply_transposed([n_others, n, d], shares, by_attended, gradient, true);
            multiply_transposed([n_others, n, d], by_shares, x, gradient, true);
            let rows = gradient.chunks_exact_mut(d).zip(others.chunks_exact(d));
            for ((gradient, other), (by_length, length)) in rows.zip(by_lengths.iter().zip(other_lengths)) {
                lengthen(gradient, *by_length, *length, other);
            }
        }
        (at, other_at, share_at) = (at + n, other_at + n_others, share_at + n * n_others);
    }
    if let Some(gradient) = back.gradient(w) {
        // The square of a weight, by the weight.
        by_weights.iter_mut().for_each(|x| *x *= 2.0);
        elementwise::add_products(gradient, w_value, by_weights);
    }
    *back.scratch = scratch;
}

/// Adds the part of a row's gradient that comes from its reciprocal length: none where the length
/// was raised to the least one.
fn lengthen(gradient: &mut [f32], by_cosine: f32, length: f32, row: &[f32]) {
    if length < perspectives::reciprocal_root(SHORTEST, 0.0) {
        elementwise::add_scaled(gradient, -by_cosine * length * length, row);
    }
}

fn thirds<T>(all: &mut [T]) -> [&mut [T]; 3] {
    let (first, rest) = all.split_at_mut(all.len() / 3);
    let (second, third) = rest.split_at_mut(first.len());
    [first, second, third]
}
