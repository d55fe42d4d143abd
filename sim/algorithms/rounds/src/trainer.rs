//! What is trained in rounds: the one trait that an algorithm needs.

use crate::{COUNTERS, Task, Trained};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Layout;

/// Local training of a model: made of settings and public facts, as any [`Strategy`].
/// [`Rounds`](crate::Rounds) does the rest, and takes as values what only some algorithms have.
pub trait Trainer: Send + Sync + Sized + 'static {
    /// All data of one client.
    type Shard<'a>: Copy + Send + Sync;
    /// State that a client keeps from one training to the next and never sends; `()` if none.
    type ClientState: State + Sync + Clone;

    /// Counters of a run: [`COUNTERS`], followed by those that [`Trained::counts`] raises.
    const COUNTERS: &'static [&'static str] = COUNTERS;

    /// The matrices of the model, which determine its length, what learns, and how it starts.
    fn layout(&self) -> &Layout;

    /// Training samples of a client. One without any answers with the model as it came, which
    /// counts nothing.
    fn n_samples(&self, shard: Self::Shard<'_>) -> u32;

    /// Operations of a client's training in a round; its device takes this over its speed.
    fn cost(&self, shard: Self::Shard<'_>, round: Round) -> f64;

    /// Local epochs of one round, of equal cost; a client that does part of its work makes some of
    /// them ([`Task::passes`]). Default: 1, and a card that wants parts of it is rejected.
    fn passes(&self) -> u32 {
        1
    }

    /// Local training of one client. Pure: on any thread, once or more often per task.
    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Self::ClientState>;

    /// The same in a dry run, as [`Strategy::placeholder`]. Default: the model that was sent.
    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<Self::ClientState> {
        Trained::model(task.parameters.to_vec())
    }
}
