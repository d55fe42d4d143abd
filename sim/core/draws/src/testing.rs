//! What the tests of all laws share.

use crate::SimRng;
use rand_chacha::rand_core::SeedableRng;

/// How many draws a law is judged by.
pub(crate) const N: usize = 100_000;

/// So many draws from the stream with this seed.
pub(crate) fn draws(seed: u64, draw: impl Fn(&mut SimRng) -> f64) -> Vec<f64> {
    let mut rng = SimRng::seed_from_u64(seed);
    (0..N).map(|_| draw(&mut rng)).collect()
}

/// The bits of the first two draws, which must never change: results are published that came from
/// them.
pub(crate) fn first_bits(draw: impl Fn(&mut SimRng) -> f64) -> [u64; 2] {
    let mut rng = SimRng::seed_from_u64(7);
    [draw(&mut rng), draw(&mut rng)].map(f64::to_bits)
}

/// Fails unless the means of the first four powers are within 4 standard errors of `moments`;
/// `variances` are those of the powers.
#[track_caller]
pub(crate) fn follows(name: &str, draws: &[f64], moments: [f64; 4], variances: [f64; 4]) {
    for (power, (moment, variance)) in (1..).zip(moments.into_iter().zip(variances)) {
        let mean = draws.iter().map(|x| x.powi(power)).sum::<f64>() / draws.len() as f64;
        let error = 4.0 * (variance / draws.len() as f64).sqrt();
        assert!(
            (mean - moment).abs() < error,
            "{name}, power {power}: {mean} for {moment}"
        );
    }
}
