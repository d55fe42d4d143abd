//! Scenario files: format, checks, registry, sweeps.

pub mod text;
