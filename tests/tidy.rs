//! The house rules that no compiler checks.

use crate::support::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const CODE: &[&str] = &["metrics", "plots", "report", "scenarios", "sim", "tests"];

/// Path below the root and text of every file in `dirs` that `wanted` takes by its name.
fn texts(dirs: &[&str], wanted: fn(&str) -> bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<String> = dirs.iter().map(|dir| (*dir).to_owned()).collect();
    while let Some(path) = open.pop() {
        let full = root().join(&path);
        if full.is_dir() {
            let names = crate::support::TempDir::names_in(&full);
            open.extend(
                names
                    .iter()
                    .filter(|name| *name != "target")
                    .map(|name| format!("{path}/{name}")),
            );
        } else if wanted(&path) {
            found.push((path, fs::read_to_string(&full).unwrap()));
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

fn sources() -> Vec<(String, String)> {
    texts(CODE, |name| name.ends_with(".rs"))
}

/// The lines that are program, with their numbers: neither comments nor a module's tests, which end it or lie in a file of their own.
fn program(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let next = text.lines().skip(1).chain([""]);
    let lines = text.lines().zip(next).zip(1..);
    lines
        .take_while(|((line, next), _)| !line.starts_with("#[cfg(test)]") || next.ends_with(';'))
        .filter(|((line, _), _)| !line.trim_start().starts_with("//"))
        .map(|((line, _), number)| (number, line.split(" // ").next().unwrap_or(line)))
}

fn is_test(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let name = parts[parts.len() - 1];
    parts.contains(&"tests")
        || parts.contains(&"benches")
        || parts.contains(&"examples")
        || name == "tests.rs"
        || name == "testing.rs"
        || name.ends_with("_tests.rs")
        || name == "test_files.rs"
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// Fails with every line of the program in which `word` stands, but in files that `allowed` takes.
#[track_caller]
fn assert_absent(word: &str, allowed: fn(&str) -> bool) {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if !allowed(&path) && path != "tests/tidy.rs" {
            let lines = program(&text).filter(|(_, line)| has_word(line, word));
            found.extend(lines.map(|(number, line)| format!("{path}:{number}: {}", line.trim())));
        }
    }
    assert!(found.is_empty(), "{word} is not allowed here:\n{}", found.join("\n"));
}

#[test]
fn nothing_iterates_in_hash_order() {
    for word in ["HashMap", "HashSet", "RandomState", "DefaultHasher"] {
        assert_absent(word, |_| false);
    }
}

#[test]
fn only_the_command_line_looks_at_the_clock_and_nothing_asks_for_entropy() {
    // These examples measure: the clock goes into what they print, not into what they compute.
    const MEASURING: [&str; 5] = [
        "sim/tools/graphs/examples/fuzz_molecules.rs",
        "sim/tools/similarity/examples/all_pairs.rs",
        "sim/tools/similarity/examples/gw_pairs.rs",
        "sim/tools/similarity/examples/hybrid_tree.rs",
        "sim/strategies/examples/walks.rs",
    ];
    let may_look = |path: &str| path.starts_with("sim/cli/") || path.contains("/benches/") || MEASURING.contains(&path);
    for word in ["Instant", "SystemTime"] {
        assert_absent(word, may_look);
    }
    for word in [
        "thread_rng",
        "OsRng",
        "from_os_rng",
        "from_entropy",
        "SysRng",
        "getrandom",
        "rand::rng",
        "ThreadId",
    ] {
        assert_absent(word, |_| false);
    }
}

#[test]
fn only_the_command_line_reads_arguments_and_the_environment() {
    // Launchers tell their processes by the environment that they are several.
    let may_read =
        |path: &str| ["sim/cli/", "sim/core/mpi/"].iter().any(|room| path.starts_with(room)) || is_test(path);
    for word in ["env::args", "env::var", "env::var_os", "process::exit"] {
        assert_absent(word, may_read);
    }
}

#[test]
fn fused_multiplication_stays_in_kernels() {
    assert_absent("mul_add", |path| path.contains("kernel") || is_test(path));
}

#[test]
fn tables_of_artifacts_are_declared_where_explain_finds_them() {
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test(path)) {
        for (number, line) in program(&text) {
            let is_bare = line.contains("sheet.artifact(\"") && line.contains(".csv\"");
            assert!(
                !is_bare,
                "{path}:{number}: name a table of folkmoot_metrics::artifacts: {line}"
            );
        }
    }
}

#[test]
fn nothing_is_left_to_do() {
    for word in ["todo!", "unimplemented!", "dbg!", "FIXME", "XXX"] {
        let found: Vec<String> = sources()
            .into_iter()
            .filter(|(path, text)| path != "tests/tidy.rs" && text.contains(word))
            .map(|(path, _)| path)
            .collect();
        assert!(found.is_empty(), "{word} in {found:?}");
    }
    assert_absent("TODO", |_| false);
}

#[test]
fn libraries_unwrap_only_in_tests() {
    for (path, text) in sources() {
        if is_test(&path) {
            continue;
        }
        for (number, line) in program(&text) {
            assert!(
                !line.contains(".unwrap()"),
                "{path}:{number}: say why it cannot fail, with expect: {line}"
            );
            assert!(!line.contains(".expect(\"\")"), "{path}:{number}: {line}");
        }
    }
}

#[test]
fn no_test_is_ignored() {
    for (path, text) in sources() {
        let ignored = text.lines().any(|line| line.trim_start().starts_with("#[ignore"));
        assert!(!ignored, "{path}");
    }
}

#[test]
fn files_are_short_and_modules_have_no_mod_rs() {
    for (path, text) in sources() {
        assert!(
            text.lines().count() <= 600,
            "{path} wants a split: {} lines",
            text.lines().count()
        );
        assert!(!path.ends_with("/mod.rs"), "{path}");
        assert!(
            text.ends_with('\n') && !text.ends_with("\n\n"),
            "{path} ends in one line feed"
        );
        assert!(!text.contains('\t') && !text.contains('\r'), "{path}");
    }
}

#[test]
fn every_module_of_the_program_opens_with_what_it_is() {
    for (path, text) in sources() {
        assert!(is_test(&path) || text.starts_with("//! "), "{path}");
    }
}

#[test]
fn no_file_names_a_folder_of_ours() {
    let is_text = |name: &str| {
        [".rs", ".toml", ".md", ".ron", ".txt", ".csv", ".json", ".py"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let mut files = texts(CODE, is_text);
    for name in crate::support::TempDir::names_in(root()) {
        if is_text(&name) {
            files.push((name.clone(), fs::read_to_string(root().join(name)).unwrap()));
        }
    }
    for (path, text) in files {
        for folder in [["/home", "/"], ["/Users", "/"], ["/root", "/"], ["/work", "/"]] {
            assert!(!text.contains(&folder.concat()), "{path} holds {}", folder.concat());
        }
    }
}

/// The crates of this workspace that `dir`'s manifest asks for outside its tests.
fn edges(dir: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(dir).join("Cargo.toml")).unwrap();
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]" && line.starts_with("folkmoot-") {
            let end = line.find(['.', ' ', '=']).unwrap();
            found.insert(line["folkmoot-".len()..end].to_owned());
        }
        let is_other = section.starts_with("[dependencies.") || section.starts_with("[target.");
        assert!(
            !(is_other && line.contains("folkmoot-")),
            "{dir}: write {line} below [dependencies]"
        );
    }
    found
}

#[test]
fn crates_know_only_whom_the_architecture_lets_them() {
    let house: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("metrics", [].as_slice()),
        ("plots", &["metrics"]),
        ("report", &["metrics", "plots"]),
        ("sim/tools/codecs", &["draws", "parts"]),
        ("sim/core/draws", &["metrics"]),
        ("sim/core/engine", &["draws", "metrics", "parts", "privacy"]),
        ("sim/examples/aggregation", &["parts", "strategies"]),
        ("sim/examples/diurnal", &["draws", "engine", "parts"]),
        ("sim/examples/encoder", &["engine", "parts", "privacy", "strategies"]),
        ("sim/examples/mechanism", &["parts", "privacy", "strategies"]),
        ("sim/examples/metric", &["engine", "parts", "strategies"]),
        ("sim/examples/rumour", &["draws", "engine", "parts", "strategies"]),
        ("sim/tools/graphs", &["draws", "metrics", "molecules", "parts"]),
        ("sim/tools/learning", &["draws", "graphs", "parts"]),
        ("sim/tools/molecules", &[]),
        ("sim/core/mpi", &["engine"]),
        ("sim/core/parts", &["parts-derive"]),
        ("sim/core/parts/derive", &[]),
        ("sim/core/privacy", &["draws"]),
        ("sim/tools/scores", &["draws", "graphs", "metrics", "parts"]),
        ("sim/tools/similarity", &["draws", "graphs"]),
        (
            "sim/strategies",
            &[
                "codecs",
                "draws",
                "engine",
                "graphs",
                "learning",
                "metrics",
                "parts",
                "privacy",
                "scores",
                "similarity",
            ],
        ),
        (
            "scenarios",
            &[
                "codecs",
                "draws",
                "engine",
                "graphs",
                "metrics",
                "parts",
                "strategies",
                "subgraphs",
                "traces",
                "users",
            ],
        ),
        (
            "sim/algorithms/subgraphs",
            &[
                "codecs",
                "draws",
                "engine",
                "graphs",
                "learning",
                "metrics",
                "parts",
                "strategies",
            ],
        ),
        ("sim/tools/traces", &["draws", "engine", "graphs", "metrics", "parts"]),
        (
            "sim/algorithms/users",
            &[
                "codecs",
                "draws",
                "engine",
                "graphs",
                "learning",
                "metrics",
                "parts",
                "privacy",
                "scores",
                "strategies",
            ],
        ),
        (
            ".",
            &[
                "engine",
                "graphs",
                "metrics",
                "mpi",
                "parts",
                "plots",
                "report",
                "scenarios",
            ],
        ),
    ]);
    let root_manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for (dir, allowed) in &house {
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(edges(dir), allowed, "{dir}/Cargo.toml");
        assert!(
            *dir == "." || root_manifest.contains(&format!("\"{dir}\",")),
            "{dir} is no member"
        );
    }
    let members = root_manifest
        .split_once("members = [")
        .unwrap()
        .1
        .split_once(']')
        .unwrap()
        .0;
    assert_eq!(
        members.matches('"').count() / 2,
        house.len() - 1,
        "a crate is missing in this test"
    );
}

#[test]
fn only_the_registry_names_the_strategies_and_no_strategy_names_another() {
    let strategies = ["fed_avg", "gw_ldp", "fgcl", "ppgm", "fedwalk"];
    for (path, text) in sources() {
        if is_test(&path) {
            continue;
        }
        let own = path
            .strip_prefix("sim/strategies/src/")
            .map(|rest| rest.split(['/', '.']).next().unwrap_or_default());
        for name in strategies {
            let may_name = path == "scenarios/src/registry.rs" || own == Some(name) || own == Some("lib");
            let names = program(&text)
                .any(|(_, line)| has_word(line, &format!("{name}::")) || has_word(line, &format!("::{name}")));
            assert!(may_name || !names, "{path} names {name}");
        }
    }
}

#[test]
fn every_crate_denies_what_the_workspace_denies() {
    for dir in [
        "metrics",
        "plots",
        "report",
        "scenarios",
        "sim/tools/codecs",
        "sim/core/draws",
        "sim/core/engine",
        "sim/examples/aggregation",
        "sim/examples/diurnal",
        "sim/examples/encoder",
        "sim/examples/mechanism",
        "sim/examples/metric",
        "sim/tools/graphs",
        "sim/tools/learning",
        "sim/tools/molecules",
        "sim/core/mpi",
        "sim/core/parts",
        "sim/core/parts/derive",
        "sim/core/privacy",
        "sim/tools/scores",
        "sim/tools/similarity",
        "sim/strategies",
        "sim/algorithms/subgraphs",
        ".",
    ] {
        let text = fs::read_to_string(root().join(dir).join("Cargo.toml")).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "{dir}");
    }
    assert!(Path::new(root()).join("Cargo.lock").is_file());
}

/// Rows of the table of what methods took, and where the code of each of their numbers begins; whatever begins with a longer one is not of a shorter.
const METHODS: [(&str, &[&str]); 12] = [
    (
        "FedAvg; local training; fine-tuning; Ditto; MOON; FedPer",
        &[
            "strategies/src/fed_avg",
            "strategies/src/federated/local_only",
            "strategies/src/federated/fine_tuned",
            "strategies/src/federated/ditto",
            "strategies/src/federated/moon",
            "strategies/src/federated/fed_per",
        ],
    ),
    (
        "FedNova; FedDyn; IFCA; SCAFFOLD",
        &[
            "strategies/src/federated/fed_nova",
            "strategies/src/federated/fed_dyn",
            "strategies/src/federated/ifca",
            "strategies/src/scaffold",
        ],
    ),
    (
        "FedGTA; FED-PUB",
        &["strategies/src/federated/fed_gta", "strategies/src/federated/fed_pub"],
    ),
    (
        "GCFL and GCFL+; FedStar",
        &["strategies/src/federated/gcfl", "strategies/src/federated/fed_star"],
    ),
    ("FedGCN", &["algorithms/subgraphs/src/fed_gcn"]),
    ("FedSage, FedSage+", &["algorithms/subgraphs/src/fed_sage"]),
    ("AdaFGL", &["algorithms/subgraphs/src/ada_fgl"]),
    ("users of one node: all in common", &["algorithms/users/src"]),
    ("… LPGNN's features", &["algorithms/users/src/features"]),
    (
        "… edges, public ones and Laplace noise among them; randomised response; DPRR; Blink; the prior of these three",
        &[
            "algorithms/users/src/edges",
            "algorithms/users/src/edges/response",
            "algorithms/users/src/edges/dprr",
            "algorithms/users/src/edges/blink",
            "algorithms/users/src/edges/prior",
        ],
    ),
    ("a model that walks", &["algorithms/users/src/walk_sgd"]),
    ("gossip and D-PSGD", &["strategies/src/gossip"]),
];

/// Within a tenth, so that a mend here and there moves no table.
#[test]
fn the_architecture_says_how_many_lines_a_method_took() {
    let places = || METHODS.iter().flat_map(|(_, places)| places.iter().copied());
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test(path)) {
        let begins = |place: &&str| path.strip_prefix("sim/").is_some_and(|path| path.starts_with(place));
        if let Some(place) = places().filter(begins).max_by_key(|place| place.len()) {
            *counted.entry(place).or_default() += program(&text).filter(|(_, line)| !line.trim().is_empty()).count();
        }
    }
    let text = fs::read_to_string(root().join("sim/ARCHITECTURE.md")).unwrap();
    let table = text.split_once("## What a method took").unwrap().1;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let named: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(named, METHODS.map(|(row, _)| row));
    for (row, (name, places)) in rows.iter().zip(METHODS) {
        let said: Vec<usize> = row[2].split(';').map(|n| n.replace(' ', "").parse().unwrap()).collect();
        let now: Vec<usize> = places.iter().map(|place| counted[place]).collect();
        let is_near = |(said, now): (&usize, &usize)| 10 * said.abs_diff(*now) <= *now;
        let are_near = said.len() == now.len() && said.iter().zip(&now).all(is_near);
        assert!(
            are_near,
            "{name}: sim/ARCHITECTURE.md says {said:?} lines, and there are {now:?}"
        );
    }
}
