//! Pairs of graphs for similarity learning: for every graph one of its own class and one of
//! another.
//!
//! PPGM trains so (its published code; the paper says nothing): a pair matches if both graphs are
//! variants of one function. One epoch visits every training graph once; validation and test pairs
//! are drawn once and kept.

use folkmoot_draws::SimRng;
use rand::RngExt;
use rand::seq::SliceRandom;
use thiserror::Error;

/// Two graphs, and whether they are of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The graph that the pair was drawn for.
    pub first: u32,
    /// Its partner; the same graph if no other has its class.
    pub second: u32,
    /// Whether both are of one class.
    pub matches: bool,
}

/// Draws pairs among the graphs of one part of a split.
///
/// ```
/// use folkmoot_graphs::PairSampler;
/// use folkmoot_draws::{SeedableRng, SimRng};
///
/// let labels = [0, 0, 1, 1, 1];
/// let sampler = PairSampler::new(&labels, &[0, 1, 2, 3, 4])?;
/// let epoch = sampler.epoch(&mut SimRng::seed_from_u64(1));
/// // Five graphs with two pairs each are the ten pairs of one batch of PPGM.
/// assert_eq!(epoch.chunks(10).len(), 1);
/// assert!(epoch.iter().all(|pair| {
///     pair.matches == (labels[pair.first as usize] == labels[pair.second as usize])
/// }));
/// # Ok::<(), folkmoot_graphs::PairError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PairSampler {
    items: Vec<u32>,
    /// The class of each of `items`, numbered through.
    class_of: Vec<u32>,
    /// Each item's place in the list of its class.
    place_of: Vec<u32>,
    /// The items of each class that has any.
    by_class: Vec<Vec<u32>>,
}

impl PairSampler {
    /// A sampler of pairs among `items` (ascending, distinct); `labels` has the class of every
    /// graph of the set.
    ///
    /// # Errors
    /// [`PairError`] for an item without a label, and if all items are of one class: then there is
    /// no other to draw from.
    ///
    /// # Complexity
    /// O(n_labels + n_items) time.
    pub fn new(labels: &[u32], items: &[u32]) -> Result<PairSampler, PairError> {
        const UNSEEN: u32 = u32::MAX;
        let n_classes = labels.iter().max().map_or(0, |&most| most as usize + 1);
        let mut number = vec![UNSEEN; n_classes];
        let mut sampler = PairSampler {
            items: items.to_vec(),
            class_of: Vec::with_capacity(items.len()),
            place_of: Vec::with_capacity(items.len()),
            by_class: Vec::new(),
        };
        for &item in items {
            let label = *labels.get(item as usize).ok_or(PairError::Item {
                item,
                n_items: labels.len(),
            })?;
            let class = &mut number[label as usize];
            if *class == UNSEEN {
                *class = sampler.by_class.len() as u32;
                sampler.by_class.push(Vec::new());
            }
            let members = &mut sampler.by_class[*class as usize];
            sampler.class_of.push(*class);
            sampler.place_of.push(members.len() as u32);
            members.push(item);
        }
        match sampler.by_class.len() {
            n_classes @ (0 | 1) => Err(PairError::FewClasses {
                n_classes,
                n_items: items.len(),
            }),
            _ => Ok(sampler),
        }
    }

    /// How many items have a class of their own: their matching pair is the item with itself.
    pub fn n_single(&self) -> usize {
        self.by_class.iter().filter(|members| members.len() == 1).count()
    }

    /// The pairs of one epoch, `2 × n_items`: for each item, in random order, a matching pair and
    /// then one that does not match.
    ///
    /// The matching partner is uniform among the other items of the class. The other class is
    /// uniform among those that have items, and the partner uniform within it, so that classes with
    /// many variants are not favoured.
    ///
    /// # Determinism
    /// Shuffles the items once, then draws two or three values of `0..n` an item (no first one
    /// where an item is alone in its class), in the order of the pairs.
    pub fn epoch(&self, rng: &mut SimRng) -> Vec<Pair> {
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.shuffle(rng);
        let mut pairs = Vec::with_capacity(2 * order.len());
        for at in order {
            let (first, class) = (self.items[at], self.class_of[at]);
            let own = &self.by_class[class as usize];
            let second = match own.len() as u32 {
                1 => first,
                n => own[other(n, self.place_of[at], rng) as usize],
            };
            pairs.push(Pair {
                first,
                second,
                matches: true,
            });
            let foreign = &self.by_class[other(self.by_class.len() as u32, class, rng) as usize];
            pairs.push(Pair {
                first,
                second: foreign[rng.random_range(0..foreign.len() as u32) as usize],
                matches: false,
            });
        }
        pairs
    }
}

/// Uniform among `0..n` without `excluded`; `n` is at least 2.
fn other(n: u32, excluded: u32, rng: &mut SimRng) -> u32 {
    let drawn = rng.random_range(0..n - 1);
    drawn + u32::from(drawn >= excluded)
}

/// Why no pairs can be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PairError {
    /// An item that has no label.
    #[error("pairs are wanted for graph {item}, but only graphs 0..{n_items} have a class")]
    Item {
        item: u32,
        /// How many items are labelled.
        n_items: usize,
    },
    /// All items are of one class, or there are none.
    #[error(
        "pairs that do not match need graphs of 2 classes or more, got {n_items} graphs of {n_classes}; take a \
                 larger part of the set"
    )]
    FewClasses {
        /// How many classes there are.
        n_classes: usize,
        /// How many items there are.
        n_items: usize,
    },
}

#[cfg(test)]
mod tests;
