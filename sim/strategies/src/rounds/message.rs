//! What travels in rounds. With secure aggregation other messages take the place of `update`; `secure` has their table.
//!
//! The round of a model, and so of the answer to it, stands in the header.

use super::secure::{PublicKeys, Roster, Sealed, Unmasking};
use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use std::sync::Arc;

/// What a client sends beside an update, in rounds that ask for it.
pub trait Extra: Payload + State + Sync + Clone + 'static {
    /// Its name in the ledger.
    const NAME: &'static str;
}

impl Extra for () {
    const NAME: &'static str = "nothing";
}

const PHASE: &str = "rounds";

messages! {
    /// From the server, with orders `O`.
    pub enum Down<O: Payload> {
        /// The global model, to a client of the cohort, and what the server asks for besides training.
        0, PHASE, "model" => Model(order: O, weights: Arc<[f32]>),
        /// Secure aggregation: the ids and keys of all whose keys came.
        4, PHASE, "roster" => Roster(keys: Roster),
        /// Secure aggregation: from whom, and two sealed shares.
        5, PHASE, "shares" => Shares(shares: Sealed),
        /// Secure aggregation: whose masked updates came, ascending.
        8, PHASE, "survivors" => Survivors(ids: Arc<[u32]>),
    }
}

messages! {
    /// From a client, with extras `E`.
    pub enum Up<E: Extra> {
        /// What a client learned: how many samples it has learned from, and its weights or their change.
        1, PHASE, "update" => Update(n_samples: u32, weights: Vec<f32>),
        /// What a client sends beside its update.
        2, PHASE, E::NAME => Extra(extra: E),
        /// Secure aggregation: a client's public keys.
        3, PHASE, "keys" => Keys(keys: PublicKeys),
        /// Secure aggregation: for whom, and two sealed shares.
        5, PHASE, "shares" => Shares(shares: Sealed),
        /// Secure aggregation: weights and samples, masked.
        6, PHASE, "masked_update" => Masked(values: Vec<u64>),
        /// Secure aggregation: an update has a number that fixed point cannot hold; its position and its bits.
        7, PHASE, "withdrawal" => Withdrawal(index: u32, bits: u32),
        /// Secure aggregation: shares of those who survived and of those who did not.
        9, PHASE, "unmasking" => Unmasking(shares: Unmasking),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(message: &impl Wire) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        assert_eq!(message.encoded_len(), bytes.len());
        bytes
    }

    #[test]
    fn sizes_are_those_of_the_table() {
        let model = Down::Model((), [1.5, -0.0].into());
        assert_eq!(bytes(&model), [0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80]);
        assert_eq!(bytes(&Up::<()>::Update(3, vec![1.0])), [3, 0, 0, 0, 0, 0, 0x80, 0x3f]);
        assert_eq!(bytes(&Up::Extra(())), [0; 0]);
        let keys = PublicKeys([1, u64::MAX]);
        let up: [(Up<()>, usize); 5] = [
            (Up::Keys(keys), 64),
            (Up::Shares(Sealed(vec![(9, [7, u64::MAX])])), 96),
            (Up::Masked(vec![u64::MAX, 0, 1]), 24),
            (Up::Withdrawal(7, 8), 8),
            (Up::Unmasking(Unmasking(vec![(1, 2), (3, 4)])), 72),
        ];
        for (message, len) in up {
            assert_eq!(bytes(&message).len(), len);
        }
        assert_eq!(bytes(&Down::<()>::Survivors([1, 2, 3].into())).len(), 12);
        assert_eq!(
            bytes(&Down::<()>::Roster(Roster([(3, [1, 2]), (4, [5, 6])].into()))).len(),
            136
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..12, data in prop::collection::vec(any::<u8>(), 0..150)) {
            if let Ok(message) = Down::<()>::decode(kind, &data) {
                prop_assert_eq!(bytes(&message), data.clone());
            }
            if let Ok(message) = Up::<()>::decode(kind, &data) {
                prop_assert_eq!(bytes(&message), data);
            }
        }
    }
}
