//! Hop distances, neighbourhoods, the edit distance and the shortest-path kernel.

use folkmoot_checks::golden::{Case, Got, Mismatch, Pairs, text};
use folkmoot_graphs::measures;
use folkmoot_similarity::{graph_edit, shortest_path};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    graph: Pairs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Centred {
    graph: Pairs,
    center: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Two {
    g: Pairs,
    h: Pairs,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "apsp" => {
            let graph = case.only_inputs::<One>()?.graph.undirected()?;
            let far = |hops| {
                if hops == measures::UNREACHABLE {
                    f64::INFINITY
                } else {
                    f64::from(hops)
                }
            };
            let row = |source| measures::hops_from(&graph, source).into_iter().map(far).collect();
            let rows: Vec<Vec<f64>> = (0..graph.n_nodes() as u32).map(row).collect();
            vec![("distance", rows.into())]
        }
        "ego" => {
            let Centred { graph, center } = case.only_inputs()?;
            let graph = graph.undirected()?;
            if center as usize >= graph.n_nodes() {
                return Err(format!("center: must lie below {}, got {center}", graph.n_nodes()));
            }
            let within = |hops| measures::ego(&graph, center, hops).into();
            vec![("hop1", within(1)), ("hop2", within(2))]
        }
        "ged" => {
            let Two { g, h } = case.only_inputs()?;
            let distance = graph_edit::distance(&g.undirected()?, &h.undirected()?).map_err(text)?;
            vec![("value", distance.into())]
        }
        "sp_kernel" => {
            let Two { g, h } = case.only_inputs()?;
            let kernel = shortest_path::kernel(&g.undirected()?, &h.undirected()?).map_err(text)?;
            vec![("value", kernel.into())]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}
