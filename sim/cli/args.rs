//! The command line.

use crate::pauses::Every;
use crate::shard::ShardArg;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A deterministic discrete-event simulator of federated learning on graphs
#[derive(Parser)]
#[command(name = "folkmoot", version, about, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and write its results and figures
    Run(RunArgs),
    /// Go on with a run or a sweep that was stopped or killed
    Resume(ResumeArgs),
    /// Begin another run with the state that an unfinished one has saved, in another world
    Fork(ForkArgs),
    /// Run every combination of a card's axes under every seed
    Sweep(SweepArgs),
    /// Make one sweep of what its shards have made
    Merge(MergeArgs),
    /// Check cards without running them
    Check(CheckArgs),
    /// Show a card as it is written or with every default, a data set's counts, or a result
    Show(ShowArgs),
    /// List cards and everything that cards can name
    List,
    /// Say what a field or part of a card, a number, a message or a column is: its meaning, range and unit
    Explain(ExplainArgs),
    /// Draw the figures of a run or sweep directory again
    Plot(PlotArgs),
    /// Write a page of a result that opens in any browser, or of two side by side
    Report(ReportArgs),
    /// Write the scores of a run or a sweep, by round, virtual time and bytes, for other programs
    Export(ExportArgs),
    /// Find the first difference between two run directories
    Compare(CompareArgs),
    /// Run a directory's scenario again and compare fingerprints
    Verify(VerifyArgs),
    /// Get, describe and write data sets
    #[command(subcommand)]
    Data(DataCommand),
    /// Make a crate with a strategy of one's own, a card, and a program with every subcommand for them
    New(NewArgs),
    /// Hold what the papers claim against what was measured
    Audit(AuditArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all of them
    Man {
        /// The subcommand that it is about [default: the program]
        #[arg(value_name = "SUBCOMMAND", conflicts_with = "to")]
        subcommand: Option<String>,
        /// Write the pages of the program and of every subcommand into this folder
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
        /// Write the reference as Markdown: commands, fields, parts, messages, numbers and tables
        #[arg(long, requires = "to")]
        markdown: bool,
    },
}

#[derive(Args)]
pub(crate) struct NewArgs {
    /// What the crate, its program, its card and its strategy are called, as in my-strategy
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// A checkout of Folkmoot's sources, which the crate depends on
    #[arg(long, value_name = "DIR")]
    pub(crate) checkout: PathBuf,
}

/// What every command that loads a card takes.
#[derive(Args, Clone)]
pub(crate) struct CardArgs {
    /// A card's file, or the name of a shipped card such as fed-avg/small
    #[arg(value_name = "CARD")]
    pub(crate) card: String,
    /// Change a field of the card, as in strategy.walk_length=20; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Args, Clone)]
pub(crate) struct DataArgs {
    /// Where the data sets are; else the variable FOLKMOOT_DATA, else ./data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// How to run: none of it changes a result.
#[derive(Args)]
pub(crate) struct EngineArgs {
    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Put every message through its encoding
    #[arg(long)]
    pub(crate) wire_check: bool,
    /// Handle one event at a time instead of windows in parallel
    #[arg(long)]
    pub(crate) no_windows: bool,
}

/// When a run's state is saved.
#[derive(Args)]
pub(crate) struct EveryArgs {
    /// Save the run's state so often, as in 10min, 20rounds or 3600virtual_s, for `resume` [default: only when stopped]
    #[arg(long, value_name = "SPAN")]
    pub(crate) checkpoint_every: Option<Every>,
}

/// What is said of a result.
#[derive(Args, Clone, Copy)]
pub(crate) struct SayArgs {
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Say nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// What a run leaves and says.
#[derive(Args)]
pub(crate) struct OutArgs {
    /// The directory to make [default: the first free of runs/NAME, runs/NAME-2, …]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) card: CardArgs,
    /// The seed of every random stream [default: the card's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Simulate every message and do no learning
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Record a counter by round in observations.csv; may be repeated
    #[arg(long, value_name = "COUNTER")]
    pub(crate) observe: Vec<String>,
    /// Write every message, job, absence and round to trace.json.gz, which ui.perfetto.dev opens
    #[arg(long)]
    pub(crate) trace: bool,
    /// Trace the lives of at most so many clients, who lie evenly among all [default: 1000]
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trace_clients: Option<u32>,
    /// Print every message and number instead of those that answer the card's question
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) every: EveryArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Args)]
pub(crate) struct ResumeArgs {
    /// A run directory or a sweep's that is not finished
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) every: EveryArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

#[derive(Args)]
pub(crate) struct ForkArgs {
    /// A run directory with a saved state, which is left as it is
    pub(crate) dir: PathBuf,
    /// Change a field of the card's world, as in network.uplink.loss_prob=0.2; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) every: EveryArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) card: CardArgs,
    /// Refused: a sweep has seeds
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) seed: Option<String>,
    /// Refused: a run can be traced
    #[arg(long, hide = true)]
    pub(crate) trace: bool,
    /// Simulate every message and do no learning
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Make the points that the directory lacks, which may be there already
    #[arg(long, requires = "out")]
    pub(crate) only_missing: bool,
    /// Make what shard K of N lacks, K from 1; `auto` asks Slurm, `auto/N` HyperQueue or Kubernetes, too
    #[arg(long, value_name = "K/N", requires = "out")]
    pub(crate) shard: Option<ShardArg>,
    /// Print a file that has shards made by a scheduler, and do nothing else
    #[arg(long, value_name = "SCHEDULER", value_enum, conflicts_with_all = ["shard", "only_missing"])]
    pub(crate) job: Option<Scheduler>,
    /// Shards in such a file [default: as many as points, at most 16]
    #[arg(long, value_name = "N", requires = "job", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) shards: Option<u32>,
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
    /// Sweep directories that have all points between them
    #[arg(value_name = "DIR", required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// The directory to make [default: the only DIR itself, else the first free of runs/NAME-sweep, …]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Cards' files, or names of shipped cards
    #[arg(value_name = "CARD", required = true)]
    pub(crate) cards: Vec<String>,
    /// Change a field of every card; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// A card, a data set as cards name it (Karate, BlogCatalog, "Planetoid(name: Cora)"), or a run or sweep directory
    #[arg(value_name = "CARD|DATASET|DIR")]
    pub(crate) what: String,
    /// Change a field of the card; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Write out every default of a card, and what its data come to as comments
    #[arg(long)]
    pub(crate) resolved: bool,
    /// Compare the arms of a sweep directory with this one, or with this value of an axis
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// A field of the card, as strategy.model.hidden, a part by its name, as FedAvg, a number, as test_accuracy, a kind of
    /// message, as update, or a table or its column, as rounds.csv
    #[arg(value_name = "PATH|NAME")]
    pub(crate) path: String,
}

#[derive(Args)]
pub(crate) struct PlotArgs {
    /// A run or sweep directory
    pub(crate) dir: PathBuf,
    /// Draw every figure that there are data for, and not only those that the card names
    #[arg(long, conflicts_with = "only")]
    pub(crate) all: bool,
    /// Draw these figures alone, by their names; * stands for anything
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// The width of a whole figure in print, in millimetres [default: 85 a panel]
    #[arg(long, value_name = "MM", value_parser = print_size)]
    pub(crate) width: Option<f64>,
    /// The height of the area between the axes, in millimetres [default: 0.45 of a panel's width]
    #[arg(long, value_name = "MM", value_parser = print_size)]
    pub(crate) height: Option<f64>,
    /// The size of text in print, in points [default: 6.3]
    #[arg(long, value_name = "PT", value_parser = print_size)]
    pub(crate) font_size: Option<f64>,
    /// Leave the titles out
    #[arg(long)]
    pub(crate) no_title: bool,
    /// Write each figure as PDF, too
    #[arg(long)]
    pub(crate) pdf: bool,
}

/// A size that can be printed.
fn print_size(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(size) if (1.0..=2000.0).contains(&size) => Ok(size),
        _ => Err("must be a number from 1 to 2000".to_owned()),
    }
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// A run or sweep directory
    pub(crate) dir: PathBuf,
    /// Another one of the same kind, to stand beside it
    pub(crate) other: Option<PathBuf>,
    /// The file to write [default: DIR/report.html, of two DIR/report-beside-OTHER.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Threads to draw with [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// A run or sweep directory
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// The file to write [default: stdout]
    #[arg(long, value_name = "PATH")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct FormArgs {
    /// One table as CSV, a row a score, with a column per axis of the sweep
    #[arg(long)]
    pub(crate) long_csv: bool,
    /// Print the command of the Python package that writes the table as a Parquet file
    #[arg(long)]
    pub(crate) parquet: bool,
    /// Print the command of the Python package that writes a folder for TensorBoard
    #[arg(long)]
    pub(crate) tensorboard: bool,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// A run directory
    pub(crate) a: PathBuf,
    /// Another one
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

#[derive(Subcommand)]
pub(crate) enum DataCommand {
    /// List the data sets that need files: which are there, whose they are, how large
    List(ListArgs),
    /// Get the files of data sets from where the table of sources says, and check their sums
    Fetch(FetchArgs),
    /// Count a data set: sizes, degrees, components, labels, features, and how alike neighbours are
    Describe(DescribeArgs),
    /// Draw a graph and write it, for dataset: Mapped(path: FILE)
    Generate {
        #[command(flatten)]
        write: WriteArgs,
        /// The seed that it is drawn by, as a card's [default: 1]
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
    /// Write a data set that is not drawn, for dataset: Mapped(path: FILE)
    Convert {
        #[command(flatten)]
        write: WriteArgs,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Read such a file from end to end, and say whether it is what was written
    Verify {
        /// The file
        file: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// How to print the list
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Args)]
pub(crate) struct TableArgs {
    /// Another table of sources, in the form of the one that ships, sim/cli/data/sources.ron
    #[arg(long, value_name = "FILE")]
    pub(crate) sources: Option<PathBuf>,
}

#[derive(Args)]
#[cfg_attr(not(feature = "fetch"), allow(dead_code, reason = "this program cannot fetch"))]
pub(crate) struct FetchArgs {
    /// Sets by the names of `data list`, or as cards name them
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    /// The folder to put them in; else the variable FOLKMOOT_DATA, else ./data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// A proxy to ask, as http://HOST:PORT [default: that of the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY]
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Certificates to trust instead of the usual ones, as PEM: those of a proxy that reads along
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Give up on a host that sends nothing for so many seconds
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout_s: u64,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct DescribeArgs {
    /// The data set as cards name it, as Karate or "Planetoid(name: Cora)"
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: String,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The seed that it is drawn by, as a card's [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How to print the numbers
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Draw degrees and labels into the folder figures below this one
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct WriteArgs {
    /// The data set as cards name it, as "Rmat(n_nodes: 10000000)"
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: String,
    /// The file to make
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
}

#[derive(Args)]
pub(crate) struct AuditArgs {
    /// Whose claims: a folder of scenarios, such as classifiers, its system, or a file of claims [default: all folders]
    #[arg(value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,
    /// Judge by finished runs and sweeps, and by tables of records, in these folders alone; without it, by what is recorded, and what is not is run
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) from: Vec<PathBuf>,
    /// Run what needs no data file and takes minutes, and judge by that alone
    #[arg(long, conflicts_with = "from")]
    pub(crate) quick: bool,
    /// Run everything, as if nothing had been recorded
    #[arg(long, conflicts_with_all = ["from", "quick"])]
    pub(crate) fresh: bool,
    /// Make only the controls that the record lacks, such as the client majority, by dry runs
    #[arg(long, conflicts_with_all = ["from", "quick", "fresh"])]
    pub(crate) controls: bool,
    /// Add the numbers that were judged by to the records in this folder, a table a system
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}
