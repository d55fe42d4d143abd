//! Multi-head attention.
//!
//! A. Vaswani et al. Attention Is All You Need. NIPS 2017, section 3.2.2.

use super::Linear;
use crate::{Init, Layout, Tape, Var};

/// Attention of queries over keys and values, with projections on the way in and out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultiHeadAttention {
    /// What queries go through, `(d, d)` as all four.
    pub query: Linear,
    /// What keys go through.
    pub key: Linear,
    /// What values go through.
    pub value: Linear,
    /// What the heads side by side go through.
    pub output: Linear,
    /// How many heads share the `d` columns.
    pub n_heads: usize,
}

/// What attention gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attended {
    /// `(n_queries, d)`
    pub output: Var,
    /// The weights, head after head: `(n_heads · n_queries, n_keys)`.
    pub weights: Var,
}

impl MultiHeadAttention {
    /// Adds `name.query`, `name.key` and `name.value`, by Glorot as one matrix of shape `(d, 3 d)` would be, and `name.output`,
    /// uniform in ±`1 / sqrt(d)`; biases are 0.
    ///
    /// # Panics
    /// If `d` is no multiple of `n_heads`.
    pub fn new(layout: &mut Layout, name: &str, d: usize, n_heads: usize) -> MultiHeadAttention {
        assert!(
            n_heads > 0 && d.is_multiple_of(n_heads),
            "heads share the columns equally"
        );
        let joint = Init::Uniform((6.0 / (4 * d) as f32).sqrt());
        let mut linear = |part: &str, init| Linear {
            weight: layout.weight(format!("{name}.{part}.weight"), d, d, init),
            bias: Some(layout.weight(format!("{name}.{part}.bias"), 1, d, Init::Zeros)),
        };
        MultiHeadAttention {
            query: linear("query", joint),
            key: linear("key", joint),
            value: linear("value", joint),
            output: linear("output", Init::FanIn(d)),
            n_heads,
        }
    }

    /// `query` has shape `(n_queries, d)`; `memory`, keys and values both, has shape `(n_keys, d)`. Keys that `ignored` marks are
    /// padding and get no weight.
    pub fn forward(&self, tape: &mut Tape<'_>, query: Var, memory: Var, ignored: Option<&[bool]>) -> Attended {
        let query = self.query.forward(tape, query);
        let key = self.key.forward(tape, memory);
        let value = self.value.forward(tape, memory);
        let scores = tape.attention_scores(query, key, self.n_heads);
        let weights = tape.softmax(scores, ignored);
        let mixed = tape.attention_mix(weights, value, self.n_heads);
        Attended {
            output: self.output.forward(tape, mixed),
            weights,
        }
    }
}
