//! `folkmoot new`: a crate of one's own with a component, a card, and a program that has every
//! subcommand for them.

use crate::args::NewArgs;
use crate::context::{Program, quoted};
use crate::exit::Exit;
use crate::output::print;
use folkmoot_metrics::run_dir::write_whole;
use std::path::Path;

/// A kind of component that a crate can begin with. Its code and card are those of an example,
/// which is built and tested with the program.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    about: &'static str,
    /// Its name in the code, which becomes that of the crate in capitals.
    word: &'static str,
    /// The files of code and card in a checkout.
    files: [&'static str; 2],
    /// Whether its code is that of a whole program, named as the kind's card.
    is_program: bool,
}

/// A kind that is a file of the example `components`.
macro_rules! kind {
    ($name:literal, $file:literal, $word:literal, $about:literal) => {
        Kind {
            name: $name,
            about: $about,
            word: $word,
            files: [
                concat!("sim/examples/components/src/", $file, ".rs"),
                concat!("sim/examples/components/cards/", $file, ".ron"),
            ],
            is_program: false,
        }
    };
}

/// All kinds: those of the program, then those that are examples of crates of algorithms.
pub(crate) fn kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain(OF_CRATES)
}

/// The examples of crates of algorithms, which their manifests declare.
const OF_CRATES: &[Kind] = include!(concat!(env!("OUT_DIR"), "/kinds.rs"));

const KINDS: &[Kind] = &[
    Kind {
        name: "algorithm",
        about: "an algorithm",
        word: "Rumour",
        files: ["sim/examples/rumour/src/main.rs", "sim/examples/rumour/rumour.ron"],
        is_program: true,
    },
    kind!("adversary", "adversary", "RandomSigns", "an adversary"),
    kind!("aggregator", "aggregator", "Middle", "an aggregator"),
    kind!("attack", "attack", "Confidence", "an attack on trained classifiers"),
    kind!("availability", "availability", "Shifts", "an availability model"),
    kind!("codec", "codec", "Backwards", "a codec"),
    kind!("dataset", "dataset", "Ladder", "a data set"),
    kind!("devices", "devices", "Steady", "a device model"),
    kind!("evaluator", "evaluator", "ModelLength", "an evaluator of FedAvg"),
    kind!("figure", "figure", "RoundTimes", "a figure"),
    kind!("layer", "layer", "GatV2", "a graph layer"),
    kind!("loss", "loss", "Brier", "a training loss"),
    kind!("method", "method", "Twice", "a federated method"),
    kind!(
        "metric",
        "metric",
        "BalancedAccuracy",
        "a metric of trained classifiers"
    ),
    kind!("network", "network", "Wire", "a network"),
    kind!("partition", "partition", "Turns", "a partition"),
    kind!("selection", "selection", "EveryOther", "a client selection"),
    kind!("server-optimizer", "server_optimizer", "HalfWay", "a server optimizer"),
    kind!("topology", "topology", "Star", "a topology"),
];

/// What makes a program of the file of a component.
const MAIN: &str = "
fn main() -> std::process::ExitCode {
    let mut registry = folkmoot::shipped();
    register(&mut registry).expect(\"no shipped component is called so\");
    folkmoot::main(registry)
}
";

pub(crate) fn new(program: &Program, args: &NewArgs) -> Result<(), Exit> {
    let name = args.name.as_str();
    let kind = kinds().find(|kind| kind.name == args.kind);
    let kind = kind.ok_or_else(|| Exit::usage(format!("error: --kind {}: there is no such kind", args.kind)))?;
    check(name, kind.name)?;
    let refuse = |why: String| Exit::usage(format!("error: {why}"));
    let component = capitals(name);
    if program.registry.parts().any(|part| part.is_called(&component)) {
        return Err(refuse(format!(
            "{name:?}: this program has a component {component} already; choose another name, as in my-{name}"
        )));
    }
    let dir = Path::new(name);
    if dir.exists() {
        return Err(refuse(format!(
            "{name}: exists already and is never overwritten; choose another name"
        )));
    }
    let checkout = args.checkout.canonicalize();
    let checkout = checkout.map_err(|error| refuse(format!("--checkout {}: {error}", args.checkout.display())))?;
    let read = |name: &str| {
        std::fs::read_to_string(checkout.join(name)).map_err(|error| {
            refuse(format!(
                "--checkout {}: is no checkout of Folkmoot's sources: {}: {error}",
                args.checkout.display(),
                checkout.join(name).display()
            ))
        })
    };
    let (workspace, lock) = (read("Cargo.toml")?, read("Cargo.lock")?);
    if !workspace.contains("\nname = \"folkmoot\"\n") {
        return Err(refuse(format!(
            "--checkout {}: is no checkout of Folkmoot's sources: its Cargo.toml belongs to another project",
            args.checkout.display()
        )));
    }
    let [code, card] = kind.files.map(read);
    let (code, card) = (code?, card?);
    if words(&code).any(|word| word == component && word != kind.word) {
        return Err(refuse(format!(
            "{name:?}: {} called {component} would hide another type of that name; choose another name, as in my-{name}",
            kind.about
        )));
    }
    write_whole(
        &dir.join("Cargo.toml"),
        manifest(name, &checkout.to_string_lossy(), &workspace).as_bytes(),
    )?;
    // The versions that were tested together; Cargo takes out what is not needed.
    write_whole(&dir.join("Cargo.lock"), lock.as_bytes())?;
    write_whole(&dir.join("src/main.rs"), kind.code(&code, name).as_bytes())?;
    write_whole(&dir.join(format!("{name}.ron")), kind.card(&card, name).as_bytes())?;
    let place = quoted(name);
    print(&format!(
        "{name}/ has {} (src/main.rs) and a card for it ({name}.ron)\n  \
         cd {place} && cargo run --release -- run {name}\n\
         the first build takes minutes; from then on the program knows every subcommand: check, sweep, explain, plot, …",
        kind.about
    ))
}

/// Keywords of Rust, strict and reserved (The Rust Reference, section Keywords).
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// Crates that every program has, folders of Cargo's and files of Windows.
const TAKEN: [&str; 15] = [
    "alloc",
    "aux",
    "build",
    "con",
    "core",
    "deps",
    "examples",
    "incremental",
    "nul",
    "prn",
    "proc-macro",
    "serde",
    "std",
    "syn",
    "test",
];

/// Checks the name of a crate: what Cargo takes as the name of a package and a program.
fn check(name: &str, kind: &str) -> Result<(), Exit> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_plain);
    let why = match () {
        () if !is_word || name.ends_with('-') || name.len() > 64 => {
            "give small letters, digits and hyphens, a letter first, 64 at most"
        }
        () if KEYWORDS.contains(&name) => "it is a keyword of Rust",
        () if TAKEN.contains(&name) || name.starts_with("folkmoot") => {
            "it is a name of Rust's, Cargo's or Folkmoot's own"
        }
        () => return Ok(()),
    };
    Err(Exit::usage(format!(
        "error: {name:?} cannot be the name of a crate here: {why}; choose another, as in my-{kind}"
    )))
}

impl Kind {
    /// The code of the example for a crate of this name.
    fn code(&self, code: &str, name: &str) -> String {
        let code = renamed(code, self.word, &capitals(name));
        let code = match self.is_program {
            true => {
                let card = Path::new(self.files[1])
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy();
                code.replace(&format!("`{card} run {card}`"), &format!("`{name} run {name}`"))
            }
            false => code + MAIN,
        };
        // The name of a figure is that of its type with hyphens.
        let code = code.replace("\"round-times\"", &format!("{name:?}"));
        let (before, rest) = code.split_once("add_card(").unwrap_or((&code, ""));
        let (_, after) = rest.split_once(".ron\"))").unwrap_or_default();
        format!("{before}add_card({name:?}, include_str!(\"../{name}.ron\")){after}")
    }

    /// The card of the example for a crate of this name.
    fn card(&self, card: &str, name: &str) -> String {
        renamed(card, self.word, &capitals(name)).replace("\"round-times\"", &format!("{name:?}"))
    }
}

/// The words of a text of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The name of a component: that of the crate in capitals.
fn capitals(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(capital).collect()
}

/// A text with another word for one of its words.
fn renamed(text: &str, word: &str, by: &str) -> String {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (mut renamed, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        renamed += before;
        let is_whole = !is_of_word(renamed.chars().next_back()) && !is_of_word(after.chars().next());
        renamed += if is_whole { by } else { word };
        rest = after;
    }
    renamed + rest
}

fn manifest(name: &str, checkout: &str, workspace: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\nfolkmoot = {{ path = {checkout:?} }}\n\n\
         # One that stands alone, also below another.\n[workspace]\n\n\
         # As Folkmoot's own: without them training takes many times as long.\n{}",
        profiles(workspace)
    )
}

/// The profiles in a manifest, from the first on to its end.
fn profiles(manifest: &str) -> &str {
    manifest.find("[profile.").map_or("", |at| &manifest[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this checkout.
    fn read(path: &str) -> String {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
    }

    #[test]
    fn the_crate_depends_on_folkmoot_alone_and_has_its_profiles() {
        let example = read("sim/examples/rumour/Cargo.toml");
        let dependencies = |manifest: &str| -> Vec<String> {
            let (_, rest) = manifest.split_once("[dependencies]\n").unwrap();
            let lines = rest.lines().take_while(|line| !line.is_empty());
            lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
        };
        let made = manifest("hearsay", "/somewhere", &read("Cargo.toml"));
        assert_eq!(dependencies(&made), dependencies(&example));
        assert!(made.contains("folkmoot = { path = \"/somewhere\" }"), "{made}");
        assert!(
            made.contains("\n[profile.release]\n") && !made.contains("[workspace.dependencies]"),
            "{made}"
        );
    }

    #[test]
    fn program_card_and_component_have_the_name() {
        for kind in kinds() {
            let [code, card] = kind.files.map(read);
            let (code, card) = (kind.code(&code, "two-step"), kind.card(&card, "two-step"));
            let is_of_figure = kind.name == "figure";
            assert!(code.contains("struct TwoStep"), "{}: {code}", kind.name);
            assert!(
                card.contains(if is_of_figure { "two-step" } else { "TwoStep(" }),
                "{}: {card}",
                kind.name
            );
            let embeds = "add_card(\"two-step\", include_str!(\"../two-step.ron\"))";
            assert!(
                code.contains(embeds) && code.contains("\nfn main()"),
                "{}: {code}",
                kind.name
            );
            assert!(
                words(&code).chain(words(&card)).all(|word| word != kind.word),
                "{}: {code}",
                kind.name
            );
        }
        let code = KINDS[0].code(&read(KINDS[0].files[0]), "two-step");
        assert!(code.contains("`two-step run two-step`"), "{code}");
        // Of a longer word, a part stays.
        assert_eq!(
            renamed("Wire, LongWires, Wire_2", "Wire", "Rope"),
            "Rope, LongWires, Wire_2"
        );
    }

    #[test]
    fn names_that_cargo_or_rust_would_refuse_are_refused() {
        for name in [
            "",
            "Rumour",
            "1st",
            "-a",
            "a-",
            "a_b",
            "folkmoot-x",
            "test",
            "é",
            "a/b",
            &"a".repeat(65),
        ] {
            assert!(check(name, "strategy").is_err(), "{name}");
        }
        // Each of these made a crate that Cargo or Rust refused, or may refuse.
        let words = ["self", "fn", "crate", "async", "std", "core", "super", "proc-macro"];
        for name in words.into_iter().chain(KEYWORDS).chain(TAKEN) {
            let said = check(name, "strategy").unwrap_err().to_string();
            assert!(
                said.contains(&format!("{name:?} cannot be the name of a crate here")),
                "{said}"
            );
        }
        assert!(
            ["hearsay", "two-step", "x2"]
                .iter()
                .all(|name| check(name, "strategy").is_ok())
        );
    }
}
