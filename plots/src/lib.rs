//! Figures from a run or sweep directory, and from nothing else.
//!
//! - [`draw_run`]: messages and bytes by round, scores by round, time and bytes, what clients
//!   carry, what became of the messages, what privacy was spent; who worked when, where it was
//!   traced; maps, matrices and changes where a strategy left them.
//! - [`draw_audit`]: verdicts on papers' claims, printed numbers beside measured ones, and tables
//!   as curves.
//! - [`draw_dataset`]: a data set's degrees and labels.
//! - [`pictures_of_run`], [`pictures_of_sweep`]: the same as texts for a page.
//! - [`draw_sweep`]: each summary number over the sweep's axes, with means and 95 % intervals over
//!   seeds.
//!
//! Figures are drawn side by side, by the threads of the `rayon` pool that the call is made in.
//!
//! Promises: each figure is written as SVG and as PNG below `figures/`, and as PDF on demand, whole;
//! equal tables give equal bytes on every CPU, by any number of threads; a figure whose data are
//! absent or all zero is not drawn. Curves differ in colour, marker and dash; theory is dashed;
//! intervals are bands; legends lie off the data.
//!
//! The texts of SVG and PDF files are texts, in a font that the files hold. It comes with the crate,
//! so nothing is asked of the system. Files state what made them: card, command, version and result
//! hash. Figures of a run or a sweep have a caption in a text file beside them.
//!
//! ```no_run
//! for file in folkmoot_plots::draw_run("runs/mine".as_ref(), &Default::default(), &folkmoot_plots::Drawing::default())? {
//!     assert!(file.starts_with("runs/mine/figures"));
//! }
//! # Ok::<(), folkmoot_plots::PlotError>(())
//! ```

mod about;
mod adapt;
mod artifacts;
mod caption;
mod curves;
mod dataset;
mod draw;
mod font;
mod interval;
mod multiples;
mod names;
mod pdf;
mod png;
mod profile;
mod raster;
mod render;
mod residuals;
mod run;
mod scale;
mod scene;
mod sfnt;
mod split;
mod svg;
mod sweep;
mod table_figure;
#[cfg(test)]
mod tests;
mod timeline;
mod verdicts;

use about::Source;
pub use adapt::Log;
pub use dataset::DatasetPicture;
pub use draw::Look;
use folkmoot_metrics::figure::Figure;
use folkmoot_metrics::figure::TableFigure;
use folkmoot_metrics::figures::{FigureSource, Figures, is_called, present};
use folkmoot_metrics::run_dir::{FIGURES, Manifest, write_whole};
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_metrics::{ReadError, RunDir, SweepDir, WriteError};
use font::Subset;
use rayon::prelude::*;
use scene::Scene;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thiserror::Error;
pub use verdicts::PaperResult;

/// Why figures could not be drawn. Those drawn before stay.
#[derive(Debug, Error)]
pub enum PlotError {
    /// The directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A figure cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Figures cannot have the size, the arms or the panels that are asked for.
    #[error("{0}")]
    Size(String),
    /// A figure that is asked for is not among those that the directory has data for.
    #[error("there is no figure {wanted} here; there are {there}")]
    Unknown {
        /// What it was to be called.
        wanted: String,
        there: String,
    },
    /// A figure cannot be drawn: a bug.
    #[error("figure {figure} cannot be drawn: {reason}; please report it")]
    Draw {
        figure: String,
        /// What the drawing library said.
        reason: String,
    },
}

/// Which figures are drawn, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// All of them; otherwise those that the card names, or those that answer most questions where
    /// it names none.
    pub all: bool,
    /// These alone, in this order, by their names; `*` stands for anything.
    pub only: Vec<String>,
    pub look: Look,
    /// Whether they are written as PDF, too.
    pub pdf: bool,
    /// The arms that are drawn, in this order, each with the name that it gets; all where there are
    /// none.
    pub arms: Vec<(String, String)>,
    /// The panels that are drawn, from 0; all where there are none.
    pub panels: Vec<usize>,
    /// The arms that are seen first; the others are grey.
    pub highlight: Vec<String>,
    /// The ends of horizontal axes.
    pub x_range: Option<(f64, f64)>,
    /// The ends of vertical axes.
    pub y_range: Option<(f64, f64)>,
    /// Which axes are logarithmic; by the data where nothing is said.
    pub log: Option<Log>,
    /// Whether their captions are left out.
    pub no_caption: bool,
}

/// Draws figures of the run directory `dir` into its `figures/`; returns the pictures, in order. Of a
/// run that is not finished, what there is is drawn, with a note that says so.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is no run directory or is damaged, [`PlotError::Unknown`] when a
/// figure that is asked for is not there, [`PlotError::Write`] when one cannot be saved.
pub fn draw_run(dir: &Path, known: &Figures, drawing: &Drawing) -> Result<Vec<PathBuf>, PlotError> {
    drawing.look.check().map_err(PlotError::Size)?;
    let run = RunDir::open(dir)?;
    save(
        dir,
        &figures_of_run(&run, known, drawing)?,
        Some(&Source::of_run(&run)),
        drawing,
    )
}

fn figures_of_run(run: &RunDir, known: &Figures, drawing: &Drawing) -> Result<Vec<Figure>, PlotError> {
    let of_artifacts = artifacts::of_run(run)?;
    let mut usual = run::usual(run);
    usual.extend(of_artifacts.iter().map(|figure| figure.name.clone()));
    let mut figures = run::figures(run, of_artifacts);
    let added = added(known, |source| source.of_run(run))?;
    usual.extend(added.iter().map(|figure| figure.name.clone()));
    figures.extend(added);
    let mut of_card = run.manifest.figures.clone();
    if let Some(timeline) = timeline::of_run(run)? {
        // Whoever traced the run wants to see it, whatever the card names.
        if !of_card.is_empty() {
            of_card.push(timeline.name.clone());
        }
        usual.push(timeline.name.clone());
        figures.push(timeline);
    }
    drawing.choose(known, figures, &of_card, &usual, &[])
}

/// The figures that other crates add, each called as its source says.
fn added(
    known: &Figures,
    of: impl Fn(&dyn FigureSource) -> Result<Vec<Figure>, ReadError>,
) -> Result<Vec<Figure>, PlotError> {
    let mut added = Vec::new();
    for source in known.added() {
        let figures = of(source)?;
        if let Some(other) = figures.iter().find(|figure| !source.known().fits(&figure.name)) {
            return Err(PlotError::Draw {
                figure: other.name.clone(),
                reason: format!("its source is known as {}", source.known().name),
            });
        }
        added.extend(figures);
    }
    Ok(added)
}

/// Draws figures of the sweep directory `dir` into its `figures/`; returns the pictures, in order.
/// Points that are missing are left out, with a note that says so.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is no sweep directory or is damaged, [`PlotError::Unknown`] when
/// a figure that is asked for is not there, [`PlotError::Write`] when one cannot be saved.
pub fn draw_sweep(dir: &Path, known: &Figures, drawing: &Drawing) -> Result<Vec<PathBuf>, PlotError> {
    drawing.look.check().map_err(PlotError::Size)?;
    let sweep = SweepDir::open(dir)?;
    let source = Source::of_sweep(&sweep)?;
    save(dir, &figures_of_sweep(&sweep, known, drawing)?, Some(&source), drawing)
}

fn figures_of_sweep(sweep: &SweepDir, known: &Figures, drawing: &Drawing) -> Result<Vec<Figure>, PlotError> {
    let added = added(known, |source| source.of_sweep(sweep))?;
    let mut usual = Vec::from(sweep::USUAL.map(str::to_owned));
    usual.extend(added.iter().map(|figure| figure.name.clone()));
    let mut figures = of_sweep(sweep)?;
    figures.extend(added);
    let contrasts = &sweep.manifest.contrasts;
    let baselines: Vec<&str> = contrasts.iter().map(|contrast| contrast.baseline.as_str()).collect();
    drawing.choose(known, figures, &sweep.manifest.figures, &usual, &baselines)
}

/// A figure as a page shows it: a drawing for each of its panels, so that they can stand beside or
/// below each other, and as text what is said of them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub name: String,
    pub title: String,
    /// What else is to be known of it.
    pub notes: Vec<String>,
    /// Its panels as SVG, for a page that has the [`font_face`] of all that it shows.
    pub panels: Vec<String>,
    /// The legend of all panels, as SVG.
    pub legend: Option<String>,
    /// What is to be read on them.
    pub texts: Vec<String>,
}

/// Rules of CSS that make the font of pictures known to a page: the glyphs that they show. Blank
/// where there are no texts.
pub fn font_face<'a>(pictures: impl IntoIterator<Item = &'a Picture>) -> String {
    let texts: BTreeSet<&str> = (pictures.into_iter())
        .flat_map(|picture| &picture.texts)
        .map(String::as_str)
        .collect();
    match texts.is_empty() {
        true => String::new(),
        false => Subset::of(texts).rules(),
    }
}

/// The figures that [`draw_run`] would write, as pictures.
///
/// # Errors
///
/// As [`draw_run`].
pub fn pictures_of_run(run: &RunDir, known: &Figures, drawing: &Drawing) -> Result<Vec<Picture>, PlotError> {
    pictures(&figures_of_run(run, known, drawing)?, drawing)
}

/// The figures that [`draw_sweep`] would write, as pictures.
///
/// # Errors
///
/// As [`draw_sweep`].
pub fn pictures_of_sweep(sweep: &SweepDir, known: &Figures, drawing: &Drawing) -> Result<Vec<Picture>, PlotError> {
    pictures(&figures_of_sweep(sweep, known, drawing)?, drawing)
}

fn pictures(figures: &[Figure], drawing: &Drawing) -> Result<Vec<Picture>, PlotError> {
    drawing.look.check().map_err(PlotError::Size)?;
    let picture = |figure: &Figure| {
        let parts = draw::lay_out_parts(figure, &drawing.look);
        let part = |scene: &Scene| {
            svg::part(scene).map_err(|reason| PlotError::Draw {
                figure: figure.name.clone(),
                reason,
            })
        };
        let scenes = parts.panels.iter().chain(&parts.legend);
        Ok(Picture {
            name: figure.name.clone(),
            title: figure.title.clone(),
            texts: scenes.flat_map(Scene::texts).map(str::to_owned).collect(),
            panels: parts.panels.iter().map(part).collect::<Result<_, _>>()?,
            legend: parts.legend.as_ref().map(part).transpose()?,
            notes: parts.notes,
        })
    };
    let pictures: Vec<Result<Picture, PlotError>> = figures.par_iter().map(picture).collect();
    pictures.into_iter().collect()
}

/// The names in a card's list of figures that fit none of those that the run or sweep directory
/// `dir` has data for; of a sweep, none of its first run either, since a card names the figures of
/// both in one list. Of a run, what may be of its card's sweep is not told apart.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is neither or is damaged.
pub fn unknown_figures(dir: &Path, known: &Figures) -> Result<Vec<String>, PlotError> {
    let of_run = |run: &RunDir| -> Result<Vec<Figure>, PlotError> {
        let mut figures = run::figures(run, artifacts::of_run(run)?);
        figures.extend(added(known, |source| source.of_run(run))?);
        Ok(figures)
    };
    let (figures, named) = match dir.join(SWEEP).is_file() {
        false => {
            let run = RunDir::open(dir)?;
            (of_run(&run)?, run.manifest.figures)
        }
        true => {
            let sweep = SweepDir::open(dir)?;
            let mut figures = of_sweep(&sweep)?;
            figures.extend(added(known, |source| source.of_sweep(&sweep))?);
            if let Some(run) = sweep::first_run(&sweep)? {
                figures.extend(of_run(&run)?);
            }
            (figures, sweep.manifest.figures)
        }
    };
    let fits = |wanted: &String| figures.iter().any(|figure| is_called(&figure.name, present(wanted)));
    Ok(named.into_iter().filter(|wanted| !fits(wanted)).collect())
}

/// The characters in the texts of a card, such as its question and its arms, that figures of the run
/// or sweep directory `dir` show as boxes, since the font lacks them; SVG files leave them to the
/// fonts of their viewer.
///
/// # Errors
///
/// [`PlotError::Read`] when `dir` is neither, or is damaged.
pub fn lacking_glyphs(dir: &Path) -> Result<Vec<char>, PlotError> {
    let texts: Vec<String> = match dir.join(SWEEP).is_file() {
        false => {
            let Manifest { name, question, .. } = RunDir::open(dir)?.manifest;
            vec![name, question]
        }
        true => {
            let manifest = SweepDir::open(dir)?.manifest;
            let values = manifest.axes.into_iter().flat_map(|axis| axis.values);
            values.chain([manifest.name, manifest.question]).collect()
        }
    };
    Ok(font::lacking(&texts.concat()).into_iter().collect())
}

/// All figures of a sweep.
fn of_sweep(sweep: &SweepDir) -> Result<Vec<Figure>, ReadError> {
    let mut figures = sweep::of_curves(sweep)?;
    figures.extend(sweep::figures(sweep));
    figures.extend(sweep::of_clients(sweep)?);
    figures.extend(sweep::of_splits(sweep)?);
    figures.extend(sweep::of_artifacts(sweep)?);
    Ok(figures)
}

impl Drawing {
    /// Every figure there is.
    pub fn all() -> Drawing {
        Drawing {
            all: true,
            ..Drawing::default()
        }
    }

    /// Those of the figures that are asked for, by the command or else by the card, or the usual
    /// ones.
    fn choose(
        &self,
        known: &Figures,
        figures: Vec<Figure>,
        of_card: &[String],
        usual: &[String],
        baselines: &[&str],
    ) -> Result<Vec<Figure>, PlotError> {
        debug_assert!(
            figures.iter().all(|figure| known.called(&figure.name).next().is_some()),
            "a figure that nothing explains"
        );
        let named = |names: &[String]| -> Vec<Figure> {
            let of_name = |name: &String| {
                figures
                    .iter()
                    .filter(|figure| is_called(&figure.name, present(name)))
                    .cloned()
                    .collect()
            };
            let mut chosen: Vec<Figure> = names.iter().flat_map(|name| -> Vec<Figure> { of_name(name) }).collect();
            let mut seen = BTreeSet::new();
            chosen.retain(|figure| seen.insert(figure.name.clone()));
            chosen
        };
        let missing = |name: &&String| !figures.iter().any(|figure| is_called(&figure.name, present(name)));
        if let Some(wanted) = self.only.iter().find(missing) {
            let there: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
            return Err(PlotError::Unknown {
                wanted: wanted.clone(),
                there: there.join(", "),
            });
        }
        let chosen = match self.only.is_empty() {
            false => named(&self.only),
            true if self.all => figures,
            // A card names figures of its runs and of its sweep in one list; here, those of the
            // other are none.
            true => match named(of_card) {
                of_card if of_card.is_empty() => named(usual),
                of_card => of_card,
            },
        };
        let adapted = self.adapted(chosen).map_err(PlotError::Size)?;
        let spread = |figure| multiples::spread_out(figure, baselines);
        Ok(adapted.into_iter().map(spread).collect())
    }
}

/// Draws what an audit found into the `figures/` of `dir`: `verdicts`, whose parts are called
/// `names`, `printed`, and `tables` as curves.
///
/// # Errors
///
/// [`PlotError::Write`] when a figure cannot be saved.
pub fn draw_audit(
    dir: &Path,
    names: &[String],
    found: &[PaperResult],
    tables: &[TableFigure],
) -> Result<Vec<PathBuf>, PlotError> {
    let mut figures = verdicts::figures(names, found);
    figures.extend(tables.iter().map(table_figure::figure));
    save(dir, &figures, None, &Drawing::default())
}

/// Draws a data set into the `figures/` of `dir`: `dataset`, with its degrees and labels, if it has
/// either.
///
/// # Errors
///
/// [`PlotError::Write`] when the figure cannot be saved.
pub fn draw_dataset(dir: &Path, picture: &DatasetPicture) -> Result<Vec<PathBuf>, PlotError> {
    save(dir, &dataset::figures(picture), None, &Drawing::default())
}

/// The ending of a caption, which lies beside the pictures and is not listed with them.
const CAPTION: &str = "caption.txt";

/// How many figures are held at a time between drawing and writing.
const AT_ONCE: usize = 64;

/// Writes figures of this source, with captions where there is one.
fn save(dir: &Path, figures: &[Figure], source: Option<&Source>, drawing: &Drawing) -> Result<Vec<PathBuf>, PlotError> {
    let mut files = Vec::new();
    let mut taken = BTreeSet::new();
    for some in figures.chunks(AT_ONCE) {
        let drawn: Vec<Result<_, PlotError>> = some
            .par_iter()
            .map(|figure| {
                // What a figure had as PDF before would differ from its other files.
                let had_pdf = dir.join(FIGURES).join(format!("{}.pdf", figure.name)).is_file();
                draw_forms(figure, source, drawing, had_pdf)
            })
            .collect();
        // Written in order, so that what is there after a failure does not depend on threads.
        for (figure, forms) in some.iter().zip(drawn) {
            // Two metrics may differ only in signs that no file name holds.
            let names = (2..).map(|n| format!("{}-{n}", figure.name));
            let name = std::iter::once(figure.name.clone())
                .chain(names)
                .find(|name| !taken.contains(name));
            let name = name.unwrap_or_default();
            taken.insert(name.clone());
            if drawing.no_caption {
                // One of another drawing would tell of options that this one lacks.
                let _ = std::fs::remove_file(dir.join(FIGURES).join(format!("{name}.{CAPTION}")));
            }
            for (ending, bytes) in forms? {
                let path = dir.join(FIGURES).join(format!("{name}.{ending}"));
                write_whole(&path, &bytes)?;
                if ending != CAPTION {
                    files.push(path);
                }
            }
        }
    }
    Ok(files)
}

/// The bytes of a figure's files, with their endings.
fn draw_forms(
    figure: &Figure,
    source: Option<&Source>,
    drawing: &Drawing,
    had_pdf: bool,
) -> Result<Vec<(&'static str, Vec<u8>)>, PlotError> {
    let scene = draw::lay_out(figure, &drawing.look);
    let about = caption::about(figure, source);
    let (svg, png) = rayon::join(|| svg::file(&scene, &about), || render::png(&scene, &about.said()));
    let svg = svg.map_err(|reason| PlotError::Draw {
        figure: figure.name.clone(),
        reason,
    })?;
    let pdf = (drawing.pdf || had_pdf).then(|| ("pdf", pdf::pdf(&scene, &about)));
    let source = source.filter(|_| !drawing.no_caption);
    let caption = source.map(|source| (CAPTION, caption::text(figure, source, drawing).into_bytes()));
    Ok([("svg", svg), ("png", png)]
        .into_iter()
        .chain(pdf)
        .chain(caption)
        .collect())
}
