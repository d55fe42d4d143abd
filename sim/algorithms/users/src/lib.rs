//! Systems whose clients are single nodes: each user of a network holds its own features, its class
//! and its neighbours, and nothing else.
//!
//! - [`LocalGnn`]: users send once what local privacy lets them, and the server trains a graph
//!   network on that: LPGNN, Blink, randomised response.
//! - [`walk_sgd`]: a model that walks from client to client along links, without a server; its
//!   clients may hold more than a node.
//!
//! What users release of [`features`], [`labels`] and [`edges`] is a part each, so that another
//! crate can add one; how it leaves a user, only by a mechanism that is charged, says [`own`]. What
//! the server learns on are [`links`], a graph that noise may have made dense.
//!
//! A release of features, classes or neighbours is a type below [`features`], in [`labels`] or
//! below [`edges`], and one line in [`register`]. Private values come in a wrapper that only a
//! charged mechanism opens, so that no release can be forgotten.

mod attacks;
mod bits;
pub mod edges;
mod evaluator;
pub mod features;
pub mod labels;
pub mod links;
mod local_gnn;
mod matrix;
mod network;
pub mod own;
mod settings;
mod setup;
mod terms;
mod told;
mod train;
mod users;
pub mod walk_sgd;

pub use bits::Bits;
pub use local_gnn::{Facts, LocalGnn, Server, Up, Work};
pub use network::Network;
pub use settings::{Params, Split};
pub use told::Told;
pub use train::{LabelLoss, Learned, Training};
pub use users::{User, Users};

use edges::EdgeRelease;
use features::FeatureRelease;
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use labels::LabelRelease;

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("users");
    registry.add_artifact_tables(&[walk_sgd::evaluator::VISITS]);
    registry.add::<Params>()?;
    registry.add::<walk_sgd::Params>()?;
    registry.add_component::<dyn FeatureRelease, features::ClearFeatures>()?;
    registry.add_component::<dyn FeatureRelease, features::MultiBitFeatures>()?;
    registry.add_component::<dyn FeatureRelease, features::OneBitFeatures>()?;
    registry.add_component::<dyn FeatureRelease, features::LaplaceFeatures>()?;
    registry.add_component::<dyn FeatureRelease, features::GaussianFeatures>()?;
    registry.add_component::<dyn LabelRelease, labels::ClearLabels>()?;
    registry.add_component::<dyn LabelRelease, labels::LabelResponse>()?;
    registry.add_component::<dyn EdgeRelease, edges::PublicEdges>()?;
    registry.add_component::<dyn EdgeRelease, edges::EdgeResponse>()?;
    registry.add_component::<dyn EdgeRelease, edges::Dprr>()?;
    registry.add_component::<dyn EdgeRelease, edges::Blink>()?;
    registry.add_component::<dyn EdgeRelease, edges::LaplaceEdges>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, folkmoot_classifiers::register, register])
}
