//! The processes that play one run together.
//!
//! Every rank has a block of the clients, in the order of their ids, and the first has the server
//! too. All play the same windows; after each, they give each other what parties of one have sent
//! to parties of another, and say how they stand, all in one exchange. So the outcome is that of
//! one process, to the byte.
//!
//! The engine knows what is here and no library: `folkmoot-mpi` has ranks of MPI.

use crate::client_blocks;
use std::fmt::Display;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// The ranks of a run, as one of them sees them.
pub trait Ranks: Sync {
    /// Which this one is, from 0. The first has the server and the result.
    fn rank(&self) -> usize;

    /// How many there are, at least one.
    fn size(&self) -> usize;

    /// Gives each rank the letter of its place, and returns what each has given this one, in their
    /// order. All call it equally often; it waits for them. One thread calls it at a time, which
    /// need not be the same each time.
    fn exchange(&self, letters: Vec<Vec<u8>>) -> Vec<Vec<u8>>;

    /// Ends all ranks at once: this one cannot go on, and the others must not wait for it for ever.
    fn abort(&self);
}

/// The clients of a rank, by their ids, of so many in all.
pub fn clients(ranks: &dyn Ranks, n_clients: u32) -> Range<u32> {
    client_blocks::of_rank(n_clients, ranks.rank(), ranks.size())
}

/// A process by itself.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, letters: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        letters
    }

    fn abort(&self) {}
}

/// What this rank has come to, if no other has failed in the same; `elsewhere` makes an error of
/// another's and what it says.
///
/// # Errors
///
/// This rank's own, else the first rank's that failed.
pub fn agree<T, E: Display>(
    ranks: &dyn Ranks,
    mine: Result<T, E>,
    elsewhere: impl FnOnce(usize, String) -> E,
) -> Result<T, E> {
    let said = match &mine {
        Ok(_) => Vec::new(),
        // An error may have an empty text.
        Err(error) => format!("!{error}").into_bytes(),
    };
    let all = ranks.exchange(vec![said; ranks.size()]);
    let failed = all.iter().position(|said| !said.is_empty());
    match (mine, failed) {
        (Ok(_), Some(rank)) => Err(elsewhere(rank, String::from_utf8_lossy(&all[rank][1..]).into_owned())),
        (mine, _) => mine,
    }
}

/// Ranks that are threads of this process.
struct Threads {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Ranks for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, letters: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        for (to, letter) in self.to.iter().zip(letters) {
            to.send(letter).expect("a rank stays until all have ended");
        }
        let receive = |from: &Mutex<Receiver<Vec<u8>>>| {
            let from = from.lock().unwrap_or_else(PoisonError::into_inner);
            from.recv().expect("a rank stays until all have ended")
        };
        self.from.iter().map(receive).collect()
    }

    /// Nobody waits for a thread that has ended.
    fn abort(&self) {}
}

/// Plays `n` ranks as threads of this process, to try without MPI what ranks do, and returns what
/// each has come to.
///
/// # Panics
///
/// When a rank does.
pub fn side_by_side<T: Send>(n: usize, play: impl Fn(&dyn Ranks) -> T + Sync) -> Vec<T> {
    let mut all: Vec<Threads> = (0..n)
        .map(|rank| Threads {
            rank,
            to: Vec::new(),
            from: Vec::new(),
        })
        .collect();
    for from in 0..n {
        for to in 0..n {
            let (sender, receiver) = channel();
            all[from].to.push(sender);
            all[to].from.push(Mutex::new(receiver));
        }
    }
    let play = &play;
    std::thread::scope(|scope| {
        let all: Vec<_> = all.into_iter().map(|rank| scope.spawn(move || play(&rank))).collect();
        let join = |rank: std::thread::ScopedJoinHandle<'_, T>| rank.join().expect("a rank does not panic");
        all.into_iter().map(join).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_what_every_other_has_for_it() {
        let came = side_by_side(3, |ranks| {
            let me = ranks.rank() as u8;
            (0..2)
                .map(|turn| ranks.exchange((0..3).map(|to| vec![turn, me, to]).collect()))
                .collect::<Vec<_>>()
        });
        for (me, turns) in (0_u8..).zip(came) {
            for (turn, letters) in (0_u8..).zip(turns) {
                assert_eq!(letters, (0..3).map(|from| vec![turn, from, me]).collect::<Vec<_>>());
            }
        }
        assert_eq!(Alone.exchange(vec![vec![7]]), [[7]]);
    }

    #[test]
    fn who_is_well_hears_of_the_first_who_is_not() {
        let told = |failing: &'static [usize]| {
            side_by_side(3, |ranks| {
                let mine = match failing.contains(&ranks.rank()) {
                    true => Err(format!("{} is ill", ranks.rank())),
                    false => Ok(ranks.rank()),
                };
                agree(ranks, mine, |rank, why| format!("rank {rank}: {why}"))
            })
        };
        assert_eq!(told(&[]), [Ok(0), Ok(1), Ok(2)]);
        let heard = ["rank 1: 1 is ill", "1 is ill", "2 is ill"].map(|text| Err(text.to_owned()));
        assert_eq!(told(&[1, 2]), heard);
    }
}
