//! Losses with their gradients, and the pairs that skip-gram sees.

use folkmoot_checks::golden::{Case, Got, Mismatch, gradient_rows, row_major, rows, variable};
use folkmoot_learning::losses::{SkipGramLoss, skip_gram_negative_sampling, skip_gram_softmax};
use folkmoot_learning::skip_gram::window_pairs;
use folkmoot_learning::{Tape, Var};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contrast {
    tau: f32,
    include_positive: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contrasted {
    anchor: Vec<f32>,
    positive: Vec<f32>,
    negatives: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Paired {
    a: Vec<Vec<f32>>,
    b: Vec<Vec<f32>>,
    y: Vec<f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Masked {
    logits: Vec<Vec<f32>>,
    y: Vec<Vec<f32>>,
    labelled: Vec<Vec<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    logits: Vec<Vec<f32>>,
    y: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scored {
    logits: Vec<f32>,
    y: Vec<f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkipGram {
    input_emb: Vec<Vec<f64>>,
    output_emb: Vec<Vec<f64>>,
    center: u32,
    context: u32,
    #[serde(default)]
    negatives: Option<Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    window: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Walk {
    walk: Vec<u32>,
}

type Fields = Vec<(&'static str, Got)>;

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "infonce" => info_nce(case)?,
        "cosine_mse" => {
            let Paired { a, b, y } = case.only_inputs()?;
            let mut tape = Tape::new();
            let (a, b) = (variable(&mut tape, &a)?, variable(&mut tape, &b)?);
            let cosine = tape.cosine(a, b);
            let loss = tape.cosine_squared_error(a, b, &y);
            tape.backward(loss);
            vec![
                ("cosine", tape.value(cosine).to_vec().into()),
                ("loss", tape.scalar(loss).into()),
                ("grad_a", gradient_rows(&tape, a)),
                ("grad_b", gradient_rows(&tape, b)),
            ]
        }
        "bce_masked" => {
            let Masked { logits, y, labelled } = case.only_inputs()?;
            let (targets, mask) = (row_major(&y)?.0, row_major(&labelled)?.0);
            let mut tape = Tape::new();
            let logits = variable(&mut tape, &logits)?;
            let loss = tape.logistic_loss(logits, &targets, Some(&mask));
            tape.backward(loss);
            of_logits(&tape, loss, logits)
        }
        "cross_entropy" => {
            let Classes { logits, y } = case.only_inputs()?;
            let mut tape = Tape::new();
            let logits = variable(&mut tape, &logits)?;
            let softmax = tape.softmax(logits, None);
            let loss = tape.cross_entropy(logits, &y, None);
            tape.backward(loss);
            let mut got = of_logits(&tape, loss, logits);
            got.push(("softmax", rows(&tape, softmax)));
            got
        }
        "sigmoid_mse" => {
            let Scored { logits, y } = case.only_inputs()?;
            let mut tape = Tape::new();
            let logits = variable(&mut tape, &[logits])?;
            let scores = tape.sigmoid(logits);
            let loss = tape.mean_squared_error(scores, &y, None);
            tape.backward(loss);
            vec![
                ("loss", tape.scalar(loss).into()),
                ("grad_logits", tape.gradient(logits).to_vec().into()),
            ]
        }
        "skipgram_negative_sampling" | "skipgram_softmax" => return skip_gram(case),
        "window_pairs" => {
            let (Window { window }, Walk { walk }): (_, Walk) = (case.params()?, case.inputs()?);
            let mut pairs = Vec::new();
            pairs.extend(window_pairs(&walk, window));
            pairs.sort_unstable();
            let pairs = pairs
                .into_iter()
                .map(|(center, context)| Got::from(vec![center, context]));
            return Ok(case.compare(Got::Map(vec![("pairs", Got::List(pairs.collect()))])));
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare_single(Got::Map(got)))
}

fn of_logits(tape: &Tape<'_>, loss: Var, logits: Var) -> Fields {
    vec![
        ("loss", tape.scalar(loss).into()),
        ("grad_logits", gradient_rows(tape, logits)),
    ]
}

fn info_nce(case: &Case) -> Result<Fields, String> {
    let (Contrast { tau, include_positive }, inputs): (_, Contrasted) = (case.params()?, case.inputs()?);
    let mut tape = Tape::new();
    let anchor = variable(&mut tape, &[inputs.anchor])?;
    let positive = variable(&mut tape, &[inputs.positive])?;
    let negatives = variable(&mut tape, &inputs.negatives)?;
    let loss = tape.info_nce(anchor, positive, negatives, tau, include_positive);
    tape.backward(loss);
    Ok(vec![
        ("loss", tape.scalar(loss).into()),
        ("grad_anchor", tape.gradient(anchor).to_vec().into()),
        ("grad_positive", tape.gradient(positive).to_vec().into()),
        ("grad_negatives", gradient_rows(&tape, negatives)),
    ])
}

fn skip_gram(case: &Case) -> Result<Vec<Mismatch>, String> {
    let inputs: SkipGram = case.only_inputs()?;
    let ((input, dim), (output, _)) = (row_major(&inputs.input_emb)?, row_major(&inputs.output_emb)?);
    let SkipGramLoss {
        loss,
        grad_input,
        grad_output,
    } = match (case.op.as_str(), &inputs.negatives) {
        ("skipgram_negative_sampling", Some(negatives)) => {
            skip_gram_negative_sampling(&input, &output, dim, inputs.center, inputs.context, negatives)
        }
        ("skipgram_softmax", None) => skip_gram_softmax(&input, &output, dim, inputs.center, inputs.context),
        _ => return Err("negatives: must be given with sampling, and only then".into()),
    };
    Ok(case.compare(Got::Map(vec![
        ("loss", loss.into()),
        ("grad_input", Got::rows(&grad_input, dim)),
        ("grad_output", Got::rows(&grad_output, dim)),
    ])))
}
