//! `folkmoot merge`: one sweep of what its shards have made.

use crate::args::MergeArgs;
use crate::context::{self, Program, quoted};
use crate::exit::Exit;
use crate::sweep::conclude;
use folkmoot_metrics::SweepDir;
use folkmoot_metrics::sweep_dir::{self, MergeError};

pub(crate) fn merge(program: &Program, args: &MergeArgs) -> Result<(), Exit> {
    let [first, others @ ..] = args.dirs.as_slice() else {
        return Err(Exit::usage("error: give the sweep directories to be merged"));
    };
    let out = match &args.out {
        None if others.is_empty() => first.clone(),
        out => context::out_dir(out.as_ref(), &format!("{}-sweep", SweepDir::open(first)?.manifest.name)),
    };
    let merged = sweep_dir::merge(first, others, &out).map_err(|error| match &error {
        MergeError::Gaps { command, .. } => Exit::usage(format!(
            "error: {error}\n  make them with: {command} --out {} --only-missing",
            quoted(&first.to_string_lossy())
        )),
        _ => Exit::usage(format!("error: {error}")),
    })?;
    conclude(program, &merged, None, args.say)
}
