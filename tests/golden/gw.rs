//! Gromov-Wasserstein: value and gradient at a plan, conditional gradient, entropic plans.

use folkmoot_checks::golden::{Case, Got, Mismatch, row_major, text};
use folkmoot_similarity::gw::{Entropic, Options, Space, entropic_gw, gradient, gw, objective};
use folkmoot_similarity::transport::Plan;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "UPPERCASE")]
struct Pair {
    c: Vec<Vec<f64>>,
    d: Vec<Vec<f64>>,
    #[serde(rename = "p")]
    p: Vec<f64>,
    #[serde(rename = "q")]
    q: Vec<f64>,
    #[serde(rename = "plan")]
    plan: Option<Vec<Vec<f64>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Regularisation {
    epsilon: f64,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if !["gw_objective", "gw_cg", "gw_upper", "gw_entropic"].contains(&case.op.as_str()) {
        return Err(case.unknown_op());
    }
    let pair: Pair = case.inputs()?;
    let (a, b) = (space(&pair.c, &pair.p)?, space(&pair.d, &pair.q)?);
    if pair.plan.is_some() != (case.op == "gw_objective") {
        return Err("plan: belongs to gw_objective alone".into());
    }
    let options = Options::default();
    let got = match &pair.plan {
        Some(plan) => {
            let _: Pair = case.only_inputs()?;
            let (plan, width) = row_major(plan)?;
            let plan = Plan::new(width, plan);
            let value = objective(&a, &b, &plan).map_err(text)?;
            let slope = gradient(&a, &b, &plan).map_err(text)?;
            vec![("value", value.into()), ("gradient", Got::rows(&slope, width))]
        }
        None if case.op == "gw_entropic" => {
            let Regularisation { epsilon } = case.params()?;
            let mut settings = Entropic::default();
            settings.sinkhorn.epsilon = epsilon;
            let result = entropic_gw(&a, &b, &settings).map_err(text)?;
            if !(result.converged && result.row_error < 1e-6) {
                return Err(format!("no fixed point was reached: {result:?}"));
            }
            let plan = &result.coupling.plan;
            let rows = Got::rows(plan.values(), plan.n_columns());
            vec![("plan", rows), ("value", result.coupling.value.into())]
        }
        None => {
            let _: Pair = case.only_inputs()?;
            let value = gw(&a, &b, &options).map_err(text)?;
            let optimum = ("global_optimum", Got::AtLeast(value));
            if case.op == "gw_upper" {
                let (a, b) = (relabelled(&pair.c, &pair.p)?, relabelled(&pair.d, &pair.q)?);
                let turned = gw(&a, &b, &options).map_err(text)?;
                if (value - turned).abs() > 1e-9 {
                    return Err(format!("{value} becomes {turned} under a relabelling"));
                }
                vec![optimum]
            } else if a.n() == b.n() {
                // Brute force was for permutations only.
                vec![("value", Got::AtMost(value)), optimum]
            } else {
                vec![("value", Got::AtMost(value))]
            }
        }
    };
    Ok(case.compare(Got::Map(got)))
}

pub(super) fn space(distances: &[Vec<f64>], weights: &[f64]) -> Result<Space, String> {
    let (distances, _) = row_major(distances)?;
    Space::new(&distances, weights).map_err(text)
}

/// The same space with its points in the opposite order.
fn relabelled(distances: &[Vec<f64>], weights: &[f64]) -> Result<Space, String> {
    let turned: Vec<Vec<f64>> = distances
        .iter()
        .rev()
        .map(|row| row.iter().rev().copied().collect())
        .collect();
    let weights: Vec<f64> = weights.iter().rev().copied().collect();
    space(&turned, &weights)
}
