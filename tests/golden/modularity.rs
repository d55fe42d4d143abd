//! The modularity of divisions of graphs.

use folkmoot_checks::golden::{Case, Got, Mismatch, Pairs};
use folkmoot_graphs::measures;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Divided {
    graph: Pairs,
    groups: Vec<u32>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "modularity" => {
            let Divided { graph, groups } = case.only_inputs()?;
            let graph = graph.undirected()?;
            if groups.len() != graph.n_nodes() {
                return Err(format!(
                    "groups: expected {} of them, got {}",
                    graph.n_nodes(),
                    groups.len()
                ));
            }
            vec![("modularity", measures::modularity(&graph, &groups).into())]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}
