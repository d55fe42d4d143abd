//! A value that only a user's own code reads.

use crate::{Shape, Value};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Formatter};

/// A number, a flag, a text, or a list of these.
#[derive(Clone, Debug, PartialEq)]
pub enum Free {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Free>),
}

impl Value for Free {
    fn shape() -> Shape {
        Shape::Free
    }
}

impl Serialize for Free {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Free::Flag(value) => serializer.serialize_bool(*value),
            Free::Whole(value) => serializer.serialize_i64(*value),
            Free::Number(value) => serializer.serialize_f64(*value),
            Free::Text(value) => serializer.serialize_str(value),
            Free::List(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Free {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FreeVisitor)
    }
}

struct FreeVisitor;

impl<'de> Visitor<'de> for FreeVisitor {
    type Value = Free;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a flag, a text, or a list of these")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Free, E> {
        Ok(Free::Flag(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Free, E> {
        Ok(Free::Whole(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Free, E> {
        match i64::try_from(value) {
            Ok(value) => Ok(Free::Whole(value)),
            Err(_) => Err(E::custom(format!("must be at most {}, got {value}", i64::MAX))),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Free, E> {
        match value.is_finite() {
            true => Ok(Free::Number(value)),
            false => Err(E::custom(format!("must be finite, got {value}"))),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Free, E> {
        Ok(Free::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Free, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Free::List(values))
    }
}
