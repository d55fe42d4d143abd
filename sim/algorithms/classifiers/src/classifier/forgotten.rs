//! Items that are to be forgotten: which they are, and what a client holds without them.

use super::data::{self, Changes, Shard};
use super::{Classifier, Parts, Split};
use folkmoot_draws::{Purpose, Streams, unit};
use folkmoot_engine::prelude::*;
use folkmoot_scenarios::algorithm::Source;

const MARKS: Purpose = Purpose(*b"cl-forgt");

/// Which items of which clients are to be forgotten.
///
/// An item is marked by a stream of its own, whatever it is used for. So marked training items, to
/// be forgotten, and marked items that no model was trained on are drawn by one rule: members and
/// non-members for an attacker, who is asked about marked items alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Forgotten {
    /// Ascending.
    clients: Vec<u32>,
    /// Probability that an item of theirs is marked.
    share: f64,
}

impl Forgotten {
    /// A fraction of the items of these clients; with 1 all that they hold.
    pub fn new(mut clients: Vec<u32>, share: f64) -> Self {
        clients.sort_unstable();
        clients.dedup();
        Forgotten { clients, share }
    }

    /// Ascending.
    pub fn clients(&self) -> &[u32] {
        &self.clients
    }

    /// Whether the clients are to be forgotten with all their items.
    pub fn is_of_clients(&self) -> bool {
        self.share >= 1.0
    }

    /// Whether an item of a client is marked.
    pub fn marks(&self, client: u32, item: u32, streams: Streams) -> bool {
        self.clients.binary_search(&client).is_ok()
            && (self.is_of_clients()
                || unit(&mut streams.party(MARKS, Party::Client(ClientId(item)), Round(0))) < self.share)
    }
}

impl Classifier {
    /// The same where these are to be forgotten: shards then know what is left
    /// ([`Shard::remaining`]), and attackers are asked about the marked items alone.
    pub fn forgetting(self, forgotten: Forgotten) -> Classifier {
        Classifier {
            forgotten: Some(forgotten),
            ..self
        }
    }

    /// What is to be forgotten, if anything is.
    pub fn forgotten(&self) -> Option<&Forgotten> {
        self.forgotten.as_ref()
    }

    /// Divides the training items of shards into those that stay and those that are to be
    /// forgotten. Marked nodes leave the graph, with their edges and features: those that train, to be
    /// forgotten, and the others, so that both differ in nothing else.
    ///
    /// # Errors
    ///
    /// When nodes of a weighted graph are to be forgotten, or as [`share`](Self::share).
    pub(super) fn forget(
        &self,
        shards: &mut [Shard],
        (split, divided): (Split, Option<&[Parts]>),
        source: &Source<'_>,
    ) -> Result<(), StrategyError> {
        let Some(forgotten) = self.forgotten().filter(|forgotten| !forgotten.is_of_clients()) else {
            return Ok(());
        };
        let (dataset, partition, streams) = (source.dataset, source.partition, source.streams);
        if !dataset.is_graph_level() {
            folkmoot_scenarios::algorithm::without_weights(dataset)?;
        }
        let data = data::Source::of_clients(self.reading(split), dataset, partition)?;
        for &client in forgotten.clients() {
            if !source.needed.contains(&client) {
                continue;
            }
            let items = partition.shard(client as usize);
            let [train, validation, test] = match divided {
                Some(divided) => divided[client as usize].clone(),
                None => data.parts(client, items, streams),
            };
            let is_marked = |item: &u32| forgotten.marks(client, *item, streams);
            let (gone, stays): (Vec<u32>, Vec<u32>) = train.into_iter().partition(is_marked);
            let without = Changes {
                without: items.iter().copied().filter(is_marked).collect(),
                ..Changes::default()
            };
            let remaining = data.shard_with(client, items, [stays, validation, test], &without)?;
            let gone = data.shard(client, items, [gone, Vec::new(), Vec::new()])?;
            shards[client as usize].divided = Some(Box::new([remaining, gone]));
        }
        Ok(())
    }
}

impl Shard {
    /// What its client trains on once items are forgotten; all of it where none of them are.
    pub fn remaining(&self) -> &Shard {
        self.divided.as_deref().map_or(self, |[remaining, _]| remaining)
    }

    /// The training items that are to be forgotten; all where its client is.
    pub fn gone(&self) -> &Shard {
        self.divided.as_deref().map_or(self, |[_, gone]| gone)
    }
}
