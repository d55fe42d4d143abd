//! Atoms in brackets: `[` isotope? symbol chirality? hydrogens? charge? (`:` map)? `]`.

use super::{DraftAtom, SmilesError, element};

/// Lower-case symbols, two letters first; `si` and `te` are extensions to OpenSMILES.
const LOWER: [(&str, u8); 10] = [
    ("as", 33),
    ("se", 34),
    ("si", 14),
    ("te", 52),
    ("b", 5),
    ("c", 6),
    ("n", 7),
    ("o", 8),
    ("p", 15),
    ("s", 16),
];

/// The geometries of chirality other than the tetrahedron's plain marks, with their largest number.
const GEOMETRIES: [(&str, u32); 5] = [("TH", 2), ("AL", 2), ("SP", 3), ("TB", 20), ("OH", 30)];

/// Larger charges are refused; OpenSMILES 1.0, section 3.1.3, asks for −15 to +15 at least.
const MAX_CHARGE: u32 = 15;

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Moves behind `word` if it is next.
    fn eat(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// A number of at most `digits` digits, if there is one.
    fn number(&mut self, digits: usize) -> Option<u32> {
        let start = self.at;
        let mut value = 0;
        while self.at < start + digits {
            match self.text.get(self.at) {
                Some(byte @ b'0'..=b'9') => value = value * 10 + u32::from(byte - b'0'),
                _ => break,
            }
            self.at += 1;
        }
        (self.at > start).then_some(value)
    }

    /// Atomic number and whether the symbol is in lower case.
    fn symbol(&mut self) -> Option<(u8, bool)> {
        if self.eat("*") {
            return Some((0, false));
        }
        if let Some(&(_, number)) = LOWER.iter().find(|(symbol, _)| self.eat(symbol)) {
            return Some((number, true));
        }
        // Two letters before one: `Sc` is scandium, not sulphur with a `c` behind it.
        for length in [2, 1] {
            let word = self.text.get(self.at..self.at + length).unwrap_or_default();
            if let Some(number) = std::str::from_utf8(word).ok().and_then(element::number) {
                self.at += length;
                return Some((number, false));
            }
        }
        None
    }

    /// Reads the mark of chirality, if there is one: whether it is not tetrahedral.
    ///
    /// # Errors
    /// [`SmilesError`] if the number of the mark does not exist.
    fn non_tetrahedral_mark(&mut self) -> Result<bool, SmilesError> {
        if !self.eat("@") || self.eat("@") {
            return Ok(false);
        }
        let Some(&(name, most)) = GEOMETRIES.iter().find(|(name, _)| self.eat(name)) else {
            return Ok(false);
        };
        let at = self.at;
        match self.number(2) {
            Some(number) if (1..=most).contains(&number) => Ok(!matches!(name, "TH" | "AL")),
            _ => Err(SmilesError::new(
                at,
                format!("@{name} must have a number in 1..={most}"),
            )),
        }
    }

    fn charge(&mut self) -> Result<i8, SmilesError> {
        let at = self.at;
        let (sign, mark) = match self.text.get(at) {
            Some(b'+') => (1, "+"),
            Some(b'-') => (-1, "-"),
            _ => return Ok(0),
        };
        let mut size = 0;
        while self.eat(mark) {
            size += 1;
        }
        if size == 1 {
            size = self.number(3).unwrap_or(1);
        }
        if size > MAX_CHARGE {
            let rule = format!("a charge must lie in -{MAX_CHARGE}..={MAX_CHARGE}, got {mark}{size}");
            return Err(SmilesError::new(at, rule));
        }
        Ok(sign * size as i8)
    }
}

/// Reads the atom whose `[` is at `at`, and moves `at` behind its `]`.
pub(super) fn read(text: &[u8], at: &mut usize) -> Result<DraftAtom, SmilesError> {
    let start = *at;
    let mut cursor = Cursor { text, at: start + 1 };
    let isotope = cursor.number(5).is_some_and(|mass| mass > 0);
    let place = cursor.at;
    let Some((number, lower)) = cursor.symbol() else {
        let shown: String = String::from_utf8_lossy(&text[place..]).chars().take(2).collect();
        let rule = format!("expected an element after `[`, got \"{}\"", shown.escape_debug());
        return Err(SmilesError::new(place.min(text.len() - 1), rule));
    };
    let coordination_mark = cursor.non_tetrahedral_mark()?;
    let hydrogens = if cursor.eat("H") {
        cursor.number(2).unwrap_or(1)
    } else {
        0
    };
    let charge = cursor.charge()?;
    if cursor.eat(":") && cursor.number(9).is_none() {
        return Err(SmilesError::new(cursor.at, "expected a number after `:`"));
    }
    if !cursor.eat("]") {
        let place = cursor.at.min(text.len() - 1);
        let rule = "expected `]`; a bracket holds isotope, element, chirality, hydrogens, charge, map, in this order";
        return Err(SmilesError::new(place, rule));
    }
    *at = cursor.at;
    Ok(DraftAtom {
        number,
        charge,
        hydrogens: hydrogens as i32,
        bracket: true,
        isotope,
        lower,
        coordination_mark,
        radicals: 0,
        at: start,
    })
}
