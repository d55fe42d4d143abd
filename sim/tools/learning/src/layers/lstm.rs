//! Long short-term memory, in one direction or both.
//!
//! S. Hochreiter and J. Schmidhuber 1997, with the forget gates of F. Gers et al. 2000.

use crate::{Init, Layout, Parameter, Tape, Var};

/// One direction: `gates = x W_ih + b_ih + h W_hh + b_hh`, in the order input, forget, cell,
/// output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// `(n_in, 4 n_hidden)`
    pub weight_ih: Parameter,
    /// `(n_hidden, 4 n_hidden)`
    pub weight_hh: Parameter,
    /// `(1, 4 n_hidden)`
    pub bias_ih: Parameter,
    /// `(1, 4 n_hidden)`
    pub bias_hh: Parameter,
}

/// An LSTM that starts from zero states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lstm {
    /// From the first step to the last.
    pub forwards: Direction,
    /// From the last to the first.
    pub backwards: Option<Direction>,
}

impl Lstm {
    /// Adds `name.weight_ih`, `name.weight_hh`, `name.bias_ih` and `name.bias_hh`, all uniform in
    /// ±`1 / sqrt(n_hidden)`.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_hidden: usize) -> Lstm {
        let forwards = Direction::new(layout, name, "", n_in, n_hidden);
        Lstm {
            forwards,
            backwards: None,
        }
    }

    /// The same, and with the names' ending `_reverse` for the other direction.
    pub fn bidirectional(layout: &mut Layout, name: &str, n_in: usize, n_hidden: usize) -> Lstm {
        let forwards = Direction::new(layout, name, "", n_in, n_hidden);
        let backwards = Direction::new(layout, name, "_reverse", n_in, n_hidden);
        Lstm {
            forwards,
            backwards: Some(backwards),
        }
    }

    /// The states of one or both directions: `x` has shape `(n_steps · n_sequences, n_in)`, step
    /// after step, each result `(n_steps · n_sequences, n_hidden)` in the same order; see
    /// [`Tape::lstm`].
    pub fn states(&self, tape: &mut Tape<'_>, x: Var, n_steps: usize) -> (Var, Option<Var>) {
        let forwards = self.forwards.states(tape, x, n_steps, false);
        (
            forwards,
            self.backwards.map(|direction| direction.states(tape, x, n_steps, true)),
        )
    }

    /// Each sequence's last state, that of the backward direction beside it:
    /// `(n_sequences, n_hidden)` or twice as wide.
    pub fn last(&self, tape: &mut Tape<'_>, x: Var, n_steps: usize) -> Var {
        let (forwards, backwards) = self.states(tape, x, n_steps);
        let n_sequences = tape.shape(forwards).0 / n_steps;
        let last = tape.slice_rows(forwards, (n_steps - 1) * n_sequences, n_sequences);
        let Some(backwards) = backwards else { return last };
        let first = tape.slice_rows(backwards, 0, n_sequences);
        tape.concat_columns(&[last, first])
    }

    /// The same for sequences of different lengths; `x` has shape `(Σ lengths, n_in)`, sequence
    /// after sequence. See [`Tape::lstm_last`].
    pub fn last_of(&self, tape: &mut Tape<'_>, x: Var, lengths: &[usize]) -> Var {
        let last = self.forwards.last_of(tape, x, lengths, false);
        let Some(backwards) = self.backwards else { return last };
        let first = backwards.last_of(tape, x, lengths, true);
        tape.concat_columns(&[last, first])
    }
}

impl Direction {
    fn new(layout: &mut Layout, name: &str, end: &str, n_in: usize, n_hidden: usize) -> Direction {
        let mut weight =
            |part: &str, rows| layout.weight(format!("{name}.{part}{end}"), rows, 4 * n_hidden, Init::FanIn(n_hidden));
        Direction {
            weight_ih: weight("weight_ih", n_in),
            weight_hh: weight("weight_hh", n_hidden),
            bias_ih: weight("bias_ih", 1),
            bias_hh: weight("bias_hh", 1),
        }
    }

    fn states(&self, tape: &mut Tape<'_>, x: Var, n_steps: usize, reverse: bool) -> Var {
        let gates = tape.linear(x, self.weight_ih.var(), Some(self.bias_ih.var()), false);
        let gates = tape.add_row(gates, self.bias_hh.var(), false);
        tape.lstm(gates, self.weight_hh.var(), n_steps, reverse)
    }

    fn last_of(&self, tape: &mut Tape<'_>, x: Var, lengths: &[usize], reverse: bool) -> Var {
        let weights = [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh];
        tape.lstm_last(x, weights.map(Parameter::var), lengths, reverse)
    }
}
