//! `folkmoot export`: scores as one table in CSV; the table of a sweep as LaTeX or HTML.
//!
//! Parquet and TensorBoard files are written by the Python package, from this table.

use crate::args::ExportArgs;
use crate::context::quoted;
use crate::exit::Exit;
use crate::output::{print_bytes, warn};
use crate::sweep_table::{Headline, headline};
use crate::table_forms;
use folkmoot_metrics::SweepDir;
use folkmoot_metrics::export::Export;
use std::fs;
use std::io;
use std::path::Path;

pub(crate) fn export(args: &ExportArgs) -> Result<(), Exit> {
    if args.form.parquet {
        return Err(by_python(args, "a Parquet file", "parquet", "scores.parquet"));
    }
    if args.form.tensorboard {
        return Err(by_python(args, "a folder for TensorBoard", "tensorboard", "board"));
    }
    let forms = [
        (args.form.latex, table_forms::latex as fn(&Headline) -> String),
        (args.form.html, table_forms::html),
        (args.form.markdown, table_forms::markdown),
    ];
    let bytes = match forms.into_iter().find(|(is_asked, _)| *is_asked) {
        None => scores(&args.dir)?,
        Some((_, form)) => form(&headline(&SweepDir::open(&args.dir)?)).into_bytes(),
    };
    let Some(to) = &args.to else {
        return print_bytes(&bytes);
    };
    if fs::symlink_metadata(to).is_ok() {
        let why = "already exists and is never overwritten; choose another --to";
        return Err(Exit::usage(format!("error: {}: {why}", to.display())));
    }
    write(to, &bytes).map_err(|error| Exit::usage(format!("error: cannot write {}: {error}", to.display())))
}

fn scores(dir: &Path) -> Result<Vec<u8>, Exit> {
    let export = Export::open(dir)?;
    if let Some(there) = &export.unfinished {
        let dir = dir.display();
        warn(&format!("warning: {dir} is not finished; what is exported has {there}"));
    }
    if export.runs.is_empty() {
        return Err(Exit::usage("error: there is nothing to export yet"));
    }
    Ok(export.long_csv())
}

/// The command that writes `what`.
fn by_python(args: &ExportArgs, what: &str, form: &str, to: &str) -> Exit {
    let dir = quoted(&args.dir.to_string_lossy());
    let to = args.to.as_deref().map_or(to.into(), Path::to_string_lossy);
    Exit::usage(format!(
        "error: {what} is written by the Python package, which `pip install './sim/python[{form}]'` installs\n\
         help: python -m folkmoot export {dir} --{form} --to {}",
        quoted(&to)
    ))
}

/// Writes a file, which appears when it is whole.
fn write(to: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Removed at the end with whatever is still in it.
    let temp = tempfile::tempdir_in(folder)?;
    let part = temp.path().join("part");
    fs::write(&part, bytes)?;
    fs::rename(part, to)
}
