//! Sparse matrices in compressed rows: what graph layers propagate with.
//!
//! Row `t` of a graph's matrix holds the arcs *into* node `t`, by ascending source, so a product
//! adds at the target what it reads at the source. A matrix need not be square: sparse features
//! times a weight matrix is a product like any other.

use folkmoot_graphs::Graph;
use thiserror::Error;

/// A sparse matrix of shape `(n_rows, n_columns)`: for each row its columns, ascending, and their
/// weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    n_columns: u32,
    offsets: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<f32>,
}

/// What the degree of a node is, when weights may be negative. The factor `d^−1/2` is 0 where the
/// degree is not positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DegreeRule {
    /// The sum of the weights.
    Masked,
    /// The sum of the weights' absolute values.
    Abs,
}

impl Csr {
    /// The adjacency of `graph`: weights are the arcs', or 1.
    pub fn from_graph(graph: &Graph) -> Csr {
        let weight = |e: usize| graph.arc_weights().map_or(1.0, |weights| weights[e]);
        let arcs: Vec<(u32, u32)> = graph.arcs().collect();
        if graph.is_directed() {
            return Csr::sorted(graph.n_nodes() as u32, graph.n_nodes() as u32, &arcs, weight);
        }
        // Rows of an undirected graph are its columns too.
        Csr {
            n_columns: graph.n_nodes() as u32,
            offsets: graph.offsets().to_vec(),
            columns: graph.targets().to_vec(),
            weights: (0..arcs.len()).map(weight).collect(),
        }
    }

    /// The adjacency of `n_nodes` nodes by a list of `(source, target)`; `weights` is parallel to
    /// it, 1 if absent.
    ///
    /// An arc that is listed twice is stored twice, so its weights add up in every product.
    ///
    /// # Errors
    /// [`CsrError`] for an id out of range, weights that are not parallel or not finite, and more
    /// than `u32::MAX` arcs.
    pub fn from_arcs(n_nodes: u32, arcs: &[(u32, u32)], weights: Option<&[f32]>) -> Result<Csr, CsrError> {
        Csr::check(arcs.len(), weights)?;
        if let Some(at) = arcs.iter().position(|(s, t)| *s >= n_nodes || *t >= n_nodes) {
            return Err(CsrError::OutOfRange {
                at,
                id: arcs[at].0.max(arcs[at].1),
                below: n_nodes,
            });
        }
        Ok(Csr::sorted(n_nodes, n_nodes, arcs, |e| {
            weights.map_or(1.0, |weights| weights[e])
        }))
    }

    /// A matrix by its entries `(row, column, value)`, in any order; shape `(n_rows, n_columns)`.
    ///
    /// # Errors
    /// As [`from_arcs`](Self::from_arcs).
    pub fn from_entries(n_rows: u32, n_columns: u32, entries: &[(u32, u32, f32)]) -> Result<Csr, CsrError> {
        let values: Vec<f32> = entries.iter().map(|entry| entry.2).collect();
        Csr::check(entries.len(), Some(&values))?;
        for (at, (row, column, _)) in entries.iter().enumerate() {
            for (id, below) in [(*row, n_rows), (*column, n_columns)] {
                if id >= below {
                    return Err(CsrError::OutOfRange { at, id, below });
                }
            }
        }
        let arcs: Vec<(u32, u32)> = entries.iter().map(|(row, column, _)| (*column, *row)).collect();
        Ok(Csr::sorted(n_rows, n_columns, &arcs, |e| values[e]))
    }

    fn check(n: usize, weights: Option<&[f32]>) -> Result<(), CsrError> {
        if u32::try_from(n).is_err() {
            return Err(CsrError::TooMany { n });
        }
        let Some(weights) = weights else { return Ok(()) };
        if weights.len() != n {
            return Err(CsrError::WeightCount {
                n,
                weights: weights.len(),
            });
        }
        match weights.iter().position(|weight| !weight.is_finite()) {
            Some(at) => Err(CsrError::Weight { at, got: weights[at] }),
            None => Ok(()),
        }
    }

    /// Sorts arcs by target, then source, then position.
    fn sorted(n_rows: u32, n_columns: u32, arcs: &[(u32, u32)], weight: impl Fn(usize) -> f32) -> Csr {
        let mut order: Vec<usize> = (0..arcs.len()).collect();
        order.sort_by_key(|&e| (arcs[e].1, arcs[e].0, e));
        let mut offsets = vec![0; n_rows as usize + 1];
        for (_, target) in arcs {
            offsets[*target as usize + 1] += 1;
        }
        for row in 0..n_rows as usize {
            offsets[row + 1] += offsets[row];
        }
        Csr {
            n_columns,
            offsets,
            columns: order.iter().map(|&e| arcs[e].0).collect(),
            weights: order.iter().map(|&e| weight(e)).collect(),
        }
    }

    /// `A + I`: every node's arc to itself, with weight 1 more than before.
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn with_self_loops(&self) -> Csr {
        assert_eq!(self.n_rows(), self.n_columns(), "only a square matrix has a diagonal");
        let mut loops = Csr {
            n_columns: self.n_columns,
            offsets: vec![0],
            columns: Vec::with_capacity(self.n_entries() + self.n_rows()),
            weights: Vec::with_capacity(self.n_entries() + self.n_rows()),
        };
        for row in 0..self.n_rows() as u32 {
            let range = self.range(row as usize);
            let (columns, weights) = (&self.columns[range.clone()], &self.weights[range]);
            let at = columns.partition_point(|column| *column < row);
            let own = columns.get(at) == Some(&row);
            loops.columns.extend(&columns[..at]);
            loops.weights.extend(&weights[..at]);
            loops.columns.push(row);
            loops.weights.push(1.0 + if own { weights[at] } else { 0.0 });
            let rest = at + usize::from(own);
            loops.columns.extend(&columns[rest..]);
            loops.weights.extend(&weights[rest..]);
            loops.offsets.push(loops.columns.len() as u32);
        }
        loops
    }

    /// `D^−1/2 A D^−1/2`, `D` the degrees of the rows under `rule`: the propagation of TAG and
    /// LightGCN, and with [`with_self_loops`](Self::with_self_loops) before it that of GCN (T. Kipf
    /// and M. Welling 2017, equation 2).
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn normalised(&self, rule: DegreeRule) -> Csr {
        assert_eq!(
            self.n_rows(),
            self.n_columns(),
            "only a square matrix has degrees on both sides"
        );
        let factors: Vec<f32> = (0..self.n_rows())
            .map(|row| factor(rule.degree(&self.weights[self.range(row)])))
            .collect();
        let mut normalised = self.clone();
        for row in 0..self.n_rows() {
            for e in self.range(row) {
                normalised.weights[e] *= factors[row] * factors[self.columns[e] as usize];
            }
        }
        normalised
    }

    /// Each row divided by its number of entries: a product then takes the mean of the neighbours,
    /// as GraphSAGE does.
    pub fn row_means(&self) -> Csr {
        let mut means = self.clone();
        for row in 0..self.n_rows() {
            let range = self.range(row);
            let n = range.len() as f32;
            means.weights[range].iter_mut().for_each(|weight| *weight /= n);
        }
        means
    }

    /// The matrix with `parts` along its diagonal and nothing elsewhere: several graphs as one.
    pub fn block_diagonal<'a>(parts: impl IntoIterator<Item = &'a Csr>) -> Csr {
        let mut whole = Csr {
            n_columns: 0,
            offsets: vec![0],
            columns: Vec::new(),
            weights: Vec::new(),
        };
        parts.into_iter().for_each(|part| whole.append(part));
        whole
    }

    /// Appends a block to the diagonal.
    pub(crate) fn append(&mut self, part: &Csr) {
        let (n_entries, n_columns) = (self.columns.len() as u32, self.n_columns);
        self.columns
            .extend(part.columns.iter().map(|column| column + n_columns));
        self.weights.extend(&part.weights);
        self.offsets.extend(part.offsets[1..].iter().map(|end| end + n_entries));
        self.n_columns += part.n_columns;
    }

    /// These rows, in this order, with the columns as they are.
    pub(crate) fn rows(&self, rows: &[u32]) -> Csr {
        let mut few = Csr::block_diagonal([]);
        few.n_columns = self.n_columns;
        for row in rows {
            let range = self.range(*row as usize);
            few.columns.extend(&self.columns[range.clone()]);
            few.weights.extend(&self.weights[range]);
            few.offsets.push(few.columns.len() as u32);
        }
        few
    }

    /// Makes this the square matrix of the nodes `nodes` of a `whole` one, ascending: the rows of
    /// those that are `inner`, all of whose columns are among them at `place`, and empty rows for
    /// the others.
    pub(crate) fn select(&mut self, whole: &Csr, nodes: &[u32], place: &[u32], inner: impl Fn(u32) -> bool) {
        self.clear();
        self.n_columns = nodes.len() as u32;
        for node in nodes {
            if inner(*node) {
                let range = whole.range(*node as usize);
                let columns = whole.columns[range.clone()].iter();
                self.columns.extend(columns.map(|column| place[*column as usize]));
                self.weights.extend(&whole.weights[range]);
            }
            self.offsets.push(self.columns.len() as u32);
        }
    }

    /// Forgets all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.n_columns = 0;
        self.offsets.truncate(1);
        self.columns.clear();
        self.weights.clear();
    }

    /// How many rows there are: the targets.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many columns there are: the sources.
    pub fn n_columns(&self) -> usize {
        self.n_columns as usize
    }

    /// How many entries are stored.
    pub fn n_entries(&self) -> usize {
        self.columns.len()
    }

    /// The positions of row `row`'s entries among all.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// The row bounds, of length `n_rows + 1`.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The columns of all entries, row after row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The weights of all entries, parallel to [`columns`](Self::columns).
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }
}

impl DegreeRule {
    /// The degree of a row of weights, summed in double precision: noise may cancel most of it.
    pub(crate) fn degree(self, weights: &[f32]) -> f32 {
        let sizes = weights.iter().map(|weight| match self {
            DegreeRule::Masked => f64::from(*weight),
            DegreeRule::Abs => f64::from(weight.abs()),
        });
        sizes.sum::<f64>() as f32
    }

    /// The derivative of the degree by one of its weights.
    pub(crate) fn slope(self, weight: f32) -> f32 {
        match self {
            DegreeRule::Masked => 1.0,
            DegreeRule::Abs if weight == 0.0 => 0.0,
            DegreeRule::Abs => 1.0f32.copysign(weight),
        }
    }
}

/// `d^−1/2`, or 0 where `d` is not positive.
pub(crate) fn factor(degree: f32) -> f32 {
    if degree > 0.0 { 1.0 / degree.sqrt() } else { 0.0 }
}

/// Why entries are not a matrix.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CsrError {
    /// More entries than 32-bit offsets can address.
    #[error("entries: must number at most {}, got {n}", u32::MAX)]
    TooMany {
        /// How many were given.
        n: usize,
    },
    /// An entry names a row or column that does not exist.
    #[error("entry {at}: ids must lie below {below}, got {id}")]
    OutOfRange {
        /// The position of the entry.
        at: usize,
        /// The id in it.
        id: u32,
        /// The id must lie below it.
        below: u32,
    },
    /// The weights are not parallel to the entries.
    #[error("weights: must be one an entry, {n}, got {weights}")]
    WeightCount {
        /// How many entries were given.
        n: usize,
        /// How many weights were given.
        weights: usize,
    },
    /// A weight is not a finite number.
    #[error("entry {at}: its weight must be finite, got {got}")]
    Weight {
        /// The position of the entry.
        at: usize,
        got: f32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directed() -> Csr {
        Csr::from_arcs(3, &[(0, 1), (2, 1), (1, 0)], Some(&[2.0, -1.0, 4.0])).unwrap()
    }

    #[test]
    fn a_row_holds_the_arcs_into_its_node() {
        let csr = directed();
        assert_eq!(csr.offsets(), [0, 1, 3, 3]);
        assert_eq!(
            (csr.columns(), csr.weights()),
            ([1, 0, 2].as_slice(), [4.0, 2.0, -1.0].as_slice())
        );
        let graph = Graph::from_edges(3, &[(0, 1), (2, 1), (1, 0)], true).unwrap();
        assert_eq!(Csr::from_graph(&graph).columns(), csr.columns());
        let undirected = Graph::from_edges(3, &[(0, 1), (2, 1)], false).unwrap();
        assert_eq!(Csr::from_graph(&undirected).columns(), [1, 0, 2, 1]);
    }

    #[test]
    fn self_loops_are_added_to_those_there_are() {
        let csr = Csr::from_arcs(2, &[(1, 1), (0, 1)], None).unwrap().with_self_loops();
        assert_eq!(
            (csr.offsets(), csr.columns()),
            ([0, 1, 3].as_slice(), [0, 0, 1].as_slice())
        );
        assert_eq!(csr.weights(), [1.0, 1.0, 2.0]);
    }

    #[test]
    fn degrees_that_are_not_positive_give_the_factor_0() {
        // Degrees 4, 1 and 0.
        assert_eq!(directed().normalised(DegreeRule::Masked).weights(), [2.0, 1.0, 0.0]);
        let three = 1.0 / 3f32.sqrt();
        assert_eq!(
            directed().normalised(DegreeRule::Abs).weights(),
            [4.0 * (0.5 * three), 2.0 * (three * 0.5), 0.0]
        );
    }

    #[test]
    fn blocks_keep_to_themselves() {
        let whole = Csr::block_diagonal([&directed(), &directed()]);
        assert_eq!(whole.offsets(), [0, 1, 3, 3, 4, 6, 6]);
        assert_eq!(whole.columns(), [1, 0, 2, 4, 3, 5]);
        assert_eq!((whole.n_rows(), whole.n_columns()), (6, 6));
    }

    #[test]
    fn errors_name_the_entry() {
        let message = |result: Result<Csr, CsrError>| result.unwrap_err().to_string();
        assert_eq!(
            message(Csr::from_arcs(2, &[(0, 1), (2, 0)], None)),
            "entry 1: ids must lie below 2, got 2"
        );
        assert_eq!(
            message(Csr::from_arcs(2, &[(0, 1)], Some(&[]))),
            "weights: must be one an entry, 1, got 0"
        );
        assert_eq!(
            message(Csr::from_entries(2, 3, &[(0, 2, f32::NAN)])),
            "entry 0: its weight must be finite, got NaN"
        );
    }
}
