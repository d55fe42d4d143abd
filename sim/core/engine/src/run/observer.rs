//! Who watches a run from outside.

use super::{Pause, Saved};
use folkmoot_metrics::Kind;
use folkmoot_metrics::trace::Event;
use folkmoot_metrics::{MessageRow, RoundRow, ScoreRow, SimTime};

/// Told of finished rounds and stages while the run goes on.
pub trait Observer: Send {
    /// Called before states are made, with an estimate of the bytes that this rank's part of the
    /// run will take beside its data. Default: nothing.
    ///
    /// # Errors
    ///
    /// A message ends the run: there is not so much memory.
    fn needs(&mut self, _bytes: u64) -> Result<(), String> {
        Ok(())
    }

    /// Called after the window in which rounds ended, with all rounds so far and a way to get the
    /// rows of the ledger.
    ///
    /// # Errors
    ///
    /// A message ends the run: results can no longer be saved.
    fn rounds_done(&mut self, rounds: &[RoundRow], messages: &mut dyn FnMut() -> Vec<MessageRow>)
    -> Result<(), String>;

    /// Called with the rounds and scores that are new since the last call: after the window in
    /// which rounds ended, before [`rounds_done`](Self::rounds_done), and at the end of the run,
    /// when no round may be new. Default: nothing.
    fn progressed(&mut self, _rounds: &[RoundRow], _scores: &[ScoreRow]) {}

    /// Called when a stage of the run is over: `clients`, when their states and the server's are
    /// made, `first window`, then those that the server names, as `simulate: walks`, or `simulate`
    /// where it names none. Default: nothing.
    fn stage_done(&mut self, _stage: &str) {}

    /// Told of what happened in a run that is traced, with the kinds of its messages: each event
    /// once, in an order that depends on nothing but the run. Default: nothing.
    ///
    /// # Errors
    ///
    /// A message ends the run: its trace can no longer be written.
    fn traced(&mut self, _events: Vec<Event>, _kinds: &[Kind]) -> Result<(), String> {
        Ok(())
    }

    /// Asked after every window, which began at `at`, with the number of finished rounds: whether
    /// to save the run's state. Default: no.
    fn pause(&mut self, _at: SimTime, _rounds: usize) -> Pause {
        Pause::GoOn
    }

    /// Given the state that it, or another rank's, has asked for, and whether the run ends with it.
    /// Default: it is forgotten.
    ///
    /// # Errors
    ///
    /// A message ends the run: its state can no longer be saved.
    fn checkpoint(&mut self, _saved: Saved, _pause: Pause) -> Result<(), String> {
        Ok(())
    }
}

pub struct Unobserved;

impl Observer for Unobserved {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }
}
