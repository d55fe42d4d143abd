//! An adversary: what malicious clients send.

use folkmoot::draws::unit;
use folkmoot::prelude::*;
use folkmoot::rounds::{Adversary, Crafting};
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// A change of random signs, as long as the honest one.
#[component(name = "RandomSigns", about = "a change of random signs, as long as the honest one")]
#[derive(Clone, Copy, Debug)]
struct RandomSigns {
    /// Factor on the length.
    #[component(default = 1.0, above = 0, at_most = 1e6)]
    factor: f64,
}

impl Adversary for RandomSigns {
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
        let squares: f64 = own.change.iter().map(|x| x * x).sum();
        let size = self.factor * (squares / own.change.len().max(1) as f64).sqrt();
        let sign = |_: &f64| if unit(&mut own.rng) < 0.5 { -size } else { size };
        Some(own.change.iter().map(sign).collect())
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn Adversary, RandomSigns>()?;
    registry.add_card("adversary", include_str!("../cards/adversary.ron"))
}
