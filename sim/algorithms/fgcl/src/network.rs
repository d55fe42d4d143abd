//! The network: graph layers, a readout that gives a graph's embedding, and one linear layer that
//! classifies it.

use super::options::Model;
use folkmoot_classifiers::classifier::graph_layers::{Layer, stack};
use folkmoot_draws::SimRng;
use folkmoot_learning::layers::{Linear, Mode, Readout};
use folkmoot_learning::{Adjacency, Layout, Tape, Var};

/// An encoder of graphs and a classifier of what it gives.
pub struct Network {
    layout: Layout,
    convs: Vec<Box<dyn Layer>>,
    joint: Option<Linear>,
    head: Linear,
    readout: Readout,
    relu: bool,
    dropout: f32,
    n_features: usize,
}

impl Network {
    /// Graph layers `conv0`, `conv1` and so on, the linear layer `joint` of a joint readout, and
    /// the linear layer `head`.
    ///
    /// # Panics
    ///
    /// If `model` breaks its rules.
    pub fn new(model: &Model, n_features: usize, n_outputs: usize) -> Network {
        let mut layout = Layout::new();
        let hidden = model.hidden as usize;
        let widths = (n_features, hidden, hidden);
        let convs = stack(&*model.encoder, &mut layout, widths, model.layers as usize, false);
        let joint = model.joint_readout;
        let joint = joint.then(|| Linear::new(&mut layout, "joint", n_features + hidden, hidden));
        let head = Linear::new(&mut layout, "head", hidden, n_outputs);
        Network {
            layout,
            convs,
            joint,
            head,
            readout: model.readout.into(),
            relu: model.relu,
            dropout: model.dropout as f32,
            n_features,
        }
    }

    /// Numbers that a node brings.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The names, shapes and starts of its parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The embeddings of graphs, shape `(n_graphs, hidden)`; with a stream, in training. `x` holds
    /// the features of all nodes, and graph `i` has the nodes `bounds[i]..bounds[i + 1]`.
    ///
    /// # Panics
    ///
    /// If the tape holds another model, or shapes do not fit.
    pub fn embed<'g>(
        &self,
        tape: &mut Tape<'g>,
        adjacency: Adjacency<'g>,
        x: Var,
        bounds: &'g [u32],
        mut rng: Option<&mut SimRng>,
    ) -> Var {
        // Without a node there is no statistic to learn.
        let mode = match rng.is_some() && tape.shape(x).0 > 0 {
            true => Mode::Train,
            false => Mode::Evaluate,
        };
        let mut h = x;
        for (i, conv) in self.convs.iter().enumerate() {
            if i > 0 {
                h = self.drop(tape, h, rng.as_deref_mut());
            }
            h = conv.pass(tape, adjacency, (h, mode), self.relu);
        }
        if let Some(joint) = &self.joint {
            let both = tape.concat_columns(&[x, h]);
            h = joint.forward_relu(tape, both);
        }
        self.readout.forward(tape, h, Some(bounds))
    }

    /// The logits of embeddings, shape `(n_graphs, n_outputs)`; with a stream, in training.
    ///
    /// # Panics
    ///
    /// As [`embed`](Self::embed).
    pub fn classify(&self, tape: &mut Tape<'_>, embeddings: Var, rng: Option<&mut SimRng>) -> Var {
        let z = self.drop(tape, embeddings, rng);
        self.head.forward(tape, z)
    }

    fn drop(&self, tape: &mut Tape<'_>, h: Var, rng: Option<&mut SimRng>) -> Var {
        match rng {
            Some(rng) => tape.dropout(h, self.dropout, rng),
            None => h,
        }
    }
}
