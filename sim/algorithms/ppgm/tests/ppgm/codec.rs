//! What devices send in a match as a codec packs it: its bytes, what is read of it, and what cannot
//! pack it.

use super::*;
use folkmoot_codecs::{Codec, Half, Rounding, TopK, Uniform};
use folkmoot_parts::{Chosen, Component, Value};

fn with(model: Model, codec: impl Codec + Component) -> Params {
    Params {
        codec: Chosen::new(codec),
        ..params(model)
    }
}

fn bytes(outcome: &Outcome, kind: &str) -> (u64, u64) {
    let of_kind = outcome.ledger.rows().filter(|(k, ..)| k.name == kind);
    let cells = of_kind.map(|(.., cell)| (cell.sent, cell.payload_bytes));
    cells.fold((0, 0), |(n, bytes), cell| (n + cell.0, bytes + cell.1))
}

#[test]
fn messages_of_a_match_take_the_bytes_that_their_codec_gives_them() {
    let dataset = functions(20, 1.0, 2);
    let world = World::ideal();
    for model in [Model::Ppgm, Model::Sgnn, Model::Gmn, Model::H2mn] {
        let plain = play_in(&world, &dataset, &params(model), Options::default());
        let halves = play_in(&world, &dataset, &with(model, Half {}), Options::default());
        for (kind, packed, head) in [("exchange", "packed_exchange", 12), ("result", "packed_result", 8)] {
            let (n, whole) = bytes(&plain, kind);
            assert_eq!(bytes(&halves, kind), (0, 0), "{model:?}");
            assert_eq!(
                bytes(&halves, packed),
                (n, n * (head + 4) + (whole - n * head) / 2),
                "{model:?} {kind}"
            );
        }
    }
}

/// What devices compute of what they read is what is measured of pairs, unless rounding is random.
#[test]
fn pairs_are_scored_as_devices_score_them() {
    let dataset = functions(20, 1.0, 2);
    for (rounding, unlike) in [(Rounding::Nearest, Some(0.0)), (Rounding::Stochastic, None)] {
        for model in [Model::Ppgm, Model::Sgnn, Model::SimGnn, Model::Gmn] {
            let uniform = Uniform {
                bits: 4,
                rounding,
                ..Uniform::default()
            };
            let rounded = play_in(&World::ideal(), &dataset, &with(model, uniform), Options::default());
            assert!(number(&rounded, "matches_scored") > 50.0, "{model:?}");
            assert_eq!(find(&rounded, "scores_unlike_in_memory"), unlike, "{model:?}");
        }
    }
}

/// A bit a number leaves nearly nothing of a message, for devices and for who overhears them.
#[test]
fn who_overhears_a_match_reads_what_came() {
    let dataset = functions(20, 1.0, 2);
    let system = |bits| {
        let uniform = Uniform {
            bits,
            ..Uniform::default()
        };
        system(&dataset, &with(Model::Ppgm, uniform))
    };
    let levels = |bits| {
        let whole = system(bits);
        let (data, parameters) = (whole.data(), whole.initial());
        let deployed = whole.deployed(&parameters);
        let seen = deployed.observe(&data.inputs, &data.test[..1], |_, seen| {
            [seen.sent[0][0].data.clone(), seen.results[0].data.clone()]
        });
        seen[0].clone().map(|mut values| {
            values.sort_by(f32::total_cmp);
            values.dedup();
            values.len()
        })
    };
    assert_eq!(levels(1), [2, 2]);
    assert!(levels(16).into_iter().all(|n| n > 10));
}

#[test]
fn threads_windows_and_encoding_do_not_matter_to_random_rounding() {
    let dataset = functions(20, 1.0, 2);
    let uniform = Uniform {
        bits: 3,
        rounding: Rounding::Stochastic,
        ..Uniform::default()
    };
    let params = with(Model::Gmn, uniform);
    let alone = everything(&play_in(&World::ideal(), &dataset, &params, Options::default()));
    for (threads, windows, wire_check) in [(2, true, true), (1, false, false)] {
        let options = Options {
            threads,
            windows,
            wire_check,
            ..Options::default()
        };
        let other = everything(&play_in(&World::ideal(), &dataset, &params, options));
        assert!(alone == other, "{options:?}");
    }
}

#[test]
fn what_leaves_numbers_out_is_refused() {
    let broken = with(Model::Ppgm, TopK::default()).broken();
    let named = broken
        .iter()
        .any(|broken| broken.path == "codec" && broken.rule.contains("every number"));
    assert!(named, "{broken:?}");
}
