//! Graph layers by name, as cards choose them: `model.encoder`.
//!
//! A type of layers is a component, so any crate may add one. It says what the layers multiply with
//! and makes them; a [`Layer`] is one of these, with its parameters in the layout.

mod gat;
mod gcn;
mod gin;
mod graph_conv;
mod light_gcn;
mod mlp;
mod sage;
mod structured;
mod tag;

pub use gat::Gat;
pub use gcn::Gcn;
pub use gin::{Gin, GinBatchNorm};
pub use graph_conv::GraphConv;
pub use light_gcn::LightGcn;
pub use mlp::Mlp;
pub use sage::Sage;
pub use structured::Structured;
pub use tag::Tag;

use super::Model;
use folkmoot_learning::layers::{Linear, Mode};
use folkmoot_learning::{Adjacency, Csr, DegreeRule, Layout, Parameter, Tape, Var};
use folkmoot_parts::{Rules, component_type};

/// A type of graph layers. ReLU follows each layer except the last, and the last too if there is a
/// head.
///
/// ```
/// use folkmoot_classifiers::classifier::graph_layers::{GraphLayers, Layer, Propagation, Widths};
/// use folkmoot_learning::layers::{Linear, Mode};
/// use folkmoot_learning::{Adjacency, Layout, Tape, Var};
///
/// /// A linear layer on the mean over neighbours (without the node itself).
/// struct Mean;
///
/// struct OfMeans(Linear);
///
/// impl GraphLayers for Mean {
///     fn propagation(&self) -> Propagation {
///         Propagation::Means
///     }
///
///     fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
///         Box::new(OfMeans(Linear::new(layout, name, widths.n_in, widths.n_out)))
///     }
/// }
///
/// impl Layer for OfMeans {
///     fn forward<'g>(&self, tape: &mut Tape<'g>, means: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
///         let mean = tape.propagate(means, x);
///         self.0.forward(tape, mean)
///     }
/// }
/// ```
pub trait GraphLayers: Send + Sync {
    /// What the layers multiply with.
    fn propagation(&self) -> Propagation;

    /// Makes one layer. The names of its parameters begin with `name` and a dot.
    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer>;

    /// How many layers stand for `n` of the card. Default: as many.
    fn n_made(&self, n: usize) -> usize {
        n
    }

    /// What ties its settings to those of the model; paths are relative to `model`. Default:
    /// nothing.
    fn rules(&self, _model: &Model, _rules: &mut Rules) {}

    /// Whether layers look at the edges themselves, so that a dense table of weights is not enough,
    /// and a weighted graph is rejected. Default: no.
    fn needs_edges(&self) -> bool {
        false
    }

    /// Whether layers have running statistics over all items of a step, which are sent and averaged
    /// with the weights. Default: no.
    fn has_statistics(&self) -> bool {
        false
    }

    /// How many of the last features describe the structure around a node, if the layers treat
    /// these apart. Default: none.
    fn n_structural(&self) -> Option<u32> {
        None
    }

    /// Whether the first layer, of these widths, begins with a sum over neighbours, so that
    /// [`Layer::forward_from_sums`] may be called with sums that are kept. Default: no.
    fn begins_with_sums(&self, _n_in: usize, _n_out: usize) -> bool {
        false
    }

    /// Whether these sums are all that the first layer reads. Default: no.
    fn reads_sums_alone(&self) -> bool {
        false
    }
}

component_type!(GraphLayers, "graph layer", Gcn {});

/// What layers multiply with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The adjacency, with edge weights.
    Adjacency,
    /// The adjacency divided by the roots of the degrees at both ends (Kipf & Welling 2017), each
    /// node joined to itself or not.
    Normalised { self_loops: bool },
    /// The adjacency, of which each row sums up to 1.
    Means,
    /// The adjacency, each node joined to itself.
    SelfLoops,
    /// Nothing: nodes by themselves.
    Nothing,
}

impl Propagation {
    /// The matrix for a graph's adjacency.
    pub fn matrix(self, adjacency: &Csr) -> Csr {
        match self {
            Propagation::Adjacency => adjacency.clone(),
            Propagation::Normalised { self_loops: true } => adjacency.with_self_loops().normalised(DegreeRule::Masked),
            Propagation::Normalised { self_loops: false } => adjacency.normalised(DegreeRule::Masked),
            Propagation::Means => adjacency.row_means(),
            Propagation::SelfLoops => adjacency.with_self_loops(),
            Propagation::Nothing => {
                Csr::from_arcs(adjacency.n_rows() as u32, &[], None).expect("no arc is none out of range")
            }
        }
    }
}

/// The widths of a layer, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Numbers that a node brings.
    pub n_in: usize,
    /// The width of the hidden layers.
    pub hidden: usize,
    /// Numbers that a node leaves with.
    pub n_out: usize,
    /// Whether it is the first of all.
    pub is_first: bool,
    /// Whether it gives the logits itself, without a head behind it.
    pub gives_logits: bool,
    /// The number of layers in the card.
    pub n_layers: usize,
}

/// A graph layer.
pub trait Layer: Send + Sync {
    /// `(n, n_in)` to `(n, n_out)`, for what [`GraphLayers::propagation`] makes of the graphs.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit, or it needs edges and meets a dense matrix.
    fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, input: (Var, Mode)) -> Var;

    /// The same through a ReLU, which may be one operation with it.
    fn forward_relu<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, input: (Var, Mode)) -> Var {
        let y = self.forward(tape, adjacency, input);
        tape.relu(y)
    }

    /// The same as [`forward`](Self::forward) from the sums over neighbours of what nodes bring.
    /// `inputs` gives what they bring, if that is read, too.
    ///
    /// # Panics
    ///
    /// If it does not begin with such sums.
    fn forward_from_sums<'g>(
        &self,
        _tape: &mut Tape<'g>,
        _sums: Var,
        _inputs: &mut dyn FnMut(&mut Tape<'g>) -> Var,
        _relu: bool,
    ) -> Var {
        panic!("the layer does not begin with sums over neighbours")
    }

    /// Over how many hops a node's row is made, where it follows from those of the nodes within
    /// them alone. Default: unknown.
    fn n_hops(&self) -> Option<usize> {
        None
    }

    /// The matrices that multiply what nodes bring, a row for each number; `None` for a layer that
    /// looks at these numbers otherwise. Default: `None`.
    fn input_weights(&self) -> Option<Vec<Parameter>> {
        None
    }

    /// The weight and the bias of a layer that ends in their product with sums over neighbours.
    /// Default: `None`.
    fn of_sums(&self) -> Option<(Parameter, Parameter)> {
        None
    }
}

impl dyn Layer {
    /// Through a ReLU or not.
    ///
    /// # Panics
    ///
    /// As [`forward`](Layer::forward).
    pub fn pass<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, input: (Var, Mode), relu: bool) -> Var {
        match relu {
            true => self.forward_relu(tape, adjacency, input),
            false => self.forward(tape, adjacency, input),
        }
    }
}

/// Graph layers `conv0`, `conv1` and so on, from `n_in` over `hidden` to `n_out`.
pub fn stack(
    layers: &dyn GraphLayers,
    layout: &mut Layout,
    (n_in, hidden, n_out): (usize, usize, usize),
    n_layers: usize,
    gives_logits: bool,
) -> Vec<Box<dyn Layer>> {
    let n_made = layers.n_made(n_layers);
    let mut layer = |at: usize| {
        let is_last = at + 1 == n_made;
        let widths = Widths {
            n_in: if at == 0 { n_in } else { hidden },
            hidden,
            n_out: if is_last { n_out } else { hidden },
            is_first: at == 0,
            gives_logits: is_last && gives_logits,
            n_layers,
        };
        layers.layer(layout, &format!("conv{at}"), &widths)
    };
    (0..n_made).map(&mut layer).collect()
}

/// A linear layer: each node by itself.
impl Layer for Linear {
    fn forward<'g>(&self, tape: &mut Tape<'g>, _: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        Linear::forward(self, tape, x)
    }

    fn forward_relu<'g>(&self, tape: &mut Tape<'g>, _: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        Linear::forward_relu(self, tape, x)
    }

    fn n_hops(&self) -> Option<usize> {
        Some(0)
    }

    fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(vec![self.weight])
    }
}

/// The arcs of a matrix, for layers that look at them.
///
/// # Panics
///
/// If the matrix is dense.
fn arcs(adjacency: Adjacency<'_>) -> &Csr {
    match adjacency {
        Adjacency::Sparse(csr) => csr,
        _ => panic!("the layer looks at edges, not at weights"),
    }
}
