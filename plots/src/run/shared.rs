//! What the figures of a run have in common.

use folkmoot_metrics::figure::{Figure, Panel};
use folkmoot_metrics::{MessageRow, RunDir};

/// Whether messages and work took any time: the clock of an ideal network counts hops.
pub(super) fn has_durations(run: &RunDir) -> bool {
    run.summary
        .get("virtual_s")
        .is_none_or(|end| folkmoot_metrics::has_durations(*end))
}

/// Payloads and headers, in bytes.
pub(super) fn bytes(row: &MessageRow) -> f64 {
    row.payload_bytes as f64 + row.header_bytes as f64
}

/// A figure of one panel without notes.
pub(super) fn figure(name: &str, title: &str, panel: Panel) -> Figure {
    Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        notes: Vec::new(),
        panels: vec![panel],
    }
}
