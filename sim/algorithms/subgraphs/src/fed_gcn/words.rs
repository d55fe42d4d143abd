//! Rows as they travel.

use folkmoot_engine::prelude::*;
use folkmoot_rounds::message::Extra;
use serde::{Deserialize, Serialize};

/// Words of four bytes: numbers of nodes, degrees, and the bits of `f32`s. What stands where
/// follows from what everybody knows, so that nothing else is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Words(pub Vec<u32>);

impl Extra for Words {
    const NAME: &'static str = "rows";
}

impl Payload for Words {
    fn encoded_len(&self) -> usize {
        self.0.encoded_len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Words(Vec::decode(reader)?))
    }
}

/// A row of numbers that belongs to a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) node: u32,
    /// That of the whole graph with the node itself; 0 where it is not told.
    pub(super) degree: u32,
    values: &'a [u32],
}

impl Row<'_> {
    pub(super) fn values(&self) -> impl Iterator<Item = f32> {
        self.values.iter().map(|word| f32::from_bits(*word))
    }
}

impl Words {
    /// Appends a row of sums, with the degree where rows have it.
    pub(super) fn push(&mut self, node: u32, degree: Option<u32>, values: impl IntoIterator<Item = f32>) {
        self.0.push(node);
        self.0.extend(degree);
        self.0.extend(values.into_iter().map(f32::to_bits));
    }

    /// Rows of sums of `n_features` numbers; what is left of the last, if it is not whole, is none.
    pub(super) fn rows(&self, n_features: usize, has_degrees: bool) -> impl Iterator<Item = Row<'_>> {
        let head = 1 + usize::from(has_degrees);
        self.0.chunks_exact(head + n_features).map(move |words| Row {
            node: words[0],
            degree: if has_degrees { words[1] } else { 0 },
            values: &words[head..],
        })
    }

    /// Appends what there is to know of a node.
    pub(super) fn push_node(&mut self, node: u32, neighbours: &[u32], features: impl IntoIterator<Item = f32>) {
        self.0.extend([node, neighbours.len() as u32]);
        self.0.extend(neighbours);
        self.0.extend(features.into_iter().map(f32::to_bits));
    }

    /// All nodes that something is known of: their numbers, neighbours, and the bits of their
    /// features.
    pub(super) fn nodes(&self, n_features: usize) -> impl Iterator<Item = (u32, &[u32], &[u32])> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (head, behind) = rest.split_at_checked(2)?;
            let (neighbours, behind) = behind.split_at_checked(head[1] as usize)?;
            let (features, behind) = behind.split_at_checked(n_features)?;
            rest = behind;
            Some((head[0], neighbours, features))
        })
    }
}
