//! From nodes to graphs.

use crate::{Tape, Var};

/// How the rows of a graph's nodes become one row; of no nodes it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readout {
    Sum,
    Mean,
    /// The largest of each column.
    Max,
}

impl Readout {
    /// Graph `i` has the rows `bounds[i]..bounds[i + 1]`, or all if there are no bounds; shape
    /// `(n_graphs, columns)`.
    ///
    /// # Panics
    /// If the bounds do not ascend from 0 to the number of rows.
    pub fn forward<'g>(self, tape: &mut Tape<'g>, x: Var, bounds: Option<&'g [u32]>) -> Var {
        match self {
            Readout::Sum => tape.segment_sum(x, bounds),
            Readout::Mean => tape.segment_mean(x, bounds),
            Readout::Max => tape.segment_max(x, bounds),
        }
    }
}
