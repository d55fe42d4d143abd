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

/// The lines that are program, with their numbers: neither comments nor a module's tests, which end
/// it or lie in a file of their own.
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
        || path.starts_with("sim/algorithms/checks/")
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
    const MEASURING: [&str; 4] = [
        "sim/tools/graphs/examples/fuzz_molecules.rs",
        "sim/tools/similarity/examples/all_pairs.rs",
        "sim/tools/similarity/examples/gw_pairs.rs",
        "sim/tools/similarity/examples/hybrid_tree.rs",
    ];
    let may_look = |path: &str| {
        let is_example = path.starts_with("sim/algorithms/") && path.contains("/examples/");
        path.starts_with("sim/cli/") || path.contains("/benches/") || is_example || MEASURING.contains(&path)
    };
    for word in ["Instant", "SystemTime"] {
        assert_absent(word, may_look);
    }
    for word in [
        "thread_rng",
        "OsRng",
        "from_os_rng",
        "from_entropy",
        "SysRng",
        "rand::rng",
        "ThreadId",
    ] {
        assert_absent(word, |_| false);
    }
    // The secret by which a worker process is known; no result reads it.
    assert_absent("getrandom", |path| path.ends_with("/src/connection.rs"));
}

#[test]
fn only_the_command_line_reads_arguments_and_the_environment() {
    // Launchers tell their processes by the environment that they are several, and Cargo a macro in
    // which crate it is expanded, and a build script where its package lies.
    const ROOMS: [&str; 4] = [
        "sim/cli/",
        "sim/core/mpi/",
        "sim/core/parts/derive/",
        "scenarios/build.rs",
    ];
    let may_read = |path: &str| ROOMS.iter().any(|room| path.starts_with(room)) || is_test(path);
    for word in ["env::args", "env::var", "env::var_os", "process::exit"] {
        assert_absent(word, may_read);
    }
}

#[test]
fn fused_multiplication_stays_in_kernels() {
    assert_absent("mul_add", |path| path.contains("kernel") || is_test(path));
}

/// A parallel iterator that collects into a `Result` keeps the error that a thread met first.
#[test]
fn of_several_errors_found_in_parallel_the_first_in_order_counts() {
    let mut found = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test(path)) {
        let lines: Vec<(usize, &str)> = program(&text).collect();
        let mut returns_result = false;
        for statement in lines.split_inclusive(|(_, line)| line.ends_with([';', '{', '}'])) {
            let code: String = statement.iter().map(|(_, line)| format!("{} ", line.trim())).collect();
            if code.contains("fn ") {
                returns_result = code.contains("-> Result<");
            }
            let is_parallel = ["par_iter()", "par_chunks("].iter().any(|mark| code.contains(mark));
            let is_named = [": Result<", "-> Result<", "::<Result<"]
                .iter()
                .any(|mark| code.contains(mark));
            let is_returned = returns_result && code.trim_end().ends_with(".collect() }");
            if is_parallel && code.contains(".collect") && (is_named || is_returned) {
                found.push(format!("{path}:{}: {code}", statement[0].0));
            }
        }
    }
    assert!(
        found.is_empty(),
        "collect into a Vec of Results first:\n{}",
        found.join("\n")
    );
}

#[test]
fn tables_of_artifacts_are_declared_where_explain_finds_them() {
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test(path)) {
        for (number, line) in program(&text) {
            let is_bare = line.contains("sheet.artifact(\"") && line.contains(".csv\"");
            assert!(
                !is_bare,
                "{path}:{number}: name an ArtifactTable that the registry has: {line}"
            );
        }
    }
}

#[test]
fn names_of_metrics_are_taken_apart_in_one_file() {
    // These read cards, molecules, addresses and Markdown.
    const OTHERS: [&str; 6] = [
        "metrics/src/key.rs",
        "scenarios/src/text/",
        "sim/core/parts/src/text.rs",
        "sim/cli/data/fetch.rs",
        "sim/cli/reference.rs",
        "sim/tools/",
    ];
    const MARKS: [&str; 6] = ["'@'", "\"@\"", "}@", "@{", "'['", "}[{"];
    let mut found = Vec::new();
    for (path, text) in sources() {
        if is_test(&path) || OTHERS.iter().any(|other| path.starts_with(other)) {
            continue;
        }
        let lines = program(&text).filter(|(_, line)| MARKS.iter().any(|mark| line.contains(mark)));
        found.extend(lines.map(|(number, line)| format!("{path}:{number}: {}", line.trim())));
    }
    assert!(found.is_empty(), "use MetricKey:\n{}", found.join("\n"));
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

/// A crate of this workspace: its folder, and the crates of this workspace that it depends on, for
/// its tests or without.
struct Crate {
    dir: String,
    depends: BTreeSet<String>,
}

/// Every crate by its name, without `folkmoot-`; examples, which are programs, by their folder.
fn crates() -> BTreeMap<String, Crate> {
    let manifests = texts(&[CODE, &["Cargo.toml"]].concat(), |path| path.ends_with("Cargo.toml")).into_iter();
    let manifests = manifests.map(|(path, text)| (path.replace("Cargo.toml", ""), text));
    let read = |(dir, text): (String, String)| {
        let mut depends = BTreeSet::new();
        let (mut name, mut section) = (String::new(), "");
        for line in text.lines() {
            if line.starts_with('[') {
                section = line;
            } else if let Some(of_package) = line.strip_prefix("name = \"").filter(|_| section == "[package]") {
                name = of_package.trim_end_matches('"').replace("folkmoot-", "");
            } else if line.starts_with("folkmoot")
                && section.ends_with("dependencies]")
                && !section.contains("workspace")
            {
                let end = line.find(['.', ' ', '=']).unwrap();
                depends.insert(line[..end].replace("folkmoot-", ""));
            }
            assert!(
                !(section.contains("dependencies.") && line.contains("folkmoot-")) || section.contains("workspace"),
                "{dir}: write {line} below [dependencies]"
            );
        }
        if dir.starts_with("sim/examples/") || dir.ends_with("/example/") {
            name.clone_from(&dir);
        }
        (name, Crate { dir, depends })
    };
    manifests.map(read).collect()
}

/// How high a crate stands; none depends on a higher one, and no two leaves, which stand equally
/// high, on each other.
fn level(dir: &str) -> u32 {
    if dir.ends_with("/example/") {
        return 8;
    }
    let of_folder = [
        ("metrics/", 0),
        ("sim/core/", 1),
        ("sim/tools/", 2),
        ("scenarios/", 3),
        ("sim/algorithms/checks/", 4),
        ("sim/algorithms/rounds/", 4),
        ("sim/algorithms/classifiers/", 5),
        ("sim/algorithms/", 6),
        ("plots/", 1),
        ("report/", 2),
        ("sim/examples/", 8),
        ("", 7),
    ];
    let (_, level) = of_folder.iter().find(|(folder, _)| dir.starts_with(folder)).unwrap();
    *level
}

/// The crates of algorithms that the program could do without.
pub(crate) fn leaves() -> Vec<String> {
    let crates = crates();
    let leaves = crates.values().filter(|of| level(&of.dir) == 6);
    let name = |of: &Crate| of.dir["sim/algorithms/".len()..].trim_end_matches('/').to_owned();
    leaves.map(name).collect()
}

#[test]
fn crates_depend_on_lower_ones_and_leaves_never_on_each_other() {
    let crates = crates();
    for (name, of) in &crates {
        for below in &of.depends {
            let other = &crates[below];
            let (own, lower) = (level(&of.dir), level(&other.dir));
            // Those of one folder may build on each other, but for leaves.
            let is_allowed = own > lower || own == lower && own < 6;
            assert!(is_allowed, "{name} depends on {below}, which stands no lower");
            let only_figures = ["plots", "report"].contains(&name.as_str());
            assert!(
                !only_figures || ["metrics", "plots"].contains(&below.as_str()),
                "{name} draws from run directories alone, and depends on {below}"
            );
        }
    }
    // And not in a circle, tests included.
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while done.len() < crates.len() {
        let is_next = |(name, of): &(&String, &Crate)| {
            !done.contains(name.as_str()) && of.depends.iter().all(|below| done.contains(below.as_str()))
        };
        let (next, _) = crates
            .iter()
            .find(is_next)
            .expect("crates depend on each other in a circle");
        done.insert(next);
    }
    // The program brings each leaf, and nothing else but the two shared crates.
    let shipped = fs::read_to_string(root().join("sim/cli/shipped.rs")).unwrap();
    let is_brought = |leaf: &String| shipped.contains(&format!("    {leaf} = folkmoot_{leaf},\n"));
    assert!(leaves().iter().all(is_brought), "{:?}", leaves());
    assert_eq!(shipped.matches(" = folkmoot_").count(), leaves().len() + 2);
}

#[test]
fn only_the_program_names_the_leaves() {
    for leaf in leaves() {
        let own = format!("sim/algorithms/{leaf}/");
        let name = format!("folkmoot_{leaf}");
        for (path, text) in sources() {
            let may_name = path.starts_with(&own) || path == "sim/cli/shipped.rs";
            let names = program(&text).any(|(_, line)| has_word(line, &name));
            assert!(may_name || !names, "{path} names {name}");
        }
    }
}

/// Whether `word` stands in a text and is no part of a longer name.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(is_part) && (word.ends_with(['/', '(']) || !after.starts_with(is_part))
    })
}

/// Cards of a folder of scenarios by what a test would call them: `FOLDER/`, or the name of one
/// that lies in none.
fn cards_of(folder: &str) -> BTreeSet<String> {
    let dir = root().join("scenarios").join(folder).join("cards");
    let names = crate::support::TempDir::names_in(&dir).into_iter();
    let called = |name: String| match name.strip_suffix(".ron") {
        Some(card) => card.to_owned(),
        None => name + "/",
    };
    names.map(called).collect()
}

/// Algorithms that a crate registers.
fn algorithms_of(register: folkmoot::Register) -> (Option<&'static str>, BTreeSet<String>) {
    let registry = folkmoot::registry(&[register]);
    let algorithms = registry.strategies().parts().map(|part| part.name.to_owned());
    (registry.folders().first().copied(), algorithms.collect())
}

/// What a text would call a leaf's cards and algorithms, with the leaf.
fn words_of_leaves() -> Vec<(String, String)> {
    let leaves: BTreeSet<String> = leaves().into_iter().collect();
    let shared = cards_of("classifiers");
    let mut words: Vec<(String, String)> = Vec::new();
    for (folder, algorithms) in folkmoot::CRATES.iter().map(|register| algorithms_of(*register)) {
        let Some(leaf) = folder.filter(|folder| leaves.contains(*folder)) else {
            continue;
        };
        let cards = cards_of(leaf).into_iter().filter(|card| !shared.contains(card));
        // A language is named in many texts; as an algorithm it stands before its settings.
        let algorithms = algorithms.into_iter().map(|name| match name.as_str() {
            "Python" | "Flower" => format!("{name}("),
            _ => name,
        });
        words.extend(cards.chain(algorithms).map(|word| (leaf.to_owned(), word)));
    }
    let with_words: BTreeSet<&String> = words.iter().map(|(leaf, _)| leaf).collect();
    assert_eq!(
        with_words,
        leaves.iter().collect(),
        "each leaf has cards and algorithms"
    );
    words
}

/// Fails with every line of these texts in which one of the words stands.
#[track_caller]
fn assert_unnamed(texts: Vec<(String, String)>, words: &[(String, String)]) {
    let mut found = Vec::new();
    for (path, text) in texts {
        for (line, number) in text.lines().zip(1..) {
            let named = words.iter().find(|(_, word)| names(line, word));
            found.extend(named.map(|(leaf, word)| format!("{path}:{number} names {word} of {leaf}: {line}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A leaf can be deleted, and its tests with it: no other test names its cards or algorithms. Rows
/// of `trials.json` do.
#[test]
fn no_test_outside_a_leaf_names_its_cards_or_algorithms() {
    let is_text = |name: &str| {
        [".rs", ".py", ".sh", ".ron", "/first_hour"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    assert_unnamed(texts(&["tests", "sim/python/tests"], is_text), &words_of_leaves());
}

/// No text is left with a card or a path of a leaf that has been deleted: others than a leaf's own,
/// and than generated ones, name neither.
#[test]
fn no_text_outside_a_leaf_names_its_cards_or_paths() {
    let mut words = words_of_leaves();
    words.retain(|(_, word)| word.ends_with('/'));
    for leaf in leaves() {
        for path in ["algorithms/", "scenarios/", "folkmoot_"] {
            words.push((leaf.clone(), format!("{path}{leaf}")));
        }
        words.push((leaf.clone(), format!("folkmoot-{}", leaf.replace('_', "-"))));
    }
    let is_text = |name: &str| {
        [".md", ".rs", ".py", ".ipynb", ".sh"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let dirs = [
        "CONTRIBUTING.md",
        "README.md",
        "metrics",
        "plots/src",
        "report",
        "scenarios/src",
        "sim",
    ];
    let is_free = |path: &str| {
        let leaf = path
            .strip_prefix("sim/algorithms/")
            .and_then(|rest| rest.split('/').next());
        let is_shared = |of: &str| ["checks", "rounds", "classifiers"].contains(&of);
        let is_generated = [
            "sim/book/src/systems/",
            "sim/book/src/reference/",
            "sim/book/src/algorithms.md",
        ]
        .iter()
        .any(|dir| path.starts_with(dir));
        leaf.is_none_or(is_shared) && !is_generated && path != "sim/cli/shipped.rs"
    };
    let mut others = texts(&dirs, is_text);
    others.retain(|(path, _)| is_free(path));
    assert_unnamed(others, &words);
}

/// `sim/ARCHITECTURE.md` names the test of each invariant. These tests exist.
#[test]
fn the_tests_that_the_architecture_names_exist() {
    let page = fs::read_to_string(root().join("sim/ARCHITECTURE.md")).unwrap();
    let (_, invariants) = page.split_once("\n## Invariants\n").unwrap();
    let sources = sources();
    let tokens = invariants.split('`').skip(1).step_by(2);
    let is_name = |token: &&str| token.contains('_') && !token.contains(['/', ':', '.']);
    let tests: Vec<&str> = tokens.filter(is_name).collect();
    assert!(tests.len() > 10, "{tests:?}");
    for test in tests {
        let declared = format!("fn {test}(");
        assert!(
            sources.iter().any(|(_, text)| text.contains(&declared)),
            "no test {test}"
        );
    }
}

#[test]
fn every_crate_denies_what_the_workspace_denies() {
    for of in crates().values() {
        let text = fs::read_to_string(root().join(&of.dir).join("Cargo.toml")).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "{}", of.dir);
    }
    assert!(Path::new(root()).join("Cargo.lock").is_file());
}

/// The program's licences ask for the notices of what is in it; `tests/licences.py` writes them.
#[test]
fn the_notices_of_third_parties_name_every_crate_of_the_lock() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let lock = read("Cargo.lock");
    let packages = lock
        .split("[[package]]")
        .filter(|package| package.contains("\nsource = "));
    let field = |package: &str, name: &str| {
        let line = package
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = \"")));
        line.unwrap().trim_end_matches('"').to_owned()
    };
    let wanted: BTreeSet<String> = packages
        .map(|package| format!("{} {}", field(package, "name"), field(package, "version")))
        .collect();
    let notices = read("LICENSES-THIRD-PARTY.md");
    let lines = notices
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(", "));
    let mut named = BTreeSet::new();
    for (package, licences) in lines {
        named.insert(package.to_owned());
        for licence in licences.split(':').next().unwrap().split(" and ") {
            assert!(
                notices.contains(&format!("\n## {licence}\n\n```text\n")),
                "{package}: no text of {licence}"
            );
        }
    }
    assert_eq!(named, wanted, "run `python3 tests/licences.py`");
    // They go with what is given away.
    assert!(read("Containerfile").contains("LICENSES-THIRD-PARTY.md"));
    assert!(read("sim/python/pyproject.toml").contains("license-files = [\"LICENSES-THIRD-PARTY.md\"]"));
    assert_eq!(read("sim/python/LICENSES-THIRD-PARTY.md"), notices);
}
