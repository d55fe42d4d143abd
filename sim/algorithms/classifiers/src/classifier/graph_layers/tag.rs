//! Topology-adaptive convolution.

use super::{GraphLayers, Layer, Propagation, Widths};
use folkmoot_learning::layers::{self, Mode};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};
use folkmoot_parts::component;

/// Topology-adaptive convolution (Du et al. 2017).
#[component(name = "Tag", about = "topology-adaptive convolution (Du et al. 2017)")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Number of hops K.
    #[component(default = 3, in = 1..=16)]
    pub hops: u32,
}

impl GraphLayers for Tag {
    fn propagation(&self) -> Propagation {
        Propagation::Normalised { self_loops: false }
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        let (n_in, n_out) = (widths.n_in, widths.n_out);
        Box::new(layers::Tag::new(layout, name, n_in, n_out, self.hops as usize))
    }
}

impl Layer for layers::Tag {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        layers::Tag::forward(self, tape, adjacency, x)
    }

    fn n_hops(&self) -> Option<usize> {
        Some(self.weights.len() - 1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(self.weights.clone())
    }
}
