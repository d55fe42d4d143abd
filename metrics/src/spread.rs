//! How numbers spread, over seeds, shuffles or folds: their mean, their deviation and the interval of the mean.

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The two-sided 95 % quantile of Student's t; beyond 30 degrees of freedom by the first term of its expansion about the
/// normal quantile, which is right to three digits there.
fn t_95(df: usize) -> f64 {
    match df {
        0 => f64::INFINITY,
        1..=30 => T_95[df - 1],
        _ => 1.95996 + 2.3723 / df as f64 + 2.82 / (df as f64 * df as f64),
    }
}

/// The mean of some numbers, and how far they lie from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean; NaN if there are no numbers or one is NaN.
    pub mean: f64,
    n: usize,
    /// The sum of squared deviations from the mean.
    squares: f64,
}

impl Spread {
    /// That of `values`, summed in their order.
    pub fn of(values: &[f64]) -> Spread {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        let n = values.len();
        Spread { mean, n, squares }
    }

    /// The standard deviation of what the values are a sample of: squares over `n - 1`; 0 for a single value.
    pub fn sample_std(&self) -> f64 {
        match self.n {
            0 | 1 => 0.0,
            n => (self.squares / (n as f64 - 1.0)).sqrt(),
        }
    }

    /// The standard deviation of the values themselves, where they are all there are: squares over `n`.
    pub fn population_std(&self) -> f64 {
        (self.squares / self.n as f64).sqrt()
    }

    /// How many values there are.
    pub fn n(&self) -> usize {
        self.n
    }

    /// From two values on, the standard error of the mean of what they are a sample of.
    pub fn standard_error(&self) -> Option<f64> {
        (self.n > 1).then(|| self.sample_std() / (self.n as f64).sqrt())
    }

    /// From two values on, the 95 % interval of the mean of what they are a sample of, by Student's t.
    pub fn interval_95(&self) -> Option<(f64, f64)> {
        let half = t_95(self.n.saturating_sub(1)) * self.standard_error()?;
        half.is_finite().then_some((self.mean - half, self.mean + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_and_interval_are_those_of_the_definitions() {
        let spread = Spread::of(&[1.0, 2.0, 3.0]);
        assert_eq!((spread.mean, spread.sample_std()), (2.0, 1.0));
        assert_eq!((spread.n(), spread.standard_error()), (3, Some(1.0 / 3.0_f64.sqrt())));
        // Numbers whose mean is not in their middle: 4, 1 and 9 from it.
        let skew = Spread::of(&[1.0, 1.0, 7.0]);
        assert_eq!((skew.mean, skew.sample_std()), (3.0, 12.0_f64.sqrt()));
        assert_eq!(Spread::of(&[1.0, f64::INFINITY]).interval_95(), None);
        assert_eq!(spread.population_std(), (2.0f64 / 3.0).sqrt());
        // Three values, s = 1: 4.303 / sqrt(3) = 2.4843 on both sides.
        let (lo, hi) = spread.interval_95().unwrap();
        assert!((lo - (2.0 - 2.4843)).abs() < 1e-3 && (hi - (2.0 + 2.4843)).abs() < 1e-3);
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        let one = Spread::of(&[5.0]);
        assert_eq!((one.mean, one.sample_std(), one.population_std()), (5.0, 0.0, 0.0));
        assert_eq!((one.interval_95(), one.standard_error()), (None, None));
        assert!(Spread::of(&[]).mean.is_nan());
    }

    #[test]
    fn the_quantile_joins_smoothly_and_tends_to_the_normal_one() {
        assert!((t_95(40) - 2.021).abs() < 1e-3 && (t_95(60) - 2.000).abs() < 1e-3 && (t_95(120) - 1.980).abs() < 1e-3);
        assert!((t_95(1_000_000) - 1.960).abs() < 1e-3);
    }
}
