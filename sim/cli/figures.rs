//! Figures of runs and sweeps, and their warnings.

use crate::context::{Program, n_threads, quoted};
use crate::exit::Exit;
use crate::output::warn;
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_plots::Drawing;
use std::path::{Path, PathBuf};

/// Draws the figures of a result and returns their number. An error says that the results are
/// complete.
pub(crate) fn draw(program: &Program, dir: &Path, threads: Option<u16>, quiet: bool) -> Result<usize, Exit> {
    let files = save(program, dir, threads, &Drawing::default()).map_err(|error| {
        error.after(&format!(
            "the results in {} are complete, but not their figures",
            dir.display()
        ))
    })?;
    if files.is_empty() && !quiet {
        warn("warning: nothing to draw");
    }
    Ok(files.len())
}

/// Warns of names in a card's list of figures that no figure has.
pub(crate) fn warn_of_unknown_figures(program: &Program, dir: &Path) -> Result<(), Exit> {
    for name in folkmoot_plots::unknown_figures(dir, program.registry.figures())? {
        let dir = quoted(&dir.to_string_lossy());
        warn(&format!(
            "warning: figures: there is none called {name:?} here; {} plot {dir} --all draws all there are",
            program.name
        ));
    }
    Ok(())
}

/// Warns of characters that figures cannot show.
pub(crate) fn warn_of_lacking_glyphs(dir: &Path) -> Result<(), Exit> {
    const MOST: usize = 8;
    let lacking = folkmoot_plots::lacking_glyphs(dir)?;
    if !lacking.is_empty() {
        let named = |c: &char| format!("{c} (U+{:04X})", u32::from(*c));
        let named: Vec<String> = lacking.iter().take(MOST).map(named).collect();
        let more = match lacking.len().saturating_sub(MOST) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        warn(&format!(
            "warning: figures: their font (DejaVu Sans) has no glyph for {}{more}; PNG and PDF files show boxes, SVG files and tables have the text",
            named.join(", ")
        ));
    }
    Ok(())
}

/// Draws the figures of a run or sweep directory with this number of threads, or all; returns the
/// files.
pub(crate) fn save(
    program: &Program,
    dir: &Path,
    threads: Option<u16>,
    drawing: &Drawing,
) -> Result<Vec<PathBuf>, Exit> {
    let known = program.registry.figures();
    let drawn = pool(n_threads(threads))?.install(|| match dir.join(SWEEP).is_file() {
        true => folkmoot_plots::draw_sweep(dir, known, drawing),
        false => folkmoot_plots::draw_run(dir, known, drawing),
    });
    Ok(drawn?)
}

/// A pool of threads to draw with.
pub(crate) fn pool(n_threads: usize) -> Result<rayon::ThreadPool, Exit> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
    pool.map_err(|error| Exit::failed(format!("error: cannot start the threads: {error}")))
}
