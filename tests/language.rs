//! The language of pages and messages: banned phrases, long sentences, numbers without a table,
//! `±` without a meaning, and wide lines.

use std::fs;
use std::path::Path;

/// A sentence has at most so many words.
const WORDS: usize = 30;
/// A sentence has at most so many numbers; more are a table.
const NUMBERS: usize = 3;
/// A line of a page has at most so many columns. Tables, links and code have their own.
const WIDTH: usize = 100;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn banned() -> Vec<String> {
    let text = fs::read_to_string(root().join("tests/tidy/banned.txt")).unwrap();
    let phrases = text.lines().filter(|line| !line.starts_with('#'));
    phrases.map(str::to_owned).collect()
}

/// The phrases of `banned` in a line, as whole words.
fn phrases<'a>(line: &str, banned: &'a [String]) -> Vec<&'a str> {
    let plain: String = line
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '-' { c } else { ' ' })
        .collect();
    let plain = format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "));
    let found = banned.iter().filter(|phrase| plain.contains(&format!(" {phrase} ")));
    found.map(String::as_str).collect()
}

/// The prose of a page: its lines with their numbers, without code, tables and headings. Spans of
/// code are one word.
fn prose(page: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (line, number) in page.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            found.push((number, String::new()));
            continue;
        }
        let is_none = is_code || line.starts_with('|') || line.starts_with('#') || line.starts_with("![");
        if is_none {
            found.push((number, String::new()));
            continue;
        }
        let spans = line.split('`').enumerate();
        let text: String = spans.map(|(i, text)| if i % 2 == 1 { "CODE" } else { text }).collect();
        found.push((number, without_addresses(&text)));
    }
    found
}

/// Of `[text](address)` the text.
fn without_addresses(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.replace('[', "")
}

/// The sentences of a page, each with the line where it begins. A paragraph and an item of a list
/// end one.
fn sentences(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in prose(page) {
        let trimmed = line.trim();
        let begins = ["- ", "* "].iter().any(|mark| trimmed.starts_with(mark))
            || trimmed.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        if trimmed.is_empty() || begins {
            found.extend(open.take());
        }
        let text = trimmed.trim_start_matches(['-', '*', ' ']);
        for word in text.split_whitespace() {
            let (_, sentence) = open.get_or_insert_with(|| (number, String::new()));
            sentence.push_str(word);
            sentence.push(' ');
            let bare = word.trim_end_matches(['*', ')', '"', '”']);
            let is_list = sentence.trim() == bare && bare.trim_end_matches('.').parse::<u32>().is_ok();
            if bare.ends_with(['.', '?', '!']) && !is_list && !["e.g.", "i.e.", "al.", "vs."].contains(&bare) {
                found.extend(open.take());
            }
        }
    }
    found.extend(open);
    found
}

/// How a page breaks the rules, by line.
fn faults(page: &str, banned: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (line, number) in page.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let is_free = is_code || line.starts_with('|') || line.contains("](") || line.starts_with("note ");
        if !is_free && line.chars().count() > WIDTH {
            found.push(format!("{number}: wider than {WIDTH} columns"));
        }
    }
    for (number, line) in prose(page) {
        found.extend(
            phrases(&line, banned)
                .iter()
                .map(|phrase| format!("{number}: {phrase:?}")),
        );
    }
    for (number, sentence) in sentences(page) {
        let is_word = |word: &&str| word.contains(char::is_alphanumeric);
        let n = sentence.split_whitespace().filter(is_word).count();
        if n > WORDS {
            found.push(format!("{number}: a sentence of {n} words: {sentence}"));
        }
        // A mean and its interval are one number.
        let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let n = sentence
            .replace(" ± ", "±")
            .split_whitespace()
            .filter(is_number)
            .count();
        if n > NUMBERS {
            found.push(format!("{number}: a sentence with {n} numbers: {sentence}"));
        }
    }
    if page.contains(" ± ") && !page.contains("confidence interval") && !page.contains("standard error") {
        found.push("1: `±` has no meaning on this page".to_owned());
    }
    found
}

/// All pages for people, with the experiment reports, except generated ones.
fn pages() -> Vec<String> {
    let tops = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "sim/ARCHITECTURE.md",
        "scenarios/RESULTS.md",
    ];
    let mut pages: Vec<String> = tops.map(str::to_owned).to_vec();
    for dir in ["metrics", "plots", "report", "scenarios", "sim"] {
        let is_page = |name: &String| match dir {
            "sim" => {
                let book = name.strip_prefix("book/src/");
                let is_book = book.is_some_and(|name| {
                    let is_page = !name.contains('/') || name.starts_with("systems/");
                    is_page && !["SUMMARY.md", "systems/errata.md"].contains(&name)
                });
                is_book && name.ends_with(".md") || name.ends_with("/README.md") && book.is_none()
            }
            "scenarios" => name == "README.md" || name.ends_with("/notes.md"),
            _ => name == "README.md",
        };
        let names = crate::support::files(&root().join(dir)).into_keys().filter(is_page);
        pages.extend(names.map(|name| format!("{dir}/{name}")));
    }
    pages.retain(|page| !page.starts_with("sim/examples/") && !page.starts_with("sim/python/"));
    pages
}

#[test]
fn pages_are_in_plain_language() {
    let banned = banned();
    assert!((30..=60).contains(&banned.len()));
    let mut told = Vec::new();
    for page in pages() {
        let faults = faults(&fs::read_to_string(root().join(&page)).unwrap(), &banned);
        told.extend(faults.iter().map(|fault| format!("{page}:{fault}")));
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// Help texts and the recorded outputs of the console have no banned phrase.
#[test]
fn help_and_console_have_no_banned_phrase() {
    let banned = banned();
    let mut told = Vec::new();
    let pages = [
        "tests/cli/help.txt",
        "tests/cli/run.txt",
        "sim/book/src/reference/commands.md",
    ];
    for page in pages {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for (line, number) in text.lines().zip(1..) {
            let found = phrases(line, &banned);
            told.extend(found.iter().map(|phrase| format!("{page}:{number}: {phrase:?}")));
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn faults_of_a_page_are_found() {
    let banned = ["told apart".to_owned()];
    let of = |page: &str| faults(page, &banned);
    assert!(of("Two arms differ. See `a told apart b`.\n").is_empty());
    assert!(of("| told apart 1 2 3 4 5 |\n\n```text\ntold apart 1 ± 2\n```\n")[0].contains('±'));
    assert!(of("They cannot be told\napart. They are told apart.\n") == ["2: \"told apart\""]);
    let long = "word ".repeat(31);
    assert!(of(&format!("{}\n{}.\n", &long[..80], &long[80..]))[0].starts_with("1: a sentence of 31 words"));
    assert!(of("It takes 1 2 3 4 s.\n")[0].contains("4 numbers"));
    assert!(of(&"w".repeat(101))[0].contains("columns"));
    assert!(of("1. One.\n2. Two.\n- Three\n- Four\n").is_empty());
}
