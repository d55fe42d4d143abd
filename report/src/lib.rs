//! What a run or a sweep has come to, as one page of HTML: question, answer, figures, messages,
//! privacy, data, and how to repeat it.
//!
//! - [`report`]: the page of a run or sweep directory. [`side_by_side`]: that of two of them.
//!
//! Promises: a page is made of its directory and nothing else, and the same directory gives the
//! same bytes; it asks nobody for anything, so that it opens from a file, offline and in ten years;
//! what a card or a file says is text and never markup; a table of many rows is cut, and says so.
//! Leaves out: what is drawn and how numbers are worded, which belong to `folkmoot-plots` and
//! `folkmoot-metrics`.
//!
//! ```no_run
//! let page = folkmoot_report::report("runs/karate".as_ref(), &Default::default())?;
//! assert!(page.starts_with("<!doctype html>"));
//! # Ok::<(), folkmoot_report::ReportError>(())
//! ```

mod page;
mod pair;
mod parts;
mod run;
mod sweep;
#[cfg(test)]
mod tests;

use folkmoot_metrics::figures::Figures;
use folkmoot_metrics::run_dir::MANIFEST;
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_metrics::{ReadError, RunDir, SweepDir};
use folkmoot_plots::PlotError;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no page.
#[derive(Debug, Error)]
pub enum ReportError {
    /// A directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A figure cannot be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// There is no result here.
    #[error("{} is neither a run nor a sweep directory: it holds no {MANIFEST} and no {SWEEP}", .0.display())]
    Neither(PathBuf),
    /// The two are not of one kind.
    #[error("{} and {} are a run and a sweep: name two runs or two sweeps", .0.display(), .1.display())]
    Unlike(PathBuf, PathBuf),
}

/// A field of two scenarios in which they differ: its path, and what each says.
pub type Difference = (String, Option<String>, Option<String>);

/// What lies in a directory.
enum Found {
    Run(Box<RunDir>),
    Sweep(Box<SweepDir>),
}

fn open(dir: &Path) -> Result<Found, ReportError> {
    if dir.join(SWEEP).is_file() {
        return Ok(Found::Sweep(Box::new(SweepDir::open(dir)?)));
    }
    match dir.join(MANIFEST).is_file() {
        true => Ok(Found::Run(Box::new(RunDir::open(dir)?.completed()))),
        false if !dir.exists() => Err(ReportError::Missing(dir.to_owned())),
        false => Err(ReportError::Neither(dir.to_owned())),
    }
}

/// The page of the run or the sweep in `dir`, with the usual ones of the `known` figures.
///
/// # Errors
///
/// When there is none, or it is damaged.
pub fn report(dir: &Path, known: &Figures) -> Result<String, ReportError> {
    let page = match open(dir)? {
        Found::Run(run) => run::page(&run, known)?,
        Found::Sweep(sweep) => sweep::page(&sweep, known)?,
    };
    Ok(page.html())
}

/// The page of two runs or of two sweeps, whose scenarios have these `differences`.
///
/// # Errors
///
/// When one is neither, they are not of one kind, or one is damaged.
pub fn side_by_side(a: &Path, b: &Path, known: &Figures, differences: &[Difference]) -> Result<String, ReportError> {
    let page = match (open(a)?, open(b)?) {
        (Found::Run(a), Found::Run(b)) => pair::runs(&a, &b, known, differences)?,
        (Found::Sweep(a), Found::Sweep(b)) => pair::sweeps(&a, &b, known, differences)?,
        _ => return Err(ReportError::Unlike(a.to_owned(), b.to_owned())),
    };
    Ok(page.html())
}
