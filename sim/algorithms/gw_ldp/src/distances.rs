//! Distances between graphs: Gromov-Wasserstein on what was released and on what was not, and the
//! references beside it.
//!
//! Those of the graphs themselves do not depend on what a run learns. For a set of graphs they are
//! computed once for all runs of a process ([`of_set`]): a value depends on its [`Key`] alone, so
//! no result depends on what was computed before.

use super::options::{Method, Metric, NodeWeights, RowDistance};
use super::subjects::Subjects;
use folkmoot_classifiers::classifier::{GraphRows, Inputs};
use folkmoot_graphs::Graph;
use folkmoot_rounds::known::Known;
use folkmoot_similarity::graph_edit;
use folkmoot_similarity::gw::{self, Entropic, GwError, Space, SpaceError};
use folkmoot_similarity::shortest_path::{self, PathCounts};
use rayon::prelude::*;
use std::fmt::Display;
use std::sync::Arc;

/// The distances of all pairs of `n` graphs, row-major of shape `(n, n)`, symmetric.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Distances {
    pub(super) n: usize,
    pub(super) values: Vec<f64>,
    /// The kernel of which these are the distances, where there is one.
    pub(super) kernel: Option<Vec<f64>>,
}

/// An embedding's values, row-major, and how wide its rows are.
pub(super) type Rows = (Vec<f64>, usize);

/// Why there are none.
pub(super) type Refusal = String;

fn text(error: impl Display) -> Refusal {
    error.to_string()
}

impl Distances {
    /// From the values of pairs (0, 1), (0, 2), … (1, 2), ….
    fn of_pairs(n: usize, pairs: &[f64]) -> Distances {
        let mut values = vec![0.0; n * n];
        let mut pairs = pairs.iter();
        for u in 0..n {
            for (v, value) in (u + 1..n).zip(&mut pairs) {
                values[u * n + v] = *value;
                values[v * n + u] = *value;
            }
        }
        Distances {
            n,
            values,
            kernel: None,
        }
    }

    /// The rows and columns `at`, in their order.
    pub(super) fn select(&self, at: &[usize]) -> Distances {
        let pick = |values: &Vec<f64>| -> Vec<f64> {
            let row = |&u: &usize| at.iter().map(move |&v| values[u * self.n + v]);
            at.iter().flat_map(row).collect()
        };
        Distances {
            n: at.len(),
            values: pick(&self.values),
            kernel: self.kernel.as_ref().map(pick),
        }
    }

    /// Mean and standard deviation over all pairs; `None` without any.
    pub(super) fn moments(&self) -> Option<(f64, f64)> {
        let upper = || (0..self.n).flat_map(|u| self.values[u * self.n + u + 1..(u + 1) * self.n].iter());
        let n_pairs = (self.n * self.n.saturating_sub(1) / 2) as f64;
        let mean = upper().sum::<f64>() / n_pairs;
        let square = upper().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n_pairs;
        (self.n > 1).then(|| (mean, square.sqrt()))
    }
}

/// Gromov-Wasserstein of all pairs.
pub(super) fn of_spaces(spaces: &[Space], method: Method) -> Result<Distances, Refusal> {
    let pairs = match method.options() {
        Ok(options) => gw::all_pairs(spaces, &options).map_err(text)?,
        Err(settings) => entropic(spaces, &settings).map_err(text)?,
    };
    Ok(Distances::of_pairs(spaces.len(), &pairs))
}

fn entropic(spaces: &[Space], settings: &Entropic) -> Result<Vec<f64>, GwError> {
    let pairs: Vec<(usize, usize)> = (0..spaces.len())
        .flat_map(|u| (u + 1..spaces.len()).map(move |v| (u, v)))
        .collect();
    let value = |&(u, v): &(usize, usize)| Ok(gw::entropic_gw(&spaces[u], &spaces[v], settings)?.coupling.value);
    let values: Vec<Result<f64, GwError>> = pairs.par_iter().map(value).collect();
    values.into_iter().collect()
}

/// The spaces of embeddings, each row-major with rows of `width` values.
pub(super) fn spaces<'a>(
    embeddings: impl IntoParallelIterator<Item = (&'a [f64], usize), Iter: IndexedParallelIterator>,
    distance: RowDistance,
) -> Result<Vec<Space>, SpaceError> {
    let space = |(rows, width): (&[f64], usize)| match distance {
        RowDistance::Euclidean => Space::euclidean(rows, width),
        RowDistance::Cosine => angular(rows.to_vec(), width),
        RowDistance::Correlation => {
            let mut centred = rows.to_vec();
            for row in centred.chunks_exact_mut(width) {
                let mean = row.iter().sum::<f64>() / width as f64;
                row.iter_mut().for_each(|value| *value -= mean);
            }
            angular(centred, width)
        }
    };
    let spaces: Vec<Result<Space, SpaceError>> = embeddings.into_par_iter().map(space).collect();
    spaces.into_iter().collect()
}

/// The same with each point weighing by its degree and 1 more, if these are given.
pub(super) fn weighed(space: Space, degrees: Option<&[u32]>) -> Result<Space, SpaceError> {
    let Some(degrees) = degrees else { return Ok(space) };
    let sum = degrees.iter().map(|degree| f64::from(*degree) + 1.0).sum::<f64>();
    let weights: Vec<f64> = degrees.iter().map(|degree| (f64::from(*degree) + 1.0) / sum).collect();
    space.with_weights(&weights)
}

/// The hop counts of a graph.
pub(super) fn of_hops(graph: &Graph, weights: NodeWeights) -> Result<Space, SpaceError> {
    weighed(Space::of_hops(graph)?, weights.degrees(graph).as_deref())
}

/// 1 less the cosine of two rows; a row of zeros has cosine 0 with every other.
fn angular(mut rows: Vec<f64>, width: usize) -> Result<Space, SpaceError> {
    for row in rows.chunks_exact_mut(width) {
        let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|value| *value /= length);
        }
    }
    let n = rows.len() / width;
    let mut distances = vec![0.0; n * n];
    for u in 0..n {
        for v in u + 1..n {
            let pairs = rows[u * width..][..width].iter().zip(&rows[v * width..][..width]);
            let cosine: f64 = pairs.map(|(a, b)| a * b).sum();
            distances[u * n + v] = (1.0 - cosine).max(0.0);
            distances[v * n + u] = distances[u * n + v];
        }
    }
    Space::uniform(distances)
}

/// All that the distances of the graphs of a set depend on.
#[derive(PartialEq)]
struct Key {
    dataset: String,
    /// A split or a partition may leave graphs out.
    ids: Vec<u32>,
    metric: Metric,
    method: Method,
    weights: NodeWeights,
    /// What nodes bring with them, where the metric looks at it.
    inputs: Option<Inputs>,
}

/// The distances of all graphs of a set, by a metric of graphs; `rows` has what the network sees of
/// each node, which is the data set's by `inputs`.
///
/// Computed once in a process for each [`Key`].
pub(super) fn of_set(
    subjects: &Subjects,
    (inputs, rows): (Inputs, &dyn Fn() -> Vec<GraphRows>),
    metric: Metric,
    (method, weights): (Method, NodeWeights),
) -> Result<Arc<Distances>, Refusal> {
    /// A set of two thousand graphs takes 32 MB for a metric.
    static KNOWN: Known<Key, Result<Arc<Distances>, Refusal>> = Known::new(8);

    let ids: Vec<u32> = subjects.list().iter().map(|subject| subject.id).collect();
    let compute = || {
        let graphs: Vec<&Graph> = ids.iter().map(|id| subjects.graph(*id)).collect();
        of_graphs(&graphs, rows, metric, (method, weights)).map(Arc::new)
    };
    if !subjects.dataset().is_graph_level() {
        return compute();
    }
    let key = Key {
        dataset: subjects.dataset().fingerprint(),
        ids: ids.clone(),
        metric,
        method,
        weights,
        inputs: matches!(metric, Metric::Fused { .. }).then_some(inputs),
    };
    KNOWN.get(key, compute)
}

fn of_graphs(
    graphs: &[&Graph],
    inputs: &dyn Fn() -> Vec<GraphRows>,
    metric: Metric,
    (method, weights): (Method, NodeWeights),
) -> Result<Distances, Refusal> {
    let hops = || -> Result<Vec<Space>, SpaceError> {
        let spaces: Vec<_> = graphs.par_iter().map(|graph| of_hops(graph, weights)).collect();
        spaces.into_iter().collect()
    };
    match metric {
        Metric::Released | Metric::Clean | Metric::ClientMajority => unreachable!("these are not of graphs"),
        Metric::Hops => of_spaces(&hops().map_err(text)?, method),
        Metric::Fused { alpha } => {
            let rows = inputs();
            let width = rows.first().map_or(1, |rows| rows.width as usize);
            let double = |rows: &GraphRows| rows.values.iter().map(|value| f64::from(*value)).collect();
            let features: Vec<Vec<f64>> = rows.iter().map(double).collect();
            let options = method
                .options()
                .map_err(|_| "fused needs the conditional gradient".to_owned())?;
            let spaces = hops().map_err(text)?;
            let pairs = gw::fused_all_pairs(&spaces, &features, width, alpha, &options).map_err(text)?;
            Ok(Distances::of_pairs(graphs.len(), &pairs))
        }
        Metric::ShortestPaths => {
            let counts: Vec<_> = graphs.par_iter().map(|graph| PathCounts::of(graph, None)).collect();
            let counts: Result<Vec<PathCounts>, _> = counts.into_iter().collect();
            let mut kernel = shortest_path::kernel_matrix(&counts.map_err(text)?);
            shortest_path::normalise(&mut kernel, graphs.len()).map_err(text)?;
            Ok(Distances {
                n: graphs.len(),
                values: kernel.iter().map(|value| (2.0 - 2.0 * value).max(0.0)).collect(),
                kernel: Some(kernel),
            })
        }
        Metric::Size => Ok(of_columns(&[sizes(graphs)])),
        Metric::SizeAndEdges => {
            let edges = graphs.iter().map(|graph| graph.n_edges() as f64).collect();
            Ok(of_columns(&[sizes(graphs), edges]))
        }
        Metric::EditDistance => {
            let n = graphs.len();
            let pairs: Vec<(usize, usize)> = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect();
            let value = |&(u, v): &(usize, usize)| graph_edit::distance(graphs[u], graphs[v]).map(f64::from);
            let values: Vec<_> = pairs.par_iter().map(value).collect();
            let values: Result<Vec<f64>, _> = values.into_iter().collect();
            Ok(Distances::of_pairs(n, &values.map_err(text)?))
        }
    }
}

fn sizes(graphs: &[&Graph]) -> Vec<f64> {
    graphs.iter().map(|graph| graph.n_nodes() as f64).collect()
}

/// Squared Euclidean distances of items known by a few numbers, each scaled to variance 1.
fn of_columns(columns: &[Vec<f64>]) -> Distances {
    let n = columns[0].len();
    let mut values = vec![0.0; n * n];
    for column in columns {
        let mean = column.iter().sum::<f64>() / n as f64;
        let variance = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
        if variance > 0.0 {
            for (u, a) in column.iter().enumerate() {
                for (v, b) in column.iter().enumerate() {
                    values[u * n + v] += (a - b) * (a - b) / variance;
                }
            }
        }
    }
    Distances {
        n,
        values,
        kernel: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(n: u32) -> Graph {
        let edges: Vec<(u32, u32)> = (1..n).map(|v| (v - 1, v)).collect();
        Graph::from_edges(n, &edges, false).unwrap()
    }

    fn of(metric: Metric) -> Distances {
        let graphs = [path(3), path(3), path(5)];
        let graphs: Vec<&Graph> = graphs.iter().collect();
        let inputs = || {
            let rows = |id: u32, n: usize, value: f32| GraphRows {
                id,
                values: vec![value; n],
                width: 1,
            };
            vec![rows(0, 3, 0.0), rows(1, 3, 2.0), rows(2, 5, 0.0)]
        };
        of_graphs(&graphs, &inputs, metric, (Method::default(), NodeWeights::Uniform)).unwrap()
    }

    #[test]
    fn equal_graphs_are_at_no_distance() {
        for metric in [
            Metric::Hops,
            Metric::ShortestPaths,
            Metric::Size,
            Metric::SizeAndEdges,
            Metric::EditDistance,
        ] {
            let distances = of(metric);
            assert!(distances.values[1].abs() < 1e-12, "{metric:?}");
            assert!(distances.values[2] > 0.1, "{metric:?}");
            assert_eq!(distances.values[2], distances.values[6], "{metric:?}");
        }
        assert_eq!(of(Metric::EditDistance).values[2], 4.0);
        // With features that differ by 2 everywhere, half of their squared distance.
        assert!((of(Metric::Fused { alpha: 0.5 }).values[1] - 2.0).abs() < 1e-12);
    }

    /// Two of three sizes are equal: they lie 1 / (2 / 9) times the squared difference of shares
    /// apart.
    #[test]
    fn sizes_are_scaled_to_unit_variance() {
        let distances = of(Metric::Size);
        assert!((distances.values[2] - 4.0 / (8.0 / 9.0)).abs() < 1e-12);
        assert!((of(Metric::SizeAndEdges).values[2] - 2.0 * distances.values[2]).abs() < 1e-12);
        let (mean, std) = distances.moments().unwrap();
        assert!((mean - 3.0).abs() < 1e-12 && (std * std - 4.5).abs() < 1e-12);
        let pair = distances.select(&[2, 0]);
        assert_eq!((pair.n, pair.values[1]), (2, distances.values[2]));
        assert_eq!(pair.select(&[0]).moments(), None);
    }

    /// An edge against a star of four, by every plan on a grid that has the corners of the set of
    /// all plans.
    #[test]
    fn nodes_weigh_by_their_degrees() {
        let star = Graph::from_edges(4, &[(0, 1), (0, 2), (0, 3)], false).unwrap();
        let (edge, none) = (path(2), Vec::new);
        let of = |weights| {
            let how = (Method::default(), weights);
            of_graphs(&[&edge, &star], &none, Metric::Hops, how).unwrap().values[1]
        };
        let hops = Space::of_hops(&star).unwrap();
        // So many 24ths of three nodes of the star go to one end of the edge, and of the last what
        // is missing to a half.
        let value = |weights: [f64; 4], shares: [usize; 3]| {
            let mut first = [0.0; 4];
            (0..3).for_each(|i| first[i] = weights[i] * shares[i] as f64 / 24.0);
            first[3] = 0.5 - first.iter().sum::<f64>();
            let possible = (-1e-12..=weights[3] + 1e-12).contains(&first[3]);
            let plan = |i: usize, j: usize| if j == 0 { first[i] } else { weights[i] - first[i] };
            let mut value = if possible { 0.0 } else { f64::INFINITY };
            for (i, k) in (0..4).flat_map(|i| (0..4).map(move |k| (i, k))) {
                for (j, l) in (0..2).flat_map(|j| (0..2).map(move |l| (j, l))) {
                    let difference = hops.distance(i, k) - f64::from(j != l);
                    value += difference * difference * plan(i, j) * plan(k, l);
                }
            }
            value
        };
        let least = |weights| {
            let grid = (0..25 * 25 * 25).map(|at| value(weights, [at / 625, at / 25 % 25, at % 25]));
            grid.fold(f64::INFINITY, f64::min)
        };
        let (uniform, by_degree) = (of(NodeWeights::Uniform), of(NodeWeights::Degree));
        assert!((uniform - least([0.25; 4])).abs() < 1e-9, "{uniform}");
        assert!((by_degree - least([0.4, 0.2, 0.2, 0.2])).abs() < 1e-9, "{by_degree}");
        assert!(uniform > by_degree + 0.1, "{uniform} and {by_degree}");
        // A node without a neighbour counts too.
        let alone = Graph::from_edges(3, &[(0, 1)], false).unwrap();
        assert_eq!(of_hops(&alone, NodeWeights::Degree).unwrap().weights(), [0.4, 0.4, 0.2]);
    }

    #[test]
    fn rows_are_compared_as_asked() {
        let rows = [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.0];
        let space = |distance| spaces(vec![(&rows[..], 2)], distance).unwrap().remove(0);
        let euclidean = space(RowDistance::Euclidean);
        assert!((euclidean.distance(0, 2) - 10f64.sqrt()).abs() < 1e-12);
        let cosine = space(RowDistance::Cosine);
        assert_eq!(
            (cosine.distance(0, 1), cosine.distance(0, 2), cosine.distance(0, 3)),
            (0.0, 1.0, 1.0)
        );
        let correlation = space(RowDistance::Correlation);
        assert!((correlation.distance(0, 2) - 2.0).abs() < 1e-12);
    }
}
