//! Malicious clients: what they send, and what becomes of the model.

use super::tests::{Toy, firsts, play, protocol, toy, try_play};
use super::*;
use folkmoot_parts::{Chosen, Component, Value};
use proptest::prelude::*;

/// A protocol of two rounds with malicious clients. Client c has weight c and sends c + 1 more than
/// it got.
fn attacked<A: Adversary + Component>(clients: MaliciousClients, adversary: A) -> Protocol {
    Protocol {
        malicious: Malicious {
            clients,
            adversary: Chosen::new(adversary),
            ..Malicious::default()
        },
        ..protocol(2)
    }
}

#[track_caller]
fn assert_firsts(protocol: Protocol, expected: [f64; 2]) {
    let found = firsts(&play(toy(6), protocol, &World::ideal()));
    let is_near = found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-4);
    assert!(found.len() == 2 && is_near, "{found:?}, expected {expected:?}");
}

/// Honest: (1·2 + 2·3 + 3·4 + 4·5 + 5·6) / 15 a round.
#[test]
fn one_malicious_client_moves_the_mean_as_its_adversary_says() {
    let last = || MaliciousClients::Named(vec![5]);
    assert_firsts(
        attacked(MaliciousClients::Off, SignFlip { factor: 1.0 }),
        [14.0 / 3.0, 28.0 / 3.0],
    );
    assert_firsts(attacked(last(), SignFlip { factor: 1.0 }), [2.0 / 3.0, 4.0 / 3.0]);
    assert_firsts(attacked(last(), SignFlip { factor: 2.0 }), [-4.0 / 3.0, -8.0 / 3.0]);
    assert_firsts(attacked(last(), Scaled { factor: 3.0 }), [130.0 / 15.0, 260.0 / 15.0]);
    assert_firsts(
        attacked(last(), FreeRider { noise_std: 0.0 }),
        [40.0 / 15.0, 80.0 / 15.0],
    );
}

#[test]
fn colluding_clients_send_one_change_made_of_theirs() {
    let two = || MaliciousClients::Named(vec![5, 4]);
    // Their honest changes are 5 and 6, with weights 4 and 5.
    let flipped = (20.0 - 9.0 * 5.5) / 15.0;
    let inner = attacked(two(), InnerProduct { factor: 1.0 });
    assert_firsts(inner.clone(), [flipped, 2.0 * flipped]);
    let buffered = Protocol {
        aggregation: Aggregation::Buffered {
            size: 6,
            discount: Discount::None,
        },
        ..inner
    };
    assert_firsts(buffered, [flipped, 2.0 * flipped]);
    let little = (20.0 + 9.0 * (5.5 - 2.0 * 0.5)) / 15.0;
    assert_firsts(attacked(two(), LittleIsEnough { z: Some(2.0) }), [little, 2.0 * little]);
}

#[test]
fn attacks_begin_and_end_with_their_rounds() {
    let mut protocol = attacked(MaliciousClients::Named(vec![5]), SignFlip { factor: 1.0 });
    protocol.malicious.from_round = 1;
    assert_firsts(protocol.clone(), [14.0 / 3.0, 16.0 / 3.0]);
    protocol.malicious.from_round = 0;
    protocol.malicious.until_round = Some(0);
    assert_firsts(protocol, [2.0 / 3.0, 16.0 / 3.0]);
}

#[test]
fn a_fraction_is_drawn_once_a_run() {
    // Whichever two of six they are, they attack in both rounds.
    let protocol = attacked(MaliciousClients::Fraction(1.0 / 3.0), FreeRider { noise_std: 0.0 });
    let [first, second] = firsts(&play(toy(6), protocol.clone(), &World::ideal()))[..] else {
        panic!("two rounds")
    };
    assert!(
        (second - 2.0 * first).abs() < 1e-4 && first < 14.0 / 3.0,
        "{first} {second}"
    );
    assert_eq!(firsts(&play(toy(6), protocol, &World::ideal())), [first, second]);
    let none = attacked(MaliciousClients::Named(vec![6]), SignFlip { factor: 1.0 });
    let error = try_play(toy(6), none, &World::ideal(), Options::default())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("there is no client 6; there are 6, from 0"), "{error}");
}

#[test]
fn rules_refuse_what_colluding_clients_cannot_do() {
    let broken = |protocol: Protocol| protocol.broken().iter().map(ToString::to_string).collect::<Vec<_>>();
    let two = || MaliciousClients::Named(vec![0, 1]);
    let masked = Protocol {
        secure: Secure::Pairwise { threshold: 0.67 },
        ..attacked(
            two(),
            MinMax {
                perturbation: Perturbation::Unit,
            },
        )
    };
    let said = broken(masked.clone());
    assert!(
        said.len() == 1 && said[0].starts_with("malicious.adversary: colludes, and with secure"),
        "{said:?}"
    );
    let alone = Protocol {
        malicious: attacked(two(), SignFlip { factor: 1.0 }).malicious,
        ..masked.clone()
    };
    assert!(broken(alone).is_empty());
    let nobody = Protocol {
        malicious: Malicious {
            clients: MaliciousClients::Off,
            ..masked.malicious.clone()
        },
        ..masked
    };
    assert!(broken(nobody).is_empty());
    let mut late = attacked(two(), SignFlip { factor: 1.0 });
    (late.malicious.from_round, late.malicious.until_round) = (3, Some(2));
    assert_eq!(
        broken(late),
        ["malicious.until_round: must be at least 3 (from_round), got 2"]
    );
}

/// Settings that change no bit are warned of, and those that do are not.
#[test]
fn settings_without_effect_are_named() {
    let doubts = |protocol: Protocol| -> Vec<String> {
        let found = protocol.lints(8).into_iter();
        found.map(|doubt| format!("{}: {}", doubt.path, doubt.rule)).collect()
    };
    let attacked = attacked(MaliciousClients::Named(vec![0]), SignFlip { factor: 1.0 });
    assert!(doubts(attacked.clone()).is_empty());
    let mut late = attacked.clone();
    late.malicious.from_round = late.rounds;
    assert!(doubts(late)[0].starts_with("protocol.malicious.from_round: no client attacks"));
    let mut nobody = attacked.clone();
    nobody.malicious.clients = MaliciousClients::Off;
    // A card that names the default adversary reads as one without any.
    nobody.malicious.adversary = Chosen::new(SignFlip { factor: 3.0 });
    assert!(doubts(nobody)[0].starts_with("protocol.malicious: has no effect without malicious clients"));
    let mut alike = attacked;
    alike.weighting = Weighting::Uniform;
    assert!(doubts(alike.clone()).is_empty());
    alike.aggregator = Chosen::new(Median {});
    assert!(doubts(alike)[0].starts_with("protocol.weighting: has no effect with Median"));
}

/// Table 1 of the paper is for other `n`; this is algorithm 3 by hand: `s = 2`, Φ(z) < 24 / 26.
#[test]
fn a_little_is_what_the_paper_says() {
    let round = Colluding {
        changes: (0..24).map(|i| vec![f64::from(i % 2)]).collect(),
        n_updates: 50,
    };
    let crafted = LittleIsEnough { z: None }.craft_together(&round).unwrap();
    assert!((crafted[0] - (0.5 - 0.5 * 1.426_077)).abs() < 1e-5, "{crafted:?}");
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

proptest! {
    /// The crafted change keeps the bound of the paper, and one that lies a little farther out does
    /// not.
    #[test]
    fn min_max_and_min_sum_go_as_far_as_their_bounds(
        changes in prop::collection::vec(prop::collection::vec(-1.0..1.0, 3), 2..6),
        at in 0..3_usize,
    ) {
        let perturbation = [Perturbation::Deviation, Perturbation::Unit, Perturbation::Sign][at];
        let round = Colluding { changes: changes.clone(), n_updates: 9 };
        let mean = round.mean();
        let farthest = |from: &[f64]| changes.iter().map(|change| squared(change, from)).fold(0.0, f64::max);
        let summed = |from: &[f64]| changes.iter().map(|change| squared(change, from)).sum::<f64>();
        type Measure<'a> = &'a dyn Fn(&[f64]) -> f64;
        let cases: [(Option<Vec<f64>>, Measure<'_>); 2] = [
            (MinMax { perturbation }.craft_together(&round), &farthest),
            (MinSum { perturbation }.craft_together(&round), &summed),
        ];
        for (crafted, measure) in cases {
            let crafted = crafted.unwrap();
            let bound = changes.iter().map(|change| measure(change)).fold(0.0, f64::max);
            prop_assert!(measure(&crafted) <= bound * (1.0 + 1e-9));
            let farther: Vec<f64> = crafted.iter().zip(&mean).map(|(x, mean)| x + 0.01 * (x - mean)).collect();
            prop_assert!(measure(&farther) > bound * (1.0 - 1e-9) || squared(&crafted, &mean) < 1e-12);
        }
    }
}

/// Somebody whose update is refused in one round attacks no less in the next.
#[test]
fn adversaries_and_refused_updates_go_together() {
    let spoilt = Toy {
        spoilt: Some(4),
        ..toy(6)
    };
    let protocol = attacked(MaliciousClients::Named(vec![5]), FreeRider { noise_std: 0.0 });
    let found = firsts(&play(spoilt, protocol, &World::ideal()));
    // Without client 4 in round 1: (2 + 6 + 12) / 11 of weights 1, 2, 3 and 5.
    assert!((found[1] - found[0] - 20.0 / 11.0).abs() < 1e-4, "{found:?}");
}
