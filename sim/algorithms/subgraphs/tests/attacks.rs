//! Attacks on methods for cut graphs: what they find where something was planted, and where nothing
//! was; and that a run goes on as without them.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_classifiers::attacks::{
    Attack, ClientLinking, GradientInversion, LikelihoodRatio, LinkStealing, LossThreshold, Variance,
};
use folkmoot_classifiers::classifier::{LocalOptimiser, Model, Split, Training};
use folkmoot_draws::{Purpose, Streams, index, unit_f32};
use folkmoot_engine::prelude::*;
use folkmoot_engine::ranks::Alone;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partition, SparseRows};
use folkmoot_parts::Chosen;
use folkmoot_rounds::Protocol;
use folkmoot_scenarios::algorithm::{Files, Job, Runnable};
use folkmoot_subgraphs::ada_fgl::{self, Personal};
use folkmoot_subgraphs::fed_gcn;
use folkmoot_subgraphs::fed_sage::{self, Generator};
use std::sync::Arc;

const N_NODES: u32 = 240;

/// Nodes with random features and classes that follow from nothing, with these edges.
fn nodes(edges: &[(u32, u32)]) -> Arc<Dataset> {
    let mut rng = Streams::new(5).global(Purpose(*b"at-nodes"));
    let rows: Vec<Vec<(u32, f32)>> = (0..N_NODES)
        .map(|_| (0..24).map(|column| (column, unit_f32(&mut rng) - 0.5)).collect())
        .collect();
    let classes: Vec<Option<u32>> = (0..N_NODES).map(|_| Some(index(&mut rng, 3) as u32)).collect();
    Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(24, &rows).unwrap())),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        n_classes: 3,
        ..Dataset::of_graph("random", Graph::from_edges(N_NODES, edges, false).unwrap())
    })
}

fn ring() -> Arc<Dataset> {
    let edges: Vec<(u32, u32)> = (0..N_NODES)
        .map(|v| (v.min((v + 1) % N_NODES), v.max((v + 1) % N_NODES)))
        .collect();
    nodes(&edges)
}

/// Joined in sixes, each of which two clients share.
fn sixes() -> Arc<Dataset> {
    let all = (0..N_NODES).flat_map(|u| (u + 1..N_NODES).map(move |v| (u, v)));
    nodes(&all.filter(|(u, v)| u / 6 == v / 6).collect::<Vec<(u32, u32)>>())
}

/// Nodes dealt out in turns, three at a time.
fn threes(n_clients: u32) -> Arc<Partition> {
    let of = |client: u32| (0..N_NODES).filter(|v| v / 3 % n_clients == client).collect();
    Arc::new(Partition::from_shards((0..n_clients).map(of).collect()).unwrap())
}

/// What all systems have in common.
#[derive(Clone)]
struct Plan {
    training: Training,
    train: f64,
    rounds: u32,
    attacks: Vec<Chosen<dyn Attack>>,
}

impl Plan {
    /// Many passes, so that classes are learned by heart; at the least rate nothing is.
    fn by_heart(rate: f64, attacks: Vec<Chosen<dyn Attack>>) -> Plan {
        let training = Training {
            epochs: 40,
            optimiser: LocalOptimiser::AdamW,
            learning_rate: rate,
            ..Training::default()
        };
        Plan {
            training,
            train: 0.5,
            rounds: 6,
            attacks,
        }
    }

    /// The systems, each with what clients tell each other or make up.
    fn systems(&self) -> [(&'static str, Box<Runnable>); 3] {
        let (model, training, attacks) = (
            Model {
                hidden: 64,
                ..Model::default()
            },
            || self.training.clone(),
            || self.attacks.clone(),
        );
        let split = Split::Shares {
            train: self.train,
            validation: 0.1,
        };
        let protocol = || Protocol {
            rounds: self.rounds,
            ..Protocol::default()
        };
        let generator = Generator::Trained {
            hidden_portion: 0.5,
            num_pred: 1,
            encoder_hidden: 6,
            latent: 5,
            first_width: 7,
            second_width: 8,
            noise: 1.0,
            a: 1.0,
            b: 1.0,
            c: 1.0,
            epochs: 3,
            steps: 1,
            learning_rate: 0.01,
            weight_decay: 0.0001,
            dropout: 0.0,
            codec: Chosen::default(),
        };
        let gcn = fed_gcn::Params {
            model: model.clone(),
            training: training(),
            split,
            protocol: protocol(),
            attacks: attacks(),
            ..fed_gcn::Params::default()
        };
        let sage = fed_sage::Params {
            generator,
            model: model.clone(),
            training: training(),
            split,
            protocol: protocol(),
            attacks: attacks(),
            ..fed_sage::Params::default()
        };
        let ada = ada_fgl::Params {
            model,
            training: training(),
            split,
            protocol: protocol(),
            personal: Personal {
                epochs: 2,
                hidden: 8,
                ..Personal::default()
            },
            attacks: attacks(),
            ..ada_fgl::Params::default()
        };
        [
            ("FedGcn", Runnable::of(gcn)),
            ("FedSage", Runnable::of(sage)),
            ("AdaFgl", Runnable::of(ada)),
        ]
    }
}

fn play(system: &Runnable, dataset: &Arc<Dataset>, n_clients: u32, threads: usize) -> Outcome {
    let job = Job {
        dataset,
        partition: &threes(n_clients),
        world: &World::ideal(),
        files: &Files::default(),
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
    };
    system.run(&job, &mut Unobserved).unwrap().unwrap().outcome
}

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
fn members_are_found_where_classes_were_learned_by_heart_and_not_where_nothing_was() {
    let (planted, bare) = (
        Plan::by_heart(0.02, membership()).systems(),
        Plan::by_heart(1e-30, membership()).systems(),
    );
    for ((name, planted), (_, bare)) in planted.iter().zip(&bare) {
        let (planted, bare) = (play(planted, &ring(), 2, 2), play(bare, &ring(), 2, 2));
        for area in AREAS {
            let (found, nothing) = (number(&planted, area), number(&bare, area));
            assert!(found > 0.7, "{name}: {area} {found} of {:?}", planted.summary);
            assert!((nothing - 0.5).abs() < 0.13, "{name}: {area} {nothing}");
        }
        let other = number(&planted, "lira_online_auc@other_model");
        assert!((other - 0.5).abs() < 0.13, "{name}: {other}");
    }
}

#[test]
fn links_are_found_by_answers_that_edges_have_made_and_not_without_edges() {
    let attacks = vec![Chosen::new(LinkStealing {
        known: 0.2,
        features: true,
    }) as Chosen<dyn Attack>];
    for (name, system) in Plan::by_heart(0.01, attacks).systems() {
        let outcome = play(&system, &sixes(), 2, 2);
        let area = "link_correlation_auc";
        let (found, bare) = (number(&outcome, area), number(&outcome, &format!("{area}@no_graph")));
        assert!(found > 0.8, "{name}: {found}");
        assert!((bare - 0.5).abs() < 0.1, "{name}: {bare}");
        // Asked about are pairs of a client's own nodes alone, whatever it was told of others' or
        // has made up: three in each three.
        assert_eq!(number(&outcome, "link_others"), f64::from(N_NODES), "{name}");
    }
}

/// One step on one node of each of 24 clients.
fn updates() -> Plan {
    Plan {
        training: Training {
            epochs: 1,
            learning_rate: 0.1,
            ..Training::default()
        },
        train: 0.1,
        rounds: 5,
        attacks: vec![
            Chosen::new(GradientInversion {}),
            Chosen::new(ClientLinking { rounds: 4 }),
        ],
    }
}

#[test]
fn one_step_on_one_node_gives_away_its_row_and_links_its_client() {
    for (name, system) in updates().systems() {
        let outcome = play(&system, &ring(), 24, 2);
        let said = &outcome.summary;
        assert_eq!(number(&outcome, "inversion_updates"), 24.0, "{name}");
        assert_eq!(number(&outcome, "inversion_recovered"), 1.0, "{name}: {said:?}");
        assert_eq!(number(&outcome, "inversion_classes"), 1.0, "{name}: {said:?}");
        assert_eq!(
            number(&outcome, "inversion_recovered@other_client"),
            0.0,
            "{name}: {said:?}"
        );
        assert!(number(&outcome, "linking_raw_first") > 0.9, "{name}: {said:?}");
    }
}

#[test]
fn a_run_with_attacks_goes_the_way_of_the_run_without_and_no_number_depends_on_threads() {
    let mut attacks = membership();
    attacks.push(Chosen::new(LinkStealing {
        known: 0.0,
        features: false,
    }));
    attacks.extend(updates().attacks);
    let (with, without) = (
        Plan { attacks, ..updates() },
        Plan {
            attacks: Vec::new(),
            ..updates()
        },
    );
    for ((name, with), (_, without)) in with.systems().iter().zip(without.systems()) {
        let outcomes = [1, 2].map(|threads| play(with, &sixes(), 8, threads));
        assert_eq!(outcomes[0].summary, outcomes[1].summary, "{name}");
        let (with, without) = (&outcomes[0], play(&without, &sixes(), 8, 1));
        let told = |outcome: &Outcome| {
            format!(
                "{:?} {:?} {:?}",
                outcome.ledger, outcome.tables.rounds, outcome.tables.scores
            )
        };
        assert_eq!(told(with), told(&without), "{name}");
        let is_of_both = |(name, _): &&(String, f64)| without.summary.iter().any(|(other, _)| other == name);
        let kept: Vec<(String, f64)> = with.summary.iter().filter(is_of_both).cloned().collect();
        assert_eq!(kept, without.summary, "{name}");
        assert!(with.summary.len() > kept.len() + 20, "{name}");
    }
}
