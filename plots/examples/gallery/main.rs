//! Writes made-up run and sweep directories below the folder given and draws all their figures, to
//! be looked at: `cargo run -p folkmoot-plots --example gallery -- target/gallery`.

mod synthetic;

use folkmoot_metrics::figures::Figures;
use folkmoot_plots::{Drawing, draw_run, draw_sweep};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or("name a folder to write to")?;
    let runs = [
        ("walks", synthetic::walks()),
        ("averaging", synthetic::averaging(1_000)),
        ("one-round", synthetic::averaging(1)),
        ("twelve-kinds", synthetic::twelve_kinds(30)),
        ("twelve-kinds-once", synthetic::twelve_kinds(1)),
        ("nothing", synthetic::nothing()),
    ];
    for (name, result) in &runs {
        let dir = out.join(name);
        synthetic::write_run(&dir, name, result)?;
        draw_run(&dir, &Figures::default(), &Drawing::all())?;
    }
    synthetic::sweep_numbers(&out.join("sweep-numbers"))?;
    synthetic::sweep_decades(&out.join("sweep-decades"))?;
    synthetic::sweep_words(&out.join("sweep-words"))?;
    synthetic::sweep_sets(&out.join("sweep-sets"))?;
    synthetic::sweep_models(&out.join("sweep-models"))?;
    synthetic::sweep_defences(&out.join("sweep-defences"))?;
    synthetic::sweep_edges(&out.join("sweep-edges"))?;
    synthetic::sweep_frontier(&out.join("sweep-frontier"))?;
    for name in ["sweep-numbers", "sweep-decades", "sweep-words", "sweep-models"] {
        draw_sweep(&out.join(name), &Figures::default(), &Drawing::all())?;
    }
    Ok(())
}
