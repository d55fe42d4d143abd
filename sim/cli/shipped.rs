//! What comes with the program: a line for each crate of algorithms, and the cards and claims in
//! the folders that they name.

use folkmoot_scenarios::claims::ClaimsFile;
use folkmoot_scenarios::registry::{Register, Registry, Scenarios};

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
    python = folkmoot_python,
    subgraphs = folkmoot_subgraphs,
    unlearning = folkmoot_unlearning,
    users = folkmoot_users,
    links = folkmoot_links,
}

/// A registry with everything that comes with the program.
pub fn shipped() -> Registry {
    registry(CRATES)
}

/// A registry with what some crates of algorithms add, and their cards and claims.
///
/// # Panics
///
/// If two components or cards have one name.
pub fn registry(crates: &[Register]) -> Registry {
    let mut registry = Registry::with(crates);
    registry.embed(SCENARIOS).expect("names of cards differ");
    registry
}

/// The cards and claims below `scenarios`, folder by folder.
const SCENARIOS: &[Scenarios] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
