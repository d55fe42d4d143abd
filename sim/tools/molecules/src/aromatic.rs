//! Aromaticity by RDKit's model: planar rings, alone or fused, with 4k + 2 electrons.
//!
//! What each ring atom can give (0, 1 or 2 electrons) follows from its outer electrons, its
//! neighbours and its double bonds, with the rules of the RDKit book's section "The RDKit
//! Aromaticity Model" (<https://www.rdkit.org/docs/RDKit_Book.html>). Fused systems are tried ring
//! by ring, then by two rings, up to six; only the rim of an aromatic combination is aromatic, and
//! atoms where three rings meet give nothing to it.

use std::collections::BTreeSet;

use super::BondKind;
use super::draft::Draft;
use super::element::{default_valence, is_more_electronegative, outer_electrons};
use super::rings::Rings;
use super::valence::{effective_number, explicit_valence};

/// The most rings of one combination.
const MAX_RINGS: usize = 6;
/// Rings with more bonds are not combined with others.
const MAX_FUSED_BONDS: usize = 24;
/// The most combinations of rings tried in one fused system: more than any molecule of the public
/// sets has, and no cage hangs.
const MAX_COMBINATIONS: usize = 100_000;

/// Which atoms and bonds are aromatic.
pub(super) struct Aromatic {
    pub(super) atoms: Vec<bool>,
    pub(super) bonds: Vec<bool>,
}

/// How many electrons an atom can give to a ring: least and most.
type Donation = (i32, i32);

/// Finds the aromatic atoms and bonds of a Kekulé structure.
pub(super) fn perceive(draft: &Draft, rings: &Rings) -> Aromatic {
    let mut aromatic = Aromatic {
        atoms: vec![false; draft.atoms.len()],
        bonds: vec![false; draft.bonds.len()],
    };
    let donations: Vec<Option<Donation>> = (0..draft.atoms.len())
        .map(|atom| donation(draft, rings, atom).filter(|_| rings.atoms[atom]))
        .collect();
    let possible = |ring: &&Vec<u32>| {
        let ends = || ring.iter().flat_map(|&bond| ends(draft, bond));
        ends().all(|atom| donations[atom].is_some()) && ends().any(|atom| draft.atoms[atom].number != 0)
    };
    let candidates: Vec<&Vec<u32>> = rings.shortest.iter().filter(possible).collect();
    let fused = Fused::new(draft, &candidates);
    let mut seen = vec![false; candidates.len()];
    for start in 0..candidates.len() {
        if !seen[start] {
            let system = fused.system(start, &mut seen);
            mark_system(draft, &fused, &system, &donations, &mut aromatic);
        }
    }
    aromatic
}

fn ends(draft: &Draft, bond: u32) -> [usize; 2] {
    let bond = &draft.bonds[bond as usize];
    [bond.from as usize, bond.to as usize]
}

/// Rings and which of them are fused: share exactly one bond. Macrocycles and the rings they run
/// through share more.
struct Fused<'a> {
    rings: &'a [&'a Vec<u32>],
    neighbours: Vec<Vec<usize>>,
}

impl<'a> Fused<'a> {
    fn new(draft: &Draft, rings: &'a [&'a Vec<u32>]) -> Fused<'a> {
        let mut by_bond: Vec<Vec<usize>> = vec![Vec::new(); draft.bonds.len()];
        for (idx, ring) in rings
            .iter()
            .enumerate()
            .filter(|(_, ring)| ring.len() <= MAX_FUSED_BONDS)
        {
            for &bond in *ring {
                by_bond[bond as usize].push(idx);
            }
        }
        let mut sharing: Vec<Vec<usize>> = vec![Vec::new(); rings.len()];
        for rings in &by_bond {
            for &one in rings {
                sharing[one].extend(rings.iter().filter(|&&other| other != one));
            }
        }
        let once = |mut others: Vec<usize>| {
            others.sort_unstable();
            let groups = others
                .chunk_by(|one, other| one == other)
                .filter(|group| group.len() == 1);
            groups.map(|group| group[0]).collect()
        };
        Fused {
            rings,
            neighbours: sharing.into_iter().map(once).collect(),
        }
    }

    /// All rings fused to `start`, directly or through others; ascending.
    fn system(&self, start: usize, seen: &mut [bool]) -> Vec<usize> {
        let mut system = Vec::new();
        let mut open = vec![start];
        seen[start] = true;
        while let Some(ring) = open.pop() {
            system.push(ring);
            for &other in &self.neighbours[ring] {
                if !seen[other] {
                    seen[other] = true;
                    open.push(other);
                }
            }
        }
        system.sort_unstable();
        system
    }
}

/// Tries the combinations of a fused system by size, until all its bonds are aromatic.
fn mark_system(
    draft: &Draft,
    fused: &Fused<'_>,
    system: &[usize],
    donations: &[Option<Donation>],
    aromatic: &mut Aromatic,
) {
    let bonds: BTreeSet<u32> = system
        .iter()
        .flat_map(|&ring| fused.rings[ring].iter().copied())
        .collect();
    // Joined combinations of one size, each ascending; the next size adds one neighbour to each.
    let mut combinations: BTreeSet<Vec<usize>> = system.iter().map(|&ring| vec![ring]).collect();
    let mut tried = 0;
    for _ in 0..MAX_RINGS.min(system.len()) {
        for rings in &combinations {
            if is_aromatic(draft, fused, rings, donations) {
                mark(draft, fused, rings, aromatic);
            }
        }
        tried += combinations.len();
        if bonds.iter().all(|&bond| aromatic.bonds[bond as usize]) {
            break;
        }
        let mut larger = BTreeSet::new();
        for rings in &combinations {
            let near = rings.iter().flat_map(|&ring| &fused.neighbours[ring]);
            for &other in near {
                if let Err(place) = rings.binary_search(&other) {
                    let mut joined = rings.clone();
                    joined.insert(place, other);
                    larger.insert(joined);
                }
            }
            if tried + larger.len() > MAX_COMBINATIONS {
                return;
            }
        }
        combinations = larger;
    }
}

/// Hückel's rule for the atoms of some rings.
fn is_aromatic(draft: &Draft, fused: &Fused<'_>, rings: &[usize], donations: &[Option<Donation>]) -> bool {
    // Each ring has two bonds at each of its atoms; where three rings meet is inside.
    let mut ends_of: Vec<usize> = rings
        .iter()
        .flat_map(|&ring| fused.rings[ring].iter().flat_map(|&bond| ends(draft, bond)))
        .collect();
    ends_of.sort_unstable();
    let (mut least, mut most) = (0, 0);
    for atom in ends_of
        .chunk_by(|one, other| one == other)
        .filter(|ends| ends.len() <= 4)
    {
        let (from, to) = donations[atom[0]].unwrap_or((0, 0));
        least += from;
        most += to;
    }
    if most < 6 {
        most == 2
    } else {
        (least..=most).any(|electrons| (electrons - 2) % 4 == 0)
    }
}

/// Marks all atoms of the rings, and the bonds that only one of them has.
fn mark(draft: &Draft, fused: &Fused<'_>, rings: &[usize], aromatic: &mut Aromatic) {
    let mut bonds: Vec<u32> = rings
        .iter()
        .flat_map(|&ring| fused.rings[ring].iter().copied())
        .collect();
    bonds.sort_unstable();
    for bond in bonds.chunk_by(|one, other| one == other) {
        for atom in ends(draft, bond[0]) {
            aromatic.atoms[atom] = true;
        }
        if bond.len() == 1 {
            aromatic.bonds[bond[0] as usize] = true;
        }
    }
}

/// Electrons that an atom has left for π bonds, unpaired ones taken off; negative if it can take
/// part in none.
pub(super) fn free_electrons(draft: &Draft, atom: usize) -> i32 {
    let it = &draft.atoms[atom];
    let Some(valence) = default_valence(it.number).filter(|&valence| valence > 1) else {
        return -1;
    };
    let dative = draft
        .neighbours(atom)
        .filter(|(bond, _)| bond.twice_order(atom) == 0)
        .count() as i32;
    let degree = draft.total_degree(atom) - dative;
    if degree > 3 {
        return -1;
    }
    let lone = (outer_electrons(it.number) - valence - i32::from(it.charge)).max(0);
    let free = valence - degree + lone - it.radicals;
    let unsaturated = explicit_valence(draft, atom) - it.hydrogens - draft.degree(atom) as i32;
    // A triple bond has one of its electron pairs outside the ring's plane.
    if free > 1 && unsaturated > 1 { 1 } else { free }
}

/// What an atom gives to a ring, or `None` if no ring with it is aromatic.
fn donation(draft: &Draft, rings: &Rings, atom: usize) -> Option<Donation> {
    let it = &draft.atoms[atom];
    let multiple = |cyclic: bool| {
        let mut bonds = draft.incident(atom).filter(move |&bond| rings.bonds[bond] == cyclic);
        bonds
            .find(|&bond| draft.bonds[bond].twice_order(atom) >= 4)
            .map(|bond| draft.bonds[bond].other(atom))
    };
    let (inside, outside) = (multiple(true), multiple(false));
    if it.number == 0 {
        return Some(if inside.is_some() { (1, 1) } else { (0, 2) });
    }
    // The first two rows and their heavier relatives that make aromatic rings.
    if it.number > 18 && !matches!(it.number, 34 | 52) {
        return None;
    }
    let usual = effective_number(it).and_then(default_valence);
    let total = explicit_valence(draft, atom);
    if default_valence(it.number).is_some_and(|valence| valence > 0) && usual.is_some_and(|usual| total > usual) {
        return None;
    }
    if it.radicals > 0 && (it.number != 6 || it.charge != 0) {
        return None;
    }
    let n_multiple = draft
        .neighbours(atom)
        .filter(|(bond, _)| matches!(bond.kind, BondKind::Double | BondKind::Triple));
    if n_multiple.count() > 1 {
        return None;
    }
    let drawn_out = |other: usize| is_more_electronegative(draft.atoms[other].number, it.number);
    let electrons = match (free_electrons(draft, atom), inside, outside) {
        (..0, _, _) => return None,
        (0, _, Some(_)) => 0,
        (0, Some(_), None) => 1,
        (0, None, None) => return None,
        (1, _, Some(other)) => i32::from(!drawn_out(other)),
        (1, Some(_), None) => 1,
        (1, None, None) if it.charge == 1 => 0,
        (1, None, None) => return None,
        (free, _, other) => {
            let left = free - i32::from(other.is_some_and(drawn_out));
            if left % 2 == 1 { 1 } else { 2 }
        }
    };
    Some((electrons, electrons))
}
