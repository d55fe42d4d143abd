//! How much a client counts each neighbour's model, and how fast that brings all models together.

use folkmoot_draws::{Purpose, Streams, normal};
use folkmoot_graphs::Graph;
use folkmoot_parts::component;

/// Mixing weights of a client's own model and its neighbours'.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// `1 / (1 + max(d_i, d_j))` for a neighbour and the rest for the own model, where `d` is the
    /// degree (Metropolis-Hastings; Xiao, Boyd & Lall 2005). Symmetric and doubly stochastic: an
    /// exchange preserves the mean of all models.
    #[default]
    Metropolis,
    /// `1 / (1 + d_i)` for the own model and each neighbour. With unequal degrees, high-degree
    /// clients count more, and the mean of all models shifts.
    Uniform,
}

impl Weights {
    /// How much client `i` counts the model of its neighbour `j`.
    pub fn of(self, graph: &Graph, i: u32, j: u32) -> f64 {
        let degree = match self {
            Weights::Metropolis => graph.degree(i).max(graph.degree(j)),
            Weights::Uniform => graph.degree(i),
        };
        1.0 / (1.0 + degree as f64)
    }

    /// `x + share (W x − x)` for the mixing matrix of a graph, one number of each client.
    fn mix(self, share: f64, graph: &Graph, x: &[f64]) -> Vec<f64> {
        let row = |i: u32| {
            let own = x[i as usize];
            let moved = |j: &u32| share * self.of(graph, i, *j) * (x[*j as usize] - own);
            own + graph.neighbours(i).iter().map(moved).sum::<f64>()
        };
        (0..x.len() as u32).map(row).collect()
    }

    /// The same for the transpose of the matrix.
    fn mix_back(self, share: f64, graph: &Graph, x: &[f64]) -> Vec<f64> {
        let mut sums = x.to_vec();
        for (i, j) in graph.arcs() {
            let moved = share * self.of(graph, i, j) * x[i as usize];
            sums[j as usize] += moved;
            sums[i as usize] -= moved;
        }
        sums
    }
}

/// Makes one model of a client's own and of those that have come: `own` counts for itself and for
/// every neighbour whose model is missing.
///
/// `came` has the id, the weight and the model of each neighbour, ascending by id; `me` is the
/// client's own id. Sums are in double precision and in the order of ids.
pub fn mixed(me: u32, own: &[f32], came: &[(u32, f64, &[f32])]) -> Vec<f32> {
    let kept = 1.0 - came.iter().map(|(_, weight, _)| weight).sum::<f64>();
    let at = came.partition_point(|(id, ..)| *id < me);
    let (before, after) = came.split_at(at);
    let mut sums = vec![0.0; own.len()];
    let mut add = |weight: f64, model: &[f32]| {
        for (sum, x) in sums.iter_mut().zip(model) {
            *sum += weight * f64::from(*x);
        }
    };
    before.iter().for_each(|(_, weight, model)| add(*weight, model));
    add(kept, own);
    after.iter().for_each(|(_, weight, model)| add(*weight, model));
    sums.into_iter().map(|sum| sum as f32).collect()
}

/// A client's own model, drawn towards those that have come by a share of the way:
/// `own + share sum_j W_ij (came_j − said)`, where `said` is what its neighbours have made of its
/// own. What a codec has changed of a model moves its sender and its receivers by opposite amounts,
/// so that the mean of all models stays where weights are doubly stochastic and nothing is lost.
///
/// `came` is as for [`mixed`]. Sums are in double precision and in the order of ids.
pub fn drawn_near(own: &[f32], said: &[f32], came: &[(u32, f64, &[f32])], share: f64) -> Vec<f32> {
    let mut sums: Vec<f64> = own.iter().map(|x| f64::from(*x)).collect();
    for (_, weight, model) in came {
        for ((sum, x), own) in sums.iter_mut().zip(*model).zip(said) {
            *sum += share * weight * (f64::from(*x) - f64::from(*own));
        }
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

/// Steps at most in the search for the slowest mode.
const MAX_STEPS: u32 = 20_000;

/// By which factor an exchange shrinks the models' distance from their mean at least: the root of
/// the largest eigenvalue of the mean of `Wᵀ W` over the graphs of the rounds, on all that sums to
/// 0. For one graph and [`Weights::Metropolis`] it is the second largest absolute eigenvalue of `W`
/// (Xiao & Boyd 2004, section 2).
///
/// `share` is how much of the way to its mean a model goes, so that the matrix is
/// `(1 − share) I + share W`.
///
/// 0 for a single client; above 1 where weights that are not doubly stochastic move the mean. By
/// power iteration, whose value comes from below, until a step changes it by less than 1e-12 of
/// itself or 20 000 steps are done.
///
/// # Complexity
/// O(links) for each step.
pub fn contraction(weights: Weights, share: f64, graphs: &[Graph]) -> f64 {
    let n = graphs.first().map_or(0, Graph::n_nodes);
    if n < 2 {
        return 0.0;
    }
    let rng = &mut Streams::new(0).global(Purpose(*b"go-modes"));
    let mut x: Vec<f64> = (0..n).map(|_| normal(rng)).collect();
    let mut factor = 0.0;
    for _ in 0..MAX_STEPS {
        centre(&mut x);
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length == 0.0 {
            return 0.0;
        }
        x.iter_mut().for_each(|x| *x /= length);
        let mut sums = vec![0.0; n];
        for graph in graphs {
            let mut moved = weights.mix(share, graph, &x);
            centre(&mut moved);
            for (sum, back) in sums.iter_mut().zip(weights.mix_back(share, graph, &moved)) {
                *sum += back / graphs.len() as f64;
            }
        }
        let next = x.iter().zip(&sums).map(|(x, sum)| x * sum).sum::<f64>().max(0.0).sqrt();
        x = sums;
        let is_done = (next - factor).abs() <= 1e-12 * next;
        factor = next;
        if is_done {
            break;
        }
    }
    // What rounding leaves of nothing is nothing.
    if factor < 1e-7 { 0.0 } else { factor }
}

/// Takes the mean away.
fn centre(x: &mut [f64]) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter_mut().for_each(|x| *x -= mean);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn graph(n: u32, links: &[(u32, u32)]) -> Graph {
        Graph::from_edges(n, links, false).unwrap()
    }

    fn ring(n: u32) -> Graph {
        let links: Vec<(u32, u32)> = (0..n).map(|u| (u, (u + 1) % n)).collect();
        graph(n, &links)
    }

    /// The weights of a path of three worked by hand: the ends keep 2/3, the middle 1/3.
    #[test]
    fn metropolis_weights_of_a_path_are_those_worked_by_hand() {
        let path = graph(3, &[(0, 1), (1, 2)]);
        let rows = |weights: Weights| -> Vec<Vec<f64>> {
            let unit = |j: usize| (0..3).map(|i| f64::from(i == j)).collect::<Vec<f64>>();
            (0..3).map(|j| weights.mix(1.0, &path, &unit(j))).collect()
        };
        let near = |a: &[Vec<f64>], b: [[f64; 3]; 3]| {
            a.iter()
                .flatten()
                .zip(b.as_flattened())
                .all(|(a, b)| (a - b).abs() < 1e-15)
        };
        let third = 1.0 / 3.0;
        let metropolis = [
            [2.0 * third, third, 0.0],
            [third, third, third],
            [0.0, third, 2.0 * third],
        ];
        assert!(near(&rows(Weights::Metropolis), metropolis));
        // Columns: what each client's model counts at the others.
        let uniform = [[0.5, third, 0.0], [0.5, third, 0.5], [0.0, third, 0.5]];
        assert!(near(&rows(Weights::Uniform), uniform));
    }

    #[test]
    fn what_is_mixed_back_is_the_transpose() {
        let star = graph(5, &[(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)]);
        let (x, y) = ([1.0, -2.0, 0.5, 3.0, -1.5], [0.25, 4.0, -1.0, 2.0, 1.0]);
        for (weights, share) in [
            (Weights::Metropolis, 1.0),
            (Weights::Uniform, 1.0),
            (Weights::Uniform, 0.25),
        ] {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let there = weights.mix(share, &star, &x);
            let back = weights.mix_back(share, &star, &y);
            let (one, other) = (dot(&y, &there), dot(&back, &x));
            assert!((one - other).abs() < 1e-14, "{weights:?}: {one} and {other}");
        }
    }

    /// A ring's eigenvalues are known: `1/3 + 2/3 cos(2 pi k / n)`.
    #[test]
    fn the_slowest_mode_of_a_ring_is_its_second_eigenvalue() {
        for n in [4, 10, 51] {
            let expected = 1.0 / 3.0 + 2.0 / 3.0 * libm::cos(TAU / f64::from(n));
            let found = contraction(Weights::Metropolis, 1.0, &[ring(n)]);
            assert!((found - expected).abs() < 1e-9, "{n}: {found} and {expected}");
            let lazy = contraction(Weights::Metropolis, 0.25, &[ring(n)]);
            assert!((lazy - (0.75 + 0.25 * expected)).abs() < 1e-9, "{n}: {lazy}");
        }
        let complete = graph(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(contraction(Weights::Uniform, 1.0, &[complete]), 0.0);
        assert_eq!(contraction(Weights::Metropolis, 1.0, &[graph(1, &[])]), 0.0);
        // Two that never meet never agree.
        assert!((contraction(Weights::Metropolis, 1.0, &[graph(2, &[])]) - 1.0).abs() < 1e-9);
    }

    /// Without a codec, and all of the way, it is the mean.
    #[test]
    fn who_is_drawn_all_of_the_way_reaches_the_mean() {
        let (own, said) = ([1.0_f32, 2.0], [1.5_f32, 2.0]);
        let came: [(u32, f64, &[f32]); 2] = [(1, 0.25, &[4.0, -1.0]), (2, 0.25, &[0.5, 3.0])];
        assert_eq!(drawn_near(&own, &own, &came, 1.0), mixed(0, &own, &came));
        // 1 + 1/2 (1/4 (4 − 1.5) + 1/4 (0.5 − 1.5)), and 2 + 1/2 (1/4 (−3) + 1/4 (1)).
        assert_eq!(drawn_near(&own, &said, &came, 0.5), [1.1875, 1.75]);
    }

    #[test]
    fn what_is_missing_counts_as_ones_own() {
        let (own, other) = ([1.0_f32, 2.0], [4.0_f32, -1.0]);
        assert_eq!(mixed(3, &own, &[]), own);
        assert_eq!(mixed(3, &own, &[(1, 0.25, &other)]), [1.75, 1.25]);
        assert_eq!(mixed(0, &own, &[(1, 0.25, &other), (2, 0.25, &other)]), [2.5, 0.5]);
    }
}
