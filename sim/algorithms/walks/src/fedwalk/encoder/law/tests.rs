#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use super::super::super::dictionary::Dictionary;
use super::super::super::scores::DegreeIndex;
use super::super::{AsPublished, Calibrated, Encoder, Entries, Normalised};
use super::*;
use folkmoot_draws::SeedableRng;
use folkmoot_privacy::Exponential;
use folkmoot_similarity::dissimilarity::{Condensed, Sequences};
use folkmoot_similarity::dtw::Metric;
use folkmoot_similarity::linkage::{Linkage, linkage};
use folkmoot_similarity::tree::{Tree, hybrid};

/// Forty vertices with vectors of two entries, close together in fours; every fourth pair is alike.
fn world() -> (Tree, Condensed, Dictionary) {
    let vectors: Vec<f32> = (0..40u32)
        .flat_map(|v| {
            let twin = if v % 4 == 1 { v - 1 } else { v };
            [
                (twin / 4 * 3) as f32 + (twin % 4) as f32 * 0.01,
                (twin % 7) as f32 * 0.02,
            ]
        })
        .collect();
    let matrix = Sequences::of_vectors(&vectors, 2).all_pairs(Metric::L1);
    let tree = Tree::from_merges(40, &linkage(matrix.clone(), Linkage::Average));
    (tree, matrix, Dictionary::new(vectors))
}

fn scores<'a>((tree, matrix, dictionary): &'a (Tree, Condensed, Dictionary)) -> PairScores<'a> {
    PairScores {
        tree,
        matrix: Some(matrix),
        dictionary,
        degrees: None,
    }
}

/// The law of an encoder that reads scores.
fn law_of(encoder: &dyn Encoder, epsilon: f64, scores: PairScores<'_>) -> Law {
    match encoder.entries(40, epsilon) {
        Ok(Entries::ByScore { scale, .. }) => Law::new(&scale, scores),
        _ => panic!("{} reads scores", encoder.mechanism()),
    }
}

/// The law over all candidates, by the mechanism of the privacy crate.
fn full_law(scale: f64, u: u32, scores: PairScores<'_>) -> Vec<f64> {
    let all: Vec<f64> = (0..scores.n() as u32).map(|v| scores.score(u, v)).collect();
    let mechanism = Exponential::new(scale, 1.0, "one vertex").unwrap();
    mechanism.probabilities(&all).unwrap()
}

#[test]
fn tables_leave_out_less_than_two_to_the_minus_64_of_the_full_sum() {
    let world = world();
    let scores = scores(&world);
    let mut left_out = 0;
    for epsilon in [0.5, 2.0, 40.0] {
        let law = law_of(&AsPublished {}, epsilon, scores);
        for u in 0..40 {
            let table = law.table(u, scores).unwrap();
            let full = full_law(epsilon, u, scores);
            let mut before = 0.0;
            let mut missing = 1.0 - full.iter().sum::<f64>();
            for v in 0..40u32 {
                let mut mine = 0.0;
                match table.candidates.binary_search(&v) {
                    Ok(i) => {
                        mine = (table.cumulative[i] - before) / table.total();
                        before = table.cumulative[i];
                    }
                    Err(_) => {
                        missing += full[v as usize];
                        left_out += 1;
                    }
                }
                assert!((mine - full[v as usize]).abs() < 1e-15, "{epsilon} {u} {v}");
            }
            assert!(missing.abs() < 4.0 * f64::EPSILON, "{missing}");
        }
    }
    assert!(left_out > 1000, "the tables save nothing: {left_out}");
    // The bound itself, where rounding hides nothing: the weights left out are all below 2^-64 /
    // |V|.
    let law = law_of(&AsPublished {}, 2.0, scores);
    for u in 0..40 {
        let table = law.table(u, scores).unwrap();
        let weight = |v: u32| libm::exp(2.0 * scores.score(u, v));
        let missing: f64 = (0..40).filter(|v| !table.candidates.contains(v)).map(weight).sum();
        assert!(missing < 1.0 / 18_446_744_073_709_551_616.0);
    }
}

/// Every frequency within 4.5 standard errors of its probability, for a law by tables and one by
/// rejection.
#[test]
fn draws_follow_the_full_law() {
    let world = world();
    let scores = scores(&world);
    let encoders: [(&dyn Encoder, f64, bool); 3] = [
        (&AsPublished {}, 0.5, false),
        (&Normalised {}, 3.0, true),
        (&Calibrated {}, 3.0, true),
    ];
    for (encoder, epsilon, by_rejection) in encoders {
        let law = law_of(encoder, epsilon, scores);
        assert_eq!(law.by_rejection, by_rejection);
        for u in [0, 17] {
            let full = full_law(law.scale, u, scores);
            let n = 40_000;
            let mut counts = [0u32; 40];
            let mut rng = SimRng::seed_from_u64(5);
            for _ in 0..n {
                counts[law.draw(u, scores, &mut rng) as usize] += 1;
            }
            for (count, p) in counts.into_iter().zip(full) {
                let error = (p * (1.0 - p) / f64::from(n)).sqrt();
                assert!(
                    (f64::from(count) / f64::from(n) - p).abs() <= 4.5 * error + 1e-12,
                    "{} {u}",
                    encoder.mechanism()
                );
            }
        }
    }
}

#[test]
fn the_audit_is_that_of_the_full_table() {
    let world = world();
    let scores = scores(&world);
    let encoders: [&dyn Encoder; 3] = [&AsPublished {}, &Normalised {}, &Calibrated {}];
    for encoder in encoders {
        let law = law_of(encoder, 2.0, scores);
        let audit = law.audit(scores);
        let all: Vec<f64> = (0..40).flat_map(|u| (0..40).map(move |v| scores.score(u, v))).collect();
        let largest = all.iter().fold(0.0f64, |most, score| most.max(-score));
        assert_eq!(audit.sensitivity, largest);
        let mechanism = Exponential::new(law.scale, largest, "one vertex").unwrap();
        let worst = mechanism.worst_log_ratio(&all, 40).unwrap();
        assert!(
            (audit.worst_log_ratio - worst).abs() < 1e-9 * worst.max(1.0),
            "{}",
            encoder.mechanism()
        );
        let keep: f64 = (0..40).map(|u| full_law(law.scale, u, scores)[u as usize]).sum::<f64>() / 40.0;
        assert!((audit.keep_probability - keep).abs() < 1e-12);
        match encoder.mechanism() {
            "exponential calibrated" => assert!(audit.worst_log_ratio <= 2.0 && audit.keep_probability < 0.04),
            "exponential normalised" => assert!(audit.worst_log_ratio <= 4.0),
            _ => assert!(
                audit.worst_log_ratio > 100.0,
                "as published, epsilon = 2 protects nothing"
            ),
        }
    }
}

#[test]
fn equal_vertices_are_exchanged_and_others_are_not() {
    let world = world();
    let scores = scores(&world);
    let law = law_of(&AsPublished {}, 1000.0, scores);
    let mut rng = SimRng::seed_from_u64(1);
    let drawn: Vec<u32> = (0..20).map(|_| law.draw(0, scores, &mut rng)).collect();
    assert!(
        drawn.contains(&0) && drawn.contains(&1) && drawn.iter().all(|v| *v < 2),
        "{drawn:?}"
    );
    assert!((0..20).all(|_| law.draw(2, scores, &mut rng) == 2));
}

/// Without a matrix the search by noisy degree finds what looking at every vertex finds.
#[test]
fn the_search_by_degree_misses_nothing() {
    let mut state = 1u64;
    let mut unit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 24) as f32
    };
    let n = 20_000;
    let vectors: Vec<f32> = (0..n * 3).map(|_| (unit() * 6.0 - 3.0) * unit()).collect();
    let sequences = Sequences::of_vectors(&vectors, 3);
    let pairs = |part: &[u32]| sequences.select(part).all_pairs(Metric::L1);
    let tree = hybrid(&vectors, 3, 64, Linkage::Average, pairs);
    let dictionary = Dictionary::new(vectors);
    let index = DegreeIndex::new(&tree, &dictionary);
    let plain = PairScores {
        tree: &tree,
        matrix: None,
        dictionary: &dictionary,
        degrees: None,
    };
    let fast = PairScores {
        degrees: Some(&index),
        ..plain
    };
    let mut beyond = 0;
    for u in (0..n as u32).step_by(97) {
        for limit in [5.0, 29.0, 9000.0] {
            let found = fast.within(u, limit);
            assert_eq!(found, plain.within(u, limit), "{u} {limit}");
            beyond += found
                .iter()
                .filter(|(v, _)| tree.leaves_under_lca(u, *v) > 16_384)
                .count();
        }
    }
    assert!(beyond > 0, "nothing was found by degree alone");
}
