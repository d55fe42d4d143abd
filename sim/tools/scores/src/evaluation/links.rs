//! Link prediction: held-out links against pairs without one.

use folkmoot_draws::{SimRng, index_by_word, shuffle_by_words};

use super::knn::{direction, dot};
use super::{EvaluationError, require};
use crate::auc::rank_auc;
use folkmoot_graphs::Embeddings;

/// Links of a graph, divided for link prediction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSplit {
    /// What may be trained on, in the order given.
    pub train: Vec<(u32, u32)>,
    /// What was held out, in the order given.
    pub held_out: Vec<(u32, u32)>,
    /// As many distinct pairs of different vertices without a link, the smaller id first, in the
    /// order drawn.
    pub non_links: Vec<(u32, u32)>,
}

/// Holds out `share` of the undirected links between `n_vertices` vertices, rounded down, and draws
/// as many pairs without a link.
///
/// `links` are distinct, each pair once; otherwise copies leak from `train` to `held_out`.
///
/// Links are drawn uniformly; nothing keeps the rest connected. Pairs are drawn uniformly and again
/// while they are a link, were drawn before, or join a vertex to itself.
///
/// # Errors
/// [`EvaluationError`] if `share` does not lie strictly between 0 and 1 or holds nothing out, a
/// vertex is out of range, or fewer than twice the needed pairs have no link.
///
/// # Determinism
/// One 32-bit word of `rng` per link but one, then two per pair tried.
pub fn hold_out_links(
    n_vertices: u32,
    links: &[(u32, u32)],
    share: f64,
    rng: &mut SimRng,
) -> Result<LinkSplit, EvaluationError> {
    require(share > 0.0 && share < 1.0, "share", || {
        format!("must be greater than 0 and less than 1, got {share}")
    })?;
    let n_held_out = (share * links.len() as f64) as usize;
    require(n_held_out > 0, "share", || {
        format!("{share} of {} links holds none out", links.len())
    })?;
    if let Some(&(a, b)) = links.iter().find(|(a, b)| *a.max(b) >= n_vertices) {
        return Err(EvaluationError::Vertex {
            vertex: a.max(b),
            n_vertices: n_vertices as usize,
        });
    }
    let mut taken: Vec<(u32, u32)> = links
        .iter()
        .filter(|(a, b)| a != b)
        .map(|&pair| ascending(pair))
        .collect();
    taken.sort_unstable();
    taken.dedup();
    let n_pairs = u64::from(n_vertices) * u64::from(n_vertices.saturating_sub(1)) / 2;
    require(n_pairs - taken.len() as u64 >= 2 * n_held_out as u64, "links", || {
        format!(
            "too dense: {n_held_out} non-links are needed, and {} pairs have no link",
            n_pairs - taken.len() as u64
        )
    })?;
    let mut order: Vec<u32> = (0..links.len() as u32).collect();
    shuffle_by_words(rng, &mut order);
    let mut held_out = vec![false; links.len()];
    order[..n_held_out].iter().for_each(|&i| held_out[i as usize] = true);
    let part = |out: bool| {
        links
            .iter()
            .zip(&held_out)
            .filter(|(_, held)| **held == out)
            .map(|(link, _)| *link)
            .collect()
    };
    let mut drawn = std::collections::BTreeSet::new();
    let mut non_links = Vec::with_capacity(n_held_out);
    while non_links.len() < n_held_out {
        let pair = ascending((
            index_by_word(rng, n_vertices as usize) as u32,
            index_by_word(rng, n_vertices as usize) as u32,
        ));
        if pair.0 != pair.1 && taken.binary_search(&pair).is_err() && drawn.insert(pair) {
            non_links.push(pair);
        }
    }
    Ok(LinkSplit {
        train: part(false),
        held_out: part(true),
        non_links,
    })
}

/// Vectors of vertices, each scaled to length 1, so that the dot product of two is their cosine; a
/// vector of zeros stays one.
pub struct UnitVectors {
    dim: usize,
    values: Vec<f64>,
}

impl UnitVectors {
    /// Of all vertices.
    ///
    /// # Errors
    /// [`EvaluationError`] if a vector is not finite.
    pub fn new(vectors: &Embeddings) -> Result<UnitVectors, EvaluationError> {
        let mut values = Vec::with_capacity(vectors.n_vertices() * vectors.dim());
        for vertex in 0..vectors.n_vertices() as u32 {
            values.extend(direction(vectors, vertex)?);
        }
        let dim = vectors.dim();
        Ok(UnitVectors { dim, values })
    }

    /// The cosine of the vectors of two vertices; 0 where one is of zeros.
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn cosine(&self, (a, b): (u32, u32)) -> f64 {
        dot(self.of(a), self.of(b))
    }

    fn of(&self, vertex: u32) -> &[f64] {
        let from = vertex as usize * self.dim;
        &self.values[from..from + self.dim]
    }
}

/// The area under the ROC curve when pairs are ranked by the cosine of their vectors: the
/// probability that a link scores above a non-link, ties counting half.
///
/// Cosine, because vector length mainly reflects vertex frequency.
///
/// # Errors
/// [`EvaluationError`] if one of the lists is empty, or a vertex has no vector.
pub fn link_auc(vectors: &UnitVectors, links: &[(u32, u32)], non_links: &[(u32, u32)]) -> Result<f64, EvaluationError> {
    require(!links.is_empty(), "links", || {
        "must have a pair or more, got 0".to_string()
    })?;
    require(!non_links.is_empty(), "non_links", || {
        "must have a pair or more, got 0".to_string()
    })?;
    let n_vertices = vectors.values.len() / vectors.dim.max(1);
    let both = links.iter().chain(non_links);
    if let Some(&vertex) = both.flat_map(|(a, b)| [a, b]).find(|v| **v as usize >= n_vertices) {
        return Err(EvaluationError::Vertex { vertex, n_vertices });
    }
    let scored = |pairs: &[(u32, u32)], linked| -> Vec<(f64, bool)> {
        pairs.iter().map(|pair| (vectors.cosine(*pair), linked)).collect()
    };
    let scores = [scored(links, true), scored(non_links, false)].concat();
    Ok(rank_auc(scores).expect("there are pairs of both kinds"))
}

fn ascending((a, b): (u32, u32)) -> (u32, u32) {
    (a.min(b), a.max(b))
}

#[cfg(test)]
mod tests {
    use folkmoot_draws::SeedableRng;

    use super::*;

    #[test]
    fn the_area_is_that_of_all_pairs() {
        let vectors = UnitVectors::new(&Embeddings::new(2, vec![1.0, 0.0, 5.0, 0.0, 0.0, 1.0, 1.0, 1.0])).unwrap();
        // Cosines: links 1 and 0.707; non-links 0 and 0.707.
        let area = link_auc(&vectors, &[(0, 1), (0, 3)], &[(0, 2), (2, 3)]).unwrap();
        assert_eq!(area, 3.5 / 4.0);
    }

    #[test]
    fn a_split_is_an_exact_cover_and_non_links_are_none() {
        let links: Vec<(u32, u32)> = (0..99).map(|v| (v + 1, v)).collect();
        let split = hold_out_links(100, &links, 0.2, &mut SimRng::seed_from_u64(4)).unwrap();
        assert_eq!(
            (split.train.len(), split.held_out.len(), split.non_links.len()),
            (80, 19, 19)
        );
        let mut all = [split.train, split.held_out].concat();
        all.sort_unstable();
        assert_eq!(all, links);
        assert!(split.non_links.iter().all(|(a, b)| a + 1 < *b));
    }

    #[test]
    fn what_cannot_be_divided_is_an_error() {
        let mut rng = SimRng::seed_from_u64(4);
        let mut text = |n: u32, links: &[(u32, u32)], share: f64| {
            hold_out_links(n, links, share, &mut rng).unwrap_err().to_string()
        };
        assert_eq!(
            text(3, &[(0, 1)], 1.0),
            "share: must be greater than 0 and less than 1, got 1"
        );
        assert_eq!(text(3, &[(0, 1)], 0.5), "share: 0.5 of 1 links holds none out");
        assert_eq!(text(2, &[(0, 1), (1, 2)], 0.5), "vertex ids must lie below 2, got 2");
        let full = [(0, 1), (1, 2), (0, 2)];
        assert_eq!(
            text(3, &full, 0.5),
            "links: too dense: 1 non-links are needed, and 0 pairs have no link"
        );
    }
}
