//! The normal law, four times: results are published that were drawn with each.
//!
//! [`normal`] is the one to use. The three others take other words of a stream or take them in
//! another way, so none can stand in for another without moving numbers; they must not gain users.

use crate::SimRng;
use crate::laws::exponential;
use crate::uniform::{positive_unit, unit, unit_f32};

/// Radius and angle of two independent standard normal numbers, `radius cos(angle)` and
/// `radius sin(angle)` (Box and Muller 1958). Takes two `u64`. The radius is at most 8.58, beyond
/// which lies a mass of 1e-16.
pub fn normal_polar(rng: &mut SimRng) -> (f64, f64) {
    let radius = (-2.0 * libm::log(positive_unit(rng).0)).sqrt();
    (radius, std::f64::consts::TAU * unit(rng))
}

/// A draw with mean 0 and variance 1. Takes two `u64`.
pub fn normal(rng: &mut SimRng) -> f64 {
    let (radius, angle) = normal_polar(rng);
    radius * libm::cos(angle)
}

/// The same law with the radius from [`exponential`]: it stays for the log-normal latencies, rates
/// and speeds of shipped cards.
#[inline]
pub fn normal_by_exponential(rng: &mut SimRng) -> f64 {
    let radius = libm::sqrt(2.0 * exponential(rng));
    radius * libm::cos(std::f64::consts::TAU * unit(rng))
}

/// The same law by Marsaglia's polar method, whose twin is thrown away: it stays for the gamma
/// draws that deal data to clients. Takes two `u64` for each attempt, of which `π / 4` end.
pub(crate) fn normal_by_rejection(rng: &mut SimRng) -> f64 {
    loop {
        let x = 2.0 * unit(rng) - 1.0;
        let y = 2.0 * unit(rng) - 1.0;
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

/// The same law from numbers of single precision, both values of a pair used: it stays for the
/// starts of shipped models. Takes two `u32` for every two values, and for an odd one out.
pub fn normals_f32(rng: &mut SimRng, deviation: f32, values: &mut [f32]) {
    for pair in values.chunks_mut(2) {
        // Of 1 minus a number below 1 there is a logarithm.
        let radius = (-2.0 * libm::log(1.0 - f64::from(unit_f32(rng)))).sqrt();
        let angle = std::f64::consts::TAU * f64::from(unit_f32(rng));
        for (value, part) in pair.iter_mut().zip([libm::cos(angle), libm::sin(angle)]) {
            *value = deviation * (radius * part) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{N, draws, first_bits, follows};
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn all_four_are_normal() {
        let mut pairs = vec![0.0; N];
        normals_f32(&mut SimRng::seed_from_u64(8), 1.0, &mut pairs);
        let second = |rng: &mut SimRng| {
            let (radius, angle) = normal_polar(rng);
            radius * libm::sin(angle)
        };
        for (name, draws) in [
            ("normal", draws(8, normal)),
            ("its twin", draws(8, second)),
            ("by exponential", draws(8, normal_by_exponential)),
            ("by rejection", draws(8, normal_by_rejection)),
            ("in single precision", pairs.into_iter().map(f64::from).collect()),
        ] {
            follows(name, &draws, [0.0, 1.0, 0.0, 3.0], [1.0, 2.0, 15.0, 96.0]);
            // The distribution function within 4 standard errors.
            for x in [0.0, 0.5, 1.0, 2.0, 3.0] {
                let p = 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
                for side in [1.0, -1.0] {
                    let above = draws.iter().filter(|&&draw| side * draw > x).count() as f64 / N as f64;
                    assert!(
                        (above - p).abs() < 4.0 * (p * (1.0 - p) / N as f64).sqrt(),
                        "{name} at {x}"
                    );
                }
            }
        }
    }

    #[test]
    fn value_stability() {
        assert_eq!(
            first_bits(normal),
            [4_606_704_878_224_319_839, 13_816_822_831_949_529_747]
        );
        assert_eq!(
            first_bits(normal_by_exponential),
            [4_598_874_211_397_379_607, 13_820_729_710_129_756_948]
        );
        assert_eq!(
            first_bits(normal_by_rejection),
            [13_822_680_498_293_869_672, 4_606_647_293_938_446_974]
        );
        let mut values = [0.0; 3];
        normals_f32(&mut SimRng::seed_from_u64(7), 1.0, &mut values);
        assert_eq!(values.map(f32::to_bits), [1_050_276_717, 1_055_609_368, 1_050_670_212]);
    }
}
