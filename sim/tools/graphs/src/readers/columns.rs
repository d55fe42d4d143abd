//! Usual names of columns in files of others, in lower case.

/// The first of them that is there has the ids.
pub(super) const IDS: &[&str] = &["id", "node", "node_id", "nodeid", "name"];
pub(super) const LABELS: &[&str] = &["label", "class", "y"];
pub(super) const SPLITS: &[&str] = &["split"];
/// Each with the one of [`TARGETS`] at its place.
pub(super) const SOURCES: &[&str] = &[
    "source",
    "src",
    "from",
    "u",
    "node1",
    "node_1",
    "id1",
    "id_1",
    "head",
    "sender",
    "source_id",
];
pub(super) const TARGETS: &[&str] = &[
    "target",
    "dst",
    "to",
    "v",
    "node2",
    "node_2",
    "id2",
    "id_2",
    "tail",
    "receiver",
    "target_id",
];
pub(super) const WEIGHTS: &[&str] = &["weight"];
/// More names of labels.
const MORE_LABELS: &[&str] = &["labels", "classes", "target", "targets"];
/// More names of parts of a split.
const PARTS: &[&str] = &["fold", "train_mask", "val_mask", "valid_mask", "test_mask"];

/// Whether a column has one of some names.
pub(super) fn is_one(header: &str, names: &[&str]) -> bool {
    names.contains(&header.to_ascii_lowercase().as_str())
}

/// Whether a column is named as one with the ids of nodes.
pub(super) fn is_id(header: &str) -> bool {
    is_one(header, IDS)
}

/// Whether a column is named as one with ids of anything, such as `user_id` or `paperId`.
pub(super) fn is_any_id(header: &str) -> bool {
    is_id(header) || header.to_ascii_lowercase().ends_with("_id") || header.ends_with("Id")
}

/// Whether it is the index that pandas writes: without a name, or with that which pandas gives one
/// on reading it.
pub(super) fn is_index(header: &str) -> bool {
    header.is_empty() || header.starts_with("Unnamed: ")
}

/// Whether a column is named as one with parts of a split.
pub(super) fn is_part(header: &str) -> bool {
    is_one(header, SPLITS) || is_one(header, PARTS)
}

/// Whether a column is named as something else than a feature.
pub(super) fn is_no_feature(header: &str) -> bool {
    let is_label = is_one(header, LABELS) || is_one(header, MORE_LABELS);
    is_any_id(header) || is_index(header) || is_part(header) || is_label
}
