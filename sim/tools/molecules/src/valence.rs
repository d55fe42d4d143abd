//! Valences: whether an atom may have its bonds, how many hydrogens they leave room for, and
//! unpaired electrons.
//!
//! A charged main-group atom has the valences of the element with as many electrons: `[N+]` those
//! of carbon.

use super::BondKind;
use super::SmilesError;
use super::draft::{Draft, DraftAtom};
use super::element::{self, max_valence, outer_electrons, valences};

/// The element whose valences count, or `None` if the charge leads beyond the table.
pub(super) fn effective_number(atom: &DraftAtom) -> Option<u8> {
    if valences(atom.number).is_empty() {
        return Some(atom.number);
    }
    let number = i32::from(atom.number) - i32::from(atom.charge);
    u8::try_from(number).ok().filter(|&number| number <= element::LAST)
}

/// The sum of bond orders and counted hydrogens; half a bond too few in an aromatic ring is rounded
/// to a usual valence.
pub(super) fn explicit_valence(draft: &Draft, atom: usize) -> i32 {
    let it = &draft.atoms[atom];
    let bonds = || draft.neighbours(atom).map(|(bond, _)| bond);
    let mut twice = bonds().map(|bond| bond.twice_order(atom)).sum::<i32>() + 2 * it.hydrogens;
    let aromatic = it.lower || bonds().any(|bond| bond.kind == BondKind::Aromatic);
    let usual = effective_number(it).map_or(&[][..], valences);
    if let (true, Some(&first)) = (aromatic, usual.first()) {
        let below = usual
            .iter()
            .rev()
            .find(|&&valence| 2 * valence <= twice)
            .unwrap_or(&first);
        if (0..=3).contains(&(twice - 2 * below)) {
            twice = 2 * below;
        }
    }
    (twice + 1) / 2
}

/// Refuses valences that no atom of the kind has; to be asked again when Kekulé's step has replaced
/// half bonds by whole ones.
pub(super) fn check(draft: &Draft) -> Result<(), SmilesError> {
    for (atom, it) in draft.atoms.iter().enumerate() {
        let explicit = explicit_valence(draft, atom);
        let Some(number) = effective_number(it) else {
            let rule = format!("{} cannot have charge {}", element::symbol(it.number), it.charge);
            return Err(SmilesError::new(it.at, rule));
        };
        if let Some(most) = allowed(it, number).filter(|&most| explicit > most) {
            let rule = format!(
                "{} has valence {explicit}, but at most {most} is allowed with charge {}",
                element::symbol(it.number),
                it.charge
            );
            return Err(SmilesError::new(it.at, rule));
        }
    }
    Ok(())
}

/// Counts the hydrogens that atoms without brackets imply.
pub(super) fn assign_hydrogens(draft: &mut Draft) {
    for atom in 0..draft.atoms.len() {
        let it = draft.atoms[atom];
        if it.bracket || it.number == 0 {
            continue;
        }
        let explicit = explicit_valence(draft, atom);
        let usual = effective_number(&it).map_or(&[][..], valences);
        let room = if it.lower {
            usual.first().map_or(0, |first| first - explicit)
        } else {
            usual
                .iter()
                .map(|valence| valence - explicit)
                .find(|&room| room >= 0)
                .unwrap_or(0)
        };
        draft.atoms[atom].hydrogens += room.max(0);
    }
}

/// The largest valence of an atom with its charge; `None` if any will do.
fn allowed(atom: &DraftAtom, effective: u8) -> Option<i32> {
    // Negative P, S, As and Se keep their own higher valences, although halogens have as many
    // electrons.
    let stays_hypervalent =
        matches!(atom.number, 15 | 16) && effective > 16 || matches!(atom.number, 33 | 34) && effective > 34;
    max_valence(atom.number)?;
    match (atom.number, atom.charge) {
        // A hydride between two atoms.
        (1, -1) => Some(2),
        _ if stays_hypervalent => max_valence(atom.number).map(|most| most + i32::from(atom.charge)),
        _ => max_valence(effective),
    }
}

/// Counts the unpaired electrons of atoms whose brackets state fewer hydrogens than their valence
/// has room for.
pub(super) fn assign_radicals(draft: &mut Draft) {
    for atom in 0..draft.atoms.len() {
        let it = draft.atoms[atom];
        if it.bracket && it.number > 0 {
            draft.atoms[atom].radicals = radicals(&it, draft.degree(atom), explicit_valence(draft, atom));
        }
    }
}

fn radicals(atom: &DraftAtom, degree: usize, valence: i32) -> i32 {
    let (outer, charge) = (outer_electrons(atom.number), i32::from(atom.charge));
    let usual = valences(atom.number);
    if usual.is_empty() {
        // A metal's electrons pair up as far as they can; in a complex nothing is known about them.
        return if degree > 0 { 0 } else { (outer - charge).max(0) % 2 };
    }
    let octet = if atom.number <= 2 { 2 } else { 8 };
    let missing = octet - outer - valence + charge;
    let missing = if missing >= 0 {
        missing
    } else {
        usual
            .iter()
            .map(|usual| usual - valence + charge)
            .find(|&room| room >= 0)
            .unwrap_or(0)
    };
    let left = outer - valence - charge;
    if left >= 0 { missing.min(left) } else { missing }
}
