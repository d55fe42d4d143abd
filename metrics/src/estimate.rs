//! Numbers over seeds as people read them: the mean with the half-width of its 95 % confidence
//! interval (Student's t), in one unit, to the digits that the interval allows.
//!
//! The tables of a sweep, in the console and in the report, write every such number here.

use crate::metric::Unit;
use crate::spread::Spread;
use crate::term::Bounds;
use crate::words::{digits, grouped};
use std::fmt;

/// With fewer values than these, an interval that leaves the metric's range is not printed: the
/// values are.
pub const FEW: usize = 5;

/// The unit in which numbers are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    factor: f64,
    /// What follows the number, with a space before it; blank for plain numbers.
    pub suffix: &'static str,
}

/// From how many seconds on a unit is used, the seconds that it has, and its name.
const TIMES: [(f64, f64, &str); 7] = [
    (172_800.0, 86_400.0, " days"),
    (10_800.0, 3_600.0, " h"),
    (600.0, 60.0, " min"),
    (1.0, 1.0, " s"),
    (1e-3, 1e-3, " ms"),
    (1e-6, 1e-6, " µs"),
    (0.0, 1e-9, " ns"),
];
/// The same for bytes.
const SIZES: [(f64, f64, &str); 6] = [
    (999.95e12, 1e15, " PB"),
    (999.95e9, 1e12, " TB"),
    (999.95e6, 1e9, " GB"),
    (999.95e3, 1e6, " MB"),
    (999.95, 1e3, " kB"),
    (0.0, 1.0, " B"),
];

impl Scale {
    /// The one in which a number of this size is readable.
    pub fn of(unit: Unit, x: f64) -> Scale {
        let among = |units: &[(f64, f64, &'static str)]| {
            let found = units.iter().find(|(least, ..)| x.abs() >= *least);
            found.map_or((1.0, units[units.len() - 1].2), |(_, size, suffix)| {
                (1.0 / size, *suffix)
            })
        };
        let (factor, suffix) = match unit {
            Unit::Number | Unit::Count => (1.0, ""),
            Unit::Share => (100.0, " %"),
            Unit::Seconds if x == 0.0 => (1.0, " s"),
            Unit::Seconds => among(&TIMES),
            Unit::Bytes => among(&SIZES),
            Unit::BytesPerSecond => {
                let (factor, suffix) = among(&SIZES);
                let suffix = match suffix {
                    " B" => " B/s",
                    " kB" => " kB/s",
                    " MB" => " MB/s",
                    " GB" => " GB/s",
                    " TB" => " TB/s",
                    _ => " PB/s",
                };
                (factor, suffix)
            }
        };
        Scale { factor, suffix }
    }

    /// A number in this unit.
    pub fn apply(self, x: f64) -> f64 {
        x * self.factor
    }

    /// That of a difference of two numbers in this one: of percentages, percentage points.
    fn of_difference(self) -> Scale {
        match self.suffix {
            " %" => Scale { suffix: " pp", ..self },
            _ => self,
        }
    }
}

/// One number over seeds, written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The mean; the values where an interval would leave the metric's range.
    pub mean: String,
    /// The half-width of the interval; none of a single value, of equal ones and of values that
    /// are printed themselves.
    pub half: Option<String>,
    /// What follows: the unit, with a space before it.
    pub unit: &'static str,
}

impl Estimate {
    /// The mean of `values`, of a metric with this unit that lies in `range`; blank without values.
    pub fn of(values: &[f64], unit: Unit, range: Bounds) -> Estimate {
        let spread = Spread::of(values);
        let interval = spread.interval_95();
        let half = interval.map_or(0.0, |(_, high)| high - spread.mean);
        // What an interval rounds up to a thousand belongs to the next unit.
        let margin = if half > 0.0 { 1.05 } else { 1.0 };
        let scale = Scale::of(unit, margin * spread.mean.abs().max(half));
        let leaves = |(low, high): (f64, f64)| {
            range.0.is_some_and(|least| low < least) || range.1.is_some_and(|most| high > most)
        };
        if (2..FEW).contains(&values.len()) && spread.sample_std() > 0.0 && interval.is_some_and(leaves) {
            // A single value has a digit more than what it scatters by.
            let places = places(spread.sample_std() * scale.factor) + 1;
            let each = values.iter().map(|x| rounded(x * scale.factor, places));
            return Estimate {
                mean: each.collect::<Vec<_>>().join(", "),
                half: None,
                unit: scale.suffix,
            };
        }
        match values {
            [] => Estimate {
                mean: String::new(),
                half: None,
                unit: "",
            },
            _ => Self::written(&spread, scale, false),
        }
    }

    /// The mean alone, as references have it; blank without values.
    pub fn of_mean(values: &[f64], unit: Unit) -> Estimate {
        let mean = Spread::of(values).mean;
        let scale = Scale::of(unit, mean);
        Estimate {
            mean: match values {
                [] => String::new(),
                _ => digits(mean * scale.factor),
            },
            half: None,
            unit: if values.is_empty() { "" } else { scale.suffix },
        }
    }

    /// A mean of which the values are not kept, with its interval.
    pub fn of_spread(spread: &Spread, unit: Unit) -> Estimate {
        let half = spread.interval_95().map_or(0.0, |(_, high)| high - spread.mean);
        Self::written(spread, Scale::of(unit, spread.mean.abs().max(half)), false)
    }

    /// The mean of paired differences of a metric with this unit, with its sign; in the unit in
    /// which numbers of `size`, those that are compared, are written, unless it is far smaller.
    pub fn of_difference(spread: &Spread, unit: Unit, size: f64) -> Estimate {
        let half = spread.interval_95().map_or(0.0, |(_, high)| high - spread.mean);
        let own = spread.mean.abs().max(half);
        let scale = Scale::of(unit, if own < size / 1000.0 { own } else { own.max(size) });
        Self::written(spread, scale.of_difference(), true)
    }

    fn written(spread: &Spread, scale: Scale, is_signed: bool) -> Estimate {
        let half = spread.interval_95().map_or(0.0, |(_, high)| high - spread.mean) * scale.factor;
        let mean = spread.mean * scale.factor;
        // Below that, numbers that are equal differ by the rounding of their sums.
        let has_half = half > 1e-9 * mean.abs() && mean.is_finite();
        let size = mean.abs().max(half);
        // Small and large numbers share a power of ten.
        let power = if (1e-4..1e15).contains(&size) {
            0
        } else {
            exponent(size)
        };
        let write = |x: f64| {
            let text = rounded(x / 10_f64.powi(power), places(half / 10_f64.powi(power)));
            match power {
                0 => text,
                _ => format!("{text}e{power}").replace('-', "−"),
            }
        };
        let (mean, half) = match has_half {
            true => (write(mean), Some(write(half))),
            false => (digits(mean), None),
        };
        let is_positive = mean.contains(|c| matches!(c, '1'..='9')) && !mean.starts_with('−');
        let sign = if is_signed && is_positive { "+" } else { "" };
        Estimate {
            mean: format!("{sign}{mean}"),
            half,
            unit: scale.suffix,
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Estimate { mean, half, unit } = self;
        match half {
            Some(half) => write!(f, "{mean} ± {half}{unit}"),
            None => write!(f, "{mean}{unit}"),
        }
    }
}

/// The power of ten of a number's first digit. The system's logarithm may differ by CPU.
fn exponent(x: f64) -> i32 {
    let text = format!("{x:e}");
    text.split_once('e').map_or(0, |(_, power)| power.parse().unwrap_or(0))
}

/// Behind the point of the last digit that half an interval keeps: one digit of it, two where it
/// begins with 1. Negative where it is rounded to tens or more.
fn places(half: f64) -> i32 {
    let size = exponent(half);
    let two_digits = (half / 10_f64.powi(size - 1)).round();
    match two_digits < 20.0 {
        true => 1 - size,
        false => -size,
    }
}

/// A number to so many places behind the point, whole ones in groups.
fn rounded(x: f64, places: i32) -> String {
    let sign = |text: String| match text.strip_prefix('-') {
        // Nothing is written as less than nothing.
        Some(size) if size.chars().all(|c| matches!(c, '0' | '.')) => size.to_owned(),
        Some(size) => format!("−{size}"),
        None => text,
    };
    match usize::try_from(places) {
        Ok(places) if places > 0 => sign(format!("{x:.places$}")),
        _ => {
            let step = 10_f64.powi(-places);
            grouped((x / step).round() * step)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], unit: Unit) -> String {
        Estimate::of(values, unit, (None, None)).to_string()
    }

    /// Three values whose interval has this half-width.
    fn around(mean: f64, half: f64) -> [f64; 3] {
        let deviation = half * 3.0_f64.sqrt() / 4.303;
        [mean - deviation, mean, mean + deviation]
    }

    #[test]
    fn the_interval_says_how_many_digits_are_written() {
        for (mean, half, text) in [
            (0.814_46, 0.019_1, "0.814 ± 0.019"),
            (0.814_46, 0.005_8, "0.814 ± 0.006"),
            (32.638_9, 0.012_4, "32.639 ± 0.012"),
            (2.53, 1.64, "2.5 ± 1.6"),
            (12.3, 8.4, "12 ± 8"),
            (12_345.0, 432.0, "12 300 ± 400"),
            (12_345.0, 132.0, "12 350 ± 130"),
            (0.5, 0.009_6, "0.500 ± 0.010"),
            (-0.002, 0.03, "0.00 ± 0.03"),
            (-1.1, 0.4, "−1.1 ± 0.4"),
            (100.0, 9.7, "100 ± 10"),
            (-1.5e-5, 8.1e-6, "−1.5e−5 ± 0.8e−5"),
        ] {
            assert_eq!(of(&around(mean, half), Unit::Number), text);
        }
    }

    #[test]
    fn mean_and_interval_have_one_readable_unit() {
        assert_eq!(of(&around(385_479.0, 103_680.0), Unit::Seconds), "4.5 ± 1.2 days");
        assert_eq!(of(&around(0.0042, 0.0003), Unit::Seconds), "4.2 ± 0.3 ms");
        assert_eq!(of(&around(1.23e6, 8.1e5), Unit::Bytes), "1.2 ± 0.8 MB");
        assert_eq!(of(&around(0.5, 0.03), Unit::Share), "50 ± 3 %");
        assert_eq!(of(&around(1500.0, 400.0), Unit::BytesPerSecond), "1.5 ± 0.4 kB/s");
        assert_eq!(of(&around(9.8e5, 9.9e5), Unit::Bytes), "1.0 ± 1.0 MB");
        assert_eq!(of(&[5.0], Unit::Bytes), "5 B");
        let mean = |values: &[f64]| Estimate::of_mean(values, Unit::Bytes).to_string();
        assert_eq!([mean(&[]), mean(&[1000.0, 2000.0])], ["", "1.500 kB"]);
        assert_eq!(of(&[0.0, 0.0], Unit::Seconds), "0 s");
    }

    #[test]
    fn one_value_equal_ones_and_few_at_the_edge_of_a_range_have_no_interval() {
        let range = (Some(0.0), Some(1.0));
        assert_eq!(of(&[], Unit::Number), "");
        assert_eq!(of(&[0.123_456], Unit::Number), "0.1235");
        assert_eq!(of(&[3.0, 3.0], Unit::Number), "3");
        assert_eq!(of(&[0.1 + 0.2, 0.3, 0.3], Unit::Number), "0.3000");
        let few = Estimate::of(&[0.95, 1.0, 0.96], Unit::Number, range);
        assert_eq!(few.to_string(), "0.950, 1.000, 0.960");
        // Five have one, and so have three that stay inside.
        let five = Estimate::of(&[0.95, 1.0, 0.96, 0.95, 1.0], Unit::Number, range);
        assert_eq!(five.to_string(), "0.97 ± 0.03");
        assert_eq!(
            Estimate::of(&around(0.5, 0.2), Unit::Number, range).to_string(),
            "0.5 ± 0.2"
        );
        assert_eq!(of(&[f64::NAN, 1.0], Unit::Number), "n/a");
    }

    #[test]
    fn differences_have_signs() {
        let of =
            |mean, half, unit, size| Estimate::of_difference(&Spread::of(&around(mean, half)), unit, size).to_string();
        assert_eq!(of(0.1, 0.8, Unit::Seconds, 2.5), "+0.1 ± 0.8 s");
        assert_eq!(of(0.1, 0.8, Unit::Seconds, 0.9), "+100 ± 800 ms");
        assert_eq!(of(-1.1, 1.4, Unit::Seconds, 0.0), "−1.1 ± 1.4 s");
        assert_eq!(of(2000.0, 300.0, Unit::Bytes, 1.2e6), "+0.0020 ± 0.0003 MB");
        assert_eq!(of(200.0, 30.0, Unit::Bytes, 1.2e6), "+200 ± 30 B");
        assert_eq!(of(0.05, 0.02, Unit::Share, 0.7), "+5 ± 2 pp");
        assert_eq!(of(-0.001, 0.02, Unit::Number, 0.7), "0.00 ± 0.02");
        assert_eq!(
            Estimate::of_difference(&Spread::of(&[0.0, 0.0]), Unit::Number, 1.0).to_string(),
            "0"
        );
        assert_eq!(
            Estimate::of_difference(&Spread::of(&[0.25]), Unit::Number, 1.0).to_string(),
            "+0.2500"
        );
    }
}
