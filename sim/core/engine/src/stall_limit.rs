//! Limit on the time that a run may continue without progress.

use crate::run::RunError;
use crate::world::World;
use folkmoot_metrics::{Round, SimSpan, SimTime};
use serde::{Deserialize, Serialize};

/// Thirty days.
const PATIENCE: SimSpan = SimSpan(30 * 24 * 3600 * 1_000_000_000);

/// What is known of a run's progress: that a message was delivered, work was finished or a round
/// ended. Maxima alone, so that it is the same however parties are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// When that was the last time.
    last: SimTime,
    /// The longest time that any one event was waited for.
    longest_wait: SimSpan,
}

impl Progress {
    pub(crate) fn made(&mut self, at: SimTime) {
        self.last = self.last.max(at);
    }

    /// An event at `at` is waited for from `now` on.
    pub(crate) fn waits(&mut self, now: SimTime, at: SimTime) {
        self.longest_wait = self.longest_wait.max(at - now);
    }

    pub(crate) fn with(mut self, other: Progress) -> Progress {
        self.made(other.last);
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        self
    }

    /// Without progress until then, the run has stalled. A single wait may take longer than
    /// [`PATIENCE`], such as that for a slow device.
    pub(crate) fn until(self) -> SimTime {
        self.last + PATIENCE + self.longest_wait
    }

    /// # Errors
    ///
    /// When the next event comes too late.
    pub(crate) fn ends(self, next: SimTime, round: Round, world: &World) -> Result<(), RunError> {
        match next < self.until() {
            true => Ok(()),
            false => Err(RunError::Idle {
                since: self.last,
                until: self.until(),
                round,
                remedy: world.remedy(),
            }),
        }
    }
}
