//! Rounds: units in parallel against the same parameters, then their changes, row by row in the
//! order of units.

use folkmoot_draws::{Alias, Rng, SeedableRng, SimRng, unit_f32};
use folkmoot_parts::Value;
use rayon::prelude::*;

use super::huffman::Huffman;
use super::unit::{Piece, Shared, Unit};
use super::{Corpus, OutputLayer, SkipGram, TrainError};
use crate::kernels;
use folkmoot_graphs::Embeddings;

/// The most centres of a unit.
const UNIT_CENTRES: usize = 64;
/// The most units of a round.
const ROUND_UNITS: usize = 64;
/// The most centres of a round.
const ROUND_CENTRES: f64 = 1280.0;
/// How often the most frequent vertex may be a centre in a round, on average.
const ROUND_REPEATS: f64 = 8.0;
/// How many blocks of rows take up changes in parallel.
const ROW_BLOCKS: usize = 16;

/// The parameters: the vertices' inputs, then their outputs, then the outputs of the tree's inner
/// nodes.
pub(super) struct Model {
    dim: usize,
    n_vertices: usize,
    pub(super) stride: usize,
    pub(super) rows: Vec<f32>,
}

impl Model {
    /// Inputs uniform in ±0.5 / dim, outputs 0; a row is padded by zeros, which no step moves.
    fn new(dim: usize, n_vertices: usize, n_rows: usize, mut rng: SimRng) -> Model {
        let stride = dim.next_multiple_of(kernels::LANES);
        let mut rows = vec![0.0; n_rows * stride];
        for row in rows.chunks_exact_mut(stride).take(n_vertices) {
            for value in &mut row[..dim] {
                *value = (unit_f32(&mut rng) - 0.5) / dim as f32;
            }
        }
        Model {
            dim,
            n_vertices,
            stride,
            rows,
        }
    }

    pub(super) fn embeddings(&self) -> Embeddings {
        let rows = self.rows.chunks_exact(self.stride).take(self.n_vertices);
        let values = rows.flat_map(|row| &row[..self.dim]).copied().collect();
        Embeddings::new(self.dim, values)
    }

    /// Adds the changes of `units`, for each row in the order of units.
    fn take_up(&mut self, units: &[Unit]) {
        let stride = self.stride;
        let block = (self.rows.len() / stride).div_ceil(ROW_BLOCKS);
        self.rows
            .par_chunks_mut(block * stride)
            .enumerate()
            .for_each(|(i, rows)| {
                let first = (i * block) as u32;
                let n = (rows.len() / stride) as u32;
                for unit in units {
                    for (&id, change) in unit.ids.iter().zip(unit.rows.chunks_exact(stride)) {
                        let row = id.wrapping_sub(first);
                        if row < n {
                            kernels::add(&mut rows[row as usize * stride..][..stride], change, 1.0);
                        }
                    }
                }
            });
    }
}

/// See [`SkipGram::train`].
pub(super) fn train(
    settings: &SkipGram,
    corpus: &Corpus,
    n_vertices: u32,
    rng: &mut SimRng,
) -> Result<Model, TrainError> {
    let problems = settings.broken();
    if !problems.is_empty() {
        return Err(TrainError::Algorithm(problems));
    }
    let counts = count(corpus, n_vertices)?;
    let mut keys = [[0; 32]; 2];
    for key in &mut keys {
        rng.fill_bytes(key);
    }
    let n = n_vertices as usize;
    let negatives = (settings.output != OutputLayer::Hierarchical).then(|| {
        let weights: Vec<f64> = counts.iter().map(|&count| libm::pow(count as f64, 0.75)).collect();
        Alias::new(&weights)
    });
    let tree = (settings.output != OutputLayer::Negative).then(|| Huffman::new(&counts));
    let n_outputs = if negatives.is_some() { n } else { 0 };
    let n_inner = if tree.is_some() { n - 1 } else { 0 };
    let mut model = Model::new(settings.dim, n, n + n_outputs + n_inner, SimRng::from_seed(keys[0]));
    let round_centres = round_centres(&counts, tree.is_some());
    let shared = Shared {
        settings,
        tokens: corpus.tokens(),
        stride: model.stride,
        first_output: n_vertices,
        first_inner: (n + n_outputs) as u32,
        negatives,
        tree,
    };
    let mut units: Vec<Unit> = Vec::new();
    let total = (corpus.n_tokens() * settings.epochs) as f64;
    let mut stream = 0;
    for epoch in 0..settings.epochs {
        let seen = epoch * corpus.n_tokens();
        let mut pieces = pieces(corpus).peekable();
        let mut round = Vec::new();
        while pieces.peek().is_some() {
            round.clear();
            let mut n_centres = 0;
            while let Some(piece) = pieces.next_if(|_| round.len() < ROUND_UNITS && n_centres < round_centres) {
                n_centres += piece.centres.len();
                round.push(piece);
            }
            while units.len() < round.len() {
                units.push(Unit::new(&shared));
            }
            let work = |(i, unit): (usize, &mut Unit)| {
                let piece = &round[i];
                let done = (seen + piece.centres.start) as f64 / total;
                let rate = f64::from(settings.learning_rate)
                    - f64::from(settings.learning_rate - settings.min_learning_rate) * done;
                let mut rng = SimRng::from_seed(keys[1]);
                rng.set_stream(stream + i as u64);
                unit.work(&shared, &model.rows, piece, rate as f32, &mut rng);
            };
            let units = &mut units[..round.len()];
            match units {
                [unit] => work((0, unit)),
                _ => units.par_iter_mut().enumerate().with_max_len(1).for_each(work),
            }
            model.take_up(units);
            stream += round.len() as u64;
        }
    }
    Ok(model)
}

/// How often each vertex occurs.
fn count(corpus: &Corpus, n_vertices: u32) -> Result<Vec<u64>, TrainError> {
    let mut counts = vec![0; n_vertices as usize];
    let mut pairs = false;
    for (sentence_idx, sentence) in corpus.sentences().enumerate() {
        for &vertex in sentence {
            match counts.get_mut(vertex as usize) {
                Some(count) => *count += 1,
                None => {
                    return Err(TrainError::Vertex {
                        sentence_idx,
                        vertex,
                        n_vertices,
                    });
                }
            }
        }
        pairs |= sentence.len() > 1;
    }
    let n_sentences = corpus.n_sentences();
    if pairs {
        Ok(counts)
    } else {
        Err(TrainError::NoPairs { n_sentences })
    }
}

/// How many centres a round may begin with, from the corpus alone.
fn round_centres(counts: &[u64], tree: bool) -> usize {
    if tree {
        return 1;
    }
    let total: u64 = counts.iter().sum();
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    (ROUND_REPEATS * total as f64 / most as f64).min(ROUND_CENTRES) as usize
}

/// All sentences with a pair, cut into pieces of nearly equal size.
fn pieces(corpus: &Corpus) -> impl Iterator<Item = Piece> + '_ {
    let mut start = 0;
    corpus.sentences().flat_map(move |sentence| {
        let (first, len) = (start, sentence.len());
        start += len;
        let n_pieces = if len > 1 { len.div_ceil(UNIT_CENTRES) } else { 0 };
        (0..n_pieces).map(move |i| Piece {
            sentence: first..first + len,
            centres: first + len * i / n_pieces..first + len * (i + 1) / n_pieces,
        })
    })
}
