//! Linear layers without the graph.

use super::{GraphLayers, Layer, Propagation, Widths};
use folkmoot_learning::Layout;
use folkmoot_learning::layers::Linear;
use folkmoot_parts::component;

/// Linear layers on each node's features, without the graph: a baseline.
#[component(
    name = "Mlp",
    about = "linear layers on each node's features, without the graph: a baseline"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mlp {}

impl GraphLayers for Mlp {
    fn propagation(&self) -> Propagation {
        Propagation::Nothing
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        Box::new(Linear::new(layout, name, widths.n_in, widths.n_out))
    }
}
