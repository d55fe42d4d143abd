//! The clustering tree that the server publishes in phase A5, and the pools that anybody can read
//! off it.

use super::dictionary::Dictionary;
use super::encoder::{Audit, Law, Scale};
use super::options::Pool;
use super::scores::{DegreeIndex, PairScores};
use folkmoot_codecs::Codec;
use folkmoot_draws::SimRng;
use folkmoot_rounds::known::Known;
use folkmoot_similarity::dissimilarity::{Condensed, Sequences};
use folkmoot_similarity::dtw::Metric;
use folkmoot_similarity::linkage::{Linkage, linkage};
use folkmoot_similarity::tree::{Subset, Tree, TreeError, hybrid};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// What needs all pairs and no matrix is worked out for at most this many vertices.
pub const MAX_PAIRS_NODES: usize = MAX_MATRIX_NODES;
/// Where there is no matrix, parts of at most this many vertices are clustered exactly.
pub const EXACT_PART: usize = 1024;
/// Of more vertices no matrix is held, whose triangle takes 5 GB for so many.
pub const MAX_MATRIX_NODES: usize = 50_000;
/// The clustering of at most this many vertices, 230 MB with its matrix, is kept for the next run.
const MAX_KNOWN_NODES: usize = 11_000;

/// What phase A5 publishes: the tree, and with uploaded matrices the dissimilarity of every pair,
/// unless they are too many.
///
/// Pools and the encoder's law are functions of it and of what else every device holds: worked out
/// once and shared, where real devices would each do it for themselves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Published {
    tree: Arc<Tree>,
    matrix: Option<Arc<Condensed>>,
    /// Only pools are read off it, and a vertex is encoded as itself: the placeholder of a dry run.
    is_for_pools: bool,
    /// The vertices of each bin, then all vertices.
    subsets: OnceLock<Vec<Subset>>,
    pools: OnceLock<Vec<OnceLock<Box<[u32]>>>>,
    degrees: OnceLock<DegreeIndex>,
    law: OnceLock<Law>,
    audit: OnceLock<Audit>,
}

/// What has to be kept of it.
#[derive(Clone, Serialize, Deserialize)]
struct Parts {
    n: usize,
    children: Vec<[u32; 2]>,
    values: Option<Vec<f32>>,
    is_for_pools: bool,
}

impl TryFrom<Parts> for Published {
    type Error = TreeError;

    fn try_from(parts: Parts) -> Result<Self, TreeError> {
        let matrix = parts.values.map(|values| Condensed::new(parts.n, values));
        Ok(Published {
            is_for_pools: parts.is_for_pools,
            ..Published::new(Tree::new(parts.n, parts.children)?, matrix)
        })
    }
}

impl From<Published> for Parts {
    fn from(published: Published) -> Self {
        Parts {
            n: published.tree.n_leaves(),
            children: published.tree.children().to_vec(),
            is_for_pools: published.is_for_pools,
            values: published
                .matrix
                .map(|matrix| Arc::unwrap_or_clone(matrix).into_values()),
        }
    }
}

impl Clone for Published {
    fn clone(&self) -> Self {
        Published {
            is_for_pools: self.is_for_pools,
            ..Published::shared(Arc::clone(&self.tree), self.matrix.clone())
        }
    }
}

impl Published {
    /// A tree and, if there is one, its matrix.
    pub fn new(tree: Tree, matrix: Option<Condensed>) -> Self {
        Published::shared(Arc::new(tree), matrix.map(Arc::new))
    }

    pub(super) fn empty() -> Self {
        Published::new(Tree::from_merges(0, &[]), None)
    }

    /// The same, of which only pools are read.
    pub(super) fn for_pools(self) -> Self {
        Published {
            is_for_pools: true,
            ..self
        }
    }

    /// Whether only pools are read off it.
    pub(super) fn is_for_pools(&self) -> bool {
        self.is_for_pools
    }

    fn shared(tree: Arc<Tree>, matrix: Option<Arc<Condensed>>) -> Self {
        Published {
            tree,
            matrix,
            is_for_pools: false,
            subsets: OnceLock::new(),
            pools: OnceLock::new(),
            degrees: OnceLock::new(),
            law: OnceLock::new(),
            audit: OnceLock::new(),
        }
    }

    /// From the uploaded matrices (rows of `k` entries; an empty one is a device with no neighbour
    /// or no answer): time warping of all pairs, infinite values capped at twice the largest finite
    /// one, then agglomerative clustering.
    ///
    /// Of more than [`MAX_MATRIX_NODES`] vertices, a hybrid as [`Published::of_vectors`] makes it:
    /// the degree vectors decide the splits above, time warping the parts below, and no
    /// dissimilarities are kept; whoever reads some takes those of the degree vectors.
    pub fn of_matrices(matrices: &[Box<[f32]>], vectors: &[f32], k: usize, metric: Metric, method: Linkage) -> Self {
        let sequences = Sequences::new(k, matrices.iter().map(|matrix| &**matrix));
        if matrices.len() > MAX_MATRIX_NODES {
            return Published::of_parts(&sequences, vectors, EXACT_PART, metric, method);
        }
        let mut matrix = sequences.all_pairs(metric);
        matrix.cap_infinite();
        let merges = linkage(matrix.clone(), method);
        Published::new(Tree::from_merges(matrices.len(), &merges), Some(matrix))
    }

    /// [`Published::of_matrices`], whose tree and matrix are worked out once for all runs of a
    /// process that upload the same.
    pub(super) fn of_known(
        matrices: &Arc<[Box<[f32]>]>,
        vectors: &[f32],
        k: usize,
        (metric, method): (Metric, Linkage),
    ) -> Self {
        type Key = (Arc<[Box<[f32]>]>, usize, Metric, Linkage);
        /// Runs at once are mostly of one seed, and now and then of two.
        static KNOWN: Known<Key, (Arc<Tree>, Option<Arc<Condensed>>)> = Known::new(2);

        let make = || Published::of_matrices(matrices, vectors, k, metric, method);
        if matrices.len() > MAX_KNOWN_NODES {
            return make();
        }
        let (tree, matrix) = KNOWN.get((Arc::clone(matrices), k, metric, method), || {
            let made = make();
            (made.tree, made.matrix)
        });
        Published::shared(tree, matrix)
    }

    /// From the published degree vectors alone, by their L1 distance: exact up to [`EXACT_PART`]
    /// vertices, beyond that a hybrid of median splits above and exact parts below.
    pub fn of_vectors(vectors: &[f32], k: usize, method: Linkage) -> Self {
        Published::of_parts(
            &Sequences::of_vectors(vectors, k),
            vectors,
            EXACT_PART,
            Metric::L1,
            method,
        )
    }

    /// Median splits by the vectors above, exact clustering of the sequences of at most `part_size`
    /// vertices below.
    fn of_parts(sequences: &Sequences, vectors: &[f32], part_size: usize, metric: Metric, method: Linkage) -> Self {
        let pairs = |part: &[u32]| sequences.select(part).all_pairs(metric);
        Published::new(hybrid(vectors, sequences.k(), part_size, method, pairs), None)
    }

    /// The same tree with dissimilarities as far as a codec keeps them.
    pub(super) fn packed(self, codec: &dyn Codec, rng: &mut SimRng) -> Self {
        let Some(matrix) = self.matrix.as_deref().filter(|_| !codec.is_plain()) else {
            return self;
        };
        let (shape, mut bytes) = ([[1, matrix.values().len()]], Vec::new());
        codec.encode(matrix.values(), &shape, rng, &mut bytes);
        let values = codec.decode(&bytes, &shape).expect("what was encoded can be read");
        let matrix = Condensed::new(self.tree.n_leaves(), values);
        Published::shared(self.tree, Some(Arc::new(matrix)))
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The dissimilarities, row by row above the diagonal; empty without uploaded matrices.
    pub fn values(&self) -> &[f32] {
        self.matrix.as_deref().map_or(&[], Condensed::values)
    }

    /// The dissimilarities of all pairs, if matrices were uploaded.
    pub fn matrix(&self) -> Option<&Condensed> {
        self.matrix.as_deref()
    }

    fn scores<'a>(&'a self, dictionary: &'a Dictionary) -> PairScores<'a> {
        let degrees = || self.degrees.get_or_init(|| DegreeIndex::new(&self.tree, dictionary));
        PairScores {
            tree: &self.tree,
            matrix: self.matrix.as_deref(),
            dictionary,
            degrees: self.matrix.is_none().then(degrees),
        }
    }

    /// An entry for vertex `u` by an encoder that reads scores; always with the same factor, that
    /// of the run.
    pub fn encode(&self, u: u32, dictionary: &Dictionary, scale: &Scale, rng: &mut SimRng) -> u32 {
        if self.is_for_pools {
            return u;
        }
        let scores = self.scores(dictionary);
        let law = self.law.get_or_init(|| Law::new(scale, scores));
        law.draw(u, scores, rng)
    }

    /// What the encoder really costs, over all pairs; `None` beyond [`MAX_PAIRS_NODES`] vertices,
    /// and where nothing is encoded. Worked out once, in O(n²).
    pub fn audit(&self, dictionary: &Dictionary, scale: &Scale) -> Option<Audit> {
        let scores = self.scores(dictionary);
        let measure = || {
            let law = self.law.get_or_init(|| Law::new(scale, scores));
            law.audit(scores)
        };
        (self.tree.n_leaves() <= MAX_PAIRS_NODES && !self.is_for_pools).then(|| *self.audit.get_or_init(measure))
    }

    /// The pool of `u` (phase B, step 3): for each bin `i` the `max(0, round(c_u[i]))` vertices
    /// nearest to `u`, those under the lowest common ancestor with fewest leaves first, ties by
    /// dissimilarity, then index. [`Pool::Global`] takes them from all vertices, so that its sets
    /// are nested and entries repeat.
    pub fn pool(&self, u: u32, plan: &[u8], dictionary: &Dictionary, kind: Pool) -> &[u32] {
        let pools = self
            .pools
            .get_or_init(|| plan.iter().map(|_| OnceLock::new()).collect());
        match pools.get(u as usize) {
            Some(pool) => pool.get_or_init(|| self.nearest(u, plan, dictionary, kind)),
            None => &[],
        }
    }

    fn nearest(&self, u: u32, plan: &[u8], dictionary: &Dictionary, kind: Pool) -> Box<[u32]> {
        let row = dictionary.row(u, plan.len());
        let subsets = self.subsets.get_or_init(|| {
            let of_bin = |bin: usize| {
                let members = plan.iter().enumerate().filter(move |(_, at)| usize::from(**at) == bin);
                self.tree.subset(members.map(|(v, _)| v as u32))
            };
            let everybody = self.tree.subset(0..plan.len() as u32);
            (0..row.len()).map(of_bin).chain([everybody]).collect()
        });
        let mut pool = Vec::new();
        for (bin, count) in row.iter().enumerate() {
            let candidates = match kind {
                Pool::Global => subsets.last(),
                _ => subsets.get(bin),
            };
            let wanted = count.round().max(0.0) as usize;
            if let Some(candidates) = candidates.filter(|_| wanted > 0) {
                let scores = PairScores {
                    degrees: None,
                    ..self.scores(dictionary)
                };
                let dissimilarity = |v: u32| scores.dissimilarity(u, v);
                pool.extend(self.tree.nearest(u, candidates, wanted, dissimilarity));
            }
        }
        pool.sort_unstable();
        pool.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four vertices in two bins; 0 and 1 are alike, 2 and 3 are alike.
    fn small() -> (Published, Dictionary, [u8; 4]) {
        let vectors = vec![1.0, 1.4, 1.0, 1.5, 5.0, 0.2, 5.0, 2.0];
        let published = Published::of_vectors(&vectors, 2, Linkage::Average);
        (published, Dictionary::new(vectors), [0, 1, 0, 1])
    }

    #[test]
    fn a_pool_takes_the_nearest_in_the_tree_from_each_bin() {
        let (published, dictionary, plan) = small();
        assert_eq!(published.tree().leaves_under_lca(0, 1), 2);
        assert_eq!(published.pool(0, &plan, &dictionary, Pool::Tree), [1, 2]);
        assert_eq!(
            published.pool(2, &plan, &dictionary, Pool::Tree),
            [0],
            "bin 0 has one other vertex, and 0.2 asks for none of bin 1"
        );
    }

    #[test]
    fn a_global_pool_is_nested_and_repeats() {
        let (published, dictionary, plan) = small();
        assert_eq!(published.pool(0, &plan, &dictionary, Pool::Global), [1, 1]);
    }

    /// In one part the tree is that of the whole matrix; in two, each half of the degree vectors
    /// keeps the shape of its own.
    #[test]
    fn parts_are_clustered_by_their_matrices_and_split_by_their_vectors() {
        let matrices: Vec<Box<[f32]>> = [3.0, 9.0, 3.2, 9.3, 4.0, 8.0].map(|x| vec![x].into()).into();
        let vectors = [1.0, 1.1, 1.2, 7.0, 7.1, 7.2];
        let (metric, method) = (Metric::L1, Linkage::Average);
        let whole = Published::of_matrices(&matrices, &vectors, 1, metric, method);
        let sequences = Sequences::new(1, matrices.iter().map(|matrix| &**matrix));
        let parts = |size| Published::of_parts(&sequences, &vectors, size, metric, method);
        assert_eq!(parts(6).tree().children(), whole.tree().children());
        assert!(whole.matrix().is_some() && parts(6).matrix().is_none());
        let halves = parts(3);
        let leaves = |u, v| halves.tree().leaves_under_lca(u, v);
        assert_eq!((leaves(0, 2), leaves(0, 1), leaves(3, 5), leaves(3, 4)), (2, 3, 2, 3));
        assert_eq!(leaves(0, 3), 6);
    }

    #[test]
    fn a_published_tree_survives_being_stored() {
        let matrices: Vec<Box<[f32]>> = vec![vec![1.0, 2.0].into(), vec![1.0, 2.5].into(), vec![].into()];
        let published = Published::of_matrices(&matrices, &[0.0; 6], 2, Metric::L1, Linkage::Average);
        assert_eq!(
            published.values(),
            [0.5, 1.0, 1.0],
            "nobody is near a vertex without neighbours"
        );
        let back = Published::try_from(Parts::from(published.clone())).unwrap();
        assert_eq!(back.tree().children(), published.tree().children());
        assert_eq!(back.values(), published.values());
    }
}
