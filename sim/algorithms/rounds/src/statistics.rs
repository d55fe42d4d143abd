//! Statistics of all clients' data that training needs, such as the scale of its inputs.

use crate::Trainer;

/// What clients report of their data in the first round, which then trains nothing, and what the
/// sums over clients become. Given to [`Rounds::with_statistics`](crate::Rounds::with_statistics).
pub struct Statistics<R: Trainer> {
    /// So many of the model's last numbers come from the statistics, and never come back.
    pub n_fixed: usize,
    /// What a client reports; the server learns the sums over clients.
    pub of: fn(&R, R::Shard<'_>) -> Vec<f64>,
    /// The model's last numbers from these sums.
    pub fixed: fn(&R, &[f64]) -> Vec<f32>,
}
