//! Systems whose clients are single nodes: each user of a network holds its own features, its class and its neighbours, and nothing else.
//!
//! - [`LocalGnn`]: users send once what local privacy lets them, and the server trains a graph network on that: LPGNN, Blink, randomised response.
//! - [`walk_sgd`]: a model that walks from client to client along links, without a server; its clients may hold more than a node.
//!
//! What users release of [`features`], [`labels`] and [`edges`] is a part each, so that another crate can add one; how it leaves a user, only by a mechanism that is charged,
//! says [`own`]. What the server learns on are [`links`], a graph that noise may have made dense.

mod attacks;
mod bits;
pub mod edges;
pub mod features;
pub mod labels;
pub mod links;
mod local_gnn;
mod network;
pub mod own;
mod settings;
mod study;
mod terms;
mod told;
mod train;
mod users;
pub mod walk_sgd;

pub use bits::Bits;
pub use local_gnn::{Facts, LocalGnn, Server, Up, Work};
pub use network::Network;
pub use settings::{LabelLoss, Params, Split, Training};
pub use told::Told;
pub use train::Learned;
pub use users::{User, Users};
