//! FGCL as a run: its budget, its settings, its encoders, determinism, and data that do not suit.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_classifiers::classifier::graph_layers::{
    Gat, Gcn, Gin, GinBatchNorm, GraphConv, GraphLayers, LightGcn, Sage, Tag,
};
use folkmoot_classifiers::classifier::{Inputs, LocalOptimiser, Pooling, Split};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_fgcl::{Contrast, DegreeRule, Draws, Model, Order, Params, Setting, Supervised, Training, Views};
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Graph, Partition, Partitioner, TaskLabels, datasets, partition};
use folkmoot_parts::{Chosen, Value};
use folkmoot_rounds::{Protocol, Secure};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

#[path = "fgcl/leaks.rs"]
mod leaks;
#[path = "fgcl/ledger.rs"]
mod ledger;
#[path = "fgcl/places.rs"]
mod places;

/// Small generated graphs of two classes.
fn graphs() -> Dataset {
    let spec = datasets::GraphClasses {
        n_graphs: 60,
        n_classes: 2,
        min_nodes: 8,
        max_nodes: 12,
    };
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    spec.load(&DataDirs::new(), &mut rng).unwrap()
}

/// The same with three tasks: the class, its contrary with gaps, and one that nothing decides.
fn tasks() -> Dataset {
    let mut dataset = graphs();
    let classes = dataset.graph_labels.take().unwrap();
    let labels = classes.iter().zip(0u32..).flat_map(|(class, at)| {
        let yes = *class == 1;
        [
            Some(yes),
            (at % 3 != 0).then_some(!yes),
            (at % 2 == 0).then_some(at % 4 == 0),
        ]
    });
    let names = ["class", "contrary", "parity"].map(str::to_owned).to_vec();
    dataset.graph_tasks = Some(TaskLabels::new(names, labels.collect()).unwrap());
    dataset
}

fn partition(dataset: &Dataset, spec: &dyn Partitioner) -> Arc<Partition> {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    Arc::new(spec.divide(dataset, &mut rng).unwrap())
}

fn params(setting: Setting) -> Params {
    Params {
        setting,
        model: Model {
            hidden: 8,
            ..Model::default()
        },
        inputs: match setting.epsilons().is_empty() {
            true => Inputs::Degree { most: 8 },
            false => Inputs::Constant,
        },
        split: Split::Shares {
            train: 0.6,
            validation: 0.2,
        },
        protocol: Protocol {
            rounds: 3,
            ..Protocol::default()
        },
        ..Params::default()
    }
}

const NOISY: Setting = Setting::Fgcl {
    epsilon: 1.0,
    epsilon_2: None,
};

fn play_over(dataset: &Arc<Dataset>, partition: &Arc<Partition>, params: &Params, options: Options) -> Outcome {
    let strategy = params
        .prepare(&Source::new(dataset, partition, Streams::new(5)))
        .unwrap();
    run(strategy.system(), &World::ideal(), 5, options, &mut Unobserved).unwrap()
}

fn play_on(dataset: Dataset, params: &Params, options: Options) -> Outcome {
    assert_eq!(params.broken(), []);
    let partition = partition(&dataset, &partition::Iid { n_clients: 3 });
    play_over(&Arc::new(dataset), &partition, params, options)
}

fn play(params: &Params) -> Outcome {
    play_on(graphs(), params, Options::default())
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary)).1
}

fn bits(outcome: &Outcome) -> Vec<(String, u64)> {
    let rows = outcome.tables.scores.iter().map(|row| {
        let name = format!("{} {} {}", row.round, row.split, row.metric);
        (name, row.value.to_bits())
    });
    let summary = outcome
        .summary
        .iter()
        .map(|(name, value)| (name.clone(), value.to_bits()));
    rows.chain(summary).collect()
}

#[test]
fn results_do_not_depend_on_threads() {
    for setting in [NOISY, Setting::FgclWithoutNoise] {
        let on = |threads| {
            let options = Options {
                threads,
                ..Options::default()
            };
            bits(&play_on(graphs(), &params(setting), options))
        };
        assert_eq!(on(1), on(2));
        assert_eq!(on(1), on(5));
    }
}

/// A queue that is kept holds views of the rounds before, so that models part from the second round
/// on.
#[test]
fn the_queue_is_kept_from_round_to_round() {
    let model_after = |rounds, refill| {
        let mut params = params(NOISY);
        params.protocol.rounds = rounds;
        params.contrast.refill = refill;
        params.contrast.queue = 200;
        bits(&play(&params))
            .into_iter()
            .filter(|(name, _)| name.contains("loss"))
            .collect::<Vec<_>>()
    };
    assert_eq!(model_after(1, false), model_after(1, true));
    assert_ne!(model_after(2, false), model_after(2, true));
}

/// By the likelihood alone a guess from one view errs with e^(−ε/2) / 2; every further view helps,
/// unless it is the same.
#[test]
fn edges_are_guessed_as_well_as_theory_says() {
    let mut params = params(Setting::Noise { epsilon: 1.0 });
    params.protocol.rounds = 20;
    let fresh = play(&params);
    let error = |outcome: &Outcome, views: u32| number(outcome, &format!("edge_guess_balanced[views={views}]"));
    let theory = number(&fresh, "edge_guess_balanced@theory");
    assert!((theory - 0.5 * libm::exp(-0.5)).abs() < 1e-12);
    // Some 400 edges and 1,200 other pairs: a deviation of 0.013.
    assert!((error(&fresh, 1) - theory).abs() < 0.052, "{}", error(&fresh, 1));
    assert!(error(&fresh, 20) < 0.1 && error(&fresh, 5) > error(&fresh, 20));
    params.views = Views::Fixed;
    let fixed = play(&params);
    assert!(!fixed.summary.iter().any(|(name, _)| name.contains("[views=2]")));
    let share = number(&fresh, "nonpositive_degrees");
    assert!((0.1..0.45).contains(&share) && number(&fresh, "graphs_with_nonpositive_degree") > share);
}

/// Views that hide nothing give every edge away, and views that tell nothing leave what was known
/// before.
#[test]
fn a_guess_finds_what_views_tell_and_no_more() {
    let at = |epsilon| {
        let mut params = params(Setting::Noise { epsilon });
        params.protocol.rounds = 1;
        play(&params)
    };
    let (open, shut) = (at(200.0), at(1e-6));
    assert_eq!(number(&open, "edge_guess_auc"), 1.0);
    assert_eq!(
        (number(&open, "edge_guess_found"), number(&open, "edge_guess_error")),
        (1.0, 0.0)
    );
    for name in ["edge_guess_auc", "edge_guess_error"] {
        let (guessed, prior) = (number(&shut, name), number(&shut, &format!("{name}@prior")));
        assert!((guessed - prior).abs() < 0.02, "{name}: {guessed} after {prior}");
    }
    // The generator joins some neighbours in the order of a graph, so the prior is worth something;
    // and no more than all.
    assert!((0.5..0.95).contains(&number(&shut, "edge_guess_auc")));
    assert!((number(&shut, "edge_guess_balanced") - 0.5).abs() < 0.052);
}

/// Graphs that are alike but for what is learned, features that say it: every setting must find it,
/// through the noise.
#[test]
fn every_setting_learns_what_features_say() {
    let mut dataset = graphs();
    let classes = dataset.graph_labels.clone().unwrap();
    let rows: Vec<[(u32, f32); 1]> = dataset
        .graphs
        .iter()
        .zip(&classes)
        .flat_map(|(graph, class)| (0..graph.n_nodes()).map(|_| [(*class, 1.0)]))
        .collect();
    dataset.features = Some(folkmoot_graphs::Features::Sparse(
        folkmoot_graphs::SparseRows::from_rows(2, &rows).unwrap(),
    ));
    for setting in [
        Setting::Centralised,
        Setting::Federated,
        Setting::Noise { epsilon: 10.0 },
        NOISY,
        Setting::FgclWithoutNoise,
    ] {
        let mut params = params(setting);
        params.inputs = Inputs::Features;
        params.training.learning_rate = 0.02;
        params.protocol.rounds = 8;
        let outcome = play_on(dataset.clone(), &params, Options::default());
        assert!(
            number(&outcome, "test_roc_auc") > 0.9,
            "{setting:?}: {:?}",
            outcome.summary
        );
    }
}

/// Classes that differ by who is joined to whom and by nothing else: an edge is all there is to
/// find, and without edges nothing is.
#[test]
fn the_control_without_edges_sees_none() {
    let auc = |setting| {
        let mut params = params(setting);
        params.inputs = Inputs::Constant;
        params.model.readout = Pooling::Mean;
        params.training.learning_rate = 0.02;
        params.protocol.rounds = 8;
        params.attacks = false;
        params.model.encoder = Chosen::new(GraphConv {});
        let mut dataset = graphs();
        // Rings in which nodes have two neighbours, and others in which they have four; all of one
        // size, or that would tell.
        let classes = dataset.graph_labels.clone().unwrap();
        for (graph, class) in dataset.graphs.iter_mut().zip(classes) {
            let edges: Vec<(u32, u32)> = (1..=class + 1)
                .flat_map(|step| (0..10).map(move |u| (u, (u + step) % 10)))
                .collect();
            *graph = Graph::from_edges(10, &edges, false).unwrap();
        }
        let outcome = play_on(dataset.clone(), &params, Options::default());
        dataset
            .graphs
            .iter_mut()
            .for_each(|graph| *graph = Graph::from_edges(graph.n_nodes() as u32, &[], false).unwrap());
        let without = play_on(dataset, &params, Options::default());
        (number(&outcome, "test_roc_auc"), bits(&outcome) == bits(&without))
    };
    let (federated, _) = auc(Setting::Federated);
    let (control, is_blind) = auc(Setting::NoEdges);
    assert!(federated > 0.9, "{federated}");
    assert_eq!((control, is_blind), (0.5, true), "all graphs are the same to it");
}

/// Noise of the budgets in question leaves nearly nothing of a graph; what is trained on it must
/// stay in bounds.
#[test]
fn losses_stay_small_under_heavy_noise_unless_as_printed() {
    let loss = |encoder, epsilon, rule: Option<DegreeRule>| {
        let spec = datasets::GraphClasses {
            n_graphs: 60,
            n_classes: 2,
            min_nodes: 30,
            max_nodes: 40,
        };
        let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
        let mut params = params(Setting::Noise { epsilon });
        params.model.encoder = encoder;
        params.degree_rule = rule.unwrap_or(params.degree_rule);
        let outcome = play_on(
            spec.load(&DataDirs::new(), &mut rng).unwrap(),
            &params,
            Options::default(),
        );
        let rows = outcome.tables.scores.iter().filter(|row| row.metric == "loss");
        // A loss that is no number is larger than any.
        let highest = rows.map(|row| row.value).max_by(f64::total_cmp);
        highest.expect("losses are scored")
    };
    let encoders: [Chosen<dyn GraphLayers>; 4] = [
        Chosen::new(Gcn {}),
        Chosen::new(GraphConv {}),
        Chosen::new(Tag { hops: 3 }),
        Chosen::new(LightGcn {}),
    ];
    for encoder in encoders {
        for epsilon in [0.1, 1.0] {
            let loss = loss(encoder.clone(), epsilon, None);
            assert!(loss.abs() < 10.0, "{encoder:?}, {epsilon}: {loss}");
        }
    }
    let printed = loss(Chosen::new(Tag { hops: 3 }), 1.0, Some(DegreeRule::Masked));
    assert!(printed > 100.0, "{printed}");
}

/// What nobody reads, and training that learns nothing, gives the numbers of another run.
#[test]
fn all_encoders_and_options_train_and_make_a_difference() {
    let mut losses = Vec::new();
    let mut run = |change: &dyn Fn(&mut Params)| {
        let mut params = params(NOISY);
        change(&mut params);
        for dataset in [graphs(), tasks()] {
            let outcome = play_on(dataset, &params, Options::default());
            losses.push(number(&outcome, "test_loss"));
            assert_eq!(
                outcome.counters.iter().map(|(_, n)| n.iter().sum::<u64>()).sum::<u64>(),
                0
            );
        }
    };
    run(&|params| params.training.learning_rate = 1e-12);
    let encoders: [Chosen<dyn GraphLayers>; 6] = [
        Chosen::new(Gcn {}),
        Chosen::new(GraphConv {}),
        Chosen::new(Tag { hops: 3 }),
        Chosen::new(LightGcn {}),
        Chosen::new(Gin {}),
        Chosen::new(GinBatchNorm {}),
    ];
    for encoder in encoders {
        run(&|params| params.model.encoder = encoder.clone());
    }
    let encoders: [Chosen<dyn GraphLayers>; 2] = [Chosen::new(Sage {}), Chosen::new(Gat { heads: 2 })];
    for encoder in encoders {
        run(&|params| (params.model.encoder, params.setting) = (encoder.clone(), Setting::FgclWithoutNoise));
    }
    for rule in [DegreeRule::Abs, DegreeRule::Masked, DegreeRule::Relu] {
        run(&|params| params.degree_rule = rule);
    }
    run(&|params| params.training.batch_size = 7);
    run(&|params| params.supervised = Supervised::FirstView);
    run(&|params| {
        params.setting = Setting::FgclWithoutNoise;
        (params.model.encoder, params.contrast.drop_edges) = (Chosen::new(LightGcn {}), 0.2);
    });
    run(&|params| params.model.joint_readout = true);
    run(&|params| (params.views, params.draws) = (Views::Fixed, Draws::PerEntry));
    run(&|params| {
        params.contrast = Contrast {
            negatives: 3,
            queue: 4,
            order: Order::Lifo,
            refill: false,
            drop_edges: 0.0,
            lambda: 1.0,
            temperature: 0.2,
            include_positive: false,
            stop_gradient: true,
        }
    });
    assert!(losses.iter().all(|loss| loss.is_finite()), "{losses:?}");
    for (i, loss) in losses.iter().enumerate() {
        assert!(!losses[..i].contains(loss), "run {i}: {losses:?}");
    }
}

/// Clients with all data, with little, and with none: the model of one that has none counts
/// nothing.
#[test]
fn all_settings_are_tested_on_the_same_graphs() {
    let dataset = Arc::new(graphs());
    let played = |setting, spec: &dyn Partitioner| {
        let mut params = params(setting);
        params.training.optimiser = LocalOptimiser::Sgd { momentum: 0.0 };
        play_over(&dataset, &partition(&dataset, spec), &params, Options::default())
    };
    // Trained at one client or at the first of three: the same model.
    let (one, three) = (partition::Iid { n_clients: 1 }, partition::Iid { n_clients: 3 });
    let alone = played(Setting::Federated, &one);
    assert_eq!(bits(&alone), bits(&played(Setting::Centralised, &three)));
    assert_ne!(bits(&alone), bits(&played(Setting::Federated, &three)));
}

/// Centralised training is one training, whose optimiser knows its steps before; a client's is a
/// new one in every round.
#[test]
fn a_centralised_optimiser_goes_on() {
    let after = |setting, rounds| {
        let mut params = params(setting);
        params.protocol.rounds = rounds;
        let dataset = Arc::new(graphs());
        let one = partition(&dataset, &partition::Iid { n_clients: 1 });
        bits(&play_over(&dataset, &one, &params, Options::default()))
    };
    assert_eq!(after(Setting::Centralised, 1), after(Setting::Federated, 1));
    assert_ne!(after(Setting::Centralised, 2), after(Setting::Federated, 2));
    // Steps with all graphs at once: two rounds are one round of two epochs, but for the order of
    // sums.
    let loss = |setting, rounds, epochs| {
        let mut params = params(setting);
        params.protocol.rounds = rounds;
        params.training.epochs = epochs;
        params.training.batch_size = 1_000;
        params.model.dropout = 0.0;
        let dataset = Arc::new(graphs());
        let one = partition(&dataset, &partition::Iid { n_clients: 1 });
        number(&play_over(&dataset, &one, &params, Options::default()), "test_loss")
    };
    let (rounds, epochs) = (loss(Setting::Centralised, 4, 1), loss(Setting::Federated, 1, 4));
    let anew = loss(Setting::Federated, 4, 1);
    let [near, far] = [rounds, anew].map(|loss| (loss - epochs).abs() / epochs);
    assert!(near < 5e-5 && far > 10.0 * near, "{rounds} and {anew} for {epochs}");
}

#[test]
fn what_does_not_suit_is_refused() {
    let refusal = |dataset: Dataset, params: &Params| {
        let partition = partition(&dataset, &partition::Iid { n_clients: 3 });
        params
            .prepare(&Source::new(&Arc::new(dataset), &partition, Streams::new(5)))
            .err()
            .unwrap()
            .0
    };
    let mut directed = graphs();
    directed.graphs[7] = Graph::from_edges(directed.graphs[7].n_nodes() as u32, &[(0, 1)], true).unwrap();
    assert_eq!(
        refusal(directed.clone(), &params(NOISY)),
        "Fgcl: graph 7 is directed or weighted, and views are made of tables of pairs that are joined or not; use a setting without noise, \
         and no contrast.drop_edges"
    );
    let partition_of = partition(&directed, &partition::Iid { n_clients: 3 });
    assert!(
        params(Setting::Federated)
            .prepare(&Source::new(&Arc::new(directed), &partition_of, Streams::new(5)))
            .is_ok()
    );
    let mut bare = graphs();
    bare.graph_labels = None;
    assert!(refusal(bare, &params(NOISY)).contains("has no labels of graphs to learn"));
    let mut features = params(NOISY);
    features.inputs = Inputs::Features;
    assert!(refusal(graphs(), &features).contains("has no features"));
    let mut published = params(NOISY);
    published.split = Split::Published;
    assert!(refusal(graphs(), &published).contains("was published without a split"));

    let mut bad = params(Setting::Fgcl {
        epsilon: 0.0,
        epsilon_2: Some(f64::INFINITY),
    });
    bad.model.encoder = Chosen::new(Sage {});
    bad.contrast = Contrast {
        negatives: 0,
        queue: 0,
        lambda: -1.0,
        temperature: 0.0,
        ..Contrast::default()
    };
    bad.training = Training {
        batch_size: 0,
        ..Training::default()
    };
    let fields: Vec<String> = bad.broken().into_iter().map(|broken| broken.path).collect();
    let expected = [
        "setting.epsilon",
        "setting.epsilon_2",
        "contrast.negatives",
        "contrast.queue",
        "contrast.lambda",
        "contrast.temperature",
        "training.batch_size",
        "model.encoder",
    ];
    assert_eq!(fields, expected);
    // The second budget is the first where it is not written, and nobody is told twice.
    let one = params(Setting::Fgcl {
        epsilon: -1.0,
        epsilon_2: None,
    });
    let broken: Vec<String> = one.broken().iter().map(ToString::to_string).collect();
    let rule = "setting.epsilon: must be finite and at least 0.000001, got -1";
    assert_eq!(broken, [rule]);
    let said = |params: &Params| params.broken().iter().map(ToString::to_string).collect::<Vec<_>>();
    // Degrees of the graph as it is would tell what noise on its edges hides; without noise, or
    // without edges, nothing is hidden.
    for counted in [Inputs::Degree { most: 8 }, Inputs::FeaturesOrDegree { most: 8 }] {
        for setting in [NOISY, Setting::Noise { epsilon: 1.0 }] {
            let clean = Params {
                inputs: counted,
                ..params(setting)
            };
            let rule = "inputs: must not depend on edges under edge noise, as Degree, FeaturesOrDegree and Structured may: use Features, \
                        Intrinsic or Constant, or a setting without noise";
            assert_eq!(said(&clean), [rule]);
        }
        for setting in [Setting::Federated, Setting::FgclWithoutNoise, Setting::NoEdges] {
            assert_eq!(
                said(&Params {
                    inputs: counted,
                    ..params(setting)
                }),
                [""; 0]
            );
        }
    }
    // An encoder that drops nothing inside makes the same of the same graph, and has nothing to
    // contrast.
    let mut alike = params(Setting::FgclWithoutNoise);
    alike.model.encoder = Chosen::new(LightGcn {});
    let rule = "contrast.drop_edges: must be above 0 with LightGcn and FgclWithoutNoise: that encoder has no dropout, so both views would be identical";
    assert_eq!(said(&alike), [rule]);
    alike.contrast.drop_edges = 0.1;
    assert_eq!(said(&alike), [""; 0]);
    // A broken range hides no rule that ties several settings.
    let mut both = params(NOISY);
    both.model.hidden = 16;
    both.model.layers = 0;
    both.model.encoder = Chosen::new(Gat { heads: 3 });
    let broken: Vec<String> = both.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(broken, ["model.layers", "model.encoder", "model.encoder.heads"]);
}

/// A variant sets what a card leaves open and nothing else.
#[test]
fn variants_fill_in_what_is_open() {
    let read = |text: &str| folkmoot_fgcl::only().settings::<Params>(text).unwrap();
    let released = read("(variant: Some(AsReleased))");
    assert_eq!((released.model.relu, released.model.joint_readout), (false, true));
    assert!(released.normalise_features);
    let printed = read("(variant: Some(AsPublished), protocol: (rounds: 7))");
    assert_eq!(
        format!("{:?} {}", printed.protocol.weighting, printed.protocol.rounds),
        "Uniform 7"
    );
    let corrected = read("(variant: Some(Corrected), degree_rule: Abs, model: (hidden: 5))");
    assert_eq!(
        (corrected.views, corrected.degree_rule),
        (Views::Fixed, DegreeRule::Abs)
    );
    assert_eq!((corrected.model.hidden, corrected.model.relu), (5, true));
    let weighted = read("(variant: Some(AsPublished), protocol: (weighting: Samples))");
    assert_eq!(format!("{:?}", weighted.protocol.weighting), "Samples");
    for params in [released, printed, corrected, weighted, Params::default()] {
        assert_eq!(read(&folkmoot_parts::text_of(&params)), params);
    }
}
