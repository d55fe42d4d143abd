//! Feeds random SMILES texts and tables of molecules to their readers: no panic, no hang, and every
//! graph is sound.
//!
//! `cargo run --release -p folkmoot-graphs --example fuzz_molecules -- 10000000 [seed [folder]]`
//!
//! Half the texts are strings of pieces of SMILES, half are mutations of valid ones; tables are
//! mutated likewise and go through a file in `folder` (the system's folder for temporary files by
//! default; one in memory is fastest). The slowest text is printed at the end. Of tables the same
//! number is read as of texts.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "an example that measures and prints"
)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_graphs::{DataDirs, DataSource, Invalid, datasets};
use folkmoot_molecules::Molecule;
use rand::RngExt;

const PIECES: [&str; 56] = [
    "C", "c", "N", "n", "O", "o", "S", "s", "P", "p", "B", "b", "F", "Cl", "Br", "I", "(", ")", "(", ")", "=", "#",
    "$", ":", "-", "/", "\\", ".", "*", "1", "2", "3", "1", "2", "%10", "%(12)", "%", "[nH]", "[N+]", "[O-]", "[C@H]",
    "[C@@]", "[H]", "[2H]", "[Fe+2]", "[Pt]", "[se]", "[H+]", "[", "]", "@", "+", "H", "c1ccccc1", "C1CC1", "n1cccc1",
];

const SEEDS: [&str; 12] = [
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "Cn1cnc2c1c(=O)n(c(=O)n2C)C",
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H]1CN(C[C@@H](O1)C)c2ccc3c(c2)OCO3",
    "[O-][N+](=O)c1ccc(cc1)N=Nc1ccc(O)cc1.[Na+]",
    "c1cc2ccc3cccc4ccc(c1)c2c34",
    "C1CC2CC1C=C2",
    "OS(=O)(=O)c1ccc2c(c1)[nH]c1ccccc12",
    "N[Pt](N)(Cl)Cl",
    "O=Cl(=O)(=O)O.[NH4+]",
    "C%10CC%11CC%10C%11",
    "[H]/N=C(\\N)c1ccc(cc1)OCCCCCOc1ccc(cc1)C(N)=N",
];

const TABLE: &str = "id,\"tox, a\",y,smiles\r\n1,1,0,CCO\r\n\"2\",,1,c1ccccc1\n3,0,,\"[Na+].[Cl-]\"\n";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let n: u64 = args
        .first()
        .ok_or("the first argument must be the number of inputs")?
        .parse()?;
    let seed: u64 = args.get(1).map_or(Ok(1), |text| text.parse())?;
    let folder = args
        .get(2)
        .map_or_else(std::env::temp_dir, |path| Path::new(path).to_path_buf());
    let mut rng = SimRng::seed_from_u64(seed);
    texts(n, &mut rng);
    tables(
        n,
        &folder.join(format!("folkmoot-fuzz-{}", std::process::id())),
        &mut rng,
    )
}

fn texts(n: u64, rng: &mut SimRng) {
    let start = Instant::now();
    let (mut valid, mut slowest) = (0_u64, (Duration::ZERO, String::new()));
    for at in 0..n {
        let text = if at % 2 == 0 {
            let length = rng.random_range(1..40_u32);
            (0..length)
                .map(|_| PIECES[rng.random_range(0..PIECES.len() as u32) as usize])
                .collect()
        } else {
            let seed = SEEDS[rng.random_range(0..SEEDS.len() as u32) as usize];
            mutated(seed, rng)
        };
        let before = Instant::now();
        let read = Molecule::from_smiles(&text);
        let took = before.elapsed();
        if took > slowest.0 {
            slowest = (took, text.clone());
        }
        if let Ok(molecule) = read {
            valid += 1;
            let n_atoms = molecule.atoms().len();
            let degrees: usize = molecule.atoms().iter().map(|atom| usize::from(atom.degree)).sum();
            assert_eq!(degrees, 2 * molecule.bonds().len(), "{text}");
            assert!(
                molecule
                    .bonds()
                    .iter()
                    .all(|bond| (bond.from.max(bond.to) as usize) < n_atoms),
                "{text}"
            );
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "texts {n} valid {valid} seconds {seconds:.1} slowest {:?} {:?}",
        slowest.0, slowest.1
    );
}

fn tables(n: u64, path: &Path, rng: &mut SimRng) -> Result<(), Box<dyn Error>> {
    let spec = datasets::MoleculeTable {
        path: path.to_string_lossy().into_owned(),
        smiles: "smiles".to_string(),
        tasks: vec!["y".to_string()],
        targets: Vec::new(),
        invalid: Invalid::Skip,
    };
    let start = Instant::now();
    let (mut valid, mut slowest) = (0_u64, Duration::ZERO);
    for _ in 0..n {
        std::fs::write(path, mutated(TABLE, rng))?;
        let before = Instant::now();
        let read = spec.load(&DataDirs::new(), rng);
        slowest = slowest.max(before.elapsed());
        if let Ok(dataset) = read {
            valid += 1;
            let tasks = dataset.graph_tasks.ok_or("a table without tasks")?;
            assert_eq!(tasks.n_graphs(), dataset.graphs.len());
        }
    }
    std::fs::remove_file(path)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("tables {n} valid {valid} seconds {seconds:.1} slowest {slowest:?}");
    Ok(())
}

/// The text with one to four bytes changed, added, removed, or a stretch of it repeated.
fn mutated(text: &str, rng: &mut SimRng) -> String {
    const BYTES: &[u8] = b"CcNnOoSsFPp()[]=#:/\\.*%@+-H0123456789\",\r\n \xc3";
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..5_u32) {
        let at = rng.random_range(0..bytes.len() as u32 + 1) as usize;
        let byte = BYTES[rng.random_range(0..BYTES.len() as u32) as usize];
        match rng.random_range(0..4_u32) {
            0 if at < bytes.len() => bytes[at] = byte,
            1 if at < bytes.len() && bytes.len() > 1 => {
                bytes.remove(at);
            }
            2 => {
                let end = (at + rng.random_range(0..12_u32) as usize).min(bytes.len());
                let stretch = bytes[at..end].to_vec();
                bytes.splice(at..at, stretch);
            }
            _ => bytes.insert(at, byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
