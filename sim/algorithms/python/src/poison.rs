//! Training items that malicious clients have changed, and what a trained model is tried with: as
//! shards of their own, beside those of the clients.
//!
//! Of `n` clients the shard `c` is client `c`'s, `n + c` what it trains on while it attacks, and
//! `2 n + c` what a model is tried with on its test items.

use crate::app::Working;
use crate::data::Reading;
use crate::examples::predicted;
use crate::trainer::App;
use folkmoot_classifiers::classifier::{
    Changes, FARING, KnownItems, OTHER_TASK, Parts, Poisoning, Query, TERMS, Task, WITHOUT_TRIGGER,
};
use folkmoot_draws::{SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::key::score_name;
use folkmoot_rounds::{Items, Malicious, Trainer};
use folkmoot_scenarios::algorithm::Source;
use serde_json::Value;
use std::sync::Arc;

const SUCCESS: &str = "attack_success";
const PREDICT: &str =
    "protocol.malicious.adversary: its success is what a model answers about items; add @fm.predict to the app";
const OWN_DATA: &str = "protocol.malicious.adversary: it changes items of shards, and the app has @fm.client_data in their place; use an \
                        adversary that changes updates";

/// Which of the three shards of a client one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Own,
    Poisoned,
    Tried,
}

impl Version {
    /// The version of a shard, and its client, of so many.
    pub(crate) fn of(shard: u32, n_clients: u32) -> (Version, u32) {
        let version = match shard / n_clients {
            0 => Version::Own,
            1 => Version::Poisoned,
            _ => Version::Tried,
        };
        (version, shard % n_clients)
    }

    pub(crate) fn shard(self, client: u32, n_clients: u32) -> u32 {
        client + n_clients * self as u32
    }
}

/// Who changes items, and how.
#[derive(Clone)]
pub(crate) struct Poisoned {
    poisoning: Arc<Poisoning>,
    /// Ascending.
    malicious: Vec<u32>,
}

impl Poisoned {
    /// `None` if the adversary changes no items.
    ///
    /// # Errors
    ///
    /// When the adversary does not suit the data or the app.
    pub(crate) fn new(
        malicious: &Malicious,
        functions: &Value,
        task: Task,
        (reading, source): (&Reading<'_>, &Source<'_>),
    ) -> Result<Option<Poisoned>, StrategyError> {
        if malicious.poison().is_none() {
            return Ok(None);
        }
        let refused = |why: &str| Err(StrategyError(why.to_owned()));
        if functions.get("client_data").is_some() {
            return refused(OWN_DATA);
        }
        if task != Task::Classes {
            return refused(OTHER_TASK);
        }
        let dataset = source.dataset;
        let what = (dataset.is_graph_level(), reading.n_features());
        let poisoning = Poisoning::new(malicious, dataset.n_classes as u32, what, source.streams)?;
        let leads = poisoning
            .as_ref()
            .is_some_and(|poisoning| poisoning.tried_for().is_some());
        if leads && functions.get("predict").is_none() {
            return refused(PREDICT);
        }
        Ok(poisoning.map(|poisoning| Poisoned {
            poisoning: Arc::new(poisoning),
            malicious: malicious.drawn(&source.sizes(), source.streams),
        }))
    }

    /// The shards besides those of `n` clients.
    pub(crate) fn shards(&self, n_clients: u32) -> Vec<u32> {
        let poisoned = self
            .malicious
            .iter()
            .map(|client| Version::Poisoned.shard(*client, n_clients));
        let tried = (0..n_clients).map(|client| Version::Tried.shard(client, n_clients));
        let n_tried = if self.poisoning.tried_for().is_some() {
            n_clients
        } else {
            0
        };
        poisoned.chain(tried.take(n_tried as usize)).collect()
    }

    /// What a shard has of a client whose items are in these parts, and what is other in it.
    pub(crate) fn shard(
        &self,
        (version, client): (Version, u32),
        parts: Parts,
        reading: &Reading<'_>,
    ) -> (Parts, Changes) {
        let known = KnownItems {
            class: &|item| reading.class(item),
            graphs: reading.graphs_of_set(),
        };
        let place = || self.malicious.binary_search(&client).unwrap_or_default();
        let [train, _, test] = &parts;
        match version {
            Version::Own => (parts, Changes::default()),
            Version::Poisoned => {
                let changes = self.poisoning.changes((place(), client), train, known);
                (parts, changes)
            }
            Version::Tried => {
                let tried = self.poisoning.tried(client, test.clone(), known);
                let (test, changes) = tried.unwrap_or_default();
                ([train.clone(), Vec::new(), test], changes)
            }
        }
    }

    pub(crate) fn malicious(&self) -> &[u32] {
        &self.malicious
    }

    /// The share of test items that lead to the adversary's class, and how many they are: with what
    /// is planted in them, or without.
    fn success(
        &self,
        working: &Working,
        parameters: &[f32],
        (version, streams): (Version, Streams),
    ) -> Result<Option<(f64, u64)>, StrategyError> {
        if self.poisoning.tried_for().is_none() {
            return Ok(None);
        }
        let divided = working.divided_in(version)?;
        let asked = predicted(working, parameters, &divided, (version, streams))?;
        let of_client = |(asked, [_, _, test]): (&Vec<Query>, &Parts)| {
            let tested = asked.iter().filter(|query| test.binary_search(&query.item).is_ok());
            let hit = |query: &Query| self.poisoning.succeeds(query.class, query.answer());
            tested.filter_map(hit).collect::<Vec<bool>>()
        };
        let hits = asked.iter().zip(&divided).flat_map(of_client);
        let [hits, n] = hits.fold([0, 0], |[hits, n], hit| [hits + u64::from(hit), n + 1]);
        Ok((n > 0).then(|| (hits as f64 / n as f64, n)))
    }

    /// Writes down how often a model is deceived, after a round.
    pub(crate) fn score(
        &self,
        working: &Working,
        parameters: &[f32],
        streams: Streams,
        sheet: &mut Sheet,
    ) -> Result<(), StrategyError> {
        if let Some((value, n)) = self.success(working, parameters, (Version::Tried, streams))? {
            sheet.score("test", SUCCESS, value, n);
        }
        Ok(())
    }

    /// Writes down how often the last model is deceived, beside its answers without a trigger.
    pub(crate) fn conclude(
        &self,
        working: &Working,
        parameters: &[f32],
        streams: Streams,
        sheet: &mut Sheet,
    ) -> Result<(), StrategyError> {
        let name = score_name("test", SUCCESS);
        if let Some((value, _)) = self.success(working, parameters, (Version::Tried, streams))? {
            sheet.number(&*name, value);
        }
        let without = match self.poisoning.has_trigger() {
            true => self.success(working, parameters, (Version::Own, streams))?,
            false => None,
        };
        if let Some((value, n)) = without {
            sheet.control(WITHOUT_TRIGGER, &name, value, n);
        }
        Ok(())
    }
}

/// Tells what the metrics of an attack mean, as of a classifier's; what else an app measures is its
/// own.
pub(crate) fn tell(sheet: &mut Sheet) {
    let told = [SUCCESS, "honest_accuracy", "honest_worst_tenth"];
    let terms = [TERMS, FARING].concat();
    terms
        .into_iter()
        .filter(|term| told.contains(&&*term.name))
        .for_each(|term| sheet.term(term));
}

/// The training items in shards of an app.
pub(crate) struct OfShards;

impl Items<App> for OfShards {
    fn poisoned<'a>(&self, shard: <App as Trainer>::Shard<'a>) -> <App as Trainer>::Shard<'a> {
        shard.poisoned.as_deref().unwrap_or(shard)
    }

    fn trusted(&self, _: &App, parameters: &[f32], _: &mut SimRng) -> Vec<f32> {
        // Such an aggregator is refused by the settings.
        parameters.to_vec()
    }
}
