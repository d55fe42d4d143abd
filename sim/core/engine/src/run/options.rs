//! How to run.

/// How to run, as opposed to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads, at least 1.
    pub threads: usize,
    /// Handle windows in parallel; off: one event at a time.
    pub windows: bool,
    /// Deliver `decode(encode(message))`.
    pub wire_check: bool,
    /// Tell the strategy to simulate every message and leave out what only learning needs. The one
    /// choice that changes what is learned; the messages and their times are the same.
    pub dry_run: bool,
    /// Tell the observer what happens, in the lives of at most so many clients. A run that goes on
    /// from a checkpoint is traced as it was.
    pub trace: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 1,
            windows: true,
            wire_check: false,
            dry_run: false,
            trace: None,
        }
    }
}
