//! Gromov-Wasserstein by scaling with either loss and uneven weights: the proximal-point method,
//! and the entropic one.

use folkmoot_checks::golden::{Case, Got, Mismatch, text};
use folkmoot_similarity::gw::{Entropic, Loss, entropic_gw};
use serde::Deserialize;

use super::gw::space;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    #[serde(rename = "C")]
    c: Vec<Vec<f64>>,
    #[serde(rename = "D")]
    d: Vec<Vec<f64>>,
    p: Vec<f64>,
    q: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    epsilon: f64,
    loss: String,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let proximal = match case.op.as_str() {
        "gw_proximal" => true,
        "gw_regularised" => false,
        _ => return Err(case.unknown_op()),
    };
    let (pair, params): (Pair, Params) = (case.inputs()?, case.params()?);
    let mut settings = Entropic {
        proximal,
        loss: match params.loss.as_str() {
            "square_loss" => Loss::Square,
            "kl_loss" => Loss::KullbackLeibler,
            other => return Err(format!("no loss is called {other}")),
        },
        max_steps: 5000,
        ..Entropic::default()
    };
    settings.sinkhorn.epsilon = params.epsilon;
    let found = entropic_gw(&space(&pair.c, &pair.p)?, &space(&pair.d, &pair.q)?, &settings).map_err(text)?;
    let value = ("value", found.coupling.value.into());
    Ok(case.compare(Got::Map(vec![value])))
}
