//! What a rule has besides the updates of a round.

use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::ClientId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a rule keeps from round to round, in checkpoints too; empty at first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleMemory {
    /// Numbers of the server.
    pub numbers: Vec<f64>,
    /// Numbers about single clients, by their ids.
    pub clients: BTreeMap<u32, Vec<f32>>,
}

/// What a rule has besides the updates of a round.
pub struct RuleContext<'a> {
    pub memory: &'a mut RuleMemory,
    /// The round's stream for the rule.
    pub rng: SimRng,
    /// The change that the server's own training makes to the model: as many numbers as learn;
    /// `None` for a rule without [`Rule::trusted_items`](super::Rule::trusted_items).
    pub trusted: Option<Vec<f64>>,
    pub(crate) excluded: Vec<ClientId>,
}

impl<'a> RuleContext<'a> {
    /// That of a round without a training of the server.
    pub fn new(memory: &'a mut RuleMemory, rng: SimRng) -> Self {
        RuleContext {
            memory,
            rng,
            trusted: None,
            excluded: Vec::new(),
        }
    }

    /// States that an update has no part in the aggregate since its client seems malicious.
    pub fn exclude(&mut self, client: ClientId) {
        self.excluded.push(client);
    }
}

/// The inner product, in ascending order.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The cosine of the angle between two vectors; 0 where one has no length.
pub(super) fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let lengths = norm(a) * norm(b);
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

/// The median, of an even number the mean of the two in the middle; 0 of nothing.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => f64::midpoint(values[(n - 1) / 2], values[n / 2]),
    }
}

/// `Σ w x / Σ w` of vectors of one length; 0 everywhere without weight.
pub(super) fn weighted_mean(vectors: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
    for (vector, weight) in vectors.iter().zip(weights) {
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * x);
    }
    let total: f64 = weights.iter().sum();
    let share = if total > 0.0 { 1.0 / total } else { 0.0 };
    sum.iter_mut().for_each(|x| *x *= share);
    sum
}
