//! Linear transport, exact and entropic.

use folkmoot_checks::golden::{Case, Got, Mismatch, row_major, text};
use folkmoot_similarity::transport::{Plan, Sinkhorn, exact, sinkhorn};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Problem {
    a: Vec<f64>,
    b: Vec<f64>,
    cost: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Regularisation {
    reg: f64,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let rows = |plan: &Plan| Got::rows(plan.values(), plan.n_columns());
    let got = match case.op.as_str() {
        "emd" => {
            let Problem { a, b, cost } = case.only_inputs()?;
            let (cost, _) = row_major(&cost)?;
            let plan = exact(&a, &b, &cost).map_err(text)?;
            vec![("value", plan.cost(&cost).into()), ("plan", rows(&plan))]
        }
        "sinkhorn" => {
            let Regularisation { reg } = case.params()?;
            let Problem { a, b, cost } = case.inputs()?;
            let (cost, _) = row_major(&cost)?;
            let settings = Sinkhorn {
                epsilon: reg,
                ..Sinkhorn::default()
            };
            let result = sinkhorn(&a, &b, &cost, &settings).map_err(text)?;
            if !result.converged {
                return Err(format!("no convergence: the rows miss by {}", result.row_error));
            }
            vec![("plan", rows(&result.plan)), ("cost", result.plan.cost(&cost).into())]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}
