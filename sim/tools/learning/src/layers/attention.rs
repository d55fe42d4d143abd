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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attended {
    /// `(n_queries, d)`
    pub output: Var,
    /// The weights, head after head: `(n_heads · n_queries, n_keys)`.
    pub weights: Var,
}

impl MultiHeadAttention {
    /// Adds `name.query`, `name.key` and `name.value`, by Glorot as one matrix of shape `(d, 3 d)`
    /// would be, and `name.output`, uniform in ±`1 / sqrt(d)`; biases are 0.
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

    /// `query` has shape `(n_queries, d)`; `memory`, keys and values both, has shape `(n_keys, d)`.
    /// Keys that `ignored` marks are padding and get no weight.
    pub fn forward(&self, tape: &mut Tape<'_>, query: Var, memory: Var, ignored: Option<&[bool]>) -> Attended {
        let query = self.query.forward(tape, query);
        // Weights that are all 0 have no sum to take the values' bias with.
        let asked = match ignored.is_none() && tape.shape(memory).0 > 0 {
            true => self.ask(tape, query),
            false => Asked::Keys(query),
        };
        let (mixed, weights) = self.mix(tape, asked, memory, ignored);
        Attended {
            output: self.put_out(tape, mixed, asked),
            weights,
        }
    }

    /// The same queries over several memories, each with a key at least: the outputs below each
    /// other, `(n · n_queries, d)`.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn forward_over(&self, tape: &mut Tape<'_>, query: Var, memories: &[Var]) -> Var {
        let query = self.query.forward(tape, query);
        let asked = self.ask(tape, query);
        let mixed: Vec<Var> = memories
            .iter()
            .map(|memory| self.mix(tape, asked, *memory, None).0)
            .collect();
        let mixed = tape.concat_rows(&mixed);
        self.put_out(tape, mixed, asked)
    }

    /// As many queries over each of several memories, which have a key at least: `queries` has
    /// shape `(n · n_queries, d)`, those of the first memory first, as has the result.
    ///
    /// # Panics
    /// If there is no memory, or their number does not divide that of queries.
    pub fn forward_each(&self, tape: &mut Tape<'_>, queries: Var, memories: &[Var]) -> Var {
        let n = tape.shape(queries).0 / memories.len();
        assert_eq!(
            tape.shape(queries).0,
            n * memories.len(),
            "memories share the queries equally"
        );
        let queries = self.query.forward(tape, queries);
        let mut last = Asked::Keys(queries);
        let mixed: Vec<Var> = memories
            .iter()
            .enumerate()
            .map(|(i, memory)| {
                let query = tape.slice_rows(queries, i * n, n);
                last = self.ask(tape, query);
                self.mix(tape, last, *memory, None).0
            })
            .collect();
        let mixed = tape.concat_rows(&mixed);
        self.put_out(tape, mixed, last)
    }

    /// Few queries are brought to the memory, many have it brought to them.
    ///
    /// A score is `(q W_q) · (h W_k + b_k) = (q W_q W_kᵀ) · h +` a number that all keys share,
    /// which a softmax does not see; and a mixture of values is `(Σ w_j h_j) W_v + b_v`. So the
    /// memory meets as many rows as heads have queries, not two matrices of `d` columns.
    fn ask(&self, tape: &mut Tape<'_>, query: Var) -> Asked {
        let (n_queries, d) = tape.shape(query);
        match self.n_heads * n_queries <= d {
            true => Asked::Memory(tape.attention_scores(query, self.key.weight.var(), self.n_heads)),
            false => Asked::Keys(query),
        }
    }

    /// The heads' mixtures side by side, and the weights.
    fn mix(&self, tape: &mut Tape<'_>, asked: Asked, memory: Var, ignored: Option<&[bool]>) -> (Var, Var) {
        match asked {
            Asked::Keys(query) => {
                let key = self.key.forward(tape, memory);
                let value = self.value.forward(tape, memory);
                let scores = tape.attention_scores(query, key, self.n_heads);
                let weights = tape.softmax(scores, ignored);
                (tape.attention_mix(weights, value, self.n_heads), weights)
            }
            Asked::Memory(asked) => {
                let scores = tape.matmul_transposed(asked, memory);
                let weights = tape.softmax(scores, ignored);
                let read = tape.matmul(weights, memory);
                (tape.attention_mix(read, self.value.weight.var(), self.n_heads), weights)
            }
        }
    }

    fn put_out(&self, tape: &mut Tape<'_>, mixed: Var, asked: Asked) -> Var {
        let mixed = match (asked, self.value.bias) {
            (Asked::Memory(_), Some(bias)) => tape.add_row(mixed, bias.var(), false),
            _ => mixed,
        };
        self.output.forward(tape, mixed)
    }
}

#[derive(Clone, Copy)]
enum Asked {
    /// To be compared to keys: `(n_queries, d)`.
    Keys(Var),
    /// To be compared to the memory itself: `(n_heads · n_queries, d)`, scaled.
    Memory(Var),
}
