//! First-order k-GNN.

use super::{GraphLayers, Layer, Propagation, Widths};
use folkmoot_learning::layers::{self, Mode};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};
use folkmoot_parts::component;

/// First-order k-GNN (Morris et al. 2019).
#[component(name = "GraphConv", about = "first-order k-GNN (Morris et al. 2019)")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphConv {}

impl GraphLayers for GraphConv {
    fn propagation(&self) -> Propagation {
        Propagation::Adjacency
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        Box::new(layers::GraphConv::new(layout, name, widths.n_in, widths.n_out))
    }
}

impl Layer for layers::GraphConv {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        layers::GraphConv::forward(self, tape, adjacency, x)
    }

    fn n_hops(&self) -> Option<usize> {
        Some(1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.relation.weight, self.root.weight])
    }
}
