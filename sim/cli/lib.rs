//! The command line as a library: one file per subcommand, for whatever a registry holds.
//!
//! Only a program made of this prints, reads arguments, looks at the clock and exits. Results go to
//! stdout, progress and warnings to stderr; exit codes are 0 done, 1 the run failed or was stopped,
//! 2 bad usage, card, data or output path.
//!
//! The shipped program is [`main`] with [`shipped`]. Who adds components of their own writes the
//! same line and has every subcommand for them. A crate with a component needs no other dependency:
//! every crate of the workspace is here by its short name, such as [`engine`] or [`rounds`], and
//! [`prelude`] has what most components need.
//!
//! ```no_run
//! use folkmoot::prelude::*;
//! use folkmoot::rounds::{Rule, RuleContext, Updates};
//!
//! /// The first update that came.
//! #[component(name = "First", about = "the first update")]
//! #[derive(Clone, Copy, Debug)]
//! struct First {}
//!
//! impl Rule for First {
//!     fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
//!         (0..updates.n_values()).map(|i| updates.all[0].value(i)).collect()
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     let mut registry = folkmoot::shipped();
//!     registry.add_component::<dyn Rule, First>().expect("no shipped rule is called so");
//!     folkmoot::main(registry)
//! }
//! ```

mod args;
mod audit;
mod begin;
mod budget;
mod calibrate;
mod check;
mod compare;
mod context;
mod data;
mod data_dirs;
mod events;
mod exit;
mod explain;
mod export;
mod figures;
mod flower;
mod fork;
mod headline;
mod job;
mod list;
mod man;
mod memory;
mod merge;
mod new;
mod output;
mod pauses;
mod plot;
mod reference;
mod report;
mod resume;
mod reuse;
mod run;
mod shard;
mod shipped;
mod show;
mod signals;
mod sweep;
mod sweep_table;
mod table_forms;
mod text;
mod torture;
mod verify;
mod watch;

use args::{Cli, Command};
use clap::FromArgMatches;
use clap::builder::PossibleValuesParser;
use context::Program;
use exit::Exit;
use folkmoot_engine::ranks::{Alone, Ranks};
pub use folkmoot_scenarios::registry::{Register, Registry};
pub use shipped::*;

pub use folkmoot_codecs as codecs;
pub use folkmoot_draws as draws;
pub use folkmoot_engine as engine;
pub use folkmoot_graphs as graphs;
pub use folkmoot_learning as learning;
pub use folkmoot_metrics as metrics;
pub use folkmoot_parts as parts;
pub use folkmoot_privacy as privacy;
pub use folkmoot_scenarios as scenarios;
pub use folkmoot_scores as scores;
pub use folkmoot_similarity as similarity;
pub use folkmoot_traces as traces;

/// What a component of one's own needs.
pub mod prelude {
    pub use folkmoot_engine::prelude::*;
    pub use folkmoot_parts::{Chosen, Component, ComponentType, Rules, component, component_type};
    pub use folkmoot_scenarios::algorithm::{Algorithm, Shared, Source};
    pub use folkmoot_scenarios::registry::Registry;
}

use clap::error::{ContextKind, ContextValue, ErrorKind};
use folkmoot_scenarios::text::meant;
use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;

/// Says what is wrong with the arguments. An option that is a field of cards leads to `--set`.
fn refused(mut error: clap::Error, registry: &Registry) -> ExitCode {
    let option = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => Some(option.clone()),
        _ => None,
    };
    let field = option.as_deref().and_then(|option| option.strip_prefix("--"));
    let path = field.and_then(|field| {
        let field = field.split('=').next()?.replace('-', "_");
        let ending = folkmoot_scenarios::explain::ending_in(meant(&field).unwrap_or(&field), registry);
        let of_training = ending.iter().find(|path| path.starts_with("strategy.training."));
        of_training.or(ending.first()).cloned()
    });
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    if path.is_some() {
        // What it suggests is to take the option for the name of a card.
        error.remove(ContextKind::Suggested);
    }
    let said = error.render().to_string();
    match text::visible_lines(&said) {
        // A closed stderr is no error.
        Cow::Borrowed(_) => drop(error.print()),
        Cow::Owned(shown) => output::warn(shown.trim_end()),
    }
    if let Some(path) = path {
        output::warn(&format!(
            "help: fields of a card are set by --set, as in --set {path}=VALUE"
        ));
    }
    ExitCode::from(code)
}

/// Does what the arguments of this process ask for, with the parts in `registry`, and says how it
/// ended.
///
/// The program is called in its help, its completions and the commands that it prints as it was
/// called itself.
pub fn main(registry: Registry) -> ExitCode {
    signals::outlive_file_limit();
    let called = std::env::args_os().next();
    let name = called.as_deref().and_then(|path| Path::new(path).file_stem());
    let name = name.map_or_else(|| "folkmoot".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut command = args::command(&name);
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refused(error.format(&mut command), &registry),
    };
    let ranks = match ranks(&cli.command) {
        Ok(ranks) => ranks,
        Err(exit) => return exit.report(),
    };
    memory::bound(cli.command.engine().and_then(|engine| engine.max_memory));
    let program = Program { name, registry, ranks };
    let result = match cli.command {
        Command::Run(args) => run::run(&program, args),
        Command::Resume(args) => resume::resume(&program, args),
        Command::Flower(args) => flower::flower(&program, args),
        Command::Fork(args) => fork::fork(&program, &args),
        Command::Sweep(args) => sweep::sweep(&program, &args),
        Command::Merge(args) => merge::merge(&program, &args),
        Command::Budget(args) => budget::budget(&program, &args),
        Command::Calibrate(args) => calibrate::calibrate(&program, &args),
        Command::Check(args) => check::check(&program, &args),
        Command::Show(args) => show::show(&program, &args),
        Command::List { words } => list::list(&program, &words),
        Command::Explain(args) => explain::explain(&program, &args),
        Command::Plot(args) => plot::plot(&program, &args),
        Command::Report(args) => report::report(&program, &args),
        Command::Export(args) => export::export(&args),
        Command::Compare(args) => compare::compare(&program, &args),
        Command::Verify(args) => verify::verify(&program, &args),
        Command::Data(args) => data::data(&program, &args),
        Command::New(args) => new::new(&program, &args),
        Command::Audit(args) => audit::audit(&program, &args),
        Command::Torture(args) => torture::torture(&program, &args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = with_paths(command, &program.registry);
            clap_complete::generate(shell, &mut command, &program.name, &mut script);
            output::print_bytes(&script)
        }
        Command::Man {
            to: Some(dir),
            markdown: true,
            ..
        } => man::reference(&program, command, &dir),
        Command::Man { subcommand, to, .. } => man::man(command, subcommand.as_deref(), to.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) if program.is_first() => exit.report(),
        Err(exit) => exit.silently(),
    }
}

/// Those who do this together, where the command is one that several processes can do.
fn ranks(command: &Command) -> Result<Box<dyn Ranks>, Exit> {
    let alone = || Box::new(Alone) as Box<dyn Ranks>;
    if matches!(
        command,
        Command::Run(_) | Command::Flower(_) | Command::Resume(_) | Command::Fork(_)
    ) {
        let ranks = folkmoot_mpi::start().map_err(|why| Exit::usage(format!("error: {why}")))?;
        return Ok(ranks.unwrap_or_else(alone));
    }
    match folkmoot_mpi::started_with() {
        0 | 1 => Ok(alone()),
        _ => Err(Exit::usage(context::ALONE)),
    }
}

/// The command for completions: `explain` knows every path. Cards may be files, which a shell knows
/// itself.
fn with_paths(command: clap::Command, registry: &Registry) -> clap::Command {
    let paths = PossibleValuesParser::new(folkmoot_scenarios::explain::paths(registry));
    command.mut_subcommand("explain", |explain| {
        explain.mut_arg("path", |path| path.value_parser(paths))
    })
}
