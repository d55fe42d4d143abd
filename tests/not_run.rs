//! What a test says that tests nothing here; tests of other crates read this file as a module of
//! theirs.

use std::io::Write;

/// Says on stderr that a test does not run. The test runner shows this line of tests that pass, too,
/// since it is not printed by a macro.
pub(crate) fn not_run(why: &str) {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test").to_owned();
    // A closed stderr is no error.
    let _ = writeln!(std::io::stderr(), "NOT RUN: {test}: {why}");
}
