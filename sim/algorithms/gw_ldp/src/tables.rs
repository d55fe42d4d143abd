//! The tables that runs leave below `artifacts/`.

use folkmoot_metrics::artifacts::{ArtifactTable, FLOAT, WHOLE};
use folkmoot_metrics::table::{Column, column};

/// Graphs whose embeddings a server holds.
pub(crate) const GRAPHS: ArtifactTable = ArtifactTable {
    file: "graphs.csv",
    columns: &[
        GRAPH,
        column("client", WHOLE, "Whose it is."),
        CLASS,
        column(
            "part",
            "text",
            "What it is for: `train`, `validation`, `test`, or blank.",
        ),
        column("n_nodes", WHOLE, "Its nodes."),
        column("n_edges", WHOLE, "Its edges."),
        column("round", WHOLE, "The round that the embedding is of."),
        column("cluster*", WHOLE, "Its cluster by the distances of a metric."),
    ],
};

/// Graphs in the plane.
pub(crate) const PLACES: ArtifactTable = ArtifactTable {
    file: "map*.csv",
    columns: &[
        GRAPH,
        CLASS,
        column("cluster", "a whole number or blank", "Its cluster, if there are any."),
        column("x", FLOAT, "Where it lies by t-SNE, to the right."),
        column("y", FLOAT, "Where it lies by t-SNE, upwards."),
    ],
};

/// How far graphs move if they are changed.
pub(crate) const CHANGES: ArtifactTable = ArtifactTable {
    file: "changes.csv",
    columns: &[
        GRAPH,
        column("lost", "text", "What it has less: an `edge` or a `node`."),
        column("hops", FLOAT, "How far its hop counts move."),
        column(
            "embedding",
            FLOAT,
            "How far its embedding moves, before anything is done to that.",
        ),
    ],
};

const GRAPH: Column = column("graph", WHOLE, "The graph, by its place in the data.");
const CLASS: Column = column("class", "a whole number or blank", "Its class, if it has one.");
