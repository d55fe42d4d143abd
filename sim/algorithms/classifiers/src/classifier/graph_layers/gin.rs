//! Graph isomorphism networks.

use super::{GraphLayers, Layer, Propagation, Widths};
use folkmoot_learning::layers::{self, Mode};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};
use folkmoot_parts::component;

/// Graph isomorphism network with a fixed epsilon of 0 (Xu et al. 2019).
#[component(
    name = "Gin",
    about = "graph isomorphism network with a fixed epsilon of 0 (Xu et al. 2019)"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gin {}

/// GIN with batch normalisation inside each layer's MLP. Its running statistics are sent and
/// averaged with the weights.
#[component(
    name = "GinBatchNorm",
    about = "GIN with batch normalisation inside each layer's MLP; running statistics are sent and averaged with the weights"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GinBatchNorm {}

impl GraphLayers for Gin {
    fn propagation(&self) -> Propagation {
        Propagation::Adjacency
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        Box::new(gin(layout, name, widths))
    }
}

impl GraphLayers for GinBatchNorm {
    fn propagation(&self) -> Propagation {
        Propagation::Adjacency
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        Box::new(gin(layout, name, widths).with_batch_norm(layout, name, widths.hidden))
    }

    fn has_statistics(&self) -> bool {
        true
    }
}

fn gin(layout: &mut Layout, name: &str, widths: &Widths) -> layers::Gin {
    layers::Gin::new(layout, name, widths.n_in, widths.hidden, widths.n_out)
}

impl Layer for layers::Gin {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, mode): (Var, Mode)) -> Var {
        layers::Gin::forward(self, tape, adjacency, x, mode)
    }

    fn forward_relu<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, mode): (Var, Mode)) -> Var {
        layers::Gin::forward_relu(self, tape, adjacency, x, mode)
    }

    fn n_hops(&self) -> Option<usize> {
        // A batch normalisation looks at all.
        self.norm.is_none().then_some(1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.first.weight])
    }
}
