//! Methods for one graph that is cut among clients: each holds some nodes, and what lies between
//! the nodes of two is lost to both unless they speak of it.
//!
//! - [`ada_fgl`]: each client makes a network for its own graph of what the common model says of
//!   it, after federated averaging.
//! - [`fed_gcn`]: what neighbours of other clients sum up to is exchanged once, before federated
//!   averaging.
//! - [`fed_sage`]: clients make up neighbours that are missing before federated averaging, or do
//!   not.
//!
//! Each is a folder that one can read alone; what all share is [`Cut`], who holds what and who
//! borders on whom. What is exchanged before training takes codecs by one rule.
//!
//! A method is a folder of this crate and one line in [`register`]. `Part` has what a client holds
//! and its borders with others.

pub mod ada_fgl;
mod codec;
mod cut;
pub mod fed_gcn;
pub mod fed_sage;

pub use cut::{Cut, Part};

use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("subgraphs");
    registry.add::<fed_gcn::Params>()?;
    registry.add::<ada_fgl::Params>()?;
    registry.add::<fed_sage::Params>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, folkmoot_classifiers::register, register])
}
