//! What is known of how a release spreads: enough to add releases up by every composition.

use crate::mechanism::PrivacyCost;
use serde::{Deserialize, Serialize};

/// How far apart the releases of two neighbouring inputs can be.
///
/// A mechanism states the narrowest law that holds for it
/// ([`Mechanism::law`](crate::Mechanism::law)). It is small and plain, so that a ledger can keep it
/// instead of the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Law {
    /// No more is known than the two bounds; with an infinite epsilon nothing protects.
    Bound {
        /// At least 0.
        epsilon: f64,
        /// In 0..=1.
        delta: f64,
    },
    /// Randomised response over `n_values` values, each other one as likely as the next.
    Response {
        /// The log ratio of keeping a value to any other one.
        epsilon: f64,
        /// At least 2.
        n_values: u32,
    },
    /// Laplace noise: neighbours lie at most `epsilon` of its scales apart.
    Laplace {
        /// Sensitivity (L1) over scale.
        epsilon: f64,
    },
    /// Normal noise: neighbours lie at most `shift` of its standard deviations apart.
    Normal {
        /// Sensitivity (L2) over standard deviation.
        shift: f64,
        /// The epsilon that is stated for one release,
        epsilon: f64,
        delta: f64,
    },
    /// Normal noise on a sum over a random sample; [`Law::sampled_normal`] makes one.
    SampledNormal {
        /// How the sample is drawn.
        sampling: Sampling,
        /// How likely one is to be in it, in 0..=1.
        rate: f64,
        /// How many standard deviations neighbours lie apart at most where they are in it.
        shift: f64,
        /// The epsilon that is stated for one release,
        epsilon: f64,
        delta: f64,
    },
}

/// How a random sample is drawn, which says what neighbours are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sampling {
    /// Each by a coin of its own. Neighbours differ in that one is there or not.
    Poisson,
    /// So many, without replacement, of as many as there are. Neighbours differ in what one of them
    /// holds.
    FixedSize,
}

impl Law {
    /// The law of what nothing protects.
    pub const UNPROTECTED: Law = Law::Bound {
        epsilon: f64::INFINITY,
        delta: 0.0,
    };

    /// The epsilon of one release; infinite where nothing protects.
    pub fn epsilon(&self) -> f64 {
        match *self {
            Law::Bound { epsilon, .. }
            | Law::Response { epsilon, .. }
            | Law::Laplace { epsilon }
            | Law::Normal { epsilon, .. }
            | Law::SampledNormal { epsilon, .. } => epsilon,
        }
    }

    /// The delta of one release.
    pub fn delta(&self) -> f64 {
        match *self {
            Law::Bound { delta, .. } | Law::Normal { delta, .. } | Law::SampledNormal { delta, .. } => delta,
            Law::Response { .. } | Law::Laplace { .. } => 0.0,
        }
    }

    /// What one release costs for inputs that differ by one `unit`.
    pub fn cost(&self, unit: &'static str) -> PrivacyCost {
        PrivacyCost {
            epsilon: self.epsilon(),
            delta: self.delta(),
            unit,
        }
    }

    /// An upper bound of the Rényi divergence of `order`, above 1 or infinite, between the releases
    /// of two neighbouring inputs; infinite where nothing protects.
    ///
    /// Of a bare epsilon it is that of the worst mechanism that keeps it, which is randomised
    /// response over two values (Kairouz, Oh and Viswanath 2015). For Gaussian noise
    /// `order × shift² / 2` (Mironov 2017, Corollary 3). Where it is added to a sample, the least of
    /// several bounds (Mironov, Talwar and Zhang 2019; Wang, Balle and Kasiviswanathan 2019; the
    /// noise alone).
    pub fn renyi(&self, order: f64) -> f64 {
        match *self {
            Law::Bound { delta, .. } if delta > 0.0 => f64::INFINITY,
            Law::Bound { epsilon, .. } => crate::renyi::response(epsilon, 2.0, order),
            Law::Response { epsilon, n_values } => crate::renyi::response(epsilon, f64::from(n_values), order),
            Law::Laplace { epsilon } => crate::renyi::laplace(epsilon, order),
            Law::Normal { shift, .. } => 0.5 * order * shift * shift,
            Law::SampledNormal {
                sampling, rate, shift, ..
            } => crate::sampled::divergences(sampling, rate, shift, &[order])[0],
        }
    }

    /// [`Law::renyi`] at each of some orders, which is faster than one at a time.
    pub(crate) fn renyi_at(&self, orders: &[f64]) -> Vec<f64> {
        match *self {
            Law::SampledNormal {
                sampling, rate, shift, ..
            } => crate::sampled::divergences(sampling, rate, shift, orders),
            _ => orders.iter().map(|&order| self.renyi(order)).collect(),
        }
    }

    /// Tells laws apart and puts them into an order, which means nothing but lets sums over them go
    /// one way.
    pub fn key(&self) -> (u8, [u64; 3]) {
        let (kind, numbers) = match *self {
            Law::Bound { epsilon, delta } => (0, [epsilon, delta, 0.0]),
            Law::Response { epsilon, n_values } => (1, [epsilon, f64::from(n_values), 0.0]),
            Law::Laplace { epsilon } => (2, [epsilon, 0.0, 0.0]),
            Law::Normal { shift, epsilon, delta } => (3, [shift, epsilon, delta]),
            // Its epsilon follows from these.
            Law::SampledNormal {
                sampling,
                rate,
                shift,
                delta,
                ..
            } => (4 + sampling as u8, [rate, shift, delta]),
        };
        (kind, numbers.map(f64::to_bits))
    }
}
