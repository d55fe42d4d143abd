//! Degree-preserving randomised response: of those whom randomised response names, a user tells of
//! as many as it has neighbours.
//!
//! S. Hidano, T. Murakami. Degree-Preserving Randomized Response for Graph Neural Networks under
//! Local Differential Privacy. Transactions on Data Privacy 17(2), 2024.
//! <https://arxiv.org/abs/2202.10209>
//!
//! A tenth of the budget goes to the degree, `d̃`, the rest to the bits, each kept with probability
//! `p`. Whoever is named then stays with probability `q = d̃ / (d̃ (2p − 1) + (n − 1) (1 − p))`,
//! within 0 and 1, so that about `d̃` stay. That is done by the user, who sends 4 bytes for each:
//! nobody else learns whom it dropped.

use super::prior::{Prior, bayes};
use super::{BIT, EdgeRelease, Reports, Suspicion, n_named, of_bits, of_degrees};
use crate::links::Links;
use crate::own::{OwnEdges, refused};
use folkmoot_draws::bernoulli;
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_privacy::{NoisyCounts, SparseBits};

const STAYS: Purpose = Purpose(*b"us-stays");

/// Degree-preserving randomised response: the expected number of reported neighbours is the user's
/// degree; 4 bytes each.
#[component(
    name = "Dprr",
    about = "degree-preserving randomised response on a user's list of neighbours (Hidano & Murakami)"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dprr {
    /// Privacy budget ε of one bit of one neighbour list, for degree and bits together.
    #[component(default = 4.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
    /// Fraction of the budget for the degree.
    #[component(default = 0.1, above = 0, below = 1)]
    pub degree_share: f64,
}

/// How likely each that is named stays, so that `degree` do of `n_others`, each bit being kept with
/// probability `keep`.
pub(super) fn stay_probability(degree: f64, n_others: u32, keep: f64) -> f64 {
    let named = degree * (2.0 * keep - 1.0) + f64::from(n_others) * (1.0 - keep);
    match degree > 0.0 && named > 0.0 {
        true => (degree / named).min(1.0),
        // A degree below 0 is noise: nobody stays.
        false => 0.0,
    }
}

impl Dprr {
    fn budgets(&self) -> (f64, f64) {
        let degree = self.degree_share * self.epsilon;
        (degree, self.epsilon - degree)
    }

    fn bits(&self, n_bits: u32) -> Result<SparseBits, StrategyError> {
        SparseBits::new(self.budgets().1, n_bits, BIT).map_err(refused)
    }

    fn told(reports: Reports<'_>) -> Result<Vec<Vec<u32>>, StrategyError> {
        let n = reports.n_users();
        reports.read(|user, report| {
            let list = WireReader::new(report).rest_u32().ok()?;
            let ascend = list.windows(2).all(|pair| pair[0] < pair[1]);
            (ascend && list.last().is_none_or(|last| *last < n) && !list.contains(&user)).then_some(list)
        })
    }
}

impl EdgeRelease for Dprr {
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let (degree, bits) = self.budgets();
        vec![
            of_bits("degree-preserving randomised response: edges", bits),
            of_degrees(degree),
        ]
    }

    fn report(&self, mut own: OwnEdges<'_>) -> Result<Vec<u8>, StrategyError> {
        let n_others = own.n_users() - 1;
        let noise = NoisyCounts::new(self.budgets().0, 1.0, BIT)
            .map_err(refused)?
            .of_whole_numbers();
        let degree = own.degree(&noise)?;
        let bits = self.bits(n_others)?;
        let mut list = own.all_bits(&bits)?;
        let stay = stay_probability(degree, n_others, 1.0 - bits.flip_probability());
        let mut rng = own.rng(STAYS);
        list.retain(|_| bernoulli(&mut rng, stay));
        let mut report = Vec::with_capacity(4 * list.len());
        put_u32s(&mut report, &list);
        Ok(report)
    }

    fn links(&self, reports: Reports<'_>) -> Result<Links, StrategyError> {
        Ok(Links::named(&Dprr::told(reports)?, false))
    }

    /// Who names whom, and a posterior by how many each names.
    fn suspect(&self, reports: Reports<'_>, pairs: &[(u32, u32)]) -> Result<Vec<Suspicion>, StrategyError> {
        let (told, n_others) = (Dprr::told(reports)?, reports.n_users() - 1);
        let keep = self.bits(1)?.flip_probability();
        let keep = 1.0 - keep;
        let sizes: Vec<f64> = told.iter().map(|list| list.len() as f64).collect();
        let degrees: Vec<Option<f64>> = sizes.iter().map(|size| Some(*size)).collect();
        let prior = Prior::new(&degrees, 0.0);
        let score = |&(i, j): &(u32, u32)| {
            let (mut joined, mut apart) = (1.0, 1.0);
            for (of, other) in [(i, j), (j, i)] {
                let stay = stay_probability(sizes[of as usize], n_others, keep);
                let names = told[of as usize].binary_search(&other).is_ok();
                let (yes, no) = (keep * stay, (1.0 - keep) * stay);
                joined *= if names { yes } else { 1.0 - yes };
                apart *= if names { no } else { 1.0 - no };
            }
            bayes(prior.of_users(i, j), joined, apart)
        };
        let lists = pairs.iter().map(|pair| f64::from(n_named(&told, *pair))).collect();
        Ok(vec![
            Suspicion {
                name: "lists",
                scores: lists,
            },
            Suspicion {
                name: "posterior",
                scores: pairs.iter().map(score).collect(),
            },
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 101 users, p = 3/4 and a degree of 10: a third of those named stay, and they are ten on
    /// average.
    #[test]
    fn as_many_stay_as_there_are_neighbours() {
        let stay = stay_probability(10.0, 100, 0.75);
        assert!((stay - 1.0 / 3.0).abs() < 1e-15);
        let named = 10.0 * 0.75 + 90.0 * 0.25;
        assert!((stay * named - 10.0).abs() < 1e-12);
        assert_eq!([-3.0, 0.0].map(|degree| stay_probability(degree, 100, 0.75)), [0.0; 2]);
        assert_eq!(stay_probability(1e6, 100, 0.5), 1.0);
        assert_eq!(stay_probability(5.0, 100, 1.0), 1.0);
    }
}
