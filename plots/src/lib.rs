//! Figures from a run directory.
