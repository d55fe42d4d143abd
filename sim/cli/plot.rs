//! `folkmoot plot`: draws a result's figures again.

use crate::args::{LogArg, PlotArgs};
use crate::context::Program;
use crate::exit::Exit;
use crate::figures;
use crate::output::print;
use folkmoot_plots::{Drawing, Log, Look};

pub(crate) fn plot(program: &Program, args: &PlotArgs) -> Result<(), Exit> {
    let named = |arm: &String| match arm.split_once('=') {
        Some((old, new)) => (old.to_owned(), new.to_owned()),
        None => (arm.clone(), arm.clone()),
    };
    let place = |letter: &char| match letter {
        'a'..='z' => Ok(*letter as usize - 'a' as usize),
        _ => Err(Exit::usage(format!(
            "error: --panels {letter}: panels have the letters a to z"
        ))),
    };
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
        arms: args.arms.iter().map(named).collect(),
        panels: args.panels.iter().map(place).collect::<Result<_, _>>()?,
        highlight: args.highlight.clone(),
        x_range: args.xlim,
        y_range: args.ylim,
        log: args.log.map(|log| match log {
            LogArg::None => Log::Neither,
            LogArg::X => Log::X,
            LogArg::Y => Log::Y,
            LogArg::Xy => Log::Both,
        }),
        no_caption: args.no_caption,
    };
    let files = figures::save(program, &args.dir, None, &drawing)?;
    let lines: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if lines.is_empty() {
        crate::output::warn("nothing to draw");
        return Ok(());
    }
    print(&lines.join("\n"))
}
