//! Gathering what was asked for: who was asked, what is still due, and when it is over.

use crate::context::ServerContext;
use crate::strategy::{Strategy, TimerId};
use folkmoot_metrics::SimSpan;
use serde::{Deserialize, Serialize};

/// A server's wait for answers: over when all that is due has come, or when the world's deadline
/// has passed.
///
/// Each wait has a timer of its own, so that a deadline of one that is over is known for late.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gather {
    stage: u32,
    asked: u64,
    due: u64,
    came: u64,
}

impl Gather {
    /// Begins to wait: `asked` clients owe `due` answers. Sets the world's deadline, if it has one;
    /// where nobody is asked, the wait's time is up at once.
    pub fn begin<S: Strategy>(&mut self, asked: u64, due: u64, cx: &mut ServerContext<'_, S>) {
        *self = Gather {
            stage: self.stage + 1,
            asked,
            due,
            came: 0,
        };
        let nothing_due = (asked == 0).then_some(SimSpan(1));
        if let Some(span) = nothing_due.or(cx.deadline()) {
            cx.timer(span, self.timer());
        }
    }

    /// `n` answers have come, or will never come. True if nothing more is due.
    pub fn answered(&mut self, n: u64) -> bool {
        self.came += n;
        self.due = self.due.saturating_sub(n);
        self.due == 0
    }

    /// The timer of this wait.
    pub fn timer(&self) -> TimerId {
        TimerId(self.stage)
    }

    pub fn asked(&self) -> u64 {
        self.asked
    }

    pub fn came(&self) -> u64 {
        self.came
    }
}
