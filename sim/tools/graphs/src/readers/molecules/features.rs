//! One-hot features of atoms: the usual set of molecular graph networks.
//!
//! | columns | what         | values                                                                          |
//! |---------|--------------|---------------------------------------------------------------------------------|
//! | 0..16   | element      | B C N O F Si P S Cl As Se Br Te I At, other                                     |
//! | 16..23  | degree       | 0 to 5 neighbours in the graph, 6 or more                                       |
//! | 23..29  | charge       | −2, −1, 0, 1, 2, other                                                          |
//! | 29..35  | hydrogens    | 0 to 4, 5 or more                                                               |
//! | 35..41  | hybridisation| sp, sp², sp³, sp³d, sp³d², other                                                |
//! | 41      | aromatic     | 0 or 1                                                                          |
//! | 42      | in a ring    | 0 or 1                                                                          |
//!
//! The elements are those of AttentiveFP (Z. Xiong et al. Pushing the Boundaries of Molecular
//! Representation for Drug Discovery with the Graph Attention Mechanism. Journal of Medicinal
//! Chemistry 63, 2020, Table 1).

use folkmoot_molecules::{Atom, Hybridisation};
use std::ops::Range;

/// How many features an atom has.
pub(super) const N_FEATURES: u32 = 43;

/// Those that change when a bond is taken away: all but element and charge. Hydrogens are what the
/// bonds leave of the valence.
pub(super) const STRUCTURAL: [Range<u32>; 2] = [16..23, 29..N_FEATURES];

const ELEMENTS: [u8; 15] = [5, 6, 7, 8, 9, 14, 15, 16, 17, 33, 34, 35, 52, 53, 85];

/// The columns that are 1, ascending; all others are 0.
pub(super) fn columns(atom: &Atom) -> Vec<u32> {
    let element = ELEMENTS.iter().position(|&number| number == atom.number).unwrap_or(15) as u32;
    let charge = match atom.charge {
        -2..=2 => (i32::from(atom.charge) + 2) as u32,
        _ => 5,
    };
    let hybridisation = match atom.hybridisation {
        Hybridisation::Sp => 0,
        Hybridisation::Sp2 => 1,
        Hybridisation::Sp3 => 2,
        Hybridisation::Sp3d => 3,
        Hybridisation::Sp3d2 => 4,
        Hybridisation::S | Hybridisation::Other => 5,
    };
    let mut columns = vec![
        element,
        16 + u32::from(atom.degree).min(6),
        23 + charge,
        29 + u32::from(atom.hydrogens).min(5),
        35 + hybridisation,
    ];
    columns.extend(atom.aromatic.then_some(41));
    columns.extend(atom.in_ring.then_some(42));
    columns
}
