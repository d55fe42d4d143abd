//! Threads. What they run comes as closures behind pointers, so that nothing of the pool is
//! compiled once more for every strategy.

use super::RunError;
use rayon::prelude::*;

/// What is run once.
pub(super) type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// A pool of `n` threads, at least one.
pub(super) fn pool(n: usize) -> Result<rayon::ThreadPool, RunError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n.max(1)).build();
    pool.map_err(|error| RunError::Threads(error.to_string()))
}

/// Runs a task on a pool.
pub(super) fn within(pool: &rayon::ThreadPool, task: Task<'_>) {
    pool.install(task);
}

/// Runs two tasks side by side on the present pool.
pub(super) fn both(a: Task<'_>, b: Task<'_>) {
    rayon::join(a, b);
}

/// Runs all tasks side by side on the present pool.
pub(super) fn each(tasks: Vec<Task<'_>>) {
    tasks.into_par_iter().with_max_len(1).for_each(|task| task());
}
