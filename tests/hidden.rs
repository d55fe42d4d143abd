//! Hidden characters, such as escape sequences and directional marks, in cards, names of files,
//! questions and arms: never in a terminal, a table, a page, a figure or a file for a scheduler.

use crate::support::{Ended, TempDir, files};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Clears the screen and sets the title of a terminal; turns the direction of text.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}1m\u{202e}fdp\u{2066}x\u{200f}\u{61c}";
const SHOWN: &str = "\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{9b}1m\\u{202e}fdp\\u{2066}x\\u{200f}\\u{61c}";

/// The characters that a text for people may not hold, line ends and tabs excepted.
#[track_caller]
fn assert_plain(text: &str, what: &str) {
    let is_hidden = |c: &char| {
        let mark = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'].contains(c);
        (c.is_control() && !"\n\t".contains(*c))
            || mark
            || ('\u{202a}'..='\u{202e}').contains(c)
            || ('\u{2066}'..='\u{2069}').contains(c)
    };
    let found = text.chars().position(|c| is_hidden(&c));
    let around = |at: usize| text.chars().skip(at.saturating_sub(60)).take(80).collect::<String>();
    assert!(found.is_none(), "{what}: {:?}", found.map(around));
}

#[track_caller]
fn plain(ended: Ended) -> String {
    assert_plain(&ended.stdout, &format!("stdout of {:?}", ended.command));
    assert_plain(&ended.stderr, &format!("stderr of {:?}", ended.command));
    assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
    ended.stdout + &ended.stderr
}

/// A card in a file of this name, with a hostile question and arms.
fn card(temp: &TempDir, name: &str) {
    // As a card has them: some as they are, some escaped.
    let escaped: String = HOSTILE.chars().map(|c| c.escape_unicode().to_string()).collect();
    temp.write(
        name,
        format!(
            "(question: \"Who? {HOSTILE}\", dataset: GraphClasses(n_graphs: 20, n_classes: 2), partition: Iid(n_clients: 2), \
             strategy: FedAvg(inputs: Degree(most: 4), training: (epochs: 1), protocol: (rounds: 1)), sweep: (arms: {{ \
             \"raw {HOSTILE}\": {{}}, \"escaped {escaped}\\n2\": {{\"strategy.training.epochs\": 2}}, \
             \"a,b \\\"q\\\"\": {{\"strategy.training.epochs\": 3}} }}, seeds: [1]))"
        ),
    );
}

#[test]
fn hidden_characters_of_a_card_are_shown_as_it_writes_them() {
    let temp = TempDir::new();
    let name = format!("n\n#SBATCH {HOSTILE}.ron");
    card(&temp, &name);
    let said = plain(temp.run(&["sweep", &name, "--out", "out"]));
    assert!(
        said.contains("a,b \"q\"") && said.contains(&format!("raw {SHOWN}")),
        "{said}"
    );
    assert!(said.contains(&format!("escaped {SHOWN}\\n2")), "{said}");
    let said = plain(temp.run(&["run", &name, "--out", "run"]));
    assert!(said.contains(&format!("Who? {SHOWN}")), "{said}");
    for args in [
        &["check", name.as_str()] as &[&str],
        &["show", "out"],
        &["show", "run"],
        &["compare", "run", "out"],
        &["report", "out"],
        &["report", "run"],
        &["export", "out", "--latex"],
        &["export", "out", "--markdown"],
        &["export", "out", "--html"],
        &["export", "out", "--long-csv"],
        &["explain", HOSTILE],
        &["run", HOSTILE],
        &["run", &name, "--set", HOSTILE],
        &["run", &name, HOSTILE],
        &["data", "describe", &format!("EdgeList(edges: {HOSTILE:?})")],
        &["data", "describe", HOSTILE],
    ] {
        plain(temp.run(args));
    }
    for (file, bytes) in files(temp.path()) {
        let is_shown = [".csv", ".html", ".svg"].iter().any(|ending| file.ends_with(ending));
        if is_shown && !file.ends_with(".ron") {
            assert_plain(&String::from_utf8(bytes).unwrap(), &file);
        }
    }
    let points = fs::read_to_string(temp.join("out/points.csv")).unwrap();
    assert!(
        points.contains("\"a,b \"\"q\"\"\"") && points.contains(&format!("raw {SHOWN}")),
        "{points}"
    );
    let page = fs::read_to_string(temp.join("run/report.html")).unwrap();
    assert!(page.contains(&format!("Who? {SHOWN}")), "{page}");
    // JSON is as it was: a text in it is the text.
    let json = temp
        .run(&["sweep", &name, "--out", "again", "--quiet", "--format", "json"])
        .done();
    assert_plain(&json, "JSON");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["points"][2]["axes"]["arm"], "a,b \"q\"");
}

#[test]
fn the_name_of_a_card_adds_no_line_to_a_file_for_a_scheduler() {
    let temp = TempDir::new();
    let name = format!("n\n#SBATCH --uid=0 {HOSTILE}'.ron");
    card(&temp, &name);
    for scheduler in ["slurm", "hq", "parallel", "kubernetes"] {
        let out = "o\n#SBATCH --gid=0";
        let said = plain(temp.run(&["sweep", &name, "--job", scheduler, "--out", out]));
        let command = said
            .find("\nexec ")
            .or(said.find("\nseq "))
            .or(said.find("\napiVersion"));
        let (comments, _) = said.split_at(command.unwrap());
        assert!(comments.lines().all(|line| line.starts_with('#')), "{said}");
        let directive = |line: &&str| line.starts_with("#SBATCH") && line.contains("id=0");
        assert_eq!(comments.lines().find(directive), None, "{said}");
    }
    // The script means the very file.
    let script = temp.run(&["sweep", &name, "--job", "slurm"]).done();
    let stub = temp.write("bin/folkmoot", "#!/bin/sh\nprintf %s \"$2\"\n");
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    temp.write("job.sh", script);
    let path = format!("{}:/usr/bin:/bin", temp.join("bin").display());
    let asked = Command::new("sh")
        .arg("job.sh")
        .env("PATH", path)
        .current_dir(temp.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(asked.stdout).unwrap(), name);
}
