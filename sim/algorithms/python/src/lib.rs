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

mod aggregate;
pub mod app;
mod artifacts;
mod connection;
mod data;
mod evaluator;
mod examples;
pub mod flower;
mod kept;
mod poison;
pub mod pool;
pub mod protocol;
pub mod region;
mod reports;
mod select;
mod settings;
mod shadows;
mod strategy;
pub mod trainer;
mod travels;

pub use app::{Facts, Shard};
pub use reports::{AtClients, Report, Reports};
pub use settings::Params;
pub use strategy::{AppStrategy, StrategyParams};
pub use trainer::App;

use evaluator::ByApp;
use folkmoot_classifiers::attacks::n_rounds;
use folkmoot_classifiers::classifier::Parts;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::artifacts::JOBS;
use folkmoot_rounds::{self as rounds, Rounds, Watched};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use std::sync::Arc;
use travels::{FromApp, PART, PART_AGGREGATED};

/// Why clients are not hidden that send metrics.
const REPORTS: &str =
    "clients send metrics of @fm.evaluate_at_client, too, which no clip bounds; set evaluate_at_client_every: 0";

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<App, AtClients>;

    fn about(&self) -> About {
        About {
            rounds: Some(self.protocol.rounds),
            lints: self.protocol.without_effect(),
            headline: &["test_accuracy", "payload_bytes", "virtual_s"],
            split: Some(split_of(&self.split, "each client's items")),
            programs: vec![self.app.clone()],
            keeps: true,
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Facts::new(self, source, &["initial", "train"])
    }

    fn calibrate(&self, source: &Source<'_>, repeats: usize) -> Result<Option<Vec<f64>>, StrategyError> {
        let facts = self.facts(source)?;
        facts.app.calibrate(self, source, repeats).map(Some)
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let functions = &facts.app.functions;
        examples::unavailable(&self.attacks, functions, facts.task)?;
        let app = App::new(Arc::clone(&facts.app), facts.checked, self.dp_sgd.clone());
        let reports = functions.get("evaluate_at_client").is_some() && self.evaluate_at_client_every > 0;
        let is_part = facts.app.n_updated < facts.app.initial.len();
        if is_part && functions.get("aggregate").is_some() {
            return Err(StrategyError(PART_AGGREGATED.to_owned()));
        }
        let alone = match (reports, is_part) {
            (true, _) => Err(REPORTS),
            (false, true) => Err(PART),
            (false, false) => Ok(()),
        };
        let metrics = if reports { vec!["metrics"] } else { Vec::new() };
        let (selection, aggregator) = (app.selection(), app.aggregator());
        Rounds::new(app, self.protocol.clone())
            .selecting(selection)
            .aggregating(aggregator)
            .with_reports(rounds::Reports {
                // Any metric of `fm.Update`.
                cost: |_, _| Some(0.0),
                metric: |_, _, _, _| f32::NAN,
            })
            .with_payload(AtClients(reports.then_some(self.evaluate_at_client_every)))
            .personalised(Arc::new(FromApp::new(&self.protocol)))
            .sending_model_alone(alone)
            .sized_by_values(metrics)
            .hiding_items(examples::hides_items(functions, facts.is_graph_level))
            .with_items(Arc::new(poison::OfShards))
            .keeping(n_rounds(&self.attacks))
            .checked()
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError> {
        artifacts::suits(source.keep, &facts.app.functions)?;
        self.share_in(facts, rounds, (source, None))
    }
}

impl Params {
    /// As [`Algorithm::share`], with the items of each client in these parts if any are given.
    fn share_in(
        &self,
        facts: &Facts,
        rounds: &Rounds<App, AtClients>,
        (source, divided): (&Source<'_>, Option<&[Parts]>),
    ) -> Result<Shared<Rounds<App, AtClients>>, StrategyError> {
        let (working, shards) = facts.app.open(self, (source, divided), true)?;
        rounds.trainer().works(working);
        let shards = Arc::new(shards);
        Ok(Shared {
            evaluator: Box::new(Watched(ByApp::new(self, &shards, source))),
            shards: Box::new(Handed::new(shards, source.sizes())),
        })
    }
}

/// What each client is given.
struct Handed {
    shards: Arc<Vec<Shard>>,
    sizes: Vec<u64>,
}

impl Handed {
    fn new(shards: Arc<Vec<Shard>>, sizes: Vec<u64>) -> Handed {
        Handed { shards, sizes }
    }
}

impl<S: for<'a> Strategy<Shard<'a> = &'a Shard>> Shards<S> for Handed {
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
    registry.add_artifact_tables(&[JOBS]);
    registry.add_dataset::<flower::AppClients>()?;
    registry.add::<Params>()?;
    registry.add::<StrategyParams>()?;
    registry.add::<flower::Flower>()
}
