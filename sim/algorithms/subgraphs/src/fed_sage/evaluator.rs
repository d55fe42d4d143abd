//! What FedSage is worth on mended graphs and on the whole one, and what its generators come to.

use super::data::{Piece, Whole};
use super::exchange::{Filled, bytes, is_linked, n_training};
use super::told::Told;
use super::{FedSage, Generators};
use folkmoot_classifiers::classifier::{Accuracy, Held, Shard};
use folkmoot_engine::prelude::*;
use folkmoot_rounds::message::Extra;
use folkmoot_rounds::{RoundEnd, RoundEvaluator};
use std::sync::Arc;

const ZHANG: &str = "Zhang et al., NeurIPS 2021";

pub(super) const TERMS: &[Term] = terms! {
    "whole_accuracy", "Accuracy on the whole graph", Number [fraction, higher, scored(Server, Whole, Items)]:
        "Fraction of all clients' items classified correctly by the server's model with all edges and no generated neighbours, as in the paper.",
        ZHANG;
    "generator_bytes", "Bytes of generators", Bytes [from(0.0), lower]:
        "Payload bytes of generators, embeddings and gradients before classifier training; compared with the formula if sizes do not depend on values.",
        ZHANG;
    "generator_parameters", "Parameters of a generator", Number [from(0.0), lower]:
        "Parameters of the feature decoder, which each generator message carries.";
    "generator_times_model", "Generator over model", Number [from(0.0), lower]:
        "Ratio of the generator's parameter count to that of the classifier.";
    "cut_edges", "Cut edges", Number [from(0.0)]:
        "Edges between nodes of two clients.";
    "made_neighbours", "Generated neighbours", Number [from(0.0)]:
        "Neighbours generated at all clients.";
    "predicted_missing", "Predicted missing neighbours", Number [from(0.0)]:
        "Predicted number of missing neighbours per node, mean over nodes that are not hidden; compared with the true number.";
    "generator_loss", "Loss of generators", Number [from(0.0), lower]:
        "Local loss of a generator in its last step, mean over clients; compared with the last step before federated training.";
    "feature_error", "Error of generated features", Number [from(0.0), lower]:
        "Mean squared error between a generated neighbour's features and the nearest hidden neighbour's, over training nodes; compared with the client's mean features.";
    "unanswered_clients", "Clients without an answer", Number [from(0.0), lower]:
        "Clients that did not complete the exchange and train on their cut graph.";
};

/// Scores of the server's model, and numbers of generators.
pub(super) struct Worth {
    pub(super) pieces: Arc<Vec<Piece>>,
    pub(super) sizes: Vec<u64>,
    pub(super) whole: Whole,
    pub(super) cut_edges: u64,
}

impl Worth {
    /// The scores on what clients train on.
    fn accuracy(&self, known: impl Fn(&Piece) -> Shard) -> Accuracy {
        let shards = self.pieces.iter().map(known).collect();
        Accuracy(Held::new(shards, self.sizes.clone()))
    }

    /// What the generators of clients have made.
    fn filled<'a>(&'a self, end: &'a RoundEnd<'_, FedSage, (), Generators>) -> impl Iterator<Item = &'a Filled> {
        let made = |piece: &Piece| end.kept(piece.client).and_then(|kept| kept.filled());
        self.pieces.iter().filter_map(made)
    }
}

impl RoundEvaluator<FedSage, (), Generators> for Worth {
    fn after_round(&self, task: &FedSage, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        // What generators make, clients keep to themselves until the run is over.
        if task.makers.is_none() {
            self.accuracy(|piece| piece.shard.clone())
                .of_round(&task.classifier, parameters, sheet);
        }
        if let Some((accuracy, n)) = self.whole.accuracy(&task.classifier, parameters) {
            sheet.score("test", "whole_accuracy", accuracy, n);
        }
    }

    fn reads_clients(&self, task: &FedSage) -> bool {
        task.makers.is_some()
    }

    fn controls(&self, task: &FedSage, sheet: &mut Sheet) {
        self.accuracy(|piece| piece.shard.clone())
            .of_controls(&task.classifier, sheet);
    }

    fn at_end(&self, end: &RoundEnd<'_, FedSage, (), Generators>, sheet: &mut Sheet) {
        let task = end.trainer;
        sheet.number("cut_edges", self.cut_edges as f64);
        let Some(makers) = &task.makers else { return };
        let n_shared = makers.networks.n_shared();
        sheet.number("generator_parameters", n_shared as f64);
        let n_model = task.classifier.network().layout().len();
        sheet.number("generator_times_model", n_shared as f64 / n_model as f64);
        let rows = end.run.ledger.rows().filter(|(kind, ..)| kind.name == Told::NAME);
        let counted: u64 = rows.map(|(.., cell)| cell.payload_bytes).sum();
        sheet.number("generator_bytes", counted as f64);
        let nodes = self.pieces.iter().filter_map(|piece| piece.shard.nodes());
        let clients: Vec<(usize, bool)> = nodes.map(|nodes| (n_training(&nodes), is_linked(&nodes))).collect();
        if let Some(bytes) = bytes(&makers.plan, |n_nodes| makers.n_bytes(n_nodes), &clients) {
            sheet.reference("generator_bytes", "theory", bytes as f64);
        }
        let n_filled = self.filled(end).count();
        let unanswered = clients.iter().filter(|(n_training, _)| *n_training > 0).count() - n_filled;
        sheet.number("unanswered_clients", unanswered as f64);
        if unanswered > 0 {
            sheet.warn(format!(
                "{unanswered} of {} clients never got through the exchange of generators and train on their cut graph",
                clients.len()
            ));
        }
    }

    fn scores(&self, end: &RoundEnd<'_, FedSage, (), Generators>, sheet: &mut Sheet) {
        let task = end.trainer;
        let known = |piece: &Piece| task.known(piece, end.kept(piece.client)).clone();
        self.accuracy(known).scores(end, sheet);
        let whole = self.whole.accuracy(&task.classifier, end.parameters);
        sheet.number_if("test_whole_accuracy", whole.map(|(accuracy, _)| accuracy));
        if task.makers.is_some() {
            made_neighbours(&self.filled(end).collect::<Vec<_>>(), sheet);
        }
    }
}

/// What generators have made.
fn made_neighbours(filled: &[&Filled], sheet: &mut Sheet) {
    let n: usize = filled.iter().map(|filled| filled.places.len()).sum();
    sheet.number("made_neighbours", n as f64);
    let notes = || filled.iter().map(|filled| filled.notes);
    let n_nodes: u64 = notes().map(|notes| notes.n_nodes).sum();
    if n_nodes > 0 {
        let predicted: f64 = notes().map(|notes| notes.predicted).sum();
        let missing: u64 = notes().map(|notes| notes.n_missing).sum();
        sheet.number("predicted_missing", predicted / n_nodes as f64);
        sheet.reference("predicted_missing", "hidden", missing as f64 / n_nodes as f64);
        if missing == 0 {
            sheet.warn("no client could hide a neighbour from itself, so that generators learn that none is missing; raise split.validation");
        }
    }
    let losses: Vec<[f64; 2]> = notes().filter_map(|notes| notes.losses).collect();
    if !losses.is_empty() {
        let mean = |which: usize| losses.iter().map(|both| both[which]).sum::<f64>() / losses.len() as f64;
        sheet.number("generator_loss", mean(1));
        sheet.reference("generator_loss", "alone", mean(0));
    }
    let n_near: u64 = notes().map(|notes| notes.near.n).sum();
    if n_near > 0 {
        let sum: f64 = notes().map(|notes| notes.near.sum).sum();
        let of_mean: f64 = notes().map(|notes| notes.near.of_mean).sum();
        sheet.number("feature_error", sum / n_near as f64);
        sheet.reference("feature_error", "mean_row", of_mean / n_near as f64);
    }
}
