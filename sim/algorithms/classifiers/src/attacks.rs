//! What a training gives away, asked by attackers from above: parts that a card names in a
//! strategy's `attacks`.
//!
//! An [`Attack`] looks at what is [`Answering`] when a run is over, at what clients hold so that
//! its guesses can be scored, and writes numbers down. It sends nothing and changes nothing: a run
//! with attacks goes the way of the run without. What an attacker reaches is a lower bound of what
//! is given away, and stands beside what the same attacker reaches where nothing is given away.
//!
//! - **Whose model.** Where there is one model for all, it is asked. Where each client answers with
//!   one of its own, a card may say that those are asked (`attacked: Clients`): about an item, or a
//!   pair of nodes, the model of the client that holds it, as whoever uses that client's answers,
//!   or gets hold of its model, can. Those who read what the server was sent ask no model.
//! - **Signs are fixed.** An area below one half is worse than a coin, and says so.
//! - **Shadow models** are trained by the strategy itself: the whole run again, in the same world,
//!   on other training items, under a seed of its own. So whatever the strategy does to protect its
//!   clients, it does to the shadows too. Scores that would end the run (`stop`) are those of the
//!   shadow's own data.
//! - **What is found** is the true positive rate where at most 1 of 100 others pass; with fewer
//!   than 100 others it is left out.

mod answers;
mod client_linking;
mod evaluator;
mod gradient_inversion;
mod gradient_search;
mod likelihood_ratio;
mod link_stealing;
mod loss_threshold;
mod numbers;
#[cfg(test)]
mod search_tests;
mod taught_links;
mod terms;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod update_tests;

pub use answers::{Answers, Inverted, Item as AnsweredItem, Reads, Retrain};
pub use client_linking::ClientLinking;
pub(crate) use evaluator::doubt;
pub use evaluator::{RoundVictim, Victim, n_rounds, share, watch};
pub use gradient_inversion::GradientInversion;
pub use gradient_search::{Classes, Distance, GradientSearch};
pub use likelihood_ratio::{LikelihoodRatio, Variance};
pub use link_stealing::LinkStealing;
pub use loss_threshold::LossThreshold;
pub use numbers::Guesses;
pub use terms::TERMS;

use crate::classifier::{Classifier, Facts, Held, Parts, Query, Shard, Split};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_parts::{Component, component_type};
use folkmoot_rounds::Seen;
use folkmoot_scenarios::algorithm::Source;
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use loss_threshold::log_sum_exp;
use rayon::prelude::*;
use std::sync::Arc;

/// The share of others that may pass where what is found is counted.
pub const MOST_FALSE: f64 = 0.01;

/// Somebody who asks what a training gives away.
pub trait Attack: Send + Sync {
    /// Attacks, and writes down what is reached.
    ///
    /// # Errors
    ///
    /// When a shadow model cannot be trained.
    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError>;

    /// The parts of a training that it reads where that trains no network of this crate. Default: a
    /// network.
    fn reads(&self) -> Reads {
        Reads::Network
    }

    /// Attacks such a training by its answers, and writes down the same numbers. Only asked for
    /// what [`reads`](Self::reads) names. Default: nothing is written down.
    ///
    /// # Errors
    ///
    /// When a shadow model cannot be trained.
    fn attack_answers(&self, _answers: &Answers<'_>, _sheet: &mut Sheet) -> Result<(), StrategyError> {
        Ok(())
    }

    /// Whether it has anything to ask of such a network and data. Default: yes.
    ///
    /// # Errors
    ///
    /// Why not, and what to do.
    fn suits(&self, _classifier: &Classifier, _facts: &Facts) -> Result<(), StrategyError> {
        Ok(())
    }

    /// Whether it reads classes, so that data with labels or numbers to learn are refused. Default:
    /// yes.
    fn reads_classes(&self) -> bool {
        true
    }

    /// Of how many of the last rounds it reads what the server was sent; the server keeps that
    /// much. Default: 0.
    fn n_rounds(&self) -> u32 {
        0
    }

    /// Scores the server's model after a round that is evaluated, on what clients hold: a curve,
    /// which a card may give a target. Not called where there is no such model, or where clients
    /// answer from what they are told. Default: nothing is written down.
    fn after_round(&self, _present: &Present<'_>, _sheet: &mut Sheet) {}

    /// What its numbers mean. Those that have terms can be a card's headline, targets and figures,
    /// and `explain` knows them. Default: nothing is said of them.
    fn terms() -> Vec<Term>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

component_type!(Attack, "attack", LossThreshold {});

/// Adds an attack, or another evaluator of trained classifiers, with what its numbers mean.
///
/// # Errors
///
/// When its name is taken.
pub fn add_attack<P: Component + Attack>(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn Attack, P>()?;
    registry.add_terms::<dyn Attack>(P::terms());
    Ok(())
}

/// The data of a run, as they were shared out.
struct Data {
    dataset: Arc<Dataset>,
    partition: Arc<Partition>,
    streams: Streams,
    split: Split,
    held: Arc<Held>,
    divided: Vec<Parts>,
}

impl Data {
    fn source(&self) -> Source<'_> {
        Source::new(&self.dataset, &self.partition, self.streams)
    }
}

/// The models that are asked.
#[derive(Clone, Debug)]
pub enum Models {
    One(Vec<f32>),
    /// One for each client, about what it holds.
    OfClients(Vec<Vec<f32>>),
    /// Some that answer together, by the mean of their probabilities of classes. Client `k` trains
    /// the one at `k` modulo their number.
    Together(Vec<Vec<f32>>),
}

impl Models {
    /// That which is asked about what a client holds; of those that answer together, that which the
    /// client trains.
    pub fn of(&self, client: usize) -> &[f32] {
        match self {
            Models::One(model) => model,
            Models::OfClients(models) => &models[client],
            Models::Together(models) => &models[client % models.len()],
        }
    }

    /// Their answers to what a client holds of `items`; of several that answer together, the
    /// logarithms of their mean probabilities.
    fn answers(&self, classifier: &Classifier, (client, shard): (usize, &Shard), items: &[u32]) -> Vec<Query> {
        let Models::Together(models) = self else {
            return classifier.asked(shard, items, self.of(client));
        };
        let of_each = models.iter().map(|model| classifier.asked(shard, items, model));
        let of_each: Vec<Vec<Query>> = of_each.collect();
        let one = |at: usize| {
            let logits = of_each.iter().map(|asked| &asked[at].logits);
            let logs: Vec<Vec<f64>> = logits.map(|logits| log_probabilities(logits)).collect();
            let mean = |class: usize| {
                let all = logs.iter().map(|logs| logs[class]);
                log_sum_exp(all) - libm::log(models.len() as f64)
            };
            let Query { item, class, .. } = of_each[0][at];
            Query {
                item,
                class,
                logits: (0..classifier.network().n_classes()).map(mean).collect(),
                truth: Vec::new(),
            }
        };
        (0..of_each.first().map_or(0, Vec::len)).map(one).collect()
    }
}

/// The logarithms of the probabilities of classes.
fn log_probabilities(logits: &[f64]) -> Vec<f64> {
    let sum = log_sum_exp(logits.iter().copied());
    logits.iter().map(|logit| logit - sum).collect()
}

/// What answers when a run is over.
pub struct Answering {
    /// The models that are asked.
    pub models: Models,
    /// What clients look at when these answer: what they hold, with what they were told of others'
    /// or have made up behind it.
    pub known: Arc<Held>,
}

/// The training of shadow models on other data: what clients hold, of which data, and the seed.
type Train<'a> = dyn Fn(&Arc<Held>, &Source<'_>, u64) -> Result<Answering, StrategyError> + Sync + 'a;

/// What an attack is made on.
pub struct Target<'a> {
    /// The network, and how it is trained.
    pub classifier: &'a Classifier,
    /// The models that are asked when the run is over.
    pub last: &'a Answering,
    /// A model that nobody has trained.
    pub first: &'a Answering,
    /// What the server was sent in the last rounds, the oldest first: of as many as some attack
    /// asks for.
    pub seen: &'a [Seen],
    data: &'a Data,
    train: &'a Train<'a>,
}

/// What can be scored after a round.
pub struct Present<'a> {
    /// The network, and how it is trained.
    pub classifier: &'a Classifier,
    pub model: &'a [f32],
    data: &'a Data,
}

impl Present<'_> {
    /// The data of the run.
    pub fn dataset(&self) -> &Dataset {
        &self.data.dataset
    }

    /// Which of its items each client has.
    pub fn partition(&self) -> &Partition {
        &self.data.partition
    }

    /// What clients hold of them, ready for the network.
    pub fn held(&self) -> &Held {
        &self.data.held
    }
}

/// An item whose membership attackers guess.
pub struct PoolItem {
    /// 0 where no classes are learned.
    pub class: u32,
    /// It is a training item of its client.
    pub trains: bool,
}

impl Target<'_> {
    /// The data of the run.
    pub fn dataset(&self) -> &Dataset {
        &self.data.dataset
    }

    /// Which of its items each client has.
    pub fn partition(&self) -> &Partition {
        &self.data.partition
    }

    /// What clients hold of them, ready for the network.
    pub fn held(&self) -> &Held {
        &self.data.held
    }

    /// Whether attackers are asked about an item: about all, or about those that are to be forgotten
    /// and those that are marked alike.
    pub(crate) fn is_asked(&self, client: usize, item: u32) -> bool {
        let forgotten = self.classifier.forgotten();
        forgotten.is_none_or(|forgotten| forgotten.marks(client as u32, item, self.data.streams))
    }

    /// The answers of models to all labelled items that attackers are asked about: clients
    /// ascending, their items ascending.
    pub fn queries(&self, answering: &Answering) -> Vec<Query> {
        let of_client = |(client, shard)| {
            let items = self.partition().shard(client);
            let mut asked = answering.models.answers(self.classifier, (client, shard), items);
            asked.retain(|query| self.is_asked(client, query.item));
            asked
        };
        let shards = answering.known.shards().par_iter();
        let all: Vec<Vec<Query>> = shards.enumerate().map(of_client).collect();
        all.into_iter().flatten().collect()
    }

    /// The same items, and which of them train.
    pub fn pool(&self) -> Vec<PoolItem> {
        let asked = self.queries(self.first);
        let mut asked = asked.iter();
        let of_client = |(client, parts): (usize, &Parts)| -> Vec<PoolItem> {
            let n = parts
                .iter()
                .flatten()
                .filter(|item| self.is_asked(client, **item))
                .count();
            let items = asked.by_ref().take(n);
            items
                .map(|asked| PoolItem {
                    class: asked.class,
                    trains: parts[0].binary_search(&asked.item).is_ok(),
                })
                .collect()
        };
        self.data.divided.iter().enumerate().flat_map(of_client).collect()
    }
}
