//! Transport against plain references and its own promises.

use super::*;
use proptest::prelude::*;

/// The least cost of moving integer masses, by successive shortest paths (Bellman and Ford) on the
/// residual graph.
fn reference(supply: &[u32], demand: &[u32], cost: &[f64]) -> f64 {
    let (n, m) = (supply.len(), demand.len());
    let (mut left, mut wanted) = (supply.to_vec(), demand.to_vec());
    let mut flow = vec![0u32; n * m];
    let mut total = 0.0;
    while left.iter().any(|&mass| mass > 0) {
        // Distances of rows and columns from any row with mass left.
        let mut distance = vec![f64::INFINITY; n + m];
        let mut before = vec![usize::MAX; n + m];
        for i in (0..n).filter(|&i| left[i] > 0) {
            distance[i] = 0.0;
        }
        for _ in 0..n + m {
            for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i, j))) {
                let c = cost[i * m + j];
                if distance[i] + c < distance[n + j] - 1e-12 {
                    (distance[n + j], before[n + j]) = (distance[i] + c, i);
                }
                if flow[i * m + j] > 0 && distance[n + j] - c < distance[i] - 1e-12 {
                    (distance[i], before[i]) = (distance[n + j] - c, n + j);
                }
            }
        }
        let sinks = (n..n + m).filter(|&j| wanted[j - n] > 0);
        let end = sinks.min_by(|&i, &j| distance[i].total_cmp(&distance[j])).unwrap();
        let mut at = end;
        while before[at] != usize::MAX {
            let previous = before[at];
            if at >= n {
                flow[previous * m + at - n] += 1;
                total += cost[previous * m + at - n];
            } else {
                flow[at * m + previous - n] -= 1;
                total -= cost[at * m + previous - n];
            }
            at = previous;
        }
        left[at] -= 1;
        wanted[end - n] -= 1;
    }
    total
}

fn weights(masses: &[u32]) -> Vec<f64> {
    masses.iter().map(|&mass| f64::from(mass)).collect()
}

fn assert_marginals(plan: &Plan, a: &[f64], b: &[f64], bound: f64) {
    assert!(plan.values().iter().all(|&value| value >= 0.0));
    for (got, wanted) in [(plan.row_sums(), a), (plan.column_sums(), b)] {
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((got - wanted).abs() <= bound, "{got} is not {wanted}");
        }
    }
}

/// Two integer partitions of the same number, and costs on a coarse grid, so that ties are the
/// rule.
fn problem() -> impl Strategy<Value = (Vec<u32>, Vec<u32>, Vec<f64>)> {
    (1usize..7, 1usize..7).prop_flat_map(|(n, m)| {
        let side = |len: usize| prop::collection::vec(0u32..4, len);
        let costs = prop::collection::vec((-6i32..7).prop_map(|c| f64::from(c) / 2.0), n * m);
        (side(n), side(m), costs).prop_map(|(mut a, mut b, costs)| {
            let (sum_a, sum_b): (u32, u32) = (a.iter().sum(), b.iter().sum());
            let sum = sum_a.max(sum_b).max(1);
            a[0] += sum - sum_a;
            b[0] += sum - sum_b;
            (a, b, costs)
        })
    })
}

proptest! {
    #[test]
    fn an_exact_plan_costs_as_little_as_the_reference((a, b, cost) in problem()) {
        let plan = exact(&weights(&a), &weights(&b), &cost).unwrap();
        assert_marginals(&plan, &weights(&a), &weights(&b), 1e-14);
        let wanted = reference(&a, &b, &cost);
        prop_assert!((plan.cost(&cost) - wanted).abs() < 1e-10, "{} is not {wanted}", plan.cost(&cost));
        let n_positive = plan.values().iter().filter(|&&value| value > 0.0).count();
        prop_assert!(n_positive < a.len() + b.len());
    }

    #[test]
    fn an_assignment_is_a_permutation_and_the_best_of_all(
        (n, cost) in (1usize..7).prop_flat_map(|n| (Just(n), prop::collection::vec(0u32..5, n * n))),
    ) {
        let cost: Vec<f64> = cost.into_iter().map(f64::from).collect();
        let weight = vec![1.0 / n as f64; n];
        let plan = exact(&weight, &weight, &cost).unwrap();
        for (i, weight) in weight.iter().enumerate() {
            let row: Vec<f64> = plan.row(i).iter().copied().filter(|&value| value != 0.0).collect();
            prop_assert_eq!(row.len(), 1);
            prop_assert!((row[0] - weight).abs() < 1e-16);
        }
        let mut best = f64::INFINITY;
        permutations(n, &mut |order| {
            best = best.min(order.iter().enumerate().map(|(i, &j)| cost[i * n + j]).sum());
        });
        prop_assert!((plan.cost(&cost) * n as f64 - best).abs() < 1e-12);
    }

    #[test]
    fn an_entropic_plan_has_its_marginals_and_comes_near_the_exact_one((a, b, cost) in problem()) {
        let (a, b) = (weights(&a), weights(&b));
        let least = exact(&a, &b, &cost).unwrap().cost(&cost);
        // Near-degenerate problems converge like one over the number of sweeps, so not much is
        // asked for.
        let settings = Sinkhorn { epsilon: 0.25, tolerance: 1e-3, ..Sinkhorn::default() };
        let result = sinkhorn(&a, &b, &cost, &settings).unwrap();
        prop_assert!(result.converged && result.row_error <= 1e-3);
        let mass: f64 = a.iter().sum();
        assert_marginals(&result.plan, &a, &b, 1e-3 * mass);
        prop_assert!(result.plan.column_sums().iter().zip(&b).all(|(sum, b)| (sum - b).abs() < 1e-12 * mass));
        // The entropy of a plan of k values lies in [0, ln k] times the mass; costs differ by 12 at
        // most.
        let missed = 12.0 * 1e-3 * mass;
        let entropy = settings.epsilon * mass * libm::log(cost.len() as f64);
        let got = result.plan.cost(&cost);
        prop_assert!(got > least - missed && got < least + entropy + 2.0 * missed, "{got} is far from {least}");
    }
}

pub(crate) fn permutations(n: usize, visit: &mut dyn FnMut(&[usize])) {
    fn permute(order: &mut [usize], at: usize, visit: &mut dyn FnMut(&[usize])) {
        if at == order.len() {
            return visit(order);
        }
        for other in at..order.len() {
            order.swap(at, other);
            permute(order, at + 1, visit);
            order.swap(at, other);
        }
    }
    permute(&mut (0..n).collect::<Vec<_>>(), 0, visit);
}

/// Large enough for a search in blocks of rows; the products are optimally sorted, the rest by
/// duality: potentials under which no reduced cost is negative prove a plan.
#[test]
fn large_problems_are_solved_in_blocks_of_rows() {
    let n = 150;
    let x: Vec<f64> = (0..n).map(|i| f64::from(i * 37 % 151)).collect();
    let y: Vec<f64> = (0..n).map(|j| f64::from(j * 53 % 157)).collect();
    let cost: Vec<f64> = x.iter().flat_map(|x| y.iter().map(move |y| -x * y)).collect();
    let plan = exact(&vec![1.0; n as usize], &vec![1.0; n as usize], &cost).unwrap();
    let (mut sorted_x, mut sorted_y) = (x, y);
    sorted_x.sort_by(f64::total_cmp);
    sorted_y.sort_by(f64::total_cmp);
    let best: f64 = sorted_x.iter().zip(&sorted_y).map(|(x, y)| -x * y).sum();
    assert!((plan.cost(&cost) - best).abs() < 1e-6);
}

#[test]
fn ties_go_to_the_smallest_index() {
    let plan = exact(&[1.0; 3], &[1.0; 3], &[2.0; 9]).unwrap();
    assert_eq!(plan.values(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let plan = exact(&[2.0], &[0.5, 0.0, 1.5], &[0.0; 3]).unwrap();
    assert_eq!(plan.values(), [0.5, 0.0, 1.5]);
}

#[test]
fn a_tiny_regularisation_neither_over_nor_underflows() {
    let cost = [0.0, 900.0, 901.0, 0.0];
    let settings = Sinkhorn {
        epsilon: 0.1,
        ..Sinkhorn::default()
    };
    let result = sinkhorn(&[0.5, 0.5], &[0.5, 0.5], &cost, &settings).unwrap();
    assert!(result.converged);
    assert_eq!(result.plan.values(), [0.5, 0.0, 0.0, 0.5]);
    let few = Sinkhorn {
        max_sweeps: 1,
        tolerance: 1e-15,
        epsilon: 1.0,
    };
    let result = sinkhorn(&[0.9, 0.1], &[0.5, 0.5], &[0.0, 1.0, 2.0, 0.0], &few).unwrap();
    assert!(!result.converged && result.n_sweeps == 1 && result.row_error > 1e-3);
    assert!(result.plan.column_sums().iter().all(|sum| (sum - 0.5).abs() < 1e-15));
}

#[test]
fn mistakes_are_named() {
    let said = |a: &[f64], b: &[f64], cost: &[f64]| exact(a, b, cost).unwrap_err().to_string();
    assert_eq!(
        said(&[], &[1.0], &[]),
        "a: must have at least one point with a positive weight"
    );
    assert_eq!(
        said(&[1.0], &[0.0], &[1.0]),
        "b: must have at least one point with a positive weight"
    );
    assert_eq!(
        said(&[1.0], &[2.0, -1.0], &[1.0; 2]),
        "b[1]: a weight must be finite and at least 0, got -1"
    );
    assert_eq!(
        said(&[1.0], &[2.0], &[1.0]),
        "a, b: both sides must have the same mass, got 1 and 2; divide each by its sum"
    );
    assert_eq!(
        said(&[1.0], &[0.5, 0.5], &[1.0]),
        "cost: must have 1 rows of 2 values, got 1 values"
    );
    assert_eq!(
        said(&[1.0], &[0.5, 0.5], &[1.0, f64::INFINITY]),
        "cost[0][1]: must be finite, got inf; forbid a pair by a large cost"
    );
    let zero = Sinkhorn {
        epsilon: 0.0,
        ..Sinkhorn::default()
    };
    assert_eq!(
        sinkhorn(&[1.0], &[1.0], &[1.0], &zero).unwrap_err().to_string(),
        "epsilon: must be finite and greater than 0, got 0"
    );
}
