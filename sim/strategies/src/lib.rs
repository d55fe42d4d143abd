//! The federated systems that Folkmoot runs, each a [`Strategy`](folkmoot_engine::Strategy) named as its paper is.
//!
//! - [`fedwalk`]: unsupervised node embedding by random walks over devices.
//!
//! A strategy never names another one; what all share is the engine's trait and the [`settings::Settings`] of cards.

pub mod fedwalk;
pub mod settings;
