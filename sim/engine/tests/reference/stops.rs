//! Runs in pieces: stopped after so many windows, and gone on with from what was saved.

use folkmoot_engine::prelude::{Options, RunError, SimTime};
use folkmoot_engine::run::{Observer, Pause, Saved};
use folkmoot_metrics::{MessageRow, RoundRow};

/// Stops after so many windows.
struct Stops {
    left: usize,
    saved: Option<Saved>,
}

impl Observer for Stops {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }

    fn pause(&mut self, _: SimTime, _: usize) -> Pause {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Pause::GoOn
            }
            None => Pause::Stop,
        }
    }

    fn checkpoint(&mut self, saved: Saved) -> Result<(), String> {
        self.saved = Some(saved);
        Ok(())
    }
}

/// Plays a run with each of the options in turn, for one window more than the number beside them, and the last to the end; gives what the
/// run comes to and what was saved. `play` begins it, or goes on from what was saved.
pub(crate) fn in_pieces<T>(
    pieces: &[(Options, usize)],
    last: Options,
    play: impl Fn(Options, Option<&Saved>, &mut dyn Observer) -> Result<T, RunError>,
) -> (Result<T, RunError>, Vec<Saved>) {
    let mut all: Vec<Saved> = Vec::new();
    for &(options, left) in pieces {
        let mut stops = Stops { left, saved: None };
        let ended = play(options, all.last(), &mut stops);
        match (ended, stops.saved) {
            (Err(RunError::Stopped { .. }), Some(saved)) => all.push(saved),
            // It was over before.
            (ended, _) => return (ended, all),
        }
    }
    let mut stops = Stops {
        left: usize::MAX,
        saved: None,
    };
    (play(last, all.last(), &mut stops), all)
}
