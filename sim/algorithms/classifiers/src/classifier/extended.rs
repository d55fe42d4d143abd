//! Nodes of one graph beside others that no client classifies: what a client trains on once it has
//! been told of its neighbours.

use super::Classifier;
use super::data::{Kind, Part, Shard, make_ready};
use folkmoot_learning::{Batch, Csr, Tape};

/// What nodes bring to a network, row-major of shape `(n_nodes, n_features)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Brings {
    Features(Vec<f32>),
    /// What a graph convolution sums over their neighbours, so that its first layer need not; its
    /// second propagates as ever.
    Sums(Vec<f32>),
}

impl Shard {
    /// The features of its nodes of one graph, row-major of shape `(n_nodes, n_features)`; none
    /// where it holds whole graphs.
    pub fn node_features(&self) -> &[f32] {
        match self.kind() {
            Kind::Graphs { .. } => &[],
            Kind::Nodes { batch, .. } => batch.rows(),
        }
    }
}

impl Classifier {
    /// What a model says of all nodes of a shard, of shape `(n_nodes, n_classes)`, without dropout;
    /// of whole graphs, what it says of those that train.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn logits(&self, shard: &Shard, parameters: &[f32]) -> Vec<f32> {
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            let logits = self.network.logits(tape, shard.view(Part::Train).batch, None);
            tape.value(logits).to_vec()
        })
    }

    /// A shard of nodes with others behind them, which are in no part: all propagate by `matrix`,
    /// and bring this.
    ///
    /// # Panics
    ///
    /// If the shard holds whole graphs, `matrix` is not square or smaller than the shard, or what
    /// nodes bring has another shape.
    pub fn extended(&self, shard: &Shard, matrix: &Csr, brings: Brings) -> Shard {
        let Kind::Nodes {
            client,
            truth,
            masks,
            train,
            known,
            ..
        } = shard.kind()
        else {
            panic!("whole graphs have no nodes behind them");
        };
        let n = matrix.n_rows();
        assert!(n >= truth.n_rows(), "a shard keeps its nodes");
        let batch = match brings {
            Brings::Sums(sums) => Batch::of_sums(matrix, self.network.n_features(), sums),
            Brings::Features(features) => {
                let mut batch = Batch::new(self.network.n_features());
                batch.push(matrix, &features);
                make_ready(&mut batch, self.network.begins_with_sums());
                batch
            }
        };
        let mut truth = truth.clone();
        truth.resize(n);
        let (mut masks, mut known) = (masks.clone(), known.clone());
        masks.iter_mut().for_each(|mask| mask.resize(n, false));
        known.iter_mut().for_each(|known| known.resize(n * truth.width, false));
        Shard::new(Kind::Nodes {
            client: *client,
            batch: Box::new(batch),
            truth,
            masks,
            known,
            train: train.clone(),
        })
    }
}
