//! Intervals over seeds: from how many seeds on they are drawn, and how far they may reach.

/// Below so many seeds an interval says more of Student than of them: they are drawn themselves.
pub(crate) const FEW_SEEDS: usize = 5;

/// An interval as far as a metric can be there.
pub(crate) fn bounded(interval: Option<(f64, f64)>, (low, high): (f64, f64)) -> Option<(f64, f64)> {
    interval.map(|(lo, hi)| (lo.max(low), hi.min(high)))
}
