//! Dynamic time warping of row sequences, and the dissimilarities of vertices by their neighbours'
//! degree vectors.

use folkmoot_checks::golden::{Case, Got, Mismatch, Pairs, row_major};
use folkmoot_graphs::Graph;
use folkmoot_similarity::dissimilarity::Sequences;
use folkmoot_similarity::dtw::{self, Metric};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    #[serde(with = "MetricName")]
    metric: Metric,
}

/// How the files spell a [`Metric`].
#[derive(Deserialize)]
#[serde(remote = "Metric", rename_all = "lowercase")]
enum MetricName {
    L1,
    L2,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Two {
    #[serde(rename = "A")]
    a: Vec<Vec<f32>>,
    #[serde(rename = "B")]
    b: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vertices {
    graph: Pairs,
    degree_vectors: Vec<Vec<f32>>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "dtw" => {
            let Rows { metric } = case.params()?;
            let Two { a, b } = case.inputs()?;
            let (n_columns, (a, k), (b, k_b)) = (b.len(), row_major(&a)?, row_major(&b)?);
            if k == 0 || k != k_b {
                return Err(format!("A and B: rows must be of one width above 0, got {k} and {k_b}"));
            }
            let table = dtw::dtw_table(&a, &b, k, metric);
            vec![
                ("value", dtw::dtw(&a, &b, k, metric).into()),
                ("accumulated", Got::rows(&table, n_columns)),
            ]
        }
        "dissimilarity_from_degree_vectors" => {
            let Vertices { graph, degree_vectors } = case.only_inputs()?;
            let graph = graph.undirected()?;
            let (vectors, k) = row_major(&degree_vectors)?;
            if k == 0 || degree_vectors.len() != graph.n_nodes() {
                return Err("degree_vectors: there must be one a node, of a width above 0".into());
            }
            let sequences = Sequences::of_neighbours(&graph, &vectors, k);
            let all = sequences.all_pairs(Metric::L1);
            let orders = (0..graph.n_nodes() as u32).map(|u| order(&graph, &degree_vectors, &sequences, u));
            vec![
                ("neighbour_order", Got::List(orders.collect::<Result<_, _>>()?)),
                ("dissimilarity", Got::square(graph.n_nodes(), |u, v| all.get(u, v))),
            ]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare_single(Got::Map(got)))
}

/// The neighbours of `u` in the order of its sequence, told by their vectors; equal vectors by
/// ascending index.
fn order(graph: &Graph, vectors: &[Vec<f32>], sequences: &Sequences, u: u32) -> Result<Got, String> {
    let mut left = graph.neighbours(u).to_vec();
    let mut order = Vec::new();
    for row in sequences.matrix(u).chunks(sequences.k()) {
        let at = left.iter().position(|&v| vectors[v as usize] == row);
        let at = at.ok_or_else(|| format!("a row of vertex {u} is of no neighbour, or of one twice: {row:?}"))?;
        order.push(left.remove(at));
    }
    Ok(order.into())
}
