//! The privacy accountant: what releases about one thing cost together, by every way of adding up.
//!
//! It knows the laws of releases and works out once what it needs of each; how often each was
//! released to whom is for others to count. What nothing protects makes every total infinite: a
//! guarantee does not hold beside a message that breaks it.

use std::collections::BTreeMap;
use std::fmt;

use crate::composition;
use crate::law::Law;
use crate::mechanism::{ParameterError, share};
use crate::pld;
use crate::renyi::{RenyiCurve, default_orders};
use crate::sampled;

/// The delta at which totals are stated unless another is asked for.
pub const DELTA: f64 = 1e-5;

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
    /// By privacy-loss distributions: [`Accountant::pld`].
    Pld,
}

impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Composition::None => "none",
            Composition::Basic => "basic",
            Composition::Advanced => "advanced",
            Composition::Renyi => "renyi",
            Composition::Pld => "pld",
        })
    }
}

/// As [`Law::key`].
type LawKey = (u8, [u64; 3]);

/// The laws of releases that may be added up, at one delta.
#[derive(Clone, Debug)]
pub struct Accountant {
    delta: f64,
    /// Those of all curves.
    orders: Vec<f64>,
    laws: Vec<Law>,
    /// That of each law.
    curves: Vec<RenyiCurve>,
    places: BTreeMap<LawKey, usize>,
}

/// The least epsilons that releases are proved to cost together, by each composition that proves
/// one at the accountant's delta.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// The sum, if the deltas add up to no more than what was asked for.
    pub basic: Option<f64>,
    /// Advanced composition with the rest of delta as slack, if there is a rest.
    pub advanced: Option<f64>,
    /// By Rényi divergences, if every release has some.
    pub renyi: Option<f64>,
    /// By privacy-loss distributions, which take time: [`Accountant::totals`] leaves them out.
    pub pld: Option<f64>,
}

/// A gain for which no less plain composition is named.
const NO_GAIN: f64 = 1e-3;

impl Totals {
    /// The least of them and how it is proved; of those within one in a thousand of each other
    /// the plainest. Infinite where none proves anything.
    pub fn least(&self) -> (Composition, f64) {
        let found = [
            (Composition::Basic, self.basic),
            (Composition::Advanced, self.advanced),
            (Composition::Renyi, self.renyi),
            (Composition::Pld, self.pld),
        ];
        let mut best = (Composition::None, f64::INFINITY);
        for (composition, epsilon) in found {
            if let Some(epsilon) = epsilon.filter(|epsilon| *epsilon < best.1 * (1.0 - NO_GAIN)) {
                best = (composition, epsilon);
            }
        }
        best
    }
}

/// Of more laws than these together no distributions are composed: each takes a transform.
const MOST_LAWS: usize = 32;

impl Accountant {
    /// Without a law yet; totals will hold at `delta`.
    ///
    /// # Errors
    ///
    /// When `delta` does not lie strictly between 0 and 1.
    pub fn new(delta: f64) -> Result<Accountant, ParameterError> {
        let delta = share("delta", delta)?;
        Ok(Accountant {
            delta,
            orders: default_orders(),
            laws: Vec::new(),
            curves: Vec::new(),
            places: BTreeMap::new(),
        })
    }

    /// The place of a law, which is added where it is new. With one of samples among them totals
    /// are sought at the orders for which those laws have sums.
    pub fn law(&mut self, law: Law) -> usize {
        if let Some(known) = self.places.get(&law.key()) {
            return *known;
        }
        let place = self.laws.len();
        self.places.insert(law.key(), place);
        self.laws.push(law);
        let is_sampled = |law: &Law| matches!(law, Law::SampledNormal { .. });
        if is_sampled(&law) && !self.laws[..place].iter().any(is_sampled) {
            self.orders = sampled::orders();
            self.curves = self
                .laws
                .iter()
                .map(|law| RenyiCurve::of_law_at(*law, "", &self.orders))
                .collect();
        } else {
            self.curves.push(RenyiCurve::of_law_at(law, "", &self.orders));
        }
        place
    }

    /// The laws by their places.
    pub fn laws(&self) -> &[Law] {
        &self.laws
    }

    /// The delta of the totals.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// What releases cost together, each item the place of a law and how often it was released
    /// from; later ones may depend on earlier ones. No releases cost nothing.
    ///
    /// # Panics
    ///
    /// When a place is not one of [`Accountant::law`].
    pub fn totals(&self, releases: &[(usize, u64)]) -> Totals {
        // In one order, so that sums do not depend on how they came.
        let mut releases: Vec<(usize, u64)> = releases.iter().copied().filter(|(_, times)| *times > 0).collect();
        releases.sort_unstable_by_key(|(law, times)| (self.laws[*law].key(), *times));
        if releases.is_empty() {
            let nothing = Some(0.0);
            return Totals {
                basic: nothing,
                advanced: nothing,
                renyi: nothing,
                pld: None,
            };
        }
        let costs = || releases.iter().map(|(law, times)| (self.laws[*law].cost(""), *times));
        let sum = composition::basic(costs()).expect("there are releases, and all costs have one unit");
        if sum.epsilon.is_infinite() {
            return Totals::default();
        }
        // No delta left is an illegal slack, and proves nothing.
        let advanced = composition::advanced_mixed(costs(), self.delta - sum.delta).ok();
        let curves = releases.iter().map(|(law, times)| (&self.curves[*law], *times));
        let renyi = RenyiCurve::compose(curves).expect("all curves have the same orders");
        let renyi = renyi.epsilon(self.delta).expect("delta is a share").cost.epsilon;
        Totals {
            basic: (sum.delta <= self.delta).then_some(sum.epsilon),
            advanced: advanced.map(|cost| cost.epsilon),
            renyi: Some(renyi).filter(|epsilon| epsilon.is_finite()),
            pld: None,
        }
    }

    /// What releases cost together by their privacy-loss distributions, composed numerically: an
    /// upper bound of the least epsilon that holds, within one in a hundred and mostly far less.
    /// None of samples of a fixed size, whose distribution is not known, of more than 32 laws
    /// together, and where something is not protected. It takes some hundredths of a second.
    ///
    /// # Panics
    ///
    /// As [`Accountant::totals`].
    pub fn pld(&self, releases: &[(usize, u64)]) -> Option<f64> {
        let mut times: BTreeMap<LawKey, (Law, u64)> = BTreeMap::new();
        for (place, n) in releases {
            let law = self.laws[*place];
            times.entry(law.key()).or_insert((law, 0)).1 += n;
        }
        let releases: Vec<(Law, u64)> = times.into_values().collect();
        (releases.len() <= MOST_LAWS).then(|| pld::epsilon(&releases, self.delta))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exponential, Gaussian, Mechanism, NoPrivacy, NoisyCounts};

    fn view(epsilon: f64) -> Law {
        NoisyCounts::new(epsilon, 1.0, "one edge").unwrap().law()
    }

    fn totals<const N: usize>(delta: f64, releases: [(Law, u64); N]) -> Totals {
        let mut accountant = Accountant::new(delta).unwrap();
        let releases = releases.map(|(law, times)| (accountant.law(law), times));
        accountant.totals(&releases)
    }

    /// FGCL, 50 rounds with two views: many small releases by Rényi divergences, a few large ones
    /// by their sum.
    #[test]
    fn the_least_total_is_found_by_its_own_composition() {
        let all = totals(1e-5, [(view(0.1), 50), (view(0.1), 50)]);
        assert_eq!(all, totals(1e-5, [(view(0.1), 100)]));
        let mut accountant = Accountant::new(0.25).unwrap();
        assert_eq!([0.1, 8.0, 0.1].map(|epsilon| accountant.law(view(epsilon))), [0, 1, 0]);
        assert_eq!(
            (accountant.laws(), accountant.delta()),
            (&[view(0.1), view(8.0)][..], 0.25)
        );
        let [basic, advanced, renyi] = [all.basic, all.advanced, all.renyi].map(Option::unwrap);
        assert!((basic - 10.0).abs() < 1e-12 && (advanced - 5.85).abs() < 0.005 && (renyi - 4.533).abs() < 0.005);
        assert_eq!(all.least(), (Composition::Renyi, renyi));
        assert_eq!(totals(1e-5, [(view(8.0), 1)]).least(), (Composition::Basic, 8.0));
    }

    /// The Laplace noise counts for its law, the exponential mechanism for its epsilon, and
    /// Gaussian noise for its delta too.
    #[test]
    fn different_releases_add_up() {
        let gaussian = Gaussian::calibrated(0.5, 1e-6, 1.0, "one edge").unwrap().law();
        let chosen = Exponential::calibrated(0.2, 1.0, "one edge").unwrap().law();
        let releases = [(gaussian, 2), (chosen, 10), (view(0.2), 10)];
        let all = totals(1e-5, releases);
        assert!((all.basic.unwrap() - 5.0).abs() < 1e-12);
        let parts = releases.map(|(law, times)| (RenyiCurve::of_law(law, ""), times));
        let curve = RenyiCurve::compose(parts.iter().map(|(curve, times)| (curve, *times))).unwrap();
        let renyi = curve.epsilon(1e-5).unwrap().cost.epsilon;
        assert!((all.renyi.unwrap() / renyi - 1.0).abs() < 1e-12);
        let mixed = releases.map(|(law, times)| (law.cost("one edge"), times));
        let advanced = composition::advanced_mixed(mixed, 1e-5 - 2e-6).unwrap();
        assert!((all.advanced.unwrap() / advanced.epsilon - 1.0).abs() < 1e-12 && advanced.delta <= 1e-5);
        // No delta is left for a slack, nor enough for the sum.
        let strict = totals(1e-6, releases);
        assert_eq!((strict.basic, strict.advanced), (None, None));
        assert!(strict.renyi.unwrap() > all.renyi.unwrap());
        let [a, b, c] = releases;
        assert_eq!(totals(1e-5, [c, a, b]), all, "whatever the order");
    }

    #[test]
    fn one_unprotected_message_leaves_no_guarantee() {
        let none = NoPrivacy::<[f64]>::new().law();
        let all = totals(1e-5, [(view(1.0), 1), (none, 3)]);
        assert_eq!(all, Totals::default());
        let (composition, epsilon) = all.least();
        assert_eq!((composition.to_string(), epsilon), ("none".to_owned(), f64::INFINITY));
        let never = totals(1e-5, [(none, 0)]);
        assert_eq!(never.least(), (Composition::Basic, 0.0));
    }

    /// Distributions prove least, if they prove anything, and of nearly equal totals the plainest
    /// is named.
    #[test]
    fn distributions_prove_least() {
        let mut accountant = Accountant::new(1e-5).unwrap();
        let view = accountant.law(view(0.1));
        let mut all = accountant.totals(&[(view, 60), (view, 40)]);
        all.pld = accountant.pld(&[(view, 60), (view, 40)]);
        let (composition, epsilon) = all.least();
        assert_eq!((composition.to_string(), Some(epsilon)), ("pld".to_owned(), all.pld));
        assert!(epsilon < 0.95 * all.renyi.unwrap() && epsilon > 0.9 * all.renyi.unwrap());
        assert_eq!(all.pld, accountant.pld(&[(view, 100)]));
        let once = Totals {
            pld: accountant.pld(&[(view, 1)]),
            ..accountant.totals(&[(view, 1)])
        };
        assert!(once.pld < Some(0.1));
        assert_eq!(once.least(), (Composition::Basic, 0.1));
        let mut many = Accountant::new(1e-5).unwrap();
        let laws = (1..=33).map(|i| (many.law(super::tests::view(f64::from(i) / 100.0)), 1));
        let laws: Vec<(usize, u64)> = laws.collect();
        assert_eq!(many.pld(&laws), None);
        assert!(many.pld(&laws[1..]).is_some());
    }

    /// A cost with a delta of which no more is known has no Rényi divergence, and its sum needs
    /// that delta.
    #[test]
    fn a_bare_bound_adds_up_by_its_numbers() {
        let bound = |delta| Law::Bound { epsilon: 0.5, delta };
        let all = totals(1e-5, [(bound(1e-6), 3)]);
        assert_eq!((all.basic, all.renyi), (Some(1.5), None));
        assert!(all.advanced.is_some());
        assert_eq!(totals(1e-5, [(bound(1e-5), 2)]), Totals::default());
    }

    #[test]
    fn a_delta_that_is_none_is_refused() {
        for delta in [0.0, 1.0, f64::NAN] {
            assert!(Accountant::new(delta).is_err());
        }
    }
}
