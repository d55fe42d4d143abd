//! Curves against integrals and long arithmetic, and what they prove against what is exact.

use super::*;
use crate::{Exponential, Gaussian, Laplace, MultiBit, NoPrivacy, NoisyCounts, RandomisedResponse, composition};
use proptest::prelude::*;

fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() < tolerance, "{got}, not {expected}");
}

fn counts(epsilon: f64) -> NoisyCounts {
    NoisyCounts::new(epsilon, 1.0, "one edge").unwrap()
}

fn answer(epsilon: f64, n_values: u32) -> RandomisedResponse {
    RandomisedResponse::new(epsilon, n_values, "one edge").unwrap()
}

fn gaussian(shift: f64) -> Gaussian {
    Gaussian::new(1.0 / shift, 1.0, 1e-5, "one edge").unwrap()
}

const ORDERS: [f64; 4] = [1.015625, 2.0, 32.0, 4097.0];

/// Values from arithmetic with 30 digits, at the least and the largest orders and costs.
#[test]
fn closed_forms_neither_cancel_nor_overflow() {
    type Curve<'a> = &'a dyn Fn(f64) -> f64;
    let curves: [(Curve<'_>, [f64; 4]); 6] = [
        (
            &|a| laplace(1.0, a),
            [
                0.372_997_796_231_190_45,
                0.619_123_629_998_592_8,
                0.978_148_425_045_425_7,
                0.999_830_804_410_987_6,
            ],
        ),
        (
            &|a| laplace(1e-6, a),
            [
                5.078_123_307_292_077e-13,
                9.999_996_666_664_166e-13,
                1.599_999_466_402_266_8e-11,
                2.048_493_587_777_454_5e-9,
            ],
        ),
        (
            &|a| laplace(30.0, a),
            [
                29.022_881_783_629_575,
                29.594_534_891_891_836,
                29.978_148_425_045_426,
                29.999_830_804_410_987,
            ],
        ),
        (
            &|a| response(1.0, 5.0, a),
            [
                0.259_569_384_471_901_5,
                0.470_718_271_509_900_03,
                0.970_811_856_724_051_2,
                0.999_779_093_642_198_6,
            ],
        ),
        (
            &|a| response(1e-6, 2.0, a),
            [
                5.078_124_999_999_563e-13,
                9.999_999_999_995_834e-13,
                1.599_999_999_735_333_2e-11,
                2.048_494_270_605_863e-9,
            ],
        ),
        (
            &|a| response(20.0, 1000.0, a),
            [
                19.999_964_605_954_077,
                19.999_997_940_909_655,
                19.999_999_933_577_73,
                19.999_999_999_497_29,
            ],
        ),
    ];
    for (curve, expected) in curves {
        for (order, expected) in ORDERS.into_iter().zip(expected) {
            close(curve(order), expected, 1e-12);
        }
    }
}

/// The definition of the divergence, `ln ∫ p^a q^(1-a) / (a - 1)`, by the midpoint rule.
#[test]
fn curves_are_the_divergences_of_the_laws() {
    let integral = |p: &dyn Fn(f64) -> f64, q: &dyn Fn(f64) -> f64, order: f64| {
        let step = 1e-3;
        let at = (-30_000..30_000).map(|i| (f64::from(i) + 0.5) * step);
        let terms = at.map(|x| libm::exp(order * libm::log(p(x)) + (1.0 - order) * libm::log(q(x))));
        libm::log(step * terms.sum::<f64>()) / (order - 1.0)
    };
    let law = Laplace::new(0.8).unwrap();
    let normal = |x: f64| libm::exp(-0.5 * x * x);
    let scale = (2.0 * std::f64::consts::PI).sqrt();
    for order in [1.5, 2.0, 5.0] {
        let laplace = integral(&|x| law.pdf(x), &|x| law.pdf(x - 0.6), order);
        close(law.renyi(0.6, order), laplace, 1e-6);
        assert_eq!(law.renyi(-0.6, order), law.renyi(0.6, order));
        let shifted = integral(&|x| normal(x) / scale, &|x| normal(x - 0.7) / scale, order);
        close(gaussian(0.7).law().renyi(order), shifted, 1e-6);
        let response = answer(1.3, 4);
        let (keep, other) = (response.keep_probability(), response.other_probability());
        let power = |p: f64, q: f64| libm::pow(p, order) * libm::pow(q, 1.0 - order);
        let sum = power(keep, other) + power(other, keep) + 2.0 * other;
        close(response.law().renyi(order), libm::log(sum) / (order - 1.0), 1e-12);
    }
}

/// Least epsilons over all orders, by golden section with 30 digits: the grid misses them by less
/// than one in a thousand.
#[test]
fn conversions_are_near_the_best_order() {
    let cases = [
        (RenyiCurve::of(&gaussian(1.0)), 1, 1e-5, 4.72838698494331),
        (RenyiCurve::of(&gaussian(0.1)), 1, 1e-5, 0.375261235699023),
        (RenyiCurve::of(&gaussian(0.01)), 1, 1e-6, 0.0371046268410346),
        (RenyiCurve::of(&gaussian(5.0)), 1, 1e-3, 29.4693608698477),
        (RenyiCurve::of(&counts(0.1)), 100, 1e-5, 4.53268277427702),
        (RenyiCurve::of(&counts(1.0)), 10, 1e-5, 9.99019008532989),
        (RenyiCurve::of(&answer(0.1, 2)), 100, 1e-5, 4.61522999506116),
        (RenyiCurve::of(&answer(0.1, 10)), 100, 1e-5, 1.9861277798205),
    ];
    for (curve, times, delta, best) in cases {
        let total = RenyiCurve::compose([(&curve, times)]).unwrap();
        let found = total.epsilon(delta).unwrap();
        let ratio = found.cost.epsilon / best;
        assert!((1.0 - 1e-12..1.001).contains(&ratio), "{ratio} at {best}");
        // And back: that epsilon has that delta.
        let back = total.delta(found.cost.epsilon).unwrap();
        close(back.cost.delta, delta, 1e-9);
        assert_eq!(back.order, found.order);
    }
}

/// FGCL at its least budget: 50 rounds with two views of epsilon 0.1.
#[test]
fn renyi_accounting_beats_advanced_composition() {
    let view = counts(0.1);
    let total = RenyiCurve::compose([(&RenyiCurve::of(&view), 100)]).unwrap();
    let proved = total.epsilon(1e-5).unwrap().cost.epsilon;
    let advanced = composition::advanced(view.cost(), 100, 1e-5).unwrap().epsilon;
    let basic = composition::basic([(view.cost(), 100)]).unwrap().epsilon;
    assert!(
        proved < 0.8 * advanced && advanced < basic,
        "{proved} {advanced} {basic}"
    );
}

/// Many normal releases are one with the root of their number as shift, whose exact epsilon a curve
/// may not undercut.
#[test]
fn gaussians_compose_to_a_gaussian_and_stay_above_the_truth() {
    for (n, shift) in [(1u64, 1.0), (100, 0.1), (10_000, 0.03)] {
        let once = RenyiCurve::of(&gaussian(shift));
        let total = RenyiCurve::compose([(&once, n)]).unwrap();
        let whole = gaussian(shift * (n as f64).sqrt());
        for (got, &order) in total.costs().iter().zip(total.orders()) {
            assert!(*got == whole.law().renyi(order) || (got / whole.law().renyi(order) - 1.0).abs() < 1e-12);
        }
        let (proved, exact) = (total.epsilon(1e-5).unwrap().cost.epsilon, whole.cost().epsilon);
        assert!(proved > exact && proved < 1.1 * exact, "{proved}, exactly {exact}");
    }
}

#[test]
fn what_protects_nothing_stays_unprotected() {
    let none = RenyiCurve::of(&NoPrivacy::<[f64]>::new());
    assert_eq!(none.epsilon(0.1).unwrap().cost.epsilon, f64::INFINITY);
    assert_eq!(none.delta(5.0).unwrap().cost.delta, 1.0);
    let never = RenyiCurve::compose([(&none, 0)]).unwrap();
    assert_eq!(never.epsilon(0.1).unwrap().cost.epsilon, 0.0);
    assert_eq!(none.epsilon(0.1).unwrap().cost.unit, "nothing");
    let first = default_orders()[0];
    let proved_by = (none.epsilon(0.1).unwrap().order, none.delta(5.0).unwrap().order);
    assert_eq!(proved_by, (first, first), "of orders that prove as little, the first");
}

/// What is private at an epsilon needs no delta there, and the infinite order proves it.
#[test]
fn no_delta_is_needed_at_the_true_epsilon() {
    let proved = RenyiCurve::of(&counts(0.5)).delta(0.5).unwrap();
    assert_eq!((proved.cost.delta, proved.order), (0.0, f64::INFINITY));
}

#[test]
fn orders_and_parameters_are_checked() {
    for orders in [&[][..], &[2.0, 1.0], &[f64::NAN]] {
        assert!(RenyiCurve::at(&counts(1.0), orders).is_err(), "{orders:?}");
    }
    let two = RenyiCurve::at(&counts(1.0), &[2.0, f64::INFINITY]).unwrap();
    assert_eq!(
        (two.orders(), two.costs()),
        (&[2.0, f64::INFINITY][..], &[laplace(1.0, 2.0), 1.0][..])
    );
    let other = RenyiCurve::at(&counts(1.0), &[3.0]).unwrap();
    assert_eq!(
        RenyiCurve::compose([(&two, 1), (&other, 1)]),
        Err(CompositionError::Orders)
    );
    assert!(
        CompositionError::Orders
            .to_string()
            .ends_with("form them at the same orders")
    );
    let node = NoisyCounts::new(1.0, 1.0, "one node").unwrap();
    let units = RenyiCurve::compose([(&RenyiCurve::of(&counts(1.0)), 1), (&RenyiCurve::of(&node), 1)]);
    assert!(matches!(units, Err(CompositionError::Units { .. })));
    assert_eq!(RenyiCurve::compose([]), Err(CompositionError::Empty));
    assert!(two.epsilon(0.0).is_err() && two.epsilon(1.0).is_err() && two.delta(0.0).is_err());
}

proptest! {
    /// A divergence grows with its order, and that of a private mechanism lies below its epsilon
    /// and below randomised response.
    #[test]
    fn curves_rise_to_epsilon(power in -12.0f64..6.0, n_values in 2u32..) {
        let epsilon = libm::exp(power);
        let worst = RenyiCurve::of(&Exponential::calibrated(epsilon, 1.0, "").unwrap());
        for curve in [RenyiCurve::of(&counts(epsilon)), RenyiCurve::of(&answer(epsilon, n_values)), worst.clone()] {
            for (pair, bound) in curve.costs().windows(2).zip(worst.costs()) {
                prop_assert!(pair[0] <= pair[1] * (1.0 + 1e-12));
                prop_assert!(pair[0] >= 0.0 && pair[0] <= bound * (1.0 + 1e-9) && *bound <= epsilon * (1.0 + 1e-12));
            }
            prop_assert_eq!(*curve.costs().last().unwrap(), epsilon);
        }
        let encoder = MultiBit::new(crate::Entries::Row, epsilon, 3, 4).unwrap();
        prop_assert!(RenyiCurve::of(&encoder).costs() == worst.costs());
    }

    /// Without delta, no more is proved than basic composition does.
    #[test]
    fn conversions_never_exceed_basic_composition(epsilon in 1e-3f64..3.0, times in 1u64..1000) {
        let total = RenyiCurve::compose([(&RenyiCurve::of(&counts(epsilon)), times)]).unwrap();
        prop_assert!(total.epsilon(1e-6).unwrap().cost.epsilon <= epsilon * times as f64);
    }
}
