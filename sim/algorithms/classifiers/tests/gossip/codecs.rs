//! Gossip whose models are packed: what is sent has the size of its encoding, the mean of all
//! models stays, and errors are those stated.

use super::*;
use folkmoot_codecs::{Codec, Shape};
use folkmoot_parts::Chosen;

fn layout_of(params: &Params) -> (Vec<Shape>, u64) {
    let prepared = prepared(params);
    let layout = prepared.strategy.classifier().network().layout();
    (layout.shapes(), (layout.len() - layout.n_trainable()) as u64)
}

fn total(outcome: &Outcome, kind: &str) -> (u64, u64) {
    let of_kind = outcome.ledger.rows().filter(|(k, ..)| k.name == kind);
    of_kind.fold((0, 0), |(sent, bytes), (.., cell)| {
        (sent + cell.sent, bytes + cell.payload_bytes)
    })
}

#[test]
fn the_identity_is_to_the_bit_the_run_without() {
    for method in METHODS {
        let played = |codec: &str| {
            let params = params(&format!(
                "method: {method}, start: Own, topology: Torus(), rounds: 5, timeout_s: 2 {codec}"
            ));
            let (outcome, models) = models_in(&params, &rough(0.2), Options::default());
            format!("{:?} {:?} {models:?}", outcome.ledger, outcome.summary)
        };
        assert!(
            played("") == played(", codec: Plain(), mixing: 1"),
            "{method}: Plain changes something"
        );
    }
}

/// All numbers are sent, behind a bit for each: the models are those of the run without, but for
/// where roundings fall.
#[test]
fn a_codec_that_keeps_every_number_changes_the_bytes_alone() {
    for method in ["Averaging", "Dpsgd", "Pairwise(pause_s: 0.5)"] {
        let base = format!("method: {method}, topology: SmallWorld(), {PLAIN}, rounds: 4");
        let whole = params(&format!("{base}, codec: TopK(share: 1, positions: Bitmask)"));
        let (packed, ours) = models_in(&whole, &World::ideal(), Options::default());
        let (plain, theirs) = models_in(&params(&base), &World::ideal(), Options::default());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!(
                apart(ours, &wide(theirs)) < 1e-5,
                "{method}: {}",
                apart(ours, &wide(theirs))
            );
        }
        let n = total(&plain, "model").0 + total(&plain, "answer").0;
        let bytes = total(&plain, "model").1 / total(&plain, "model").0;
        let (models, answers) = (total(&packed, "packed_model"), total(&packed, "packed_answer"));
        assert_eq!(models.0 + answers.0, n, "{method}");
        assert_eq!(models.1 + answers.1, n * (bytes + (bytes / 4).div_ceil(8)), "{method}");
        assert_eq!((total(&packed, "model"), total(&packed, "answer")), ((0, 0), (0, 0)));
    }
}

#[test]
fn a_packed_model_has_the_size_of_its_encoding() {
    for (codec, mixing) in [
        ("Half()", 1.0),
        ("Bfloat()", 1.0),
        ("Uniform(bits: 5)", 1.0),
        ("Qsgd(levels: 7, bucket: 16)", 1.0),
        ("TopK(share: 0.1)", 0.1),
        ("RandomK(share: 0.1, feedback: true)", 0.1),
        ("Sign()", 0.5),
        ("LowRank(rank: 1)", 0.5),
    ] {
        let params = params(&format!(
            "topology: Ring(neighbours: 4), {PLAIN}, rounds: 3, codec: {codec}, mixing: {mixing}, keep_links: true"
        ));
        let (shapes, n_others) = layout_of(&params);
        let encoded = params.codec.encoded_len(&shapes).unwrap() + 4 * n_others;
        let wet = outcome(&params, &World::ideal(), Options::default());
        let sent = u64::from(3 * 4 * N_CLIENTS);
        assert_eq!(total(&wet, "packed_model"), (sent, sent * encoded), "{codec}");
        let plain = 4 * (folkmoot_codecs::n_values(&shapes) as u64 + n_others);
        let ratio = plain as f64 / encoded as f64;
        assert!((number(&wet, "compression") - ratio).abs() < 1e-12, "{codec}");
        assert_eq!(number(&wet, "link_bytes_most"), (3 * encoded) as f64, "{codec}");
        for row in wet.tables.messages.iter().filter(|row| row.kind != "report") {
            assert_eq!(row.expected_messages, Some(row.sent as f64), "{codec}: {row:?}");
        }
        let dry = Options {
            dry_run: true,
            ..Options::default()
        };
        assert!(outcome(&params, &World::ideal(), dry).ledger == wet.ledger, "{codec}");
    }
}

/// Everybody moves by the mean of what was heard less what they said themselves: from the mean of
/// all models by less than two errors of the quantiser, which are stated, and on average over all
/// numbers by nothing.
#[test]
fn over_a_complete_graph_an_unbiased_quantiser_stays_within_its_error() {
    let start = starts();
    let before = mean(&start);
    let bits = 4;
    let more = format!("topology: Complete(), {STILL}, rounds: 1, codec: Uniform(bits: {bits}, rounding: Stochastic)");
    let params = params(&more);
    let (shapes, n_others) = layout_of(&params);
    assert_eq!(n_others, 0, "all numbers are packed");
    let (_, ended) = models_in(&params, &World::ideal(), Options::default());
    let moved = mean(&ended)
        .iter()
        .zip(&before)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(moved < 1e-6, "the mean of all models stays: {moved}");
    let step = |model: &[f32]| {
        let (low, high) = model.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| {
            (low.min(*x), high.max(*x))
        });
        f64::from(high - low) / f64::from((1 << bits) - 1)
    };
    let (mut at, mut errors) = (0, Vec::new());
    for [rows, columns] in shapes {
        let range = at..at + rows * columns;
        at = range.end;
        let worst = start
            .iter()
            .map(|model| step(&model[range.clone()]))
            .fold(0.0, f64::max);
        for model in &ended {
            let error = apart(&model[range.clone()], &before[range.clone()]);
            assert!(error < 2.0 * worst + 1e-6, "{error} of {worst}");
            errors.extend(range.clone().map(|i| f64::from(model[i]) - before[i]));
        }
    }
    assert!(errors.iter().any(|error| error.abs() > 1e-3), "it rounds");
    let (n, sum) = (errors.len() as f64, errors.iter().sum::<f64>());
    let deviation = (errors.iter().map(|error| error * error).sum::<f64>() / n).sqrt();
    assert!(
        (sum / n).abs() < 4.0 * deviation / n.sqrt(),
        "{} of {deviation}",
        sum / n
    );
}

/// What is left out is kept and comes later, so that a tenth of the numbers is enough to bring
/// models together; their mean stays all the while.
#[test]
fn what_a_codec_leaves_out_comes_later_and_the_mean_stays() {
    let start = starts();
    let before = mean(&start);
    for (codec, mixing) in [
        ("TopK(share: 0.1)", 0.1),
        ("RandomK(share: 0.25, feedback: true)", 0.05),
    ] {
        let text = format!("topology: Complete(), {STILL}, rounds: 120, codec: {codec}, mixing: {mixing}");
        let (_, ended) = models_in(&params(&text), &World::ideal(), Options::default());
        let moved = mean(&ended)
            .iter()
            .zip(&before)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(moved < 1e-5, "{codec}: {moved}");
        let distances = score(
            &outcome(&params(&text), &World::ideal(), Options::default()),
            "consensus_distance",
        );
        assert!(
            distances[119] < 0.2 * distances[0],
            "{codec}: {} of {}",
            distances[119],
            distances[0]
        );
    }
    // The control: without a memory the numbers that are never among the greatest never move.
    let broken = Params {
        codec: Chosen::new(folkmoot_codecs::TopK {
            share: 0.1,
            feedback: false,
            ..folkmoot_codecs::TopK::default()
        }),
        ..params(&format!("topology: Complete(), {STILL}, rounds: 120, mixing: 0.1"))
    };
    let distances = score(
        &outcome(&broken, &World::ideal(), Options::default()),
        "consensus_distance",
    );
    assert!(
        distances[119] > 0.3 * distances[0],
        "{} of {}",
        distances[119],
        distances[0]
    );
}

#[test]
fn packed_models_learn_for_a_quarter_of_the_bytes() {
    let of = |codec: &str| {
        let params = params(&format!("topology: Torus(), {PLAIN}, rounds: 30, codec: {codec}"));
        let ended = outcome(&params, &World::ideal(), Options::default());
        let bytes = total(&ended, "model").1 + total(&ended, "packed_model").1;
        (number(&ended, "test_accuracy"), bytes as f64)
    };
    let ((plain, whole), (packed, bytes)) = (of("Plain()"), of("Uniform(bits: 6, feedback: true)"));
    assert!(plain > 0.5 && (packed - plain).abs() < 0.1, "{packed} and {plain}");
    assert!(bytes < 0.4 * whole, "{bytes} of {whole}");
}

#[test]
fn nothing_packed_depends_on_how_it_is_run() {
    for (method, codec) in [
        (METHODS[0], "TopK(share: 0.2), mixing: 0.2"),
        (METHODS[1], "Qsgd(levels: 7, coding: Elias)"),
        (
            METHODS[2],
            "Uniform(rounding: Stochastic, symbols: Range, feedback: true)",
        ),
    ] {
        let params = params(&format!(
            "method: {method}, start: Own, topology: SmallWorld(), rounds: 5, timeout_s: 2, codec: {codec}"
        ));
        let played = |threads, windows, wire_check| {
            let options = Options {
                threads,
                windows,
                wire_check,
                ..Options::default()
            };
            let (outcome, models) = models_in(&params, &rough(0.2), options);
            format!("{:?} {:?} {models:?}", outcome.ledger, outcome.tables.rounds)
        };
        let first = played(1, true, false);
        for (threads, windows, wire_check) in [(1, false, false), (2, true, false), (4, true, true)] {
            assert!(first == played(threads, windows, wire_check), "{method}");
        }
    }
}

#[test]
fn a_model_that_is_not_finite_is_not_packed() {
    for method in METHODS {
        let params = params(&format!(
            "method: {method}, training: (learning_rate: 1e30), topology: Complete(), rounds: 3, timeout_s: 1, codec: Half()"
        ));
        let ended = outcome(&params, &World::ideal(), Options::default());
        assert!(counted(&ended, "refused_models") > 0, "{method}");
        assert!(
            ended.warnings.iter().any(|warning| warning.contains("not finite")),
            "{method}"
        );
    }
}

#[test]
fn a_codec_that_forgets_is_refused() {
    let refused = |text: &str| {
        folkmoot_classifiers::only()
            .settings::<Params>(text)
            .unwrap_err()
            .to_string()
    };
    for codec in ["TopK(feedback: false)", "RandomK()", "Sign(feedback: false)"] {
        let text = refused(&format!("(codec: {codec})"));
        assert!(
            text.contains("codec: must be Plain, Half") && text.contains("feedback: true"),
            "{text}"
        );
    }
    let lints = params("codec: TopK()").about().lints;
    assert!(lints.iter().any(|doubt| doubt.path == "mixing"), "{lints:?}");
    // A matrix of 8 by 8 in one bucket: at most 8 / 4 times its squared length; in buckets of 16 it
    // is 1.
    let lints = params("codec: Qsgd(levels: 4)").about().lints;
    assert!(
        lints.len() == 1 && lints[0].path == "codec" && lints[0].rule.contains("up to 1.4 times its norm"),
        "{lints:?}"
    );
    let buckets = params("codec: Qsgd(levels: 4, bucket: 16)").about().lints;
    assert!(buckets.is_empty(), "{buckets:?}");
    let one: Chosen<dyn Codec> = Chosen::new(folkmoot_codecs::Half {});
    assert!(
        Params {
            codec: one,
            ..params("mixing: 1")
        }
        .about()
        .lints
        .is_empty()
    );
}
