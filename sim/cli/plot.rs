//! `folkmoot plot`: draws a result's figures again.

use crate::args::PlotArgs;
use crate::context;
use crate::exit::Exit;
use crate::output::print;

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Exit> {
    let files = context::figures(&args.dir, None)?;
    let lines: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if lines.is_empty() {
        crate::output::warn("nothing to draw");
        return Ok(());
    }
    print(&lines.join("\n"))
}
