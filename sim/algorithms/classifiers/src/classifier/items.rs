//! The gradients of single training items.

use super::Classifier;
use super::data::{Kind, Part, Shard, View};
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Batch, Tape};

impl Classifier {
    /// Calls `each` with the gradient of the loss of each training item at `parameters`, in the
    /// order of the shard: one number for each parameter that learns, without weight decay. The
    /// mean of them is [`loss_gradient`](Self::loss_gradient), except rounding, for networks
    /// without normalisation over a batch. Of nodes, each takes a pass over the whole graph.
    ///
    /// `rng` draws dropouts.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn item_gradients(&self, shard: &Shard, parameters: &[f32], rng: &mut SimRng, each: &mut dyn FnMut(&[f32])) {
        let mut of_view = |view: View<'_>| {
            Tape::with_own(|tape| {
                tape.load(self.network.layout(), parameters);
                self.backward(view, None, tape, rng);
                each(tape.parameters_mut().1);
            });
        };
        match shard.kind() {
            Kind::Graphs { single, .. } => {
                for (csr, features, truth) in single {
                    let mut batch = Batch::new(self.network.n_features());
                    batch.push(csr, features);
                    of_view(View::whole(&batch, truth));
                }
            }
            Kind::Nodes { truth, train, .. } => {
                let whole = shard.view(Part::Train);
                for node in train {
                    let mut mask = vec![false; truth.n_rows()];
                    mask[*node as usize] = true;
                    let mut known = Vec::new();
                    truth.known_in(&mask, &mut known);
                    of_view(View {
                        mask: Some(&mask),
                        known: &known,
                        ..whole
                    });
                }
            }
        }
    }
}
