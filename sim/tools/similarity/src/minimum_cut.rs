//! The lightest way to part a weighted graph in two.
//!
//! M. Stoer, F. Wagner. A Simple Min-Cut Algorithm. Journal of the ACM 44(4), 1997.
//! <https://doi.org/10.1145/263867.263872>

/// Which vertices are on one side of a cut of least weight, and that weight; `weights` is
/// symmetric, of shape `(n, n)` row-major, not negative, and its diagonal does not count. `None`
/// for fewer than two vertices.
///
/// Each phase begins at the lowest vertex and takes in the one with the heaviest edges to those
/// taken, of equals the lowest; what two vertices become goes on as the lower one of the two. Of
/// cuts of one weight the first that is met counts, so the outcome is a function of the weights
/// alone.
///
/// # Panics
/// If `weights` has not `n` times `n` numbers.
///
/// # Complexity
/// `O(n³)` time, `O(n²)` memory.
pub fn minimum_cut(n: usize, weights: &[f64]) -> Option<(f64, Vec<bool>)> {
    assert_eq!(weights.len(), n * n, "a weight for each pair");
    let mut weights = weights.to_vec();
    let mut members: Vec<Vec<usize>> = (0..n).map(|vertex| vec![vertex]).collect();
    let mut left: Vec<usize> = (0..n).collect();
    let mut best: Option<(f64, Vec<bool>)> = None;
    while left.len() > 1 {
        let (mut taken, mut rest) = (vec![left[0]], left[1..].to_vec());
        let mut pull: Vec<f64> = rest.iter().map(|&vertex| weights[left[0] * n + vertex]).collect();
        let mut cut = 0.0;
        while !rest.is_empty() {
            let heaviest = (1..rest.len()).fold(0, |best, at| if pull[at] > pull[best] { at } else { best });
            let vertex = rest.remove(heaviest);
            cut = pull.remove(heaviest);
            taken.push(vertex);
            for (pull, other) in pull.iter_mut().zip(&rest) {
                *pull += weights[vertex * n + other];
            }
        }
        let [.., before, last] = taken[..] else {
            unreachable!("there are two");
        };
        if best.as_ref().is_none_or(|(least, _)| cut < *least) {
            let mut side = vec![false; n];
            members[last].iter().for_each(|&vertex| side[vertex] = true);
            best = Some((cut, side));
        }
        let (kept, gone) = (before.min(last), before.max(last));
        for &other in left.iter().filter(|&&other| other != kept && other != gone) {
            let both = weights[kept * n + other] + weights[gone * n + other];
            weights[kept * n + other] = both;
            weights[other * n + kept] = both;
        }
        let of_gone = std::mem::take(&mut members[gone]);
        members[kept].extend(of_gone);
        left.retain(|&vertex| vertex != gone);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, SimRng, unit};

    fn cut_of(n: usize, edges: &[(usize, usize, f64)]) -> (f64, Vec<bool>) {
        let mut weights = vec![0.0; n * n];
        for &(u, v, weight) in edges {
            weights[u * n + v] = weight;
            weights[v * n + u] = weight;
        }
        minimum_cut(n, &weights).unwrap()
    }

    /// The example of the paper: vertices 3, 4, 7, 8 are cut off at a weight of 4.
    #[test]
    fn the_graph_of_the_paper_is_cut_as_there() {
        let edges = [
            (1, 2, 2.0),
            (1, 5, 3.0),
            (2, 3, 3.0),
            (2, 5, 2.0),
            (2, 6, 2.0),
            (3, 4, 4.0),
            (3, 7, 2.0),
            (4, 7, 2.0),
            (4, 8, 2.0),
            (5, 6, 3.0),
            (6, 7, 1.0),
            (7, 8, 3.0),
        ];
        let edges = edges.map(|(u, v, weight)| (u - 1, v - 1, weight));
        let (weight, side) = cut_of(8, &edges);
        let first = side[2];
        let together: Vec<usize> = (0..8).filter(|&vertex| side[vertex] == first).collect();
        assert_eq!((weight, together), (4.0, vec![2, 3, 6, 7]));
    }

    #[test]
    fn where_all_weights_are_equal_the_rule_of_ties_decides() {
        // As networkx 3 does.
        assert_eq!(cut_of(4, &[]), (0.0, vec![false, false, false, true]));
        assert_eq!(cut_of(2, &[(0, 1, 5.0)]), (5.0, vec![false, true]));
        assert_eq!(minimum_cut(1, &[0.0]), None);
        assert_eq!(minimum_cut(0, &[]), None);
    }

    #[test]
    fn no_other_cut_is_lighter() {
        let mut rng = SimRng::seed_from_u64(4);
        for n in 2..8 {
            for _ in 0..30 {
                let mut weights = vec![0.0; n * n];
                for u in 0..n {
                    for v in 0..u {
                        let weight = (unit(&mut rng) * 4.0).floor();
                        weights[u * n + v] = weight;
                        weights[v * n + u] = weight;
                    }
                }
                let of = |side: &dyn Fn(usize) -> bool| -> f64 {
                    let pairs = (0..n).flat_map(|u| (0..u).map(move |v| (u, v)));
                    pairs
                        .filter(|&(u, v)| side(u) != side(v))
                        .map(|(u, v)| weights[u * n + v])
                        .sum()
                };
                let least = (1..1_usize << (n - 1))
                    .map(|set| of(&|v| set >> v & 1 == 1))
                    .fold(f64::INFINITY, f64::min);
                let (weight, side) = minimum_cut(n, &weights).unwrap();
                assert_eq!((weight, of(&|v| side[v])), (least, least));
            }
        }
    }
}
