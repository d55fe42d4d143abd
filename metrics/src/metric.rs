//! What a metric is called and what it is measured in: said once, where it is written down.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a number counts or measures; `manifest.json` and `sweep.json` say it of each metric that
/// has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    #[default]
    Number,
    /// A number of things.
    Count,
    /// A part of a whole, as a share of 1.
    Share,
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    Seconds,
}

impl Unit {
    /// The metric of that name in this unit.
    pub fn of<'a>(self, name: impl Into<Cow<'a, str>>) -> Metric<'a> {
        Metric {
            name: name.into(),
            unit: self,
        }
    }

    /// The unit that a setting's declaration writes so; `None` where it is no unit of metrics.
    pub fn of_setting(text: &str) -> Option<Unit> {
        match text {
            "s" => Some(Unit::Seconds),
            "bytes" => Some(Unit::Bytes),
            "bytes/s" => Some(Unit::BytesPerSecond),
            _ => None,
        }
    }
}

/// A metric by its name: in lower case with underscores, and the same in every table. A bare name
/// is that of a plain number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric<'a> {
    pub name: Cow<'a, str>,
    /// What it is measured in.
    pub unit: Unit,
}

impl<'a> From<&'a str> for Metric<'a> {
    fn from(name: &'a str) -> Self {
        Unit::Number.of(name)
    }
}

impl From<String> for Metric<'_> {
    fn from(name: String) -> Self {
        Unit::Number.of(name)
    }
}

impl<'a> From<&'a String> for Metric<'a> {
    fn from(name: &'a String) -> Self {
        Unit::Number.of(name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_units_that_metrics_have() {
        let of = ["s", "bytes", "bytes/s", "ms"].map(Unit::of_setting);
        assert_eq!(
            of,
            [Some(Unit::Seconds), Some(Unit::Bytes), Some(Unit::BytesPerSecond), None]
        );
    }
}
