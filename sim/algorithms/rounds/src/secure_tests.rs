//! Secure rounds: the sum to the bit, the bytes, and what becomes of those who leave.

use super::tests::{everything, firsts, number, play, protocol, slow, toy, try_play};
use super::*;
use folkmoot_engine::world::{DropoutSpec, cohort};
use folkmoot_parts::Value as _;

fn secure(rounds: u32) -> Protocol {
    Protocol {
        secure: Secure::Pairwise { threshold: 0.6 },
        ..protocol(rounds)
    }
}

/// Client `c` adds `c + 1`, with `c` samples: the sum in units of 2^-24, divided by the samples,
/// and rounded once.
#[test]
fn the_mean_is_that_of_the_plain_sum_in_fixed_point_to_the_bit() {
    let mut model = 0.0_f32;
    let mut expected = Vec::new();
    for _ in 0..3 {
        let unit = f64::from(1 << 24);
        let fixed = |c: u32| (f64::from(model + c as f32 + 1.0) * f64::from(c) * unit).round() as i64;
        let sum: i64 = (0..7).map(fixed).sum();
        model = (sum as f64 / unit / 21.0) as f32;
        expected.push(f64::from(model));
    }
    let outcome = play(toy(7), secure(3), &World::ideal());
    assert_eq!(firsts(&outcome), expected);
    assert!(
        outcome
            .tables
            .rounds
            .iter()
            .all(|row| (row.completed, row.dropped) == (7, 0))
    );
    assert_eq!(outcome.tables.privacy[0].mechanism, "none: sum of weights");
    assert_eq!(outcome.tables.privacy[0].releases, 21);
}

#[test]
fn every_message_has_the_size_of_the_table() {
    let outcome = play(toy(5), secure(2), &World::ideal());
    let cells = outcome.ledger.rows().filter(|(_, round, ..)| *round == Round(1));
    let rows: Vec<(&str, Direction, u64, u64)> = cells
        .map(|(kind, _, direction, cell)| (kind.name, direction, cell.sent, cell.payload_bytes))
        .collect();
    let (up, down) = (Direction::Uplink, Direction::Downlink);
    let expected = [
        ("model", down, 5, 5 * 9),
        ("keys", up, 5, 5 * 64),
        ("roster", down, 5, 5 * 5 * 68),
        ("shares", up, 5, 5 * 4 * 96),
        ("shares", down, 5, 5 * 4 * 96),
        ("masked_update", up, 5, 5 * 3 * 8),
        ("survivors", down, 5, 5 * 5 * 4),
        ("unmasking", up, 5, 5 * 5 * 36),
    ];
    assert_eq!(rows, expected);
}

/// Whoever leaves after it has shared its secrets takes no part, and its masks come off all the
/// same.
#[test]
fn masks_of_those_who_leave_are_recovered() {
    let world = || World {
        dropout: DropoutSpec {
            prob: 0.2,
            ..DropoutSpec::default()
        },
        cohort: Box::new(cohort::Size {
            n: 12,
            over_select: 1.25,
        }),
        deadline: Some(SimSpan::from_secs(60.0)),
        ..slow()
    };
    let outcome = play(toy(40), secure(30), &world());
    let taken: Vec<_> = outcome.tables.rounds.iter().filter(|row| row.completed > 0).collect();
    let with_losses = taken.iter().filter(|row| row.completed < row.cohort).count();
    assert!(with_losses > 5, "{:?}", outcome.tables.rounds);
    // Each step is a mean of what clients add: a mask that stayed on would leave 1 to 40 far
    // behind.
    let mut before = 0.0;
    for (row, after) in outcome.tables.rounds.iter().zip(firsts(&outcome)) {
        let step = after - before;
        assert!(
            if row.completed > 0 {
                (1.0..=40.0).contains(&step)
            } else {
                step == 0.0
            },
            "{step} in {row:?}"
        );
        before = after;
    }
    let print = |options| everything(try_play(toy(40), secure(6), &world(), options).unwrap());
    let first = print(Options::default());
    for (threads, windows, wire_check) in [(2, true, true), (1, false, false), (8, true, false)] {
        let options = Options {
            threads,
            windows,
            wire_check,
            ..Options::default()
        };
        assert!(print(options) == first, "{options:?}");
    }
}

#[test]
fn a_number_that_cannot_be_sent_is_withdrawn_and_named() {
    let task = tests::Toy {
        spoilt: Some(2),
        ..toy(6)
    };
    let outcome = play(task, secure(3), &World::ideal());
    assert_eq!(number(&outcome, "refused_updates"), 1.0);
    let table = String::from_utf8_lossy(&outcome.artifacts[0].bytes).into_owned();
    assert_eq!(table, "client,round,index,value\n2,1,0,NaN\n");
    let completed: Vec<u64> = outcome.tables.rounds.iter().map(|row| row.completed).collect();
    assert_eq!(completed, [6, 5, 6]);
}

/// Numbers that are finite, times 590 000 samples: above 2^23 the update is refused, and the
/// warning says the range, the largest number and the way out.
#[test]
fn a_number_beyond_fixed_point_is_named_with_the_range() {
    let task = tests::Toy {
        least_samples: 590_000,
        ..toy(6)
    };
    let outcome = play(task, secure(1), &World::ideal());
    let table = String::from_utf8_lossy(&outcome.artifacts[0].bytes).into_owned();
    assert_eq!(table, "client,round,index,value\n4,0,1,15\n5,0,1,16\n");
    assert_eq!(number(&outcome, "refused_updates"), 2.0);
    let warning = &outcome.warnings[0];
    for part in [
        "2 updates",
        "up to 8388608 divided by",
        "the largest in them is 16;",
        "help: lower",
        "weighting: Uniform",
    ] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    assert!(!warning.contains("not finite"), "{warning}");
}

#[test]
fn a_round_that_loses_too_many_is_given_up() {
    let world = World {
        dropout: DropoutSpec {
            prob: 0.9,
            ..DropoutSpec::default()
        },
        ..slow()
    };
    let strict = Protocol {
        secure: Secure::Pairwise { threshold: 1.0 },
        ..protocol(5)
    };
    let outcome = play(toy(30), strict, &world);
    assert_eq!(firsts(&outcome), [0.0; 5]);
    assert_eq!(number(&outcome, "rounds_without_update"), 5.0);
}

#[test]
fn extras_travel_beside_masked_updates() {
    let task = tests::Toy {
        with_extras: true,
        ..toy(5)
    };
    let outcome = play(task, secure(4), &slow());
    assert_eq!(number(&outcome, "notes"), 10.0);
    assert!(outcome.tables.rounds.iter().all(|row| row.completed == 5));
}

/// Clients that have trained wait for the others' shares, which never come where too many leave:
/// nothing is sent then, nor spent.
#[test]
fn an_extra_that_is_not_sent_spends_nothing() {
    let world = World {
        dropout: DropoutSpec {
            prob: 0.1,
            ..DropoutSpec::default()
        },
        ..slow()
    };
    let strict = Protocol {
        secure: Secure::Pairwise { threshold: 1.0 },
        ..protocol(20)
    };
    let task = tests::Toy {
        with_extras: true,
        ..toy(6)
    };
    let outcome = play(task, strict, &world);
    let notes = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "note");
    let n_sent: u64 = notes.map(|(.., cell)| cell.sent).sum();
    assert!((1..60).contains(&n_sent), "some rounds send and some do not: {n_sent}");
    assert_eq!(outcome.tables.privacy[1].releases, n_sent);
}

#[test]
fn masks_need_a_round_to_cancel_in() {
    let buffered = Protocol {
        aggregation: Aggregation::Buffered {
            size: 2,
            discount: Discount::None,
        },
        secure: Secure::Pairwise { threshold: 0.5 },
        ..protocol(1)
    };
    let fields: Vec<String> = buffered.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(fields, ["secure.threshold", "secure"]);
}
