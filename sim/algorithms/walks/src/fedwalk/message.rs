//! FedWalk's messages and their layouts.

use super::clustering::Published;
use super::dictionary::Dictionary;
use super::options::Rows;
use folkmoot_codecs::Codec;
use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed::Packed;
use folkmoot_similarity::dissimilarity::Condensed;
use folkmoot_similarity::tree::Tree;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

messages! {
    /// From the server to a client.
    pub enum Down {
        /// A1: the bin of every vertex, one byte each.
        0, "A", "group_plan" => GroupPlan(bins: Arc<[u8]>),
        /// A3: all degree vectors, |V| × k, row-major.
        2, "A", "dictionary" => Dictionary(vectors: Arc<Dictionary>),
        /// A3 with a codec: all degree vectors as received. The decoded vectors are materialised
        /// once for all clients.
        12, "A", "packed_dictionary" => PackedDictionary(vectors: Counted<Arc<Dictionary>>),
        /// A5: the tree (two `u32` per inner node) and the |V| × |V| matrix (`f32`). Materialised
        /// once for all clients: |V|, a flag, the tree and the upper triangle. Size only if no
        /// client reads it.
        4, "A", "tree_and_matrix" => TreeAndMatrix(published: Counted<Option<Arc<Published>>>),
        /// B1: start a walk.
        5, "B", "start" => Start(budget: Budget),
        /// Answer to a row request: a vertex and its |V| dissimilarities, `f32`. The row is size
        /// only; the matrix was materialised with the tree.
        9, "B", "row" => Row(row: Counted<u32>),
        /// The rows that a client requested together, |V| dissimilarities each, in the order of the
        /// request. Size only.
        11, "A", "rows" => Rows(rows: Counted<()>),
    }
}

messages! {
    /// From a client to the server.
    pub enum Up {
        /// A2: a noisy degree vector, k values, compressed.
        1, "A", "degree_vector" => DegreeVector(counts: Packed),
        /// A4: the degree vectors of a client's neighbours by ascending noisy degree, |N(v)| rows
        /// of k values, each compressed separately.
        3, "A", "ordered_matrix" => OrderedMatrix(rows: Packed),
        /// B3: the entries of a finished walk.
        7, "B", "sequence" => Sequence(entries: Vec<u32>),
        /// Request for the row of a vertex in the dissimilarity matrix.
        8, "B", "row_request" => RowRequest(vertex: u32),
        /// Request for the rows of a client's neighbours, by vertex.
        10, "A", "rows_wanted" => RowsWanted(vertices: Box<[u32]>),
    }
}

messages! {
    /// Between clients.
    pub enum Peer {
        /// B2: a walk to continue.
        6, "B", "walk" => Walk(walk: Walk),
    }
}

/// What a walk carries besides its entries: 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Entries still to append, l.
    pub left: u32,
    pub epsilon: f32,
    /// The predictor's probability.
    pub predictor_prob: f32,
}

/// A walk under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    pub budget: Budget,
    /// The entries so far.
    pub sequence: Vec<u32>,
}

impl Payload for Budget {
    #[inline]
    fn encoded_len(&self) -> usize {
        12
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.left]);
        put_f32s(out, &[self.epsilon, self.predictor_prob]);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Budget {
            left: reader.u32()?,
            epsilon: reader.f32()?,
            predictor_prob: reader.f32()?,
        })
    }
}

impl Payload for Walk {
    #[inline]
    fn encoded_len(&self) -> usize {
        self.budget.encoded_len() + 4 * self.sequence.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.budget.encode(out);
        put_u32s(out, &self.sequence);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let budget = Budget::decode(reader)?;
        let sequence = reader.rest_u32()?;
        Ok(Walk { budget, sequence })
    }
}

impl Payload for Dictionary {
    fn encoded_len(&self) -> usize {
        4 * self.vectors().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_f32s(out, self.vectors());
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Dictionary::new(reader.rest_f32()?))
    }
}

impl Payload for Published {
    fn encoded_len(&self) -> usize {
        8 + self.tree().encoded_len() + 4 * self.values().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.tree().n_leaves() as u32, u32::from(self.is_for_pools())]);
        put_u32s(out, self.tree().children().as_flattened());
        put_f32s(out, self.values());
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let (n, is_for_pools) = (reader.u32()? as usize, reader.u32()? != 0);
        let words = reader.rest_u32()?;
        let (children, odd) = words.as_chunks::<2>();
        let n_inner = n.saturating_sub(1);
        if children.len() < n_inner {
            return Err(DecodeError::Invalid(
                "the tree has fewer inner nodes than its leaves ask for",
            ));
        }
        let tree = Tree::new(n, children[..n_inner].to_vec())
            .map_err(|_| DecodeError::Invalid("the inner nodes make no tree"))?;
        let values: Vec<f32> = children[n_inner..]
            .as_flattened()
            .iter()
            .chain(odd)
            .map(|&word| f32::from_bits(word))
            .collect();
        let matrix = match values.len() {
            0 => None,
            len if len == n * n_inner / 2 => Some(Condensed::new(n, values)),
            _ => return Err(DecodeError::Invalid("the matrix has another size than the tree")),
        };
        let published = Published::new(tree, matrix);
        Ok(match is_for_pools {
            true => published.for_pools(),
            false => published,
        })
    }
}

/// The payload bytes of phase A5 on a graph of `n_nodes` vertices: the tree, and the whole
/// dissimilarity matrix where it is sent.
pub fn published_bytes(n_nodes: usize, rows: Rows, with_matrix: bool, codec: &dyn Codec) -> u64 {
    let tree = 8 * (n_nodes as u64).saturating_sub(1);
    match rows {
        Rows::Off => 0,
        Rows::All if with_matrix => tree + packed_bytes(codec, n_nodes, n_nodes),
        Rows::All | Rows::Neighbours | Rows::OnRequest => tree,
    }
}

/// The bytes of so many rows of so many numbers that share what is common to a matrix.
pub fn packed_bytes(codec: &dyn Codec, n_rows: usize, n_columns: usize) -> u64 {
    let bytes = codec.encoded_len(&[[n_rows, n_columns]]);
    bytes.expect("who packs numbers one by one knows their bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_codecs::{Plain, Uniform};
    use proptest::prelude::*;

    const BUDGET: Budget = Budget {
        left: 40,
        epsilon: 2.0,
        predictor_prob: 0.2,
    };

    fn walk(sequence: Vec<u32>) -> Peer {
        Peer::Walk(Walk {
            budget: BUDGET,
            sequence,
        })
    }

    #[test]
    fn payloads_have_the_sizes_of_the_papers_table() {
        let dictionary = Arc::new(Dictionary::new(vec![0.0; 10_312 * 9]));
        let zeros = |n: usize| Packed(vec![0; 4 * n].into());
        let plain = |rows, with_matrix| published_bytes(10_312, rows, with_matrix, &Plain {});
        let sizes = [
            Down::GroupPlan(vec![0; 10_312].into()).encoded_len(),
            Up::DegreeVector(zeros(9)).encoded_len(),
            Down::Dictionary(dictionary).encoded_len(),
            Up::OrderedMatrix(zeros(65 * 9)).encoded_len(),
            Down::Start(BUDGET).encoded_len(),
            walk(vec![0; 20]).encoded_len(),
            Up::Sequence(vec![0; 40]).encoded_len(),
        ];
        assert_eq!(sizes, [10_312, 36, 371_232, 2_340, 12, 92, 160]);
        // 425 MB for the matrix and 82 kB for the tree of BlogCatalog.
        assert_eq!(plain(Rows::All, true), 425_349_376 + 82_488);
        assert_eq!(plain(Rows::All, false), 82_488);
        assert_eq!(plain(Rows::Off, true), 0);
        assert_eq!(plain(Rows::Neighbours, true), 82_488);
        // 41 kB for a row, and its vertex; a quarter of all with a byte a number.
        assert_eq!(packed_bytes(&Plain {}, 1, 10_312), 41_248);
        let bytes = published_bytes(10_312, Rows::All, true, &Uniform::default());
        assert_eq!(bytes, 8 + 10_312 * 10_312 + 82_488);
        assert_eq!(Up::RowsWanted([3, 8].into()).encoded_len(), 8);
        let counted = Counted {
            content: None,
            bytes: 5,
        };
        let message = Down::TreeAndMatrix(counted);
        assert_eq!((message.payload_len(), message.encoded_len()), (5, 0));
    }

    proptest! {
        #[test]
        fn a_walk_survives_the_wire(sequence in prop::collection::vec(any::<u32>(), 0..50)) {
            let mut bytes = Vec::new();
            let message = walk(sequence);
            message.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), message.encoded_len());
            let (Peer::Walk(sent), Ok(Peer::Walk(back))) = (message, Peer::decode(6, &bytes)) else {
                panic!("it is a walk")
            };
            prop_assert_eq!(sent, back);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..13, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            fn back<M: Wire>(kind: usize, bytes: &[u8]) -> Option<Vec<u8>> {
                let mut again = Vec::new();
                M::decode(kind, bytes).ok()?.encode(&mut again);
                Some(again)
            }
            for again in [back::<Down>(kind, &bytes), back::<Up>(kind, &bytes), back::<Peer>(kind, &bytes)].into_iter().flatten() {
                prop_assert_eq!(again.len(), bytes.len());
            }
        }
    }
}
