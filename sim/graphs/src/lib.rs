//! Graphs, data-set readers and generators.
//!
//! A card's field `dataset:` is a [`DatasetSpec`]; [`DatasetSpec::load`] reads or draws a [`Dataset`]: one or more [`Graph`]s
//! with [`Features`], [`Labels`] and [`Splits`]. [`measures`] has what others compute from shapes.
//!
//! ```
//! use folkmoot_graphs::{DataDirs, DatasetSpec};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! let karate = DatasetSpec::Karate.load(&DataDirs::new(), &mut rng)?;
//! assert_eq!(karate.graph().n_edges(), 78);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Promises: any file, however damaged, gives a message and never a panic; nothing is dropped without a note that counts it;
//! equal content has an equal [`Dataset::fingerprint`]; generators depend on their stream alone and on no
//! system library. This crate knows nothing of the engine, of metrics or of any other crate of the project.

mod data_dirs;
mod dataset;
mod features;
mod generators;
mod graph;
mod labels;
pub mod measures;
mod readers;
mod spec;

pub use data_dirs::{DataDirs, DataError};
pub use dataset::{Dataset, Splits};
pub use features::{Features, SparseRows};
pub use graph::{Cleaned, Graph, GraphBuilder, GraphError};
pub use labels::{LabelError, Labels};
pub use spec::{CatalogueEntry, Citation, DatasetSpec, Isolated};
