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
//! for file in folkmoot_plots::draw_run("runs/fedwalk".as_ref(), &folkmoot_plots::Drawing::default())? {
//!     assert!(file.starts_with("runs/fedwalk/figures"));
//! }
//! # Ok::<(), folkmoot_plots::PlotError>(())
//! ```

mod artifacts;
mod curves;
mod dataset;
mod draw;
mod figure;
mod font;
mod names;
mod pdf;
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
pub use draw::Look;
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
    /// Figures cannot have the size that is asked for.
    #[error("{0}")]
    Size(String),
    /// A figure that is asked for is not among those that the directory has data for.
    #[error("there is no figure {wanted} here; there are {there}")]
    Unknown {
        /// What it was to be called.
        wanted: String,
        /// What there is.
        there: String,
    },
    /// A figure cannot be drawn: a bug.
    #[error("figure {figure} cannot be drawn: {reason}; please report it")]
    Draw {
        /// The figure's name.
        figure: String,
        /// What the drawing library said.
        reason: String,
    },
}

/// Which figures are drawn, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// All of them; otherwise those that the card names, or those that answer most questions where it names none.
    pub all: bool,
    /// These alone, in this order, by their names; `*` stands for anything.
    pub only: Vec<String>,
    /// How they look.
    pub look: Look,
    /// Whether they are written as PDF, too.
    pub pdf: bool,
}

/// Draws figures of the run directory `dir` into its `figures/`; returns the files, in order. Of a run that
/// is not finished, what there is is drawn, with a note that says so.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is no run directory or is damaged, [`PlotError::Unknown`] when a figure that is asked for is not there,
/// [`PlotError::Write`] when one cannot be saved.
pub fn draw_run(dir: &Path, drawing: &Drawing) -> Result<Vec<PathBuf>, PlotError> {
    drawing.look.check().map_err(PlotError::Size)?;
    let run = RunDir::open(dir)?;
    let of_artifacts = artifacts::of_run(&run)?;
    let mut usual = run::usual(&run);
    usual.extend(of_artifacts.iter().map(|figure| figure.name.clone()));
    let figures = drawing.choose(run::figures(&run, of_artifacts), &run.manifest.figures, &usual)?;
    save(dir, &figures, drawing)
}

/// Draws figures of the sweep directory `dir` into its `figures/`; returns the files, in order. Points that are
/// missing are left out, with a note that says so.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is no sweep directory or is damaged, [`PlotError::Unknown`] when a figure that is asked for is not there,
/// [`PlotError::Write`] when one cannot be saved.
pub fn draw_sweep(dir: &Path, drawing: &Drawing) -> Result<Vec<PathBuf>, PlotError> {
    drawing.look.check().map_err(PlotError::Size)?;
    let sweep = SweepDir::open(dir)?;
    let mut figures = sweep::of_curves(&sweep)?;
    figures.extend(sweep::figures(&sweep));
    let of_artifacts = sweep::of_artifacts(&sweep)?;
    let mut usual: Vec<String> = sweep::USUAL.map(str::to_owned).to_vec();
    usual.extend(of_artifacts.iter().map(|figure| figure.name.clone()));
    figures.extend(of_artifacts);
    let figures = drawing.choose(figures, &sweep.manifest.figures, &usual)?;
    save(dir, &figures, drawing)
}

impl Drawing {
    /// Every figure there is.
    pub fn all() -> Drawing {
        Drawing {
            all: true,
            ..Drawing::default()
        }
    }

    /// Those of the figures that are asked for, by the command or else by the card, or the usual ones.
    fn choose(&self, figures: Vec<Figure>, of_card: &[String], usual: &[String]) -> Result<Vec<Figure>, PlotError> {
        let named = |names: &[String]| -> Vec<Figure> {
            let of_name = |name: &String| {
                figures
                    .iter()
                    .filter(|figure| is_called(&figure.name, name))
                    .cloned()
                    .collect()
            };
            let mut chosen: Vec<Figure> = names.iter().flat_map(|name| -> Vec<Figure> { of_name(name) }).collect();
            let mut seen = BTreeSet::new();
            chosen.retain(|figure| seen.insert(figure.name.clone()));
            chosen
        };
        let missing = |name: &&String| !figures.iter().any(|figure| is_called(&figure.name, name));
        if let Some(wanted) = self.only.iter().find(missing) {
            let there: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
            return Err(PlotError::Unknown {
                wanted: wanted.clone(),
                there: there.join(", "),
            });
        }
        if !self.only.is_empty() {
            return Ok(named(&self.only));
        }
        if self.all {
            return Ok(figures);
        }
        // A card names figures of its runs and of its sweep in one list; here, those of the other are none.
        let of_card = named(of_card);
        Ok(if of_card.is_empty() { named(usual) } else { of_card })
    }
}

/// Whether a figure's name is `wanted`, in which `*` stands for anything.
fn is_called(name: &str, wanted: &str) -> bool {
    let Some((head, rest)) = wanted.split_once('*') else {
        return name == wanted;
    };
    let Some(mut name) = name.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // What is found first leaves most for what comes after it.
    for part in middle.split('*') {
        match name.split_once(part) {
            Some((_, after)) => name = after,
            None => return false,
        }
    }
    name.ends_with(tail)
}

/// Draws what an audit found into the `figures/` of `dir`: `verdicts`, whose parts are called `names`, and `printed`.
///
/// # Errors
///
/// [`PlotError::Write`] when a figure cannot be saved.
pub fn draw_audit(dir: &Path, names: &[String], found: &[Found]) -> Result<Vec<PathBuf>, PlotError> {
    save(dir, &verdicts::figures(names, found), &Drawing::default())
}

/// Draws a data set into the `figures/` of `dir`: `dataset`, with its degrees and labels, if it has either.
///
/// # Errors
///
/// [`PlotError::Write`] when the figure cannot be saved.
pub fn draw_dataset(dir: &Path, picture: &DatasetPicture) -> Result<Vec<PathBuf>, PlotError> {
    save(dir, &dataset::figures(picture), &Drawing::default())
}

/// How many figures are held at a time between drawing and writing.
const AT_ONCE: usize = 64;

fn save(dir: &Path, figures: &[Figure], drawing: &Drawing) -> Result<Vec<PathBuf>, PlotError> {
    let mut files = Vec::new();
    let mut taken = BTreeSet::new();
    for some in figures.chunks(AT_ONCE) {
        let drawn: Vec<Result<_, PlotError>> = some.par_iter().map(|figure| draw_forms(figure, drawing)).collect();
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
fn draw_forms(figure: &Figure, drawing: &Drawing) -> Result<Vec<(&'static str, Vec<u8>)>, PlotError> {
    let scene = draw::lay_out(figure, &drawing.look);
    let (svg, png) = rayon::join(|| render::svg(&scene), || render::png(&scene));
    let svg = svg.map_err(|reason| PlotError::Draw {
        figure: figure.name.clone(),
        reason,
    })?;
    let pdf = drawing.pdf.then(|| ("pdf", pdf::pdf(&scene)));
    Ok([("svg", svg), ("png", png)].into_iter().chain(pdf).collect())
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
