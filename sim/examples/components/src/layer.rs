//! A type of graph layers: what they multiply with, and the operations of each.

use folkmoot::classifiers::classifier::Model;
use folkmoot::classifiers::classifier::graph_layers::{GraphLayers, Layer, Propagation, Widths};
use folkmoot::learning::layers::{Linear, Mode};
use folkmoot::learning::{Adjacency, Init, Layout, Parameter, Tape, Var};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// Graph attention whose ranking of neighbours depends on the node (Brody et al. 2022).
#[component(name = "GatV2", about = "dynamic graph attention (Brody et al. 2022)")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct GatV2 {
    /// Number of attention heads; must divide `hidden`.
    #[component(default = 4, in = 1..=64)]
    pub(crate) heads: u32,
}

/// One layer: of an arc from `j` to `i`, the score of a head is
/// `a · LeakyReLU(W_left x_j + W_right x_i)`; the result is the sum of `W_left x_j`, weighted by the
/// softmax of the scores, plus a bias.
struct OfPairs {
    left: Linear,
    right: Linear,
    attention: Parameter,
    bias: Parameter,
    heads: usize,
    /// Heads are averaged, and do not stand side by side.
    is_mean: bool,
}

impl GraphLayers for GatV2 {
    fn propagation(&self) -> Propagation {
        Propagation::SelfLoops
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        let heads = self.heads as usize;
        let width = if widths.gives_logits {
            widths.n_out
        } else {
            widths.n_out / heads
        };
        let columns = if widths.gives_logits { width } else { heads * width };
        Box::new(OfPairs {
            left: Linear::new(layout, &format!("{name}.left"), widths.n_in, heads * width),
            right: Linear::new(layout, &format!("{name}.right"), widths.n_in, heads * width),
            attention: layout.weight(format!("{name}.attention"), heads, width, Init::Glorot),
            bias: layout.weight(format!("{name}.bias"), 1, columns, Init::Zeros),
            heads,
            is_mean: widths.gives_logits,
        })
    }

    fn rules(&self, model: &Model, rules: &mut Rules) {
        let rule = format!("must divide hidden ({})", model.hidden);
        let divides = self.heads > 0 && model.hidden.is_multiple_of(self.heads);
        rules.require(divides, "encoder.heads", rule);
    }

    fn needs_edges(&self) -> bool {
        true
    }
}

impl Layer for OfPairs {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        let Adjacency::Sparse(arcs) = adjacency else {
            panic!("attention looks at edges, not at weights")
        };
        let (left, right) = (self.left.forward(tape, x), self.right.forward(tape, x));
        let pairs = tape.arc_sum(arcs, left, right);
        let pairs = tape.leaky_relu(0.2, pairs);
        let scores = tape.block_dot(pairs, self.attention.var());
        let weights = tape.arc_softmax(arcs, scores);
        let mixed = tape.propagate_heads(arcs, weights, left);
        let mixed = match self.is_mean {
            true => tape.mean_blocks(mixed, self.heads),
            false => mixed,
        };
        tape.add_row(mixed, self.bias.var(), false)
    }

    fn n_hops(&self) -> Option<usize> {
        Some(1)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.left.weight, self.right.weight])
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn GraphLayers, GatV2>()?;
    registry.add_card("layer", include_str!("../cards/layer.ron"))
}
