//! Exchanges: the moves that a gradient cannot see.
//!
//! Where the value is concave a conditional gradient stops at the first vertex from which no
//! direction leads down, although the far end of one that leads up may lie lower. The simplest such
//! moves take two flows, from `i` to `j` and from `k` to `l`, and let `δ` of both, the smaller, go
//! from `i` to `l` and from `k` to `j`: the change of the plan has rank one,
//! `Z = δ (e_i − e_k)(e_l − e_j)'`, and that of the value is known exactly in a few operations,
//!
//! `δ <gradient, Z / δ> − 2 α δ² (C_ii + C_kk − 2 C_ik) (D_jj + D_ll − 2 D_jl)`.
//!
//! For plans that are permutations this is the 2-opt of quadratic assignment (Koopmans and Beckmann
//! 1957).

use super::kernels::{Flow, add_rank_one};
use super::space::Space;

/// How costs and flows, which are in units, make up the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Of a flow times a cost.
    pub(super) linear: f64,
    /// Of two flows times two distances.
    pub(super) quadratic: f64,
    /// Of `C F D` in the costs.
    pub(super) weight: f64,
}

/// Makes all exchanges that lower the value by more than `least > 0`, in the order of `flows`,
/// until there is none; whether there was any. `cost`, of shape `(n, stride)`, is kept up to date.
pub(super) fn exchange(
    flows: &mut Vec<Flow>,
    cost: &mut [f64],
    a: &Space,
    b: &Space,
    scale: Scale,
    least: f64,
) -> bool {
    let mut has_moved = false;
    loop {
        let mut is_over = true;
        let mut first = 0;
        while first < flows.len() {
            match better(flows, first, cost, a, b, scale, least) {
                Some(second) => {
                    make(flows, first, second, cost, a, b, scale);
                    is_over = false;
                }
                None => first += 1,
            }
        }
        if is_over {
            return has_moved;
        }
        has_moved = true;
    }
}

/// The next flow after number `first` that this one had better be exchanged with.
fn better(flows: &[Flow], first: usize, cost: &[f64], a: &Space, b: &Space, scale: Scale, least: f64) -> Option<usize> {
    let stride = b.stride();
    let Flow { row, column, amount } = flows[first];
    let (i, j) = (row as usize, column as usize);
    let costs = &cost[i * stride..][..stride];
    let (from_i, from_j) = (a.row(i), b.row(j));
    let (c_ii, d_jj, cost_ij) = (from_i[i], from_j[j], costs[j]);
    let found = flows[first + 1..].iter().position(|other| {
        let (k, l) = (other.row as usize, other.column as usize);
        let pushed = if other.amount < amount { other.amount } else { amount };
        let gain = costs[l] + cost[k * stride + j] - cost_ij - cost[k * stride + l];
        let c = c_ii + a.diagonal[k] - 2.0 * from_i[k];
        let d = d_jj + b.diagonal[l] - 2.0 * from_j[l];
        pushed * (scale.linear * gain - scale.quadratic * pushed * c * d) < -least
    });
    found.map(|found| first + 1 + found)
}

/// Exchanges flows number `first < second`.
fn make(flows: &mut Vec<Flow>, first: usize, second: usize, cost: &mut [f64], a: &Space, b: &Space, scale: Scale) {
    let (one, two) = (flows[first], flows[second]);
    let pushed = one.amount.min(two.amount);
    let (i, j, k, l) = (one.row, one.column, two.row, two.column);
    add_rank_one(
        cost,
        -scale.weight * pushed,
        (a.row(i as usize), a.row(k as usize)),
        (b.padded_row(l as usize), b.padded_row(j as usize)),
    );
    flows[first].amount -= pushed;
    flows[second].amount -= pushed;
    for (row, column) in [(i, l), (k, j)] {
        match flows.iter_mut().find(|flow| (flow.row, flow.column) == (row, column)) {
            Some(flow) => flow.amount += pushed,
            None => flows.push(Flow {
                row,
                column,
                amount: pushed,
            }),
        }
    }
    // The second first: it is the later one.
    for emptied in [second, first] {
        if flows[emptied].amount == 0.0 {
            flows.swap_remove(emptied);
        }
    }
}
