//! A symmetric matrix with an empty diagonal, each pair stored once.

/// The dissimilarities of all pairs of `n` vertices: row by row, those to the vertices of larger
/// index.
///
/// The diagonal is 0 and not stored; values are never NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Condensed {
    n: usize,
    values: Vec<f32>,
}

/// The number of pairs of `n` vertices.
pub(crate) fn n_pairs(n: usize) -> usize {
    n * n.saturating_sub(1) / 2
}

/// The position of the pair `u < v` among those of `n` vertices.
#[inline(always)]
pub(crate) fn position(n: usize, u: usize, v: usize) -> usize {
    debug_assert!(u < v && v < n);
    u * (2 * n - u - 1) / 2 + v - u - 1
}

impl Condensed {
    /// The matrix of `n` vertices with these values, in the order (0, 1), (0, 2), … (1, 2), …
    ///
    /// # Panics
    /// When there are not `n (n − 1) / 2` of them: the caller's bug.
    pub fn new(n: usize, values: Vec<f32>) -> Condensed {
        assert_eq!(
            values.len(),
            n_pairs(n),
            "a condensed matrix of {n} vertices has one value a pair"
        );
        debug_assert!(values.iter().all(|value| !value.is_nan()));
        Condensed { n, values }
    }

    /// The matrix of `n` vertices whose pair `u < v` has the value `f(u, v)`.
    pub fn from_fn(n: usize, mut f: impl FnMut(u32, u32) -> f32) -> Condensed {
        let mut values = Vec::with_capacity(n_pairs(n));
        for u in 0..n as u32 {
            values.extend((u + 1..n as u32).map(|v| f(u, v)));
        }
        Condensed::new(n, values)
    }

    /// The number of vertices.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The value of the pair; 0 for a vertex and itself.
    #[inline]
    pub fn get(&self, u: u32, v: u32) -> f32 {
        let (u, v) = (u.min(v) as usize, u.max(v) as usize);
        if u == v {
            0.0
        } else {
            self.values[position(self.n, u, v)]
        }
    }

    /// All values, in the order of [`Condensed::new`].
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, given back.
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// Replaces infinite values by twice the largest finite one, so that a clustering places
    /// isolated vertices last; returns that cap if there was anything to replace. Without any
    /// finite value the cap is 1.
    pub fn cap_infinite(&mut self) -> Option<f32> {
        let finite = self.values.iter().copied().filter(|value| value.is_finite());
        let largest = finite.reduce(f32::max);
        let cap = largest.map_or(1.0, |largest| (2.0 * largest).min(f32::MAX));
        let mut capped = false;
        for value in self.values.iter_mut().filter(|value| value.is_infinite()) {
            *value = cap;
            capped = true;
        }
        capped.then_some(cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_from_both_sides() {
        let matrix = Condensed::from_fn(5, |u, v| (10 * u + v) as f32);
        assert_eq!(matrix.values()[..5], [1.0, 2.0, 3.0, 4.0, 12.0]);
        assert_eq!(
            (matrix.get(3, 4), matrix.get(4, 3), matrix.get(2, 2)),
            (34.0, 34.0, 0.0)
        );
        assert_eq!(Condensed::from_fn(0, |_, _| 1.0).n(), 0);
        assert!(Condensed::from_fn(1, |_, _| 1.0).values().is_empty());
    }

    #[test]
    fn infinite_values_become_twice_the_largest_finite_one() {
        let mut matrix = Condensed::new(3, vec![3.0, f32::INFINITY, f32::INFINITY]);
        assert_eq!(matrix.cap_infinite(), Some(6.0));
        assert_eq!(matrix.values(), [3.0, 6.0, 6.0]);
        assert_eq!(matrix.cap_infinite(), None);
        let mut alone = Condensed::new(2, vec![f32::INFINITY]);
        assert_eq!(alone.cap_infinite(), Some(1.0));
    }
}
