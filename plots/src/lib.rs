//! Figures from a run or sweep directory, and from nothing else.
//!
//! - [`draw_run`]: messages and bytes by round, scores by round, time and bytes, what clients carry, what became of the
//!   messages, what privacy was spent; maps, matrices and changes where a strategy left them.
//! - [`draw_audit`]: verdicts on papers' claims, and printed numbers beside measured ones.
//! - [`draw_dataset`]: a data set's degrees and labels.
//! - [`draw_sweep`]: each summary number over the sweep's axes, with means and 95 % intervals over seeds.
//!
//! Figures are drawn side by side, by the threads of the `rayon` pool that the call is made in.
//!
//! Promises: each figure is written as SVG and as PNG below `figures/`, whole; equal tables give equal
//! bytes on every CPU, by any number of threads; a figure
//! whose data are absent or all zero is not drawn. Curves differ in colour, marker and dash; theory is dashed; intervals
//! are bands; legends lie off the data. The font comes with the crate, so nothing is asked of the system.
//!
//! ```no_run
//! for file in folkmoot_plots::draw_run("runs/fedwalk".as_ref())? {
//!     assert!(file.starts_with("runs/fedwalk/figures"));
//! }
//! # Ok::<(), folkmoot_plots::PlotError>(())
//! ```

mod artifacts;
mod dataset;
mod draw;
mod figure;
mod font;
mod names;
mod png;
mod profile;
mod raster;
mod render;
mod run;
mod scale;
mod scene;
mod sweep;
#[cfg(test)]
mod tests;
mod verdicts;

pub use dataset::DatasetPicture;
use figure::Figure;
use folkmoot_metrics::run_dir::{FIGURES, write_whole};
use folkmoot_metrics::{ReadError, RunDir, SweepDir, WriteError};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thiserror::Error;
pub use verdicts::Found;

/// Why figures could not be drawn. Those drawn before stay.
#[derive(Debug, Error)]
pub enum PlotError {
    /// The directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A figure cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A figure cannot be drawn: a bug.
    #[error("figure {figure} cannot be drawn: {reason}; please report it")]
    Draw {
        /// The figure's name.
        figure: String,
        /// What the drawing library said.
        reason: String,
    },
}

/// Draws the standard figures of the run directory `dir` into its `figures/`; returns the files, in order. Of a run that
/// is not finished, what there is is drawn, with a note that says so.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is no run directory or is damaged, [`PlotError::Write`] when a figure cannot be saved.
pub fn draw_run(dir: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let run = RunDir::open(dir)?;
    save(dir, &run::figures(&run, artifacts::of_run(&run)?))
}

/// Draws the figures of the sweep directory `dir` into its `figures/`; returns the files, in order. Points that are
/// missing are left out, with a note that says so.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is no sweep directory or is damaged, [`PlotError::Write`] when a figure cannot be saved.
pub fn draw_sweep(dir: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let sweep = SweepDir::open(dir)?;
    let mut figures = sweep::figures(&sweep);
    figures.extend(sweep::of_artifacts(&sweep)?);
    save(dir, &figures)
}

/// Draws what an audit found into the `figures/` of `dir`: `verdicts`, whose parts are called `names`, and `printed`.
///
/// # Errors
///
/// [`PlotError::Write`] when a figure cannot be saved.
pub fn draw_audit(dir: &Path, names: &[String], found: &[Found]) -> Result<Vec<PathBuf>, PlotError> {
    save(dir, &verdicts::figures(names, found))
}

/// Draws a data set into the `figures/` of `dir`: `dataset`, with its degrees and labels, if it has either.
///
/// # Errors
///
/// [`PlotError::Write`] when the figure cannot be saved.
pub fn draw_dataset(dir: &Path, picture: &DatasetPicture) -> Result<Vec<PathBuf>, PlotError> {
    save(dir, &dataset::figures(picture))
}

/// How many figures are held at a time between drawing and writing.
const AT_ONCE: usize = 64;

fn save(dir: &Path, figures: &[Figure]) -> Result<Vec<PathBuf>, PlotError> {
    let mut files = Vec::new();
    let mut taken = BTreeSet::new();
    for some in figures.chunks(AT_ONCE) {
        let drawn: Vec<Result<_, PlotError>> = some.par_iter().map(draw_forms).collect();
        // Written in order, so that what is there after a failure does not depend on threads.
        for (figure, forms) in some.iter().zip(drawn) {
            // Two metrics may differ only in signs that no file name holds.
            let names = (2..).map(|n| format!("{}-{n}", figure.name));
            let name = std::iter::once(figure.name.clone())
                .chain(names)
                .find(|name| !taken.contains(name));
            let name = name.unwrap_or_default();
            taken.insert(name.clone());
            for (ending, bytes) in forms? {
                let path = dir.join(FIGURES).join(format!("{name}.{ending}"));
                write_whole(&path, &bytes)?;
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// The bytes of a figure's files, with their endings.
fn draw_forms(figure: &Figure) -> Result<[(&'static str, Vec<u8>); 2], PlotError> {
    let scene = draw::lay_out(figure);
    let (svg, png) = rayon::join(|| render::svg(&scene), || render::png(&scene));
    let svg = svg.map_err(|reason| PlotError::Draw {
        figure: figure.name.clone(),
        reason,
    })?;
    Ok([("svg", svg), ("png", png)])
}

/// A text as part of a file name: what is not a letter or a digit becomes a hyphen.
fn file_part(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(plain).take(80).collect()
}
