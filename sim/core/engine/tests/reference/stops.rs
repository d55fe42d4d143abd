//! Runs in pieces: stopped after so many windows, and gone on with from what was saved.

use folkmoot_engine::prelude::{RunError, SimTime, Unobserved};
use folkmoot_engine::ranks::{Ranks, side_by_side};
use folkmoot_engine::run::{Observer, Pause, Saved};
use folkmoot_metrics::trace::Event;
use folkmoot_metrics::{Kind, MessageRow, RoundRow};
use std::sync::Mutex;

/// What a run of pieces comes to, the states between them, and what was told of the whole.
pub(crate) type Pieces<T> = (Result<T, RunError>, Vec<Saved>, Vec<Event>);

/// Stops after so many windows.
struct Stops {
    left: usize,
    saved: Option<Saved>,
    told: Vec<Event>,
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

    fn traced(&mut self, events: Vec<Event>, _: &[Kind]) -> Result<(), String> {
        self.told.extend(events);
        Ok(())
    }

    fn checkpoint(&mut self, saved: Saved, _: Pause) -> Result<(), String> {
        self.saved = Some(saved);
        Ok(())
    }
}

/// Plays a run by so many ranks, the first of which is observed, and gives what that one comes to;
/// all must end alike.
pub(crate) fn among<T: Send>(
    n_ranks: usize,
    observer: &mut dyn Observer,
    play: impl Fn(&dyn Ranks, &mut dyn Observer) -> Result<Option<T>, RunError> + Sync,
) -> Result<T, RunError> {
    let observer = Mutex::new(observer);
    let mut ended = side_by_side(n_ranks, |ranks| match ranks.rank() {
        0 => play(ranks, &mut **observer.lock().unwrap()),
        _ => play(ranks, &mut Unobserved),
    });
    let others = ended.split_off(1);
    let first = ended.remove(0);
    for other in others {
        match (&first, other) {
            (Ok(_), Ok(None)) => {}
            (Err(first), Err(other)) => assert_eq!(first.to_string(), other.to_string()),
            (Ok(_), Ok(Some(_))) => panic!("a rank other than the first has an outcome"),
            (Err(error), Ok(_)) => panic!("the first rank alone fails: {error}"),
            (Ok(_), Err(error)) => panic!("a rank alone fails: {error}"),
        }
    }
    first.map(|outcome| outcome.expect("the first rank has the outcome"))
}

/// Plays a run in each of the ways in turn, for one window more than the number beside them, and in
/// the last to the end; gives what the run comes to and what was saved. `play` begins it, or goes
/// on from what was saved. A way is options, or those and a number of ranks.
pub(crate) fn in_pieces<W: Copy, T>(
    pieces: &[(W, usize)],
    last: W,
    play: impl Fn(W, Option<&Saved>, &mut dyn Observer) -> Result<T, RunError>,
) -> Pieces<T> {
    let (mut all, mut told): (Vec<Saved>, Vec<Event>) = (Vec::new(), Vec::new());
    for (way, left) in pieces.iter().copied().chain([(last, usize::MAX)]) {
        let (saved, told_here) = (None, std::mem::take(&mut told));
        let mut stops = Stops {
            left,
            saved,
            told: told_here,
        };
        let ended = play(way, all.last(), &mut stops);
        told = stops.told;
        match (ended, stops.saved) {
            (Err(RunError::Stopped { .. }), Some(saved)) => all.push(saved),
            // It was over before.
            (ended, _) => return (ended, all, told),
        }
    }
    unreachable!("the last piece ends the run")
}
