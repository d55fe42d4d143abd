//! From values to places on an axis: its range, its ticks and their labels.

use crate::names::{Unit, minus, short, si, step};
use folkmoot_metrics::figure::Axis;

/// An axis fitted to its values.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub(crate) log: bool,
    lo: f64,
    hi: f64,
    /// Values and labels, ascending.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Values of unlabelled ticks.
    pub(crate) minor: Vec<f64>,
    /// The label with its unit.
    pub(crate) label: String,
    /// Values that a logarithmic axis cannot show were left out.
    pub(crate) left_out: bool,
}

/// The smallest number of 1, 2, 2.5 and 5 times a power of ten that is at least `x`.
fn nice_step(x: f64) -> f64 {
    let power = libm::pow(10.0, libm::log10(x).floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    steps
        .iter()
        .map(|step| step * power)
        .find(|step| *step >= x * (1.0 - 1e-9))
        .unwrap_or(x)
}

impl Scale {
    /// Fits `axis` to `values` with at most `max_ticks` labels; values that are not finite count
    /// for nothing.
    pub(crate) fn fit(axis: &Axis, values: &[f64], max_ticks: usize) -> Self {
        let finite = || {
            let all = values.iter().copied().chain(axis.reach.iter().copied());
            all.filter(|value| value.is_finite())
        };
        if let Some((from, to)) = axis.range {
            let free = Axis {
                range: None,
                ..axis.clone()
            };
            let log = from > 0.0 && Scale::fit(&free, values, max_ticks).log;
            let ends = Axis {
                log_beyond: log.then_some(0.0),
                from_zero: false,
                reach: Vec::new(),
                ..free
            };
            let mut scale = Scale::fit(&ends, &[from, to], max_ticks);
            let place = |value: f64| if scale.log { libm::log10(value) } else { value };
            (scale.lo, scale.hi) = (place(from), place(to));
            scale.ticks.retain(|(value, _)| (from..=to).contains(value));
            scale.minor.retain(|value| (from..=to).contains(value));
            return scale;
        }
        let (mut lo, mut hi) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        if lo > hi {
            (lo, hi) = (0.0, 1.0);
        }
        let least = finite().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let decades = libm::log10(hi) - libm::log10(least);
        let log = lo >= 0.0 && least < hi && axis.log_beyond.is_some_and(|beyond| decades > beyond);
        let mut scale = if log {
            Scale::logarithmic(axis, least, hi, max_ticks)
        } else {
            Scale::linear(axis, lo, hi, max_ticks)
        };
        scale.left_out = log && lo <= 0.0;
        if !axis.better.is_empty() {
            scale.label = format!("{} {}", scale.label, axis.better);
        }
        if !axis.ticks.is_empty() {
            scale.ticks = axis.ticks.clone();
            scale.minor.clear();
            if log {
                // Decades show it by themselves; such ticks do not.
                scale.label += ", logarithmic";
            }
        }
        scale
    }

    fn linear(axis: &Axis, mut lo: f64, mut hi: f64, max_ticks: usize) -> Self {
        let (factor, symbol) = step(axis.unit, lo.abs().max(hi.abs()));
        let zero = axis.from_zero || (lo > 0.0 && lo < 0.4 * hi && !axis.whole && axis.ticks.is_empty());
        if zero {
            (lo, hi) = (lo.min(0.0), hi.max(0.0));
        }
        if lo == hi {
            let pad = if axis.whole || lo == 0.0 { 1.0 } else { lo.abs() * 0.1 };
            (lo, hi) = (if axis.from_zero { lo } else { lo - pad }, hi + pad);
        }
        let mut step = nice_step((hi - lo) / factor / max_ticks.max(2) as f64);
        if axis.whole {
            step = step.max(1.0).ceil();
        }
        let pad = (hi - lo) * 0.04;
        let (from, to) = (
            if zero && lo == 0.0 { lo } else { lo - pad },
            if zero && hi == 0.0 { hi } else { hi + pad },
        );
        // A share never exceeds the whole, so its axis need not either.
        let to = if axis.unit == Unit::Share && hi <= 1.0 {
            to.min(1.02)
        } else {
            to
        };
        let first = (from / factor / step).ceil() as i64;
        let last = (to / factor / step).floor() as i64;
        let decimals = (-libm::log10(step * 1.0001).floor()).clamp(0.0, 9.0) as usize;
        let decimals = if (step * libm::pow(10.0, decimals as f64)).fract() > 1e-6 {
            decimals + 1
        } else {
            decimals
        };
        let tick = |i: i64| {
            let value = i as f64 * step;
            let text = match axis.unit {
                _ if step < 1e-5 || (value.abs() >= 1e9 && axis.unit != Unit::Count) => short(value),
                Unit::Count if step >= 1.0 => si(value),
                _ => minus(&format!("{value:.decimals$}")),
            };
            (value * factor, text)
        };
        // The span is a handful of steps, so this is short; i64 saturates for absurd ranges.
        let ticks = (first..=last.min(first.saturating_add(50)))
            .map(tick)
            .filter(|(value, _)| !axis.whole || lo < 0.0 || *value >= 0.0)
            .collect();
        let label = if symbol.is_empty() {
            axis.label.clone()
        } else {
            format!("{} ({symbol})", axis.label)
        };
        Scale {
            log: false,
            lo: from,
            hi: to,
            ticks,
            minor: Vec::new(),
            label,
            left_out: false,
        }
    }

    fn logarithmic(axis: &Axis, lo: f64, hi: f64, max_ticks: usize) -> Self {
        let (from, to) = (libm::log10(lo), libm::log10(hi));
        let pad = (to - from) * 0.04;
        let (first, last) = ((from - pad).ceil() as i32, (to + pad).floor() as i32);
        let every = ((last - first) as usize / max_ticks.max(2) + 1) as i32;
        let power = |i: i32| libm::pow(10.0, f64::from(i));
        let text = |value: f64| match axis.unit {
            Unit::Number | Unit::Count if value >= 1.0 => si(value),
            Unit::Number | Unit::Count if value >= 1e-3 => short(value),
            Unit::Number | Unit::Count => minus(&format!("{value:.0e}")),
            unit => {
                let (factor, symbol) = step(unit, value * 1.0001);
                format!("{} {symbol}", short(value / factor))
            }
        };
        let text = |value: f64| match axis.unit {
            // Minutes and hours make no decades.
            Unit::Seconds if value >= 1.0 => format!("{} s", si(value)),
            _ => text(value),
        };
        let ticks: Vec<_> = (first..=last)
            .filter(|i| i % every == 0)
            .map(|i| (power(i), text(power(i))))
            .collect();
        let minor: Vec<f64> = if every == 1 && last - first < 8 {
            let inside = |value: &f64| (from - pad..=to + pad).contains(&libm::log10(*value));
            (first - 1..=last)
                .flat_map(|i| (2..10).map(move |n| power(i) * f64::from(n)))
                .filter(inside)
                .collect()
        } else {
            (first..=last).filter(|i| i % every != 0).map(power).collect()
        };
        Scale {
            log: true,
            lo: from - pad,
            hi: to + pad,
            ticks,
            minor,
            label: axis.label.clone(),
            left_out: false,
        }
    }

    /// The place of a value, 0 at the low end and 1 at the high one; `None` where it cannot be
    /// shown.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let value = if self.log { libm::log10(value) } else { value };
        let place = (value - self.lo) / (self.hi - self.lo);
        place.is_finite().then_some(place)
    }

    /// The place nearest to a value that lies below or above what is shown.
    pub(crate) fn place_clamped(&self, value: f64) -> f64 {
        if self.log && value <= 0.0 {
            0.0
        } else {
            self.place(value).unwrap_or(0.0).clamp(0.0, 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> (Vec<String>, String) {
        let scale = Scale::fit(axis, values, 6);
        (scale.ticks.into_iter().map(|(_, text)| text).collect(), scale.label)
    }

    #[test]
    fn bytes_are_scaled_to_the_largest_value() {
        let (ticks, label) = labels(&Axis::amount("Payload", Unit::Bytes), &[0.0, 2.5e6]);
        assert_eq!(
            (ticks.join(" "), label.as_str()),
            ("0.0 0.5 1.0 1.5 2.0 2.5".into(), "Payload (MB)")
        );
    }

    #[test]
    fn wide_ranges_get_decades_with_units() {
        let (ticks, label) = labels(&Axis::amount("Payload", Unit::Bytes), &[0.0, 10.0, 1e6]);
        assert_eq!(
            (ticks.join(", "), label.as_str()),
            ("10 B, 100 B, 1 kB, 10 kB, 100 kB, 1 MB".into(), "Payload")
        );
        let (ticks, _) = labels(&Axis::amount("Messages", Unit::Count), &[1.0, 1e12]);
        assert_eq!(ticks.join(" "), "1 1k 1M 1G 1T");
    }

    #[test]
    fn rounds_have_whole_ticks() {
        assert_eq!(labels(&Axis::rounds(), &[0.0, 3.0]).0, ["0", "1", "2", "3"]);
        assert_eq!(labels(&Axis::rounds(), &[5.0]).0, ["4", "5", "6"]);
    }

    #[test]
    fn any_values_give_a_range_with_room() {
        for values in [
            &[][..],
            &[f64::NAN],
            &[0.0],
            &[-1e300, 1e300],
            &[1e-300],
            &[f64::INFINITY, 2.0],
            &[1e12],
        ] {
            for axis in [
                Axis::rounds(),
                Axis::amount("x", Unit::Bytes),
                Axis::new("x", Unit::Seconds),
            ] {
                let scale = Scale::fit(&axis, values, 6);
                assert!(scale.ticks.len() < 60, "{values:?}");
                for value in values.iter().filter(|value| value.is_finite()) {
                    let place = scale.place(*value).unwrap_or(0.5);
                    assert!((-0.01..=1.01).contains(&place), "{value} at {place} of {scale:?}");
                }
            }
        }
    }
}
