//! Arguments about apps of Flower.

use super::{DataArgs, PlayArgs};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct FlowerArgs {
    /// Folder of the app, with a pyproject.toml
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// A card of the network, devices and availability alone [default: ideal]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) environment: Option<PathBuf>,
    /// Number of clients
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) clients: u32,
    /// Change [tool.flwr.app.config], as in "lr=0.1 name='x'"; repeatable
    #[arg(short, long, value_name = "PAIRS")]
    pub(crate) run_config: Vec<String>,
    /// Set a field of the card, for example strategy.client_errors=Reply; repeatable
    #[arg(short, long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Random seed [default: the environment's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Write the card of app and environment to FILE, for sweeps, and do not run it
    #[arg(long, value_name = "FILE")]
    pub(crate) write_card: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) play: PlayArgs,
}
