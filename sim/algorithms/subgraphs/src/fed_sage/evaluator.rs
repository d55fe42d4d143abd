//! What FedSage is worth on mended graphs and on the whole one, and what its generators come to.

use super::data::{Piece, Whole};
use super::exchange::{Filled, bytes, is_linked, n_training};
use super::told::Told;
use super::{FedSage, Generators};
use folkmoot_classifiers::classifier::{Accuracy, Held, Shard};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};
use folkmoot_rounds::message::Extra;
use folkmoot_rounds::{RoundEnd, RoundEvaluator};
use std::sync::Arc;

const ZHANG: &str = "Zhang et al., NeurIPS 2021";

pub(super) const TERMS: &[Term] = &[
    Term::new(
        "whole_accuracy",
        "Accuracy on the whole graph",
        Unit::Number,
        "Share of the items whose class the server's model predicts with all edges and no made neighbours, over all clients' items together, as the paper has it.",
        ZHANG,
    )
    .from(0.0)
    .up_to(1.0)
    .higher()
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "generator_bytes",
        "Bytes of generators",
        Unit::Bytes,
        "Bytes of payload of generators, embeddings and gradients before any classifier is trained; beside them what the formula says, where bytes do not depend on numbers.",
        ZHANG,
    )
    .from(0.0)
    .lower(),
    count(
        "generator_parameters",
        "Numbers of a generator",
        "Numbers of the layers that make features of embeddings: what each such message carries.",
    )
    .lower(),
    Term::new(
        "generator_times_model",
        "Generator over model",
        Unit::Number,
        "How many times as many numbers a generator has as the model that is trained with what it makes.",
        "",
    )
    .from(0.0)
    .lower(),
    count("cut_edges", "Cut edges", "Edges between nodes of two clients."),
    count("made_neighbours", "Made neighbours", "Neighbours that generators have made, over all clients."),
    Term::new(
        "predicted_missing",
        "Neighbours said to be missing",
        Unit::Number,
        "How many neighbours generators say that a node lacks, the mean over nodes that are not hidden; beside it how many are.",
        "",
    )
    .from(0.0),
    Term::new(
        "generator_loss",
        "Loss of generators",
        Unit::Number,
        "Loss at its client of a generator in its last step, the mean over clients; beside it that in the last step alone, before others had a say.",
        "",
    )
    .from(0.0)
    .lower(),
    Term::new(
        "feature_error",
        "Error of made features",
        Unit::Number,
        "Mean squared error of a made neighbour's features to those of the nearest neighbour that its node was hidden, over training nodes; beside it that of the client's mean row.",
        "",
    )
    .from(0.0)
    .lower(),
    count(
        "unanswered_clients",
        "Clients without an answer",
        "Clients that never got through the exchange, and train on their cut graph.",
    )
    .lower(),
];

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0)
}

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
