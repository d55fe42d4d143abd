//! Differentially private mechanisms and what they cost.
//!
//! - [`Mechanism`]: a release and its [`PrivacyCost`]; [`NoPrivacy`] is the twin that protects
//!   nothing.
//! - [`NoiseForm`]: discrete noise in exact arithmetic, or floating-point noise.
//! - [`NoisyCounts`]: Laplace noise on counts; [`Laplace`] is the law itself.
//! - [`Exponential`]: a candidate chosen by its score.
//! - [`MultiBit`]: a matrix as few random signs.
//! - [`RandomisedResponse`]: a value that may be another.
//! - [`SampledGaussian`]: Gaussian noise on a sum over a random sample.
//! - [`Gaussian`]: Gaussian noise, calibrated exactly or as somebody chose it; [`Additive`]:
//!   bounded noise that protects nothing.
//! - [`composition`]: the cost of many releases, from their costs; [`renyi`]: from their laws,
//!   which is less. [`Accountant::pld`] composes whole loss distributions, which is least.
//! - [`Law`]: what is known of a release, from a random sample too; [`Accountant`]: what releases
//!   are proved to cost together.
//!
//! Every mechanism draws from a stream it is given, in an order it states, and uses the `libm`
//! crate's functions, so a release is the same on every machine. An input outside a mechanism's
//! domain is an error. This crate knows nothing of the engine: who releases what to whom is the
//! strategies' and the ledger's business.
//!
//! ```
//! use folkmoot_privacy::{Exponential, Mechanism};
//! use folkmoot_draws::{SeedableRng, SimRng};
//! let mechanism = Exponential::calibrated(2.0, 1.0, "one vertex")?;
//! let chosen = mechanism.release(&[0.0, -0.5, -1.0], &mut SimRng::seed_from_u64(1))?;
//! assert!(chosen < 3 && mechanism.cost().epsilon == 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod accountant;
pub mod additive;
pub mod composition;
pub mod exponential;
pub mod gaussian;
pub mod laplace;
pub mod law;
pub mod mechanism;
pub mod multi_bit;
pub mod noise;
pub mod noisy_counts;
mod normal;
mod pld;
pub mod randomised_response;
pub mod renyi;
mod sampled;
pub mod sparse_bits;

pub use accountant::{Accountant, Composition, DELTA, Totals};
pub use additive::Additive;
pub use exponential::Exponential;
pub use gaussian::Gaussian;
pub use laplace::{Laplace, LaplaceError};
pub use law::{Law, Sampling};
pub use mechanism::{Mechanism, NoPrivacy, ParameterError, PrivacyCost, ReleaseError};
pub use multi_bit::{Entries, MultiBit};
pub use noise::{GRANULARITY, Noise, NoiseForm, Values};
pub use noisy_counts::NoisyCounts;
pub use randomised_response::RandomisedResponse;
pub use renyi::RenyiCurve;
pub use sampled::SampledGaussian;
pub use sparse_bits::SparseBits;
