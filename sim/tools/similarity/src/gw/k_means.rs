//! Clusters of spaces about their means: Lloyd's alternation under Gromov-Wasserstein.

use super::GwError;
use super::barycentre::{Alternation, barycentre, resized};
use super::pairs::between;
use super::space::Space;
use folkmoot_draws::{SimRng, draw_first};

/// How many clusters, and when to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KMeans {
    /// In `1..=` the number of spaces.
    pub n_clusters: usize,
    /// Stops after this many assignments; at least 1. The default is 50.
    pub max_rounds: u32,
    /// How the means are found.
    pub alternation: Alternation,
}

impl KMeans {
    /// The defaults for so many clusters.
    pub fn new(n_clusters: usize) -> KMeans {
        KMeans {
            n_clusters,
            max_rounds: 50,
            alternation: Alternation::default(),
        }
    }
}

/// A partition of spaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster of each space.
    pub labels: Vec<u32>,
    /// The centre of each cluster to which the spaces were last assigned.
    pub centroids: Vec<Space>,
    /// The sum of the values between each space and the centre of its cluster.
    pub value: f64,
    pub n_rounds: u32,
    /// Whether the last assignment changed nothing.
    pub converged: bool,
}

/// Clusters `spaces`: each goes to the nearest centroid (the first of equally near ones), each
/// centroid becomes the [`barycentre`] of its members, of equal shares and of as many points as
/// they have on average, rounded.
///
/// The first centroids are different members, drawn at random and brought to the average size of
/// all by a barycentre. A cluster that lost its members takes the space farthest from its centroid,
/// of those that are not alone.
///
/// # Errors
/// [`GwError`] when `n_clusters` is not in `1..=spaces.len()`, and for other settings.
///
/// # Determinism
/// Draws `n_clusters` numbers from `rng`; the rest does not depend on the number of threads.
pub fn k_means(spaces: &[Space], settings: &KMeans, rng: &mut SimRng) -> Result<Clusters, GwError> {
    let (n, k) = (spaces.len(), settings.n_clusters);
    settings.alternation.check()?;
    if !(1..=n).contains(&k) {
        let rule = "at least 1 and at most the number of spaces";
        return Err(GwError::parameter("n_clusters", rule, k as f64));
    }
    if settings.max_rounds == 0 {
        return Err(GwError::parameter("max_rounds", "at least 1", 0.0));
    }
    let size = mean_size(spaces.iter());
    let mut centroids = Vec::with_capacity(k);
    for seed in sample(n, k, rng) {
        centroids.push(mean(&[&spaces[seed]], &spaces[seed], size, &settings.alternation)?);
    }
    let mut labels: Vec<u32> = Vec::new();
    let mut n_rounds = 0;
    loop {
        n_rounds += 1;
        let values = between(spaces, &centroids, &settings.alternation.options)?;
        let before = std::mem::take(&mut labels);
        labels = assign(&values, k);
        let value = values.chunks_exact(k).zip(&labels);
        let value = value.fold(0.0, |sum, (row, &label)| sum + row[label as usize]);
        let converged = labels == before;
        if converged || n_rounds == settings.max_rounds {
            return Ok(Clusters {
                labels,
                centroids,
                value,
                n_rounds,
                converged,
            });
        }
        for (label, centroid) in (0u32..).zip(&mut centroids) {
            let members = spaces.iter().zip(&labels).filter(|(_, of)| **of == label);
            let members: Vec<&Space> = members.map(|(space, _)| space).collect();
            let size = mean_size(members.iter().copied());
            *centroid = mean(&members, centroid, size, &settings.alternation)?;
        }
    }
}

/// The mean of `members` with `size` points, from something like `start`.
fn mean(members: &[&Space], start: &Space, size: usize, settings: &Alternation) -> Result<Space, GwError> {
    let start = match start.n() == size && start.masses.is_uniform() {
        true => start.clone(),
        false => resized(start, size)?,
    };
    let lambdas = vec![1.0 / members.len() as f64; members.len()];
    Ok(barycentre(members, &lambdas, &start, settings)?.space)
}

fn mean_size<'a>(spaces: impl ExactSizeIterator<Item = &'a Space>) -> usize {
    let n_spaces = spaces.len();
    let n_points: usize = spaces.map(Space::n).sum();
    (n_points as f64 / n_spaces as f64).round() as usize
}

/// `k` different numbers below `n`, by the first steps of a shuffle.
fn sample(n: usize, k: usize, rng: &mut SimRng) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    draw_first(rng, &mut all, k);
    all.truncate(k);
    all
}

/// The nearest of `k` centroids for each row of `values`, and for each centroid without a space the
/// farthest of the others.
fn assign(values: &[f64], k: usize) -> Vec<u32> {
    let first_least = |row: &[f64]| (1..k).fold(0, |best, label| if row[label] < row[best] { label } else { best });
    let mut labels: Vec<u32> = values.chunks_exact(k).map(|row| first_least(row) as u32).collect();
    let mut sizes = vec![0usize; k];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    for empty in 0..k {
        if sizes[empty] > 0 {
            continue;
        }
        let distance = |at: usize| values[at * k + labels[at] as usize];
        let movable = (0..labels.len()).filter(|&at| sizes[labels[at] as usize] > 1);
        let farthest = movable.reduce(|best, at| if distance(at) > distance(best) { at } else { best });
        let farthest = farthest.expect("there are at least as many spaces as clusters");
        sizes[labels[farthest] as usize] -= 1;
        sizes[empty] = 1;
        labels[farthest] = empty as u32;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::super::tests::points;
    use super::*;
    use folkmoot_draws::{SeedableRng, SimRng};

    /// Three kinds of spaces: cliques, paths and two distant clumps, of several sizes.
    fn kinds() -> (Vec<Space>, Vec<usize>) {
        let mut spaces = Vec::new();
        let mut kinds = Vec::new();
        for n in [6usize, 7, 8, 9] {
            for kind in 0..3 {
                let distance = |i: usize, j: usize| match kind {
                    0 => f64::from(i != j),
                    1 => i.abs_diff(j) as f64,
                    _ => f64::from(i % 2 != j % 2) * 9.0,
                };
                let matrix = (0..n * n).map(|at| distance(at / n, at % n)).collect();
                spaces.push(Space::uniform(matrix).unwrap());
                kinds.push(kind);
            }
        }
        (spaces, kinds)
    }

    #[test]
    fn kinds_of_spaces_are_told_apart() {
        let (spaces, kinds) = kinds();
        // Starts may hold two of one kind, and then end in a worse partition: the best of a few
        // starts counts.
        let fits = (0..6).map(|seed| k_means(&spaces, &KMeans::new(3), &mut SimRng::seed_from_u64(seed)).unwrap());
        let best = fits.min_by(|a, b| a.value.total_cmp(&b.value)).unwrap();
        assert!(best.converged);
        for (u, v) in (0..kinds.len()).flat_map(|u| (0..u).map(move |v| (u, v))) {
            assert_eq!(best.labels[u] == best.labels[v], kinds[u] == kinds[v]);
        }
    }

    #[test]
    fn a_clustering_is_the_same_for_any_number_of_threads() {
        let mut rng = SimRng::seed_from_u64(4);
        let spaces: Vec<Space> = (0..12).map(|i| points(3 + i % 4, &mut rng)).collect();
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| k_means(&spaces, &KMeans::new(4), &mut SimRng::seed_from_u64(7)).unwrap())
        };
        let one = fit(1);
        assert_eq!(fit(2), one);
        assert_eq!(fit(5), one);
        let sizes = (0..4u32).map(|label| one.labels.iter().filter(|&&of| of == label).count());
        assert!(sizes.into_iter().all(|size| size > 0));
    }

    #[test]
    fn an_empty_cluster_takes_the_farthest_space_that_is_not_alone() {
        // Space 3 is the farthest but alone in cluster 1; of the others space 1 is.
        let values = [1.0, 9.0, 9.0, 3.0, 9.0, 9.0, 2.0, 9.0, 9.0, 9.0, 8.0, 9.0];
        assert_eq!(assign(&values, 3), [0, 2, 0, 1]);
        assert_eq!(assign(&[0.0; 9], 3), [1, 2, 0]);
    }

    #[test]
    fn every_space_can_be_its_own_cluster() {
        let mut rng = SimRng::seed_from_u64(9);
        let spaces: Vec<Space> = (0..3).map(|_| points(5, &mut rng)).collect();
        let fit = k_means(&spaces, &KMeans::new(3), &mut rng).unwrap();
        let mut labels = fit.labels.clone();
        labels.sort_unstable();
        assert_eq!(labels, [0, 1, 2]);
        assert!(fit.value < 1e-9);
        let error = k_means(&spaces, &KMeans::new(4), &mut rng).unwrap_err().to_string();
        assert_eq!(
            error,
            "n_clusters: must be at least 1 and at most the number of spaces, got 4"
        );
    }
}
