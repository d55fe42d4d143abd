//! Golden vectors of tools and of shared algorithms; those of the other algorithms are checked in
//! their crates.

mod attention;
mod classical;
mod codecs;
mod dtw;
mod embedding_metric;
mod federated;
mod fgw;
mod graph_measures;
mod gw;
mod gw_barycenter;
mod gw_proximal;
mod hierarchical_clustering;
mod inference;
mod layers;
mod losses;
mod lstm;
mod metrics;
mod models;
mod modularity;
mod optim;
mod ot_linear;
mod privacy;
mod tsne;

use crate::support::root;
use folkmoot_checks::golden::{self, Topics};
use std::fs;

/// The topics checked now.
const TOPICS: &Topics = &[
    ("attention", attention::check),
    ("classical", classical::check),
    ("codecs", codecs::check),
    ("dtw", dtw::check),
    ("embedding_metric", embedding_metric::check),
    ("federated", federated::check),
    ("fgw", fgw::check),
    ("graph_measures", graph_measures::check),
    ("gw", gw::check),
    ("gw_barycenter", gw_barycenter::check),
    ("gw_proximal", gw_proximal::check),
    ("hierarchical_clustering", hierarchical_clustering::check),
    ("inference", inference::check),
    ("layer_gat", layers::gat),
    ("layer_gcn", layers::gcn),
    ("layer_gin", layers::gin),
    ("layer_graphconv", layers::graph_conv),
    ("layer_lg", layers::light),
    ("layer_sage", layers::sage),
    ("layer_tag", layers::tag),
    ("losses", losses::check),
    ("lstm", lstm::check),
    ("metrics", metrics::check),
    ("model_graph_classifier", models::graphs),
    ("model_node_classifier", models::nodes),
    ("modularity", modularity::check),
    ("optim", optim::check),
    ("ot_linear", ot_linear::check),
    ("privacy", privacy::check),
    ("tsne", tsne::check),
];

/// Whether a crate of algorithms checks the topic.
fn is_elsewhere(topic: &str) -> bool {
    let crates = fs::read_dir(root().join("sim/algorithms")).unwrap();
    let file = format!("tests/golden/{topic}.json");
    crates.into_iter().any(|of| of.unwrap().path().join(&file).is_file())
}

#[test]
fn golden_vectors_agree() {
    golden::agree(TOPICS, env!("CARGO_MANIFEST_DIR"), is_elsewhere);
}

/// Operations whose expected values bound ours.
const BOUNDS: &[&str] = &["gw_cg", "gw_upper", "fgw_cg", "gw_barycenter"];

#[test]
fn no_expected_value_is_decoration() {
    golden::every_value_counts(TOPICS, env!("CARGO_MANIFEST_DIR"), BOUNDS);
}
