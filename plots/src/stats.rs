//! Means with 95 % intervals over seeds.

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

/// A mean and, from two values on, its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// The mean of `values`; NaN if there are none or one is NaN.
pub(crate) fn mean(values: &[f64]) -> Mean {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let half = t_95(values.len().saturating_sub(1)) * (squares / (n - 1.0) / n).sqrt();
    let interval = (values.len() > 1 && half.is_finite()).then_some((mean - half, mean + half));
    Mean { mean, interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_students_t() {
        let Mean { mean, interval } = mean(&[1.0, 2.0, 3.0]);
        let (lo, hi) = interval.unwrap();
        assert_eq!(mean, 2.0);
        // Three values, s = 1: 4.303 / sqrt(3) = 2.4843 on both sides.
        assert!((lo - (2.0 - 2.4843)).abs() < 1e-3 && (hi - (2.0 + 2.4843)).abs() < 1e-3);
        assert_eq!(
            super::mean(&[5.0]),
            Mean {
                mean: 5.0,
                interval: None
            }
        );
        assert!(super::mean(&[]).mean.is_nan());
    }

    #[test]
    fn the_quantile_joins_smoothly_and_tends_to_the_normal_one() {
        assert!((t_95(40) - 2.021).abs() < 1e-3 && (t_95(60) - 2.000).abs() < 1e-3 && (t_95(120) - 1.980).abs() < 1e-3);
        assert!((t_95(1_000_000) - 1.960).abs() < 1e-3);
    }
}
