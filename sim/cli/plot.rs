//! `folkmoot plot`: draws a result's figures again.

use crate::args::PlotArgs;
use crate::context;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_plots::{Drawing, Look};

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Exit> {
    let drawing = Drawing {
        all: args.all,
        only: args.only.clone(),
        look: Look {
            width_mm: args.width,
            height_mm: args.height,
            font_pt: args.font_size,
            no_title: args.no_title,
        },
        pdf: args.pdf,
        no_caption: false,
    };
    let files = context::figures(&args.dir, None, &drawing)?;
    let lines: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if lines.is_empty() {
        crate::output::warn("nothing to draw");
        return Ok(());
    }
    print(&lines.join("\n"))
}
