//! Numbers side by side, in memory of our own or in a file that is mapped into it.
//!
//! A mapped column is checked block by block when it is first read, so that opening a large file reads next to nothing of it. A
//! block that is not what was written reads as zeros, which index whatever the numbers may index, and [`Column::damage`] says so:
//! whoever runs on the data asks at the end, and has no result then.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;

use crate::DataError;
use crate::mapped::Section;

/// `n` numbers, owned or mapped.
#[derive(Clone)]
pub(crate) enum Column<T: Pod> {
    Owned(Vec<T>),
    Mapped(Mapped<T>),
}

/// Numbers of a section of a mapped file.
#[derive(Clone)]
pub(crate) struct Mapped<T: Pod> {
    section: Arc<Section>,
    /// What is read in place of damaged numbers, made when it is needed: pages of zeros that take no memory.
    zeros: Arc<OnceLock<Vec<T>>>,
}

impl<T: Pod> Column<T> {
    /// All numbers of a section, whose length is a multiple of a number's.
    pub(crate) fn mapped(section: Arc<Section>) -> Column<T> {
        debug_assert!(section.len().is_multiple_of(size_of::<T>()));
        Column::Mapped(Mapped {
            section,
            zeros: Arc::default(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Column::Owned(values) => values.len(),
            Column::Mapped(mapped) => mapped.len(),
        }
    }

    /// Some of the numbers.
    ///
    /// # Panics
    /// If they are not within the column.
    #[inline]
    pub(crate) fn slice(&self, range: Range<usize>) -> &[T] {
        match self {
            Column::Owned(values) => &values[range],
            Column::Mapped(mapped) => mapped.slice(range),
        }
    }

    /// All of them; a mapped column is read from end to end, if it was not before.
    pub(crate) fn all(&self) -> &[T] {
        self.slice(0..self.len())
    }

    /// What is wrong with what has been read so far, if anything is.
    pub(crate) fn damage(&self) -> Option<DataError> {
        match self {
            Column::Owned(_) => None,
            Column::Mapped(mapped) => mapped.section.damage(),
        }
    }
}

impl<T: Pod> Mapped<T> {
    fn len(&self) -> usize {
        self.section.len() / size_of::<T>()
    }

    #[inline]
    fn slice(&self, range: Range<usize>) -> &[T] {
        let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
        match self.section.read(bytes) {
            Some(bytes) => bytemuck::cast_slice(bytes),
            None => &self.zeros.get_or_init(|| vec![T::zeroed(); self.len()])[range],
        }
    }
}

impl<T: Pod> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Column<T> {
        Column::Owned(values)
    }
}

impl<T: Pod + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Column<T>) -> bool {
        self.all() == other.all()
    }
}

impl<T: Pod> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self {
            Column::Owned(_) => "owned",
            Column::Mapped(_) => "mapped",
        };
        write!(f, "{} {place} numbers", self.len())
    }
}
