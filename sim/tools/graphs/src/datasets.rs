//! Data sets that cards name (field `dataset:`): built in, read from files, or generated.
//!
//! Each is a component, declared in the file of its reader or generator.
//! [`DataSource::load`](crate::DataSource::load) makes a [`Dataset`](crate::Dataset) of it.
//!
//! Generated graphs except [`ControlFlow`] are simple and undirected. With `min_degree` (default
//! 1), nodes with too few edges get more, in ascending order. Each added edge goes to a node drawn
//! by the model (uniformly if it has no rule), or to the next free id. Added edges are on top of
//! `mean_degree`; a note reports their number.

pub use crate::generators::{
    BarabasiAlbert, ContextualSbm, ControlFlow, DcSbm, ErdosRenyi, GraphClasses, Rmat, WattsStrogatz,
};
pub use crate::mapped::Mapped;
pub use crate::readers::{
    BlogCatalog, Citation, EdgeList, EmailEuCore, FunctionGraphs, Functions, GraphMl, Invalid, Karate, Mat, Metis,
    MoleculeSet, MoleculeTable, Molecules, Musae, MusaeSet, Npz, Ogb, Planetoid, Tables, TuDataset, TuDatasets,
};
#[cfg(test)]
mod tests;
