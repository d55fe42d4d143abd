//! `folkmoot show`: a card as it is written or resolved, a data set, or a result.

use crate::args::ShowArgs;
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::{print, print_bytes, warn};
use crate::{sweep_table, text};
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::run_dir::MANIFEST;
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_metrics::{RunDir, SweepDir};
use folkmoot_scenarios::contrasts;
use folkmoot_scenarios::explain::explain;
use folkmoot_scenarios::glossary::look_up;
use folkmoot_scenarios::run::{Cache, Failure, load};
use folkmoot_scenarios::scenario::{Scenario, check};
use std::path::Path;

pub(crate) fn show(program: &Program, args: &ShowArgs) -> Result<(), Exit> {
    let path = Path::new(&args.what);
    let is_card = path.is_file() || program.registry.cards().iter().any(|(name, _)| *name == args.what);
    let is_sweep = path.join(SWEEP).is_file();
    let options = [
        ("--set", !args.set.is_empty(), is_card, "a card"),
        ("--resolved", args.resolved, is_card, "a card"),
        ("--baseline", args.baseline.is_some(), is_sweep, "a sweep directory"),
    ];
    if let Some((option, _, _, of)) = options.iter().find(|(_, given, applies, _)| *given && !applies) {
        return Err(Exit::usage(format!(
            "error: {option} is for {of}, and {} is not one\nhelp: leave {option} out",
            args.what
        )));
    }
    if path.is_dir() {
        return print(&show_dir(program, path, args.baseline.as_deref())?);
    }
    match is_card {
        true => show_card(program, args),
        false => show_dataset(program, args),
    }
}

pub(crate) fn show_dir(program: &Program, dir: &Path, baseline: Option<&str>) -> Result<String, Exit> {
    if dir.join(SWEEP).is_file() {
        let mut sweep = SweepDir::open(dir)?;
        if let Some(baseline) = baseline {
            let named = contrasts::against(baseline, &sweep.manifest.axes);
            sweep.manifest.contrasts = named.map_err(|why| Exit::usage(format!("error: --baseline: {why}")))?;
        }
        return Ok(sweep_table::describe(&program.name, &sweep));
    }
    if !dir.join(MANIFEST).is_file() {
        return Err(Exit::usage(format!(
            "error: {} is neither a run nor a sweep directory: it holds no {MANIFEST} and no {SWEEP}",
            dir.display()
        )));
    }
    let run = RunDir::open(dir)?.completed();
    let state = match (run.manifest.finished, run.manifest.dry_run) {
        (true, false) => "finished",
        (true, true) => "finished, a dry run",
        (false, _) => "not finished",
    };
    let fingerprint = run.manifest.result_fingerprint.as_deref().unwrap_or("none");
    Ok(format!(
        "{}, seed {}, {state}; result hash {fingerprint}\nmade by: {}\n\n{}\n\n{}",
        run.manifest.name,
        run.manifest.seed,
        run.manifest.command,
        text::messages(&run.tables.messages),
        text::summary(&run.summary)
    ))
}

fn show_card(program: &Program, args: &ShowArgs) -> Result<(), Exit> {
    let (name, source) = context::source(program, &args.what, &args.set, None)?;
    let scenario = check(&name, &source, &program.registry)
        .map_err(|problems| context::with_paths(program, problems, &args.what, &args.set))?;
    if !args.resolved {
        return print_bytes(source.text().as_bytes());
    }
    let card = scenario.shown(&program.registry)?;
    match describe_data(&scenario, &data_dirs::for_card(&args.data, &args.what)) {
        // As comments, so that the output is still a card.
        Ok(table) => {
            let lines: Vec<String> = table.lines().map(|line| format!("// {line}")).collect();
            print(&format!("{}\n{}", card.trim_end(), lines.join("\n")))
        }
        Err(failure) => {
            print(&card)?;
            warn(&format!("warning: the card's data cannot be described: {failure}"));
            Ok(())
        }
    }
}

/// What the card's data come to, and how they are shared out.
fn describe_data(scenario: &Scenario, dirs: &DataDirs) -> Result<String, Failure> {
    let loaded = load(scenario, dirs, &Cache::default(), &mut ())?;
    let mut rows: Vec<Vec<String>> = loaded
        .dataset
        .describe()
        .into_iter()
        .map(|(name, value)| vec![name, value])
        .collect();
    let (division, _) = loaded.partition.split(&loaded.dataset);
    if let Some(damage) = loaded.dataset.damage() {
        return Err(Failure::Data(damage));
    }
    let sizes: Vec<usize> = (0..loaded.n_clients() as usize)
        .map(|client| loaded.partition.shard(client).len())
        .collect();
    let mut put = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    put("clients", text::count(sizes.len() as u64));
    if let (Some(least), Some(most)) = (sizes.iter().min(), sizes.iter().max()) {
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        put(
            "shard size, least, mean, most",
            format!("{least}, {}, {most}", text::number(mean)),
        );
    }
    if division.edges > 0 {
        put(
            "edges in no shard",
            format!("{} of {}", text::count(division.cut_edges), text::count(division.edges)),
        );
    }
    Ok(text::table(&["data", ""], &rows, 2))
}

fn show_dataset(program: &Program, args: &ShowArgs) -> Result<(), Exit> {
    match context::about_dataset(program, &args.what, None) {
        Ok(scenario) => {
            let command = format!("{} show {}", program.name, context::quoted(&args.what));
            let failed = |failure| Exit::failure(&failure, &command);
            print(&describe_data(&scenario, &data_dirs::with_current(&args.data)).map_err(failed)?)
        }
        // The name is right, so the fault is in what stands in its brackets.
        Err(problems) if is_known(program, &args.what) => Err(problems.into()),
        Err(_) if can_be_explained(program, &args.what) => Err(Exit::usage(format!(
            "error: {what} is neither a card, nor a data set, nor a directory\n  see {name} explain {what}",
            what = args.what,
            name = program.name
        ))),
        Err(_) => {
            let cards: Vec<&str> = program.registry.cards().iter().map(|(name, _)| *name).collect();
            let datasets = program.registry.datasets().parts().map(|part| part.name);
            let known: Vec<&str> = cards.into_iter().chain(datasets).collect();
            Err(Exit::usage(format!(
                "error: {} is neither a card, nor a data set, nor a directory{}\n  see {} list",
                args.what,
                folkmoot_scenarios::text::suggest(&args.what, &known),
                program.name
            )))
        }
    }
}

/// Whether a data set is called so, whatever follows in brackets.
fn is_known(program: &Program, what: &str) -> bool {
    let name = what.split('(').next().unwrap_or_default().trim();
    program.registry.datasets().parts().any(|part| part.name == name)
}

/// Whether it is something that is explained and not shown.
fn can_be_explained(program: &Program, what: &str) -> bool {
    explain(what, &program.registry).is_ok() || !look_up(what, &program.registry).is_empty()
}
