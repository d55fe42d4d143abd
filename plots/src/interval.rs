//! Intervals over seeds: how far they may reach.

/// An interval as far as a metric can be there.
pub(crate) fn bounded(interval: Option<(f64, f64)>, (low, high): (f64, f64)) -> Option<(f64, f64)> {
    interval.map(|(lo, hi)| (lo.max(low), hi.min(high)))
}
