//! Cards of FedWalk from their text to their run directories: tables, messages, and data that do
//! not suit.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_checks::cards::{Cards, played};
use folkmoot_metrics::{Direction, MessageRow, RunDir, TimingRow};
use folkmoot_scenarios::run::Watcher;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn cards() -> Cards {
    Cards::new(folkmoot_walks::only(), env!("CARGO_MANIFEST_DIR"), "walks")
}

/// A new folder of the test's own below the target directory.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn run(card: &str, settings: &[&str], name: &str) -> RunDir {
    let scenario = cards().scenario(card, settings).unwrap();
    played(&scenario, &[], &folder(name).join("out"), &mut ()).unwrap()
}

/// The tables of a run directory and what was run, by file.
fn tables(dir: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let named = files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path));
    let is_table = |name: &str| name.ends_with(".csv") && name != "timing.csv";
    let tables = named.filter(|(name, _)| is_table(name) || name == "summary.json" || name == "scenario.ron");
    tables
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn karate_gives_the_golden_result() {
    let run = run("karate", &[], "golden");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_runs/karate");
    let found = tables(&run.path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        for (name, text) in &found {
            fs::write(golden.join(name), text).unwrap();
        }
    }
    let wanted = tables(&golden);
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (name, text) in &wanted {
        assert!(found[name] == *text, "{name} is now:\n{}", found[name]);
    }
}

/// The stages of a run, in their order.
#[derive(Default)]
struct Stages(Vec<String>);

impl Watcher for Stages {
    fn lap(&mut self, stage: &str) {
        self.0.push(stage.to_owned());
    }

    fn progress(&mut self, _: usize) {}

    fn timing(&mut self) -> Vec<TimingRow> {
        Vec::new()
    }
}

#[test]
fn a_run_leaves_its_artifacts_and_names_the_stages_that_are_timed() {
    let scenario = cards().scenario("karate", &[]).unwrap();
    let mut stages = Stages::default();
    let run = played(&scenario, &[], &folder("artifacts").join("out"), &mut stages).unwrap();
    assert_eq!(run.artifacts, ["dissimilarity.npy", "embeddings.npy", "tree.npy"]);
    let mut simulated: Vec<&str> = stages
        .0
        .iter()
        .filter_map(|stage| stage.strip_prefix("simulate: "))
        .collect();
    simulated.dedup();
    assert_eq!(simulated, ["degree vectors", "matrices", "tree", "walks", "learning"]);
    assert_eq!((run.manifest.name.as_str(), run.manifest.seed), ("karate", 1));
    assert_eq!(run.manifest.data_fingerprints["Karate"].len(), 64);
    let fingerprint = run.manifest.result_fingerprint.clone().unwrap();
    assert_eq!(run.fingerprint().unwrap(), fingerprint);
}

#[test]
fn every_member_is_a_client_and_every_edge_is_cut() {
    let run = run("karate", &[], "split");
    let division = run.manifest.division.clone().unwrap();
    assert_eq!(
        (division.items, division.clients, division.edges, division.cut_edges),
        (34, 34, 78, 78)
    );
    assert_eq!(run.tables.partition.len(), 34);
    assert!(
        run.tables
            .partition
            .iter()
            .all(|row| row.shard_size == 1 && row.items == 1 && row.inner_edges == 0)
    );
    assert_eq!(
        run.tables.partition.iter().map(|row| row.cut_edges).sum::<u64>(),
        2 * 78
    );
    let downlink: u64 = run.tables.clients.iter().map(|row| row.downlink_bytes).sum();
    assert_eq!(downlink, bytes(&run, Direction::Downlink));
}

#[test]
fn the_written_scenario_states_every_field() {
    let text = cards().scenario("karate", &[]).unwrap().resolved();
    let fields = "question paper seed dataset partition strategy network header_bytes devices availability dropout \
                  cohort deadline_ms horizon_s delta observe sweep walk_length walks_per_node predictor_prob n_bins \
                  epsilon_degree epsilon_encoder pool self_hop literal_line27 prepend_start rows absent variant encoder m_upload epsilon_matrix linkage metric embedding dim window \
                  negatives output epochs learning_rate min_learning_rate evaluation classification train_ratios n_shuffles decision n_neighbours \
                  hold_out attacks curious uplink downlink \
                  peer loss_prob up_bytes_per_s down_bytes_per_s max_retries retry_after_ms after_ms axes seeds headline";
    for field in fields.split_whitespace() {
        let is_written = |line: &str| line.trim_start().starts_with(&format!("{field}: "));
        assert!(text.lines().any(is_written), "no {field} in:\n{text}");
    }
}

#[test]
fn a_predictor_saves_messages_and_without_one_each_hop_but_the_last_is_one() {
    let number = |predictor: &str| {
        let setting = format!("strategy.predictor_prob={predictor}");
        let settings = ["strategy.walks_per_node=2", "seed=4", setting.as_str()];
        run("karate", &settings, &format!("hops-{predictor}")).summary["peer_messages_per_walk"]
    };
    assert_eq!(number("0.0"), 39.0);
    assert!(number("0.2") < 39.0);
}

/// The world of `fedwalk/walks`, small enough for a test.
const ROUGH: [&str; 3] = [
    "dataset.n_nodes=600",
    "strategy.walks_per_node=2",
    "strategy.walk_length=12",
];

fn bytes(run: &RunDir, direction: Direction) -> u64 {
    let rows = run.tables.messages.iter().filter(|row| row.direction == direction);
    rows.map(|row| row.payload_bytes + row.header_bytes).sum()
}

#[test]
fn the_tables_of_a_rough_world_say_the_same() {
    let run = run("fedwalk/walks", &ROUGH, "rough");
    for row in &run.tables.messages {
        assert_eq!(row.sent, row.delivered + row.dropped + row.in_flight, "{row:?}");
        assert!(row.header_bytes >= 40 * row.sent, "{row:?}");
        assert!(row.header_bytes <= 40 * (row.sent + row.retried), "{row:?}");
    }
    let sum = |count: &dyn Fn(&MessageRow) -> u64| run.tables.messages.iter().map(count).sum::<u64>();
    assert!(sum(&|row| row.dropped) > 0);
    assert!(sum(&|row| row.retried) > 0);
    assert_eq!(sum(&|row| row.in_flight), 0);
    assert!(run.tables.rounds.iter().map(|row| row.late).sum::<u64>() > 0);
    let completed: u64 = run.tables.rounds[1..].iter().map(|row| row.completed).sum();
    assert_eq!(run.summary["walks_completed"], completed as f64);
    for row in &run.tables.rounds {
        assert_eq!(row.completed + row.dropped + row.late, row.cohort, "{row:?}");
    }
    let uplink: u64 = run.tables.clients.iter().map(|row| row.uplink_bytes).sum();
    let peer: u64 = run.tables.clients.iter().map(|row| row.peer_bytes).sum();
    assert_eq!(uplink, bytes(&run, Direction::Uplink));
    assert_eq!(peer, bytes(&run, Direction::Peer));
    assert!(peer > 0);
    assert_eq!(run.tables.clients.len(), 600);
    assert!(run.tables.clients.iter().all(|row| row.shard_size == 1));
}

/// The card `fedwalk/walks` predicts by vectors that devices have already.
#[test]
fn a_predictor_that_downloads_nothing_has_nothing_to_earn_back() {
    let names = ["break_even_walks", "break_even_walks_per_node"];
    let nothing = run("fedwalk/walks", &ROUGH, "nothing-downloaded").summary;
    assert_eq!(nothing["download_bytes"], 0.0);
    assert!(names.iter().all(|name| !nothing.contains_key(*name)), "{nothing:?}");
    let matrix = run("karate", &[], "downloaded").summary;
    assert!(matrix["download_bytes"] > 0.0);
    assert!(names.iter().all(|name| matrix[*name] > 0.0), "{matrix:?}");
}

#[test]
fn messages_under_way_at_the_horizon_are_in_flight() {
    let run = run("fedwalk/walks", &[&ROUGH[..], &["horizon_s=2"]].concat(), "horizon");
    assert!(run.tables.messages.iter().map(|row| row.in_flight).sum::<u64>() > 0);
    assert_eq!(run.summary["virtual_s"], 2.0);
    assert!(run.manifest.finished);
}

#[test]
fn what_a_run_keeps_of_models_has_no_effect() {
    let refused = cards().scenario("karate", &["keep=[Model, Predictions, Assignment]"]);
    let said = refused.err().unwrap().to_string();
    assert!(
        said.contains("keep: has no effect with FedWalk") && said.contains("leave it out"),
        "{said}"
    );
}

/// A ring of 40 nodes, each the neighbour of all but itself and its opposite.
fn dense_edges() -> String {
    let n = 40;
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
    let joined = pairs.filter(|(a, b)| b - a != n / 2);
    joined.map(|(a, b)| format!("{a} {b}\n")).collect()
}

/// On BlogCatalog where this machine has it, else on a graph that is written here.
#[test]
fn walks_send_as_many_messages_as_the_theorem_says() {
    let dir = folder("theorem");
    fs::write(dir.join("edges.txt"), dense_edges()).unwrap();
    let named = std::env::var_os("FOLKMOOT_DATA").map(PathBuf::from);
    let found = named.filter(|dir| dir.join("blogcatalog/blogcatalog.mat").is_file());
    let mut settings = vec!["strategy.walks_per_node=1"];
    if found.is_none() {
        settings.push("dataset=EdgeList(edges: \"edges.txt\")");
    }
    let data = [found.unwrap_or_else(|| dir.clone())];
    let scenario = cards().scenario("fedwalk/predictor-blogcatalog", &settings).unwrap();
    let summary = played(&scenario, &data, &dir.join("out"), &mut ()).unwrap().summary;
    let (measured, theory, error) = (
        summary["peer_messages_per_walk"],
        summary["peer_messages_per_walk@Theorem 4.2, corrected"],
        summary["peer_messages_per_walk_standard_error"],
    );
    assert!(theory > 32.0 && error > 0.0, "{summary:?}");
    assert!(
        (measured - theory).abs() < 4.0 * error,
        "{measured} is more than 4 standard errors of {error} away from {theory}"
    );
}

/// A card on data in a folder of its own; what it comes to, or why it does not.
fn on(dir: &Path, dataset: &str, rest: &str) -> Result<RunDir, String> {
    let scenario = cards()
        .scenario_of(&format!("(dataset: {dataset}, {rest})"))
        .map_err(|problems| problems.to_string())?;
    let out = dir.join("out");
    let _ = fs::remove_dir_all(&out);
    let ran = played(&scenario, &[dir.to_owned()], &out, &mut ());
    assert_eq!(out.exists(), ran.is_ok(), "{dataset}");
    ran.map_err(|failure| failure.to_string())
}

#[test]
fn data_that_it_cannot_use_are_refused_with_the_reason() {
    let dir = folder("refused");
    fs::write(dir.join("edges.txt"), "0 1\n1 2\n2 0\n").unwrap();
    let refused = |dataset: &str, rest: &str, words: &[&str]| {
        let said = on(&dir, dataset, &format!("{rest} strategy: FedWalk()")).err().unwrap();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    refused(
        "Karate",
        "partition: Iid(n_clients: 3),",
        &["FedWalk: needs one client per vertex", "NodePerClient"],
    );
    refused("EdgeList(edges: \"edges.txt\", directed: true)", "", &["directed"]);
    let set = dir.join("tudataset/SMALL");
    fs::create_dir_all(&set).unwrap();
    for (table, text) in [
        ("A", "1, 2\n2, 1\n3, 4\n4, 3\n"),
        ("graph_indicator", "1\n1\n2\n2\n"),
        ("graph_labels", "0\n1\n"),
        ("node_labels", "0\n1\n0\n1\n"),
    ] {
        fs::write(set.join(format!("SMALL_{table}.txt")), text).unwrap();
    }
    refused("TuDataset(name: \"SMALL\")", "", &["FedWalk", "one graph"]);
}

#[test]
fn weights_that_are_all_one_are_none() {
    let dir = folder("weights");
    let weighted = "EdgeList(edges: \"edges.txt\", weighted: true)";
    fs::write(dir.join("edges.txt"), "0 1 1\n1 2 1\n2 0 1\n2 3 1\n").unwrap();
    on(&dir, weighted, "strategy: FedWalk(walks_per_node: 1, embedding: Off)").unwrap();
    fs::write(dir.join("edges.txt"), "0 1 1000\n1 2 0.001\n2 0 1\n2 3 1\n").unwrap();
    let said = on(&dir, weighted, "strategy: FedWalk()").err().unwrap();
    assert!(said.contains("weight"), "{said}");
}
