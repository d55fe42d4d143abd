//! Rényi accounting: the cost of many releases as a curve over orders.
//!
//! I. Mironov. Rényi Differential Privacy. CSF 2017; for the conversion, C. Canonne, G. Kamath and
//! T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Proposition 12.
//!
//! A mechanism's curve gives, for each order `a > 1`, the largest Rényi divergence between releases
//! of neighbouring inputs ([`Law::renyi`]). Curves of successive releases add up order by order,
//! and every order proves an epsilon for a given delta, of which the least is true. For many
//! releases that is far less than advanced composition says; the infinite order is basic
//! composition, so for mechanisms without delta it is never more than that.

use crate::composition::CompositionError;
use crate::law::Law;
use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, positive, share};

/// The costs of releases at several orders.
#[derive(Clone, Debug, PartialEq)]
pub struct RenyiCurve {
    orders: Vec<f64>,
    costs: Vec<f64>,
    unit: &'static str,
}

/// An epsilon that a curve proves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Converted {
    /// The cost, at the delta that was asked for.
    pub cost: PrivacyCost,
    /// The order that proves it. If it is the first or the last finite one, other orders might
    /// prove less.
    pub order: f64,
}

/// The orders used unless others are given: `1 + 2^(k/8)` for k in -48..=96, that is 1.016 to 4097,
/// and infinity.
///
/// Neighbours are so near that the least epsilon over them exceeds that over all orders between by
/// about one in a thousand.
pub fn default_orders() -> Vec<f64> {
    let order = |k: i32| 1.0 + libm::exp2(f64::from(k) / 8.0);
    (-48..=96).map(order).chain([f64::INFINITY]).collect()
}

impl RenyiCurve {
    /// The curve of one release of `mechanism` at [`default_orders`].
    pub fn of(mechanism: &impl Mechanism) -> RenyiCurve {
        RenyiCurve::of_law(mechanism.law(), mechanism.cost().unit)
    }

    /// The curve of one release by a law, for inputs that differ by one `unit`, at
    /// [`default_orders`].
    pub fn of_law(law: Law, unit: &'static str) -> RenyiCurve {
        RenyiCurve::of_law_at(law, unit, &default_orders())
    }

    /// The same at given orders, each above 1 or infinite.
    pub(crate) fn of_law_at(law: Law, unit: &'static str, orders: &[f64]) -> RenyiCurve {
        RenyiCurve {
            costs: law.renyi_at(orders),
            unit,
            orders: orders.to_vec(),
        }
    }

    /// The curve at given orders, each above 1 or infinite.
    ///
    /// # Errors
    ///
    /// When there is no order, or one is not above 1.
    pub fn at(mechanism: &impl Mechanism, orders: &[f64]) -> Result<RenyiCurve, ParameterError> {
        let refused = orders.iter().copied().find(|order| order.is_nan() || *order <= 1.0);
        if let Some(got) = refused.or(orders.is_empty().then_some(f64::NAN)) {
            return Err(ParameterError {
                name: "orders",
                rule: "one or more, each greater than 1",
                got,
            });
        }
        Ok(RenyiCurve::of_law_at(mechanism.law(), mechanism.cost().unit, orders))
    }

    pub fn orders(&self) -> &[f64] {
        &self.orders
    }

    /// The divergence at each order, at least 0.
    pub fn costs(&self) -> &[f64] {
        &self.costs
    }

    /// The curve of all releases together: each item is the curve of one release and how often it
    /// happens. Later releases may depend on earlier ones (Mironov 2017, Proposition 1).
    ///
    /// # Errors
    ///
    /// When there is no item, or two differ in what they protect or in their orders.
    pub fn compose<'a>(parts: impl IntoIterator<Item = (&'a RenyiCurve, u64)>) -> Result<RenyiCurve, CompositionError> {
        let mut total: Option<RenyiCurve> = None;
        for (part, times) in parts {
            let sum = total.get_or_insert_with(|| RenyiCurve {
                costs: vec![0.0; part.orders.len()],
                ..part.clone()
            });
            if sum.unit != part.unit {
                let (first, other) = (sum.unit, part.unit);
                return Err(CompositionError::Units { first, other });
            }
            if sum.orders != part.orders {
                return Err(CompositionError::Orders);
            }
            // No releases cost nothing, even of what protects nothing: 0 × infinity would be NaN.
            if times > 0 {
                let costs = sum.costs.iter_mut().zip(&part.costs);
                costs.for_each(|(sum, cost)| *sum += times as f64 * cost);
            }
        }
        total.ok_or(CompositionError::Empty)
    }

    /// The least epsilon for which the releases are (epsilon, `delta`)-private, as far as the
    /// orders show: the least of `cost + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)`, and at least
    /// 0. Infinite if all costs are.
    ///
    /// # Errors
    ///
    /// When `delta` does not lie strictly between 0 and 1.
    pub fn epsilon(&self, delta: f64) -> Result<Converted, ParameterError> {
        share("delta", delta)?;
        let mut best = (f64::INFINITY, self.orders[0]);
        for (&order, &cost) in self.orders.iter().zip(&self.costs) {
            let proved = if order.is_infinite() {
                cost
            } else {
                cost + libm::log1p(-1.0 / order) - (libm::log(delta) + libm::log(order)) / (order - 1.0)
            };
            if proved < best.0 {
                best = (proved, order);
            }
        }
        Ok(Converted {
            cost: PrivacyCost {
                epsilon: best.0.max(0.0),
                delta,
                unit: self.unit,
            },
            order: best.1,
        })
    }

    /// The least delta for which the releases are (`epsilon`, delta)-private, as far as the orders
    /// show: the least of `exp((a - 1) (cost - epsilon)) (1 - 1/a)^a / (a - 1)`, and at most 1.
    ///
    /// # Errors
    ///
    /// When `epsilon` is not finite and positive.
    pub fn delta(&self, epsilon: f64) -> Result<Converted, ParameterError> {
        positive("epsilon", epsilon)?;
        let mut best = (1.0, self.orders[0]);
        for (&order, &cost) in self.orders.iter().zip(&self.costs) {
            let proved = if order.is_infinite() {
                f64::from(u8::from(cost > epsilon))
            } else {
                let exponent = (order - 1.0) * (cost - epsilon) + order * libm::log1p(-1.0 / order);
                libm::exp(exponent) / (order - 1.0)
            };
            if proved < best.0 {
                best = (proved, order);
            }
        }
        Ok(Converted {
            cost: PrivacyCost {
                epsilon,
                delta: best.0,
                unit: self.unit,
            },
            order: best.1,
        })
    }
}

/// The divergence of randomised response over `n_values` values; at two, the largest of any
/// `epsilon`-private mechanism (Kairouz, Oh & Viswanath 2015: each such mechanism can be made from
/// its answers).
///
/// Of `p^a q^(1-a) + q^a p^(1-a) + (n - 2) q`, with `p = e^ε q`, the part above 1 is
/// `4 p e^(-ε/2) sinh(aε/2) sinh((a - 1) ε/2)` (Mironov 2017, Proposition 5, for n = 2). Its log
/// neither overflows nor cancels.
pub(crate) fn response(epsilon: f64, n_values: f64, order: f64) -> f64 {
    if epsilon.is_infinite() || order.is_infinite() {
        return epsilon;
    }
    let log_keep = -libm::log1p((n_values - 1.0) * libm::exp(-epsilon));
    let log_one_less = |x: f64| libm::log(-libm::expm1(-x));
    let excess =
        log_keep + (order - 1.0) * epsilon + log_one_less(order * epsilon) + log_one_less((order - 1.0) * epsilon);
    log_one_more(excess) / (order - 1.0)
}

/// The divergence of Laplace noise of scale 1 from itself, moved by `shift` (Mironov 2017,
/// Proposition 6).
pub(crate) fn laplace(shift: f64, order: f64) -> f64 {
    if shift.is_infinite() || order.is_infinite() {
        return shift;
    }
    let (up, down) = ((order - 1.0) * shift, order * shift);
    if up > 1.0 {
        let first = libm::log(order / (2.0 * order - 1.0));
        let second = (order - 1.0) / order * libm::exp(-(2.0 * order - 1.0) * shift);
        return shift + (first + libm::log1p(second)) / (order - 1.0);
    }
    // The terms of first order in the shift cancel: what is left is formed without them.
    let excess = (order * beyond_linear(up) + (order - 1.0) * beyond_linear(-down)) / (2.0 * order - 1.0);
    libm::log1p(excess) / (order - 1.0)
}

/// `e^x - 1 - x`, without cancellation near 0.
fn beyond_linear(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return libm::expm1(x) - x;
    }
    let (mut sum, mut term) = (0.0, 0.5 * x * x);
    for k in 3..20 {
        sum += term;
        term *= x / f64::from(k);
    }
    sum
}

/// `ln(1 + e^x)`.
pub(crate) fn log_one_more(x: f64) -> f64 {
    // Each branch keeps what is small: e^x below 0, the rest above x.
    if x < 0.0 {
        libm::log1p(libm::exp(x))
    } else {
        x + libm::log1p(libm::exp(-x))
    }
}

#[cfg(test)]
mod tests;
