//! Federated unlearning: data that clients have taught a model are to be forgotten.
//!
//! A run trains by federated averaging for `protocol.rounds` rounds. Then the request comes: some
//! clients, or a fraction of their items, are to be forgotten. An [`UnlearningMethod`] has rounds
//! of its own for that, so that the ledger counts its bytes and its time as any other. Messages are
//! those of FedAvg.
//!
//! | exchange | direction | payload                                 | bytes            |
//! |----------|-----------|-----------------------------------------|------------------|
//! | `model`  | downlink  | weights, dense `f32`                    | 4 × n_params     |
//! | `update` | uplink    | training samples as `u32`, then weights | 4 × n_params + 4 |
//!
//! | method | after the request | source |
//! |---|---|---|
//! | [`Keep`] | training goes on without the data, if at all | control |
//! | [`Retrain`] | training from the initial model without the data | exact |
//! | [`FedEraser`] | stored updates, calibrated by short training | Liu et al. 2021 |
//! | [`RapidRetrain`] | training from the initial model, preconditioned | Liu et al. 2022 |
//! | [`Ascent`] | projected gradient ascent on the data, then recovery | Halimi et al. 2022 |
//! | [`Shards`] | only the group of the data is retrained | Bourtoule et al. 2021, exact |
//!
//! - **Reference.** At the end of a run the evaluator trains the model that [`Retrain`] leads to:
//!   in the same environment, from the same initial model, with the same streams, on clients that
//!   never had the data. Distance and agreement are those to this model. It costs as much training
//!   as the rounds before the request.
//! - **Attacks** ask about marked items alone: training items that are to be forgotten, against
//!   marked items that no client trains on
//!   ([`Forgotten`](folkmoot_classifiers::classifier::Forgotten)).
//!   The shadow models of LiRA are whole runs, and so are unlearned too.
//! - **All clients** take part in each round, except those that are forgotten, and none drops out
//!   of a calibration unnoticed: a stored update without a new one does not count.

mod ascent;
mod evaluator;
mod fed_eraser;
mod keep;
mod method;
mod params;
mod plan;
mod rapid_retrain;
mod retrain;
mod shards;
mod state;
mod terms;
#[cfg(test)]
mod tests;
mod trainer;

pub use ascent::Ascent;
pub use fed_eraser::FedEraser;
pub use keep::Keep;
pub use method::{Local, UnlearningMethod};
pub use params::{Forget, Params};
pub use rapid_retrain::RapidRetrain;
pub use retrain::Retrain;
pub use shards::Shards;
pub use state::{ServerState, Stored};
pub use trainer::Unlearning;

use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("unlearning");
    registry.add::<Params>()?;
    registry.add_component::<dyn UnlearningMethod, Keep>()?;
    registry.add_component::<dyn UnlearningMethod, Retrain>()?;
    registry.add_component::<dyn UnlearningMethod, FedEraser>()?;
    registry.add_component::<dyn UnlearningMethod, RapidRetrain>()?;
    registry.add_component::<dyn UnlearningMethod, Ascent>()?;
    registry.add_component::<dyn UnlearningMethod, Shards>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, folkmoot_classifiers::register, register])
}
