//! One bit for each pair of users: what thousands of users who answer for all others send, at an
//! eighth of a byte each.

use crate::own::user_at;

/// A square of bits, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    n: usize,
    width: usize,
    words: Vec<u64>,
}

impl Bits {
    /// `n` rows of `n` bits, none set.
    pub fn new(n: usize) -> Bits {
        let width = n.div_ceil(64);
        Bits {
            n,
            width,
            words: vec![0; n * width],
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Sets bit `column` of row `row`.
    ///
    /// # Panics
    ///
    /// If there is no such bit.
    pub fn set(&mut self, row: usize, column: usize) {
        assert!(column < self.n, "column {column} of {}", self.n);
        self.words[row * self.width + column / 64] |= 1 << (column % 64);
    }

    /// Bit `column` of row `row`.
    ///
    /// # Panics
    ///
    /// If there is no such bit.
    pub fn has(&self, row: usize, column: usize) -> bool {
        assert!(column < self.n, "column {column} of {}", self.n);
        self.words[row * self.width + column / 64] >> (column % 64) & 1 == 1
    }

    /// The words of a row, its lowest columns first.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.width..][..self.width]
    }

    /// The set columns of a row, ascending.
    pub fn ones(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        ones(self.row(row).iter().copied())
    }

    /// How many bits of a row are set.
    pub fn count(&self, row: usize) -> usize {
        self.row(row).iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn transposed(&self) -> Bits {
        let mut columns = Bits::new(self.n);
        for row in 0..self.n {
            self.ones(row).for_each(|column| columns.set(column, row));
        }
        columns
    }
}

/// The places of the set bits of some words, ascending.
pub(crate) fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(at, mut word)| {
        std::iter::from_fn(move || {
            (word != 0).then(|| {
                let bit = word.trailing_zeros() as usize;
                word &= word - 1;
                64 * at + bit
            })
        })
    })
}

/// Places below `n_bits` as bits, the lowest of each byte first: `ceil(n_bits / 8)` bytes.
pub(crate) fn pack(places: impl Iterator<Item = u32>, n_bits: u32) -> Vec<u8> {
    let mut bytes = vec![0; n_bits.div_ceil(8) as usize];
    places.for_each(|place| bytes[place as usize / 8] |= 1 << (place % 8));
    bytes
}

/// The places of the bits that are set, ascending; none where these are not so many bytes or a bit
/// beyond the last is set.
pub(crate) fn unpack(bytes: &[u8], n_bits: u32) -> Option<Vec<u32>> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let places: Vec<u32> = ones(bytes.chunks(8).map(word)).map(|place| place as u32).collect();
    let fits = bytes.len() == n_bits.div_ceil(8) as usize && places.last().is_none_or(|last| *last < n_bits);
    fits.then_some(places)
}

/// The users that `me` has named among all others.
pub(crate) fn named(me: u32, bytes: &[u8], n_users: u32) -> Option<Vec<u32>> {
    let places = unpack(bytes, n_users - 1)?;
    Some(places.into_iter().map(|place| user_at(me, place)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_read_as_they_were_set(n in 1_usize..150, marks in proptest::collection::vec((0_usize..150, 0_usize..150), 0..200)) {
            let mut bits = Bits::new(n);
            let mut plain = vec![vec![false; n]; n];
            for (row, column) in marks.into_iter().map(|(row, column)| (row % n, column % n)) {
                bits.set(row, column);
                plain[row][column] = true;
            }
            let turned = bits.transposed();
            for (row, own) in plain.iter().enumerate() {
                let set: Vec<usize> = (0..n).filter(|&column| own[column]).collect();
                prop_assert_eq!(bits.count(row), set.len());
                prop_assert!(set.iter().all(|&column| bits.has(row, column) && turned.has(column, row)));
                prop_assert_eq!(bits.ones(row).collect::<Vec<_>>(), set);
                prop_assert_eq!(turned.ones(row).collect::<Vec<_>>(), (0..n).filter(|&r| plain[r][row]).collect::<Vec<_>>());
            }
        }

        #[test]
        fn what_is_packed_comes_back(n_bits in 1_u32..70, set in proptest::collection::btree_set(0_u32..70, 0..30)) {
            let set: Vec<u32> = set.into_iter().filter(|place| *place < n_bits).collect();
            let bytes = pack(set.iter().copied(), n_bits);
            prop_assert_eq!(bytes.len(), n_bits.div_ceil(8) as usize);
            prop_assert_eq!(unpack(&bytes, n_bits), Some(set));
            prop_assert_eq!(unpack(&bytes[1..], n_bits), None);
        }
    }

    #[test]
    fn a_bit_beyond_the_last_is_no_report() {
        assert_eq!(unpack(&[0b100], 2), None);
        assert_eq!(named(1, &[0b10], 3), Some(vec![2]));
        // 2 708 users: 339 bytes.
        assert_eq!(pack(std::iter::empty(), 2_707).len(), 339);
    }
}
