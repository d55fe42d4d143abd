//! What users release of their classes, a part that a card names as `labels`.

use crate::own::{OwnLabel, refused};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{component, component_type};
use folkmoot_privacy::RandomisedResponse;

/// How a class leaves a user.
pub trait LabelRelease: Send + Sync {
    /// What `privacy.csv` calls it; it begins with `none` where nothing protects.
    fn mechanism(&self) -> &'static str;

    /// The epsilon that it claims for a class; none where nothing protects.
    fn epsilon(&self) -> Option<f64>;

    /// The class that a user says it has.
    ///
    /// # Errors
    ///
    /// When it cannot be released.
    fn report(&self, own: OwnLabel<'_>) -> Result<u32, StrategyError>;

    /// The probability that it is the true one of `n_classes`; each other one is as likely as the
    /// next.
    fn keep(&self, n_classes: u32) -> f64;
}

component_type!(LabelRelease, "release of labels", LabelResponse::default());

/// Classes are sent unprotected.
#[component(name = "ClearLabels", about = "classes sent without protection")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClearLabels {}

/// Randomised response over all classes.
#[component(name = "LabelResponse", about = "classes by randomised response (LPGNN, CCS 2021)")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelResponse {
    /// Privacy budget ε of a class.
    #[component(default = 1.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
}

impl LabelRelease for ClearLabels {
    fn mechanism(&self) -> &'static str {
        "none: labels"
    }

    fn epsilon(&self) -> Option<f64> {
        None
    }

    fn report(&self, own: OwnLabel<'_>) -> Result<u32, StrategyError> {
        Ok(own.unprotected())
    }

    fn keep(&self, _: u32) -> f64 {
        1.0
    }
}

impl LabelResponse {
    fn response(&self, n_classes: u32) -> Result<RandomisedResponse, StrategyError> {
        RandomisedResponse::new(self.epsilon, n_classes, "the class of a user").map_err(refused)
    }
}

impl LabelRelease for LabelResponse {
    fn mechanism(&self) -> &'static str {
        "randomised response: labels"
    }

    fn epsilon(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    fn report(&self, own: OwnLabel<'_>) -> Result<u32, StrategyError> {
        let response = self.response(own.n_classes())?;
        own.release(&response)
    }

    fn keep(&self, n_classes: u32) -> f64 {
        self.response(n_classes)
            .map_or(1.0, |response| response.keep_probability())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// p + (C − 1) q = 1 with p / q = e^epsilon, and without noise the class is kept for certain.
    #[test]
    fn a_class_is_kept_as_often_as_epsilon_says() {
        for (epsilon, n_classes) in [(0.5, 7), (1.0, 4), (3.0, 2)] {
            let keep = LabelResponse { epsilon }.keep(n_classes);
            let other = (1.0 - keep) / f64::from(n_classes - 1);
            assert!((libm::log(keep / other) - epsilon).abs() < 1e-12);
        }
        assert_eq!(ClearLabels {}.keep(4), 1.0);
    }
}
