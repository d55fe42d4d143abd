//! Shared by commands: cards with settings, threads, identity, the output directory.

use crate::args::{CardArgs, EngineArgs};
use crate::exit::Exit;
use folkmoot_engine::prelude::Options;
use folkmoot_engine::ranks::{Ranks, agree};
pub(crate) use folkmoot_metrics::shell::quoted;
use folkmoot_scenarios::algorithm::Machine;
use folkmoot_scenarios::cards;
use folkmoot_scenarios::explain;
use folkmoot_scenarios::names;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::run::Identity;
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::{Problems, Source, apply_labelled, meant};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program made with this library.
pub(crate) struct Program {
    /// Its name on the command line.
    pub(crate) name: String,
    /// Components that its cards can name.
    pub(crate) registry: Registry,
    /// The processes of a distributed run, of which this is one.
    pub(crate) ranks: Box<dyn Ranks>,
}

impl Program {
    /// Whether this process prints and writes for all.
    pub(crate) fn is_first(&self) -> bool {
        self.ranks.rank() == 0
    }

    /// The result of this process, unless another has failed.
    pub(crate) fn agree<T>(&self, mine: Result<T, Exit>) -> Result<T, Exit> {
        agree(&*self.ranks, mine, |rank, why| {
            Exit::usage(format!("rank {rank}: {why}"))
        })
    }
}

/// Error for several processes started together with a command for one.
pub(crate) const ALONE: &str = "error: several processes were started together, which can run, resume and fork one run; the points of a \
    sweep are dealt among processes by --shard";

/// Most paths suggested in place of an unknown one.
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

/// Problems of a card, with settings that it accepts in place of those with an unknown path.
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

/// A scenario with this data set, written as in a card, and any strategy: data are the same for
/// all.
pub(crate) fn about_dataset(program: &Program, dataset: &str, seed: Option<u64>) -> Result<Scenario, Problems> {
    let strategies = program.registry.strategies();
    let strategy = strategies.parts().next().map_or("", |part| part.name);
    let seed = seed.map_or_else(String::new, |seed| format!(", seed: {seed}"));
    let card = format!("(dataset: {dataset}, strategy: {strategy}(){seed})");
    check(dataset, &Source::new(dataset, &card)?, &program.registry)
}

/// A scenario with the data set that a command line names, as [`about_dataset`]; an error for a
/// file without its format.
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

/// Resources of a run: interpreter, threads, time limits.
pub(crate) fn machine(args: &EngineArgs) -> Machine {
    Machine {
        python: interpreter(args.workers.python.as_ref()),
        threads: n_threads(args.threads),
        job_timeout: args.workers.job_timeout.map(Duration::from_secs),
        checked: args.workers.check_determinism.unwrap_or_default(),
    }
}

/// The Python interpreter: as requested, or that of the environment.
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

/// The number of threads requested, or of all CPUs.
pub(crate) fn n_threads(threads: Option<u16>) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    threads.map_or_else(all, usize::from)
}

/// The program and command that a manifest names.
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

/// The command that repeats a run with the same results, quoted for a shell.
pub(crate) fn command(program: &Program, verb: &str, card: &CardArgs, seed: Option<u64>, dry_run: bool) -> String {
    let words = words(program, verb, card, seed, dry_run);
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The words of the command that repeats a run, not quoted.
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

/// The directory to create: as requested, or the first free one in `runs/` for this name.
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
    (1..).find_map(free).expect("some number is free")
}
