//! Codecs with every method: bytes are those of the encoding, and what clients keep is what the
//! server reads.

use super::own_models::{alone, by_rows};
use super::*;
use folkmoot_codecs::n_values;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_rounds::Protocol;

const CODECS: [&str; 9] = [
    "Half()",
    "Bfloat()",
    "Uniform(bits: 4)",
    "Qsgd(coding: Range)",
    "TopK(share: 0.1)",
    "RandomK(share: 0.1)",
    "Sign()",
    "LowRank(rank: 1)",
    "TopK(share: 0.1, positions: Elias, feedback: false)",
];

fn with(method: &str, protocol: &str) -> Params {
    let protocol = format!("{protocol}, {UNIFORM}");
    params(method, "epochs: 2, batch_size: 4, learning_rate: 0.05", &protocol)
}

fn number(outcome: &Outcome, name: &str) -> Option<f64> {
    outcome.summary.iter().find(|(key, _)| key == name).map(|(_, x)| *x)
}

/// Messages and bytes of a kind.
fn of_kind(outcome: &Outcome, name: &str) -> (u64, u64) {
    let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
    rows.fold((0, 0), |(sent, bytes), (.., cell)| {
        (sent + cell.sent, bytes + cell.payload_bytes)
    })
}

#[test]
fn every_method_takes_every_codec_and_counts_what_was_written() {
    for method in ALL {
        for codec in CODECS {
            let params = with(
                method,
                &format!("rounds: 2, uplink_codec: {codec}, downlink_codec: Half()"),
            );
            let prepared = prepared(&params);
            let (rounds, travels) = (&prepared.strategy, prepared.strategy.travels());
            let Protocol {
                uplink_codec: up,
                downlink_codec: down,
                ..
            } = rounds.protocol();
            let (outcome, _) = left(&params, &World::ideal(), Options::default());
            let shapes = &travels.update_shapes;
            let n_others = (rounds.n_update() - n_values(shapes)) as u64;
            let (sent, bytes) = of_kind(&outcome, "packed_update");
            assert_eq!(sent, u64::from(2 * N_CLIENTS), "{method} {codec}");
            if let Some(len) = up.encoded_len(shapes) {
                assert_eq!(bytes, sent * (len + 4 * n_others + 4), "{method} {codec}");
            }
            let plain = (sent * (4 * rounds.n_update() as u64 + 4)) as f64;
            assert_eq!(number(&outcome, "compression_up"), Some(plain / bytes as f64));
            let (sent, bytes) = of_kind(&outcome, "packed_model");
            let n_others = (travels.n_down - travels.n_trainable()) as u64;
            let len = down.encoded_len(&travels.shapes).unwrap();
            assert_eq!(bytes, sent * (len + 4 * n_others), "{method} {codec}");
            assert_eq!(
                (of_kind(&outcome, "model"), of_kind(&outcome, "update")),
                ((0, 0), (0, 0))
            );
            assert_eq!(number(&outcome, "refused_updates"), Some(0.0), "{method} {codec}");
        }
    }
}

#[test]
fn packed_methods_are_the_same_for_threads_and_on_the_wire() {
    for method in [
        "FedDyn()",
        "FedRep()",
        "Gcfl(by: Changes(rounds: 2))",
        "Ifca(clusters: 3)",
    ] {
        let params = with(
            method,
            "rounds: 3, uplink_codec: TopK(share: 0.1), downlink_codec: Uniform(rounding: Stochastic)",
        );
        let with = |threads, wire_check| {
            let options = Options {
                threads,
                wire_check,
                ..Options::default()
            };
            let (outcome, left) = left(&params, &World::ideal(), options);
            (left, outcome.ledger, outcome.tables.scores)
        };
        let one = with(1, false);
        assert!(one == with(3, false) && one == with(2, true), "{method}");
    }
}

/// Low rank saves where matrices are seen: a shared model of vectors alone has no thin products.
#[test]
fn the_shared_part_of_a_model_keeps_its_matrices() {
    for method in ["FedPer()", "FedRep()", "Gcfl()"] {
        let prepared = prepared(&with(method, "rounds: 1"));
        let task = prepared.strategy.trainer();
        let layout = task.common().classifier.network().layout();
        let head: usize = task
            .common()
            .classifier
            .network()
            .last_layers()
            .into_iter()
            .map(|range| range.len())
            .sum();
        let (shapes, whole) = (&prepared.strategy.travels().shapes, layout.shapes());
        assert!(
            whole.starts_with(shapes),
            "the head is the last, {shapes:?} of {whole:?}"
        );
        assert_eq!(n_values(shapes) + head, n_values(&whole));
        assert!(
            shapes
                .iter()
                .filter(|[rows, columns]| *rows > 1 && *columns > 1)
                .count()
                > 1
        );
    }
}

/// A change is of the model that its client was sent, or chose: rounded to 11 bits it is off by a
/// share of itself, not of how far models are apart.
#[test]
fn a_change_is_that_of_the_model_it_was_learned_from() {
    let slow = |method: &str, up: &str| {
        let protocol = format!("rounds: 1, {UNIFORM} uplink_codec: {up}");
        model(&params(
            method,
            "epochs: 2, batch_size: 4, learning_rate: 0.0001",
            &protocol,
        ))
    };
    let (plain, packed) = (
        slow("Ifca(clusters: 3)", "Plain()"),
        slow("Ifca(clusters: 3)", "Half()"),
    );
    assert!(
        plain != packed && apart(&plain, &packed) < 1e-6,
        "{}",
        apart(&plain, &packed)
    );

    // Each client's model goes on by itself.
    for (up, down) in [("Half()", "Plain()"), ("Half()", "Half()"), ("Plain()", "Half()")] {
        let mut packed = by_rows(
            false,
            3,
            &format!("Uniform, uplink_codec: {up}, downlink_codec: {down}"),
        );
        let (outcome, ours) = left(&packed, &World::ideal(), Options::default());
        packed.protocol.uplink_codec = Default::default();
        packed.protocol.downlink_codec = Default::default();
        let n = prepared(&packed).strategy.travels().n_trainable();
        let theirs = alone(&packed, 3);
        for (ours, theirs) in ours.own.iter().zip(&theirs) {
            let error = apart(&ours[..n], &theirs[..n]);
            assert!(error > 0.0 && error < 0.05, "{up} {down}: {error}");
        }
        assert!(apart(&theirs[0][..n], &theirs[1][..n]) > 0.2, "models are unlike");
        let n_packed = of_kind(&outcome, "packed_model").0;
        assert_eq!(n_packed, if down == "Plain()" { 0 } else { u64::from(3 * N_CLIENTS) });
    }
}

/// Of what each client has learned a tenth was sent; if that is lost, the client has it all, where
/// it was.
#[test]
fn what_is_lost_of_a_change_is_where_it_was() {
    let lossy = World {
        network: Box::new(Links {
            uplink: LinkClass {
                loss_prob: 1.0,
                ..LinkClass::default()
            },
            ..Links::default()
        }),
        ..World::ideal()
    };
    for method in ALL.into_iter().filter(|method| *method != "LocalOnly()") {
        let params = with(method, "rounds: 1, uplink_codec: TopK(share: 0.1)");
        let left_out = |world: &World| left(&params, world, Options::default()).1.left_out;
        for (sent, lost) in left_out(&World::ideal()).iter().zip(left_out(&lossy)) {
            assert_eq!(sent.len(), lost.len());
            let unlike: Vec<_> = sent.iter().zip(&lost).filter(|(a, b)| a != b).collect();
            assert!(
                unlike.len() > 5 && unlike.iter().all(|(a, _)| **a == 0.0),
                "{method}: {unlike:?}"
            );
        }
    }
}

/// The greatest difference of two numbers.
fn apart(x: &[f32], y: &[f32]) -> f32 {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

#[test]
fn what_fed_dyns_server_keeps_is_the_mean_of_what_clients_keep_behind_a_codec_or_a_clip() {
    let protocols = CODECS.map(|codec| format!("rounds: 4, uplink_codec: {codec}"));
    let more = [
        "rounds: 4, downlink_codec: Half()",
        "rounds: 4, uplink_codec: Sign(), downlink_codec: Bfloat()",
        "rounds: 4, secure: Pairwise(), uplink_codec: RandomK(share: 0.3), downlink_codec: Half()",
        "rounds: 4, secure: Pairwise(), downlink_codec: Half()",
    ];
    for protocol in protocols.iter().map(String::as_str).chain(more) {
        let (_, left) = left(&with("FedDyn()", protocol), &World::ideal(), Options::default());
        let most = if protocol.contains("secure") { 1e-3 } else { 1e-4 };
        assert!(gap(&left) < most, "{protocol}: {}", gap(&left));
    }
    // Running statistics cannot be hidden.
    let text = "(model: (encoder: Gin, hidden: 8), inputs: Degree(most: 8), method: FedDyn(), training: (learning_rate: 0.05), \
        protocol: (rounds: 3, weighting: Uniform, private: Clients(clip: 0.05, noise_multiplier: 0), uplink_codec: Half()))";
    for text in [
        text.to_owned(),
        text.replace("uplink_codec: Half()", "secure: Pairwise()"),
    ] {
        let params: Params = folkmoot_classifiers::only().settings(&text).unwrap();
        let (_, left) = left(&params, &World::ideal(), Options::default());
        let longest = left
            .kept
            .iter()
            .flatten()
            .map(|own| own.iter().map(|x| x * x).sum::<f32>().sqrt());
        // Three changes of at most the clip, times the strength.
        assert!(longest.fold(0.0, f32::max) < 3.0 * 0.05 * 0.1 * 1.001);
        assert!(gap(&left) < 1e-3, "{}", gap(&left));
    }
}
