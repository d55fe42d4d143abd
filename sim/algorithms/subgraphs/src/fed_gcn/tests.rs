mod citations;

use super::theory::count;
use super::*;
use folkmoot_classifiers::classifier::graph_layers::Sage;
use folkmoot_classifiers::classifier::{Model, Split, Training};
use folkmoot_codecs::{Half, Qsgd};
use folkmoot_draws::{Purpose, Streams, index, shuffle};
use folkmoot_engine::run::{Options, Outcome, Unobserved, run};
use folkmoot_engine::world::devices;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partition, SparseRows};
use folkmoot_parts::Value as _;
use folkmoot_rounds::Protocol;
use std::collections::{BTreeMap, BTreeSet};

fn stream(seed: u64) -> SimRng {
    Streams::new(seed).global(Purpose(*b"test    "))
}

/// A graph of random edges whose nodes bring `d` numbers, most of them 0.
fn dataset(n: u32, n_edges: usize, d: u32, n_classes: u32) -> Arc<Dataset> {
    let rng = &mut stream(3);
    let mut node = || index(rng, n as usize) as u32;
    let edges: Vec<(u32, u32)> = (0..n_edges).map(|_| (node(), node())).filter(|(u, v)| u != v).collect();
    let rows: Vec<Vec<(u32, f32)>> = (0..n)
        .map(|_| {
            let mut row = BTreeMap::new();
            for _ in 0..4 {
                row.insert(index(rng, d as usize) as u32, 0.5 + index(rng, 10) as f32);
            }
            row.into_iter().collect()
        })
        .collect();
    let classes: Vec<Option<u32>> = (0..n).map(|v| Some(v % n_classes)).collect();
    Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(d, &rows).unwrap())),
        node_labels: Some(Labels::from_single(n_classes, &classes).unwrap()),
        n_classes: n_classes as usize,
        ..Dataset::of_graph("random", Graph::from_edges(n, &edges, false).unwrap())
    })
}

/// Nodes dealt out in turns.
fn turns(n: u32, n_clients: u32) -> Arc<Partition> {
    let shards = (0..n_clients).map(|client| (client..n).step_by(n_clients as usize).collect());
    Arc::new(Partition::from_shards(shards.collect()).unwrap())
}

fn small() -> Params {
    Params {
        model: Model {
            head_layers: 0,
            hidden: 5,
            ..Model::default()
        },
        training: Training {
            learning_rate: 0.1,
            ..Training::default()
        },
        protocol: Protocol {
            rounds: 4,
            ..Protocol::default()
        },
        ..Params::default()
    }
}

fn secure() -> Protocol {
    Protocol {
        secure: folkmoot_rounds::Secure::Pairwise { threshold: 0.6 },
        ..small().protocol
    }
}

/// Every way in which sums go.
fn ways() -> Vec<Params> {
    let of = |between, upload, protocol: Protocol| Params {
        between,
        upload,
        protocol,
        ..small()
    };
    let plain = || small().protocol;
    vec![
        of(Between::Server, Upload::Rows, plain()),
        of(Between::Server, Upload::Border, plain()),
        of(Between::Server, Upload::Dense, plain()),
        of(Between::Peers, Upload::Rows, plain()),
        of(Between::Server, Upload::Rows, secure()),
        of(Between::Peers, Upload::Rows, secure()),
    ]
}

/// The task, what clients hold, and what they keep of the exchange.
fn exchanged(
    params: &Params,
    dataset: &Arc<Dataset>,
    partition: &Arc<Partition>,
) -> (FedGcn, Vec<Part>, Vec<Option<Kept>>) {
    assert!(params.broken().is_empty());
    let source = Source::new(dataset, partition, Streams::new(5));
    let facts = params.facts(&source).unwrap();
    let Ok(rounds) = params.build(&facts) else {
        panic!("settings suit")
    };
    let held = rounds.trainer().classifier.share(params.split, &source).unwrap();
    let parts = data::parts(rounds.trainer(), &held, &source);
    let kept = replay::kept(rounds.trainer(), &parts);
    let task = FedGcn {
        plan: rounds.trainer().plan,
        classifier: Classifier::new(&params.model, &params.training, &facts.data).unwrap(),
        encoder: params.model.encoder.clone(),
        cut: Arc::clone(&facts.cut),
        codec: params.codec.clone(),
        n_clients: facts.data.n_clients,
    };
    (task, parts, kept)
}

/// The logits of every node, by whoever holds it.
fn logits(params: &Params, dataset: &Arc<Dataset>, partition: &Arc<Partition>) -> Vec<f32> {
    let (task, parts, kept) = exchanged(params, dataset, partition);
    let model = task.layout().initialise(&mut stream(9));
    let n_classes = dataset.n_classes;
    let mut all = vec![0.0; dataset.n_nodes() * n_classes];
    for (part, kept) in parts.iter().zip(&kept) {
        let rows = task.logits(part, kept.as_ref(), &model);
        for (node, row) in part.nodes().iter().zip(rows.chunks_exact(n_classes)) {
            all[*node as usize * n_classes..][..n_classes].copy_from_slice(row);
        }
    }
    all
}

fn far(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn play<P: Algorithm>(params: &P, dataset: &Arc<Dataset>, partition: &Arc<Partition>, dry_run: bool) -> Outcome {
    let prepared = params.prepare(&Source::new(dataset, partition, Streams::new(5)));
    let Ok(prepared) = prepared else {
        panic!("the data suit")
    };
    let world = World {
        devices: Box::new(devices::Constant { ops_per_s: 1e9 }),
        ..World::ideal()
    };
    let options = Options {
        dry_run,
        wire_check: true,
        ..Options::default()
    };
    let outcome = run(prepared.system(), &world, 5, options, &mut Unobserved);
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    outcome.summary.iter().find(|(key, _)| key == name).unwrap().1
}

/// Section 3 of the paper: with two hops, two layers of graph convolutions are those of whoever has
/// the whole graph; with one hop, one layer.
#[test]
fn as_many_hops_as_layers_are_the_whole_graph_whichever_way_sums_go() {
    let data = dataset(60, 110, 9, 3);
    let (whole, cut) = (turns(60, 1), turns(60, 4));
    for way in ways() {
        for (hops, layers) in [(2, 2), (1, 1), (2, 1)] {
            let mut params = Params { hops, ..way.clone() };
            params.model.layers = layers;
            let central = logits(
                &Params {
                    hops: 0,
                    ..params.clone()
                },
                &data,
                &whole,
            );
            let ours = logits(&params, &data, &cut);
            assert!(far(&central, &ours) < 2e-5, "{params:?}: {}", far(&central, &ours));
        }
    }
    // Too few hops are not enough, and fewer are worse.
    let central = logits(&Params { hops: 0, ..small() }, &data, &whole);
    let mean = |hops| {
        let ours = logits(&Params { hops, ..small() }, &data, &cut);
        let sum: f32 = central.iter().zip(&ours).map(|(a, b)| (a - b).abs()).sum();
        sum / ours.len() as f32
    };
    let (none, one) = (mean(0), mean(1));
    assert!(none > one && one > 0.01, "{none} {one}");
}

/// Raw features as the authors' code sends them: degrees at the rim are truncated, so that not even
/// two hops are exact, but for one layer.
#[test]
fn features_within_reach_are_nearly_the_whole_graph() {
    let data = dataset(60, 110, 9, 3);
    let (whole, cut) = (turns(60, 1), turns(60, 4));
    let of = |hops, layers, between| {
        let mut params = Params {
            hops,
            between,
            carries: Carries::Features,
            ..small()
        };
        params.model.layers = layers;
        let central = logits(
            &Params {
                hops: 0,
                ..params.clone()
            },
            &data,
            &whole,
        );
        far(&central, &logits(&params, &data, &cut))
    };
    assert!(
        of(2, 1, Between::Server) < 2e-5,
        "all degrees that one layer reads are known"
    );
    assert!(of(1, 1, Between::Server) > 0.01 && of(2, 2, Between::Server) > 1e-4);
    assert!(of(2, 2, Between::Server) < of(1, 2, Between::Server));
    // Edges among others at one step are known in both ways.
    assert_eq!(of(1, 2, Between::Server), of(1, 2, Between::Peers));
}

#[test]
fn shares_add_up_to_the_sums_of_the_whole_graph_whoever_is_called_what() {
    let data = dataset(50, 90, 6, 3);
    let sums = |partition: &Arc<Partition>| -> Vec<f64> {
        let (_, parts, _) = exchanged(&small(), &data, partition);
        let of_node = |node| {
            let mut sum = [0.0; 6];
            for part in &parts {
                let share = part.share(node, Weights::Normalised, 6);
                sum.iter_mut().zip(share).for_each(|(sum, x)| *sum += x);
            }
            sum
        };
        (0..50).flat_map(of_node).collect()
    };
    let whole = sums(&turns(50, 1));
    let mut shards: Vec<Vec<u32>> = (0..5).map(|client| turns(50, 5).shard(client).to_vec()).collect();
    shuffle(&mut stream(1), &mut shards);
    for cut in [turns(50, 5), Arc::new(Partition::from_shards(shards).unwrap())] {
        let all = sums(&cut);
        assert!(whole.iter().zip(&all).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

/// Every way in which anything goes.
fn all_ways() -> Vec<Params> {
    let mut all = Vec::new();
    for way in ways() {
        for (hops, weights) in [(1, Weights::Normalised), (2, Weights::Normalised), (2, Weights::Plain)] {
            all.push(Params {
                hops,
                weights,
                ..way.clone()
            });
        }
    }
    for (hops, between) in [(1, Between::Server), (2, Between::Server), (1, Between::Peers)] {
        all.push(Params {
            hops,
            between,
            carries: Carries::Features,
            ..small()
        });
    }
    all
}

/// Whatever is counted by hand here is what the ledger counts, in every way; and a dry run sends
/// the same.
#[test]
fn bytes_are_those_of_the_formula() {
    let data = dataset(40, 60, 7, 3);
    let cut = turns(40, 4);
    for params in all_ways() {
        let outcome = play(&params, &data, &cut, true);
        let theory = number(&outcome, "exchange_bytes@theory");
        assert_eq!(number(&outcome, "exchange_bytes"), theory, "{params:?}");
        assert_eq!(number(&outcome, "unanswered_clients"), 0.0);
        let played = play(&params, &data, &cut, false);
        assert_eq!(number(&played, "exchange_bytes"), theory, "{params:?}");
        assert_eq!(played.tables.rounds.len(), 4);
    }
}

/// Whatever way rows go, they are read as far as 11 bits go, by the evaluator, too.
#[test]
fn packed_rows_are_read_as_they_were_but_for_rounding() {
    let (data, cut) = (dataset(40, 60, 8, 3), turns(40, 4));
    for plain in all_ways() {
        let packed = Params {
            codec: Chosen::new(Half {}),
            ..plain.clone()
        };
        let (exact, rounded) = (logits(&plain, &data, &cut), logits(&packed, &data, &cut));
        let error = far(&exact, &rounded);
        // Features and plain sums of them are multiples of a half, which 11 bits hold.
        match (plain.carries, plain.weights) {
            (Carries::Features, _) | (_, Weights::Plain) => assert_eq!(error, 0.0),
            (Carries::Sums, Weights::Normalised) => assert!(error > 0.0 && error < 0.1, "{error} {plain:?}"),
        }
        let (played, dry) = (play(&packed, &data, &cut, false), play(&packed, &data, &cut, true));
        let bytes = |outcome: &Outcome| number(outcome, "exchange_bytes");
        assert_eq!(bytes(&played), bytes(&dry));
        assert!(bytes(&played) < bytes(&play(&plain, &data, &cut, true)), "{plain:?}");
        assert!(!played.summary.iter().any(|(name, _)| name == "exchange_bytes@theory"));
    }
    // By hand: two bytes less a number of K + n rows, and the sizes in eight messages.
    let of = |codec| {
        let params = Params {
            hops: 1,
            codec,
            ..small()
        };
        play(&params, &data, &cut, true)
    };
    let (plain, packed) = (of(Chosen::default()), of(Chosen::new(Half {})));
    let rows = (number(&plain, "exchange_bytes")) / (4.0 * 8.0 + 4.0);
    let saved = number(&plain, "exchange_bytes") - number(&packed, "exchange_bytes");
    assert_eq!(saved, rows * 2.0 * 8.0 - 8.0 * 8.0);
}

#[test]
fn no_words_make_the_reader_panic() {
    let params = Params {
        codec: Chosen::new(Half {}),
        ..small()
    };
    let (task, parts, kept) = exchanged(&params, &dataset(40, 60, 8, 3), &turns(40, 4));
    let rng = &mut stream(4);
    for n in (0..40).cycle().take(400) {
        let words = Words((0..n).map(|_| index(rng, 7) as u32).collect());
        Neighbours.tell(&task, &parts[0], kept[0].as_ref(), Heard::Server(words.clone()));
        Neighbours.tell(&task, &parts[0], None, Heard::Client(ClientId(1), words.clone()));
        let told = vec![(ClientId(2), words)];
        if let Ok(answers) = Neighbours.answer(&task, &mut Memory::default(), Gathered::Each(told)) {
            assert_eq!(answers.len(), 1);
        }
    }
}

#[test]
fn one_client_exchanges_its_own_alone_and_no_hop_nothing() {
    let data = dataset(40, 60, 7, 3);
    let among = |between| Params { between, ..small() };
    let outcome = play(&among(Between::Peers), &data, &turns(40, 1), true);
    assert_eq!(number(&outcome, "exchange_bytes"), 0.0);
    let outcome = play(&Params { hops: 0, ..small() }, &data, &turns(40, 4), true);
    assert_eq!(number(&outcome, "exchange_bytes"), 0.0);
    assert!(outcome.ledger.rows().all(|(kind, ..)| kind.phase == "rounds"));
}

#[test]
fn no_hop_is_federated_averaging_to_the_bit_and_hops_are_not() {
    let (data, cut) = (dataset(60, 110, 9, 3), turns(60, 4));
    let of = |hops| play(&Params { hops, ..small() }, &data, &cut, false);
    let ours = of(0);
    let averaging = folkmoot_classifiers::fed_avg::Params {
        model: small().model,
        training: small().training,
        protocol: small().protocol,
        ..Default::default()
    };
    let theirs = play(&averaging, &data, &cut, false);
    assert_eq!(
        format!("{:?}", ours.tables.scores),
        format!("{:?}", theirs.tables.scores)
    );
    assert_eq!(
        format!("{:?}", ours.ledger.total()),
        format!("{:?}", theirs.ledger.total())
    );
    assert_ne!(
        format!("{:?}", of(1).tables.scores),
        format!("{:?}", theirs.tables.scores)
    );
}

/// A path of four nodes, the first two at one client and the last two at another.
#[test]
fn what_shows_on_a_path_is_what_one_can_see_there() {
    let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], false).unwrap();
    let cut = Cut::of(vec![0, 0, 1, 1]);
    let counts = count(&graph, &cut, 2);
    assert_eq!(
        (counts.cut_edges, counts.foreign, counts.known, counts.at_border),
        (1, 2, 6, 2)
    );
    // Neighbours of 0 to 3 are at 1, 2, 2 and 1 clients.
    assert_eq!((counts.one_hop, counts.two_hop), (6, 8));
    let plan = |hops, between, upload| {
        let params = Params {
            hops,
            between,
            upload,
            ..Params::default()
        };
        Plan::of(&params, 10)
    };
    // Client 0's share of the sum of 2 is node 1, and that of client 1 of the sum of 1 is node 2;
    // own shares are of two nodes.
    let one = plan(1, Between::Server, Upload::Rows);
    assert_eq!((counts.shown_to_server(&one), counts.shown_to_clients(&one)), (2, 2));
    // The sum of 2, which client 0 gets besides, is of 1, 2 and 3: without 1 two are left.
    let two = plan(2, Between::Server, Upload::Border);
    assert_eq!((counts.shown_to_server(&two), counts.shown_to_clients(&two)), (2, 2));
    let peers = plan(2, Between::Peers, Upload::Rows);
    assert_eq!(
        (counts.shown_to_server(&peers), counts.shown_to_clients(&peers)),
        (0, 2)
    );
    // Six rows of ten numbers, their node and degree, up and down.
    let rows = plan(2, Between::Server, Upload::Rows);
    assert_eq!(counts.bytes(&rows, 2), 2 * 6 * (4 * 10 + 8));
    assert_eq!(counts.bytes(&one, 2), (6 + 4) * (4 * 10 + 4));
    let peer_hop = plan(1, Between::Peers, Upload::Rows);
    assert_eq!(counts.bytes(&peer_hop, 2), 2 * (4 * 10 + 4));
}

/// Set by set: whom each client holds, and with whom these have an edge.
#[test]
fn rows_are_as_many_as_sets_have_members() {
    let data = dataset(60, 110, 9, 3);
    for n_clients in [1, 4, 7, 60] {
        let partition = turns(60, n_clients);
        let cut = Cut::new(&Source::new(&data, &partition, Streams::new(1))).unwrap();
        let counts = count(data.graph(), &cut, 2);
        let mut expected = [0; 4];
        for client in 0..n_clients as usize {
            let held: BTreeSet<u32> = partition.shard(client).iter().copied().collect();
            let joined: BTreeSet<u32> = held.iter().flat_map(|v| data.graph().neighbours(*v)).copied().collect();
            let foreign = joined.difference(&held).count() as u64;
            let known = held.union(&joined).count() as u64;
            let more = [
                joined.len() as u64,
                joined.len() as u64 + known - held.len() as u64,
                known,
                foreign,
            ];
            expected.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        let got = [counts.one_hop, counts.two_hop, counts.known, counts.foreign];
        assert_eq!(got, expected, "{n_clients} clients");
    }
}

/// FedGraph's own formula, `4d (N n + Σ |N[V_k]|)`; ours names the rows that are wanted besides.
#[test]
fn dense_matrices_of_plain_sums_cost_what_fed_graph_says() {
    let (data, cut) = (dataset(60, 110, 9, 3), turns(60, 7));
    let params = Params {
        upload: Upload::Dense,
        weights: Weights::Plain,
        ..small()
    };
    let outcome = play(&params, &data, &cut, true);
    let known = count(
        data.graph(),
        &Cut::new(&Source::new(&data, &cut, Streams::new(1))).unwrap(),
        2,
    )
    .known;
    let formula = 4 * 9 * (7 * 60 + known);
    assert_eq!(number(&outcome, "exchange_bytes"), (formula + 4 * known) as f64);
}

#[test]
fn settings_that_cannot_be_are_named() {
    let broken = |params: Params| {
        let broken = params.broken();
        broken.into_iter().map(|broken| broken.path).collect::<Vec<String>>()
    };
    let mut params = small();
    params.codec = Chosen::new(Qsgd::default());
    assert_eq!(broken(params.clone()), ["codec"]);
    params.codec = Chosen::default();
    params.model.encoder = Chosen::new(Sage {});
    assert_eq!(broken(params.clone()), ["model.encoder"]);
    params.carries = Carries::Features;
    assert_eq!(broken(params.clone()), [""; 0]);
    params.protocol = secure();
    assert_eq!(broken(params.clone()), ["protocol.secure"]);
    params.between = Between::Peers;
    assert_eq!(broken(params), ["hops"]);
    let data = dataset(20, 30, 4, 2);
    let twice = Arc::new(Partition::from_shards(vec![(0..20).collect(), vec![3]]).unwrap());
    let error = small()
        .facts(&Source::new(&data, &twice, Streams::new(1)))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("exactly one client"), "{error}");
}
