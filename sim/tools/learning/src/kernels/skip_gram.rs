//! One step of skip-gram on a small dense block: the contexts of a centre against a few outputs.

use multiversion::multiversion;
use multiversion::target::match_target;

use super::LANES;

/// The most outputs of one step: with more, the block would leave the registers.
pub(crate) const MAX_OUTPUTS: usize = 8;

/// Repeats `$body` for `$k` in `0..$n`, `$n <= 8`, as straight code: a loop of this size keeps its
/// arrays out of the registers.
macro_rules! unroll {
    ($n:ident, $k:ident, $body:expr) => {
        unroll!(@ $n, $k, $body, 0 1 2 3 4 5 6 7)
    };
    (@ $n:ident, $k:ident, $body:expr, $($i:literal)*) => {
        $(if $n > $i {
            let $k: usize = $i;
            $body;
        })*
    };
}

/// Room for the block of a step: the outputs, their changes, and the scores in several states.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    outputs: Vec<f32>,
    changes: Vec<f32>,
    /// Sums of 16, later of 4 lanes, for each context and output.
    partial: Vec<[f32; LANES]>,
    quarters: Vec<[f32; 4]>,
    gains: Vec<f32>,
}

impl Scratch {
    /// Room for steps of rows of length `stride` and up to `n_contexts` contexts.
    pub(crate) fn new(stride: usize, n_contexts: usize) -> Scratch {
        Scratch {
            outputs: vec![0.0; stride * MAX_OUTPUTS],
            changes: vec![0.0; stride * MAX_OUTPUTS],
            partial: vec![[0.0; LANES]; n_contexts * MAX_OUTPUTS],
            // The last fold takes four at a time.
            quarters: vec![[0.0; 4]; (n_contexts * MAX_OUTPUTS).next_multiple_of(4)],
            gains: vec![0.0; (n_contexts * MAX_OUTPUTS).next_multiple_of(4)],
        }
    }
}

/// An output of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Its row among the parameters.
    pub(crate) row: u32,
    /// Its row among the changes.
    pub(crate) slot: u32,
    /// Whether its label is 1: the contexts should predict it.
    pub(crate) positive: bool,
}

/// What [`step`] only reads. All arrays have rows of length `stride`, a multiple of [`LANES`].
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub(crate) stride: usize,
    /// The rows of the inputs that take part, possibly twice.
    pub(crate) contexts: &'a [u32],
    pub(crate) parameters: &'a [f32],
    /// At least one and at most [`MAX_OUTPUTS`]; the value of each is its row of the parameters
    /// plus its row of the changes.
    pub(crate) outputs: &'a [Output],
    pub(crate) rate: f32,
}

/// Adds `rate (label − σ(u · o)) o` to each input row `u`, and the sum of
/// `rate (label − σ(u · o)) u` to the change of `o`.
///
/// All scores are taken before any row moves.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn step(step: &Step<'_>, inputs: &mut [f32], changes: &mut [f32], scratch: &mut Scratch) {
    // With 32 wide registers a whole chunk of the block stays in them, with 16 narrow ones half of
    // it.
    let wide = match_target! {
        "x86_64+avx2+fma+avx512f" => true,
        _ => false,
    };
    match (step.outputs.len(), wide) {
        (1, _) => step.run::<1, LANES>(inputs, changes, scratch),
        (2, _) => step.run::<2, LANES>(inputs, changes, scratch),
        (3, false) => step.run::<3, 8>(inputs, changes, scratch),
        (4, false) => step.run::<4, 8>(inputs, changes, scratch),
        (5, false) => step.run::<5, 8>(inputs, changes, scratch),
        (6, false) => step.run::<6, 8>(inputs, changes, scratch),
        (7, false) => step.run::<7, 8>(inputs, changes, scratch),
        (8, false) => step.run::<8, 8>(inputs, changes, scratch),
        (3, true) => step.run::<3, LANES>(inputs, changes, scratch),
        (4, true) => step.run::<4, LANES>(inputs, changes, scratch),
        (5, true) => step.run::<5, LANES>(inputs, changes, scratch),
        (6, true) => step.run::<6, LANES>(inputs, changes, scratch),
        (7, true) => step.run::<7, LANES>(inputs, changes, scratch),
        (8, true) => step.run::<8, LANES>(inputs, changes, scratch),
        (n, _) => panic!("a step has 1..={MAX_OUTPUTS} outputs, got {n}"),
    }
}

impl Step<'_> {
    /// The step for `N` outputs, moving `W` values of a row at a time; the result does not depend
    /// on `W`.
    #[inline(always)]
    fn run<const N: usize, const W: usize>(&self, inputs: &mut [f32], changes: &mut [f32], scratch: &mut Scratch) {
        let stride = self.stride;
        let block = &mut scratch.outputs[..stride * N];
        for (out, output) in block.chunks_exact_mut(stride).zip(self.outputs) {
            let row = &self.parameters[output.row as usize * stride..][..stride];
            let change = &changes[output.slot as usize * stride..][..stride];
            for ((out, x), dx) in out.iter_mut().zip(row).zip(change) {
                *out = x + dx;
            }
        }
        let n = self.contexts.len() * N;
        let partial = &mut scratch.partial[..n];
        for (&slot, partial) in self.contexts.iter().zip(partial.chunks_exact_mut(N)) {
            let row = &inputs[slot as usize * stride..][..stride];
            dots::<N>(row, block, partial);
        }
        for (quarter, sums) in scratch.quarters.iter_mut().zip(partial) {
            *quarter = fold(fold::<LANES, 8>(*sums));
        }
        let (quarters, _) = scratch.quarters.as_chunks::<4>();
        let (scores, _) = scratch.gains.as_chunks_mut::<4>();
        for (scores, [a, b, c, d]) in scores.iter_mut().zip(quarters).take(n.div_ceil(4)) {
            *scores = [total(a), total(b), total(c), total(d)];
        }
        let gains = &mut scratch.gains[..n];
        for gain in &mut *gains {
            *gain = -self.rate * sigmoid(*gain);
        }
        for (k, _) in self.outputs.iter().enumerate().filter(|(_, output)| output.positive) {
            gains.iter_mut().skip(k).step_by(N).for_each(|gain| *gain += self.rate);
        }
        let sums = &mut scratch.changes[..stride * N];
        self.update::<N, W>(inputs, block, gains, sums);
        // One output after the other, so that one that occurs twice gets both.
        for (sums, output) in sums.chunks_exact(stride).zip(self.outputs) {
            let change = &mut changes[output.slot as usize * stride..][..stride];
            for (dx, sum) in change.iter_mut().zip(sums) {
                *dx += sum;
            }
        }
    }

    /// Moves the input rows and sums what moves the outputs.
    #[inline(always)]
    fn update<const N: usize, const W: usize>(
        &self,
        inputs: &mut [f32],
        block: &[f32],
        gains: &[f32],
        sums: &mut [f32],
    ) {
        for chunk in 0..self.stride / LANES {
            for part in 0..LANES / W {
                let first = part * W;
                let at = chunk * LANES + first;
                let mut out = [[0.0; W]; N];
                unroll!(N, k, out[k] = load(&block[at + k * self.stride..]));
                let mut sum = [[0.0; W]; N];
                for (&slot, gains) in self.contexts.iter().zip(gains.chunks_exact(N)) {
                    let row = &mut inputs[slot as usize * self.stride + chunk * LANES + first..][..W];
                    let old: [f32; W] = load(row);
                    let mut new = old;
                    unroll!(N, k, new = add_product(new, [gains[k]; W], out[k]));
                    unroll!(N, k, sum[k] = add_product(sum[k], [gains[k]; W], old));
                    row.copy_from_slice(&new);
                }
                unroll!(N, k, sums[at + k * self.stride..][..W].copy_from_slice(&sum[k]));
            }
        }
    }
}

/// `to += from`, or `to −= from`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add(to: &mut [f32], from: &[f32], sign: f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = sign.mul_add(*from, *to);
    }
}

/// The products of a row with `N` rows of the block, as [`LANES`] partial sums each.
#[inline(always)]
fn dots<const N: usize>(row: &[f32], block: &[f32], partial: &mut [[f32; LANES]]) {
    let (row, _) = row.as_chunks::<LANES>();
    let (block, _) = block.as_chunks::<LANES>();
    let outputs: [&[[f32; LANES]]; N] = std::array::from_fn(|k| &block[k * row.len()..][..row.len()]);
    let mut sums = [[0.0; LANES]; N];
    for chunk in 0..row.len() {
        let x = row[chunk];
        unroll!(N, k, sums[k] = add_product(sums[k], x, outputs[k][chunk]));
    }
    partial.copy_from_slice(&sums);
}

/// The sum of four lanes.
#[inline(always)]
fn total([a, b, c, d]: &[f32; 4]) -> f32 {
    (a + b) + (c + d)
}

/// The sum of the two halves of `x`.
#[inline(always)]
fn fold<const W: usize, const H: usize>(x: [f32; W]) -> [f32; H] {
    let mut halves = [0.0; H];
    for lane in 0..H {
        halves[lane] = x[lane] + x[lane + H];
    }
    halves
}

#[inline(always)]
fn load<const W: usize>(from: &[f32]) -> [f32; W] {
    let mut values = [0.0; W];
    values.copy_from_slice(&from[..W]);
    values
}

/// `sum + a b`, rounded once.
#[inline(always)]
fn add_product<const W: usize>(mut sum: [f32; W], a: [f32; W], b: [f32; W]) -> [f32; W] {
    for lane in 0..W {
        sum[lane] = a[lane].mul_add(b[lane], sum[lane]);
    }
    sum
}

/// `1 / (1 + e^−x)`, with an absolute error below 2e-7; `x` is cut to ±30.
///
/// `e^x` is `2^n 2^f` with `|f| <= 1/2` and a polynomial of degree 6 for `2^f`: no table and no
/// branch.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    /// Adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let scaled = -x.clamp(-30.0, 30.0) * std::f32::consts::LOG2_E;
    let rounded = scaled + ROUND;
    let rest = scaled - (rounded - ROUND);
    // The Taylor series of 2^f: the first term left out is below 2e-7 of the value at 1/2.
    let mut power = 1.540_353e-4_f32;
    for term in [
        1.333_355_8e-3,
        9.618_129e-3,
        5.550_411e-2,
        2.402_265e-1,
        std::f32::consts::LN_2,
        1.0,
    ] {
        power = power.mul_add(rest, term);
    }
    let power = f32::from_bits(power.to_bits().wrapping_add(rounded.to_bits() << 23));
    1.0 / (1.0 + power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigmoid_is_within_its_stated_error() {
        for i in -40_000..=40_000 {
            let x = i as f32 / 1000.0;
            let exact = 1.0 / (1.0 + libm::exp(-f64::from(x)));
            let error = (f64::from(sigmoid(x)) - exact).abs();
            assert!(error < 2e-7, "sigmoid({x}) is off by {error}");
        }
        assert_eq!(sigmoid(0.0).to_bits(), 0.5f32.to_bits());
    }

    /// The step, for every number of outputs and both widths, against plain loops in `f64`.
    #[test]
    fn a_step_is_the_gradient_of_its_block_at_any_width() {
        let stride = 32;
        let slots = [2, 0, 1];
        let value = |i: usize| ((i * 37 % 101) as f32 - 50.0) / 60.0;
        for n in 1..=MAX_OUTPUTS {
            let labels: Vec<f32> = (0..n).map(|k| if k == 0 { 1.0 } else { 0.0 }).collect();
            let start: Vec<f32> = (0..3 * stride).map(value).collect();
            let rows: Vec<Vec<f32>> = (0..n)
                .map(|k| (0..stride).map(|i| value(7 * i + 11 * k + 3)).collect())
                .collect();
            // Output k has row n - 1 - k of the parameters and row k of the changes, which hold a
            // part of it.
            let part = |i: usize| value(i + 50) / 8.0;
            let parameters: Vec<f32> = (0..n * stride).map(|j| rows[n - 1 - j / stride][j % stride]).collect();
            let before: Vec<f32> = (0..n * stride).map(part).collect();
            let rows: Vec<Vec<f32>> = (0..n)
                .map(|k| (0..stride).map(|i| rows[k][i] + before[k * stride + i]).collect())
                .collect();
            let outputs: Vec<Output> = (0..n as u32)
                .map(|k| Output {
                    row: n as u32 - 1 - k,
                    slot: k,
                    positive: k == 0,
                })
                .collect();
            let mut after = before.clone();
            let mut scratch = Scratch::new(stride, slots.len());
            let mut inputs = start.clone();
            let block = Step {
                stride,
                contexts: &slots,
                parameters: &parameters,
                outputs: &outputs,
                rate: 0.1,
            };
            step(&block, &mut inputs, &mut after, &mut scratch);
            let mut expected: Vec<f64> = start.iter().map(|&x| x.into()).collect();
            let mut changes = vec![vec![0.0f64; stride]; n];
            for slot in 0..3 {
                let row: Vec<f64> = start[slot * stride..][..stride].iter().map(|&x| x.into()).collect();
                for k in 0..n {
                    let score: f64 = row.iter().zip(&rows[k]).map(|(x, &o)| x * f64::from(o)).sum();
                    let gain = 0.1 * (f64::from(labels[k]) - 1.0 / (1.0 + libm::exp(-score)));
                    for i in 0..stride {
                        expected[slot * stride + i] += gain * f64::from(rows[k][i]);
                        changes[k][i] += gain * row[i];
                    }
                }
            }
            for (got, expected) in inputs.iter().zip(&expected) {
                assert!(
                    (f64::from(*got) - expected).abs() < 1e-5,
                    "{n} outputs: {got}, not {expected}"
                );
            }
            for k in 0..n {
                for i in 0..stride {
                    let got = after[k * stride + i] - before[k * stride + i];
                    assert!((f64::from(got) - changes[k][i]).abs() < 1e-5);
                }
            }
        }
    }
}
