//! Embeddings of nodes by random walks.
//!
//! - [`deep_walk`]: at a server that knows the whole graph, the baseline.
//! - [`fedwalk`]: over devices, each of which knows its own neighbours.
//!
//! What both share is in [`node_embedding`].
//!
//! An encoder of FedWalk is a type in a file of [`fedwalk::encoder`] and one line in [`register`].

pub mod deep_walk;
pub mod fedwalk;
pub mod node_embedding;

use fedwalk::Encoder;
use fedwalk::encoder::{AsPublished, Calibrated, Identity, Normalised, RandomisedResponse};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("walks");
    registry.add::<fedwalk::Params>()?;
    registry.add::<deep_walk::Params>()?;
    registry.add_component::<dyn Encoder, AsPublished>()?;
    registry.add_component::<dyn Encoder, Calibrated>()?;
    registry.add_component::<dyn Encoder, Normalised>()?;
    registry.add_component::<dyn Encoder, RandomisedResponse>()?;
    registry.add_component::<dyn Encoder, Identity>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[register])
}
