//! Jobs: who does them, and what becomes of one that fails.

use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Every client does one job at the start, and the server waits until all is quiet.
struct Jobs<F> {
    job: F,
    /// Operations that a client's device needs a while for.
    cost: f64,
}

#[derive(Default, Serialize, Deserialize)]
struct State(u64);

impl<F: Fn(u32) -> u64 + Send + Sync + 'static> Strategy for Jobs<F> {
    type Down = Never;
    type Up = Never;
    type Peer = Never;
    type Shard<'a> = ();
    type Work = u32;
    type Done = u64;
    type Server = State;
    type Client = State;
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<State, StrategyError> {
        Ok(State::default())
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<State, StrategyError> {
        Ok(State::default())
    }

    fn starts_clients(&self) -> bool {
        true
    }

    fn on_server(
        &self,
        _: &mut State,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        if matches!(event, ServerEvent::Quiet) {
            cx.round_done(RoundReport::default());
            cx.finish();
        }
        Ok(())
    }

    fn on_client(
        &self,
        (): (),
        client: &mut State,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Start => cx.compute(cx.me().0, self.cost),
            ClientEvent::Done(value) => client.0 = value,
            _ => {}
        }
        Ok(())
    }

    fn perform(&self, _: Option<()>, id: &u32, _: &JobContext) -> u64 {
        (self.job)(*id)
    }
}

/// Writes down what each client has.
struct Results;

impl<F: Fn(u32) -> u64 + Send + Sync + 'static> Evaluator<Jobs<F>> for Results {
    fn at_end(&self, end: &End<'_, Jobs<F>>, sheet: &mut Sheet) {
        end.clients
            .iter()
            .for_each(|(_, client)| sheet.number("result", client.0 as f64));
    }
}

/// What each client's job returned.
fn results(job: impl Fn(u32) -> u64 + Send + Sync + 'static, n_clients: u32, threads: usize, cost: f64) -> Vec<f64> {
    let mut world = World::ideal();
    world.devices = Box::new(folkmoot_engine::world::devices::Constant { ops_per_s: 1e9 });
    let options = Options {
        threads,
        ..Options::default()
    };
    let system = System {
        strategy: &Jobs { job, cost },
        shards: &NoData(n_clients),
        evaluator: &Results,
    };
    let outcome = run(system, &world, 1, options, &mut Unobserved);
    let summary = outcome.map(|outcome| outcome.summary).unwrap_or_default();
    summary.into_iter().map(|(_, value)| value).collect()
}

#[test]
fn every_job_is_done_once_whoever_does_it() {
    for n_clients in [1, 3, 100, 3000] {
        for threads in [1, 2, 5] {
            for cost in [0.0, 1e6] {
                let counts: Arc<Vec<Mutex<u64>>> = Arc::new((0..n_clients).map(|_| Mutex::new(0)).collect());
                let done = Arc::clone(&counts);
                let job = move |id: u32| {
                    *done[id as usize].lock().unwrap_or_else(PoisonError::into_inner) += 1;
                    u64::from(id) * 7
                };
                let results = results(job, n_clients, threads, cost);
                let expected: Vec<f64> = (0..n_clients).map(|id| f64::from(id * 7)).collect();
                assert_eq!(results, expected, "{threads} threads");
                let counts: Vec<u64> = counts
                    .iter()
                    .map(|count| *count.lock().unwrap_or_else(PoisonError::into_inner))
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
        let job = move |_| {
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
