//! What learns: a codec, an aggregation rule, a server optimizer, a federated method, a topology, a
//! graph layer and an attack.

use folkmoot::classifiers::attacks::{Attack, Present, Target};
use folkmoot::classifiers::classifier::graph_layers::{GraphLayers, Layer, Propagation, Widths};
use folkmoot::classifiers::federated::{Federated, Learned, Local, Method};
use folkmoot::classifiers::gossip::Topology;
use folkmoot::codecs::{Codec, Damaged, Shape, n_values};
use folkmoot::draws::SimRng;
use folkmoot::graphs::Graph;
use folkmoot::learning::layers::{Linear, Mode};
use folkmoot::learning::{Adjacency, Layout, Tape, Var};
use folkmoot::prelude::*;
use folkmoot::rounds::{Personalisation, Rule, ServerMoments, ServerOptimiser, Updates};

/// All numbers, the last first.
#[component(name = "Backwards", about = "all numbers, the last first")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backwards {}

impl Codec for Backwards {
    fn encode(&self, values: &[f32], _: &[Shape], _: &mut SimRng, out: &mut Vec<u8>) {
        out.extend(values.iter().rev().flat_map(|x| x.to_le_bytes()));
    }

    fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        match numbers.len().cmp(&n_values(shapes)) {
            std::cmp::Ordering::Less => Err(Damaged::TooShort),
            std::cmp::Ordering::Equal if rest.is_empty() => {
                Ok(numbers.iter().rev().map(|bytes| f32::from_le_bytes(*bytes)).collect())
            }
            _ => Err(Damaged::TooLong),
        }
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        Some(4 * n_values(shapes) as u64)
    }

    fn suits_models(&self) -> bool {
        true
    }
}

/// The update with the greatest weight; of several, the first.
#[component(name = "Loudest", about = "the update with the greatest weight")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loudest {}

impl Rule for Loudest {
    fn combine(&self, updates: &Updates<'_>) -> Vec<f64> {
        let loudest = updates.all.iter().rev().max_by(|a, b| a.weight.total_cmp(&b.weight));
        let loudest = loudest.expect("there is an update");
        (0..updates.n_values()).map(|i| loudest.value(i)).collect()
    }
}

/// Half of the mean change.
#[component(name = "HalfWay", about = "half of the mean change")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfWay {}

impl ServerOptimiser for HalfWay {
    fn step(&self, _: &mut ServerMoments, weights: &mut [f32], change: &[f64]) {
        for (weight, change) in weights.iter_mut().zip(change) {
            *weight = (f64::from(*weight) + change / 2.0) as f32;
        }
    }
}

/// One model for all, which a client trains twice in a round.
#[component(name = "Twice", about = "one model for all, which a client trains twice in a round")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twice {}

impl Method for Twice {
    fn passes(&self, epochs: f64) -> f64 {
        2.0 * epochs
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        Learned::sent(local.train(&local.train(local.parameters)))
    }
}

impl Personalisation<Federated> for Twice {}

/// All clients around the first one.
#[component(name = "Star", about = "all clients around the first one")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Star {}

impl Topology for Star {
    fn graph(&self, n_clients: u32, _: &mut SimRng) -> Result<Graph, StrategyError> {
        let edges: Vec<(u32, u32)> = (1..n_clients).map(|client| (0, client)).collect();
        Ok(Graph::from_edges(n_clients, &edges, false).expect("all ends are clients"))
    }
}

/// A linear layer on the mean over neighbours, without the node itself.
#[component(name = "Neighbours", about = "a linear layer on the mean over neighbours")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbours {}

struct OfMeans(Linear);

impl GraphLayers for Neighbours {
    fn propagation(&self) -> Propagation {
        Propagation::Means
    }

    fn layer(&self, layout: &mut Layout, name: &str, widths: &Widths) -> Box<dyn Layer> {
        Box::new(OfMeans(Linear::new(layout, name, widths.n_in, widths.n_out)))
    }
}

impl Layer for OfMeans {
    fn forward<'g>(&self, tape: &mut Tape<'g>, means: Adjacency<'g>, (x, _): (Var, Mode)) -> Var {
        let mean = tape.propagate(means, x);
        self.0.forward(tape, mean)
    }
}

/// The length of the model.
#[component(name = "Length", about = "the length of the global model, as a metric")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {}

impl Attack for Length {
    fn attack(&self, _: &Target<'_>, _: &mut Sheet) -> Result<(), StrategyError> {
        Ok(())
    }

    fn after_round(&self, present: &Present<'_>, sheet: &mut Sheet) {
        let square: f64 = present.model.iter().map(|x| f64::from(*x).powi(2)).sum();
        sheet.score("test", "length", square.sqrt(), 1);
    }

    fn terms() -> Vec<Term> {
        let about = "Euclidean length of the global model.";
        vec![Term::new("length", "Length of the model", Unit::Number, about, "").from(0.0)]
    }
}
