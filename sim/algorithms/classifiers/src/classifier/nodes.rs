//! Nodes of one graph at a client, for whoever looks at them besides training: labels that are
//! passed along edges.

use super::Part;
use folkmoot_learning::Csr;

/// Nodes of one graph, with the edges between them.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    /// What graph layers multiply with
    /// ([`Propagation::matrix`](super::graph_layers::Propagation::matrix)): an entry for each edge,
    /// in both directions, and one for each node if it has such.
    pub matrix: &'a Csr,
    /// The class of each; of those without a class any.
    pub labels: &'a [u32],
    pub(crate) masks: &'a [Vec<bool>; 3],
}

impl<'a> Nodes<'a> {
    /// Whether each is in this part.
    pub fn are_in(&self, part: Part) -> &'a [bool] {
        &self.masks[part as usize]
    }

    /// Whom a node has an edge with, without itself.
    pub fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + 'a {
        let columns = &self.matrix.columns()[self.matrix.range(node)];
        let near = columns.iter().map(|near| *near as usize);
        near.filter(move |near| *near != node)
    }

    /// With how many nodes one has an edge, itself not among them.
    pub fn degree(&self, node: usize) -> usize {
        self.neighbours(node).count()
    }

    /// What labels come to when they are passed along the edges: `steps` times
    /// `F ← a Â F + (1 − a) F₀`, and `F₀` added where `is_told`, with `Â` the normalised adjacency
    /// with loops, as the code of FedGTA and of AdaFGL does. `first` and what comes back have shape
    /// `(n_nodes, n_classes)`, row-major.
    ///
    /// # Panics
    ///
    /// If `first` is not a whole number of rows for each node.
    pub fn pass_labels(&self, first: &[f64], is_told: &[bool], a: f64, steps: u32) -> Vec<f64> {
        let n = self.labels.len();
        let n_classes = first.len() / n.max(1);
        assert_eq!(first.len(), n * n_classes, "a row for each node");
        let scale: Vec<f64> = (0..n)
            .map(|node| 1.0 / (1.0 + self.degree(node) as f64).sqrt())
            .collect();
        let mut now = first.to_vec();
        for _ in 0..steps {
            let mut next = vec![0.0; now.len()];
            for node in 0..n {
                let to = &mut next[node * n_classes..][..n_classes];
                for near in self.neighbours(node).chain([node]) {
                    let weight = scale[node] * scale[near];
                    let from = &now[near * n_classes..][..n_classes];
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
                }
                let start = &first[node * n_classes..][..n_classes];
                let again = if is_told[node] { 1.0 } else { 0.0 };
                for (to, start) in to.iter_mut().zip(start) {
                    *to = a * *to + (1.0 - a + again) * start;
                }
            }
            now = next;
        }
        now
    }
}
