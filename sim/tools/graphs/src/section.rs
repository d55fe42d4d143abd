//! One section of a mapped file, checked block by block when it is first read.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;

use crate::DataError;
use crate::map::Map;

/// What has a digest of its own.
pub(crate) const BLOCK: usize = 1 << 16;

/// How many digests a section of so many bytes has; zeros after it belong to its last block.
pub(crate) fn n_blocks(len: usize) -> usize {
    len.div_ceil(BLOCK)
}

// What is known of a block. Whoever finds it unread checks it, and several at a time come to the
// same answer.
const UNREAD: u8 = 0;
const WHOLE: u8 = 1;
const DAMAGED: u8 = 2;

/// Some of a mapped file's bytes.
pub(crate) struct Section {
    map: Arc<Map>,
    /// Without the zeros that follow.
    place: Range<usize>,
    /// Where it ends with them.
    end: usize,
    digests: Vec<blake3::Hash>,
    states: Vec<AtomicU8>,
    /// If it holds ids, what those from a place on must be below, by ascending places.
    below: Vec<(usize, u32)>,
    /// What is read in place of damaged numbers, made when it is needed: pages of zeros that take
    /// no memory.
    zeros: OnceLock<Vec<u64>>,
}

impl Section {
    /// A section whose place in the file and number of digests hold.
    pub(crate) fn new(map: &Arc<Map>, place: Range<usize>, end: usize, digests: Vec<blake3::Hash>) -> Section {
        let states = (0..n_blocks(place.len())).map(|_| AtomicU8::new(UNREAD)).collect();
        Section {
            map: Arc::clone(map),
            place,
            end,
            digests,
            states,
            below: Vec::new(),
            zeros: OnceLock::new(),
        }
    }

    /// The same, holding ids: those from a place on below a number, by ascending places, the first
    /// of which is 0.
    pub(crate) fn below(self, below: Vec<(usize, u32)>) -> Section {
        Section { below, ..self }
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.place.len()
    }

    /// Some of the numbers, by their places; zeros if they are not what was written, or ids that
    /// are too large.
    ///
    /// # Panics
    /// If they are not within the section.
    #[inline]
    pub(crate) fn numbers<T: Pod>(&self, range: Range<usize>) -> &[T] {
        match self.read(range.start * size_of::<T>()..range.end * size_of::<T>()) {
            Some(bytes) => bytemuck::cast_slice(bytes),
            None => {
                let zeros = self
                    .zeros
                    .get_or_init(|| vec![0; self.len().div_ceil(size_of::<u64>())]);
                &bytemuck::cast_slice(zeros)[range]
            }
        }
    }

    /// Some of the bytes; `None` if they are not what was written, or ids that are too large.
    #[inline]
    fn read(&self, range: Range<usize>) -> Option<&[u8]> {
        let bytes = &self.bytes()[range.clone()];
        let mut blocks = range.start / BLOCK..range.end.div_ceil(BLOCK);
        (bytes.is_empty() || blocks.all(|block| self.is_whole(block))).then_some(bytes)
    }

    /// All bytes.
    pub(crate) fn whole(&self) -> Result<&[u8], DataError> {
        let damage = || self.damage().expect("what cannot be read is damaged");
        self.read(0..self.len()).ok_or_else(damage)
    }

    /// What is wrong with what has been read, if anything is.
    pub(crate) fn damage(&self) -> Option<DataError> {
        let is_damaged = |state: &AtomicU8| state.load(Ordering::Relaxed) == DAMAGED;
        let block = self.states.iter().position(is_damaged)?;
        let from = self.place.start + block * BLOCK;
        let to = (from + BLOCK).min(self.end);
        let message = format!("bytes {from} to {to} are not what was written; make the file again from its source");
        Some(DataError::format(self.map.path(), message))
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.map.bytes()[self.place.clone()]
    }

    #[inline]
    fn is_whole(&self, block: usize) -> bool {
        match self.states[block].load(Ordering::Relaxed) {
            WHOLE => true,
            UNREAD => self.check(block),
            _ => false,
        }
    }

    #[cold]
    fn check(&self, block: usize) -> bool {
        let from = block * BLOCK;
        let start = self.place.start + from;
        // The last block has the zeros that follow, and they may make it a little longer.
        let end = match block + 1 < self.states.len() {
            true => start + BLOCK,
            false => self.end,
        };
        let holds = blake3::hash(&self.map.bytes()[start..end]) == self.digests[block] && self.ids_hold(from);
        self.states[block].store(if holds { WHOLE } else { DAMAGED }, Ordering::Relaxed);
        holds
    }

    /// Whether the ids of the block from byte `from` on are below what they must be.
    fn ids_hold(&self, from: usize) -> bool {
        if self.below.is_empty() {
            return true;
        }
        let ids: &[u32] = bytemuck::cast_slice(&self.bytes()[from..self.len().min(from + BLOCK)]);
        let (first, end) = (from / size_of::<u32>(), from / size_of::<u32>() + ids.len());
        // The last that begins no later than the block, which is one of those before the first that
        // does.
        let mut at = self.below.partition_point(|&(start, _)| start <= first) - 1;
        while let Some(&(start, n)) = self.below.get(at).filter(|(start, _)| *start < end) {
            at += 1;
            let stop = self.below.get(at).map_or(end, |&(start, _)| start.min(end));
            let part = &ids[start.max(first) - first..stop.max(first) - first];
            if part.iter().any(|&id| id >= n) {
                return false;
            }
        }
        true
    }
}
