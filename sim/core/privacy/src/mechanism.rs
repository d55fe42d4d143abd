//! What every mechanism has: a release and its cost.

use crate::law::Law;
use crate::noise::NoiseForm;
use folkmoot_draws::SimRng;
use std::marker::PhantomData;
use thiserror::Error;

/// One differentially private release.
///
/// Refines the idea "input to release" by an error: a guarantee holds for inputs within the
/// mechanism's domain, and quietly moving another input into it would change what is measured.
pub trait Mechanism: Send + Sync {
    /// What must not be seen.
    type Input: ?Sized;
    /// What is seen instead.
    type Release;

    /// Draws a release of `input` from `rng`, which it alone uses in a fixed order stated by the
    /// implementation. Laplace and Gaussian noise has the given form; other mechanisms ignore it.
    ///
    /// # Errors
    ///
    /// When `input` lies outside the mechanism's domain. Nothing has been drawn then, and nothing
    /// is spent.
    fn release_in(&self, form: NoiseForm, input: &Self::Input, rng: &mut SimRng)
    -> Result<Self::Release, ReleaseError>;

    /// A release with discrete noise.
    ///
    /// # Errors
    ///
    /// As [`release_in`](Self::release_in).
    fn release(&self, input: &Self::Input, rng: &mut SimRng) -> Result<Self::Release, ReleaseError> {
        self.release_in(NoiseForm::Discrete, input, rng)
    }

    /// The same as [`release_in`](Self::release_in), into memory that is there already. Default:
    /// the release takes its place.
    ///
    /// # Errors
    ///
    /// As [`release_in`](Self::release_in); `out` may then hold anything.
    fn release_into(
        &self,
        form: NoiseForm,
        input: &Self::Input,
        rng: &mut SimRng,
        out: &mut Self::Release,
    ) -> Result<(), ReleaseError> {
        *out = self.release_in(form, input, rng)?;
        Ok(())
    }

    /// What one release costs.
    fn cost(&self) -> PrivacyCost;

    /// The narrowest law that its releases keep, with the epsilon and delta of its cost. Default:
    /// those two, and no more is known.
    fn law(&self) -> Law {
        let PrivacyCost { epsilon, delta, .. } = self.cost();
        Law::Bound { epsilon, delta }
    }
}

/// The price of a release: for inputs that differ by one `unit`,
/// `P[out in S] <= e^epsilon P'[out in S] + delta` for every S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivacyCost {
    /// At least 0; infinite where nothing protects.
    pub epsilon: f64,
    /// In 0..=1.
    pub delta: f64,
    /// What two neighbouring inputs differ by, for example `one neighbour of a device`.
    pub unit: &'static str,
}

impl PrivacyCost {
    /// The cost of what nothing protects.
    pub const UNPROTECTED: PrivacyCost = PrivacyCost {
        epsilon: f64::INFINITY,
        delta: 0.0,
        unit: "nothing",
    };
}

/// Why an input cannot be released.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ReleaseError {
    /// There is nothing to choose from.
    #[error("there is nothing to choose from")]
    Empty,
    /// The input does not have the shape that the mechanism was made for.
    #[error("the input must have {expected} values, got {got}")]
    Length {
        /// How many values it must have.
        expected: usize,
        /// How many it has.
        got: usize,
    },
    /// A value lies outside the mechanism's domain.
    #[error("value {index} of the input lies outside the mechanism's domain, got {value}")]
    Value { index: usize, value: f64 },
    /// Exact arithmetic has too few bits for the grid of such noise.
    #[error("discrete noise of scale {scale} for sensitivity {sensitivity} needs more than 2^46 grid steps")]
    Scale { scale: f64, sensitivity: f64 },
}

/// A parameter that no mechanism can have.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{}: must be {}, got {}", .name, .rule, .got)]
pub struct ParameterError {
    pub name: &'static str,
    /// What it must be.
    pub rule: &'static str,
    pub got: f64,
}

/// Checks that a parameter is finite and greater than 0.
pub(crate) fn positive(name: &'static str, got: f64) -> Result<f64, ParameterError> {
    let rule = "finite and greater than 0";
    match got.is_finite() && got > 0.0 {
        true => Ok(got),
        false => Err(ParameterError { name, rule, got }),
    }
}

/// Checks that a parameter lies strictly between 0 and 1.
pub(crate) fn share(name: &'static str, got: f64) -> Result<f64, ParameterError> {
    let rule = "greater than 0 and less than 1";
    match got > 0.0 && got < 1.0 {
        true => Ok(got),
        false => Err(ParameterError { name, rule, got }),
    }
}

/// Checks that every value can take noise.
pub(crate) fn all_finite(values: &[f64]) -> Result<(), ReleaseError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(ReleaseError::Value {
            index,
            value: values[index],
        }),
    }
}

/// No protection: the release is the input. The twin of every mechanism, for tests that isolate
/// something else.
#[derive(Clone, Copy, Debug)]
pub struct NoPrivacy<T: ?Sized>(PhantomData<fn(&T)>);

impl<T: ?Sized> NoPrivacy<T> {
    pub fn new() -> Self {
        NoPrivacy(PhantomData)
    }
}

impl<T: ?Sized> Default for NoPrivacy<T> {
    fn default() -> Self {
        NoPrivacy::new()
    }
}

impl<T: ToOwned + ?Sized> Mechanism for NoPrivacy<T> {
    type Input = T;
    type Release = T::Owned;

    fn release_in(&self, _: NoiseForm, input: &T, _rng: &mut SimRng) -> Result<T::Owned, ReleaseError> {
        Ok(input.to_owned())
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost::UNPROTECTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Rng, SeedableRng};

    #[test]
    fn no_privacy_gives_the_input_and_draws_nothing() {
        let (mut rng, mut twin) = (SimRng::seed_from_u64(1), SimRng::seed_from_u64(1));
        let none = NoPrivacy::<[f64]>::new();
        assert_eq!(none.release(&[1.0, 2.0], &mut rng).unwrap(), [1.0, 2.0]);
        let mut out = vec![7.0];
        none.release_into(NoiseForm::Float, &[1.0, 2.0], &mut rng, &mut out)
            .unwrap();
        assert_eq!(out, [1.0, 2.0]);
        assert_eq!(rng.next_u64(), twin.next_u64());
        assert_eq!((none.cost().epsilon, none.cost().unit), (f64::INFINITY, "nothing"));
        assert_eq!(none.law().renyi(2.0), f64::INFINITY);
    }
}
