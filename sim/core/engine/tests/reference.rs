//! The engine against a plain one: random scripts in random worlds, event for event and cell for
//! cell.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "reference/place.rs"]
mod place;
#[path = "reference/plain.rs"]
mod plain;
#[path = "reference/script.rs"]
mod script;
#[path = "reference/stops.rs"]
mod stops;

use folkmoot_engine::prelude::{ClientId, NoData, Options, Party, RunError, SimSpan, SimTime, System, World};
use folkmoot_engine::run::run_among;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_engine::world::{Dist, DropoutSpec, Framing, Sharing, SlowStart};
use folkmoot_metrics::trace::{Event, What};
use place::{Attendance, Place, easy, place};
use plain::{Story, in_order};
use proptest::collection::vec;
use proptest::prelude::*;
use script::{Act, Diaries, Heard, Script};
use stops::{among, in_pieces};

fn act() -> impl Strategy<Value = Act> {
    let after = prop_oneof![
        6 => (0u64..5).prop_map(|ms| SimSpan(ms * 1_000_000)),
        1 => Just(SimSpan::FOREVER),
    ];
    prop_oneof![
        40 => (0u32..1000, 0u32..5, 0u32..8).prop_map(|(to, words, policy)| Act::Send { to, words, policy }),
        20 => (0u32..5, 0u32..8).prop_map(|(words, policy)| Act::Broadcast { words, policy }),
        20 => (0u32..4).prop_map(|cost| Act::Compute { cost: cost.into() }),
        20 => after.prop_map(|after| Act::Timer { after }),
        15 => (0u32..4).prop_map(|round| Act::Round { round }),
        1 => Just(Act::Finish),
        1 => Just(Act::Fail),
    ]
}

fn script(life: u32) -> impl Strategy<Value = Script> {
    (
        vec(vec(act(), 0..4), 1..8),
        1..=life,
        any::<bool>(),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(rows, life, starts_clients, finishes)| Script {
            rows,
            life,
            starts_clients,
            finishes,
        })
}

/// The engine's story, told like the reference's.
fn told(script: &Script, n_clients: u32, world: &World, seed: u64, options: Options) -> Result<Story, RunError> {
    told_in_pieces(script, n_clients, (world, seed), &[], (options, 1)).0
}

/// Options, and how many ranks.
type Way = (Options, usize);

/// The same of a run that is stopped and gone on with, and what was told of it, in that order.
fn told_in_pieces(
    script: &Script,
    n_clients: u32,
    (world, seed): (&World, u64),
    pieces: &[(Way, usize)],
    last: Way,
) -> (Result<Story, RunError>, Vec<Event>) {
    let diaries = Diaries::default();
    let system = System {
        strategy: script,
        shards: &NoData(n_clients),
        evaluator: &diaries,
    };
    let (outcome, _, told) = in_pieces(pieces, last, |(options, n_ranks), saved, observer| {
        among(n_ranks, observer, |ranks, observer| {
            let trace = Some(plain::followed(n_clients).n_followed);
            run_among(
                ranks,
                system,
                world,
                seed,
                (Options { trace, ..options }, saved),
                observer,
            )
        })
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return (Err(error), told),
    };
    let of_world = |event: &Event| matches!(event.what, What::Away { .. });
    let rows = outcome.ledger.rows();
    let nanoseconds = |seconds: f64| SimSpan::from_secs(seconds).0;
    let story = Story {
        seen: diaries.0.into_inner().unwrap(),
        cells: rows
            .map(|(kind, round, way, cell)| ((kind.name, round, way), *cell))
            .collect(),
        totals: outcome
            .tables
            .clients
            .iter()
            .map(|row| {
                [
                    row.rounds,
                    row.uplink_bytes,
                    row.downlink_bytes,
                    row.peer_bytes,
                    nanoseconds(row.compute_s),
                ]
            })
            .collect(),
        round_ends: outcome
            .tables
            .rounds
            .iter()
            .map(|row| SimTime(nanoseconds(row.virtual_s)))
            .collect(),
        end: outcome.end,
        told: in_order(told.iter().filter(|event| !of_world(event)).copied().collect()),
    };
    (Ok(story), told)
}

/// Windows, threads, whether messages are put through their encoding, ranks.
const WAYS: [(bool, usize, bool, usize); 7] = [
    (true, 1, false, 1),
    (false, 1, true, 1),
    (true, 3, true, 1),
    (false, 3, false, 1),
    (true, 1, false, 2),
    (true, 2, true, 3),
    (false, 1, false, 3),
];

fn options(threads: usize, windows: bool, wire_check: bool) -> Options {
    Options {
        threads,
        windows,
        wire_check,
        ..Options::default()
    }
}

fn compare(script: &Script, n_clients: u32, place: &Place, seed: u64) -> Result<(), TestCaseError> {
    let world = place.world();
    let expected = plain::play(script, n_clients, (&world, place.lookahead()), seed);
    let mut first: Option<Vec<Event>> = None;
    for (windows, threads, wire_check, n_ranks) in WAYS {
        let way = (options(threads, windows, wire_check), n_ranks);
        let (got, told) = told_in_pieces(script, n_clients, (&world, seed), &[], way);
        prop_assert_eq!(&got, &expected, "{:?}", way);
        if got.is_ok() {
            let first = first.get_or_insert_with(|| told.clone());
            prop_assert_eq!(&*first, &told, "{:?}", way);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_does_what_one_queue_does(script in script(4), n_clients in 1u32..9, place in place(), seed in 0u64..1000) {
        compare(&script, n_clients, &place, seed)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Stopped three times, after any number of windows, and gone on with in other ways each time.
    #[test]
    fn a_run_in_pieces_is_the_whole_run(
        script in script(4), n_clients in 1u32..9, place in place(), seed in 0u64..1000, stops in prop::array::uniform3(0usize..30)
    ) {
        let world = place.world();
        let expected = plain::play(&script, n_clients, (&world, place.lookahead()), seed);
        let (_, whole) = told_in_pieces(&script, n_clients, (&world, seed), &[], (options(1, true, false), 1));
        let ways = [
            (options(1, true, false), 1), (options(3, true, false), 2), (options(2, false, true), 1), (options(1, true, true), 3)
        ];
        for turn in 0..ways.len() {
            let way = |i: usize| ways[(turn + i) % ways.len()];
            let pieces = [0, 1, 2].map(|i| (way(i), stops[i]));
            let (got, told) = told_in_pieces(&script, n_clients, (&world, seed), &pieces, way(3));
            prop_assert_eq!(&got, &expected, "{:?}", pieces);
            if got.is_ok() {
                prop_assert_eq!(&told, &whole, "{:?}", pieces);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 30, failure_persistence: None, ..ProptestConfig::default() })]

    /// So many clients that windows are played, and their messages handed over, by several threads.
    #[test]
    fn the_engine_does_what_one_queue_does_with_many_clients(script in script(2), n_clients in 600u32..700, place in place()) {
        compare(&Script { starts_clients: true, ..script }, n_clients, &place, 7)?;
    }
}

/// Links with all that TCP does, and windows so small that the messages of scripts exceed them.
fn with_tcp(links: Links) -> Links {
    Links {
        framing: Some(Framing {
            segment_bytes: 16,
            header_bytes: 4,
        }),
        slow_start: Some(SlowStart {
            window_bytes: 8,
            min_timeout_ms: 1.0,
        }),
        server_sharing: Sharing::Fair,
        ..links
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The reference knows no TCP: here one way of running is held against the others.
    #[test]
    fn with_tcp_a_run_is_the_same_in_any_way_and_in_pieces(
        script in script(4), n_clients in 1u32..9, place in place(), seed in 0u64..1000, stops in prop::array::uniform2(0usize..30)
    ) {
        let place = Place { links: place.links.map(with_tcp), ..place };
        let world = place.world();
        let play = |pieces: &[(Way, usize)], last| told_in_pieces(&script, n_clients, (&world, seed), pieces, last);
        let (whole, told) = play(&[], (options(1, false, false), 1));
        for (windows, threads, wire_check, n_ranks) in WAYS {
            let way = (options(threads, windows, wire_check), n_ranks);
            for pieces in [&[][..], &[(way, stops[0]), ((options(1, true, false), 2), stops[1])]] {
                let (again, told_again) = play(pieces, way);
                prop_assert_eq!(&again, &whole, "{:?} {:?}", way, pieces);
                if whole.is_ok() {
                    prop_assert_eq!(&told_again, &told, "{:?} {:?}", way, pieces);
                }
            }
        }
    }
}

/// The server sends 1000 words to two clients. Its link takes 10 ms for each, a client's link 20.
#[test]
fn a_message_passes_both_links_in_turn_or_at_the_same_time() {
    let send = |to| Act::Send {
        to,
        words: 1000,
        policy: 0,
    };
    let script = Script {
        rows: vec![vec![send(0), send(1)]],
        life: 1,
        starts_clients: false,
        finishes: true,
    };
    let class = LinkClass {
        latency_ms: Dist::Constant(5.0),
        loss_prob: 0.0,
    };
    let rate = 202_800.0;
    let plain = Links {
        uplink: class,
        downlink: class,
        down_bytes_per_s: Some(Dist::Constant(rate)),
        server_up_bytes_per_s: Some(2.0 * rate),
        framing: Some(Framing {
            segment_bytes: 1002,
            header_bytes: 12,
        }),
        ..Links::default()
    };
    let arrivals = |links| {
        let place = Place {
            links: Some(links),
            ..easy()
        };
        let story = told(&script, 2, &place.world(), 1, Options::default()).unwrap();
        [1, 2].map(|party: usize| story.seen[party][0].at.0 / 1_000_000)
    };
    assert_eq!(arrivals(plain), [10 + 5 + 20, 20 + 5 + 20]);
    let fair = Links {
        server_sharing: Sharing::Fair,
        ..plain
    };
    assert_eq!(arrivals(fair), [20 + 5, 20 + 5]);
    // A window of 507 bytes takes 2.5 of the 10 ms of a round trip, and the next one 5.
    let slow = Links {
        slow_start: Some(SlowStart {
            window_bytes: 507,
            ..SlowStart::default()
        }),
        ..fair
    };
    assert_eq!(arrivals(slow), [25 + 12, 25 + 12]);
}

/// Client 1 fails at 2 ms, by its own timer. At that instant a message of client 2's reaches client
/// 0, which sets a timer that runs out at once and fails too. That timer's key is the smallest of
/// the three, but it is set only after client 1 has failed.
#[test]
fn of_two_failures_at_one_instant_the_first_to_happen_is_told() {
    let say = Act::Send {
        to: 1,
        words: 0,
        policy: 0,
    };
    let timer = |ms: u64| Act::Timer {
        after: SimSpan(ms * 1_000_000),
    };
    // Client c does row 4 + c at its first event, row 7 + c at its second and row 10 + c at its
    // third.
    let mut rows = vec![Vec::new(); 13];
    for (row, act) in [(5, timer(2)), (6, say), (7, timer(0)), (8, Act::Fail), (10, Act::Fail)] {
        rows[row] = vec![act];
    }
    let script = Script {
        rows,
        life: 3,
        starts_clients: true,
        finishes: true,
    };
    let class = LinkClass {
        latency_ms: Dist::Constant(2.0),
        loss_prob: 0.0,
    };
    let place = Place {
        links: Some(Links {
            uplink: class,
            downlink: class,
            peer: class,
            ..Links::default()
        }),
        ..easy()
    };
    let failed = plain::play(&script, 3, (&place.world(), place.lookahead()), 1).err();
    let party = Party::Client(ClientId(1));
    assert!(matches!(failed, Some(RunError::Handler { party: who, .. }) if who == party));
    compare(&script, 3, &place, 1).unwrap();
}

/// The end of a run cuts off what is waited for beyond it: here a message that is lost, 0.4 ms on its
/// way.
#[test]
fn a_message_that_is_lost_ends_with_the_run() {
    let send = |to| Act::Send {
        to,
        words: 0,
        policy: 0,
    };
    let script = Script {
        rows: vec![
            vec![send(0)],
            vec![Act::Finish, send(1), Act::Round { round: 0 }],
            vec![],
            vec![],
        ],
        life: 2,
        starts_clients: true,
        finishes: false,
    };
    let at_once = |loss_prob| LinkClass {
        latency_ms: Dist::Constant(0.0),
        loss_prob,
    };
    let place = Place {
        links: Some(Links {
            uplink: at_once(0.0),
            downlink: at_once(0.5),
            peer: at_once(0.0),
            server_up_bytes_per_s: Some(20_000.0),
            max_retries: 0,
            retry_after_ms: 0.0,
            ..Links::default()
        }),
        ..easy()
    };
    let dropped = |seed| {
        compare(&script, 2, &place, seed).unwrap();
        let story = told(&script, 2, &place.world(), seed, Options::default()).unwrap();
        story.cells.values().any(|cell| cell.dropped[0] > 0)
    };
    assert!((0..64).filter(|seed| dropped(*seed)).count() > 16);
}

/// Timers alone get a run nowhere: it ends thirty days after the last progress, unless one wait
/// takes as long.
#[test]
fn a_run_in_which_nothing_comes_of_events_stalls() {
    const DAY: f64 = 24.0 * 3600.0;
    let place = Place {
        ops_per_s: Some(1.0),
        ..easy()
    };
    let ends = |act: Act| {
        let script = Script {
            rows: vec![vec![act]],
            life: 100,
            starts_clients: false,
            finishes: false,
        };
        compare(&script, 2, &place, 1).unwrap();
        match plain::play(&script, 2, (&place.world(), place.lookahead()), 1) {
            Err(RunError::Idle { until, .. }) => Some(until.as_secs() / DAY),
            _ => None,
        }
    };
    let days = |n: f64| Act::Timer {
        after: SimSpan::from_secs(n * DAY),
    };
    assert_eq!(ends(days(1.0)), Some(31.0));
    assert_eq!(ends(days(40.0)), Some(70.0));
    assert_eq!(ends(Act::Compute { cost: DAY }), None, "work is progress");
}

/// Links, devices, absences and a client's own draws are named by who it is, and not by how many
/// there are: what ten clients see does not change with an eleventh, to whom nobody speaks and whom
/// only the server hears.
#[test]
fn another_client_changes_nothing_that_the_others_see() {
    let say = |to| Act::Send {
        to,
        words: 3,
        policy: 2,
    };
    let work = Act::Compute { cost: 2.0 };
    // The server and every third client do row 0; the eleventh client does row 2.
    let script = Script {
        rows: vec![vec![], vec![say(0), say(4), work], vec![say(0), work]],
        life: 4,
        starts_clients: true,
        finishes: true,
    };
    let class = LinkClass {
        latency_ms: Dist::Exponential { mean: 3.0, min: 1.0 },
        loss_prob: 0.3,
    };
    let rate = Dist::Uniform { low: 1e3, high: 9e3 };
    let place = Place {
        stutters: false,
        has_outages: false,
        links: Some(Links {
            uplink: class,
            downlink: class,
            peer: class,
            up_bytes_per_s: Some(rate),
            down_bytes_per_s: Some(rate),
            server_up_bytes_per_s: None,
            server_down_bytes_per_s: None,
            max_retries: 1,
            retry_after_ms: 1.0,
            ..Links::default()
        }),
        ops_per_s: None,
        attendance: Attendance::OnOff,
        dropout: DropoutSpec::default(),
        selects_half: false,
        horizon: SimSpan::FOREVER,
        header_bytes: 24,
    };
    let seen = |n_clients| {
        let story = told(&script, n_clients, &place.world(), 5, Options::default()).unwrap();
        story.seen[1..=10].to_vec()
    };
    let ten = seen(10);
    let heard = |what: fn(&Heard) -> bool| ten.iter().flatten().any(|seen| what(&seen.heard));
    assert!(heard(|heard| matches!(heard, Heard::Message { .. })));
    assert!(heard(|heard| matches!(heard, Heard::Undelivered { .. })));
    assert!(ten == seen(11));
}
