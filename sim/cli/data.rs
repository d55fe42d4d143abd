//! `folkmoot data`: data sets got, described, and written as files that cards map into memory.

mod croissant;
mod describe;
#[cfg(feature = "fetch")]
mod fetch;
mod file;
mod sources;

use crate::args::{DataArgs, DataCommand, WriteArgs};
use crate::context::{self, Program, quoted};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::print;
use crate::text;
use folkmoot_graphs::{Dataset, mapped};
use folkmoot_scenarios::run::{Failure, load_data};
use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::path::Path;

pub(crate) fn data(program: &Program, command: &DataCommand) -> Result<(), Exit> {
    match command {
        DataCommand::List(args) => sources::list(program, args),
        #[cfg(feature = "fetch")]
        DataCommand::Fetch(args) => fetch::fetch(program, args),
        #[cfg(not(feature = "fetch"))]
        DataCommand::Fetch(_) => Err(Exit::usage(format!(
            "error: this {} was built without downloads\nhelp: cargo build --release --features fetch",
            program.name
        ))),
        DataCommand::Describe(args) => describe::describe(program, args),
        DataCommand::Generate { write, seed } => make(program, write, &DataArgs { data: None }, *seed, true),
        DataCommand::Convert { write, data } => make(program, write, data, None, false),
        DataCommand::Verify { file } => {
            let failed = |error| Exit::usage(format!("error: {error}"));
            let dataset = mapped::verify(file).map_err(failed)?;
            print(&described(file, &dataset))
        }
    }
}

/// Draws or reads a set, and writes it.
fn make(
    program: &Program,
    args: &WriteArgs,
    data: &DataArgs,
    seed: Option<u64>,
    is_generated: bool,
) -> Result<(), Exit> {
    let scenario = context::named_dataset(program, &args.dataset, seed)?;
    let (what, to) = (quoted(&args.dataset), &args.to);
    match (scenario.dataset().is_generated(), is_generated) {
        (true, false) => return Err(Exit::usage(format!("error: {what} is a generator: use data generate"))),
        (false, true) => return Err(Exit::usage(format!("error: {what} is no generator: use data convert"))),
        _ => {}
    }
    let cannot = |error: &dyn Display| Exit::usage(format!("error: cannot write {}: {error}", to.display()));
    if to.exists() {
        return Err(cannot(&"it exists already; remove it or choose another name"));
    }
    // It is opened before what may take minutes, and has its name only when it is whole.
    let part = file::with_suffix(to, ".part");
    let part = part.as_path();
    let file = File::create(part).map_err(|error| cannot(&error))?;
    let verb = if is_generated { "generate" } else { "convert" };
    let name = quoted(&to.to_string_lossy());
    let seeded = seed.map_or_else(String::new, |seed| format!(" --seed {seed}"));
    let made = load_data(&scenario, &data_dirs::with_current(data)).map_err(|failure| {
        let mut command = format!("{} data {verb} {what} --to {name}{seeded}", program.name);
        if let Some(data) = &data.data {
            command += &format!(" --data {}", quoted(&data.to_string_lossy()));
        }
        Exit::failure(&failure, &command)
    });
    let made = made.and_then(|dataset| {
        write_whole(&dataset, file, part, to).map_err(|error| cannot(&error))?;
        Ok(dataset)
    });
    match made {
        Ok(dataset) => {
            print(&described(to, &dataset))?;
            if args.croissant {
                let file = to.file_name().unwrap_or_default().to_string_lossy();
                let command = format!("folkmoot data {verb} {what} --to {}{seeded}", quoted(&file));
                let metadata = croissant::write(to, &dataset, &command).map_err(|error| cannot(&error))?;
                print(&metadata.display().to_string())?;
            }
            Ok(())
        }
        Err(exit) => {
            // It is of no use, and a second failure would hide the first.
            let _ = fs::remove_file(part);
            Err(exit)
        }
    }
}

fn write_whole(dataset: &Dataset, file: File, part: &Path, to: &Path) -> io::Result<()> {
    mapped::write(dataset, &file)?;
    if let Some(damage) = dataset.damage() {
        return Err(io::Error::other(Failure::Data(damage).to_string()));
    }
    file.sync_all()?;
    fs::rename(part, to)
}

fn described(file: &Path, dataset: &Dataset) -> String {
    let edges: usize = dataset.graphs.iter().map(|graph| graph.n_edges()).sum();
    format!(
        "{}: {}, {} nodes, {} edges; fingerprint {}",
        file.display(),
        dataset.name,
        text::count(dataset.n_nodes() as u64),
        text::count(edges as u64),
        dataset.fingerprint()
    )
}
