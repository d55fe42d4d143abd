//! FedWalk's messages and their layouts.

use super::clustering::Published;
use super::dictionary::Dictionary;
use super::options::Rows;
use folkmoot_engine::prelude::*;
use folkmoot_similarity::dissimilarity::Condensed;
use folkmoot_similarity::tree::Tree;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything that travels. Numbers are little-endian, vectors without a length: the payload's own says it.
#[derive(Clone, Debug)]
pub enum Message {
    /// A1: the bin of every vertex, one byte each.
    GroupPlan(Arc<[u8]>),
    /// A2: a device's noisy degree vector, k `f32`.
    DegreeVector(Box<[f32]>),
    /// A3: all vectors, |V| × k `f32`, row-major.
    Dictionary(Arc<Dictionary>),
    /// A4: the vectors of a device's neighbours by ascending noisy degree, |N(v)| × k `f32`, row-major.
    OrderedMatrix(Box<[f32]>),
    /// A5: the tree (two `u32` per inner node) and the |V| × |V| matrix (`f32`), carried as |V|, the tree and the matrix
    /// above its diagonal. With `pool: Vector` nobody reads it, and it is counted and not made.
    TreeAndMatrix {
        /// What the devices get.
        published: Option<Arc<Published>>,
        /// Its payload bytes.
        bytes: u64,
    },
    /// B1: start a walk: l, epsilon, p.
    Start(Budget),
    /// B2: go on with a walk: l, epsilon, p, and the entries so far.
    Walk(Walk),
    /// B3: the finished sequence, one `u32` per entry.
    Sequence(Vec<u32>),
    /// A device asks for a vertex' row of the dissimilarity matrix: its index, `u32`.
    RowRequest(u32),
    /// The answer: the index, `u32`, and |V| dissimilarities, `f32`. Devices share the matrix that was carried once with
    /// the tree, so the row is counted and only its index carried.
    Row {
        /// The vertex.
        vertex: u32,
        /// Its payload bytes.
        bytes: u64,
    },
}

/// What a walk carries besides its entries: 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Entries still to append, l.
    pub left: u32,
    /// The encoder's epsilon.
    pub epsilon: f32,
    /// The predictor's probability.
    pub predictor_prob: f32,
}

/// A walk under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// What it carries.
    pub budget: Budget,
    /// The entries so far.
    pub sequence: Vec<u32>,
    /// How often its present hop was tried. The sender's own note: it does not travel.
    pub tries: u8,
}

impl Message {
    /// The index of B2 in [`Wire::KINDS`]: the only messages between devices.
    pub const WALK: usize = 6;
}

impl Wire for Message {
    const KINDS: &'static [Kind] = &[
        Kind {
            phase: "A",
            name: "group_plan",
        },
        Kind {
            phase: "A",
            name: "degree_vector",
        },
        Kind {
            phase: "A",
            name: "dictionary",
        },
        Kind {
            phase: "A",
            name: "ordered_matrix",
        },
        Kind {
            phase: "A",
            name: "tree_and_matrix",
        },
        Kind {
            phase: "B",
            name: "start",
        },
        Kind {
            phase: "B",
            name: "walk",
        },
        Kind {
            phase: "B",
            name: "sequence",
        },
        Kind {
            phase: "B",
            name: "row_request",
        },
        Kind {
            phase: "B",
            name: "row",
        },
    ];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Message::GroupPlan(_) => 0,
            Message::DegreeVector(_) => 1,
            Message::Dictionary(_) => 2,
            Message::OrderedMatrix(_) => 3,
            Message::TreeAndMatrix { .. } => 4,
            Message::Start(_) => 5,
            Message::Walk(_) => Message::WALK,
            Message::Sequence(_) => 7,
            Message::RowRequest(_) => 8,
            Message::Row { .. } => 9,
        }
    }

    #[inline]
    fn encoded_len(&self) -> usize {
        match self {
            Message::GroupPlan(bins) => bins.len(),
            Message::DegreeVector(row) | Message::OrderedMatrix(row) => 4 * row.len(),
            Message::Dictionary(dictionary) => 4 * dictionary.vectors().len(),
            Message::TreeAndMatrix { published, .. } => published
                .as_ref()
                .map_or(0, |it| 4 + it.tree().encoded_len() + 4 * it.values().len()),
            Message::Start(_) => 12,
            Message::Walk(walk) => 12 + 4 * walk.sequence.len(),
            Message::Sequence(sequence) => 4 * sequence.len(),
            Message::RowRequest(_) => 4,
            Message::Row { .. } => 12,
        }
    }

    #[inline]
    fn payload_len(&self) -> u64 {
        match self {
            Message::TreeAndMatrix { bytes, .. } | Message::Row { bytes, .. } => *bytes,
            message => message.encoded_len() as u64,
        }
    }

    fn shared_key(&self) -> Option<usize> {
        match self {
            Message::GroupPlan(bins) => Some(Arc::as_ptr(bins).cast::<u8>().addr()),
            Message::Dictionary(dictionary) => Some(Arc::as_ptr(dictionary).addr()),
            Message::TreeAndMatrix { published, .. } => published.as_ref().map(|it| Arc::as_ptr(it).addr()),
            _ => None,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::GroupPlan(bins) => out.extend_from_slice(bins),
            Message::DegreeVector(row) | Message::OrderedMatrix(row) => put_f32s(out, row),
            Message::Dictionary(dictionary) => put_f32s(out, dictionary.vectors()),
            Message::TreeAndMatrix { published, .. } => {
                if let Some(published) = published {
                    put_u32s(out, &[published.tree().n_leaves() as u32]);
                    put_u32s(out, published.tree().children().as_flattened());
                    put_f32s(out, published.values());
                }
            }
            Message::Start(budget) => budget.encode(out),
            Message::Walk(walk) => {
                walk.budget.encode(out);
                put_u32s(out, &walk.sequence);
            }
            Message::Sequence(sequence) => put_u32s(out, sequence),
            Message::RowRequest(vertex) => put_u32s(out, &[*vertex]),
            Message::Row { vertex, bytes } => put_u32s(out, &[*vertex, *bytes as u32, (*bytes >> 32) as u32]),
        }
    }

    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = WireReader::new(bytes);
        let message = match kind {
            0 => Message::GroupPlan(reader.rest().into()),
            1 => Message::DegreeVector(reader.rest_f32()?.into()),
            2 => Message::Dictionary(Arc::new(Dictionary::new(reader.rest_f32()?))),
            3 => Message::OrderedMatrix(reader.rest_f32()?.into()),
            4 => Message::TreeAndMatrix {
                bytes: bytes.len() as u64,
                published: decode_published(&mut reader)?,
            },
            5 => Message::Start(Budget::decode(&mut reader)?),
            6 => {
                let budget = Budget::decode(&mut reader)?;
                Message::Walk(Walk {
                    budget,
                    sequence: reader.rest_u32()?,
                    tries: 0,
                })
            }
            7 => Message::Sequence(reader.rest_u32()?),
            8 => Message::RowRequest(reader.u32()?),
            9 => Message::Row {
                vertex: reader.u32()?,
                bytes: u64::from(reader.u32()?) | u64::from(reader.u32()?) << 32,
            },
            _ => return Err(DecodeError::UnknownKind(kind)),
        };
        reader.finish()?;
        Ok(message)
    }
}

impl Budget {
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

fn decode_published(reader: &mut WireReader<'_>) -> Result<Option<Arc<Published>>, DecodeError> {
    let words = reader.rest_u32()?;
    let Some((&n, words)) = words.split_first() else {
        return Ok(None);
    };
    let n = n as usize;
    let (children, odd) = words.as_chunks::<2>();
    let n_inner = n.saturating_sub(1);
    if children.len() < n_inner {
        return Err(DecodeError::Invalid(
            "the tree has fewer inner nodes than its leaves ask for",
        ));
    }
    let tree =
        Tree::new(n, children[..n_inner].to_vec()).map_err(|_| DecodeError::Invalid("the inner nodes make no tree"))?;
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
    Ok(Some(Arc::new(Published::new(tree, matrix))))
}

/// The payload bytes of phase A5 for a device with `degree` neighbours on a graph of `n_nodes` vertices: the tree, and the rows
/// of the dissimilarity matrix that it downloads, if there is one.
pub fn published_bytes(n_nodes: u64, degree: u64, rows: Rows, with_matrix: bool) -> u64 {
    let tree = 8 * n_nodes.saturating_sub(1);
    match rows {
        Rows::Off => 0,
        _ if !with_matrix => tree,
        Rows::All => tree + n_nodes * 4 * n_nodes,
        Rows::Neighbours => tree + degree * 4 * n_nodes,
        Rows::OnRequest => tree,
    }
}

/// The payload bytes of one row that the server sends on request.
pub fn row_bytes(n_nodes: u64) -> u64 {
    4 + 4 * n_nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn payloads_have_the_sizes_of_the_papers_table() {
        let budget = Budget {
            left: 40,
            epsilon: 2.0,
            predictor_prob: 0.2,
        };
        let sizes = [
            Message::GroupPlan(vec![0; 10_312].into()).encoded_len(),
            Message::DegreeVector(vec![0.0; 9].into()).encoded_len(),
            Message::Dictionary(Arc::new(Dictionary::new(vec![0.0; 10_312 * 9]))).encoded_len(),
            Message::OrderedMatrix(vec![0.0; 65 * 9].into()).encoded_len(),
            Message::Start(budget).encoded_len(),
            Message::Walk(Walk {
                budget,
                sequence: vec![0; 20],
                tries: 0,
            })
            .encoded_len(),
            Message::Sequence(vec![0; 40]).encoded_len(),
        ];
        assert_eq!(sizes, [10_312, 36, 371_232, 2_340, 12, 92, 160]);
        // 425 MB for the matrix and 82 kB for the tree of BlogCatalog.
        assert_eq!(published_bytes(10_312, 65, Rows::All, true), 425_349_376 + 82_488);
        assert_eq!(published_bytes(10_312, 65, Rows::All, false), 82_488);
        assert_eq!(published_bytes(10_312, 65, Rows::Off, true), 0);
        // The rows of all neighbours of all devices are 27.6 GB.
        let neighbours = published_bytes(10_312, 2 * 333_983, Rows::Neighbours, true) - 82_488;
        assert_eq!((neighbours as f64 / 1e8).round(), 276.0);
        assert_eq!(row_bytes(10_312), 41_252);
        assert_eq!(
            Message::TreeAndMatrix {
                published: None,
                bytes: 5
            }
            .payload_len(),
            5
        );
    }

    proptest! {
        #[test]
        fn a_walk_survives_the_wire(left in any::<u32>(), p in 0.0f32..1.0, sequence in prop::collection::vec(any::<u32>(), 0..50)) {
            let walk = Walk { budget: Budget { left, epsilon: 2.0, predictor_prob: p }, sequence, tries: 0 };
            let message = Message::Walk(walk.clone());
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), message.encoded_len());
            let back = Message::decode(message.kind(), &bytes);
            prop_assert!(matches!(back, Ok(Message::Walk(back)) if back == walk));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..12, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(message) = Message::decode(kind, &bytes) {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert_eq!(again.len(), bytes.len());
            }
        }
    }
}
