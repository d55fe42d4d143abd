//! k-means: Lloyd's algorithm from given centres, and the start of k-means++.
//!
//! S. P. Lloyd. Least Squares Quantization in PCM. 1982; D. Arthur and S. Vassilvitskii. k-means++:
//! The Advantages of Careful Seeding. SODA 2007.

use folkmoot_draws::{SimRng, unit};
use serde::{Deserialize, Serialize};

use super::finite;
use crate::evaluation::{EvaluationError, require, same_length};

/// The settings of a clustering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KMeans {
    /// How many clusters, at least 1. Default: 8.
    pub n_clusters: usize,
    /// How many starts of k-means++ are tried, at least 1; the one that ends with the least inertia
    /// is kept. Default: 10.
    pub n_starts: usize,
    /// Most iterations of assignment from one start, at least 1. Default: 300.
    pub max_iterations: usize,
}

impl Default for KMeans {
    fn default() -> KMeans {
        KMeans {
            n_clusters: 8,
            n_starts: 10,
            max_iterations: 300,
        }
    }
}

/// A clustering of points of `dim` coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster of each point.
    pub labels: Vec<u32>,
    /// The mean of each cluster's points, of shape `(n_clusters, dim)`.
    pub centres: Vec<f64>,
    /// The sum over all points of the squared distance to the centre of their cluster.
    pub inertia: f64,
    pub n_iterations: usize,
    /// Whether the last iteration changed no label.
    pub converged: bool,
}

impl KMeans {
    /// Clusters the points `x`, of shape `(n, dim)`, from starts of k-means++.
    ///
    /// # Errors
    /// [`EvaluationError`] for illegal settings, a shape that does not fit, values that are not
    /// finite, and fewer points than clusters.
    ///
    /// # Determinism
    /// Draws `n_clusters` 64-bit words a start. Of equal starts the first is kept.
    ///
    /// # Complexity
    /// O(n `n_clusters` `dim`) per iteration.
    pub fn fit(&self, x: &[f64], dim: usize, rng: &mut SimRng) -> Result<Clusters, EvaluationError> {
        let points = self.check(x, dim)?;
        let mut best: Option<Clusters> = None;
        for _ in 0..self.n_starts {
            let centres = points.plus_plus(self.n_clusters, rng);
            let found = points.lloyd(centres, self.max_iterations);
            if best.as_ref().is_none_or(|best| found.inertia < best.inertia) {
                best = Some(found);
            }
        }
        Ok(best.expect("the settings were checked: there is a start"))
    }

    /// Lloyd's algorithm from the given centres, of shape `(n_clusters, dim)`.
    ///
    /// A point goes to the nearest centre, of equally near ones to the first. An empty cluster
    /// takes the point that is farthest from its own centre, if any is away from it and not alone;
    /// where there are fewer different points than clusters, a cluster may stay empty and keeps its
    /// centre.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and if the centres are not `n_clusters` or not finite.
    ///
    /// # Determinism
    /// No draws; sums in ascending order of points.
    pub fn fit_from(&self, x: &[f64], dim: usize, centres: &[f64]) -> Result<Clusters, EvaluationError> {
        let points = self.check(x, dim)?;
        same_length("centres", self.n_clusters * dim, centres.len())?;
        finite("centres", centres)?;
        Ok(points.lloyd(centres.to_vec(), self.max_iterations))
    }

    fn check<'a>(&self, x: &'a [f64], dim: usize) -> Result<Points<'a>, EvaluationError> {
        let settings = [
            ("dim", dim),
            ("n_clusters", self.n_clusters),
            ("n_starts", self.n_starts),
            ("max_iterations", self.max_iterations),
        ];
        for (field, value) in settings {
            require(value > 0, field, || "must be at least 1, got 0".to_string())?;
        }
        same_length("x", x.len().next_multiple_of(dim), x.len())?;
        finite("x", x)?;
        let n = x.len() / dim;
        require(self.n_clusters <= n, "n_clusters", || {
            format!("must be at most {n} (points), got {}", self.n_clusters)
        })?;
        Ok(Points { x, dim })
    }
}

struct Points<'a> {
    x: &'a [f64],
    dim: usize,
}

impl Points<'_> {
    fn n(&self) -> usize {
        self.x.len() / self.dim
    }

    fn of(&self, point: usize) -> &[f64] {
        &self.x[point * self.dim..][..self.dim]
    }

    /// Centres that are points, each new one with a chance in proportion to its squared distance to
    /// the nearest so far.
    fn plus_plus(&self, n_clusters: usize, rng: &mut SimRng) -> Vec<f64> {
        let mut centres = Vec::with_capacity(n_clusters * self.dim);
        let mut nearest = vec![1.0; self.n()];
        for rank in 0..n_clusters {
            let mut left = unit(rng) * nearest.iter().sum::<f64>();
            // Rounding may leave a rest after the last point with a chance, which then keeps it.
            // Without any, all points are centres.
            let mut chosen = 0;
            for (point, &chance) in nearest.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
                chosen = point;
                if left < chance {
                    break;
                }
                left -= chance;
            }
            let centre = self.of(chosen);
            for (point, nearest) in nearest.iter_mut().enumerate() {
                let distance = square_distance(self.of(point), centre);
                *nearest = if rank == 0 { distance } else { nearest.min(distance) };
            }
            centres.extend_from_slice(centre);
        }
        centres
    }

    fn lloyd(&self, mut centres: Vec<f64>, max_iterations: usize) -> Clusters {
        let mut labels: Vec<u32> = Vec::new();
        let mut n_iterations = 0;
        let mut converged = false;
        while !converged && n_iterations < max_iterations {
            let next = self.assign(&centres);
            converged = next == labels;
            labels = next;
            self.centre(&labels, &mut centres);
            n_iterations += 1;
        }
        let centre = |label: u32| &centres[label as usize * self.dim..][..self.dim];
        let squares = labels.iter().enumerate();
        let inertia = squares
            .map(|(point, &label)| square_distance(self.of(point), centre(label)))
            .sum();
        Clusters {
            labels,
            inertia,
            centres,
            n_iterations,
            converged,
        }
    }

    /// The nearest centre of each point, after empty clusters have taken a point.
    fn assign(&self, centres: &[f64]) -> Vec<u32> {
        let mut labels = vec![0u32; self.n()];
        let mut squares = vec![f64::INFINITY; self.n()];
        let mut sizes = vec![0usize; centres.len() / self.dim];
        for point in 0..self.n() {
            for (label, centre) in centres.chunks_exact(self.dim).enumerate() {
                let square = square_distance(self.of(point), centre);
                if square < squares[point] {
                    (labels[point], squares[point]) = (label as u32, square);
                }
            }
            sizes[labels[point] as usize] += 1;
        }
        for empty in 0..sizes.len() {
            if sizes[empty] > 0 {
                continue;
            }
            let mut farthest: Option<usize> = None;
            for point in (0..self.n()).filter(|&point| squares[point] > 0.0 && sizes[labels[point] as usize] > 1) {
                if farthest.is_none_or(|farthest| squares[point] > squares[farthest]) {
                    farthest = Some(point);
                }
            }
            if let Some(point) = farthest {
                sizes[labels[point] as usize] -= 1;
                (labels[point], squares[point], sizes[empty]) = (empty as u32, 0.0, 1);
            }
        }
        labels
    }

    /// Moves every centre to the mean of its points; that of an empty cluster stays.
    fn centre(&self, labels: &[u32], centres: &mut [f64]) {
        let mut sums = vec![0.0; centres.len()];
        let mut sizes = vec![0usize; centres.len() / self.dim];
        for (point, &label) in labels.iter().enumerate() {
            sizes[label as usize] += 1;
            let sums = &mut sums[label as usize * self.dim..][..self.dim];
            sums.iter_mut().zip(self.of(point)).for_each(|(sum, x)| *sum += x);
        }
        let means = sums.chunks_exact(self.dim).zip(&sizes);
        for (centre, (sums, &size)) in centres
            .chunks_exact_mut(self.dim)
            .zip(means)
            .filter(|(_, (_, size))| **size > 0)
        {
            centre
                .iter_mut()
                .zip(sums)
                .for_each(|(centre, sum)| *centre = sum / size as f64);
        }
    }
}

fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    const SQUARE: [f64; 8] = [0.0, 0.0, 0.0, 1.0, 9.0, 0.0, 9.0, 1.0];

    fn settings(n_clusters: usize) -> KMeans {
        KMeans {
            n_clusters,
            ..KMeans::default()
        }
    }

    #[test]
    fn the_corners_of_a_rectangle_form_two_pairs() {
        let found = settings(2).fit_from(&SQUARE, 2, &[0.0, 0.0, 1.0, 0.0]).unwrap();
        assert_eq!(
            (found.labels, found.centres),
            (vec![0, 0, 1, 1], vec![0.0, 0.5, 9.0, 0.5])
        );
        assert_eq!((found.inertia, found.n_iterations, found.converged), (1.0, 2, true));
    }

    /// From a start between the rows instead of the columns, Lloyd stays at a worse optimum; the
    /// starts of k-means++ do not.
    #[test]
    fn several_starts_find_the_better_optimum() {
        let stuck = settings(2).fit_from(&SQUARE, 2, &[4.5, 0.0, 4.5, 1.0]).unwrap();
        assert_eq!((stuck.labels, stuck.inertia), (vec![0, 1, 0, 1], 81.0));
        for seed in 0..20 {
            let mut rng = SimRng::seed_from_u64(seed);
            assert_eq!(settings(2).fit(&SQUARE, 2, &mut rng).unwrap().inertia, 1.0);
        }
    }

    #[test]
    fn an_empty_cluster_takes_the_farthest_point() {
        let found = settings(3)
            .fit_from(&[0.0, 1.0, 2.0, 10.0], 1, &[0.0, 50.0, 60.0])
            .unwrap();
        assert_eq!(found.labels, [0, 0, 2, 1]);
        assert_eq!((found.centres, found.inertia), (vec![0.5, 10.0, 2.0], 0.5));
    }

    #[test]
    fn equal_points_leave_clusters_empty_where_they_are() {
        let found = settings(2).fit_from(&[3.0; 4], 1, &[1.0, 9.0]).unwrap();
        assert_eq!(found.labels[1..], [0, 0, 0].map(|_| found.labels[1]));
        assert!(found.converged && found.inertia == 0.0);
        let drawn = settings(3).fit(&[3.0; 4], 1, &mut SimRng::seed_from_u64(1)).unwrap();
        assert_eq!((drawn.centres, drawn.inertia), (vec![3.0; 3], 0.0));
    }

    /// The second centre of k-means++ within 4 standard errors of its distribution: 0, 1 and 9
    /// of 10, the squared distances.
    #[test]
    fn starts_are_drawn_by_squared_distance() {
        let x = [0.0, 1.0, 3.0];
        let points = Points { x: &x, dim: 1 };
        let mut rng = SimRng::seed_from_u64(3);
        let mut counts = [[0u32; 3]; 3];
        let n = 30_000;
        for _ in 0..n {
            let centres = points.plus_plus(2, &mut rng);
            let at = |centre: f64| x.iter().position(|x| *x == centre).unwrap();
            counts[at(centres[0])][at(centres[1])] += 1;
        }
        let law = [[0.0, 0.1, 0.9], [0.2, 0.0, 0.8], [9.0 / 13.0, 4.0 / 13.0, 0.0]];
        for (counts, law) in counts.iter().zip(law) {
            for (&count, p) in counts.iter().zip(law.map(|p| p / 3.0)) {
                let error = (p * (1.0 - p) / f64::from(n)).sqrt();
                assert!((f64::from(count) / f64::from(n) - p).abs() <= 4.0 * error, "{counts:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_clustered_is_an_error() {
        let text = |result: Result<Clusters, EvaluationError>| result.unwrap_err().to_string();
        let mut rng = SimRng::seed_from_u64(1);
        assert_eq!(
            text(settings(0).fit(&SQUARE, 2, &mut rng)),
            "n_clusters: must be at least 1, got 0"
        );
        assert_eq!(
            text(settings(5).fit(&SQUARE, 2, &mut rng)),
            "n_clusters: must be at most 4 (points), got 5"
        );
        assert_eq!(
            text(settings(1).fit(&SQUARE, 0, &mut rng)),
            "dim: must be at least 1, got 0"
        );
        assert_eq!(
            text(settings(1).fit(&SQUARE, 3, &mut rng)),
            "x: must have 9 items, got 8"
        );
        assert_eq!(text(settings(1).fit(&[f64::NAN], 1, &mut rng)), "x[0]: must be finite");
        assert_eq!(
            text(settings(2).fit_from(&SQUARE, 2, &[0.0; 3])),
            "centres: must have 4 items, got 3"
        );
    }
}
