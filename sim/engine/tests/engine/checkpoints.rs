//! Runs that are stopped and gone on with: the same outcome, and states that no thread has left a mark on.

use super::*;
use crate::stops::in_pieces;
use folkmoot_engine::run::{Saved, resume};

fn options(threads: usize, windows: bool, wire_check: bool) -> Options {
    Options {
        threads,
        windows,
        wire_check,
        dry_run: false,
    }
}

const RELAY: Relay = Relay {
    rounds: 4,
    hops: 6,
    absence: Absence::Tell {
        after: SimSpan(3_000_000),
    },
};

fn pieces(pieces: &[(Options, usize)], last: Options) -> (Result<Outcome, RunError>, Vec<Saved>) {
    let world = rough_world(availability::Bernoulli { online_prob: 0.7 });
    let system = System {
        strategy: &RELAY,
        shards: &NoData(1500),
        study: &Log,
    };
    in_pieces(pieces, last, |options, saved, observer| match saved {
        Some(saved) => resume(system, &world, 11, options, saved, observer),
        None => run(system, &world, 11, options, observer),
    })
}

#[test]
fn a_run_that_is_stopped_and_gone_on_with_is_the_same() {
    let one = options(1, true, false);
    let (whole, _) = pieces(&[], one);
    let whole = print(&whole.unwrap());
    for at in [0, 1, 5, 20, 60, 300] {
        let ways = [(one, at), (options(3, true, false), 2), (options(2, false, true), 7)];
        let (again, saved) = pieces(&ways, options(3, true, true));
        assert_eq!(saved.len(), 3, "it goes on after window {at}");
        assert_eq!(print(&again.unwrap()), whole, "after window {at}");
    }
}

#[test]
fn what_is_saved_does_not_depend_on_threads() {
    let saved = |threads| pieces(&[(options(threads, true, false), 40)], options(1, true, false)).1;
    let one = saved(1);
    let sizes: Vec<usize> = one[0].0.iter().map(|(_, bytes)| bytes.len()).collect();
    assert!(sizes.iter().all(|size| *size > 30), "{sizes:?}");
    assert_eq!(saved(3), one);
}

#[test]
fn the_state_of_another_run_is_refused() {
    let one = options(1, true, false);
    let (_, saved) = pieces(&[(one, 40)], one);
    let refused = |saved: &Saved, n_clients: u32| {
        let world = rough_world(availability::Bernoulli { online_prob: 0.7 });
        let system = System {
            strategy: &RELAY,
            shards: &NoData(n_clients),
            study: &Log,
        };
        match resume(system, &world, 11, one, saved, &mut Unobserved) {
            Err(RunError::Checkpoint(why)) => why,
            other => panic!("{:?}", other.map(|outcome| outcome.end)),
        }
    };
    let why = refused(&saved[0], 1499);
    assert!(why.contains("1500 clients, and this run 1499"), "{why}");
    for section in 0..4 {
        let name = saved[0].0[section].0.clone();
        let mut short = saved[0].clone();
        short.0[section].1.pop();
        assert!(refused(&short, 1500).contains(&name), "{name}");
        let mut long = saved[0].clone();
        long.0[section].1.push(0);
        assert!(refused(&long, 1500).contains("1 bytes are left over"), "{name}");
        let mut less = saved[0].clone();
        less.0.remove(section);
        assert!(refused(&less, 1500).contains("it is missing"), "{name}");
    }
}
