//! The network simplex method for the transportation problem, on integer masses.
//!
//! A basis is a spanning tree of the bipartite graph of rows and columns; its arcs carry the flow.
//! A pivot takes in the arc of lowest reduced cost, pushes flow round the cycle it closes and drops
//! an arc that ran empty. The tree is kept strongly feasible (Cunningham 1976; Ahuja, Magnanti and
//! Orlin 1993, Sec. 11.5): an empty arc always points to the root. So ties cannot make it cycle.
//! Potentials are read off the tree, never accumulated, so they do not drift.
//!
//! A basis outlives a change of the costs: the next optimum is then usually a few pivots away.

use super::kernels::{LANES, largest, lowest, stride};

const NONE: u32 = u32::MAX;

/// A reduced cost above `−SLACK × max |cost|` counts as none: far above the rounding of a
/// potential, far below a difference that matters.
const SLACK: f64 = 1e-12;

/// How many reduced costs are looked at before a pivot, at least: all of them for 16 points a side,
/// else rows in turn.
///
/// Fewer cost more pivots, more cost more looks; steps of Gromov-Wasserstein on graphs of 17 to 40
/// nodes took the fewest instructions with 128 to 256.
const BLOCK: usize = 256;

/// A node of the tree: a row, or a column behind the rows.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    first_child: u32,
    next: u32,
    previous: u32,
    depth: u32,
    /// On the arc to the parent.
    flow: i64,
}

const ALONE: Node = Node {
    parent: NONE,
    first_child: NONE,
    next: NONE,
    previous: NONE,
    depth: 0,
    flow: 0,
};

/// What a plan moves from a row to a column, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) flow: i64,
}

/// A basis and its potentials; the memory is used again from problem to problem.
#[derive(Debug, Default)]
pub(crate) struct Simplex {
    n_rows: usize,
    root: usize,
    nodes: Vec<Node>,
    /// Potentials of the rows, and of the columns, padded by `−∞` to whole lanes.
    u: Vec<f64>,
    v: Vec<f64>,
    /// The row with which the next search begins.
    next_row: usize,
}

impl Simplex {
    /// Starts with the plan of the north-west corner, rows and columns taken in the given orders.
    ///
    /// All masses are positive and both sides have the same sum. If costs are `−x_i y_j` and both
    /// orders are ascending in `x` and `y`, this plan is already optimal.
    pub(crate) fn start(&mut self, supply: &[i64], demand: &[i64], rows: &[u32], columns: &[u32]) {
        let (n, m) = (supply.len(), demand.len());
        debug_assert!(n == rows.len() && m == columns.len());
        debug_assert!(supply.iter().chain(demand).all(|&mass| mass > 0));
        debug_assert_eq!(supply.iter().sum::<i64>(), demand.iter().sum::<i64>());
        self.n_rows = n;
        self.next_row = 0;
        self.nodes.clear();
        self.nodes.resize(n + m, ALONE);
        self.u.clear();
        self.u.resize(n, 0.0);
        self.v.clear();
        self.v.resize(m, 0.0);
        self.v.resize(stride(m), f64::NEG_INFINITY);
        self.root = n + columns[m - 1] as usize;

        let (mut at_row, mut at_column) = (0, 0);
        let (mut left, mut wanted) = (supply[rows[0] as usize], demand[columns[0] as usize]);
        while at_row < n {
            let (row, column) = (rows[at_row] as usize, n + columns[at_column] as usize);
            // On a tie the column is done first: then an empty arc leads from a row up to a column,
            // never down to one.
            if wanted <= left && at_column + 1 < m {
                self.hang(column, row, wanted);
                left -= wanted;
                at_column += 1;
                wanted = demand[columns[at_column] as usize];
            } else {
                self.hang(row, column, left);
                wanted -= left;
                at_row += 1;
                left = rows.get(at_row).map_or(0, |&row| supply[row as usize]);
            }
        }
    }

    /// Takes over the basis of another.
    pub(crate) fn copy(&mut self, other: &Simplex) {
        (self.n_rows, self.root, self.next_row) = (other.n_rows, other.root, other.next_row);
        self.nodes.clone_from(&other.nodes);
        self.u.clone_from(&other.u);
        self.v.clone_from(&other.v);
    }

    /// Pivots until no cost of `cost`, of shape `(n, stride)`, calls for a change; whether the plan
    /// has changed. Padding must be finite.
    pub(crate) fn optimise(&mut self, cost: &[f64]) -> bool {
        self.refresh(self.root, cost);
        let slack = -SLACK * largest(cost);
        let mut has_moved = false;
        while let Some((row, column)) = self.entering(cost, slack) {
            has_moved |= self.pivot(row, self.n_rows + column, cost) > 0;
        }
        has_moved
    }

    /// The arcs that carry something, by their lower nodes.
    pub(crate) fn arcs(&self) -> impl Iterator<Item = Arc> {
        let n = self.n_rows;
        let arcs = self.nodes.iter().enumerate().filter(|(_, node)| node.flow > 0);
        arcs.map(move |(at, &Node { parent, flow, .. })| {
            let (row, column) = if at < n {
                (at as u32, parent - n as u32)
            } else {
                (parent, (at - n) as u32)
            };
            Arc { row, column, flow }
        })
    }

    /// The pair with the lowest reduced cost of a block of rows, below `slack`.
    fn entering(&mut self, cost: &[f64], slack: f64) -> Option<(usize, usize)> {
        let (n, stride) = (self.n_rows, self.v.len());
        let n_block = (BLOCK / stride).max(1);
        let mut seen = 0;
        while seen < n {
            let first = self.next_row;
            let end = (first + n_block).min(n);
            let (reduced, at) = lowest(&cost[first * stride..end * stride], &self.u[first..end], &self.v);
            self.next_row = if end == n { 0 } else { end };
            if reduced < slack {
                return Some((first + at / stride, at % stride));
            }
            seen += end - first;
        }
        None
    }

    /// Takes in the arc from the row node to the column node; how much it then carries.
    fn pivot(&mut self, row: usize, column: usize, cost: &[f64]) -> i64 {
        let n = self.n_rows;
        // Flow runs row → column, up to the apex, and down to the row again. It shrinks on arcs
        // climbed from a column and on arcs descended to a row. Of those that run empty together,
        // the last on the way from the apex must leave.
        let (mut below, mut above) = (row, column);
        let (mut room_below, mut room_above) = (i64::MAX, i64::MAX);
        let (mut leaving_below, mut leaving_above) = (row, column);
        while below != above {
            if self.nodes[below].depth >= self.nodes[above].depth {
                let node = &self.nodes[below];
                if below < n && node.flow < room_below {
                    room_below = node.flow;
                    leaving_below = below;
                }
                below = node.parent as usize;
            } else {
                let node = &self.nodes[above];
                if above >= n && node.flow <= room_above {
                    room_above = node.flow;
                    leaving_above = above;
                }
                above = node.parent as usize;
            }
        }
        let apex = below;
        let pushed = room_below.min(room_above);
        if pushed > 0 {
            for (end, shrinks) in [(row, true), (column, false)] {
                let mut at = end;
                while at != apex {
                    let node = &mut self.nodes[at];
                    node.flow += if (at < n) == shrinks { -pushed } else { pushed };
                    at = node.parent as usize;
                }
            }
        }
        let (top, bottom, parent) = if room_above <= room_below {
            (leaving_above, column, row)
        } else {
            (leaving_below, row, column)
        };
        self.turn(bottom, top, parent, pushed);
        self.refresh(bottom, cost);
        pushed
    }

    /// Cuts the arc above `top` and hangs its subtree, turned upside down along the way to
    /// `bottom`, below `parent`.
    fn turn(&mut self, bottom: usize, top: usize, parent: usize, flow: i64) {
        let (mut at, mut parent, mut flow) = (bottom, parent, flow);
        loop {
            let Node {
                parent: old_parent,
                flow: old_flow,
                ..
            } = self.nodes[at];
            self.unhang(at);
            self.hang(at, parent, flow);
            if at == top {
                return;
            }
            (parent, at, flow) = (at, old_parent as usize, old_flow);
        }
    }

    fn hang(&mut self, child: usize, parent: usize, flow: i64) {
        let next = std::mem::replace(&mut self.nodes[parent].first_child, child as u32);
        if next != NONE {
            self.nodes[next as usize].previous = child as u32;
        }
        let node = &mut self.nodes[child];
        node.parent = parent as u32;
        node.next = next;
        node.previous = NONE;
        node.flow = flow;
    }

    fn unhang(&mut self, child: usize) {
        let Node {
            parent, next, previous, ..
        } = self.nodes[child];
        if previous == NONE {
            self.nodes[parent as usize].first_child = next;
        } else {
            self.nodes[previous as usize].next = next;
        }
        if next != NONE {
            self.nodes[next as usize].previous = previous;
        }
    }

    /// Reads depths and potentials of the subtree of `top` off the tree: `u + v = cost` on its
    /// arcs, 0 at the root.
    fn refresh(&mut self, top: usize, cost: &[f64]) {
        let (n, stride) = (self.n_rows, self.v.len());
        let mut at = top;
        loop {
            let parent = self.nodes[at].parent;
            if parent == NONE {
                self.v[at - n] = 0.0;
                self.nodes[at].depth = 0;
            } else {
                let parent = parent as usize;
                self.nodes[at].depth = self.nodes[parent].depth + 1;
                if at < n {
                    self.u[at] = cost[at * stride + parent - n] - self.v[parent - n];
                } else {
                    self.v[at - n] = cost[parent * stride + at - n] - self.u[parent];
                }
            }
            let first = self.nodes[at].first_child;
            if first != NONE {
                at = first as usize;
                continue;
            }
            while at != top && self.nodes[at].next == NONE {
                at = self.nodes[at].parent as usize;
            }
            if at == top {
                return;
            }
            at = self.nodes[at].next as usize;
        }
    }
}

const _: () = assert!(BLOCK.is_multiple_of(LANES));
