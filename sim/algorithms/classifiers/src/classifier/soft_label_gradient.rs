//! Gradients of the soft-label cross entropy, for gradient inversion.

use super::Classifier;
use super::data::{Part, Shard, View};
use folkmoot_learning::Tape;

/// The training data of a client: its graphs, and the rows of logits that train.
pub(crate) struct TrainingView<'a> {
    classifier: &'a Classifier,
    view: View<'a>,
    /// Rows of logits that train, ascending.
    items: Vec<u32>,
}

/// Gradients of the loss of a guess.
pub(crate) struct Gradients {
    /// By the trainable parameters.
    pub(crate) by_parameters: Vec<f32>,
    /// By the node features, followed by the logits of the classes.
    pub(crate) by_guess: Vec<f32>,
}

impl Classifier {
    /// The training data of a shard.
    pub(crate) fn training_view<'a>(&'a self, shard: &'a Shard) -> TrainingView<'a> {
        let view = shard.view(Part::Train);
        TrainingView {
            classifier: self,
            view,
            items: view.rows().map(|row| row as u32).collect(),
        }
    }
}

impl TrainingView<'_> {
    /// The true node features, shape `(n_nodes, n_features)`: features, or the sums that a client
    /// received in their place.
    pub(crate) fn rows(&self) -> &[f32] {
        self.view.batch.brought()
    }

    /// Number of node features.
    pub(crate) fn n_features(&self) -> usize {
        self.classifier.network.n_features()
    }

    /// Number of training items.
    pub(crate) fn n_items(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = u32> {
        self.items.iter().map(|item| self.view.truth.classes[*item as usize])
    }

    /// Number of classes.
    pub(crate) fn n_classes(&self) -> usize {
        self.classifier.network.n_classes()
    }

    /// The gradients of the mean cross entropy of a guess under these parameters. A guess holds the
    /// node features, then the logits of each item's class probabilities, shape `(n_items,
    /// n_classes)`. Without dropout; batch normalisation takes the statistics of the guess.
    ///
    /// # Panics
    ///
    /// If the guess or the parameters have another length.
    pub(crate) fn gradients(&self, guess: &[f32], parameters: &[f32]) -> Gradients {
        let network = &self.classifier.network;
        let (n_items, n_classes) = (self.items.len(), network.n_classes());
        let (rows, classes) = guess.split_at(self.rows().len());
        Tape::with_own(|tape| {
            tape.load(network.layout(), parameters);
            let rows = tape.variable(rows.len() / network.n_features(), network.n_features(), rows);
            let classes = tape.variable(n_items, n_classes, classes);
            let logits = network.logits_of(tape, self.view.batch, rows);
            let logits = tape.gather_rows(logits, &self.items);
            let normaliser = tape.log_sum_exp(logits);
            let normaliser = tape.mean(normaliser);
            let probabilities = tape.softmax(classes, None);
            let own = tape.multiply(probabilities, logits);
            let own = tape.sum(own);
            let loss = tape.add_scaled(normaliser, -1.0 / n_items as f32, own);
            tape.backward(loss);
            Gradients {
                by_guess: [tape.gradient(rows), tape.gradient(classes)].concat(),
                by_parameters: tape.parameters_mut().1.to_vec(),
            }
        })
    }
}
