//! What many releases cost together.
//!
//! Basic composition adds up (Dwork et al. 2006). Advanced composition trades a little delta for an
//! epsilon that grows with the root of the number of releases; it wins for many small ones and
//! loses for few large ones. Both know a release by its epsilon alone; [`renyi`](crate::renyi)
//! knows its law, and proves less.

use crate::mechanism::{ParameterError, PrivacyCost, share};
use thiserror::Error;

/// Why costs cannot be added up.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CompositionError {
    /// There is nothing to add.
    #[error("there is no cost to add up")]
    Empty,
    /// Two costs protect different things: their sum says nothing of either.
    #[error("costs per {first:?} and per {other:?} cannot be added; state both for the same unit")]
    Units {
        /// The first cost's unit.
        first: &'static str,
        /// The unit that differs.
        other: &'static str,
    },
    /// Two Rényi curves have different orders: their costs have nothing in common.
    #[error("Rényi curves of different orders cannot be added; form them at the same orders")]
    Orders,
    /// The slack of advanced composition is illegal.
    #[error(transparent)]
    Slack(ParameterError),
}

/// The cost of all releases together by basic composition: the sums of epsilon and of delta (at
/// most 1).
///
/// Each item is the cost of one release and how often it happens. Later releases may depend on
/// earlier ones.
///
/// # Errors
///
/// [`CompositionError::Empty`] and [`CompositionError::Units`].
///
/// ```
/// use folkmoot_privacy::{PrivacyCost, composition};
/// let view = PrivacyCost { epsilon: 0.1, delta: 0.0, unit: "one edge" };
/// // FGCL: two views of a graph at each of 50 uses.
/// let total = composition::basic([(view, 50), (view, 50)])?;
/// assert_eq!(total.epsilon, 10.0);
/// # Ok::<(), composition::CompositionError>(())
/// ```
pub fn basic(costs: impl IntoIterator<Item = (PrivacyCost, u64)>) -> Result<PrivacyCost, CompositionError> {
    let mut total: Option<PrivacyCost> = None;
    for (cost, times) in costs {
        let sum = total.get_or_insert(PrivacyCost {
            epsilon: 0.0,
            delta: 0.0,
            unit: cost.unit,
        });
        if sum.unit != cost.unit {
            return Err(CompositionError::Units {
                first: sum.unit,
                other: cost.unit,
            });
        }
        // No releases cost nothing, even of what protects nothing: 0 × infinity would be NaN.
        if times > 0 {
            sum.epsilon += times as f64 * cost.epsilon;
            sum.delta = (sum.delta + times as f64 * cost.delta).min(1.0);
        }
    }
    total.ok_or(CompositionError::Empty)
}

/// The cost of `times` releases of the same cost by advanced composition, with `slack` (in 0..1)
/// added to delta.
///
/// `epsilon' = epsilon sqrt(2 k ln(1 / slack)) + k epsilon (e^epsilon - 1)`,
/// `delta' = k delta + slack` for `k` releases (Dwork, Rothblum and Vadhan 2010, Theorem III.3). It
/// may exceed `k epsilon`: compare with [`basic`].
///
/// # Errors
///
/// When `slack` does not lie strictly between 0 and 1.
pub fn advanced(cost: PrivacyCost, times: u64, slack: f64) -> Result<PrivacyCost, ParameterError> {
    share("slack", slack)?;
    let k = times as f64;
    let (root, drift) = ((2.0 * k * libm::log(1.0 / slack)).sqrt(), k * libm::expm1(cost.epsilon));
    let epsilon = if times == 0 { 0.0 } else { cost.epsilon * (root + drift) };
    Ok(PrivacyCost {
        epsilon,
        delta: (k * cost.delta + slack).min(1.0),
        unit: cost.unit,
    })
}

/// The cost of different releases together by advanced composition: each item is the cost of one
/// release and how often it happens; `slack` (in 0..1) is added to delta.
///
/// `epsilon' = sqrt(2 ln(1 / slack) Σ epsilon²) + Σ epsilon (e^epsilon - 1)` over all releases,
/// `delta' = Σ delta + slack`: the proof of [`advanced`], whose martingale may have steps of
/// different length.
///
/// # Errors
///
/// As [`basic`], and when `slack` does not lie strictly between 0 and 1.
pub fn advanced_mixed(
    costs: impl IntoIterator<Item = (PrivacyCost, u64)>,
    slack: f64,
) -> Result<PrivacyCost, CompositionError> {
    share("slack", slack).map_err(CompositionError::Slack)?;
    let costs: Vec<(PrivacyCost, u64)> = costs.into_iter().collect();
    let sum = basic(costs.iter().copied())?;
    let (mut squares, mut drift) = (0.0, 0.0);
    // No releases cost nothing, even of what protects nothing.
    for (cost, times) in costs.into_iter().filter(|(_, times)| *times > 0) {
        squares += times as f64 * cost.epsilon * cost.epsilon;
        drift += times as f64 * cost.epsilon * libm::expm1(cost.epsilon);
    }
    Ok(PrivacyCost {
        epsilon: (2.0 * libm::log(1.0 / slack) * squares).sqrt() + drift,
        delta: (sum.delta + slack).min(1.0),
        unit: sum.unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(epsilon: f64) -> PrivacyCost {
        PrivacyCost {
            epsilon,
            delta: 0.0,
            unit: "one edge",
        }
    }

    /// FGCL, 50 rounds with two views: 5.85 at epsilon 0.1, and no gain from 1 on.
    #[test]
    fn advanced_composition_gains_for_small_costs_only() {
        let epsilon = |epsilon| advanced(view(epsilon), 100, 1e-5).unwrap().epsilon;
        assert!((epsilon(0.1) - 5.85).abs() < 0.005, "{}", epsilon(0.1));
        assert!(epsilon(1.0) > 100.0 && epsilon(10.0) > 1000.0);
        assert_eq!(advanced(view(0.1), 100, 1e-5).unwrap().delta, 1e-5);
        assert_eq!(advanced(view(0.1), 0, 1e-5).unwrap().epsilon, 0.0);
        for slack in [0.0, 1.0, f64::NAN, -1.0] {
            assert!(advanced(view(0.1), 1, slack).is_err());
        }
    }

    /// The delta of each of the releases counts, and the slack once.
    #[test]
    fn advanced_composition_adds_up_deltas() {
        let gaussian = PrivacyCost {
            delta: 1e-7,
            ..view(0.1)
        };
        let (many, mixed) = (
            advanced(gaussian, 40, 1e-5).unwrap(),
            advanced_mixed([(gaussian, 30), (view(0.1), 5), (gaussian, 10)], 1e-5).unwrap(),
        );
        assert!((many.delta / 1.4e-5 - 1.0).abs() < 1e-12, "{}", many.delta);
        assert!((mixed.delta / 1.4e-5 - 1.0).abs() < 1e-12, "{}", mixed.delta);
        assert_eq!(
            advanced(PrivacyCost { delta: 0.1, ..gaussian }, 11, 0.1).unwrap().delta,
            1.0
        );
    }

    /// Equal releases cost what [`advanced`] says; of unequal ones the large count most.
    #[test]
    fn different_costs_compose_by_the_same_rule() {
        let mixed = |parts: &[(PrivacyCost, u64)]| advanced_mixed(parts.iter().copied(), 1e-5);
        let (equal, split) = (
            advanced(view(0.1), 100, 1e-5).unwrap(),
            [(view(0.1), 60), (view(0.1), 40)],
        );
        assert!((mixed(&split).unwrap().epsilon / equal.epsilon - 1.0).abs() < 1e-14);
        assert_eq!(mixed(&split).unwrap().delta, equal.delta);
        let by_hand =
            (2.0 * libm::log(1e5) * (0.09 + 3.0 * 0.25)).sqrt() + 0.3 * libm::expm1(0.3) + 1.5 * libm::expm1(0.5);
        let got = mixed(&[(view(0.3), 1), (view(0.5), 3), (view(f64::INFINITY), 0)]).unwrap();
        assert!((got.epsilon / by_hand - 1.0).abs() < 1e-14);
        assert_eq!(mixed(&[]), Err(CompositionError::Empty));
        let error = advanced_mixed(split, 1.0).unwrap_err().to_string();
        assert_eq!(error, "slack: must be greater than 0 and less than 1, got 1");
    }

    #[test]
    fn basic_composition_adds_what_protects_the_same() {
        let mut gaussian = view(0.5);
        gaussian.delta = 0.25;
        let total = basic([(view(1.0), 3), (gaussian, 2)]).unwrap();
        assert_eq!((total.epsilon, total.delta), (4.0, 0.5));
        assert_eq!(basic([(gaussian, 9)]).unwrap().delta, 1.0);
        assert_eq!(basic([(view(f64::INFINITY), 0)]).unwrap().epsilon, 0.0);
        assert_eq!(basic([]), Err(CompositionError::Empty));
        let mut other = view(1.0);
        other.unit = "one node";
        assert_eq!(
            basic([(view(1.0), 1), (other, 1)]).unwrap_err().to_string(),
            "costs per \"one edge\" and per \"one node\" cannot be added; state both for the same unit"
        );
    }
}
