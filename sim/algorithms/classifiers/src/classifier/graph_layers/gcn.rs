//! Graph convolution.

use super::{GraphLayers, Layer, Propagation, Widths};
use folkmoot_learning::layers::{self, Mode};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};
use folkmoot_parts::component;

/// Graph convolution (Kipf & Welling 2017).
#[component(name = "Gcn", about = "graph convolution (Kipf & Welling 2017)")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcn {}

impl GraphLayers for Gcn {
    fn propagation(&self) -> Propagation {
        Propagation::Normalised { self_loops: true }
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        Box::new(layers::Gcn::new(layout, name, widths.n_in, widths.n_out))
    }

    fn begins_with_sums(&self, n_in: usize, n_out: usize) -> bool {
        layers::Gcn::sums_first(n_in, n_out)
    }

    fn reads_sums_alone(&self) -> bool {
        true
    }
}

impl Layer for layers::Gcn {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        layers::Gcn::forward(self, tape, adjacency, x)
    }

    fn forward_relu<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        layers::Gcn::forward_relu(self, tape, adjacency, x)
    }

    fn forward_from_sums<'g>(
        &self,
        tape: &mut Tape<'g>,
        sums: Var,
        _: &mut dyn FnMut(&mut Tape<'g>) -> Var,
        relu: bool,
    ) -> Var {
        layers::Gcn::forward_from_sums(self, tape, sums, relu)
    }

    fn n_hops(&self) -> Option<usize> {
        Some(1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.weight])
    }

    fn of_sums(&self) -> Option<(Parameter, Parameter)> {
        Some((self.weight, self.bias?))
    }
}
