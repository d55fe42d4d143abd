//! Laplace and Gaussian noise on values, in one of two forms.
//!
//! A sum of a value and floating-point noise reveals the value by its low bits: many doubles are
//! the sum for one value and for no other (I. Mironov. On Significance of the Least Significant
//! Bits for Differential Privacy. CCS 2012). Discrete noise has no such bits. Values are rounded to
//! a grid, and an integer number of grid steps is drawn in exact arithmetic and added to them.
//!
//! - **Grid.** Its step is a power of two of at most [`GRANULARITY`] scales of the noise. It
//!   depends on public numbers alone: scale, sensitivity and number of values.
//! - **Sensitivity.** Rounding moves a value by at most half a step, so two neighbours may come one
//!   step closer or go one step apart in each value. A second step is for the floating-point
//!   arithmetic by which values, such as sums, were computed. `n` values widen the sensitivity by
//!   `2 n` steps (L1, Laplace) or `2 √n` steps (L2, Gaussian). The noise is scaled by the same
//!   ratio, so the stated epsilon holds. Whole numbers lie on the grid and widen nothing.
//! - **Distribution.** One step is added to every scale. Whatever a discrete distribution reveals
//!   beyond the continuous one of the same scale is less than that step hides; the tests compare
//!   both for every epsilon. So a mechanism has one [`Law`](crate::Law) for both forms.

use crate::mechanism::ReleaseError;
use folkmoot_draws::{MAX_DISCRETE_SCALE, SimRng, discrete_laplace, discrete_normal};
use folkmoot_parts::component;

/// Form of Laplace and Gaussian noise.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseForm {
    /// Discrete Laplace and discrete Gaussian noise in exact arithmetic (Canonne, Kamath & Steinke
    /// 2020). Values are rounded to a grid with a step of at most 2^-20 noise scales, and the noise
    /// covers the rounding.
    #[default]
    Discrete,
    /// Floating-point noise. The low bits of a release reveal its input (Mironov 2012), so the
    /// stated epsilon holds for real numbers only.
    Float,
}

/// The largest step of the grid of discrete noise, in scales of the noise.
pub const GRANULARITY: f64 = 1.0 / (1 << 20) as f64;

/// The largest ratio by which rounding widens a sensitivity, where the grid can be as fine.
const WIDENING: f64 = 1.0 / (1 << 10) as f64;

/// The finest step of a grid, in scales of the noise: the samplers end there.
const FINEST: f64 = 4.0 / MAX_DISCRETE_SCALE as f64;

/// Values of more steps than 2^100 are refused: noise has no effect on them.
const MOST_STEPS: f64 = (1u128 << 100) as f64;

/// The values that noise is added to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers, such as counts and bits.
    Whole,
    /// So many real numbers, which one unit moves by the sensitivity: in L1 for Laplace noise, in
    /// L2 for Gaussian. Infinite where nothing bounds them, and nothing is protected.
    Real { n: usize, sensitivity: f64 },
}

/// A noise distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Laplace,
    Gaussian,
}

/// Noise of one scale in one form, to be added to values one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    kind: Kind,
    /// The scale of the Laplace distribution or the standard deviation.
    scale: f64,
    grid: Option<Grid>,
}

/// The grid of discrete noise.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grid {
    step: f64,
    /// The scale of the noise in steps.
    scale: u64,
    takes_whole: bool,
}

impl Noise {
    /// Noise of a scale on `values`; the step of a grid is at least `least_step`.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Scale`] when the scale is above 2^46 steps.
    pub(crate) fn new(
        (kind, scale): (Kind, f64),
        form: NoiseForm,
        values: Values,
        least_step: f64,
    ) -> Result<Noise, ReleaseError> {
        let grid = match form {
            NoiseForm::Float => None,
            NoiseForm::Discrete => Some(Grid::new((kind, scale), values, least_step)?),
        };
        Ok(Noise { kind, scale, grid })
    }

    /// The step of the grid; `None` for floating-point noise.
    pub fn granularity(&self) -> Option<f64> {
        self.grid.map(|grid| grid.step)
    }

    /// Checks that noise can be added to each of `values`.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Value`] for a value that is not finite. With discrete noise also for a
    /// fraction among whole numbers, and for a value of more than 2^100 steps.
    pub fn check(&self, values: &[f64]) -> Result<(), ReleaseError> {
        let is_legal = |value: f64| match &self.grid {
            None => value.is_finite(),
            Some(grid) => {
                let is_whole = !grid.takes_whole || value % 1.0 == 0.0;
                (value / grid.step).abs() <= MOST_STEPS && is_whole
            }
        };
        match values.iter().position(|value| !is_legal(*value)) {
            None => Ok(()),
            Some(index) => Err(ReleaseError::Value {
                index,
                value: values[index],
            }),
        }
    }

    /// A value, which [`check`](Noise::check) accepts, with noise. A floating-point draw takes one
    /// `u64` of Laplace noise, two of Gaussian.
    pub fn add(&self, value: f64, rng: &mut SimRng) -> f64 {
        let Some(grid) = &self.grid else {
            return value + self.scale * self.float(rng);
        };
        let noise = match self.kind {
            Kind::Laplace => discrete_laplace(rng, grid.scale),
            Kind::Gaussian => discrete_normal(rng, grid.scale),
        };
        let steps = (value / grid.step).round() as i128;
        (steps + noise) as f64 * grid.step
    }

    fn float(&self, rng: &mut SimRng) -> f64 {
        match self.kind {
            Kind::Laplace => folkmoot_draws::laplace(rng),
            Kind::Gaussian => folkmoot_draws::normal(rng),
        }
    }

    /// Each of `values` with noise of its own, in index order.
    ///
    /// # Errors
    ///
    /// As [`Noise::check`]; nothing is drawn then.
    pub fn add_to(&self, values: &[f64], rng: &mut SimRng) -> Result<Vec<f64>, ReleaseError> {
        self.check(values)?;
        Ok(values.iter().map(|value| self.add(*value, rng)).collect())
    }
}

impl Grid {
    fn new((kind, scale): (Kind, f64), values: Values, least_step: f64) -> Result<Grid, ReleaseError> {
        let (n, sensitivity) = match values {
            Values::Whole => (0, f64::INFINITY),
            Values::Real { n, sensitivity } => (n, sensitivity),
        };
        // So many steps two neighbours move apart.
        let spread = match kind {
            Kind::Laplace => 2.0 * n as f64,
            Kind::Gaussian => 2.0 * (n as f64).sqrt(),
        };
        let takes_whole = values == Values::Whole;
        let most = match takes_whole {
            true => 1.0,
            false => sensitivity * WIDENING / spread,
        };
        let step = (scale * GRANULARITY).min(most).max(scale * FINEST).max(least_step);
        let step = match takes_whole {
            true => step.min(1.0),
            false => step,
        };
        // The power of two below, which is a normal number.
        let (_, exponent) = libm::frexp(step);
        let step = libm::ldexp(1.0, (exponent - 1).max(-1000));
        let steps = (scale * (1.0 + spread * step / sensitivity) / step).ceil() + 1.0;
        match steps <= MAX_DISCRETE_SCALE as f64 {
            true => Ok(Grid {
                step,
                scale: steps as u64,
                takes_whole,
            }),
            false => Err(ReleaseError::Scale { scale, sensitivity }),
        }
    }
}

#[cfg(test)]
mod tests;
