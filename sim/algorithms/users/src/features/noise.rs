//! Noise on every feature: what the multi-bit encoder is compared with.

use super::{Estimate, FeatureRelease, Numbers};
use crate::own::{OwnFeatures, refused};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_privacy::{Gaussian, Mechanism, NoisyCounts};

/// Laplace noise of scale `d (high − low) / epsilon` on every feature.
#[component(name = "LaplaceFeatures", about = "Laplace noise on every feature of a user")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceFeatures {
    /// Privacy budget ε of all features of a user.
    #[component(default = 1.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
}

/// Gaussian noise on every feature, calibrated exactly to the L2 sensitivity `(high − low) √d`
/// (Balle & Wang 2018).
#[component(
    name = "GaussianFeatures",
    about = "Gaussian noise on every feature of a user, the analytic Gaussian mechanism"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianFeatures {
    /// Privacy budget ε of all features of a user.
    #[component(default = 1.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
    /// Privacy parameter δ.
    #[component(default = 1e-10, above = 0, below = 1)]
    pub delta: f64,
}

const UNIT: &str = "all features of a user";

fn report(
    mechanism: &dyn Mechanism<Input = [f64], Release = Vec<f64>>,
    own: OwnFeatures<'_>,
) -> Result<Vec<u8>, StrategyError> {
    let values = own.release(mechanism)?;
    let mut report = Vec::with_capacity(4 * values.len());
    values.iter().for_each(|value| put_f32s(&mut report, &[*value as f32]));
    Ok(report)
}

fn read(report: &[u8], n_features: usize) -> Option<Estimate> {
    let values = WireReader::new(report).rest_f32().ok()?;
    (values.len() == n_features).then(|| Estimate {
        base: 0.0,
        others: (0..).zip(values).collect(),
    })
}

impl FeatureRelease for LaplaceFeatures {
    fn mechanism(&self) -> &'static str {
        "Laplace noise: features"
    }

    fn epsilon(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    fn numbers(&self) -> Option<Numbers> {
        Some(Numbers::All)
    }

    fn report(&self, own: OwnFeatures<'_>) -> Result<Vec<u8>, StrategyError> {
        let (low, high) = own.range();
        let sensitivity = own.n_features() as f64 * (high - low);
        let noise = NoisyCounts::new(self.epsilon, sensitivity, UNIT).map_err(refused)?;
        report(&noise, own)
    }

    fn read(&self, report: &[u8], n_features: usize, _: (f64, f64)) -> Option<Estimate> {
        read(report, n_features)
    }
}

impl FeatureRelease for GaussianFeatures {
    fn mechanism(&self) -> &'static str {
        "Gaussian noise: features"
    }

    fn epsilon(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    fn numbers(&self) -> Option<Numbers> {
        Some(Numbers::All)
    }

    fn report(&self, own: OwnFeatures<'_>) -> Result<Vec<u8>, StrategyError> {
        let (low, high) = own.range();
        let sensitivity = (own.n_features() as f64).sqrt() * (high - low);
        let noise = Gaussian::calibrated(self.epsilon, self.delta, sensitivity, UNIT).map_err(refused)?;
        report(&noise, own)
    }

    fn read(&self, report: &[u8], n_features: usize, _: (f64, f64)) -> Option<Estimate> {
        read(report, n_features)
    }
}
