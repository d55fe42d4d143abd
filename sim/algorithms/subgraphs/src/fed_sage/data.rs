//! What clients hold, and the graph that nobody does.

use super::FedSage;
use folkmoot_classifiers::classifier::{Classifier, Held, Part, Shard, Split};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Partition;
use folkmoot_rounds::Rounds;
use folkmoot_scenarios::algorithm::Source;
use std::sync::Arc;

/// All that one client holds: its nodes with the edges between them. Those to nodes of others are
/// lost.
pub struct Piece {
    pub client: ClientId,
    /// Its nodes, as a classifier reads them.
    pub shard: Shard,
}

/// What each of those who hold this has.
pub(super) fn pieces(held: &Held) -> Vec<Piece> {
    let piece = |(client, shard): (u32, &Shard)| Piece {
        client: ClientId(client),
        shard: shard.clone(),
    };
    (0..).zip(held.shards()).map(piece).collect()
}

/// What each client is given.
pub(super) struct Handed {
    pub(super) pieces: Arc<Vec<Piece>>,
    pub(super) sizes: Vec<u64>,
}

impl Shards<Rounds<FedSage, (), super::Generators>> for Handed {
    fn n_clients(&self) -> u32 {
        self.pieces.len() as u32
    }

    fn shard(&self, client: ClientId) -> &Piece {
        &self.pieces[client.0 as usize]
    }

    fn size(&self, client: ClientId) -> u64 {
        self.sizes[client.0 as usize]
    }
}

/// The graph before it was cut, for whoever evaluates a run.
pub(super) struct Whole {
    /// All nodes with all edges.
    shard: Shard,
    /// The nodes that test at some client, ascending, and their classes.
    tested: Vec<(u32, u32)>,
}

impl Whole {
    /// That of `source`, whose clients hold `shards`.
    pub(super) fn new(classifier: &Classifier, source: &Source<'_>, shards: &[Shard]) -> Result<Whole, StrategyError> {
        let all: Vec<u32> = (0..source.dataset.n_nodes() as u32).collect();
        let refuse = |error: folkmoot_graphs::PartitionError| StrategyError(error.to_string());
        let partition = Arc::new(Partition::from_shards(vec![all]).map_err(refuse)?);
        let whole = Source::new(source.dataset, &partition, source.streams);
        let held = classifier.share(Split::All, &whole)?;
        let mut tested = Vec::new();
        for (client, shard) in shards.iter().enumerate() {
            let Some(nodes) = shard.nodes() else { continue };
            let numbers = source.partition.shard(client).iter().zip(nodes.are_in(Part::Test));
            let classes = numbers.zip(nodes.labels).filter(|((_, tests), _)| **tests);
            tested.extend(classes.map(|((node, _), class)| (*node, *class)));
        }
        tested.sort_unstable();
        Ok(Whole {
            shard: held.shards()[0].clone(),
            tested,
        })
    }

    /// The share of the nodes that test whose class a model predicts with all edges, and how many
    /// these are; `None` without any.
    pub(super) fn accuracy(&self, classifier: &Classifier, parameters: &[f32]) -> Option<(f64, u64)> {
        let logits = classifier.logits(&self.shard, parameters);
        let n_classes = classifier.network().n_classes();
        let is_hit = |(node, class): &&(u32, u32)| {
            let logits = &logits[*node as usize * n_classes..][..n_classes];
            let largest = (1..n_classes).fold(0, |best, next| if logits[next] > logits[best] { next } else { best });
            largest == *class as usize
        };
        let n = self.tested.len() as u64;
        (n > 0).then(|| (self.tested.iter().filter(is_hit).count() as f64 / n as f64, n))
    }
}
