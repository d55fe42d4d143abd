//! What the server could learn of the edges from all that it gets, and what it could guess without
//! the walks.

use crate::fedwalk::audit::{self, Finished};
use crate::fedwalk::{Entries, FedWalk, Server};
use crate::node_embedding::{SAMPLED, Tally, WalkGraph, sample_pairs, true_pair_share};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_scores::auc;

/// How many edges curious devices could read off the walks that pass through them, besides their
/// own edges, which they know: edges between others are found among pairs of others.
///
/// A walk that comes to them again brings the pairs that it brought before, and they count again.
pub(super) fn devices(graph: &Graph, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
    let n_nodes = graph.n_nodes();
    let mut is_curious = vec![false; n_nodes];
    let mut heard = Vec::new();
    for (id, client) in end.clients.iter() {
        if let Some(walks) = &client.heard {
            is_curious[id.0 as usize] = true;
            heard.push(walks);
        }
    }
    let n_curious = heard.len();
    sheet.number("curious_devices", n_curious as f64);
    if n_curious == 0 {
        return;
    }
    let others = |v: u32| !is_curious[v as usize];
    let n_own = graph.edges().filter(|&(u, v)| !others(u) || !others(v)).count();
    let share = n_own as f64 / graph.n_edges().max(1) as f64;
    sheet.number("curious_own_edges", share);
    let walks = heard
        .iter()
        .flat_map(|walks| (0..walks.n_sentences()).map(|i| walks.sentence(i)));
    let pairs = walks.flat_map(|walk| walk.windows(2).map(|pair| (pair[0], pair[1])));
    Tally::new(n_nodes, pairs)
        .most_seen(graph, others)
        .write("curious", sheet);
}

/// How many edges the server could read off what it gets.
pub(super) fn write(walked: &WalkGraph, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
    let graph = walked.graph();
    rows(graph, end, sheet);
    let firsts: Vec<&[u32]> = end
        .clients
        .iter()
        .map(|(_, client)| client.first_entries.as_slice())
        .collect();
    for (n_walks, found) in audit::first_entries(graph, firsts.iter().copied()) {
        found.write_at("first_entry", ("walks_per_node", n_walks), sheet);
    }
    walks(graph, end, sheet);
    degrees(graph, end, sheet);
    if let Some(vectors) = &end.server.embeddings {
        walked.infer_edges(vectors, end.streams, sheet);
    }
}

/// Uploaded rows and rows asked for.
fn rows(graph: &Graph, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
    let (system, server) = (end.strategy, end.server);
    if let (Some(dictionary), true) = (&server.dictionary, !server.matrices.is_empty()) {
        let guesses = match system.params.epsilon_matrix {
            None => audit::match_rows(dictionary, &server.matrices, system.n_bins),
            Some(_) => audit::match_nearest_rows(dictionary, &server.matrices, system.n_bins),
        };
        let found = Tally::new(graph.n_nodes(), guesses.into_iter()).seen(graph);
        found.write("row_matching", sheet);
    }
    if system.params.asks_for_rows() {
        // On request, a neighbour's row is asked for from both ends of the edge, a predicted
        // vertex' mostly from one.
        let found = Tally::new(graph.n_nodes(), server.requests.iter().copied());
        found.most_seen(graph, |_| true).write("row_requests", sheet);
    }
}

/// Finished walks: neighbouring entries, and the last entry with who sent it in.
fn walks(graph: &Graph, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
    let server = end.server;
    let finished = Finished {
        corpus: &server.corpus,
        senders: &server.senders,
        by_round: &server.by_round,
    };
    let share = true_pair_share(&server.corpus, graph);
    // None where no entry has another beside it.
    if share.is_some() {
        let mut all = None;
        for (n_walks, [pairs, lasts]) in finished.tallies(graph.n_nodes()) {
            let at = ("walks_per_node", n_walks);
            pairs.most_seen(graph, |_| true).write_at("pair_counts", at, sheet);
            lasts.seen(graph).write_at("last_entry", at, sheet);
            all = Some(pairs);
        }
        let (keep, degrees) = (keep_probability(end), degrees_told(graph, server));
        if let Some(found) = all.and_then(|pairs| pairs.with_degrees(graph, &degrees?, keep)) {
            found.write("pairs_and_degrees", sheet);
        }
    }
    sheet.number_if("consecutive_edge_share", share);
}

/// The control: the server needs no walk to guess that vertices of many neighbours are neighbours,
/// as published vectors say how many a vertex has. An attack whose area is below this one's says
/// nothing.
fn degrees(graph: &Graph, end: &End<'_, FedWalk>, sheet: &mut Sheet) {
    let sampled = sample_pairs(graph, &mut end.streams.global(SAMPLED));
    if let (Some(degrees), Some([edges, others])) = (degrees_told(graph, end.server), sampled) {
        let pairs = edges.iter().chain(&others);
        let products: Vec<f64> = pairs.map(|&(u, v)| degrees[u as usize] * degrees[v as usize]).collect();
        let positive: Vec<bool> = (0..products.len()).map(|i| i < edges.len()).collect();
        sheet.number_if("degree_product_auc", auc(&positive, &products).ok());
    }
}

/// The noisy degrees, as published, but no less than 0.
fn degrees_told(graph: &Graph, server: &Server) -> Option<Vec<f64>> {
    let dictionary = server.dictionary.as_ref()?;
    let n = graph.n_nodes();
    let degree = |v: u32| f64::from(dictionary.noisy_degree(v, n).max(0.0));
    Some((0..n as u32).map(degree).collect())
}

/// With what probability an entry is the vertex that it was made of, as everybody can work out.
fn keep_probability(end: &End<'_, FedWalk>) -> f64 {
    match (&end.strategy.entries, &end.server.published, &end.server.dictionary) {
        (Entries::Alone { keep_probability, .. }, ..) => *keep_probability,
        (Entries::ByScore { scale, .. }, Some(published), Some(dictionary)) => published
            .audit(dictionary, scale)
            .map_or(1.0, |audit| audit.keep_probability),
        _ => 1.0,
    }
}
