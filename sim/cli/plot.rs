//! `folkmoot plot`: draws a result's figures again.

use crate::args::PlotArgs;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_metrics::sweep_dir::SWEEP;

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Exit> {
    let files = match args.dir.join(SWEEP).is_file() {
        true => folkmoot_plots::draw_sweep(&args.dir)?,
        false => folkmoot_plots::draw_run(&args.dir)?,
    };
    let lines: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if lines.is_empty() {
        crate::output::warn("nothing to draw");
        return Ok(());
    }
    print(&lines.join("\n"))
}
