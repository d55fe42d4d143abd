//! What a data set looks like in numbers: sizes, degrees, components, labels, and how alike
//! neighbours are.

use crate::measures::components;
use crate::{Dataset, Graph};

/// How numbers are spread; all zero where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub min: usize,
    /// The lower median.
    pub median: usize,
    pub mean: f64,
    pub max: usize,
}

/// A data set in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// How many graphs, nodes and edges there are.
    pub n_graphs: usize,
    /// Nodes of all graphs.
    pub n_nodes: usize,
    /// Edges of all graphs; arcs, if they are directed.
    pub n_edges: usize,
    /// The degree of every node, ascending; in a directed graph, arcs that leave it.
    pub degrees: Vec<usize>,
    /// Connected components of all graphs, whatever the direction of arcs.
    pub n_components: usize,
    /// Nodes of the largest.
    pub largest_component: usize,
    /// Nodes and edges of a graph, in a set of graphs.
    pub graph_sizes: Option<(Spread, Spread)>,
    /// Columns of features, and the share of entries that are not zero.
    pub features: Option<(usize, f64)>,
    /// How many items have each label, with the label's name: classes of nodes, or classes or tasks
    /// of graphs.
    pub labels: Vec<(String, usize)>,
    /// How many items could have one: labelled nodes, or graphs.
    pub n_labelled: usize,
    /// The share of edges between labelled nodes whose ends have a class in common; none without
    /// such an edge.
    pub homophily: Option<f64>,
}

impl Spread {
    /// Of numbers in any order.
    pub fn of(mut numbers: Vec<usize>) -> Spread {
        numbers.sort_unstable();
        let (Some(&min), Some(&max)) = (numbers.first(), numbers.last()) else {
            return Spread::default();
        };
        Spread {
            min,
            median: numbers[(numbers.len() - 1) / 2],
            mean: numbers.iter().sum::<usize>() as f64 / numbers.len() as f64,
            max,
        }
    }
}

impl Profile {
    /// Looks at all of `dataset`.
    ///
    /// # Complexity
    /// O(nodes + arcs + features), and the sort of the degrees.
    pub fn of(dataset: &Dataset) -> Profile {
        let each = |count: fn(&Graph) -> usize| -> Vec<usize> { dataset.graphs.iter().map(count).collect() };
        let all_degrees = dataset
            .graphs
            .iter()
            .flat_map(|graph| (0..graph.n_nodes() as u32).map(|node| graph.degree(node)));
        let mut degrees: Vec<usize> = all_degrees.collect();
        degrees.sort_unstable();
        let found: Vec<u32> = dataset
            .graphs
            .iter()
            .flat_map(|graph| components(graph).sizes)
            .collect();
        let sizes = || (Spread::of(each(Graph::n_nodes)), Spread::of(each(Graph::n_edges)));
        let (labels, n_labelled) = labels(dataset);
        Profile {
            n_graphs: dataset.graphs.len(),
            n_nodes: dataset.n_nodes(),
            n_edges: each(Graph::n_edges).into_iter().sum(),
            degrees,
            n_components: found.len(),
            largest_component: found.into_iter().max().unwrap_or(0) as usize,
            graph_sizes: dataset.is_graph_level().then(sizes),
            features: dataset.features.as_ref().map(|features| {
                let (n_rows, n_columns) = (features.n_rows(), features.n_columns());
                let mut row = vec![0.0; n_columns];
                let mut filled = 0;
                for node in 0..n_rows as u32 {
                    features.write_row(node, &mut row);
                    filled += row.iter().filter(|&&value| value != 0.0).count();
                }
                (n_columns, filled as f64 / (n_rows * n_columns).max(1) as f64)
            }),
            labels,
            n_labelled,
            homophily: homophily(dataset),
        }
    }

    /// How many nodes have each degree, in steps that double: 0, 1, 2 to 3, 4 to 7, and so on up to
    /// the greatest.
    pub fn degree_steps(&self) -> Vec<(usize, usize, usize)> {
        let mut steps: Vec<(usize, usize, usize)> = Vec::new();
        let mut least = 0;
        for &degree in &self.degrees {
            while steps.last().is_none_or(|&(_, most, _)| degree > most) {
                let most = (2 * least).max(1) - 1;
                steps.push((least, most.max(least), 0));
                least = most.max(least) + 1;
            }
            if let Some((_, _, count)) = steps.last_mut() {
                *count += 1;
            }
        }
        steps
    }
}

/// Labels with their numbers of items, and how many items there are to have one.
pub(crate) fn labels(dataset: &Dataset) -> (Vec<(String, usize)>, usize) {
    let numbered = |sizes: Vec<usize>| {
        let name = |(class, n): (usize, usize)| (class.to_string(), n);
        sizes.into_iter().enumerate().map(name).collect()
    };
    if let Some(tasks) = &dataset.graph_tasks {
        let positive = |(task, name): (usize, &String)| (name.clone(), tasks.counts(task).0);
        return (
            tasks.names().iter().enumerate().map(positive).collect(),
            tasks.n_graphs(),
        );
    }
    if let Some(classes) = &dataset.graph_labels {
        let mut sizes = vec![0; dataset.n_classes];
        for &class in classes {
            sizes[class as usize] += 1;
        }
        return (numbered(sizes), classes.len());
    }
    match &dataset.node_labels {
        Some(labels) => (numbered(labels.class_sizes()), labels.n_nodes() - labels.n_unlabelled()),
        None => (Vec::new(), 0),
    }
}

fn homophily(dataset: &Dataset) -> Option<f64> {
    let labels = dataset.node_labels.as_ref()?;
    let (mut alike, mut all) = (0_usize, 0_usize);
    let mut first = 0;
    for graph in &dataset.graphs {
        for (u, v) in graph.edges() {
            let (u, v) = (labels.of(first + u), labels.of(first + v));
            if !u.is_empty() && !v.is_empty() {
                all += 1;
                alike += usize::from(u.iter().any(|class| v.contains(class)));
            }
        }
        first += graph.n_nodes() as u32;
    }
    (all > 0).then(|| alike as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;

    #[test]
    fn a_path_with_a_lonely_node_is_counted() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3)], false).unwrap();
        let labels = Labels::from_pairs(5, 3, &[(0, 0), (1, 0), (1, 2), (2, 1), (4, 2)]).unwrap();
        let profile = Profile::of(&Dataset {
            node_labels: Some(labels),
            ..Dataset::of_graph("path", graph)
        });
        assert_eq!(profile.degrees, [0, 1, 1, 2, 2]);
        assert_eq!((profile.n_components, profile.largest_component), (2, 4));
        let sizes: Vec<usize> = profile.labels.iter().map(|(_, n)| *n).collect();
        assert_eq!((sizes, profile.n_labelled), (vec![2, 1, 2], 4));
        // Nodes 0 and 1 share class 0, nodes 1 and 2 nothing, and node 3 has no class.
        assert_eq!(profile.homophily, Some(0.5));
        assert_eq!((profile.graph_sizes, profile.features), (None, None));
    }

    #[test]
    fn steps_of_degrees_double_and_cover_every_node() {
        let edges: Vec<(u32, u32)> = (1..8).map(|leaf| (0, leaf)).collect();
        let profile = Profile::of(&Dataset::of_graph("star", Graph::from_edges(9, &edges, false).unwrap()));
        assert_eq!(profile.degree_steps(), [(0, 0, 1), (1, 1, 7), (2, 3, 0), (4, 7, 1)]);
        let spread = Spread::of(profile.degrees);
        assert_eq!((spread.min, spread.median, spread.max), (0, 1, 7));
        assert!((spread.mean - 14.0 / 9.0).abs() < 1e-12);
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }

    #[test]
    fn graphs_have_sizes_and_classes() {
        let pair = Graph::from_edges(2, &[(0, 1)], false).unwrap();
        let path = Graph::from_edges(3, &[(0, 1), (1, 2)], false).unwrap();
        let profile = Profile::of(&Dataset {
            name: "two".to_owned(),
            graphs: vec![pair, path],
            graph_labels: Some(vec![1, 1]),
            n_classes: 2,
            ..Dataset::default()
        });
        let (nodes, edges) = profile.graph_sizes.unwrap();
        assert_eq!((nodes.min, nodes.max, edges.min, edges.max), (2, 3, 1, 2));
        assert_eq!(profile.labels, [("0".to_owned(), 0), ("1".to_owned(), 2)]);
        assert_eq!(profile.n_components, 2);
    }
}
