//! The chemical elements: symbols, usual valences, outer electrons.
//!
//! The valences are those of RDKit's periodic table, which decide what it calls a valid molecule.

/// The most an atomic number can be.
pub(super) const LAST: u8 = 118;

const SYMBOLS: [&str; LAST as usize + 1] = [
    "*", "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K", "Ca",
    "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",
    "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce",
    "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir",
    "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm",
    "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc",
    "Lv", "Ts", "Og",
];

/// The symbol of an atomic number; `*` for 0.
pub(super) fn symbol(number: u8) -> &'static str {
    SYMBOLS.get(usize::from(number)).copied().unwrap_or("?")
}

/// The atomic number of a symbol as brackets have it, such as `Se`; not of `*`.
pub(super) fn number(symbol: &str) -> Option<u8> {
    (1..=LAST).find(|&number| SYMBOLS[usize::from(number)] == symbol)
}

/// The usual valences, ascending; empty for a wildcard and for metals that take any.
pub(super) fn valences(number: u8) -> &'static [i32] {
    match number {
        2 | 10 | 18 | 36 | 86 => &[0],
        1 | 3 | 9 | 11 | 17 | 19 | 35 | 37 | 55 | 87 => &[1],
        4 | 8 | 12 | 20 | 38 | 56 | 88 => &[2],
        5 | 7 | 13 | 31 | 49 => &[3],
        6 | 14 | 32 => &[4],
        15 | 33 | 51 | 83 => &[3, 5],
        50 | 82 => &[2, 4],
        16 | 34 | 52 | 84 => &[2, 4, 6],
        53 | 85 => &[1, 3, 5],
        54 => &[0, 2, 4, 6],
        _ => &[],
    }
}

/// The largest valence, or `None` if any is allowed: the alkali and earth alkali metals too may
/// have more than their usual one.
pub(super) fn max_valence(number: u8) -> Option<i32> {
    match number {
        3 | 11 | 12 | 19 | 20 | 37 | 38 | 56 | 88 => None,
        _ => valences(number).last().copied(),
    }
}

/// The least usual valence.
pub(super) fn default_valence(number: u8) -> Option<i32> {
    valences(number).first().copied()
}

/// How many electrons can take part in bonds: the group's number, 2 from zinc's group on,
/// lanthanides from 3 on.
pub(super) fn outer_electrons(number: u8) -> i32 {
    let below = match number {
        0..=2 => 0,
        3..=10 => 2,
        11..=18 => 10,
        19..=29 => 18,
        31..=36 => 28,
        37..=47 => 36,
        49..=54 => 46,
        55..=58 => 54,
        59..=71 => 56,
        72..=79 => 68,
        81..=86 => 78,
        87..=90 => 86,
        91..=103 => 88,
        _ => number - 2,
    };
    i32::from(number - below)
}

/// Everything that is neither a non-metal, a noble gas nor a wildcard; boron, silicon, arsenic and
/// tellurium are no metals here.
pub(super) fn is_metal(number: u8) -> bool {
    !matches!(number, 0..=2 | 5..=10 | 14..=18 | 33..=36 | 52..=54 | 85 | 86)
}

/// Whether `first` draws electrons more strongly than `second`: the later group, and within a group
/// the earlier period.
pub(super) fn is_more_electronegative(first: u8, second: u8) -> bool {
    let (a, b) = (outer_electrons(first), outer_electrons(second));
    a > b || (a == b && first < second)
}
