//! Links told by an attacker who knows some of them already: a perceptron that learns from what a
//! model answers for known pairs.

use super::link_stealing::{Answers, DISTANCES, Pairs};
use folkmoot_draws::shuffle;
use folkmoot_engine::prelude::*;
use folkmoot_scores::inference::{PerceptronSettings, Table};

/// As in the paper, with Adam and without its dropout.
const PERCEPTRON: PerceptronSettings = PerceptronSettings {
    layers: 3,
    width: 32,
    epochs: 50,
    learning_rate: 1e-3,
    batch: 32,
    standardise: true,
};

/// Keeps the entropy of a sure answer finite.
const LEAST: f64 = 1e-5;

/// What of the pairs an attacker who knows the share `known` of them thinks of the others: whether
/// these are joined, and the chance that it gives them. Nothing where it knows pairs of one kind
/// alone, or is asked about no others. Of the rows besides what a model answers, distances alone
/// are looked at.
pub(super) fn guesses(
    (answers, besides): (&[Answers], &[&[Answers]]),
    pairs: &[Pairs],
    known: f64,
    mut rng: SimRng,
) -> Option<(Vec<bool>, Vec<f64>)> {
    let of_client = |(client, pairs): (usize, &Pairs)| -> Vec<(Vec<f32>, bool)> {
        let of_pair = |((u, v), is_joined): &((u32, u32), bool)| {
            let of_answers = features(both(answers, client, (*u, *v)));
            let of_others = besides.iter().flat_map(|rows| distances(both(rows, client, (*u, *v))));
            let all = of_answers.into_iter().chain(of_others);
            (all.map(|x| x as f32).collect(), *is_joined)
        };
        pairs.iter().map(of_pair).collect()
    };
    let all: Vec<(Vec<f32>, bool)> = pairs.iter().enumerate().flat_map(of_client).collect();
    let mut order: Vec<u32> = (0..all.len() as u32).collect();
    shuffle(&mut rng, &mut order);
    let asked = order.split_off((known * all.len() as f64).round() as usize);
    let table = |of: &[u32]| Table::from_rows(of.iter().map(|i| &all[*i as usize].0[..]));
    let is_joined = |of: &[u32]| -> Vec<bool> { of.iter().map(|i| all[*i as usize].1).collect() };
    let labels: Vec<u32> = is_joined(&order).into_iter().map(u32::from).collect();
    if asked.is_empty() || !labels.contains(&0) || !labels.contains(&1) {
        return None;
    }
    let perceptron = PERCEPTRON.learn((&table(&order), &labels), None, 2, &mut rng);
    let scores = perceptron.scores(&table(&asked));
    let of_joined = scores.chunks_exact(2).map(|chances| chances[1]).collect();
    Some((is_joined(&asked), of_joined))
}

fn both(rows: &[Answers], client: usize, (u, v): (u32, u32)) -> [&[f64]; 2] {
    [u, v].map(|node| &rows[client][node as usize][..])
}

/// What is looked at of two rows of probabilities: four operators on each class, the distances, and
/// the same operators on their entropies.
fn features(rows: [&[f64]; 2]) -> Vec<f64> {
    let operators = |a: f64, b: f64| [(a + b) / 2.0, a * b, (a - b).abs(), (a - b) * (a - b)];
    let entropy = |row: &[f64]| -row.iter().map(|p| p * libm::log(p + LEAST)).sum::<f64>();
    let [a, b] = rows;
    let of_classes = a.iter().zip(b).flat_map(|(a, b)| operators(*a, *b));
    let of_entropies = operators(entropy(a), entropy(b));
    of_classes.chain(distances(rows)).chain(of_entropies).collect()
}

fn distances([a, b]: [&[f64]; 2]) -> [f64; DISTANCES.len()] {
    DISTANCES.map(|(_, distance)| distance(a, b))
}
