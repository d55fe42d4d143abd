//! End-to-end tests.

mod golden;
