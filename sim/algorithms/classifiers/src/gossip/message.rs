//! What travels without a server, and what whoever measures is shown.

use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed::Packed;
use std::sync::Arc;

messages! {
    /// From a client to its neighbours. The round stands in the header.
    pub enum Peer {
        /// Its model: trained in `Averaging` and `Pairwise`, as the round began in `Dpsgd`.
        0, "gossip", "model" => Model(weights: Arc<[f32]>),
        /// `Pairwise`: the model of whoever was sent one, as it was when that came.
        1, "gossip", "answer" => Answer(weights: Arc<[f32]>),
        /// Its model as `codec` packs it; numbers that do not learn are behind it, as they are.
        3, "gossip", "packed_model" => PackedModel(weights: Packed),
        /// `Pairwise`: the answer, packed so.
        4, "gossip", "packed_answer" => PackedAnswer(weights: Packed),
    }
}

messages! {
    /// From a client to whoever measures, once it has ended a round.
    pub enum Up {
        /// That it has; where the round is evaluated, its model is held up to be looked at, which
        /// counts no byte.
        2, "measurement", "report" => Report(model: Counted<Option<Arc<[f32]>>>),
    }
}
