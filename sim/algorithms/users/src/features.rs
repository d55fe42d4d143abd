//! What users release of their features, a part that a card names as `features`.

mod clear;
mod multi_bit;
mod noise;
mod packed;

pub use clear::ClearFeatures;
pub use multi_bit::{MultiBitFeatures, OneBitFeatures};
pub use noise::{GaussianFeatures, LaplaceFeatures};
pub use packed::Numbers;

use crate::own::OwnFeatures;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_parts::component_type;

/// A row as the server takes it: `base` in every column but those that are listed, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// What every other column is.
    pub base: f32,
    /// `(column, value)`.
    pub others: Vec<(u32, f32)>,
}

/// How features leave a user, and what the server makes of what it was sent.
pub trait FeatureRelease: Send + Sync {
    /// What `privacy.csv` calls it; it begins with `none` where nothing protects.
    fn mechanism(&self) -> &'static str;

    /// The epsilon that it claims for all features of a user; none where nothing protects.
    fn epsilon(&self) -> Option<f64>;

    /// Whether it can be: asked once before a run. Default: yes.
    ///
    /// # Errors
    ///
    /// Which setting does not suit so many features; the message begins with it.
    fn suits(&self, n_features: usize) -> Result<(), StrategyError> {
        let _ = n_features;
        Ok(())
    }

    /// The form of its reports, if they are numbers, which a codec may pack. Default: they are not.
    fn numbers(&self) -> Option<Numbers> {
        None
    }

    /// What a user sends.
    ///
    /// # Errors
    ///
    /// When its features cannot be released.
    fn report(&self, own: OwnFeatures<'_>) -> Result<Vec<u8>, StrategyError>;

    /// What the server takes a report for, an unbiased estimate of the features; none if it is no
    /// report of this form.
    fn read(&self, report: &[u8], n_features: usize, range: (f64, f64)) -> Option<Estimate>;
}

component_type!(FeatureRelease, "release of features", MultiBitFeatures::default());

/// The number of bits that tell `n` things apart.
pub(crate) fn bits_for(n: usize) -> usize {
    n.saturating_sub(1).checked_ilog2().map_or(0, |log| log as usize + 1)
}
