//! Attacks beside a study: what they are given, and how shadow models are trained.

use super::{Attack, Data, Models, Target};
use crate::classifier::{Classifier, Facts, Handed, Held, Shard, Split};
use crate::rounds::{RoundEnd, RoundStrategy, RoundStudy, Rounds, Watched};
use crate::settings::{Shared, Source};
use folkmoot_engine::prelude::*;
use folkmoot_parts::Chosen;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// A training that attacks can be made on: it has a classifier at the server.
pub(crate) trait Victim: RoundStrategy + for<'a> RoundStrategy<Shard<'a> = &'a Shard> {
    /// The network.
    fn classifier(&self) -> &Classifier;

    /// The server's classifier of its parameters, if it has a whole one. Default: these are one.
    fn model<'p>(&self, parameters: &'p [f32]) -> Option<Cow<'p, [f32]>> {
        Some(Cow::Borrowed(parameters))
    }

    /// The models that are asked when a run is over, of clients that hold `held`. Default: the server's.
    fn asked(&self, end: &RoundEnd<'_, Self>, _held: &Held) -> Option<Models> {
        self.model(end.parameters).map(|model| Models::One(model.into_owned()))
    }

    /// A model that nobody has trained. Default: the server's before the first round.
    fn untrained(&self, end: &RoundEnd<'_, Self>) -> Option<Models> {
        let first = end.first_model();
        self.model(&first).map(|model| Models::One(model.into_owned()))
    }

    /// Whether [`asked`](Self::asked) looks at what clients have kept. Default: no.
    fn asks_clients(&self) -> bool {
        false
    }
}

/// Of how many of the last rounds the server is to keep what it was sent.
pub(crate) fn n_rounds(attacks: &[Chosen<dyn Attack>]) -> u32 {
    attacks.iter().map(|attack| attack.n_rounds()).max().unwrap_or(0)
}

/// What a strategy shares out, watched by `inner` and attacked by `attacks`; without any the study is `inner` alone.
///
/// # Errors
///
/// When an attack does not suit the data.
pub(crate) fn watch<R: Victim, T: RoundStudy<R> + 'static>(
    inner: T,
    attacks: &[Chosen<dyn Attack>],
    (classifier, facts, held): (&Classifier, &Facts, Arc<Held>),
    (split, source): (Split, &Source<'_>),
) -> Result<Shared<Rounds<R>>, StrategyError> {
    let shards = Box::new(Handed(Arc::clone(&held)));
    if attacks.is_empty() {
        return Ok(Shared {
            shards,
            study: Box::new(Watched(inner)),
        });
    }
    for (i, attack) in attacks.iter().enumerate() {
        let named = |StrategyError(why)| StrategyError(format!("attacks.{i}: {why}"));
        attack.suits(classifier, facts).map_err(named)?;
    }
    let data = Data {
        dataset: Arc::clone(source.dataset),
        partition: Arc::clone(source.partition),
        streams: source.streams,
        split,
        divided: classifier.divided(split, source)?,
        held,
    };
    let attacks = attacks.to_vec();
    Ok(Shared {
        shards,
        study: Box::new(Watched(Attacked { inner, attacks, data })),
    })
}

/// A study, and attacks at the end.
struct Attacked<T> {
    inner: T,
    attacks: Vec<Chosen<dyn Attack>>,
    data: Data,
}

impl<R: Victim, T: RoundStudy<R>> RoundStudy<R> for Attacked<T> {
    fn after_round(&self, task: &R, round: Round, parameters: &[f32], sheet: &mut Sheet) {
        self.inner.after_round(task, round, parameters, sheet);
    }

    fn reads_clients(&self, task: &R) -> bool {
        self.inner.reads_clients(task) || task.asks_clients()
    }

    fn at_end(&self, end: &RoundEnd<'_, R>, sheet: &mut Sheet) {
        self.inner.at_end(end, sheet);
        if end.is_dry() {
            return;
        }
        let models = (end.task.untrained(end), end.task.asked(end, &self.data.held));
        let (Some(first), Some(last)) = models else {
            sheet.warn(
                "nobody was attacked: the server has no whole model that can be asked; with strategy.attacked: Clients those are \
                 asked that clients answer with",
            );
            return;
        };
        let (rounds, world) = (end.run.strategy, end.run.setup.world);
        let target = Target {
            classifier: end.task.classifier(),
            data: &self.data,
            first: &first,
            last: &last,
            seen: end.seen(),
            train: &|held, seed| train(rounds, world, held, seed),
        };
        for attack in &self.attacks {
            if let Err(StrategyError(why)) = attack.attack(&target, sheet) {
                sheet.warn(format!("the attack {} was not made: {why}", attack.text()));
            }
        }
    }
}

/// The last models of a whole run of the same strategy in the same world on what `held` says.
fn train<R: Victim>(rounds: &Rounds<R>, world: &World, held: &Arc<Held>, seed: u64) -> Result<Models, StrategyError> {
    let last = Arc::new(Mutex::new(None));
    let system = System {
        strategy: rounds,
        shards: &Handed(Arc::clone(held)),
        study: &Watched(Shadow {
            scores: !world.stop.at.is_empty() || world.stop.diverged,
            held: Arc::clone(held),
            last: Arc::clone(&last),
        }),
    };
    let failed = |error: RunError| StrategyError(format!("a shadow model could not be trained: {error}"));
    run(system, world, seed, Options::default(), &mut Unobserved).map_err(failed)?;
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.take()
        .ok_or_else(|| StrategyError("a shadow model could not be trained: its run has no end".to_owned()))
}

/// Keeps the last models of a run, and scores the server's only where that may end the run.
struct Shadow {
    scores: bool,
    held: Arc<Held>,
    last: Arc<Mutex<Option<Models>>>,
}

impl<R: Victim> RoundStudy<R> for Shadow {
    fn after_round(&self, task: &R, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        if let (true, Some(model)) = (self.scores, task.model(parameters)) {
            task.classifier().score(&self.held, &model, sheet);
        }
    }

    fn reads_clients(&self, task: &R) -> bool {
        task.asks_clients()
    }

    fn at_end(&self, end: &RoundEnd<'_, R>, _: &mut Sheet) {
        let models = end.task.asked(end, &self.held);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = models;
    }
}
