//! Jobs: who does them, and what becomes of one that fails.

use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Every client does one job at the start, and the server waits until all is quiet.
struct Jobs<F> {
    job: F,
    /// Operations that a client's device needs a while for.
    cost: f64,
}

/// There are no messages.
#[derive(Clone, Debug)]
enum Nothing {}

impl Wire for Nothing {
    const KINDS: &'static [Kind] = &[];

    fn kind(&self) -> usize {
        match *self {}
    }

    fn encoded_len(&self) -> usize {
        match *self {}
    }

    fn encode(&self, _: &mut Vec<u8>) {
        match *self {}
    }

    fn decode(kind: usize, _: &[u8]) -> Result<Self, DecodeError> {
        Err(DecodeError::UnknownKind(kind))
    }
}

#[derive(Default, Serialize, Deserialize)]
struct State(u64);

impl<F: Fn(u32) -> u64 + Send + Sync> Strategy for Jobs<F> {
    type Message = Nothing;
    type Work = u32;
    type Done = u64;
    type Server = State;
    type Client = State;

    fn server(&self, _: &Setup<'_>) -> Result<State, StrategyError> {
        Ok(State::default())
    }

    fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<State, StrategyError> {
        Ok(State::default())
    }

    fn starts_clients(&self) -> bool {
        true
    }

    fn on_server(
        &self,
        _: &mut State,
        event: Event<Self>,
        cx: &mut ServerContext<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        if matches!(event, Event::Quiet) {
            cx.round_done(RoundReport::default());
            cx.finish();
        }
        Ok(())
    }

    fn on_client(
        &self,
        client: &mut State,
        event: Event<Self>,
        cx: &mut Context<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        match (event, cx.me()) {
            (Event::Start, Party::Client(id)) => cx.compute(id.0, self.cost),
            (Event::Done(value), _) => client.0 = value,
            _ => {}
        }
        Ok(())
    }

    fn perform(&self, id: &u32) -> u64 {
        (self.job)(*id)
    }

    fn evaluate(&self, _: &State, clients: &Clients<'_, State>, _: &Report<'_>, _: &mut SimRng) -> Scores {
        Scores {
            summary: clients
                .iter()
                .map(|(_, client)| (String::new(), client.0 as f64))
                .collect(),
            ..Scores::default()
        }
    }
}

/// What each client's job returned.
fn results(job: impl Fn(u32) -> u64 + Send + Sync, n_clients: u32, threads: usize, cost: f64) -> Vec<f64> {
    let mut world = World::ideal();
    world.devices = Box::new(folkmoot_engine::world::devices::Constant { ops_per_s: 1e9 });
    let options = Options {
        threads,
        ..Options::default()
    };
    let outcome = run(&Jobs { job, cost }, n_clients, &world, 1, options, &mut Unobserved);
    let summary = outcome.map(|outcome| outcome.summary).unwrap_or_default();
    summary.into_iter().map(|(_, value)| value).collect()
}

#[test]
fn every_job_is_done_once_whoever_does_it() {
    for n_clients in [1, 3, 100, 3000] {
        for threads in [1, 2, 5] {
            for cost in [0.0, 1e6] {
                let counts: Vec<Mutex<u64>> = (0..n_clients).map(|_| Mutex::new(0)).collect();
                let job = |id: u32| {
                    *counts[id as usize].lock().unwrap_or_else(PoisonError::into_inner) += 1;
                    u64::from(id) * 7
                };
                let results = results(job, n_clients, threads, cost);
                let expected: Vec<f64> = (0..n_clients).map(|id| f64::from(id * 7)).collect();
                assert_eq!(results, expected, "{threads} threads");
                let counts: Vec<u64> = counts
                    .into_iter()
                    .map(|count| count.into_inner().unwrap_or_else(PoisonError::into_inner))
                    .collect();
                assert!(counts.iter().all(|count| *count == 1), "{threads} threads: {counts:?}");
            }
        }
    }
}

#[test]
fn large_jobs_of_few_clients_run_side_by_side() {
    for cost in [0.0, 1e6] {
        let (inside, met) = (Mutex::new(0), Condvar::new());
        // Each waits for the other, so nobody does both in turn; a minute ends a test that fails.
        let job = |_| {
            let mut n = inside.lock().unwrap_or_else(PoisonError::into_inner);
            *n += 1;
            met.notify_all();
            let waited = met.wait_timeout_while(n, Duration::from_secs(60), |n| *n < 2);
            let has_met = |(_, timeout): (_, std::sync::WaitTimeoutResult)| !timeout.timed_out();
            u64::from(waited.is_ok_and(has_met))
        };
        assert_eq!(results(job, 2, 2, cost), [1.0, 1.0], "cost {cost}");
    }
}

#[test]
fn a_job_that_panics_ends_the_run_and_leaves_nobody_waiting() {
    for threads in [1, 2] {
        for cost in [0.0, 1e6] {
            let job = |id: u32| match id {
                5 => panic!("client five gives up"),
                _ => 0,
            };
            let run = catch_unwind(AssertUnwindSafe(|| results(job, 20, threads, cost)));
            assert!(run.is_err(), "{threads} threads");
        }
    }
}
