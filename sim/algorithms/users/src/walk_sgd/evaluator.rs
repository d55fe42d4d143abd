//! What walking models are worth, where walks have been, and what theory says they tell clients of
//! each other.

use super::theory::{communicability, epsilon, pairwise_loss};
use super::{Chain, WalkSgd, counter};
use folkmoot_classifiers::classifier::{Held, Score};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::artifacts::{ArtifactTable, FLOAT, WHOLE};
use folkmoot_metrics::table::column;
use std::fmt::Write;
use std::sync::Arc;

/// Where models that walk have been.
pub(crate) const VISITS: ArtifactTable = ArtifactTable {
    file: "visits.csv",
    columns: &[
        column("client", WHOLE, "The client."),
        column("visits", WHOLE, "Steps that models took there."),
        column("gradients", WHOLE, "Gradients that it gave them."),
        column("share_meant", FLOAT, "Its share of all visits as the chain means it."),
    ],
};

/// Of more clients the matrix of theory is not made: its work grows with their cube.
const MAX_CLIENTS: usize = 400;

const CYFFERS: &str = "Cyffers, Bellet & Upadhyay, ICML 2024";

/// Of [`WalkSgd`].
pub(super) const TERMS: &[Term] = terms! {
    "visit_distance", "Distance from the stationary distribution", Share [lower]:
        "Total variation distance between the visit frequencies and the stationary distribution of the chain.";
    "longest_stay", "Longest stay", Count [lower]:
        "Maximum number of consecutive steps of a walk at one client; large values indicate entrapment.";
    "visited_share", "Clients visited", Share [higher]:
        "Fraction of clients visited by at least one walk.";
    "near_epsilon", "Epsilon of a neighbour", Number [from(0.0), lower]:
        "Theoretical maximum over neighbours of the epsilon towards a client that sees the passing models.",
        CYFFERS;
    "pair_epsilon", "Epsilon of a pair", Number [from(0.0), lower]:
        "Theoretical epsilon between two clients, mean over all pairs.",
        CYFFERS;
    "stays", "Stays", Count []:
        "Steps after which a walk stayed at its client.";
    "jumps", "Jumps", Count []:
        "Jumps of walks; each takes one or more messages.";
    "redirected_tokens", "Redirected tokens", Count []:
        "Tokens that returned because the receiver was offline or the link lost them.";
    "idle_visits", "Idle visits", Count []:
        "Visits to clients whose gradients were used up.";
    "stopped_tokens", "Walks ended early", Count [lower]:
        "Walks ended by a client with used-up gradients, or by a diverged model that the codec cannot encode.";
    "compression", "Compression of models", Number [from(0.0), higher]:
        "Uncompressed size of models over encoded size; other message fields count as encoded.";
    "lost_tokens", "Walks lost", Count [lower]:
        "Walks whose holder dropped out before forwarding the model.";
};

pub(super) struct Watch(pub(super) Arc<Held>);

impl Watch {
    /// Where walks have been.
    fn visits(&self, end: &End<'_, WalkSgd>, sheet: &mut Sheet) {
        let walk = end.strategy;
        let visits: Vec<u64> = end.clients.iter().map(|(_, client)| client.visits).collect();
        let all = visits.iter().sum::<u64>().max(1) as f64;
        let apart = |(n, share): (&u64, &f64)| (*n as f64 / all - share).abs();
        let distance = visits.iter().zip(&walk.stationary).map(apart).sum::<f64>() / 2.0;
        sheet.number("visit_distance", distance);
        let longest = end.clients.iter().map(|(_, client)| client.longest_stay).max();
        sheet.number("longest_stay", f64::from(longest.unwrap_or(0)));
        let visited = visits.iter().filter(|n| **n > 0).count();
        sheet.number("visited_share", visited as f64 / visits.len().max(1) as f64);
        let mut table = VISITS.header(&[]);
        for ((id, client), share) in end.clients.iter().zip(&walk.stationary) {
            let _ = writeln!(table, "{},{},{},{share:?}", id.0, client.visits, client.given);
        }
        sheet.artifact(VISITS.file, table.into_bytes());
    }

    /// What theory says that models tell clients of each other, for the chain and the noise that it
    /// is about.
    fn theory(&self, end: &End<'_, WalkSgd>, sheet: &mut Sheet) {
        let walk = end.strategy;
        let (Some(noise), Chain::MaxDegree, None) = (walk.params.noise, walk.params.chain, walk.params.jumps) else {
            return;
        };
        let n = walk.graph.n_nodes();
        if !(2..=MAX_CLIENTS).contains(&n) || walk.params.tokens > 1 {
            return;
        }
        // Noise in units of the sensitivity, which is twice the clip.
        let (sigma, steps) = (noise.multiplier / 2.0, f64::from(walk.params.steps));
        let matrix = communicability(&walk.graph);
        let of_pair =
            |u: usize, v: usize| epsilon(pairwise_loss(steps, n as f64, sigma, matrix[u * n + v]), noise.delta);
        let near = walk
            .graph
            .arcs()
            .map(|(u, v)| of_pair(u as usize, v as usize))
            .fold(0.0, f64::max);
        let pairs = (0..n).flat_map(|u| (0..n).filter(move |v| *v != u).map(move |v| (u, v)));
        let sum: f64 = pairs.map(|(u, v)| of_pair(u, v)).sum();
        sheet.number("near_epsilon", near);
        sheet.number("pair_epsilon", sum / (n * (n - 1)) as f64);
    }
}

/// How many times larger tokens would be as they are, where a codec packs them.
fn compression(end: &End<'_, WalkSgd>, sheet: &mut Sheet) {
    let plain = 4 * end.strategy.classifier.network().layout().len() as u64 + 8;
    let rows = end.ledger.rows().filter(|(kind, ..)| kind.name == "packed_token");
    let (sent, bytes) = rows.fold((0, 0), |(sent, bytes), (.., cell)| {
        (sent + cell.sent, bytes + cell.payload_bytes)
    });
    sheet.number_if("compression", (bytes > 0).then(|| (sent * plain) as f64 / bytes as f64));
}

impl Evaluator<WalkSgd> for Watch {
    fn after_round(&self, ended: &Ended<'_, WalkSgd>, sheet: &mut Sheet) {
        let mean = ended.server.mean();
        if mean.iter().any(|x| !x.is_finite()) {
            return sheet.diverged("a walking model has numbers that are not finite");
        }
        Score::write(&ended.strategy.classifier.evaluate(&self.0, &mean), sheet);
    }

    fn controls(&self, walk: &WalkSgd, sheet: &mut Sheet) {
        walk.classifier.controls(&self.0, &["client"], sheet);
    }

    fn at_end(&self, end: &End<'_, WalkSgd>, sheet: &mut Sheet) {
        let world = end.setup.world;
        if world.deadline.is_some() {
            sheet.warn(
                "deadline_ms means nothing without a server that waits; strategy.timeout_s is how long senders wait",
            );
        }
        if world.cohort.asked(end.clients.len()) < end.clients.len() {
            sheet.warn("cohort means nothing without a server that asks: all clients took part");
        }
        for (name, count) in WalkSgd::COUNTERS.iter().zip(&end.counters) {
            sheet.number(*name, *count as f64);
        }
        let lost = end.counters[counter::LOST];
        if lost > 0 {
            sheet.warn(format!(
                "{lost} of {} walks came to no end: the client that holds the token is away for good, or a report was lost; {}",
                end.strategy.params.tokens,
                world.remedy()
            ));
        }
        self.visits(end, sheet);
        self.theory(end, sheet);
        compression(end, sheet);
    }

    fn scores(&self, end: &End<'_, WalkSgd>, sheet: &mut Sheet) {
        let walk = end.strategy;
        let scores = walk.classifier.evaluate(&self.0, &end.server.mean());
        Score::conclude(&scores, sheet);
        walk.classifier.references(&self.0, &scores, sheet);
    }
}
