//! Rounds that take updates in as they come.

use super::tests::{Toy, firsts, play, protocol, slow, toy};
use super::*;
use folkmoot_engine::world::cohort;

/// Client 0 adds 1 in a second, client 1 adds 2 in two. Client 1's first update finds a model one
/// round younger than its own, and so does client 0's second, begun just before that.
#[test]
fn a_buffer_takes_in_updates_of_any_age_and_discounts_them() {
    let protocol = Protocol {
        weighting: Weighting::Uniform,
        aggregation: Aggregation::Buffered {
            size: 1,
            discount: Discount::InverseRoot,
        },
        ..protocol(4)
    };
    let task = Toy {
        least_samples: 1,
        ..toy(2)
    };
    let outcome = play(task, protocol, &slow());
    let root = 0.5f64.sqrt();
    let expected = [1.0, 1.0 + 2.0 * root, 1.0 + 3.0 * root, 2.0 + 3.0 * root];
    for (got, expected) in firsts(&outcome).into_iter().zip(expected) {
        assert!((got - expected).abs() < 1e-6, "{got} and {expected}");
    }
    let ages: Vec<f64> = outcome.tables.rounds.iter().map(|row| row.staleness_mean).collect();
    assert_eq!(ages, [0.0, 1.0, 1.0, 0.0]);
    let seconds: Vec<f64> = outcome.tables.rounds.iter().map(|row| row.virtual_s.round()).collect();
    assert_eq!(seconds, [1.0, 2.0, 2.0, 3.0]);
}

#[test]
fn a_buffer_of_the_whole_cohort_is_a_synchronous_round() {
    let buffered = Protocol {
        aggregation: Aggregation::Buffered {
            size: 4,
            discount: Discount::InverseRoot,
        },
        ..protocol(1)
    };
    let [sync, buffered] = [protocol(1), buffered].map(|protocol| firsts(&play(toy(4), protocol, &World::ideal()))[0]);
    assert!((sync - buffered).abs() < 1e-6, "{sync} and {buffered}");
}

#[test]
fn a_cohort_trains_at_a_time_and_others_take_their_turns() {
    let protocol = Protocol {
        aggregation: Aggregation::Buffered {
            size: 2,
            discount: Discount::None,
        },
        ..protocol(50)
    };
    let world = World {
        cohort: Box::new(cohort::Size { n: 3, over_select: 1.0 }),
        ..slow()
    };
    let outcome = play(toy(10), protocol, &world);
    assert_eq!(outcome.tables.rounds.iter().map(|row| row.completed).sum::<u64>(), 100);
    // 100 updates were taken in, and 3 clients were training when the run ended.
    let sent: u64 = outcome
        .ledger
        .rows()
        .filter(|(kind, ..)| kind.name == "model")
        .map(|(.., cell)| cell.sent)
        .sum();
    assert!((102..=103).contains(&sent), "{sent}");
    assert!(outcome.tables.clients.iter().all(|row| row.rounds > 0));
}

/// As the first test, by FedAsync's mixing: `x ← (1 − a s) x + a s y` with the update's own model
/// `y`.
#[test]
fn mixing_takes_each_update_in_by_its_share_and_its_age() {
    let discount = Discount::InverseRoot;
    let mixed = |share| Protocol {
        weighting: Weighting::Uniform,
        aggregation: Aggregation::Mixed { share, discount },
        ..protocol(4)
    };
    let task = || Toy {
        least_samples: 1,
        ..toy(2)
    };
    let models = |share| firsts(&play(task(), mixed(share), &slow()));
    let root = 0.5f64.sqrt();
    // Client 0 adds 1 to what it was sent and client 1 adds 2: 0 and 1 start from 0; the next of
    // client 0 from what its first has made.
    let x1 = 0.6;
    let x2 = (1.0 - 0.6 * root) * x1 + 0.6 * root * 2.0;
    for (got, expected) in models(0.6).into_iter().zip([x1, x2]) {
        assert!((got - expected).abs() < 1e-6, "{got} and {expected}");
    }
    // The whole share of a fresh update is the update.
    assert!((models(1.0)[0] - 1.0).abs() < 1e-6);
}
