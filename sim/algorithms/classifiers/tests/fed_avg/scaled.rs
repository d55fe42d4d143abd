//! One scale of inputs for all clients: what it comes to and what it costs, on nodes and graphs.

use super::{graphs, iid, node_params, nodes, params, play, play_in};
use folkmoot_classifiers::classifier::{LocalOptimiser, Scale, Split};
use folkmoot_classifiers::fed_avg::Params;
use folkmoot_codecs::TopK;
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{Dataset, Features, SparseRows, Splits};
use folkmoot_parts::Chosen;
use folkmoot_rounds::Secure;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

/// The ring of 90 nodes, of which every second trains and the others test; a word is there or not,
/// and how often one is, is far from another.
fn words(scale: impl Fn(usize, f32) -> f32) -> Arc<Dataset> {
    let ring = nodes();
    let rows = plain_words();
    let rows: Vec<Vec<(u32, f32)>> = rows
        .iter()
        .map(|row| (0..).zip(row).map(|(at, x)| (at, scale(at as usize, *x))).collect())
        .collect();
    let is_even = |odd: usize| {
        (0..90)
            .map(|node| node % 2 == odd && node % 10 != 9)
            .collect::<Vec<bool>>()
    };
    Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap())),
        splits: Some(Splits {
            train: is_even(0),
            val: vec![false; 90],
            test: is_even(1),
        }),
        ..Dataset::clone(&ring)
    })
}

/// Three words of each node, the second of which occurs a hundred times as often as the first, and
/// the third by tens.
fn plain_words() -> Vec<[f32; 3]> {
    let word = |node: u32| {
        let class = if node.is_multiple_of(3) {
            (node / 3) % 3
        } else {
            node / 30
        };
        [
            f32::from(class == 0),
            100.0 * f32::from(class == 1),
            10.0 * f32::from(class == 2),
        ]
    };
    (0..90).map(word).collect()
}

fn last_scores(outcome: &Outcome) -> Vec<(String, f64)> {
    let last = outcome.tables.scores.iter().map(|row| row.round).max();
    // Ranks of nodes that are told alike are up to rounding.
    let is_smooth = |metric: &str| !metric.ends_with("auc");
    let rows = outcome
        .tables
        .scores
        .iter()
        .filter(|row| Some(row.round) == last && is_smooth(&row.metric));
    rows.map(|row| (format!("{:?} {}", row.split, row.metric), row.value))
        .collect()
}

/// Six clients that scale by what all of them add up learn what they learn of inputs that somebody
/// scaled who has all data.
#[test]
fn a_scale_from_sums_is_that_of_whoever_has_all_data() {
    let trains: Vec<[f32; 3]> = (0..90)
        .filter(|node| node % 2 == 0 && node % 10 != 9)
        .map(|node| plain_words()[node])
        .collect();
    let n = trains.len() as f64;
    let mean = |at: usize| trains.iter().map(|row| f64::from(row[at])).sum::<f64>() / n;
    let deviation = |at: usize| {
        (trains
            .iter()
            .map(|row| (f64::from(row[at]) - mean(at)).powi(2))
            .sum::<f64>()
            / n)
            .sqrt()
    };
    let scaled = words(|at, x| ((f64::from(x) - mean(at)) / deviation(at)) as f32);
    let plain = words(|_, x| x);
    let with = |scale, rounds| {
        let mut params = node_params(rounds);
        params.split = Split::Published;
        params.training.optimiser = LocalOptimiser::default();
        params.scale = scale;
        params
    };
    let pooled = last_scores(&play(&scaled, &with(Scale::Raw, 8)));
    let federated = play(&plain, &with(Scale::Federated, 9));
    let both: Vec<_> = pooled.iter().zip(last_scores(&federated)).collect();
    assert!(both.iter().any(|((name, _), _)| name.contains("loss")), "{both:?}");
    for ((name, expected), (other, got)) in &both {
        assert!(
            name == other && (expected - got).abs() < 1e-3,
            "{name}: {got}, not {expected}"
        );
    }
    // One client's own scale is that of all data.
    let alone = |params: &Params| {
        let partition = iid(&plain, 1);
        let system = params
            .prepare(&Source::new(&plain, &partition, Streams::new(3)))
            .unwrap();
        last_scores(&run(system.system(), &World::ideal(), 3, Options::default(), &mut Unobserved).unwrap())
    };
    let (own, common) = (alone(&with(Scale::Standardised, 8)), alone(&with(Scale::Federated, 9)));
    for ((name, expected), (_, got)) in own.iter().zip(&common) {
        assert!((expected - got).abs() < 1e-3, "{name}: {got}, not {expected}");
    }
    // And as the inputs are, it is something else.
    let raw = last_scores(&play(&plain, &with(Scale::Raw, 8)));
    assert!(
        raw.iter().zip(&pooled).any(|((_, a), (_, b))| (a - b).abs() > 0.01),
        "{raw:?}"
    );
}

#[test]
fn its_messages_are_counted_in_the_clear_and_masked_wet_and_dry() {
    let dataset = graphs();
    let mut of = params(3);
    of.scale = Scale::Federated;
    let bytes = |outcome: &Outcome, kind: &str| {
        let of_kind = outcome.ledger.rows().filter(|(k, ..)| k.name == kind);
        of_kind.map(|(.., cell)| cell.payload_bytes).sum::<u64>()
    };
    // 13 columns of degrees, 6 clients, and two rounds that train.
    let open = play(&dataset, &of);
    assert_eq!(bytes(&open, "statistics"), 6 * (8 + 16 * 13));
    let raw = play(&dataset, &params(2));
    assert_eq!(bytes(&open, "model"), bytes(&raw, "model") + 2 * 6 * 8 * 13);
    assert_eq!(bytes(&open, "update"), bytes(&raw, "update"));
    let row = open
        .tables
        .privacy
        .iter()
        .find(|row| row.mechanism == "none: statistics")
        .unwrap();
    assert_eq!((row.releases, row.epsilon_max_client), (6, f64::INFINITY));
    for packs in [false, true] {
        for secure in [Secure::Off, Secure::Pairwise { threshold: 0.67 }] {
            of.protocol.secure = secure;
            if packs && secure == Secure::Off {
                of.protocol.uplink_codec = Chosen::new(TopK {
                    share: 0.5,
                    ..TopK::default()
                });
            } else {
                of.protocol.uplink_codec = Chosen::default();
            }
            let dry = Options {
                dry_run: true,
                ..Options::default()
            };
            let dry = play_in(&World::ideal(), &dataset, &of, dry);
            assert_eq!(play(&dataset, &of).ledger, dry.ledger, "{secure:?}");
        }
    }
}

/// Degrees of graphs, and words of nodes: it learns as much as an untouched input lets it.
#[test]
fn it_learns_on_graphs_and_on_nodes() {
    let accuracy = |outcome: &Outcome| {
        let scores = last_scores(outcome);
        scores
            .iter()
            .find(|(name, _)| name.contains("est") && name.ends_with(" accuracy"))
            .unwrap()
            .1
    };
    let mut of_graphs = params(20);
    of_graphs.scale = Scale::Federated;
    let of_graphs = accuracy(&play(&graphs(), &of_graphs));
    assert!(of_graphs > 0.6, "{of_graphs}");
    let mut of_nodes = node_params(20);
    of_nodes.scale = Scale::Federated;
    let of_nodes = accuracy(&play(&nodes(), &of_nodes));
    assert!(of_nodes > 0.7, "{of_nodes}");
}
