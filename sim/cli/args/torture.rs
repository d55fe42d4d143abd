//! Arguments of `torture`.

use super::DataArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct TortureArgs {
    /// The world to run, or the first one [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run world after world for so long
    #[arg(long, value_name = "M")]
    pub(crate) minutes: Option<f64>,
    /// Run so many worlds, however long they take
    #[arg(long, value_name = "N", conflicts_with = "minutes")]
    pub(crate) worlds: Option<u64>,
    /// Run this card in place of a random one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["minutes", "worlds"])]
    pub(crate) card: Option<PathBuf>,
    /// Draw the values of the cards in this folder, too: paths of files, names of programs
    #[arg(long, value_name = "DIR")]
    pub(crate) cards: Option<PathBuf>,
    /// Stop a run after so many seconds
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub(crate) limit: u16,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}
