//! Where tests find the real data, which are no part of this repository; other crates' tests read
//! this file as a module of theirs.

#[path = "../../../../../tests/not_run.rs"]
mod not_run;
pub(crate) use not_run::not_run;

use std::path::{Path, PathBuf};

/// The real data: `FOLKMOOT_DATA`, or the folder beside the workspace. `None` where neither exists;
/// whoever asked then has nothing to test, and a line says so.
pub(crate) fn real_data() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let named = std::env::var_os("FOLKMOOT_DATA").map(PathBuf::from);
    let found = named.into_iter().chain([beside]).find(|dir| dir.is_dir());
    if found.is_none() {
        not_run("FOLKMOOT_DATA names no folder of real data");
    }
    found
}
