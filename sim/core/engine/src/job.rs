//! Work in the background: kept where it was asked for, offered to idle threads, awaited when its
//! result is due.
//!
//! A job waits in its event. Parts that run one after the other offer all that they will need
//! before the first result is taken; parts that run side by side keep their jobs while every thread
//! has a part, and offer them, in chunks, as soon as one has none. What a part still keeps at its
//! end of a window, later windows want, and it offers that too. Whoever needs a result that nobody
//! has begun does the work. So small jobs that are due at once are handed to nobody, and large ones
//! find every idle thread.
//!
//! The pool waits for nobody: its threads run jobs and never parts. A part waits only for a job
//! that the pool has begun, so the two cannot wait for each other. What is returned never depends
//! on who did the work, nor on the chunks.

mod context;
mod shared;

pub(crate) use self::context::Asked;
pub use self::context::JobContext;
use self::shared::Shared;
use crate::run_context::Ground;
use crate::strategy::Strategy;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most jobs that are handed over at once: enough to pay for waking a thread where each takes
/// microseconds.
const CHUNK_AT_MOST: usize = 32;

/// The threads that help with jobs.
pub(crate) struct Helpers<'env, 'scope> {
    scope: &'env rayon::Scope<'scope>,
    n_threads: usize,
    /// Parts and chunks that are being run.
    busy: Arc<AtomicUsize>,
    /// Parts of this window that nobody has begun.
    parts_to_come: AtomicUsize,
}

/// Somebody at work, until it is dropped.
pub(crate) struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn new(busy: &Arc<AtomicUsize>) -> Busy {
        busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(busy))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<'env, 'scope> Helpers<'env, 'scope> {
    /// So many threads, which jobs of `scope` run on.
    pub(crate) fn new(scope: &'env rayon::Scope<'scope>, n_threads: usize) -> Self {
        Helpers {
            scope,
            n_threads,
            busy: Arc::new(AtomicUsize::new(0)),
            parts_to_come: AtomicUsize::new(0),
        }
    }

    /// So many parts will be run side by side.
    pub(crate) fn expect_parts(&self, n: usize) {
        self.parts_to_come.store(n, Ordering::Relaxed);
    }

    /// One of them begins.
    pub(crate) fn part_begins(&self) {
        self.parts_to_come.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts the caller as busy.
    pub(crate) fn begin(&self) -> Busy {
        Busy::new(&self.busy)
    }

    /// Whether a thread has nothing to do, and no part is left that it could run. A guess: it may
    /// be wrong by the time it is used.
    pub(crate) fn is_one_idle(&self) -> bool {
        self.parts_to_come.load(Ordering::Relaxed) == 0 && self.busy.load(Ordering::Relaxed) < self.n_threads
    }

    /// Hands jobs over, in chunks.
    pub(crate) fn offer<S: Strategy>(&self, ground: Ground<'scope, S>, jobs: &[SharedJob<S>]) {
        let size = (jobs.len() / (2 * self.n_threads)).clamp(1, CHUNK_AT_MOST);
        for chunk in jobs.chunks(size) {
            let (chunk, busy) = (chunk.to_vec(), Arc::clone(&self.busy));
            self.scope.spawn(move |_| {
                let _busy = Busy::new(&busy);
                // From the end: whoever needs the results begins with the first.
                chunk.iter().rev().for_each(|job| job.run(|work| ground.perform(work)));
            });
        }
    }
}

/// A job that others may do.
pub(crate) type SharedJob<S> = Arc<Shared<(<S as Strategy>::Work, JobContext), <S as Strategy>::Done>>;

/// One piece of work.
pub(crate) enum Job<S: Strategy> {
    /// Nobody else knows of it.
    Kept((S::Work, JobContext)),
    /// Others may do it.
    Shared(SharedJob<S>),
    /// Between the two: never seen.
    Moving,
}

impl<S: Strategy> Job<S> {
    /// Makes it known to others, unless it is already.
    pub(crate) fn share(&mut self) -> Option<SharedJob<S>> {
        match std::mem::replace(self, Job::Moving) {
            Job::Kept(work) => {
                let shared = Arc::new(Shared::new(work));
                *self = Job::Shared(Arc::clone(&shared));
                Some(shared)
            }
            before => {
                *self = before;
                None
            }
        }
    }

    /// What is to be done, whether or not somebody has done it.
    pub(crate) fn work(&self) -> &(S::Work, JobContext) {
        match self {
            Job::Kept(work) => work,
            Job::Shared(shared) => shared.work(),
            Job::Moving => unreachable!("a job is kept or shared"),
        }
    }

    /// The result: does the work, or waits for who has begun it.
    ///
    /// # Panics
    ///
    /// As the work does, wherever it was done.
    pub(crate) fn take(self, ground: &Ground<'_, S>) -> S::Done {
        match self {
            Job::Kept(work) => ground.perform(&work),
            Job::Shared(shared) => shared.take(|work| ground.perform(work)),
            Job::Moving => unreachable!("a job is kept or shared"),
        }
    }
}
