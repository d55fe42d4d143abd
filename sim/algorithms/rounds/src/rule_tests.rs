//! Rounds whose updates are combined by a rule other than the mean.

use super::tests::{Toy, firsts, number, play, protocol, toy, try_play, two};
use super::*;
use folkmoot_engine::world::cohort;
use folkmoot_parts::Chosen;

/// What the first number is after each of two rounds, in which client c sends c + 1 more than it
/// got; client 0 has no samples.
fn two_rounds<P: folkmoot_parts::Component + Rule>(rule: P, aggregation: Aggregation) -> Vec<f64> {
    let protocol = Protocol {
        aggregator: Chosen::new(rule),
        aggregation,
        ..protocol(2)
    };
    firsts(&play(toy(6), protocol, &World::ideal()))
}

#[test]
fn a_rule_combines_models_and_changes_alike_and_leaves_out_what_weighs_nothing() {
    let buffered = Aggregation::Buffered {
        size: 6,
        discount: Discount::None,
    };
    for aggregation in [Aggregation::Synchronous, buffered] {
        // Of 2, 3, 4, 5 and 6 without the ends, unweighted; the mean is weighted and would be 4.67.
        assert_eq!(two_rounds(TrimmedMean { share: 0.2 }, aggregation), [4.0, 8.0]);
        assert_eq!(two_rounds(TrimmedMean { share: 0.4 }, aggregation), [4.0, 8.0]);
        // Both numbers move by c + 1, so that changes of all clients are cut to (3, 3) but the
        // first's, which has weight 1 of 15.
        let clipped = two_rounds(
            NormClip {
                bound: 3.0 * 2f64.sqrt(),
            },
            aggregation,
        );
        let expected = 3.0 - 1.0 / 15.0;
        assert!(
            (clipped[0] - expected).abs() < 1e-5 && (clipped[1] - 2.0 * expected).abs() < 1e-5,
            "{clipped:?}"
        );
    }
}

#[test]
fn with_too_few_updates_the_model_stays_as_it_is() {
    let trimmed = Protocol {
        aggregator: Chosen::new(TrimmedMean { share: 0.1 }),
        ..protocol(3)
    };
    // Of three clients one has nothing to say, and of four one sends NaN in the second round.
    let three = play(toy(3), trimmed.clone(), &World::ideal());
    assert_eq!(
        (firsts(&three), number(&three, "rounds_without_update")),
        (vec![0.0; 3], 3.0)
    );
    let spoilt = Toy {
        spoilt: Some(2),
        ..toy(4)
    };
    let four = play(spoilt, trimmed.clone(), &World::ideal());
    assert_eq!(
        (firsts(&four), number(&four, "rounds_without_update")),
        (vec![3.0, 3.0, 6.0], 1.0)
    );
    let world = World {
        cohort: Box::new(cohort::Size { n: 2, over_select: 2.0 }),
        ..World::ideal()
    };
    let why = try_play(toy(9), trimmed, &world, Options::default())
        .err()
        .unwrap()
        .to_string();
    let rule =
        "protocol.aggregator: needs at least 3 updates, and a round takes at most 2; ask more clients with cohort";
    assert!(why.contains(rule), "{why}");
}

/// The model's second number does not learn: the rule combines it, and the server's optimiser
/// leaves it at that.
#[test]
fn what_does_not_learn_is_combined_and_not_stepped() {
    let half = Protocol {
        aggregator: Chosen::new(TrimmedMean { share: 0.2 }),
        server_optimizer: Chosen::new(Average { learning_rate: 0.5 }),
        ..protocol(1)
    };
    let statistics = Toy {
        layout: two(1),
        ..toy(6)
    };
    let outcome = play(statistics, half, &World::ideal());
    assert_eq!((firsts(&outcome)[0], number(&outcome, "second")), (2.0, 14.0));
}
