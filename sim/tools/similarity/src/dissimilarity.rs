//! How unlike the vertices of a graph are: dynamic time warping between the vectors of their
//! neighbours.
//!
//! A vertex stands as a sequence of rows ([`Sequences`]): its neighbours' degree vectors by
//! ascending noisy degree, or, where those are not uploaded, its own vector alone, whose warping is
//! the distance of the two vectors. The dissimilarity is wanted for all pairs
//! ([`Sequences::all_pairs`], a [`Condensed`] triangle), for one vertex against all
//! ([`Sequences::row`]) or for one pair ([`Sequences::between`]); all three give the same bits, for
//! any number of threads and on any CPU.

mod condensed;
mod sequences;

pub use condensed::Condensed;
pub use sequences::Sequences;
