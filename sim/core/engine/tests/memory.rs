//! What a run keeps of every round: a row of each table, however many parts the clients are shared
//! out among.
#![allow(unsafe_code, reason = "counting bytes takes an allocator, and its trait is unsafe")]
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_engine::prelude::*;
use folkmoot_engine::run::{Observer, Outcome};
use folkmoot_metrics::{MessageRow, RoundRow};
use std::alloc::{GlobalAlloc, Layout, System as SystemMemory};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counting the bytes that are in use.
struct Counting;

// SAFETY: every call is passed on as it is; the counter neither allocates nor runs a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        LIVE.fetch_add(block.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of this function.
        unsafe { SystemMemory.alloc(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        LIVE.fetch_sub(block.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of this function.
        unsafe { SystemMemory.dealloc(at, block) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// In every round the server greets all, and all answer.
struct Greetings {
    rounds: u32,
}

messages! {
    /// From the server.
    enum Down {
        /// A greeting.
        0, "greetings", "hello" => Hello,
    }
}

messages! {
    /// To the server.
    enum Up {
        /// The answer.
        1, "greetings", "answer" => Answer,
    }
}

impl Strategy for Greetings {
    type Down = Down;
    type Up = Up;
    type Peer = Never;
    type Shard<'a> = ();
    type Work = ();
    type Done = ();
    type Server = u32;
    type Client = ();
    type Sight = ();

    const COUNTERS: &'static [&'static str] = &["greeted"];

    fn server(&self, _: &Setup<'_>) -> Result<u32, StrategyError> {
        Ok(0)
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn on_server(
        &self,
        answers: &mut u32,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let n = cx.n_clients();
        if matches!(event, ServerEvent::Message { .. }) {
            *answers += 1;
            if *answers < n {
                return Ok(());
            }
            *answers = 0;
            cx.round_done(RoundReport {
                cohort: u64::from(n),
                completed: u64::from(n),
                dropped: 0,
                staleness_mean: 0.0,
            });
        }
        match cx.round().0 == self.rounds {
            true => cx.finish(),
            false => (0..n).for_each(|id| cx.send(ClientId(id), Down::Hello)),
        }
        Ok(())
    }

    fn on_client(
        &self,
        (): (),
        (): &mut (),
        _: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        cx.count(0, 1);
        cx.send(Up::Answer);
        Ok(())
    }

    fn perform(&self, _: Option<()>, (): &(), _: &JobContext) {}
}

/// The bytes in use when each round had ended.
struct Scales(Vec<usize>);

impl Observer for Scales {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        self.0.push(LIVE.load(Ordering::Relaxed));
        Ok(())
    }
}

/// Plays it, while no other test does whose bytes would be counted, too.
fn greet(rounds: u32, n_clients: u32, scales: &mut Scales) -> Outcome {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let system = System {
        strategy: &Greetings { rounds },
        shards: &NoData(n_clients),
        evaluator: &NoEvaluator,
    };
    // Four threads have sixteen parts between them.
    let options = Options {
        threads: 4,
        ..Options::default()
    };
    run(system, &World::ideal(), 1, options, scales).unwrap()
}

fn held(outcome: &Outcome) -> BTreeMap<&'static str, u64> {
    outcome.memory.iter().copied().collect()
}

/// Ten times the rounds: ten times the record, and not a byte of anything else.
#[test]
fn nothing_but_the_record_grows_with_the_rounds() {
    let few = held(&greet(200, 64, &mut Scales(Vec::new())));
    let many = held(&greet(2_000, 64, &mut Scales(Vec::new())));
    for (part, bytes) in &few {
        match *part {
            // Of the round after the last there is a row, too.
            "record" => assert!(
                (9 * bytes..=10 * bytes).contains(&many[part]),
                "{} to {bytes}",
                many[part]
            ),
            _ => assert_eq!(many[part], *bytes, "{part}"),
        }
    }
    assert!(few["queues"] > 0 && few["events"] > 0 && few["record"] > 0);
}

/// In a block of 4096 clients the queue's own bytes are 2 of each; a test's blocks have 4 clients.
#[test]
fn an_idle_client_takes_at_most_256_bytes_of_the_engine() {
    let of = |n_clients: u32| held(&greet(0, n_clients, &mut Scales(Vec::new())));
    let (few, many) = (of(1_000), of(11_000));
    let grown: u64 = many.iter().map(|(part, bytes)| bytes - few[part]).sum();
    let queues = many["queues"] - few["queues"];
    let a_block = queues / (10_000 / 4);
    let a_client = (grown - queues) / 10_000 + a_block.div_ceil(4_096);
    assert!(
        (100..=256).contains(&a_client),
        "{a_client} bytes a client: {few:?} {many:?}"
    );
}

#[test]
fn a_round_leaves_a_row_of_each_table_and_nothing_in_the_parts() {
    let rounds = 1_030;
    let mut scales = Scales(Vec::with_capacity(rounds as usize));
    let outcome = greet(rounds, 64, &mut scales);
    assert_eq!(
        outcome.counters[0].1,
        vec![64; rounds as usize].into_iter().chain([0]).collect::<Vec<_>>()
    );
    // Lists that double their length have done so right before both.
    let grown = scales.0[1_028] - scales.0[514];
    let a_round = grown / 514;
    // Six cells of the ledger, a round's row and end, a counter, and their places in lists that are
    // half empty.
    let cells = 2 * 3 * size_of::<folkmoot_metrics::Cell>();
    assert!(
        (cells..2 * cells).contains(&a_round),
        "{a_round} bytes a round, {cells} of them the ledger's"
    );
}
