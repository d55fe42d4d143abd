//! Sweeps: every arm under the same seeds, each point a run of its own.

use crate::support::{Ended, TINY, TempDir, assert_same, files, lay, result_of};
use folkmoot_metrics::{RunDir, SweepDir};
use std::collections::BTreeMap;
use std::sync::OnceLock;

pub(crate) const CARD: &[&str] = &[
    "sweep",
    TINY,
    "--set",
    "strategy.protocol.rounds=10",
    "--set",
    "sweep.seeds=[4, 2]",
    "--out",
    "out",
];

/// A finished sweep that many tests read, made once and kept in memory.
pub(crate) struct Swept {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    sweep: SweepDir,
    pub(crate) said: Ended,
}

pub(crate) fn swept() -> &'static Swept {
    static SWEPT: OnceLock<Swept> = OnceLock::new();
    SWEPT.get_or_init(|| {
        let temp = TempDir::new();
        let said = temp.run(&[CARD, &["--threads", "5"]].concat());
        assert_eq!(said.code, Some(0), "{said:#?}");
        Swept {
            files: files(&temp.join("out")),
            sweep: SweepDir::open(&temp.join("out")).unwrap(),
            said,
        }
    })
}

#[test]
fn a_sweep_has_a_row_for_every_value_and_seed_and_the_same_seeds_in_every_arm() {
    let Swept { files, sweep, .. } = swept();
    assert!(sweep.manifest.finished);
    assert_eq!(sweep.manifest.name, TINY);
    assert_eq!(sweep.manifest.headline, ["test_accuracy", "update_messages"]);
    assert_eq!(sweep.manifest.seeds, [4, 2]);
    let rows: Vec<(u32, &str, u64)> = sweep
        .points
        .iter()
        .map(|row| (row.point, row.values[0].as_str(), row.seed))
        .collect();
    assert_eq!(
        rows,
        [
            (0, "0.0", 4),
            (1, "0.0", 2),
            (2, "0.2", 4),
            (3, "0.2", 2),
            (4, "0.4", 4),
            (5, "0.4", 2)
        ]
    );
    let table = String::from_utf8_lossy(&files["points.csv"]);
    let columns: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    assert_eq!(columns[..3], ["point", "dropout.prob", "seed"]);
    for name in &sweep.manifest.headline {
        assert!(columns.contains(&name.as_str()), "{columns:?}");
    }
    for file in ["sweep.json", "figures/headline.svg", "figures/headline.png"] {
        assert!(files.contains_key(file), "no {file}");
    }
    // Where nobody leaves, three clients answer in each of ten rounds, whatever the seed.
    assert_eq!(sweep.points[0].summary["update_messages"], 30.0);
    assert!(sweep.points[2].summary["update_messages"] < 30.0);
}

#[test]
fn every_point_can_be_run_alone_and_the_table_repeats_its_summary() {
    let temp = TempDir::new();
    let sweep = &swept().sweep;
    lay(&swept().files, &temp, "out");
    let names: Vec<String> = TempDir::names_in(&temp.join("out/points"));
    assert_eq!(names.len(), 6);
    assert_eq!(names[3], "0003-prob=0.2-seed=2");
    for (name, row) in names.iter().zip(&sweep.points) {
        let point = RunDir::open(&temp.join("out/points").join(name)).unwrap();
        assert_eq!(point.summary, row.summary, "{name}");
        assert_eq!(point.manifest.seed, row.seed);
    }
    let verified = temp.run(&["verify", "out"]).done();
    let said: Vec<String> = names
        .iter()
        .map(|name| format!("out/points/{name}: the same result hash"))
        .collect();
    assert_eq!(verified.lines().collect::<Vec<_>>(), said);
    let card = format!("out/points/{}/scenario.ron", names[3]);
    temp.run(&["run", &card, "--quiet", "--out", "alone"]).done();
    let (point, alone) = (format!("out/points/{}", names[3]), temp.join("alone"));
    assert_eq!(temp.run(&["compare", &point, "alone"]).done(), "no difference\n");
    assert_eq!(
        RunDir::open(&temp.join(&point)).unwrap().manifest.result_fingerprint,
        RunDir::open(&alone).unwrap().manifest.result_fingerprint
    );
}

#[test]
fn a_sweep_is_the_same_bytes_in_every_way_and_its_json_holds_every_point() {
    let temp = TempDir::new();
    lay(&swept().files, &temp, "five");
    let one = [CARD, &["--threads", "1", "--no-windows", "--quiet", "--format", "json"]].concat();
    let ended = temp.run(&one);
    assert_eq!(ended.stderr, "");
    let json: serde_json::Value = serde_json::from_str(&ended.done()).unwrap();
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    assert_eq!(points[2]["axes"]["dropout.prob"], "0.2");
    assert_eq!(points[2]["seed"], 4);
    assert_eq!(points[0]["summary"]["update_messages"], 30.0);

    let tables = |out: &str| {
        let mut files = files(&temp.join(out));
        files.retain(|name, _| !name.starts_with("points/"));
        files
    };
    assert!(tables("five").len() > 2);
    assert_same(&tables("five"), &tables("out"), "five threads and one");
    for name in TempDir::names_in(&temp.join("five/points")) {
        let result = |out: &str| result_of(&temp.join(out).join("points").join(&name));
        assert_same(&result("five"), &result("out"), &name);
    }
    let before = files(&temp.join("out"));
    temp.run(&["plot", "out"]).done();
    assert_same(&before, &files(&temp.join("out")), "drawn again");
}

#[test]
fn a_sweep_prints_its_table_on_stdout_and_its_progress_on_stderr() {
    let Ended { stdout, stderr, .. } = &swept().said;
    assert_eq!(
        stderr.lines().next(),
        Some("fed-avg/tiny: 3 configurations × 2 seeds = 6 runs")
    );
    // Where there is no terminal, progress is a line every ten seconds.
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stdout.starts_with("fed-avg/tiny   3 configurations × 2 seeds = 6 runs\n"),
        "{stdout}"
    );
    let temp = TempDir::new();
    lay(&swept().files, &temp, "out");
    let shown = temp.run(&["show", "out"]).done();
    assert_eq!(shown.trim(), stdout.split("\n\nresults").next().unwrap());
}

/// A card of its own, of one round.
fn card(sweep: &str) -> String {
    format!(
        "(dataset: Karate, partition: Iid(n_clients: 3), strategy: FedAvg(inputs: Degree(), protocol: (rounds: 1)), sweep: ({sweep}))"
    )
}

#[test]
fn an_axis_may_not_vary_the_seed_or_the_sweep_itself() {
    let temp = TempDir::new();
    for path in ["seed", "sweep.seeds", "sweep"] {
        temp.write("c.ron", card(&format!("axes: {{ \"{path}\": [5, 6] }}")));
        let said = [
            "1:1",
            " sweep.axes.",
            "no sweep can vary this; put seeds into sweep.seeds",
        ];
        temp.run(&["sweep", "c.ron", "--out", "out"]).refused(&said);
        temp.run(&["check", "c.ron"]).refused(&said);
    }
    assert_eq!(temp.names(), ["c.ron"]);
}

#[test]
fn a_sweep_says_where_its_seeds_come_from_when_another_one_is_asked() {
    let temp = TempDir::new();
    let ended = temp.run(&["sweep", TINY, "--set", "seed=7", "--out", "out"]);
    ended.refused(&["--set seed", "sweep.seeds=[7]"]);
    assert_eq!(temp.names(), [""; 0]);
}

/// Ten methods on two splits are twenty curves, which no panel holds.
#[test]
fn more_curves_than_a_panel_holds_are_parted_by_the_axis_with_fewest_values() {
    let temp = TempDir::new();
    let sets = [
        "sweep.seeds=[1]",
        "strategy.protocol.rounds=2",
        "strategy.training.epochs=1",
    ];
    let mut args = vec!["sweep", "federated/small", "--out", "s", "--quiet"];
    args.extend(sets.iter().flat_map(|set| ["--set", *set]));
    temp.run(&args).done();
    for figure in ["fairness", "curves-test-accuracy"] {
        let drawn = std::fs::read_to_string(temp.join(&format!("s/figures/{figure}.svg"))).unwrap();
        for text in ["alpha = 0.1", "alpha = 100.0", "FedDyn", "Ditto"] {
            assert!(drawn.contains(text), "{figure}: {text}");
        }
    }
}

/// Beside runs with codecs the one without is as large as it is.
#[test]
fn what_nothing_packs_is_compressed_once_beside_what_codecs_pack() {
    let temp = TempDir::new();
    let sweep = |arms: &str, out: &str| {
        let arms = format!("sweep.arms={arms}");
        let mut args = vec!["sweep", "fed-avg/compression", "--out", out, "--quiet"];
        let sets = [
            &arms,
            "sweep.seeds=[1]",
            "sweep.headline=[]",
            "strategy.protocol.rounds=1",
        ];
        args.extend(sets.iter().flat_map(|set| ["--set", *set]));
        temp.run(&args).done();
        SweepDir::open(&temp.join(out)).unwrap().points
    };
    let points = sweep(
        "{\"plain\": {}, \"half\": {\"strategy.protocol.uplink_codec\": Half()}}",
        "both",
    );
    assert_eq!(points[0].summary.get("compression_up").copied(), Some(1.0));
    assert!(points[1].summary["compression_up"] > 1.9);
    assert!(points.iter().all(|row| !row.summary.contains_key("compression_down")));
    let points = sweep("{\"plain\": {}}", "plain");
    assert!(points.iter().all(|row| !row.summary.contains_key("compression_up")));
}

/// What a strategy does not count itself: how clients fare and how the graph is cut, from what its
/// runs leave.
#[test]
fn a_sweep_says_how_clients_fare_and_what_is_cut_whatever_the_strategy() {
    let temp = TempDir::new();
    let axes = "sweep.axes={\"partition\": [Iid(n_clients: 3), Louvain(n_clients: 6)]}";
    let sets = [
        "sweep.arms={}",
        axes,
        "sweep.seeds=[1, 2]",
        "strategy.protocol.rounds=2",
    ];
    let mut args = vec!["sweep", "fed-avg/cuts", "--out", "s", "--quiet"];
    args.extend(sets.iter().flat_map(|set| ["--set", *set]));
    temp.run(&args).done();
    let sweep = SweepDir::open(&temp.join("s")).unwrap();
    assert_eq!(sweep.points.len(), 4);
    for (point, row) in sweep.manifest.points().iter().zip(&sweep.points) {
        let run = RunDir::open(&sweep.manifest.point_path(&sweep.path, point)).unwrap();
        let mut of_clients: Vec<f64> = run.tables.client_scores.iter().map(|row| row.accuracy).collect();
        of_clients.sort_by(f64::total_cmp);
        // Of three or six clients the worst tenth is one.
        assert_eq!(row.summary["test_own_worst_tenth"], of_clients[0]);
        let mean = of_clients.iter().sum::<f64>() / of_clients.len() as f64;
        let squares: f64 = of_clients.iter().map(|x| (x - mean) * (x - mean)).sum();
        let spread = (squares / of_clients.len() as f64).sqrt();
        assert!((row.summary["test_own_spread"] - spread).abs() < 1e-12);
        assert_eq!(
            row.summary["cut_edges"],
            run.manifest.division.unwrap().cut_edges as f64
        );
        assert!(run.manifest.unhashed.contains(&"test_own_worst_tenth".to_owned()));
    }
    let meaning = &sweep.manifest.terms["test_own_spread"];
    assert_eq!(meaning.words, "Test spread over clients");

    temp.run(&["plot", "s", "--only", "split,fairness"]).done();
    // Without the command, which names every arm.
    let drawn = |name: &str| {
        let svg = std::fs::read_to_string(temp.join(&format!("s/figures/{name}.svg"))).unwrap();
        svg.split_once("</metadata>").unwrap().1.to_owned()
    };
    for text in ["Iid", "Louvain", "edges join two clients"] {
        assert!(drawn("partition").contains(text), "{text}");
    }
    assert!(drawn("fairness").contains("the worst first"));

    let plot = |more: &[&str]| temp.run(&[&["plot", "s", "--only", "headline"], more].concat());
    plot(&[
        "--arms",
        "Louvain(n_clients: 6)=communities",
        "--panels",
        "a",
        "--xlim",
        "0,9",
        "--log",
        "none",
    ])
    .done();
    assert!(drawn("headline").contains("communities") && !drawn("headline").contains("Iid"));
    plot(&["--highlight", "Iid(n_clients: 3)"]).done();
    assert!(drawn("headline").contains("Iid") && drawn("headline").contains("Louvain"));
    plot(&["--highlight", "nobody"]).refused(&["no figure has an arm \"nobody\"; there are Iid(n_clients: 3)"]);
    plot(&["--panels", "z"]).refused(&["no figure has such a panel"]);
    plot(&["--xlim", "3,1"]).refused(&["must be two numbers, the smaller first"]);
}

#[test]
fn a_run_says_of_clients_and_cuts_what_a_sweep_says() {
    let temp = TempDir::new();
    let sets = [
        "partition=Louvain(n_clients: 6)",
        "strategy.protocol.rounds=2",
        "sweep.headline=[\"test_own_worst_tenth\", \"cut_edges\"]",
    ];
    let mut args = vec!["run", "fed-avg/cuts", "--out", "r"];
    args.extend(sets.iter().flat_map(|set| ["--set", *set]));
    let said = temp.run(&args).done();
    let run = RunDir::open(&temp.join("r")).unwrap();
    let worst = run
        .tables
        .client_scores
        .iter()
        .map(|row| row.accuracy)
        .fold(f64::INFINITY, f64::min);
    let cut = run.manifest.division.as_ref().unwrap().cut_edges;
    for (name, value) in [("test_own_worst_tenth", worst), ("cut_edges", cut as f64)] {
        let (_, told) = said.split_once(&format!("[{name}]  ")).unwrap();
        let told: f64 = told.split_whitespace().next().unwrap().parse().unwrap();
        assert!((told - value).abs() < 1e-6, "{name}: {said}");
    }
    let shown = temp.run(&["show", "r"]).done();
    temp.run(&["report", "r"]).done();
    let page = std::fs::read_to_string(temp.join("r/report.html")).unwrap();
    for name in ["test_own_worst_tenth", "test_own_spread", "cut_edges"] {
        assert!(shown.contains(name) && page.contains(name), "{name}");
        // What the fingerprint is taken of has none of them.
        assert!(run.manifest.unhashed.iter().any(|unhashed| unhashed == name), "{name}");
    }
}

#[test]
fn a_headline_that_no_run_has_is_said() {
    let temp = TempDir::new();
    temp.write(
        "c.ron",
        card("seeds: [1], headline: [\"link_cosine_auc\", \"update_messages\"]"),
    );
    // There is such a number, but nobody attacks here.
    let ended = temp.run(&["sweep", "c.ron", "--out", "out"]);
    let warning = "warning: sweep.headline: no run has a number called `link_cosine_auc`";
    assert!(ended.stderr.contains(warning), "{ended:#?}");
    ended.done();
    // One that is not known at all is refused before anything runs.
    temp.write("c.ron", card("headline: [\"payload_bites\"]"));
    let near = "no run of FedAvg has a number `payload_bites`, did you mean `payload_bytes`?";
    temp.run(&["sweep", "c.ron", "--out", "none"]).refused(&[near]);
    temp.run(&["check", "c.ron"]).refused(&[near]);
}

/// Attackers ask where the card says so, and nowhere else.
#[test]
fn a_number_that_one_arm_alone_has_does_not_apply_to_the_others() {
    let temp = TempDir::new();
    let arms = "arms: {\"asked\": {\"strategy.attacks\": [LinkStealing()]}, \"quiet\": {}}";
    temp.write(
        "c.ron",
        card(&format!("{arms}, seeds: [1], headline: [\"link_cosine_auc\"]")),
    );
    let table = temp.run(&["sweep", "c.ron", "--out", "out"]).done();
    let cells = |arm: &str| -> Vec<String> {
        let line = table.lines().find(|line| line.starts_with(arm));
        // Arms with warnings are marked.
        let cells = line.unwrap().split_whitespace().filter(|cell| *cell != "!");
        cells.map(str::to_owned).collect()
    };
    assert_eq!(cells("quiet"), ["quiet", "n/a"], "{table}");
    let found: f64 = cells("asked")[1].parse().unwrap();
    assert!(found > 0.5, "{table}");
}

#[test]
fn as_many_points_as_are_allowed_are_checked_in_little_memory() {
    let temp = TempDir::new();
    let card = |sweep: String| format!("(dataset: Karate, strategy: FedAvg(inputs: Degree()), sweep: ({sweep}))");
    let listed = |n: u32| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    temp.write("seeds.ron", card(format!("seeds: [{}]", listed(100_000))));
    let axes = format!(
        "\"strategy.model.hidden\": [{0}], \"strategy.training.epochs\": [{0}]",
        listed(100)
    );
    temp.write("axes.ron", card(format!("axes: {{ {axes} }}, seeds: [1]")));
    for (name, n_points) in [("seeds.ron", "100 000"), ("axes.ron", "10 000")] {
        // Half a gigabyte of address space, most of which the program reserves and does not use.
        let script = "ulimit -v 500000 && exec \"$0\" check \"$1\"";
        let args = ["-c", script, crate::support::FOLKMOOT, name];
        let output = std::process::Command::new("sh")
            .args(args)
            .current_dir(temp.path())
            .output();
        let said = Ended::of(&["check", name], output.unwrap()).done();
        assert!(said.contains(&format!("its sweep has {n_points} runs")), "{said}");
    }
    let many: String = (0..20_000).map(|i| format!("\"a{i}\": [1], ")).collect();
    temp.write("many.ron", card(format!("axes: {{ {many} }}")));
    temp.run(&["check", "many.ron"])
        .refused(&["has 20000 axes, at most 64 are allowed"]);
}

/// Two sweeps are compared configuration by configuration, by the metrics that both have.
#[test]
fn two_sweeps_are_compared_by_their_metrics() {
    let temp = TempDir::new();
    let sweep = |out: &str, more: &[&str]| {
        let args = [
            "sweep",
            TINY,
            "--quiet",
            "--out",
            out,
            "--set",
            "strategy.protocol.rounds=4",
            "--set",
            "sweep.seeds=[1, 2, 3]",
        ];
        let more = more.iter().flat_map(|set| ["--set", *set]);
        temp.run(&args.into_iter().chain(more).collect::<Vec<&str>>()).done();
    };
    sweep("a", &[]);
    sweep("same", &[]);
    sweep("b", &["strategy.training.learning_rate=0.001", "sweep.seeds=[1, 2, 4]"]);
    sweep("c", &["sweep.axes={\"cohort\": [All, Size(n: 2)]}"]);
    let same = temp.run(&["compare", "a", "same"]).done();
    assert_eq!(same, "no difference in the metrics of 9 runs that both sweeps have\n");
    let said = temp.run(&["compare", "a", "b"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let text = &said.stdout;
    for words in [
        "strategy.training.learning_rate: 0.3 against 0.001",
        "seeds only in a: 3\nseeds only in b: 4",
        "6 configurations × 2 seeds",
        "vs a",
        "±: half-width of the 95 % confidence interval",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    // The difference in the table is that of the points.
    let (a, b) = (
        SweepDir::open(&temp.join("a")).unwrap(),
        SweepDir::open(&temp.join("b")).unwrap(),
    );
    let beside = a.beside(&b, ["a", "b"]).unwrap();
    assert_eq!((beside.n_same, beside.both.points.len()), (0, 12));
    let arms = folkmoot_metrics::findings::arms(&beside.both);
    let found = folkmoot_metrics::findings::contrasts(&beside.both, &arms);
    let accuracy = found.iter().find(|finding| finding.metric == "test_accuracy").unwrap();
    assert_eq!(accuracy.differences.len(), 3);
    for difference in &accuracy.differences {
        let values = &arms[difference.arms[0]].values[1..];
        let of = |sweep: &SweepDir, seed: u64| {
            let row = sweep
                .points
                .iter()
                .find(|row| row.values == values && row.seed == seed)
                .unwrap();
            row.summary["test_accuracy"]
        };
        let mean = [1, 2].iter().map(|seed| of(&b, *seed) - of(&a, *seed)).sum::<f64>() / 2.0;
        assert!((difference.paired.mean - mean).abs() < 1e-12);
    }
    temp.run(&["compare", "a", "c"])
        .refused(&["the sweeps vary different fields: dropout.prob in the first, cohort in the second"]);
    temp.run(&[
        "run",
        TINY,
        "--quiet",
        "--out",
        "run",
        "--set",
        "strategy.protocol.rounds=2",
    ])
    .done();
    temp.run(&["compare", "run", "a"])
        .refused(&["a is a sweep and run is not", "help: give two sweeps, or two runs"]);
}
