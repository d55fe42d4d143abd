//! Training items that malicious clients have changed, what a trained model is tried with, and the
//! data set of a server that trains itself.

use super::data::{self, Changes, Part, Shard, refuse};
use super::{Classifier, Held, Split, Target, Task};
use folkmoot_draws::{bernoulli, draw_first};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_metrics::{ClientScoreRow, Spread};
use folkmoot_rounds::{Malicious, Poison, Protocol, Shape, Spread as Pieces, Trigger};
use folkmoot_scenarios::algorithm::Source;
use rayon::prelude::*;
use std::collections::BTreeMap;

const TRIGGER: Purpose = Purpose(*b"cl-trigg");
const POISONED: Purpose = Purpose(*b"cl-poisn");
const TRIED: Purpose = Purpose(*b"cl-tried");
const TRUSTED: Purpose = Purpose(*b"cl-trust");

/// The control of a backdoor: the same items without the trigger.
const WITHOUT_TRIGGER: &str = "without_trigger";

/// What a trained model is tried with, and the class that it is to answer.
pub(super) struct Tried {
    /// By client; the test part counts.
    shards: Vec<Shard>,
    source: Option<u32>,
    target: u32,
    has_trigger: bool,
}

impl Tried {
    pub(super) fn shards_mut(&mut self) -> &mut [Shard] {
        &mut self.shards
    }

    /// Whether an item of this class is one to be tried with.
    fn is_tried(&self, class: u32) -> bool {
        class != self.target && self.source.is_none_or(|source| source == class)
    }
}

/// The parts of a trigger, as they are planted.
enum Planted {
    /// Of each part its nodes, and the edges between them.
    Subgraphs(Vec<(u32, Vec<(u32, u32)>)>),
    /// Of each part its columns, and their value.
    Features(Vec<Vec<usize>>, f32),
}

impl Planted {
    /// Draws a trigger for what a network reads.
    fn draw(
        trigger: &Trigger,
        (of_graphs, n_features): (bool, usize),
        rng: &mut SimRng,
    ) -> Result<Self, StrategyError> {
        match (trigger.shape, of_graphs) {
            (Shape::Subgraph { nodes, density }, true) => {
                let mut piece = |_| {
                    let pairs = (0..nodes).flat_map(|u| (u + 1..nodes).map(move |v| (u, v)));
                    (nodes, pairs.filter(|_| bernoulli(rng, density)).collect())
                };
                Ok(Planted::Subgraphs((0..trigger.pieces).map(&mut piece).collect()))
            }
            (Shape::Features { features, value }, false) => {
                let (features, pieces) = (features as usize, trigger.pieces as usize);
                if features * pieces > n_features {
                    return refuse(format!(
                        "protocol.malicious.adversary: its trigger has {features} features in each of {pieces} parts, and a node brings \
                         {n_features}; lower features or pieces"
                    ));
                }
                let mut columns: Vec<usize> = (0..n_features).collect();
                draw_first(rng, &mut columns, features * pieces);
                let pieces = columns[..features * pieces]
                    .chunks_exact(features)
                    .map(<[usize]>::to_vec);
                Ok(Planted::Features(pieces.collect(), value))
            }
            (Shape::Subgraph { .. }, false) => refuse(
                "protocol.malicious.adversary: SubgraphBackdoor changes whole graphs, and the items of this data set are nodes; use NodeBackdoor",
            ),
            (Shape::Features { .. }, true) => refuse(
                "protocol.malicious.adversary: NodeBackdoor changes nodes, and the items of this data set are graphs; use SubgraphBackdoor",
            ),
        }
    }

    /// Plants parts of it in items: each part of a subgraph at nodes of its own, as far as there are
    /// nodes.
    fn plant(&self, pieces: &[usize], items: &[u32], graphs: &[Graph], rng: &mut SimRng) -> Changes {
        match self {
            Planted::Subgraphs(all) => {
                let pieces: Vec<_> = pieces.iter().map(|at| &all[*at]).collect();
                let mut planted = |item: &u32| (*item, with_subgraphs(&graphs[*item as usize], &pieces, rng));
                Changes {
                    graphs: items.iter().map(&mut planted).collect(),
                    ..Changes::default()
                }
            }
            Planted::Features(all, value) => Changes {
                nodes: items.iter().copied().collect(),
                columns: pieces.iter().flat_map(|at| &all[*at]).copied().collect(),
                value: *value,
                ..Changes::default()
            },
        }
    }
}

/// A graph in which subgraphs take the place of the edges between nodes at random. Weights of edges
/// are left out.
fn with_subgraphs(graph: &Graph, pieces: &[&(u32, Vec<(u32, u32)>)], rng: &mut SimRng) -> Graph {
    let n = graph.n_nodes() as u32;
    let wanted: u32 = pieces.iter().map(|(nodes, _)| *nodes).sum();
    let mut order: Vec<u32> = (0..n).collect();
    draw_first(rng, &mut order, wanted.min(n) as usize);
    // Which part a node belongs to, and its number there.
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut edges = Vec::new();
    let mut left = &order[..wanted.min(n) as usize];
    for (at, (nodes, inner)) in pieces.iter().enumerate() {
        let (own, others) = left.split_at((*nodes as usize).min(left.len()));
        left = others;
        places.extend(own.iter().map(|node| (*node, at)));
        let own = |end: u32| own.get(end as usize).copied();
        edges.extend(inner.iter().filter_map(|(u, v)| Some((own(*u)?, own(*v)?))));
    }
    let is_within = |(u, v): &(u32, u32)| places.contains_key(u) && places.get(u) == places.get(v);
    edges.extend(graph.edges().filter(|edge| !is_within(edge)));
    Graph::from_edges(n, &edges, graph.is_directed()).expect("ends are nodes of the graph")
}

impl Classifier {
    /// The same with the malicious clients and the server's own data set of a protocol.
    pub fn under(self, protocol: &Protocol) -> Classifier {
        Classifier {
            trusted_items: protocol.aggregator.trusted_items(),
            ..self.attacked_by(&protocol.malicious)
        }
    }

    /// The same with malicious clients.
    pub(crate) fn attacked_by(self, malicious: &Malicious) -> Classifier {
        Classifier {
            malicious: malicious.clone(),
            ..self
        }
    }

    /// Gives malicious clients what they train on, and returns what a trained model is tried with.
    ///
    /// # Errors
    ///
    /// When the adversary does not suit the data.
    pub(super) fn poison(
        &self,
        shards: &mut [Shard],
        split: Split,
        source: &Source<'_>,
    ) -> Result<Option<Tried>, StrategyError> {
        let Some(poison) = self.malicious.poison() else {
            return Ok(None);
        };
        let (dataset, partition, streams) = (source.dataset, source.partition, source.streams);
        self.suits(&poison)?;
        let data = data::Source::of_clients(self.reading(split), dataset, partition)?;
        let what = (dataset.is_graph_level(), self.network.n_features());
        let planted = match &poison.trigger {
            Some(trigger) => Some(Planted::draw(trigger, what, &mut streams.global(TRIGGER))?),
            None => None,
        };
        let n_pieces = poison.trigger.map_or(0, |trigger| trigger.pieces as usize);
        let changes = |pieces: &[usize], items: &[u32], rng: &mut SimRng| match &planted {
            Some(planted) => planted.plant(pieces, items, &dataset.graphs, rng),
            None => Changes::default(),
        };
        let all: Vec<usize> = (0..n_pieces).collect();
        let could_change = |item: &u32| {
            let class = data.class(*item);
            class.is_some_and(|class| {
                poison
                    .source
                    .map_or(poison.target != Some(class), |source| source == class)
            })
        };
        for (k, client) in self.malicious.drawn(&source.sizes(), streams).into_iter().enumerate() {
            if !source.needed.contains(&client) {
                continue;
            }
            let items = partition.shard(client as usize);
            let parts = data.parts(client, items, streams);
            let rng = &mut streams.party(POISONED, Party::Client(ClientId(client)), Round(0));
            let mut changed: Vec<u32> = parts[0].iter().copied().filter(could_change).collect();
            let n = (poison.share * changed.len() as f64).round() as usize;
            draw_first(rng, &mut changed, n);
            changed.truncate(n);
            let own = match poison.trigger.map(|trigger| trigger.spread) {
                Some(Pieces::Distributed) => &all[k % n_pieces..=k % n_pieces],
                Some(Pieces::Centralised) | None => &all[..],
            };
            let n_classes = self.network.n_classes() as u32;
            let becomes = |item: &u32| {
                let mirrored = n_classes - 1 - data.class(*item).unwrap_or_default();
                (*item, poison.target.unwrap_or(mirrored))
            };
            let changes = Changes {
                classes: changed.iter().map(becomes).collect(),
                ..changes(own, &changed, rng)
            };
            let poisoned = data.shard_with(client, items, parts, &changes)?;
            shards[client as usize].poisoned = Some(Box::new(poisoned));
        }
        let Some(target) = poison.target.filter(|_| planted.is_some() || poison.source.is_some()) else {
            return Ok(None);
        };
        let tried = |client: u32| -> Result<Shard, StrategyError> {
            if !source.needed.contains(&client) {
                return data.nothing();
            }
            let items = partition.shard(client as usize);
            let [train, _, mut test] = data.parts(client, items, streams);
            test.retain(could_change);
            let rng = &mut streams.party(TRIED, Party::Client(ClientId(client)), Round(0));
            let changes = changes(&all, &test, rng);
            data.shard_with(client, items, [train, Vec::new(), test], &changes)
        };
        let shards: Vec<Result<Shard, StrategyError>> =
            (0..partition.n_clients() as u32).into_par_iter().map(tried).collect();
        Ok(Some(Tried {
            shards: shards.into_iter().collect::<Result<_, _>>()?,
            source: poison.source,
            target,
            has_trigger: planted.is_some(),
        }))
    }

    /// Whether the classes that malicious clients name are there.
    fn suits(&self, poison: &Poison) -> Result<(), StrategyError> {
        if self.task != Task::Classes || self.target != Target::Classes {
            return refuse(
                "protocol.malicious.adversary: it changes the classes of items, and here something else is learned; use an adversary that \
                 changes updates",
            );
        }
        let n_classes = self.network.n_classes() as u32;
        match [poison.source, poison.target]
            .into_iter()
            .flatten()
            .find(|class| *class >= n_classes)
        {
            None => Ok(()),
            Some(class) => refuse(format!(
                "protocol.malicious.adversary: there is no class {class}; there are {n_classes}, from 0"
            )),
        }
    }

    /// Draws the server's own data set, if it is to have one.
    ///
    /// # Errors
    ///
    /// As [`share`](Self::share).
    pub(super) fn draw_trusted(&self, split: Split, source: &Source<'_>) -> Result<(), StrategyError> {
        let Some(n) = self.trusted_items else {
            return Ok(());
        };
        let partition = source.partition;
        let data = data::Source::of_clients(self.reading(split), source.dataset, partition)?;
        let of_client = |client: usize| {
            let [train, ..] = data.parts(client as u32, partition.shard(client), source.streams);
            train
        };
        let mut items: Vec<u32> = (0..partition.n_clients()).flat_map(of_client).collect();
        items.sort_unstable();
        items.dedup();
        let n = (n as usize).min(items.len());
        draw_first(&mut source.streams.global(TRUSTED), &mut items, n);
        items.truncate(n);
        items.sort_unstable();
        let mut shard = data.shard(0, &items, [items.clone(), Vec::new(), Vec::new()])?;
        shard.make_ready(self.network.begins_with_sums());
        // A second sharing of the same data draws the same.
        let _ = self.trusted.set(shard);
        Ok(())
    }

    /// The model after a training on the server's own data set.
    pub(crate) fn train_trusted(&self, parameters: &[f32], rng: &mut SimRng) -> Vec<f32> {
        match self.trusted.get() {
            Some(shard) => self.train(shard, parameters, rng),
            None => parameters.to_vec(),
        }
    }

    /// The share of the test items in `shards` that a model is tried with that it gives the target
    /// class, and how many they are.
    fn answered(&self, shards: &[Shard], tried: &Tried, parameters: &[f32]) -> Option<(f64, u64)> {
        let of_shard = |shard: &Shard| -> [u64; 2] {
            let Some(answers) = self.answers(shard, Part::Test, parameters) else {
                return [0, 0];
            };
            let both = answers.actual.iter().zip(&answers.predicted);
            let predicted: Vec<u32> = both
                .filter(|(actual, _)| tried.is_tried(**actual))
                .map(|(_, p)| *p)
                .collect();
            let hits = predicted.iter().filter(|class| **class == tried.target).count();
            [hits as u64, predicted.len() as u64]
        };
        let counts: Vec<[u64; 2]> = shards.par_iter().map(of_shard).collect();
        let [hits, n] = counts
            .iter()
            .fold([0, 0], |sum, own| [sum[0] + own[0], sum[1] + own[1]]);
        (n > 0).then(|| (hits as f64 / n as f64, n))
    }

    /// Writes down how often a model is deceived, after a round.
    pub(super) fn score_attack(&self, held: &Held, parameters: &[f32], sheet: &mut Sheet) {
        let success = held
            .tried
            .as_ref()
            .and_then(|tried| self.answered(&tried.shards, tried, parameters));
        if let Some((value, n)) = success {
            sheet.score("test", "attack_success", value, n);
        }
    }

    /// Writes down how often the last models are deceived, a mean over these, beside their answers
    /// without a trigger.
    pub(crate) fn conclude_attack(&self, held: &Held, models: &[&[f32]], sheet: &mut Sheet) {
        let Some(tried) = &held.tried else {
            return;
        };
        let mean = |shards: &[Shard]| {
            let of_models = models.iter().filter_map(|model| self.answered(shards, tried, model));
            let of_models: Vec<(f64, u64)> = of_models.collect();
            let sum: f64 = of_models.iter().map(|(share, _)| share).sum();
            of_models.first().map(|(_, n)| (sum / of_models.len() as f64, *n))
        };
        if let Some((value, _)) = mean(&tried.shards) {
            sheet.number("test_attack_success", value);
        }
        if let Some((value, n)) = mean(&held.shards).filter(|_| tried.has_trigger) {
            sheet.control(WITHOUT_TRIGGER, "test_attack_success", value, n);
        }
    }

    /// Whether a client of so many is malicious.
    pub(crate) fn is_malicious(&self, client: usize, (held, streams): (&Held, Streams)) -> bool {
        let malicious = self.malicious.drawn(&held.sizes, streams);
        malicious.binary_search(&(client as u32)).is_ok()
    }

    /// Writes down how honest clients fare, where there are malicious ones.
    pub fn honest_scores(&self, rows: &[ClientScoreRow], (held, streams): (&Held, Streams), sheet: &mut Sheet) {
        let malicious = self.malicious.drawn(&held.sizes, streams);
        let is_honest = |row: &&ClientScoreRow| malicious.binary_search(&row.client).is_err();
        let honest: Vec<ClientScoreRow> = rows.iter().filter(is_honest).cloned().collect();
        if malicious.is_empty() || honest.is_empty() {
            return;
        }
        let accuracies: Vec<f64> = honest.iter().map(|row| row.accuracy).collect();
        sheet.number("test_honest_accuracy", Spread::of(&accuracies).mean);
        sheet.number_if("test_honest_worst_tenth", ClientScoreRow::worst_tenth(&honest));
    }
}
