//! Shadow models: the whole training of an app once more, in the same world, on other training
//! items.

use crate::examples::predicted;
use crate::poison::Version;
use crate::reports::AtClients;
use crate::settings::Params;
use crate::trainer::App;
use folkmoot_classifiers::classifier::{Parts, Query};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_rounds::{RoundEnd, Rounds};
use folkmoot_scenarios::algorithm::{Algorithm, Files, Shared, Source};
use std::sync::{Arc, Mutex, PoisonError};

/// What shadow models are trained with.
pub(crate) struct Shadows {
    params: Params,
    dataset: Arc<Dataset>,
    partition: Arc<Partition>,
    files: Files,
}

impl Shadows {
    pub(crate) fn new(params: &Params, source: &Source<'_>) -> Shadows {
        Shadows {
            params: Params {
                attacks: Vec::new(),
                workers: Some(1),
                ..params.clone()
            },
            dataset: Arc::clone(source.dataset),
            partition: Arc::clone(source.partition),
            files: source.files.clone(),
        }
    }

    /// The answers to each client's labelled items of a model that these parts have trained.
    ///
    /// # Errors
    ///
    /// When the app or its run fails.
    pub(crate) fn train(&self, world: &World, divided: &[Parts], seed: u64) -> Result<Vec<Vec<Query>>, StrategyError> {
        let streams = Streams::new(seed);
        let source = Source {
            files: &self.files,
            ..Source::new(&self.dataset, &self.partition, streams)
        };
        let facts = self.params.facts(&source)?;
        let rounds = self.params.build(&facts)?;
        let Shared { shards, evaluator } = self.params.share_in(&facts, &rounds, (&source, Some(divided)))?;
        let may_stop = !world.stop.at.is_empty() || world.stop.diverged;
        let last = Last {
            scores: may_stop.then_some(evaluator),
            model: Mutex::new(Vec::new()),
        };
        let system = System {
            strategy: &rounds,
            shards: &*shards,
            evaluator: &last,
        };
        let failed = |error: RunError| StrategyError(format!("a shadow model could not be trained: {error}"));
        run(system, world, seed, Options::default(), &mut Unobserved).map_err(failed)?;
        let model = last.model.into_inner().unwrap_or_else(PoisonError::into_inner);
        predicted(rounds.trainer().working()?, &model, divided, (Version::Own, streams))
    }
}

/// Keeps the last model of a run, and scores its rounds only where that may end it.
struct Last {
    scores: Option<Box<dyn Evaluator<Rounds<App, AtClients>>>>,
    model: Mutex<Vec<f32>>,
}

impl Evaluator<Rounds<App, AtClients>> for Last {
    fn after_round(&self, round: &Ended<'_, Rounds<App, AtClients>>, sheet: &mut Sheet) {
        if let Some(scores) = &self.scores {
            scores.after_round(round, sheet);
        }
    }

    fn reads_clients(&self, _: &Rounds<App, AtClients>) -> bool {
        false
    }

    fn at_end(&self, end: &End<'_, Rounds<App, AtClients>>, _: &mut Sheet) {
        *self.model.lock().unwrap_or_else(PoisonError::into_inner) = RoundEnd::of(end).parameters.to_vec();
    }
}
