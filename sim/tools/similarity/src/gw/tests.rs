//! Gromov-Wasserstein against the definition, brute force and its own promises.

use super::*;
use crate::transport::tests::permutations;
use crate::transport::{Plan, exact};
use folkmoot_draws::{Rng, SeedableRng, SimRng};
use proptest::prelude::*;

/// A number in `0..1`.
fn uniform(rng: &mut SimRng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Points in the plane.
pub(super) fn points(n: usize, rng: &mut SimRng) -> Space {
    let rows: Vec<f64> = (0..2 * n).map(|_| uniform(rng)).collect();
    Space::euclidean(&rows, 2).unwrap()
}

/// Hops along a random tree, which is full of ties.
pub(super) fn tree(n: usize, rng: &mut SimRng) -> Space {
    let mut hops = vec![0.0; n * n];
    for u in 1..n {
        let parent = (rng.next_u64() % u as u64) as usize;
        for v in 0..u {
            hops[u * n + v] = hops[parent * n + v] + 1.0;
            hops[v * n + u] = hops[u * n + v];
        }
    }
    Space::uniform(hops).unwrap()
}

/// Any symmetric matrix, of either sign and with a diagonal, and any weights.
fn any_space(n: usize, rng: &mut SimRng) -> Space {
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            matrix[i * n + j] = 4.0 * uniform(rng) - 2.0;
            matrix[j * n + i] = matrix[i * n + j];
        }
    }
    let weights: Vec<f64> = (0..n).map(|_| 0.1 + uniform(rng)).collect();
    let sum: f64 = weights.iter().sum();
    Space::new(&matrix, &weights.iter().map(|weight| weight / sum).collect::<Vec<_>>()).unwrap()
}

fn some_space(kind: u32, n: usize, rng: &mut SimRng) -> Space {
    match kind {
        0 => points(n, rng),
        1 => tree(n, rng),
        _ => any_space(n, rng),
    }
}

/// The definition, term by term.
fn by_definition(a: &Space, b: &Space, plan: &Plan) -> f64 {
    let mut sum = 0.0;
    for (i, j) in (0..a.n()).flat_map(|i| (0..b.n()).map(move |j| (i, j))) {
        for (k, l) in (0..a.n()).flat_map(|k| (0..b.n()).map(move |l| (k, l))) {
            let difference = a.distance(i, k) - b.distance(j, l);
            sum += difference * difference * plan.get(i, j) * plan.get(k, l);
        }
    }
    sum
}

fn best_permutation(a: &Space, b: &Space) -> f64 {
    let n = a.n();
    let mut best = f64::INFINITY;
    permutations(n, &mut |order| {
        let mut sum = 0.0;
        for (i, k) in (0..n).flat_map(|i| (0..n).map(move |k| (i, k))) {
            let difference = a.distance(i, k) - b.distance(order[i], order[k]);
            sum += difference * difference;
        }
        best = best.min(sum / (n * n) as f64);
    });
    best
}

fn with_restarts(restarts: u32) -> Options {
    Options {
        start_jitter: 0.5,
        restarts,
        seed: 3,
        ..Options::default()
    }
}

const PLAIN: Options = Options {
    relative_tolerance: 1e-9,
    absolute_tolerance: 1e-9,
    max_steps: 10_000,
    exchange: false,
    start_jitter: 0.0,
    end_starts: false,
    restarts: 0,
    seed: 0,
};

const ENDS: Options = Options {
    exchange: true,
    end_starts: true,
    ..PLAIN
};

proptest! {
    #[test]
    fn a_plan_has_the_weights_as_its_sums_and_the_value_it_claims(
        seed: u64, kinds in (0u32..3, 0u32..3), n in 1usize..12, m in 1usize..12, exchange: bool, end_starts: bool,
    ) {
        let mut rng = SimRng::seed_from_u64(seed);
        let (a, b) = (some_space(kinds.0, n, &mut rng), some_space(kinds.1, m, &mut rng));
        let mut solver = Solver::new(Options { exchange, end_starts, ..Options::default() }).unwrap();
        let coupling = solver.couple(&a, &b);
        let plan = &coupling.plan;
        prop_assert_eq!((plan.n_rows(), plan.n_columns()), (n, m));
        prop_assert!(plan.values().iter().all(|&value| value >= 0.0));
        for (sums, weights) in [(plan.row_sums(), a.weights()), (plan.column_sums(), b.weights())] {
            prop_assert!(sums.iter().zip(weights).all(|(sum, weight)| (sum - weight).abs() < 1e-14));
        }
        let value = by_definition(&a, &b, plan);
        prop_assert!((coupling.value - value).abs() < 1e-11, "{} is not {value}", coupling.value);
        prop_assert!((objective(&a, &b, plan).unwrap() - value).abs() < 1e-11);
        prop_assert!(coupling.value <= by_definition(&a, &b, &a.product_plan(&b)) + 1e-12);
        prop_assert_eq!(solver.value(&a, &b).to_bits(), coupling.value.to_bits());
        let back = solver.couple(&b, &a);
        prop_assert_eq!(back.value.to_bits(), coupling.value.to_bits());
        prop_assert_eq!(back.plan.transposed(), coupling.plan);
    }

    #[test]
    fn exchanges_and_further_starts_never_worsen_a_value(seed: u64, kind in 0u32..3, n in 2usize..14, m in 2usize..14) {
        let mut rng = SimRng::seed_from_u64(seed);
        let (a, b) = (some_space(kind, n, &mut rng), some_space(kind, m, &mut rng));
        let plain = gw(&a, &b, &PLAIN).unwrap();
        let value = gw(&a, &b, &Options::default()).unwrap();
        prop_assert!(value <= plain + 1e-12, "{value} after {plain}");
        prop_assert!(gw(&a, &b, &with_restarts(3)).unwrap() <= value);
        let from_ends = gw(&a, &b, &ENDS).unwrap();
        prop_assert!(from_ends <= value);
        let both = Options { end_starts: true, ..with_restarts(3) };
        prop_assert!(gw(&a, &b, &both).unwrap() <= from_ends);
    }

    /// Without ties every step is unique, so the names of the points cannot matter.
    #[test]
    fn relabelling_moves_no_value_of_the_plain_method(seed: u64, n in 2usize..9, m in 2usize..9) {
        let mut rng = SimRng::seed_from_u64(seed);
        let (a, b) = (any_space(n, &mut rng), any_space(m, &mut rng));
        let turn = |space: &Space| {
            let matrix: Vec<f64> = space.to_matrix().into_iter().rev().collect();
            let weights: Vec<f64> = space.weights().iter().rev().copied().collect();
            Space::new(&matrix, &weights).unwrap()
        };
        let (value, turned) = (gw(&a, &b, &PLAIN).unwrap(), gw(&turn(&a), &turn(&b), &PLAIN).unwrap());
        prop_assert!((value - turned).abs() < 1e-8, "{value} becomes {turned}");
    }

    #[test]
    fn fused_values_run_from_transport_to_gromov_wasserstein(
        seed: u64, n in 1usize..9, m in 1usize..9, end_starts: bool,
    ) {
        let mut rng = SimRng::seed_from_u64(seed);
        let (a, b) = (points(n, &mut rng), any_space(m, &mut rng));
        let [x, y] = [n, m].map(|n| (0..3 * n).map(|_| uniform(&mut rng)).collect::<Vec<f64>>());
        let cost = feature_cost(&x, &y, 3);
        let options = Options { end_starts, ..Options::default() };
        let mut solver = Solver::new(options).unwrap();
        let at = |alpha| Fused { alpha, cost: &cost };
        let linear = exact(a.weights(), b.weights(), &cost).unwrap().cost(&cost);
        prop_assert!((solver.fused_value(&a, &b, &at(0.0)).unwrap() - linear).abs() < 1e-12);
        for alpha in [0.3, 1.0] {
            let coupling = solver.fused_couple(&a, &b, &at(alpha)).unwrap();
            let value = (1.0 - alpha) * coupling.plan.cost(&cost) + alpha * by_definition(&a, &b, &coupling.plan);
            prop_assert!((coupling.value - value).abs() < 1e-11);
            prop_assert!((fused_objective(&a, &b, &at(alpha), &coupling.plan).unwrap() - value).abs() < 1e-11);
            prop_assert!(coupling.value <= fused_gw(&a, &b, &at(alpha), &Options::default()).unwrap());
        }
        let all = fused_all_pairs(&[a.clone(), b.clone()], &[x, y], 3, 0.3, &options).unwrap();
        prop_assert_eq!(all[0].to_bits(), solver.fused_value(&a, &b, &at(0.3)).unwrap().to_bits());
        // Seen from the other side the cost is turned over.
        let turned = Plan::new(m, cost.clone()).transposed();
        let back = Fused { alpha: 0.3, cost: turned.values() };
        prop_assert_eq!(solver.fused_value(&b, &a, &back).unwrap().to_bits(), all[0].to_bits());
    }

    #[test]
    fn the_gradient_is_that_of_the_value(seed: u64, n in 1usize..5, m in 1usize..5) {
        let mut rng = SimRng::seed_from_u64(seed);
        let (a, b) = (any_space(n, &mut rng), any_space(m, &mut rng));
        let values: Vec<f64> = (0..n * m).map(|_| uniform(&mut rng)).collect();
        let slope = gradient(&a, &b, &Plan::new(m, values.clone())).unwrap();
        for at in 0..n * m {
            let moved = |by: f64| {
                let mut values = values.clone();
                values[at] += by;
                by_definition(&a, &b, &Plan::new(m, values))
            };
            let difference = (moved(0.01) - moved(-0.01)) / 0.02;
            prop_assert!((slope[at] - difference).abs() < 1e-8 * (1.0 + difference.abs()));
        }
    }
}

#[test]
fn a_value_is_no_less_than_brute_force_and_with_restarts_hits_it() {
    for seed in 0..60 {
        let mut rng = SimRng::seed_from_u64(seed);
        let n = 2 + seed as usize % 5;
        let (a, b) = (points(n, &mut rng), points(n, &mut rng));
        let best = best_permutation(&a, &b);
        assert!(gw(&a, &b, &Options::default()).unwrap() > best - 1e-12);
        let value = gw(&a, &b, &with_restarts(30)).unwrap();
        assert!((value - best).abs() < 1e-9, "{value} is not {best}");
    }
}

/// Which way round two trees lie along each other is what one start cannot tell.
#[test]
fn starts_from_the_ends_find_what_one_start_misses() {
    let (mut n_lower, mut sums) = (0, [0.0; 2]);
    for seed in 0..40 {
        let mut rng = SimRng::seed_from_u64(seed);
        let (a, b) = (tree(14 + seed as usize % 5, &mut rng), tree(16, &mut rng));
        let [one, ends] = [Options::default(), ENDS].map(|options| gw(&a, &b, &options).unwrap());
        n_lower += usize::from(ends < one - 1e-9);
        sums[0] += one;
        sums[1] += ends;
    }
    assert!(n_lower >= 10 && sums[1] < 0.97 * sums[0], "{n_lower} lower, {sums:?}");
}

#[test]
fn a_path_lies_along_itself_from_end_to_end_and_back() {
    let edges = [(3, 0), (0, 4), (4, 1), (1, 2)];
    let graph = folkmoot_graphs::Graph::from_edges(5, &edges, false).unwrap();
    let [there, back] = Space::of_hops(&graph).unwrap().along;
    assert_eq!(there, [3, 0, 4, 1, 2]);
    assert_eq!(back, [2, 1, 4, 0, 3]);
    let clique = Space::uniform((0..9).map(|at| f64::from(at % 4 != 0)).collect()).unwrap();
    let alone = Space::uniform(vec![0.0]).unwrap();
    assert_eq!((clique.along[0].len(), alone.along[1].len()), (3, 1));
}

#[test]
fn the_root_of_the_least_value_obeys_the_triangle_inequality() {
    for seed in 0..40 {
        let mut rng = SimRng::seed_from_u64(seed);
        let [a, b, c] = [3, 4, 5].map(|n| points(n, &mut rng));
        let root = |a: &Space, b: &Space| gw(a, b, &with_restarts(30)).unwrap().sqrt();
        assert!(root(&a, &c) <= root(&a, &b) + root(&b, &c) + 1e-9, "{seed}");
    }
}

#[test]
fn no_value_depends_on_threads_or_on_the_pairs_before() {
    let mut rng = SimRng::seed_from_u64(5);
    let spaces: Vec<Space> = (0..24)
        .map(|i| some_space(i % 3, 2 + 3 * i as usize % 17, &mut rng))
        .collect();
    let options = Options {
        end_starts: true,
        ..with_restarts(1)
    };
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let mut expected = Vec::new();
    for (u, a) in spaces.iter().enumerate() {
        expected.extend(spaces[u + 1..].iter().map(|b| gw(a, b, &options).unwrap()));
    }
    let expected = bits(expected);
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let values = pool.install(|| all_pairs(&spaces, &options)).unwrap();
        assert_eq!(bits(values), expected, "{threads} threads");
        let rows = pool.install(|| between(&spaces[..1], &spaces[1..], &options)).unwrap();
        assert_eq!(bits(rows), expected[..23]);
    }
}

/// An edge against five points all at distance 1: the gradient at `p q'` is constant, so that the
/// order of the points decides.
#[test]
fn a_symmetry_does_not_hold_the_method_at_its_start() {
    let edge = Space::uniform(vec![0.0, 1.0, 1.0, 0.0]).unwrap();
    let clique = Space::uniform((0..25).map(|at| f64::from(at % 6 != 0)).collect()).unwrap();
    let at_product = objective(&edge, &clique, &edge.product_plan(&clique)).unwrap();
    assert!((at_product - 0.5).abs() < 1e-12);
    // Different points in one half, 2 × (0.5² − 0.2² − 0.2² − 0.1²), and the point in both, 2 ×
    // 0.1², differ by 1.
    assert!((gw(&edge, &clique, &PLAIN).unwrap() - 0.34).abs() < 1e-12);
}

/// The first draws of a disturbed start and the value it leads to.
#[test]
fn value_stability() {
    let mut rng = SimRng::seed_from_u64(1);
    let (a, b) = (points(7, &mut rng), tree(9, &mut rng));
    let mut start = Vec::new();
    super::start::disturbed(&a, &b, 0.5, 1, 0, &mut start);
    let mut plan = start.chunks_exact(b.stride()).flat_map(|row| &row[..9]);
    let first: Vec<String> = plan.by_ref().take(3).map(|value| format!("{value:.12}")).collect();
    let values =
        [Options::default(), PLAIN, with_restarts(2), ENDS].map(|options| gw(&a, &b, &options).unwrap().to_bits());
    assert_eq!(first, ["0.020512022501", "0.013105948418", "0.016402099779"]);
    assert_eq!(
        values,
        [
            4616356488070487838,
            4616356488070487838,
            4616356454621105968,
            4616331242634414375
        ]
    );
}

#[test]
fn mistakes_are_named() {
    let said = |space: Result<Space, SpaceError>| space.unwrap_err().to_string();
    assert_eq!(said(Space::uniform(vec![])), "a space must have at least one point");
    assert_eq!(
        said(Space::uniform(vec![0.0; 3])),
        "distances: must have n × n values, got 3"
    );
    assert_eq!(
        said(Space::new(&[0.0, 1.0, 2.0, 0.0], &[0.5, 0.5])),
        "distances[0][1]: must be the same both ways, got 1 and 2; take their mean"
    );
    assert_eq!(
        said(Space::new(&[0.0, f64::INFINITY, f64::INFINITY, 0.0], &[0.5, 0.5])),
        "distances[0][1]: must be finite, got inf; give unreachable pairs a large number"
    );
    assert_eq!(
        said(Space::new(&[0.0; 4], &[1.0, 0.0])),
        "weights[1]: must be finite and greater than 0, got 0; leave out points without weight"
    );
    assert_eq!(
        said(Space::new(&[0.0; 4], &[1.0, 0.5])),
        "weights: must add to 1, got 1.5"
    );
    assert_eq!(
        said(Space::euclidean(&[1.0; 3], 2)),
        "rows: must have whole rows of k > 0 values, got 3"
    );
    let one = Space::uniform(vec![0.0]).unwrap();
    let refused = |options: Options| gw(&one, &one, &options).unwrap_err().to_string();
    assert_eq!(
        refused(Options {
            restarts: 2,
            ..Options::default()
        }),
        "restarts: must be 0 without a start_jitter, or all starts are the same, got 2"
    );
    assert_eq!(
        refused(Options {
            start_jitter: 1.0,
            ..Options::default()
        }),
        "start_jitter: must be at least 0 and less than 1, got 1"
    );
    let fused = Fused {
        alpha: 0.5,
        cost: &[f64::NAN],
    };
    assert_eq!(
        fused_gw(&one, &one, &fused, &Options::default())
            .unwrap_err()
            .to_string(),
        "cost: must be finite, got NaN at position 0"
    );
    let mut settings = Entropic::default();
    settings.sinkhorn.epsilon = -1.0;
    assert_eq!(
        entropic_gw(&one, &one, &settings).unwrap_err().to_string(),
        "epsilon: must be finite and greater than 0, got -1"
    );
}

#[test]
fn an_entropic_plan_nears_the_sharp_one_as_the_entropy_goes() {
    let mut rng = SimRng::seed_from_u64(2);
    let (a, b) = (points(6, &mut rng), points(6, &mut rng));
    let sharp = gw(&a, &b, &with_restarts(30)).unwrap();
    let values = [1.0, 0.1, 0.002].map(|epsilon| {
        let mut settings = Entropic::default();
        settings.sinkhorn.epsilon = epsilon;
        let result = entropic_gw(&a, &b, &settings).unwrap();
        assert!(result.converged && result.row_error < 1e-5);
        result.coupling.value
    });
    assert!(
        values[0] > values[1] && values[1] > values[2] && values[2] > sharp - 1e-9,
        "{values:?} {sharp}"
    );
    let product = objective(&a, &b, &a.product_plan(&b)).unwrap();
    assert!((values[0] - product).abs() < 0.05 * product);
}

#[test]
fn hops_reach_as_far_as_paths_and_beyond_them_the_number_of_nodes() {
    let graph = folkmoot_graphs::Graph::from_edges(4, &[(0, 1), (1, 2)], false).unwrap();
    let space = Space::of_hops(&graph).unwrap();
    assert_eq!(space.row(0), [0.0, 1.0, 2.0, 4.0]);
    assert_eq!(space.row(3), [4.0, 4.0, 4.0, 0.0]);
}

/// From its own optimum nothing moves; from the worse of two plans the value is no better than that
/// plan's. Both ways round alike.
#[test]
fn a_given_start_is_gone_on_from() {
    let mut rng = SimRng::seed_from_u64(9);
    let (a, b) = (any_space(6, &mut rng), any_space(9, &mut rng));
    let mut solver = Solver::new(Options::default()).unwrap();
    let coupling = solver.couple(&a, &b);
    let again = solver.value_from(&a, &b, &coupling.plan).unwrap();
    assert!((again - coupling.value).abs() < 1e-12, "{again} {}", coupling.value);
    assert_eq!(solver.value_from(&b, &a, &coupling.plan.transposed()).unwrap(), again);
    let product = a.product_plan(&b);
    let from_product = solver.value_from(&a, &b, &product).unwrap();
    assert!(from_product <= objective(&a, &b, &product).unwrap() + 1e-12);
    assert!(matches!(
        solver.value_from(&a, &a, &coupling.plan),
        Err(GwError::Shape { name: "start", .. })
    ));
}
