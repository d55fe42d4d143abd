//! What travels in rounds. Where a codec packs what is learned, `packed_model` and `packed_update`
//! take the place of `model` and `update`. With secure aggregation other messages take the place of
//! `update`; `secure` has their table.
//!
//! The round of a model, and so of the answer to it, stands in the header.

use super::secure::{PublicKeys, Roster, Sealed, Unmasking};
use crate::packed::{Packed, first_not_finite};
use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name of what is never sent.
pub(super) const NOTHING: &str = "nothing";

/// What a client sends beside an update, in rounds that ask for it.
pub trait Extra: Payload + State + Sync + Clone + 'static {
    /// Its name in the ledger.
    const NAME: &'static str;
    /// Its name where it is packed; only one with [`numbers`](Self::numbers) is.
    const PACKED: &'static str = NOTHING;

    /// As many numbers as the model has, of which as many learn as of an update, where it is
    /// nothing else: `protocol.uplink_codec` then packs them. What is left out does not wait in a
    /// memory. Default: it travels as it is.
    fn numbers(&self) -> Option<&[f32]> {
        None
    }

    /// The one of these numbers.
    fn of(_numbers: Vec<f32>) -> Option<Self> {
        None
    }
}

impl Extra for () {
    const NAME: &'static str = NOTHING;
}

/// What the server asks for besides training, in front of a model.
pub trait Order: Payload + State + Sync + Clone {
    /// Whether it is as many numbers as the model has, of which as many learn, and nothing else:
    /// `protocol.downlink_codec` then packs them, too. Default: no.
    const IS_NUMBERS: bool = false;

    fn numbers(&self) -> Option<&[f32]> {
        None
    }

    /// The order of these numbers.
    fn of(_numbers: Vec<f32>) -> Option<Self> {
        None
    }
}

impl Order for () {}

/// An order in front of a packed model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "O: State")]
pub enum Ordered<O> {
    Plain(O),
    /// Of numbers, as `protocol.downlink_codec` packs them, and before that in four bytes how many
    /// bytes these are.
    Packed(Packed),
}

impl<O: Order> Payload for Ordered<O> {
    fn encoded_len(&self) -> usize {
        match self {
            Ordered::Plain(order) => order.encoded_len(),
            Ordered::Packed(packed) => 4 + packed.encoded_len(),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Ordered::Plain(order) => order.encode(out),
            Ordered::Packed(packed) => {
                put_u32s(out, &[packed.encoded_len() as u32]);
                packed.encode(out);
            }
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        if !O::IS_NUMBERS {
            return O::decode(reader).map(Ordered::Plain);
        }
        let len = reader.u32()? as usize;
        let rest = reader.rest();
        let (packed, model) = rest
            .split_at_checked(len)
            .ok_or(DecodeError::Invalid("a packed order is longer than its message"))?;
        *reader = WireReader::new(model);
        Ok(Ordered::Packed(Packed(packed.into())))
    }
}

/// Weights or their change, and where the first of them that is not finite stands. Whoever makes or
/// decodes them looks for it, on any thread, so that the server, which takes in one update after
/// the other, need not.
#[derive(Clone, Debug)]
pub struct Weights {
    values: Vec<f32>,
    first_not_finite: Option<u32>,
}

impl Weights {
    /// The numbers, if all are finite; otherwise the position and the bits of the first that is
    /// not.
    pub(super) fn sound(self) -> Result<Vec<f32>, (u32, u32)> {
        match self.first_not_finite {
            None => Ok(self.values),
            Some(index) => Err((index, self.values[index as usize].to_bits())),
        }
    }

    /// The numbers, if all are finite.
    pub(super) fn finite(&self) -> Option<&[f32]> {
        self.first_not_finite.is_none().then_some(&self.values[..])
    }

    /// The numbers, sound or not.
    pub(super) fn values(self) -> Vec<f32> {
        self.values
    }
}

impl From<Vec<f32>> for Weights {
    fn from(values: Vec<f32>) -> Self {
        let first_not_finite = first_not_finite(&values).map(|index| index as u32);
        Weights {
            values,
            first_not_finite,
        }
    }
}

impl Payload for Weights {
    fn encoded_len(&self) -> usize {
        self.values.encoded_len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.values.encode(out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Vec::decode(reader)?.into())
    }
}

/// Metrics of a training: how many, and each in 4 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics(pub(super) Vec<f32>);

impl Payload for Metrics {
    fn encoded_len(&self) -> usize {
        4 + 4 * self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.0.len() as u32]);
        put_f32s(out, &self.0);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let n = reader.u32()?;
        // A list that ends early is found by its first missing number.
        let mut metrics = Vec::new();
        for _ in 0..n {
            metrics.push(reader.f32()?);
        }
        Ok(Metrics(metrics))
    }
}

const PHASE: &str = "rounds";
/// What is said before any training is a phase of its own, so that its bytes stand apart.
const EXCHANGE: &str = "exchange";

messages! {
    /// From the server, with instructions `O` and exchanged data `T`.
    pub enum Down<O: Order, T: Extra> {
        /// The global model, with additional instructions to the client.
        0, PHASE, "model" => Model(order: O, weights: Arc<[f32]>),
        /// Secure aggregation: ids and public keys of all clients whose keys arrived.
        4, PHASE, "roster" => Roster(keys: Roster),
        /// Secure aggregation: sender id and two encrypted shares each.
        5, PHASE, "shares" => Shares(shares: Sealed),
        /// Secure aggregation: ids of the clients whose masked updates arrived, ascending.
        8, PHASE, "survivors" => Survivors(ids: Arc<[u32]>),
        /// The global model as compressed by `protocol.downlink_codec`, with additional
        /// instructions to the client.
        12, PHASE, "packed_model" => PackedModel(order: Ordered<O>, weights: Packed),
        /// Request for statistics of a client's data, in a round before training.
        10, PHASE, "opening" => Opening,
        /// The server's answer in the exchange before training.
        14, EXCHANGE, T::NAME => Told(told: T),
    }
}

messages! {
    /// From a client, with side payload `E` and exchanged data `T`.
    pub enum Up<E: Extra, T: Extra> {
        /// A client's update: number of training samples, and the weights or their change.
        1, PHASE, "update" => Update(n_samples: u32, weights: Weights),
        /// Side payload of an update.
        2, PHASE, E::NAME => Extra(extra: E),
        /// Secure aggregation: a client's public keys.
        3, PHASE, "keys" => Keys(keys: PublicKeys),
        /// Secure aggregation: recipient id and two encrypted shares each.
        5, PHASE, "shares" => Shares(shares: Sealed),
        /// Secure aggregation: masked weights and sample count.
        6, PHASE, "masked_update" => Masked(values: Vec<u64>),
        /// Withdrawal of an update with a value that neither the codec nor fixed point can
        /// represent: its index and bits.
        7, PHASE, "withdrawal" => Withdrawal(index: u32, bits: u32),
        /// Secure aggregation: secret shares of surviving and of dropped clients.
        9, PHASE, "unmasking" => Unmasking(shares: Unmasking),
        /// A client's update: number of training samples, and the change of the weights as
        /// compressed by `protocol.uplink_codec`. Non-trainable values follow uncompressed.
        13, PHASE, "packed_update" => PackedUpdate(n_samples: u32, weights: Packed),
        /// A client's update in front of which are the metrics that `cohort` asks for.
        17, PHASE, "reported_update" => Reported(metrics: Metrics, n_samples: u32, weights: Weights),
        /// A compressed update in front of which are the metrics that `cohort` asks for.
        18, PHASE, "reported_packed_update" => ReportedPacked(metrics: Metrics, n_samples: u32, weights: Packed),
        /// Side payload of an update, as compressed by `protocol.uplink_codec`.
        16, PHASE, E::PACKED => PackedExtra(extra: Packed),
        /// Statistics of a client's data, as the bits of `f64`s.
        11, PHASE, "statistics" => Statistics(values: Vec<u64>),
        /// A client's data for the server in the exchange before training.
        14, EXCHANGE, T::NAME => Told(told: T),
        /// Notice that a client has received all data of the exchange.
        15, EXCHANGE, "ready" => Ready,
    }
}

/// Report of an update to client selection: its number of samples, if readable, and its metrics.
pub(super) type ForSelection = (Option<u32>, Vec<f32>);

impl<E: Extra, T: Extra> Up<E, T> {
    /// An update with the metrics that are asked for, if any are.
    pub(super) fn update(n_samples: u32, weights: Weights, metrics: Vec<f32>) -> Self {
        match metrics.is_empty() {
            true => Up::Update(n_samples, weights),
            false => Up::Reported(Metrics(metrics), n_samples, weights),
        }
    }

    /// The same of one that is packed.
    pub(super) fn packed_update(n_samples: u32, weights: Packed, metrics: Vec<f32>) -> Self {
        match metrics.is_empty() {
            true => Up::PackedUpdate(n_samples, weights),
            false => Up::ReportedPacked(Metrics(metrics), n_samples, weights),
        }
    }

    /// The update without its report to client selection, and the report; `None` if the message is
    /// no update.
    pub(super) fn take_report(self) -> (Self, Option<ForSelection>) {
        match self {
            Up::Reported(Metrics(metrics), n, weights) => (Up::Update(n, weights), Some((Some(n), metrics))),
            Up::ReportedPacked(Metrics(metrics), n, weights) => {
                (Up::PackedUpdate(n, weights), Some((Some(n), metrics)))
            }
            Up::Update(n, _) | Up::PackedUpdate(n, _) => (self, Some((Some(n), Vec::new()))),
            Up::Masked(_) => (self, Some((None, Vec::new()))),
            _ => (self, None),
        }
    }
}

messages! {
    /// From client to client, in an exchange among clients.
    pub enum Peer<T: Extra> {
        /// A client's data for another client in the exchange before training.
        14, EXCHANGE, T::NAME => Told(told: T),
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
        let model = Down::<(), ()>::Model((), [1.5, -0.0].into());
        assert_eq!(bytes(&model), [0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80]);
        assert_eq!(
            bytes(&Up::<(), ()>::Update(3, vec![1.0].into())),
            [3, 0, 0, 0, 0, 0, 0x80, 0x3f]
        );
        assert_eq!(bytes(&Up::<(), ()>::Extra(())), [0; 0]);
        let keys = PublicKeys([1, u64::MAX]);
        let up: [(Up<(), ()>, usize); 7] = [
            (Up::Keys(keys), 64),
            (Up::Shares(Sealed(vec![(9, [7, u64::MAX])])), 96),
            (Up::Masked(vec![u64::MAX, 0, 1]), 24),
            (Up::Statistics(vec![1, 2]), 16),
            (Up::Withdrawal(7, 8), 8),
            (Up::update(3, vec![1.0].into(), vec![0.5, 2.0]), 12 + 4 + 4),
            (Up::Unmasking(Unmasking(vec![(1, 2), (3, 4)])), 72),
        ];
        for (message, len) in up {
            assert_eq!(bytes(&message).len(), len);
        }
        assert_eq!(bytes(&Down::<(), ()>::Survivors([1, 2, 3].into())).len(), 12);
        assert_eq!(
            bytes(&Down::<(), ()>::Roster(Roster([(3, [1, 2]), (4, [5, 6])].into()))).len(),
            136
        );
    }

    /// Three bytes of an order in front of two of a model.
    #[test]
    fn a_packed_order_says_where_it_ends() {
        #[derive(Clone, Debug, Serialize, Deserialize)]
        struct Numbers;
        impl Payload for Numbers {
            fn encoded_len(&self) -> usize {
                0
            }
            fn encode(&self, _: &mut Vec<u8>) {}
            fn decode(_: &mut WireReader<'_>) -> Result<Self, DecodeError> {
                Ok(Numbers)
            }
        }
        impl Order for Numbers {
            const IS_NUMBERS: bool = true;
        }
        let packed = |bytes: &[u8]| Packed(bytes.into());
        let message = Down::<Numbers, ()>::PackedModel(Ordered::Packed(packed(&[7, 8, 9])), packed(&[1, 2]));
        let sent = bytes(&message);
        assert_eq!(sent, [3, 0, 0, 0, 7, 8, 9, 1, 2]);
        match Down::<Numbers, ()>::decode(12, &sent) {
            Ok(Down::PackedModel(Ordered::Packed(order), model)) => {
                assert_eq!((&*order.0, &*model.0), (&[7, 8, 9][..], &[1, 2][..]));
            }
            other => panic!("{other:?}"),
        }
        for n in [0, 3, 4, 6] {
            assert!(Down::<Numbers, ()>::decode(12, &sent[..n]).is_err(), "{n} bytes");
        }
    }

    #[test]
    fn whether_weights_are_sound_is_known_wherever_they_come_from() {
        let spoilt = vec![1.0, f32::INFINITY, f32::NAN];
        let mut reader = WireReader::new(&[0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x7f, 0, 0, 0xc0, 0x7f]);
        let decoded = Weights::decode(&mut reader).unwrap();
        for weights in [Weights::from(spoilt.clone()), decoded] {
            assert_eq!(weights.sound(), Err((1, f32::INFINITY.to_bits())));
        }
        assert_eq!(Weights::from(vec![1.0, -0.0]).sound(), Ok(vec![1.0, -0.0]));
        assert_eq!(Weights::from(spoilt).values().len(), 3);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..19, data in prop::collection::vec(any::<u8>(), 0..150)) {
            if let Ok(message) = Down::<(), ()>::decode(kind, &data) {
                prop_assert_eq!(bytes(&message), data.clone());
            }
            if let Ok(message) = Up::<(), ()>::decode(kind, &data) {
                prop_assert_eq!(bytes(&message), data);
            }
        }
    }
}
