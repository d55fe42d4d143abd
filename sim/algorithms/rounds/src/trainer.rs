//! What is trained in rounds: the one trait that an algorithm needs.

use crate::{Aggregator, COUNTERS, Opening, Task, Trained};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::ClientSelection;
use folkmoot_learning::Layout;

/// Local training of a model: made of settings and public facts, as any [`Strategy`].
/// [`Rounds`](crate::Rounds) does the rest.
pub trait Trainer: Send + Sync + Sized + 'static {
    /// All data of one client.
    type Shard<'a>: Copy + Send + Sync;
    /// State that a client keeps from one training to the next and never sends; `()` if none.
    type ClientState: State + Sync + Clone;

    /// Whether malicious clients can change their training items ([`Trainer::poisoned`]), and
    /// items can be drawn for the server's own data set ([`Trainer::trusted`]).
    const HAS_ITEMS: bool = false;

    /// Counters of a run: [`COUNTERS`], followed by those that [`Trained::counts`] raises.
    const COUNTERS: &'static [&'static str] = COUNTERS;

    /// The matrices of the model, which determine its length, what learns, and how it starts.
    fn layout(&self) -> &Layout;

    /// Training samples of a client. One without any answers with the model as it came, which
    /// counts nothing.
    fn n_samples(&self, shard: Self::Shard<'_>) -> u32;

    /// Operations of a client's training in one round; its device takes this over its speed.
    fn cost(&self, shard: Self::Shard<'_>) -> f64;

    /// The same in a given round, where rounds differ. Default: [`cost`](Self::cost).
    fn cost_in(&self, shard: Self::Shard<'_>, _round: Round) -> f64 {
        self.cost(shard)
    }

    /// Local epochs of one round, of equal cost; a client that does part of its work makes some of
    /// them ([`Task::passes`]). Default: 1, and a card that wants parts of it is rejected.
    fn passes(&self) -> u32 {
        1
    }

    /// Whether clients can report a metric that a client selection asks for, such as `loss`, and
    /// what that costs, as a fraction of the operations of one of [`passes`](Self::passes).
    /// Default: none, and such a selection is rejected.
    fn reports(&self, _metric: &str) -> Option<f64> {
        None
    }

    /// That metric of the model that a client received. Called where [`Trained::metrics`] is empty.
    /// Default: no number.
    fn metric(&self, _shard: Self::Shard<'_>, _parameters: &[f32], _metric: &str) -> f32 {
        f32::NAN
    }

    /// A client selection of its own, instead of the card's `cohort`. Default: none.
    fn selection(&self) -> Option<&dyn ClientSelection> {
        None
    }

    /// An aggregator of its own, instead of the card's. Default: none.
    fn aggregator(&self) -> Option<&dyn Aggregator> {
        None
    }

    /// Called before the server sends the models of a synchronous round without secure aggregation.
    /// Returns the model that the round begins with, where that is not the present one. Default: it
    /// is.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn open(&self, _opening: Opening<'_>) -> Result<Option<Vec<f32>>, StrategyError> {
        Ok(None)
    }

    /// What a malicious client trains on, where its adversary changes training items. Only asked
    /// with [`HAS_ITEMS`](Trainer::HAS_ITEMS). Default: what it holds.
    fn poisoned<'a>(&self, shard: Self::Shard<'a>) -> Self::Shard<'a> {
        shard
    }

    /// The model after a training on the server's own data set. Only asked with
    /// [`HAS_ITEMS`](Trainer::HAS_ITEMS). Default: the model as it came.
    fn trusted(&self, parameters: &[f32], _rng: &mut SimRng) -> Vec<f32> {
        parameters.to_vec()
    }

    /// Local training of one client. Pure: on any thread, once or more often per task.
    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Self::ClientState>;

    /// The same in a dry run, as [`Strategy::placeholder`]. Default: the model that was sent.
    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<Self::ClientState> {
        Trained::model(task.parameters.to_vec())
    }
}
