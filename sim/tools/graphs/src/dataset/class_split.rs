//! Splits of graphs by class: all graphs of a class train, validate or test together.

use folkmoot_draws::SimRng;
use rand::seq::SliceRandom;
use thiserror::Error;

use super::{Dataset, Splits};

/// With fewer classes one of the three parts would have none.
const MIN_CLASSES: usize = 10;

impl Splits {
    /// Splits classes 80/10/10 in the order given: the first `⌊0.8 n⌋` train, those up to `⌊0.9 n⌋`
    /// validate, the rest test.
    ///
    /// `labels` has the class of each item; `order` names each of the `n` classes once. PPGM splits
    /// functions so (its published code; the paper says nothing): no function of the test is ever
    /// trained on.
    ///
    /// # Errors
    /// [`SplitError`] for fewer than 10 classes, or an order that is no permutation of the classes.
    pub fn by_class(labels: &[u32], order: &[u32]) -> Result<Splits, SplitError> {
        let n_classes = order.len();
        if n_classes < MIN_CLASSES {
            return Err(SplitError::FewClasses { n_classes });
        }
        let mut rank = vec![None; n_classes];
        for (at, &class) in order.iter().enumerate() {
            match rank.get_mut(class as usize) {
                Some(place @ None) => *place = Some(at),
                _ => return Err(SplitError::Order { class, n_classes }),
            }
        }
        // In whole numbers: adding up the shares 0.8, 0.1 and 0.1 in floating point loses the last
        // class of some sets.
        let (train_end, val_end) = (n_classes * 8 / 10, n_classes * 9 / 10);
        let mut splits = Splits {
            train: vec![false; labels.len()],
            val: vec![false; labels.len()],
            test: vec![false; labels.len()],
        };
        for (item, &class) in labels.iter().enumerate() {
            let rank = rank.get(class as usize).copied().flatten();
            let rank = rank.ok_or(SplitError::Order { class, n_classes })?;
            let part = match rank {
                rank if rank < train_end => &mut splits.train,
                rank if rank < val_end => &mut splits.val,
                _ => &mut splits.test,
            };
            part[item] = true;
        }
        Ok(splits)
    }

    /// The items of a part of the split, ascending: of `train`, `val` or `test`.
    pub fn items(mask: &[bool]) -> Vec<u32> {
        (0..).zip(mask).filter(|(_, set)| **set).map(|(item, _)| item).collect()
    }
}

impl Dataset {
    /// The graphs split 80/10/10 by class after a random permutation of the classes
    /// ([`Splits::by_class`]).
    ///
    /// # Errors
    /// [`SplitError`] for graphs without classes or with fewer than 10.
    ///
    /// # Determinism
    /// Shuffles `0..n_classes` once with `rng`.
    pub fn split_by_class(&self, rng: &mut SimRng) -> Result<Splits, SplitError> {
        let labels = self.graph_labels.as_ref().ok_or(SplitError::NoClasses)?;
        let mut order: Vec<u32> = (0..self.n_classes as u32).collect();
        order.shuffle(rng);
        Splits::by_class(labels, &order)
    }
}

/// Why classes cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SplitError {
    /// Graphs have no classes.
    #[error("a split by class needs graphs with classes; take a set of labelled graphs, such as FunctionGraphs")]
    NoClasses,
    /// Too few classes for three parts.
    #[error("a split 80/10/10 by class needs at least {MIN_CLASSES} classes, got {n_classes}; take a larger set")]
    FewClasses {
        /// How many there are.
        n_classes: usize,
    },
    /// The order is no permutation of the classes.
    #[error(
        "an order of {n_classes} classes must name each of 0..{n_classes} once, but class {class} is missing, \
                 twice or beyond it"
    )]
    Order {
        /// The first class that does not fit.
        class: u32,
        /// How many classes the order has.
        n_classes: usize,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;

    fn set(labels: Vec<u32>, n_classes: usize) -> Dataset {
        Dataset {
            graph_labels: Some(labels),
            n_classes,
            ..Dataset::default()
        }
    }

    #[test]
    fn ten_classes_are_split_eight_one_one_in_the_order_given() {
        let labels = [9, 0, 3, 3, 1, 2, 4, 5, 6, 7, 8];
        let order = [3, 1, 2, 0, 4, 5, 6, 7, 9, 8];
        let splits = Splits::by_class(&labels, &order).unwrap();
        assert_eq!(splits.sizes(), (9, 1, 1));
        assert_eq!(
            (Splits::items(&splits.val), Splits::items(&splits.test)),
            (vec![0], vec![10])
        );
    }

    #[test]
    fn no_class_is_lost_to_rounding() {
        let labels: Vec<u32> = (0..1_073).collect();
        let splits = Splits::by_class(&labels, &labels).unwrap();
        assert_eq!(splits.sizes(), (858, 107, 108));
    }

    #[test]
    fn orders_and_sets_that_cannot_be_split_are_refused() {
        let order: Vec<u32> = (0..10).collect();
        let twice = [0, 1, 2, 3, 4, 5, 6, 7, 8, 8];
        let error = Splits::by_class(&[0], &twice).unwrap_err().to_string();
        assert!(error.contains("class 8 is missing, twice"), "{error}");
        assert_eq!(
            Splits::by_class(&[10], &order),
            Err(SplitError::Order {
                class: 10,
                n_classes: 10
            })
        );
        let mut rng = SimRng::seed_from_u64(1);
        let error = set(vec![0; 9], 9).split_by_class(&mut rng).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a split 80/10/10 by class needs at least 10 classes, got 9; take a larger set"
        );
        let unlabelled = Dataset::default().split_by_class(&mut rng);
        assert_eq!(unlabelled, Err(SplitError::NoClasses));
    }

    proptest! {
        #[test]
        fn every_item_is_in_one_part_and_every_class_in_one(n_classes in 10_u32..60, seed in any::<u64>()) {
            let labels: Vec<u32> = (0..3 * n_classes).map(|item| item % n_classes).collect();
            let set = set(labels.clone(), n_classes as usize);
            let splits = set.split_by_class(&mut SimRng::seed_from_u64(seed)).unwrap();
            let part = |item: usize| [splits.train[item], splits.val[item], splits.test[item]];
            for (item, &class) in labels.iter().enumerate() {
                prop_assert_eq!(part(item).iter().filter(|set| **set).count(), 1);
                let first = labels.iter().position(|other| *other == class).unwrap();
                prop_assert_eq!(part(item), part(first));
            }
            let (train, val, test) = splits.sizes();
            prop_assert!(train > 0 && val > 0 && test > 0);
            prop_assert_eq!(train + val + test, labels.len());
        }
    }
}
