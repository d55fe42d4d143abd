//! What commands share: cards with settings, data folders, threads, identity, the output directory.

use crate::args::{CardArgs, DataArgs, EngineArgs};
use crate::exit::Exit;
use crate::output::warn;
use folkmoot_engine::prelude::Options;
use folkmoot_engine::ranks::{Ranks, agree};
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::run_dir::{Manifest, PROGRAM};
pub(crate) use folkmoot_metrics::shell::quoted;
use folkmoot_metrics::shell::unquoted;
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_plots::Drawing;
use folkmoot_scenarios::algorithm::Machine;
use folkmoot_scenarios::cards;
use folkmoot_scenarios::explain;
use folkmoot_scenarios::names;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::run::Identity;
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::{Problems, Source, apply_labelled, meant};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

/// What a program made of this library is.
pub(crate) struct Program {
    /// What it is called on the command line.
    pub(crate) name: String,
    /// What its cards can name.
    pub(crate) registry: Registry,
    /// The processes that play a run together, of which this is one.
    pub(crate) ranks: Box<dyn Ranks>,
}

impl Program {
    /// Whether this process speaks and writes for all.
    pub(crate) fn is_first(&self) -> bool {
        self.ranks.rank() == 0
    }

    /// What this process has come to, unless another has failed.
    pub(crate) fn agree<T>(&self, mine: Result<T, Exit>) -> Result<T, Exit> {
        agree(&*self.ranks, mine, |rank, why| {
            Exit::usage(format!("rank {rank}: {why}"))
        })
    }
}

/// What several processes cannot do together.
pub(crate) const ALONE: &str = "error: several processes were started together, which can run, resume and fork one run; the points of a \
    sweep are dealt among processes by --shard";

/// So many paths are offered for one that is not known.
const MOST_PATHS: usize = 3;

/// The version in manifests.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A card by path or name, with its settings applied, not yet checked.
pub(crate) fn source(
    program: &Program,
    card: &str,
    settings: &[String],
    seed: Option<u64>,
) -> Result<(String, Source), Exit> {
    let (name, mut source) = cards::find(card, program.registry.cards())?;
    source = names::present(&source, &program.registry);
    for setting in settings {
        source = names::set(&source, setting, &program.registry)?;
    }
    if let Some(seed) = seed {
        source = apply_labelled(&source, "--seed", "seed", &seed.to_string())?;
    }
    Ok((name, source))
}

pub(crate) fn scenario(
    program: &Program,
    card: &CardArgs,
    seed: Option<u64>,
    observe: &[String],
) -> Result<Scenario, Exit> {
    let (name, mut source) = source(program, &card.card, &card.set, seed)?;
    if !observe.is_empty() {
        source = apply_labelled(&source, "--observe", "observe", &format!("{observe:?}"))?;
    }
    check(&name, &source, &program.registry).map_err(|problems| with_paths(program, problems, &card.card, &card.set))
}

/// Problems of a card, with settings that it takes in the place of those whose path is not known.
pub(crate) fn with_paths(program: &Program, problems: Problems, card: &str, settings: &[String]) -> Exit {
    let known = explain::paths(&program.registry);
    let takes = |setting: &String| {
        let (name, source) = source(program, card, std::slice::from_ref(setting), None).ok()?;
        check(&name, &source, &program.registry).ok()
    };
    let mut help = String::new();
    for (path, value) in settings.iter().filter_map(|setting| setting.split_once('=')) {
        if known.iter().any(|known| known.as_str() == path.trim()) {
            continue;
        }
        let last = path.rsplit('.').next().unwrap_or(path).trim();
        let paths = explain::ending_in(meant(last).unwrap_or(last), &program.registry);
        let offered = paths.iter().map(|path| format!("{path}={value}"));
        for setting in offered.filter(|setting| takes(setting).is_some()).take(MOST_PATHS) {
            help += &format!("\nhelp: --set {}", quoted(&setting));
        }
    }
    Exit::problems(&problems).followed(help.trim_start())
}

/// A scenario about a data set, written as in a card; any strategy will do, since the data are the
/// same for all.
pub(crate) fn about_dataset(program: &Program, dataset: &str, seed: Option<u64>) -> Result<Scenario, Problems> {
    let strategies = program.registry.strategies();
    let strategy = strategies.parts().next().map_or("", |part| part.name);
    let seed = seed.map_or_else(String::new, |seed| format!(", seed: {seed}"));
    let card = format!("(dataset: {dataset}, strategy: {strategy}(){seed})");
    check(dataset, &Source::new(dataset, &card)?, &program.registry)
}

/// The same for a data set that a command line names.
pub(crate) fn named_dataset(program: &Program, dataset: &str, seed: Option<u64>) -> Result<Scenario, Exit> {
    match Path::new(dataset).is_file() {
        true => Err(format_missing(&program.name, dataset)),
        false => Ok(about_dataset(program, dataset, seed)?),
    }
}

/// A file alone is not a data set: a card names its format, which the ending suggests.
fn format_missing(program: &str, file: &str) -> Exit {
    let format = match Path::new(file).extension().and_then(|ending| ending.to_str()) {
        Some("mat") => "Mat",
        Some("npz") => "Npz",
        Some("fkm") => "Mapped",
        Some("graphml") => "GraphMl",
        Some("graph") => "Metis",
        Some("smi" | "smiles") => "MoleculeTable",
        _ => "EdgeList",
    };
    let field = if format == "EdgeList" { "edges" } else { "path" };
    // A relative path would be looked up in the data folder.
    let path = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    let named = format!("{format}({field}: {:?})", path.display().to_string());
    Exit::usage(format!(
        "error: {file} is a file, and a data set names its format\nhelp: {program} data describe {}",
        quoted(&named)
    ))
}

/// Where data sets are looked for, in order.
pub(crate) fn data_dirs(args: &DataArgs) -> DataDirs {
    let mut dirs = DataDirs::new();
    if let Some(dir) = &args.data {
        dirs = dirs.with("--data", dir);
    }
    if let Some(dir) = std::env::var_os("FOLKMOOT_DATA").filter(|dir| !dir.is_empty()) {
        dirs = dirs.with("FOLKMOOT_DATA", dir);
    }
    dirs.with("./data", "data")
}

/// With a slip in its name, data would come from elsewhere without a word.
fn warn_of_no_folder(args: &DataArgs) {
    static TOLD: Once = Once::new();
    if let Some(dir) = args.data.as_ref().filter(|dir| !dir.is_dir()) {
        TOLD.call_once(|| warn(&format!("warning: --data {}: there is no such folder", dir.display())));
    }
}

/// Where the files of a card are looked for first.
const BESIDE: &str = "beside the card";

/// The same, and the current folder, for a data set on the command line.
pub(crate) fn here_dirs(args: &DataArgs) -> DataDirs {
    warn_of_no_folder(args);
    data_dirs(args).with_own("the current folder", ".")
}

/// The same, and beside a card that is a file.
pub(crate) fn card_dirs(args: &DataArgs, card: &str) -> DataDirs {
    warn_of_no_folder(args);
    let dirs = data_dirs(args);
    match Path::new(card).parent().filter(|_| Path::new(card).is_file()) {
        Some(dir) if dir.as_os_str().is_empty() => dirs.with_own(BESIDE, "."),
        Some(dir) => dirs.with_own(BESIDE, dir),
        None => dirs,
    }
}

/// The same for what `command` makes or made: beside its card, if that is still there.
pub(crate) fn command_dirs(args: &DataArgs, command: &str) -> DataDirs {
    card_dirs(args, &card_of(command).unwrap_or_default())
}

/// The card of a command, as [`quoted`] wrote it: the third word, or the environment of an app.
fn card_of(command: &str) -> Option<String> {
    let (_, rest) = command.split_once(' ')?;
    let (verb, rest) = rest.split_once(' ')?;
    let rest = match verb {
        "run" | "sweep" => rest,
        "flower" => rest.split_once(" --environment ")?.1,
        _ => return None,
    };
    Some(unquoted(rest))
}

/// The same for a run that there is: with its own program, too.
pub(crate) fn run_dirs(args: &DataArgs, dir: &Path, manifest: &Manifest) -> DataDirs {
    let folder = |(name, path): (&String, &String)| {
        // The name may have folders of its own.
        let depth = Path::new(name).components().count();
        Path::new(path).ancestors().nth(depth).map(Path::to_owned)
    };
    let folders = manifest.programs.iter().filter_map(folder);
    let dirs = folders.fold(command_dirs(args, &manifest.command), |dirs, folder| {
        dirs.with("the run's program", folder)
    });
    dirs.with("the run's copy of it", dir.join(PROGRAM))
}

/// What a run may use besides its threads.
pub(crate) fn machine(args: &EngineArgs) -> Machine {
    Machine {
        python: interpreter(args.workers.python.as_ref()),
        threads: n_threads(args.threads),
        job_timeout: args.workers.job_timeout.map(Duration::from_secs),
        checked: args.workers.check_determinism.unwrap_or_default(),
    }
}

/// The Python interpreter: the one that is asked for, or that of the surroundings.
pub(crate) fn interpreter(asked: Option<&PathBuf>) -> PathBuf {
    let named = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let active = || named("VIRTUAL_ENV").map(|folder| folder.join("bin").join("python"));
    let chosen = asked.cloned().or_else(|| named("FOLKMOOT_PYTHON")).or_else(active);
    chosen.unwrap_or_else(|| PathBuf::from("python3"))
}

pub(crate) fn options(args: &EngineArgs, dry_run: bool) -> Options {
    Options {
        threads: n_threads(args.threads),
        windows: !args.no_windows,
        wire_check: args.wire_check,
        dry_run,
        trace: None,
    }
}

/// As many threads as asked for, or all there are.
pub(crate) fn n_threads(threads: Option<u16>) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    threads.map_or_else(all, usize::from)
}

/// What identifies this program and command in a manifest.
pub(crate) fn identity(command: String) -> Identity {
    let mut warnings = Vec::new();
    if !has_fma() {
        warnings
            .push("this CPU has no fused multiply-add: learning may give other bits than on a CPU with it".to_owned());
    }
    Identity {
        version: VERSION.to_owned(),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        command,
        warnings,
    }
}

#[cfg(target_arch = "x86_64")]
fn has_fma() -> bool {
    std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_fma() -> bool {
    true
}

/// The command that repeats a run with these results, as a shell takes it.
pub(crate) fn command(program: &Program, verb: &str, card: &CardArgs, seed: Option<u64>, dry_run: bool) -> String {
    let words = words(program, verb, card, seed, dry_run);
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The words of that command.
pub(crate) fn words(program: &Program, verb: &str, card: &CardArgs, seed: Option<u64>, dry_run: bool) -> Vec<String> {
    let mut words = vec![program.name.clone(), verb.to_owned(), card.card.clone()];
    for setting in &card.set {
        words.extend(["--set".to_owned(), setting.clone()]);
    }
    if let Some(seed) = seed {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    if dry_run {
        words.push("--dry-run".to_owned());
    }
    if let Some(data) = &card.data.data {
        words.extend(["--data".to_owned(), data.to_string_lossy().into_owned()]);
    }
    words
}

/// The directory to make: as asked, or the first free one for this name.
pub(crate) fn out_dir(out: Option<&PathBuf>, name: &str) -> PathBuf {
    if let Some(out) = out {
        return out.clone();
    }
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).collect();
    let free = |n: u32| {
        let dir = Path::new("runs").join(if n == 1 { name.clone() } else { format!("{name}-{n}") });
        (!dir.exists()).then_some(dir)
    };
    (1..).find_map(free).unwrap_or_else(|| Path::new("runs").join(&name))
}

/// Draws the figures of a result; a failure to draw spoils no result, so it is only a warning.
pub(crate) fn draw(program: &Program, dir: &Path, threads: Option<u16>, quiet: bool) -> Result<usize, Exit> {
    let files = figures(program, dir, threads, &Drawing::default()).map_err(|error| {
        error.after(&format!(
            "the results in {} are complete, but not their figures",
            dir.display()
        ))
    })?;
    if files.is_empty() && !quiet {
        crate::output::warn("warning: nothing to draw");
    }
    Ok(files.len())
}

/// Warns of what a card's list of figures names in vain.
pub(crate) fn warn_of_unknown_figures(program: &Program, dir: &Path) -> Result<(), Exit> {
    for name in folkmoot_plots::unknown_figures(dir, program.registry.figures())? {
        let dir = quoted(&dir.to_string_lossy());
        crate::output::warn(&format!(
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
        crate::output::warn(&format!(
            "warning: figures: their font (DejaVu Sans) has no glyph for {}{more}; PNG and PDF files show boxes, SVG files and tables have the text",
            named.join(", ")
        ));
    }
    Ok(())
}

/// Draws the figures of a run or sweep directory with as many threads, or all, and names the files.
pub(crate) fn figures(
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

/// So many threads to draw with.
pub(crate) fn pool(n_threads: usize) -> Result<rayon::ThreadPool, Exit> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
    pool.map_err(|error| Exit::failed(format!("error: cannot start the threads: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_of_a_command_is_the_word_that_was_quoted() {
        for card in [
            "c.ron",
            "cards/my card.ron",
            "it's.ron",
            "a\u{1b}[31m\u{202e}\nb\r.ron",
            "fed-avg/small",
        ] {
            let command = format!("folkmoot run {} --seed 3", quoted(card));
            assert_eq!(card_of(&command).as_deref(), Some(card));
            let command = format!("folkmoot flower app --environment {} --clients 3", quoted(card));
            assert_eq!(card_of(&command).as_deref(), Some(card));
        }
        assert_eq!(card_of("folkmoot flower app --clients 3"), None);
        assert_eq!(card_of("folkmoot resume runs/a"), None);
        assert_eq!(card_of("folkmoot"), None);
    }
}
