//! Models of the world made of measurements: who was online, how fast phones are, what links
//! carried.
//!
//! The engine knows no files. A [`Model`] is what a card names: it is made, once the number of
//! clients is known, of files below a data folder that a [`Shelf`] reads, and of draws. [`Whole`]
//! is one that needs none. Each set has a reader that checks what it reads, and rows of it are
//! dealt out to clients by named streams, with or without replacement.
//!
//! | set | what | where it comes from |
//! |---|---|---|
//! | [`Flash`] | when phones were ready to train | Yang et al., WWW 2021, as FLHetBench derived it |
//! | [`Venn`] | speeds of phones | Liu et al., MLSys 2025 |
//! | [`FlHetBench`] | latencies of two networks on phones | Zhang et al., CVPR 2024 |
//! | [`BandwidthLogs`] | what 3G and 4G links carried | Riiser et al., MMSys 2013; van der Hooft et al., 2016; as Sabre has them |

mod bandwidth;
mod flash;
mod shelf;
mod speeds;

pub use bandwidth::{BandwidthLogs, LogSet};
pub use flash::Flash;
pub use shelf::{Shelf, TraceError};
pub use speeds::{FlHetBench, Measured, Venn};

use folkmoot_engine::world::{Availability, Devices, Network};

/// A model of the world as a card names it.
pub trait Model<T: ?Sized>: Send + Sync {
    /// The model for the clients of the shelf, once the files that it is made of are read.
    ///
    /// # Errors
    ///
    /// When a file is missing or breaks its format, or there are fewer rows than clients where each
    /// is to have its own.
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<T>, TraceError>;
}

/// A model that is made of its settings alone.
pub struct Whole<P>(pub P);

/// Makes a copy of what it holds.
macro_rules! is_whole {
    ($($kind:ident)*) => {$(
        impl<P: $kind + Clone + 'static> Model<dyn $kind> for Whole<P> {
            fn make(&self, _: &mut Shelf<'_>) -> Result<Box<dyn $kind>, TraceError> {
                Ok(Box::new(self.0.clone()))
            }
        }
    )*};
}

is_whole!(Network Devices Availability);
