//! Parts of equal sizes with few edges between them, after the scheme of METIS (Karypis & Kumar
//! 1998): a graph is halved, then its halves, each on coarser and coarser graphs first. All is
//! whole numbers and every tie goes to the lowest node.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use folkmoot_draws::SimRng;
use folkmoot_parts::component;

use super::level::Level;
use super::{Partition, PartitionError, Partitioner, checked, deal, enough, one_graph, unweighted};
use crate::{DataDirs, Dataset, Graph};

/// A graph is coarsened down to so many nodes.
const COARSEST: usize = 60;
/// Halves of the coarsest graph that are tried, each grown from a node of its own.
const STARTS: usize = 8;
/// Passes that improve a cut, at most; mostly the third finds nothing.
const PASSES: usize = 8;
/// A pass ends after so many moves that bring no better cut.
const PATIENCE: usize = 150;

/// Balanced minimum-cut parts by multilevel bisection, as in METIS (Karypis & Kumar 1998).
/// Deterministic; cuts differ from METIS's. Directions and weights are ignored; parts may be
/// disconnected.
#[component(name = "Multilevel")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multilevel {
    /// Number of clients, at most the number of nodes.
    #[component(required, at_least = 1)]
    pub n_clients: u32,
    /// Allowed relative deviation of a part's size from the even share.
    #[component(default = 0.03, in = 0..=1)]
    pub imbalance: f64,
}

impl Partitioner for Multilevel {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, _: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let graph = one_graph(dataset, "Multilevel")?;
        enough(dataset.n_items(), self.n_clients, 1)?;
        let shards = cut(graph, self.n_clients as usize, self.imbalance);
        Ok(unweighted(Partition::from_shards(shards)?, dataset))
    }
}

/// Overlapping subgraphs (FED-PUB, Baek et al. 2023): several clients per `Multilevel` part,
/// each with a uniform sample of its nodes. Clients of part 0 come first. Shards overlap, and a
/// node may be in none.
#[component(name = "Overlapping")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlapping {
    /// Number of parts, at most the number of nodes.
    #[component(required, at_least = 1)]
    pub n_parts: u32,
    /// Number of clients per part.
    #[component(default = 5, in = 1..=1_000_000)]
    pub copies: u32,
    /// Fraction of a part's nodes that each client gets, rounded down, at least one node.
    #[component(default = 0.5, above = 0, at_most = 1)]
    pub share: f64,
    /// Allowed relative deviation of a part's size from the even share.
    #[component(default = 0.03, in = 0..=1)]
    pub imbalance: f64,
}

impl Partitioner for Overlapping {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let graph = one_graph(dataset, "Overlapping")?;
        enough(dataset.n_items(), self.n_parts, 1)?;
        let parts = cut(graph, self.n_parts as usize, self.imbalance);
        let shards = deal::copies(&parts, self.copies, self.share, rng)?;
        Ok(unweighted(Partition::from_shards(shards)?, dataset))
    }
}

/// Cuts `graph` into `n_parts` of at most its nodes, by their smallest nodes, each ascending.
///
/// A part has at least `⌊(1 − imbalance) n / n_parts⌋` nodes and one, and at most
/// `⌊(1 + imbalance) n / n_parts⌋` and `⌈n / n_parts⌉`. Edges count 1, directions and weights
/// ignored; parts may be unconnected.
pub(super) fn cut(graph: &Graph, n_parts: usize, imbalance: f64) -> Vec<Vec<u32>> {
    let n_nodes = graph.n_nodes();
    let mean = n_nodes as f64 / n_parts as f64;
    let bounds = Bounds {
        least: (libm::floor((1.0 - imbalance) * mean) as usize).clamp(1, n_nodes / n_parts),
        most: (libm::floor((1.0 + imbalance) * mean) as usize).max(n_nodes.div_ceil(n_parts)),
    };
    let mut parts = Vec::with_capacity(n_parts);
    let mut open = vec![((0..n_nodes as u32).collect::<Vec<u32>>(), n_parts)];
    let graph = graph.undirected();
    while let Some((nodes, n_parts)) = open.pop() {
        if n_parts == 1 {
            parts.push(nodes);
            continue;
        }
        let n_left = n_parts.div_ceil(2);
        let window = bounds.window(nodes.len(), n_left, n_parts - n_left);
        let is_left = halve(Level::of(&graph.induced(&nodes)), &window);
        let side = |left: bool| {
            let sided = nodes.iter().zip(&is_left).filter(|(_, is_left)| **is_left == left);
            sided.map(|(node, _)| *node).collect::<Vec<u32>>()
        };
        open.push((side(true), n_left));
        open.push((side(false), n_parts - n_left));
    }
    parts.sort_unstable();
    parts
}

/// How many nodes a part may have.
#[derive(Clone, Copy)]
struct Bounds {
    least: usize,
    most: usize,
}

impl Bounds {
    /// How many of `n` nodes may go to the left, so that `left` parts there and `right` parts on
    /// the other side can all keep to the bounds: as far from the even share as the cuts still to
    /// come leave room for.
    fn window(self, n: usize, left: usize, right: usize) -> Window {
        let even = (n * left + (left + right) / 2) / (left + right);
        let least = (left * self.least).max(n.saturating_sub(right * self.most));
        let most = (left * self.most).min(n - (right * self.least).min(n));
        let even = even.clamp(least, most);
        let cuts = (left + right).next_power_of_two().ilog2() as usize;
        Window {
            even: even as u64,
            sizes: (even - (even - least) / cuts) as u64..=(even + (most - even) / cuts) as u64,
        }
    }
}

/// How many nodes the left side is to have.
#[derive(Clone, Debug)]
struct Window {
    even: u64,
    sizes: RangeInclusive<u64>,
}

impl Window {
    /// By how many nodes the left side is too large or too small.
    fn miss(&self, left: u64) -> u64 {
        self.sizes.start().saturating_sub(left) + left.saturating_sub(*self.sizes.end())
    }
}

/// Whether each node is on the left.
fn halve(finest: Level, window: &Window) -> Vec<bool> {
    let total: u64 = (0..finest.n_nodes()).map(|node| u64::from(finest.size(node))).sum();
    // Heavier nodes could not be moved without a jump of the balance.
    let heaviest = (3 * total / (2 * COARSEST as u64)).max(1);
    let mut levels: Vec<(Level, Vec<u32>)> = Vec::new();
    let mut level = finest;
    while level.n_nodes() > COARSEST {
        let (pair_of, n_pairs) = pair(&level, heaviest);
        // One in twenty is too few to be worth a level.
        if 20 * n_pairs > 19 * level.n_nodes() {
            break;
        }
        let coarse = level.contract(&pair_of, n_pairs);
        levels.push((level, pair_of));
        level = coarse;
    }
    let mut is_left = first_halves(&level, window);
    for (finer, pair_of) in levels.into_iter().rev() {
        is_left = pair_of.iter().map(|&pair| is_left[pair as usize]).collect();
        Sides::new(&finer, window, &mut is_left).improve();
    }
    is_left
}

/// Pairs each node, in ascending order, with the free neighbour that most edges lead to, then free
/// nodes that hang on the same one, then those without any neighbour; returns the pair of each
/// node, numbered by first nodes, and how many there are.
fn pair(level: &Level, heaviest: u64) -> (Vec<u32>, usize) {
    let n_nodes = level.n_nodes();
    let mut mate: Vec<u32> = (0..n_nodes as u32).collect();
    let fits = |a: usize, b: u32| u64::from(level.size(a)) + u64::from(level.size(b as usize)) <= heaviest;
    for node in 0..n_nodes {
        if mate[node] as usize != node {
            continue;
        }
        let is_free = |other: &(u32, u64)| mate[other.0 as usize] == other.0 && fits(node, other.0);
        let best = level
            .row(node)
            .filter(is_free)
            .max_by_key(|&(other, weight)| (weight, Reverse(other)));
        if let Some((other, _)) = best {
            mate[node] = other;
            mate[other as usize] = node as u32;
        }
    }
    // By the neighbour that most edges lead to, the last free node that waits there; behind all of
    // them, the one that has none.
    let mut waits = vec![u32::MAX; n_nodes + 1];
    for node in 0..n_nodes {
        if mate[node] as usize != node {
            continue;
        }
        let hub = level.row(node).max_by_key(|&(other, weight)| (weight, Reverse(other)));
        let waiting = &mut waits[hub.map_or(n_nodes, |(hub, _)| hub as usize)];
        if *waiting != u32::MAX && fits(node, *waiting) {
            mate[node] = *waiting;
            mate[*waiting as usize] = node as u32;
            *waiting = u32::MAX;
        } else {
            *waiting = node as u32;
        }
    }
    let mut pair_of = vec![0; n_nodes];
    let mut n_pairs = 0;
    for node in 0..n_nodes {
        let first = mate[node] as usize;
        if first < node {
            pair_of[node] = pair_of[first];
        } else {
            pair_of[node] = n_pairs;
            n_pairs += 1;
        }
    }
    (pair_of, n_pairs as usize)
}

/// The best of some halves, each grown from one node and improved; of equals the first.
fn first_halves(level: &Level, window: &Window) -> Vec<bool> {
    let n_nodes = level.n_nodes();
    let tried = (0..STARTS.min(n_nodes)).map(|start| {
        let mut is_left = grow(level, start * n_nodes / STARTS.min(n_nodes), window.even);
        let quality = Sides::new(level, window, &mut is_left).improve();
        (quality, is_left)
    });
    tried
        .min_by_key(|(quality, _)| *quality)
        .map_or(Vec::new(), |(_, is_left)| is_left)
}

/// Grows the left side from `start` to `wanted` nodes, always by the node that adds fewest edges to
/// the cut; where none is near, by the lowest.
fn grow(level: &Level, start: usize, wanted: u64) -> Vec<bool> {
    let mut is_left = vec![false; level.n_nodes()];
    let mut near: BTreeSet<(i64, u32)> = BTreeSet::new();
    let mut added: Vec<i64> = (0..level.n_nodes()).map(|node| row_sum(level, node)).collect();
    let mut size = 0;
    let mut next = Some(start as u32);
    let mut lowest = 0;
    while size < wanted {
        let node = match next.take().or_else(|| near.pop_first().map(|(_, node)| node)) {
            Some(node) => node,
            None => match (lowest..is_left.len()).find(|node| !is_left[*node]) {
                Some(node) => node as u32,
                None => break,
            },
        };
        if node as usize == lowest {
            lowest += 1;
        }
        is_left[node as usize] = true;
        size += u64::from(level.size(node as usize));
        for (other, weight) in level.row(node as usize).filter(|(other, _)| !is_left[*other as usize]) {
            let added = &mut added[other as usize];
            near.remove(&(*added, other));
            *added -= 2 * weight as i64;
            near.insert((*added, other));
        }
    }
    is_left
}

fn row_sum(level: &Level, node: usize) -> i64 {
    level.row(node).map(|(_, weight)| weight as i64).sum()
}

/// Two sides and what it would do to move a node (Fiduccia & Mattheyses 1982).
struct Sides<'a> {
    level: &'a Level,
    window: &'a Window,
    is_left: &'a mut Vec<bool>,
    /// By how many edges the cut shrinks if a node moves.
    gains: Vec<i64>,
    left: u64,
    cut: i64,
    /// Nodes that may move, of the right and of the left: by gain, largest first.
    queues: [BTreeSet<(i64, u32)>; 2],
}

impl<'a> Sides<'a> {
    fn new(level: &'a Level, window: &'a Window, is_left: &'a mut Vec<bool>) -> Sides<'a> {
        let mut gains = Vec::with_capacity(level.n_nodes());
        let (mut left, mut twice_cut) = (0, 0);
        for node in 0..level.n_nodes() {
            left += u64::from(is_left[node]) * u64::from(level.size(node));
            let (mut gain, mut crossing) = (0, 0);
            for (other, weight) in level.row(node) {
                let crosses = is_left[node] != is_left[other as usize];
                crossing += i64::from(crosses) * weight as i64;
                gain += if crosses { weight as i64 } else { -(weight as i64) };
            }
            twice_cut += crossing;
            gains.push(gain);
        }
        Sides {
            level,
            window,
            is_left,
            gains,
            left,
            cut: twice_cut / 2,
            queues: [BTreeSet::new(), BTreeSet::new()],
        }
    }

    /// Passes until one brings nothing; returns how good the sides are then, less being better.
    fn improve(&mut self) -> (u64, i64) {
        let mut best = self.quality();
        for _ in 0..PASSES {
            let after = self.pass(best);
            if after >= best {
                break;
            }
            best = after;
        }
        best
    }

    fn quality(&self) -> (u64, i64) {
        (self.window.miss(self.left), self.cut)
    }

    /// Moves each node at most once, always the best that may move, and takes back what came after
    /// the best sides met.
    fn pass(&mut self, before: (u64, i64)) -> (u64, i64) {
        let all = before.0 > 0;
        self.queues = [BTreeSet::new(), BTreeSet::new()];
        for node in 0..self.gains.len() {
            // A node whose neighbours are all on its side is not worth moving, unless sizes must
            // change.
            if all || self.gains[node] > -row_sum(self.level, node) {
                self.queues[usize::from(self.is_left[node])].insert((-self.gains[node], node as u32));
            }
        }
        let mut is_moved = vec![false; self.gains.len()];
        let mut moves: Vec<u32> = Vec::new();
        let (mut best, mut n_best) = (before, 0);
        while let Some(node) = self.next() {
            is_moved[node as usize] = true;
            self.move_over(node as usize, Some(&is_moved));
            moves.push(node);
            if self.quality() < best {
                (best, n_best) = (self.quality(), moves.len());
            } else if moves.len() - n_best > PATIENCE {
                break;
            }
        }
        for &node in moves[n_best..].iter().rev() {
            self.move_over(node as usize, None);
        }
        best
    }

    /// The node to move next, which leaves its queue: the best whose move leaves the sizes in the
    /// window, or brings them nearer. One that would not, is out for this pass.
    fn next(&mut self) -> Option<u32> {
        loop {
            let tops = [self.queues[0].first().copied(), self.queues[1].first().copied()];
            let may = |&(_, node): &(i64, u32)| {
                let size = u64::from(self.level.size(node as usize));
                let after = match self.is_left[node as usize] {
                    true => self.left - size,
                    false => self.left + size,
                };
                let (now, after) = (self.window.miss(self.left), self.window.miss(after));
                after == 0 || after < now
            };
            let allowed = tops.iter().flatten().copied().filter(may).min();
            let taken = allowed.or_else(|| tops.iter().flatten().copied().min())?;
            self.queues[usize::from(self.is_left[taken.1 as usize])].remove(&taken);
            if allowed.is_some() {
                return Some(taken.1);
            }
        }
    }

    /// Moves a node to the other side; its neighbours that have not moved queue by their new gains.
    fn move_over(&mut self, node: usize, is_moved: Option<&[bool]>) {
        let was_left = self.is_left[node];
        let size = u64::from(self.level.size(node));
        self.left = if was_left { self.left - size } else { self.left + size };
        self.cut -= self.gains[node];
        self.gains[node] = -self.gains[node];
        self.is_left[node] = !was_left;
        for (other, weight) in self.level.row(node) {
            let other_idx = other as usize;
            let is_left = self.is_left[other_idx];
            let old = self.gains[other_idx];
            // What was inside a side crosses now, and the other way round.
            let change = if is_left == was_left { 2 } else { -2 };
            self.gains[other_idx] = old + change * weight as i64;
            if is_moved.is_some_and(|is_moved| !is_moved[other_idx]) {
                let queue = &mut self.queues[usize::from(is_left)];
                queue.remove(&(-old, other));
                queue.insert((-self.gains[other_idx], other));
            }
        }
    }
}
