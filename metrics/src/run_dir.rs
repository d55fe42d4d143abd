//! The run directory: the contract between a run and everything that reads its results.
//!
//! ```text
//! scenario.ron     resolved, every default explicit
//! manifest.json    what was run, whether it is finished, the result's fingerprint
//! rounds.csv …     tables, see [`Tables`](crate::Tables)
//! summary.json     a flat map from a name to a number
//! trace.json.gz    every event of a traced run, see [`crate::trace`]: no part of the result
//! artifacts/       what a strategy leaves for reading
//! figures/         drawn from these files, with captions: no part of the result
//! checkpoint/      the state of a run that is not finished, if it was saved: one file, whole at every instant
//! ```
//!
//! - [`RunWriter`] writes one; [`Writer`] does so on a thread of its own, so that the simulation
//!   need not wait.
//! - [`Checkpoint`] reads the state that an unfinished run has left, and [`RunWriter::resume`] goes
//!   on with its directory.
//! - [`RunDir`] reads one back, [`compare`](crate::compare::compare) finds the first difference
//!   between two.
//!
//! Promises: a path that exists is never written over; a folder that cannot be written is found
//! before the run starts; every file is whole at every instant; finished rounds that reached the
//! disk stay there whatever happens next, and a directory without any is removed again.
//!
//! Names in `summary.json` are in lower case with underscores and end in their unit
//! (`payload_bytes`, `virtual_s`). A name `metric@label` is a reference for `metric`, such as what
//! a theorem predicts: figures draw it as a dashed line called `label`.

pub(crate) mod canonical;
mod checkpoint;
mod disk;
mod error;
mod manifest;
mod read;
mod write;
mod writer;

pub use checkpoint::{Checkpoint, CheckpointError, Head};
pub use disk::write_whole;
pub use error::{ReadError, WriteError};
pub use manifest::{Division, Manifest, Parent, encode_summary, fingerprint};
pub use read::{RunDir, read_manifest, read_partition, read_table};
pub use write::{Artifact, RunResult, RunWriter};
pub use writer::{Record, Writer};

pub(crate) use disk::{Disk, Files, commit, create_dirs, remove_empty_dirs};
pub(crate) use manifest::{decode_summary, from_json, to_json};
pub(crate) use read::{list_files, read_bytes, read_scores, result_files};

/// The resolved scenario's file name; of a sweep's card, too.
pub const SCENARIO: &str = "scenario.ron";
/// The manifest's file name.
pub const MANIFEST: &str = "manifest.json";
/// The summary's file name.
pub const SUMMARY: &str = "summary.json";
/// The directory of what a strategy leaves for reading.
pub const ARTIFACTS: &str = "artifacts";
/// The directory with copies of the user's own programs.
pub const PROGRAM: &str = "program";
/// The directory with the inputs of jobs that failed, which repeat them.
pub const FAILED_JOBS: &str = "failed_jobs";
/// The directory of a checkpoint.
pub const CHECKPOINT: &str = "checkpoint";
/// The directory of the figures.
pub const FIGURES: &str = "figures";
