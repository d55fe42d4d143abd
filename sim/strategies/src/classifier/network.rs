//! The network: graph layers by name, a readout where whole graphs are classified, and a head.

use super::{Encoder, Model};
use folkmoot_engine::prelude::SimRng;
use folkmoot_learning::layers::{Gat, Gcn, Gin, GraphConv, Heads, Linear, Mode, Readout, Sage, Tag, light_gcn};
use folkmoot_learning::{Batch, Layout, Tape, Var};

/// One graph layer.
enum Conv {
    Gcn(Gcn),
    Gin(Gin),
    GraphConv(GraphConv),
    Tag(Tag),
    Sage(Sage),
    Gat(Gat),
    /// The linear layer, then so many propagations.
    LightGcn(Linear, usize),
}

/// A classifier of graphs or nodes.
pub struct Network {
    layout: Layout,
    convs: Vec<Conv>,
    head: Vec<Linear>,
    readout: Option<Readout>,
    begins_with_sums: bool,
    dropout: f32,
    n_features: usize,
    hidden: usize,
    n_classes: usize,
}

impl Network {
    /// Graph layers `conv0`, `conv1` and so on, then the linear layers `head0`, `head1` of the head.
    ///
    /// # Panics
    ///
    /// If `model` breaks its rules.
    pub fn new(model: &Model, n_features: usize, n_classes: usize, is_graph_level: bool) -> Network {
        let mut layout = Layout::new();
        let (hidden, n_layers) = (model.hidden as usize, model.layers as usize);
        let width = |layer: usize| match layer + 1 == n_layers && model.head_layers == 0 {
            true => n_classes,
            false => hidden,
        };
        let n_convs = if model.encoder == Encoder::LightGcn {
            1
        } else {
            n_layers
        };
        let convs = (0..n_convs).map(|layer| {
            let n_in = if layer == 0 { n_features } else { hidden };
            let name = &format!("conv{layer}");
            let (layout, n_out) = (&mut layout, width(layer));
            match model.encoder {
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
                    Conv::Gat(match layer + 1 == n_layers && model.head_layers == 0 {
                        true => Gat::new(layout, name, n_in, n_classes, heads, Heads::Mean),
                        false => Gat::new(layout, name, n_in, hidden / heads, heads, Heads::Concat),
                    })
                }
                Encoder::LightGcn => {
                    let n_out = if model.head_layers == 0 { n_classes } else { hidden };
                    Conv::LightGcn(Linear::new(layout, name, n_in, n_out), n_layers)
                }
            }
        });
        let convs = convs.collect();
        let begins_with_sums = model.encoder == Encoder::Gcn && Gcn::sums_first(n_features, width(0));
        let n_linear = model.head_layers as usize;
        let head = (0..n_linear).map(|i| {
            let n_out = if i + 1 == n_linear { n_classes } else { hidden };
            Linear::new(&mut layout, &format!("head{i}"), hidden, n_out)
        });
        Network {
            head: head.collect(),
            convs,
            layout,
            readout: is_graph_level.then(|| model.readout.into()),
            begins_with_sums,
            dropout: model.dropout as f32,
            n_features,
            hidden,
            n_classes,
        }
    }

    /// The names, shapes and starts of its parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the first thing it does is to sum the features of neighbours, so that a batch may keep these sums.
    pub(super) fn begins_with_sums(&self) -> bool {
        self.begins_with_sums
    }

    /// The number of features of a node.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The width of the last graph layer.
    pub fn n_hidden(&self) -> usize {
        match self.head.is_empty() {
            true => self.n_classes,
            false => self.hidden,
        }
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The logits of graphs, of shape `(n_graphs, n_classes)`, or of nodes, `(n_nodes, n_classes)`; with a stream, in training.
    ///
    /// # Panics
    ///
    /// If the tape holds another model, or the batch other features.
    pub fn logits<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, mut rng: Option<&mut SimRng>) -> Var {
        let nodes = self.encode(tape, batch, rng.as_deref_mut());
        match self.readout {
            Some(readout) => {
                let graphs = readout.forward(tape, nodes, Some(batch.bounds()));
                self.classify(tape, graphs, rng)
            }
            None => self.classify(tape, nodes, rng),
        }
    }

    /// The logits of single nodes, of shape `(n_nodes, n_classes)`: what the head says of a node's own row, even where whole
    /// graphs are classified.
    ///
    /// # Panics
    ///
    /// As [`logits`](Self::logits).
    pub fn node_logits<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch) -> Var {
        let nodes = self.encode(tape, batch, None);
        self.classify(tape, nodes, None)
    }

    /// The rows of the last graph layer, of shape `(n_nodes, hidden)`, or `(n_nodes, n_classes)` without a head.
    ///
    /// # Panics
    ///
    /// As [`logits`](Self::logits).
    pub fn node_rows<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch) -> Var {
        self.encode(tape, batch, None)
    }

    /// The rows of the last graph layer.
    fn encode<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, mut rng: Option<&mut SimRng>) -> Var {
        // Without a node there is no statistic to learn.
        let mode = match rng.is_some() && batch.csr().n_rows() > 0 {
            true => Mode::Train,
            false => Mode::Evaluate,
        };
        let relu = |i: usize| i + 1 < self.convs.len() || !self.head.is_empty();
        let mut h = self.first(tape, batch, mode, relu(0));
        for (i, conv) in self.convs.iter().enumerate().skip(1) {
            h = self.drop(tape, h, rng.as_deref_mut());
            h = conv.forward(tape, batch, (h, mode), relu(i));
        }
        h
    }

    /// The rows of the first graph layer, from the sums that the batch keeps if it does.
    fn first<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, mode: Mode, relu: bool) -> Var {
        if let (Conv::Gcn(gcn), true) = (&self.convs[0], self.begins_with_sums)
            && let Some(sums) = batch.neighbour_sums(tape)
        {
            return gcn.forward_from_sums(tape, sums, relu);
        }
        let x = batch.features(tape);
        self.convs[0].forward(tape, batch, (x, mode), relu)
    }

    fn classify(&self, tape: &mut Tape<'_>, mut h: Var, mut rng: Option<&mut SimRng>) -> Var {
        for (i, linear) in self.head.iter().enumerate() {
            h = self.drop(tape, h, rng.as_deref_mut());
            h = match i + 1 < self.head.len() {
                true => linear.forward_relu(tape, h),
                false => linear.forward(tape, h),
            };
        }
        h
    }

    fn drop(&self, tape: &mut Tape<'_>, h: Var, rng: Option<&mut SimRng>) -> Var {
        match rng {
            Some(rng) => tape.dropout(h, self.dropout, rng),
            None => h,
        }
    }
}

impl Conv {
    fn forward<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, (x, mode): (Var, Mode), relu: bool) -> Var {
        let adjacency = batch.adjacency();
        let y = match self {
            Conv::Gcn(gcn) if relu => return gcn.forward_relu(tape, adjacency, x),
            Conv::Gin(gin) if relu => return gin.forward_relu(tape, adjacency, x, mode),
            Conv::Gcn(gcn) => gcn.forward(tape, adjacency, x),
            Conv::Gin(gin) => gin.forward(tape, adjacency, x, mode),
            Conv::GraphConv(conv) => conv.forward(tape, adjacency, x),
            Conv::Tag(tag) => tag.forward(tape, adjacency, x),
            Conv::Sage(sage) => sage.forward(tape, adjacency, x),
            Conv::Gat(gat) => gat.forward(tape, batch.csr(), x),
            Conv::LightGcn(linear, n_layers) => {
                // Nothing here bends: LightGCN is linear.
                let h = linear.forward(tape, x);
                return light_gcn(tape, adjacency, h, *n_layers);
            }
        };
        if relu { tape.relu(y) } else { y }
    }
}
