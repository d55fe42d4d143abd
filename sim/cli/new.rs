//! `folkmoot new`: a crate of one's own with a strategy, a card, and a program that has every
//! subcommand for them.

use crate::args::NewArgs;
use crate::context::quoted;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_metrics::run_dir::write_whole;
use std::path::Path;

/// What the crate is made of: the example of a strategy from another crate, which is built and
/// tested with this program.
const CODE: &str = include_str!("../examples/rumour/src/main.rs");
const CARD: &str = include_str!("../examples/rumour/rumour.ron");

pub(crate) fn new(args: &NewArgs) -> Result<(), Exit> {
    let name = args.name.as_str();
    check(name)?;
    let refuse = |why: String| Exit::usage(format!("error: {why}"));
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
    write_whole(
        &dir.join("Cargo.toml"),
        manifest(name, &checkout.to_string_lossy(), &workspace).as_bytes(),
    )?;
    // The versions that were tested together; Cargo takes out what is not needed.
    write_whole(&dir.join("Cargo.lock"), lock.as_bytes())?;
    write_whole(&dir.join("src/main.rs"), renamed(CODE, name).as_bytes())?;
    write_whole(&dir.join(format!("{name}.ron")), renamed(CARD, name).as_bytes())?;
    let place = quoted(name);
    print(&format!(
        "{name}/ has an algorithm (src/main.rs) and a card for it ({name}.ron)\n  \
         cd {place} && cargo run --release -- run {name}\n\
         the first build takes minutes; from then on the program knows every subcommand: check, sweep, explain, plot, …"
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

/// What Cargo takes as the name of a package and a program, and Rust, in capitals, as that of a
/// type that the example does not use.
fn check(name: &str) -> Result<(), Exit> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_plain);
    let (strategy, taken) = (strategy(name), TAKEN.contains(&name) || name.starts_with("folkmoot"));
    let is_word_of_code = |word: &str| word == strategy && word != "Rumour";
    let why = match () {
        () if !is_word || name.ends_with('-') || name.len() > 64 => {
            "give small letters, digits and hyphens, a letter first, 64 at most".to_owned()
        }
        () if KEYWORDS.contains(&name) => "it is a keyword of Rust".to_owned(),
        () if taken => "it is a name of Rust's, Cargo's or Folkmoot's own".to_owned(),
        () if CODE
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(is_word_of_code) =>
        {
            format!("an algorithm called {strategy} would hide another type of that name")
        }
        () => return Ok(()),
    };
    Err(Exit::usage(format!(
        "error: {name:?} cannot be the name of a crate here: {why}; choose another, as in my-strategy"
    )))
}

/// The name of the algorithm: that of the crate in capitals.
fn strategy(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(capital).collect()
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

/// The example under another name: that of the program and card, and in capitals that of the
/// strategy.
fn renamed(text: &str, name: &str) -> String {
    text.replace("Rumour", &strategy(name))
        .replace("`rumour run rumour`", &format!("`{name} run {name}`"))
        .replace(
            "\"rumour\", include_str!(\"../rumour.ron\")",
            &format!("\"{name}\", include_str!(\"../{name}.ron\")"),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_depends_on_folkmoot_alone_and_has_its_profiles() {
        let example = include_str!("../examples/rumour/Cargo.toml");
        let dependencies = |manifest: &str| -> Vec<String> {
            let (_, rest) = manifest.split_once("[dependencies]\n").unwrap();
            let lines = rest.lines().take_while(|line| !line.is_empty());
            lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
        };
        let made = manifest("gossip", "/somewhere", include_str!("../../Cargo.toml"));
        assert_eq!(dependencies(&made), dependencies(example));
        assert!(made.contains("folkmoot = { path = \"/somewhere\" }"), "{made}");
        assert!(
            made.contains("\n[profile.release]\n") && !made.contains("[workspace.dependencies]"),
            "{made}"
        );
    }

    #[test]
    fn program_card_and_strategy_have_the_name() {
        let code = renamed(CODE, "two-step");
        assert!(
            code.contains("`two-step run two-step`") && code.contains("struct TwoStep {"),
            "{code}"
        );
        assert!(
            code.contains(".add_card(\"two-step\", include_str!(\"../two-step.ron\"))"),
            "{code}"
        );
        assert!(renamed(CARD, "two-step").contains("strategy: TwoStep(fanout: 2)"));
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
            assert!(check(name).is_err(), "{name}");
        }
        // Each of these made a crate that Cargo or Rust refused, or may refuse.
        let words = [
            "self",
            "fn",
            "crate",
            "async",
            "std",
            "core",
            "super",
            "strategy",
            "option",
            "proc-macro",
        ];
        for name in words.into_iter().chain(KEYWORDS).chain(TAKEN) {
            let said = check(name).unwrap_err().to_string();
            assert!(
                said.contains(&format!("{name:?} cannot be the name of a crate here")),
                "{said}"
            );
        }
        assert!(["gossip", "two-step", "x2"].iter().all(|name| check(name).is_ok()));
    }
}
