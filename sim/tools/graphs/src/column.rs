//! Numbers side by side, in memory of our own or in a file that is mapped into it.
//!
//! A mapped column is checked block by block when it is first read, so that opening a large file
//! reads next to nothing of it. A block that is not what was written reads as zeros, which index
//! whatever the numbers may index, and [`Column::damage`] says so: whoever runs on the data asks at
//! the end, and has no result then.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;

use crate::DataError;
use crate::section::Section;

/// `n` numbers, owned or mapped.
#[derive(Clone)]
pub(crate) enum Column<T: Pod> {
    Owned(Vec<T>),
    /// Some of a section's numbers, by their places in it.
    Mapped(Arc<Section>, Range<usize>),
}

impl<T: Pod> Column<T> {
    /// All numbers of a section, whose length is a multiple of a number's.
    pub(crate) fn mapped(section: Section) -> Column<T> {
        debug_assert!(section.len().is_multiple_of(size_of::<T>()));
        let n = section.len() / size_of::<T>();
        Column::Mapped(Arc::new(section), 0..n)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Column::Owned(values) => values.len(),
            Column::Mapped(_, place) => place.len(),
        }
    }

    /// Some of the numbers.
    ///
    /// # Panics
    /// If they are not within the column.
    #[inline(always)]
    pub(crate) fn slice(&self, range: Range<usize>) -> &[T] {
        // Walks ask for a few numbers of an owned column millions of times; whatever a mapped one
        // needs is kept out of their way.
        match self {
            Column::Owned(values) => &values[range],
            Column::Mapped(section, place) => mapped(section, place, range),
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
            Column::Mapped(section, _) => section.damage(),
        }
    }
}

#[inline(never)]
fn mapped<'a, T: Pod>(section: &'a Section, place: &Range<usize>, range: Range<usize>) -> &'a [T] {
    assert!(
        range.start <= range.end && range.end <= place.len(),
        "within the column"
    );
    section.numbers(place.start + range.start..place.start + range.end)
}

impl Column<u32> {
    /// The bounds of a row, in a column of row bounds.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub(crate) fn bounds(&self, row: u32) -> Range<usize> {
        let bounds = self.slice(row as usize..row as usize + 2);
        bounds[0] as usize..bounds[1] as usize
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

impl<T: Pod + Eq> Eq for Column<T> {}

impl<T: Pod> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self {
            Column::Owned(_) => "owned",
            Column::Mapped(..) => "mapped",
        };
        write!(f, "{} {place} numbers", self.len())
    }
}
