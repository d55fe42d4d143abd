//! Adversaries that need nobody else.

use super::{Adversary, Crafting};
use folkmoot_draws::normal;
use folkmoot_parts::component;

/// The honest change with the other sign, times a factor: the model is driven up the loss.
#[component(name = "SignFlip", about = "the honest change with the other sign")]
#[derive(Clone, Copy, Debug)]
pub struct SignFlip {
    /// Factor on the flipped change.
    #[component(default = 1.0, above = 0, at_most = 1e6)]
    pub factor: f64,
}

impl Adversary for SignFlip {
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
        Some(own.change.iter().map(|x| -self.factor * x).collect())
    }
}

/// Gaussian noise instead of a change (C. Xie, O. Koyejo, I. Gupta. Generalized Byzantine-tolerant
/// SGD. arXiv:1802.10116, section 5.1, there for gradients).
#[component(
    name = "GaussianNoise",
    about = "Gaussian noise instead of a change (Xie et al. 2018)"
)]
#[derive(Clone, Copy, Debug)]
pub struct GaussianNoise {
    /// Standard deviation of each number.
    #[component(default = 1.0, above = 0, at_most = 1e6)]
    pub std: f64,
}

impl Adversary for GaussianNoise {
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
        let n = own.change.len();
        Some((0..n).map(|_| self.std * normal(&mut own.rng)).collect())
    }

    fn trains(&self) -> bool {
        false
    }
}

/// The honest change, times a factor. With the number of updates as factor, one client puts its own
/// model in the place of the mean (model replacement: E. Bagdasaryan et al. How To Backdoor Federated
/// Learning. AISTATS 2020, equation 3).
#[component(
    name = "Scaled",
    about = "the change times a factor: model replacement (Bagdasaryan et al. 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Scaled {
    /// Factor on the change.
    #[component(default = 10.0, above = 0, at_most = 1e6)]
    pub factor: f64,
}

impl Adversary for Scaled {
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
        Some(own.change.iter().map(|x| self.factor * x).collect())
    }
}

/// The model that was sent, with some noise against detection, and no training (J. Lin, M. Du,
/// J. Liu. Free-riders in Federated Learning. arXiv:1911.12560, section 3).
#[component(name = "FreeRider", about = "the received model without training (Lin et al. 2019)")]
#[derive(Clone, Copy, Debug)]
pub struct FreeRider {
    /// Standard deviation of noise on each number.
    #[component(default = 0.0, in = 0..=1e6)]
    pub noise_std: f64,
}

impl Adversary for FreeRider {
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
        let n = own.change.len();
        Some((0..n).map(|_| self.noise_std * normal(&mut own.rng)).collect())
    }

    fn trains(&self) -> bool {
        false
    }
}
