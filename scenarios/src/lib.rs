//! Scenario files: format, checks, registry, sweeps.
