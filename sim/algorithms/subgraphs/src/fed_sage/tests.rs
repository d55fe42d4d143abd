mod coding;
mod learning;
mod telling;

use super::exchange::{bytes, filled};
use super::impaired::Impaired;
use super::maker::Sight;
use super::settings::Plan;
use super::told::HEAD;
use super::*;
use folkmoot_classifiers::classifier::graph_layers::{Mlp, Sage};
use folkmoot_classifiers::classifier::{Model, Part, Split, Training};
use folkmoot_classifiers::fed_avg;
use folkmoot_codecs::{Half, Qsgd, Symbols, TopK, Uniform};
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::availability;
use folkmoot_graphs::{
    DataDirs, DataSource, Dataset, Features, Graph, Labels, Partition, Partitioner, SparseRows, datasets, partition,
};
use folkmoot_rounds::{Absent, Protocol, Secure, Weighting};
use folkmoot_scenarios::algorithm::Prepared;

fn stream(seed: u64) -> SimRng {
    Streams::new(seed).global(Purpose(*b"test    "))
}

/// A small generator: how many neighbours it makes, and how it learns.
fn generator(num_pred: u32, epochs: u32, steps: u32) -> Generator {
    small(num_pred, epochs, steps, (1.0, 0.5))
}

/// The same with a last layer so wide that a gradient is kept as its factors.
fn wide(num_pred: u32, epochs: u32, steps: u32) -> Generator {
    let mut wide = generator(num_pred, epochs, steps);
    if let Generator::Trained { second_width, .. } = &mut wide {
        *second_width = 200;
    }
    wide
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// The same with a codec.
fn coded(mut generator: Generator, with: Chosen<dyn Codec>) -> Generator {
    if let Generator::Trained { codec, .. } = &mut generator {
        *codec = with;
    }
    generator
}

/// One without noise or dropout.
fn still(num_pred: u32, epochs: u32, steps: u32) -> Generator {
    small(num_pred, epochs, steps, (0.0, 0.0))
}

fn small(num_pred: u32, epochs: u32, steps: u32, (noise, dropout): (f64, f64)) -> Generator {
    Generator::Trained {
        hidden_portion: 0.5,
        num_pred,
        encoder_hidden: 6,
        latent: 5,
        first_width: 7,
        second_width: 8,
        noise,
        a: 1.0,
        b: 1.0,
        c: 1.0,
        epochs,
        steps,
        learning_rate: 0.01,
        weight_decay: 0.0001,
        dropout,
        codec: Chosen::default(),
    }
}

/// One of the authors' size.
fn of_authors() -> Generator {
    Generator::Trained {
        hidden_portion: 0.5,
        num_pred: 5,
        encoder_hidden: 32,
        latent: 128,
        first_width: 256,
        second_width: 2_048,
        noise: 1.0,
        a: 1.0,
        b: 1.0,
        c: 1.0,
        epochs: 20,
        steps: 20,
        learning_rate: 0.001,
        weight_decay: 0.0001,
        dropout: 0.5,
        codec: Chosen::default(),
    }
}

fn params(generator: Generator, rounds: u32) -> Params {
    Params {
        generator,
        model: Model {
            encoder: Chosen::new(Sage {}),
            hidden: 8,
            dropout: 0.2,
            ..Model::default()
        },
        training: Training {
            learning_rate: 0.1,
            ..Training::default()
        },
        split: Split::Shares {
            train: 0.5,
            validation: 0.3,
        },
        protocol: Protocol {
            rounds,
            ..Protocol::default()
        },
        ..Params::default()
    }
}

fn data(n_clients: u32) -> (Arc<Dataset>, Arc<Partition>) {
    let spec = datasets::ContextualSbm {
        n_nodes: 60,
        n_classes: 3,
        mean_degree: 8.0,
        assortativity: 0.8,
        n_features: 12,
        mark_prob: 0.5,
        other_prob: 0.1,
    };
    let rng = |purpose: &[u8; 8]| Streams::new(1).global(Purpose(*purpose));
    let dataset = Arc::new(spec.load(&DataDirs::new(), &mut rng(b"dataset ")).unwrap());
    let split = partition::Iid { n_clients };
    let partition = Arc::new(split.divide(&dataset, &mut rng(b"partitn ")).unwrap());
    (dataset, partition)
}

fn play_in<P: Algorithm>(params: &P, n_clients: u32, world: &World, options: Options) -> Outcome {
    let (dataset, partition) = data(n_clients);
    let prepared: Prepared<P> = params
        .prepare(&Source::new(&dataset, &partition, Streams::new(3)))
        .unwrap();
    run(prepared.system(), world, 3, options, &mut Unobserved).unwrap()
}

fn played<P: Algorithm>(params: &P, n_clients: u32, options: Options) -> Outcome {
    play_in(params, n_clients, &World::ideal(), options)
}

fn plain() -> Options {
    Options {
        threads: 1,
        ..Options::default()
    }
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(of, _)| of == name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

/// Messages and payload bytes of generators, by direction.
fn sent(outcome: &Outcome) -> Vec<(Direction, u64, u64)> {
    let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "generator");
    rows.map(|(_, _, direction, cell)| (direction, cell.sent, cell.payload_bytes))
        .collect()
}

/// What the first of some clients holds, with its generator and what it hides.
fn at_first_of<R>(
    n_clients: u32,
    generator: Generator,
    look: impl FnOnce(&FedSage, &Makers, &[Piece], &Impaired) -> R,
) -> R {
    let (dataset, partition) = data(n_clients);
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let params = params(generator, 2);
    let prepared = params.prepare(&source).unwrap();
    let task = prepared.strategy.trainer();
    let held = task.classifier.share(params.split, &source).unwrap();
    let piece = |(client, shard): (u32, &Shard)| Piece {
        client: ClientId(client),
        shard: shard.clone(),
    };
    let pieces: Vec<Piece> = (0..).zip(held.shards()).map(piece).collect();
    let makers = task.makers.as_ref().unwrap();
    let shard = &pieces[0].shard;
    let impaired = Impaired::new(&makers.plan, shard, &shard.nodes().unwrap(), &mut stream(4));
    look(task, makers, &pieces, &impaired)
}

fn sight<'a>(makers: &'a Makers, shard: &'a Shard, impaired: &'a Impaired) -> Sight<'a> {
    Sight {
        plan: &makers.plan,
        networks: &makers.networks,
        impaired,
        shard,
    }
}

#[test]
fn a_generator_on_cora_has_the_published_number_of_parameters() {
    let plan = of_authors().plan(1_433, 7, 3).unwrap();
    let n_shared = Networks::new(&plan).n_shared();
    assert_eq!(n_shared, 33_024 + 526_336 + 14_681_085);
    assert_eq!(n_shared, 15_240_445);
    // Without heads and embeddings a step of three clients is 18 times that.
    let one = Plan { steps: 1, ..plan };
    let clients = [(10, true); 3];
    let besides = 3 * 3 * 10 * (128 + 1) * 4 + 18 * 8;
    let of = |plan: &Plan, n_shared: usize, clients: &[(usize, bool)]| {
        let n_bytes = |n_nodes: usize| Some(4 * (n_shared + n_nodes * 129) as u64);
        bytes(plan, n_bytes, clients).unwrap()
    };
    assert_eq!(of(&one, n_shared, &clients), 18 * 4 * n_shared as u64 + besides);
    assert_eq!(of(&plan, n_shared, &clients), 20 * of(&one, n_shared, &clients));
    // Alone, a client is told that nobody says anything; one without edges says nothing.
    assert_eq!(of(&one, 100, &[(1, true)]), 8 + 400 + 4 * 129 + 8);
    assert_eq!(
        of(&one, 100, &[(1, false), (0, true)]),
        2 * (8 + 400 + 4 * 129) + 8 + 400 + 8 + 400
    );
}

/// A path of six nodes of which the second and the fourth are hidden.
#[test]
fn what_is_hidden_is_counted_at_its_neighbours() {
    let edges: Vec<(u32, u32)> = (0..5).map(|node| (node, node + 1)).collect();
    let rows: Vec<Vec<(u32, f32)>> = (0..6).map(|node| vec![(0, node as f32), (1, 1.0)]).collect();
    let classes: Vec<Option<u32>> = (0..6).map(|node| Some(node % 2)).collect();
    let validates = [1, 3];
    let mask = |of: &dyn Fn(u32) -> bool| (0..6).map(of).collect::<Vec<bool>>();
    let dataset = Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(2, &rows).unwrap())),
        node_labels: Some(Labels::from_single(2, &classes).unwrap()),
        n_classes: 2,
        splits: Some(folkmoot_graphs::Splits {
            train: mask(&|node| !validates.contains(&node) && node < 5),
            val: mask(&|node| validates.contains(&node)),
            test: mask(&|node| node == 5),
        }),
        ..Dataset::of_graph("path", Graph::from_edges(6, &edges, false).unwrap())
    });
    let partition = Arc::new(Partition::from_shards(vec![(0..6).collect()]).unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let all = Params {
        split: Split::Published,
        ..params(generator(2, 1, 1), 2)
    };
    let prepared = all.prepare(&source).unwrap();
    let task = prepared.strategy.trainer();
    let plan = Plan {
        hidden_portion: 1.0,
        ..task.makers.as_ref().unwrap().plan
    };
    let held = task.classifier.share(Split::Published, &source).unwrap();
    let shard = &held.shards()[0];
    let nodes = shard.nodes().unwrap();
    let impaired = Impaired::new(&plan, shard, &nodes, &mut stream(1));
    assert_eq!(impaired.nodes, [0, 2, 4, 5]);
    assert_eq!(impaired.missing, [vec![1], vec![1, 3], vec![3], vec![]]);
    assert_eq!(impaired.labels, [0, 0, 0, 1]);
    assert_eq!(impaired.trains, [true, true, true, false]);
    assert_eq!(impaired.batch.rows(), [0.0, 1.0, 2.0, 1.0, 4.0, 1.0, 5.0, 1.0]);
    assert_eq!(impaired.batch.csr().weights(), [1.0, 1.0, 0.5, 0.5, 0.5, 0.5]);
    assert_eq!(super::impaired::n_left(&plan, &nodes), 4);

    // Two made neighbours, of the first node and of the last, stand behind all.
    let mended = filled(task, shard, &[0, 5], &[0.5; 4]);
    let nodes = mended.nodes().unwrap();
    assert_eq!(nodes.neighbours(0).collect::<Vec<usize>>(), [1, 6]);
    assert_eq!(nodes.neighbours(7).collect::<Vec<usize>>(), [5]);
    assert!(Part::Test as usize == 2 && !nodes.are_in(Part::Train)[6] && !nodes.are_in(Part::Test)[7]);
    assert_eq!(&mended.node_features()[12..], [0.5; 4]);
}

#[test]
fn without_neighbours_to_make_it_is_federated_averaging() {
    let off = params(Generator::Off, 3);
    let same = fed_avg::Params {
        model: off.model.clone(),
        training: off.training.clone(),
        inputs: off.inputs,
        split: off.split,
        protocol: off.protocol.clone(),
        ..fed_avg::Params::default()
    };
    let (averaged, fed_sage) = (played(&same, 4, plain()), played(&off, 4, plain()));
    let of_both = |outcome: &Outcome| {
        let rows = outcome
            .tables
            .scores
            .iter()
            .filter(|row| row.metric != "whole_accuracy");
        rows.map(|row| (row.round, row.metric.clone(), row.value.to_bits()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_both(&averaged), of_both(&fed_sage));
    assert_eq!(
        number(&averaged, "test_loss").to_bits(),
        number(&fed_sage, "test_loss").to_bits()
    );
    let none = played(&params(generator(0, 5, 5), 3), 4, plain());
    assert_eq!(none.tables.scores, fed_sage.tables.scores);
    assert!(sent(&none).is_empty());
}

#[test]
fn the_ledger_counts_generators_as_the_formula_does() {
    for n_clients in [1, 3, 4] {
        for dry_run in [false, true] {
            let steps = 2;
            let options = Options { dry_run, ..plain() };
            let outcome = played(&params(generator(2, 2, steps), 3), n_clients, options);
            let n = u64::from(n_clients);
            let counted = number(&outcome, "generator_bytes");
            let theory = number(&outcome, "generator_bytes@theory");
            assert_eq!(counted, theory, "{n_clients} clients, dry: {dry_run}");
            let messages: u64 = sent(&outcome).iter().map(|(_, sent, _)| sent).sum();
            assert_eq!(messages, u64::from(steps) * (2 * n + 2 * n * (n - 1)));
            assert_eq!(number(&outcome, "unanswered_clients"), 0.0);
        }
    }
    let [made, counted] = [false, true].map(|dry_run| {
        let options = Options { dry_run, ..plain() };
        played(&params(generator(2, 2, 2), 3), 4, options)
    });
    assert_eq!(sent(&made), sent(&counted));
    assert_eq!(made.tables.rounds[0].virtual_s, counted.tables.rounds[0].virtual_s);
    // The first round exchanges, in which all take part.
    assert_eq!((made.tables.rounds[0].cohort, made.tables.rounds[0].completed), (4, 4));
}

/// Twenty clients' generators of the authors' size: 40 times 20 of them, a step, none of which is
/// made.
#[test]
fn a_dry_run_makes_no_generator() {
    let options = Options {
        dry_run: true,
        ..plain()
    };
    let outcome = played(&params(of_authors(), 2), 20, options);
    assert_eq!(number(&outcome, "generator_parameters"), 682_300.0);
    let counted = number(&outcome, "generator_bytes");
    assert_eq!(counted, number(&outcome, "generator_bytes@theory"));
    assert!(counted > 2e10, "{counted}");
}

/// All that a result consists of, but how it was made.
fn result(outcome: &Outcome) -> String {
    let rows: Vec<_> = outcome
        .ledger
        .rows()
        .map(|(kind, round, _, cell)| (kind.name, round, cell.sent, cell.payload_bytes))
        .collect();
    format!(
        "{:?} {:?} {:?} {rows:?}",
        outcome.tables.scores, outcome.summary, outcome.tables.privacy
    )
}

#[test]
fn no_result_depends_on_threads_windows_or_encodings() {
    let range = Uniform {
        symbols: Symbols::Range,
        ..Uniform::default()
    };
    for makes in [
        generator(2, 200, 2),
        wide(2, 200, 2),
        coded(wide(2, 200, 2), Chosen::new(Half {})),
        coded(generator(2, 200, 2), Chosen::new(range)),
    ] {
        let few = params(makes, 3);
        let played_once = played(&few, 3, plain());
        assert!(number(&played_once, "made_neighbours") > 0.0);
        let once = result(&played_once);
        let others = [
            Options { threads: 2, ..plain() },
            Options {
                windows: false,
                ..plain()
            },
            Options {
                wire_check: true,
                ..plain()
            },
        ];
        for options in others {
            assert_eq!(result(&played(&few, 3, options)), once);
        }
        assert!(once.contains("none: generator"));
    }
}

#[test]
fn who_is_away_trains_on_its_cut_graph_and_is_counted() {
    let away = World {
        availability: Box::new(availability::Bernoulli { online_prob: 0.4 }),
        deadline: Some(SimSpan::from_secs(10.0)),
        ..World::ideal()
    };
    let mut some = params(generator(2, 2, 1), 3);
    some.protocol.absent = Absent::GiveUp;
    let outcome = play_in(&some, 4, &away, plain());
    let unanswered = number(&outcome, "unanswered_clients");
    assert!((1.0..4.0).contains(&unanswered), "{unanswered}");
    assert!(
        outcome
            .warnings
            .iter()
            .any(|warning| warning.contains("never got through the exchange"))
    );
}

#[test]
fn settings_that_contradict_each_other_are_named() {
    use folkmoot_parts::Value;
    let mut bad = params(generator(2, 2, 1), 3);
    bad.protocol.secure = Secure::Pairwise { threshold: 0.6 };
    bad.model.encoder = Chosen::new(Mlp {});
    let broken: Vec<String> = bad.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(broken, ["protocol.secure", "model.encoder"]);
    bad.generator = generator(0, 2, 1);
    assert!(bad.broken().is_empty());
    let back = Uniform {
        feedback: true,
        ..Uniform::default()
    };
    let refused: [Chosen<dyn Codec>; 3] = [
        Chosen::new(Qsgd::default()),
        Chosen::new(TopK::default()),
        Chosen::new(back),
    ];
    for codec in refused {
        bad.generator = coded(generator(0, 2, 1), codec.clone());
        let broken = bad.broken();
        assert!(broken.iter().all(|broken| broken.path == "generator.codec"));
        assert!(!broken.is_empty(), "{codec:?}");
    }
    let defaults = Params::default();
    assert_eq!(defaults.generator, Generator::Off);
    assert_eq!(
        (defaults.model.encoder, defaults.protocol.weighting),
        (Chosen::new(Sage {}), Weighting::Uniform)
    );
}
