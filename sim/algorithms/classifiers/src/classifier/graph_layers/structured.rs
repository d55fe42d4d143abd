//! FedStar's pair of channels.

use super::{GraphLayers, Layer, Propagation, Widths, arcs};
use crate::classifier::Model;
use folkmoot_learning::layers::{self, Mode};
use folkmoot_learning::{Adjacency, Layout, Tape, Var};
use folkmoot_parts::{Rules, component};

/// Two channels of half the width each: GIN on both, and GCN on structural node features (FedStar:
/// Tan et al. 2023). Needs a head and `inputs: Structured()`.
#[component(
    name = "Structured",
    about = "two channels of half the width each: GIN on both, and GCN on structural node features (FedStar: Tan et al. 2023); needs a head and inputs: Structured()"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured {
    /// Number of trailing structural features: `walks` + `degrees` of the inputs. If there are no
    /// other features, these enter both channels.
    #[component(default = 32, in = 1..=1_000)]
    pub structure: u32,
}

impl GraphLayers for Structured {
    fn propagation(&self) -> Propagation {
        Propagation::Adjacency
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        let n_in = widths.n_in;
        let structure = (self.structure as usize).min(n_in);
        // Where nodes bring nothing else, the structure goes through both.
        let features = if structure < n_in { n_in - structure } else { n_in };
        let first = widths.is_first.then_some([features, structure]);
        Box::new(layers::Structured::new(layout, name, first, widths.hidden / 2))
    }

    fn rules(&self, model: &Model, rules: &mut Rules) {
        let rule = "must be at least 1 with Structured: the head combines the two channels".to_owned();
        rules.require(model.head_layers > 0, "head_layers", rule);
        let rule = format!(
            "must be even with Structured, which splits it into two channels, got {}",
            model.hidden
        );
        rules.require(model.hidden.is_multiple_of(2), "hidden", rule);
    }

    fn needs_edges(&self) -> bool {
        true
    }

    fn n_structural(&self) -> Option<u32> {
        Some(self.structure)
    }
}

impl Layer for layers::Structured {
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, (x, mode): (Var, Mode)) -> Var {
        layers::Structured::forward(self, tape, arcs(adjacency), x, mode)
    }

    /// Its channels end in functions of their own.
    fn forward_relu<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, input: (Var, Mode)) -> Var {
        Layer::forward(self, tape, adjacency, input)
    }
}
