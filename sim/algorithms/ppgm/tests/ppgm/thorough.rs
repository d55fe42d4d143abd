//! Attacks on what was read once: they find what was planted and nothing else, and leave the run as
//! it is.

use super::{find, functions, number, params, play_in, system};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{CountScaling, DataDirs, DataSource, Dataset, datasets};
use folkmoot_metrics::npy::Array;
use folkmoot_ppgm::Params;
use folkmoot_ppgm::learned::Measured;
use folkmoot_ppgm::options::{Attack, Inferred, Intercept, Model, Partner, Sends, Thorough};
use folkmoot_scores::inference::Attackers;
use std::sync::Arc;

/// Functions of which each has one graph.
pub(super) fn of_one_variant() -> Arc<Dataset> {
    let spec = datasets::ControlFlow {
        n_functions: 30,
        n_nodes: (6, 10),
        n_compilers: 2,
        n_levels: 2,
        variant_prob: 0.0,
        property_effect: 1.0,
        scaling: CountScaling::Log,
    };
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    Arc::new(spec.load(&DataDirs::new(), &mut rng).unwrap())
}

/// What somebody who knows half of the graphs makes of a model after one epoch.
pub(super) fn attacked_after_an_epoch(model: Model, dataset: &Arc<Dataset>) -> Measured {
    let mut params = params(model);
    params.training.epochs = 1;
    params.attack = Attack {
        epochs: 60,
        shadow: 0.5,
        ..Params::default().attack
    };
    system(dataset, &params).train().measured.pop().unwrap()
}

pub(super) fn thorough(model: Model, thorough: Thorough) -> Params {
    let mut params = params(model);
    params.training.epochs = 1;
    params.deployment.matches_per_client = 0.0;
    params.attack = Attack {
        epochs: 15,
        ..params.attack
    };
    params.thorough = thorough;
    params
}

pub(super) fn play(effect: f64, params: &Params) -> Outcome {
    play_in(&World::ideal(), &functions(120, effect, 2), params, Options::default())
}

fn artifact<'a>(outcome: &'a Outcome, path: &str) -> &'a [u8] {
    let found = outcome.artifacts.iter().find(|artifact| artifact.path == path);
    &found.unwrap_or_else(|| panic!("no {path}")).bytes
}

fn inferring() -> Thorough {
    Thorough {
        shadows: vec![0.1, 1.0],
        properties: Inferred::Each,
        ..Thorough::default()
    }
}

/// The area is 1/2 within 4 standard errors where variants bear no mark, whoever is chosen; where
/// they do, who knows more graphs is surer of them, and who reads everything knows at least what
/// the best reader of one message knows but for the error of choosing.
#[test]
fn the_chosen_attacker_finds_marks_and_nothing_else() {
    let marked = play(1.0, &thorough(Model::Ppgm, inferring()));
    let found = |name: &str| number(&marked, name);
    assert!(found("leak_auc[shadow=1]") > 0.8, "{:?}", marked.summary);
    assert!(found("leak_auc[shadow=1]") > found("leak_auc[shadow=0.1]"));
    assert_eq!(found("leak_auc"), found("leak_auc[shadow=1]"));
    for part in ["g", "o", "concat", "all_g"] {
        let read = found(&format!("leak_auc_{part}[shadow=1]"));
        assert!(
            found("leak_auc_everything[shadow=1]") > read - 0.08,
            "{part}: {:?}",
            marked.summary
        );
    }
    for facet in ["compiler", "level"] {
        assert!(
            found(&format!("leak_auc_of_{facet}[shadow=1]")) > 0.7,
            "{facet}: {:?}",
            marked.summary
        );
    }
    let bare = play(0.0, &thorough(Model::Ppgm, inferring()));
    for (name, area) in &bare.summary {
        if name.starts_with("leak_auc") {
            assert!((area - 0.5).abs() < 0.13, "{name}: {area}");
        }
    }
}

/// Five interceptions, two shares, the joint property and its two parts, and four attackers of whom
/// one is chosen.
#[test]
fn every_attack_is_a_row_of_the_table() {
    let outcome = play(1.0, &thorough(Model::Ppgm, inferring()));
    let table = std::str::from_utf8(artifact(&outcome, "attacks.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 5 * 2 * 3 * 4);
    assert!(rows.iter().all(|row| row.len() == 10));
    for chosen in rows.chunks_exact(4) {
        assert_eq!(chosen.iter().filter(|row| row[9] == "1").count(), 1, "{chosen:?}");
        let known = |row: &[&str]| row[7].parse::<f64>().unwrap();
        let most = chosen.iter().map(|row| known(row)).fold(0.0, f64::max);
        assert!(
            chosen.iter().all(|row| (row[9] == "0") || known(row) == most),
            "{chosen:?}"
        );
    }
    // SGNN's devices send each other nothing: both messages to the service and the score remain.
    let outcome = play(1.0, &thorough(Model::Sgnn, inferring()));
    assert!(find(&outcome, "leak_auc_g[shadow=1]").is_none());
    assert!(number(&outcome, "leak_auc_everything[shadow=1]") > 0.6);
}

/// What a siamese network sends of a graph is the same whomever it meets. In PPGM the other graph
/// is mixed in: where it is always the same one, marks are found at least as well, and where there
/// are none, nothing is.
#[test]
fn who_is_met_is_all_that_differs() {
    let meeting = |model, effect| {
        let met = Thorough {
            shadows: vec![1.0],
            intercepts: vec![Intercept::G, Intercept::O],
            partners: vec![Partner::Itself, Partner::One],
            ..Thorough::default()
        };
        play(effect, &thorough(model, met))
    };
    let of = |outcome: &Outcome, name: &str| number(outcome, &format!("leak_auc_{name}[shadow=1]"));
    let siamese = meeting(Model::Sgnn, 1.0);
    for name in ["o_with_itself", "o_with_one"] {
        assert_eq!(of(&siamese, name), of(&siamese, "o"), "{name}");
    }
    let mixed = meeting(Model::Ppgm, 1.0);
    for name in ["o_with_itself", "o_with_one"] {
        assert!(
            of(&mixed, name) > of(&mixed, "o").max(0.7) - 0.05,
            "{name}: {:?}",
            mixed.summary
        );
        assert_ne!(of(&mixed, name), of(&mixed, "o"), "{name}");
    }
    // No message to the other device knows whom it goes to.
    assert_eq!(of(&mixed, "g_with_one"), of(&mixed, "g"));
    assert_eq!(
        number(&mixed, "leak_auc_with_one"),
        number(&mixed, "leak_auc_with_one[shadow=1]")
    );
    let bare = meeting(Model::Ppgm, 0.0);
    for name in ["o", "o_with_itself", "o_with_one"] {
        assert!((of(&bare, name) - 0.5).abs() < 0.13, "{name}: {:?}", bare.summary);
    }
}

/// What is measured besides moves no other number.
#[test]
fn a_thorough_attack_leaves_the_rest_as_it_is() {
    let all = Thorough {
        shadows: vec![0.5],
        linkage: true,
        distinct: true,
        messages: true,
        ..Thorough::default()
    };
    let (with, without) = (
        play(1.0, &thorough(Model::Ppgm, all)),
        play(1.0, &thorough(Model::Ppgm, Thorough::default())),
    );
    assert!(
        without
            .artifacts
            .iter()
            .all(|artifact| artifact.path == "not_scored.csv")
    );
    let ours = |name: &str| ["leak_", "link_", "find_"].iter().any(|begin| name.starts_with(begin));
    let rest: Vec<&(String, f64)> = with
        .summary
        .iter()
        .filter(|(name, _)| !ours(name) && name != "similarity_auc_distinct" && name != "pairs_alike")
        .collect();
    assert_eq!(rest, without.summary.iter().collect::<Vec<_>>());
}

/// Each graph that trains once, then each that validates or tests; a row is both messages of 3 rows
/// of 16 numbers, both results and the score.
#[test]
fn messages_are_kept_with_what_they_are() {
    let keeping = Thorough {
        messages: true,
        ..Thorough::default()
    };
    let outcome = play(1.0, &thorough(Model::Ppgm, keeping));
    let array = Array::parse(artifact(&outcome, "intercepted.npy"), usize::MAX).unwrap();
    let n_graphs = functions(120, 1.0, 2).graphs.len();
    let width = 2 * 3 * 16 + 2 * 16 + 1;
    assert_eq!(array.shape, [n_graphs, width]);
    let table = std::str::from_utf8(artifact(&outcome, "intercepted.csv")).unwrap();
    let mut graphs: Vec<usize> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().parse().unwrap())
        .collect();
    graphs.sort_unstable();
    assert!(graphs.iter().copied().eq(0..n_graphs));
    let columns = std::str::from_utf8(artifact(&outcome, "intercepted_columns.csv")).unwrap();
    assert_eq!(
        columns,
        "part,from,to\ng_1,0,48\no_1,48,64\ng_2,64,112\no_2,112,128\nscore,128,129\n"
    );
}

/// A message that is the same in every match names its graph, but where two graphs are the same;
/// under much noise it names none. Of about a hundred graphs one is found by chance.
#[test]
fn messages_are_linked_where_they_are_the_same_and_not_under_noise() {
    let linking = Thorough {
        linkage: true,
        ..Thorough::default()
    };
    let plain = play(0.3, &thorough(Model::Ppgm, linking.clone()));
    assert!(number(&plain, "link_g_top_1") > 0.95, "{:?}", plain.summary);
    assert!(
        number(&plain, "find_g_top_1") > 10.0 * number(&plain, "find_g_top_1@chance"),
        "{:?}",
        plain.summary
    );
    let noisy = play(0.3, &thorough(Model::SgnnLdp { scale: 1e6 }, linking));
    assert!(find(&noisy, "link_g_top_1").is_none());
    assert!(number(&noisy, "link_o_top_1") < 0.06, "{:?}", noisy.summary);
    assert!(number(&noisy, "find_o_top_1") < 0.06, "{:?}", noisy.summary);
}

/// Functions of one variant match themselves alone: no pair of two graphs is left that matches, and
/// no area.
#[test]
fn pairs_of_a_graph_with_itself_can_be_left_out() {
    let distinct = Thorough {
        distinct: true,
        ..Thorough::default()
    };
    let params = thorough(Model::Ppgm, distinct);
    let several = play(0.3, &params);
    assert!(number(&several, "similarity_auc_distinct") <= number(&several, "similarity_auc"));
    let dataset = of_one_variant();
    let n_tested = system(&dataset, &params).data().test.len();
    let outcome = play_in(&World::ideal(), &dataset, &params, Options::default());
    assert!(number(&outcome, "similarity_auc") > 0.5);
    assert_eq!(find(&outcome, "similarity_auc_distinct"), None);
    assert_eq!(number(&outcome, "pairs_alike"), n_tested as f64 / 2.0);
}

/// The plain attacker reads everything where a card says so, and nothing is read besides.
#[test]
fn the_plain_attacker_may_read_everything() {
    let mut params = thorough(Model::Ppgm, Thorough::default());
    assert_eq!(find(&play(1.0, &params), "attack_auc_everything"), None);
    params.attack.intercept = Intercept::Everything;
    let outcome = play(1.0, &params);
    assert_eq!(
        number(&outcome, "attack_auc"),
        number(&outcome, "attack_auc_everything")
    );
}

/// What graphs' nodes are like on the mean is read off messages as they are, and off noise neither
/// that nor any count. An attention is a mean, which does not tell how many there are.
#[test]
fn means_are_read_off_messages_and_not_off_noise() {
    let counting = || Thorough {
        shadows: vec![1.0],
        properties: Inferred::Structure,
        intercepts: vec![Intercept::O, Intercept::AllG],
        attackers: Attackers {
            trees: 0,
            network: false,
            ..Attackers::default()
        },
        ..Thorough::default()
    };
    let plain = play(0.3, &thorough(Model::Ppgm, counting()));
    let noisy = play(0.3, &thorough(Model::SgnnLdp { scale: 1e6 }, counting()));
    let of = |outcome: &Outcome, what: &str| number(outcome, &format!("leak_auc_of_{what}[shadow=1]"));
    for what in ["feature_0", "feature_1", "feature_5"] {
        assert!(of(&plain, what) > 0.8, "{what}: {:?}", plain.summary);
    }
    for what in ["nodes", "edges", "cycles", "feature_0", "feature_1"] {
        assert!((of(&noisy, what) - 0.5).abs() < 0.12, "{what}: {:?}", noisy.summary);
    }
}

/// Sums over nodes tell how many there are.
#[test]
fn sizes_are_read_off_sums() {
    let counting = Thorough {
        shadows: vec![1.0],
        properties: Inferred::Structure,
        intercepts: vec![Intercept::O],
        attackers: Attackers {
            trees: 0,
            network: false,
            ..Attackers::default()
        },
        ..Thorough::default()
    };
    let told = play(
        0.3,
        &thorough(
            Model::EgscTeacher {
                sends: Sends::default(),
            },
            counting,
        ),
    );
    for what in ["nodes", "edges", "cycles"] {
        let name = format!("leak_auc_of_{what}[shadow=1]");
        assert!(number(&told, &name) > 0.8, "{what}: {:?}", told.summary);
    }
}

/// The one layer that hides arcs from a cosine hides them from nobody who learns.
#[test]
fn arcs_and_features_are_decoded_where_nodes_leave() {
    for model in [Model::Gmn, Model::EgscTeacher { sends: Sends::Nodes }] {
        let leaving = play(0.3, &thorough(model, decoding()));
        assert!(number(&leaving, "decoded_arcs_auc") > 0.6, "{:?}", leaving.summary);
        assert!(number(&leaving, "decoded_features_auc") > 0.7, "{:?}", leaving.summary);
    }
}

/// Vectors tell of nodes what is alike in all of a graph; noise tells no more than places do.
#[test]
fn features_are_decoded_from_vectors_and_not_from_noise() {
    let name = "decoded_features_auc";
    let beyond = |model| {
        let outcome = play(0.3, &thorough(model, decoding()));
        number(&outcome, name) - number(&outcome, &format!("{name}@places"))
    };
    let (told, untold) = (beyond(Model::Ppgm), beyond(Model::SgnnLdp { scale: 1e6 }));
    assert!(told > 0.05 && untold.abs() < 0.05, "{told} {untold}");
}

fn decoding() -> Thorough {
    Thorough {
        decode: true,
        ..Thorough::default()
    }
}
