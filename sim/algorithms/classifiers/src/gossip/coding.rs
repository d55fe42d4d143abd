//! Between models and what a codec makes of them on their way to neighbours.

use super::Gossip;
use super::message::Peer;
use folkmoot_draws::SimRng;
use folkmoot_rounds::packed::{Packed, Packing, Sent, first_not_finite};
use std::borrow::Cow;
use std::sync::Arc;

/// A model as it is sent to neighbours.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) sent: Sent,
    /// What whoever hears it makes of that.
    pub(super) heard: Arc<[f32]>,
}

impl Gossip {
    fn packing(&self) -> Packing<'_> {
        Packing::new(&*self.params.codec, self.classifier.network().layout().shapes())
    }

    fn n_others(&self) -> usize {
        let layout = self.classifier.network().layout();
        layout.len() - layout.n_trainable()
    }

    /// Whether an exchange is a mean of models as they are.
    pub(super) fn is_direct(&self) -> bool {
        self.params.codec.is_plain() && self.params.mixing == 1.0
    }

    /// A model as it is sent, with what was left out of those before in `memory`; nothing of one
    /// that no codec packs, since a number of it is not finite.
    pub(super) fn say(&self, model: &Arc<[f32]>, memory: &mut Vec<f32>, rng: &mut SimRng) -> Option<Said> {
        let codec = &*self.params.codec;
        if codec.is_plain() {
            return Some(Said {
                sent: Sent::Plain(Arc::clone(model)),
                heard: Arc::clone(model),
            });
        }
        if first_not_finite(model).is_some() {
            return None;
        }
        let memory = codec.feeds_back().then_some(memory);
        let Packed(bytes) = self.packing().pack(model, memory, rng);
        Some(Said {
            heard: self.opened(&bytes).into(),
            sent: Sent::Packed(bytes),
        })
    }

    fn opened(&self, bytes: &[u8]) -> Vec<f32> {
        let model = self.packing().open(bytes, self.n_others());
        model.expect("what a client has packed can be read")
    }

    /// The model in a message.
    pub(super) fn model_in<'a>(&self, message: &'a Peer) -> Cow<'a, Arc<[f32]>> {
        match message {
            Peer::Model(model) | Peer::Answer(model) => Cow::Borrowed(model),
            Peer::PackedModel(Packed(bytes)) | Peer::PackedAnswer(Packed(bytes)) => {
                Cow::Owned(self.opened(bytes).into())
            }
        }
    }
}

impl Peer {
    /// A model of one's own.
    pub(super) fn model(sent: Sent) -> Peer {
        match sent {
            Sent::Plain(model) => Peer::Model(model),
            Sent::Packed(bytes) => Peer::PackedModel(Packed(bytes)),
        }
    }

    /// The answer to one.
    pub(super) fn answer(sent: Sent) -> Peer {
        match sent {
            Sent::Plain(model) => Peer::Answer(model),
            Sent::Packed(bytes) => Peer::PackedAnswer(Packed(bytes)),
        }
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Peer::Answer(_) | Peer::PackedAnswer(_))
    }
}
