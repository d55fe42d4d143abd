//! Each attack on a planted leak, which it must find, and where there is none, which it must not.

use super::likelihood_ratio::{Shadow, scores};
use super::link_stealing::{Answers, DISTANCES, Nearer, some_pairs, write_guesses, write_taught};
use super::numbers::{Guesses, wilson};
use super::*;
use folkmoot_draws::{normal, unit};

pub(super) fn rng(n: u64) -> SimRng {
    Streams::new(n).global(Purpose(*b"at-tests"))
}

pub(super) fn numbers(write: impl FnOnce(&mut Sheet)) -> Vec<(String, f64)> {
    let mut sheet = Sheet::default();
    write(&mut sheet);
    sheet.take_summary()
}

pub(super) fn number(all: &[(String, f64)], name: &str) -> f64 {
    let found = all.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {all:?}")).1
}

#[test]
fn what_is_found_has_the_values_of_a_hand() {
    let is_one: Vec<bool> = (0..200).map(|i| i % 2 == 0).collect();
    // Of 100 ones 30 lie above all others, of which one lies above the rest of the ones.
    let score = |i: usize| match (i % 2, i / 2) {
        (0, n) if n < 30 => 10.0,
        (1, 0) => 5.0,
        (0, _) => 1.0,
        _ => 0.0,
    };
    let scores: Vec<f64> = (0..200).map(score).collect();
    let guesses = Guesses {
        is_one: &is_one,
        scores: &scores,
    };
    let all = numbers(|sheet| guesses.write("x", Some(4.0), None, sheet));
    assert_eq!(number(&all, "x_auc"), (30.0 * 100.0 + 70.0 * 99.0) / 1e4);
    assert_eq!(number(&all, "x_found"), 1.0);
    assert!((number(&all, "x_advantage") - 0.29).abs() < 1e-12);
    assert!(number(&all, "x_found@high") > 0.999 && number(&all, "x_found@low") < 0.97);
    let [low, high] = wilson(0.5, 10.0);
    assert!(
        (low - 0.236_6).abs() < 1e-4 && (high - 0.763_4).abs() < 1e-4,
        "{low} {high}"
    );
    // What is turned round is not folded back.
    let turned: Vec<f64> = scores.iter().map(|x| -x).collect();
    let turned = Guesses {
        is_one: &is_one,
        scores: &turned,
    };
    let all = numbers(|sheet| turned.write("x", None, None, sheet));
    assert!(number(&all, "x_auc") < 0.01 && number(&all, "x_found") == 0.0);
}

/// Signals of models: each item's own mean, and `lift` where it trains.
fn models(n_items: usize, lift: f64, rng: &mut SimRng) -> (Vec<bool>, Vec<f64>, Vec<Shadow>) {
    let means: Vec<f64> = (0..n_items).map(|_| 4.0 * normal(rng)).collect();
    let model = |trained: Vec<bool>, rng: &mut SimRng| Shadow {
        signals: means
            .iter()
            .zip(&trained)
            .map(|(mean, trained)| mean + lift * f64::from(u8::from(*trained)) + normal(rng))
            .collect(),
        trained,
    };
    let half = |rng: &mut SimRng| -> Vec<bool> { (0..n_items).map(|_| unit(rng) < 0.5).collect() };
    let mut shadows = Vec::new();
    for _ in 0..8 {
        let trained = half(rng);
        let others = trained.iter().map(|trained| !trained).collect();
        shadows.push(model(trained, rng));
        shadows.push(model(others, rng));
    }
    let members = half(rng);
    let target = model(members, rng);
    (target.trained, target.signals, shadows)
}

#[test]
fn the_likelihood_ratio_finds_a_planted_lift_and_nothing_without_one() {
    for variance in [Variance::Shared, Variance::Own] {
        let auc = |lift: f64, seed: u64| {
            let (members, signals, shadows) = models(2_000, lift, &mut rng(seed));
            scores(variance, &signals, &shadows).map(|scores| folkmoot_scores::auc(&members, &scores).unwrap())
        };
        for (kind, auc) in auc(2.0, 1).into_iter().enumerate() {
            assert!(auc > 0.8, "{variance:?} {kind}: {auc}");
        }
        for (kind, auc) in auc(0.0, 2).into_iter().enumerate() {
            assert!((auc - 0.5).abs() < 0.04, "{variance:?} {kind}: {auc}");
        }
    }
    // The raw signal hardly tells: means differ more than the lift.
    let (members, signals, _) = models(2_000, 2.0, &mut rng(1));
    assert!(folkmoot_scores::auc(&members, &signals).unwrap() < 0.7);
}

#[test]
fn an_unusually_hard_other_item_is_no_member_offline() {
    let shadow = |signal: f64, trained: bool| Shadow {
        trained: vec![trained],
        signals: vec![signal],
    };
    let shadows = [
        shadow(1.0, false),
        shadow(-1.0, false),
        shadow(9.0, true),
        shadow(7.0, true),
    ];
    let of = |x: f64| scores(Variance::Own, &[x], &shadows).map(|scores| scores[0]);
    // Without: mean 0, variance 2; with: mean 8, variance 2.
    assert_eq!(of(-10.0)[1], -10.0 / 2.0_f64.sqrt());
    assert!((of(5.0)[0] - (25.0 - 9.0) / 4.0).abs() < 1e-12, "{:?}", of(5.0));
    assert!(of(-10.0)[1] < of(0.0)[1] && of(0.0)[1] < of(10.0)[1]);
}

#[test]
fn distances_are_those_of_a_hand() {
    let (a, b) = ([0.5, 0.5, 0.0], [0.25, 0.25, 0.5]);
    let expected = [
        1.0 - 0.25 / (0.5_f64 * 0.375).sqrt(),
        0.375_f64.sqrt(),
        2.0,
        0.5,
        0.5,
        1.0 / 3.0 + 1.0 / 3.0 + 1.0,
        1.0,
        0.375,
    ];
    for ((name, distance), expected) in DISTANCES.into_iter().zip(expected) {
        let (there, back) = (distance(&a, &b), distance(&b, &a));
        assert!((there - expected).abs() < 1e-12 && there == back, "{name}: {there}");
        assert!(distance(&a, &a).abs() < 1e-12, "{name}");
    }
    let (same, one) = ([0.25; 4], [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(DISTANCES[2].1(&same, &one), 1.0, "no variance, no correlation");
    assert_eq!(DISTANCES[5].1(&one, &one), 0.0, "0 and 0 are no distance apart");
    let nothing = [0.0; 3];
    for (name, distance) in DISTANCES {
        assert!(distance(&nothing, &nothing).is_finite(), "{name}");
    }
}

/// Pairs of a ring, and answers that lie on a circle as the nodes do, or anywhere.
fn ring_areas(is_planted: bool) -> Vec<(String, f64)> {
    let n = 400;
    let mut joined: Vec<(u32, u32)> = (0..n).map(|v| (v.min((v + 1) % n), v.max((v + 1) % n))).collect();
    joined.sort_unstable();
    let mut rng = rng(3);
    let pairs = some_pairs(&joined, n, &mut rng);
    assert_eq!(pairs.iter().filter(|(_, is_joined)| *is_joined).count(), n as usize);
    assert_eq!(pairs.len(), 2 * n as usize);
    let answer = |v: u32| -> Vec<f64> {
        let turn = std::f64::consts::TAU * f64::from(v) / f64::from(n);
        let weights: [f64; 3] = match is_planted {
            true => [0.0, 2.0, 4.0].map(|at| 1.5 + libm::cos(turn - at)),
            false => [0; 3].map(|_| unit(&mut rng) + 1e-3),
        };
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    };
    let answers: Vec<Vec<f64>> = (0..n).map(answer).collect();
    // What nodes bring says nothing here.
    let brought: Answers = (0..n).map(|_| [0; 4].map(|_| unit(&mut rng)).to_vec()).collect();
    numbers(|sheet| {
        let (answers, bare, pairs) = (vec![answers], vec![brought], [pairs]);
        write_guesses("link", &answers[..], &pairs, None, sheet);
        let nearer = Nearer {
            bare: &bare,
            answers: &answers,
        };
        write_guesses("nearer", &nearer, &pairs, None, sheet);
        let mut taught = |name: &str, besides: &[&[Answers]]| {
            write_taught(name, (&answers, besides), &pairs, (0.3, self::rng(6)), None, sheet);
        };
        taught("taught_links", &[]);
        taught("featured_links", &[&bare, &bare]);
    })
}

#[test]
fn links_are_found_where_answers_follow_them_and_not_in_random_answers() {
    let (planted, random) = (ring_areas(true), ring_areas(false));
    for (name, _) in DISTANCES {
        let name = format!("link_{name}_auc");
        let (planted, random) = (number(&planted, &name), number(&random, &name));
        assert!(planted > 0.95, "{name}: {planted}");
        assert!((random - 0.5).abs() < 0.05, "{name}: {random}");
    }
    for (name, least) in [
        ("taught_links_auc", 0.9),
        ("featured_links_auc", 0.8),
        ("nearer_euclidean_auc", 0.8),
    ] {
        let (planted, random) = (number(&planted, name), number(&random, name));
        assert!(planted > least, "{name}: {planted}");
        assert!((random - 0.5).abs() < 0.08, "{name}: {random}");
    }
}

/// Answers that lie as what nodes bring lies, links or none: what a graph has brought nearer is
/// nothing then.
#[test]
fn a_likeness_that_nodes_bring_is_not_taken_for_what_a_graph_brings_nearer() {
    let n = 300;
    let mut rng = rng(8);
    let rows: Answers = (0..n).map(|_| vec![unit(&mut rng), unit(&mut rng)]).collect();
    let near = |u: u32, v: u32| (rows[u as usize][0] - rows[v as usize][0]).abs() < 0.02;
    let all = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
    let joined: Vec<(u32, u32)> = all.filter(|(u, v)| near(*u, *v)).collect();
    let pairs = [some_pairs(&joined, n, &mut rng)];
    let shaken: Answers = rows
        .iter()
        .map(|row| row.iter().map(|x| x + 1e-3 * normal(&mut rng)).collect())
        .collect();
    let (answers, bare) = (vec![shaken], vec![rows.clone()]);
    let all = numbers(|sheet| {
        write_guesses("link", &answers[..], &pairs, None, sheet);
        let nearer = Nearer {
            bare: &bare,
            answers: &answers,
        };
        write_guesses("nearer", &nearer, &pairs, None, sheet);
    });
    let [link, nearer] = ["link_euclidean_auc", "nearer_euclidean_auc"].map(|name| number(&all, name));
    assert!(link > 0.7, "{link}");
    assert!((nearer - 0.5).abs() < 0.05, "{nearer}");
}

#[test]
fn whoever_knows_pairs_of_one_kind_alone_is_not_taught() {
    let (answers, pairs) = (vec![vec![vec![0.5, 0.5]; 3]], [vec![((0, 1), true), ((1, 2), true)]]);
    let mut sheet = Sheet::default();
    write_taught("taught_links", (&answers, &[]), &pairs, (0.5, rng(6)), None, &mut sheet);
    assert!(sheet.take_summary().is_empty() && sheet.take_warnings().len() == 1);
}

#[test]
fn pairs_of_dense_graphs_are_drawn_from_the_few_that_are_left() {
    let all: Vec<(u32, u32)> = (0..6).flat_map(|u| (u + 1..6).map(move |v| (u, v))).collect();
    let joined: Vec<(u32, u32)> = all.iter().copied().filter(|pair| *pair != (2, 4)).collect();
    let pairs = some_pairs(&joined, 6, &mut rng(4));
    let apart: Vec<(u32, u32)> = pairs.iter().filter(|(_, is)| !is).map(|(pair, _)| *pair).collect();
    assert_eq!(apart, [(2, 4)]);
    assert!(some_pairs(&[], 0, &mut rng(4)).is_empty() && some_pairs(&[], 1, &mut rng(4)).is_empty());
}
