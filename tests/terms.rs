//! Every number of every shipped strategy says what it is, and is what it says.

use crate::support::{Kept, TempDir, karate, rough, run_args};
use folkmoot_metrics::term::base;
use folkmoot_metrics::{RunDir, Unit};

/// Small runs that between them have every measurement switched on.
const RUNS: &[&[&str]] = &[
    &["fed-avg/small", "strategy.protocol.rounds=3"],
    &["scaffold/small", "strategy.protocol.rounds=3"],
    &["gossip/small", "strategy.rounds=3"],
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
        "strategy.thorough=(shadows: [1.0], properties: Structure, linkage: true, decode: true, distinct: true)",
    ],
    &[
        "ppgm/egsc",
        "dataset.n_functions=30",
        "strategy.training.epochs=2",
        "strategy.model=EgscStudent()",
    ],
    &["ppgm/federated", "dataset.n_functions=20", "strategy.protocol.rounds=2"],
];

fn runs() -> Vec<(String, RunDir)> {
    let temp = TempDir::new();
    let kept = [("karate", karate()), ("rough", rough())];
    let kept = kept.map(|(name, Kept { run, .. })| (name.to_owned(), run.clone()));
    let small = RUNS.iter().zip(0..).map(|(run, i)| {
        let settings: Vec<&str> = run[1..].iter().flat_map(|set| ["--set", set]).collect();
        let out = i.to_string();
        temp.run(&run_args(&run[..1], &out, &settings)).done();
        (run.join(" "), RunDir::open(&temp.join(&out)).unwrap())
    });
    kept.into_iter().chain(small).collect()
}

#[test]
fn every_number_has_a_term_and_lies_in_its_range() {
    let mut n_seen = 0;
    for (name, run) in runs() {
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
