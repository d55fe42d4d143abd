//! How numbers spread, over seeds, shuffles or folds: their mean, their deviation and the interval
//! of the mean.

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The two-sided 95 % quantile of Student's t; beyond 30 degrees of freedom by the first term of
/// its expansion about the normal quantile, which is right to three digits there.
pub fn t_95(df: usize) -> f64 {
    match df {
        0 => f64::INFINITY,
        1..=30 => T_95[df - 1],
        _ => 1.95996 + 2.3723 / df as f64 + 2.82 / (df as f64 * df as f64),
    }
}

/// The probability of a Student's t at least as far from 0 as `t`, by the finite series for whole
/// degrees of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). Its error is about 1e-15, so
/// smaller values mean "below 1e-15".
fn t_two_sided(t: f64, df: usize) -> f64 {
    if t.is_nan() || df == 0 {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    let ratio = t.abs() / (df as f64).sqrt();
    let cosine = 1.0 / ratio.hypot(1.0);
    let sine = ratio * cosine;
    let (first, mut term) = if df.is_multiple_of(2) {
        (1, sine)
    } else {
        (2, sine * cosine)
    };
    let mut sum = 0.0;
    for k in (first..df).step_by(2) {
        sum += term;
        term *= cosine * cosine * k as f64 / (k + 1) as f64;
    }
    let within = match df {
        _ if df.is_multiple_of(2) => sum,
        _ => std::f64::consts::FRAC_2_PI * (ratio.atan() + sum),
    };
    (1.0 - within).clamp(0.0, 1.0)
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

    /// The standard deviation of what the values are a sample of: squares over `n - 1`; 0 for a
    /// single value.
    pub fn sample_std(&self) -> f64 {
        match self.n {
            0 | 1 => 0.0,
            n => (self.squares / (n as f64 - 1.0)).sqrt(),
        }
    }

    /// The standard deviation of the values themselves, where they are all there are: squares over
    /// `n`.
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

    /// From two values on, the two-sided p value of a mean of `expected`, by Student's t; `error`
    /// is added to the standard error as the root of the sum of squares. `None` where every value
    /// is the same and `error` is 0.
    pub fn p_value(&self, expected: f64, error: f64) -> Option<f64> {
        let error = self.standard_error()?.hypot(error);
        let p = t_two_sided((self.mean - expected) / error, self.n - 1);
        (error > 0.0 && p.is_finite()).then_some(p)
    }

    /// From two values on, the p value of a mean outside of `expected ± margin`, by two one-sided
    /// tests (Schuirmann 1987); `error` as in [`p_value`](Self::p_value).
    pub fn p_outside(&self, expected: f64, margin: f64, error: f64) -> Option<f64> {
        let error = self.standard_error()?.hypot(error);
        if error == 0.0 {
            return None;
        }
        let one_sided = |t: f64| {
            let both = t_two_sided(t, self.n - 1);
            if t > 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
        };
        let distance = self.mean - expected;
        let [low, high] = [margin + distance, margin - distance].map(|room| one_sided(room / error));
        Some(low.max(high)).filter(|p| p.is_finite())
    }

    /// From two values on, the 95 % interval of the mean of what they are a sample of, by Student's
    /// t.
    pub fn interval_95(&self) -> Option<(f64, f64)> {
        self.interval_with(0.0)
    }

    /// The same with another standard error beside its own, added as the root of the sum of
    /// squares.
    pub fn interval_with(&self, error: f64) -> Option<(f64, f64)> {
        let half = t_95(self.n.saturating_sub(1)) * self.standard_error()?.hypot(error);
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
    fn p_values_are_those_of_scipy() {
        // scipy.stats: 2 * t.sf(t, df).
        for (t, df, p) in [
            (1.0, 1, 0.5),
            (4.302652729696, 2, 0.05),
            (2.0, 2, 0.183503419072),
            (3.182446305284, 3, 0.05),
            (1.5, 4, 0.208),
            (2.5, 9, 0.033861827683),
            (1.96, 59, 0.054724173523),
            (0.0, 5, 1.0),
        ] {
            assert!((t_two_sided(t, df) - p).abs() < 5e-7, "{t} {df} {}", t_two_sided(t, df));
            assert_eq!(t_two_sided(t, df), t_two_sided(-t, df));
        }
        let spread = Spread::of(&[1.0, 2.0, 3.0]);
        assert!((spread.p_value(2.0, 0.0).unwrap() - 1.0).abs() < 1e-12);
        assert!(spread.p_value(0.0, 0.0).unwrap() < spread.p_value(0.0, 1.0).unwrap());
        assert_eq!(Spread::of(&[1.0, 1.0]).p_value(0.0, 0.0), None);
        // An interval of 90 % that ends at the margin has p = 0.05 on that side.
        let margin = 1.0 + 2.919985580355 / 3.0_f64.sqrt();
        assert!((spread.p_outside(1.0, margin, 0.0).unwrap() - 0.05).abs() < 1e-6);
        assert!(spread.p_outside(1.0, 0.1, 0.0).unwrap() > 0.5);
    }

    #[test]
    fn the_quantile_joins_smoothly_and_tends_to_the_normal_one() {
        assert!((t_95(40) - 2.021).abs() < 1e-3 && (t_95(60) - 2.000).abs() < 1e-3 && (t_95(120) - 1.980).abs() < 1e-3);
        assert!((t_95(1_000_000) - 1.960).abs() < 1e-3);
    }
}
