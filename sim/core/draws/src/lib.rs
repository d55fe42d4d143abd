//! Random numbers: named streams, and draws from them that are the same on every machine.
//!
//! A stream is derived from its name, a seed, a purpose, a party and a round, whenever it is needed
//! and never stored or shared, so adding a consumer moves nobody else's numbers. The transcendental
//! functions come from the `libm` crate: the system's differ between machines, and `rand_distr`
//! takes the system's as soon as any crate in the build turns on `num-traits/std`.
//!
//! - [`Streams`], [`Purpose`], [`StreamName`]: names of streams, and [`SimRng`], what is behind
//!   them.
//! - [`unit()`], [`unit_f32`], [`index`], [`bernoulli`]: uniform numbers and exact choices.
//! - [`exponential`], [`laplace`], [`normal`], [`log_gamma`], [`dirichlet`], [`Alias`]: laws.
//! - [`discrete_laplace`], [`discrete_normal`]: integers, drawn in exact arithmetic.
//! - [`shuffle`], [`draw_first`]: orders.
//!
//! Where a second way to the same law exists, its doc says whose published numbers hang on it; it
//! must not gain users. Generators of graphs draw ranges and orders with the `rand` crate, whose
//! words are taken in yet another way.
//!
//! ```
//! use folkmoot_draws::{Purpose, Streams, shuffle};
//! use folkmoot_metrics::{ClientId, Party, Round};
//!
//! let streams = Streams::new(1);
//! let mut rng = streams.party(Purpose(*b"example "), Party::Client(ClientId(2)), Round(3));
//! let mut order = [0, 1, 2, 3];
//! shuffle(&mut rng, &mut order);
//! order.sort();
//! assert_eq!(order, [0, 1, 2, 3]);
//! ```

mod alias;
mod discrete;
mod gamma;
mod generator;
mod laws;
mod normal;
mod order;
mod streams;
#[cfg(test)]
mod testing;
mod uniform;

pub use alias::Alias;
pub use discrete::{MAX_DISCRETE_SCALE, discrete_laplace, discrete_normal};
pub use gamma::{dirichlet, log_gamma};
pub use generator::SimRng;
pub use laws::{exponential, laplace};
pub use normal::{normal, normal_by_exponential, normal_polar, normals_f32};
pub use order::{draw_first, shuffle, shuffle_by_words};
pub use rand_chacha::rand_core::{Rng, SeedableRng};
pub use streams::{Purpose, StreamName, Streams};
pub use uniform::{bernoulli, index, index_by_word, unit, unit_f32};
