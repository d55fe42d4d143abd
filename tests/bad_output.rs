//! Places that cannot be written: found at the start or told plainly, without costing a finished
//! round.

use crate::support::{Ended, FOLKMOOT, TINY, TempDir, files, tiny};
use folkmoot_metrics::RunDir;
use std::process::Command;

#[test]
fn an_existing_output_is_never_touched() {
    let temp = TempDir::new();
    temp.write("folder/mine.txt", "mine");
    temp.write("file", "mine");
    std::fs::create_dir(temp.join("empty")).unwrap();
    std::os::unix::fs::symlink("nowhere", temp.join("link")).unwrap();
    let before = files(temp.path());
    for out in ["folder", "file", "empty", "link", ".", ".."] {
        for command in ["run", "sweep"] {
            let ended = temp.run(&[command, TINY, "--out", out]);
            ended.refused(&[out, "already exists and is never overwritten; choose another --out"]);
        }
    }
    assert_eq!(files(temp.path()), before);
    assert_eq!(temp.names(), ["empty", "file", "folder", "link"]);
    assert_eq!(TempDir::names_in(&temp.join("empty")), [""; 0]);
}

#[test]
fn a_folder_that_cannot_be_made_is_found_at_the_start() {
    let temp = TempDir::new();
    temp.write("file", "mine");
    for command in ["run", "sweep"] {
        let refused = |out: &str, words: &[&str]| {
            temp.run(&[command, TINY, "--out", out]).refused(words);
        };
        refused(
            "file/below",
            &["file: cannot be written: a file is in the way of a folder; choose another folder"],
        );
        refused(
            "/proc/folkmoot/deep",
            &["/proc/folkmoot: cannot be written", "choose another folder"],
        );
        refused(&"x".repeat(300), &["cannot be written", "choose another folder"]);
        refused("", &["--out <DIR>"]);
    }
    assert_eq!(temp.names(), ["file"]);
}

/// A small run in a shell whose files may not grow past `blocks` of 512 bytes.
fn with_small_files(temp: &TempDir, blocks: u32) -> Ended {
    // With the signal as it is by default, which ends a program without a word.
    let script = format!("ulimit -f {blocks}; exec \"$0\" run {TINY} --out out");
    let output = Command::new("sh")
        .args(["-c", &script, FOLKMOOT])
        .current_dir(temp.path())
        .output()
        .unwrap();
    Ended::of(&["run", TINY, "--out", "out"], output)
}

/// What a failed run may leave: nothing, or finished rounds in whole files, or all results and not
/// all figures.
#[track_caller]
fn assert_nothing_half_written(temp: &TempDir, out: &str, whole: &RunDir, ended: &Ended) {
    let dir = temp.join(out);
    if !dir.exists() {
        return;
    }
    assert!(files(&dir).keys().all(|name| !name.contains(".tmp")), "{ended:#?}");
    let left = RunDir::open(&dir).unwrap();
    assert_eq!(left.scenario, whole.scenario);
    if left.manifest.finished {
        assert!(
            ended.stderr.contains("are complete, but not their figures"),
            "{ended:#?}"
        );
        assert_eq!(Some(left.fingerprint().unwrap()), whole.manifest.result_fingerprint);
    } else {
        assert!(!left.tables.rounds.is_empty(), "{ended:#?}");
        assert_eq!(left.tables.rounds, whole.tables.rounds[..left.tables.rounds.len()]);
    }
}

#[test]
fn files_that_may_not_grow_end_the_run_with_a_plain_message() {
    let temp = TempDir::new();
    let whole = &tiny().run;
    let first = with_small_files(&temp, 1);
    assert!(first.stderr.contains("scenario.ron: cannot be written"), "{first:#?}");
    first.refused(&["larger than the limit for files", "ulimit -f"]);
    assert_eq!(temp.names(), [""; 0]);
    for blocks in [6, 9, 16] {
        let ended = with_small_files(&temp, blocks);
        assert_nothing_half_written(&temp, "out", whole, &ended);
        ended.refused(&["cannot be written", "larger than the limit"]);
        let _ = std::fs::remove_dir_all(temp.join("out"));
    }
}

/// A small run on a disk of its own of `kib` KiB, whose content is then copied to `kept`; `None` if
/// this machine lets us make no such disk.
fn on_a_small_disk(temp: &TempDir, kib: u32) -> Option<Ended> {
    let script = format!(
        "mount -t tmpfs -o size={kib}k none disk || exit\n\
         touch made; \"$0\" run {TINY} --out disk/out; code=$?\n\
         cp -r disk/. kept; exit $code"
    );
    for name in ["disk", "kept"] {
        let _ = std::fs::remove_dir_all(temp.join(name));
        std::fs::create_dir(temp.join(name)).unwrap();
    }
    let _ = std::fs::remove_file(temp.join("made"));
    for namespaces in ["-m", "-Urm"] {
        let args = [namespaces, "sh", "-c", &script, FOLKMOOT];
        let tried = Command::new("unshare").args(args).current_dir(temp.path()).output();
        if temp.join("made").exists() {
            return Some(Ended::of(&["run", TINY, "--out", "disk/out"], tried.unwrap()));
        }
    }
    None
}

#[test]
fn a_full_disk_ends_the_run_with_a_plain_message_and_costs_no_finished_round() {
    let temp = TempDir::new();
    let whole = &tiny().run;
    let mut n_left = 0;
    for kib in [4, 8, 16, 20, 24, 32, 48, 64, 96] {
        let Some(ended) = on_a_small_disk(&temp, kib) else {
            // Without namespaces or mounts, files that may not grow fail at the same places.
            let ended = with_small_files(&temp, kib / 4);
            assert_nothing_half_written(&temp, "out", whole, &ended);
            ended.refused(&["cannot be written"]);
            let _ = std::fs::remove_dir_all(temp.join("out"));
            n_left = 1;
            continue;
        };
        assert_nothing_half_written(&temp, "kept/out", whole, &ended);
        n_left += u32::from(temp.join("kept/out").exists());
        if kib <= 8 {
            assert!(!temp.join("kept/out").exists(), "{kib} KiB: {ended:#?}");
        }
        ended.refused(&["cannot be written: the disk is full", "choose a folder on another disk"]);
    }
    assert!(n_left > 0, "no disk was large enough to keep anything");
}

#[test]
fn figures_that_cannot_be_drawn_do_not_spoil_the_results() {
    let temp = TempDir::new();
    tiny().lay(&temp, "out");
    std::fs::remove_dir_all(temp.join("out/figures")).unwrap();
    temp.write("out/figures", "in the way");
    temp.run(&["plot", "out"])
        .refused(&["out/figures", "in the way of a folder"]);
    temp.run(&["compare", "out", "out"]).done();
}

#[test]
fn folders_that_hold_no_result_or_a_damaged_one_are_refused() {
    let temp = TempDir::new();
    tiny().lay(&temp, "out");
    std::fs::create_dir(temp.join("empty")).unwrap();
    for dir in ["empty", "nowhere"] {
        let words = [dir, "is not a run directory: it has no manifest.json"];
        temp.run(&["plot", dir]).refused(&words);
        temp.run(&["verify", dir]).refused(&words);
        temp.run(&["compare", dir, "out"]).refused(&words);
        temp.run(&["compare", "out", dir]).refused(&words);
    }
    temp.run(&["show", "empty"])
        .refused(&["neither a run nor a sweep directory", "manifest.json", "sweep.json"]);
    let table = temp.join("out/clients.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    let damage = |text: &str, words: &[&str]| {
        std::fs::write(&table, text).unwrap();
        for args in [
            ["plot", "out"].as_slice(),
            &["verify", "out"],
            &["show", "out"],
            &["compare", "out", "out"],
        ] {
            temp.run(args).refused(words);
        }
    };
    damage(
        &text.replacen("\n1,30,", "\n1,thirty,", 1),
        &["clients.csv: line 3", "shard_size"],
    );
    let last_comma = text[..text.len() / 2].rfind(',').unwrap();
    damage(&text[..last_comma], &["clients.csv: line "]);
    damage("", &["clients.csv"]);
    std::fs::remove_file(&table).unwrap();
    temp.run(&["verify", "out"]).refused(&["clients.csv", "cannot be read"]);
    std::fs::write(&table, text).unwrap();
    temp.write("out/manifest.json", "{\n");
    temp.run(&["verify", "out"]).refused(&["manifest.json: line 2"]);
    temp.write("sweep/sweep.json", "[]");
    temp.run(&["plot", "sweep"]).refused(&["sweep.json: line 1"]);
    temp.run(&["show", "sweep"]).refused(&["sweep.json: line 1"]);
}

#[test]
fn links_in_a_circle_pipes_and_devices_in_a_result_are_refused_at_once() {
    use std::os::unix::fs::symlink;
    let temp = TempDir::new();
    tiny().lay(&temp, "loop");
    for link in ["a", "b"] {
        symlink(".", temp.join("loop/artifacts").join(link)).unwrap();
    }
    tiny().lay(&temp, "pipe");
    let pipe = std::process::Command::new("mkfifo")
        .arg(temp.join("pipe/artifacts/p"))
        .status();
    assert!(pipe.unwrap().success());
    tiny().lay(&temp, "endless");
    std::fs::remove_file(temp.join("endless/manifest.json")).unwrap();
    symlink("/dev/zero", temp.join("endless/manifest.json")).unwrap();
    let words = ["cannot be read: it is no plain file"];
    for (dir, file) in [
        ("loop", "artifacts/a"),
        ("pipe", "artifacts/p"),
        ("endless", "manifest.json"),
    ] {
        for args in [["verify", dir].as_slice(), &["compare", dir, dir]] {
            assert!(temp.run(args).refused(&words).contains(file));
        }
    }
    temp.run(&["plot", "endless"]).refused(&words);
    // These read no artifact.
    for args in [["show", "loop"], ["plot", "loop"], ["show", "pipe"], ["plot", "pipe"]] {
        temp.run(&args).done();
    }
}

#[test]
fn arguments_out_of_range_or_unknown_are_bad_usage() {
    let temp = TempDir::new();
    let refused = |args: &[&str], words: &[&str]| {
        temp.run(args).refused(words);
    };
    refused(
        &["run", TINY, "--threads", "0", "--out", "out"],
        &["'0'", "--threads <N>", "1..=1024"],
    );
    refused(&["run", TINY, "--threads", "1025", "--out", "out"], &["1..=1024"]);
    refused(
        &["run", TINY, "--threads", "two", "--out", "out"],
        &["'two'", "--threads <N>"],
    );
    refused(
        &["sweep", TINY, "--threads", "0", "--out", "out"],
        &["'0'", "--threads <N>"],
    );
    refused(&["verify", "out", "--threads", "0"], &["'0'", "--threads <N>"]);
    refused(&["run", TINY, "--seed", "-1", "--out", "out"], &["'-1'"]);
    refused(&["run", TINY, "--seed=-1", "--out", "out"], &["'-1'", "--seed <N>"]);
    refused(
        &["run", TINY, "--seed", "18446744073709551616", "--out", "out"],
        &["--seed <N>"],
    );
    refused(
        &["run", TINY, "--format", "xml", "--out", "out"],
        &["'xml'", "text, json"],
    );
    refused(&["run", TINY, "--thread", "2", "--out", "out"], &["'--threads'"]);
    refused(&["run"], &["<CARD>"]);
    refused(&["rnu"], &["unrecognized subcommand 'rnu'"]);
    refused(&["compare", "out"], &["<B>"]);
    refused(
        &["completions", "tcsh"],
        &["'tcsh'", "bash, elvish, fish, powershell, zsh"],
    );
    refused(&[], &["Usage: folkmoot <COMMAND>"]);
    assert_eq!(temp.names(), [""; 0]);
}
