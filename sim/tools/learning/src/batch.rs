//! Several graphs as one: block-diagonal arcs, features below each other, and where each graph's
//! nodes are.

use crate::kernels::sparse;
use crate::{Adjacency, Csr, Tape, Var};

/// Features narrower than this, or with more than one number in so many that is not 0, are
/// multiplied as they are: faster, and nobody has to look for zeros.
const WIDE: usize = 64;
const SCARCE: usize = 8;
/// How many numbers of a row are looked at together.
const STRETCH: usize = 16;

/// A batch of graphs. Refilled in place, it keeps its memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    csr: Csr,
    bounds: Vec<u32>,
    features: Vec<f32>,
    n_features: usize,
    sums: Option<Vec<f32>>,
    /// The features that are not 0, and the sums.
    nonzeros: Option<Csr>,
    scarce_sums: Option<Csr>,
    /// Of which graph's nodes these are, if not of all.
    of: Option<Nodes>,
}

/// Some nodes of a graph.
#[derive(Clone, Debug, PartialEq)]
struct Nodes {
    nodes: Vec<u32>,
    n_all: usize,
}

impl Batch {
    /// A batch without graphs, of nodes with `n_features` features.
    pub fn new(n_features: usize) -> Batch {
        Batch {
            csr: Csr::block_diagonal([]),
            bounds: vec![0],
            features: Vec::new(),
            n_features,
            sums: None,
            nonzeros: None,
            scarce_sums: None,
            of: None,
        }
    }

    /// One graph whose nodes bring no features but what a layer that sums over neighbours makes of
    /// them, of shape `(n_nodes, n_features)`: nobody who holds the graph need know the features of
    /// all neighbours. Only a layer that begins with such sums can read it.
    ///
    /// # Panics
    /// If the adjacency is not square or the sums do not fit it.
    pub fn of_sums(csr: &Csr, n_features: usize, sums: Vec<f32>) -> Batch {
        assert_eq!(csr.n_rows(), csr.n_columns(), "a graph's adjacency is square");
        assert_eq!(sums.len(), csr.n_rows() * n_features, "each node has a row of sums");
        let mut all = Csr::block_diagonal([]);
        all.append(csr);
        Batch {
            nonzeros: None,
            scarce_sums: nonzeros(&sums, n_features),
            bounds: vec![0, csr.n_rows() as u32],
            csr: all,
            features: Vec::new(),
            n_features,
            sums: Some(sums),
            of: None,
        }
    }

    /// Forgets the graphs and keeps the memory.
    pub fn clear(&mut self) {
        self.csr.clear();
        self.bounds.truncate(1);
        self.features.clear();
        (self.sums, self.nonzeros, self.scarce_sums, self.of) = (None, None, None, None);
    }

    /// Makes this the part of one graph from which the rows of the nodes `wanted` follow after so
    /// many propagations: the nodes within that many hops, and the arcs into all but the outermost,
    /// whose own rows mean nothing behind the first. With what the whole keeps of them. False, and
    /// nothing of use, where that is more than half of the nodes.
    ///
    /// # Panics
    /// If there is no such node, or more than one graph.
    pub fn refill_near(&mut self, whole: &Batch, wanted: impl IntoIterator<Item = u32>, n_hops: usize) -> bool {
        assert_eq!(whole.n_graphs(), 1, "nodes are those of one graph");
        let n_all = whole.csr.n_rows();
        self.clear();
        let mut hops = vec![u32::MAX; n_all];
        let mut nodes = Vec::new();
        for node in wanted {
            if std::mem::replace(&mut hops[node as usize], 0) != 0 {
                nodes.push(node);
            }
        }
        let mut done = 0;
        for hop in 1..=n_hops as u32 {
            let last = done..nodes.len();
            done = nodes.len();
            for at in last {
                for near in &whole.csr.columns()[whole.csr.range(nodes[at] as usize)] {
                    if hops[*near as usize] == u32::MAX {
                        hops[*near as usize] = hop;
                        nodes.push(*near);
                    }
                }
            }
            if 2 * nodes.len() > n_all {
                return false;
            }
        }
        nodes.sort_unstable();
        let mut place = vec![0; n_all];
        (0..).zip(&nodes).for_each(|(at, node)| place[*node as usize] = at);
        let is_inner = |node: u32| hops[node as usize] < n_hops as u32;
        self.csr.select(&whole.csr, &nodes, &place, is_inner);
        self.bounds.push(nodes.len() as u32);
        self.n_features = whole.n_features;
        let width = whole.n_features;
        let rows_of = |rows: &[f32], to: &mut Vec<f32>| {
            for node in &nodes {
                to.extend_from_slice(&rows[*node as usize * width..][..width]);
            }
        };
        if !whole.features.is_empty() {
            rows_of(&whole.features, &mut self.features);
        }
        self.sums = whole.sums.as_ref().map(|sums| {
            let mut own = Vec::with_capacity(nodes.len() * width);
            rows_of(sums, &mut own);
            own
        });
        self.nonzeros = whole.nonzeros.as_ref().map(|all| all.rows(&nodes));
        self.scarce_sums = whole.scarce_sums.as_ref().map(|all| all.rows(&nodes));
        self.of = Some(Nodes { nodes, n_all });
        true
    }

    /// Which nodes of how many these are, where they are some of a graph.
    pub fn nodes_of_whole(&self) -> Option<(&[u32], usize)> {
        self.of.as_ref().map(|of| (&of.nodes[..], of.n_all))
    }

    /// Appends a graph; `features` has shape `(n_nodes, n_features)`.
    ///
    /// # Panics
    /// If the adjacency is not square or the features do not fit it.
    pub fn push(&mut self, csr: &Csr, features: &[f32]) {
        assert_eq!(csr.n_rows(), csr.n_columns(), "a graph's adjacency is square");
        assert_eq!(
            features.len(),
            csr.n_rows() * self.n_features,
            "each node has a row of features"
        );
        self.csr.append(csr);
        self.bounds.push(self.csr.n_rows() as u32);
        self.features.extend_from_slice(features);
        (self.sums, self.nonzeros, self.scarce_sums, self.of) = (None, None, None, None);
    }

    /// Looks for the features that are not 0 once and keeps them until the batch changes, if they
    /// are wide and such are few, as in bags of words: a layer that begins with a product then
    /// skips the others, and has the same bits.
    pub fn keep_nonzeros(&mut self) {
        self.nonzeros = nonzeros(&self.features, self.n_features);
    }

    /// Computes each node's weighted sum of its neighbours' features once and keeps it until the
    /// batch changes: a layer that begins with it need not do so in every step. Of the sums, too,
    /// those that are not 0 are kept where few are.
    pub fn keep_neighbour_sums(&mut self) {
        let mut sums = vec![0.0; self.features.len()];
        if self.n_features > 0 {
            let arcs = sparse::Arcs {
                offsets: self.csr.offsets(),
                sources: self.csr.columns(),
                weights: self.csr.weights(),
                stride: 1,
                head: 0,
                columns: self.n_features,
                width: self.n_features,
            };
            sparse::gather(&arcs, &self.features, &mut sums, false);
        }
        self.scarce_sums = nonzeros(&sums, self.n_features);
        self.sums = Some(sums);
    }

    /// What [`keep_neighbour_sums`](Self::keep_neighbour_sums) has kept, if it has: the bits of
    /// [`Tape::propagate`] on the features, of shape `(n_nodes, n_features)`, on a tape that
    /// borrows them.
    pub fn neighbour_sums<'g>(&'g self, tape: &mut Tape<'g>) -> Option<Var> {
        let sums = self.sums.as_ref()?;
        Some(match &self.scarce_sums {
            Some(nonzeros) => tape.scarce_input(sums, nonzeros),
            None => tape.input(self.csr.n_rows(), self.n_features, sums),
        })
    }

    /// Whether it has kept these.
    pub fn keeps_sums(&self) -> bool {
        self.sums.is_some()
    }

    /// The columns of its features, or of its sums where it has these alone, with a number that is
    /// not 0, ascending; `None` where it keeps no such numbers because they are not few.
    pub fn used_columns(&self) -> Option<Vec<u32>> {
        let known = match self.features.is_empty() {
            true => self.scarce_sums.as_ref(),
            false => self.nonzeros.as_ref(),
        };
        let mut columns = known?.columns().to_vec();
        columns.sort_unstable();
        columns.dedup();
        Some(columns)
    }

    /// The same with these columns of what its nodes bring alone, and what it keeps of them.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn with_columns(&self, columns: &[u32]) -> Batch {
        let of_rows = |rows: &[f32]| -> Vec<f32> {
            let rows = rows.chunks_exact(self.n_features.max(1));
            rows.flat_map(|row| columns.iter().map(|column| row[*column as usize]))
                .collect()
        };
        let (features, sums) = (of_rows(&self.features), self.sums.as_deref().map(of_rows));
        let n_features = columns.len();
        Batch {
            csr: self.csr.clone(),
            bounds: self.bounds.clone(),
            nonzeros: self.nonzeros.as_ref().and_then(|_| nonzeros(&features, n_features)),
            scarce_sums: sums.as_ref().and_then(|sums| nonzeros(sums, n_features)),
            features,
            n_features,
            sums,
            of: self.of.clone(),
        }
    }

    /// The numbers that a node brings.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// How many graphs there are.
    pub fn n_graphs(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The arcs of all graphs.
    pub fn adjacency(&self) -> Adjacency<'_> {
        Adjacency::Sparse(&self.csr)
    }

    /// The arcs as a matrix.
    pub fn csr(&self) -> &Csr {
        &self.csr
    }

    /// Graph `i` has the nodes `bounds[i]..bounds[i + 1]`.
    pub fn bounds(&self) -> &[u32] {
        &self.bounds
    }

    /// The features of all nodes, row-major of shape `(n_nodes, n_features)`.
    pub fn rows(&self) -> &[f32] {
        &self.features
    }

    /// What its nodes bring: their features, or the sums that it has in their place.
    pub fn brought(&self) -> &[f32] {
        match (&self.sums, self.features.is_empty()) {
            (Some(sums), true) => sums,
            _ => &self.features,
        }
    }

    /// The features of all nodes, of shape `(n_nodes, n_features)`, on a tape that borrows them.
    pub fn features<'g>(&'g self, tape: &mut Tape<'g>) -> Var {
        match &self.nonzeros {
            Some(nonzeros) => tape.scarce_input(&self.features, nonzeros),
            None => tape.input(self.csr.n_rows(), self.n_features, &self.features),
        }
    }
}

/// The numbers of rows that are not 0, where rows are wide and such numbers few.
fn nonzeros(rows: &[f32], n_columns: usize) -> Option<Csr> {
    let n_some = rows.iter().filter(|x| **x != 0.0).count();
    if n_columns < WIDE || n_some * SCARCE > rows.len() {
        return None;
    }
    let n_rows = (rows.len() / n_columns) as u32;
    let rows = (0..).zip(rows.chunks_exact(n_columns));
    let mut entries: Vec<(u32, u32, f32)> = Vec::with_capacity(n_some);
    for (row, values) in rows {
        // Most stretches hold nothing.
        for (at, some) in (0..).step_by(STRETCH).zip(values.chunks(STRETCH)) {
            if some.iter().fold(false, |any, x| any | (*x != 0.0)) {
                let all = (at..).zip(some).filter(|(_, x)| **x != 0.0);
                entries.extend(all.map(|(column, x)| (row, column, *x)));
            }
        }
    }
    // Whoever has features that are no numbers goes on without.
    Csr::from_entries(n_rows, n_columns as u32, &entries).ok()
}
