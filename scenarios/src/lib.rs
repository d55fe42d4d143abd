//! Scenarios: the card format, its checks, the registry of strategies, runs and sweeps.
//!
//! The journey of a card: [`cards::find`] → [`text::Source`] → [`file::ScenarioFile`] (shape) →
//! [`scenario::check`] (values) → [`run::load`] (data, shards) → [`run::run_into`] (results), or
//! [`sweep::plan`] and [`sweep::sweep_into`].
//!
//! It promises that a card's problems are all said at once, with line and column, and that a card
//! and a seed decide every result.

pub mod algorithm;
mod arms;
pub mod audit;
pub mod axis;
pub mod cards;
pub mod claims;
pub mod contrasts;
pub mod evaluators;
pub mod explain;
pub mod file;
pub mod glossary;
pub mod names;
pub mod registry;
pub mod run;
pub mod scenario;

pub mod summary;
pub mod sweep;
pub mod swept;
pub mod text;
#[cfg(test)]
mod toy;
