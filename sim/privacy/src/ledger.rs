//! The privacy ledger: all releases about one thing, and what they cost together by every way of adding up.
//!
//! Keeps one entry for equal releases, however many there are. What nothing protects is counted and makes the total
//! infinite: a guarantee does not hold beside a message that breaks it.

use std::fmt;

use crate::composition::{self, CompositionError};
use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, share};
use crate::renyi::RenyiCurve;

/// How releases were added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composition {
    /// Not at all: something is not protected.
    None,
    /// [`composition::basic`].
    Basic,
    /// [`composition::advanced_mixed`].
    Advanced,
    /// [`RenyiCurve::epsilon`].
    Renyi,
}

impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Composition::None => "none",
            Composition::Basic => "basic",
            Composition::Advanced => "advanced",
            Composition::Renyi => "renyi",
        })
    }
}

/// The releases so far.
#[derive(Clone, Debug, Default)]
pub struct PrivacyLedger {
    entries: Vec<Entry>,
    n_unprotected: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    cost: PrivacyCost,
    curve: RenyiCurve,
    times: u64,
}

/// What all releases cost together, at most `delta`, by each way that proves something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    /// The sums, if those of delta are at most what was asked for.
    pub basic: Option<PrivacyCost>,
    /// Advanced composition with the rest of delta as slack, if there is a rest.
    pub advanced: Option<PrivacyCost>,
    /// By Rényi divergences, if every release has some.
    pub renyi: Option<PrivacyCost>,
}

impl PrivacyLedger {
    /// An empty ledger.
    pub fn new() -> PrivacyLedger {
        PrivacyLedger::default()
    }

    /// Enters `times` releases of `mechanism`.
    ///
    /// # Errors
    ///
    /// [`CompositionError::Units`] when it protects something else than the releases so far; nothing is entered then. What
    /// protects nothing can be entered beside anything.
    pub fn spend(&mut self, mechanism: &impl Mechanism, times: u64) -> Result<(), CompositionError> {
        let cost = mechanism.cost();
        if cost.epsilon.is_infinite() {
            self.n_unprotected += times;
            return Ok(());
        }
        if let Some(first) = self
            .entries
            .first()
            .map(|entry| entry.cost.unit)
            .filter(|unit| *unit != cost.unit)
        {
            return Err(CompositionError::Units {
                first,
                other: cost.unit,
            });
        }
        let curve = RenyiCurve::of(mechanism);
        match self
            .entries
            .iter_mut()
            .find(|entry| entry.cost == cost && entry.curve == curve)
        {
            Some(entry) => entry.times += times,
            None => self.entries.push(Entry { cost, curve, times }),
        }
        Ok(())
    }

    /// How many releases were entered.
    pub fn n_releases(&self) -> u64 {
        self.n_unprotected + self.entries.iter().map(|entry| entry.times).sum::<u64>()
    }

    /// How many of them nothing protects.
    pub fn n_unprotected(&self) -> u64 {
        self.n_unprotected
    }

    /// The total by each composition, for releases that may depend on earlier ones; none of them where something is not protected.
    ///
    /// # Errors
    ///
    /// When `delta` does not lie strictly between 0 and 1.
    pub fn totals(&self, delta: f64) -> Result<Totals, ParameterError> {
        share("delta", delta)?;
        let costs = || self.entries.iter().map(|entry| (entry.cost, entry.times));
        let sum = composition::basic(costs()).ok().filter(|_| self.n_unprotected == 0);
        let Some(sum) = sum else {
            return Ok(Totals {
                basic: None,
                advanced: None,
                renyi: None,
            });
        };
        let slack = delta - sum.delta;
        let advanced = match slack > 0.0 {
            true => composition::advanced_mixed(costs(), slack).ok(),
            false => None,
        };
        let curves = self.entries.iter().map(|entry| (&entry.curve, entry.times));
        let renyi = match RenyiCurve::compose(curves) {
            Ok(curve) => Some(curve.epsilon(delta)?.cost),
            Err(_) => None,
        };
        Ok(Totals {
            basic: Some(sum).filter(|sum| sum.delta <= delta),
            advanced,
            renyi: renyi.filter(|cost| cost.epsilon.is_finite()),
        })
    }

    /// The least total at `delta` and how it is proved; of equal ones the plainest. Without a protected release, or with an unprotected
    /// one, the cost is [`PrivacyCost::UNPROTECTED`].
    ///
    /// # Errors
    ///
    /// As [`PrivacyLedger::totals`].
    pub fn least(&self, delta: f64) -> Result<(Composition, PrivacyCost), ParameterError> {
        let Totals { basic, advanced, renyi } = self.totals(delta)?;
        let mut best = (Composition::None, PrivacyCost::UNPROTECTED);
        let found = [
            (Composition::Basic, basic),
            (Composition::Advanced, advanced),
            (Composition::Renyi, renyi),
        ];
        for (composition, cost) in found {
            if let Some(cost) = cost.filter(|cost| cost.epsilon < best.1.epsilon) {
                best = (composition, cost);
            }
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exponential, Gaussian, NoPrivacy, NoisyCounts};

    fn view(epsilon: f64) -> NoisyCounts {
        NoisyCounts::new(epsilon, 1.0, "one edge").unwrap()
    }

    /// FGCL, 50 rounds with two views: many small releases by Rényi divergences, a few large ones by their sum.
    #[test]
    fn the_least_total_is_found_by_its_own_composition() {
        let mut ledger = PrivacyLedger::new();
        for _ in 0..50 {
            ledger.spend(&view(0.1), 2).unwrap();
        }
        assert_eq!((ledger.entries.len(), ledger.n_releases()), (1, 100));
        let totals = ledger.totals(1e-5).unwrap();
        let [basic, advanced, renyi] = [totals.basic, totals.advanced, totals.renyi].map(|cost| cost.unwrap().epsilon);
        assert!((basic - 10.0).abs() < 1e-12 && (advanced - 5.85).abs() < 0.005 && (renyi - 4.533).abs() < 0.005);
        let (composition, cost) = ledger.least(1e-5).unwrap();
        assert_eq!((composition, cost), (Composition::Renyi, totals.renyi.unwrap()));
        let mut few = PrivacyLedger::new();
        few.spend(&view(8.0), 1).unwrap();
        let (composition, cost) = few.least(1e-5).unwrap();
        assert_eq!((composition, cost), (Composition::Basic, view(8.0).cost()));
    }

    /// The Laplace noise counts for its law, the exponential mechanism for its epsilon, and normal noise for its delta too.
    #[test]
    fn different_releases_add_up() {
        let gaussian = Gaussian::calibrated(0.5, 1e-6, 1.0, "one edge").unwrap();
        let chosen = Exponential::calibrated(0.2, 1.0, "one edge").unwrap();
        let mut ledger = PrivacyLedger::new();
        ledger.spend(&gaussian, 2).unwrap();
        ledger.spend(&chosen, 10).unwrap();
        ledger.spend(&view(0.2), 10).unwrap();
        assert_eq!(ledger.entries.len(), 3);
        let totals = ledger.totals(1e-5).unwrap();
        let basic = totals.basic.unwrap();
        assert!((basic.epsilon - 5.0).abs() < 1e-12 && (basic.delta - 2e-6).abs() < 1e-18);
        let advanced = totals.advanced.unwrap();
        assert!((advanced.delta - 1e-5).abs() < 1e-18);
        let parts = [
            (RenyiCurve::of(&gaussian), 2),
            (RenyiCurve::of(&chosen), 10),
            (RenyiCurve::of(&view(0.2)), 10),
        ];
        let curve = RenyiCurve::compose(parts.iter().map(|(curve, times)| (curve, *times))).unwrap();
        assert_eq!(totals.renyi, Some(curve.epsilon(1e-5).unwrap().cost));
        // No delta is left for a slack, nor enough for the sum.
        let strict = ledger.totals(1e-6).unwrap();
        assert_eq!((strict.basic, strict.advanced), (None, None));
        assert!(strict.renyi.unwrap().epsilon > totals.renyi.unwrap().epsilon);
    }

    #[test]
    fn one_unprotected_message_leaves_no_guarantee() {
        let mut ledger = PrivacyLedger::new();
        assert_eq!(ledger.least(0.1), Ok((Composition::None, PrivacyCost::UNPROTECTED)));
        ledger.spend(&view(1.0), 1).unwrap();
        ledger.spend(&NoPrivacy::<[f64]>::new(), 3).unwrap();
        assert_eq!((ledger.n_releases(), ledger.n_unprotected()), (4, 3));
        let (composition, cost) = ledger.least(1e-5).unwrap();
        assert_eq!(
            (composition.to_string(), cost),
            ("none".to_owned(), PrivacyCost::UNPROTECTED)
        );
    }

    #[test]
    fn other_units_and_deltas_are_refused() {
        let mut ledger = PrivacyLedger::new();
        ledger.spend(&view(1.0), 1).unwrap();
        let node = NoisyCounts::new(1.0, 1.0, "one node").unwrap();
        assert!(matches!(ledger.spend(&node, 1), Err(CompositionError::Units { .. })));
        assert_eq!(ledger.n_releases(), 1);
        for delta in [0.0, 1.0, f64::NAN] {
            assert!(ledger.totals(delta).is_err() && ledger.least(delta).is_err());
        }
    }
}
