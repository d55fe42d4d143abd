//! Runs that are stopped and gone on with: the same outcome, and states that no thread has left a
//! mark on.

use super::*;
use crate::stops::{Pieces, among, in_pieces};
use folkmoot_engine::run::{Observer, Saved, resume, run_among};
use folkmoot_metrics::{MessageRow, RoundRow};

fn options(threads: usize, windows: bool, wire_check: bool) -> Options {
    Options {
        threads,
        windows,
        wire_check,
        trace: Some(700),
        ..Options::default()
    }
}

const RELAY: Relay = Relay {
    rounds: 4,
    hops: 6,
    absence: Absence::Tell {
        after: SimSpan(3_000_000),
    },
};

/// Options, and how many ranks.
type Way = (Options, usize);

fn pieces(pieces: &[(Way, usize)], last: Way) -> Pieces<Outcome> {
    let world = rough_world(availability::Bernoulli { online_prob: 0.7 });
    let system = System {
        strategy: &RELAY,
        shards: &NoData(1500),
        evaluator: &Log,
    };
    in_pieces(pieces, last, |(options, n_ranks), saved, observer| {
        among(n_ranks, observer, |ranks, observer| {
            run_among(ranks, system, &world, 11, (options, saved), observer)
        })
    })
}

#[test]
fn a_run_that_is_stopped_and_gone_on_with_is_the_same() {
    let one = (options(1, true, false), 1);
    let (whole, _, told) = pieces(&[], one);
    let whole = print(&whole.unwrap());
    for at in [0, 1, 5, 20, 60, 300] {
        let ways = [
            (one, at),
            ((options(3, true, false), 2), 2),
            ((options(2, false, true), 1), 7),
            ((options(1, false, false), 3), 5),
        ];
        let (again, saved, told_again) = pieces(&ways, (options(3, true, true), 2));
        assert_eq!(saved.len(), 4, "it goes on after window {at}");
        assert_eq!(print(&again.unwrap()), whole, "after window {at}");
        assert!(told_again == told, "after window {at}");
    }
}

#[test]
fn what_is_saved_depends_neither_on_threads_nor_on_ranks() {
    let one = (options(1, true, false), 1);
    let saved = |threads, n_ranks| pieces(&[((options(threads, true, false), n_ranks), 40)], one).1;
    let alone = saved(1, 1);
    let sizes: Vec<usize> = alone[0].0.iter().map(|(_, bytes)| bytes.len()).collect();
    // Nothing is shared here.
    assert!(
        sizes[..4].iter().all(|size| *size > 30) && sizes[4] == 1 && sizes[5] > 4,
        "{sizes:?}"
    );
    for (threads, n_ranks) in [(3, 1), (1, 2), (2, 3)] {
        assert!(saved(threads, n_ranks) == alone, "{threads} threads, {n_ranks} ranks");
    }
}

/// Setting up, in a handler, at an observer and in an evaluator: all ranks end with the error of
/// one process.
#[test]
fn ranks_fail_together() {
    let in_world = |script: Trouble, world: World| {
        let system = System {
            strategy: &script,
            shards: &Numbered(7),
            evaluator: &NoEvaluator,
        };
        let play = |n_ranks| {
            let mut observer = GivesUp(script.observer_after);
            let ended = among(n_ranks, &mut observer, |ranks, observer| {
                let options = options(1, true, false);
                run_among(ranks, system, &world, 1, (options, None), observer)
            });
            ended.err().expect("it fails").to_string()
        };
        let alone = play(1);
        assert_eq!(play(2), alone);
        assert_eq!(play(3), alone);
        alone
    };
    let whole = |script| in_world(script, World::ideal());
    let trouble = Trouble::default();
    assert_eq!(
        whole(Trouble {
            setup: &[2, 5],
            ..trouble
        }),
        "client 2 cannot start: no, says client 2"
    );
    let told = whole(Trouble {
        handler: Some(6),
        ..trouble
    });
    assert_eq!(told, "at 0.000000001 s of virtual time, client 6: no, says client 6");
    assert_eq!(
        whole(Trouble {
            server: true,
            ..trouble
        }),
        "server cannot start: no"
    );
    assert_eq!(
        whole(Trouble {
            observer_after: 1,
            ..trouble
        }),
        "the disk is full"
    );
    assert_eq!(
        whole(trouble),
        "the run stalls in round 1 at 0.000000001 s of virtual time: nothing is under way, and the server goes on waiting; no setting of the card loses or delays a message"
    );
    // What never arrives is counted wherever it is.
    let endless = World {
        network: Box::new(Endless),
        ..World::ideal()
    };
    let told = in_world(trouble, endless);
    assert!(
        told.contains("what is under way (7 in number) would take longer"),
        "{told}"
    );
}

/// Rings at all clients, and then waits for nothing. What cannot start, fails or gives up, each if
/// it is named.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    server: bool,
    setup: &'static [u32],
    handler: Option<u32>,
    observer_after: usize,
}

messages! {
    /// What the server says.
    pub enum Ring {
        /// A ring.
        0, "ring", "ring" => Ring,
    }
}

fn no(id: ClientId) -> StrategyError {
    StrategyError(format!("no, says client {}", id.0))
}

impl Strategy for Trouble {
    type Down = Ring;
    type Up = Never;
    type Peer = Never;
    type Shard<'a> = ClientId;
    type Work = ();
    type Done = ();
    type Server = ();
    type Client = ();
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<(), StrategyError> {
        match self.server {
            true => Err(StrategyError("no".to_owned())),
            false => Ok(()),
        }
    }

    fn client(&self, me: ClientId, _: &Setup<'_>) -> Result<(), StrategyError> {
        match self.setup.contains(&me.0) {
            true => Err(no(me)),
            false => Ok(()),
        }
    }

    fn on_server(
        &self,
        (): &mut (),
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        if let ServerEvent::Start = event {
            (0..cx.n_clients()).for_each(|id| cx.send(ClientId(id), Ring::Ring));
            cx.round_done(RoundReport::default());
        }
        Ok(())
    }

    fn on_client(
        &self,
        me: ClientId,
        (): &mut (),
        _: ClientEvent<Self>,
        _: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match self.handler == Some(me.0) {
            true => Err(no(me)),
            false => Ok(()),
        }
    }

    fn perform(&self, _: Option<ClientId>, (): &(), _: &JobContext) {}
}

/// So many clients, each of whom knows its number.
struct Numbered(u32);

impl Shards<Trouble> for Numbered {
    fn n_clients(&self) -> u32 {
        self.0
    }

    fn shard(&self, client: ClientId) -> ClientId {
        client
    }

    fn size(&self, _: ClientId) -> u64 {
        0
    }
}

/// Gives up after so many rounds, if any.
struct GivesUp(usize);

impl Observer for GivesUp {
    fn rounds_done(&mut self, rounds: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        match rounds.len() == self.0 {
            true => Err("the disk is full".to_owned()),
            false => Ok(()),
        }
    }
}

#[test]
fn the_state_of_another_run_is_refused() {
    let one = options(1, true, false);
    let (_, saved, _) = pieces(&[((one, 1), 40)], (one, 1));
    let refused = |saved: &Saved, n_clients: u32| {
        let world = rough_world(availability::Bernoulli { online_prob: 0.7 });
        let system = System {
            strategy: &RELAY,
            shards: &NoData(n_clients),
            evaluator: &Log,
        };
        match resume(system, &world, 11, one, saved, &mut Unobserved) {
            Err(RunError::Checkpoint(why)) => why,
            other => panic!("{:?}", other.map(|outcome| outcome.end)),
        }
    };
    let why = refused(&saved[0], 1499);
    assert!(why.contains("1500 clients, and this run 1499"), "{why}");
    for section in 0..6 {
        let name = saved[0].0[section].0.clone();
        let mut short = saved[0].clone();
        short.0[section].1.pop();
        assert!(refused(&short, 1500).contains(&name), "{name}");
        let mut long = saved[0].clone();
        long.0[section].1.push(0);
        assert!(refused(&long, 1500).contains("1 bytes are left over"), "{name}");
        // Without the last, it would be that of a run that is not traced.
        if section < 5 {
            let mut less = saved[0].clone();
            less.0.remove(section);
            assert!(refused(&less, 1500).contains("it is missing"), "{name}");
        }
    }
}
