//! The largest number of a range, in constant time and little memory.

use std::ops::Range;

/// Numbers in a block: two partial blocks are read through, whole ones are in the table.
const BLOCK: usize = 32;

/// A list of numbers that answers for the largest of any range.
///
/// A sparse table over the maxima of blocks adds `log2(n / 32) / 32` numbers to each of the list:
/// half again as much at 2^20.
#[derive(Clone, Debug)]
pub(super) struct RangeMax {
    values: Vec<u32>,
    /// At level `l`, entry `i`: the maximum of blocks `i..i + 2^l`.
    levels: Vec<Vec<u32>>,
}

impl RangeMax {
    pub(super) fn new(values: Vec<u32>) -> RangeMax {
        let blocks: Vec<u32> = values.chunks(BLOCK).map(largest).collect();
        let mut levels = vec![blocks];
        for half in (0..usize::BITS).map(|level| 1usize << level) {
            let last = &levels[levels.len() - 1];
            if last.len() <= half {
                break;
            }
            let next = last.iter().zip(&last[half..]).map(|(&a, &b)| a.max(b)).collect();
            levels.push(next);
        }
        RangeMax { values, levels }
    }

    /// The largest number of the range, 0 of an empty one.
    pub(super) fn max(&self, range: Range<usize>) -> u32 {
        let (first, last) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        if first >= last {
            return largest(&self.values[range]);
        }
        let level = (last - first).ilog2();
        let table = &self.levels[level as usize];
        let whole = table[first].max(table[last - (1 << level)]);
        let before = largest(&self.values[range.start..first * BLOCK]);
        let after = largest(&self.values[last * BLOCK..range.end]);
        whole.max(before).max(after)
    }
}

fn largest(values: &[u32]) -> u32 {
    values.iter().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_maximum_of_the_slice(values in prop::collection::vec(0u32..1000, 0..700), a in 0usize..700, b in 0usize..700) {
            let (a, b) = (a.min(b).min(values.len()), a.max(b).min(values.len()));
            prop_assert_eq!(RangeMax::new(values.clone()).max(a..b), largest(&values[a..b]));
        }
    }
}
