//! `folkmoot export`: scores as one table in CSV; the table of a sweep as LaTeX, HTML or Markdown;
//! the metadata of a directory as an RO-Crate.
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
use folkmoot_metrics::ro_crate::{RO_CRATE, ro_crate};
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
    if args.form.ro_crate {
        let to = args.to.clone().unwrap_or_else(|| args.dir.join(RO_CRATE));
        save(&to, ro_crate(&args.dir, &today()?)?.as_bytes())?;
        return print_bytes(format!("{}\n", to.display()).as_bytes());
    }
    let bytes = match forms.into_iter().find(|(is_asked, _)| *is_asked) {
        None => scores(&args.dir)?,
        Some((_, form)) => form(&headline(&SweepDir::open(&args.dir)?)).into_bytes(),
    };
    match &args.to {
        None => print_bytes(&bytes),
        Some(to) => save(to, &bytes),
    }
}

/// Writes a new file.
fn save(to: &Path, bytes: &[u8]) -> Result<(), Exit> {
    if fs::symlink_metadata(to).is_ok() {
        let why = "already exists and is never overwritten; choose another --to";
        return Err(Exit::usage(format!("error: {}: {why}", to.display())));
    }
    write(to, bytes).map_err(|error| Exit::usage(format!("error: cannot write {}: {error}", to.display())))
}

/// The date of today, or that of the variable `SOURCE_DATE_EPOCH`, as in 2026-11-29.
#[expect(clippy::disallowed_types, reason = "the date of publication is no part of a result")]
fn today() -> Result<String, Exit> {
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text
            .parse::<u64>()
            .map_err(|_| Exit::usage(format!("error: SOURCE_DATE_EPOCH: {text:?} is no number of seconds")))?,
        Err(_) => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
    };
    Ok(date(seconds / 86_400))
}

/// The date so many days after 1970-01-01.
fn date(days: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The calendar repeats after 400 years.
    let (mut year, mut rest) = (1970 + days / 146_097 * 400, days % 146_097);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if rest < length {
            break;
        }
        rest -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", rest + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let cases = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_786, "2026-11-29"),
            (47_541, "2100-03-01"),
            (146_097 + 365, "2371-01-01"),
        ];
        for (days, expected) in cases {
            assert_eq!(date(days), expected);
        }
    }
}
