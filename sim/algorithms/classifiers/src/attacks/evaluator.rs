//! Attacks beside an evaluator: what they are given, and how shadow models are trained.

use super::{Answering, Attack, Data, Models, Present, Target};
use crate::classifier::{Classifier, Facts, Held, Split, Task};
use crate::keep::{self, Left};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Broken, Chosen};
use folkmoot_rounds::{Exchange, RoundEnd, Rounds, Seen, SidePayload, Trainer, is_evaluated};
use folkmoot_scenarios::algorithm::Keep;
use folkmoot_scenarios::algorithm::{Shared, Source};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// A system that attacks can be made on: it trains a classifier.
pub trait Victim: Strategy {
    fn classifier(&self) -> &Classifier;

    /// What clients are given who hold `held` of these data, and what watches them.
    ///
    /// # Errors
    ///
    /// When the data do not suit the system.
    fn shared(&self, held: &Arc<Held>, source: &Source<'_>) -> Result<Shared<Self>, StrategyError>;

    /// What a client looks at when it answers at the end of a run, of clients that hold `held` of
    /// these data: what it holds and has been told.
    fn known(&self, end: &End<'_, Self>, held: &Arc<Held>, source: &Source<'_>) -> Arc<Held>;

    /// The models that are asked when a run is over, of clients that know this; nothing where there
    /// is none.
    fn asked(&self, end: &End<'_, Self>, known: &Held) -> Option<Models>;

    /// A model that nobody has trained.
    fn untrained(&self, end: &End<'_, Self>) -> Option<Models>;

    /// What the server was sent in the last rounds, the oldest first. Default: it is sent nothing.
    fn seen<'a>(&self, _end: &'a End<'_, Self>) -> &'a [Seen] {
        &[]
    }

    /// Whether what is asked, or known, is looked up at the clients.
    fn asks_clients(&self) -> bool;

    /// The models that a run leaves, of clients that know this. Default: those that are asked.
    fn left(&self, end: &End<'_, Self>, known: &Held) -> Left {
        self.asked(end, known).into()
    }

    /// The server's model after a round that is evaluated, if clients answer from what they hold
    /// alone. Default: there is none.
    fn present<'a>(&self, _ended: &'a Ended<'_, Self>) -> Option<Cow<'a, [f32]>> {
        None
    }
}

/// The same for a training in rounds.
pub trait RoundVictim<P: SidePayload<Self> = (), X: Exchange<Self> = ()>: Trainer + AsRef<Classifier> {
    /// What clients are given who hold `held` of these data, and what watches them.
    ///
    /// # Errors
    ///
    /// When the data do not suit the training.
    fn shared(&self, held: &Arc<Held>, source: &Source<'_>) -> Result<Shared<Rounds<Self, P, X>>, StrategyError>;

    /// What clients look at when they answer. Default: what they hold.
    fn known(&self, _end: &RoundEnd<'_, Self, P, X>, held: &Arc<Held>, _source: &Source<'_>) -> Arc<Held> {
        Arc::clone(held)
    }

    /// The server's classifier of its parameters, if it has a whole one. Default: these are one.
    fn model<'p>(&self, parameters: &'p [f32]) -> Option<Cow<'p, [f32]>> {
        Some(Cow::Borrowed(parameters))
    }

    /// The models that are asked when a run is over, of clients that know this. Default: the
    /// server's.
    fn asked(&self, end: &RoundEnd<'_, Self, P, X>, _known: &Held) -> Option<Models> {
        self.model(end.parameters).map(|model| Models::One(model.into_owned()))
    }

    /// A model that nobody has trained. Default: the server's before the first round.
    fn untrained(&self, end: &RoundEnd<'_, Self, P, X>) -> Option<Models> {
        let first = end.first_model();
        self.model(&first).map(|model| Models::One(model.into_owned()))
    }

    /// Whether [`asked`](Self::asked) or [`known`](Self::known) looks at what clients have kept.
    /// Default: no.
    fn asks_clients(&self) -> bool {
        false
    }

    /// The models that clients answer with where these are their own, of clients that know this.
    /// Default: there are none.
    fn own_models(&self, _end: &RoundEnd<'_, Self, P, X>, _known: &Held) -> Option<Vec<Vec<f32>>> {
        None
    }

    /// Whether clients answer from what they hold alone, and not from what they are told or make.
    /// Default: yes.
    fn answers_from_held(&self) -> bool {
        true
    }
}

impl<R: RoundVictim<P, X>, P: SidePayload<R>, X: Exchange<R>> Victim for Rounds<R, P, X> {
    fn classifier(&self) -> &Classifier {
        self.trainer().as_ref()
    }

    fn shared(&self, held: &Arc<Held>, source: &Source<'_>) -> Result<Shared<Self>, StrategyError> {
        self.trainer().shared(held, source)
    }

    fn known(&self, end: &End<'_, Self>, held: &Arc<Held>, source: &Source<'_>) -> Arc<Held> {
        self.trainer().known(&RoundEnd::of(end), held, source)
    }

    fn asked(&self, end: &End<'_, Self>, known: &Held) -> Option<Models> {
        self.trainer().asked(&RoundEnd::of(end), known)
    }

    fn untrained(&self, end: &End<'_, Self>) -> Option<Models> {
        self.trainer().untrained(&RoundEnd::of(end))
    }

    fn seen<'a>(&self, end: &'a End<'_, Self>) -> &'a [Seen] {
        RoundEnd::of(end).seen()
    }

    fn asks_clients(&self) -> bool {
        self.trainer().asks_clients()
    }

    fn left(&self, end: &End<'_, Self>, known: &Held) -> Left {
        let end = RoundEnd::of(end);
        Left {
            server: self.trainer().model(end.parameters).map(Cow::into_owned),
            own: self.trainer().own_models(&end, known),
        }
    }

    fn present<'a>(&self, ended: &'a Ended<'_, Self>) -> Option<Cow<'a, [f32]>> {
        match is_evaluated(ended) && self.trainer().answers_from_held() {
            true => self.trainer().model(ended.server.parameters()),
            false => None,
        }
    }
}

/// Of how many of the last rounds the server is to keep what it was sent.
pub fn n_rounds(attacks: &[Chosen<dyn Attack>]) -> u32 {
    attacks.iter().map(|attack| attack.n_rounds()).max().unwrap_or(0)
}

/// What is hardly meant: a choice of whose model is asked where nobody asks.
pub(crate) fn doubt(attacks: &[Chosen<dyn Attack>], is_chosen: bool) -> Option<Broken> {
    (is_chosen && attacks.is_empty()).then(|| Broken {
        path: "attacked".to_owned(),
        rule: "has no effect without attacks; omit it, or list attacks".to_owned(),
    })
}

/// Shares the data out, as [`Algorithm::share`](folkmoot_scenarios::algorithm::Algorithm::share),
/// for a system that `attacks` are made on.
///
/// # Errors
///
/// As [`Classifier::share`] and [`Victim::shared`], and when an attack does not suit the data.
pub fn share<S: Victim>(
    strategy: &S,
    attacks: &[Chosen<dyn Attack>],
    facts: &Facts,
    (split, source): (Split, &Source<'_>),
) -> Result<Shared<S>, StrategyError> {
    let classifier = strategy.classifier();
    let held = classifier.share(split, source)?;
    let shared = strategy.shared(&held, source)?;
    watch(shared, attacks, (classifier, facts, held), (split, source))
}

/// The same data watched as before and attacked; without any attack they are as they were.
///
/// # Errors
///
/// When an attack does not suit the data.
pub fn watch<S: Victim>(
    shared: Shared<S>,
    attacks: &[Chosen<dyn Attack>],
    (classifier, facts, held): (&Classifier, &Facts, Arc<Held>),
    (split, source): (Split, &Source<'_>),
) -> Result<Shared<S>, StrategyError> {
    if attacks.is_empty() && source.keep.is_empty() {
        return Ok(shared);
    }
    for (i, attack) in attacks.iter().enumerate() {
        let named = |StrategyError(why)| StrategyError(format!("attacks.{i}: {why}"));
        attack.suits(classifier, facts).map_err(named)?;
        if attack.reads_classes() && facts.task != Task::Classes {
            return Err(named(StrategyError(
                "it attacks models of one class per item, and this data set has labels or numbers to learn; leave it out, or choose \
                 a set with classes"
                    .to_owned(),
            )));
        }
    }
    let data = Data {
        dataset: Arc::clone(source.dataset),
        partition: Arc::clone(source.partition),
        streams: source.streams,
        split,
        divided: classifier.divided(split, source)?,
        held,
    };
    let evaluator = Attacked {
        inner: shared.evaluator,
        attacks: attacks.to_vec(),
        keep: source.keep.to_vec(),
        data,
    };
    Ok(Shared {
        shards: shared.shards,
        evaluator: Box::new(evaluator),
    })
}

/// An evaluator, with attacks and what is kept at the end.
struct Attacked<S: Strategy> {
    inner: Box<dyn Evaluator<S>>,
    attacks: Vec<Chosen<dyn Attack>>,
    keep: Vec<Keep>,
    data: Data,
}

impl<S: Victim> Evaluator<S> for Attacked<S> {
    fn see(&self, sight: S::Sight, count: &mut dyn FnMut(usize, u64)) {
        self.inner.see(sight, count);
    }

    fn overhear(&self, heard: &Heard<'_, S>) {
        self.inner.overhear(heard);
    }

    fn after_round(&self, round: &Ended<'_, S>, sheet: &mut Sheet) {
        self.inner.after_round(round, sheet);
        if self.attacks.is_empty() {
            return;
        }
        let Some(model) = round.strategy.present(round) else {
            return;
        };
        let present = Present {
            classifier: round.strategy.classifier(),
            model: &model,
            data: &self.data,
        };
        for attack in &self.attacks {
            attack.after_round(&present, sheet);
        }
    }

    fn reads_clients(&self, strategy: &S) -> bool {
        self.inner.reads_clients(strategy) || strategy.asks_clients()
    }

    fn controls(&self, strategy: &S, sheet: &mut Sheet) {
        self.inner.controls(strategy, sheet);
    }

    fn at_end(&self, end: &End<'_, S>, sheet: &mut Sheet) {
        self.inner.at_end(end, sheet);
        if self.keep.contains(&Keep::Assignment) {
            keep::assignment(&self.data.partition, &self.data.divided, sheet);
        }
    }

    fn scores(&self, end: &End<'_, S>, sheet: &mut Sheet) {
        self.inner.scores(end, sheet);
        let (strategy, world, data) = (end.strategy, end.setup.world, &self.data);
        self.keep_models(end, sheet);
        if self.attacks.is_empty() {
            return;
        }
        let last = answering(end, &data.held, &data.source());
        let (Some(first), Some(last)) = (strategy.untrained(end), last) else {
            sheet.warn(
                "nobody was attacked: the server has no whole model that can be asked; with strategy.attacked: Clients those are \
                 asked that clients answer with",
            );
            return;
        };
        let first = Answering {
            models: first,
            known: Arc::clone(&last.known),
        };
        let target = Target {
            classifier: strategy.classifier(),
            data,
            first: &first,
            last: &last,
            seen: strategy.seen(end),
            train: &|held, source, seed| train(strategy, world, (held, source), seed),
        };
        for attack in &self.attacks {
            if let Err(StrategyError(why)) = attack.attack(&target, sheet) {
                sheet.warn(format!("the attack {} was not made: {why}", attack.text()));
            }
        }
    }

    fn expected_messages(
        &self,
        strategy: &S,
        setup: &Setup<'_>,
        kind: Kind,
        round: Round,
        direction: Direction,
    ) -> Option<f64> {
        self.inner.expected_messages(strategy, setup, kind, round, direction)
    }
}

impl<S: Victim> Attacked<S> {
    /// Leaves the models and their answers, where these are kept.
    fn keep_models(&self, end: &End<'_, S>, sheet: &mut Sheet) {
        let (strategy, data) = (end.strategy, &self.data);
        let keeps = |what| self.keep.contains(&what);
        if !keeps(Keep::Model) && !keeps(Keep::Predictions) {
            return;
        }
        let known = strategy.known(end, &data.held, &data.source());
        let left = strategy.left(end, &known);
        if keeps(Keep::Model) {
            keep::models(&left, strategy.classifier().network().layout(), sheet);
        }
        if keeps(Keep::Predictions) {
            let classifier = strategy.classifier();
            keep::predictions(&left, (classifier, &known), (&data.partition, &data.divided), sheet);
        }
    }
}

/// What a run of clients that hold this leaves to be asked.
fn answering<S: Victim>(end: &End<'_, S>, held: &Arc<Held>, source: &Source<'_>) -> Option<Answering> {
    let known = end.strategy.known(end, held, source);
    let models = end.strategy.asked(end, &known)?;
    Some(Answering { models, known })
}

/// What a whole run of the same strategy in the same world leaves of clients that hold this.
fn train<S: Victim>(
    strategy: &S,
    world: &World,
    (held, source): (&Arc<Held>, &Source<'_>),
    seed: u64,
) -> Result<Answering, StrategyError> {
    let Shared { shards, evaluator } = strategy.shared(held, source)?;
    let may_stop = !world.stop.at.is_empty() || world.stop.diverged;
    let shadow = Shadow {
        scores: may_stop.then_some(evaluator),
        held,
        source,
        left: Mutex::new(None),
    };
    let system = System {
        strategy,
        shards: &*shards,
        evaluator: &shadow,
    };
    let failed = |error: RunError| StrategyError(format!("a shadow model could not be trained: {error}"));
    run(system, world, seed, Options::default(), &mut Unobserved).map_err(failed)?;
    let left = shadow.left.into_inner().unwrap_or_else(PoisonError::into_inner);
    left.ok_or_else(|| StrategyError("a shadow model could not be trained: its run has no end".to_owned()))
}

/// Keeps what a run leaves, and scores its rounds only where that may end it.
struct Shadow<'a, S: Strategy> {
    scores: Option<Box<dyn Evaluator<S>>>,
    held: &'a Arc<Held>,
    source: &'a Source<'a>,
    left: Mutex<Option<Answering>>,
}

impl<S: Victim> Evaluator<S> for Shadow<'_, S> {
    fn after_round(&self, round: &Ended<'_, S>, sheet: &mut Sheet) {
        if let Some(scores) = &self.scores {
            scores.after_round(round, sheet);
        }
    }

    fn reads_clients(&self, strategy: &S) -> bool {
        strategy.asks_clients()
    }

    fn at_end(&self, end: &End<'_, S>, _: &mut Sheet) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = answering(end, self.held, self.source);
    }
}
