//! Differentially private mechanisms.
//!
//! [`Laplace`] adds noise to counts. Every mechanism draws from a stream it is given and uses the `libm` crate's
//! functions, so a release is the same on every machine.
//!
//! ```
//! use folkmoot_privacy::Laplace;
//! let noise = Laplace::new(0.5)?;
//! assert_eq!(noise.cdf(0.0), 0.5);
//! # Ok::<(), folkmoot_privacy::LaplaceError>(())
//! ```

pub mod laplace;

pub use laplace::{Laplace, LaplaceError};
