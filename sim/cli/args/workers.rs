//! Arguments about worker processes that call a user's own code.

use super::{CardArgs, DataArgs, EngineArgs};
use clap::Args;
use std::path::PathBuf;

/// How workers are started and tested: none of it changes a result.
#[derive(Args)]
pub(crate) struct WorkerArgs {
    /// Python interpreter of workers [default: the variable FOLKMOOT_PYTHON, the active
    /// environment, python3]
    #[arg(long, value_name = "FILE")]
    pub(crate) python: Option<PathBuf>,
    /// Fail when a worker takes longer for one job, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) job_timeout: Option<u64>,
    /// Do this share of workers' jobs twice, such as 5%, and fail if two results differ
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) check_determinism: Option<f64>,
}

/// A share between 0 and 1, which may be written as a percentage.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|number| number * scale);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "must be a share such as 5% or 0.05".to_owned())
}

#[derive(Args)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    pub(crate) card: CardArgs,
    /// Measurements of each client, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeats: u16,
    /// Output file, for fm.measured
    #[arg(short, long, value_name = "FILE", default_value = "cost.csv")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Card files, or names of shipped cards
    #[arg(value_name = "CARD", required = true)]
    pub(crate) cards: Vec<String>,
    /// Set a field of every card; repeatable
    #[arg(short, long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Python interpreter that imports the app of a card [default: the variable FOLKMOOT_PYTHON,
    /// the active environment, python3]
    #[arg(long, value_name = "FILE")]
    pub(crate) python: Option<PathBuf>,
}
