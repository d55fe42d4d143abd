//! All processes that a launcher has started.

use folkmoot_engine::ranks::Ranks;
use mpi::Threading;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::request::{Request, Scope};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives;
use std::time::Duration;

/// Bytes that go from one rank to all others at once, at most: MPI counts them in 31 bits.
const AT_ONCE: usize = 1 << 30;

pub(crate) struct World {
    rank: usize,
    size: usize,
    /// Ends MPI when it is dropped.
    _universe: Universe,
}

impl World {
    pub(crate) fn start() -> Result<World, String> {
        // A run is played on a thread of a pool, and nobody else speaks then.
        let needed = Threading::Serialized;
        let started = mpi::initialize_with_threading(needed);
        let (universe, has) = started.ok_or("MPI was started before")?;
        if has < needed {
            return Err(format!("this MPI cannot be used by threads in turn: it offers {has:?}"));
        }
        let world = SimpleCommunicator::world();
        Ok(World {
            rank: world.rank() as usize,
            size: world.size() as usize,
            _universe: universe,
        })
    }
}

impl Ranks for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, letters: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let world = SimpleCommunicator::world();
        // To each rank: how long its letter is, and how long the longest of this one's is, so that
        // all know how often they must go.
        let longest = letters.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let lens: Vec<u64> = letters
            .iter()
            .flat_map(|letter| [letter.len() as u64, longest])
            .collect();
        let mut their_lens = vec![0_u64; lens.len()];
        mpi::request::scope(|scope| wait(world.immediate_all_to_all_into(scope, &lens[..], &mut their_lens[..])));
        let (their_lens, _) = their_lens.as_chunks::<2>();
        let longest = their_lens.iter().map(|[_, longest]| *longest).max().unwrap_or(0) as usize;
        let mut came: Vec<Vec<u8>> = their_lens
            .iter()
            .map(|[len, _]| Vec::with_capacity(*len as usize))
            .collect();

        let at_once = (AT_ONCE / self.size).max(1);
        for begin in (0..longest).step_by(at_once) {
            let part = |len: usize| len.saturating_sub(begin).min(at_once);
            let counts: Vec<i32> = letters.iter().map(|letter| part(letter.len()) as i32).collect();
            let their_counts: Vec<i32> = their_lens.iter().map(|[len, _]| part(*len as usize) as i32).collect();
            // An empty buffer of Rust's lies at an address that means something else to MPI.
            let mut out = Vec::with_capacity(1 + total(&counts));
            for letter in &letters {
                out.extend_from_slice(&letter[begin.min(letter.len())..][..part(letter.len())]);
            }
            let mut into = Vec::with_capacity(1 + total(&their_counts));
            into.resize(total(&their_counts), 0_u8);
            let places = starts(&counts);
            let their_places = starts(&their_counts);
            {
                let sent = Partition::new(&out[..], &counts[..], &places[..]);
                let mut heard = PartitionMut::new(&mut into[..], &their_counts[..], &their_places[..]);
                world.all_to_all_varcount_into(&sent, &mut heard);
            }
            for (letter, (&start, &count)) in came.iter_mut().zip(their_places.iter().zip(&their_counts)) {
                letter.extend_from_slice(&into[start as usize..][..count as usize]);
            }
        }
        came
    }

    fn abort(&self) {
        SimpleCommunicator::world().abort(1)
    }
}

/// The others may still write files when this one has nothing more to do.
impl Drop for World {
    fn drop(&mut self) {
        wait(SimpleCommunicator::world().immediate_barrier());
    }
}

/// Looks so often for what is due before it gives way: a window of few events ends sooner.
const LOOKS: u32 = 2_000;
/// How long it then sleeps between looks.
const NAP: Duration = Duration::from_micros(100);

/// Waits for the other ranks. MPI's own waiting takes a whole core, which they may need.
fn wait<'a, S: Scope<'a>, D: ?Sized>(mut request: Request<'a, D, S>) {
    let mut looks = LOOKS;
    while let Err(pending) = request.test() {
        request = pending;
        match looks {
            0 => std::thread::sleep(NAP),
            _ => looks -= 1,
        }
    }
}

fn total(counts: &[i32]) -> usize {
    counts.iter().map(|count| *count as usize).sum()
}

/// Where each of these begins when they lie one after the other.
fn starts(counts: &[i32]) -> Vec<i32> {
    let mut next = 0;
    let start = |count: &i32| {
        let start = next;
        next += count;
        start
    };
    counts.iter().map(start).collect()
}
