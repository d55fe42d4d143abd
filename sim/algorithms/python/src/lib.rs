//! Federated training by a user's own functions in Python, in rounds like any other.
//!
//! [`Params`] is the algorithm `Python` of a card. An app is a file of functions: the model before
//! the first round, local training with its cost, scores. They are called in worker processes
//! ([`pool`]) over frames ([`protocol`]); the adapter to the rounds is [`trainer`]. Cohorts,
//! deadlines, asynchrony, codecs, privacy, secure aggregation, checkpoints and ranks are those of
//! `folkmoot_rounds`.
//!
//! - **Numbers.** A model travels as `f32`, whatever the types of its arrays. Whole numbers and
//!   running statistics travel behind what learns, and no codec changes them.
//! - **Determinism.** A call depends on its arguments and its seed. Which worker makes it, and how
//!   many there are, changes nothing; `--check-determinism` tests it.
//! - **Failure.** A call that fails ends the run when its result is due, so that the same failure
//!   is reported on any number of threads. Its input stays in the run directory.
//! - **Left out.** Nothing is pickled; there is no interpreter in this process. Workers need Unix
//!   sockets.

pub mod app;
mod data;
mod evaluator;
pub mod flower;
pub mod pool;
pub mod protocol;
pub mod region;
mod settings;
pub mod trainer;

pub use app::{Facts, Shard};
pub use settings::Params;
pub use trainer::App;

use evaluator::ByApp;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{Rounds, Watched};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use std::sync::Arc;
use trainer::FromApp;

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<App>;

    fn about(&self) -> About {
        About {
            rounds: Some(self.protocol.rounds),
            headline: &["test_accuracy", "payload_bytes", "virtual_s"],
            split: Some(split_of(&self.split, "each client's items")),
            programs: vec![self.app.clone()],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Facts::new(self, source)
    }

    fn calibrate(&self, source: &Source<'_>, repeats: usize) -> Result<Option<Vec<f64>>, StrategyError> {
        let facts = self.facts(source)?;
        facts.app.calibrate(self, source, repeats).map(Some)
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let app = App::new(Arc::clone(&facts.app)).checking(facts.checked);
        Rounds::new(app, self.protocol.clone())
            .personalised(Arc::new(FromApp))
            .sending_model_alone(Ok(()))
            .hiding_items(settings::trains().hides_items)
            .checked()
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError> {
        let (working, shards) = facts.app.open(self, source)?;
        rounds.trainer().works(working);
        let shards = Arc::new(shards);
        Ok(Shared {
            shards: Box::new(Handed {
                shards: Arc::clone(&shards),
                sizes: source.sizes(),
            }),
            evaluator: Box::new(Watched(ByApp::new(&shards, source.streams))),
        })
    }
}

/// What each client is given.
struct Handed {
    shards: Arc<Vec<Shard>>,
    sizes: Vec<u64>,
}

impl Shards<Rounds<App>> for Handed {
    fn n_clients(&self) -> u32 {
        self.shards.len() as u32
    }

    fn shard(&self, client: ClientId) -> &Shard {
        &self.shards[client.0 as usize]
    }

    fn size(&self, client: ClientId) -> u64 {
        self.sizes[client.0 as usize]
    }
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("python");
    registry.add_dataset::<flower::AppClients>()?;
    registry.add::<Params>()?;
    registry.add::<flower::Flower>()
}
