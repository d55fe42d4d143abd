//! Distances between the rows of encoded embeddings, and Gromov-Wasserstein's value at the product
//! plan.

use folkmoot_checks::golden::{Case, Got, Mismatch, row_major, text};
use folkmoot_similarity::gw::{Space, objective};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Embeddings {
    #[serde(rename = "H1")]
    first: Vec<Vec<f64>>,
    #[serde(rename = "H2")]
    second: Vec<Vec<f64>>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "encoded_distance" {
        return Err(case.unknown_op());
    }
    let Embeddings { first, second } = case.only_inputs()?;
    let space = |rows: &[Vec<f64>]| {
        let (rows, k) = row_major(rows)?;
        Space::euclidean(&rows, k).map_err(text)
    };
    let (a, b) = (space(&first)?, space(&second)?);
    let value = objective(&a, &b, &a.product_plan(&b)).map_err(text)?;
    let got = vec![
        ("C1", Got::rows(&a.to_matrix(), a.n())),
        ("C2", Got::rows(&b.to_matrix(), b.n())),
        ("product_plan_value", value.into()),
    ];
    Ok(case.compare(Got::Map(got)))
}
