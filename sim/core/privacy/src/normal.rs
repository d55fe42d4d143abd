//! The normal law: how well one tells two shifted ones apart.

/// `1 / sqrt(2 π)`.
pub(crate) const DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;

/// `exp(x² / 2) P[X > x]` for a standard normal X and `x >= 0`, to a relative error of 1e-13:
/// neither underflows.
fn scaled_tail(x: f64) -> f64 {
    if x < 12.0 {
        return 0.5 * libm::exp(0.5 * x * x) * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
    }
    // The asymptotic series 1/x - 1/x³ + 3/x⁵ - …: from 12 on, twenty terms are exact.
    let (mut sum, mut term) = (0.0, 1.0);
    for k in 0..20 {
        sum += term;
        term *= -f64::from(2 * k + 1) / (x * x);
    }
    DENSITY_AT_0 * sum / x
}

/// `P[X > x]` for a standard normal X.
pub(crate) fn tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The least `x >= 0` with [`tail`] at most `bound`, above 0; bisection to the last bit.
pub(crate) fn quantile_above(bound: f64) -> f64 {
    match tail(0.0) <= bound {
        true => 0.0,
        false => bisect(40.0, 0.0, |x| tail(x) <= bound),
    }
}

/// The least delta for which a normal law and the same shifted by `shift` standard deviations are
/// (`epsilon`, delta) apart: `Φ(shift/2 - epsilon/shift) - e^epsilon Φ(-shift/2 - epsilon/shift)`
/// (Balle and Wang 2018, Theorem 8).
///
/// Written with scaled tails, so that no `e^epsilon` overflows and no tiny delta is lost.
pub(crate) fn delta(epsilon: f64, shift: f64) -> f64 {
    let near = epsilon / shift - 0.5 * shift;
    let far = epsilon / shift + 0.5 * shift;
    let height = libm::exp(-0.5 * near * near);
    if near >= 0.0 {
        height * (scaled_tail(near) - scaled_tail(far))
    } else {
        1.0 - height * (scaled_tail(-near) + scaled_tail(far))
    }
}

/// The largest shift for which [`delta`] at `epsilon` > 0 is at most `bound`, in 0..1; bisection to
/// the last bit.
pub(crate) fn largest_shift(epsilon: f64, bound: f64) -> f64 {
    let mut high = 1.0;
    while delta(epsilon, high) <= bound {
        high *= 2.0;
    }
    while delta(epsilon, 0.5 * high) > bound {
        high *= 0.5;
    }
    bisect(0.5 * high, high, |shift| delta(epsilon, shift) <= bound)
}

/// The least epsilon for which [`delta`] at `shift` is at most `bound`, in 0..1; bisection to the
/// last bit.
pub(crate) fn least_epsilon(shift: f64, bound: f64) -> f64 {
    let holds = |epsilon| delta(epsilon, shift) <= bound;
    if holds(0.0) {
        return 0.0;
    }
    let mut high = 1.0;
    while !holds(high) {
        high *= 2.0;
    }
    bisect(high, 0.0, holds)
}

/// The last number from `good`, where `holds`, towards `bad`, where it does not.
fn bisect(mut good: f64, mut bad: f64, holds: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = good + 0.5 * (bad - good);
        if middle == good || middle == bad {
            return good;
        }
        *(if holds(middle) { &mut good } else { &mut bad }) = middle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64, tolerance: f64) {
        assert!((got / expected - 1.0).abs() < tolerance, "{got}, not {expected}");
    }

    /// Values from arithmetic with 60 digits.
    #[test]
    fn tails_and_deltas_are_exact() {
        for (x, expected) in [
            (0.0, 0.5),
            (0.5, 0.349_618_834_720_398_06),
            (3.0, 0.121_513_948_355_562_17),
            (11.9, 0.033_292_669_170_931_33),
            (12.1, 0.032_749_707_687_499_62),
            (40.0, 0.009_967_335_188_301_31),
            (1e6, 3.989_422_804_010_337_4e-7),
        ] {
            close(scaled_tail(x), expected, 1e-13);
        }
        for (epsilon, shift, expected) in [
            (1.0, 1.0, 0.126_936_737_506_643_94),
            (0.1, 0.01, 7.857_692_771_036_799e-27),
            (10.0, 3.0, 0.018_589_514_315_857_807),
            (0.001, 5.0, 0.987_574_458_330_960_8),
            (700.0, 40.0, 0.993_323_245_009_655),
        ] {
            close(delta(epsilon, shift), expected, 1e-11);
        }
        assert_eq!((delta(50.0, 0.5), delta(1.0, f64::INFINITY)), (0.0, 1.0));
    }

    #[test]
    fn searches_end_where_delta_is_the_bound() {
        for epsilon in [1e-6, 0.1, 1.0, 30.0, 1e4] {
            for bound in [1e-200, 1e-10, 1e-5, 0.3, 0.999] {
                let shift = largest_shift(epsilon, bound);
                assert!(delta(epsilon, shift) <= bound, "{epsilon} {bound}");
                assert!(delta(epsilon, shift * (1.0 + 1e-9)) > bound, "{epsilon} {bound}");
                close(least_epsilon(shift, bound), epsilon, 1e-5);
            }
        }
        assert_eq!(least_epsilon(0.01, 0.1), 0.0);
    }
}
