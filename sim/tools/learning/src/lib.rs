//! Learning on graphs: a reverse-mode tape, graph layers, losses and optimisers, and skip-gram.
//!
//! - [`Layout`] says what a model's flat vector of numbers means, [`Tape`] computes with it and
//!   differentiates, [`Csr`] is what graph layers propagate with, and [`Batch`] makes several
//!   graphs one.
//! - [`layers`]: the layers of graph networks; [`Optimiser`] moves a model, [`Average`] takes the
//!   mean of several, and [`Factored`] is the gradient of a large weight by few rows.
//! - [`skip_gram`]: trains [`Embeddings`](folkmoot_graphs::Embeddings) from walks.
//! - [`losses`]: what skip-gram minimises, as plain functions with gradients; the losses of models
//!   are methods of the tape.
//!
//! ```
//! use folkmoot_graphs::Graph;
//! use folkmoot_learning::layers::{Gcn, Linear, Readout};
//! use folkmoot_learning::{Adam, Csr, DegreeRule, Layout, Moments, Optimiser, Tape};
//! use folkmoot_draws::{SeedableRng, SimRng};
//!
//! let mut layout = Layout::new();
//! let conv = Gcn::new(&mut layout, "conv", 2, 16);
//! let head = Linear::new(&mut layout, "head", 16, 2);
//! let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], false)?;
//! let s = Csr::from_graph(&graph).with_self_loops().normalised(DegreeRule::Masked);
//! let (features, label) = ([1.0, 0.0, 0.0, 1.0, 1.0, 1.0], [1]);
//! let optimiser = Optimiser::Adam(Adam::default());
//! let mut moments = Moments::new();
//!
//! let mut tape = Tape::new();
//! tape.load(&layout, &layout.initialise(&mut SimRng::seed_from_u64(1)));
//! let mut losses = Vec::new();
//! for _ in 0..20 {
//!     tape.reset();
//!     let x = tape.input(3, 2, &features);
//!     let h = conv.forward_relu(&mut tape, (&s).into(), x);
//!     let z = Readout::Mean.forward(&mut tape, h, None);
//!     let logits = head.forward(&mut tape, z);
//!     let loss = tape.cross_entropy(logits, &label, None);
//!     tape.backward(loss);
//!     losses.push(tape.scalar(loss));
//!     let (parameters, gradient) = tape.parameters_mut();
//!     optimiser.step(&mut moments, parameters, gradient);
//! }
//! assert!(losses[19] < losses[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows nothing of the engine: a strategy calls it from its handlers and jobs.

mod average;
mod batch;
mod csr;
mod dense;
mod factored;
mod init;
mod kernels;
pub mod layers;
mod layout;
pub mod losses;
mod optim;
pub mod skip_gram;
pub mod tape;

pub use average::Average;
pub use batch::Batch;
pub use csr::{Csr, CsrError, DegreeRule};
pub use dense::normalise_dense;
pub use factored::Factored;
pub use init::Init;
pub use layout::{Layout, Parameter, Slot};
pub use optim::{Adam, Decay, Moments, Optimiser, Sgd};
pub use tape::{Adjacency, Tape, Var};

/// Whether each is a finite number.
pub fn is_finite(values: &[f32]) -> bool {
    kernels::elementwise::all_finite(values)
}
