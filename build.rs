//! Embeds the cards and claims below `scenarios`: what lies in a folder `scenarios/CRATE` comes
//! with the program if the crate does. The folder is that of the package `folkmoot-scenarios`.
//!
//! Lists the examples of crates of algorithms that `folkmoot new` can begin with: those whose
//! manifest has a table `package.metadata.kind`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let scenarios = PathBuf::from(env::var_os("DEP_FOLKMOOT_SCENARIOS_DIR").expect("the package states it"));
    println!("cargo::rerun-if-changed={}", scenarios.display());
    let mut text = String::from("&[\n");
    for dir in sorted(&scenarios)? {
        if dir.join("cards").is_dir() {
            write(&dir, &mut text)?;
        }
    }
    text += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    fs::write(out.join("scenarios.rs"), text)?;
    fs::write(out.join("kinds.rs"), kinds()?)
}

/// The kinds of component whose example is `sim/algorithms/CRATE/example`, as expressions of the
/// type `Kind`. The package of the example has the name of the kind.
fn kinds() -> io::Result<String> {
    let algorithms = Path::new("sim/algorithms");
    // A crate of algorithms that comes or goes changes it.
    println!("cargo::rerun-if-changed=Cargo.toml");
    let mut text = String::from("&[\n");
    for dir in if algorithms.is_dir() {
        sorted(algorithms)?
    } else {
        Vec::new()
    } {
        let example = dir.join("example");
        let Ok(manifest) = fs::read_to_string(example.join("Cargo.toml")) else {
            continue;
        };
        println!("cargo::rerun-if-changed={}", example.join("Cargo.toml").display());
        let value = |table: &str, key: &str| {
            let (_, rest) = manifest.split_once(&format!("[{table}]\n"))?;
            let mut lines = rest.lines().take_while(|line| !line.starts_with('['));
            let value = lines.find_map(|line| line.strip_prefix(&format!("{key} = ")))?;
            Some(value.trim_matches('"').to_owned())
        };
        let table = "package.metadata.kind";
        if let (Some(name), Some(about), Some(word)) =
            (value("package", "name"), value(table, "about"), value(table, "word"))
        {
            let files = [example.join("src/main.rs"), example.join(format!("{name}.ron"))];
            let _ = writeln!(
                text,
                "Kind {{ name: {name:?}, about: {about:?}, word: {word:?}, files: {files:?}, is_program: true }},"
            );
        }
    }
    text += "]\n";
    Ok(text)
}

/// One folder as an expression of the type `Scenarios`.
fn write(dir: &Path, text: &mut String) -> io::Result<()> {
    let folder = dir.file_name().unwrap_or_default();
    let _ = write!(text, "Scenarios {{ folder: {folder:?}, cards: &[");
    let cards = dir.join("cards");
    for path in files(&cards)? {
        let name = path.strip_prefix(&cards).unwrap_or(&path).with_extension("");
        let _ = write!(text, "({name:?}, include_str!({path:?})), ");
    }
    *text += "], costs: ";
    match dir.join("costs.csv").is_file() {
        true => write!(text, "include_str!({:?})", dir.join("costs.csv")).expect("a text takes it"),
        false => *text += "\"\"",
    }
    *text += ", claims: ";
    if dir.join("claims.ron").is_file() {
        let [claims, measured, looks] = ["claims.ron", "measured.csv", "looks.csv"].map(|name| dir.join(name));
        let _ = write!(
            text,
            "Some(ClaimsFile {{ name: {folder:?}, text: include_str!({claims:?}), measured: include_str!({measured:?}), \
             looks: include_str!({looks:?}) }})"
        );
    } else {
        *text += "None";
    }
    *text += " },\n";
    Ok(())
}

/// What is in a folder, by name.
fn sorted(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// All files below a folder, by path.
fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in sorted(dir)? {
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}
