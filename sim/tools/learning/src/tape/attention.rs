//! The two products of scaled dot-product attention, head by head (A. Vaswani et al. 2017, section
//! 3.2).
//!
//! Head `h` of `n_heads` has the `h`-th of as many equal blocks of columns. Weights stand head
//! after head: row `h · n_queries + i` holds those of query `i`.

use super::backward::Back;
use super::op::Op;
use super::products::product_by_rows;
use super::{Tape, Var};
use crate::kernels::product::{Rows, RowsMut, Shape, product, product_transposed};

/// What the kernels need of one head.
#[derive(Clone, Copy)]
struct Head {
    n_queries: usize,
    n_keys: usize,
    /// Columns of a query, key or value, and how many of them are the head's, from where on.
    columns: usize,
    width: usize,
    from: usize,
    /// Where the head's weights begin.
    at: usize,
}

fn heads(n_queries: usize, n_keys: usize, columns: usize, n_heads: usize) -> impl Iterator<Item = Head> {
    (0..n_heads).map(move |h| Head {
        n_queries,
        n_keys,
        columns,
        width: columns / n_heads,
        from: h * (columns / n_heads),
        at: h * n_queries * n_keys,
    })
}

impl Head {
    fn block<'a>(&self, data: &'a [f32]) -> Rows<'a> {
        Rows {
            data: data.get(self.from..).unwrap_or_default(),
            stride: self.columns,
        }
    }

    fn block_mut<'a>(&self, data: &'a mut [f32], add: bool) -> RowsMut<'a> {
        RowsMut {
            data: data.get_mut(self.from..).unwrap_or_default(),
            stride: self.columns,
            add,
        }
    }

    fn weights<'a>(&self, data: &'a [f32]) -> Rows<'a> {
        Rows {
            data: &data[self.at..][..self.n_queries * self.n_keys],
            stride: self.n_keys,
        }
    }

    fn weights_mut<'a>(&self, data: &'a mut [f32], add: bool) -> RowsMut<'a> {
        RowsMut {
            data: &mut data[self.at..][..self.n_queries * self.n_keys],
            stride: self.n_keys,
            add,
        }
    }
}

impl Tape<'_> {
    /// `q_i · k_j / sqrt(width)` for each head: shapes `(n_queries, d)` and `(n_keys, d)` give
    /// `(n_heads · n_queries, n_keys)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn attention_scores(&mut self, query: Var, key: Var, n_heads: usize) -> Var {
        let ((n_queries, d), (n_keys, d_key)) = (self.shape(query), self.shape(key));
        assert_eq!(d, d_key, "queries and keys have one length");
        assert!(
            n_heads > 0 && d.is_multiple_of(n_heads),
            "heads share the columns equally"
        );
        let needs = self.needs_gradient(query) || self.needs_gradient(key);
        let op = Op::AttentionScores {
            query,
            key,
            n_heads: n_heads as u32,
        };
        let var = self.push(op, n_heads * n_queries, n_keys, needs);
        let to = self.open(var);
        let (query, key) = (to.operand(query), to.operand(key));
        for head in heads(n_queries, n_keys, d, n_heads) {
            let shape = Shape {
                m: n_queries,
                k: head.width,
                n: n_keys,
            };
            let weights = head.weights_mut(to.y, false);
            product_by_rows(shape, head.block(query), head.block(key), weights, to.scratch);
        }
        let scale = scale(d, n_heads);
        to.y.iter_mut().for_each(|y| *y *= scale);
        var
    }

    /// `Σ_j w_ij v_j` for each head, side by side: shapes `(n_heads · n_queries, n_keys)` and
    /// `(n_keys, d)` give `(n_queries, d)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn attention_mix(&mut self, weights: Var, value: Var, n_heads: usize) -> Var {
        let ((rows, n_keys), (n_values, d)) = (self.shape(weights), self.shape(value));
        assert_eq!(n_keys, n_values, "each key has a value");
        assert!(
            n_heads > 0 && d.is_multiple_of(n_heads) && rows.is_multiple_of(n_heads),
            "heads share equally"
        );
        let n_queries = rows / n_heads;
        let needs = self.needs_gradient(weights) || self.needs_gradient(value);
        let op = Op::AttentionMix {
            weights,
            value,
            n_heads: n_heads as u32,
        };
        let var = self.push(op, n_queries, d, needs);
        let to = self.open(var);
        let (weights, value) = (to.operand(weights), to.operand(value));
        for head in heads(n_queries, n_keys, d, n_heads) {
            let shape = Shape {
                m: n_queries,
                k: n_keys,
                n: head.width,
            };
            product(
                shape,
                head.weights(weights),
                head.block(value),
                head.block_mut(to.y, false),
            );
        }
        var
    }
}

fn scale(d: usize, n_heads: usize) -> f32 {
    1.0 / ((d / n_heads) as f32).sqrt()
}

pub(super) fn scores_back(back: &mut Back<'_, '_>, query: Var, key: Var, n_heads: u32, gy: &mut [f32]) {
    let ((n_queries, d), (n_keys, _)) = (back.shape(query), back.shape(key));
    let (query_value, key_value) = (back.value(query), back.value(key));
    let scale = scale(d, n_heads as usize);
    gy.iter_mut().for_each(|gy| *gy *= scale);
    for head in heads(n_queries, n_keys, d, n_heads as usize) {
        if let Some(gradient) = back.gradient(query) {
            let shape = Shape {
                m: n_queries,
                k: n_keys,
                n: head.width,
            };
            product(
                shape,
                head.weights(gy),
                head.block(key_value),
                head.block_mut(gradient, true),
            );
        }
        if let Some(gradient) = back.gradient(key) {
            let shape = Shape {
                m: n_keys,
                k: n_queries,
                n: head.width,
            };
            product_transposed(
                shape,
                head.weights(gy),
                head.block(query_value),
                head.block_mut(gradient, true),
            );
        }
    }
}

pub(super) fn mix_back(back: &mut Back<'_, '_>, weights: Var, value: Var, n_heads: u32, gy: &[f32]) {
    let ((n_keys, d), n_queries) = (back.shape(value), back.result_shape().0);
    let (weights_value, value_value) = (back.value(weights), back.value(value));
    let mut scratch = std::mem::take(back.scratch);
    for head in heads(n_queries, n_keys, d, n_heads as usize) {
        if let Some(gradient) = back.gradient(weights) {
            let shape = Shape {
                m: n_queries,
                k: head.width,
                n: n_keys,
            };
            let weights = head.weights_mut(gradient, true);
            product_by_rows(shape, head.block(gy), head.block(value_value), weights, &mut scratch);
        }
        if let Some(gradient) = back.gradient(value) {
            let shape = Shape {
                m: n_keys,
                k: n_queries,
                n: head.width,
            };
            product_transposed(
                shape,
                head.weights(weights_value),
                head.block(gy),
                head.block_mut(gradient, true),
            );
        }
    }
    *back.scratch = scratch;
}
