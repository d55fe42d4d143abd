//! What every model does first: graph layers over a device's own graph.

use super::Drops;
use super::h2mn::Hyperedges;
use crate::options::{Convolution, Form, Size};
use folkmoot_graphs::{Features, Graph};
use folkmoot_learning::layers::{Gcn, Gin, Mode};
use folkmoot_learning::{Csr, DegreeRule, Layout, Tape, Var};
use std::ops::Range;
use std::sync::OnceLock;

/// A graph as models read it.
#[derive(Clone, Debug)]
pub struct Input {
    pub(super) csr: Csr,
    pub(super) features: Vec<f32>,
    /// Computed at first use.
    hyperedges: OnceLock<Hyperedges>,
}

/// Equal if matrix and features are, since the rest follows from them.
impl PartialEq for Input {
    fn eq(&self, other: &Input) -> bool {
        self.csr == other.csr && self.features == other.features
    }
}

impl Input {
    /// A graph with the features of its nodes, which are rows `nodes` of `features`.
    ///
    /// Undirected, the propagation is `D^−1/2 (A + I) D^−1/2` of the graph without directions, a
    /// block that follows itself being an arc like any other. With `directed` a node reads its
    /// successors alone, divided by the roots of both nodes' numbers of successors, of which none
    /// counts as one. GIN adds neighbours up without any factor.
    pub fn new(graph: &Graph, features: &Features, nodes: Range<usize>, form: &Form) -> Input {
        let n = graph.n_nodes() as u32;
        // A row of the matrix reads the sources of the arcs that lead to it.
        let mut arcs: Vec<(u32, u32)> = graph.arcs().map(|(from, to)| (to, from)).collect();
        if !form.directed && graph.is_directed() {
            arcs.extend(graph.arcs());
            arcs.sort_unstable();
            arcs.dedup();
        }
        let csr = Csr::from_arcs(n, &arcs, None).expect("a graph's arcs lead to its nodes");
        let looped = match form.self_loops && form.convolution == Convolution::Gcn {
            true => csr.with_self_loops(),
            false => csr,
        };
        let csr = match (form.convolution, form.directed) {
            (Convolution::Gin, _) => looped,
            (Convolution::Gcn, false) => looped.normalised(DegreeRule::Masked),
            (Convolution::Gcn, true) => clamped(&looped),
        };
        Input::from_parts(csr, features, nodes)
    }

    fn from_parts(csr: Csr, features: &Features, nodes: Range<usize>) -> Input {
        let width = features.n_columns();
        let mut rows = vec![0.0; nodes.len() * width];
        for (row, node) in rows.chunks_exact_mut(width.max(1)).zip(nodes) {
            features.write_row(node as u32, row);
        }
        Input::from_csr(csr, rows)
    }

    /// A graph by the matrix that it propagates with and its features, of shape
    /// `(n_nodes, n_features)`.
    ///
    /// # Panics
    ///
    /// If the matrix is not square, or the features are no rows of equal length.
    pub fn from_csr(csr: Csr, features: Vec<f32>) -> Input {
        assert!(
            csr.n_rows() == csr.n_columns() && features.len().is_multiple_of(csr.n_rows().max(1)),
            "each node has a row of features"
        );
        Input {
            csr,
            features,
            hyperedges: OnceLock::new(),
        }
    }

    /// How many nodes it has.
    pub fn n_nodes(&self) -> usize {
        self.csr.n_rows()
    }

    /// Whether an arc leads from one node to another.
    pub(crate) fn has_arc(&self, from: usize, to: usize) -> bool {
        self.csr.columns()[self.csr.range(to)]
            .binary_search(&(from as u32))
            .is_ok()
    }

    /// How many numbers a node brings.
    pub(crate) fn n_features(&self) -> usize {
        self.features.len() / self.n_nodes().max(1)
    }

    /// One feature of every node.
    pub(crate) fn feature(&self, at: usize) -> impl Iterator<Item = f32> {
        self.features.iter().skip(at).step_by(self.n_features().max(1)).copied()
    }

    /// How many pairs of different nodes an arc joins.
    pub(crate) fn n_edges(&self) -> usize {
        let joined = |row: usize, column: usize| row < column || (row > column && !self.has_arc(row, column));
        let columns = |row: usize| {
            self.csr.columns()[self.csr.range(row)]
                .iter()
                .map(move |&column| (row, column as usize))
        };
        (0..self.n_nodes())
            .flat_map(columns)
            .filter(|(row, column)| joined(*row, *column))
            .count()
    }

    /// The mean of every feature over its nodes.
    pub(crate) fn mean_features(&self) -> Vec<f64> {
        let mean = |at| self.feature(at).map(f64::from).sum::<f64>() / self.n_nodes().max(1) as f64;
        (0..self.n_features()).map(mean).collect()
    }

    /// The same with isolated nodes of zeros up to `n_nodes`.
    pub(crate) fn padded(&self, n_nodes: usize) -> Input {
        let more = n_nodes.saturating_sub(self.n_nodes());
        let none = Csr::from_arcs(more as u32, &[], None).expect("there is no arc");
        let mut features = self.features.clone();
        features.resize(
            features.len() + more * self.features.len().checked_div(self.n_nodes()).unwrap_or(0),
            0.0,
        );
        Input::from_csr(Csr::block_diagonal([&self.csr, &none]), features)
    }

    /// Each node with the nodes that it propagates from.
    pub(super) fn hyperedges(&self) -> &Hyperedges {
        self.hyperedges.get_or_init(|| Hyperedges::new(&self.csr))
    }

    /// The features on a tape.
    pub(super) fn on<'g>(&'g self, tape: &mut Tape<'g>) -> Var {
        let n = self.n_nodes();
        tape.input(n, self.features.len().checked_div(n).unwrap_or(0), &self.features)
    }
}

/// `D^−1/2 A D^−1/2`, the rows of `A` being those of `csr`, with degrees of at least 1.
fn clamped(csr: &Csr) -> Csr {
    let factor = |node: usize| 1.0 / (csr.range(node).len().max(1) as f32).sqrt();
    let entries: Vec<(u32, u32, f32)> = (0..csr.n_rows())
        .flat_map(|row| csr.range(row).map(move |at| (row, csr.columns()[at])))
        .map(|(row, column)| (row as u32, column, factor(row) * factor(column as usize)))
        .collect();
    Csr::from_entries(csr.n_rows() as u32, csr.n_columns() as u32, &entries).expect("the entries are those of a matrix")
}

#[derive(Clone, Debug)]
enum Layer {
    Gcn(Gcn),
    Gin(Gin),
}

/// `H^(l) = relu(S H^(l-1) W^l + b^l)`, or the same with GIN.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    layers: Vec<Layer>,
    dropout: f32,
}

impl Encoder {
    pub(super) fn new(layout: &mut Layout, size: &Size, form: &Form, n_features: usize) -> Encoder {
        let hidden = size.hidden as usize;
        let layer = |l: u32| {
            let (name, n_in) = (format!("convs.{l}"), if l == 0 { n_features } else { hidden });
            match form.convolution {
                Convolution::Gcn => Layer::Gcn(Gcn::new(layout, &name, n_in, hidden)),
                Convolution::Gin => Layer::Gin(Gin::new(layout, &name, n_in, hidden, hidden)),
            }
        };
        Encoder {
            layers: (0..size.layers).map(layer).collect(),
            dropout: form.dropout,
        }
    }

    /// The nodes after every layer, each of shape `(n_nodes, hidden)`, handed to `each`; the last
    /// is returned.
    pub(super) fn forward<'g>(
        &self,
        tape: &mut Tape<'g>,
        graph: &'g Input,
        mut drops: Drops<'_>,
        mut each: impl FnMut(Var),
    ) -> Var {
        let mut h = graph.on(tape);
        for layer in &self.layers {
            h = match layer {
                Layer::Gcn(gcn) => gcn.forward_relu(tape, (&graph.csr).into(), h),
                Layer::Gin(gin) => gin.forward_relu(tape, (&graph.csr).into(), h, Mode::Train),
            };
            if let (Some(rng), true) = (drops.as_deref_mut(), self.dropout > 0.0) {
                h = tape.dropout(h, self.dropout, rng);
            }
            each(h);
        }
        h
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_counted_once_and_a_loop_not_at_all() {
        let csr = Csr::from_arcs(4, &[(0, 1), (1, 0), (1, 2), (3, 1), (3, 3)], None).unwrap();
        let input = Input::from_csr(csr, vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 6.0, 60.0]);
        assert_eq!((input.n_edges(), input.n_features()), (3, 2));
        assert_eq!(input.mean_features(), [3.0, 30.0]);
    }
}
