//! Molecules as atoms and bonds, read from SMILES texts.
//!
//! The grammar is that of OpenSMILES 1.0 (Blue Obelisk, <http://opensmiles.org>): the organic
//! subset, brackets with isotope, chirality, hydrogens, charge and atom map, rings as `1`, `%12`
//! and `%(123)`, branches, dots, all bond symbols. Marks of chirality and direction, isotopes and
//! atom maps are checked and then left out: a graph has no place for them.
//!
//! The graph is the one that RDKit's `MolFromSmiles` gives, atom by atom and bond by bond:
//! hydrogens written as atoms are counted at their heavy neighbour; nitro groups and their like are
//! written with charges; lower-case rings are checked by finding a Kekulé structure; every valence
//! is checked; and aromaticity is perceived anew, so that a Kekulé text and a lower-case one of the
//! same molecule give the same graph. Each step is one file. This crate knows nothing of graphs of
//! other kinds, nor of any other crate of the project.
//!
//! ```
//! use folkmoot_molecules::{BondKind, Molecule};
//!
//! let phenol = Molecule::from_smiles("OC1=CC=CC=C1")?;
//! assert_eq!((phenol.atoms().len(), phenol.bonds().len()), (7, 7));
//! assert!(phenol.atoms()[1].aromatic && phenol.bonds()[1].kind == BondKind::Aromatic);
//! assert_eq!(phenol.atoms()[0].hydrogens, 1);
//! let error = Molecule::from_smiles("CN(C)(C)C").unwrap_err();
//! assert_eq!(error.to_string(), "column 2: N has valence 4, but at most 3 is allowed with charge 0");
//! # Ok::<(), folkmoot_molecules::SmilesError>(())
//! ```

mod aromatic;
mod draft;
mod element;
mod hybridisation;
mod kekule;
mod matching;
mod normalise;
mod parse;
mod rings;
mod valence;

use draft::Draft;
use thiserror::Error;

/// The longest text that is read, in bytes.
pub const MAX_LENGTH: usize = 1 << 16;
/// The most atoms of one molecule, written hydrogens included.
pub const MAX_ATOMS: usize = 1 << 12;

/// A molecule without the hydrogens that its heavy atoms imply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Molecule {
    atoms: Vec<Atom>,
    bonds: Vec<Bond>,
}

/// A node of the molecule's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atom {
    /// The atomic number, 0 for the wildcard `*`, at most 118.
    pub number: u8,
    /// The formal charge, in units of the proton's.
    pub charge: i8,
    /// How many hydrogens it has that are no atoms of the graph.
    pub hydrogens: u8,
    /// How many atoms of the graph it is bonded to.
    pub degree: u16,
    /// Whether it belongs to an aromatic ring.
    pub aromatic: bool,
    /// Whether it belongs to any ring.
    pub in_ring: bool,
    /// The shape of its orbitals.
    pub hybridisation: Hybridisation,
}

impl Atom {
    /// The symbol, such as `Cl`, or `*`.
    pub fn symbol(&self) -> &'static str {
        element::symbol(self.number)
    }
}

/// How many orbitals an atom mixes, from its neighbours, lone pairs and conjugation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hybridisation {
    /// One or none: a bare ion, hydrogen.
    S,
    /// Two, linear.
    Sp,
    /// Three, planar, or four next to a conjugated bond.
    Sp2,
    /// Four, tetrahedral.
    Sp3,
    Sp3d,
    Sp3d2,
    /// More, as in some complexes, or a wildcard.
    Other,
}

/// An edge of the molecule's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bond {
    /// The atom written first.
    pub from: u32,
    /// The atom written second.
    pub to: u32,
    pub kind: BondKind,
}

/// The kinds of bonds; the numbers are the classes of edge labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BondKind {
    Single = 0,
    Double = 1,
    Triple = 2,
    Quadruple = 3,
    /// A bond on the rim of an aromatic system.
    Aromatic = 4,
    /// Both electrons come from a non-metal that has no valence left for the metal: a ligand's
    /// bond.
    Dative = 5,
}

impl Molecule {
    /// Reads one molecule, which may have several fragments with dots between them.
    ///
    /// # Errors
    /// [`SmilesError`] for a text that is empty or beyond [`MAX_LENGTH`] or [`MAX_ATOMS`], breaks
    /// the grammar, gives an atom a valence it cannot have, or has lower-case atoms outside rings
    /// or in rings that have no Kekulé structure.
    ///
    /// # Complexity
    /// Linear without lower-case atoms and rings; rings that are joined beyond any real molecule
    /// are refused, not searched.
    pub fn from_smiles(text: &str) -> Result<Molecule, SmilesError> {
        let mut draft: Draft = parse::parse(text)?;
        normalise::fold_hydrogens(&mut draft);
        normalise::separate_charges(&mut draft);
        normalise::make_dative(&mut draft);
        draft.join();
        valence::check(&draft)?;
        valence::assign_hydrogens(&mut draft);
        let rings = rings::find(&draft)?;
        kekule::kekulise(&mut draft, &rings)?;
        valence::check(&draft)?;
        valence::assign_radicals(&mut draft);
        let perceived = aromatic::perceive(&draft, &rings);
        let shapes = hybridisation::of_all(&draft, &perceived);
        Ok(finish(&draft, &rings, &perceived, &shapes))
    }

    /// The atoms in the order of the text, which is never empty.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// The bonds: each chain or branch bond where its second atom stands, each ring bond where the
    /// ring closes.
    pub fn bonds(&self) -> &[Bond] {
        &self.bonds
    }
}

fn finish(draft: &Draft, rings: &rings::Rings, perceived: &aromatic::Aromatic, shapes: &[Hybridisation]) -> Molecule {
    let atom = |(idx, atom): (usize, &draft::DraftAtom)| Atom {
        number: atom.number,
        charge: atom.charge,
        hydrogens: atom.hydrogens.clamp(0, 255) as u8,
        degree: draft.degree(idx) as u16,
        aromatic: perceived.atoms[idx],
        in_ring: rings.atoms[idx],
        hybridisation: shapes[idx],
    };
    let bond = |(idx, bond): (usize, &draft::DraftBond)| Bond {
        from: bond.from,
        to: bond.to,
        kind: if perceived.bonds[idx] {
            BondKind::Aromatic
        } else {
            bond.kind
        },
    };
    Molecule {
        atoms: draft.atoms.iter().enumerate().map(atom).collect(),
        bonds: draft.bonds.iter().enumerate().map(bond).collect(),
    }
}

/// Why a text is no molecule. The message names the column, the rule and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("column {}: {}", .column, .message)]
pub struct SmilesError {
    /// The byte of the text that breaks the rule, from 1; for an atom its first byte.
    pub column: usize,
    /// The rule and what was found.
    pub message: String,
}

impl SmilesError {
    /// `at` is the offset of the byte from 0.
    fn new(at: usize, message: impl Into<String>) -> SmilesError {
        SmilesError {
            column: at + 1,
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests;
