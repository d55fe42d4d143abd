//! Barycentres under Gromov-Wasserstein: one update, and the alternation from a given start.

use folkmoot_checks::golden::{Case, Got, Mismatch, row_major, text};
use folkmoot_similarity::gw::{Alternation, Options, Solver, Space, barycentre, update};
use folkmoot_similarity::transport::Plan;
use serde::Deserialize;

use super::gw::space;

type Matrix = Vec<Vec<f64>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AtPlans {
    #[serde(rename = "Cs")]
    distances: Vec<Matrix>,
    plans: Vec<Matrix>,
    p: Vec<f64>,
    lambdas: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FromStart {
    #[serde(rename = "Cs")]
    distances: Vec<Matrix>,
    ps: Vec<Vec<f64>>,
    p: Vec<f64>,
    lambdas: Vec<f64>,
    #[serde(rename = "init_C")]
    start: Matrix,
}

/// The mean that the file gives.
#[derive(Deserialize)]
struct Expected {
    #[serde(default, rename = "C")]
    matrix: Matrix,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "gw_barycenter_update" => {
            let given: AtPlans = case.only_inputs()?;
            let mut plans = Vec::new();
            let mut spaces = Vec::new();
            for (distances, plan) in given.distances.iter().zip(&given.plans) {
                let (values, width) = row_major(plan)?;
                let plan = Plan::new(width, values);
                spaces.push(space(distances, &plan.row_sums())?);
                plans.push(plan);
            }
            let spaces: Vec<&Space> = spaces.iter().collect();
            let matrix = update(&spaces, &plans, &given.lambdas, &given.p).map_err(text)?;
            vec![("C", Got::rows(&matrix, given.p.len()))]
        }
        "gw_barycenter" => {
            let given: FromStart = case.only_inputs()?;
            let spaces = given.distances.iter().zip(&given.ps);
            let spaces: Vec<Space> = spaces
                .map(|(distances, p)| space(distances, p))
                .collect::<Result<_, _>>()?;
            let spaces: Vec<&Space> = spaces.iter().collect();
            let start = space(&given.start, &given.p)?;
            let settings = Alternation::default();
            let mean = barycentre(&spaces, &given.lambdas, &start, &settings).map_err(text)?;
            // Ours may be another optimum than the file's, which must be one as well: a round from
            // it leads back to it, but for the order of its points.
            let Expected { matrix } = serde_json::from_value(case.expected.clone()).map_err(text)?;
            if matrix.len() != given.p.len() {
                let got = vec![("C", Got::Missing), ("objective", Got::AtMost(mean.value))];
                return Ok(case.compare(Got::Map(got)));
            }
            let turned = |i: usize, j: usize| (matrix[i][j] + matrix[j][i]) / 2.0;
            let n = given.p.len();
            let symmetric: Vec<f64> = (0..n * n).map(|at| turned(at / n, at % n)).collect();
            let theirs = Space::new(&symmetric, &given.p).map_err(text)?;
            let mut solver = Solver::new(Options {
                exchange: false,
                ..Options::default()
            })
            .map_err(text)?;
            let plans: Vec<Plan> = spaces.iter().map(|space| solver.couple(space, &theirs).plan).collect();
            let again = update(&spaces, &plans, &given.lambdas, &given.p).map_err(text)?;
            let again = Space::new(&again, &given.p).map_err(text)?;
            let back = solver.couple(&again, &theirs).plan;
            let back = update(&[&again], &[back], &[1.0], &given.p).map_err(text)?;
            vec![("C", Got::rows(&back, n)), ("objective", Got::AtMost(mean.value))]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}
