//! The recurrence of an LSTM over several sequences at once (S. Hochreiter and J. Schmidhuber 1997,
//! with forget gates).

use super::backward::Back;
use super::op::Op;
use super::products::room;
use super::{Tape, Var};
use crate::kernels::product::{Rows, RowsMut, Shape, product, product_transposed, transpose};
use crate::kernels::{elementwise, recurrent};

/// The steps in the order of the recurrence, each with the one before it.
fn steps(n_steps: usize, reverse: bool) -> impl DoubleEndedIterator<Item = (usize, Option<usize>)> {
    let at = move |k: usize| if reverse { n_steps - 1 - k } else { k };
    (0..n_steps).map(move |k| (at(k), k.checked_sub(1).map(at)))
}

impl Tape<'_> {
    /// `(i, f, g, o) = gates_t + h_{t−1} w`, `c_t = σ(f) c_{t−1} + σ(i) tanh(g)`,
    /// `h_t = σ(o) tanh(c_t)`, from 0.
    ///
    /// `gates` has shape `(n_steps · n_sequences, 4 h)`, step after step, and holds what the inputs
    /// and biases give; `w` has shape `(h, 4 h)`. The result has shape
    /// `(n_steps · n_sequences, h)`: the hidden states. If `reverse`, time runs backwards, so the
    /// last state is the first row of the result.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn lstm(&mut self, gates: Var, w: Var, n_steps: usize, reverse: bool) -> Var {
        let ((rows, columns), (h, columns_w)) = (self.shape(gates), self.shape(w));
        assert!(
            columns == 4 * h && columns_w == columns,
            "there are four gates a hidden unit"
        );
        assert!(
            n_steps > 0 && rows.is_multiple_of(n_steps),
            "every step has a row for each sequence"
        );
        let n = rows / n_steps;
        let needs = self.needs_gradient(gates) || self.needs_gradient(w);
        let op = Op::Lstm {
            gates,
            w,
            n_steps: n_steps as u32,
            reverse,
        };
        // Behind the hidden states: the open gates, the cells and their tanh.
        let var = self.push_with(op, rows, h, needs, rows * 6 * h);
        let to = self.open(var);
        let (gates, w) = (to.operand(gates), to.operand(w));
        let (open, rest) = to.aux.split_at_mut(rows * 4 * h);
        let (cells, bent) = rest.split_at_mut(rows * h);
        open.copy_from_slice(gates);
        for (t, before) in steps(n_steps, reverse) {
            let now = t * n * h..(t + 1) * n * h;
            let open = &mut open[4 * now.start..4 * now.end];
            if let Some(before) = before {
                let hidden = Rows {
                    data: &to.y[before * n * h..][..n * h],
                    stride: h,
                };
                let z = RowsMut {
                    data: open,
                    stride: 4 * h,
                    add: true,
                };
                product(
                    Shape { m: n, k: h, n: 4 * h },
                    hidden,
                    Rows { data: w, stride: 4 * h },
                    z,
                );
                cells.copy_within(before * n * h..(before + 1) * n * h, now.start);
            } else {
                cells[now.clone()].fill(0.0);
            }
            let rows = open.chunks_exact_mut(4 * h).zip(cells[now.clone()].chunks_exact_mut(h));
            let rows = rows
                .zip(bent[now.clone()].chunks_exact_mut(h))
                .zip(to.y[now].chunks_exact_mut(h));
            for (((open, cell), bent), hidden) in rows {
                recurrent::lstm_step(open, cell, bent, hidden);
            }
        }
        var
    }

    /// The cells `c_t` behind the hidden states of an [`lstm`](Self::lstm), of the same shape.
    ///
    /// # Panics
    /// If `states` is something else.
    pub fn lstm_cells(&self, states: Var) -> &[f32] {
        let entry = &self.entries[states.0 as usize];
        match (entry.op, entry.place) {
            (Op::Lstm { .. }, super::Place::Arena(at)) => &self.values[at + 5 * entry.len()..][..entry.len()],
            _ => panic!("only an LSTM has cells"),
        }
    }
}

pub(super) fn lstm_back(back: &mut Back<'_, '_>, gates: Var, w: Var, n_steps: u32, reverse: bool, gy: &mut [f32]) {
    let ((rows, h), w_value, (y, aux)) = (back.result_shape(), back.value(w), back.result());
    let n_steps = n_steps as usize;
    let n = rows / n_steps;
    let (open, rest) = aux.split_at(rows * 4 * h);
    let (cells, bent) = rest.split_at(rows * h);
    let mut scratch = std::mem::take(back.scratch);
    let (turned, rest) = room(&mut scratch, (4 * h + 4 * rows + n) * h).split_at_mut(4 * h * h);
    let w_rows = Rows {
        data: w_value,
        stride: 4 * h,
    };
    let to = RowsMut {
        data: turned,
        stride: h,
        add: false,
    };
    transpose(w_rows, h, 4 * h, to);
    let (slopes, by_cell) = rest.split_at_mut(4 * rows * h);
    let by_cell = &mut by_cell[..n * h];
    by_cell.fill(0.0);
    for (t, before) in steps(n_steps, reverse).rev() {
        let now = t * n * h..(t + 1) * n * h;
        let zeros = &[][..];
        for i in 0..n {
            let own = now.start + i * h..now.start + (i + 1) * h;
            let four = 4 * own.start..4 * own.end;
            let before = before.map_or(zeros, |before| &cells[(before * n + i) * h..][..h]);
            let open = recurrent::Open {
                gates: &open[four.clone()],
                bent: &bent[own.clone()],
                before,
            };
            recurrent::lstm_step_back(&open, &gy[own], &mut by_cell[i * h..][..h], &mut slopes[four]);
        }
        if let Some(before) = before {
            let slopes = Rows {
                data: &slopes[4 * now.start..4 * now.end],
                stride: 4 * h,
            };
            let gh = RowsMut {
                data: &mut gy[before * n * h..][..n * h],
                stride: h,
                add: true,
            };
            product(
                Shape { m: n, k: 4 * h, n: h },
                slopes,
                Rows {
                    data: turned,
                    stride: h,
                },
                gh,
            );
        }
    }
    if let Some(gradient) = back.gradient(gates) {
        elementwise::add_scaled(gradient, 1.0, slopes);
    }
    if let Some(gradient) = back.gradient(w) {
        // Every state but the last of the recurrence meets the slopes of the step after it.
        let later = (n_steps - 1) * n;
        let (hidden, slopes) = match reverse {
            false => (&y[..later * h], &slopes[n * 4 * h..]),
            true => (&y[n * h..], &slopes[..later * 4 * h]),
        };
        let shape = Shape {
            m: h,
            k: later,
            n: 4 * h,
        };
        let gradient = RowsMut {
            data: gradient,
            stride: 4 * h,
            add: true,
        };
        product_transposed(
            shape,
            Rows {
                data: hidden,
                stride: h,
            },
            Rows {
                data: slopes,
                stride: 4 * h,
            },
            gradient,
        );
    }
    *back.scratch = scratch;
}
