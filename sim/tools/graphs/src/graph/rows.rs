//! Sorted rows without repetition: the storage of a graph and the three operations that build one.

use crate::GraphError;

/// Row `u` is `targets[offsets[u]..offsets[u + 1]]`, ascending and distinct; `weights` is parallel
/// to `targets`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    pub(super) offsets: Vec<u32>,
    pub(super) targets: Vec<u32>,
    pub(super) weights: Option<Vec<f32>>,
}

/// The rows of a graph, wherever they are.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) offsets: &'a [u32],
    pub(super) targets: &'a [u32],
    pub(super) weights: Option<&'a [f32]>,
}

impl Rows {
    pub(super) fn row(&self, u: usize) -> &[u32] {
        &self.targets[self.offsets[u] as usize..self.offsets[u + 1] as usize]
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            offsets: &self.offsets,
            targets: &self.targets,
            weights: self.weights.as_deref(),
        }
    }

    /// Sorts `pairs` (ids below `n_nodes`, at most `u32::MAX` of them) into rows by counting, and
    /// drops repetitions.
    ///
    /// Fails only with [`GraphError::Conflict`]: one pair with two weights.
    pub(super) fn from_pairs(
        n_nodes: usize,
        pairs: &[(u32, u32)],
        weights: Option<&[f32]>,
        keep_self_loops: bool,
    ) -> Result<Rows, GraphError> {
        let kept = |u: u32, v: u32| keep_self_loops || u != v;
        let mut offsets = vec![0_u32; n_nodes + 1];
        for &(u, v) in pairs {
            if kept(u, v) {
                offsets[u as usize + 1] += 1;
            }
        }
        accumulate(&mut offsets);
        let n_kept = offsets[n_nodes] as usize;
        let mut next = offsets.clone();
        let mut rows = Rows {
            offsets,
            targets: vec![0; n_kept],
            weights: weights.map(|_| vec![0.0; n_kept]),
        };
        for (at, &(u, v)) in pairs.iter().enumerate() {
            if kept(u, v) {
                let slot = next[u as usize] as usize;
                next[u as usize] += 1;
                rows.targets[slot] = v;
                if let (Some(to), Some(from)) = (&mut rows.weights, weights) {
                    to[slot] = from[at];
                }
            }
        }
        rows.sort_and_drop_repetitions()?;
        Ok(rows)
    }

    fn sort_and_drop_repetitions(&mut self) -> Result<(), GraphError> {
        let mut end = 0;
        let mut start = 0;
        let mut scratch: Vec<(u32, f32)> = Vec::new();
        for u in 0..self.offsets.len() - 1 {
            let stop = self.offsets[u + 1] as usize;
            match &mut self.weights {
                None => self.targets[start..stop].sort_unstable(),
                Some(weights) => {
                    scratch.clear();
                    scratch.extend((start..stop).map(|at| (self.targets[at], weights[at])));
                    scratch.sort_by_key(|&(target, _)| target);
                    for (at, &(target, weight)) in (start..stop).zip(&scratch) {
                        self.targets[at] = target;
                        weights[at] = weight;
                    }
                }
            }
            let row_start = end;
            for at in start..stop {
                let target = self.targets[at];
                if end > row_start && self.targets[end - 1] == target {
                    if let Some(weights) = &self.weights
                        && weights[end - 1] != weights[at]
                    {
                        let (first, second) = (weights[end - 1], weights[at]);
                        return Err(GraphError::Conflict {
                            from: u as u32,
                            to: target,
                            first,
                            second,
                        });
                    }
                    continue;
                }
                self.targets[end] = target;
                if let Some(weights) = &mut self.weights {
                    weights[end] = weights[at];
                }
                end += 1;
            }
            start = stop;
            self.offsets[u + 1] = end as u32;
        }
        self.targets.truncate(end);
        self.targets.shrink_to_fit();
        if let Some(weights) = &mut self.weights {
            weights.truncate(end);
        }
        Ok(())
    }
}

impl View<'_> {
    fn weight(&self, at: usize) -> f32 {
        self.weights.map_or(0.0, |weights| weights[at])
    }

    /// The rows with every arc turned round. Sources are visited in ascending order, so the new
    /// rows come out sorted.
    pub(super) fn transpose(&self) -> Rows {
        let n_nodes = self.offsets.len() - 1;
        let mut offsets = vec![0_u32; n_nodes + 1];
        for &v in self.targets {
            offsets[v as usize + 1] += 1;
        }
        accumulate(&mut offsets);
        let mut next = offsets.clone();
        let mut targets = vec![0; self.targets.len()];
        let mut weights = self.weights.map(|all| vec![0.0; all.len()]);
        for u in 0..n_nodes {
            for at in self.offsets[u] as usize..self.offsets[u + 1] as usize {
                let slot = &mut next[self.targets[at] as usize];
                targets[*slot as usize] = u as u32;
                if let Some(weights) = &mut weights {
                    weights[*slot as usize] = self.weight(at);
                }
                *slot += 1;
            }
        }
        Rows {
            offsets,
            targets,
            weights,
        }
    }

    /// The union of two row sets over the same nodes; `combine(u, v, first, second)` settles the
    /// weight of an arc in both.
    pub(super) fn merge(
        &self,
        other: View<'_>,
        combine: impl Fn(u32, u32, f32, f32) -> Result<f32, GraphError>,
    ) -> Result<Rows, GraphError> {
        let n_nodes = self.offsets.len() - 1;
        let mut merged = Rows {
            offsets: Vec::with_capacity(n_nodes + 1),
            targets: Vec::with_capacity(self.targets.len() + other.targets.len()),
            weights: self.weights.map(|_| Vec::new()),
        };
        merged.offsets.push(0);
        for u in 0..n_nodes {
            let (mut a, a_end) = (self.offsets[u] as usize, self.offsets[u + 1] as usize);
            let (mut b, b_end) = (other.offsets[u] as usize, other.offsets[u + 1] as usize);
            while a < a_end || b < b_end {
                let left = if a < a_end { self.targets[a] } else { u32::MAX };
                let right = if b < b_end { other.targets[b] } else { u32::MAX };
                merged.targets.push(left.min(right));
                if let Some(weights) = &mut merged.weights {
                    weights.push(match left.cmp(&right) {
                        std::cmp::Ordering::Less => self.weight(a),
                        std::cmp::Ordering::Greater => other.weight(b),
                        std::cmp::Ordering::Equal => combine(u as u32, left, self.weight(a), other.weight(b))?,
                    });
                }
                a += usize::from(left <= right);
                b += usize::from(right <= left);
            }
            merged.offsets.push(merged.targets.len() as u32);
        }
        merged.targets.shrink_to_fit();
        Ok(merged)
    }
}

/// Turns counts, stored one place late, into row bounds.
fn accumulate(offsets: &mut [u32]) {
    let mut total = 0;
    for offset in offsets {
        total += *offset;
        *offset = total;
    }
}
