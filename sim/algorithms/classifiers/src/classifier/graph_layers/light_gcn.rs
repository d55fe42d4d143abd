//! LightGCN.

use super::{GraphLayers, Layer, Propagation, Widths};
use folkmoot_learning::layers::{Linear, Mode, light_gcn};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};
use folkmoot_parts::component;

/// LightGCN: a linear layer, then weight-free propagation (He et al. 2020).
#[component(
    name = "LightGcn",
    about = "LightGCN: a linear layer, then weight-free propagation (He et al. 2020)"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightGcn {}

/// The linear layer, then so many propagations.
struct Propagated(Linear, usize);

impl GraphLayers for LightGcn {
    fn propagation(&self) -> Propagation {
        Propagation::Normalised { self_loops: false }
    }

    /// One, which makes all propagations.
    fn n_made(&self, _: usize) -> usize {
        1
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        let linear = Linear::new(layout, name, widths.n_in, widths.n_out);
        Box::new(Propagated(linear, widths.n_layers))
    }
}

impl Layer for Propagated {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        let h = self.0.forward(tape, x);
        light_gcn(tape, adjacency, h, self.1)
    }

    /// Nothing here bends: LightGCN is linear.
    fn forward_relu<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, input: (Var, Mode)) -> Var {
        Layer::forward(self, tape, adjacency, input)
    }

    fn n_hops(&self) -> Option<usize> {
        Some(self.1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.0.weight])
    }
}
