//! The network: graph layers, a readout where whole graphs are classified, and a head.

use super::Model;
use super::graph_layers::{Layer, stack};
use super::last::LastLayer;
use folkmoot_draws::SimRng;
use folkmoot_learning::layers::{Linear, Mode, Readout};
use folkmoot_learning::{Batch, Init, Layout, Parameter, Tape, Var};
use std::ops::Range;

/// A classifier of graphs or nodes.
pub struct Network {
    layout: Layout,
    convs: Vec<Box<dyn Layer>>,
    head: Vec<Linear>,
    readout: Option<Readout>,
    /// Mean and variance of each number that nodes bring, where the model holds them.
    scale: Option<[Parameter; 2]>,
    begins_with_sums: bool,
    reads_sums_alone: bool,
    dropout: f32,
    n_features: usize,
    hidden: usize,
    n_classes: usize,
}

impl Network {
    /// Graph layers `conv0`, `conv1` and so on, then the linear layers `head0`, `head1` of the
    /// head.
    ///
    /// # Panics
    ///
    /// If `model` breaks its rules.
    pub fn new(model: &Model, n_features: usize, n_classes: usize, is_graph_level: bool) -> Network {
        let mut layout = Layout::new();
        let (hidden, n_layers) = (model.hidden as usize, model.layers as usize);
        let n_out = if model.head_layers == 0 { n_classes } else { hidden };
        let widths = (n_features, hidden, n_out);
        let convs = stack(&*model.encoder, &mut layout, widths, n_layers, model.head_layers == 0);
        let n_first = if n_layers == 1 { n_out } else { hidden };
        let begins_with_sums = model.encoder.begins_with_sums(n_features, n_first);
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
            scale: None,
            begins_with_sums,
            reads_sums_alone: model.encoder.reads_sums_alone(),
            dropout: model.dropout as f32,
            n_features,
            hidden,
            n_classes,
        }
    }

    /// The same behind a scale of its inputs, the last numbers of the model: `inputs.mean`, 0 at
    /// the start, and `inputs.variance`, 1.
    pub fn with_scale(mut self) -> Network {
        let mut buffer = |name: &str, init| self.layout.buffer(format!("inputs.{name}"), 1, self.n_features, init);
        self.scale = Some([buffer("mean", Init::Zeros), buffer("variance", Init::Ones)]);
        // What neighbours sum up to as it is tells nothing of what they sum up to when it is
        // scaled.
        self.begins_with_sums = false;
        self
    }

    /// The names, shapes and starts of its parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where its last layers lie in a model: the head, or without one the last graph layer. In
    /// ascending order.
    pub fn last_layers(&self) -> Vec<Range<usize>> {
        let last = match self.head.is_empty() {
            true => format!("conv{}.", self.convs.len() - 1),
            false => "head".to_owned(),
        };
        self.ranges(&last)
    }

    /// Where its first graph layer lies in a model, in ascending order.
    pub fn first_layer(&self) -> Vec<Range<usize>> {
        self.ranges("conv0.")
    }

    fn ranges(&self, prefix: &str) -> Vec<Range<usize>> {
        let slots = self.layout.slots().iter().filter(|slot| slot.name.starts_with(prefix));
        let mut ranges: Vec<Range<usize>> = slots.map(|slot| self.layout.range(slot.parameter)).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// The linear layer that gives the logits: the last of the head, or without one, of nodes, a
    /// last graph convolution. Other graph layers end otherwise.
    pub(crate) fn last_layer(&self) -> Option<LastLayer> {
        let (weight, bias) = match (self.head.last(), self.convs.last(), self.readout) {
            (Some(linear), ..) => (linear.weight, linear.bias?),
            (None, Some(conv), None) => conv.of_sums()?,
            _ => return None,
        };
        Some(LastLayer {
            weights: self.layout.range(weight),
            biases: self.layout.range(bias),
            n_out: self.n_classes,
        })
    }

    /// The rows that this layer multiplies with its weights, one for each row of logits: of a graph
    /// convolution, its sums over neighbours.
    ///
    /// # Panics
    ///
    /// As [`logits`](Self::logits).
    pub(super) fn last_rows<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch) -> Var {
        if !self.head.is_empty() {
            return self.rows_and_logits(tape, batch, None).0;
        }
        let rows = match self.convs.len() {
            1 => match batch.neighbour_sums(tape) {
                Some(sums) => return sums,
                None => self.inputs(tape, batch),
            },
            n => self.encode_by(n - 1, tape, batch, None),
        };
        tape.propagate(batch.adjacency(), rows)
    }

    /// Whether the first thing it does is to sum the features of neighbours, so that a batch may
    /// keep these sums.
    pub(super) fn begins_with_sums(&self) -> bool {
        self.begins_with_sums
    }

    /// How many propagations lie between what nodes bring, or the sums that a batch keeps, and the
    /// logits; `None` where these look at all nodes.
    pub(super) fn n_hops(&self, batch: &Batch) -> Option<usize> {
        let hops: Option<usize> = self.convs.iter().map(|conv| conv.n_hops()).sum();
        let is_first_kept = self.begins_with_sums && batch.keeps_sums();
        hops.map(|hops| hops - usize::from(is_first_kept))
    }

    /// The matrices of which a training on inputs without some columns needs no rows of these;
    /// `None` where there is more to an input than its product with them.
    pub(super) fn input_weights(&self) -> Option<Vec<Parameter>> {
        match self.scale {
            Some(_) => None,
            None => self.convs.first()?.input_weights(),
        }
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

    /// Whether graphs are classified, and not nodes.
    pub fn is_graph_level(&self) -> bool {
        self.readout.is_some()
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The logits of graphs, of shape `(n_graphs, n_classes)`, or of nodes, `(n_nodes, n_classes)`;
    /// with a stream, in training.
    ///
    /// # Panics
    ///
    /// If the tape holds another model, or the batch other features.
    pub fn logits<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, rng: Option<&mut SimRng>) -> Var {
        self.rows_and_logits(tape, batch, rng).1
    }

    /// The same behind the rows that the last linear layer reads, of as many rows; without a head
    /// these are the logits.
    pub(super) fn rows_and_logits<'g>(
        &self,
        tape: &mut Tape<'g>,
        batch: &'g Batch,
        mut rng: Option<&mut SimRng>,
    ) -> (Var, Var) {
        let nodes = self.encode(tape, batch, rng.as_deref_mut());
        self.read_out(tape, nodes, batch, rng)
    }

    /// The logits of nodes that bring `x`, in the place of what the batch has, in a training
    /// without dropout.
    ///
    /// # Panics
    ///
    /// As [`logits`](Self::logits).
    pub(super) fn logits_of<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, x: Var) -> Var {
        let mode = mode(true, batch);
        let first = match self.reads_sums_alone && batch.rows().is_empty() {
            true => self.convs[0].forward_from_sums(tape, x, &mut |_| x, self.bends(0)),
            false => {
                let x = self.scaled(tape, x);
                self.convs[0].pass(tape, batch.adjacency(), (x, mode), self.bends(0))
            }
        };
        let nodes = self.behind(first, (self.convs.len(), mode), tape, batch, None);
        self.read_out(tape, nodes, batch, None).1
    }

    /// What is said of nodes, or of the graphs that they make.
    fn read_out<'g>(&self, tape: &mut Tape<'g>, nodes: Var, batch: &'g Batch, rng: Option<&mut SimRng>) -> (Var, Var) {
        match self.readout {
            Some(readout) => {
                let graphs = readout.forward(tape, nodes, Some(batch.bounds()));
                self.classify(tape, graphs, batch, rng)
            }
            None => self.classify(tape, nodes, batch, rng),
        }
    }

    /// The logits of single nodes, of shape `(n_nodes, n_classes)`: what the head says of a node's
    /// own row, even where whole graphs are classified.
    ///
    /// # Panics
    ///
    /// As [`logits`](Self::logits).
    pub fn node_logits<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch) -> Var {
        let nodes = self.encode(tape, batch, None);
        self.classify(tape, nodes, batch, None).1
    }

    /// The rows of the last graph layer, of shape `(n_nodes, hidden)`, or `(n_nodes, n_classes)`
    /// without a head.
    ///
    /// # Panics
    ///
    /// As [`logits`](Self::logits).
    pub fn node_rows<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch) -> Var {
        self.encode(tape, batch, None)
    }

    /// The rows of the last graph layer.
    fn encode<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, rng: Option<&mut SimRng>) -> Var {
        self.encode_by(self.convs.len(), tape, batch, rng)
    }

    /// The rows of the last of the first `n` graph layers.
    fn encode_by<'g>(&self, n: usize, tape: &mut Tape<'g>, batch: &'g Batch, rng: Option<&mut SimRng>) -> Var {
        let mode = mode(rng.is_some(), batch);
        let first = self.first(tape, batch, mode, self.bends(0));
        self.behind(first, (n, mode), tape, batch, rng)
    }

    /// The rows of the last of the first `n` graph layers, from those of the first.
    fn behind<'g>(
        &self,
        first: Var,
        (n, mode): (usize, Mode),
        tape: &mut Tape<'g>,
        batch: &'g Batch,
        mut rng: Option<&mut SimRng>,
    ) -> Var {
        let mut h = first;
        for (i, conv) in self.convs[..n].iter().enumerate().skip(1) {
            h = self.drop(tape, h, batch, rng.as_deref_mut());
            h = conv.pass(tape, batch.adjacency(), (h, mode), self.bends(i));
        }
        h
    }

    /// Whether a relu follows this graph layer.
    fn bends(&self, i: usize) -> bool {
        i + 1 < self.convs.len() || !self.head.is_empty()
    }

    /// The rows of the first graph layer, from the sums that the batch keeps if it does, or was
    /// given in the place of features.
    fn first<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, mode: Mode, relu: bool) -> Var {
        match batch.neighbour_sums(tape) {
            Some(sums) => self.convs[0].forward_from_sums(tape, sums, &mut |tape| self.inputs(tape, batch), relu),
            None => {
                let x = self.inputs(tape, batch);
                self.convs[0].pass(tape, batch.adjacency(), (x, mode), relu)
            }
        }
    }

    /// What nodes bring, scaled if the model says how.
    fn inputs<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch) -> Var {
        let x = batch.features(tape);
        self.scaled(tape, x)
    }

    fn scaled(&self, tape: &mut Tape<'_>, x: Var) -> Var {
        match self.scale {
            Some([mean, variance]) => tape.standardise(x, mean.var(), variance.var(), 0.0),
            None => x,
        }
    }

    /// What the last linear layer reads, and the logits.
    fn classify(&self, tape: &mut Tape<'_>, mut h: Var, batch: &Batch, mut rng: Option<&mut SimRng>) -> (Var, Var) {
        let mut rows = h;
        for (i, linear) in self.head.iter().enumerate() {
            rows = h;
            h = self.drop(tape, h, batch, rng.as_deref_mut());
            h = match i + 1 < self.head.len() {
                true => linear.forward_relu(tape, h),
                false => linear.forward(tape, h),
            };
        }
        (rows, h)
    }

    fn drop(&self, tape: &mut Tape<'_>, h: Var, batch: &Batch, rng: Option<&mut SimRng>) -> Var {
        match (rng, batch.nodes_of_whole()) {
            (Some(rng), None) => tape.dropout(h, self.dropout, rng),
            (Some(rng), Some(nodes)) => tape.dropout_of(h, nodes, self.dropout, rng),
            (None, _) => h,
        }
    }
}

/// In training or not; without a node there is no statistic to learn.
fn mode(trains: bool, batch: &Batch) -> Mode {
    match trains && batch.csr().n_rows() > 0 {
        true => Mode::Train,
        false => Mode::Evaluate,
    }
}
