//! Graphs, data-set readers, generators and partitioners.
//!
//! A card's field `dataset:` is a [`DataSource`], such as those of [`datasets`].
//! [`DataSource::load`] reads or draws a [`Dataset`]: one or more [`Graph`]s with [`Features`],
//! [`Labels`] and [`Splits`]. A card's field `partition:` is a [`Partitioner`], which divides the
//! set into a [`Partition`]: for each client the nodes, or the graphs, that it can see.
//! [`measures`] has what others compute from shapes.
//!
//! ```
//! use folkmoot_graphs::{DataDirs, DataSource, Partitioner, datasets, partition};
//! use folkmoot_draws::{SeedableRng, SimRng};
//!
//! let mut rng = SimRng::seed_from_u64(1);
//! let karate = datasets::Karate {}.load(&DataDirs::new(), &mut rng)?;
//! let shards = partition::Iid { n_clients: 5 }.divide(&karate, &mut rng)?;
//! assert_eq!(karate.graph().n_edges(), 78);
//! assert_eq!(shards.n_clients(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Promises: any file, however damaged, gives a message and never a panic; nothing is dropped
//! without a note that counts it; equal content has an equal [`Dataset::fingerprint`]; generators
//! and partitioners depend on their stream alone and on no system library. This crate knows nothing
//! of the engine or of who uses it.

mod column;
mod data_dirs;
mod data_source;
mod dataset;
pub mod datasets;
mod embeddings;
mod error;
mod features;
mod generators;
mod graph;
mod labels;
mod map;
pub mod mapped;
pub mod measures;
mod pairs;
pub mod partition;
mod profile;
mod properties;
mod readers;
mod scaling;
mod section;
mod targets;
mod tasks;

pub use data_dirs::DataDirs;
pub use data_source::{CatalogueEntry, DataSource, Isolated};
pub use dataset::{Dataset, SplitError, Splits};
pub use datasets::{Citation, Functions, Invalid, MoleculeSet, MusaeSet};
pub use embeddings::Embeddings;
pub use error::{DataError, GraphError, LabelError};
pub use features::{DenseRows, Features, SparseRows};
pub use graph::{Cleaned, Graph, GraphBuilder};
pub use labels::Labels;
pub use pairs::{Pair, PairError, PairSampler};
pub use partition::{Balance, Centres, Cover, MAX_ENTRIES, Partition, PartitionError, Partitioner, Property};
pub use profile::{Profile, Spread};
pub use properties::Properties;
pub use scaling::CountScaling;
pub use targets::Targets;
pub use tasks::{TaskError, TaskLabels};
