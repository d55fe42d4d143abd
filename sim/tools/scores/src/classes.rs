//! Class ids, numbered without gaps.

/// The distinct ids of `labels`, ascending.
pub(super) fn distinct(labels: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut ids: Vec<u32> = labels.into_iter().collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The labels as positions in `ids`, which must hold them all.
pub(super) fn numbered(labels: &[u32], ids: &[u32]) -> Vec<usize> {
    labels
        .iter()
        .map(|label| ids.partition_point(|id| id < label))
        .collect()
}
