//! Fused Gromov-Wasserstein: the value at a plan, and conditional gradient.

use folkmoot_checks::golden::{Case, Got, Mismatch, row_major, text};
use folkmoot_similarity::gw::{Fused, Options, feature_cost, fused_gw, fused_objective};
use folkmoot_similarity::transport::Plan;
use serde::Deserialize;

use super::gw::space;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    alpha: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AtPlan {
    #[serde(rename = "C")]
    c: Vec<Vec<f64>>,
    #[serde(rename = "D")]
    d: Vec<Vec<f64>>,
    #[serde(rename = "M")]
    cost: Vec<Vec<f64>>,
    p: Vec<f64>,
    q: Vec<f64>,
    plan: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithFeatures {
    #[serde(rename = "C")]
    c: Vec<Vec<f64>>,
    #[serde(rename = "D")]
    d: Vec<Vec<f64>>,
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    #[serde(rename = "Y")]
    y: Vec<Vec<f64>>,
    p: Vec<f64>,
    q: Vec<f64>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let value = match case.op.as_str() {
        "fgw_objective" => {
            let Share { alpha } = case.params()?;
            let AtPlan { c, d, cost, p, q, plan } = case.inputs()?;
            let (a, b) = (space(&c, &p)?, space(&d, &q)?);
            let (cost, _) = row_major(&cost)?;
            let (plan, width) = row_major(&plan)?;
            let fused = Fused { alpha, cost: &cost };
            fused_objective(&a, &b, &fused, &Plan::new(width, plan))
                .map_err(text)?
                .into()
        }
        "fgw_cg" => {
            let Share { alpha } = case.params()?;
            let WithFeatures { c, d, x, y, p, q } = case.inputs()?;
            let (a, b) = (space(&c, &p)?, space(&d, &q)?);
            let ((x, k), (y, _)) = (row_major(&x)?, row_major(&y)?);
            let cost = feature_cost(&x, &y, k);
            let fused = Fused { alpha, cost: &cost };
            Got::AtMost(fused_gw(&a, &b, &fused, &Options::default()).map_err(text)?)
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(vec![("value", value)])))
}
