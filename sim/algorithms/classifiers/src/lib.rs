//! Federated training of networks that classify graphs and nodes, by several systems, and what such
//! training gives away.
//!
//! - [`fed_avg`]: federated averaging of graph networks, with its relatives as settings.
//! - [`federated`]: models for all or for each client, by methods that are parts: FedNova, FedDyn,
//!   MOON, FedPer, Ditto, clusters, controls.
//! - [`scaffold`]: averaging whose clients correct their drift by control variates.
//! - [`gossip`]: models averaged among neighbours, without a server: gossip, D-PSGD, pairs that
//!   meet.
//!
//! All train a [`classifier`]; what they give away is measured by [`attacks`], and what a card has
//! a run keep of them is written by [`keep`].

pub mod attacks;
pub mod classifier;
pub mod fed_avg;
pub mod federated;
pub mod gossip;
pub mod keep;
pub mod scaffold;

use attacks::add_attack;
use classifier::graph_layers::{self, GraphLayers};
use classifier::loss::{self, Loss};
use classifier::{Model, Split, Training};
use federated::Method;
use folkmoot_engine::prelude::Term;
use folkmoot_rounds::Protocol;
use folkmoot_scenarios::algorithm::{About, split_of};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::{KnownAs, Registry};
use gossip::Topology;

/// What is known of an algorithm that trains a classifier in rounds: rounds, lints, terms and
/// split. Its `own` terms stand behind those of the classifier.
pub fn about((model, training, protocol): (&Model, &Training, &Protocol), split: &Split, own: &[Term]) -> About {
    About {
        rounds: Some(protocol.rounds),
        lints: [training.lints(), split.lints(), protocol.lints(model.hidden)].concat(),
        terms: [
            folkmoot_rounds::TERMS,
            classifier::TERMS,
            classifier::FARING,
            own,
            attacks::TERMS,
        ]
        .concat(),
        split: Some(split_of(split, "each client's items")),
        keeps: true,
        ..About::default()
    }
}

/// Methods that are settings of `FedAvg`.
const KNOWN_AS: [KnownAs; 9] = [
    known_as(
        "FedProx",
        "FedAvg(training: (fedprox_mu: 0.01))",
        "FedAvg.training.fedprox_mu",
    ),
    known_as(
        "FedAvgM",
        "FedAvg(protocol: (server_optimizer: Momentum()))",
        "FedAvg.protocol.server_optimizer",
    ),
    known_as(
        "FedAdam",
        "FedAvg(protocol: (server_optimizer: Adam()))",
        "FedAvg.protocol.server_optimizer",
    ),
    known_as(
        "FedYogi",
        "FedAvg(protocol: (server_optimizer: Yogi()))",
        "FedAvg.protocol.server_optimizer",
    ),
    known_as(
        "FedBuff",
        "FedAvg(protocol: (aggregation: Buffered()))",
        "FedAvg.protocol.aggregation",
    ),
    known_as(
        "FedAsync",
        "FedAvg(protocol: (aggregation: Mixed()))",
        "FedAvg.protocol.aggregation",
    ),
    known_as(
        "SecAgg",
        "FedAvg(protocol: (secure: Pairwise()))",
        "FedAvg.protocol.secure",
    ),
    known_as(
        "DP-FedAvg",
        "FedAvg(protocol: (weighting: Uniform, private: Clients(clip: 1.0)))",
        "FedAvg.protocol.private",
    ),
    known_as(
        "DP-SGD",
        "FedAvg(protocol: (private: Items(clip: 1.0)))",
        "FedAvg.protocol.private",
    ),
];

const fn known_as(name: &'static str, strategy: &'static str, path: &'static str) -> KnownAs {
    KnownAs { name, strategy, path }
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("classifiers");
    registry.add_known_as(&KNOWN_AS);
    registry.add::<fed_avg::Params>()?;
    registry.add::<scaffold::Params>()?;
    registry.add::<federated::Params>()?;
    registry.add::<gossip::Params>()?;
    registry.add_artifact_tables(&[gossip::evaluator::LINKS]);
    registry.add_component::<dyn GraphLayers, graph_layers::Gcn>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::Gin>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::GinBatchNorm>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::GraphConv>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::Tag>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::LightGcn>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::Sage>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::Gat>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::Structured>()?;
    registry.add_component::<dyn GraphLayers, graph_layers::Mlp>()?;
    registry.add_component::<dyn Loss, loss::OfTask>()?;
    registry.add_component::<dyn Loss, loss::Focal>()?;
    registry.add_component::<dyn Method, federated::Global>()?;
    registry.add_component::<dyn Method, federated::LocalOnly>()?;
    registry.add_component::<dyn Method, federated::FineTuned>()?;
    registry.add_component::<dyn Method, federated::FedNova>()?;
    registry.add_component::<dyn Method, federated::FedDyn>()?;
    registry.add_component::<dyn Method, federated::FedGta>()?;
    registry.add_component::<dyn Method, federated::Moon>()?;
    registry.add_component::<dyn Method, federated::FedPer>()?;
    registry.add_component::<dyn Method, federated::FedRep>()?;
    registry.add_component::<dyn Method, federated::FedPub>()?;
    registry.add_component::<dyn Method, federated::FedStar>()?;
    registry.add_component::<dyn Method, federated::Ditto>()?;
    registry.add_component::<dyn Method, federated::Gcfl>()?;
    registry.add_component::<dyn Method, federated::Ifca>()?;
    add_attack::<attacks::LossThreshold>(registry)?;
    add_attack::<attacks::LikelihoodRatio>(registry)?;
    add_attack::<attacks::LinkStealing>(registry)?;
    add_attack::<attacks::GradientInversion>(registry)?;
    add_attack::<attacks::GradientSearch>(registry)?;
    add_attack::<attacks::ClientLinking>(registry)?;
    registry.add_component::<dyn Topology, gossip::Complete>()?;
    registry.add_component::<dyn Topology, gossip::Ring>()?;
    registry.add_component::<dyn Topology, gossip::Torus>()?;
    registry.add_component::<dyn Topology, gossip::SmallWorld>()?;
    registry.add_component::<dyn Topology, gossip::ErdosRenyi>()?;
    registry.add_component::<dyn Topology, gossip::File>()?;
    registry.add_component::<dyn Topology, gossip::Changing>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, register])
}
