//! Every operation against central differences, on drawn shapes and values; views, masks and reuse.

use folkmoot_draws::{Rng, SeedableRng, SimRng};
use proptest::prelude::*;

use super::{Adjacency, Tape, Var};
use crate::{Csr, DegreeRule, Init, Layout};

mod batches;

/// The step of the differences: truncation and rounding are then both near 1e-4.
const STEP: f32 = 1.0 / 128.0;

/// A shape and its values, drawn from ±`bound`, none within two steps of 0 where kinks are.
fn drawn(rng: &mut SimRng, n: usize, bound: f32) -> Vec<f32> {
    let unit = |rng: &mut SimRng| (rng.next_u32() >> 8) as f32 / 8_388_608.0 - 1.0;
    (0..n)
        .map(|_| {
            let x = bound * unit(rng);
            x + (2.5 * STEP).copysign(x)
        })
        .collect()
}

/// `Σ weight_ij y_ij`, with fixed weights of both signs, so that every element of a result has its
/// own part in the loss.
fn weigh(tape: &mut Tape<'_>, y: Var) -> Var {
    let (rows, columns) = tape.shape(y);
    let weights = tape.constant_with(rows, columns, |values| {
        for (i, value) in values.iter_mut().enumerate() {
            *value = ((i * 29 + 7) % 17) as f32 / 8.0 - 1.05;
        }
    });
    let product = tape.multiply(y, weights);
    tape.sum(product)
}

/// The gradient of `Σ weight y` by each operand agrees with central differences; `shapes` are those
/// of the operands.
#[track_caller]
fn agrees<'g>(seed: u64, shapes: &[(usize, usize)], f: impl Fn(&mut Tape<'g>, &[Var]) -> Var) {
    let mut rng = SimRng::seed_from_u64(seed);
    let values: Vec<Vec<f32>> = shapes
        .iter()
        .map(|(rows, columns)| drawn(&mut rng, rows * columns, 1.0))
        .collect();
    let mut tape = Tape::new();
    let run = |tape: &mut Tape<'g>, values: &[Vec<f32>]| {
        tape.reset();
        let vars: Vec<Var> = shapes
            .iter()
            .zip(values)
            .map(|((rows, columns), data)| tape.variable(*rows, *columns, data))
            .collect();
        let y = f(tape, &vars);
        // In double precision: the differences lose digits as it is.
        let (n_rows, n_columns) = tape.shape(y);
        let weights = (0..n_rows * n_columns).map(|i| f64::from(((i * 29 + 7) % 17) as f32 / 8.0 - 1.05));
        let loss: f64 = tape
            .value(y)
            .iter()
            .zip(weights)
            .map(|(y, weight)| f64::from(*y) * weight)
            .sum();
        (vars, y, loss)
    };
    let (vars, y, _) = run(&mut tape, &values);
    let loss = weigh(&mut tape, y);
    tape.backward(loss);
    let gradients: Vec<Vec<f32>> = vars.iter().map(|var| tape.gradient(*var).to_vec()).collect();
    for (operand, gradient) in gradients.iter().enumerate() {
        for at in 0..gradient.len() {
            let mut moved = values.clone();
            let mut loss_at = |x: f32| {
                moved[operand][at] = x;
                run(&mut tape, &moved).2
            };
            let x = values[operand][at];
            let exact = (loss_at(x + STEP) - loss_at(x - STEP)) / f64::from(2.0 * STEP);
            let error = (f64::from(gradient[at]) - exact).abs();
            assert!(
                error <= 4e-3 * (1.0 + exact.abs()),
                "operand {operand}, element {at} of {:?}: {} and {exact}",
                shapes[operand],
                gradient[at]
            );
        }
    }
}

/// `0.4 x ± 1`, the sign changing with the row.
fn far_from_0(tape: &mut Tape<'_>, x: Var) -> Var {
    let (rows, columns) = tape.shape(x);
    let signs = tape.constant_with(rows, columns, |values| {
        for (i, row) in values.chunks_exact_mut(columns).enumerate() {
            row.fill(if i % 2 == 0 { 1.0 } else { -1.0 });
        }
    });
    tape.add_scaled(signs, 0.4, x)
}

/// A directed graph of `n` nodes with arcs both ways, one way, and a node without any.
fn graph(n: u32) -> Csr {
    let arcs: Vec<(u32, u32)> = (0..n * n)
        .map(|i| (i / n, i % n))
        .filter(|(s, t)| (s * 7 + t * 3) % 4 == 0 && *t != n - 1 && s != t)
        .collect();
    Csr::from_arcs(n, &arcs, None).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn products_differentiate(m in 1usize..7, k in 1usize..6, n in 1usize..9, seed: u64) {
        agrees(seed, &[(m, k), (k, n)], |tape, v| tape.matmul(v[0], v[1]));
        agrees(seed, &[(m, k), (n, k)], |tape, v| tape.matmul_transposed(v[0], v[1]));
        agrees(seed, &[(m, k), (k, n), (1, n)], |tape, v| tape.linear(v[0], v[1], Some(v[2]), false));
        agrees(seed, &[(m, k), (k, n)], |tape, v| tape.linear(v[0], v[1], None, false));
        // The same operand twice: both parts of its gradient count.
        agrees(seed, &[(m, m)], |tape, v| tape.matmul(v[0], v[0]));
    }

    #[test]
    fn element_by_element_differentiates(rows in 1usize..5, columns in 1usize..20, seed: u64) {
        let one = [(rows, columns)];
        let two = [(rows, columns), (rows, columns)];
        agrees(seed, &two, |tape, v| tape.add(v[0], v[1]));
        agrees(seed, &two, |tape, v| tape.subtract(v[0], v[1]));
        agrees(seed, &two, |tape, v| tape.add_scaled(v[0], -0.7, v[1]));
        agrees(seed, &two, |tape, v| tape.multiply(v[0], v[1]));
        agrees(seed, &one, |tape, v| tape.multiply(v[0], v[0]));
        agrees(seed, &one, |tape, v| tape.scale(1.5, v[0]));
        agrees(seed, &[(rows, columns), (1, 1), (rows, columns)], |tape, v| tape.add_rescaled(v[0], v[1], v[2]));
        agrees(seed, &[(rows, columns), (1, columns)], |tape, v| tape.add_row(v[0], v[1], false));
        agrees(seed, &[(rows, columns), (1, columns)], |tape, v| tape.multiply_row(v[0], v[1]));
        agrees(seed, &one, |tape, v| tape.relu(v[0]));
        agrees(seed, &one, |tape, v| tape.leaky_relu(0.2, v[0]));
        agrees(seed, &one, |tape, v| tape.sigmoid(v[0]));
        agrees(seed, &one, |tape, v| tape.tanh(v[0]));
        agrees(seed, &one, |tape, v| tape.exp(v[0]));
        agrees(seed, &one, |tape, v| tape.abs(v[0]));
        agrees(seed, &one, |tape, v| tape.square(v[0]));
        agrees(seed, &one, |tape, v| {
            let positive = tape.exp(v[0]);
            tape.reciprocal_root(1e-6, positive)
        });
        agrees(seed, &one, |tape, v| tape.dropout(v[0], 0.4, &mut SimRng::seed_from_u64(seed)));
    }

    #[test]
    fn reductions_differentiate(rows in 2usize..7, blocks in 1usize..4, width in 1usize..5, seed: u64) {
        let columns = blocks * width;
        let bounds: &'static [u32] = Box::leak(vec![0, 1, 1, rows as u32].into_boxed_slice());
        let one = [(rows, columns)];
        agrees(seed, &one, |tape, v| tape.sum(v[0]));
        agrees(seed, &one, |tape, v| tape.mean(v[0]));
        for bounds in [None, Some(bounds)] {
            agrees(seed, &one, |tape, v| tape.segment_sum(v[0], bounds));
            agrees(seed, &one, |tape, v| tape.segment_mean(v[0], bounds));
        }
        agrees(seed, &[(rows, columns), (blocks, width)], |tape, v| tape.block_dot(v[0], v[1]));
        agrees(seed, &one, |tape, v| tape.mean_blocks(v[0], blocks));
    }

    #[test]
    fn rows_differentiate(rows in 1usize..5, columns in 2usize..20, seed: u64) {
        let one = [(rows, columns)];
        let mut ignored = vec![false; columns];
        ignored[columns / 2] = true;
        agrees(seed, &one, |tape, v| tape.softmax(v[0], None));
        agrees(seed, &one, |tape, v| tape.softmax(v[0], Some(&ignored)));
        agrees(seed, &one, |tape, v| tape.log_sum_exp(v[0]));
        agrees(seed, &[(rows, columns + 2), (rows, columns + 2)], |tape, v| tape.cosine(v[0], v[1]));
        agrees(seed, &[(1, columns + 2), (rows, columns + 2)], |tape, v| tape.cosine(v[0], v[1]));
        // A variance near 0 would bend more than the differences see.
        agrees(seed, &one, |tape, v| tape.normalise_rows(v[0], 0.1));
        agrees(seed, &[(columns, rows)], |tape, v| tape.normalise_columns(v[0], 0.1));
        agrees(seed, &one, |tape, v| {
            let mean = tape.constant_with(1, columns, |values| values.fill(0.3));
            let variance = tape.constant_with(1, columns, |values| values.fill(0.6));
            tape.standardise(v[0], mean, variance, 0.1)
        });
    }

    #[test]
    fn propagation_differentiates(n in 3u32..8, heads in 1usize..4, width in 1usize..6, seed: u64) {
        let csr: &'static Csr = Box::leak(Box::new(graph(n)));
        let (n, e, columns) = (n as usize, csr.n_entries(), heads * width);
        let bounds: &'static [u32] = Box::leak(vec![0, 1, n as u32].into_boxed_slice());
        let n_elements = 1 + (n - 1) * (n - 1);
        agrees(seed, &[(n, columns)], |tape, v| tape.propagate(csr.into(), v[0]));
        agrees(seed, &[(e, 1), (n, columns)], |tape, v| tape.propagate(Adjacency::Weighted(csr, v[0]), v[1]));
        agrees(seed, &[(n, n), (n, columns)], |tape, v| tape.propagate(Adjacency::Dense(v[0]), v[1]));
        agrees(seed, &[(1, n_elements), (n, columns)], |tape, v| {
            tape.propagate(Adjacency::Blocks(v[0], bounds), v[1])
        });
        agrees(seed, &[(e, heads), (n, columns)], |tape, v| tape.propagate_heads(csr, v[0], v[1]));
        agrees(seed, &[(n, heads), (n, heads)], |tape, v| tape.arc_sum(csr, v[0], v[1]));
        agrees(seed, &[(e, heads)], |tape, v| tape.arc_softmax(csr, v[0]));
        agrees(seed, &[(n, columns), (n, columns)], |tape, v| tape.arc_dot(csr, v[0], v[1]));
    }

    /// Degrees far from 0, where `d^−1/2` bends more than the differences see.
    #[test]
    fn normalised_weights_differentiate(n in 3u32..7, seed: u64) {
        let csr: &'static Csr = Box::leak(Box::new(graph(n).with_self_loops()));
        let (n, e) = (n as usize, csr.n_entries());
        let bounds: &'static [u32] = Box::leak(vec![0, 1, n as u32].into_boxed_slice());
        let n_elements = 1 + (n - 1) * (n - 1);
        agrees(seed, &[(e, 1)], |tape, v| {
            let three = tape.constant_with(e, 1, |values| values.fill(3.0));
            let weights = tape.add(v[0], three);
            tape.normalise_arcs(csr, weights, DegreeRule::Masked)
        });
        agrees(seed, &[(n, n)], |tape, v| {
            let three = tape.constant_with(n, n, |values| values.fill(3.0));
            let weights = tape.add(v[0], three);
            tape.normalise_dense(weights, None, true, DegreeRule::Masked)
        });
        agrees(seed, &[(1, n_elements)], |tape, v| {
            let three = tape.constant_with(1, n_elements, |values| values.fill(-3.0));
            let weights = tape.add(v[0], three);
            tape.normalise_dense(weights, Some(bounds), false, DegreeRule::Abs)
        });
        agrees(seed, &[(e, 1)], |tape, v| {
            let three = tape.constant_with(e, 1, |values| values.fill(-3.0));
            let weights = tape.add(v[0], three);
            tape.normalise_arcs(csr, weights, DegreeRule::Abs)
        });
    }

    #[test]
    fn shapes_differentiate(rows in 2usize..6, columns in 2usize..9, seed: u64) {
        let ids: &'static [u32] = Box::leak(vec![1, 0, 1, rows as u32 - 1].into_boxed_slice());
        let one = [(rows, columns)];
        agrees(seed, &one, |tape, v| tape.slice_columns(v[0], 1, columns - 1));
        agrees(seed, &[(3 * rows, columns)], |tape, v| tape.interleave_rows(v[0], 3));
        agrees(seed, &one, |tape, v| tape.gather_rows(v[0], ids));
        agrees(seed, &[(rows, columns), (2, columns), (rows, columns)], |tape, v| tape.concat_rows(v));
        agrees(seed, &[(rows, columns), (rows, 2), (rows, columns)], |tape, v| tape.concat_columns(v));
        // Views share their gradient's memory with what they show.
        agrees(seed, &one, |tape, v| {
            let (first, rest) = (tape.slice_rows(v[0], 0, 1), tape.slice_rows(v[0], 1, rows - 1));
            let bent = tape.tanh(rest);
            let product = tape.matmul_transposed(bent, first);
            let turned = tape.reshape(v[0], columns, rows);
            let both = tape.matmul(turned, v[0]);
            let total = tape.sum(both);
            tape.concat_rows(&[product, total])
        });
        agrees(seed, &one, |tape, v| {
            let bent = tape.tanh(v[0]);
            let part = tape.slice_rows(bent, 1, 1);
            let square = tape.square(part);
            tape.concat_rows(&[square, bent])
        });
    }

    #[test]
    fn attention_and_recurrence_differentiate(m in 1usize..4, n in 2usize..6, heads in 1usize..4, seed: u64) {
        let d = 2 * heads;
        agrees(seed, &[(m, d), (n, d)], |tape, v| tape.attention_scores(v[0], v[1], heads));
        agrees(seed, &[(heads * m, n), (n, d)], |tape, v| tape.attention_mix(v[0], v[1], heads));
        for reverse in [false, true] {
            agrees(seed, &[(n * m, 4 * d), (d, 4 * d)], |tape, v| tape.lstm(v[0], v[1], n, reverse));
            let shapes = [(2 * n + m, 3), (3, 4 * d), (d, 4 * d), (1, 4 * d), (1, 4 * d)];
            agrees(seed, &shapes, |tape, v| {
                tape.lstm_last(v[0], [v[1], v[2], v[3], v[4]], &[n, 0, m, n], reverse)
            });
        }
    }

    /// Rows are far from 0 and alternate in sign: no cosine is near 0, and some are negative.
    #[test]
    fn perspectives_differentiate(n in 1usize..4, m in 1usize..4, d in 1usize..5, k in 1usize..4, seed: u64) {
        let shapes = [(n, d), (m, d), (m + 1, d), (k, d)];
        agrees(seed, &shapes, |tape, v| {
            let far: Vec<Var> = v.iter().map(|x| far_from_0(tape, *x)).collect();
            let [x, y, z, w] = far[..] else { unreachable!("there are four operands") };
            tape.perspectives(&[x, y, z], &[y, x, x], w)
        });
    }

    #[test]
    fn losses_differentiate(rows in 2usize..6, columns in 1usize..5, seed: u64) {
        let labels: &'static [u32] = Box::leak((0..rows).map(|i| (i % columns) as u32).collect());
        let mask: &'static [bool] = Box::leak((0..rows).map(|i| i % 2 == 0).collect());
        let targets: &'static [f32] = Box::leak((0..rows * columns).map(|i| (i % 2) as f32).collect());
        let some: &'static [bool] = Box::leak((0..rows * columns).map(|i| i % 3 != 0).collect());
        let one = [(rows, columns)];
        for mask in [None, Some(mask)] {
            agrees(seed, &one, |tape, v| tape.cross_entropy(v[0], labels, mask));
        }
        for mask in [None, Some(some)] {
            agrees(seed, &one, |tape, v| tape.logistic_loss(v[0], targets, mask));
        }
        for mask in [None, Some(some)] {
            agrees(seed, &one, |tape, v| tape.mean_squared_error(v[0], targets, mask));
        }
        let contrast = [(1, columns + 2), (1, columns + 2), (rows, columns + 2)];
        for include_positive in [true, false] {
            agrees(seed, &contrast, |tape, v| tape.info_nce(v[0], v[1], v[2], 0.8, include_positive));
        }
    }
}

#[test]
fn what_is_not_marked_is_in_no_error() {
    let mut tape = Tape::new();
    let x = tape.variable(2, 2, &[1.0, 2.0, 3.0, 5.0]);
    let (targets, mask) = ([0.0, f32::NAN, f32::NAN, 2.0], [true, false, false, true]);
    let loss = tape.mean_squared_error(x, &targets, Some(&mask));
    tape.backward(loss);
    assert_eq!(tape.scalar(loss), (1.0 + 9.0) / 2.0);
    assert_eq!(tape.gradient(x), [1.0, 0.0, 0.0, 3.0]);
    let none = tape.mean_squared_error(x, &targets, Some(&[false; 4]));
    assert_eq!(tape.scalar(none), 0.0);
}

/// Where the largest is far from the second, so that no step of the differences changes it.
#[test]
fn the_largest_of_a_segment_gets_its_gradient() {
    let mut tape = Tape::new();
    let x = tape.variable(4, 2, &[1.0, 5.0, 3.0, 5.0, 9.0, 2.0, -1.0, -2.0]);
    let y = tape.segment_max(x, Some(&[0, 2, 2, 4]));
    assert_eq!(tape.value(y), [3.0, 5.0, 0.0, 0.0, 9.0, 2.0]);
    let loss = weigh(&mut tape, y);
    tape.backward(loss);
    let w: Vec<f32> = (0..6).map(|i| ((i * 29 + 7) % 17) as f32 / 8.0 - 1.05).collect();
    assert_eq!(tape.gradient(x), [0.0, w[1], w[0], 0.0, w[4], w[5], 0.0, 0.0]);
}

/// The fused forms cut where the plain ones do.
#[test]
fn fused_relus_are_those_of_two_operations() {
    let mut rng = SimRng::seed_from_u64(5);
    let (x, w, b) = (
        drawn(&mut rng, 35, 1.0),
        drawn(&mut rng, 21, 1.0),
        drawn(&mut rng, 3, 1.0),
    );
    let mut results = Vec::new();
    for kind in 0..4 {
        let mut tape = Tape::new();
        let (x, w) = (tape.variable(5, 7, &x), tape.variable(7, 3, &w));
        let b = tape.variable(1, 3, &b);
        let y = match kind {
            0 => tape.linear(x, w, Some(b), true),
            1 => {
                let y = tape.linear(x, w, Some(b), false);
                tape.relu(y)
            }
            2 => {
                let y = tape.matmul(x, w);
                tape.add_row(y, b, true)
            }
            _ => {
                let y = tape.linear(x, w, None, false);
                let y = tape.add_row(y, b, false);
                tape.relu(y)
            }
        };
        let loss = weigh(&mut tape, y);
        tape.backward(loss);
        let gradients = [x, w, b].map(|var| tape.gradient(var).to_vec());
        results.push((tape.value(y).to_vec(), gradients));
    }
    assert!(results[0].0.contains(&0.0) && results[0].0.iter().any(|y| *y > 0.0));
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn what_the_loss_does_not_depend_on_has_gradient_0() {
    let mut layout = Layout::new();
    let (used, unused) = (
        layout.weight("used", 1, 2, Init::Ones),
        layout.weight("unused", 1, 2, Init::Ones),
    );
    let buffer = layout.buffer("buffer", 1, 2, Init::Ones);
    let mut tape = Tape::new();
    tape.load(&layout, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for _ in 0..2 {
        tape.reset();
        let fixed = tape.detach(used.var());
        let product = tape.multiply(used.var(), fixed);
        let product = tape.multiply(product, buffer.var());
        let loss = tape.sum(product);
        tape.backward(loss);
        assert_eq!(tape.gradient(used.var()), [5.0, 12.0], "a detached value is a constant");
        assert_eq!(tape.gradient(unused.var()), [0.0, 0.0]);
        let other = tape.sum(unused.var());
        tape.backward(other);
        assert_eq!(tape.parameters_mut().1, [0.0, 0.0, 1.0, 1.0]);
    }
    assert_eq!(tape.parameters(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let constant = tape.sum(buffer.var());
    tape.backward(constant);
    assert_eq!(tape.parameters_mut().1, [0.0; 4]);
}

#[test]
fn running_statistics_move_towards_those_of_the_batch() {
    let mut layout = Layout::new();
    let mean = layout.buffer("mean", 1, 2, Init::Zeros);
    let variance = layout.buffer("variance", 1, 2, Init::Ones);
    let mut tape = Tape::new();
    tape.load(&layout, &[0.0, 0.0, 1.0, 1.0]);
    let x = tape.constant(3, 2, &[1.0, 4.0, 2.0, 4.0, 3.0, 7.0]);
    let y = tape.normalise_columns(x, 0.0);
    tape.track_columns(y, mean, variance, 0.5);
    // Means 2 and 5; unbiased variances 1 and 3.
    assert_eq!(tape.parameters(), [1.0, 2.5, 1.0, 2.0]);
}

#[test]
fn a_recycled_tape_keeps_its_model() {
    let mut layout = Layout::new();
    let w = layout.weight("w", 1, 1, Init::Ones);
    let mut tape = Tape::new();
    tape.load(&layout, &[3.0]);
    for i in 0..3 {
        let data = [i as f32];
        let mut borrowing = tape.recycle();
        let x = borrowing.input(1, 1, &data);
        let y = borrowing.multiply(x, w.var());
        assert_eq!(borrowing.scalar(y), 3.0 * i as f32);
        tape = borrowing.recycle();
    }
    let model = Tape::with_own(|tape| {
        tape.load(&layout, &[4.0]);
        Tape::with_own(|inner| inner.load(&Layout::new(), &[]));
        tape.parameters().to_vec()
    });
    assert_eq!(model, [4.0]);
}

#[test]
fn dropout_keeps_the_mean() {
    let mut rng = SimRng::seed_from_u64(9);
    let mut tape = Tape::new();
    let x = tape.constant_with(100, 100, |values| values.fill(1.0));
    let y = tape.dropout(x, 0.3, &mut rng);
    let kept = tape.value(y).iter().filter(|y| **y > 0.0).count() as f64;
    assert!((kept - 7000.0).abs() < 5.0 * (10_000.0f64 * 0.3 * 0.7).sqrt());
    assert!(tape.value(y).iter().all(|y| *y == 0.0 || *y == 1.0 / 0.7));
    assert_eq!(tape.dropout(x, 0.0, &mut rng), x);
}

#[test]
fn dropout_of_some_rows_is_that_of_all() {
    let mut tape = Tape::new();
    let all = tape.constant_with(50, 7, |values| values.fill(1.0));
    let of = [0, 1, 17, 48];
    let some = tape.constant_with(of.len(), 7, |values| values.fill(1.0));
    let mut streams = [9, 9].map(SimRng::seed_from_u64);
    let whole = tape.dropout(all, 0.5, &mut streams[0]);
    let few = tape.dropout_of(some, (&of, 50), 0.5, &mut streams[1]);
    let rows = of.iter().flat_map(|row| &tape.value(whole)[*row as usize * 7..][..7]);
    assert!(rows.eq(tape.value(few)));
    assert_eq!(
        streams[0].next_u64(),
        streams[1].next_u64(),
        "and the stream goes on alike"
    );
}

/// Rows that are nearly zero would otherwise have a length that is divided by and a gradient
/// without bound.
#[test]
fn a_reciprocal_root_ends_at_its_least() {
    let mut tape = Tape::new();
    let x = tape.variable(1, 4, &[4.0, 0.25, 0.01, f32::NAN]);
    let y = tape.reciprocal_root(0.25, x);
    assert_eq!(tape.value(y)[..3], [0.5, 2.0, 2.0]);
    assert!(tape.value(y)[3].is_nan());
    let sum = tape.sum(y);
    tape.backward(sum);
    assert_eq!(tape.gradient(x)[..3], [-0.0625, 0.0, 0.0]);
}

#[test]
#[should_panic(expected = "(2, 3) · (2, 3) is no product")]
fn shapes_that_do_not_fit_are_named() {
    let mut tape = Tape::new();
    let x = tape.constant(2, 3, &[0.0; 6]);
    tape.matmul(x, x);
}

/// With the loss `b w²/2` at `w = 3`, the anchor 1 and the strength 0.5: `3 b + 0.5 (3 − 1)`;
/// buffers are not pulled.
#[test]
fn a_proximal_term_pulls_what_learns_towards_its_anchor() {
    let mut layout = Layout::new();
    layout.buffer("buffer", 1, 1, Init::Zeros);
    let weight = layout.weight("weight", 1, 1, Init::Zeros);
    let mut tape = Tape::new();
    tape.load(&layout, &[3.0, 7.0]);
    let square = tape.square(weight.var());
    let loss = tape.scale(2.0, square);
    tape.backward(loss);
    tape.add_proximal(0.5, &[1.0, -100.0]);
    assert_eq!(tape.gradient(weight.var()), [13.0]);
    tape.add_proximal(1.0, &[4.0]);
    assert_eq!(tape.parameters_mut(), (&mut [3.0][..], &[12.0][..]));
}
