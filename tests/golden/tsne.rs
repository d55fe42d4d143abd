//! The pieces of t-SNE: probabilities from distances, and divergence and gradient at a given map.

use folkmoot_checks::golden::{Case, Got, Mismatch, row_major, text};
use folkmoot_scores::classical::{joint_probabilities, map_divergence};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Algorithm {
    perplexity: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Points {
    #[serde(rename = "X")]
    points: Vec<Vec<f64>>,
    #[serde(rename = "Y")]
    places: Vec<Vec<f64>>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "tsne" {
        return Err(case.unknown_op());
    }
    let Algorithm { perplexity } = case.params()?;
    let Points { points, places } = case.inputs()?;
    let ((x, dim), (places, n_components)) = (row_major(&points)?, row_major(&places)?);
    if n_components != 2 {
        return Err(format!("a place must have 2 coordinates, got {n_components}"));
    }
    let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let rows = || x.chunks_exact(dim);
    let squared: Vec<f64> = rows().flat_map(|a| rows().map(move |b| squared(a, b))).collect();
    let p = joint_probabilities(&squared, points.len(), perplexity).map_err(text)?;
    let (kl, grad) = map_divergence(&p, &places).map_err(text)?;
    Ok(case.compare(Got::Map(vec![
        ("P", Got::rows(&p, points.len())),
        ("kl", kl.into()),
        ("grad", Got::rows(&grad, 2)),
    ])))
}
