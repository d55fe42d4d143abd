//! What is seen of FedWalk from above: the communication evaluator, the encoder's cost, the
//! attacks, and what the vectors are worth.

mod attacks;

use super::options::{Curious, SelfHop};
use super::{Entries, FedWalk, Predicted, audit, counter, theory};
use crate::node_embedding::WalkGraph;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::npy::{npy_f32, npy_u32};
use std::sync::Arc;

/// Dissimilarities are left for reading for at most this many vertices: 50 MB.
const MAX_WRITTEN_NODES: usize = 5_000;

/// Who knows the graph.
pub(super) struct Watch {
    walked: Arc<WalkGraph>,
    /// The share of vertices with somebody to walk to.
    connected_share: f64,
}

impl Watch {
    pub(super) fn new(walked: Arc<WalkGraph>) -> Self {
        let graph = walked.graph();
        let n_nodes = graph.n_nodes();
        let n_isolated = (0..n_nodes as u32).filter(|&v| graph.degree(v) == 0).count();
        Watch {
            connected_share: 1.0 - n_isolated as f64 / n_nodes as f64,
            walked,
        }
    }

    /// Expected device-to-device messages of a walk, if no device is ever away.
    fn messages_per_walk(&self, system: &FedWalk, form: fn(u32, f64) -> f64) -> f64 {
        self.connected_share * form(system.params.walk_length, system.params.predictor_prob)
    }
}

impl Evaluator<FedWalk> for Watch {
    /// No device knows whose neighbour a predicted vertex is.
    fn see(&self, hop: Predicted, count: &mut dyn FnMut(usize, u64)) {
        let is_hit = self.walked.graph().has_edge(hop.from, hop.to);
        count(counter::HITS, u64::from(is_hit));
    }

    fn expected_messages(
        &self,
        system: &FedWalk,
        setup: &Setup<'_>,
        kind: Kind,
        round: Round,
        direction: Direction,
    ) -> Option<f64> {
        let devices = system.n_nodes() as f64;
        let walks = setup.selection().mean_asked(setup.n_clients);
        match (kind.name, direction) {
            ("group_plan" | "dictionary" | "tree_and_matrix", Direction::Downlink) => Some(devices),
            ("degree_vector" | "ordered_matrix", Direction::Uplink) => Some(devices),
            ("start", Direction::Downlink) | ("sequence", Direction::Uplink) => Some(walks),
            // A free hop to oneself makes the count depend on how often pools hold the holder.
            ("walk", Direction::Peer) if round.0 > 0 && system.params.self_hop == SelfHop::Message => {
                Some(walks * self.messages_per_walk(system, theory::expected_messages))
            }
            _ => None,
        }
    }

    /// For what it would take to attack them, and what curious ones have heard.
    fn reads_clients(&self, system: &FedWalk) -> bool {
        system.params.attacks || system.params.curious != Curious::Nobody
    }

    fn at_end(&self, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
        self.communication(end, sheet);
        // A device's count changes in one bin when it gains a neighbour; an edge is two devices'
        // neighbour.
        sheet.number("degree_epsilon_per_edge", 2.0 * end.strategy.params.epsilon_degree);
    }

    fn scores(&self, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
        let (system, server, rng) = (end.strategy, end.server, &mut end.rng());
        if let Some(vectors) = &server.embeddings {
            system.params.evaluation.record(vectors, &self.walked, end, rng, sheet);
        }
        encoder(end, sheet);
        if system.params.attacks {
            attacks::write(&self.walked, end, sheet);
            self.theorem_4_1(end, rng, sheet);
        }
        if system.params.curious != Curious::Nobody {
            attacks::devices(self.walked.graph(), end, sheet);
        }
        if let Some(published) = &server.published {
            let children = published.tree().children();
            sheet.artifact("tree.npy", npy_u32(children.as_flattened(), &[children.len(), 2]));
            if let Some(matrix) = published.matrix().filter(|matrix| matrix.n() <= MAX_WRITTEN_NODES) {
                let values = matrix.values();
                sheet.artifact("dissimilarity.npy", npy_f32(values, &[values.len()]));
            }
        }
    }
}

impl Watch {
    /// Messages and bytes a walk, and how many walks would repay the download.
    fn communication(&self, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
        let (system, server) = (end.strategy, end.server);
        let kind = |name: &str| {
            let rows = end.ledger.rows().filter(|(kind, ..)| kind.name == name);
            rows.fold((0u64, 0u64), |(sent, bytes), (.., cell)| {
                (sent + cell.sent, bytes + cell.payload_bytes)
            })
        };
        let ((starts, _), (peer, peer_bytes)) = (kind("start"), kind("walk"));
        sheet.number("walks_started", starts as f64);
        sheet.number("walks_completed", server.walks as f64);
        for (name, &count) in FedWalk::COUNTERS.iter().zip(&end.counters) {
            sheet.number(*name, count as f64);
        }
        let hops = end.counters[counter::PREDICTED_HOPS];
        if hops > 0 {
            let hits = end.counters[counter::HITS] as f64;
            sheet.number("predictor_hit_rate", hits / hops as f64);
        }
        if starts == 0 {
            return;
        }
        let walks = starts as f64;
        sheet.number("peer_messages_per_walk", peer as f64 / walks);
        sheet.number("peer_bytes_per_walk", peer_bytes as f64 / walks);
        sheet.number("predicted_hops_per_walk", hops as f64 / walks);
        if server.walks > 0 {
            sheet.number("entries_per_walk", server.entries as f64 / server.walks as f64);
        }
        let (l, p) = (system.params.walk_length, system.params.predictor_prob);
        if system.params.self_hop == SelfHop::Message {
            let asked = end.setup.selection().mean_asked(end.setup.n_clients);
            let n_walks = asked * f64::from(system.params.walks_per_node);
            let error = (self.connected_share * theory::message_variance(l, p) / n_walks).sqrt();
            for (label, form) in [
                (
                    "Theorem 4.2, corrected",
                    theory::expected_messages as fn(u32, f64) -> f64,
                ),
                ("Theorem 4.2, as published", theory::printed_messages),
            ] {
                sheet.reference("peer_messages_per_walk", label, self.messages_per_walk(system, form));
            }
            sheet.number("peer_messages_per_walk_standard_error", error);
            let empty = end.counters[counter::EMPTY_POOLS];
            let expected = self.messages_per_walk(system, theory::expected_messages);
            if empty > 0 && peer as f64 / walks > expected + 4.0 * error {
                sheet.warn(format!(
                    "walks needed more messages than the corrected Theorem 4.2 predicts: {empty} candidate sets were empty, so those hops \
                     were sent as messages"
                ));
            }
        }
        // What the devices download to predict and to encode, against what the predictor saves
        // them.
        let download: u64 = ["tree_and_matrix", "rows_wanted", "rows", "row_request", "row"]
            .iter()
            .map(|name| kind(name).1)
            .sum();
        let saved = self.connected_share * theory::plain_walk_bytes(l) - peer_bytes as f64 / walks;
        sheet.number("download_bytes", download as f64);
        if p > 0.0 && saved > 0.0 {
            sheet.number("saved_bytes_per_walk", saved);
        }
        // Where nobody downloads anything, there is nothing to be earned back.
        if p > 0.0 && saved > 0.0 && download > 0 {
            sheet.number("break_even_walks", download as f64 / saved);
            let per_node = download as f64 / saved / system.n_nodes() as f64;
            sheet.number("break_even_walks_per_node", per_node);
        }
    }

    /// The measured change of dissimilarities by noise beside the bound that the theorem states.
    fn theorem_4_1(&self, end: &End<'_, FedWalk>, rng: &mut SimRng, sheet: &mut Sheet) {
        let (system, server) = (end.strategy, end.server);
        let (Some(dictionary), true, Some(_)) = (&server.dictionary, system.params.m_upload, &server.published) else {
            return;
        };
        let graph = self.walked.graph();
        let counts = |v: u32| system.counts(graph.neighbours(v), &server.plan);
        let gap = audit::dissimilarity_gap(graph, dictionary, counts, system.params.metric.into(), rng);
        let Some((gap, error)) = gap else { return };
        let max_degree = (0..graph.n_nodes() as u32).map(|v| graph.degree(v)).max().unwrap_or(0);
        let bound = theory::dissimilarity_bound(system.n_bins, max_degree, system.params.epsilon_degree);
        sheet.number("dissimilarity_gap", gap);
        sheet.number("dissimilarity_gap_standard_error", error);
        sheet.reference("dissimilarity_gap", "Theorem 4.1, as published", bound);
    }
}

/// What encoding changes, and what it costs by measurement.
fn encoder(end: &End<'_, FedWalk>, sheet: &mut Sheet) {
    let (system, server) = (end.strategy, end.server);
    let encoded = end.counters[counter::ENCODED];
    if encoded > 0 {
        let changed = end.counters[counter::CHANGED] as f64 / encoded as f64;
        sheet.number("encoder_changed_share", changed);
        sheet.number("encoder_epsilon_nominal", system.params.epsilon_encoder);
    }
    if let (Some(published), Some(dictionary)) = (&server.published, &server.dictionary)
        && let Entries::ByScore { scale, .. } = &system.entries
        && let Some(audit) = published.audit(dictionary, scale)
    {
        sheet.number("encoder_worst_log_ratio", audit.worst_log_ratio);
        sheet.number("encoder_score_sensitivity", audit.sensitivity);
        sheet.number("encoder_keep_probability", audit.keep_probability);
    }
    if let Entries::Alone {
        mechanism,
        keep_probability,
    } = &system.entries
    {
        sheet.number("encoder_worst_log_ratio", mechanism.cost().epsilon);
        sheet.number("encoder_keep_probability", *keep_probability);
    }
}
