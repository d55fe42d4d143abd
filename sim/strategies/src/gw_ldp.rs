//! GW-LDP: a graph network is trained by federated averaging, clients send randomised embeddings of their graphs, and the server
//! compares graphs by Gromov-Wasserstein.
//!
//! H. Jin and X. Chen. Gromov-Wasserstein Discrepancy with Local Differential Privacy for Distributed Structural Graphs. 2022.
//!
//! | exchange | direction | payload | bytes |
//! |---|---|---|---|
//! | `model` | downlink | whether embeddings are wanted and how they are released, then the weights | 1 to 17 + 4 × n_params |
//! | `update` | uplink | training samples, then the weights | 4 + 4 × n_params |
//! | `embeddings` | uplink | for each graph its id, nodes, columns and H* | 11 and more a graph, see `message` |
//!
//! The rounds are those of [`rounds`](crate::rounds), the network that of [`classifier`](crate::classifier): whoever
//! varies the server's optimiser, aggregates in buffers or securely does it there. A client's embedding H comes from its own
//! freshly trained weights. What the paper leaves open or has wrong, and what is done about it:
//!
//! - **m entries** are sampled in every row or in the whole ([`Sampled`]); a larger epsilon is less noise, and no noise is
//!   [`Release::Plain`].
//! - **Additive noise** ([`Release::Additive`]) is what the paper's figures show; it protects nothing.
//! - **Distances** are computed when embeddings are there, after the last round, from the latest of each graph: a client that left
//!   stays with what it gave before, one that never gave anything is missing.
//! - **Composition**: each collection spends epsilon again; the weights are not protected, and the ledger says so.
//! - **A graph without nodes**, or with rows that are not finite, is not sent.
//!
//! Not modelled: node classes that the server would need for its tasks; it is given the classes of graphs.

mod changes;
mod collected;
mod distances;
mod message;
mod options;
mod params;
mod release;
mod subjects;
mod summary;
mod tasks;

pub use collected::Collected;
pub use message::{Embeddings, Wish};
pub use options::{ChooseBy, Collect, Evaluation, Method, Metric, RowDistance, SvmChoice, Variant};
pub use params::Params;
pub use release::{Embedding, Epsilon, Release, Sampled, Sent};

use crate::classifier::{Classifier, GraphRows};
use crate::rounds::{Charge, End, RoundStrategy, Rounds, Score, Task, Trained};
use crate::settings::Settings;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use subjects::Subjects;

/// Randomness of the release; that of the training is the task's.
const RELEASE: Purpose = Purpose(*b"gl-relea");

/// What GW-LDP trains and compares.
pub struct GwLdp {
    params: Params,
    classifier: Classifier,
    subjects: Subjects,
    streams: Streams,
}

/// What a client keeps of the collections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Its rows before anything was done to them, by round and ascending id: of the latest some may not have reached the server.
    rounds: BTreeMap<u32, Vec<GraphRows>>,
    /// The graphs that it did not send in the latest, and why.
    withheld: Vec<(u32, String)>,
}

impl Settings for Params {
    type Strategy = Rounds<GwLdp>;

    fn rounds(&self) -> Option<u32> {
        Some(self.protocol.rounds)
    }

    fn build(
        &self,
        dataset: &Arc<Dataset>,
        partition: &Arc<Partition>,
        streams: Streams,
    ) -> Result<Rounds<GwLdp>, StrategyError> {
        let named = |StrategyError(why)| StrategyError(format!("GwLdp: {why}"));
        let task = GwLdp::new(self.clone(), dataset, partition, streams).map_err(named)?;
        Rounds::new(task, self.protocol.clone(), streams).map_err(named)
    }
}

impl GwLdp {
    fn new(
        mut params: Params,
        dataset: &Arc<Dataset>,
        partition: &Partition,
        streams: Streams,
    ) -> Result<Self, StrategyError> {
        let network = (&params.model, &params.training);
        let classifier = Classifier::new(network, (params.inputs, params.split), dataset, partition, streams)?;
        let width = classifier.width(params.representation);
        if width > usize::from(u16::MAX) {
            return Err(StrategyError(format!(
                "a row of {width} values does not fit a message; lower model.hidden"
            )));
        }
        if let Release::MultiBit {
            entries: Sampled::Row,
            n_sampled: Some(n_sampled),
            ..
        } = params.release
            && n_sampled as usize > width
        {
            return Err(StrategyError(format!(
                "release.n_sampled: must be at most {width} (values in a row), got {n_sampled}"
            )));
        }
        let subjects = Subjects::new(&classifier, dataset, partition);
        if let Release::Gaussian { std: std @ None } = &mut params.release {
            let first = subjects
                .list()
                .first()
                .map(|subject| subjects.graph(subject.id).n_nodes());
            *std = Some(1.0 / first.unwrap_or(1).max(1) as f64);
        }
        Ok(GwLdp {
            params,
            classifier,
            subjects,
            streams,
        })
    }

    /// A client's embeddings as they are sent, what they cost the graph that pays most, and the rows they were.
    fn release(&self, task: &Task<'_, Self>, release: &Release, parameters: &[f32]) -> (Embeddings, f64, Kept) {
        let rows = match task.dry_run {
            false => self
                .classifier
                .node_rows(task.client, parameters, self.params.representation),
            // As many bytes, and nothing learned.
            true => {
                let width = self.classifier.width(self.params.representation);
                let blank = |inputs: GraphRows| GraphRows {
                    id: inputs.id,
                    values: vec![0.5; inputs.n_nodes() * width],
                    width: width as u32,
                };
                self.classifier.input_rows(task.client).into_iter().map(blank).collect()
            }
        };
        let mut rng = self.streams.party(RELEASE, Party::Client(task.client), task.round);
        let (mut embeddings, mut epsilon, mut withheld) = (Vec::with_capacity(rows.len()), 0.0f64, Vec::new());
        for rows in &rows {
            match release.release(rows, &mut rng) {
                _ if rows.n_nodes() == 0 => withheld.push((rows.id, "it has no node".to_owned())),
                Err(why) => withheld.push((rows.id, why.to_string())),
                Ok((embedding, cost)) => {
                    epsilon = epsilon.max(cost.epsilon);
                    embeddings.push(embedding);
                }
            }
        }
        let rounds = BTreeMap::from([(task.round.0, rows)]);
        (Embeddings(embeddings), epsilon, Kept { rounds, withheld })
    }
}

impl RoundStrategy for GwLdp {
    type Order = Wish;
    type Extra = Embeddings;
    type Collected = Collected;
    type Kept = Kept;

    fn n_parameters(&self) -> usize {
        self.classifier.network().layout().len()
    }

    fn n_trainable(&self) -> usize {
        self.classifier.network().layout().n_trainable()
    }

    fn initial(&self, rng: &mut SimRng) -> Vec<f32> {
        self.classifier.network().layout().initialise(rng)
    }

    fn n_clients(&self) -> u32 {
        self.classifier.n_clients()
    }

    fn n_samples(&self, client: ClientId) -> u32 {
        self.classifier.n_samples(client)
    }

    fn cost(&self, client: ClientId) -> f64 {
        self.classifier.cost(client)
    }

    fn order(&self, round: Round) -> Wish {
        let n_rounds = round.0 + 1;
        let is_last = n_rounds >= self.params.protocol.rounds;
        let is_due = match self.params.collect {
            Collect::AtEnd => false,
            Collect::Every(n) => n_rounds.is_multiple_of(n),
        };
        Wish((is_last || is_due).then_some(self.params.release))
    }

    fn brings_extra(&self, wish: &Wish) -> bool {
        wish.0.is_some()
    }

    fn train(&self, mut task: Task<'_, Self>) -> Trained<Embeddings, Kept> {
        let parameters = match task.dry_run {
            true => task.parameters.to_vec(),
            false => self.classifier.train(task.client, task.parameters, &mut task.rng),
        };
        let Wish(Some(release)) = task.order else {
            return Trained::model(parameters);
        };
        let (embeddings, epsilon, kept) = self.release(&task, release, &parameters);
        Trained {
            parameters,
            spent: if embeddings.0.is_empty() {
                Vec::new()
            } else {
                vec![Charge {
                    mechanism: 0,
                    n: 1,
                    epsilon,
                    once: false,
                }]
            },
            extra: Some(embeddings),
            kept: Some(kept),
        }
    }

    fn keep(before: Kept, mut now: Kept) -> Kept {
        let mut rounds = before.rounds;
        rounds.append(&mut now.rounds);
        Kept { rounds, ..now }
    }

    fn collect(
        &self,
        collected: &mut Collected,
        _: ClientId,
        round: Round,
        embeddings: Embeddings,
    ) -> Result<(), StrategyError> {
        collected.add(round.0, embeddings.0);
        Ok(())
    }

    fn evaluate(&self, _: Round, parameters: &[f32]) -> Vec<Score> {
        self.classifier.evaluate(parameters)
    }

    fn conclude(&self, end: End<'_, Self>, report: &Report<'_>, _: &mut SimRng) -> Scores {
        self.conclude_run(&end, report)
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        vec![self.params.release.mechanism()]
    }
}
