//! GW-LDP as a run: what the server can tell, what drops out, and that nothing depends on how it is
//! run.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_classifiers::classifier::{Inputs, Split};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_engine::world::{DropoutSpec, availability};
use folkmoot_graphs::{Centres, DataDirs, DataSource, Dataset, Partition, Partitioner, datasets, partition};
use folkmoot_gw_ldp::release::{MultiBit, Plain, Sampled};
use folkmoot_gw_ldp::{ChooseBy, Collect, Evaluation, Method, Metric, Params, SvmChoice, Wish};
use folkmoot_parts::{Chosen, Value};
use folkmoot_rounds::{Protocol, SidePayload, Task, Trainer};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_scores::adjusted_rand;
use folkmoot_scores::classical::SvmGrid;
use std::sync::Arc;

#[path = "gw_ldp/codec.rs"]
mod codec;
#[path = "gw_ldp/identity.rs"]
mod identity;
#[path = "gw_ldp/learned.rs"]
mod learned;
#[path = "gw_ldp/targets.rs"]
mod targets;
#[path = "gw_ldp/weights.rs"]
mod weights;

fn load(spec: &dyn DataSource) -> Arc<Dataset> {
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    Arc::new(spec.load(&DataDirs::new(), &mut rng).unwrap())
}

/// 60 generated graphs of three classes.
fn graphs() -> Arc<Dataset> {
    load(&datasets::GraphClasses {
        n_graphs: 60,
        n_classes: 3,
        min_nodes: 6,
        max_nodes: 12,
    })
}

fn divide(dataset: &Dataset, spec: &dyn Partitioner) -> Arc<Partition> {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    Arc::new(spec.divide(dataset, &mut rng).unwrap())
}

fn iid(dataset: &Dataset) -> Arc<Partition> {
    divide(dataset, &partition::Iid { n_clients: 6 })
}

fn small_grid() -> SvmChoice {
    SvmChoice::Grid {
        grid: SvmGrid {
            c: vec![0.1, 10.0],
            gamma: vec![0.1, 1.0],
            ..SvmGrid::default()
        },
        choose_by: ChooseBy::Validation,
    }
}

fn params(rounds: u32) -> Params {
    Params {
        inputs: Inputs::Degree { most: 8 },
        protocol: Protocol {
            rounds,
            ..Protocol::default()
        },
        evaluation: Evaluation {
            svm: small_grid(),
            ..Evaluation::default()
        },
        ..Params::default()
    }
}

fn try_play(
    params: &Params,
    dataset: &Arc<Dataset>,
    partition: &Arc<Partition>,
    world: &World,
    options: Options,
) -> Outcome {
    assert!(params.broken().is_empty(), "{:?}", params.broken());
    let strategy = params
        .prepare(&Source::new(dataset, partition, Streams::new(5)))
        .unwrap();
    run(strategy.system(), world, 5, options, &mut Unobserved).unwrap()
}

fn play(params: &Params, dataset: &Arc<Dataset>) -> Outcome {
    try_play(params, dataset, &iid(dataset), &World::ideal(), Options::default())
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary)).1
}

fn artifact(outcome: &Outcome, path: &str) -> Vec<u8> {
    let found = outcome.artifacts.iter().find(|artifact| artifact.path == path);
    found.unwrap_or_else(|| panic!("no {path}")).bytes.clone()
}

/// A matrix of `f32` behind NumPy's header of 128 bytes.
fn matrix(outcome: &Outcome, path: &str) -> Vec<f32> {
    let bytes = artifact(outcome, path)[128..].to_vec();
    bytes
        .chunks_exact(4)
        .map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]))
        .collect()
}

/// Summary, artifacts and privacy, to be compared whole.
fn all_of(outcome: &Outcome) -> String {
    let artifacts: Vec<(&String, &Vec<u8>)> = outcome.artifacts.iter().map(|a| (&a.path, &a.bytes)).collect();
    format!("{:?} {artifacts:?} {:?}", outcome.summary, outcome.tables.privacy)
}

#[test]
fn nothing_depends_on_threads_windows_or_encoding() {
    let dataset = graphs();
    let params = Params {
        evaluation: Evaluation {
            metrics: vec![
                Metric::Released,
                Metric::Clean,
                Metric::Hops,
                Metric::Fused { alpha: 0.5 },
                Metric::ShortestPaths,
            ],
            clusters: true,
            map: true,
            changes: 1,
            restart: true,
            history: true,
            ..params(3).evaluation
        },
        collect: Collect::Every(2),
        ..params(3)
    };
    let world = World {
        dropout: DropoutSpec {
            prob: 0.2,
            ..DropoutSpec::default()
        },
        ..World::ideal()
    };
    let partition = iid(&dataset);
    let reference = all_of(&try_play(&params, &dataset, &partition, &world, Options::default()));
    for options in [
        Options {
            threads: 3,
            ..Options::default()
        },
        Options {
            windows: false,
            ..Options::default()
        },
        Options {
            wire_check: true,
            ..Options::default()
        },
    ] {
        assert_eq!(
            all_of(&try_play(&params, &dataset, &partition, &world, options)),
            reference,
            "{options:?}"
        );
    }
}

/// With one entry in the whole matrix, what is released depends on the number of nodes alone
/// (papers: a star matrix), so graphs of one size are at one distance from all others.
#[test]
fn one_entry_in_all_says_the_number_of_nodes_and_nothing_else() {
    let dataset = graphs();
    let params = Params {
        release: Chosen::new(MultiBit {
            entries: Sampled::TotalAsPublished,
            ..MultiBit::default()
        }),
        ..params(2)
    };
    let outcome = play(&params, &dataset);
    let distances = matrix(&outcome, "distances.npy");
    let n = dataset.graphs.len();
    assert_eq!(distances.len(), n * n);
    let size = |i: usize| dataset.graphs[i].n_nodes();
    let mut n_pairs = 0;
    for (u, v) in (0..n)
        .flat_map(|u| (0..u).map(move |v| (u, v)))
        .filter(|(u, v)| size(*u) == size(*v))
    {
        n_pairs += 1;
        for w in (0..n).filter(|w| *w != u && *w != v) {
            assert!((distances[u * n + w] - distances[v * n + w]).abs() < 1e-6);
        }
    }
    assert!(n_pairs > 10);
    let spent = &outcome.tables.privacy[1];
    let smallest = dataset.graphs.iter().map(|graph| graph.n_nodes()).min().unwrap() as f64;
    assert_eq!(spent.releases, 6);
    assert!((spent.epsilon_max_client - 1.0 / (smallest * smallest)).abs() < 1e-12);
    assert_eq!(
        outcome.tables.privacy[0].epsilon_max_client,
        f64::INFINITY,
        "weights are not protected"
    );
}

/// Without noise the server computes what whoever sees all devices would.
#[test]
fn plain_embeddings_are_the_clean_ones() {
    let dataset = graphs();
    let params = Params {
        release: Chosen::new(Plain {}),
        ..params(4)
    };
    let outcome = play(&params, &dataset);
    assert_eq!(
        matrix(&outcome, "distances.npy"),
        matrix(&outcome, "distances_clean.npy")
    );
    for score in ["svm_accuracy", "knn5_accuracy", "mean_distance"] {
        assert_eq!(
            number(&outcome, score),
            number(&outcome, &format!("{score}@clean")),
            "{score}"
        );
    }
    // Rows of a softmax are at most sqrt(2) apart, and so the value is at most 2.
    assert!(
        matrix(&outcome, "distances.npy")
            .iter()
            .all(|value| (0.0..=2.0).contains(value))
    );
}

/// An embedding that is lost on its way leaves an older one at the server, and the clean one beside
/// it is as old.
#[test]
fn clean_embeddings_are_as_old_as_those_received() {
    let dataset = graphs();
    let params = Params {
        release: Chosen::new(Plain {}),
        collect: Collect::Every(1),
        ..params(5)
    };
    let lossy = LinkClass {
        loss_prob: 0.4,
        ..LinkClass::default()
    };
    let links = Links {
        uplink: lossy,
        max_retries: 0,
        ..Links::default()
    };
    let world = World {
        network: Box::new(links),
        ..World::ideal()
    };
    let outcome = try_play(&params, &dataset, &iid(&dataset), &world, Options::default());
    assert!(number(&outcome, "graphs_stale") > 0.0);
    assert_eq!(
        matrix(&outcome, "distances.npy"),
        matrix(&outcome, "distances_clean.npy")
    );
}

/// Features that all nodes share cost nothing to match, whatever another run of the process gave
/// the same graphs.
#[test]
fn fused_distances_are_those_of_the_runs_own_inputs() {
    let dataset = graphs();
    let mean = |inputs| {
        let params = Params {
            inputs,
            release: Chosen::new(Plain {}),
            evaluation: Evaluation {
                metrics: vec![Metric::Fused { alpha: 0.5 }],
                svm: SvmChoice::Off,
                ..Evaluation::default()
            },
            ..params(1)
        };
        number(&play(&params, &dataset), "mean_distance@fused")
    };
    let (degrees, constant) = (mean(Inputs::Degree { most: 8 }), mean(Inputs::Constant));
    assert!(constant < degrees, "{constant} {degrees}");
}

/// Graphs of one node have neither an edge nor a node to lose: that is said, and no mean of nothing
/// is given.
#[test]
fn changes_that_no_graph_can_bear_have_no_mean() {
    let dataset = load(&datasets::DcSbm {
        n_nodes: 30,
        n_classes: 2,
        mean_degree: 4.0,
        ..Default::default()
    });
    let params = Params {
        split: Split::All,
        evaluation: Evaluation {
            metrics: vec![Metric::Released],
            changes: 1,
            ..Evaluation::default()
        },
        ..params(1)
    };
    let partition = divide(&dataset, &partition::NodePerClient {});
    let outcome = try_play(&params, &dataset, &partition, &World::ideal(), Options::default());
    assert!(
        outcome.summary.iter().all(|(_, value)| value.is_finite()),
        "{:?}",
        outcome.summary
    );
    let table = String::from_utf8(artifact(&outcome, "not_scored.csv")).unwrap();
    assert!(
        table.contains("mean_change_edge@clean,\"no graph has an edge to spare\""),
        "{table}"
    );
}

/// The same messages without learning; each graph has its 11 bytes and half a byte a node (three
/// classes: 6 bits a row).
#[test]
fn a_dry_run_sends_as_much() {
    let dataset = graphs();
    let params = Params {
        collect: Collect::Every(2),
        ..params(4)
    };
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let bytes = |outcome: &Outcome| {
        let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "embeddings");
        rows.map(|(.., cell)| (cell.sent, cell.payload_bytes))
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    let world = World::ideal();
    let (wet, dry) = (
        play(&params, &dataset),
        try_play(&params, &dataset, &iid(&dataset), &world, dry),
    );
    let of_graph = |n: usize| 11 + (n * 3).div_ceil(4).min(2 + n) as u64;
    let once: u64 = dataset.graphs.iter().map(|graph| of_graph(graph.n_nodes())).sum();
    assert_eq!(bytes(&wet), (12, 2 * once));
    assert_eq!(bytes(&dry), bytes(&wet));
    assert!(dry.summary.iter().all(|(name, _)| !name.contains("distance")));
    assert_eq!(wet.tables.privacy[1].releases, 12, "each collection spends again");
}

/// Who left in the last round stays with what it gave before; who never gave anything is missing.
#[test]
fn embeddings_of_clients_that_left_stay() {
    let dataset = graphs();
    let world = World {
        availability: Box::new(availability::Bernoulli { online_prob: 0.6 }),
        ..World::ideal()
    };
    let play = |collect| {
        let params = Params { collect, ..params(6) };
        try_play(&params, &dataset, &iid(&dataset), &world, Options::default())
    };
    let (once, often) = (play(Collect::AtEnd), play(Collect::Every(1)));
    assert_eq!(number(&once, "graphs_compared") + number(&once, "graphs_missing"), 60.0);
    assert!(number(&once, "graphs_missing") > 0.0, "someone is away at the end");
    assert_eq!(number(&once, "graphs_stale"), 0.0);
    assert!(number(&often, "graphs_missing") < number(&once, "graphs_missing"));
    assert!(number(&often, "graphs_stale") > 0.0);
    let table = String::from_utf8(artifact(&often, "graphs.csv")).unwrap();
    assert_eq!(table.lines().count() as f64, 1.0 + number(&often, "graphs_compared"));
}

/// Neighbourhoods of one graph: a client each, with the class of its centre, clustered and mapped.
#[test]
fn neighbourhoods_are_clustered_by_their_centres_classes() {
    let dataset = load(&datasets::DcSbm {
        n_nodes: 200,
        n_classes: 3,
        mean_degree: 4.0,
        assortativity: 0.8,
        ..Default::default()
    });
    let spec = partition::KHop {
        hops: 1,
        centres: Centres::Sample(30),
    };
    let partition = divide(&dataset, &spec);
    let params = Params {
        split: Split::All,
        evaluation: Evaluation {
            metrics: vec![Metric::Released, Metric::Clean, Metric::EditDistance],
            clusters: true,
            map: true,
            ..Evaluation::default()
        },
        solver: Method::default(),
        ..params(3)
    };
    let outcome = try_play(&params, &dataset, &partition, &World::ideal(), Options::default());
    assert_eq!(number(&outcome, "graphs_compared"), 30.0);
    // Clusters were made of the distances, classes were not.
    let silhouette = number(&outcome, "silhouette_clusters");
    assert!(
        silhouette > number(&outcome, "silhouette_classes").max(0.0),
        "{silhouette}"
    );
    assert_ne!(number(&outcome, "nmi@clean"), number(&outcome, "nmi"));
    let map = String::from_utf8(artifact(&outcome, "map.csv")).unwrap();
    assert_eq!(
        (map.lines().count(), map.lines().next()),
        (31, Some("graph,class,cluster,x,y"))
    );
    let column = |at: usize| -> Vec<u32> {
        let cells = map.lines().skip(1).map(|line| line.split(',').nth(at).unwrap());
        cells.map(|cell| cell.parse().unwrap()).collect()
    };
    assert_eq!(number(&outcome, "ari"), adjusted_rand(&column(1), &column(2)).unwrap());
    // Neighbourhoods beyond ten nodes have no exact edit distance, and that is said.
    let largest = (0..30).map(|client| partition.shard(client).len()).max().unwrap();
    assert!(largest > 10, "the largest has {largest} nodes");
    let table = String::from_utf8(artifact(&outcome, "not_scored.csv")).unwrap();
    assert!(
        table.contains("distances@edit_distance") && table.contains("at most 10 nodes"),
        "{table}"
    );
    // No one tests: neighbours and the support vector machine say nothing.
    assert!(
        outcome
            .summary
            .iter()
            .all(|(name, _)| !name.starts_with("knn") && !name.starts_with("svm"))
    );
}

#[test]
fn every_variant_and_release_runs() {
    let dataset = graphs();
    let variant = |text: &str| -> Params { folkmoot_gw_ldp::only().settings(text).unwrap() };
    let mut distances = Vec::new();
    for text in [
        "(variant: AsReleased, inputs: Degree(most: 8), protocol: (rounds: 2))",
        "(variant: Corrected, inputs: Degree(most: 8), protocol: (rounds: 2))",
        "(release: Additive(radius: 0.1), distance: Cosine, inputs: Degree(most: 8), protocol: (rounds: 2))",
        "(release: MultiBit(entries: Total), representation: HiddenSoftmax, model: (hidden: 8), inputs: Degree(most: 8), \
          protocol: (rounds: 2), distance: Correlation)",
        "(solver: Entropic(regularisation: 0.05, loss: KullbackLeibler), inputs: Degree(most: 8), protocol: (rounds: 2))",
        "(solver: ProximalPoint(), inputs: Degree(most: 8), protocol: (rounds: 2))",
        "(solver: Entropic(regularisation: 0.05), inputs: Degree(most: 8), protocol: (rounds: 2))",
    ] {
        let mut params = variant(text);
        params.evaluation = Evaluation {
            svm: small_grid(),
            neighbours: vec![3],
            ..Evaluation::default()
        };
        let outcome = play(&params, &dataset);
        let distance = number(&outcome, "mean_distance");
        assert!(
            distance > 0.0 && !distances.contains(&distance),
            "{text}: {distances:?}"
        );
        distances.push(distance);
        let right = number(&outcome, "svm_accuracy") * 12.0;
        assert!(
            (right - right.round()).abs() < 1e-9 && right > 0.0,
            "{text}: {right} of 12"
        );
        let protects = params.release.text().starts_with("MultiBit");
        assert_eq!(
            outcome.tables.privacy[1].epsilon_max_client.is_finite(),
            protects,
            "{text}"
        );
    }
}

/// Who asks for no noise by a name that is none must not get the default.
#[test]
fn no_release_is_not_the_default() {
    let read = |text: &str| folkmoot_gw_ldp::only().settings::<Params>(text);
    let error = read("(release: None)").unwrap_err().to_string();
    assert!(
        error.contains("release: expected a name") && error.contains("got `None`"),
        "{error}"
    );
    let params = read("(variant: Corrected, release: Plain)").unwrap();
    assert_eq!(params.release, Chosen::new(Plain {}));
}

/// What depends on the data of all is settled before the run, and is part of what the server asks
/// for.
#[test]
fn what_is_left_open_is_settled_by_what_everybody_knows() {
    let (dataset, partition) = (graphs(), iid(&graphs()));
    let prepare = |text: &str| {
        let text = format!("(inputs: Degree(most: 8), {text})");
        let params: Params = folkmoot_gw_ldp::only().settings(&text).unwrap();
        params.prepare(&Source::new(&dataset, &partition, Streams::new(5)))
    };
    let wish = |text: &str| {
        let prepared = prepare(text).map_err(|StrategyError(why)| why).unwrap();
        let (trainer, payload) = (prepared.strategy.trainer(), prepared.strategy.payload());
        (
            payload.order(trainer, Round(199), &Default::default()),
            prepared.facts.first_graph_nodes,
        )
    };
    let (open, n_nodes) = wish("release: Gaussian()");
    let std = 1.0 / f64::from(n_nodes);
    assert_eq!(open, wish(&format!("release: Gaussian(std: {std})")).0);
    assert_ne!(open, wish("release: Gaussian(std: 0.9)").0);
    let error = prepare("release: MultiBit(n_sampled: 4)").map(|_| ()).unwrap_err();
    let said = "GwLdp: release.n_sampled: must be at most 3 (values in a row), got 4";
    assert_eq!(error, StrategyError(said.to_owned()));
}

/// A client's own settings say how its rows are released: asked for them by another mechanism, it
/// sends none.
#[test]
fn a_client_releases_by_its_own_mechanism_alone() {
    let (dataset, partition) = (graphs(), iid(&graphs()));
    let source = Source::new(&dataset, &partition, Streams::new(5));
    let prepare = |release| {
        let params = Params { release, ..params(1) };
        params.prepare(&source).map_err(|StrategyError(why)| why).unwrap()
    };
    let (printed, plain) = (prepare(Chosen::default()), prepare(Chosen::new(Plain {})));
    let (client, asked_for_less) = (printed.strategy.payload(), plain.strategy.payload());
    let trainer = printed.strategy.trainer();
    let parameters = trainer
        .layout()
        .initialise(&mut Streams::new(5).global(Purpose(*b"test-ini")));
    let cx = JobContext::of_test(5, ClientId(0), Round(0));
    let sends = |order: &Wish| {
        let shard = printed.shared.shards.shard(ClientId(0));
        client.train(trainer, Task::new(shard, &parameters, &cx), order).1
    };
    let own = client.order(trainer, Round(0), &Default::default());
    assert!(sends(&own).is_some_and(|embeddings| !embeddings.0.is_empty()));
    assert_eq!(
        sends(&asked_for_less.order(trainer, Round(0), &Default::default())),
        None
    );
    assert_eq!(sends(&Wish(None)), None);
}
