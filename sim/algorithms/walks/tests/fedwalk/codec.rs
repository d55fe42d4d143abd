//! Numbers that a codec packs: their bytes, what they still tell, and what cannot pack them.

use super::*;
use folkmoot_codecs::{Bfloat, Codec, Half, Plain, Qsgd, Rounding, Symbols, TopK, Uniform};
use folkmoot_parts::{Component, Value};

fn with(codec: impl Codec + Component, rows: Rows) -> Params {
    Params {
        walk_length: 5,
        walks_per_node: 2,
        encoder: Chosen::new(AsPublished {}),
        rows,
        codec: Chosen::new(codec),
        ..counting()
    }
}

fn bytes(outcome: &Outcome, kind: &str) -> u64 {
    let of_kind = outcome.ledger.rows().filter(|(k, ..)| k.name == kind);
    of_kind.map(|(.., cell)| cell.payload_bytes).sum()
}

#[test]
fn every_number_takes_the_bytes_that_its_codec_gives_it() {
    let (graph, n, k) = (ring(50), 50, 3);
    let world = World::ideal();
    let all = play(&graph, with(Uniform::default(), Rows::All), &world, Options::default());
    // A least number and a step, then a byte each, for the vector of a device and of each of its
    // four neighbours.
    assert_eq!(bytes(&all, "degree_vector"), n * (8 + k));
    assert_eq!(bytes(&all, "ordered_matrix"), n * 4 * (8 + k));
    assert_eq!(bytes(&all, "packed_dictionary"), n * n * (8 + k));
    assert_eq!(bytes(&all, "tree_and_matrix"), n * (8 * (n - 1) + 8 + n * n));
    let asked = play(&graph, with(Half {}, Rows::OnRequest), &world, Options::default());
    assert_eq!(bytes(&asked, "tree_and_matrix"), n * 8 * (n - 1));
    let requests = sent(&asked, "row_request");
    assert!(requests > 0);
    assert_eq!(bytes(&asked, "row"), requests * (4 + 2 * n));
    let neighbours = play(&graph, with(Bfloat {}, Rows::Neighbours), &world, Options::default());
    assert_eq!(bytes(&neighbours, "rows"), n * 4 * 2 * n);
}

#[test]
fn packing_costs_no_privacy_and_repeats() {
    let graph = ring(60);
    let rounding = Rounding::Stochastic;
    let packed = || {
        let codec = Uniform {
            bits: 4,
            rounding,
            ..Uniform::default()
        };
        with(codec, Rows::All)
    };
    let world = World::ideal();
    let one = play(&graph, packed(), &world, Options::default());
    let plain = play(&graph, with(Plain {}, Rows::All), &world, Options::default());
    // Of vectors and matrices. What an entry costs follows from the dissimilarities that devices
    // have.
    assert_eq!(
        format!("{:?}", &one.tables.privacy[..2]),
        format!("{:?}", &plain.tables.privacy[..2])
    );
    assert_ne!(everything(&one), everything(&plain), "devices read what came");
    for (threads, windows, wire_check) in [(2, true, true), (1, false, false)] {
        let options = Options {
            threads,
            windows,
            wire_check,
            ..Options::default()
        };
        let again = play(&graph, packed(), &world, options);
        assert_eq!(everything(&one), everything(&again), "{threads} {windows} {wire_check}");
    }
}

#[test]
fn many_levels_are_as_good_as_the_numbers_themselves() {
    let graph = ring(40);
    let hits = |codec: Chosen<dyn Codec>| {
        let params = Params {
            encoder: Chosen::new(Identity {}),
            predictor_prob: 0.5,
            walks_per_node: 20,
            epsilon_degree: 1e5,
            codec,
            ..with(Plain {}, Rows::All)
        };
        number(
            &play(&graph, params, &World::ideal(), Options::default()),
            "predictor_hit_rate",
        )
    };
    let levels = |bits| {
        let uniform = Uniform {
            bits,
            ..Uniform::default()
        };
        Chosen::new(uniform)
    };
    let (exact, many) = (hits(Chosen::default()), hits(levels(16)));
    assert!((exact - many).abs() < 0.05, "{exact} {many}");
}

#[test]
fn what_does_not_pack_each_number_by_itself_is_refused() {
    let range = Uniform {
        symbols: Symbols::Range,
        ..Uniform::default()
    };
    for params in [
        with(range, Rows::All),
        with(TopK::default(), Rows::All),
        with(Qsgd::default(), Rows::All),
    ] {
        let broken = params.broken();
        let named = broken
            .iter()
            .any(|broken| broken.path == "codec" && broken.rule.contains("each value separately"));
        assert!(named, "{broken:?}");
    }
}
