//! Rings: which atoms and bonds lie in one, and the shortest ones from which all others are
//! composed.
//!
//! The shortest rings are the relevant cycles (P. Vismara. Union of all the minimum cycle bases of
//! a graph. Electronic Journal of Combinatorics 4, 1997) among Horton's candidates (J. D. Horton.
//! SIAM Journal on Computing 16, 1987): a shortest path to each end of a bond and the bond itself.
//! Dative bonds close no ring: a ligand's rings are its own. Unlike one smallest set of smallest
//! rings they do not depend on the order of atoms.

use std::collections::{BTreeSet, VecDeque};

use super::draft::Draft;
use super::{BondKind, SmilesError};

/// Bounds the work on one system of joined rings, in words of 64 bonds that are combined: about a
/// second.
const MAX_WORK: u64 = 1 << 30;

/// What is known about rings.
pub(super) struct Rings {
    /// Whether each atom lies in a ring.
    pub(super) atoms: Vec<bool>,
    /// Whether each bond lies in a ring.
    pub(super) bonds: Vec<bool>,
    /// The shortest rings, each as its ascending bonds; shorter rings of one system come first.
    pub(super) shortest: Vec<Vec<u32>>,
}

/// Finds all rings.
///
/// # Errors
/// For a ring system beyond any real molecule, which would take more than about a second.
pub(super) fn find(draft: &Draft) -> Result<Rings, SmilesError> {
    let bonds = cyclic_bonds(draft);
    let mut rings = Rings {
        atoms: vec![false; draft.atoms.len()],
        bonds,
        shortest: Vec::new(),
    };
    for (idx, bond) in draft.bonds.iter().enumerate() {
        if rings.bonds[idx] {
            rings.atoms[bond.from as usize] = true;
            rings.atoms[bond.to as usize] = true;
        }
    }
    let mut seen = vec![false; draft.atoms.len()];
    for start in 0..draft.atoms.len() {
        if rings.atoms[start] && !seen[start] {
            let system = System::collect(draft, &rings.bonds, start, &mut seen);
            let shortest = system.shortest_rings(draft)?;
            rings.shortest.extend(shortest);
        }
    }
    Ok(rings)
}

/// The bonds that are no bridges: depth-first search with the earliest atom that each subtree
/// reaches.
fn cyclic_bonds(draft: &Draft) -> Vec<bool> {
    const UNSEEN: usize = usize::MAX;
    let n = draft.atoms.len();
    let mut cyclic = vec![false; draft.bonds.len()];
    let bonds_of = |atom: usize| {
        draft
            .incident(atom)
            .filter(|&bond| draft.bonds[bond].kind != BondKind::Dative)
    };
    let (mut order, mut low) = (vec![UNSEEN; n], vec![0; n]);
    let mut next = 0;
    for root in 0..n {
        if order[root] != UNSEEN {
            continue;
        }
        // Each entry: the atom, the bond it was reached by, and the bonds still to follow.
        let mut stack = vec![(root, None, bonds_of(root))];
        (order[root], low[root]) = (next, next);
        next += 1;
        while let Some((atom, via, bonds)) = stack.last_mut() {
            let (atom, via) = (*atom, *via);
            match bonds.next() {
                Some(bond) if Some(bond) == via => {}
                Some(bond) => {
                    let to = draft.bonds[bond].other(atom);
                    if order[to] == UNSEEN {
                        (order[to], low[to]) = (next, next);
                        next += 1;
                        stack.push((to, Some(bond), bonds_of(to)));
                    } else {
                        low[atom] = low[atom].min(order[to]);
                        cyclic[bond] = true;
                    }
                }
                None => {
                    stack.pop();
                    if let (Some(bond), Some((parent, ..))) = (via, stack.last()) {
                        low[*parent] = low[*parent].min(low[atom]);
                        cyclic[bond] = low[atom] <= order[*parent];
                    }
                }
            }
        }
    }
    cyclic
}

/// A maximal set of atoms joined by ring bonds, with positions of its own for atoms and bonds.
struct System {
    /// The first atom, for messages.
    start: usize,
    /// For each atom of the system its (neighbour, bond) pairs.
    neighbours: Vec<Vec<(u32, u32)>>,
    /// The ends of each bond.
    ends: Vec<(u32, u32)>,
    /// The bond's position in the molecule; ascending.
    bonds: Vec<u32>,
}

/// A set of a system's bonds, one bit each.
type BondSet = Vec<u64>;

impl System {
    fn collect(draft: &Draft, cyclic: &[bool], start: usize, seen: &mut [bool]) -> System {
        let mut atoms = Vec::new();
        let mut bonds = BTreeSet::new();
        let mut open = vec![start];
        seen[start] = true;
        while let Some(atom) = open.pop() {
            atoms.push(atom);
            for bond in draft.incident(atom).filter(|&bond| cyclic[bond]) {
                bonds.insert(bond as u32);
                let other = draft.bonds[bond].other(atom);
                if !seen[other] {
                    seen[other] = true;
                    open.push(other);
                }
            }
        }
        atoms.sort_unstable();
        let place = |atom: u32| atoms.partition_point(|&other| other < atom as usize) as u32;
        let mut neighbours = vec![Vec::new(); atoms.len()];
        let mut ends = Vec::with_capacity(bonds.len());
        for (idx, &bond) in bonds.iter().enumerate() {
            let bond = draft.bonds[bond as usize];
            let (from, to) = (place(bond.from), place(bond.to));
            neighbours[from as usize].push((to, idx as u32));
            neighbours[to as usize].push((from, idx as u32));
            ends.push((from, to));
        }
        System {
            start,
            neighbours,
            ends,
            bonds: bonds.into_iter().collect(),
        }
    }

    fn shortest_rings(&self, draft: &Draft) -> Result<Vec<Vec<u32>>, SmilesError> {
        let (n_atoms, n_bonds) = (self.neighbours.len(), self.bonds.len());
        let n_independent = n_bonds + 1 - n_atoms;
        if n_independent == 1 {
            return Ok(vec![self.bonds.clone()]);
        }
        let words = n_bonds.div_ceil(64);
        let work = (n_atoms * n_independent) as u64 * (n_independent * words) as u64;
        if work > MAX_WORK {
            let rule = format!(
                "the ring system of {n_atoms} atoms and {n_bonds} bonds that begins here is beyond what is searched"
            );
            return Err(SmilesError::new(draft.atoms[self.start].at, rule));
        }
        let trees: Vec<Tree> = (0..n_atoms).map(|root| Tree::grow(self, root)).collect();
        let mut candidates: Vec<(u32, u32, u32)> = Vec::new();
        for (root, tree) in trees.iter().enumerate() {
            candidates.extend(tree.closing(self).map(|(length, bond)| (length, root as u32, bond)));
        }
        candidates.sort_unstable();
        // Rows of a matrix in echelon form, each with the bond that no later row has.
        let mut basis: Vec<(usize, BondSet)> = Vec::new();
        let mut found: Vec<BondSet> = Vec::new();
        for group in candidates.chunk_by(|one, other| one.0 == other.0) {
            if basis.len() == n_independent {
                break;
            }
            let shorter = basis.len();
            let mut same_length: BTreeSet<BondSet> = BTreeSet::new();
            for &(_, root, bond) in group {
                let ring = trees[root as usize].ring(bond, words);
                if same_length.contains(&ring) {
                    continue;
                }
                let mut rest = ring.clone();
                reduce(&mut rest, &basis[..shorter]);
                if first_bond(&rest).is_none() {
                    continue;
                }
                reduce(&mut rest, &basis[shorter..]);
                if let Some(pivot) = first_bond(&rest) {
                    basis.push((pivot, rest));
                }
                same_length.insert(ring.clone());
                found.push(ring);
            }
        }
        let members = |ring: &BondSet| {
            let has = |at: &usize| ring[at / 64] >> (at % 64) & 1 == 1;
            (0..n_bonds).filter(has).map(|at| self.bonds[at]).collect()
        };
        Ok(found.iter().map(members).collect())
    }
}

fn reduce(rest: &mut BondSet, rows: &[(usize, BondSet)]) {
    for (pivot, row) in rows {
        if rest[pivot / 64] >> (pivot % 64) & 1 == 1 {
            for (word, other) in rest.iter_mut().zip(row) {
                *word ^= other;
            }
        }
    }
}

fn first_bond(set: &BondSet) -> Option<usize> {
    let word = set.iter().position(|&word| word != 0)?;
    Some(word * 64 + set[word].trailing_zeros() as usize)
}

/// Shortest paths from one atom to all others.
struct Tree {
    /// The atom before each on its path and the bond to it; nothing at the root.
    parent: Vec<Option<(u32, u32)>>,
    length: Vec<u32>,
    /// The second atom of each path: two paths that differ in it share the root alone.
    branch: Vec<u32>,
    ends: Vec<(u32, u32)>,
}

impl Tree {
    fn grow(system: &System, root: usize) -> Tree {
        let n = system.neighbours.len();
        let mut tree = Tree {
            parent: vec![None; n],
            length: vec![u32::MAX; n],
            branch: (0..n as u32).collect(),
            ends: system.ends.clone(),
        };
        tree.length[root] = 0;
        let mut queue = VecDeque::from([root]);
        while let Some(atom) = queue.pop_front() {
            for &(to, bond) in &system.neighbours[atom] {
                let to = to as usize;
                if tree.length[to] == u32::MAX {
                    tree.length[to] = tree.length[atom] + 1;
                    tree.parent[to] = Some((atom as u32, bond));
                    tree.branch[to] = if atom == root { to as u32 } else { tree.branch[atom] };
                    queue.push_back(to);
                }
            }
        }
        tree
    }

    /// The bonds that close a ring through the root, with the ring's length.
    fn closing<'a>(&'a self, system: &'a System) -> impl Iterator<Item = (u32, u32)> + 'a {
        let is_tree = |bond: u32, atom: u32| self.parent[atom as usize].is_some_and(|(_, via)| via == bond);
        (0_u32..).zip(&system.ends).filter_map(move |(bond, &(from, to))| {
            let apart = self.branch[from as usize] != self.branch[to as usize];
            let closes = apart && !is_tree(bond, from) && !is_tree(bond, to);
            closes.then(|| (self.length[from as usize] + self.length[to as usize] + 1, bond))
        })
    }

    fn ring(&self, bond: u32, words: usize) -> BondSet {
        let mut set = vec![0; words];
        let mut add = |bond: u32| set[bond as usize / 64] |= 1 << (bond % 64);
        add(bond);
        let (from, to) = self.ends[bond as usize];
        for end in [from, to] {
            let mut atom = end;
            while let Some((before, via)) = self.parent[atom as usize] {
                add(via);
                atom = before;
            }
        }
        set
    }
}
