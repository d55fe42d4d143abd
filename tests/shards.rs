//! Sweeps that are stopped, killed, shared out among processes, and joined again.

use crate::support::{Ended, FOLKMOOT, TINY, TempDir, assert_same, files, lay, not_run};
use crate::sweeps::{CARD, swept};
use folkmoot_metrics::{RunDir, SweepDir};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// All that must be the same however a sweep was made.
fn result_of(temp: &TempDir, out: &str) -> BTreeMap<String, Vec<u8>> {
    without_timing(&files(&temp.join(out)))
}

fn without_timing(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let kept = files.iter().filter(|(name, _)| !name.ends_with("timing.csv"));
    kept.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
}

/// The sweep that many tests read, with more options.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [CARD, more].concat()
}

/// Lays the finished sweep at `out` as it was before its points 2 and 3: of the latter there is a
/// beginning.
fn lay_without_two(temp: &TempDir) {
    let mut left = swept().files.clone();
    left.retain(|name, _| !name.starts_with("figures/") && name != "points.csv" && !name.starts_with("points/0002-"));
    let begun = ["manifest.json", "scenario.ron"];
    left.retain(|name, _| !name.starts_with("points/0003-") || begun.iter().any(|file| name.ends_with(file)));
    let unfinished = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        text.replace("\"finished\": true", "\"finished\": false").into_bytes()
    };
    for (name, bytes) in &mut left {
        if name == "sweep.json" || (name.starts_with("points/0003-") && name.ends_with("manifest.json")) {
            *bytes = unfinished(bytes);
        }
    }
    lay(&left, temp, "out");
    temp.write("out/points/.0003.lock", "");
}

#[test]
fn shards_merge_into_the_sweep_byte_for_byte() {
    let temp = TempDir::new();
    let said = temp.run(&with(&["--shard", "1/3"])).done();
    assert_eq!(
        said,
        "shard 1/3 has its 2 points; when all shards have theirs: folkmoot merge out\n"
    );
    temp.run(&with(&["--shard", "3/3", "--quiet"])).done();
    let shown = temp.run(&["show", "out"]).done();
    assert!(shown.contains("\nunfinished: 4 of 6 points\n"), "{shown}");
    let drawn = temp.run(&["plot", "out"]).done();
    let svg = std::fs::read_to_string(temp.join(drawn.lines().next().unwrap())).unwrap();
    assert!(svg.contains("The sweep is not finished: 4 of 6 points."));
    let before = files(&temp.join("out"));
    temp.run(&["merge", "out"]).refused(&[
        "2 of 6 points are missing: 0001-prob=0.0-seed=2, 0004-prob=0.4-seed=4",
        "make them with: folkmoot sweep fed-avg/tiny --set strategy.protocol.rounds=10 --set 'sweep.seeds=[4, 2]' --out out --only-missing",
    ]);
    assert_eq!(files(&temp.join("out")), before);
    // The last one as a scheduler would start it.
    let args = with(&["--shard", "auto/3", "--format", "json"]);
    let ended = Ended::of(&args, temp.command(&args).env("HQ_TASK_ID", "2").output().unwrap());
    assert!(
        ended
            .stderr
            .starts_with("fed-avg/tiny: 3 configurations × 2 seeds = 6 runs; shard 2/3 has 2 of them\n"),
        "{ended:#?}"
    );
    let json: serde_json::Value = serde_json::from_str(&ended.done()).unwrap();
    assert_eq!((&json["shard"], &json["points"]), (&"2/3".into(), &2.into()));
    assert!(!temp.join("out/points.csv").exists(), "tables are for who merges");
    assert_eq!(temp.run(&["merge", "out"]).done(), swept().said.stdout);
    assert_same(&result_of(&temp, "out"), &without_timing(&swept().files), "merged");
    // Again, and into another directory.
    temp.run(&["merge", "out", "--quiet", "--out", "copy"]).done();
    assert_same(&files(&temp.join("copy")), &files(&temp.join("out")), "copied");
    temp.run(&["merge", "out", "copy", "--quiet"]).done();
    assert_same(
        &files(&temp.join("runs/fed-avg-tiny-sweep")),
        &files(&temp.join("out")),
        "joined",
    );
}

#[test]
fn what_is_missing_is_made_and_what_is_finished_stays() {
    let temp = TempDir::new();
    lay_without_two(&temp);
    let before = files(&temp.join("out"));
    temp.run(CARD).refused(&[
        "out: already exists and is never overwritten",
        "make the points that it lacks with: folkmoot sweep fed-avg/tiny --set strategy.protocol.rounds=10 \
         --set 'sweep.seeds=[4, 2]' --out out --only-missing",
    ]);
    assert_eq!(files(&temp.join("out")), before);
    let ended = temp.run(&with(&["--only-missing", "--threads", "1"]));
    let made: Vec<&str> = ended.stderr.lines().skip(1).collect();
    assert_eq!(
        made,
        ["note: 2 of 6 runs made; the others were finished, or another process makes them"]
    );
    assert_eq!(ended.done(), swept().said.stdout);
    assert_same(
        &result_of(&temp, "out"),
        &without_timing(&swept().files),
        "gone on with",
    );
    let after = files(&temp.join("out"));
    for (name, bytes) in before.iter().filter(|(name, _)| name.ends_with("timing.csv")) {
        assert!(after[name] == *bytes, "{name} was made again");
    }
    // Nothing is missing any more.
    let ended = temp.run(&with(&["--only-missing"]));
    assert!(ended.stderr.contains("note: 0 of 6 runs made;"), "{ended:#?}");
    assert_same(&after, &files(&temp.join("out")), "nothing to do");
    // A point whose summary is cut short is missing, too.
    let cut = after
        .keys()
        .find(|name| name.starts_with("points/0003") && name.ends_with("/summary.json"));
    temp.write(&format!("out/{}", cut.unwrap()), "{\"");
    let ended = temp.run(&with(&["--only-missing"]));
    assert!(ended.stderr.contains("note: 1 of 6 runs made;"), "{ended:#?}");
    assert_same(&result_of(&temp, "out"), &without_timing(&swept().files), "cut short");
}

/// The card is the directory's own, and so is the command that its manifests name.
#[test]
fn a_sweep_directory_says_itself_how_to_go_on() {
    let temp = TempDir::new();
    lay_without_two(&temp);
    temp.run(&["resume", "out", "--checkpoint-every", "1rounds"])
        .refused(&["--checkpoint-every: a sweep goes on by whole points"]);
    assert_eq!(temp.run(&["resume", "out"]).done(), swept().said.stdout);
    assert_same(&result_of(&temp, "out"), &without_timing(&swept().files), "resumed");
    let before = files(&temp.join("out"));
    temp.run(&["resume", "out"])
        .refused(&["out: is finished, so there is nothing to resume"]);
    assert_eq!(files(&temp.join("out")), before);
}

/// Killed after its last point and before its tables.
#[test]
fn a_sweep_that_lacks_its_tables_alone_is_gone_on_with() {
    let temp = TempDir::new();
    lay_without_two(&temp);
    temp.run(&["resume", "out", "--quiet"]).done();
    let sweep = temp.join("out/sweep.json");
    let text = fs::read_to_string(&sweep).unwrap();
    fs::write(&sweep, text.replace("\"finished\": true", "\"finished\": false")).unwrap();
    fs::remove_file(temp.join("out/points.csv")).unwrap();
    fs::remove_dir_all(temp.join("out/figures")).unwrap();
    temp.run(&["resume", "out", "--quiet"]).done();
    assert_same(&result_of(&temp, "out"), &without_timing(&swept().files), "resumed");
}

#[test]
fn a_directory_of_another_card_program_or_age_is_not_gone_on_with() {
    let temp = TempDir::new();
    lay_without_two(&temp);
    let refused = |more: &[&str], words: &[&str]| {
        let before = files(&temp.join("out"));
        temp.run(&with(more)).refused(words);
        assert_eq!(files(&temp.join("out")), before);
    };
    let other = "out: is of another sweep: its";
    let more = ["--only-missing", "--set", "strategy.model.hidden=7"];
    refused(&more, &[other, "hidden: 8, not hidden: 7", "choose another --out"]);
    refused(&["--shard", "1/2", "--set", "sweep.seeds=[4, 3]"], &[other]);
    refused(&["--only-missing", "--dry-run"], &[other, "dry run is false, not true"]);
    let manifest = temp.join("out/sweep.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    std::fs::write(&manifest, text.replace(&version, "\"version\": \"0.0.1\"")).unwrap();
    refused(&["--only-missing"], &[other, "version is 0.0.1, not"]);
    temp.run(&["merge", "out"]).refused(&["points/0000-", "version is"]);
    std::fs::write(&manifest, text).unwrap();
    std::fs::remove_file(temp.join("out/scenario.ron")).unwrap();
    refused(
        &["--only-missing"],
        &["an older version made it, which did not keep the card"],
    );
    temp.write("mine/thesis.txt", "mine");
    temp.run(&["sweep", TINY, "--out", "mine", "--only-missing"])
        .refused(&["mine: already exists"]);
    assert_eq!(TempDir::names_in(&temp.join("mine")), ["thesis.txt"]);
}

#[test]
fn sweeps_of_other_cards_are_not_merged() {
    let temp = TempDir::new();
    lay(&swept().files, &temp, "a");
    lay(&swept().files, &temp, "b");
    let card = temp.join("b/scenario.ron");
    let text = std::fs::read_to_string(&card).unwrap();
    std::fs::write(&card, text.replace("hidden: 8", "hidden: 9")).unwrap();
    temp.run(&["merge", "a", "b", "--out", "out"])
        .refused(&["b: cannot be merged with a: its card says hidden: 9, not hidden: 8"]);
    temp.run(&["merge", "a", "nowhere", "--out", "out"])
        .refused(&["nowhere: is not a sweep directory: it has no sweep.json"]);
    temp.run(&["merge", "a", "--out", "b"]).refused(&["b: already exists"]);
    temp.run(&["merge"]).refused(&["<DIR>"]);
    assert_eq!(temp.names(), ["a", "b"]);
}

#[test]
fn a_shard_that_there_is_not_is_refused() {
    let temp = TempDir::new();
    let refused = |shard: &str, words: &[&str]| {
        let args = ["sweep", TINY, "--out", "out", "--shard", shard];
        let mut command = temp.command(&args);
        for name in ["HQ_TASK_ID", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
            command.env_remove(name);
        }
        Ended::of(&args, command.output().unwrap()).refused(words);
    };
    refused("0/4", &["'0/4'", "--shard <K/N>", "numbered from 1 to N"]);
    refused("5/4", &["'5/4'", "there is no shard 5 of 4"]);
    refused("x/y", &["'x/y'", "expected K/N, as 1/4, or auto, or auto/N"]);
    refused("auto", &["--shard: auto finds no scheduler", "SLURM_ARRAY_TASK_ID"]);
    temp.run(&["sweep", TINY, "--shard", "1/4"]).refused(&["--out <DIR>"]);
    temp.run(&["sweep", TINY, "--only-missing"]).refused(&["--out <DIR>"]);
    assert_eq!(temp.names(), [""; 0]);
}

#[test]
fn an_audit_reads_what_an_unfinished_sweep_has() {
    let temp = TempDir::new();
    lay_without_two(&temp);
    temp.write(
        "mine.ron",
        r#"(system: "Mine", paper: "A note", claims: [(
            id: "answers", claim: "Each client answers in each round.", at: "page 1", printed: "30", rule: Exact,
            card: "fed-avg/tiny", set: ["strategy.protocol.rounds=10", "sweep.seeds=[4, 2]"],
            arm: { "dropout.prob": "0.0" }, metric: "update_messages",
        )])"#,
    );
    let args = [
        "audit", "mine.ron", "--from", "out", "--out", "judged", "--format", "json",
    ];
    let ended = temp.run(&args);
    assert_eq!(ended.stderr, "");
    let rows: serde_json::Value = serde_json::from_str(&ended.done()).unwrap();
    assert_eq!(
        (&rows[0]["verdict"], &rows[0]["seeds"]),
        (&"reproduced exactly".into(), &2.into())
    );
}

#[test]
fn shards_of_other_data_are_refused() {
    let temp = TempDir::new();
    temp.write(
        "c.ron",
        "(dataset: EdgeList(edges: \"edges.txt\", labels: \"labels.txt\"), partition: Iid(n_clients: 2), \
         strategy: FedAvg(inputs: Degree(), protocol: (rounds: 1)))",
    );
    temp.write("data/labels.txt", "0 0\n1 1\n2 0\n3 1\n");
    let shard = |shard: &str| temp.run(&["sweep", "c.ron", "--out", "out", "--shard", shard]);
    shard("1/2").refused(&["edges.txt was not found"]);
    assert_eq!(temp.names(), ["c.ron", "data"]);
    temp.write("data/edges.txt", "0 1\n1 2\n2 3\n3 0\n");
    shard("1/2").done();
    temp.write("data/edges.txt", "0 1\n1 2\n2 3\n");
    shard("2/2").refused(&[
        "out: is of another sweep: the data set EdgeList( edges",
        "has changed since",
    ]);
    temp.write("data/edges.txt", "0 1\n1 2\n2 3\n3 0\n");
    shard("2/2").done();
    temp.run(&["merge", "out"]).done();
}

/// A sweep of twelve points, one at a time, that takes some seconds.
const SLOW: &[&str] = &[
    "sweep",
    TINY,
    "--set",
    "strategy.protocol.rounds=2000",
    "--set",
    "sweep.seeds=[1, 2, 3, 4]",
    "--threads",
    "1",
    "--out",
    "out",
];

/// Starts a sweep into the directory `out` and waits for its first line and for `n` finished runs;
/// the reader has the other lines.
fn started(temp: &TempDir, (args, out): (&[&str], &str), n: usize) -> (Child, impl Iterator<Item = String>) {
    let mut command = temp.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    lines.next().unwrap();
    let is_finished = |run: std::io::Result<std::fs::DirEntry>| {
        let manifest = std::fs::read_to_string(run.unwrap().path().join("manifest.json"));
        manifest.is_ok_and(|manifest| manifest.contains("\"finished\": true"))
    };
    let n_finished = || {
        let runs = std::fs::read_dir(temp.join(out).join("points"));
        runs.map_or(0, |runs| runs.map(is_finished).filter(|finished| *finished).count())
    };
    while n_finished() < n {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (child, lines)
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

#[test]
fn a_sweep_that_is_asked_to_stop_says_how_to_go_on_and_goes_on() {
    let temp = TempDir::new();
    for (name, out) in [("INT", "int"), ("TERM", "term")] {
        let args = [&SLOW[..SLOW.len() - 1], &[out]].concat();
        let (child, lines) = started(&temp, (&args, out), 2);
        signal(&child, name);
        let said: Vec<String> = lines.collect();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1), "{said:#?}");
        let sweep = SweepDir::open(&temp.join(out)).unwrap();
        let n = sweep.points.len();
        assert!((2..12).contains(&n), "{n}");
        let [.., there, how] = said.as_slice() else {
            panic!("{said:#?}")
        };
        assert_eq!(*there, format!("unfinished: {n} of 12 points are there"));
        let command = format!(
            "folkmoot sweep fed-avg/tiny --set strategy.protocol.rounds=2000 --set 'sweep.seeds=[1, 2, 3, 4]' --out {out} --only-missing"
        );
        assert_eq!(*how, format!("  resume with: {command}"));
        let table = std::fs::read_to_string(temp.join(out).join("points.csv")).unwrap();
        assert_eq!(table.lines().count(), n + 1);
        let shown = temp.run(&["show", out]).done();
        assert!(shown.contains(&format!("\nunfinished: {n} of 12 points\n")), "{shown}");
        temp.run(&[&args[..], &["--only-missing", "--quiet"]].concat()).done();
    }
    temp.run(&[SLOW, &["--quiet"]].concat()).done();
    for out in ["int", "term"] {
        assert_same(&result_of(&temp, out), &result_of(&temp, "out"), out);
    }
}

#[test]
fn a_second_signal_ends_a_sweep_at_once() {
    let temp = TempDir::new();
    let (mut child, _lines) = started(&temp, (SLOW, "out"), 1);
    // Asked once, it waits for whoever else writes the tables.
    let tables = std::fs::File::open(temp.join("out/scenario.ron")).unwrap();
    tables.lock().unwrap();
    signal(&child, "TERM");
    // Long enough for it to end, were it to end at the first.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    drop(tables);
    let sweep = SweepDir::open(&temp.join("out")).unwrap();
    assert!((1..12).contains(&sweep.points.len()));
    let names = files(&temp.join("out")).into_keys();
    let tables: Vec<String> = names.filter(|name| !name.starts_with("points/")).collect();
    assert_eq!(tables, ["scenario.ron", "sweep.json"]);
}

#[test]
fn two_processes_in_one_directory_make_each_point_once() {
    let temp = TempDir::new();
    let (first, first_lines) = started(&temp, (SLOW, "out"), 0);
    while !temp.join("out/sweep.json").exists() {
        std::thread::yield_now();
    }
    let second = temp.run(&[SLOW, &["--only-missing"]].concat());
    let first_said: Vec<String> = first_lines.collect();
    let first_code = first.wait_with_output().unwrap().status.code();
    let n_made = |said: &str| -> usize {
        let mut lines = said.lines();
        let made = lines.find_map(|line| line.strip_prefix("note: ")?.split_once(" of 12 runs made"));
        made.map_or(12, |(n, _)| n.parse().unwrap())
    };
    let (by_first, by_second) = (n_made(&first_said.join("\n")), n_made(&second.stderr));
    assert_eq!(by_first + by_second, 12, "{first_said:#?} {second:#?}");
    assert!(by_first > 0 && by_second > 0, "{first_said:#?} {second:#?}");
    // Whoever was done first may have left the last point to the other.
    assert!(
        [first_code, second.code].contains(&Some(0)),
        "{first_said:#?} {second:#?}"
    );
    let sweep = SweepDir::open(&temp.join("out")).unwrap();
    assert!(
        std::fs::read_to_string(temp.join("out/sweep.json"))
            .unwrap()
            .contains("\"finished\": true")
    );
    assert_eq!(sweep.points.len(), 12);
    temp.run(&["merge", "out", "--quiet", "--out", "copy"]).done();
}

/// Runs `script` as root of namespaces of its own, where it may mount a disk at `disk`; `None` if
/// this machine lets us not.
fn with_a_disk(temp: &TempDir, script: &str, args: &[&str]) -> Option<Ended> {
    std::fs::create_dir_all(temp.join("disk")).unwrap();
    for namespaces in ["-m", "-Urm"] {
        let args = [&[namespaces, "sh", "-c", script, FOLKMOOT], args].concat();
        let tried = Command::new("unshare").args(&args).current_dir(temp.path()).output();
        if temp.join("made").exists() {
            return Some(Ended::of(&args, tried.unwrap()));
        }
    }
    not_run("no file system can be mounted here, which needs root or namespaces of users");
    None
}

#[test]
fn a_disk_that_fills_up_or_is_read_only_costs_no_finished_point() {
    let temp = TempDir::new();
    std::fs::create_dir(temp.join("kept")).unwrap();
    let script = "mount -t tmpfs -o size=SIZEk none disk && touch made || exit
        \"$0\" \"$@\" --threads 1 --out disk/out; code=$?; cp -r disk/. kept; exit $code";
    let args = [&CARD[..CARD.len() - 2]].concat();
    let Some(ended) = with_a_disk(&temp, &script.replace("SIZE", "300"), &args) else {
        return;
    };
    ended.refused(&[
        "the disk is full",
        "resume with: folkmoot sweep fed-avg/tiny",
        "--out disk/out --only-missing",
    ]);
    let kept = SweepDir::open(&temp.join("kept/out")).unwrap();
    assert!((1..6).contains(&kept.points.len()), "{}", kept.points.len());
    for row in &kept.points {
        let names = TempDir::names_in(&temp.join("kept/out/points"));
        let name = names
            .iter()
            .find(|name| name.starts_with(&format!("{:04}-", row.point)))
            .unwrap();
        let run = RunDir::open(&temp.join("kept/out/points").join(name)).unwrap();
        assert_eq!(Some(run.fingerprint().unwrap()), run.manifest.result_fingerprint);
    }
    std::fs::remove_file(temp.join("made")).unwrap();
    let script = "mount -t tmpfs none disk && cp -r kept/out disk/out && mount -o remount,ro disk && touch made || exit
        exec \"$0\" \"$@\" --out disk/out --only-missing";
    let ended = with_a_disk(&temp, script, &args).unwrap();
    ended.refused(&["the disk is read-only; choose a folder on another disk"]);
    let more = ["--out", "kept/out", "--only-missing", "--quiet"];
    temp.run(&[&args[..], &more].concat()).done();
    assert_same(
        &result_of(&temp, "kept/out"),
        &without_timing(&swept().files),
        "gone on with",
    );
}
