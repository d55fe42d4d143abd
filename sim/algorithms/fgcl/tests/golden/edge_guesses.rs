//! Edges guessed from noisy views by maximum posterior.

use folkmoot_checks::golden::{Case, Got, Mismatch};
use folkmoot_fgcl::guesses::{Prior, guessed};
use folkmoot_privacy::Laplace;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    epsilon: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    n_nodes: usize,
    edges: Vec<(u32, u32)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    known: Vec<Known>,
    attacked: Known,
    /// What was drawn of every pair, draw by draw.
    draws: Vec<Vec<f32>>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "map" {
        return Err(case.unknown_op());
    }
    let (Params { epsilon }, inputs): (Params, Inputs) = (case.params()?, case.inputs()?);
    let law = Laplace::for_epsilon(epsilon, 1.0).map_err(|error| error.to_string())?;
    let prior = Prior::of(inputs.known.iter().map(|graph| (graph.n_nodes, &graph.edges[..])));
    let n = inputs.attacked.n_nodes as u32;
    let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
    let (mut is_edge, mut odds) = (Vec::new(), Vec::new());
    for (at, (u, v)) in pairs.enumerate() {
        is_edge.push(inputs.attacked.edges.contains(&(u, v)));
        let of_views: f64 = inputs.draws.iter().map(|draw| law.log_ratio(f64::from(draw[at]))).sum();
        odds.push(prior.log_odds(u as usize, v as usize) + of_views);
    }
    let mut got: Vec<_> = guessed(&is_edge, &odds)
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    got.push(("odds", odds.into()));
    Ok(case.compare_single(Got::Map(got)))
}
