//! The linear layer that gives the logits, for whoever asks what its gradient gives away.

use super::Classifier;
use super::data::{Part, Shard};
use folkmoot_learning::Tape;
use std::ops::Range;

/// Where a linear layer lies among the numbers of a model.
pub(crate) struct LastLayer {
    /// Row-major, of shape `(n_in, n_out)`.
    pub(crate) weights: Range<usize>,
    /// `(n_out,)`
    pub(crate) biases: Range<usize>,
    /// The number of classes.
    pub(crate) n_out: usize,
}

impl Classifier {
    /// What the last layer of a model is fed with for each item that a client trains on, without
    /// dropout, and the item's class; nothing where the network has no such layer.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub(crate) fn last_rows(&self, shard: &Shard, parameters: &[f32]) -> Vec<(Vec<f64>, u32)> {
        if self.network.last_layer().is_none() || shard.n_train() == 0 {
            return Vec::new();
        }
        let view = shard.view(Part::Train);
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            let rows = self.network.last_rows(tape, view.batch);
            let (_, width) = tape.shape(rows);
            let rows = tape
                .value(rows)
                .chunks_exact(width)
                .zip(&view.truth.classes)
                .enumerate();
            let trains = |(at, _): &(usize, _)| view.mask.is_none_or(|mask| mask[*at]);
            rows.filter(trains)
                .map(|(_, (row, class))| (row.iter().map(|x| f64::from(*x)).collect(), *class))
                .collect()
        })
    }
}
