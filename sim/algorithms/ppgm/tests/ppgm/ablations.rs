//! What stands in place of the part that an ablation leaves out.

use super::{Whole, functions, params, system};
use folkmoot_learning::Tape;
use folkmoot_ppgm::matcher::{Ablation, Codes, Matcher};
use folkmoot_ppgm::options::Model;

/// Rows and columns of a message of the models here.
const SHAPE: (usize, usize) = (3, 16);

/// The mean of rows of 16 numbers.
fn mean(rows: &[f32]) -> Vec<f32> {
    let n = (rows.len() / SHAPE.1) as f32;
    let column = |k| rows.iter().skip(k).step_by(SHAPE.1).sum::<f32>() / n;
    (0..SHAPE.1).map(column).collect()
}

#[track_caller]
fn assert_close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} and {b:?}");
}

/// The obfuscated representation of PPGM does not depend on the message that its own device has
/// sent; without obfuscation it has that message's rows where PPGM has the other's.
#[test]
fn without_obfuscation_a_device_reads_its_own_message_beside_its_matches() {
    let dataset = functions(20, 1.0, 2);
    let [whole, without] = [Model::Ppgm, Model::NoObfuscation].map(|model| system(&dataset, &params(model)));
    let parameters = whole.initial();
    assert_eq!(parameters, without.initial());
    let result = |system: &Whole, own: &[f32], theirs: &[f32]| -> Vec<u32> {
        let graph = &system.data().inputs[0];
        let mut tape = Tape::new();
        tape.load(system.matcher().layout(), &parameters);
        let mut side = system.matcher().begin(&mut tape, &[graph], None)[0];
        side.sent = Some(tape.constant(SHAPE.0, SHAPE.1, own));
        let theirs = tape.constant(SHAPE.0, SHAPE.1, theirs);
        let met = system.matcher().meet(&mut tape, 0, &[graph], &[side], &[theirs], None);
        tape.value(met[0].state).iter().map(|x| x.to_bits()).collect()
    };
    let message = |factor: f32| -> Vec<f32> { (0..48_u8).map(|i| factor * f32::from(i % 7) - 1.0).collect() };
    let (a, b) = (message(0.3), message(-0.2));
    assert_eq!(result(&whole, &a, &b), result(&whole, &b, &b));
    assert_ne!(result(&without, &a, &b), result(&without, &b, &b));
    assert_eq!(result(&without, &b, &b), result(&whole, &a, &b));
    assert_ne!(
        result(&without, &a, &b),
        result(&without, &a, &a),
        "the match still reads the other's message"
    );
}

#[test]
fn without_codes_a_message_is_the_mean_of_the_nodes() {
    let dataset = functions(20, 1.0, 2);
    let system = system(&dataset, &params(Model::NoCodes));
    let graph = &system.data().inputs[0];
    let mut tape = Tape::new();
    tape.load(system.matcher().layout(), &system.initial());
    let side = system.matcher().begin(&mut tape, &[graph], None)[0];
    assert_close(tape.value(side.sent.unwrap()), &mean(tape.value(side.state)));
}

/// Whatever the other device has sent.
#[test]
fn without_matching_every_match_is_the_mean_of_the_nodes() {
    let dataset = functions(20, 1.0, 2);
    let params = params(Model::NoMatching);
    let system = system(&dataset, &params);
    let codes = Codes::new(
        &params.size,
        &params.form,
        Ablation::Matching,
        dataset.features.as_ref().unwrap().n_columns(),
    );
    let graph = &system.data().inputs[0];
    let mut tape = Tape::new();
    tape.load(codes.layout(), &system.initial());
    let side = codes.begin(&mut tape, &[graph], None)[0];
    let theirs = tape.constant(SHAPE.0, SHAPE.1, &[1.5; 48]);
    let matched = codes.matched(&mut tape, &[side], theirs, None);
    let nodes = mean(tape.value(side.state));
    assert_close(tape.value(matched), &[&nodes[..], &nodes, &nodes].concat());
}
