//! The book in `sim/book`: every command, card, output and link in it holds.
//!
//! A page is one session in a folder of its own, from top to bottom, by what its fences are called:
//!
//! - `sh` is run and must end well, `sh,fails` must not; a `text` right behind it is what it
//!   prints, where `[…]` stands for anything. `UPDATE_GOLDEN=1` writes those without `[…]` anew.
//! - `sh,ignore` cannot be run here; its `folkmoot …` lines must have arguments that there are, and
//!   files that it names exist.
//! - `ron,file=NAME` is a card, written to that file and checked; `ron,fields` are fields of one.
//! - `{{#include FILE}}` brings a file of the repository, which is the only way for code in Rust;
//!   `python` is run by `sim/python/tests`; `r` where there is an R.

mod messages;
mod readme;

use crate::support::{FOLKMOOT, TempDir, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What stands in a page for what was left out.
const ELIDED: &str = "[…]";

/// What stands around fields to make a card of them.
// Of data that are not there only the card is checked.
const AROUND: &str = "dataset: Npz(path: \"absent.npz\"), partition: Iid(n_clients: 4)";
const STRATEGY: &str = "strategy: FedAvg(inputs: Degree())";

fn source() -> PathBuf {
    root().join("sim/book/src")
}

/// Every page by its name in the book, those written by the program among them.
fn pages() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, bytes) in crate::support::files(&source()) {
        if name.ends_with(".md") {
            found.push((name, String::from_utf8(bytes).unwrap()));
        }
    }
    assert!(found.len() > 20, "{}", found.len());
    found
}

/// The page that a crate of algorithms has in its folder of scenarios: the file, its name in the
/// book, and its text there.
struct OfCrate {
    file: PathBuf,
    name: String,
    text: String,
    /// The drawing of its messages, and the drawing's name in the book.
    drawn: Option<(String, String)>,
}

/// How a page in a folder of scenarios begins its links into the book, and what becomes of that in
/// the book.
const INTO_BOOK: [(&str, &str); 2] = [
    ("](../../../sim/book/src/systems/", "]("),
    ("](../../../sim/book/src/", "](../"),
];

fn of_crates() -> Vec<OfCrate> {
    let mut found = Vec::new();
    for (path, bytes) in crate::support::files(&root().join("scenarios")) {
        if let Some((_, name)) = path.split_once("/book/") {
            let text = String::from_utf8(bytes).unwrap();
            let in_book = |text: String, (from, to): (&str, &str)| text.replace(from, to);
            let text = INTO_BOOK.into_iter().fold(text, in_book);
            let drawing = name.replace(".md", "-messages.svg");
            let (drawn, text) = match messages::drawn(title(&text), &drawing, &text) {
                Some((drawn, page)) => (Some((format!("systems/{drawing}"), drawn)), page),
                None => (None, text),
            };
            found.push(OfCrate {
                file: root().join("scenarios").join(&path),
                name: format!("systems/{name}"),
                text,
                drawn,
            });
        }
    }
    found
}

/// The title of a page.
fn title(page: &str) -> &str {
    page.lines().find_map(|line| line.strip_prefix("# ")).unwrap()
}

/// Writes down, or compares, what is generated of other files.
#[track_caller]
fn assert_generated(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, text).unwrap();
    }
    let there = fs::read_to_string(path).unwrap_or_default();
    assert!(there == text, "UPDATE_GOLDEN=1 writes {}", path.display());
}

/// The first line of a page in a folder of scenarios that is a how-to guide, not the page of an
/// algorithm.
const HOW_TO: &str = "<!-- how-to -->\n";

/// The pages of algorithms are those in their folders of scenarios, and the summary lists them,
/// the how-to guides among them, and the reference.
#[test]
fn pages_of_algorithms_come_from_their_folders() {
    let pages = of_crates();
    let mut names: BTreeSet<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    names.insert("systems/errata.md");
    names.extend(
        pages
            .iter()
            .filter_map(|page| page.drawn.as_ref())
            .map(|(name, _)| name.as_str()),
    );
    for name in crate::support::files(&source().join("systems")).into_keys() {
        let path = source().join("systems").join(&name);
        if !names.contains(format!("systems/{name}").as_str()) {
            assert!(
                std::env::var_os("UPDATE_GOLDEN").is_some(),
                "{name} comes from no folder of scenarios; UPDATE_GOLDEN=1 removes it"
            );
            fs::remove_file(path).unwrap();
        }
    }
    for page in &pages {
        assert_generated(&source().join(&page.name), &page.text);
        if let Some((name, drawn)) = &page.drawn {
            assert_generated(&source().join(name), drawn);
        }
    }
    let summary = fs::read_to_string(source().join("SUMMARY.md")).unwrap();
    let (how_to, rest) = summary.split_once("# Explanation").unwrap();
    let (explanation, _) = rest.split_once("# Algorithms").unwrap();
    let by_hand: Vec<&str> = how_to.lines().filter(|line| !line.contains("](systems/")).collect();
    let (guides, algorithms): (Vec<&OfCrate>, Vec<&OfCrate>) =
        pages.iter().partition(|page| page.text.starts_with(HOW_TO));
    let list = |pages: Vec<&OfCrate>| -> String {
        pages
            .into_iter()
            .map(|page| format!("- [{}]({})\n", title(&page.text), page.name))
            .collect()
    };
    let mut text = format!(
        "{}\n{}\n# Explanation{explanation}# Algorithms\n\n{}",
        by_hand.join("\n").trim_end(),
        list(guides),
        list(algorithms)
    );
    text += "- [Errata of the papers](systems/errata.md)\n\n# Reference\n\n- [Index](reference/README.md)\n";
    let index = fs::read_to_string(source().join("reference/README.md")).unwrap();
    for line in index.lines().filter(|line| line.starts_with("- [")) {
        text += &format!("  {}\n", line.replace("](", "](reference/"));
    }
    assert_generated(&source().join("SUMMARY.md"), &text);
}

/// A fenced block: its name with what is behind it, the line where it begins, and its text.
struct Fence {
    name: String,
    line: usize,
    text: String,
}

fn fences(page: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut is_open = false;
    for (line, number) in page.lines().zip(1..) {
        match (line.strip_prefix("```"), is_open) {
            (Some(name), false) => {
                let name = name.to_owned();
                let text = String::new();
                found.push(Fence {
                    name,
                    line: number,
                    text,
                });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => {
                let fence = found.last_mut().unwrap();
                fence.text += line;
                fence.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!is_open, "a fence is not closed");
    found
}

/// What a command has said, without the progress that it reports every ten seconds on a slow machine.
fn ended(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let is_progress = |line: &str| line.starts_with(|c: char| c.is_ascii_digit()) && line.trim_end().ends_with(" left");
    let said = text(&output.stdout) + &text(&output.stderr);
    said.split_inclusive('\n').filter(|line| !is_progress(line)).collect()
}

/// Runs a script in `temp` with the program on the path; what it says on stderr comes where it is
/// said.
fn shell(temp: &TempDir, script: &str) -> Output {
    let bin = Path::new(FOLKMOOT).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    // `head` reads to the end here: else what writes to it may die of a closed pipe, and the script
    // with it.
    let head = "head() { command head \"$@\"; [ ! -p /dev/stdin ] || cat > /dev/null; }";
    let script = format!("exec 2>&1\n{head}\n{script}");
    let mut command = Command::new("bash");
    command
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(temp.path());
    command
        .env("PATH", format!("{}:{path}", bin.display()))
        .env_remove("FOLKMOOT_DATA");
    command.stdin(Stdio::null()).output().unwrap()
}

/// Whether `text` is `wanted`, in which [`ELIDED`] stands for anything.
fn fits(wanted: &str, text: &str) -> bool {
    let mut rest = text;
    let parts: Vec<&str> = wanted.split(ELIDED).collect();
    for (part, i) in parts.iter().zip(0..) {
        let at = match i {
            0 => rest.starts_with(part).then_some(0),
            // The last goes to the end.
            _ if i + 1 == parts.len() => rest.ends_with(part).then(|| rest.len() - part.len()),
            _ => rest.find(part),
        };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    parts.len() > 1 || rest.is_empty()
}

/// Plays a page in `temp`, and returns it with what its commands print.
fn play(temp: &TempDir, name: &str, page: &str) -> String {
    let mut said: Option<String> = None;
    let mut played = page.to_owned();
    for Fence {
        name: fence,
        line,
        text,
    } in fences(page)
    {
        let at = format!("{name}:{line}");
        let before = said.take();
        let included = text
            .trim()
            .strip_prefix("{{#include ")
            .and_then(|rest| rest.strip_suffix("}}"));
        if let Some(file) = included {
            assert!(
                source().join(name).parent().unwrap().join(file).is_file(),
                "{at}: {file}"
            );
            continue;
        }
        match fence.split_once(',').unwrap_or((&fence, "")) {
            ("sh", "") | ("sh", "fails") => {
                let output = shell(temp, &text);
                let wanted = fence == "sh";
                assert_eq!(output.status.success(), wanted, "{at}: {text}\n{}", ended(&output));
                said = Some(ended(&output));
            }
            ("sh", "ignore") => parses(temp, &at, &text),
            ("text", "") => {
                let before = before.unwrap_or_else(|| panic!("{at}: no command stands before this text"));
                if std::env::var_os("UPDATE_GOLDEN").is_some() && !text.contains(ELIDED) {
                    played = played.replacen(&format!("```text\n{text}```"), &format!("```text\n{before}```"), 1);
                } else {
                    assert!(fits(&text, &before), "{at}: wanted\n{text}\ngot\n{before}");
                }
            }
            ("ron", "fields") => {
                let strategy = if text.contains("strategy:") { "" } else { STRATEGY };
                let data = if text.contains("dataset:") { "" } else { AROUND };
                temp.write(
                    "fields.ron",
                    format!("({}\n{strategy}\n)", [data, &text].join(",\n").trim_start_matches(',')),
                );
                temp.run(&["check", "fields.ron"]).done();
            }
            ("ron", file) => {
                let file = file
                    .strip_prefix("file=")
                    .unwrap_or_else(|| panic!("{at}: a card is written to a file"));
                temp.write(file, &text);
                let checked = temp.run(&["check", file]);
                let is_wrong = file.starts_with("wrong");
                assert_eq!(checked.code, Some(if is_wrong { 2 } else { 0 }), "{at}: {checked:#?}");
            }
            ("python", "") => {}
            ("r", "") => {
                // An R is a quarter of a gigabyte; who has one tries it.
                if Command::new("Rscript").arg("--version").output().is_ok() {
                    temp.write("page.R", &text);
                    let output = shell(temp, "Rscript page.R");
                    assert!(output.status.success(), "{at}: {}", ended(&output));
                }
            }
            _ => panic!("{at}: nobody tries what is called {fence:?}"),
        }
    }
    played
}

/// Of a script that cannot be run here: every `folkmoot …` has a subcommand and options that there
/// are, and every file of ours exists.
fn parses(temp: &TempDir, at: &str, script: &str) {
    for line in script.lines() {
        let words: Vec<&str> = line.split(" #").next().unwrap().split(' ').collect();
        for word in words.iter().filter(|word| word.starts_with("tests/")) {
            assert!(root().join(word).exists(), "{at}: {line}");
        }
        if let Some(program) = words.iter().position(|word| *word == "folkmoot") {
            let args = words[program + 1..].join(" ");
            let output = shell(temp, &format!("folkmoot {args} --help"));
            assert!(output.status.success(), "{at}: {line}\n{}", ended(&output));
        } else {
            let other = words.iter().find(|word| !word.contains('=')).unwrap();
            assert!(["cargo", "pip", "python"].contains(other), "{at}: {line}");
        }
    }
}

#[test]
fn every_command_card_and_output_of_the_book_holds() {
    let (pages, of_crates) = (pages(), of_crates());
    std::thread::scope(|scope| {
        for (name, page) in pages.iter().filter(|(name, _)| !name.starts_with("systems/")) {
            scope.spawn(move || {
                let played = play(&TempDir::new(), name, page);
                if played != *page {
                    fs::write(source().join(name), played).unwrap();
                }
            });
        }
        for page in &of_crates {
            scope.spawn(move || {
                let written = fs::read_to_string(&page.file).unwrap();
                let played = play(&TempDir::new(), &page.name, &written);
                if played != written {
                    fs::write(&page.file, played).unwrap();
                }
            });
        }
    });
}

#[test]
fn an_output_that_a_page_makes_up_is_found() {
    let page = |text: &str| format!("```sh\nfolkmoot --version\n```\n\n```text\n{text}\n```\n");
    let temp = TempDir::new();
    let holds = |page: String| std::panic::catch_unwind(|| play(&temp, "planted", &page)).is_ok();
    assert!(holds(page("folkmoot […]")));
    assert!(!holds(page("folkmeet […]")));
    assert!(!holds(page("folkmoot […] beta")));
    assert!(!holds("```sh\nfolkmoot check nosuch.ron\n```\n".to_owned()));
    assert!(!holds("```sh,fails\nfolkmoot --version\n```\n".to_owned()));
    assert!(!holds(
        "```sh,ignore\nmpirun -n 2 folkmoot run fed-avg/tiny --nosuch\n```\n".to_owned()
    ));
    assert!(!holds("```ron,fields\nnetwrok: Ideal\n```\n".to_owned()));
    assert!(!holds("```console\nls\n```\n".to_owned()));
}

#[test]
fn the_reference_is_what_the_program_says() {
    let temp = TempDir::new();
    temp.run(&["man", "--markdown", "--to", "reference"]).done();
    let written = crate::support::files(&temp.join("reference"));
    let dir = source().join("reference");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        for (name, bytes) in &written {
            fs::write(dir.join(name), bytes).unwrap();
        }
    }
    crate::support::assert_same(
        &crate::support::files(&dir),
        &written,
        "UPDATE_GOLDEN=1 writes sim/book/src/reference",
    );
}

/// The papers' errata as the claims have them, with what was measured of each, a table a system.
fn errata() -> String {
    let mut page = "# Errata of the papers\n\nPublished statements that cannot be correct, with measurements and verdicts. \
        `scenarios/RESULTS.md` has\nall claims. Measured numbers are mean ± half-width of the 95 % confidence interval.\n"
        .to_owned();
    for one in crate::audit::recorded().0 {
        let mut rows: Vec<(String, String)> = Vec::new();
        for (claim, finding) in one.rows().filter(|(claim, _)| !claim.erratum.is_empty()) {
            let why = [&*finding.verdict.to_string(), &finding.why, &claim.note];
            let why: Vec<&str> = why.into_iter().filter(|text| !text.is_empty()).collect();
            let printed = [&*claim.at, &claim.printed];
            let printed: Vec<&str> = printed.into_iter().filter(|text| !text.is_empty()).collect();
            let cells = [
                &*claim.erratum,
                &claim.claim,
                &printed.join(": "),
                &finding.text(),
                &why.join("; "),
            ];
            let cells = cells.map(|cell| cell.replace('|', "\\|").replace('*', "\\*").replace('\n', " "));
            rows.push((claim.erratum.clone(), format!("| {} |\n", cells.join(" | "))));
        }
        if rows.is_empty() {
            continue;
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let rows: Vec<String> = rows.into_iter().map(|(_, row)| row).collect();
        page += &format!(
            "\n## {}\n\n{}\n\n| | claim | place: published | measured | verdict |\n|---|---|---|---|---|\n{}",
            one.claims.system,
            one.claims.paper,
            rows.concat()
        );
    }
    page
}

#[test]
fn the_errata_are_those_of_the_claims() {
    assert_generated(&source().join("systems/errata.md"), &errata());
}

/// What a heading is linked by.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Where the links of a page lead: behind each `](`.
fn links(page: &str) -> Vec<&str> {
    let starts = page.match_indices("](").map(|(at, _)| at + 2);
    starts.map(|at| page[at..].split(')').next().unwrap()).collect()
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let pages = pages();
    let text_of = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let listed: BTreeSet<&str> = links(&pages.iter().find(|(name, _)| name == "SUMMARY.md").unwrap().1)
        .into_iter()
        .collect();
    for (name, page) in &pages {
        assert!(
            name == "SUMMARY.md" || listed.contains(name.as_str()),
            "{name} is not in SUMMARY.md"
        );
        for link in links(page).into_iter().filter(|link| !link.starts_with("https://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let here = source().join(name);
            let target = if file.is_empty() {
                here
            } else {
                here.parent().unwrap().join(file)
            };
            assert!(target.is_file(), "{name} links {link}");
            let headings = text_of(&target);
            let has = |anchor: &str| {
                headings
                    .lines()
                    .any(|line| line.starts_with('#') && slug(line.trim_start_matches('#')) == anchor)
            };
            assert!(anchor.is_empty() || has(anchor), "{name} links {link}");
        }
        // Files of the repository are named, not linked: they are not part of the book.
        assert_paths_exist(name, page);
    }
}

/// Paths of the repository between backticks exist.
#[track_caller]
fn assert_paths_exist(name: &str, page: &str) {
    const FOLDERS: [&str; 6] = ["metrics/", "plots/", "report/", "scenarios/", "sim/", "tests/"];
    let tokens = page.split('`').skip(1).step_by(2);
    for token in tokens.filter(|token| !token.contains([' ', '*', '…'])) {
        let is_path = FOLDERS.iter().any(|folder| token.starts_with(folder));
        assert!(!is_path || root().join(token).exists(), "{name} names {token}");
    }
}

/// The page of algorithms is made of `readme.md` in each folder of scenarios.
#[test]
fn the_book_lists_the_algorithms_of_each_folder() {
    let (mut rows, mut commands) = (String::new(), String::new());
    for folder in folkmoot::shipped().folders() {
        let text = fs::read_to_string(root().join("scenarios").join(folder).join("readme.md")).unwrap();
        for line in text
            .lines()
            .filter(|line| line.starts_with("| `") && !line.starts_with("| `strategy`"))
        {
            rows += &line.replace("](../../sim/book/src/", "](");
            rows.push('\n');
        }
        for fence in fences(&text) {
            parses(&TempDir::new(), folder, &fence.text);
            commands += &fence.text;
        }
    }
    let registry = folkmoot::shipped();
    for part in registry.strategies().parts() {
        assert!(rows.contains(&format!("`{}`", part.name)), "no row of {}", part.name);
    }
    let mut page = format!(
        "# Which algorithm should I use?\n\nThree questions lead to a row of the table below. Start with its card, for example four variants of\n\
         `FedAvg` on the same task:\n\n\
         ```sh,ignore\nfolkmoot sweep fed-avg/algorithms\n```\n\n\
         ![Rounds, virtual time and bytes that four algorithms need to reach 90 % test accuracy](target.svg)\n\n\
         1. **What does a client hold?** Many graphs, a subgraph, or one node: the second column.\n\
         2. **Do clients differ** in labels, features or edges (non-IID data)? Then try rows with\n   *personalised* models, and compare \
         them with local training: `LocalOnly` of `Federated`.\n   Personalised methods often gain little over it \
         (`scenarios/RESULTS.md`).\n\
         3. **Does the partition cut edges?** Rows that name *cross-client edges* have methods for them,\n   known or unknown to clients. \
         All others lose these edges.\n\n\
         | `strategy` | what a client holds | task | threat model | what is sent | start with |\n\
         |---|---|---|---|---|---|\n{rows}\n\
         Without a reason for another algorithm, start with `FedAvg`. In brackets is the time of all runs\n\
         of a card on one core, as `folkmoot list` states it. `folkmoot explain NAME` lists the settings of\n\
         an algorithm, and\n\
         [How large can I go?](how-large.md) has time and memory by the number of clients.\n"
    );
    if !commands.is_empty() {
        page += &format!("\nExamples, with their processor time:\n\n```sh,ignore\n{commands}```\n");
    }
    assert_generated(&source().join("algorithms.md"), &page);
}

/// What a folder of scenarios offers to those who come from other tools: a table of its
/// `readme.md`.
#[test]
fn the_page_for_users_of_other_tools_lists_what_each_folder_offers() {
    const HEAD: &str = "| you have | here | page |\n|---|---|---|\n";
    let path = source().join("coming-from.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut rows = String::new();
    for folder in folkmoot::shipped().folders() {
        let text = fs::read_to_string(root().join("scenarios").join(folder).join("readme.md")).unwrap();
        if let Some((_, table)) = text.split_once(HEAD) {
            let table = table.split("\n\n").next().unwrap().trim_end();
            rows += &(table.replace("](../../sim/book/src/", "](") + "\n");
        }
    }
    let kept: String = page
        .split_inclusive('\n')
        .filter(|line| !line.contains("](systems/"))
        .collect();
    let (before, behind) = kept.split_once(HEAD).unwrap();
    let (first, behind) = behind.split_once('\n').unwrap();
    assert_generated(&path, &format!("{before}{HEAD}{first}\n{rows}{behind}"));
}

const FOR_CONTRIBUTORS: [&str; 12] = [
    "CONTRIBUTING.md",
    "metrics/README.md",
    "plots/README.md",
    "report/README.md",
    "sim/ARCHITECTURE.md",
    "sim/algorithms/classifiers/README.md",
    "sim/algorithms/rounds/README.md",
    "sim/cli/README.md",
    "sim/core/engine/README.md",
    "sim/tools/graphs/README.md",
    "sim/tools/learning/README.md",
    "scenarios/README.md",
];

/// Links of the other pages lead to files.
#[test]
fn every_link_of_other_pages_leads_to_a_file() {
    let mut pages = vec!["README.md".to_owned(), "sim/python/README.md".to_owned()];
    pages.extend(FOR_CONTRIBUTORS.map(str::to_owned));
    let scenarios = crate::support::files(&root().join("scenarios")).into_keys();
    let is_page = |name: &String| name.ends_with(".md") && !name.contains("/book/");
    pages.extend(scenarios.filter(is_page).map(|name| format!("scenarios/{name}")));
    for page in pages {
        let path = root().join(&page);
        let text = fs::read_to_string(&path).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.starts_with("https://")) {
            let file = link.split('#').next().unwrap();
            let target = path.parent().unwrap().join(file);
            assert!(file.is_empty() || target.exists(), "{page} links {link}");
        }
        if FOR_CONTRIBUTORS.contains(&page.as_str()) {
            assert_paths_exist(&page, &text);
        }
    }
}
