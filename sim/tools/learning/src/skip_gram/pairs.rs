//! Skip-gram: which vertices of a walk are each other's context.
//!
//! T. Mikolov et al. Efficient Estimation of Word Representations in Vector Space. 2013; on walks:
//! B. Perozzi, R. Al-Rfou and S. Skiena. DeepWalk: Online Learning of Social Representations. KDD
//! 2014.

/// All pairs `(center, context)` of a walk: the vertices at positions `i != j` with
/// `|i - j| <= window`.
///
/// `walk` has shape `(length,)`. Pairs come by ascending position of the centre, then of the
/// context. Positions count, not vertices: a walk that returns gives the pair of a vertex with
/// itself.
///
/// # Complexity
///
/// `w (2 length - w - 1)` pairs with `w = min(window, length - 1)`, no allocation.
///
/// ```
/// use folkmoot_learning::skip_gram::window_pairs;
/// assert!(window_pairs(&[7, 8, 9], 1).eq([(7, 8), (8, 7), (8, 9), (9, 8)]));
/// ```
pub fn window_pairs(walk: &[u32], window: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
    walk.iter().enumerate().flat_map(move |(i, &center)| {
        let before = &walk[i.saturating_sub(window)..i];
        let after = &walk[i + 1..walk.len().min((i + 1).saturating_add(window))];
        before.iter().chain(after).map(move |&context| (center, context))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The golden case `window_pairs_len5_w2`, which lists the pairs in sorted order.
    #[test]
    fn a_walk_of_five_with_window_two_has_fourteen_pairs() {
        let mut pairs: Vec<_> = window_pairs(&[3, 1, 4, 1, 5], 2).collect();
        assert_eq!(pairs[..3], [(3, 1), (3, 4), (1, 3)]);
        pairs.sort_unstable();
        let expected = [
            (1, 1),
            (1, 1),
            (1, 3),
            (1, 4),
            (1, 4),
            (1, 5),
            (3, 1),
            (3, 4),
            (4, 1),
            (4, 1),
            (4, 3),
            (4, 5),
            (5, 1),
            (5, 4),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn the_number_of_pairs_has_a_closed_form() {
        let walk: Vec<u32> = (0..9).collect();
        for length in 0..9 {
            for window in [0, 1, 2, 5, 8, 9, usize::MAX] {
                let n_pairs = window_pairs(&walk[..length], window).count();
                let w = window.min(length.saturating_sub(1));
                assert_eq!(
                    n_pairs,
                    w * (2 * length).saturating_sub(w + 1),
                    "length {length}, window {window}"
                );
            }
        }
        // FedWalk's settings.
        assert_eq!(window_pairs(&[0; 40], 10).count(), 690);
    }
}
