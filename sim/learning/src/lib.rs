//! Learning on graphs: skip-gram pairs.
