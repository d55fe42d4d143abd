//! Training items that malicious clients have changed, what a trained model is tried with, and the
//! data set of a server that trains itself.

pub use super::data::Changes;
use super::data::{self, Part, Shard, refuse};
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

/// Why an adversary does not suit what is learned.
pub const OTHER_TASK: &str = "protocol.malicious.adversary: it changes the classes of items, and here something else is learned; use an \
                              adversary that changes updates";

/// The control of a backdoor: the same items without the trigger.
pub const WITHOUT_TRIGGER: &str = "without_trigger";

/// What a trained model is tried with, and how it is to answer.
pub(super) struct Tried {
    /// By client; the test part counts.
    shards: Vec<Shard>,
    poisoning: Poisoning,
}

impl Tried {
    pub(super) fn shards_mut(&mut self) -> &mut [Shard] {
        &mut self.shards
    }
}

/// How an adversary changes the training items of malicious clients, and what shows whether it
/// succeeds.
pub struct Poisoning {
    poison: Poison,
    planted: Option<Planted>,
    n_classes: u32,
    streams: Streams,
}

/// The classes and graphs of a data set.
#[derive(Clone, Copy)]
pub struct KnownItems<'a> {
    /// The class of an item that has one.
    pub class: &'a dyn Fn(u32) -> Option<u32>,
    pub graphs: &'a [Graph],
}

impl Poisoning {
    /// For items of so many classes, graphs or nodes that bring so many features; `None` if the
    /// adversary changes no items.
    ///
    /// # Errors
    ///
    /// When the adversary does not suit the data.
    pub fn new(
        malicious: &Malicious,
        n_classes: u32,
        (of_graphs, n_features): (bool, usize),
        streams: Streams,
    ) -> Result<Option<Poisoning>, StrategyError> {
        let Some(poison) = malicious.poison() else {
            return Ok(None);
        };
        let mut named = [poison.source, poison.target].into_iter().flatten();
        if let Some(class) = named.find(|class| *class >= n_classes) {
            return refuse(format!(
                "protocol.malicious.adversary: there is no class {class}; there are {n_classes}, from 0"
            ));
        }
        let planted = match &poison.trigger {
            Some(trigger) => Some(Planted::draw(
                trigger,
                (of_graphs, n_features),
                &mut streams.global(TRIGGER),
            )?),
            None => None,
        };
        Ok(Some(Poisoning {
            poison,
            planted,
            n_classes,
            streams,
        }))
    }

    /// Whether an item of this class could be changed.
    fn could_change(&self, class: Option<u32>) -> bool {
        let (source, target) = (self.poison.source, self.poison.target);
        class.is_some_and(|class| source.map_or(target != Some(class), |source| source == class))
    }

    /// What the `k`-th malicious client changes, of the items `train`.
    pub fn changes(&self, (k, client): (usize, u32), train: &[u32], known: KnownItems<'_>) -> Changes {
        let rng = &mut self.streams.party(POISONED, Party::Client(ClientId(client)), Round(0));
        let mut changed: Vec<u32> = train.to_vec();
        changed.retain(|item| self.could_change((known.class)(*item)));
        let n = (self.poison.share * changed.len() as f64).round() as usize;
        draw_first(rng, &mut changed, n);
        changed.truncate(n);
        let becomes = |item: &u32| {
            let mirrored = self.n_classes - 1 - (known.class)(*item).unwrap_or_default();
            (*item, self.poison.target.unwrap_or(mirrored))
        };
        Changes {
            classes: changed.iter().map(becomes).collect(),
            ..self.planted(Some(k), &changed, known, rng)
        }
    }

    /// Those of the items `test` that a model is tried with, and what is planted in them; `None`
    /// where an attack has no class of its own to lead to.
    pub fn tried(&self, client: u32, mut test: Vec<u32>, known: KnownItems<'_>) -> Option<(Vec<u32>, Changes)> {
        self.tried_for()?;
        test.retain(|item| self.could_change((known.class)(*item)));
        let rng = &mut self.streams.party(TRIED, Party::Client(ClientId(client)), Round(0));
        let changes = self.planted(None, &test, known, rng);
        Some((test, changes))
    }

    /// The class that a model that is tried is to answer.
    pub fn tried_for(&self) -> Option<u32> {
        let leads = self.planted.is_some() || self.poison.source.is_some();
        self.poison.target.filter(|_| leads)
    }

    /// Whether an item of this class, answered so, is one that a model is tried with: `None` if it
    /// is not, else whether the attack has succeeded.
    pub fn succeeds(&self, class: u32, answer: u32) -> Option<bool> {
        let target = self.tried_for()?;
        (class != target && self.could_change(Some(class))).then_some(answer == target)
    }

    /// Whether something is planted in the items that a model is tried with.
    pub fn has_trigger(&self) -> bool {
        self.planted.is_some()
    }

    /// The trigger in items: the part of the `k`-th malicious client, or all of it.
    fn planted(&self, k: Option<usize>, items: &[u32], known: KnownItems<'_>, rng: &mut SimRng) -> Changes {
        let (Some(planted), Some(trigger)) = (&self.planted, self.poison.trigger) else {
            return Changes::default();
        };
        let n = trigger.pieces as usize;
        let pieces: Vec<usize> = match (trigger.spread, k) {
            (Pieces::Distributed, Some(k)) => vec![k % n],
            _ => (0..n).collect(),
        };
        planted.plant(&pieces, items, known.graphs, rng)
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
        let (dataset, partition, streams) = (source.dataset, source.partition, source.streams);
        if self.malicious.poison().is_some() && (self.task != Task::Classes || self.target != Target::Classes) {
            return refuse(OTHER_TASK);
        }
        let what = (dataset.is_graph_level(), self.network.n_features());
        let poisoning = Poisoning::new(&self.malicious, self.network.n_classes() as u32, what, streams)?;
        let Some(poisoning) = poisoning else {
            return Ok(None);
        };
        let data = data::Source::of_clients(self.reading(split), dataset, partition)?;
        let known = KnownItems {
            class: &|item| data.class(item),
            graphs: &dataset.graphs,
        };
        for (k, client) in self.malicious.drawn(&source.sizes(), streams).into_iter().enumerate() {
            if !source.needed.contains(&client) {
                continue;
            }
            let items = partition.shard(client as usize);
            let parts = data.parts(client, items, streams);
            let changes = poisoning.changes((k, client), &parts[0], known);
            let poisoned = data.shard_with(client, items, parts, &changes)?;
            shards[client as usize].poisoned = Some(Box::new(poisoned));
        }
        if poisoning.tried_for().is_none() {
            return Ok(None);
        }
        let tried = |client: u32| -> Result<Shard, StrategyError> {
            if !source.needed.contains(&client) {
                return data.nothing();
            }
            let items = partition.shard(client as usize);
            let [train, _, test] = data.parts(client, items, streams);
            let known = KnownItems {
                class: &|item| data.class(item),
                graphs: &dataset.graphs,
            };
            let (test, changes) = poisoning.tried(client, test, known).unwrap_or_default();
            data.shard_with(client, items, [train, Vec::new(), test], &changes)
        };
        let shards: Vec<Result<Shard, StrategyError>> =
            (0..partition.n_clients() as u32).into_par_iter().map(tried).collect();
        Ok(Some(Tried {
            shards: shards.into_iter().collect::<Result<_, _>>()?,
            poisoning,
        }))
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
            let tried = both.filter_map(|(actual, predicted)| tried.poisoning.succeeds(*actual, *predicted));
            tried.fold([0, 0], |[hits, n], hit| [hits + u64::from(hit), n + 1])
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
        if let Some((value, n)) = mean(&held.shards).filter(|_| tried.poisoning.has_trigger()) {
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
        honest_scores(rows, &self.malicious.drawn(&held.sizes, streams), sheet);
    }
}

/// Writes down how the clients fare that are not among the `malicious`, ascending, where there are
/// any of these.
pub fn honest_scores(rows: &[ClientScoreRow], malicious: &[u32], sheet: &mut Sheet) {
    let is_honest = |row: &&ClientScoreRow| malicious.binary_search(&row.client).is_err();
    let honest: Vec<ClientScoreRow> = rows.iter().filter(is_honest).cloned().collect();
    if malicious.is_empty() || honest.is_empty() {
        return;
    }
    let accuracies: Vec<f64> = honest.iter().map(|row| row.accuracy).collect();
    sheet.number("test_honest_accuracy", Spread::of(&accuracies).mean);
    sheet.number_if("test_honest_worst_tenth", ClientScoreRow::worst_tenth(&honest));
}
