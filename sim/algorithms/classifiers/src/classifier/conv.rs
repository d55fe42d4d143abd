//! Graph layers by name, as cards choose them.

use super::Encoder;
use folkmoot_learning::layers::{Gat, Gcn, Gin, GraphConv, Heads, Linear, Mode, Sage, Structured, Tag, light_gcn};
use folkmoot_learning::{Adjacency, Layout, Parameter, Tape, Var};

pub enum Conv {
    /// Of Kipf and Welling.
    Gcn(Gcn),
    /// The graph isomorphism network, with or without batch normalisation.
    Gin(Gin),
    /// The layer of k-GNN.
    GraphConv(GraphConv),
    Tag(Tag),
    Sage(Sage),
    Gat(Gat),
    /// FedStar's pair of channels.
    Structured(Structured),
    /// Each node by itself.
    Linear(Linear),
    /// The linear layer, then so many propagations.
    LightGcn(Linear, usize),
}

impl Conv {
    /// Graph layers `conv0`, `conv1` and so on, of the widths `(n_in, hidden, n_out)`: LightGCN
    /// makes one of all `n_layers`. The last layer's heads are averaged if it gives the logits
    /// itself, else they stand side by side as in the others.
    pub fn stack(
        layout: &mut Layout,
        encoder: Encoder,
        (n_in, hidden, n_out): (usize, usize, usize),
        n_layers: usize,
        gives_logits: bool,
    ) -> Vec<Conv> {
        let n_convs = if encoder == Encoder::LightGcn { 1 } else { n_layers };
        let mut conv = |layer: usize| {
            let is_last = layer + 1 == n_convs;
            let n_in = if layer == 0 { n_in } else { hidden };
            let n_out = if is_last { n_out } else { hidden };
            let name = &format!("conv{layer}");
            match encoder {
                Encoder::Gcn => Conv::Gcn(Gcn::new(layout, name, n_in, n_out)),
                Encoder::Gin => Conv::Gin(Gin::new(layout, name, n_in, hidden, n_out)),
                Encoder::GinBatchNorm => {
                    Conv::Gin(Gin::new(layout, name, n_in, hidden, n_out).with_batch_norm(layout, name, hidden))
                }
                Encoder::GraphConv => Conv::GraphConv(GraphConv::new(layout, name, n_in, n_out)),
                Encoder::Tag { hops } => Conv::Tag(Tag::new(layout, name, n_in, n_out, hops as usize)),
                Encoder::Sage => Conv::Sage(Sage::new(layout, name, n_in, n_out)),
                Encoder::Gat { heads } => {
                    let heads = heads as usize;
                    Conv::Gat(match is_last && gives_logits {
                        true => Gat::new(layout, name, n_in, n_out, heads, Heads::Mean),
                        false => Gat::new(layout, name, n_in, n_out / heads, heads, Heads::Concat),
                    })
                }
                Encoder::Structured { structure } => {
                    let structure = (structure as usize).min(n_in);
                    // Where nodes bring nothing else, the structure goes through both.
                    let features = if structure < n_in { n_in - structure } else { n_in };
                    let first = (layer == 0).then_some([features, structure]);
                    Conv::Structured(Structured::new(layout, name, first, hidden / 2))
                }
                Encoder::Mlp => Conv::Linear(Linear::new(layout, name, n_in, n_out)),
                Encoder::LightGcn => Conv::LightGcn(Linear::new(layout, name, n_in, n_out), n_layers),
            }
        };
        (0..n_convs).map(&mut conv).collect()
    }

    /// Over how many hops a node's row is made, where it follows from those of the nodes within
    /// them alone.
    pub fn n_hops(&self) -> Option<usize> {
        match self {
            Conv::Gcn(_) | Conv::GraphConv(_) | Conv::Sage(_) | Conv::Gat(_) => Some(1),
            // A batch normalisation looks at all.
            Conv::Gin(gin) => gin.norm.is_none().then_some(1),
            Conv::Tag(tag) => Some(tag.weights.len() - 1),
            Conv::Linear(_) => Some(0),
            Conv::LightGcn(_, n_layers) => Some(*n_layers),
            Conv::Structured(_) => None,
        }
    }

    /// The matrices that multiply what nodes bring, a row for each number; `None` for a layer that
    /// looks at these numbers otherwise.
    pub fn input_weights(&self) -> Option<Vec<Parameter>> {
        Some(match self {
            Conv::Gcn(gcn) => vec![gcn.weight],
            Conv::Gin(gin) => vec![gin.first.weight],
            Conv::GraphConv(conv) => vec![conv.relation.weight, conv.root.weight],
            Conv::Tag(tag) => tag.weights.clone(),
            Conv::Sage(sage) => vec![sage.neighbours.weight, sage.own.weight],
            Conv::Gat(gat) => vec![gat.weight],
            Conv::Linear(linear) | Conv::LightGcn(linear, _) => vec![linear.weight],
            Conv::Structured(_) => return None,
        })
    }

    /// `(n, n_in)` to `(n, n_out)`, through a relu if asked for, for what [`Encoder::matrix`] or
    /// its dense twin makes of the graphs.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit, or attention meets a dense matrix.
    pub fn forward<'g>(
        &self,
        tape: &mut Tape<'g>,
        adjacency: Adjacency<'g>,
        (x, mode): (Var, Mode),
        relu: bool,
    ) -> Var {
        let y = match self {
            Conv::Gcn(gcn) if relu => return gcn.forward_relu(tape, adjacency, x),
            Conv::Linear(linear) if relu => return linear.forward_relu(tape, x),
            Conv::Linear(linear) => linear.forward(tape, x),
            Conv::Gin(gin) if relu => return gin.forward_relu(tape, adjacency, x, mode),
            Conv::Gcn(gcn) => gcn.forward(tape, adjacency, x),
            Conv::Gin(gin) => gin.forward(tape, adjacency, x, mode),
            Conv::GraphConv(conv) => conv.forward(tape, adjacency, x),
            Conv::Tag(tag) => tag.forward(tape, adjacency, x),
            Conv::Sage(sage) => sage.forward(tape, adjacency, x),
            Conv::Gat(gat) => match adjacency {
                Adjacency::Sparse(csr) => gat.forward(tape, csr, x),
                _ => panic!("attention looks at arcs, not at weights"),
            },
            Conv::Structured(conv) => match adjacency {
                // Its channels end in functions of their own.
                Adjacency::Sparse(csr) => return conv.forward(tape, csr, x, mode),
                _ => panic!("degrees are counted of arcs, not of weights"),
            },
            Conv::LightGcn(linear, n_layers) => {
                // Nothing here bends: LightGCN is linear.
                let h = linear.forward(tape, x);
                return light_gcn(tape, adjacency, h, *n_layers);
            }
        };
        if relu { tape.relu(y) } else { y }
    }
}
