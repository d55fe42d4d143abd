//! A molecule while it is being read: atoms and bonds as written, made consistent step by step.

use super::BondKind;

/// An atom as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct DraftAtom {
    pub(super) number: u8,
    pub(super) charge: i8,
    /// Hydrogens not in the graph: those in the bracket, those folded in, and, once valences are
    /// known, implied ones.
    pub(super) hydrogens: i32,
    /// Whether brackets fix the hydrogens.
    pub(super) bracket: bool,
    /// Whether it may not be folded into its neighbour if it is a hydrogen: it has an isotope.
    pub(super) isotope: bool,
    /// Whether it is written in lower case.
    pub(super) lower: bool,
    /// Whether it has a mark of chirality that is not tetrahedral.
    pub(super) coordination_mark: bool,
    /// Unpaired electrons, known after Kekulé's step.
    pub(super) radicals: i32,
    /// Its offset in the text.
    pub(super) at: usize,
}

/// A bond as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct DraftBond {
    pub(super) from: u32,
    pub(super) to: u32,
    /// [`BondKind::Aromatic`] before Kekulé's step if both ends are lower case or the symbol is
    /// `:`, never after it. A dative bond runs from the donor to the metal.
    pub(super) kind: BondKind,
    /// Whether `/` or `\` was written.
    pub(super) directed: bool,
}

impl DraftBond {
    pub(super) fn other(&self, atom: usize) -> usize {
        (if self.from as usize == atom { self.to } else { self.from }) as usize
    }

    /// Twice what the bond adds to the valence of `atom`.
    pub(super) fn twice_order(&self, atom: usize) -> i32 {
        match self.kind {
            BondKind::Single => 2,
            BondKind::Double => 4,
            BondKind::Triple => 6,
            BondKind::Quadruple => 8,
            BondKind::Aromatic => 3,
            BondKind::Dative if self.from as usize == atom => 0,
            BondKind::Dative => 2,
        }
    }
}

/// Atoms, bonds and who is bonded to whom.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) atoms: Vec<DraftAtom>,
    pub(super) bonds: Vec<DraftBond>,
    /// The bonds of atom `a` are `incident[offsets[a]..offsets[a + 1]]`, ascending.
    offsets: Vec<u32>,
    incident: Vec<u32>,
}

impl Draft {
    /// Lists the bonds of each atom; to be called again whenever atoms or bonds were added or
    /// removed.
    pub(super) fn join(&mut self) {
        let mut offsets = vec![0_u32; self.atoms.len() + 1];
        for bond in &self.bonds {
            offsets[bond.from as usize + 1] += 1;
            offsets[bond.to as usize + 1] += 1;
        }
        for atom in 0..self.atoms.len() {
            offsets[atom + 1] += offsets[atom];
        }
        let mut next = offsets.clone();
        let mut incident = vec![0; self.bonds.len() * 2];
        for (idx, bond) in self.bonds.iter().enumerate() {
            for end in [bond.from, bond.to] {
                incident[next[end as usize] as usize] = idx as u32;
                next[end as usize] += 1;
            }
        }
        (self.offsets, self.incident) = (offsets, incident);
    }

    /// The positions of the bonds of `atom`.
    pub(super) fn incident(&self, atom: usize) -> impl Iterator<Item = usize> + '_ {
        let range = self.offsets[atom] as usize..self.offsets[atom + 1] as usize;
        self.incident[range].iter().map(|&bond| bond as usize)
    }

    /// The bonds of `atom` with the atoms at their other ends.
    pub(super) fn neighbours(&self, atom: usize) -> impl Iterator<Item = (DraftBond, usize)> + '_ {
        self.incident(atom).map(move |bond| {
            let bond = self.bonds[bond];
            (bond, bond.other(atom))
        })
    }

    pub(super) fn degree(&self, atom: usize) -> usize {
        (self.offsets[atom + 1] - self.offsets[atom]) as usize
    }

    /// Neighbours and hydrogens together.
    pub(super) fn total_degree(&self, atom: usize) -> i32 {
        self.degree(atom) as i32 + self.atoms[atom].hydrogens
    }
}
