//! GW-LDP: a graph network is trained by federated averaging, clients send randomised embeddings of
//! their graphs, and the server compares graphs by Gromov-Wasserstein.
//!
//! H. Jin and X. Chen. Gromov-Wasserstein Discrepancy with Local Differential Privacy for
//! Distributed Structural Graphs. 2022.
//!
//! | exchange | direction | payload | bytes |
//! |---|---|---|---|
//! | `opening` | downlink | none: statistics are wanted; with one scale for all, in the first round | 0 |
//! | `statistics` | uplink | training nodes, then the sum of each number that they bring, then that of its square | 8 + 16 × n_features |
//! | `model` | downlink | whether embeddings are wanted and released how, then the weights | 1 and more, see `message`, + 4 × n_params |
//! | `update` | uplink | training samples, then the weights | 4 + 4 × n_params |
//! | `embeddings` | uplink | for each graph its id, nodes, columns and H*; its degrees if nodes weigh by them | 11 and more a graph, see `message` |
//!
//! A model behind one scale for all has the mean and variance of each number among its parameters;
//! an update has them not.
//!
//! The rounds are those of [`folkmoot_rounds`], the network that of [`classifier`]: whoever varies
//! the server's optimiser, aggregates in buffers or securely does it there. A client's embedding H
//! comes from its own freshly trained weights, as published, or from those it was sent
//! ([`EmbedWith`]). What the paper leaves open or has wrong, and what is done about it:
//!
//! - **m entries** are sampled in every row or in the whole ([`Sampled`](release::Sampled)); a
//!   larger epsilon is less noise, and no noise is [`Plain`](release::Plain).
//! - **Additive noise** ([`Additive`](release::Additive)) is what the paper's figures show; it
//!   protects nothing.
//! - **Node weights** are uniform; by degree, the server needs the degrees, which are sent beside
//!   H* and which nothing protects.
//! - **Distances** are computed when embeddings are there, after the last round, from the latest of
//!   each graph: a client that left stays with what it gave before, one that never gave anything is
//!   missing.
//! - **A codec** packs released numbers on their way (`codec`), which costs no privacy; signs are
//!   short as they are.
//! - **Composition**: each collection spends epsilon again; the weights are not protected, and the
//!   ledger says so.
//! - **Beside H\*** its number of nodes and its sender arrive in the clear. The budget is of the
//!   values of a row, which change neither; no row of the ledger is of them. What they tell is
//!   measured: [`Metric::Size`], and the client's majority class.
//! - **A graph without nodes**, or with rows that are not finite, is not sent.
//!
//! The text trains on the classes of nodes ([`Target::NodeLabels`](classifier::Target)); the
//! default are those of graphs, which its table asks for. Either way the server is given the
//! classes of graphs for its tasks, and not those of nodes.
//!
//! A mechanism for embeddings is a type below [`release`] and one line in [`register`]. It names
//! the `Mechanism` that a table of rows goes through; this crate releases, charges and sends.

mod collected;
mod distances;
mod evaluator;
mod identity;
mod message;
mod options;
mod params;
pub mod release;
mod sensitivity;
mod subjects;
mod tables;
mod tasks;
mod terms;

pub use collected::Collected;
pub use message::{Embeddings, Request, Wish};
pub use options::{
    ChooseBy, Collect, EmbedWith, Evaluation, Identity, Loss, Method, Metric, NodeWeights, RowDistance, SvmChoice,
    Variant,
};
pub use params::Params;
pub use release::{Embedding, Release, Sent, Table};

use evaluator::Comparison;
use folkmoot_classifiers::classifier::{self, Classified, Classifier, GraphRows, Handed, Shard, Split};
use folkmoot_codecs::Damaged;
use folkmoot_engine::prelude::*;
use folkmoot_privacy::NoPrivacy;
use folkmoot_rounds::packed;
use folkmoot_rounds::{Extra, Rounds, SidePayload, Task, Trained, Watched};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of, without_weights};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Embeddings, with the randomness of their release; that of the training is the task's.
const EMBEDDINGS: Channel = Channel::new(0, Purpose(*b"gl-relea"));
/// What a codec rounds at random.
const CODING: Purpose = Purpose(*b"gl-coded");
/// Degrees, as they are, so that nothing is drawn; only where nodes weigh by them.
const DEGREES: Channel = Channel::new(1, Purpose(*b"gl-degre"));

/// Local training; a client keeps the rows of its embeddings.
pub type Training = Classified<Kept>;
type LocalTask<'s, 'a> = Task<'s, 'a, Training>;

/// How embeddings are released.
pub struct GwLdp {
    params: Params,
    /// Embeddings, by the mechanism of the settings.
    wish: Wish,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    #[serde(flatten)]
    pub network: classifier::Facts,
    /// Nodes of the first graph, by which the released code sets its noise.
    pub first_graph_nodes: u32,
}

/// What a client keeps of the collections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Its rows before anything was done to them, by round and ascending id: of the latest some may
    /// not have reached the server.
    rounds: BTreeMap<u32, Vec<GraphRows>>,
    /// The graphs that it did not send in the latest, and why.
    withheld: Vec<(u32, String)>,
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Training, GwLdp>;

    fn about(&self) -> About {
        About {
            rounds: Some(self.protocol.rounds),
            lints: [self.training.lints(), self.protocol.without_effect()].concat(),
            terms: [terms::TERMS, folkmoot_rounds::TERMS, classifier::TERMS].concat(),
            split: Some(split_of(&self.split, "each client's items")),
            headline: &["svm_accuracy", "knn5_accuracy", "test_accuracy"],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let (dataset, partition) = (source.dataset, source.partition);
        // Hops, which distances are made of, know no weights.
        without_weights(dataset)?;
        let first = match dataset.is_graph_level() {
            false => (partition.n_clients() > 0).then(|| partition.shard(0).len()),
            true => {
                let is_used = |item: &u32| match (self.split, &dataset.splits) {
                    (Split::Published, Some(splits)) => [&splits.train, &splits.val, &splits.test]
                        .iter()
                        .any(|mask| mask[*item as usize]),
                    _ => true,
                };
                let held = (0..partition.n_clients()).flat_map(|client| partition.shard(client).iter().copied());
                let first = held.filter(is_used).min();
                first.map(|item| dataset.graphs[item as usize].n_nodes())
            }
        };
        Ok(Facts {
            network: classifier::Facts::new(self.inputs, self.split, source)?
                .with(self.target, self.scale, source)
                .of_classes(source)?,
            first_graph_nodes: first.unwrap_or(1).max(1) as u32,
        })
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let classifier = Classifier::new(&self.model, &self.training, &facts.network)?;
        let gw_ldp = GwLdp::new(self.clone(), facts, classifier.width(self.representation))?;
        let mechanisms = gw_ldp.mechanisms();
        Classified::new(classifier)
            .rounds(&self.protocol)
            .with_payload(gw_ldp)
            .with_mechanisms(mechanisms)
            .sized_by_values(packed::sized_by_values(&*self.codec, &[Embeddings::NAME]))
            .sending_model_alone(Err(params::TOLD))
            .checked()
    }

    fn share(
        &self,
        _: &Facts,
        rounds: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError> {
        // What graphs are compared is looked up among those of all clients.
        let source = &source.of_all();
        let classifier = rounds.trainer().as_ref();
        let (held, whole) = (
            classifier.share(self.split, source)?,
            classifier.whole(self.split, source)?,
        );
        let shards = Box::new(Handed(Arc::clone(&held)));
        let comparison = Comparison::new(held, whole, &self.evaluation.only, source)?;
        Ok(Shared {
            shards,
            evaluator: Box::new(Watched(comparison)),
        })
    }
}

impl GwLdp {
    fn new(mut params: Params, facts: &Facts, width: usize) -> Result<Self, StrategyError> {
        if width > usize::from(u16::MAX) {
            return Err(StrategyError(format!(
                "a row of {width} values does not fit a message; lower model.hidden"
            )));
        }
        let of_release = |StrategyError(why)| StrategyError(format!("release.{why}"));
        if let Some(settled) = params.release.settled(width, facts).map_err(of_release)? {
            params.release = settled;
        }
        let sends_signs = matches!(params.release.table(1, width), Ok(Table::Signs { .. }));
        if sends_signs && !params.codec.is_plain() {
            return Err(StrategyError(
                "codec: packs numbers, and the release sends signs, which have forms of their own; leave it out or change release"
                    .to_owned(),
            ));
        }
        Ok(GwLdp {
            wish: Wish(Some(Request::of(&params.release))),
            params,
        })
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let degrees = MechanismInfo {
            mechanism: "none: degrees".to_owned(),
            claimed: None,
            ..self.params.release.info()
        };
        let has_degrees = self.params.node_weights == NodeWeights::Degree;
        std::iter::once(self.params.release.info())
            .chain(has_degrees.then_some(degrees))
            .collect()
    }

    /// Rows of the right shape, which no network made.
    fn blank_rows(&self, classifier: &Classifier, shard: &Shard) -> Vec<GraphRows> {
        let width = classifier.width(self.params.representation);
        let blank = |inputs: GraphRows| GraphRows {
            id: inputs.id,
            values: vec![0.5; inputs.n_nodes() * width],
            width: width as u32,
        };
        classifier.input_rows(shard).into_iter().map(blank).collect()
    }

    /// A model, and the rows that it gives as they are sent.
    fn answer(
        &self,
        task: &LocalTask<'_, '_>,
        wish: &Wish,
        parameters: Vec<f32>,
        rows: impl FnOnce(&[f32]) -> Vec<GraphRows>,
    ) -> (Trained<Kept>, Option<Embeddings>) {
        // How its rows are released is not for the server to choose: asked for anything else, a
        // client gives none.
        if *wish != self.wish {
            return (Trained::model(parameters), None);
        }
        let rows = rows(match self.params.embed_with {
            EmbedWith::Own => &parameters,
            EmbedWith::Global => task.parameters,
        });
        let (embeddings, receipt, kept) = self.release(task, rows);
        let trained = Trained {
            receipt,
            kept: Some(kept),
            ..Trained::model(parameters)
        };
        (trained, Some(embeddings))
    }

    /// A client's embeddings as they are sent, what they cost, and the rows they were.
    fn release(&self, task: &LocalTask<'_, '_>, rows: Vec<GraphRows>) -> (Embeddings, Receipt, Kept) {
        let degrees = match self.params.node_weights {
            NodeWeights::Uniform => Vec::new(),
            NodeWeights::Degree => task.shard.degrees(),
        };
        let mut degrees = degrees.into_iter();
        let (mut releases, mut coding) = (task.releases(), task.rng_for(CODING));
        let (mut embeddings, mut withheld) = (Vec::with_capacity(rows.len()), Vec::new());
        for rows in &rows {
            let degrees = degrees.next();
            if rows.n_nodes() == 0 {
                withheld.push((rows.id, "it has no node".to_owned()));
                continue;
            }
            match self.params.release.released(rows, &mut releases) {
                Err(why) => withheld.push((rows.id, why.to_string())),
                Ok(embedding) => {
                    let as_they_are = NoPrivacy::<[u32]>::new();
                    let degrees = degrees.map(|degrees| releases.release(DEGREES, rows.id, &as_they_are, &degrees));
                    let degrees = degrees.transpose().expect("nothing is wrong with whole numbers");
                    let embedding = embedding.packed(&*self.params.codec, &mut coding);
                    embeddings.push(Embedding { degrees, ..embedding });
                }
            }
        }
        let rounds = BTreeMap::from([(task.round().0, rows)]);
        let kept = Kept { rounds, withheld };
        (Embeddings(embeddings), releases.receipt_as_one(), kept)
    }
}

impl SidePayload<Training> for GwLdp {
    type Order = Wish;
    type Extra = Embeddings;
    type ServerState = Collected;

    fn order(&self, _: &Training, round: Round, _: &Collected) -> Wish {
        match self.is_due(round) {
            true => self.wish.clone(),
            false => Wish(None),
        }
    }

    fn is_due(&self, round: Round) -> bool {
        let n_rounds = round.0 + 1;
        let is_last = n_rounds >= self.params.protocol.rounds;
        is_last
            || match self.params.collect {
                Collect::AtEnd => false,
                Collect::Every(n) => n_rounds.is_multiple_of(n),
            }
    }

    fn train(&self, trainer: &Training, task: LocalTask<'_, '_>, wish: &Wish) -> (Trained<Kept>, Option<Embeddings>) {
        let classifier = trainer.as_ref();
        let parameters = classifier.train_passes(task.shard, task.parameters, task.passes, &mut task.rng());
        self.answer(&task, wish, parameters, |model| {
            classifier.node_rows(task.shard, model, self.params.representation)
        })
    }

    fn placeholder(
        &self,
        trainer: &Training,
        task: LocalTask<'_, '_>,
        wish: &Wish,
    ) -> (Trained<Kept>, Option<Embeddings>) {
        self.answer(&task, wish, task.parameters.to_vec(), |_| {
            self.blank_rows(trainer.as_ref(), task.shard)
        })
    }

    fn keep(&self, before: Kept, mut now: Kept) -> Kept {
        let mut rounds = before.rounds;
        rounds.append(&mut now.rounds);
        Kept { rounds, ..now }
    }

    fn collect(
        &self,
        collected: &mut Collected,
        client: ClientId,
        round: Round,
        embeddings: Embeddings,
    ) -> Result<(), StrategyError> {
        let opened = embeddings.0.into_iter().map(|one| one.opened(&*self.params.codec));
        let opened: Result<Vec<Embedding>, Damaged> = opened.collect();
        let opened = opened.map_err(|why| StrategyError(format!("client {}: an embedding: {why}", client.0)))?;
        collected.add(round.0, opened);
        Ok(())
    }
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("gw_ldp");
    registry.add_artifact_tables(&[tables::GRAPHS, tables::PLACES, tables::CHANGES]);
    registry.add::<Params>()?;
    registry.add_component::<dyn Release, release::Plain>()?;
    registry.add_component::<dyn Release, release::MultiBit>()?;
    registry.add_component::<dyn Release, release::Additive>()?;
    registry.add_component::<dyn Release, release::Gaussian>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, folkmoot_classifiers::register, register])
}
