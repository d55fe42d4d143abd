//! Every number of every shipped strategy says what it is, and is what it says.

use crate::support::{TempDir, rough, run_args, tiny};
use crate::trials::trials;
use folkmoot_metrics::figures::is_called;
use folkmoot_metrics::key::base;
use folkmoot_metrics::run_dir::ARTIFACTS;
use folkmoot_metrics::table::Row;
use folkmoot_metrics::{
    CLIENT_MAJORITY, CLIENT_MEAN, CLIENT_PRIOR, ControlRow, LABEL_PRIOR, RunDir, TRAINING_MEAN, Unit,
};
use folkmoot_scenarios::glossary::tables;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The runs and the folder that they lie in.
fn runs() -> &'static (Vec<(String, RunDir)>, TempDir) {
    static RAN: OnceLock<(Vec<(String, RunDir)>, TempDir)> = OnceLock::new();
    RAN.get_or_init(|| {
        let temp = TempDir::new();
        let kept = [("tiny", tiny()), ("rough", rough())];
        let kept = kept.map(|(name, kept)| {
            let dir = kept.lay(&temp, name);
            (name.to_owned(), RunDir::open(&dir).unwrap())
        });
        let small = trials(|file| &file.terms).into_iter().zip(0..).map(|(trial, i)| {
            let out = i.to_string();
            temp.run(&run_args(&trial.args(), &out, &[])).done();
            (trial.name(), RunDir::open(&temp.join(&out)).unwrap())
        });
        let all = kept.into_iter().chain(small).collect();
        (all, temp)
    })
}

#[test]
fn every_table_that_a_run_leaves_is_known_by_its_columns() {
    let known = tables(&folkmoot::shipped());
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
    // What an update that is not finite leaves, kept outputs of several labels or numbers, what a
    // run was asked to watch, and a sweep.
    let mut rest = BTreeSet::from(
        [
            "artifacts/outputs.csv",
            "artifacts/own_outputs.csv",
            "artifacts/refused_updates.csv",
            "observations.csv",
            "points.csv",
        ]
        .map(str::to_owned),
    );
    // Scores of clients where labels or numbers are learned, and what own code in Python leaves.
    for of in ["artifacts/client_metrics.csv", "artifacts/jobs.csv"] {
        if known.iter().any(|(known, _)| known == of) {
            rest.insert(of.to_owned());
        }
    }
    let unseen = known
        .iter()
        .map(|(of, _)| of.clone())
        .filter(|of| !seen.contains(of.as_str()));
    assert_eq!(unseen.collect::<BTreeSet<String>>(), rest);
}

#[test]
fn every_control_is_explained() {
    let of_run = |(_, run): &(String, RunDir)| -> Vec<String> {
        let text = std::fs::read_to_string(run.path.join(ControlRow::FILE)).unwrap_or_default();
        let cells = text.lines().skip(1).filter_map(|line| line.split(',').next());
        cells.map(str::to_owned).collect()
    };
    let seen: BTreeSet<String> = runs().0.iter().flat_map(of_run).collect();
    assert!(seen.contains(CLIENT_MAJORITY), "{seen:?}");
    let rest = [CLIENT_MEAN, CLIENT_PRIOR, LABEL_PRIOR, TRAINING_MEAN].map(str::to_owned);
    let temp = TempDir::new();
    for control in seen.into_iter().chain(rest) {
        let said = temp.run(&["explain", &control]).done();
        assert!(said.contains("A control"), "{control}: {said}");
    }
}

#[test]
fn every_number_has_a_term_and_lies_in_its_range() {
    let mut n_seen = 0;
    for (name, run) in &runs().0 {
        let scores = run.tables.scores.iter().map(|row| (row.metric.as_str(), row.value));
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
