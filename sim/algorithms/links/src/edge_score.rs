//! Decoders by name, as cards choose them: `decoder`.
//!
//! A decoder is a component, so any crate may add one. It adds its weights to the layout of the
//! model, which clients train and the server averages, and scores pairs of node embeddings.

mod bilinear;
mod dot;
mod mlp;

pub use bilinear::Bilinear;
pub use dot::Dot;
pub use mlp::Mlp;

use folkmoot_learning::{Layout, Tape, Var};
use folkmoot_parts::component_type;

/// A decoder: the score of an edge from the embeddings of its two ends.
///
/// ```
/// use folkmoot_learning::layers::Linear;
/// use folkmoot_learning::{Layout, Tape, Var};
/// use folkmoot_links::{EdgeScore, Scorer};
///
/// /// A linear function of the squared differences of two embeddings.
/// struct Distance;
///
/// struct OfSquares(Linear);
///
/// impl EdgeScore for Distance {
///     fn scorer(&self, layout: &mut Layout, width: usize) -> Box<dyn Scorer> {
///         Box::new(OfSquares(Linear::new(layout, "decoder", width, 1)))
///     }
/// }
///
/// impl Scorer for OfSquares {
///     fn score(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
///         let difference = tape.subtract(first, second);
///         let squares = tape.square(difference);
///         self.0.forward(tape, squares)
///     }
/// }
/// ```
pub trait EdgeScore: Send + Sync {
    /// Makes the decoder of embeddings with `width` numbers. The names of its weights begin with
    /// `decoder`.
    fn scorer(&self, layout: &mut Layout, width: usize) -> Box<dyn Scorer>;
}

component_type!(EdgeScore, "edge score", Dot {});

/// A decoder whose weights are in a layout.
pub trait Scorer: Send + Sync {
    /// The logit of an edge for each pair of rows: two matrices of shape `(n, width)` give `(n, 1)`.
    ///
    /// Edges have no direction: swapping the two matrices must give the same numbers, except for
    /// rounding.
    fn score(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var;
}

/// The dot product of each pair of rows: `(n, width)` twice gives `(n, 1)`.
fn dot(tape: &mut Tape<'_>, a: Var, b: Var) -> Var {
    let width = tape.shape(a).1;
    let product = tape.multiply(a, b);
    let ones = tape.constant_with(1, width, |to| to.fill(1.0));
    tape.block_dot(product, ones)
}
