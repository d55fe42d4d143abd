//! The federated systems that Folkmoot runs, each a [`Strategy`](folkmoot_engine::Strategy) named as its paper is.
//!
//! - [`fed_avg`]: federated averaging of graph networks, with its relatives as settings.
//! - [`federated`]: models for all or for each client, by methods that are parts: FedNova, FedDyn, MOON, FedPer, Ditto, clusters, controls.
//! - [`scaffold`]: averaging whose clients correct their drift by control variates.
//! - [`deep_walk`]: node embedding at a server that knows the whole graph, the baseline.
//! - [`fedwalk`]: unsupervised node embedding by random walks over devices.
//! - [`fgcl`]: contrastive learning of graph classifiers under edge-level noise.
//! - [`gossip`]: models averaged among neighbours, without a server: gossip, D-PSGD, pairs that meet.
//! - [`gw_ldp`]: graphs compared by Gromov-Wasserstein of randomised embeddings.
//! - [`ppgm`]: similarity of two devices' graphs, with the models it is compared to and the attacks on what they send.
//!
//! A strategy never names another one; what all share is the engine's trait and the [`settings::Settings`] of cards. What those that
//! embed nodes share is in [`node_embedding`]; those that train in rounds share [`rounds`], and those that train a graph network for
//! classification [`classifier`], and what they give away is asked by [`attacks`]. Those that ask what can be inferred
//! from what was seen share the attackers of [`inference`]. Models that a codec packs are [`packed`], and those that a card has a run keep are [`keep`].

pub mod attacks;
pub mod classifier;
pub mod deep_walk;
pub mod fed_avg;
pub mod federated;
pub mod fedwalk;
pub mod fgcl;
pub mod gossip;
pub mod gw_ldp;
pub mod inference;
pub mod keep;
mod known;
pub mod node_embedding;
pub mod packed;
pub mod ppgm;
pub mod rounds;
pub mod scaffold;
pub mod settings;
