//! Every number of every shipped strategy says what it is, and is what it says.

use crate::support::{TempDir, karate, rough, run_args};
use folkmoot_metrics::figures::is_called;
use folkmoot_metrics::key::base;
use folkmoot_metrics::run_dir::ARTIFACTS;
use folkmoot_metrics::{RunDir, Unit};
use folkmoot_scenarios::glossary::tables;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Small runs that between them have every measurement switched on.
const RUNS: &[&[&str]] = &[
    &[
        "fed-avg/small",
        "strategy.protocol.rounds=3",
        "devices=Constant(ops_per_s: 1e5)",
        "availability=Diurnal(day_s: 400, online_share: Constant(0.7), spread: 1)",
    ],
    &["scaffold/small", "strategy.protocol.rounds=3"],
    &["gossip/small", "strategy.rounds=3", "strategy.keep_links=true"],
    &[
        "walk-sgd/small",
        "strategy.steps=400",
        "strategy.chain=MaxDegree",
        "strategy.noise=()",
        "strategy.visits=(most: 2)",
    ],
    &[
        "users/small",
        "dataset.n_nodes=80",
        "strategy.training.epochs=5",
        "strategy.features=MultiBitFeatures()",
        "strategy.labels=LabelResponse()",
        "strategy.edges=Blink()",
    ],
    &[
        "federated/small",
        "strategy.protocol.rounds=3",
        "strategy.method=Ditto()",
        "keep=[Model, Predictions, Assignment]",
    ],
    &["fedwalk/links", "dataset.n_nodes=60", "strategy.walks_per_node=2"],
    &[
        "fedwalk/curious",
        "dataset.n_nodes=60",
        "strategy.walks_per_node=2",
        "strategy.curious=Share(share: 0.2)",
    ],
    &[
        "fedwalk/small",
        "dataset.n_nodes=60",
        "strategy=DeepWalk(walks_per_node: 2, epsilon: 4)",
    ],
    &[
        "fgcl/small",
        "dataset.n_graphs=40",
        "strategy.setting=Fgcl(epsilon: 1)",
        "strategy.protocol.rounds=2",
    ],
    &[
        "gw-ldp/small",
        "dataset.n_graphs=40",
        "strategy.protocol.rounds=3",
        "strategy.evaluation.metrics=[Released, Clean, Size, ClientMajority]",
        "strategy.evaluation.identity=Linked()",
        "strategy.evaluation.history=true",
        "strategy.evaluation.changes=1",
    ],
    &[
        "gw-ldp/average-small",
        "dataset.n_nodes=120",
        "strategy.protocol.rounds=2",
    ],
    &[
        "ppgm/small",
        "dataset.n_functions=20",
        "strategy.training.epochs=2",
        "strategy.attack.every=1",
        "strategy.thorough=(shadows: [1.0], properties: Structure, linkage: true, decode: true, distinct: true, messages: true)",
    ],
    &[
        "ppgm/egsc",
        "dataset.n_functions=30",
        "strategy.training.epochs=2",
        "strategy.model=EgscStudent()",
    ],
    &["ppgm/federated", "dataset.n_functions=20", "strategy.protocol.rounds=2"],
];

/// The runs and the folder that they lie in.
fn runs() -> &'static (Vec<(String, RunDir)>, TempDir) {
    static RAN: OnceLock<(Vec<(String, RunDir)>, TempDir)> = OnceLock::new();
    RAN.get_or_init(|| {
        let temp = TempDir::new();
        let kept = [("karate", karate()), ("rough", rough())];
        let kept = kept.map(|(name, kept)| {
            let dir = kept.lay(&temp, name);
            (name.to_owned(), RunDir::open(&dir).unwrap())
        });
        let small = RUNS.iter().zip(0..).map(|(run, i)| {
            let settings: Vec<&str> = run[1..].iter().flat_map(|set| ["--set", set]).collect();
            let out = i.to_string();
            temp.run(&run_args(&run[..1], &out, &settings)).done();
            (run.join(" "), RunDir::open(&temp.join(&out)).unwrap())
        });
        let all = kept.into_iter().chain(small).collect();
        (all, temp)
    })
}

#[test]
fn every_table_that_a_run_leaves_is_known_by_its_columns() {
    let known = tables();
    let mut seen = BTreeSet::new();
    for (name, run) in &runs().0 {
        let here = TempDir::names_in(&run.path).into_iter();
        let below = run.artifacts.iter().map(|artifact| format!("{ARTIFACTS}/{artifact}"));
        for file in here.chain(below).filter(|file| file.ends_with(".csv")) {
            let Some((of, columns)) = known.iter().find(|(of, _)| is_called(of, &file)) else {
                panic!("{name}: nobody knows {file}");
            };
            let text = std::fs::read_to_string(run.path.join(&file)).unwrap();
            let header = text.lines().next().unwrap();
            let unknown: Vec<&str> = header
                .split(',')
                .filter(|cell| !columns.iter().any(|column| is_called(column.name, cell)))
                .collect();
            assert_eq!(unknown, [""; 0], "{name}: {file}");
            seen.insert(of.as_str());
        }
    }
    // What an update that is not finite leaves, what a run was asked to watch, and a sweep.
    let rest = ["artifacts/refused_updates.csv", "observations.csv", "points.csv"];
    let unseen = known.iter().map(|(of, _)| of.as_str()).filter(|of| !seen.contains(of));
    assert_eq!(unseen.collect::<BTreeSet<&str>>(), BTreeSet::from(rest));
}

#[test]
fn every_number_has_a_term_and_lies_in_its_range() {
    let mut n_seen = 0;
    for (name, run) in &runs().0 {
        let scores = run.scores.iter().map(|row| (row.metric.as_str(), row.value));
        let numbers = run.summary.iter().map(|(metric, value)| (metric.as_str(), *value));
        for (metric, value) in numbers.chain(scores) {
            let Some(term) = run.manifest.terms.get(base(metric)) else {
                panic!("{name}: {metric} has no term");
            };
            assert!(
                !term.words.is_empty() && term.about.ends_with('.'),
                "{metric}: {term:?}"
            );
            assert!(!term.words.contains(['*', '_']), "{metric}: {term:?}");
            // A report finds attacks by the mark; the spread of one is none.
            let is_attack = term.about.starts_with("Attack") && !term.about.contains(" Here the standard ");
            assert_eq!(term.attack.is_some(), is_attack, "{metric}: {term:?}");
            let (least, most) = term.range;
            // Rounding may put a share a little beyond its end.
            let fits = least.is_none_or(|least| value >= least - 1e-9) && most.is_none_or(|most| value <= most + 1e-9);
            assert!(
                fits || value.is_nan(),
                "{name}: {metric} is {value}, and its term says {term:?}"
            );
            n_seen += 1;
        }
        let units = &run.manifest.units;
        assert_eq!(
            (units["virtual_s"], units["payload_bytes"], units["rounds"]),
            (Unit::Seconds, Unit::Bytes, Unit::Count)
        );
        assert!(units.values().all(|unit| *unit != Unit::Number), "{units:?}");
    }
    assert!(n_seen > 1000, "{n_seen}");
}
