//! The tables that runs leave below `artifacts/`.

use folkmoot_metrics::artifacts::{ArtifactTable, FLOAT, WHOLE};
use folkmoot_metrics::table::{Column, column};

/// Attackers that guess a property of a graph from the messages of its matches.
pub(crate) const ATTACKS: ArtifactTable = ArtifactTable {
    file: "attacks.csv",
    columns: &[
        column(
            "property",
            "text",
            "What is guessed; `joint` for all that is private together.",
        ),
        column(
            "shadow",
            FLOAT,
            "The share of the training graphs whose property the attacker knows.",
        ),
        column("known", WHOLE, "How many graphs these are."),
        column("targets", WHOLE, "How many graphs it guesses the property of."),
        column(
            "intercept",
            "text",
            "What it reads of the messages; `_with_itself` or `_with_one` where all graphs met such a partner.",
        ),
        column("attacker", "text", "What it learns by."),
        column("setting", "text", "With which setting."),
        column(
            "known_auc",
            "a float or blank",
            "ROC AUC on graphs that it knows, in cross-validation.",
        ),
        column("auc", "a float or blank", "ROC AUC on those that it guesses."),
        column(
            "chosen",
            WHOLE,
            "1 for the best by `known_auc` of what reads the same, whose `auc` counts; else 0.",
        ),
    ],
};

/// What the rows of `intercepted.npy` are of.
pub(crate) const OVERHEARD: ArtifactTable = ArtifactTable {
    file: "intercepted.csv",
    columns: &[
        column(
            "part",
            "text",
            "What the graph is for: `train`, `validation` or `test`.",
        ),
        GRAPH,
        column("partner", WHOLE, "The graph that it was matched with."),
        column("matches", WHOLE, "1 if both compute the same, else 0."),
        column("class", WHOLE, "The graph's class."),
        column("property", "text", "What is private of it."),
    ],
};

/// What the columns of `intercepted.npy` are of.
pub(crate) const OVERHEARD_COLUMNS: ArtifactTable = ArtifactTable {
    file: "intercepted_columns.csv",
    columns: &[
        column("part", "text", "The part of the messages."),
        column("from", WHOLE, "Its first column, from 0."),
        column("to", WHOLE, "The column behind its last."),
    ],
};

const GRAPH: Column = column("graph", WHOLE, "The graph, by its place in the data.");
