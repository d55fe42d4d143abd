//! FedSage and FedSage+: federated averaging of GraphSAGE on the pieces of a cut graph, as they are
//! or mended by neighbours that clients make up.
//!
//! K. Zhang, C. Yang, X. Li, L. Sun, S. M. Yiu. Subgraph Federated Learning with Missing Neighbor
//! Generation. NeurIPS 2021. <https://arxiv.org/abs/2106.13430>
//!
//! Edges between nodes of two clients are lost. With `generator: Off` this is FedSage, to the bit
//! federated averaging of the cut graph. With `Trained` it is FedSage+: before any training each
//! client learns to make up neighbours for its nodes (NeighGen), by itself and then with the
//! others, and trains on its graph filled with them.
//!
//! **By itself**, in a job of `epochs` steps: a client hides `hidden_portion` of its validation
//! nodes from itself. Of each node that is left it knows how many hidden neighbours `c_v` it has
//! and what these bring. On the graph that is left, an encoder (`D^-1 (A + I)`, two layers) embeds
//! nodes; a linear layer and a rectifier say how many neighbours a node lacks; three layers and a
//! tanh make the features of `num_pred` neighbours of an embedding and noise. As many of them as
//! the whole part of the count says are joined to the node, and a second such network says classes
//! on that mended graph. The loss, over training nodes, is `a` times the smooth L1 of counts, `b`
//! times `Feat`, and `c` times the cross entropy; `Feat` is the mean over nodes, `num_pred` and
//! features, of the squared error of each joined neighbour to the nearest hidden one, 0 where none
//! is hidden.
//!
//! **With the others**, `steps` times, only what makes features learns, by `1/N` of the loss at its
//! client and of `b Feat` at all others: client `j` compares what the generator of `i` makes of its
//! embeddings, of `c_v` neighbours for each node, with drawn neighbours of drawn nodes of its own.
//! Then a client joins neighbours to its nodes, but the hidden ones, in its whole graph.
//!
//! With `N` clients, `g` numbers of what makes features, `l` those of an embedding and `t_i`
//! training nodes of client `i`:
//!
//! | exchange | direction | payload | bytes |
//! |---|---|---|---|
//! | `opening`, `ready` | downlink, uplink | nothing | 0 |
//! | `generator`, by each client, each step | uplink | whose, which step, its numbers, embeddings and counts of its training nodes | 8 + 4 (g + t_i (l + 1)) |
//! | | downlink, to each of the others | the same | the same |
//! | | uplink, by each of these | whose, which step, the gradient of `b/N Feat` by its numbers | 8 + 4 g |
//! | | downlink, to whose it is | whose, which step, the sum of the gradients, in the order of the clients | 8 + 4 g |
//! | `model`, `update` | | as in federated averaging | |
//!
//! So a step sends `2N + 2N(N − 1)` messages of a generator's size: on Cora, as the authors set it,
//! of 61 MB, 79 times the GraphSAGE of 64 numbers a layer that it serves. Who has no training node
//! sends no generator, and who has no edge an empty gradient. In a dry run all this is counted and
//! nothing of it made.
//!
//! With a `codec` numbers are packed matrix by matrix, and 4 bytes more say how many they are; how
//! many neighbours nodes lack is whole, and goes as it is. Everybody computes with what they read.
//! So does whose generator it is: the gradients of others are those of the generator as they read
//! it, and its owner takes its own there, too, but what a step moves is the generator before it was
//! packed. The owner's embeddings and what it fills its graph with stay exact.
//!
//! **What it gives away.** Nothing of it is protected, and the ledger of privacy charges every
//! message without limit. All clients see embeddings and how many of a node's neighbours were
//! hidden; gradients are those of a squared error to raw features, which can be told from them
//! where few nodes take part; a generator is made to say what neighbours bring.
//!
//! **Deviations from the authors' code**, in which one process reads everybody's features; messages
//! are those of FederatedScope. A generated neighbour that matches no hidden one adds nothing to
//! the loss; the authors' `greedy_loss` pulls it to the zero vector. Labels stand at their nodes,
//! where the authors' are shifted once nodes are hidden. Both phases have one split, so that no
//! generator sees the label of a node that tests. Every client has an optimiser of its own. Clients
//! read all neighbours and not five drawn ones. A client whose own loss and whose neighbours' say
//! nothing stays as it is, where weight decay alone would move it. Who never got through the
//! exchange, because it was away, trains on its cut graph.

mod coding;
mod data;
mod evaluator;
mod exchange;
mod impaired;
mod losses;
mod maker;
mod numbers;
mod settings;
#[cfg(test)]
mod tests;
mod told;

pub use data::Piece;
pub use exchange::Kept;
pub use settings::{Generator, Params};
pub use told::Told;

use crate::Cut;
use folkmoot_classifiers::attacks::{self, RoundVictim};
use folkmoot_classifiers::classifier::graph_layers::GraphLayers;
use folkmoot_classifiers::classifier::{Classifier, Facts, Held, Shard};
use folkmoot_codecs::Codec;
use folkmoot_engine::prelude::*;
use folkmoot_learning::Layout;
use folkmoot_parts::Chosen;
use folkmoot_rounds::{self, Exchange, Gathered, Heard, Preparation, RoundEnd, Rounds, Says, Task, Trained, Trainer};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use maker::Networks;
use settings::Plan;
use std::sync::Arc;

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<FedSage, (), Generators>;

    fn about(&self) -> About {
        About {
            headline: &[
                "test_accuracy",
                "test_whole_accuracy",
                "generator_bytes",
                "payload_bytes",
            ],
            ..folkmoot_classifiers::about(
                (&self.model, &self.training, &self.protocol),
                &self.split,
                evaluator::TERMS,
            )
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Facts::new(self.inputs, self.split, source)?.of_classes(source)
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let plan = self.generator.plan(facts.n_features, facts.n_classes, facts.n_clients);
        let task = FedSage {
            makers: plan.map(|plan| Makers {
                networks: Networks::new(&plan),
                plan,
                codec: self.generator.codec(),
            }),
            classifier: Classifier::new(&self.model, &self.training, facts)?,
            encoder: self.model.encoder.clone(),
        };
        let alone = match task.exchanges() {
            true => Err(settings::TOLD),
            false => Ok(()),
        };
        let exchange = task.exchanges().then_some(Generators);
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
        // Who tests on the whole graph is known from what all hold.
        let source = &source.of_all();
        attacks::share(rounds, &self.attacks, facts, (self.split, source))
    }
}

/// What FedSage trains: a classifier of nodes, on what clients hold and have made up.
pub struct FedSage {
    makers: Option<Makers>,
    classifier: Classifier,
    encoder: Chosen<dyn GraphLayers>,
}

/// How generators learn, and their networks.
struct Makers {
    plan: Plan,
    networks: Networks,
    /// Of what is exchanged.
    codec: Chosen<dyn Codec>,
}

impl FedSage {
    /// Whether generators learn before training.
    fn exchanges(&self) -> bool {
        self.makers.is_some()
    }

    /// What a client trains on and answers from that holds this and has kept that.
    fn known<'a>(&self, piece: &'a Piece, kept: Option<&'a Kept>) -> &'a Shard {
        let filled = kept.and_then(Kept::filled);
        filled.map_or(&piece.shard, |filled| filled.known(self, piece))
    }
}

impl AsRef<Classifier> for FedSage {
    fn as_ref(&self) -> &Classifier {
        &self.classifier
    }
}

impl RoundVictim<(), Generators> for FedSage {
    fn shared(
        &self,
        held: &Arc<Held>,
        source: &Source<'_>,
    ) -> Result<Shared<Rounds<FedSage, (), Generators>>, StrategyError> {
        let (owners, graph) = (Cut::new(source)?, source.dataset.graph());
        let is_cut = |v: &u32, u: &u32| owners.owners()[*v as usize] != owners.owners()[*u as usize];
        let cut_of = |v: u32| {
            graph
                .neighbours(v)
                .iter()
                .filter(move |u| v < **u && is_cut(&v, u))
                .count() as u64
        };
        let pieces = Arc::new(data::pieces(held));
        let evaluator = evaluator::Worth {
            pieces: Arc::clone(&pieces),
            sizes: source.sizes(),
            whole: data::Whole::new(&self.classifier, source, held.shards())?,
            cut_edges: (0..graph.n_nodes() as u32).map(cut_of).sum(),
        };
        Ok(Shared {
            shards: Box::new(data::Handed {
                pieces,
                sizes: source.sizes(),
            }),
            evaluator: Box::new(folkmoot_rounds::Watched(evaluator)),
        })
    }

    fn known(&self, end: &RoundEnd<'_, FedSage, (), Generators>, held: &Arc<Held>, source: &Source<'_>) -> Arc<Held> {
        let pieces = data::pieces(held);
        let known = pieces
            .iter()
            .map(|piece| self.known(piece, end.kept(piece.client)).clone());
        Held::new(known.collect(), source.sizes())
    }

    fn asks_clients(&self) -> bool {
        self.exchanges()
    }

    fn answers_from_held(&self) -> bool {
        !self.exchanges()
    }
}

/// What generators of neighbours learn from, before training.
pub struct Generators;

impl Exchange<FedSage> for Generators {
    type Message = Told;
    type ServerState = ();

    fn effort(&self, fed_sage: &FedSage, piece: &Piece, _: Option<&Kept>, heard: &Heard<Told>) -> f64 {
        // Whoever has no nodes answers all the same.
        exchange::effort(fed_sage, piece, heard).max(1.0)
    }

    fn prepare(
        &self,
        fed_sage: &FedSage,
        preparation: Preparation<'_, '_, FedSage, Told>,
        is_dry: bool,
    ) -> Says<Told, Kept> {
        exchange::prepare(fed_sage, &preparation, !is_dry)
    }

    fn answer(
        &self,
        fed_sage: &FedSage,
        (): &mut (),
        gathered: Gathered<Told>,
    ) -> Result<Vec<(ClientId, Told)>, StrategyError> {
        match &fed_sage.makers {
            Some(makers) => exchange::answer(makers, gathered),
            None => Ok(Vec::new()),
        }
    }
}

impl Trainer for FedSage {
    type Shard<'a> = &'a Piece;
    type ClientState = Kept;

    fn layout(&self) -> &Layout {
        self.classifier.network().layout()
    }

    fn n_samples(&self, piece: &Piece) -> u32 {
        piece.shard.n_train() as u32
    }

    /// That of its nodes; those that it has made up cost nothing, since a dry run knows nothing of
    /// them.
    fn cost(&self, piece: &Piece, _: Round) -> f64 {
        self.classifier.cost(&piece.shard)
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
