//! Hybridisation by RDKit's rule: neighbours, lone pairs and unpaired electrons are counted, and an
//! atom with four such next to a conjugated bond is planar, as the nitrogen of an amide is.

use super::aromatic::{Aromatic, free_electrons};
use super::draft::Draft;
use super::element::{default_valence, outer_electrons};
use super::valence::explicit_valence;
use super::{BondKind, Hybridisation};

/// From here on (actinides) lone pairs say nothing, and neighbours alone are counted.
const FIRST_ACTINIDE: u8 = 89;

/// The hybridisation of every atom of a Kekulé structure.
pub(super) fn of_all(draft: &Draft, aromatic: &Aromatic) -> Vec<Hybridisation> {
    let conjugated = conjugated_bonds(draft, aromatic);
    let shape = |atom: usize| {
        let it = &draft.atoms[atom];
        if it.number == 0 {
            return Hybridisation::Other;
        }
        let orbitals = if it.number < FIRST_ACTINIDE {
            orbitals(draft, atom)
        } else {
            draft.total_degree(atom)
        };
        let planar = || draft.total_degree(atom) <= 3 && draft.incident(atom).any(|bond| conjugated[bond]);
        match orbitals {
            ..=1 => Hybridisation::S,
            2 => Hybridisation::Sp,
            3 => Hybridisation::Sp2,
            4 if planar() => Hybridisation::Sp2,
            4 => Hybridisation::Sp3,
            5 => Hybridisation::Sp3d,
            6 => Hybridisation::Sp3d2,
            _ => Hybridisation::Other,
        }
    };
    (0..draft.atoms.len()).map(shape).collect()
}

/// Neighbours, lone pairs and unpaired electrons; a metal's dative bonds count, a donor's are its
/// lone pairs.
fn orbitals(draft: &Draft, atom: usize) -> i32 {
    let it = &draft.atoms[atom];
    let given = draft
        .neighbours(atom)
        .filter(|(bond, _)| bond.twice_order(atom) == 0)
        .count() as i32;
    let degree = draft.total_degree(atom) - given;
    if it.number <= 1 {
        return degree;
    }
    let (outer, charge) = (outer_electrons(it.number), i32::from(it.charge));
    let valence = explicit_valence(draft, atom);
    let free = outer - valence - charge;
    if valence + outer - charge < 8 {
        degree + (free - it.radicals) / 2 + it.radicals
    } else {
        degree + free / 2
    }
}

/// Bonds next to a multiple bond between atoms that can share electrons, and that multiple bond;
/// all aromatic bonds.
fn conjugated_bonds(draft: &Draft, aromatic: &Aromatic) -> Vec<bool> {
    let mut conjugated = aromatic.bonds.clone();
    let able: Vec<bool> = (0..draft.atoms.len()).map(|atom| can_conjugate(draft, atom)).collect();
    for atom in 0..draft.atoms.len() {
        if !able[atom] || !(2..=3).contains(&draft.total_degree(atom)) {
            continue;
        }
        for first in draft.incident(atom) {
            let multiple = aromatic.bonds[first] || draft.bonds[first].twice_order(atom) >= 4;
            if !multiple || !able[draft.bonds[first].other(atom)] {
                continue;
            }
            for second in draft.incident(atom).filter(|&second| second != first) {
                let far = draft.bonds[second].other(atom);
                if able[far] && draft.total_degree(far) <= 3 {
                    conjugated[first] = true;
                    conjugated[second] = true;
                }
            }
        }
    }
    debug_assert!(draft.bonds.iter().all(|bond| bond.kind != BondKind::Aromatic));
    conjugated
}

/// An atom with electrons for π bonds, in its least valence, and not a heavy relative of nitrogen
/// or oxygen.
fn can_conjugate(draft: &Draft, atom: usize) -> bool {
    let it = &draft.atoms[atom];
    let least = default_valence(it.number);
    if it.charge == 0 && least.is_some_and(|least| explicit_valence(draft, atom) > least) {
        return false;
    }
    let heavy = match outer_electrons(it.number) {
        _ if it.number <= 10 => false,
        5 => true,
        // The sulphur of a thioamide takes part, that of a thioether does not.
        6 => draft.total_degree(atom) > 1,
        _ => false,
    };
    !heavy && free_electrons(draft, atom) > 0
}
