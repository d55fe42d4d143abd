//! Attacks on whole runs: what they find where a model has learned its items by heart, and where
//! there is nothing to find.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "attacks/own.rs"]
mod own;
#[path = "attacks/search.rs"]
mod search;
#[path = "attacks/without_server.rs"]
mod without_server;

use folkmoot_classifiers::attacks::{
    Attack, ClientLinking, GradientInversion, LikelihoodRatio, LinkStealing, LossThreshold, Variance,
};
use folkmoot_classifiers::classifier::graph_layers::Gin;
use folkmoot_classifiers::classifier::{Inputs, LocalOptimiser, Model, Split, Training};
use folkmoot_classifiers::fed_avg::Params;
use folkmoot_draws::{Purpose, Streams, index, unit_f32};
use folkmoot_engine::prelude::*;
use folkmoot_engine::ranks::Alone;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{
    DataDirs, DataSource, Dataset, Features, Graph, Labels, Partition, Partitioner, SparseRows, datasets, partition,
};
use folkmoot_parts::{Chosen, Value};
use folkmoot_rounds::{Private, Protocol, Secure};
use folkmoot_scenarios::algorithm::{Files, Job, Runnable};
use std::sync::{Arc, LazyLock};

const N_NODES: u32 = 240;

/// Nodes with random features and classes that follow from nothing; joined in fours, or not at all.
fn nodes(is_joined: bool) -> Arc<Dataset> {
    let mut rng = Streams::new(5).global(Purpose(*b"at-nodes"));
    let rows: Vec<Vec<(u32, f32)>> = (0..N_NODES)
        .map(|_| (0..24).map(|column| (column, unit_f32(&mut rng) - 0.5)).collect())
        .collect();
    let classes: Vec<Option<u32>> = (0..N_NODES).map(|_| Some(index(&mut rng, 3) as u32)).collect();
    let fours = (0..N_NODES).flat_map(|u| (u + 1..N_NODES).map(move |v| (u, v)));
    let edges: Vec<(u32, u32)> = fours.filter(|(u, v)| is_joined && u / 4 == v / 4).collect();
    Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(24, &rows).unwrap())),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        n_classes: 3,
        ..Dataset::of_graph("random", Graph::from_edges(N_NODES, &edges, false).unwrap())
    })
}

fn params(rate: f64, attacks: Vec<Chosen<dyn Attack>>) -> Params {
    Params {
        model: Model {
            hidden: 64,
            ..Model::default()
        },
        training: Training {
            epochs: 40,
            optimiser: LocalOptimiser::AdamW,
            learning_rate: rate,
            ..Training::default()
        },
        split: Split::Shares {
            train: 0.5,
            validation: 0.0,
        },
        protocol: Protocol {
            rounds: 5,
            ..Protocol::default()
        },
        attacks,
        ..Params::default()
    }
}

fn play(dataset: &Arc<Dataset>, params: &Params, threads: usize) -> Outcome {
    play_among(1, dataset, params, threads)
}

fn play_among(n_clients: u32, dataset: &Arc<Dataset>, params: &Params, threads: usize) -> Outcome {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let spec = partition::Iid { n_clients };
    let partition: Arc<Partition> = Arc::new(spec.divide(dataset, &mut rng).unwrap());
    run_on(&Runnable::of(params.clone()), dataset, &partition, threads)
}

fn run_on(system: &Runnable, dataset: &Arc<Dataset>, partition: &Arc<Partition>, threads: usize) -> Outcome {
    let finished = system.run(&job(dataset, partition, threads), &mut Unobserved).unwrap();
    finished.unwrap().outcome
}

fn job<'a>(dataset: &'a Arc<Dataset>, partition: &'a Arc<Partition>, threads: usize) -> Job<'a> {
    Job {
        dataset,
        partition,
        world: &IDEAL,
        files: &NO_FILES,
        keep: &[],
        evaluators: &[],
        dir: None,
        seed: 3,
        options: Options {
            threads,
            ..Options::default()
        },
        saved: None,
        ranks: &Alone,
    }
}

static IDEAL: LazyLock<World> = LazyLock::new(World::ideal);
static NO_FILES: LazyLock<Files> = LazyLock::new(Files::default);

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary)).1
}

fn membership() -> Vec<Chosen<dyn Attack>> {
    let ratio = LikelihoodRatio {
        pairs: 4,
        variance: Variance::Shared,
    };
    vec![Chosen::new(LossThreshold {}), Chosen::new(ratio)]
}

const AREAS: [&str; 3] = ["loss_membership_auc", "lira_online_auc", "lira_offline_auc"];

#[test]
fn members_are_found_where_classes_were_learned_by_heart() {
    let (dataset, params) = (nodes(false), params(0.02, membership()));
    let outcome = play(&dataset, &params, 1);
    for name in AREAS {
        let area = number(&outcome, name);
        assert!(area > 0.8, "{name}: {area} of {:?}", outcome.summary);
    }
    for name in ["lira_online_auc@other_model", "loss_membership_auc@untrained"] {
        let area = number(&outcome, name);
        assert!((area - 0.5).abs() < 0.13, "{name}: {area}");
    }
    assert_eq!(number(&outcome, "lira_others"), 120.0);
    assert!(number(&outcome, "lira_online_found") > 0.1 && number(&outcome, "loss_membership_advantage") > 0.3);
    assert_eq!(outcome.summary, play(&dataset, &params, 2).summary);
}

#[test]
fn no_member_is_found_where_nothing_was_learned() {
    let outcome = play(&nodes(false), &params(1e-9, membership()), 1);
    for name in AREAS {
        let area = number(&outcome, name);
        assert!((area - 0.5).abs() < 0.13, "{name}: {area}");
    }
}

#[test]
fn a_run_with_attacks_goes_the_way_of_the_run_without() {
    let dataset = nodes(true);
    let attacks = vec![
        Chosen::new(LossThreshold {}) as Chosen<dyn Attack>,
        Chosen::new(LinkStealing {
            known: 0.2,
            features: true,
        }),
    ];
    let (with, without) = (
        play(&dataset, &params(0.01, attacks), 1),
        play(&dataset, &params(0.01, Vec::new()), 1),
    );
    same_run(&with, &without);
}

/// A run with attacks says of itself what the run without says, and more.
fn same_run(with: &Outcome, without: &Outcome) {
    let told = |outcome: &Outcome| {
        format!(
            "{:?} {:?} {:?}",
            outcome.ledger, outcome.tables.rounds, outcome.tables.scores
        )
    };
    assert_eq!(told(with), told(without));
    let is_of_both = |(name, _): &&(String, f64)| without.summary.iter().any(|(other, _)| other == name);
    let kept: Vec<(String, f64)> = with.summary.iter().filter(is_of_both).cloned().collect();
    assert_eq!(kept, without.summary);
    assert!(with.summary.len() > kept.len() + 20);
}

#[test]
fn links_are_found_by_answers_that_edges_have_made_and_not_without_edges() {
    let attacks = vec![Chosen::new(LinkStealing {
        known: 0.2,
        features: true,
    }) as Chosen<dyn Attack>];
    let outcome = play(&nodes(true), &params(0.01, attacks), 1);
    let name = "link_correlation_auc";
    let (area, bare) = (number(&outcome, name), number(&outcome, &format!("{name}@no_graph")));
    assert!(area > 0.9, "{area}");
    assert!(
        (bare - 0.5).abs() < 0.1,
        "classes and features follow from nothing: {bare}"
    );
    assert_eq!(number(&outcome, "link_others"), 360.0);
    for (name, least) in [("taught_links_auc", 0.85), ("featured_links_auc", 0.8)] {
        let (area, bare) = (number(&outcome, name), number(&outcome, &format!("{name}@no_graph")));
        assert!(area > least && (bare - 0.5).abs() < 0.12, "{name}: {area} {bare}");
    }
    let nearer = number(&outcome, "nearer_correlation_auc");
    assert!(nearer > 0.8, "{nearer}");
}

const N_CLIENTS: u32 = 24;

/// Clients of ten nodes each, of which so large a share trains, take so many steps of a rate in
/// each of some rounds; the last updates are inverted, and those of all rounds linked.
fn updates(share: f64, (epochs, rate): (u32, f64), model: Model, secure: Secure) -> Params {
    let rounds = 4;
    let all = params(
        rate,
        vec![
            Chosen::new(GradientInversion {}) as Chosen<dyn Attack>,
            Chosen::new(ClientLinking { rounds }),
        ],
    );
    Params {
        model,
        training: Training {
            epochs,
            optimiser: LocalOptimiser::default(),
            ..all.training
        },
        split: Split::Shares {
            train: share,
            validation: 0.0,
        },
        protocol: Protocol {
            rounds,
            secure,
            ..all.protocol
        },
        ..all
    }
}

/// One graph convolution, and nothing else.
fn one_layer() -> Model {
    Model {
        layers: 1,
        head_layers: 0,
        ..Model::default()
    }
}

const ONE_ITEM: f64 = 0.1;
const MASKED: Secure = Secure::Pairwise { threshold: 0.67 };

#[test]
fn one_step_on_one_node_gives_away_its_neighbourhood_or_its_hidden_row() {
    for (name, model) in [("one layer", one_layer()), ("head", Model::default())] {
        for joined in [false, true] {
            let params = updates(ONE_ITEM, (1, 0.1), model.clone(), Secure::Off);
            let outcome = play_among(N_CLIENTS, &nodes(joined), &params, 1);
            let said = &outcome.summary;
            assert_eq!(number(&outcome, "inversion_updates"), f64::from(N_CLIENTS));
            for what in ["recovered", "classes"] {
                assert_eq!(number(&outcome, &format!("inversion_{what}")), 1.0, "{name}: {said:?}");
            }
            assert!(number(&outcome, "inversion_error") < 1e-4, "{name}: {said:?}");
            assert_eq!(
                number(&outcome, "inversion_recovered@other_client"),
                0.0,
                "{name}: {said:?}"
            );
            assert_eq!(
                outcome.summary,
                play_among(N_CLIENTS, &nodes(joined), &params, 2).summary
            );
        }
    }
}

#[test]
fn an_inverted_update_is_worth_less_the_more_steps_and_items_went_into_it() {
    let error = |share: f64, epochs: u32| {
        let params = updates(share, (epochs, 0.5), Model::default(), Secure::Off);
        let outcome = play_among(N_CLIENTS, &nodes(false), &params, 1);
        number(&outcome, "inversion_error")
    };
    let of_steps = [1, 5, 40].map(|epochs| error(ONE_ITEM, epochs));
    assert!(of_steps[0] < of_steps[1] && of_steps[1] < of_steps[2], "{of_steps:?}");
    assert!(error(1.0, 1) > 0.2);
}

#[test]
fn of_masked_updates_nothing_is_inverted_and_nobody_is_linked() {
    let params = updates(ONE_ITEM, (1, 0.1), one_layer(), MASKED);
    let outcome = play_among(N_CLIENTS, &nodes(false), &params, 1);
    assert_eq!(number(&outcome, "inversion_updates"), 1.0);
    assert_eq!(number(&outcome, "inversion_recovered"), 0.0);
    assert!(number(&outcome, "inversion_error") > 0.3, "{:?}", outcome.summary);
    assert!(outcome.summary.iter().all(|(name, _)| !name.starts_with("linking")));
    assert!(
        outcome
            .warnings
            .iter()
            .any(|warning| warning.contains("nothing to link"))
    );
}

/// One graph at each client, one step: cutting its gradient shortens it and hides nothing, and
/// noise beyond the clip leaves nothing of it.
#[test]
fn a_clip_alone_hides_no_graph_and_noise_does() {
    let spec = datasets::GraphClasses {
        n_graphs: 12,
        n_classes: 3,
        min_nodes: 8,
        max_nodes: 16,
    };
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    let dataset = Arc::new(spec.load(&DataDirs::new(), &mut rng).unwrap());
    let error = |private: Private| {
        let mut params = updates(1.0, (1, 0.1), Model::default(), Secure::Off);
        params.inputs = Inputs::Degree { most: 8 };
        params.split = Split::All;
        params.protocol.private = private;
        number(&play_among(12, &dataset, &params, 1), "inversion_error")
    };
    let hidden = |noise_multiplier| Private::Items {
        clip: Some(0.01),
        noise_multiplier,
    };
    let errors = [Private::Off, hidden(0.0), hidden(4.0)].map(error);
    assert!(errors[0] < 1e-3 && errors[1] < 1e-2 && errors[2] > 0.5, "{errors:?}");
}

#[test]
fn clients_are_linked_by_what_they_train_on() {
    let params = updates(0.5, (1, 0.05), Model::default(), Secure::Off);
    let planted = play_among(N_CLIENTS, &nodes(false), &params, 1);
    for way in ["raw", "centred"] {
        let first = number(&planted, &format!("linking_{way}_first"));
        assert!(first > 0.9, "{way}: {:?}", planted.summary);
        assert!(
            number(&planted, &format!("linking_{way}_auc")) > 0.9,
            "{:?}",
            planted.summary
        );
    }
    assert!((number(&planted, "linking_raw_first@chance") - 1.0 / f64::from(N_CLIENTS)).abs() < 1e-9);
}

/// Why a run is refused.
fn refused(params: &Params) -> String {
    refused_on(Dataset::clone(&nodes(true)), params)
}

fn refused_on(dataset: Dataset, params: &Params) -> String {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let dataset = Arc::new(dataset);
    let partition = partition::Iid { n_clients: 2 }.divide(&dataset, &mut rng).unwrap();
    let partition = Arc::new(partition);
    let job = job(&dataset, &partition, 1);
    let error = Runnable::of(params.clone()).run(&job, &mut Unobserved).err();
    error.map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn inversion_asks_for_a_layer_that_it_can_read() {
    let model = Model {
        encoder: Chosen::new(Gin {}),
        head_layers: 0,
        ..Model::default()
    };
    let why = refused(&updates(ONE_ITEM, (1, 0.1), model, Secure::Off));
    assert!(why.contains("attacks.0") && why.contains("head_layers: 1"), "{why}");
}

#[test]
fn settings_say_what_is_wrong() {
    let broken = LikelihoodRatio {
        pairs: 2,
        variance: Variance::Own,
    }
    .broken();
    assert_eq!(broken[0].path, "pairs");
}
