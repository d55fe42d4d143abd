//! The largest cluster of directions, cut to the median length, with some noise.

use super::context::{cosine, median, norm, weighted_mean};
use super::{Rule, RuleContext, Updates};
use folkmoot_draws::normal;
use folkmoot_parts::component;

/// Changes are clustered by their cosine distances, those in the cluster of more than half are cut
/// to the median length of all changes and averaged, and Gaussian noise is added, whose deviation
/// is `noise` times that length.
///
/// The cluster is that of HDBSCAN with a minimum size of `n / 2 + 1`, one sample and a single
/// cluster allowed, as the paper has it. With these settings it is the first with more than half of
/// the updates as the closest ones are joined (single linkage), which a test compares with the
/// package `hdbscan` 0.8.44. All outside of it are excluded, so nearly half of honest updates may
/// be. Every update counts alike, whatever the card's `weighting`. Numbers that do not learn are
/// averaged over the cluster.
///
/// T. D. Nguyen et al. FLAME: Taming Backdoors in Federated Learning. USENIX Security 2022,
/// algorithm 1.
#[component(
    name = "Flame",
    about = "clustered, clipped and noisy mean: FLAME (Nguyen et al. 2022)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Flame {
    /// Standard deviation of the noise, relative to the median length; lambda in the paper.
    #[component(default = 0.001, in = 0..=1)]
    pub noise: f64,
}

/// The places of the first cluster with more than half of the vectors, ascending.
fn majority(vectors: &[Vec<f64>]) -> Vec<usize> {
    let n = vectors.len();
    let mut pairs: Vec<(f64, usize, usize)> = Vec::with_capacity(n * n / 2);
    for a in 0..n {
        pairs.extend((a + 1..n).map(|b| (1.0 - cosine(&vectors[a], &vectors[b]), a, b)));
    }
    pairs.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut cluster: Vec<usize> = (0..n).collect();
    let mut found: Option<(f64, Vec<usize>)> = None;
    for (distance, a, b) in pairs {
        // Pairs that are as close are joined at once.
        if found.as_ref().is_some_and(|(reached, _)| distance > *reached) {
            break;
        }
        let (kept, joined) = (cluster[a].min(cluster[b]), cluster[a].max(cluster[b]));
        let of_joined = cluster.iter_mut().filter(|of| **of == joined);
        of_joined.for_each(|of| *of = kept);
        let members: Vec<usize> = (0..n).filter(|i| cluster[*i] == kept).collect();
        if 2 * members.len() > n {
            found = Some((distance, members));
        }
    }
    found.map_or_else(|| (0..n).collect(), |(_, members)| members)
}

impl Rule for Flame {
    fn ignores_weights(&self) -> bool {
        true
    }

    fn combine(&self, updates: &Updates<'_>, context: &mut RuleContext<'_>) -> Vec<f64> {
        let mut changes = updates.changes();
        let members = majority(&changes);
        let bound = median(changes.iter().map(|change| norm(change)).collect());
        let mut weights = vec![0.0; changes.len()];
        for at in &members {
            weights[*at] = 1.0;
            let length = norm(&changes[*at]);
            if length > bound {
                changes[*at].iter_mut().for_each(|x| *x *= bound / length);
            }
        }
        for (update, _) in updates.all.iter().zip(&weights).filter(|(_, weight)| **weight == 0.0) {
            context.exclude(update.client);
        }
        let mut change = weighted_mean(&changes, &weights);
        if self.noise > 0.0 {
            let deviation = self.noise * bound;
            change
                .iter_mut()
                .for_each(|x| *x += deviation * normal(&mut context.rng));
        }
        updates.moved(&change, &weights)
    }

    fn accuses(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::majority;

    /// `flame/reference.csv` is written by `flame/reference.py`.
    #[test]
    fn the_cluster_is_that_of_hdbscan() {
        let rows: Vec<Vec<f64>> = include_str!("flame/reference.csv")
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|x| x.parse().unwrap()).collect())
            .collect();
        let sets: Vec<&[Vec<f64>]> = rows.chunk_by(|a, b| a[0] == b[0]).collect();
        assert_eq!(sets.len(), 100);
        for set in sets {
            let vectors: Vec<Vec<f64>> = set.iter().map(|row| row[2..].to_vec()).collect();
            let kept = (0..set.len()).filter(|at| set[*at][1] == 1.0);
            assert_eq!(majority(&vectors), kept.collect::<Vec<usize>>(), "set {}", set[0][0]);
        }
    }
}
