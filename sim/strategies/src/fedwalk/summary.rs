//! What a run of FedWalk comes to: the communication study, the encoder's cost, the attacks, and what the vectors are worth.

use super::audit::{self, Recovery};
use super::client::Client;
use super::options::SelfHop;
use super::server::Server;
use super::{FedWalk, counter, theory};
use crate::node_embedding::true_pair_share;
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::npy::{npy_f32, npy_u32};

/// Dissimilarities are left for reading for at most this many vertices: 50 MB.
const MAX_WRITTEN_NODES: usize = 5_000;

/// All of it.
pub(super) fn scores(
    system: &FedWalk,
    server: &Server,
    clients: &Clients<'_, Client>,
    report: &Report<'_>,
    rng: &mut SimRng,
) -> Scores {
    let mut scores = match &server.embeddings {
        Some(vectors) => system.params.evaluation.read(vectors, &system.walked, report, rng),
        None => Scores::default(),
    };
    let mut summary = communication(system, server, report);
    summary.extend(encoder(system, server, report));
    if system.params.attacks {
        summary.extend(attacks(system, server, clients));
        summary.extend(theorem_4_1(system, server, rng));
    }
    scores.summary.append(&mut summary);
    if let Some(published) = &server.published {
        let children = published.tree().children();
        scores.artifacts.push(Artifact {
            path: "tree.npy".to_owned(),
            bytes: npy_u32(children.as_flattened(), &[children.len(), 2]),
        });
        if let Some(matrix) = published.matrix().filter(|matrix| matrix.n() <= MAX_WRITTEN_NODES) {
            scores.artifacts.push(Artifact {
                path: "dissimilarity.npy".to_owned(),
                bytes: npy_f32(matrix.values(), &[matrix.values().len()]),
            });
        }
    }
    scores
}

/// Messages and bytes a walk, and how many walks would repay the download.
fn communication(system: &FedWalk, server: &Server, report: &Report<'_>) -> Vec<(String, f64)> {
    let mut summary: Vec<(String, f64)> = Vec::new();
    let mut put = |name: &str, value: f64| summary.push((name.to_owned(), value));
    let kind = |name: &str| {
        let rows = report.ledger.rows().filter(|(kind, ..)| kind.name == name);
        rows.fold((0u64, 0u64), |(sent, bytes), (.., cell)| {
            (sent + cell.sent, bytes + cell.payload_bytes)
        })
    };
    let ((starts, _), (peer, peer_bytes)) = (kind("start"), kind("walk"));
    put("walks_started", starts as f64);
    put("walks_completed", server.walks as f64);
    for (name, &count) in FedWalk::COUNTERS.iter().zip(&report.counters) {
        put(name, count as f64);
    }
    let hops = report.counters[counter::PREDICTED_HOPS];
    if hops > 0 {
        put(
            "predictor_hit_rate",
            report.counters[counter::HITS] as f64 / hops as f64,
        );
    }
    if starts == 0 {
        return summary;
    }
    let walks = starts as f64;
    put("peer_messages_per_walk", peer as f64 / walks);
    put("peer_bytes_per_walk", peer_bytes as f64 / walks);
    put("predicted_hops_per_walk", hops as f64 / walks);
    if server.walks > 0 {
        put("entries_per_walk", server.entries as f64 / server.walks as f64);
    }
    let (l, p) = (system.params.walk_length, system.params.predictor_prob);
    if system.params.self_hop == SelfHop::Message {
        let right = system.messages_per_walk(theory::expected_messages);
        let error = (system.connected_share() * theory::message_variance(l, p) / system.n_walks(&report.setup)).sqrt();
        put("peer_messages_per_walk@Theorem 4.2, right form", right);
        put(
            "peer_messages_per_walk@Theorem 4.2, as printed",
            system.messages_per_walk(theory::printed_messages),
        );
        put("peer_messages_per_walk_standard_error", error);
    }
    // What the devices download to predict and to encode, against what the predictor saves them.
    let download: u64 = ["tree_and_matrix", "row_request", "row"]
        .iter()
        .map(|name| kind(name).1)
        .sum();
    let saved = system.connected_share() * theory::plain_walk_bytes(l) - peer_bytes as f64 / walks;
    put("download_bytes", download as f64);
    if p > 0.0 && saved > 0.0 {
        put("saved_bytes_per_walk", saved);
        put("break_even_walks", download as f64 / saved);
        put(
            "break_even_walks_per_node",
            download as f64 / saved / system.n_nodes() as f64,
        );
    }
    summary
}

/// What encoding changes, and what it costs by measurement.
fn encoder(system: &FedWalk, server: &Server, report: &Report<'_>) -> Vec<(String, f64)> {
    let mut summary: Vec<(String, f64)> = Vec::new();
    let encoded = report.counters[counter::ENCODED];
    if encoded > 0 {
        let changed = report.counters[counter::CHANGED] as f64 / encoded as f64;
        summary.push(("encoder_changed_share".to_owned(), changed));
        summary.push(("encoder_epsilon_nominal".to_owned(), system.params.epsilon_encoder));
    }
    if let (Some(published), Some(dictionary)) = (&server.published, &server.dictionary)
        && system.params.encoder.reads_scores()
        && let Some(audit) = published.audit(dictionary, (system.params.encoder, system.params.epsilon_encoder))
    {
        summary.push(("encoder_worst_log_ratio".to_owned(), audit.worst_log_ratio));
        summary.push(("encoder_score_sensitivity".to_owned(), audit.sensitivity));
        summary.push(("encoder_keep_probability".to_owned(), audit.keep_probability));
    }
    if let Some(response) = &system.response {
        summary.push(("encoder_worst_log_ratio".to_owned(), system.params.epsilon_encoder));
        summary.push(("encoder_keep_probability".to_owned(), response.keep_probability()));
    }
    // A device's count changes in one bin when it gains a neighbour; an edge is two devices' neighbour.
    summary.push(("degree_epsilon_per_edge".to_owned(), 2.0 * system.params.epsilon_degree));
    summary
}

/// How many edges the server could read off what it gets.
fn attacks(system: &FedWalk, server: &Server, clients: &Clients<'_, Client>) -> Vec<(String, f64)> {
    let mut summary: Vec<(String, f64)> = Vec::new();
    let graph = system.walked.graph();
    let mut put = |name: &str, at: &str, recovery: Recovery| {
        summary.push((format!("{name}_recall{at}"), recovery.recall));
        summary.push((format!("{name}_precision{at}"), recovery.precision));
    };
    if let Some(matched) = server.matched {
        put("row_matching", "", matched);
    }
    let entries: Vec<&[u32]> = clients
        .iter()
        .map(|(_, client)| client.first_entries.as_slice())
        .collect();
    for (walks, recovery) in audit::first_entries(graph, entries.iter().copied()) {
        put("first_entry", &format!("[walks_per_node={walks}]"), recovery);
    }
    if let Some(share) = true_pair_share(&server.corpus, graph) {
        summary.push(("consecutive_edge_share".to_owned(), share));
    }
    summary
}

/// The measured change of dissimilarities by noise beside the bound that the theorem states.
fn theorem_4_1(system: &FedWalk, server: &Server, rng: &mut SimRng) -> Vec<(String, f64)> {
    let (Some(dictionary), true, Some(_)) = (&server.dictionary, system.params.m_upload, &server.published) else {
        return Vec::new();
    };
    let graph = system.walked.graph();
    let counts = |v: u32| system.counts(v, &server.plan);
    let Some((gap, error)) = audit::dissimilarity_gap(graph, dictionary, counts, system.params.metric.into(), rng)
    else {
        return Vec::new();
    };
    let max_degree = (0..graph.n_nodes() as u32).map(|v| graph.degree(v)).max().unwrap_or(0);
    let bound = theory::dissimilarity_bound(system.n_bins, max_degree, system.params.epsilon_degree);
    vec![
        ("dissimilarity_gap".to_owned(), gap),
        ("dissimilarity_gap_standard_error".to_owned(), error),
        ("dissimilarity_gap@Theorem 4.1, as printed".to_owned(), bound),
    ]
}
