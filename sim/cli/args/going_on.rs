//! Arguments of commands that go on from a checkpoint.

use super::{DataArgs, EngineArgs, EveryArgs, OutArgs, SayArgs};
use crate::events::EventArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ResumeArgs {
    /// An unfinished run or sweep directory
    pub(crate) dir: PathBuf,
    /// Resume although your own code was changed; the manifest names the change
    #[arg(long)]
    pub(crate) allow_changed_code: bool,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) every: EveryArgs,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

#[derive(Args)]
pub(crate) struct ForkArgs {
    /// A run directory with a checkpoint; it is not changed
    pub(crate) dir: PathBuf,
    /// Set a field of the environment, for example network.uplink.loss_prob=0.2; repeatable
    #[arg(short, long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) every: EveryArgs,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}
