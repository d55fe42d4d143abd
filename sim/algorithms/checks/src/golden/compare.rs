//! Compares what was computed with what is expected, value by value.

use std::fmt;

use serde_json::Value;

use super::schema::Tolerance;

/// A computed value. Apart from JSON's own type, because JSON has no infinity and turns NaN into
/// null.
#[derive(Debug)]
pub enum Got {
    /// There is no such value; null in the file.
    Missing,
    /// A number, of which infinities and NaN are what they are.
    Number(f64),
    /// A value of which the expected one is an upper bound, such as that of a solver of another
    /// make.
    AtMost(f64),
    /// A value of which the expected one is a lower bound.
    AtLeast(f64),
    List(Vec<Got>),
    Map(Vec<(&'static str, Got)>),
}

impl From<f64> for Got {
    fn from(value: f64) -> Got {
        Got::Number(value)
    }
}

impl From<f32> for Got {
    fn from(value: f32) -> Got {
        Got::Number(f64::from(value))
    }
}

impl From<u32> for Got {
    fn from(value: u32) -> Got {
        Got::Number(f64::from(value))
    }
}

impl From<usize> for Got {
    fn from(value: usize) -> Got {
        Got::Number(value as f64)
    }
}

impl<T: Into<Got>> From<Option<T>> for Got {
    fn from(value: Option<T>) -> Got {
        value.map_or(Got::Missing, Into::into)
    }
}

impl<T: Into<Got>> From<Vec<T>> for Got {
    fn from(values: Vec<T>) -> Got {
        Got::List(values.into_iter().map(Into::into).collect())
    }
}

impl Got {
    /// A row-major list as a list of rows.
    pub fn rows<T: Copy + Into<Got>>(values: &[T], width: usize) -> Got {
        Got::List(values.chunks(width.max(1)).map(|row| Got::from(row.to_vec())).collect())
    }

    /// The value of each pair of `0..n`, as a list of rows.
    pub fn square<T: Into<Got>>(n: usize, value: impl Fn(u32, u32) -> T) -> Got {
        let row = |u| Got::List((0..n as u32).map(|v| value(u, v).into()).collect());
        Got::List((0..n as u32).map(row).collect())
    }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Got::Missing => f.write_str("null"),
            Got::Number(value) | Got::AtMost(value) | Got::AtLeast(value) => write!(f, "{value}"),
            Got::List(values) => write!(f, "a list of {}", values.len()),
            Got::Map(fields) => write!(
                f,
                "a map of {:?}",
                fields.iter().map(|field| field.0).collect::<Vec<_>>()
            ),
        }
    }
}

/// One value that fails.
#[derive(Debug)]
pub struct Mismatch {
    /// Where in `expected`, such as `distance[3][0]`.
    at: String,
    got: String,
    expected: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: got {}, expected {}", self.at, self.got, self.expected)
    }
}

/// All differences. A key on one side only is one: an expected value nobody computes is not
/// checked.
pub(super) fn compare(got: &Got, expected: &Value, tolerance: Tolerance) -> Vec<Mismatch> {
    let mut found = Vec::new();
    walk("", got, expected, tolerance, &mut found);
    found
}

fn walk(at: &str, got: &Got, expected: &Value, tolerance: Tolerance, found: &mut Vec<Mismatch>) {
    let differ = |at: &str, got: String, expected: String| Mismatch {
        at: at.to_owned(),
        got,
        expected,
    };
    match (got, expected) {
        (Got::Missing, Value::Null) => {}
        (Got::List(values), Value::Array(wanted)) if values.len() == wanted.len() => {
            for (index, (value, wanted)) in values.iter().zip(wanted).enumerate() {
                walk(&format!("{at}[{index}]"), value, wanted, tolerance, found);
            }
        }
        (Got::List(values), Value::Array(wanted)) => {
            let lengths = [values.len(), wanted.len()].map(|length| format!("{length} values"));
            let [got, expected] = lengths;
            found.push(differ(at, got, expected));
        }
        (Got::Map(fields), Value::Object(wanted)) => {
            let join = |key: &str| {
                if at.is_empty() {
                    key.to_owned()
                } else {
                    format!("{at}.{key}")
                }
            };
            for (key, value) in fields {
                match wanted.get(*key) {
                    Some(wanted) => walk(&join(key), value, wanted, tolerance, found),
                    None => found.push(differ(&join(key), value.to_string(), "no such key".into())),
                }
            }
            for (key, wanted) in wanted
                .iter()
                .filter(|(key, _)| fields.iter().all(|field| field.0 != *key))
            {
                found.push(differ(&join(key), "no such key".into(), wanted.to_string()));
            }
        }
        (Got::Number(value), wanted) if passes(*value, wanted, tolerance, &[-1.0, 1.0]) => {}
        (Got::AtMost(value), wanted) if passes(*value, wanted, tolerance, &[1.0]) => {}
        (Got::AtLeast(value), wanted) if passes(*value, wanted, tolerance, &[-1.0]) => {}
        _ => found.push(differ(at, got.to_string(), expected.to_string())),
    }
}

/// The rule of the golden files on the given sides, 1 above and −1 below; infinities must be equal,
/// and NaN never passes.
fn passes(got: f64, expected: &Value, tolerance: Tolerance, sides: &[f64]) -> bool {
    match expected {
        Value::String(text) if text == "inf" => got == f64::INFINITY,
        Value::String(text) if text == "-inf" => got == f64::NEG_INFINITY,
        Value::Number(number) => number.as_f64().is_some_and(|expected| {
            let bound = tolerance.atol + tolerance.rtol * expected.abs();
            sides.iter().all(|side| side * (got - expected) <= bound)
        }),
        _ => false,
    }
}
