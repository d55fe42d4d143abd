//! `folkmoot man`: the manual pages, and the reference.

use crate::context::Program;
use crate::exit::Exit;
use crate::output::{print, print_bytes};
use clap::Command;
use clap_mangen::{Man, generate_to};
use std::path::Path;

/// Writes the reference into a folder, a page of Markdown a file.
pub(crate) fn reference(program: &Program, mut command: Command, dir: &Path) -> Result<(), Exit> {
    command.build();
    let pages = crate::reference::pages(program, &command)?;
    let written = std::fs::create_dir_all(dir).and_then(|()| {
        let mut pages = pages.iter();
        pages.try_for_each(|(name, text)| std::fs::write(dir.join(name), text))
    });
    written.map_err(|error| cannot_write(dir, &error))?;
    print(&format!("the reference in {}", dir.display()))
}

fn cannot_write(dir: &Path, error: &std::io::Error) -> Exit {
    Exit::usage(format!("error: cannot write to {}: {error}", dir.display()))
}

/// Prints the page of the program or of a subcommand, or writes all of them into a folder.
pub(crate) fn man(mut program: Command, subcommand: Option<&str>, to: Option<&Path>) -> Result<(), Exit> {
    if let Some(dir) = to {
        let written = std::fs::create_dir_all(dir).and_then(|()| generate_to(program, dir));
        return match written {
            Ok(()) => print(&format!("manual pages in {}", dir.display())),
            Err(error) => Err(cannot_write(dir, &error)),
        };
    }
    // Built, subcommands know the whole name that they are called by.
    program.build();
    let page = match subcommand {
        None => program,
        Some(name) => {
            let known: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
            let unknown = || {
                let near = folkmoot_scenarios::text::suggest(name, &known);
                Exit::usage(format!("error: there is no subcommand `{name}`{near}"))
            };
            program.find_subcommand(name).ok_or_else(unknown)?.clone()
        }
    };
    let mut text = Vec::new();
    match Man::new(page).render(&mut text) {
        Ok(()) => print_bytes(&text),
        Err(error) => Err(Exit::failed(format!("cannot render the manual: {error}"))),
    }
}
