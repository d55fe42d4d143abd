//! Numbers that are told of a generator, as who tells and who hears them hold them: in less room
//! than there are.
//!
//! A generator is the one that its client keeps, with what is told of its nodes behind it. Of a
//! gradient, the part by the last weight, which is 96 of 100 numbers, is held as its factors, which
//! have a row for each node. What the server adds up is held as what it is a sum of, and added up
//! where it is read. On the wire all of them are the numbers themselves, one by one, as is what
//! comes off it, and the bits are the same.

use super::told::Told;
use folkmoot_engine::prelude::*;
use folkmoot_learning::Factored;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Numbers in one of their forms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Numbers {
    Plain(Vec<f32>),
    Generator {
        #[serde(with = "shared")]
        weights: Arc<[f32]>,
        /// Behind it embeddings and counts.
        rows: Vec<f32>,
    },
    /// A gradient by one.
    Gradient(Gradient),
    /// What gradients come to, none of them empty: added up in double precision in this order.
    Sum(Vec<Told>),
}

/// The gradient by all layers that make features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Gradient {
    /// By what lies before the last weight and behind it.
    pub(super) others: Vec<f32>,
    /// How many numbers lie before it.
    pub(super) at: usize,
    /// By the last weight.
    pub(super) last: Factored,
}

/// How many numbers of a sum are made at once: so few that what they are made of stays in a cache.
const AT_ONCE: usize = 1 << 17;

/// So many numbers, and what writes those from a place on.
type Part<'a> = (usize, &'a dyn Fn(usize, &mut [f32]));

impl Numbers {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Numbers::Plain(values) => values.len(),
            Numbers::Generator { weights, rows } => weights.len() + rows.len(),
            Numbers::Gradient(gradient) => gradient.others.len() + gradient.last.len(),
            Numbers::Sum(all) => all.first().map_or(0, Told::n_values),
        }
    }

    pub(super) fn all(&self) -> Cow<'_, [f32]> {
        if let Numbers::Plain(values) = self {
            return Cow::Borrowed(values);
        }
        let mut all = vec![0.0; self.len()];
        self.read(0, &mut all);
        Cow::Owned(all)
    }

    /// Writes those from a place on.
    pub(super) fn read(&self, from: usize, to: &mut [f32]) {
        match self {
            Numbers::Plain(values) => copy(values)(from, to),
            Numbers::Generator { weights, rows } => {
                read_parts(&[(weights.len(), &copy(weights)), (rows.len(), &copy(rows))], from, to)
            }
            Numbers::Gradient(gradient) => {
                let (before, behind) = gradient.others.split_at(gradient.at);
                let last = |from: usize, to: &mut [f32]| gradient.last.read(from, to);
                let parts: [Part<'_>; 3] = [
                    (before.len(), &copy(before)),
                    (gradient.last.len(), &last),
                    (behind.len(), &copy(behind)),
                ];
                read_parts(&parts, from, to);
            }
            Numbers::Sum(all) => {
                let n = AT_ONCE.min(to.len());
                let (mut sums, mut each) = (vec![0.0; n], vec![0.0; n]);
                for (from, to) in (from..).step_by(AT_ONCE).zip(to.chunks_mut(AT_ONCE)) {
                    let (sums, each) = (&mut sums[..to.len()], &mut each[..to.len()]);
                    // What leaves a first number as it is, were it -0.
                    sums.fill(-0.0);
                    for told in all {
                        told.read(from, each);
                        sums.iter_mut().zip(&*each).for_each(|(sum, x)| *sum += f64::from(*x));
                    }
                    to.iter_mut().zip(&*sums).for_each(|(to, sum)| *to = *sum as f32);
                }
            }
        }
    }
}

fn copy(values: &[f32]) -> impl Fn(usize, &mut [f32]) + '_ {
    |from, to| to.copy_from_slice(&values[from..][..to.len()])
}

/// Writes the numbers from a place on of parts that lie one behind the other.
fn read_parts(parts: &[Part<'_>], from: usize, to: &mut [f32]) {
    let (end, mut start) = (from + to.len(), 0);
    for (len, read) in parts {
        let (first, last) = (from.max(start), end.min(start + len));
        if first < last {
            read(first - start, &mut to[first - from..last - from]);
        }
        start += len;
    }
}

impl From<Gradient> for Numbers {
    /// In the form that takes less room.
    fn from(gradient: Gradient) -> Numbers {
        let is_smaller = gradient.last.n_held() < gradient.last.len();
        let numbers = Numbers::Gradient(gradient);
        match is_smaller {
            true => numbers,
            false => Numbers::Plain(numbers.all().into_owned()),
        }
    }
}

impl Payload for Numbers {
    fn encoded_len(&self) -> usize {
        4 * self.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_f32s(out, &self.all());
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Numbers::Plain(reader.rest_f32()?))
    }
}
