//! What is told of a generator as a codec packs it: its layers, or the gradient by them, matrix by
//! matrix, embeddings as one more, and behind these, as they are, how many neighbours nodes lack,
//! which are whole. How many numbers were packed goes with them.
//!
//! What is not finite goes as it is, so that a generator that diverges is read as what it is.

use super::Makers;
use super::numbers::Numbers;
use super::told::Told;
use crate::codec::no_draws;
use folkmoot_codecs::{Damaged, Shape};
use folkmoot_rounds::packed::{Packed, Packing, first_not_finite};

impl Makers {
    /// The matrices of a generator with embeddings of so many nodes; with none, of a gradient.
    fn shapes(&self, n_nodes: usize) -> Vec<Shape> {
        let mut shapes = self.networks.shared.shapes();
        shapes.extend((n_nodes > 0).then_some([n_nodes, self.plan.latent]));
        shapes
    }

    fn packing(&self, n_nodes: usize) -> Packing<'_> {
        Packing::new(&*self.codec, self.shapes(n_nodes))
    }

    /// Bytes that are counted of a generator with so many nodes besides its head, or with none of a
    /// gradient, where they do not depend on the numbers.
    pub(super) fn n_bytes(&self, n_nodes: usize) -> Option<u64> {
        let n_packed = self.codec.encoded_len(&self.shapes(n_nodes))?;
        let besides = match self.codec.is_plain() {
            true => 0,
            false => Told::HOW_MANY,
        };
        Some(n_packed + 4 * n_nodes as u64 + besides)
    }

    /// A generator with so many nodes that nobody makes, or with none a gradient. The server
    /// refuses it where nobody knows how many bytes it has.
    pub(super) fn dry(&self, head: (u32, u32), n_nodes: usize) -> Told {
        let n_values = self.networks.n_shared() + n_nodes * (self.plan.latent + 1);
        Told::dry(head, n_values, self.n_bytes(n_nodes).unwrap_or(0))
    }

    fn n_nodes(&self, told: &Told) -> usize {
        told.n_nodes(&self.plan, self.networks.n_shared())
    }

    /// As it is sent.
    pub(super) fn pack(&self, told: Told) -> Told {
        if self.codec.is_plain() || told.n_values() == 0 || !told.is_made() {
            return told;
        }
        let values = told.values();
        if first_not_finite(&values).is_some() {
            return told;
        }
        let Packed(bytes) = self.packing(self.n_nodes(&told)).pack(&values, None, &mut no_draws());
        told.packed_as(bytes)
    }

    /// As it is read.
    pub(super) fn open(&self, told: &Told) -> Result<Told, Damaged> {
        let Some(bytes) = told.packed() else {
            return Ok(told.clone());
        };
        let n_nodes = self.n_nodes(told);
        let values = self.packing(n_nodes).open(bytes, n_nodes)?;
        Ok(Told::new((told.whose, told.step), Numbers::Plain(values)))
    }
}
