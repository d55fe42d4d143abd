//! Matching in a general graph: which atoms share a double bond, so that each that needs one has
//! one.
//!
//! J. Edmonds. Paths, Trees, and Flowers. Canadian Journal of Mathematics 17, 1965. An odd cycle
//! met in the search (a blossom) is shrunk to its base, whose search then goes on from all its
//! atoms. petgraph has a maximum matching too, but cannot be told which vertices need a partner and
//! which only may have one (wildcards).

use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// One search for an augmenting path; arrays by vertex.
struct Search<'a> {
    neighbours: &'a [Vec<u32>],
    partner: Vec<u32>,
    parent: Vec<u32>,
    base: Vec<u32>,
    reached: Vec<bool>,
}

/// Pairs up vertices along edges so that every vertex of `needed` has a partner.
///
/// Returns the partners, `u32::MAX` for none, or the first vertex of `needed` that must go without.
///
/// # Complexity
/// O(n_vertices × n_edges) in molecules, whose odd cycles are few; O(n_vertices³) at worst.
pub(super) fn cover(neighbours: &[Vec<u32>], needed: &[u32]) -> Result<Vec<u32>, u32> {
    let n = neighbours.len();
    let mut search = Search {
        neighbours,
        partner: vec![NONE; n],
        parent: vec![NONE; n],
        base: vec![0; n],
        reached: vec![false; n],
    };
    // A greedy start leaves little to search for; only needed vertices begin a pair, so none that
    // may stay alone is in the way.
    for &vertex in needed {
        if search.partner[vertex as usize] == NONE
            && let Some(&other) = neighbours[vertex as usize]
                .iter()
                .find(|&&other| search.partner[other as usize] == NONE)
        {
            search.pair(vertex, other);
        }
    }
    for &vertex in needed {
        if search.partner[vertex as usize] == NONE {
            let end = search.path_from(vertex).ok_or(vertex)?;
            search.augment(end);
        }
    }
    Ok(search.partner)
}

impl Search<'_> {
    fn pair(&mut self, one: u32, other: u32) {
        self.partner[one as usize] = other;
        self.partner[other as usize] = one;
    }

    /// Swaps paired and unpaired edges on the path that ends at `end`.
    fn augment(&mut self, end: u32) {
        let mut vertex = end;
        while vertex != NONE {
            let before = self.parent[vertex as usize];
            let next = self.partner[before as usize];
            self.pair(vertex, before);
            vertex = next;
        }
    }

    /// Breadth-first search over alternating paths; the free vertex that it ends at, if any.
    fn path_from(&mut self, root: u32) -> Option<u32> {
        self.parent.fill(NONE);
        self.reached.fill(false);
        for (vertex, base) in self.base.iter_mut().enumerate() {
            *base = vertex as u32;
        }
        self.reached[root as usize] = true;
        let mut queue = VecDeque::from([root]);
        let neighbours = self.neighbours;
        while let Some(vertex) = queue.pop_front() {
            for &to in &neighbours[vertex as usize] {
                let partner = self.partner[to as usize];
                if self.base[vertex as usize] == self.base[to as usize] || self.partner[vertex as usize] == to {
                    continue;
                }
                let is_even = to == root || (partner != NONE && self.parent[partner as usize] != NONE);
                if is_even {
                    self.shrink(vertex, to, root, &mut queue);
                } else if self.parent[to as usize] == NONE {
                    self.parent[to as usize] = vertex;
                    if partner == NONE {
                        return Some(to);
                    }
                    self.reached[partner as usize] = true;
                    queue.push_back(partner);
                }
            }
        }
        None
    }

    /// Shrinks the blossom that the edge between two even vertices closes.
    fn shrink(&mut self, one: u32, other: u32, root: u32, queue: &mut VecDeque<u32>) {
        let base = self.common_base(one, other, root);
        let mut inside = vec![false; self.base.len()];
        self.mark(one, base, other, &mut inside);
        self.mark(other, base, one, &mut inside);
        for vertex in 0..self.base.len() {
            if inside[self.base[vertex] as usize] {
                self.base[vertex] = base;
                if !self.reached[vertex] {
                    self.reached[vertex] = true;
                    queue.push_back(vertex as u32);
                }
            }
        }
    }

    fn common_base(&self, one: u32, other: u32, root: u32) -> u32 {
        let mut seen = vec![false; self.base.len()];
        let mut vertex = self.base[one as usize];
        loop {
            seen[vertex as usize] = true;
            if vertex == self.base[root as usize] {
                break;
            }
            vertex = self.base[self.parent[self.partner[vertex as usize] as usize] as usize];
        }
        let mut vertex = self.base[other as usize];
        while !seen[vertex as usize] {
            vertex = self.base[self.parent[self.partner[vertex as usize] as usize] as usize];
        }
        vertex
    }

    fn mark(&mut self, from: u32, base: u32, child: u32, inside: &mut [bool]) {
        let (mut vertex, mut child) = (from, child);
        while self.base[vertex as usize] != base {
            let partner = self.partner[vertex as usize];
            inside[self.base[vertex as usize] as usize] = true;
            inside[self.base[partner as usize] as usize] = true;
            self.parent[vertex as usize] = child;
            child = partner;
            vertex = self.parent[partner as usize];
        }
    }
}
