//! What users release of their neighbours, and what the server makes of it, a part that a card
//! names as `edges`.
//!
//! An edge is one bit in each of two lists. A mechanism on lists guarantees its epsilon for one bit
//! of one list; who joins or leaves another changes two, so what is known of the edge costs as much
//! for each list that it stands in ([`EdgeRelease::n_lists`]).

mod blink;
mod dprr;
mod laplace;
pub mod prior;
mod public;
mod response;

pub use blink::{Blink, Graph};
pub use dprr::Dprr;
pub use laplace::LaplaceEdges;
pub use public::PublicEdges;
pub use response::{EdgeResponse, Lists};

use crate::links::Links;
use crate::own::OwnEdges;
use folkmoot_engine::prelude::*;
use folkmoot_parts::component_type;
use serde_bytes::ByteBuf;

/// What users have told of their neighbours: a report each, or nothing.
#[derive(Clone, Copy, Debug)]
pub struct Reports<'a>(pub &'a [Option<ByteBuf>]);

impl<'a> Reports<'a> {
    /// How many users there are.
    pub fn n_users(&self) -> u32 {
        self.0.len() as u32
    }

    /// What each has told, by its id, as `read` takes it; nothing of those who told nothing.
    ///
    /// # Errors
    ///
    /// When a report is none of this form.
    pub fn read<T: Default>(&self, mut read: impl FnMut(u32, &'a [u8]) -> Option<T>) -> Result<Vec<T>, StrategyError> {
        let one = |(user, report): (u32, &'a Option<ByteBuf>)| match report {
            None => Ok(T::default()),
            Some(report) => {
                let unread = || StrategyError(format!("the report of user {user} on its edges cannot be read"));
                read(user, report).ok_or_else(unread)
            }
        };
        (0..).zip(self.0).map(one).collect()
    }
}

/// What somebody who has the reports says for the edge of each of some pairs: the higher, the
/// likelier.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    /// What it goes by, such as `posterior`.
    pub name: &'static str,
    /// One number a pair.
    pub scores: Vec<f64>,
}

/// How neighbours leave a user, and what graph the server learns on.
pub trait EdgeRelease: Send + Sync {
    /// The rows of `privacy.csv`: of bits, and where degrees leave on their own channel of degrees.
    /// A name begins with `none` where nothing protects.
    fn mechanisms(&self) -> Vec<MechanismInfo>;

    /// In how many lists an edge is told; 0 where the server knows the edges from the start.
    fn n_lists(&self) -> u32 {
        2
    }

    /// Whether it can be: asked once before a run. Default: yes.
    ///
    /// # Errors
    ///
    /// Which setting does not suit so many users; the message begins with it.
    fn suits(&self, n_users: u32) -> Result<(), StrategyError> {
        let _ = n_users;
        Ok(())
    }

    /// What a user sends; not asked where the server knows the edges.
    ///
    /// # Errors
    ///
    /// When its neighbours cannot be released.
    fn report(&self, own: OwnEdges<'_>) -> Result<Vec<u8>, StrategyError>;

    /// The graph that the server learns on.
    ///
    /// # Errors
    ///
    /// When a report cannot be read.
    fn links(&self, reports: Reports<'_>) -> Result<Links, StrategyError>;

    /// What an attacker who has the reports says for each pair, one entry for each kind of
    /// attacker; the strongest speaks for all.
    ///
    /// # Errors
    ///
    /// When a report cannot be read.
    fn suspect(&self, reports: Reports<'_>, pairs: &[(u32, u32)]) -> Result<Vec<Suspicion>, StrategyError>;
}

component_type!(EdgeRelease, "release of edges", PublicEdges {});

/// The row of bits in `privacy.csv`.
fn of_bits(mechanism: &str, claimed: f64) -> MechanismInfo {
    MechanismInfo {
        mechanism: mechanism.to_owned(),
        unit: "one bit of one user's list; an edge is a bit in two lists".to_owned(),
        claimed: Some(claimed),
    }
}

/// The row of degrees.
fn of_degrees(claimed: f64) -> MechanismInfo {
    MechanismInfo {
        mechanism: "Laplace noise: degree".to_owned(),
        unit: "one bit of one user's list; an edge is a bit in two lists".to_owned(),
        claimed: Some(claimed),
    }
}

const BIT: &str = "one bit of one user's list";

/// How many neighbours a user has of whom it names `n_named` of `n_others` after each was told the
/// other way round with probability `flip`.
fn unbiased(n_named: usize, n_others: u32, flip: f64) -> f64 {
    (n_named as f64 - f64::from(n_others) * flip) / (1.0 - 2.0 * flip)
}

/// Which of its two users have named the other, of lists that ascend.
fn n_named(lists: &[Vec<u32>], (i, j): (u32, u32)) -> u32 {
    let has = |a: u32, b: u32| u32::from(lists[a as usize].binary_search(&b).is_ok());
    has(i, j) + has(j, i)
}
