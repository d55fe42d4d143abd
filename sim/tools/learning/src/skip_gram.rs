//! Skip-gram: vectors of vertices from the walks in which they meet.
//!
//! T. Mikolov et al. Efficient Estimation of Word Representations in Vector Space, and Distributed
//! Representations of Words and Phrases and their Compositionality. 2013; on walks: B. Perozzi, R.
//! Al-Rfou and S. Skiena. DeepWalk: Online Learning of Social Representations. KDD 2014.
//!
//! [`SkipGram`] holds the settings, [`Corpus`] the walks, [`SkipGram::train`] gives [`Embeddings`];
//! [`window_pairs`] lists what a fixed window pairs. Around each centre the window is reduced to a
//! size drawn from `1..=window`; each vertex in it learns to predict the centre, by negative
//! samples from the counts to the power 0.75, by a Huffman tree, or by both. As in gensim, the
//! vocabulary is not cut, frequent vertices are not sub-sampled, inputs start uniformly in ±0.5 /
//! dim, outputs at 0.
//!
//! What differs from word2vec, each with its reason:
//! - All contexts of a centre share its negatives (S. Ji et al. Parallelizing Word2Vec in Shared
//!   and Distributed Memory. 2016), so a step is a small dense block and loads six rows where
//!   word2vec loads sixty. [`SkipGram::shared_negatives`] turns it off.
//! - Work goes in **rounds** of several **units** (up to 64 centres of a sentence). Within a unit
//!   every step sees the ones before it; the units of a round start from the same parameters, and
//!   their changes are added in the order of units. So results have the same bits for any number of
//!   threads. A round ends where the most frequent row may have occurred some eight times, so that
//!   what a unit does not see stays small; hierarchical softmax has its root in every step, hence
//!   one unit a round and no parallel speed-up.
//! - The sigmoid is a polynomial with an error below 2e-7 and is never cut off at ±6.

mod corpus;
mod huffman;
mod pairs;
#[cfg(test)]
mod tests;
mod train;
mod unit;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Broken, Rules, component};
use thiserror::Error;

pub use corpus::Corpus;
pub use pairs::window_pairs;

use folkmoot_graphs::Embeddings;

/// Output layer of skip-gram.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputLayer {
    /// Negative sampling.
    #[default]
    Negative,
    /// Hierarchical softmax: the path in a Huffman tree of the vertex counts.
    Hierarchical,
    /// Both on the same input vectors, hierarchical softmax first.
    Both,
}

/// The settings of skip-gram; the default is DeepWalk's with five negatives.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct SkipGram {
    /// Embedding dimension.
    #[component(default = 128, in = 1..=4_096)]
    pub dim: usize,
    /// Maximum window size on either side.
    #[component(default = 10, in = 1..=1_000)]
    pub window: usize,
    /// Negative samples per centre; unused with [`OutputLayer::Hierarchical`].
    #[component(default = 5, in = 1..=100)]
    pub negatives: usize,
    /// Output layer of skip-gram.
    pub output: OutputLayer,
    /// Epochs over the corpus.
    #[component(default = 1, in = 1..=10_000)]
    pub epochs: usize,
    /// Initial learning rate.
    #[component(default = 0.025, above = 0, at_most = 1, alias = "rate")]
    pub learning_rate: f32,
    /// Final learning rate, at least 0 and at most `learning_rate`; it decreases linearly with the
    /// vertices processed.
    #[component(default = 0.0001, alias = "min_rate")]
    pub min_learning_rate: f32,
    /// Whether the contexts of a centre share its negatives; otherwise each draws its own.
    #[component(default = true)]
    pub shared_negatives: bool,
}

impl SkipGram {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let (rate, min_rate) = (self.learning_rate, self.min_learning_rate);
        let rule = format!("must lie in 0..={rate} (learning_rate), got {min_rate}");
        rules.require(min_rate >= 0.0 && min_rate <= rate, "min_learning_rate", rule);
    }

    /// Trains on `corpus`, whose ids lie in `0..n_vertices`; row `v` of the result is the vector of
    /// vertex `v`.
    ///
    /// The vocabulary is all of `0..n_vertices`: a vertex that no sentence holds keeps its first,
    /// random vector.
    ///
    /// # Errors
    /// [`TrainError`], before any work, for illegal settings, ids out of range, and a corpus in
    /// which no two vertices share a sentence.
    ///
    /// # Determinism
    /// Takes 64 bytes of `rng`, whatever the corpus: the keys of the ChaCha8 streams for the first
    /// vectors and for the units, one stream per unit. The result does not depend on the number of
    /// threads, nor on the CPU as long as it has FMA.
    ///
    /// # Complexity
    /// Per vertex of the corpus some `(window + 1) (negatives + 1)` pairs of `6 dim` operations.
    /// Memory: the parameters, 8 bytes × `n_vertices` × `dim` (12 with both outputs), and some
    /// megabytes for a round.
    pub fn train(&self, corpus: &Corpus, n_vertices: u32, rng: &mut SimRng) -> Result<Embeddings, TrainError> {
        Ok(train::train(self, corpus, n_vertices, rng)?.embeddings())
    }
}

/// Why there is nothing to train. Nothing was changed; the caller may try again with other input.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrainError {
    /// Settings with the rules that they break.
    #[error("{}", Broken::list(.0, "", "; "))]
    Algorithm(Vec<Broken>),
    /// A vertex id is not below the number of vertices.
    #[error("corpus: sentence {sentence_idx}: vertex ids must lie below {n_vertices} (n_vertices), got {vertex}")]
    Vertex {
        sentence_idx: usize,
        vertex: u32,
        /// How many vertices there are.
        n_vertices: u32,
    },
    /// Every sentence has fewer than two vertices.
    #[error("corpus: needs a sentence of two vertices or more, got {n_sentences} shorter ones")]
    NoPairs {
        /// How many sentences there are.
        n_sentences: usize,
    },
}
