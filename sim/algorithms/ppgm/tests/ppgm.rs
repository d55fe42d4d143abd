//! PPGM as a run: pieces against the whole, messages against the table, what an eavesdropper learns
//! with and without a signal, and wrong data.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::availability;
use folkmoot_graphs::{
    CountScaling, DataDirs, DataSource, Dataset, Features, GraphBuilder, Pair, Partition, SparseRows, datasets,
};
use folkmoot_learning::Tape;
use folkmoot_ppgm::data::Data;
use folkmoot_ppgm::learned::Learned;
use folkmoot_ppgm::matcher::{self, Input, Matcher, Stages};
use folkmoot_ppgm::options::{
    Attack, Convolution, Deployment, Distillation, Form, Head, Intercept, Model, Sends, Size, Targets, Training,
    Variant,
};
use folkmoot_ppgm::pairs::Deployed;
use folkmoot_ppgm::train::Trainer;
use folkmoot_ppgm::view::View;
use folkmoot_ppgm::{Params, Ppgm};
use folkmoot_scenarios::algorithm::{Algorithm, Prepared, Source};
use std::sync::Arc;

#[path = "ppgm/ablations.rs"]
mod ablations;
#[path = "ppgm/absence.rs"]
mod absence;
#[path = "ppgm/codec.rs"]
mod codec;
#[path = "ppgm/egsc.rs"]
mod egsc;
#[path = "ppgm/over_devices.rs"]
mod over_devices;
#[path = "ppgm/private.rs"]
mod private;
#[path = "ppgm/refusals.rs"]
mod refusals;
#[path = "ppgm/thorough.rs"]
mod thorough;

const MODELS: [Model; 15] = [
    Model::Ppgm,
    Model::NoObfuscation,
    Model::NoCodes,
    Model::NoMatching,
    Model::Sgnn,
    Model::SgnnLdp { scale: 0.5 },
    Model::SimGnn,
    Model::Gmn,
    Model::GraphSim,
    Model::Mgmn,
    Model::H2mn,
    Model::EgscTeacher { sends: Sends::Graph },
    Model::EgscTeacher { sends: Sends::Nodes },
    Model::EgscStudent {
        distillation: Distillation::None,
    },
    Model::EgscStudent {
        distillation: Distillation::Both,
    },
];

/// Variants of generated functions; the greater the effect, the more they tell of their property.
fn functions(n_functions: u32, property_effect: f64, n_compilers: u32) -> Arc<Dataset> {
    let spec = datasets::ControlFlow {
        n_functions,
        n_nodes: (6, 14),
        n_compilers,
        n_levels: 2,
        variant_prob: 0.9,
        property_effect,
        scaling: CountScaling::Log,
    };
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    Arc::new(spec.load(&DataDirs::new(), &mut rng).unwrap())
}

/// What a variant says of the form.
fn form(variant: Variant) -> Form {
    folkmoot_ppgm::only()
        .settings::<Params>(&format!("(variant: {variant:?})"))
        .unwrap()
        .form
}

fn params(model: Model) -> Params {
    Params {
        model,
        size: Size {
            hidden: 16,
            layers: 2,
            codes: 3,
            heads: 2,
        },
        training: Training {
            epochs: 2,
            learning_rate: 0.003,
            ..Training::default()
        },
        attack: Attack {
            epochs: 5,
            ..Params::default().attack
        },
        deployment: Deployment {
            matches_per_client: 2.0,
            ..Deployment::default()
        },
        ..Params::default()
    }
}

fn one_each(dataset: &Dataset) -> Arc<Partition> {
    Arc::new(Partition::one_item_each(dataset.graphs.len() as u32))
}

/// The system with a device for each graph, and what whoever trains it sees.
struct Whole {
    prepared: Prepared<Params>,
    data: Data,
}

impl Whole {
    fn view(&self) -> View<'_> {
        View {
            ppgm: &self.prepared.strategy,
            data: &self.data,
            streams: Streams::new(3),
        }
    }

    fn data(&self) -> &Data {
        &self.data
    }

    fn matcher(&self) -> &dyn Matcher {
        self.prepared.strategy.matcher()
    }

    fn train(&self) -> Learned {
        self.view().learn()
    }

    fn initial(&self) -> Vec<f32> {
        self.prepared
            .strategy
            .initial(|purpose| Streams::new(3).global(purpose))
    }

    fn deployed<'a>(&'a self, parameters: &'a [f32]) -> Deployed<'a> {
        self.prepared.strategy.deployed(parameters, Streams::new(3))
    }

    fn system(&self) -> System<'_, Ppgm> {
        self.prepared.system()
    }
}

fn system(dataset: &Arc<Dataset>, params: &Params) -> Whole {
    let partition = one_each(dataset);
    let source = Source::new(dataset, &partition, Streams::new(3));
    Whole {
        prepared: params.prepare(&source).unwrap(),
        data: Data::new(params, &source).unwrap(),
    }
}

fn play_in(world: &World, dataset: &Arc<Dataset>, params: &Params, options: Options) -> Outcome {
    run(system(dataset, params).system(), world, 3, options, &mut Unobserved).unwrap()
}

fn find(outcome: &Outcome, name: &str) -> Option<f64> {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| *value)
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    find(outcome, name).unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary))
}

fn everything(outcome: &Outcome) -> String {
    let (ledger, rounds, summary, clients) = (
        &outcome.ledger,
        &outcome.tables.rounds,
        &outcome.summary,
        &outcome.tables.clients,
    );
    format!(
        "{ledger:?} {rounds:?} {summary:?} {clients:?} {:?} {:?}",
        outcome.tables.scores, outcome.tables.privacy
    )
}

#[test]
fn models_have_the_parameters_that_the_text_counts() {
    let count = |variant| {
        let form = form(variant);
        matcher::build(Model::Ppgm, &Size::default(), &form, 6).layout().len()
    };
    assert_eq!(count(Variant::AsPublished), 223_300);
    assert_eq!(count(Variant::Corrected), 223_300);
    // Two blocks of 2 norms and a feed-forward of width 1024, and the LSTM's other direction.
    assert_eq!(count(Variant::AsReleased), 223_300 + 2 * (400 + 205_924) + 120_800);
}

#[test]
fn devices_compute_the_very_bits_of_the_whole_model_in_memory() {
    let dataset = functions(20, 1.0, 2);
    for model in MODELS {
        let system = system(&dataset, &params(model));
        let (data, matcher, parameters) = (system.data(), system.matcher(), system.initial());
        let pair = data.test[1];
        let graphs = [pair.first, pair.second].map(|id| &data.inputs[id as usize]);
        let mut tape = Tape::new();
        tape.load(matcher.layout(), &parameters);
        let mut sides = matcher.begin(&mut tape, &graphs, None);
        let shape = |var| tape.shape(var);
        for (side, graph) in sides.iter().zip(graphs) {
            assert_eq!(
                side.sent.map(shape),
                matcher.sent_shape(0, graph.n_nodes()),
                "{model:?}"
            );
        }
        for step in 0..matcher.n_exchanges() {
            let sent = [1, 0].map(|other: usize| sides[other].sent.unwrap());
            sides = matcher.meet(&mut tape, step, &graphs, &sides, &sent, None);
            for (side, graph) in sides.iter().zip(graphs) {
                let shape = side.sent.map(|var| tape.shape(var));
                assert_eq!(shape, matcher.sent_shape(step + 1, graph.n_nodes()), "{model:?}");
            }
        }
        for (side, graph) in sides.iter().zip(graphs) {
            assert_eq!(
                tape.shape(side.state),
                matcher.result_shape(graph.n_nodes()),
                "{model:?}"
            );
        }
        let score = matcher.score(&mut tape, sides[0].state, sides[1].state);
        let mut deployed = system.deployed(&parameters);
        deployed.noise = None;
        let seen = deployed.observe(&data.inputs, &[pair], |_, seen| (seen.score, seen.results[1].clone()));
        assert_eq!(seen[0].0.to_bits(), tape.scalar(score).to_bits(), "{model:?}");
        assert_eq!(seen[0].1.data, tape.value(sides[1].state), "{model:?}");
    }
}

#[test]
fn every_model_runs_in_the_same_protocol_and_sends_what_it_declares() {
    let dataset = functions(20, 1.0, 2);
    for model in MODELS {
        let params = params(model);
        let outcome = play_in(&World::ideal(), &dataset, &params, Options::default());
        let begun = number(&outcome, "matches_begun");
        assert!(begun > 50.0, "{model:?}");
        assert_eq!(number(&outcome, "matches_scored"), begun, "{model:?}");
        let noisy = matches!(model, Model::SgnnLdp { .. });
        let unlike = (!noisy).then_some(0.0);
        assert_eq!(find(&outcome, "scores_unlike_in_memory"), unlike, "{model:?}");
        let sent = |name: &str| {
            let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
            rows.fold((0, 0), |sum, (.., cell)| {
                (sum.0 + cell.sent, sum.1 + cell.payload_bytes)
            })
        };
        let system = system(&dataset, &params);
        let exchanges = u64::from(system.matcher().n_exchanges());
        let begun = begun as u64;
        assert_eq!(sent("exchange").0, 2 * exchanges * begun, "{model:?}");
        assert_eq!(sent("invite").0, if exchanges == 0 { begun } else { 0 }, "{model:?}");
        assert_eq!((sent("result").0, sent("score").0), (2 * begun, 2 * begun), "{model:?}");
        let n_clients = dataset.graphs.len() as u64;
        let model_bytes = 4 * system.matcher().layout().len() as u64;
        assert_eq!(sent("model"), (n_clients, n_clients * model_bytes), "{model:?}");
        if model == Model::Ppgm {
            assert_eq!(sent("exchange").1, 2 * begun * (12 + 4 * 3 * 16));
            assert_eq!(sent("result").1, 2 * begun * (8 + 4 * 16));
        }
        assert_eq!(
            find(&outcome, "structure_auc").is_some(),
            system.matcher().sends_nodes(),
            "{model:?}"
        );
        assert_eq!(find(&outcome, "attack_auc_g").is_some(), exchanges > 0, "{model:?}");
        let table = outcome
            .artifacts
            .iter()
            .find(|artifact| artifact.path == "not_scored.csv");
        let missing = table.map_or("", |table| std::str::from_utf8(&table.bytes).unwrap());
        for (name, applies) in [
            ("structure_auc", system.matcher().sends_nodes()),
            ("attack_auc_g", exchanges > 0),
            ("attack_auc_all_g", exchanges > 0),
        ] {
            assert_eq!(
                missing.contains(&format!("{name},\"not applicable: ")),
                !applies,
                "{model:?}"
            );
        }
        assert!(
            outcome
                .tables
                .privacy
                .iter()
                .all(|row| row.mechanism.starts_with("none")),
            "{model:?}"
        );
        assert!(
            outcome.tables.privacy.iter().any(|row| row.releases == 2 * begun),
            "{model:?}"
        );
    }
}

#[test]
fn threads_windows_and_encoding_do_not_matter() {
    let dataset = functions(20, 1.0, 2);
    let world = World {
        availability: Box::new(availability::OnOff {
            mean_on_s: 3600.0,
            mean_off_s: 600.0,
        }),
        ..World::ideal()
    };
    let noisy = Model::SgnnLdp { scale: 0.5 };
    for model in [Model::Ppgm, noisy, Model::Gmn, Model::Mgmn, Model::H2mn] {
        let alone = everything(&play_in(&world, &dataset, &params(model), Options::default()));
        for (threads, windows, wire_check) in [(2, true, true), (1, false, false), (3, true, false)] {
            let options = Options {
                threads,
                windows,
                wire_check,
                ..Options::default()
            };
            let other = everything(&play_in(&world, &dataset, &params(model), options));
            assert!(alone == other, "{model:?} with {options:?}");
        }
    }
}

#[test]
fn a_dry_run_sends_the_same_and_learns_nothing() {
    let dataset = functions(20, 1.0, 2);
    for model in [Model::Ppgm, Model::Gmn, Model::GraphSim, Model::H2mn] {
        let wet = play_in(&World::ideal(), &dataset, &params(model), Options::default());
        let options = Options {
            dry_run: true,
            ..Options::default()
        };
        let dry = play_in(&World::ideal(), &dataset, &params(model), options);
        assert_eq!(format!("{:?}", dry.ledger), format!("{:?}", wet.ledger), "{model:?}");
        assert_eq!(find(&dry, "similarity_auc"), None);
    }
}

#[test]
fn every_model_learns_to_tell_functions_apart() {
    let dataset = functions(60, 0.3, 2);
    for model in MODELS {
        let mut params = params(model);
        params.size.hidden = 32;
        params.training.epochs = 12;
        if let Model::SgnnLdp { .. } = model {
            params.model = Model::SgnnLdp { scale: 0.05 };
        }
        let learned = system(&dataset, &params).train();
        let (first, last) = (learned.epochs[0].loss, learned.epochs[11].loss);
        assert!(last < first, "{model:?}: {first} to {last}");
        let auc = learned.measured.last().unwrap().similarity_auc.unwrap();
        assert!(auc > 0.7, "{model:?}: {auc}");
    }
}

#[test]
fn other_forms_learn_too() {
    let dataset = functions(40, 0.3, 2);
    let released = form(Variant::AsReleased);
    let printed = form(Variant::AsPublished);
    let forms = [
        Form {
            feed_forward: 32,
            ..released
        },
        Form {
            convolution: Convolution::Gin,
            ..printed
        },
        Form {
            head: Head::Regression,
            ..printed
        },
        Form {
            targets: Targets::ZeroOne,
            ..printed
        },
    ];
    for form in forms {
        let mut params = params(Model::Ppgm);
        params.form = form;
        // A perceptron that must find out what likeness is takes longer than a cosine.
        params.training.epochs = if form.head == Head::Regression { 30 } else { 8 };
        let learned = system(&dataset, &params).train();
        let losses: Vec<f64> = learned.epochs.iter().map(|epoch| epoch.loss).collect();
        assert!(losses.last() < losses.first(), "{form:?}: {losses:?}");
        let auc = learned.measured.last().unwrap().similarity_auc.unwrap();
        assert!(auc > 0.6, "{form:?}: {auc}");
    }
}

/// Without a mask a score depends on who else is in the batch; with it, it does not.
#[test]
fn padding_without_a_mask_changes_scores() {
    let dataset = functions(30, 0.3, 2);
    let score = |variant, others: bool| {
        let mut params = params(Model::Ppgm);
        params.form = Form {
            feed_forward: 0,
            ..form(variant)
        };
        let system = system(&dataset, &params);
        let data = system.data();
        let small = |pair: &&Pair| {
            let sizes = [pair.first, pair.second].map(|id| data.inputs[id as usize].n_nodes());
            sizes[0].max(sizes[1]) < 12
        };
        let mut pairs: Vec<Pair> = data.test.iter().find(small).into_iter().copied().collect();
        if others {
            let large = (0..data.inputs.len() as u32)
                .max_by_key(|&id| data.inputs[id as usize].n_nodes())
                .unwrap();
            pairs.push(Pair {
                first: large,
                second: large,
                matches: true,
            });
        }
        let parameters = system.initial();
        system
            .deployed(&parameters)
            .observe(&data.inputs, &pairs, |_, seen| seen.score.to_bits())[0]
    };
    assert_eq!(score(Variant::Corrected, false), score(Variant::Corrected, true));
    assert_ne!(score(Variant::AsReleased, false), score(Variant::AsReleased, true));
}

/// A node reads its successors by the form of the released code, and both ways by the text.
#[test]
fn directed_graphs_are_read_from_successors() {
    let (arc, _) = GraphBuilder::new(2).directed(true).build(&[(0, 1)]).unwrap();
    let features = |second| Features::Sparse(SparseRows::from_rows(1, &[[(0, 1.0)], [(0, second)]]).unwrap());
    let moved = |variant: Variant| {
        let form = form(variant);
        let matcher = matcher::build(Model::GraphSim, &params(Model::GraphSim).size, &form, 1);
        let parameters = vec![0.1; matcher.layout().len()];
        let inputs = [2.0, 3.0].map(|second| Input::new(&arc, &features(second), 0..2, &form));
        let rows = |input| Stages::with(matcher.as_ref(), &parameters, |stages| stages.begin(input).state);
        let [before, after] = inputs.each_ref().map(rows);
        let width = before.n_columns as usize;
        [0, 1].map(|node| before.data[node * width..][..width] != after.data[node * width..][..width])
    };
    assert_eq!(moved(Variant::Corrected), [true, true]);
    // Without a loop a node does not read itself, and the second has no successor.
    assert_eq!(moved(Variant::AsReleased), [true, false]);
}

/// The area is 1/2 within 4 standard errors (about 0.03 for some 180 targets) where variants bear
/// no mark, far above where they do.
#[test]
fn an_attack_succeeds_on_marks_and_on_nothing_else() {
    let attacked = |effect| {
        let found = thorough::attacked_after_an_epoch(Model::Ppgm, &functions(120, effect, 2)).attacks;
        [Intercept::G, Intercept::Concat].map(|wanted| {
            let area = found.iter().find(|(intercept, _)| *intercept == wanted).unwrap().1;
            area.unwrap()
        })
    };
    for area in attacked(0.0) {
        assert!((area - 0.5).abs() < 0.12, "{area}");
    }
    for area in attacked(1.0) {
        assert!(area > 0.7, "{area}");
    }
}

/// Each difference between the attacker of the text and that of the released code changes what is
/// inferred, and a variant sets all.
#[test]
fn attackers_differ_in_what_a_card_says_of_them() {
    let dataset = functions(60, 1.0, 2);
    let of = |variant: &str| -> Attack {
        let card = format!("(variant: {variant}, attack: (epochs: 20, shadow: 0.5))");
        folkmoot_ppgm::only().settings::<Params>(&card).unwrap().attack
    };
    let inferred = |attack: Attack| {
        let mut params = params(Model::Ppgm);
        params.training.epochs = 0;
        params.attack = attack;
        system(&dataset, &params).train().measured[0].attacks[0].1.unwrap()
    };
    let (printed, released) = (of("Corrected"), of("AsReleased"));
    let plain = inferred(printed.clone());
    let changes: [fn(&mut Attack, &Attack); 6] = [
        |attack, other| attack.shadow_of = other.shadow_of,
        |attack, other| attack.standardise = other.standardise,
        |attack, other| attack.layers = other.layers,
        |attack, other| attack.learning_rate = other.learning_rate,
        |attack, other| attack.batch = other.batch,
        |attack, other| attack.choice = other.choice,
    ];
    let mut all = printed.clone();
    for (at, change) in changes.iter().enumerate() {
        let mut attack = printed.clone();
        change(&mut attack, &released);
        assert_ne!(inferred(attack), plain, "change {at}");
        change(&mut all, &released);
    }
    assert_eq!(all, released);
    // The marks are plain: whoever learns anything is well above a guess.
    assert!(plain > 0.65 && inferred(released) > 0.65);
}

/// Nodes that took part in a propagation resemble their neighbours, where they leave as they are;
/// PPGM lets none leave.
#[test]
fn arcs_are_found_where_nodes_leave() {
    let dataset = functions(40, 0.3, 2);
    let found = |model| {
        let mut params = params(model);
        params.training.epochs = 0;
        system(&dataset, &params).train().measured[0].structure_auc
    };
    for model in [Model::SimGnn, Model::GraphSim, Model::Mgmn, Model::H2mn] {
        assert!(found(model).unwrap() > 0.6, "{model:?}: {:?}", found(model));
    }
    // One layer that mixes neighbours with the node itself and with the other graph hides them from
    // a cosine.
    let hidden = found(Model::Gmn).unwrap();
    assert!((hidden - 0.5).abs() < 0.1, "{hidden}");
    for model in [Model::Ppgm, Model::NoCodes, Model::Sgnn] {
        assert_eq!(found(model), None, "{model:?}");
    }
}

/// The sum over a batch's parts is the batch's gradient: one step with small parts moves the model
/// as a step on one tape would.
#[test]
fn a_step_minimises_the_mean_over_the_batch() {
    let dataset = functions(30, 0.3, 2);
    let params = params(Model::Ppgm);
    let system = system(&dataset, &params);
    let batch = &system.data().test[..8];
    let mut trainer = Trainer::new(
        system.matcher(),
        params.form,
        &params.training,
        system.initial(),
        Streams::new(1),
    );
    let scores = |parameters: &[f32]| {
        system
            .deployed(parameters)
            .observe(&system.data().inputs, batch, |pair, seen| {
                let target = if pair.matches { 1.0 } else { -1.0 };
                (f64::from(seen.score) - target).powi(2)
            })
    };
    let expected = scores(trainer.parameters()).iter().sum::<f64>() / 8.0;
    let first = trainer.step(&system.data().inputs, batch);
    assert!((first - expected).abs() < 1e-5 * expected, "{first} and {expected}");
    let last = (0..30)
        .map(|_| trainer.step(&system.data().inputs, batch))
        .last()
        .unwrap();
    assert!(last < 0.7 * first, "{first} to {last}");
}

/// A function of one variant matches itself.
#[test]
fn functions_of_one_variant_are_paired_with_themselves() {
    let dataset = thorough::of_one_variant();
    let system = system(&dataset, &params(Model::Ppgm));
    assert!(
        system
            .data()
            .test
            .iter()
            .all(|pair| pair.matches == (pair.first == pair.second))
    );
    let learned = system.train();
    assert!(learned.measured.last().unwrap().similarity_auc.unwrap() > 0.9);
}
