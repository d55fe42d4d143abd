//! Encoder and decoder as one model.

use crate::edge_score::Scorer;
use crate::settings::Params;
use folkmoot_classifiers::classifier::Network;
use folkmoot_classifiers::classifier::graph_layers::GraphLayers;
use folkmoot_draws::SimRng;
use folkmoot_graphs::Graph;
use folkmoot_learning::{Batch, Csr, Layout, Tape, Var};
use folkmoot_parts::Chosen;
use rayon::prelude::*;

/// Pairs that are scored on one tape: a limit on memory, which no result depends on.
const PAIRS_AT_ONCE: usize = 16_384;

/// A model that embeds nodes and scores pairs of embeddings.
pub struct Predictor {
    network: Network,
    scorer: Box<dyn Scorer>,
    layout: Layout,
    layers: Chosen<dyn GraphLayers>,
    keeps_sums: bool,
    width: usize,
}

impl Predictor {
    /// The model that the settings describe, for nodes with `n_features` numbers.
    pub fn new(params: &Params, n_features: usize) -> Predictor {
        let model = params.model.model();
        let (hidden, width) = (model.hidden as usize, params.model.outputs as usize);
        let network = Network::new(&model, n_features, width, false);
        let mut layout = network.layout().clone();
        let scorer = params.decoder.scorer(&mut layout, width);
        let n_first = if model.layers == 1 { width } else { hidden };
        Predictor {
            keeps_sums: model.encoder.begins_with_sums(n_features, n_first),
            layers: model.encoder,
            network,
            scorer,
            layout,
            width,
        }
    }

    /// Names, shapes and starts of all weights: first those of the encoder.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Weights of the encoder, and of the decoder.
    pub(crate) fn n_weights(&self) -> [usize; 2] {
        let n_encoder = self.network.layout().len();
        [n_encoder, self.layout.len() - n_encoder]
    }

    /// Numbers of an embedding.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A graph as the encoder reads it; `features` has shape `(n_nodes, n_features)`, row-major.
    pub(crate) fn batch(&self, graph: &Graph, features: &[f32]) -> Batch {
        let mut batch = Batch::new(self.network.n_features());
        let matrix = self.layers.propagation().matrix(&Csr::from_graph(graph));
        batch.push(&matrix, features);
        batch.keep_nonzeros();
        if self.keeps_sums {
            batch.keep_neighbour_sums();
        }
        batch
    }

    /// Embeddings of all nodes of a batch, shape `(n_nodes, width)`; with a stream, in training.
    pub(crate) fn embed<'g>(&self, tape: &mut Tape<'g>, batch: &'g Batch, rng: Option<&mut SimRng>) -> Var {
        self.network.logits(tape, batch, rng)
    }

    /// The logit of an edge between each of `first` and the one of `second` at its place, shape
    /// `(n, 1)`.
    pub(crate) fn score<'g>(&self, tape: &mut Tape<'g>, rows: Var, [first, second]: [&'g [u32]; 2]) -> Var {
        let first = tape.gather_rows(rows, first);
        let second = tape.gather_rows(rows, second);
        self.scorer.score(tape, first, second)
    }

    /// Embeddings of all nodes of a batch by a model, without dropout; shape `(n_nodes, width)`,
    /// row-major.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another model.
    pub fn rows(&self, batch: &Batch, parameters: &[f32]) -> Vec<f32> {
        Tape::with_own(|tape| {
            tape.load(&self.layout, parameters);
            let rows = self.embed(tape, batch, None);
            tape.value(rows).to_vec()
        })
    }

    /// Logits of edges between nodes with these embeddings, of shape `(n_nodes, width)`, row-major.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another model, or a node has no embedding.
    pub fn scores(&self, rows: &[f32], pairs: &[(u32, u32)], parameters: &[f32]) -> Vec<f64> {
        let of_some = |pairs: &[(u32, u32)]| -> Vec<f64> {
            let (first, second): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
            Tape::with_own(|tape| {
                tape.load(&self.layout, parameters);
                let rows = tape.input(rows.len() / self.width, self.width, rows);
                let scores = self.score(tape, rows, [&first, &second]);
                tape.value(scores).iter().map(|score| f64::from(*score)).collect()
            })
        };
        let all: Vec<Vec<f64>> = pairs.par_chunks(PAIRS_AT_ONCE).map(of_some).collect();
        all.concat()
    }
}
