//! The Laplace law, the multi-bit encoder, the exponential mechanism and composition.

use folkmoot_checks::golden::{Case, Got, Mismatch, row_major, text};
use folkmoot_privacy::{Entries, Exponential, Laplace, Mechanism, MultiBit, PrivacyCost, composition};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Encoder {
    epsilon: f64,
    alpha: f64,
    beta: f64,
    entries: Reading,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reading {
    Row,
    Total,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Matrix {
    #[serde(rename = "H")]
    values: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Epsilon {
    epsilon: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    dissimilarity: Vec<Vec<f64>>,
    lca_leaves: Vec<Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    scale: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Points {
    x: Vec<f64>,
    u: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    counts: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Views {
    eps1: f64,
    eps2: f64,
    uses: u64,
}

type Fields = Vec<(&'static str, Got)>;

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "multibit" => multi_bit(case)?,
        "exponential_mechanism" => exponential(case)?,
        "laplace" => laplace(case)?,
        "expected_rounded_count" => {
            let Epsilon { epsilon } = case.params()?;
            let Counts { counts } = case.inputs()?;
            let law = Laplace::for_epsilon(epsilon, 1.0).map_err(text)?;
            let means: Vec<f64> = counts.into_iter().map(|count| law.mean_rounded_count(count)).collect();
            vec![("expected", means.into())]
        }
        "fgcl_budget" => {
            let Views { eps1, eps2, uses } = case.only_inputs()?;
            let view = |epsilon| PrivacyCost {
                epsilon,
                delta: 0.0,
                unit: "one edge",
            };
            let total = composition::basic([(view(eps1), uses), (view(eps2), uses)]).map_err(text)?;
            vec![("basic", total.epsilon.into())]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}

fn multi_bit(case: &Case) -> Result<Fields, String> {
    let params: Encoder = case.params()?;
    let (values, width) = row_major(&case.inputs::<Matrix>()?.values)?;
    let entries = match params.entries {
        Reading::Row => Entries::Row,
        Reading::Total => Entries::Total,
    };
    let encoder = MultiBit::new(entries, params.epsilon, values.len() / width.max(1), width)
        .and_then(|encoder| encoder.with_range(params.alpha, params.beta))
        .map_err(text)?;
    let each = |f: &dyn Fn(f64) -> f64| Got::rows(&values.iter().map(|&x| f(x)).collect::<Vec<_>>(), width);
    Ok(vec![
        ("m", encoder.n_sampled().into()),
        ("entry_budget", encoder.entry_budget().into()),
        ("selection_probability", encoder.selection_probability().into()),
        ("probability", each(&|x| encoder.probability(x))),
        ("mean_encoded", each(&|x| encoder.mean(x))),
        ("rectifier_scale", encoder.rectifier_scale().into()),
        ("total_epsilon", encoder.cost().epsilon.into()),
    ])
}

fn exponential(case: &Case) -> Result<Fields, String> {
    let Epsilon { epsilon } = case.params()?;
    let Tree {
        dissimilarity,
        lca_leaves,
    } = case.inputs()?;
    let ((dissimilarity, width), (leaves, _)) = (row_major(&dissimilarity)?, row_major(&lca_leaves)?);
    if dissimilarity.len() != leaves.len() {
        return Err("dissimilarity and lca_leaves differ in shape".into());
    }
    let pairs = dissimilarity.into_iter().zip(leaves);
    let scores: Vec<f64> = pairs.map(|(distance, leaves)| -distance * f64::from(leaves)).collect();
    let sensitivity = scores.iter().fold(0.0, |largest: f64, score| largest.max(score.abs()));
    let printed = Exponential::as_printed(epsilon, sensitivity, "one vertex").map_err(text)?;
    let calibrated = Exponential::calibrated(epsilon, sensitivity, "one vertex").map_err(text)?;
    let probabilities = |mechanism: &Exponential| -> Result<Got, String> {
        let rows = scores.chunks(width).map(|row| mechanism.probabilities(row));
        Ok(rows.collect::<Result<Vec<_>, _>>().map_err(text)?.into())
    };
    let worst = |mechanism: &Exponential| mechanism.worst_log_ratio(&scores, width).map_err(text);
    Ok(vec![
        ("score", Got::rows(&scores, width)),
        ("sensitivity", sensitivity.into()),
        ("probability_as_printed", probabilities(&printed)?),
        ("probability_calibrated", probabilities(&calibrated)?),
        ("worst_log_ratio_as_printed", worst(&printed)?.into()),
        ("worst_log_ratio_calibrated", worst(&calibrated)?.into()),
    ])
}

fn laplace(case: &Case) -> Result<Fields, String> {
    let Scale { scale } = case.params()?;
    let Points { x, u } = case.inputs()?;
    let law = Laplace::new(scale).map_err(text)?;
    let each = |at: &[f64], f: &dyn Fn(f64) -> f64| Got::from(at.iter().map(|&x| f(x)).collect::<Vec<_>>());
    Ok(vec![
        ("pdf", each(&x, &|x| law.pdf(x))),
        ("cdf", each(&x, &|x| law.cdf(x))),
        ("quantile", each(&u, &|u| law.quantile(u))),
        ("variance", law.variance().into()),
        ("mean_abs", law.mean_abs().into()),
        ("mean_abs_difference_of_two", law.mean_abs_difference().into()),
        ("edge_error_at_half", law.guess_error().into()),
    ])
}
