//! Work that several threads know of: begun once, by whoever comes first, and awaited by the one
//! who needs its result.
//!
//! Built with `--cfg loom`, its locks are those of the `loom` crate, whose models try every order
//! in which threads can come.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

/// Work and, once done, its result.
pub(crate) struct Shared<W, D> {
    work: W,
    progress: Mutex<Progress<D>>,
    finished: Condvar,
}

enum Progress<D> {
    Waiting,
    Running,
    /// Running, and somebody waits for it.
    Awaited,
    Done(D),
    Panicked(Box<dyn Any + Send>),
    Taken,
}

impl<W, D> Shared<W, D> {
    pub(super) fn new(work: W) -> Self {
        Shared {
            work,
            progress: Mutex::new(Progress::Waiting),
            finished: Condvar::new(),
        }
    }

    pub(super) fn work(&self) -> &W {
        &self.work
    }

    /// Whether the work is the caller's to do.
    fn begin(&self) -> bool {
        let mut progress = self.lock();
        let is_mine = matches!(*progress, Progress::Waiting);
        if is_mine {
            *progress = Progress::Running;
        }
        is_mine
    }

    /// Does the work unless somebody has begun it.
    pub(super) fn run(&self, perform: impl FnOnce(&W) -> D) {
        if !self.begin() {
            return;
        }
        // Whoever waits for it must not wait for ever: it goes on with the panic.
        let done = match catch_unwind(AssertUnwindSafe(|| perform(&self.work))) {
            Ok(done) => Progress::Done(done),
            Err(panic) => Progress::Panicked(panic),
        };
        if matches!(std::mem::replace(&mut *self.lock(), done), Progress::Awaited) {
            self.finished.notify_all();
        }
    }

    /// The result, asked for once: does the work, or waits for who has begun it.
    ///
    /// # Panics
    ///
    /// As the work does, wherever it was done.
    pub(super) fn take(&self, perform: impl FnOnce(&W) -> D) -> D {
        if self.begin() {
            return perform(&self.work);
        }
        let mut progress = self.lock();
        loop {
            match std::mem::replace(&mut *progress, Progress::Taken) {
                Progress::Done(done) => return done,
                Progress::Panicked(panic) => resume_unwind(panic),
                _ => *progress = Progress::Awaited,
            }
            progress = self.finished.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress<D>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Run by `RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test -p folkmoot-engine --lib
/// loom_`.
#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::thread;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Work that is counted each time it is done. The count is no part of what is modelled.
    struct Counted {
        shared: Shared<u32, u32>,
        n_done: AtomicUsize,
    }

    impl Counted {
        fn new() -> Arc<Counted> {
            Arc::new(Counted {
                shared: Shared::new(20),
                n_done: AtomicUsize::new(0),
            })
        }

        fn perform(&self, work: &u32) -> u32 {
            self.n_done.fetch_add(1, Ordering::Relaxed);
            work + 1
        }

        fn run(&self) {
            self.shared.run(|work| self.perform(work));
        }

        fn take(&self) -> u32 {
            self.shared.take(|work| self.perform(work))
        }
    }

    #[test]
    fn loom_two_who_help_and_one_who_needs_it_do_the_work_once() {
        loom::model(|| {
            let job = Counted::new();
            let helpers: Vec<_> = (0..2)
                .map(|_| {
                    let job = Arc::clone(&job);
                    thread::spawn(move || job.run())
                })
                .collect();
            assert_eq!(job.take(), 21);
            helpers
                .into_iter()
                .for_each(|helper| helper.join().expect("helpers do not panic"));
            assert_eq!(job.n_done.load(Ordering::Relaxed), 1);
        });
    }

    #[test]
    fn loom_whoever_waits_for_a_job_that_panics_goes_on_with_its_panic() {
        loom::model(|| {
            let job: Arc<Shared<u32, u32>> = Arc::new(Shared::new(20));
            let helper = {
                let job = Arc::clone(&job);
                thread::spawn(move || job.run(|work| resume_unwind(Box::new(*work))))
            };
            let taken = catch_unwind(AssertUnwindSafe(|| job.take(|work| resume_unwind(Box::new(*work)))));
            let panic = taken.unwrap_err();
            assert_eq!(panic.downcast_ref::<u32>(), Some(&20));
            helper.join().expect("helpers do not panic");
        });
    }

    #[test]
    fn loom_a_job_offered_after_its_result_was_taken_is_left_alone() {
        loom::model(|| {
            let job = Counted::new();
            let taker = {
                let job = Arc::clone(&job);
                thread::spawn(move || job.take())
            };
            job.run();
            assert_eq!(taker.join().expect("it takes what was done"), 21);
            job.run();
            assert_eq!(job.n_done.load(Ordering::Relaxed), 1);
        });
    }
}
