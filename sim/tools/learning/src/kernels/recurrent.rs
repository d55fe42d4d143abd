//! The gates of an LSTM.

use multiversion::multiversion;

use super::functions::{sigmoid, tanh};

/// Opens the gates `(i, f, g, o)` in place, moves the cell, and writes its tanh and the hidden
/// state.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn lstm_step(gates: &mut [f32], cell: &mut [f32], bent: &mut [f32], hidden: &mut [f32]) {
    let h = cell.len();
    let (input, rest) = gates.split_at_mut(h);
    let (forget, rest) = rest.split_at_mut(h);
    let (fresh, output) = rest.split_at_mut(h);
    for gate in [&mut *input, &mut *forget, &mut *output] {
        gate.iter_mut().for_each(|x| *x = sigmoid(*x));
    }
    fresh.iter_mut().for_each(|x| *x = tanh(*x));
    for (((cell, input), forget), fresh) in cell.iter_mut().zip(input).zip(forget).zip(fresh) {
        *cell = forget.mul_add(*cell, *input * *fresh);
    }
    for (((cell, bent), hidden), output) in cell.iter().zip(bent).zip(hidden).zip(output) {
        *bent = tanh(*cell);
        *hidden = *output * *bent;
    }
}

/// What [`lstm_step`] left: open gates and the cell's tanh; and the cell before the step, empty for
/// 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open<'a> {
    pub(crate) gates: &'a [f32],
    pub(crate) bent: &'a [f32],
    pub(crate) before: &'a [f32],
}

/// From the gradients by hidden state and cell: those by the gates before they opened, and by the
/// cell before the step.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn lstm_step_back(open: &Open<'_>, by_hidden: &[f32], by_cell: &mut [f32], slopes: &mut [f32]) {
    let h = by_cell.len();
    let (input, rest) = open.gates.split_at(h);
    let (forget, rest) = rest.split_at(h);
    let (fresh, output) = rest.split_at(h);
    let (by_input, rest) = slopes.split_at_mut(h);
    let (by_forget, rest) = rest.split_at_mut(h);
    let (by_fresh, by_output) = rest.split_at_mut(h);
    let (bent, by_hidden) = (&open.bent[..h], &by_hidden[..h]);
    for j in 0..h {
        let (i, g, o, c) = (input[j], fresh[j], output[j], bent[j]);
        by_output[j] = by_hidden[j] * c * (o * (1.0 - o));
        by_cell[j] = (by_hidden[j] * o).mul_add((-c).mul_add(c, 1.0), by_cell[j]);
        by_input[j] = by_cell[j] * g * (i * (1.0 - i));
        by_fresh[j] = by_cell[j] * i * (-g).mul_add(g, 1.0);
    }
    if open.before.is_empty() {
        by_forget.fill(0.0);
        return;
    }
    let before = &open.before[..h];
    for j in 0..h {
        by_forget[j] = by_cell[j] * before[j] * (forget[j] * (1.0 - forget[j]));
        by_cell[j] *= forget[j];
    }
}
