use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Molecule {
    Molecule::from_smiles(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    match Molecule::from_smiles(text) {
        Ok(molecule) => panic!("{text} was read as {molecule:?}"),
        Err(error) => error.to_string(),
    }
}

/// Symbol, hydrogens and charge of each atom, lower case where aromatic: `cH1`, `N+1`.
fn atoms(text: &str) -> String {
    let shown = |atom: &Atom| {
        let symbol = if atom.aromatic {
            atom.symbol().to_lowercase()
        } else {
            atom.symbol().to_string()
        };
        let hydrogens = if atom.hydrogens > 0 {
            format!("H{}", atom.hydrogens)
        } else {
            String::new()
        };
        let charge = if atom.charge != 0 {
            format!("{:+}", atom.charge)
        } else {
            String::new()
        };
        symbol + &hydrogens + &charge
    };
    read(text).atoms().iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// The bonds as (from, to, kind's number), ends and list ascending.
fn bonds(text: &str) -> Vec<(u32, u32, u32)> {
    let ends = |bond: &Bond| (bond.from.min(bond.to), bond.from.max(bond.to), bond.kind as u32);
    let mut all: Vec<_> = read(text).bonds().iter().map(ends).collect();
    all.sort_unstable();
    all
}

fn shapes(text: &str) -> Vec<Hybridisation> {
    read(text).atoms().iter().map(|atom| atom.hybridisation).collect()
}

#[test]
fn implied_hydrogens_fill_the_least_valence_that_has_room() {
    for (text, expected) in [
        ("C", "CH4"),
        ("CCO", "CH3 CH2 OH1"),
        ("C=C", "CH2 CH2"),
        ("C#N", "CH1 N"),
        ("OS(=O)(=O)O", "OH1 S O O OH1"),
        ("SC", "SH1 CH3"),
        ("CP(C)(C)(C)C", "CH3 P CH3 CH3 CH3 CH3"),
        ("[CH3-].[NH4+].[Fe+2].[Na]", "CH3-1 NH4+1 Fe+2 Na"),
        ("[13CH4]", "CH4"),
        ("C[C@H](N)F", "CH3 CH1 NH2 F"),
        ("*C", "* CH3"),
    ] {
        assert_eq!(atoms(text), expected, "{text}");
    }
}

#[test]
fn rings_close_by_digit_percent_and_brackets_and_across_dots() {
    let triangle = vec![(0, 1, 0), (0, 2, 0), (1, 2, 0)];
    for text in ["C1CC1", "C%12CC%12", "C%(123)CC%(123)", "C1.C12.C2", "C0CC0", "C%01CC1"] {
        assert_eq!(bonds(text).len(), if text.contains('.') { 2 } else { 3 }, "{text}");
    }
    assert_eq!(bonds("C1CC1"), triangle);
    assert_eq!(bonds("C=1CC1"), bonds("C1CC=1"));
    assert_eq!(bonds("C1CC1C1CC1").len(), 7, "a number may be used again");
    assert_eq!(read("[Na+].[Cl-]").bonds().len(), 0);
    let spiro = read("C1CC12CC2");
    assert!(spiro.atoms().iter().all(|atom| atom.in_ring));
    assert_eq!(spiro.atoms()[2].degree, 4);
    assert!(!read("C1CC1C").atoms()[3].in_ring);
}

#[test]
fn written_hydrogens_are_counted_at_their_neighbour() {
    assert_eq!(atoms("[H]O[H]"), "OH2");
    assert_eq!(atoms("[H]C([H])([H])[H]"), "CH4");
    assert_eq!(atoms("[H][H]"), "H H");
    assert_eq!(atoms("[2H]C"), "H CH3", "an isotope stays");
    assert_eq!(atoms("[H+].[Cl-]"), "H+1 Cl-1");
    assert_eq!(atoms("[H]/N=C/C"), "H N CH1 CH3", "the only mark of direction stays");
    assert_eq!(atoms("[H]N=CC"), "NH1 CH1 CH3");
    assert_eq!(atoms("[H]*"), "H *");
    assert_eq!(atoms("[H][Na]"), "NaH1");
}

#[test]
fn kekule_and_lower_case_texts_give_one_graph() {
    for (kekule, lower) in [
        ("C1=CC=CC=C1", "c1ccccc1"),
        ("C1=CC=NC=C1", "c1ccncc1"),
        ("C1=CNC=C1", "c1c[nH]cc1"),
        ("C1=COC=C1", "c1cocc1"),
        ("C1=CC=C2C=CC=CC2=C1", "c1ccc2ccccc2c1"),
        ("O=C1C=CNC=C1", "O=c1cc[nH]cc1"),
        ("C1=CC=CC=C1C2=CC=CC=C2", "c1ccccc1-c2ccccc2"),
        ("C1=CC=CC=C1C2=CC=CC=C2", "c1ccccc1c2ccccc2"),
        ("CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "Cn1cnc2c1c(=O)n(c(=O)n2C)C"),
    ] {
        assert_eq!(atoms(kekule), atoms(lower), "{kekule}");
        assert_eq!(bonds(kekule), bonds(lower), "{kekule}");
    }
    assert_eq!(atoms("c1c[nH]cc1"), "cH1 cH1 nH1 cH1 cH1");
    assert_eq!(
        bonds("c1ccccc1"),
        [(0, 1, 4), (0, 5, 4), (1, 2, 4), (2, 3, 4), (3, 4, 4), (4, 5, 4)]
    );
}

#[test]
fn huckels_rule_decides_which_rings_are_aromatic() {
    let n_aromatic = |text: &str| read(text).atoms().iter().filter(|atom| atom.aromatic).count();
    for (text, expected, why) in [
        ("C1=CC=CC=CC=C1", 0, "eight electrons"),
        ("C1=CC=C1", 0, "four electrons"),
        ("c1ccc2cccc2cc1", 10, "azulene, ten on the rim"),
        ("C1=CC2=CC=CC2=C1", 0, "pentalene, eight"),
        ("[cH-]1cccc1", 5, "cyclopentadienyl"),
        ("C1=C[CH+]C=CC=C1", 7, "tropylium"),
        ("C1=CCC=C1", 0, "a saturated atom"),
        ("C=C1C=CC=C1", 0, "fulvene: nothing draws its electron out"),
        ("O=C1C=CC=CC=C1", 7, "tropone: oxygen draws one out"),
        ("c1cc2ccc3cccc4ccc(c1)c2c34", 16, "pyrene"),
        ("O=S1(=O)C=CC=C1", 0, "no lone pair at sulphur"),
    ] {
        assert_eq!(n_aromatic(text), expected, "{text}: {why}");
    }
    // The bond that azulene's rings share is none of the rim.
    let shared = bonds("c1ccc2cccc2cc1").into_iter().filter(|bond| bond.2 == 0).count();
    assert_eq!(shared, 1);
}

#[test]
fn groups_with_too_many_bonds_are_written_with_charges() {
    assert_eq!(atoms("CN(=O)=O"), "CH3 N+1 O-1 O");
    assert_eq!(bonds("CN(=O)=O"), bonds("C[N+]([O-])=O"));
    assert_eq!(atoms("CN=N#N"), atoms("CN=[N+]=[N-]"));
    assert_eq!(atoms("OCl(=O)(=O)=O"), "OH1 Cl+3 O-1 O-1 O-1");
    assert_eq!(atoms("CP(=O)=CC"), "CH3 P+1 O-1 CH1 CH3");
    let dative = bonds("[NH3][Pt](Cl)Cl");
    assert_eq!(dative[0], (0, 1, 5));
}

#[test]
fn hybridisation_follows_neighbours_lone_pairs_and_conjugation() {
    use Hybridisation::{Other, S, Sp, Sp2, Sp3, Sp3d, Sp3d2};
    assert_eq!(shapes("CC=CC#C"), [Sp3, Sp2, Sp2, Sp, Sp]);
    assert_eq!(shapes("CNC"), [Sp3, Sp3, Sp3]);
    assert_eq!(shapes("NC(=O)C"), [Sp2, Sp2, Sp2, Sp3], "an amide is planar");
    assert_eq!(shapes("NC(=S)C")[0], Sp2);
    assert_eq!(shapes("CSC=C")[1], Sp3);
    assert_eq!(shapes("FP(F)(F)(F)F")[1], Sp3d);
    assert_eq!(shapes("FS(F)(F)(F)(F)F")[1], Sp3d2);
    assert_eq!(shapes("[Na+].*"), [S, Other]);
}

#[test]
fn broken_texts_are_refused_with_the_column_and_the_rule() {
    for (text, expected) in [
        ("", "column 1: the text is empty"),
        ("C1CC", "column 2: ring 1, opened here, is not closed"),
        ("C(C", "column 2: the branch opened here is not closed"),
        ("CC)C", "column 3: a branch is closed that was not opened"),
        ("C()C", "column 3: a branch must end in"),
        ("C==C", "column 3: a bond must follow"),
        ("C=", "column 2: a bond must lead to an atom"),
        ("=C", "column 1: a bond must follow"),
        ("C..C", "column 3: a dot must follow"),
        ("C.", "column 2: expected an atom after a dot"),
        ("C11", "column 3: ring 1 would bond an atom to itself"),
        ("C1C1", "column 4: ring 1 bonds two atoms that are bonded already"),
        ("C12CC12", "column 7: ring 2 bonds two atoms that are bonded already"),
        ("C=1CC#1", "column 7: ring 1 opens at column 3 with another bond"),
        ("C%1", "column 2: expected two digits after `%`"),
        ("1CC1", "column 1: a ring number must follow an atom"),
        ("[Xx]", "column 2: expected an element after `[`, got \"Xx\""),
        ("[C", "column 2: expected `]`"),
        ("[CH3+20]", "column 5: a charge must lie in -15..=15"),
        ("[C@TB21]", "column 6: @TB must have a number in 1..=20"),
        ("CQ", "column 2: `Q` does not belong here; write an element outside"),
        ("C C", "column 2: a blank does not belong here"),
        ("Cé", "column 2: the byte 0xc3 does not belong here"),
        (
            "C(C)(C)(C)(C)C",
            "column 1: C has valence 5, but at most 4 is allowed with charge 0",
        ),
        ("CN(C)(C)C", "column 2: N has valence 4, but at most 3"),
        (
            "cc",
            "column 1: C is written in lower case (aromatic) but is in no ring",
        ),
        ("C:C", "column 1: an aromatic bond `:` leads from here"),
        ("CCo1CO1", "column 3: O has valence 3, but at most 2"),
        ("c1cccn1", "has no Kekulé structure; write hydrogens"),
        ("c1cccc1", "has no Kekulé structure"),
    ] {
        let error = refused(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(refused(&"C".repeat(MAX_ATOMS + 1)).contains("more than 4096 atoms"));
    assert!(refused(&"C".repeat(MAX_LENGTH + 1)).contains("has 65537 bytes"));
}

#[test]
fn a_wildcard_in_a_ring_stands_for_either_kind_of_atom() {
    for text in ["*1ccccc1", "*1cccc1", "c1cc*cc1"] {
        assert!(read(text).atoms().iter().all(|atom| atom.aromatic), "{text}");
    }
}

#[test]
fn large_ring_systems_are_read_or_refused_but_never_hang() {
    let buckminster = "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1c6c6c%11c2c2c7c3c3c8c4c4c9c5c1c1c6c2c3c41";
    let cage = read(buckminster);
    assert_eq!((cage.atoms().len(), cage.bonds().len()), (60, 90));
    assert!(
        cage.atoms()
            .iter()
            .all(|atom| atom.in_ring && atom.aromatic && atom.degree == 3)
    );
    let chain: String = "C1CC1".repeat(1_000);
    assert_eq!(read(&chain).bonds().len(), 3_999);
    let macrocycle = format!("C1{}C1", "C".repeat(4_000));
    assert!(read(&macrocycle).atoms().iter().all(|atom| atom.in_ring));
    // Each atom bonded to the one three places before: rings all along.
    let mut joined = String::new();
    for at in 0..4_000 {
        joined += &format!("C%({})", at);
        if at >= 3 {
            joined += &format!("%({})", at - 3);
        }
    }
    let open: String = (3_997..4_000).map(|at| format!(".C%({at})")).collect();
    let error = refused(&(joined + &open));
    assert!(
        error.contains("ring system") && error.contains("beyond what is searched"),
        "{error}"
    );
}

/// Pieces of SMILES, so that random texts get past the first byte.
const PIECES: [&str; 40] = [
    "C", "c", "N", "n", "O", "o", "S", "s", "(", ")", "=", "#", "1", "2", "3", "[nH]", "[N+]", "[O-]", "Cl", "Br", "F",
    "*", ".", "/", "\\", "%10", "[C@H]", "[H]", "[Fe+2]", ":", "$", "-", "P", "p", "B", "[", "]", "@", "H", "c1ccccc1",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_text_gives_a_molecule_or_a_message(text in "\\PC{0,60}") {
        let _ = Molecule::from_smiles(&text);
    }

    #[test]
    fn pieces_give_a_sound_graph_or_a_message(pieces in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        if let Ok(molecule) = Molecule::from_smiles(&text) {
            let n = molecule.atoms().len() as u32;
            let mut ends: Vec<_> = molecule.bonds().iter().map(|b| (b.from.min(b.to), b.from.max(b.to))).collect();
            ends.sort_unstable();
            prop_assert!(ends.iter().all(|&(from, to)| from < to && to < n));
            prop_assert!(ends.windows(2).all(|pair| pair[0] != pair[1]), "{text}: a bond twice");
            let degrees: usize = molecule.atoms().iter().map(|atom| usize::from(atom.degree)).sum();
            prop_assert_eq!(degrees, 2 * ends.len());
            prop_assert!(molecule.atoms().iter().all(|atom| !atom.aromatic || atom.in_ring));
        }
    }

    #[test]
    fn matchings_are_as_large_as_trying_all_finds(edges in proptest::collection::vec((0_u32..9, 0_u32..9), 0..16)) {
        let mut neighbours = vec![Vec::new(); 9];
        for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
            if !neighbours[from as usize].contains(&to) {
                neighbours[from as usize].push(to);
                neighbours[to as usize].push(from);
            }
        }
        let needed: Vec<u32> = (0..9).filter(|&vertex| !neighbours[vertex as usize].is_empty()).collect();
        fn possible(neighbours: &[Vec<u32>], free: u32) -> bool {
            let Some(first) = (0..9_u32).find(|vertex| free >> vertex & 1 == 1) else { return true };
            neighbours[first as usize]
                .iter()
                .any(|other| free >> other & 1 == 1 && possible(neighbours, free & !(1 << first) & !(1 << other)))
        }
        let free = needed.iter().fold(0, |set, vertex| set | 1 << vertex);
        let found = matching::cover(&neighbours, &needed);
        prop_assert_eq!(found.is_ok(), possible(&neighbours, free));
        if let Ok(partners) = found {
            for &vertex in &needed {
                let partner = partners[vertex as usize];
                prop_assert!(neighbours[vertex as usize].contains(&partner));
                prop_assert_eq!(partners[partner as usize], vertex);
            }
        }
    }
}
