//! A user's journey: run a card, read what it leaves, run it again from there, compare, verify and
//! draw.

use crate::support::{Ended, TINY, TempDir, assert_golden, assert_same, files, result_of, run_args, tiny};
use folkmoot_metrics::RunDir;
use std::path::{Path, PathBuf};

/// The files of a finished run and the header of each table: a contract, since other programs read
/// them.
const TABLES: &[(&str, &str)] = &[
    (
        "rounds.csv",
        "round,virtual_s,cohort,completed,dropped,late,staleness_mean",
    ),
    (
        "messages.csv",
        "phase,round,kind,direction,sent,delivered,dropped,in_flight,retried,payload_bytes,header_bytes,\
         expected_messages,materialised",
    ),
    ("scores.csv", "round,virtual_s,split,metric,value,n"),
    (
        "privacy.csv",
        "mechanism,unit,releases,epsilon_per_release,delta_per_release,epsilon_max_client,epsilon_mean_client,\
         composition,epsilon_claimed,delta_total,epsilon_basic,epsilon_advanced,epsilon_renyi,\
         epsilon_pld,epsilon_total,accountant",
    ),
    (
        "clients.csv",
        "client,shard_size,rounds,uplink_bytes,downlink_bytes,peer_bytes,compute_s,online_s",
    ),
    (
        "partition.csv",
        "client,clients,shard_size,inner_edges,cut_edges,label,items",
    ),
    ("client_scores.csv", "client,items,accuracy,loss,validation_accuracy"),
    ("controls.csv", "control,metric,value,n"),
    ("timing.csv", "stage,seconds,peak_memory_bytes,memory_bytes"),
];

fn fingerprint(dir: &Path) -> String {
    RunDir::open(dir).unwrap().manifest.result_fingerprint.unwrap()
}

#[test]
fn a_run_leaves_the_files_and_columns_that_the_contract_names() {
    let temp = TempDir::new();
    tiny().lay(&temp, "out");
    for (name, header) in TABLES {
        let text = std::fs::read_to_string(temp.join("out").join(name)).unwrap();
        assert_eq!(text.lines().next(), Some(*header), "{name}");
    }
    let mut names: Vec<String> = files(&temp.join("out")).into_keys().collect();
    names.retain(|name| !name.starts_with("figures/") && !TABLES.iter().any(|(table, _)| table == name));
    let artifacts = [
        "artifacts/assignment.csv",
        "artifacts/model.npy",
        "artifacts/model_layout.csv",
    ];
    assert_eq!(names[..3], artifacts);
    assert_eq!(names[3..], ["manifest.json", "scenario.ron", "summary.json"]);

    let run = RunDir::open(&temp.join("out")).unwrap();
    let stages: Vec<&str> = run.tables.timing.iter().map(|row| row.stage.as_str()).collect();
    assert_eq!(stages[..5], ["load", "share out", "prepare", "clients", "first window"]);
    let parts = [
        "queues", "events", "outboxes", "states", "accounts", "releases", "record",
    ];
    assert_eq!(stages[5..7], ["simulate", "score"]);
    assert_eq!(stages[7..], parts.map(|part| format!("memory: {part}")));
    assert!(run.manifest.finished);
    assert_eq!(
        (
            run.manifest.name.as_str(),
            run.manifest.seed,
            run.manifest.command.as_str()
        ),
        (TINY, 1, "folkmoot run fed-avg/tiny")
    );
    assert_eq!(run.manifest.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(run.manifest.data_fingerprints["ContextualSbm"].len(), 64);
    let fingerprint = run.manifest.result_fingerprint.clone().unwrap();
    assert_eq!(run.fingerprint().unwrap(), fingerprint);
    let said = &tiny().said.stdout;
    assert!(said.contains(&fingerprint), "{said}");

    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(temp.join("out/summary.json")).unwrap()).unwrap();
    assert!(summary.as_object().unwrap().values().all(|value| value.is_number()));
}

#[test]
fn the_written_scenario_states_every_field() {
    let text = &tiny().run.scenario;
    let fields = "question paper seed dataset partition strategy network header_bytes devices availability dropout \
                  cohort deadline_ms horizon_s delta observe sweep model encoder hidden layers readout head_layers training \
                  epochs batch_size optimiser momentum learning_rate weight_decay fedprox_mu inputs scale split train validation protocol rounds weighting aggregator \
                  server_optimizer aggregation min_updates absent completeness partial_prob secure private downlink_codec uplink_codec evaluate_every attacks keep \
                  targets stop figures outages uplink downlink peer loss_prob up_bytes_per_s down_bytes_per_s max_retries retry_after_ms after_ms axes seeds headline";
    for field in fields.split_whitespace() {
        let is_written = |line: &str| line.trim_start().starts_with(&format!("{field}: "));
        assert!(text.lines().any(is_written), "no {field} in:\n{text}");
    }
}

#[test]
fn the_written_scenario_gives_the_same_result_and_every_tool_agrees() {
    let temp = TempDir::new();
    let card = ["--set", "strategy.protocol.rounds=7", "--seed", "9"];
    temp.run(&[&["run", TINY, "--quiet", "--out", "a"], card.as_slice()].concat())
        .done();
    temp.run(&["run", "a/scenario.ron", "--quiet", "--out", "b"]).done();
    let (a, b) = (temp.join("a"), temp.join("b"));
    assert_eq!(fingerprint(&a), fingerprint(&b));
    // The first line of the card is its name, which is now the file's.
    let body = |dir: &PathBuf| {
        let text = std::fs::read_to_string(dir.join("scenario.ron")).unwrap();
        text.split_once('\n').unwrap().1.to_owned()
    };
    assert_eq!(body(&a), body(&b));
    assert_eq!(temp.run(&["compare", "a", "b"]).done(), "no difference\n");
    assert_eq!(temp.run(&["verify", "a"]).done(), "a: the same result hash\n");
    let shown = temp.run(&["show", "a"]).done();
    assert!(shown.contains(&fingerprint(&a)), "{shown}");
    assert!(
        shown.contains("made by: folkmoot run fed-avg/tiny --set strategy.protocol.rounds=7 --seed 9"),
        "{shown}"
    );
    let before = files(&b);
    temp.run(&["plot", "b"]).done();
    assert_same(&before, &files(&b), "drawn again");
}

#[test]
fn verify_runs_alike_with_any_threads_and_leaves_nothing_behind() {
    let temp = TempDir::new();
    tiny().lay(&temp, "out");
    let before = files(&temp.join("out"));
    std::fs::create_dir(temp.join("scratch")).unwrap();
    for way in [
        ["--threads", "1", "--no-windows"].as_slice(),
        &["--threads", "8", "--wire-check"],
    ] {
        let args = [&["verify", "out"], way].concat();
        let output = temp
            .command(&args)
            .env("TMPDIR", temp.join("scratch"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert_same(&before, &files(&temp.join("out")), "verified");
    assert_eq!(files(&temp.join("scratch")).len(), 0);
}

/// `verify`, with this folder for temporary files.
fn verify_in(temp: &TempDir, scratch: &str, args: &[&str]) -> Ended {
    let args = [&["verify"], args].concat();
    let output = temp.command(&args).env("TMPDIR", temp.join(scratch)).output();
    Ended::of(&args, output.unwrap())
}

#[test]
fn verify_repeats_a_dry_run_as_a_dry_run() {
    let temp = TempDir::new();
    let card = ["fed-avg/small", "--set", "strategy.protocol.rounds=2"];
    temp.run(&run_args(&card, "dry", &["--dry-run"])).done();
    assert!(RunDir::open(&temp.join("dry")).unwrap().manifest.dry_run);
    assert_eq!(temp.run(&["verify", "dry"]).done(), "dry: the same result hash\n");
    let shown = temp.run(&["show", "dry"]).done();
    assert!(shown.contains("finished, a dry run"), "{shown}");
    assert!(!tiny().run.manifest.dry_run);
}

#[test]
fn verify_removes_nothing_that_it_did_not_make() {
    let temp = TempDir::new();
    tiny().lay(&temp, "out");
    // What an earlier verify of the same process number may have left.
    let script =
        "mkdir -p t/folkmoot-verify-$$ && echo x > t/folkmoot-verify-$$/keep && TMPDIR=t exec \"$0\" verify out";
    let args = ["-c", script, crate::support::FOLKMOOT];
    let output = std::process::Command::new("sh")
        .args(args)
        .current_dir(temp.path())
        .output();
    Ended::of(&["verify", "out"], output.unwrap()).done();
    let left: Vec<String> = files(&temp.join("t")).into_keys().collect();
    assert!(matches!(left.as_slice(), [one] if one.ends_with("/keep")), "{left:?}");
    verify_in(&temp, "nowhere", &["out"]).refused(&["no temporary folder can be made", "set TMPDIR"]);
}

#[test]
fn verify_says_that_the_data_changed_and_repeats_with_them() {
    let temp = TempDir::new();
    temp.write("my data/edges.txt", "0 1\n1 2\n2 3\n3 0\n");
    temp.write("my data/labels.txt", "0 0\n1 1\n2 0\n3 1\n");
    temp.write(
        "c.ron",
        "(dataset: EdgeList(edges: \"edges.txt\", labels: \"labels.txt\"), partition: Iid(n_clients: 2), \
         strategy: FedAvg(inputs: Degree(), protocol: (rounds: 1)))",
    );
    temp.run(&run_args(&["c.ron"], "out", &["--data", "my data"])).done();
    let verify = ["verify", "out", "--data", "my data"];
    temp.run(&verify).done();
    temp.write("my data/edges.txt", "0 1\n1 2\n2 3\n");
    let verified = temp.run(&verify);
    assert_eq!(verified.code, Some(1), "{verified:#?}");
    assert!(
        verified
            .stdout
            .contains("out: the data edges have changed since the run"),
        "{verified:#?}"
    );
    std::fs::remove_dir_all(temp.join("my data")).unwrap();
    temp.run(&verify)
        .refused(&["repeat with: folkmoot verify out --data 'my data'"]);
}

#[test]
fn an_edited_result_is_found_out_by_verify_and_placed_by_compare() {
    let temp = TempDir::new();
    tiny().lay(&temp, "a");
    tiny().lay(&temp, "b");
    let table = temp.join("b/rounds.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    assert!(text.contains("\n0,0.156036862,3,3,"), "{text}");
    std::fs::write(&table, text.replace("\n0,0.156036862,3,3,", "\n0,0.156036862,3,2,")).unwrap();
    let verified = temp.run(&["verify", "b"]);
    assert_eq!(verified.code, Some(1), "{verified:#?}");
    assert!(verified.stdout.contains("b: its files were changed"), "{verified:#?}");
    let compared = temp.run(&["compare", "a", "b"]);
    assert_eq!(compared.code, Some(1), "{compared:#?}");
    assert_eq!(compared.stdout, "rounds.csv: line 2, completed: 3 against 2\n");
}

#[test]
fn equal_results_of_different_scenarios_are_told_apart() {
    let temp = TempDir::new();
    tiny().lay(&temp, "a");
    tiny().lay(&temp, "b");
    let path = temp.join("b/scenario.ron");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("// fed-avg/tiny\n", "// other\n")).unwrap();
    assert_eq!(temp.run(&["compare", "a", "b"]).done(), "no difference\n");
    std::fs::write(&path, text.replace("epochs: 2", "epochs: 3")).unwrap();
    let said = temp.run(&["compare", "a", "b"]).done();
    let difference = "scenario.ron: strategy.training.epochs: 2 against 3\n";
    assert_eq!(
        said,
        format!("no difference in the results, but in what was run:\n{difference}")
    );
    // What was asked comes before the first number.
    let table = temp.join("b/rounds.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, text.replace("\n0,0.156036862,3,3,", "\n0,0.156036862,3,2,")).unwrap();
    let said = temp.run(&["compare", "a", "b"]);
    assert_eq!(
        (said.code, said.stdout),
        (
            Some(1),
            format!("{difference}rounds.csv: line 2, completed: 3 against 2\n")
        )
    );
}

#[test]
fn a_result_of_other_numbers_is_found_out_by_running_it_again() {
    let temp = TempDir::new();
    tiny().lay(&temp, "a");
    let path = temp.join("a/scenario.ron");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("epochs: 2", "epochs: 3")).unwrap();
    let verified = temp.run(&["verify", "a"]);
    assert_eq!(verified.code, Some(1), "{verified:#?}");
    assert!(
        verified
            .stdout
            .contains("a: the result hashes differ; first rounds.csv: line"),
        "{verified:#?}"
    );
}

/// The tables of a run are those kept under a name.
fn assert_golden_run(dir: &Path, golden: &str) {
    for (name, bytes) in result_of(dir) {
        if name.ends_with(".csv") || name == "summary.json" || name == "scenario.ron" {
            assert_golden(
                &format!("golden_runs/{golden}/{name}"),
                &String::from_utf8(bytes).unwrap(),
            );
        }
    }
}

#[test]
fn scaffold_gives_the_golden_result() {
    let temp = TempDir::new();
    let card = ["run", "scaffold/small", "--set", "strategy.protocol.rounds=5"];
    temp.run(&[card.as_slice(), &["--quiet", "--out", "out"]].concat())
        .done();
    assert_golden_run(&temp.join("out"), "scaffold");
}
