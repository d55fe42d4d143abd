//! Randomised response on every bit of a user's list.

use super::prior::{Prior, bayes, posterior};
use super::{BIT, EdgeRelease, Reports, Suspicion, n_named, of_bits, unbiased};
use crate::bits::{named, pack, unpack};
use crate::links::Links;
use crate::own::{OwnEdges, place_of, refused};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_privacy::SparseBits;

/// Each bit of a user's neighbour list is flipped with probability `1 / (1 + e^epsilon)`: at ε = 1
/// more than a quarter of all pairs become edges. A report takes `ceil((n − 1) / 8)` bytes, one bit
/// per other user.
#[component(
    name = "EdgeResponse",
    about = "randomised response on every bit of a user's list of neighbours"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeResponse {
    /// Privacy budget ε of one bit of one neighbour list.
    #[component(default = 4.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
    /// Bits that users report.
    pub lists: Lists,
}

/// Bits that users report.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// All bits: every user reports on all others, and the graph has an arc to each reported user.
    /// An edge is reported twice and costs twice.
    #[default]
    Both,
    /// One bit per pair, from the user with the lower id, so that an edge is reported once; the
    /// graph is undirected.
    Triangle,
}

impl EdgeResponse {
    fn bits(&self, n_bits: u32) -> Result<SparseBits, StrategyError> {
        SparseBits::new(self.epsilon, n_bits, BIT).map_err(refused)
    }

    fn flip(&self) -> f64 {
        self.bits(1).map_or(0.0, |bits| bits.flip_probability())
    }

    /// Whom each has named.
    fn told(&self, reports: Reports<'_>) -> Result<Vec<Vec<u32>>, StrategyError> {
        let n_users = reports.n_users();
        reports.read(|user, report| match self.lists {
            Lists::Both => named(user, report, n_users),
            Lists::Triangle => {
                let places = unpack(report, n_users - 1 - user)?;
                Some(places.into_iter().map(|place| user + 1 + place).collect())
            }
        })
    }
}

/// Degrees under noise of standard deviation `scale`, each moved to the mean by the share of their
/// variance that is noise: where noise is wider than what differs, a prior of what was told would
/// mislead whoever believes it.
fn shrunk(noisy: &[f64], scale: f64) -> Vec<f64> {
    let n = noisy.len() as f64;
    let mean = noisy.iter().sum::<f64>() / n;
    let variance = noisy
        .iter()
        .map(|degree| (degree - mean) * (degree - mean))
        .sum::<f64>()
        / n;
    let kept = if variance > 0.0 {
        (1.0 - scale * scale / variance).max(0.0)
    } else {
        0.0
    };
    noisy
        .iter()
        .map(|degree| (mean + kept * (degree - mean)).max(1.0))
        .collect()
}

/// The lists both ways: whoever is named by somebody names it.
pub(super) fn mirrored(lists: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); lists.len()];
    // In the order of who names, then of who is named: every list comes out ascending.
    for (user, list) in (0_u32..).zip(lists) {
        for &other in list {
            all[other as usize].push(user);
        }
    }
    for (own, list) in all.iter_mut().zip(lists) {
        own.extend(list);
        own.sort_unstable();
        own.dedup();
    }
    all
}

impl EdgeRelease for EdgeResponse {
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        vec![of_bits("randomised response: edges", self.epsilon)]
    }

    fn n_lists(&self) -> u32 {
        match self.lists {
            Lists::Both => 2,
            Lists::Triangle => 1,
        }
    }

    fn report(&self, mut own: OwnEdges<'_>) -> Result<Vec<u8>, StrategyError> {
        let (me, n_users) = (own.me(), own.n_users());
        Ok(match self.lists {
            Lists::Both => {
                let told = own.all_bits(&self.bits(n_users - 1)?)?;
                pack(told.into_iter().map(|other| place_of(me, other)), n_users - 1)
            }
            Lists::Triangle => {
                let n_bits = n_users - 1 - me;
                let told = own.later_bits(&self.bits(n_bits)?)?;
                pack(told.into_iter().map(|other| other - me - 1), n_bits)
            }
        })
    }

    fn links(&self, reports: Reports<'_>) -> Result<Links, StrategyError> {
        let told = self.told(reports)?;
        Ok(match self.lists {
            Lists::Both => Links::named(&told, false),
            Lists::Triangle => Links::named(&mirrored(&told), true),
        })
    }

    /// The bits, and a posterior by what they say of degrees.
    fn suspect(&self, reports: Reports<'_>, pairs: &[(u32, u32)]) -> Result<Vec<Suspicion>, StrategyError> {
        let (told, flip, n) = (self.told(reports)?, self.flip(), reports.n_users());
        let mut n_named_by_all: Vec<usize> = told.iter().map(Vec::len).collect();
        // A user's degree shows in its own list and in those of all others.
        for &other in told.iter().flatten() {
            n_named_by_all[other as usize] += 1;
        }
        let share = f64::from(self.n_lists());
        let degree = |named: &usize| unbiased(*named, self.n_lists() * (n - 1), flip) / share;
        let noisy: Vec<f64> = n_named_by_all.iter().map(degree).collect();
        let scale = (f64::from(n - 1) * flip * (1.0 - flip) / share).sqrt() / (1.0 - 2.0 * flip);
        let degrees: Vec<Option<f64>> = shrunk(&noisy, scale).into_iter().map(Some).collect();
        let prior = Prior::new(&degrees, 0.0);
        let score = |&(i, j): &(u32, u32)| {
            let (before, named) = (prior.of_users(i, j), n_named(&told, (i, j)));
            match self.lists {
                Lists::Both => posterior(before, named, flip),
                Lists::Triangle if named == 0 => bayes(before, flip, 1.0 - flip),
                Lists::Triangle => bayes(before, 1.0 - flip, flip),
            }
        };
        let bits = pairs.iter().map(|pair| f64::from(n_named(&told, *pair))).collect();
        Ok(vec![
            Suspicion {
                name: "lists",
                scores: bits,
            },
            Suspicion {
                name: "posterior",
                scores: pairs.iter().map(score).collect(),
            },
        ])
    }
}
