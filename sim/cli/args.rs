//! The command line.

mod budget;
mod data;
mod flower;
mod going_on;
mod plot;
mod torture;
mod workers;

pub(crate) use budget::{BudgetArgs, MechanismArg, SamplingArg};
pub(crate) use data::{DataCommand, DescribeArgs, FetchArgs, TableArgs, WriteArgs};
pub(crate) use flower::FlowerArgs;
pub(crate) use going_on::{ForkArgs, ResumeArgs};
pub(crate) use plot::{LogArg, PlotArgs};
pub(crate) use torture::TortureArgs;
pub(crate) use workers::{CalibrateArgs, CheckArgs, WorkerArgs};

use crate::events::EventArgs;
use crate::memory::Size;
use crate::new::kinds;
use crate::pauses::Every;
use crate::shard::ShardArg;
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A deterministic discrete-event simulator of federated learning on graphs
#[derive(Parser)]
#[command(name = "folkmoot", version, about, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands as the help lists them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run", &["run", "sweep", "flower", "resume", "fork", "merge"]),
    ("Look at results", &["show", "report", "plot", "compare", "export"]),
    (
        "Write cards and components",
        &["list", "explain", "check", "budget", "calibrate", "new"],
    ),
    ("Verify", &["verify", "audit"]),
    ("Data", &["data"]),
    ("Program", &["completions", "man", "help"]),
];

/// The command line of a program of this name, with its subcommands in groups.
pub(crate) fn command(name: &str) -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let mut list = String::new();
    for (title, names) in GROUPS {
        list += &format!("{title}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            list += &format!("  {name:<12} {}\n", about.map_or_else(String::new, ToString::to_string));
        }
        list.push('\n');
    }
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}");
    let start = "Start: folkmoot run fed-avg/tiny; folkmoot sweep fed-avg/algorithms; folkmoot list";
    let named = |command: clap::Command| match command.get_after_help().map(ToString::to_string) {
        Some(example) => command.after_help(example.replace("folkmoot", name)),
        None => command,
    };
    let command = Cli::command().help_template(template).after_help(start);
    named(command).mut_subcommands(named).bin_name(name.to_owned())
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate one run of a card, and write its tables and figures
    #[command(after_help = "Example: folkmoot run fed-avg/tiny --set strategy.protocol.rounds=10 --seed 7")]
    Run(RunArgs),
    /// Resume an interrupted run or sweep
    #[command(after_help = "Example: folkmoot resume runs/fed-avg-small")]
    Resume(ResumeArgs),
    /// Start a new run from a checkpoint, with another network, devices or availability
    #[command(after_help = "Example: folkmoot fork runs/fed-avg-small --set network.uplink.loss_prob=0.2")]
    Fork(ForkArgs),
    /// Simulate every configuration of a card with every seed, and compare them
    #[command(after_help = "Example: folkmoot sweep fed-avg/algorithms")]
    Sweep(SweepArgs),
    /// Simulate one run of a Flower app, unmodified, in an environment
    #[command(
        after_help = "Example: folkmoot flower my-app --environment env.ron --clients 1000 --run-config 'num-server-rounds=5'"
    )]
    Flower(FlowerArgs),
    /// Merge shards into one sweep
    #[command(after_help = "Example: folkmoot merge shard-1 shard-2 --out runs/whole")]
    Merge(MergeArgs),
    /// Compute epsilon, noise or rounds of private training, without a run
    #[command(
        after_help = "Examples:\n  folkmoot budget --noise 1 --rate 0.1 --rounds 60        gives epsilon\n  folkmoot budget --epsilon 4 --rate 0.1 --rounds 60      gives the noise\n  folkmoot budget --epsilon 4 --noise 1 --clients 50/500  gives the rounds"
    )]
    Budget(BudgetArgs),
    /// Measure the training time of your own Python code at each client, to be used as virtual time
    #[command(after_help = "Example: folkmoot calibrate my-card.ron --out cost.csv")]
    Calibrate(CalibrateArgs),
    /// Report all problems of cards without running them
    #[command(after_help = "Example: folkmoot check my-card.ron")]
    Check(CheckArgs),
    /// Print a card, a data set, or the result of a run or sweep
    #[command(after_help = "Example: folkmoot show fed-avg/tiny --resolved")]
    Show(ShowArgs),
    /// List all cards and all components, or those about a topic
    #[command(after_help = "Example: folkmoot list privacy")]
    List {
        /// Words to search for in names, questions and descriptions
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
    /// Describe a field, component, metric, message, table or column
    #[command(after_help = "Example: folkmoot explain strategy.model.hidden")]
    Explain(ExplainArgs),
    /// Draw the figures of a run or sweep again, with other options
    #[command(after_help = "Example: folkmoot plot runs/fed-avg-algorithms-sweep --only 'curves-*' --width 84 --pdf")]
    Plot(PlotArgs),
    /// Write a result, or a comparison of two, as one HTML page
    #[command(after_help = "Example: folkmoot report runs/fed-avg-algorithms-sweep")]
    Report(ReportArgs),
    /// Write scores against round, virtual time and bytes, for other programs
    #[command(after_help = "Example: folkmoot export runs/fed-avg-small --long-csv --to scores.csv")]
    Export(ExportArgs),
    /// Find the first difference between two runs, or compare the metrics of two sweeps
    #[command(after_help = "Example: folkmoot compare runs/fed-avg-tiny runs/fed-avg-tiny-2")]
    Compare(CompareArgs),
    /// Repeat a run or sweep and compare result hashes
    #[command(after_help = "Example: folkmoot verify runs/fed-avg-tiny")]
    Verify(VerifyArgs),
    /// Download, describe and convert data sets
    #[command(subcommand)]
    Data(DataCommand),
    /// Create a crate with your own algorithm, a card and a program
    #[command(after_help = "Example: folkmoot new my-rule --kind aggregator --checkout folkmoot")]
    New(NewArgs),
    /// Compare published claims with measurements
    #[command(after_help = "Example: folkmoot audit classifiers --quick")]
    Audit(AuditArgs),
    /// Run random cards in many ways, with faults, and compare all bytes
    #[command(hide = true)]
    Torture(TortureArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all pages
    Man {
        /// The subcommand [default: the program]
        #[arg(value_name = "SUBCOMMAND", conflicts_with = "to")]
        subcommand: Option<String>,
        /// Write the pages of all subcommands into this folder
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
        /// Write the reference of commands, fields, components and tables as Markdown
        #[arg(long, requires = "to")]
        markdown: bool,
    },
}

#[derive(Args)]
pub(crate) struct NewArgs {
    /// Name of the crate, its program, card and component, for example my-strategy
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What the crate begins with
    #[arg(short, long, default_value = "algorithm", value_parser = PossibleValuesParser::new(kinds().map(|kind| kind.name)))]
    pub(crate) kind: String,
    /// A clone of Folkmoot's repository, on which the crate depends
    #[arg(long, value_name = "DIR")]
    pub(crate) checkout: PathBuf,
}

/// What every command that loads a card takes.
#[derive(Args, Clone)]
pub(crate) struct CardArgs {
    /// A card file, or the name of a shipped card such as fed-avg/small
    #[arg(value_name = "CARD")]
    pub(crate) card: String,
    /// Set a field of the card, for example strategy.protocol.rounds=20; repeatable
    #[arg(short, long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Args, Clone)]
pub(crate) struct DataArgs {
    /// Folder of data sets [default: the variable FOLKMOOT_DATA, then ./data]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// How to run: none of it changes a result.
#[derive(Args)]
pub(crate) struct EngineArgs {
    /// Number of threads [default: all]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, such as 4GB: a run that exceeds it stops, with its state saved [default: none;
    /// before a run its estimate is compared with the free memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_memory: Option<Size>,
    /// Encode and decode every message (self-check)
    #[arg(long)]
    pub(crate) wire_check: bool,
    /// Process events one at a time, not in parallel windows (self-check)
    #[arg(long)]
    pub(crate) no_windows: bool,
    #[command(flatten)]
    pub(crate) workers: WorkerArgs,
}

impl Command {
    /// How runs are made, by a command that makes some.
    pub(crate) fn engine(&self) -> Option<&EngineArgs> {
        match self {
            Command::Run(args) => Some(&args.play.engine),
            Command::Flower(args) => Some(&args.play.engine),
            Command::Resume(args) => Some(&args.engine),
            Command::Fork(args) => Some(&args.engine),
            Command::Sweep(args) => Some(&args.engine),
            Command::Verify(args) => Some(&args.engine),
            Command::Audit(args) => Some(&args.engine),
            _ => None,
        }
    }
}

/// When a run's state is saved.
#[derive(Args)]
pub(crate) struct EveryArgs {
    /// Save a checkpoint this often: 10min, 20rounds, 3600virtual_s [default: only when stopped]
    #[arg(long, value_name = "SPAN")]
    pub(crate) checkpoint_every: Option<Every>,
}

/// What is said of a result.
#[derive(Args, Clone, Copy)]
pub(crate) struct SayArgs {
    /// Format of the printed summary
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print only errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What a run leaves and says.
#[derive(Args)]
pub(crate) struct OutArgs {
    /// Output directory [default: the first free one of runs/NAME, runs/NAME-2, …]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// How one run goes, and what it leaves.
#[derive(Args)]
pub(crate) struct PlayArgs {
    /// Write a trace of all events to trace.json.gz, for ui.perfetto.dev
    #[arg(long)]
    pub(crate) trace: bool,
    /// Trace at most N evenly spaced clients [default: 1000]
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trace_clients: Option<u32>,
    /// Print all messages and metrics, not only those that answer the card's question
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) every: EveryArgs,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) card: CardArgs,
    /// Random seed [default: the card's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Simulate all messages without training, as if no model diverged
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// If --out has the result of this very run, print it; if it has a part of it, resume
    #[arg(long, requires = "out")]
    pub(crate) reuse: bool,
    /// Record a counter per round in observations.csv; repeatable
    #[arg(long, value_name = "COUNTER")]
    pub(crate) observe: Vec<String>,
    #[command(flatten)]
    pub(crate) play: PlayArgs,
}

#[derive(Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) card: CardArgs,
    /// Rejected: a sweep has seeds
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) seed: Option<String>,
    /// Rejected: only a run can be traced
    #[arg(long, hide = true)]
    pub(crate) trace: bool,
    /// Simulate all messages without training, as if no model diverged
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run only the missing runs of an existing sweep directory
    #[arg(long, requires = "out")]
    pub(crate) only_missing: bool,
    /// Run shard K of N, from 1; auto: take K/N from the Slurm array; auto/N: take K from the
    /// scheduler
    #[arg(long, value_name = "K/N", requires = "out")]
    pub(crate) shard: Option<ShardArg>,
    /// Print a job script for a scheduler and exit
    #[arg(long, value_name = "SCHEDULER", value_enum, conflicts_with_all = ["shard", "only_missing"])]
    pub(crate) job: Option<Scheduler>,
    /// Number of shards in the job script [default: one per run, at most 16]
    #[arg(long, value_name = "N", requires = "job", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) shards: Option<u32>,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// What starts shards: an array of Slurm or HyperQueue, GNU parallel, an indexed job of Kubernetes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheduler {
    Slurm,
    Hq,
    Parallel,
    Kubernetes,
}

#[derive(Args)]
pub(crate) struct MergeArgs {
    /// Sweep directories that together have all runs
    #[arg(value_name = "DIR", required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Output directory [default: DIR if there is one, else the first free runs/NAME-sweep]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// A card, a run or sweep directory, or a data set such as "Planetoid(name: Cora)"
    #[arg(value_name = "CARD|DATASET|DIR")]
    pub(crate) what: String,
    /// Set a field of the card; repeatable
    #[arg(short, long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print every default of a card, and the sizes of its data as comments
    #[arg(long)]
    pub(crate) resolved: bool,
    /// Compare the arms of a sweep with this arm, or this value of an axis
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// For example strategy.model.hidden, FedAvg, test_accuracy, update or rounds.csv
    #[arg(value_name = "PATH|NAME")]
    pub(crate) path: String,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// A run or sweep directory
    pub(crate) dir: PathBuf,
    /// A second directory to compare with it
    pub(crate) other: Option<PathBuf>,
    /// Output file [default: DIR/report.html, or DIR/report-beside-OTHER.html]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Number of threads [default: all]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// A run or sweep directory
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// Output file [default: stdout; with --ro-crate, in DIR]
    #[arg(long, value_name = "PATH")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct FormArgs {
    /// One CSV table with a row per score and a column per axis
    #[arg(long)]
    pub(crate) long_csv: bool,
    /// The table of a sweep for a paper, with the rules of booktabs
    #[arg(long)]
    pub(crate) latex: bool,
    /// The table of a sweep for a page
    #[arg(long)]
    pub(crate) html: bool,
    /// The table of a sweep in Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// The metadata of the directory as an RO-Crate, in DIR/ro-crate-metadata.json
    #[arg(long)]
    pub(crate) ro_crate: bool,
    /// Print the Python command that writes a Parquet file
    #[arg(long)]
    pub(crate) parquet: bool,
    /// Print the Python command that writes a TensorBoard folder
    #[arg(long)]
    pub(crate) tensorboard: bool,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// A run or sweep directory
    pub(crate) a: PathBuf,
    /// Another one of the same kind
    pub(crate) b: PathBuf,
}

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// A run or sweep directory
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Args)]
pub(crate) struct AuditArgs {
    /// A folder of scenarios such as classifiers, an algorithm, or a claims file [default: all]
    #[arg(value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,
    /// Use only the runs, sweeps and records in these folders [default: the record, then new runs]
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) from: Vec<PathBuf>,
    /// Use only runs on generated data, which take minutes
    #[arg(long, conflicts_with = "from")]
    pub(crate) quick: bool,
    /// Ignore the record and run everything
    #[arg(long, conflicts_with_all = ["from", "quick"])]
    pub(crate) fresh: bool,
    /// Only compute missing controls, such as the client majority, by dry runs
    #[arg(long, conflicts_with_all = ["from", "quick", "fresh"])]
    pub(crate) controls: bool,
    /// Add the measurements to the records in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_is_in_a_group() {
        let mut command = command("folkmoot");
        command.build();
        let named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let known: Vec<&str> = shown.map(clap::Command::get_name).collect();
        assert_eq!(named.len(), known.len());
        assert!(known.iter().all(|name| named.contains(name)), "{known:?}");
        command.debug_assert();
    }
}
