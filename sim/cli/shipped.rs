//! What comes with the program: a line for each crate of algorithms, and the cards and claims in the folders that they name.

use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::claims::ClaimsFile;
use folkmoot_scenarios::registry::{Registry, Scenarios};

/// What adds the components of a crate of algorithms to a registry.
pub type Register = fn(&mut Registry) -> Result<(), DuplicateName>;

/// Every crate of algorithms that comes with the program, shared ones first.
pub const CRATES: &[Register] = &[
    folkmoot_rounds::register,
    folkmoot_classifiers::register,
    folkmoot_walks::register,
    folkmoot_gw_ldp::register,
    folkmoot_fgcl::register,
    folkmoot_ppgm::register,
    folkmoot_subgraphs::register,
    folkmoot_users::register,
];

/// A registry with everything that comes with the program.
pub fn shipped() -> Registry {
    registry(CRATES).expect("shipped names differ")
}

/// A registry with data sets, partitions, the world, and what some crates of algorithms add, with their cards and claims.
///
/// # Errors
///
/// When two things have one name.
pub fn registry(crates: &[Register]) -> Result<Registry, DuplicateName> {
    let mut registry = Registry::base();
    crates.iter().try_for_each(|register| register(&mut registry))?;
    registry.embed(SCENARIOS)?;
    Ok(registry)
}

/// The cards and claims below `scenarios`, folder by folder.
const SCENARIOS: &[Scenarios] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
