//! The same data divided otherwise, and what a model says of single items: for whoever asks what a
//! training gives away of its items.

use super::data::{self, Kind, Shard, View};
use super::scores::largest;
use super::{Classifier, Held, Split};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Tape;
use folkmoot_scenarios::algorithm::Source;
use rayon::prelude::*;
use std::sync::Arc;

/// The items of one client that train, validate and test, each ascending.
pub type Parts = [Vec<u32>; 3];

/// A labelled item, and the answer of a model to it.
pub struct Query {
    /// A graph's place in its set, or a node.
    pub item: u32,
    /// 0 where no classes are learned.
    pub class: u32,
    /// Shape `(n_classes,)`; of numbers the answers in their own unit.
    pub logits: Vec<f64>,
    /// Labels 0 and 1, or numbers in their own unit, NaN where unknown; empty for classes.
    pub truth: Vec<f64>,
}

impl Query {
    /// The class that is answered.
    pub fn answer(&self) -> u32 {
        largest(&self.logits)
    }
}

impl Classifier {
    /// How [`share`](Self::share) divides the items of each client.
    ///
    /// # Errors
    ///
    /// As `share`.
    pub(crate) fn divided(&self, split: Split, source: &Source<'_>) -> Result<Vec<Parts>, StrategyError> {
        let parts = data::Source::of_clients(self.reading(split), source.dataset, source.partition)?;
        let of_client = |client: usize| parts.parts(client as u32, source.partition.shard(client), source.streams);
        Ok((0..source.partition.n_clients()).map(of_client).collect())
    }

    /// Shares the data out with the items of each client divided so.
    ///
    /// # Errors
    ///
    /// As [`share`](Self::share).
    pub(crate) fn share_divided(
        &self,
        split: Split,
        divided: &[Parts],
        source: &Source<'_>,
    ) -> Result<Arc<Held>, StrategyError> {
        let (dataset, partition) = (source.dataset, source.partition);
        let parts = data::Source::of_clients(self.reading(split), dataset, partition)?;
        let of_client = |client: usize| parts.shard(client as u32, partition.shard(client), divided[client].clone());
        let shards: Vec<Result<Shard, StrategyError>> =
            (0..partition.n_clients()).into_par_iter().map(of_client).collect();
        let mut shards = shards.into_iter().collect::<Result<Vec<Shard>, StrategyError>>()?;
        self.forget(&mut shards, (split, Some(divided)), source)?;
        self.hold(shards, None, source)
    }

    /// What a model says of every item of a client that is in some part, by ascending item. `items`
    /// are all that the client holds, in the order of its shard: a node is asked about as the
    /// client sees it, with the edges that the client knows.
    pub(crate) fn asked(&self, shard: &Shard, items: &[u32], parameters: &[f32]) -> Vec<Query> {
        let width = self.network.n_classes();
        let of_view = |view: View<'_>, items: &[u32], class: &dyn Fn(usize) -> u32| -> Vec<Query> {
            let logits: Vec<f32> = Tape::with_own(|tape| {
                tape.load(self.network.layout(), parameters);
                let logits = self.network.logits(tape, view.batch, None);
                tape.value(logits).to_vec()
            });
            let one = |row: usize| Query {
                item: items[row],
                class: class(row),
                logits: self.in_own_unit(&logits[row * width..][..width]).collect(),
                truth: self.truth_of(view, row).collect(),
            };
            // Behind the nodes that a client holds there may be others.
            view.rows().take_while(|row| *row < items.len()).map(one).collect()
        };
        let mut all: Vec<Query> = match shard.kind() {
            Kind::Graphs {
                items, classes, parts, ..
            } => {
                let parts = parts.iter().zip(items.iter().zip(classes.iter()));
                let parts = parts.filter(|(_, (items, _))| !items.is_empty());
                parts
                    .flat_map(|((batch, truth), (items, classes))| {
                        let class = |row: usize| classes.get(row).copied().unwrap_or_default();
                        of_view(View::whole(batch, truth), items, &class)
                    })
                    .collect()
            }
            Kind::Nodes {
                batch, truth, masks, ..
            } => {
                let is_in_some: Vec<bool> = (0..truth.n_rows())
                    .map(|row| masks.iter().any(|mask| mask[row]))
                    .collect();
                let view = View {
                    mask: Some(&is_in_some),
                    ..View::whole(batch, truth)
                };
                let class = |row: usize| truth.classes.get(row).copied().unwrap_or_default();
                of_view(view, items, &class)
            }
        };
        all.sort_by_key(|asked| asked.item);
        all
    }
}

impl Shard {
    /// The pairs of nodes of one graph that the client knows to be joined, as places in its shard,
    /// each `u < v` once, ascending; none where it holds whole graphs.
    pub(crate) fn joined(&self) -> Vec<(u32, u32)> {
        let Kind::Nodes { batch, .. } = self.kind() else {
            return Vec::new();
        };
        let csr = batch.csr();
        let of_node = |u: u32| {
            let others = csr.columns()[csr.range(u as usize)].iter();
            others.filter(move |v| **v != u).map(move |v| (u.min(*v), u.max(*v)))
        };
        let mut joined: Vec<(u32, u32)> = (0..csr.n_rows() as u32).flat_map(of_node).collect();
        joined.sort_unstable();
        joined.dedup();
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::{Facts, Inputs, Model, Training};
    use folkmoot_draws::Streams;
    use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partition, SparseRows};

    /// Two clients who share half of what they have: where parts are common a node is for the same
    /// at both, in the shares that are asked for.
    #[test]
    fn what_is_common_is_for_the_same_wherever_it_is() {
        let n = 3_000;
        let edges: Vec<(u32, u32)> = (0..n).map(|v| (v, (v + 1) % n)).collect();
        let mut dataset = Dataset::of_graph("ring", Graph::from_edges(n, &edges, false).unwrap());
        let classes: Vec<Option<u32>> = (0..n).map(|v| Some(v % 3)).collect();
        dataset.node_labels = Some(Labels::from_single(3, &classes).unwrap());
        dataset.n_classes = 3;
        let rows: Vec<_> = (0..n).map(|v| [(v % 3, 1.0)]).collect();
        dataset.features = Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap()));
        let dataset = Arc::new(dataset);
        let shards = vec![(0..2_000).collect(), (1_000..3_000).collect()];
        let partition = Arc::new(Partition::from_shards(shards).unwrap());
        let source = Source::new(&dataset, &partition, Streams::new(4));
        let facts = Facts::new(Inputs::Features, Split::All, &source).unwrap();
        let classifier = Classifier::new(&Model::default(), &Training::default(), &facts).unwrap();
        let (train, validation) = (0.2, 0.4);
        let refused = classifier.divided(Split::Shares { train, validation }, &source);
        assert!(refused.err().unwrap().to_string().contains("set split: Common()"));
        let [first, second] = &classifier
            .divided(Split::Common { train, validation }, &source)
            .unwrap()[..]
        else {
            panic!("two clients");
        };
        for (part, share) in [train, validation, 0.4].into_iter().enumerate() {
            let shared = |all: &[u32]| -> Vec<u32> {
                let items = all.iter().copied();
                items.filter(|item| (1_000..2_000).contains(item)).collect()
            };
            assert_eq!(shared(&first[part]), shared(&second[part]));
            // Within five standard deviations of 2 000 draws.
            assert!((first[part].len() as f64 / 2_000.0 - share).abs() < 0.055, "{part}");
        }
        assert_eq!(first.iter().map(Vec::len).sum::<usize>(), 2_000);
    }
}
