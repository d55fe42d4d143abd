//! `folkmoot export`: scores in forms that other programs read.

use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::output::{print_bytes, warn};
use folkmoot_metrics::export::Export;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn export(args: &ExportArgs) -> Result<(), Exit> {
    let export = Export::open(&args.dir)?;
    if let Some(there) = &export.unfinished {
        let dir = args.dir.display();
        warn(&format!("warning: {dir} is not finished; what is exported has {there}"));
    }
    if export.runs.is_empty() {
        return Err(Exit::usage("error: there is nothing to export yet"));
    }
    let form = &args.form;
    let Some(to) = &args.to else {
        return print_bytes(&export.long_csv());
    };
    if fs::symlink_metadata(to).is_ok() {
        let why = "already exists and is never overwritten; choose another --to";
        return Err(Exit::usage(format!("error: {}: {why}", to.display())));
    }
    let whole = |bytes| vec![(PathBuf::new(), bytes)];
    let files = match form {
        _ if form.tensorboard => export
            .tensorboard()
            .into_iter()
            .map(|(path, bytes)| (path.into(), bytes))
            .collect(),
        _ if form.parquet => whole(export.parquet()),
        _ => whole(export.long_csv()),
    };
    write(to, &files).map_err(|error| Exit::usage(format!("error: cannot write {}: {error}", to.display())))
}

/// Writes files below `to`, or one at its very place. It appears when it is whole.
fn write(to: &Path, files: &[(PathBuf, Vec<u8>)]) -> io::Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Removed at the end with whatever is still in it.
    let temp = tempfile::tempdir_in(folder)?;
    let part = temp.path().join("part");
    for (path, bytes) in files {
        // Joined with nothing, a path would end in a slash.
        let path = if path.as_os_str().is_empty() {
            part.clone()
        } else {
            part.join(path)
        };
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
    }
    fs::rename(part, to)
}
