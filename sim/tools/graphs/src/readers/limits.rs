//! How much a file may hold.

/// The most nodes that a file may describe.
pub(crate) const MAX_NODES: u64 = 1 << 26;

/// The most bytes that one compressed part of a file may unpack to.
pub(crate) const MAX_UNPACKED: u64 = 1 << 30;
