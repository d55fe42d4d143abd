//! Walks as one flat array.

use serde::{Deserialize, Serialize};

/// Sentences of vertex ids, one after the other in one array.
///
/// Lengths may vary, and a sentence may be empty; a window never crosses from one into the next.
///
/// ```
/// use folkmoot_learning::skip_gram::Corpus;
/// let mut corpus = Corpus::new();
/// corpus.push([7, 8, 9]);
/// corpus.push([]);
/// assert_eq!((corpus.n_sentences(), corpus.n_tokens(), corpus.sentence(0)), (2, 3, &[7, 8, 9][..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corpus {
    tokens: Vec<u32>,
    offsets: Vec<usize>,
}

impl Default for Corpus {
    fn default() -> Corpus {
        Corpus::new()
    }
}

impl Corpus {
    /// A corpus without sentences.
    pub fn new() -> Corpus {
        Corpus {
            tokens: Vec::new(),
            offsets: vec![0],
        }
    }

    /// A corpus without sentences, with room for `n_sentences` of `n_tokens` in all.
    pub fn with_capacity(n_sentences: usize, n_tokens: usize) -> Corpus {
        let mut corpus = Corpus::new();
        corpus.tokens.reserve_exact(n_tokens);
        corpus.offsets.reserve_exact(n_sentences);
        corpus
    }

    pub fn push(&mut self, sentence: impl IntoIterator<Item = u32>) {
        self.tokens.extend(sentence);
        self.offsets.push(self.tokens.len());
    }

    /// How many sentences there are, the empty ones among them.
    pub fn n_sentences(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many vertex ids all sentences have.
    pub fn n_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// All vertex ids, sentence after sentence.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The vertex ids of sentence `sentence_idx`.
    ///
    /// # Panics
    /// If there is no such sentence.
    pub fn sentence(&self, sentence_idx: usize) -> &[u32] {
        &self.tokens[self.offsets[sentence_idx]..self.offsets[sentence_idx + 1]]
    }

    /// All sentences in order.
    pub fn sentences(&self) -> impl Iterator<Item = &[u32]> + '_ {
        self.offsets.windows(2).map(|pair| &self.tokens[pair[0]..pair[1]])
    }
}
