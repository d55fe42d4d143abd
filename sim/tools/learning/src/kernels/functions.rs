//! Exponential, logistic and hyperbolic functions in single precision, without tables, branches or
//! the system's library.
//!
//! The polynomials are weighted least-squares fits, close to minimax, of the remainder after the
//! leading terms.

/// Below it, `e^x` is taken as 0; its values just above are still normal numbers.
const LOWEST: f32 = -87.3;
/// Above it, `e^x` is infinite.
const HIGHEST: f32 = 88.722_83;

/// `e^x`, with a relative error below 2e-7; 0 below −87.3, where single precision would lose
/// digits.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// Adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first of so few digits that its product with an integer below 2^8 is
    // exact.
    const LN_2_HIGH: f32 = 355.0 / 512.0;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let cut = x.clamp(LOWEST, HIGHEST);
    let rounded = cut.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, cut));
    let mut rest = 1.381_459_8e-3_f32;
    for term in [8.368_717e-3, 4.166_839e-2, 1.666_652e-1, 4.999_999_3e-1, 1.0, 1.0] {
        rest = rest.mul_add(r, term);
    }
    let power = f32::from_bits(rest.to_bits().wrapping_add(rounded.to_bits() << 23));
    let power = if x < LOWEST { 0.0 } else { power };
    if x > HIGHEST { f32::INFINITY } else { power }
}

/// `1 / (1 + e^−x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `tanh x`, with a relative error below 4e-7.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let mut near = -5.717_044_5e-3_f32;
    for term in [2.065_058_7e-2, -5.374_35e-2, 1.333_149_1e-1, -3.333_328_4e-1] {
        near = near.mul_add(square, term);
    }
    // Near 0 the quotient below would lose all digits.
    let near = (near * square).mul_add(size, size);
    let far = 1.0 - 2.0 / (exp(2.0 * size) + 1.0);
    (if size < 0.625 { near } else { far }).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error of `ours` relative to `exact`, on a grid over `range`.
    fn worst(ours: fn(f32) -> f32, exact: fn(f64) -> f64, range: std::ops::Range<f32>) -> f64 {
        let n = 200_000;
        let points = (0..=n).map(|i| range.start + (range.end - range.start) * (i as f32 / n as f32));
        points
            .map(|x| (f64::from(ours(x)) / exact(f64::from(x)) - 1.0).abs())
            .filter(|error| !error.is_nan())
            .fold(0.0, f64::max)
    }

    #[test]
    fn errors_are_within_what_is_stated() {
        assert!(worst(exp, libm::exp, -87.2..88.7) < 2e-7);
        assert!(worst(exp, libm::exp, -1.0..1.0) < 2e-7);
        assert!(worst(tanh, libm::tanh, -10.0..10.0) < 4e-7);
        assert!(worst(tanh, libm::tanh, -0.7..0.7) < 4e-7);
        assert!(worst(sigmoid, |x| 1.0 / (1.0 + libm::exp(-x)), -80.0..80.0) < 4e-7);
    }

    #[test]
    fn limits_and_not_a_number_come_through() {
        assert_eq!([exp(-87.4), exp(f32::NEG_INFINITY), exp(0.0)], [0.0, 0.0, 1.0]);
        assert_eq!([exp(88.73), exp(f32::INFINITY)], [f32::INFINITY; 2]);
        assert!(exp(88.72).is_finite());
        assert_eq!([tanh(100.0), tanh(-100.0), tanh(0.0)], [1.0, -1.0, 0.0]);
        assert_eq!([sigmoid(200.0), sigmoid(-200.0), sigmoid(0.0)], [1.0, 0.0, 0.5]);
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
    }
}
