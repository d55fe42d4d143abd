//! What travels without a server, and what whoever measures is shown.

use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed::Packed;
use std::sync::Arc;

messages! {
    /// From a client to its neighbours. The round is in the header.
    pub enum Peer {
        /// The client's model: after training in `Averaging` and `Pairwise`, at the start of the
        /// round in `Dpsgd`.
        0, "gossip", "model" => Model(weights: Arc<[f32]>),
        /// `Pairwise`: the receiver's model at the time the message arrived, in return.
        1, "gossip", "answer" => Answer(weights: Arc<[f32]>),
        /// The client's model as compressed by `codec`; non-trainable values follow uncompressed.
        3, "gossip", "packed_model" => PackedModel(weights: Packed),
        /// `Pairwise`: the answer, compressed likewise.
        4, "gossip", "packed_answer" => PackedAnswer(weights: Packed),
    }
}

messages! {
    /// From a client to the evaluator, at the end of a round.
    pub enum Up {
        /// Notice of the end of a round. If the round is evaluated, with the client's model
        /// (measurement only, 0 bytes).
        2, "measurement", "report" => Report(model: Counted<Option<Arc<[f32]>>>),
    }
}
