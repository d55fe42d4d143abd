//! Graph attention.

use super::{GraphLayers, Layer, Propagation, Widths, arcs};
use crate::classifier::Model;
use folkmoot_learning::layers::{self, Heads, Mode};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};
use folkmoot_parts::{Rules, component};

/// Graph attention with concatenated heads (Veličković et al. 2018). The heads of a last layer that
/// gives the logits are averaged.
#[component(
    name = "Gat",
    about = "graph attention with concatenated heads (Veličković et al. 2018)"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gat {
    /// Number of attention heads; must divide `hidden`.
    #[component(default = 4, in = 1..=64)]
    pub heads: u32,
}

impl GraphLayers for Gat {
    fn propagation(&self) -> Propagation {
        Propagation::SelfLoops
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        let (n_in, n_out, heads) = (widths.n_in, widths.n_out, self.heads as usize);
        Box::new(match widths.gives_logits {
            true => layers::Gat::new(layout, name, n_in, n_out, heads, Heads::Mean),
            false => layers::Gat::new(layout, name, n_in, n_out / heads, heads, Heads::Concat),
        })
    }

    fn rules(&self, model: &Model, rules: &mut Rules) {
        let heads = self.heads;
        let rule = format!("must divide hidden ({}), got {heads}; change either", model.hidden);
        rules.require(heads > 0 && model.hidden.is_multiple_of(heads), "encoder.heads", rule);
    }

    fn needs_edges(&self) -> bool {
        true
    }
}

impl Layer for layers::Gat {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        layers::Gat::forward(self, tape, arcs(adjacency), x)
    }

    fn n_hops(&self) -> Option<usize> {
        Some(1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.weight])
    }
}
