//! Operations on batches compared with the single operations that define them.

use folkmoot_draws::{SeedableRng, SimRng};

use super::{drawn, weigh};
use crate::tape::{Tape, Var};

/// A value, and the gradients of its weighted sum with respect to some variables.
fn traced(tape: &mut Tape<'_>, y: Var, of: &[Var]) -> (Vec<f32>, Vec<Vec<f32>>) {
    let loss = weigh(tape, y);
    tape.backward(loss);
    let gradients = of.iter().map(|var| tape.gradient(*var).to_vec()).collect();
    (tape.value(y).to_vec(), gradients)
}

/// Equal except for the rounding of sums in another order.
#[track_caller]
fn near(found: &[Vec<f32>], exact: &[Vec<f32>]) {
    for (found, exact) in found.iter().zip(exact) {
        let size = exact.iter().fold(0.0, |size: f32, x| size.max(x.abs()));
        for (at, (x, y)) in found.iter().zip(exact).enumerate() {
            assert!((x - y).abs() <= 1e-5 * size, "element {at}: {x} and {y}");
        }
    }
}

/// Lengths, inputs and weights of an LSTM.
fn sequences(lengths: &[usize], d: usize, h: usize) -> [(usize, usize, Vec<f32>); 5] {
    let mut rng = SimRng::seed_from_u64(5);
    let shapes = [
        (lengths.iter().sum(), d),
        (d, 4 * h),
        (h, 4 * h),
        (1, 4 * h),
        (1, 4 * h),
    ];
    shapes.map(|(rows, columns)| (rows, columns, drawn(&mut rng, rows * columns, 0.6)))
}

/// The last states of sequences by [`Tape::lstm_last`], and one after the other by [`Tape::lstm`],
/// each with the gradients with respect to inputs and weights.
fn both_ways(lengths: &[usize], reverse: bool) -> [(Vec<f32>, Vec<Vec<f32>>); 2] {
    let operands = sequences(lengths, 5, 7);
    [true, false].map(|together| {
        let mut tape = Tape::new();
        let vars = operands
            .each_ref()
            .map(|(rows, columns, data)| tape.variable(*rows, *columns, data));
        let [x, w_ih, w_hh, b_ih, b_hh] = vars;
        let last = match together {
            true => tape.lstm_last(x, [w_ih, w_hh, b_ih, b_hh], lengths, reverse),
            false => {
                let mut first = 0;
                let alone = lengths.iter().map(|&n| {
                    let steps = tape.slice_rows(x, first, n);
                    first += n;
                    let gates = tape.linear(steps, w_ih, Some(b_ih), false);
                    let gates = tape.add_row(gates, b_hh, false);
                    let states = tape.lstm(gates, w_hh, n, reverse);
                    tape.slice_rows(states, if reverse { 0 } else { n - 1 }, 1)
                });
                let alone: Vec<Var> = alone.collect();
                tape.concat_rows(&alone)
            }
        };
        traced(&mut tape, last, &vars)
    })
}

#[test]
fn last_states_of_a_batch_are_those_of_its_sequences() {
    for reverse in [false, true] {
        let [together, alone] = both_ways(&[4, 9, 1, 9, 6], reverse);
        assert_eq!(together.0, alone.0);
        near(&together.1, &alone.1);
    }
}

/// Far from the end of a sequence the exact gradient fades and becomes subnormal. The cut one is 0
/// there, and is equal elsewhere.
#[test]
fn gradients_that_fade_away_are_0_and_none_is_subnormal() {
    for reverse in [false, true] {
        let [together, alone] = both_ways(&[300, 3], reverse);
        let (cut, exact) = (&together.1[0], &alone.1[0]);
        let subnormal = |x: &&f32| x.is_subnormal();
        assert!(exact.iter().any(|x| subnormal(&x)) && !cut.iter().any(|x| subnormal(&x)));
        let n_zeros = |all: &[f32]| all.iter().filter(|x| **x == 0.0).count();
        let n = cut.len();
        assert!((n / 2..n - 5 * 20).contains(&n_zeros(cut)) && n_zeros(exact) < n_zeros(cut));
        near(&together.1, &alone.1);
    }
}

/// A row of zeros and a row below the least length are among the operands.
#[test]
fn perspectives_are_those_of_single_operations_and_of_each_pair_alone() {
    let (d, k) = (6, 5);
    let mut rng = SimRng::seed_from_u64(6);
    let shapes = [(4, d), (7, d), (k, d)];
    let mut values = shapes.map(|(rows, columns)| drawn(&mut rng, rows * columns, 1.0));
    values[0][..d].fill(0.0);
    values[1][..d].fill(1e-5);
    let run = |f: &dyn Fn(&mut Tape<'_>, [Var; 3]) -> Var| {
        let mut tape = Tape::new();
        let mut at = shapes.iter().zip(&values);
        let vars = [(); 3].map(|()| {
            let ((rows, columns), data) = at.next().expect("there are three");
            tape.variable(*rows, *columns, data)
        });
        let y = f(&mut tape, vars);
        traced(&mut tape, y, &vars)
    };
    let fused = run(&|tape, [x, y, w]| tape.perspectives(&[x, y], &[y, x], w));
    let single = run(&|tape, [x, y, w]| {
        let parts = [(x, y), (y, x)].map(|(x, y)| {
            let ones = tape.constant_with(1, d, |row| row.fill(1.0));
            let directions = [x, y].map(|rows| {
                let squares = tape.square(rows);
                let squares = tape.matmul_transposed(squares, ones);
                let by_length = tape.reciprocal_root(1e-6, squares);
                let by_length = tape.matmul(by_length, ones);
                tape.multiply(rows, by_length)
            });
            let cosines = tape.matmul_transposed(directions[0], directions[1]);
            let shares = tape.relu(cosines);
            let attended = tape.matmul(shares, y);
            let attended = tape.scale(1.0 / tape.shape(y).0 as f32, attended);
            let weights = tape.square(w);
            let product = tape.multiply(x, attended);
            let mut cosines = tape.matmul_transposed(product, weights);
            for rows in [x, attended] {
                let squares = tape.square(rows);
                let squares = tape.matmul_transposed(squares, weights);
                let by_length = tape.reciprocal_root(1e-6, squares);
                cosines = tape.multiply(cosines, by_length);
            }
            cosines
        });
        tape.concat_rows(&parts)
    });
    near(std::slice::from_ref(&fused.0), &[single.0]);
    near(&fused.1, &single.1);
    let alone = run(&|tape, [x, y, w]| {
        let parts = [(x, y), (y, x)].map(|(x, y)| tape.perspectives(&[x], &[y], w));
        tape.concat_rows(&parts)
    });
    assert_eq!(fused.0, alone.0);
}
