//! Structure reconstruction: nodes that resemble each other are taken for neighbours.

use crate::data::Data;
use crate::matcher::{Input, Matrix};
use crate::pairs::{Deployed, Observed};
use folkmoot_graphs::Pair;

/// How well arcs are told from other pairs of nodes by the cosine of what was sent of the two: the
/// mean over test graphs of the area under the ROC curve; `None` where no nodes are sent.
pub fn reconstruct(data: &Data, deployed: &Deployed<'_>) -> Option<f64> {
    if !deployed.matcher.sends_nodes() {
        return None;
    }
    // Each graph once, paired with itself or whatever it is first with.
    let pairs: Vec<Pair> = data.test.iter().step_by(2).copied().collect();
    let read = |pair: &Pair, seen: Observed<'_>| {
        let graph = &data.inputs[pair.first as usize];
        link_auc(graph, nodes(graph, &seen))
    };
    let areas: Vec<f64> = deployed
        .observe(&data.inputs, &pairs, read)
        .into_iter()
        .flatten()
        .collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

/// What was sent of the nodes of a pair's first graph, in its first rows.
pub(super) fn nodes<'a>(graph: &Input, seen: &Observed<'a>) -> &'a Matrix {
    // Of several messages the last with all nodes: they have gathered most.
    let whole = |message: &&Matrix| message.shape().0 >= graph.n_nodes();
    seen.sent[0].iter().rev().find(whole).unwrap_or(&seen.results[0])
}

/// The same for one graph, whose nodes are the first rows of what was sent.
fn link_auc(graph: &Input, nodes: &Matrix) -> Option<f64> {
    let n = graph.n_nodes();
    let width = nodes.n_columns as usize;
    let rows: Vec<&[f32]> = nodes.data.chunks_exact(width.max(1)).take(n).collect();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let norms: Vec<f64> = rows.iter().map(|row| dot(row, row).sqrt()).collect();
    let (mut linked, mut scores) = (Vec::new(), Vec::new());
    for u in 0..rows.len() {
        for v in u + 1..rows.len() {
            linked.push(graph.has_arc(u, v) || graph.has_arc(v, u));
            let norm = norms[u] * norms[v];
            scores.push(if norm > 0.0 { dot(rows[u], rows[v]) / norm } else { 0.0 });
        }
    }
    folkmoot_scores::auc(&linked, &scores).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, SimRng, normal};
    use folkmoot_learning::Csr;

    /// A ring of 60 nodes in pieces of four, whose nodes share their numbers or have their own.
    #[test]
    fn a_cosine_finds_arcs_where_neighbours_are_alike_and_nowhere_else() {
        let mut rng = SimRng::seed_from_u64(1);
        let mut found = |shared: bool| {
            let arcs: Vec<(u32, u32)> = (1..60)
                .filter(|node| node % 4 != 0)
                .map(|node| (node - 1, node))
                .collect();
            let graph = Input::from_csr(Csr::from_arcs(60, &arcs, None).unwrap(), vec![0.0; 60]);
            let mut nodes = Matrix::zeros((60, 8));
            let mut row = [0.0_f32; 8];
            for (node, of_node) in nodes.data.chunks_exact_mut(8).enumerate() {
                if node % 4 == 0 || !shared {
                    row = std::array::from_fn(|_| normal(&mut rng) as f32);
                }
                of_node.copy_from_slice(&row);
            }
            link_auc(&graph, &nodes).unwrap()
        };
        let (told, untold) = (found(true), found(false));
        // Of 45 arcs: four standard errors are 0.17.
        assert!(told > 0.95 && (untold - 0.5).abs() < 0.17, "{told} {untold}");
    }
}
