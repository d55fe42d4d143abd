//! Arguments of `folkmoot data`.

use super::{DataArgs, Format, ListArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum DataCommand {
    /// List data sets that need files, with source, size and state
    List(ListArgs),
    /// Download data sets and verify checksums
    #[command(after_help = "Example: folkmoot data fetch MUTAG")]
    Fetch(FetchArgs),
    /// Print sizes, degrees, components, labels, features and homophily
    Describe(DescribeArgs),
    /// Generate a graph and write it as a mapped file
    Generate {
        #[command(flatten)]
        write: WriteArgs,
        /// Random seed [default: 1]
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
    /// Convert a data set to a mapped file
    Convert {
        #[command(flatten)]
        write: WriteArgs,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Verify the checksums of a mapped file
    Verify {
        /// The file
        file: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct TableArgs {
    /// Another table of sources, in the format of sim/cli/data/sources.ron
    #[arg(long, value_name = "FILE")]
    pub(crate) sources: Option<PathBuf>,
}

#[derive(Args)]
#[cfg_attr(not(feature = "fetch"), allow(dead_code, reason = "this program cannot fetch"))]
pub(crate) struct FetchArgs {
    /// Names from `data list`, or as in cards
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    /// Folder of data sets [default: the variable FOLKMOOT_DATA, then ./data]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Proxy, http://HOST:PORT, socks5://HOST:PORT, or socks5h://HOST:PORT, which looks up names
    /// [default: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY]
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// PEM file of trusted certificates, replacing the built-in ones
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Seconds without data after which a download fails
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout_s: u64,
    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct DescribeArgs {
    /// The data set as in cards, for example "Planetoid(name: Cora)"
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: String,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Random seed [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Draw degrees and labels into DIR/figures
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct WriteArgs {
    /// The data set as in cards, for example "Rmat(n_nodes: 10000000)"
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: String,
    /// Output file
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// Also write metadata in Croissant 1.0, in FILE.croissant.json
    #[arg(long)]
    pub(crate) croissant: bool,
}
