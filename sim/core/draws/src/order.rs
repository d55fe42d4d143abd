//! Random orders.

use crate::SimRng;
use crate::uniform::{index, index_by_word};

/// Puts `items` in a random order (Fisher and Yates, from the end). Takes one [`index`] for every
/// item but one.
pub fn shuffle<T>(rng: &mut SimRng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, index(rng, i + 1));
    }
}

/// Puts `k` items, drawn without replacement, first, in the order drawn; `k` is at most the number
/// of items. Takes one [`index`] for each.
pub fn draw_first<T>(rng: &mut SimRng, items: &mut [T], k: usize) {
    for i in 0..k {
        items.swap(i, i + index(rng, items.len() - i));
    }
}

/// [`shuffle`] by [`index_by_word`]: it stays for the splits of evaluations and folds, and nothing
/// new may use it.
pub fn shuffle_by_words<T>(rng: &mut SimRng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, index_by_word(rng, i + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    /// All 24 orders of four items, or those of their first four, equally often.
    #[test]
    fn every_order_is_equally_likely() {
        for (by, order) in [shuffle, shuffle_by_words, |rng: &mut SimRng, items: &mut [u8]| {
            draw_first(rng, items, 4)
        }]
        .into_iter()
        .enumerate()
        {
            let mut rng = SimRng::seed_from_u64(6);
            let mut counts = std::collections::BTreeMap::new();
            for _ in 0..24_000 {
                let mut items = [0, 1, 2, 3];
                order(&mut rng, &mut items);
                *counts.entry(items).or_insert(0) += 1;
            }
            assert_eq!(counts.len(), 24, "{by}");
            let chi2: f64 = counts.values().map(|&c| (f64::from(c) - 1e3).powi(2) / 1e3).sum();
            assert!(chi2 < 49.7, "chi² of 23 degrees of freedom: {chi2}"); // 99.9 % quantile
        }
    }

    /// Each of ten items is among the first three as often as any other, and none is lost.
    #[test]
    fn what_is_drawn_comes_first() {
        let mut rng = SimRng::seed_from_u64(7);
        let mut counts = [0u32; 10];
        for _ in 0..10_000 {
            let mut items: Vec<usize> = (0..10).collect();
            draw_first(&mut rng, &mut items, 3);
            items[..3].iter().for_each(|&item| counts[item] += 1);
            items.sort_unstable();
            assert!(items.into_iter().eq(0..10));
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 3e3).powi(2) / 3e3).sum();
        assert!(chi2 < 27.9, "chi² of 9 degrees of freedom: {chi2}"); // 99.9 % quantile
    }

    #[test]
    fn value_stability() {
        let ordered = |by: fn(&mut SimRng, &mut [u8])| {
            let mut items = [0, 1, 2, 3, 4, 5];
            by(&mut SimRng::seed_from_u64(7), &mut items);
            items
        };
        assert_eq!(ordered(shuffle), [4, 1, 3, 2, 5, 0]);
        assert_eq!(ordered(shuffle_by_words), [1, 2, 3, 4, 5, 0]);
        assert_eq!(ordered(|rng, items| draw_first(rng, items, 3)), [0, 1, 4, 3, 2, 5]);
    }
}
