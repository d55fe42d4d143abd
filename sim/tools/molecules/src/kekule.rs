//! Kekulé's step: lower-case rings as alternating single and double bonds, or the proof that there
//! is no such writing.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::element::{default_valence, symbol, valences};
use super::rings::Rings;
use super::{BondKind, SmilesError, matching};

/// Replaces aromatic bonds by single and double ones; afterwards no atom counts as lower case.
///
/// # Errors
/// For a lower-case atom or an aromatic bond outside rings, and for an atom that can neither have a
/// double bond nor do without.
pub(super) fn kekulise(draft: &mut Draft, rings: &Rings) -> Result<(), SmilesError> {
    if draft.atoms.iter().all(|atom| !atom.lower) && draft.bonds.iter().all(|bond| bond.kind != BondKind::Aromatic) {
        return Ok(());
    }
    for (idx, atom) in draft.atoms.iter().enumerate() {
        if atom.lower && !rings.atoms[idx] {
            let rule = format!(
                "{} is written in lower case (aromatic) but is in no ring",
                symbol(atom.number)
            );
            return Err(SmilesError::new(atom.at, rule));
        }
    }
    for (idx, bond) in draft.bonds.iter().enumerate() {
        let (from, to) = (&draft.atoms[bond.from as usize], &draft.atoms[bond.to as usize]);
        if bond.kind == BondKind::Aromatic && !rings.bonds[idx] && !(from.lower && to.lower) {
            let rule = "an aromatic bond `:` leads from here to an atom that is in no ring with it";
            return Err(SmilesError::new(from.at, rule));
        }
    }
    let edge = |bond: usize| draft.bonds[bond].kind == BondKind::Aromatic && rings.bonds[bond];
    let needed: Vec<u32> = (0..draft.atoms.len())
        .filter(|&atom| needs_double_bond(draft, atom))
        .map(|atom| atom as u32)
        .collect();
    let takes: BTreeSet<u32> = needed.iter().copied().collect();
    let is_wild = |atom: usize| draft.atoms[atom].number == 0;
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); draft.atoms.len()];
    for (idx, bond) in draft.bonds.iter().enumerate() {
        let (from, to) = (bond.from as usize, bond.to as usize);
        // A wildcard in a ring may stand for an atom with a double bond or for one without.
        let may = |atom: usize| takes.contains(&(atom as u32)) || is_wild(atom);
        let wild = rings.bonds[idx] && bond.kind == BondKind::Single && (is_wild(from) != is_wild(to));
        if (edge(idx) || wild) && may(from) && may(to) {
            neighbours[from].push(bond.to);
            neighbours[to].push(bond.from);
        }
    }
    // A wildcard that has been paired can be let go again for a companion of its own, who needs
    // nobody.
    for atom in 0..draft.atoms.len() {
        if is_wild(atom) && !neighbours[atom].is_empty() {
            let companion = neighbours.len() as u32;
            neighbours[atom].push(companion);
            neighbours.push(vec![atom as u32]);
        }
    }
    let partners = matching::cover(&neighbours, &needed).map_err(|atom| {
        let atom = &draft.atoms[atom as usize];
        let rule = format!(
            "the ring with this {} has no Kekulé structure; write hydrogens or charges of its hetero atoms, such as [nH]",
            symbol(atom.number)
        );
        SmilesError::new(atom.at, rule)
    })?;
    for bond in &mut draft.bonds {
        if partners[bond.from as usize] == bond.to {
            bond.kind = BondKind::Double;
        } else if bond.kind == BondKind::Aromatic {
            bond.kind = BondKind::Single;
        }
    }
    for atom in &mut draft.atoms {
        atom.lower = false;
    }
    Ok(())
}

/// Whether single bonds alone leave one bond too few at an atom of an aromatic ring.
fn needs_double_bond(draft: &Draft, atom: usize) -> bool {
    let it = &draft.atoms[atom];
    let aromatic = || draft.neighbours(atom).any(|(bond, _)| bond.kind == BondKind::Aromatic);
    let Some(default) = default_valence(it.number).filter(|_| it.lower || aromatic()) else {
        return false;
    };
    let charge = i32::from(it.charge);
    let shift = match it.number {
        5 => -charge,
        6 => -charge.abs(),
        _ => charge,
    };
    let total = super::valence::explicit_valence(draft, atom);
    let usual = valences(it.number);
    let valence = usual
        .iter()
        .map(|valence| valence + shift)
        .find(|&valence| valence >= total);
    let valence = valence.unwrap_or_else(|| usual.last().copied().unwrap_or(default) + shift);
    let single = |bond: super::draft::DraftBond| match bond.kind {
        BondKind::Aromatic => 1,
        _ => bond.twice_order(atom) / 2,
    };
    let orders = draft.neighbours(atom).map(|(bond, _)| single(bond)).sum::<i32>() + it.hydrogens;
    let counted = draft
        .neighbours(atom)
        .filter(|(bond, _)| bond.twice_order(atom) > 0)
        .count() as i32;
    if counted + it.hydrogens >= valence {
        return false;
    }
    // Brackets may leave an unpaired electron beside the double bond.
    valence == orders + 1 || (it.bracket && valence == orders + 2)
}
