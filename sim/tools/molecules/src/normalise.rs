//! One form for what can be written in several: hydrogens, charge-separated groups, ligands of
//! metals.

use super::BondKind;
use super::draft::{Draft, DraftAtom};
use super::element::{is_metal, max_valence};
use super::valence::{effective_number, explicit_valence};

/// Counts written hydrogens at their heavy neighbour instead of keeping them as atoms.
///
/// A hydrogen stays an atom if leaving it out would lose something: isotopes, hydrides, lone
/// hydrogens and hydrogen molecules, bridges, neighbours of wildcards and of centres with a
/// coordination mark, and the only mark of direction at a double bond.
pub(super) fn fold_hydrogens(draft: &mut Draft) {
    if draft.atoms.iter().all(|atom| atom.number != 1) {
        return;
    }
    draft.join();
    let homes: Vec<Option<usize>> = (0..draft.atoms.len()).map(|atom| home(draft, atom)).collect();
    for &home in homes.iter().flatten() {
        draft.atoms[home].hydrogens += 1;
    }
    let mut new_ids = Vec::with_capacity(homes.len());
    let mut kept: Vec<DraftAtom> = Vec::new();
    for (atom, home) in draft.atoms.iter().zip(&homes) {
        new_ids.push(kept.len() as u32);
        if home.is_none() {
            kept.push(*atom);
        }
    }
    draft
        .bonds
        .retain(|bond| homes[bond.from as usize].is_none() && homes[bond.to as usize].is_none());
    for bond in &mut draft.bonds {
        (bond.from, bond.to) = (new_ids[bond.from as usize], new_ids[bond.to as usize]);
    }
    draft.atoms = kept;
}

/// The heavy atom that a hydrogen is counted at; `None` for all that stay.
fn home(draft: &Draft, atom: usize) -> Option<usize> {
    let it = draft.atoms[atom];
    if it.number != 1 || it.isotope || it.charge < 0 || it.hydrogens > 0 || draft.degree(atom) != 1 {
        return None;
    }
    let (bond, heavy) = draft.neighbours(atom).next()?;
    let neighbour = draft.atoms[heavy];
    let at_double_bond = || draft.neighbours(heavy).any(|(bond, _)| bond.kind == BondKind::Double);
    let marks = bond.directed && draft.degree(heavy) == 2 && at_double_bond();
    let stays = neighbour.number <= 1 || neighbour.coordination_mark || marks || bond.kind != BondKind::Single;
    (!stays).then_some(heavy)
}

/// Writes groups that textbooks draw with five bonds at nitrogen, and the like at phosphorus and
/// halogens, with charges.
pub(super) fn separate_charges(draft: &mut Draft) {
    draft.join();
    for atom in 0..draft.atoms.len() {
        let DraftAtom { number, charge, .. } = draft.atoms[atom];
        if charge != 0 {
            continue;
        }
        match number {
            7 => separate_nitrogen(draft, atom),
            15 => separate_phosphorus(draft, atom),
            17 | 35 | 53 | 85 => separate_halogen(draft, atom),
            _ => {}
        }
    }
}

/// Takes one electron pair out of `bond` and gives it to its end other than `atom`.
fn separate(draft: &mut Draft, atom: usize, bond: usize, kind: BondKind) {
    let other = draft.bonds[bond].other(atom);
    draft.bonds[bond].kind = kind;
    draft.atoms[other].charge -= 1;
    draft.atoms[atom].charge += 1;
}

/// `N(=O)=O` to `[N+](=O)[O-]`, `N=N#N` to `N=[N+]=[N-]`.
fn separate_nitrogen(draft: &mut Draft, atom: usize) {
    if explicit_valence(draft, atom) != 5 {
        return;
    }
    let found = draft.incident(atom).find_map(|bond| {
        let other = draft.atoms[draft.bonds[bond].other(atom)];
        match (other.number, other.charge, draft.bonds[bond].kind) {
            (8, 0, BondKind::Double) => Some((bond, BondKind::Single)),
            (7, 0, BondKind::Triple) => Some((bond, BondKind::Double)),
            _ => None,
        }
    });
    if let Some((bond, kind)) = found {
        separate(draft, atom, bond, kind);
    }
}

/// `P(=O)=C` within a chain to `[P+]([O-])=C`.
fn separate_phosphorus(draft: &mut Draft, atom: usize) {
    if draft.degree(atom) != 3 || explicit_valence(draft, atom) != 5 {
        return;
    }
    let double = |bond: usize, wanted: &dyn Fn(u8, usize) -> bool| {
        let other = draft.bonds[bond].other(atom);
        draft.bonds[bond].kind == BondKind::Double && wanted(draft.atoms[other].number, draft.degree(other))
    };
    let oxygen = draft
        .incident(atom)
        .find(|&bond| double(bond, &|number, degree| number == 8 && degree == 1));
    let chain = draft
        .incident(atom)
        .any(|bond| double(bond, &|number, degree| matches!(number, 6 | 7) && degree >= 2));
    if let (Some(bond), true) = (oxygen, chain) {
        separate(draft, atom, bond, BondKind::Single);
    }
}

/// `Cl(=O)(=O)(=O)O` to `[Cl+3]([O-])([O-])([O-])O`, and so with two and one.
fn separate_halogen(draft: &mut Draft, atom: usize) {
    if !matches!(explicit_valence(draft, atom), 3 | 5 | 7) {
        return;
    }
    if !draft.neighbours(atom).all(|(_, other)| draft.atoms[other].number == 8) {
        return;
    }
    let double: Vec<usize> = draft
        .incident(atom)
        .filter(|&bond| draft.bonds[bond].kind == BondKind::Double)
        .collect();
    for bond in double {
        separate(draft, atom, bond, BondKind::Single);
    }
}

/// Lets a non-metal with one bond too many give an electron pair to a metal: the bond no longer
/// counts in its valence.
pub(super) fn make_dative(draft: &mut Draft) {
    for atom in 0..draft.atoms.len() {
        if is_metal(draft.atoms[atom].number) || !is_hypervalent(draft, atom) {
            continue;
        }
        let to_metal = draft.incident(atom).find(|&bond| {
            let other = draft.bonds[bond].other(atom);
            draft.bonds[bond].kind == BondKind::Single && is_metal(draft.atoms[other].number)
        });
        if let Some(bond) = to_metal {
            let metal = draft.bonds[bond].other(atom) as u32;
            let bond = &mut draft.bonds[bond];
            (bond.from, bond.to, bond.kind) = (atom as u32, metal, BondKind::Dative);
        }
    }
}

fn is_hypervalent(draft: &Draft, atom: usize) -> bool {
    let most = effective_number(&draft.atoms[atom]).and_then(max_valence);
    most.is_some_and(|most| most > 0 && explicit_valence(draft, atom) > most)
}
