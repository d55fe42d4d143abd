//! Work in the background: started when the event that wants it is handled, awaited when its result is due.
//!
//! Jobs have a pool of their own, which waits for nobody; with one thread there is none, and the handler that needs the
//! result does the work. What is returned never depends on who did it.

use crate::core::Env;
use crate::strategy::Strategy;
use std::sync::{Condvar, Mutex, PoisonError};

/// One piece of work and, once done, its result.
pub(crate) struct Job<S: Strategy> {
    work: S::Work,
    progress: Mutex<Progress<S::Done>>,
    finished: Condvar,
}

enum Progress<D> {
    Waiting,
    Running,
    Done(D),
    Taken,
}

impl<S: Strategy> Job<S> {
    pub(crate) fn new(work: S::Work) -> Self {
        Job {
            work,
            progress: Mutex::new(Progress::Waiting),
            finished: Condvar::new(),
        }
    }

    /// Does the work unless somebody has begun it.
    pub(crate) fn run(&self, strategy: &S) {
        {
            let mut progress = self.lock();
            if !matches!(*progress, Progress::Waiting) {
                return;
            }
            *progress = Progress::Running;
        }
        let done = strategy.perform(&self.work);
        *self.lock() = Progress::Done(done);
        self.finished.notify_all();
    }

    /// The result, waiting for it or doing the work as need be. Asked for once.
    pub(crate) fn take(&self, env: &Env<'_, '_, S>) -> S::Done {
        if env.scope.is_none() {
            self.run(env.strategy);
        }
        let mut progress = self.lock();
        loop {
            match std::mem::replace(&mut *progress, Progress::Taken) {
                Progress::Done(done) => return done,
                before => *progress = before,
            }
            progress = self.finished.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Progress<S::Done>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
