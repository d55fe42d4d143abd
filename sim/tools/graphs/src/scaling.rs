//! Normalisation of features that are counts.

use folkmoot_parts::component;
use ndarray::Array2;

use crate::Features;

/// Scaling of count features.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountScaling {
    /// Raw counts, up to 1,517 in the published sets. No paper states a normalisation.
    #[default]
    Raw,
    /// `ln(1 + count)`, elementwise, so a device needs no data of others.
    Log,
    /// Standardised to mean 0 and variance 1 per column; constant columns become 0.
    ///
    /// Mean and variance are over all nodes of the whole set, including validation and test graphs.
    /// Devices would have to report theirs, so do not use it in runs that claim that only messages
    /// leave a device.
    Standard,
}

impl CountScaling {
    /// Scales counts (finite, at least 0) in place; sparse features are left as they are by `Raw`
    /// and become dense otherwise.
    ///
    /// # Determinism
    /// Sums are `f64` in ascending order of nodes; logarithms come from `libm`.
    pub(crate) fn apply(self, features: Features) -> Features {
        if self == CountScaling::Raw {
            return features;
        }
        let mut counts = features.to_dense(&(0..features.n_rows() as u32).collect::<Vec<_>>());
        match self {
            CountScaling::Raw => {}
            CountScaling::Log => counts.mapv_inplace(libm::log1pf),
            CountScaling::Standard => standardise(&mut counts),
        }
        Features::Dense(counts.into())
    }
}

fn standardise(counts: &mut Array2<f32>) {
    let n = counts.nrows() as f64;
    for mut column in counts.columns_mut() {
        let mean = column.iter().fold(0.0, |sum, &value| sum + f64::from(value)) / n;
        let squares = column.iter().fold(0.0, |sum, &value| {
            let centred = f64::from(value) - mean;
            sum + centred * centred
        });
        let deviation = (squares / n).sqrt();
        // The mean of equal values may be off by rounding, and their deviation then is not 0 but
        // nothing beside them.
        let constant = column.iter().all(|value| *value == column[0]);
        column.mapv_inplace(|value| {
            if constant {
                0.0
            } else {
                ((f64::from(value) - mean) / deviation) as f32
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn scaled(scaling: CountScaling) -> Array2<f32> {
        let counts = Features::Dense(array![[0.0, 7.0], [1.0, 7.0], [5.0, 7.0]].into());
        scaling.apply(counts).to_dense(&[0, 1, 2])
    }

    #[test]
    fn each_scaling_by_hand() {
        assert_eq!(scaled(CountScaling::Raw)[[2, 0]], 5.0);
        let log = scaled(CountScaling::Log);
        assert_eq!(
            (log[[0, 0]], log[[1, 0]], log[[2, 1]]),
            (0.0, std::f32::consts::LN_2, 3.0 * std::f32::consts::LN_2)
        );
        // Mean 2, variance (4 + 1 + 9) / 3.
        let deviation = (14.0_f64 / 3.0).sqrt();
        let standard = scaled(CountScaling::Standard);
        assert_eq!(standard.column(0)[0], (-2.0 / deviation) as f32);
        assert_eq!(standard.column(0)[2], (3.0 / deviation) as f32);
        assert!(standard.column(1).iter().all(|value| *value == 0.0));
    }
}
