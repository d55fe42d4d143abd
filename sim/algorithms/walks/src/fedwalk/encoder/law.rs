//! The law of an encoder that reads scores, drawn from without touching all pairs.
//!
//! `P[Enc(u) = v]` is proportional to `exp(scale × score(u, v))`. A draw does not touch all |V|
//! candidates: those with `scale × |score| > 64 ln 2 + ln |V|` have together less than `2^-64` of
//! the weight of `u` itself and are left out, so the law drawn from is within `2^-64` of the full
//! one in total variation. What is left, mostly `u` alone, is kept as a table per vertex.
//!
//! Where scores are scaled down so far that all candidates count, candidates are drawn uniformly
//! and kept with probability `exp(scale × score)` until one is: the same law, exactly, and no
//! table.

use super::super::scores::PairScores;
use super::Scale;
use folkmoot_draws::{SimRng, index, unit};
use rayon::prelude::*;
use std::sync::OnceLock;

/// How far scores may reach, scaled, for uniform proposals: one in `e^12` is kept at worst, and in
/// practice most are.
const MAX_REJECTION: f64 = 12.0;

/// The law of the encoder on one tree.
#[derive(Debug)]
pub(in super::super) struct Law {
    /// The factor before the score.
    scale: f64,
    /// Whether candidates are proposed uniformly, without tables.
    by_rejection: bool,
    tables: Vec<OnceLock<Table>>,
}

/// What one vertex may become.
#[derive(Debug)]
struct Table {
    candidates: Box<[u32]>,
    /// The sums of the weights `exp(scale × score)` up to each candidate.
    cumulative: Box<[f64]>,
}

/// What the law really costs, measured over all pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Audit {
    /// The largest absolute score of any pair: the sensitivity that a calibrated mechanism divides
    /// by.
    pub sensitivity: f64,
    /// The largest log ratio of the probabilities of one output under two inputs.
    pub worst_log_ratio: f64,
    /// The mean over vertices of the probability that a vertex stays what it is.
    pub keep_probability: f64,
}

impl Law {
    /// The law with that factor.
    ///
    /// O(n²) time where the factor follows from the largest score.
    pub(in super::super) fn new(scale: &Scale, scores: PairScores<'_>) -> Self {
        let (scale, by_rejection) = match scale {
            Scale::Fixed(scale) => (*scale, false),
            Scale::OfLargest(scale) => {
                let largest = scores.largest();
                // Without any difference between vertices every candidate is as good as another.
                let scale = if largest > 0.0 { scale(largest) } else { 0.0 };
                (scale, scale * largest <= MAX_REJECTION)
            }
        };
        Law {
            scale,
            by_rejection,
            tables: (0..scores.n()).map(|_| OnceLock::new()).collect(),
        }
    }

    /// A draw for vertex `u`: one `u64` from a table of more than one candidate, none from others;
    /// two or more for each proposal.
    pub(in super::super) fn draw(&self, u: u32, scores: PairScores<'_>, rng: &mut SimRng) -> u32 {
        if self.by_rejection {
            loop {
                let v = index(rng, scores.n()) as u32;
                if unit(rng) < libm::exp(self.scale * scores.score(u, v)) {
                    return v;
                }
            }
        }
        let Some(table) = self.table(u, scores) else { return u };
        match &*table.candidates {
            [only] => *only,
            candidates => {
                let at = unit(rng) * table.total();
                let i = table.cumulative.partition_point(|&sum| sum <= at);
                candidates[i.min(candidates.len() - 1)]
            }
        }
    }

    fn table(&self, u: u32, scores: PairScores<'_>) -> Option<&Table> {
        let slot = self.tables.get(u as usize)?;
        Some(slot.get_or_init(|| {
            let tail = 64.0 * std::f64::consts::LN_2 + libm::log(scores.n() as f64);
            let found = scores.within(u, tail / self.scale);
            let mut sum = 0.0;
            let weight = |&(_, score): &(u32, f64)| {
                sum += libm::exp(self.scale * score);
                sum
            };
            Table {
                cumulative: found.iter().map(weight).collect(),
                candidates: found.iter().map(|&(v, _)| v).collect(),
            }
        }))
    }

    /// Measures the law over all pairs; O(n²).
    pub(in super::super) fn audit(&self, scores: PairScores<'_>) -> Audit {
        let n = scores.n() as u32;
        let log_sums: Vec<f64> = (0..n)
            .into_par_iter()
            .map(|u| {
                let full = || {
                    let mut sum = 1.0;
                    scores.for_each_other(u, |_, score| sum += libm::exp(self.scale * score));
                    sum
                };
                let sum = if self.by_rejection {
                    full()
                } else {
                    self.table(u, scores).map_or(1.0, Table::total)
                };
                libm::log(sum)
            })
            .collect();
        // By symmetry of the scores, the log probabilities of one output under all inputs.
        let spread = |out: u32| {
            let of_itself = -log_sums[out as usize];
            let (mut least, mut most) = (of_itself, of_itself);
            scores.for_each_other(out, |u, score| {
                let log = self.scale * score - log_sums[u as usize];
                least = least.min(log);
                most = most.max(log);
            });
            most - least
        };
        let keep = log_sums.iter().fold(0.0, |sum, log| sum + libm::exp(-log));
        Audit {
            sensitivity: scores.largest(),
            worst_log_ratio: (0..n).into_par_iter().map(spread).reduce(|| 0.0, f64::max),
            keep_probability: keep / f64::from(n.max(1)),
        }
    }
}

impl Table {
    fn total(&self) -> f64 {
        self.cumulative.last().copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests;
