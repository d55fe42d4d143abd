//! The grammar: from a text to atoms and bonds as written.

mod bracket;

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, DraftAtom, DraftBond};
use super::{BondKind, MAX_ATOMS, MAX_LENGTH, SmilesError, element};

/// What stands between two atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbol {
    /// Nothing: a single bond, or an aromatic one between lower-case atoms.
    Absent,
    Kind(BondKind),
    /// `/` or `\`: a single bond with a direction.
    Direction,
}

/// A ring bond of which one end has been read.
struct Opened {
    atom: u32,
    symbol: Symbol,
    at: usize,
}

/// What a branch goes back to when it closes.
struct Branch {
    atom: u32,
    at: usize,
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    draft: Draft,
    /// The atom that each atom was chained to, if any.
    chained_to: Vec<Option<u32>>,
    ring_bonds: BTreeSet<(u32, u32)>,
    opened: BTreeMap<u32, Opened>,
    branches: Vec<Branch>,
    previous: Option<u32>,
    /// The bond symbol read last and its offset, until an atom or a ring number takes it.
    symbol: Option<(Symbol, usize)>,
    /// Whether a dot or a bracket was opened last, after which an atom must come.
    needs_atom: Option<&'static str>,
}

/// Reads the atoms and bonds of `text`; bond kinds and hydrogens are as written.
pub(super) fn parse(text: &str) -> Result<Draft, SmilesError> {
    if text.is_empty() {
        return Err(SmilesError::new(
            0,
            "the text is empty; write at least one atom, such as C",
        ));
    }
    if text.len() > MAX_LENGTH {
        return Err(SmilesError::new(
            MAX_LENGTH,
            format!("the text has {} bytes, but at most {MAX_LENGTH} are read", text.len()),
        ));
    }
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
        draft: Draft::default(),
        chained_to: Vec::new(),
        ring_bonds: BTreeSet::new(),
        opened: BTreeMap::new(),
        branches: Vec::new(),
        previous: None,
        symbol: None,
        needs_atom: None,
    };
    while parser.at < parser.text.len() {
        parser.step()?;
    }
    parser.finish()
}

impl Parser<'_> {
    fn error<T>(&self, at: usize, message: impl Into<String>) -> Result<T, SmilesError> {
        Err(SmilesError::new(at, message))
    }

    /// The byte at the cursor, 0 at the end: no text that passes holds one.
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn step(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        match self.peek() {
            b'[' => {
                let atom = bracket::read(self.text, &mut self.at)?;
                self.push_atom(atom)
            }
            b'(' => self.open_branch(),
            b')' => self.close_branch(),
            b'.' => {
                self.at += 1;
                if self.previous.is_none() || self.symbol.is_some() || self.needs_atom.is_some() {
                    return self.error(at, "a dot must follow an atom, a ring number or a branch");
                }
                self.previous = None;
                self.needs_atom = Some("a dot");
                Ok(())
            }
            b'0'..=b'9' | b'%' => self.ring_number(),
            byte => match bond_symbol(byte) {
                Some(symbol) => {
                    // Files that went through a program with escapes have two of these for one
                    // mark.
                    let doubled = byte == b'\\' && self.text.get(at + 1) == Some(&b'\\');
                    self.at += 1 + usize::from(doubled);
                    let has_atom = self.previous.is_some();
                    if !has_atom || self.symbol.is_some() {
                        return self.error(
                            at,
                            "a bond must follow an atom, a ring number or a branch, not another bond",
                        );
                    }
                    self.symbol = Some((symbol, at));
                    Ok(())
                }
                None => {
                    let atom = self.organic_atom()?;
                    self.push_atom(atom)
                }
            },
        }
    }

    /// An atom without brackets: its hydrogens follow from its valence.
    fn organic_atom(&mut self) -> Result<DraftAtom, SmilesError> {
        let at = self.at;
        let next = self.text.get(at + 1).copied().unwrap_or(0);
        let (number, length) = match (self.peek(), next) {
            (b'C', b'l') => (17, 2),
            (b'B', b'r') => (35, 2),
            (b'*', _) => (0, 1),
            (b'B' | b'b', _) => (5, 1),
            (b'C' | b'c', _) => (6, 1),
            (b'N' | b'n', _) => (7, 1),
            (b'O' | b'o', _) => (8, 1),
            (b'F', _) => (9, 1),
            (b'P' | b'p', _) => (15, 1),
            (b'S' | b's', _) => (16, 1),
            (b'I', _) => (53, 1),
            (byte, _) => return self.error(at, foreign(byte)),
        };
        self.at += length;
        Ok(DraftAtom {
            number,
            charge: 0,
            hydrogens: 0,
            bracket: false,
            isotope: false,
            lower: self.text[at].is_ascii_lowercase(),
            coordination_mark: false,
            radicals: 0,
            at,
        })
    }

    fn push_atom(&mut self, atom: DraftAtom) -> Result<(), SmilesError> {
        if self.draft.atoms.len() == MAX_ATOMS {
            return self.error(atom.at, format!("more than {MAX_ATOMS} atoms, the most that are read"));
        }
        let new = self.draft.atoms.len() as u32;
        self.draft.atoms.push(atom);
        self.chained_to.push(self.previous);
        let symbol = self.symbol.take().map_or(Symbol::Absent, |(symbol, _)| symbol);
        if let Some(previous) = self.previous {
            self.push_bond(previous, new, symbol);
        }
        self.previous = Some(new);
        self.needs_atom = None;
        Ok(())
    }

    fn push_bond(&mut self, from: u32, to: u32, symbol: Symbol) {
        let lower = |atom: u32| self.draft.atoms[atom as usize].lower;
        let kind = match symbol {
            Symbol::Kind(kind) => kind,
            // A direction within a ring of lower-case atoms says nothing, but occurs.
            _ if lower(from) && lower(to) => BondKind::Aromatic,
            _ => BondKind::Single,
        };
        self.draft.bonds.push(DraftBond {
            from,
            to,
            kind,
            directed: symbol == Symbol::Direction,
        });
    }

    fn open_branch(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        self.at += 1;
        match (self.previous, self.symbol.is_some(), self.needs_atom) {
            (Some(atom), false, None) => self.branches.push(Branch { atom, at }),
            _ => return self.error(at, "a branch must follow an atom, a ring number or another branch"),
        }
        self.needs_atom = Some("an opened branch");
        Ok(())
    }

    fn close_branch(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        self.at += 1;
        if self.symbol.is_some() || self.needs_atom.is_some() {
            return self.error(at, "a branch must end in an atom, a ring number or another branch");
        }
        let Some(branch) = self.branches.pop() else {
            return self.error(at, "a branch is closed that was not opened");
        };
        self.previous = Some(branch.atom);
        Ok(())
    }

    fn ring_number(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        let number = self.read_ring_number()?;
        let (symbol, _) = self.symbol.take().unwrap_or((Symbol::Absent, at));
        let (Some(atom), None) = (self.previous, self.needs_atom) else {
            return self.error(at, "a ring number must follow an atom");
        };
        let Some(first) = self.opened.remove(&number) else {
            self.opened.insert(number, Opened { atom, symbol, at });
            return Ok(());
        };
        if first.atom == atom {
            return self.error(at, format!("ring {number} would bond an atom to itself"));
        }
        let symbol = match (first.symbol, symbol) {
            (Symbol::Absent, symbol) | (symbol, Symbol::Absent) => symbol,
            (one, other) if one == other => one,
            _ => {
                let rule = format!(
                    "ring {number} opens at column {} with another bond than it closes with",
                    first.at + 1
                );
                return self.error(at, rule);
            }
        };
        let chained = |one: u32, other: u32| self.chained_to[one as usize] == Some(other);
        let ends = (first.atom.min(atom), first.atom.max(atom));
        if chained(atom, first.atom) || chained(first.atom, atom) || !self.ring_bonds.insert(ends) {
            return self.error(at, format!("ring {number} bonds two atoms that are bonded already"));
        }
        self.push_bond(first.atom, atom, symbol);
        Ok(())
    }

    /// `1`, `%12` or `%(123)`.
    fn read_ring_number(&mut self) -> Result<u32, SmilesError> {
        let at = self.at;
        let digit = |byte: Option<&u8>| {
            byte.filter(|byte| byte.is_ascii_digit())
                .map(|byte| u32::from(byte - b'0'))
        };
        if self.peek() != b'%' {
            self.at += 1;
            return Ok(digit(self.text.get(at)).unwrap_or(0));
        }
        if self.text.get(at + 1) == Some(&b'(') {
            let mut number = 0;
            self.at += 2;
            while let (Some(next), true) = (digit(self.text.get(self.at)), self.at < at + 7) {
                number = number * 10 + next;
                self.at += 1;
            }
            let closed = self.peek() == b')' && self.at > at + 2;
            self.at += 1;
            return if closed {
                Ok(number)
            } else {
                self.error(at, "expected a ring number of one to five digits and `)` after `%(`")
            };
        }
        let (Some(tens), Some(ones)) = (digit(self.text.get(at + 1)), digit(self.text.get(at + 2))) else {
            return self.error(at, "expected two digits after `%`");
        };
        self.at += 3;
        Ok(tens * 10 + ones)
    }

    fn finish(self) -> Result<Draft, SmilesError> {
        if let Some((_, at)) = self.symbol {
            return self.error(at, "a bond must lead to an atom, but the text ends");
        }
        if let Some(what) = self.needs_atom {
            return self.error(
                self.text.len() - 1,
                format!("expected an atom after {what}, but the text ends"),
            );
        }
        if let Some(branch) = self.branches.last() {
            return self.error(branch.at, "the branch opened here is not closed");
        }
        if let Some((number, opened)) = self.opened.first_key_value() {
            return self.error(opened.at, format!("ring {number}, opened here, is not closed"));
        }
        Ok(self.draft)
    }
}

fn bond_symbol(byte: u8) -> Option<Symbol> {
    let kind = match byte {
        b'-' => BondKind::Single,
        b'=' => BondKind::Double,
        b'#' => BondKind::Triple,
        b'$' => BondKind::Quadruple,
        b':' => BondKind::Aromatic,
        b'/' | b'\\' => return Some(Symbol::Direction),
        _ => return None,
    };
    Some(Symbol::Kind(kind))
}

fn foreign(byte: u8) -> String {
    let shown = match byte {
        b' ' | b'\t' => "a blank".to_string(),
        b'!'..=b'~' => format!("`{}`", byte as char),
        _ => format!("the byte {byte:#04x}"),
    };
    let letter = if byte.is_ascii_alphabetic() {
        "; write an element outside B C N O P S F Cl Br I in brackets"
    } else {
        ""
    };
    format!("{shown} does not belong here{letter}")
}
