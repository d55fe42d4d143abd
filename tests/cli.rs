//! The command line as it is seen: help, listings, messages, formats, streams and folders.

use crate::support::{Ended, TINY, TempDir, assert_golden, tiny};
use crate::trials::folders;
use folkmoot_metrics::RunDir;
use std::process::Stdio;

const COMMANDS: &[&str] = &[
    "run",
    "sweep",
    "flower",
    "resume",
    "fork",
    "merge",
    "show",
    "report",
    "plot",
    "compare",
    "export",
    "list",
    "explain",
    "check",
    "budget",
    "calibrate",
    "new",
    "verify",
    "audit",
    "data",
    "completions",
    "man",
];

#[test]
fn help_reads_as_before() {
    let temp = TempDir::new();
    let mut text = temp.run(&["--help"]).transcript();
    for command in COMMANDS {
        let ended = temp.run(&[command, "--help"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        text += &ended.transcript();
    }
    assert_golden("cli/help.txt", &text);
    let listed = text.lines().filter(|line| line.starts_with("$ folkmoot "));
    assert_eq!(listed.count(), COMMANDS.len() + 1);
}

#[test]
fn the_list_reads_as_before() {
    let temp = TempDir::new();
    assert_golden("cli/list.txt", &temp.run(&["list"]).transcript());
}

#[test]
fn explanations_read_as_before() {
    let temp = TempDir::new();
    let paths = [
        "FedAvg",
        "strategy.model.hidden",
        "network.uplink.latency_ms",
        "availability",
        "cohort",
        "sweep.seeds",
        "strategy.protocol.aggregation.Buffered",
        "test_accuracy",
        "update",
        "payload_bytes",
        "staleness_mean",
        "rounds.csv",
        "client_scores.csv",
        "links.csv",
        "completeness",
        "scale",
        "fairness",
        "trace",
        "strategy.protocol.ruonds",
        "Karat",
    ];
    // And what the folders of scenarios name.
    let more = folders().into_values().flat_map(|file| file.explained);
    let text: String = paths
        .map(str::to_owned)
        .into_iter()
        .chain(more)
        .map(|path| temp.run(&["explain", &path]).transcript())
        .collect();
    assert_golden("cli/explain.txt", &text);
}

#[test]
fn shown_cards_and_data_sets_read_as_before() {
    let temp = TempDir::new();
    temp.write("data/edges.txt", "0 1\n1 2\n2 3\n");
    let shown = [
        [TINY].as_slice(),
        &[TINY, "--resolved"],
        &["Karate"],
        &["EdgeList(edges: \"edges.txt\")"],
        &["Karat"],
        &["DcSbm(n_nodes: 1)"],
        &["DcSbm(nodes: 100)"],
        &["Moon"],
        &["FedAvg"],
        &["test_accuracy"],
        &["BlogCatalog"],
    ];
    let shown = shown.iter().map(|what| [&["show"], *what].concat());
    let text: String = shown.map(|args| temp.run(&args).transcript()).collect();
    assert_golden("cli/show.txt", &text);
}

#[test]
fn the_main_messages_read_as_before() {
    let temp = TempDir::new();
    temp.write(
        "bad.ron",
        "// Three mistakes.\n(\n    dataset: Karate,\n    strategy: Gossip(\n        ruonds: 20,\n        \
         mixing: 1.5,\n    ),\n    sweep: (axes: { \"strategy.timeout_s\": [] }),\n)\n",
    );
    temp.write(
        "many.ron",
        "(dataset: Karate, partition: Iid(n_clients: 300), strategy: FedAvg())",
    );
    temp.write("taken/file", "");
    temp.write("blog.ron", "(dataset: BlogCatalog, strategy: FedAvg())");
    let commands: &[&[&str]] = &[
        &["check", "bad.ron", TINY],
        &["run", "many.ron"],
        &["run", TINY, "--set", "strategy.protocol.rounds=x"],
        &["run", TINY, "--set", "seed"],
        &["run", TINY, "--out", "taken"],
        &["run", TINY, "--out", "taken/file/below"],
        &["run", "taken"],
        &["run", "fed-avg/tinyy"],
        &["run", "blog.ron", "--data", "my data"],
        &["sweep", TINY, "--set", "seed=7"],
        &["sweep", TINY, "--seed", "7"],
        &["check", TINY, "--set", "sweep.headline=[\"test_acuracy\"]"],
        &["check", TINY, "--set", "figures=[\"fairnes\"]"],
        &["explain", "score-accuracy-by-*"],
        &["explain", "split"],
        &["man", "rum"],
        &["run", TINY, "--threads", "0"],
        &["compare", "taken", "taken"],
        &["show", "taken"],
        &["verify", "nowhere"],
    ];
    let text: String = commands.iter().map(|args| temp.run(args).transcript()).collect();
    assert_golden("cli/messages.txt", &text);
    assert_eq!(temp.names(), ["bad.ron", "blog.ron", "many.ron", "taken"]);
}

#[test]
fn files_for_schedulers_read_as_before() {
    let temp = TempDir::new();
    let sweep = ["sweep", "fed-avg/algorithms", "--set", "question=\"whose?\""];
    let text: String = ["slurm", "hq", "parallel", "kubernetes"]
        .iter()
        .map(|scheduler| {
            temp.run(&[sweep.as_slice(), &["--job", scheduler]].concat())
                .transcript()
        })
        .collect();
    let more = ["--out", "my out", "--shards", "100", "--threads", "4", "--job", "slurm"];
    let more = temp.run(&[sweep.as_slice(), &more].concat()).transcript();
    assert_golden("cli/jobs.txt", &(text + &more));
    assert_eq!(temp.names(), [""; 0]);
    temp.run(&["sweep", TINY, "--set", "strategy.protocol.rounds=x", "--job", "slurm"])
        .refused(&["expected a whole number"]);
    temp.run(&["sweep", TINY, "--shards", "3"])
        .refused(&["--job <SCHEDULER>"]);
    temp.run(&["sweep", TINY, "--job", "slurm", "--shard", "1/2", "--out", "out"])
        .refused(&["cannot be used with"]);
}

#[test]
fn a_run_says_its_result_on_stdout_alone() {
    let said = &tiny().said;
    // What it is one of is no result.
    let is_note = said
        .stderr
        .starts_with("note: this run has dropout.prob = 0.0, one of 3 values; the card's question needs all of them\n");
    assert!(is_note && said.stderr.lines().count() == 2, "{}", said.stderr);
    assert_golden("cli/run.txt", &said.transcript());
}

#[test]
fn a_run_says_everything_when_asked() {
    let temp = TempDir::new();
    let card = ["run", TINY, "--set", "strategy.protocol.rounds=2"];
    let run = |more: &[&str]| temp.run(&[card.as_slice(), more].concat()).done();
    let (brief, all) = (run(&[]), run(&["--all"]));
    assert!(brief.lines().count() <= 25 && all.lines().count() > 60, "{brief}");
    let question = "What do dropouts cost in accuracy and messages if only three clients train?";
    assert!(
        brief.contains(question) && brief.contains("Higher is better."),
        "{brief}"
    );
    assert!(all.contains("link_cosine_auc") && !brief.contains("link_cosine_auc"));
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let temp = TempDir::new();
    temp.run(&["man", "--to", "pages"]).done();
    let pages = TempDir::names_in(&temp.join("pages"));
    assert!(pages.len() > COMMANDS.len(), "{pages:?}");
    for command in COMMANDS {
        let page = temp.run(&["man", command]).done();
        assert_eq!(
            page.as_bytes(),
            std::fs::read(temp.join(&format!("pages/folkmoot-{command}.1"))).unwrap()
        );
        assert!(
            page.contains(&format!("folkmoot {command}")) || page.contains(&format!("folkmoot\\-{command}")),
            "{page}"
        );
    }
    assert_eq!(
        temp.run(&["man"]).done().as_bytes(),
        std::fs::read(temp.join("pages/folkmoot.1")).unwrap()
    );
}

#[test]
fn json_is_json_and_quiet_is_quiet() {
    let temp = TempDir::new();
    let card = ["run", TINY, "--set", "strategy.protocol.rounds=2"];
    let run = |more: &[&str]| temp.run(&[card.as_slice(), more].concat());
    let quiet = run(&["--out", "a", "--quiet"]);
    assert_eq!(
        (quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()),
        (Some(0), "", "")
    );
    // Asked for by name, the result is printed all the same.
    let said = run(&["--out", "b", "--quiet", "--format", "json"]);
    assert_eq!(said.stderr, "");
    let json: serde_json::Value = serde_json::from_str(&said.done()).unwrap();
    let result = RunDir::open(&temp.join("b")).unwrap();
    assert_eq!(json["dir"], "b");
    assert_eq!(
        json["fingerprint"].as_str(),
        result.manifest.result_fingerprint.as_deref()
    );
    let summary = json["summary"].as_object().unwrap();
    assert_eq!(summary.len(), result.summary.len());
    for (name, value) in summary {
        assert_eq!(value.as_f64(), Some(result.summary[name]), "{name}");
    }
    run(&["--out", "a", "--quiet"]).refused(&["already exists"]);
}

#[test]
fn runs_without_an_output_are_numbered() {
    let temp = TempDir::new();
    let run = ["run", TINY, "--set", "strategy.protocol.rounds=2"];
    let ends = |args: &[&str], dir: &str| {
        let said = temp.run(args).done();
        assert!(said.trim_end().ends_with(&format!("figure files in {dir}")), "{said}");
        assert!(temp.join(dir).is_dir());
    };
    ends(&run, "runs/fed-avg-tiny");
    // Whatever lies there, even a file, is passed over.
    temp.write("runs/fed-avg-tiny-2", "");
    ends(&run, "runs/fed-avg-tiny-3");
    let sweep = [
        "sweep",
        TINY,
        "--set",
        "strategy.protocol.rounds=2",
        "--set",
        "sweep.seeds=[1]",
    ];
    assert!(
        temp.run(&sweep)
            .done()
            .trim_end()
            .ends_with("\nas a page: folkmoot report runs/fed-avg-tiny-sweep")
    );
    // A card of one's own has no slash in its name.
    temp.write("own.ron", temp.run(&["show", TINY]).done());
    let own = ["run", "own.ron", "--set", "strategy.protocol.rounds=2"];
    assert!(temp.run(&own).done().trim_end().ends_with(" in runs/own"));
}

/// A pipe whose reader has gone before the program starts.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_went_away_is_no_panic() {
    let temp = TempDir::new();
    let commands: &[&[&str]] = &[
        &["list"],
        &["--help"],
        &["run", "--help"],
        &["man"],
        &["completions", "zsh"],
        &["show", TINY],
        &[
            "run",
            TINY,
            "--set",
            "strategy.protocol.rounds=2",
            "--set",
            "sweep=()",
            "--out",
            "a",
        ],
        &["check", TINY],
    ];
    for args in commands {
        let output = temp
            .command(args)
            .stdout(closed_pipe())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let ended = Ended::of(args, output);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    }
    RunDir::open(&temp.join("a")).unwrap();
    // Nobody listens to what went wrong: the code still says it.
    let status = temp.command(&["run", "nope"]).stderr(closed_pipe()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_full_stdout_is_a_failure() {
    let temp = TempDir::new();
    for args in [["list"].as_slice(), &["man"], &["check", TINY]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = temp.command(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let ended = Ended::of(args, output);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("error: cannot write to stdout"), "{ended:?}");
    }
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let temp = TempDir::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = temp.run(&["completions", shell]).done();
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
        assert!(script.contains("wire-check"), "{shell}");
    }
}

#[test]
fn the_manual_is_a_man_page() {
    let temp = TempDir::new();
    let page = temp.run(&["man"]).done();
    assert!(page.starts_with(".ie \\n(.g .ds Aq \\(aq\n"), "{page}");
    for part in [
        ".TH folkmoot 1",
        ".SH NAME",
        ".SH SYNOPSIS",
        ".SH SUBCOMMANDS",
        ".SH VERSION",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

#[test]
fn the_version_is_the_packages() {
    let temp = TempDir::new();
    assert_eq!(
        temp.run(&["--version"]).done(),
        format!("folkmoot {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn data_are_taken_from_the_option_then_the_variable_then_the_folder() {
    let temp = TempDir::new();
    // A path of so many nodes tells which folder it came from.
    for (folder, n_nodes) in [("option", 3), ("variable", 4), ("data", 5)] {
        let edges: String = (1..n_nodes).map(|node| format!("{} {node}\n", node - 1)).collect();
        temp.write(&format!("{folder}/edges.txt"), edges);
    }
    let n_nodes = |option: Option<&str>, variable: Option<&str>| -> String {
        let mut args = vec!["show", "EdgeList(edges: \"edges.txt\")"];
        args.extend(option.iter().flat_map(|dir| ["--data", dir]));
        let mut command = temp.command(&args);
        if let Some(dir) = variable {
            command.env("FOLKMOOT_DATA", dir);
        }
        let said = Ended::of(&args, command.output().unwrap()).done();
        let line = said.lines().find(|line| line.starts_with("nodes ")).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(n_nodes(Some("option"), Some("variable")), "3");
    assert_eq!(n_nodes(None, Some("variable")), "4");
    assert_eq!(n_nodes(None, None), "5");
    assert_eq!(n_nodes(None, Some("")), "5", "an empty variable counts as none");
    temp.write("empty/other.txt", "");
    assert_eq!(
        n_nodes(Some("empty"), Some("variable")),
        "4",
        "the next folder is looked in"
    );
}

#[test]
fn the_command_that_repeats_a_run_is_quoted_for_a_shell() {
    let temp = TempDir::new();
    let question = "question=\"whose? it's mine\"";
    let card = ["run", TINY, "--set", question, "--seed", "3", "--dry-run"];
    temp.run(&[card.as_slice(), &["--quiet", "--out", "a"]].concat()).done();
    let run = RunDir::open(&temp.join("a")).unwrap();
    let command = run.manifest.command.clone();
    assert!(command.contains(r#"'question="whose? it'\''s mine"'"#), "{command}");
    let script = command.replacen("folkmoot", "exec \"$0\"", 1) + " --quiet --out b";
    let status = std::process::Command::new("sh")
        .args(["-c", &script, crate::support::FOLKMOOT])
        .current_dir(temp.path())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(RunDir::open(&temp.join("b")).unwrap().scenario, run.scenario);
}

/// Colours only where a terminal, or whoever sets `CLICOLOR_FORCE`, wants them, and never with
/// `NO_COLOR`.
#[test]
fn colours_are_for_terminals() {
    let temp = TempDir::new();
    let said = |variables: &[(&str, &str)]| {
        let mut command = temp.command(&["run", "fed-avg/tinyy"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!said(&[]).contains('\u{1b}'));
    let forced = said(&[("CLICOLOR_FORCE", "1")]);
    assert!(forced.contains("\u{1b}[1;31merror:\u{1b}[0m"), "{forced:?}");
    assert!(!said(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}
