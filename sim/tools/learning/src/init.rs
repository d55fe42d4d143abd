//! How parameters start.

use folkmoot_draws::{SimRng, normals_f32, unit_f32};

/// The start of a matrix of shape `(n_in, n_out)`, as weights are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
    Constant(f32),
    /// Uniform in ±this.
    Uniform(f32),
    /// Uniform in ±`sqrt(6 / (n_in + n_out))` (X. Glorot and Y. Bengio 2010, equation 16).
    Glorot,
    /// Uniform in ±`1 / sqrt(n)` for this `n`, the number of inputs: the usual start of linear
    /// layers and their biases.
    FanIn(usize),
    /// Normal, with mean 0 and this standard deviation.
    Normal(f32),
}

impl Init {
    /// Writes the start of a matrix.
    pub(crate) fn fill(self, rows: usize, columns: usize, rng: &mut SimRng, values: &mut [f32]) {
        match self {
            Init::Zeros => values.fill(0.0),
            Init::Ones => values.fill(1.0),
            Init::Constant(value) => values.fill(value),
            Init::Uniform(bound) => uniform(bound, rng, values),
            Init::Glorot => uniform((6.0 / (rows + columns) as f32).sqrt(), rng, values),
            Init::FanIn(n) => uniform(1.0 / (n.max(1) as f32).sqrt(), rng, values),
            Init::Normal(deviation) => normals_f32(rng, deviation, values),
        }
    }
}

fn uniform(bound: f32, rng: &mut SimRng, values: &mut [f32]) {
    for value in values {
        *value = bound * (2.0 * unit_f32(rng) - 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    fn drawn(init: Init) -> Vec<f32> {
        let mut values = vec![0.0; 100 * 60];
        init.fill(100, 60, &mut SimRng::seed_from_u64(3), &mut values);
        values
    }

    /// The variance within 5 standard errors of the law's, and the mean of 0.
    #[test]
    fn draws_have_the_variance_of_their_law() {
        for (init, variance, kurtosis) in [
            (Init::Uniform(0.3), 0.03, 1.8),
            (Init::Glorot, 2.0 / 160.0, 1.8),
            (Init::FanIn(25), 1.0 / 75.0, 1.8),
            (Init::Normal(2.0), 4.0, 3.0),
        ] {
            let values = drawn(init);
            let n = values.len() as f64;
            let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
            let second = values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n;
            assert!(mean.abs() < 5.0 * (variance / n).sqrt(), "{init:?}: mean {mean}");
            let error = variance * ((kurtosis - 1.0) / n).sqrt();
            assert!((second - variance).abs() < 5.0 * error, "{init:?}: variance {second}");
        }
        assert!(drawn(Init::Glorot).iter().all(|x| x.abs() <= (6.0f32 / 160.0).sqrt()));
    }

    #[test]
    fn value_stability() {
        let bits = |init| drawn(init)[..2].iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
        assert_eq!(bits(Init::Uniform(1.0)), [3_209_201_198, 1_048_303_192]);
        assert_eq!(bits(Init::Normal(1.0)), [3_199_178_399, 3_198_888_167]);
    }
}
