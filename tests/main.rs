//! End-to-end tests: the program as its users meet it, one module a subject.
#![allow(clippy::unwrap_used, reason = "a file or a run that fails fails its test")]

mod arms;
mod audit;
mod bad_cards;
mod bad_data;
mod bad_learning;
mod bad_output;
mod book;
mod cards;
mod checkpoints;
mod cli;
mod comparisons;
mod described;
mod determinism;
mod dry_runs;
mod emulated;
mod events;
mod explained;
mod exports;
mod federated;
#[cfg(feature = "fetch")]
mod fetch;
mod golden;
mod hidden;
mod inputs;
mod journey;
mod kept;
mod language;
mod ledger;
mod mapped;
mod memory;
mod paper_tables;
mod reports;
mod shards;
mod support;
mod sweeps;
mod terms;
mod tidy;
mod torture;
mod trace;
mod trials;
mod worlds;
