//! What readers note of a data set: what was dropped, and what is unusual.

use crate::measures::isolated_nodes;
use crate::{Cleaned, Dataset, Labels};

/// Says in notes what cleaning removed; nothing is said about what did not occur.
pub(super) fn note_cleaned(dataset: &mut Dataset, cleaned: Cleaned) {
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            dataset.notes.push(format!("{count} {what}"));
        }
    };
    note(cleaned.self_loops, "self loops were dropped");
    note(cleaned.repeated, "repeated edges were dropped");
    note(cleaned.mirrored, "edges were listed in both directions and count once");
}

/// Says in notes which nodes of the last graph have no edge, and which of its weights mean little
/// to a graph convolution.
pub(super) fn note_graph(dataset: &mut Dataset) {
    let Some(graph) = dataset.graphs.last() else {
        return;
    };
    let isolated = isolated_nodes(graph).len();
    let count = |is: fn(f32) -> bool| {
        graph
            .arc_weights()
            .unwrap_or_default()
            .iter()
            .filter(|w| is(**w))
            .count()
    };
    // An edge without direction is two arcs.
    let edges = |n_arcs: usize| if graph.is_directed() { n_arcs } else { n_arcs / 2 };
    let (zero, negative) = (edges(count(|w| w == 0.0)), edges(count(|w| w < 0.0)));
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            dataset.notes.push(format!("{count} {what}"));
        }
    };
    note(isolated, "nodes have no edge");
    note(zero, "edges have weight 0 and stay edges");
    let rule = "edges have a negative weight; in a graph convolution a node whose weights do not sum to more than 0 receives nothing";
    note(negative, rule);
}

/// Says in a note how many nodes have no label.
pub(super) fn note_unlabelled(dataset: &mut Dataset, labels: &Labels) {
    if labels.n_unlabelled() > 0 {
        dataset
            .notes
            .push(format!("{} nodes have no label", labels.n_unlabelled()));
    }
}
