//! The gradient of a guess of what a client trains on, for whoever searches for one that has the
//! gradient of an update.

use super::Classifier;
use super::data::{Part, Shard, View};
use folkmoot_learning::Tape;

/// What a client's training looks at: its graphs, and which rows of logits count.
pub(crate) struct Scene<'a> {
    classifier: &'a Classifier,
    view: View<'a>,
    /// Rows of logits that train, ascending.
    items: Vec<u32>,
}

/// Of the loss of a guess.
pub(crate) struct Gradients {
    /// By the numbers of the model that learn.
    pub(crate) model: Vec<f32>,
    /// By what nodes bring, and behind it by the logits of the classes.
    pub(crate) guess: Vec<f32>,
}

impl Classifier {
    /// What training on a shard looks at.
    pub(crate) fn scene<'a>(&'a self, shard: &'a Shard) -> Scene<'a> {
        let view = shard.view(Part::Train);
        Scene {
            classifier: self,
            view,
            items: view.rows().map(|row| row as u32).collect(),
        }
    }
}

impl Scene<'_> {
    /// What nodes bring in truth, of shape `(n_nodes, n_features)`: features, or the sums that a
    /// client was told in their place.
    pub(crate) fn rows(&self) -> &[f32] {
        self.view.batch.brought()
    }

    /// Numbers that a node brings.
    pub(crate) fn n_features(&self) -> usize {
        self.classifier.network.n_features()
    }

    /// How many items train.
    pub(crate) fn n_items(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = u32> {
        self.items.iter().map(|item| self.view.truth.classes[*item as usize])
    }

    /// How many classes there are.
    pub(crate) fn n_classes(&self) -> usize {
        self.classifier.network.n_classes()
    }

    /// The gradients of the mean cross entropy of a guess, by a model: what nodes bring, and behind
    /// it for each item the logits of the chances of its classes, of shape `(n_items, n_classes)`.
    /// Without dropout; a batch normalisation takes the statistics of the guess.
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
            let chances = tape.softmax(classes, None);
            let own = tape.multiply(chances, logits);
            let own = tape.sum(own);
            let loss = tape.add_scaled(normaliser, -1.0 / n_items as f32, own);
            tape.backward(loss);
            Gradients {
                guess: [tape.gradient(rows), tape.gradient(classes)].concat(),
                model: tape.parameters_mut().1.to_vec(),
            }
        })
    }
}
