//! FedGCN: what a node's neighbours at other clients sum up to is exchanged once, before federated
//! averaging.
//!
//! Y. Yao, W. Jin, S. Ravi and C. Joe-Wong. FedGCN: Convergence-Communication Tradeoffs in
//! Federated Training of Graph Convolutional Networks. NeurIPS 2023, algorithm 1 and section 3.
//! <https://arxiv.org/abs/2201.12433>
//!
//! A graph convolution begins with sums over neighbours, `S_v = Σ w_vu x_u` over a node and its
//! neighbours. These do not change while one trains, so that clients can make them together before:
//! each adds up what it holds of a sum, and the holder of `v` gets all of it (`hops: 1`); with the
//! sums of the nodes that it borders on as well (`hops: 2`) a network of two layers says of a
//! client's nodes what it would say if nothing were cut. With `hops: 0` nothing is exchanged, and
//! it is federated averaging on the cut graph, to the bit.
//!
//! With `N` clients, `n` nodes of `d` features, `V_k` the nodes of client `k`, `N[V_k]` these and
//! the nodes that they border on, `K = Σ |N[V_k]|`, `F = K − n` the rows of others' nodes and `B`
//! the nodes at a border; a row has `4d + 4` bytes, and 4 more for the degree where two hops are
//! weighted by degrees:
//!
//! | exchange | direction | payload | rows |
//! |---|---|---|---|
//! | `opening` | downlink | nothing | |
//! | `rows`, by `upload: Rows` | uplink | a client's share of every sum that it has a part in | K |
//! | | downlink | the sums of its nodes; with two hops of its border as well | n; K |
//! | `rows`, by `upload: Border` | uplink | its share of others' sums; with two hops of its own at the border as well | F; F + B |
//! | | downlink | the others' share of its sums at the border; with two hops these sums whole, and those it borders on | B; B + F |
//! | `rows`, by `upload: Dense` | uplink | its share of all sums as a matrix, `4nd`, behind the numbers of those it wants, 4 each | |
//! | | downlink | the sums that it wants, `4d` each | n; K |
//! | `rows`, `between: Peers` | peer | its share of the other's sums; then, with two hops, the sums that the other borders on | F; F |
//! | `rows`, `carries: Features` | uplink | features and neighbours of the nodes that others come to within `hops` steps | |
//! | | downlink | the same of all nodes of others within `hops` steps | |
//! | `ready` | uplink | nothing | |
//! | `model`, `update` | | as in federated averaging | |
//!
//! Under `protocol.secure` the shares of all sums are masked and added up like updates
//! (`masked_update`, 8 bytes a number), so that the server learns the sums alone, and clients then
//! ask for theirs by number; among peers and with features nothing is masked but updates.
//!
//! **A codec** packs sums and features on their way (`codec`), and 8 bytes more a message say how
//! much; numbers of nodes, neighbours and degrees stay as they are. The server adds up what it
//! reads. Masked shares are in fixed point as without it.
//!
//! **Weights.** `Normalised` are those of `D^-1/2 (A + I) D^-1/2` with the degrees of the whole
//! graph: a client divides what it adds by the roots of its own nodes' degrees, and whoever reads a
//! sum divides it by that of the node it is of. So degrees travel only with two hops.
//!
//! **What it gives away.** A sum that one node alone has a part in is that node's features, whoever
//! reads it: `shown_to_server` and `shown_to_clients` count such nodes. Numbers of nodes tell the
//! server which clients border on which; the numbers alone tell it which edges are cut where a
//! share is of one node. No noise is added, and the ledger of privacy charges every row without
//! limit.
//!
//! **Deviations.** The paper's own code sends the raw features of all nodes within `hops` steps,
//! which `carries: Features` does; degrees at the rim are then those of the piece that a client
//! knows, so that not even two hops are exact. Its later library (FedGraph) sends dense matrices of
//! plain sums, which `upload: Dense` with `weights: Plain` does. Who was not answered, because it
//! was away, trains on its cut graph. Scores are those of clients that have all answers; under
//! secure aggregation they are without its rounding to 24 bits behind the point.

mod coding;
mod data;
mod evaluator;
mod exchange;
mod replay;
mod settings;
#[cfg(test)]
mod tests;
mod theory;
mod words;

pub use exchange::{Kept, Memory};
pub use settings::{Between, Carries, Params, Upload, Weights};
pub use theory::{Counts, count};
pub use words::Words;

use crate::{Cut, Part};
use evaluator::Worth;
use folkmoot_classifiers::attacks::{self, RoundVictim};
use folkmoot_classifiers::classifier::graph_layers::GraphLayers;
use folkmoot_classifiers::classifier::{self, Accuracy, Classifier, Held, Shard};
use folkmoot_codecs::Codec;
use folkmoot_engine::prelude::*;
use folkmoot_learning::Layout;
use folkmoot_parts::Chosen;
use folkmoot_rounds::{Exchange, Gathered, Heard, RoundEnd, Rounds, Says, Task, Trained, Trainer};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use serde::{Serialize, Serializer};
use settings::Plan;
use std::sync::Arc;

/// What everybody knows before a run.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    #[serde(flatten)]
    pub data: classifier::Facts,
    /// Who holds each node; the manifest has how many there are.
    #[serde(rename = "nodes_whose_holder_is_known", serialize_with = "how_many")]
    pub cut: Arc<Cut>,
}

fn how_many<S: Serializer>(cut: &Arc<Cut>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u32(cut.owners().len() as u32)
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<FedGcn, (), Neighbours>;

    fn about(&self) -> About {
        let classifies = (&self.model, &self.training, &self.protocol);
        let mut about = folkmoot_classifiers::about(classifies, &self.split, evaluator::TERMS);
        if self.hops == 0 && !self.codec.is_plain() {
            about.lints.push(folkmoot_parts::Broken {
                path: "codec".to_owned(),
                rule: "has no effect with hops: 0, since nothing is exchanged before training; leave it out".to_owned(),
            });
        }
        About {
            headline: &["test_accuracy", "exchange_bytes", "payload_bytes"],
            ..about
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Ok(Facts {
            cut: Arc::new(Cut::new(source)?),
            data: classifier::Facts::new(self.inputs, self.split, source)?,
        })
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let task = FedGcn {
            plan: Plan::of(self, facts.data.n_features as usize),
            classifier: Classifier::new(&self.model, &self.training, &facts.data)?,
            encoder: self.model.encoder.clone(),
            cut: Arc::clone(&facts.cut),
            codec: self.codec.clone(),
            n_clients: facts.data.n_clients,
        };
        let alone = match task.exchanges() {
            true => Err(settings::TOLD),
            false => Ok(()),
        };
        let exchange = task.exchanges().then_some(Neighbours);
        Rounds::new(task, self.protocol.clone())
            .with_exchange(exchange)
            .sending_model_alone(alone)
            .keeping(attacks::n_rounds(&self.attacks))
            .checked()
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError> {
        // What each knows after the exchange is made of what others hold.
        let source = &source.of_all();
        attacks::share(rounds, &self.attacks, &facts.data, (self.split, source))
    }
}

/// What FedGCN trains: a classifier of nodes, on what clients hold and have been told.
pub struct FedGcn {
    plan: Plan,
    classifier: Classifier,
    encoder: Chosen<dyn GraphLayers>,
    cut: Arc<Cut>,
    /// Of what is exchanged.
    codec: Chosen<dyn Codec>,
    n_clients: u32,
}

impl FedGcn {
    /// Whether clients exchange anything before training.
    fn exchanges(&self) -> bool {
        self.plan.hops > 0
    }

    /// What a client trains on that holds this and has kept that.
    fn known<'a>(&self, part: &'a Part, kept: Option<&'a Kept>) -> &'a Shard {
        kept.and_then(|kept| kept.known(self, part)).unwrap_or(part.shard())
    }

    /// The logits of a client's own nodes by a model, of shape `(n_nodes, n_classes)`, from what it
    /// knows.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn logits(&self, part: &Part, kept: Option<&Kept>, parameters: &[f32]) -> Vec<f32> {
        let mut logits = self.classifier.logits(self.known(part, kept), parameters);
        logits.truncate(part.nodes().len() * self.classifier.network().n_classes());
        logits
    }
}

impl AsRef<Classifier> for FedGcn {
    fn as_ref(&self) -> &Classifier {
        &self.classifier
    }
}

impl RoundVictim<(), Neighbours> for FedGcn {
    fn shared(
        &self,
        held: &Arc<Held>,
        source: &Source<'_>,
    ) -> Result<Shared<Rounds<FedGcn, (), Neighbours>>, StrategyError> {
        let parts = data::parts(self, held, source);
        let evaluator = Worth {
            accuracy: Accuracy(Held::new(replay::shards(self, &parts), source.sizes())),
            counts: theory::count(source.dataset.graph(), &self.cut, self.plan.hops),
        };
        Ok(Shared {
            shards: Box::new(data::Handed {
                parts,
                sizes: source.sizes(),
            }),
            evaluator: Box::new(folkmoot_rounds::Watched(evaluator)),
        })
    }

    /// What the run has told clients, who may not all have been there.
    fn known(&self, end: &RoundEnd<'_, FedGcn, (), Neighbours>, held: &Arc<Held>, source: &Source<'_>) -> Arc<Held> {
        let parts = data::parts(self, held, source);
        let known = parts
            .iter()
            .map(|part| self.known(part, end.kept(part.client())).clone());
        Held::new(known.collect(), source.sizes())
    }

    fn asks_clients(&self) -> bool {
        self.exchanges()
    }

    fn answers_from_held(&self) -> bool {
        !self.exchanges()
    }
}

/// What clients report of their neighbours before training.
pub struct Neighbours;

impl Exchange<FedGcn> for Neighbours {
    type Message = Words;
    type ServerState = Memory;

    fn statistics(&self, fed_gcn: &FedGcn, part: &Part) -> Vec<f64> {
        exchange::shares(fed_gcn, part)
    }

    fn tell(&self, fed_gcn: &FedGcn, part: &Part, kept: Option<&Kept>, heard: Heard<Words>) -> Says<Words, Kept> {
        coding::tell(fed_gcn, part, kept, heard)
    }

    fn answer(
        &self,
        fed_gcn: &FedGcn,
        memory: &mut Memory,
        gathered: Gathered<Words>,
    ) -> Result<Vec<(ClientId, Words)>, StrategyError> {
        coding::answer(fed_gcn, memory, gathered)
    }
}

impl Trainer for FedGcn {
    type Shard<'a> = &'a Part;
    type ClientState = Kept;

    fn layout(&self) -> &Layout {
        self.classifier.network().layout()
    }

    fn n_samples(&self, part: &Part) -> u32 {
        part.shard().n_train() as u32
    }

    /// That of its own nodes, and with two hops of those that it borders on.
    fn cost(&self, part: &Part, _: Round) -> f64 {
        let n_own = part.nodes().len().max(1) as f64;
        let n_known = match self.plan.hops {
            2 => n_own + part.foreign().len() as f64,
            _ => n_own,
        };
        self.classifier.cost(part.shard()) * n_known / n_own
    }

    fn passes(&self) -> u32 {
        self.classifier.epochs()
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Kept> {
        let known = self.known(task.shard, task.kept);
        let rng = &mut task.rng();
        Trained::model(self.classifier.train_passes(known, task.parameters, task.passes, rng))
    }
}
