//! Fits that can be checked by hand, against the optimality conditions, or against a slower method.

use super::*;
use proptest::prelude::*;

/// Numbers in -1..1 that look random, the same everywhere.
fn numbers(n: usize, seed: u32) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// The linear kernel of points of `dim` coordinates, with 1 more for each product.
fn linear(x: &[f64], dim: usize) -> Vec<f64> {
    let rows = || x.chunks_exact(dim);
    let product = |a: &[f64], b: &[f64]| 1.0 + a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    rows().flat_map(|a| rows().map(move |b| product(a, b))).collect()
}

/// A symmetric matrix that is far from positive semi-definite.
fn indefinite(n: usize, seed: u32) -> Vec<f64> {
    let drawn = numbers(n * n, seed);
    (0..n * n).map(|at| drawn[at] + drawn[at % n * n + at / n]).collect()
}

fn exact(c: f64) -> Svm {
    Svm {
        c,
        tolerance: 1e-10,
        ..Svm::default()
    }
}

/// The conditions of Karush, Kuhn and Tucker up to `slack`, from the definition: the gradient is
/// formed anew.
fn assert_stationary(pair: &PairModel, kernel: &[f64], y: &[u32], c: f64, slack: f64) {
    let n = y.len();
    let mut coef = vec![0.0; n];
    for (&at, &value) in pair.support.iter().zip(&pair.coef) {
        coef[at as usize] = value;
    }
    assert!(coef.iter().sum::<f64>().abs() <= 1e-9 * c * n as f64);
    let (mut objective, mut margins) = (0.0, Vec::new());
    for i in 0..n {
        let sign = if y[i] == pair.positive { 1.0 } else { -1.0 };
        let product: f64 = (0..n).map(|j| coef[j] * kernel[i * n + j]).sum();
        let alpha = sign * coef[i];
        assert!((0.0..=c).contains(&alpha));
        objective += 0.5 * coef[i] * product - alpha;
        margins.push((sign * (product - pair.rho) - 1.0, alpha));
    }
    assert!((objective - pair.dual_objective).abs() <= 1e-7 * (1.0 + objective.abs()));
    for (margin, alpha) in margins {
        assert!(alpha == 0.0 || margin <= slack, "{margin} at {alpha}");
        assert!(alpha == c || margin >= -slack, "{margin} at {alpha}");
    }
}

/// Points -1 and 1 on a line: the margin passes through both, with α = 1/2 each, or C if that is
/// less.
#[test]
fn two_points_have_the_solution_of_the_textbook() {
    let kernel = [1.0, -1.0, -1.0, 1.0];
    let model = exact(10.0).fit(&kernel, &[0, 1]).unwrap();
    let pair = &model.pairs[0];
    assert_eq!(
        (pair.coef.as_slice(), pair.rho, pair.dual_objective),
        (&[0.5, -0.5][..], 0.0, -0.5)
    );
    assert_eq!(model.decisions(&[3.0, -3.0]).unwrap(), [3.0]);
    let bounded = exact(0.25).fit(&kernel, &[0, 1]).unwrap();
    assert_eq!(bounded.pairs[0].coef, [0.25, -0.25]);
    assert_eq!(bounded.pairs[0].dual_objective, -0.375);
}

/// The decision 0 is not positive: it goes to the second class of the pair.
#[test]
fn equal_votes_and_zero_decisions_go_as_in_libsvm() {
    let kernel = [1.0, -1.0, -1.0, 1.0];
    let model = exact(1.0).fit(&kernel, &[3, 8]).unwrap();
    assert_eq!(model.predict(&[0.0, 0.0, 1.0, -1.0, -1.0, 1.0]).unwrap(), [8, 3, 8]);
    // Three classes at the corners of a triangle; at its centre every decision is 0, and the votes
    // are 0, 1 and 2.
    let corners = [1.0, -0.5, -0.5, -0.5, 1.0, -0.5, -0.5, -0.5, 1.0];
    let model = exact(1.0).fit(&corners, &[5, 6, 7]).unwrap();
    assert_eq!(model.predict(&[0.0; 3]).unwrap(), [7]);
    let round = [(5, 6, 1.0), (5, 7, -1.0), (6, 7, 1.0)].map(|(positive, negative, rho)| PairModel {
        positive,
        negative,
        rho: -rho,
        support: Vec::new(),
        coef: Vec::new(),
        dual_objective: 0.0,
        n_steps: 0,
        converged: true,
    });
    let circle = SvmModel {
        pairs: round.to_vec(),
        ..model
    };
    assert_eq!(
        circle.predict(&[0.0; 3]).unwrap(),
        [5],
        "one vote each: the smallest class"
    );
}

#[test]
fn three_classes_on_a_line_are_told_apart() {
    let x = [-3.0, -2.5, 0.1, -0.2, 2.2, 3.1];
    let y = [9, 9, 2, 2, 4, 4];
    let square = |a: f64, b: f64| libm::exp(-(a - b) * (a - b));
    let kernel: Vec<f64> = x.iter().flat_map(|&a| x.map(|b| square(a, b))).collect();
    let model = exact(10.0).fit(&kernel, &y).unwrap();
    assert_eq!(model.classes, [2, 4, 9]);
    let names: Vec<_> = model.pairs.iter().map(|pair| (pair.positive, pair.negative)).collect();
    assert_eq!(names, [(2, 4), (2, 9), (4, 9)]);
    assert_eq!(model.predict(&kernel).unwrap(), y);
    assert!(model.converged());
}

#[test]
fn a_single_class_is_always_predicted() {
    let model = exact(1.0).fit(&[1.0, 0.0, 0.0, 1.0], &[4, 4]).unwrap();
    assert_eq!((model.pairs.len(), model.predict(&[0.0; 6]).unwrap()), (0, vec![4; 3]));
    assert!(model.decisions(&[0.0; 4]).unwrap().is_empty());
}

/// The search on an indefinite kernel ends by itself, below the start, at a point where no pair of
/// variables pays.
#[test]
fn indefinite_kernels_end_at_a_stationary_point() {
    for seed in 0..20 {
        let n = 30;
        let kernel = indefinite(n, seed);
        let y: Vec<u32> = (0..n as u32).map(|item| item % 2).collect();
        let model = Svm::default().fit(&kernel, &y).unwrap();
        let pair = &model.pairs[0];
        assert!(pair.converged && pair.dual_objective < 0.0, "{seed}");
        assert_stationary(pair, &kernel, &y, 1.0, 2e-3);
    }
}

#[test]
fn the_search_stops_at_its_last_step_and_says_so() {
    let settings = Svm {
        max_steps: 3,
        ..exact(1.0)
    };
    let y: Vec<u32> = (0..30).map(|item| item % 2).collect();
    let model = settings.fit(&linear(&numbers(60, 1), 2), &y).unwrap();
    assert_eq!((model.pairs[0].n_steps, model.converged()), (3, false));
    let huge = vec![f64::MAX; 4];
    assert!(
        !exact(1.0)
            .fit(&[f64::MAX, -f64::MAX, -f64::MAX, f64::MAX], &[0, 1])
            .unwrap()
            .converged()
    );
    assert!(exact(1.0).fit(&huge, &[0, 1]).is_ok());
}

#[test]
fn what_cannot_be_fitted_is_an_error() {
    let text = |svm: Svm, kernel: &[f64], y: &[u32]| svm.fit(kernel, y).unwrap_err().to_string();
    assert_eq!(
        text(exact(0.0), &[1.0], &[1]),
        "c: must be finite and greater than 0, got 0"
    );
    let endless = Svm {
        tolerance: f64::NAN,
        ..Svm::default()
    };
    assert_eq!(
        text(endless, &[1.0], &[1]),
        "tolerance: must be finite and greater than 0, got NaN"
    );
    assert_eq!(text(exact(1.0), &[], &[]), "y: must have an item or more, got 0");
    assert_eq!(text(exact(1.0), &[1.0; 3], &[0, 1]), "kernel: must have 4 items, got 3");
    assert_eq!(
        text(exact(1.0), &[1.0, f64::NAN, 1.0, 1.0], &[0, 1]),
        "kernel[1]: must be finite"
    );
    let model = exact(1.0).fit(&[1.0, -1.0, -1.0, 1.0], &[0, 1]).unwrap();
    assert_eq!(
        model.predict(&[1.0; 3]).unwrap_err().to_string(),
        "kernel: must have 4 items, got 3"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn positive_kernels_reach_the_optimum(n in 2usize..25, dim in 1usize..4, power in -2i32..3, seed: u32) {
        let x = numbers(n * dim, seed);
        // The noise on the diagonal keeps the problem well conditioned, and the optimum unique.
        let mut kernel = linear(&x, dim);
        (0..n).for_each(|item| kernel[item * n + item] += 0.1);
        let y: Vec<u32> = (0..n as u32).map(|item| u32::from(x[item as usize * dim] > 0.1) ^ (item % 5 / 4)).collect();
        let c = [0.01, 0.1, 1.0, 10.0, 100.0][(power + 2) as usize];
        let svm = Svm { c, tolerance: 1e-8, ..Svm::default() };
        let model = svm.fit(&kernel, &y).unwrap();
        for pair in &model.pairs {
            prop_assert!(pair.converged);
            assert_stationary(pair, &kernel, &y, c, 1e-7);
        }
    }
}
