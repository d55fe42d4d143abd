//! GraphSAGE.

use super::{GraphLayers, Layer, Propagation, Widths};
use folkmoot_learning::layers::{self, Mode};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};
use folkmoot_parts::component;

/// GraphSAGE with mean aggregation (Hamilton et al. 2017).
#[component(name = "Sage", about = "GraphSAGE with mean aggregation (Hamilton et al. 2017)")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sage {}

impl GraphLayers for Sage {
    fn propagation(&self) -> Propagation {
        Propagation::Means
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        Box::new(layers::Sage::new(layout, name, widths.n_in, widths.n_out))
    }

    fn begins_with_sums(&self, _: usize, _: usize) -> bool {
        true
    }
}

impl Layer for layers::Sage {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        layers::Sage::forward(self, tape, adjacency, x)
    }

    fn forward_from_sums<'g>(
        &self,
        tape: &mut Tape<'g>,
        means: Var,
        inputs: &mut dyn FnMut(&mut Tape<'g>) -> Var,
        relu: bool,
    ) -> Var {
        let x = inputs(tape);
        let y = self.forward_from_means(tape, means, x);
        if relu { tape.relu(y) } else { y }
    }

    fn n_hops(&self) -> Option<usize> {
        Some(1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.neighbours.weight, self.own.weight])
    }
}
