//! What comes with the program: a line for each crate of algorithms, and the cards and claims in the folders that they name.

use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::claims::ClaimsFile;
use folkmoot_scenarios::registry::{Registry, Scenarios};

/// What adds the components of a crate of algorithms to a registry.
pub type Register = fn(&mut Registry) -> Result<(), DuplicateName>;

macro_rules! crates {
    ($($name:ident = $of:ident,)*) => {
        $(pub use $of as $name;)*

        /// Every crate of algorithms that comes with the program, shared ones first.
        pub const CRATES: &[Register] = &[$($of::register),*];
    };
}

crates! {
    rounds = folkmoot_rounds,
    classifiers = folkmoot_classifiers,
    walks = folkmoot_walks,
    gw_ldp = folkmoot_gw_ldp,
    fgcl = folkmoot_fgcl,
    ppgm = folkmoot_ppgm,
    subgraphs = folkmoot_subgraphs,
    users = folkmoot_users,
}

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
