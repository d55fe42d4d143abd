//! Distances between vectors.

/// The L1 distance of two vectors of equal length, summed in ascending order.
///
/// # Panics
///
/// In debug builds, when the lengths differ: the caller's bug.
#[inline]
pub fn l1(a: &[f32], b: &[f32]) -> f32 {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + (a - b).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l1_adds_absolute_differences() {
        assert_eq!(l1(&[1.0, -2.0, 0.5], &[0.0, 1.0, 0.5]), 4.0);
        assert_eq!(l1(&[], &[]), 0.0);
    }
}
