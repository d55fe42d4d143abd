//! The exponential and the Laplace law.

use crate::SimRng;
use crate::uniform::{positive_unit, unit};

/// An exponential draw with mean 1, by inversion. Takes one `u64`.
#[inline]
pub fn exponential(rng: &mut SimRng) -> f64 {
    -libm::log1p(-unit(rng))
}

/// A draw with density `exp(-|x|) / 2`. Takes one `u64`: 53 bits for the size, and another one for
/// the sign.
pub fn laplace(rng: &mut SimRng) -> f64 {
    let (size, is_negative) = positive_unit(rng);
    let magnitude = -libm::log(size);
    if is_negative { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{draws, first_bits, follows};

    #[test]
    fn draws_have_their_moments() {
        follows(
            "exponential",
            &draws(5, exponential),
            [1.0, 2.0, 6.0, 24.0],
            [1.0, 20.0, 684.0, 39_744.0],
        );
        follows(
            "laplace",
            &draws(5, laplace),
            [0.0, 2.0, 0.0, 24.0],
            [2.0, 20.0, 720.0, 39_744.0],
        );
    }

    /// As many draws on either side of 0, in bands of any distance from it, as the law says: within
    /// five standard deviations of binomial counts.
    #[test]
    fn laplace_draws_are_even_on_both_sides_of_0() {
        let all = draws(6, laplace);
        let n = all.len() as f64;
        for (from, to) in [
            (0.0, 0.005),
            (0.005, 0.02),
            (0.02, 0.1),
            (0.1, 1.0),
            (1.0, f64::INFINITY),
        ] {
            let of_a_side = 0.5 * (libm::exp(-from) - libm::exp(-to));
            for sign in [-1.0, 1.0] {
                let found = all.iter().filter(|x| (from..to).contains(&(sign * **x))).count() as f64;
                let deviation = (n * of_a_side * (1.0 - of_a_side)).sqrt();
                assert!(
                    (found - n * of_a_side).abs() < 5.0 * deviation,
                    "{sign} {from}..{to}: {found}"
                );
            }
        }
    }

    #[test]
    fn value_stability() {
        assert_eq!(
            first_bits(exponential),
            [4_595_355_358_336_649_912, 4_595_794_078_263_889_560]
        );
        assert_eq!(
            first_bits(laplace),
            [13_834_366_534_785_793_354, 4_610_712_586_167_429_262]
        );
    }
}
