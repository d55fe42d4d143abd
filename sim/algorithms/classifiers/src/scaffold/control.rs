//! Control variates: how they travel, and what has come of them.

use folkmoot_engine::prelude::*;
use folkmoot_rounds::{Extra, Order};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The server's control variate, as it is sent: shape `(n_params,)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control(#[serde(with = "shared")] pub Arc<[f32]>);

impl Payload for Control {
    fn encoded_len(&self) -> usize {
        self.0.encoded_len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    /// The first half of what is left; the model is the other.
    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.rest();
        if !bytes.len().is_multiple_of(8) {
            return Err(DecodeError::Invalid("a control variate is as long as its model"));
        }
        let (control, model) = bytes.split_at(bytes.len() / 2);
        *reader = WireReader::new(model);
        Payload::decode(&mut WireReader::new(control)).map(Control)
    }
}

impl Order for Control {
    const IS_NUMBERS: bool = true;

    fn numbers(&self) -> Option<&[f32]> {
        Some(&self.0)
    }

    fn of(numbers: Vec<f32>) -> Option<Self> {
        Some(Control(numbers.into()))
    }
}

/// The change of a client's control variate: shape `(n_params,)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change(pub Vec<f32>);

impl Payload for Change {
    fn encoded_len(&self) -> usize {
        self.0.encoded_len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Change(reader.rest_f32()?))
    }
}

impl Extra for Change {
    const NAME: &'static str = "control_change";
    const PACKED: &'static str = "packed_control_change";

    fn numbers(&self) -> Option<&[f32]> {
        Some(&self.0)
    }

    fn of(numbers: Vec<f32>) -> Option<Self> {
        Some(Change(numbers))
    }
}

/// What has come of control variates' changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Controls {
    /// Of the rounds before the newest from which any came.
    sum: Vec<f64>,
    newest: u32,
    /// What came since, late ones of earlier rounds among it.
    coming: Vec<(ClientId, Vec<f32>)>,
}

impl Controls {
    /// Takes in a change that a client made in `round`.
    pub fn add(&mut self, client: ClientId, round: Round, Change(change): Change) {
        if round.0 > self.newest {
            self.sum = self.sum();
            self.coming.clear();
            self.newest = round.0;
        }
        self.coming.push((client, change));
    }

    /// The sum of all changes, in ascending order of the clients of each round; empty before the
    /// first.
    pub fn sum(&self) -> Vec<f64> {
        let mut coming: Vec<_> = self.coming.iter().collect();
        // A stable sort: several of one client stay in the order in which they came.
        coming.sort_by_key(|(client, _)| *client);
        let mut sum = self.sum.clone();
        for (_, change) in coming {
            sum.resize(change.len(), 0.0);
            sum.iter_mut().zip(change).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        sum
    }

    /// `c` for so many clients and parameters; finite, as codecs want it.
    pub fn mean(&self, n_clients: u32, n_parameters: usize) -> Vec<f32> {
        let mut mean: Vec<f32> = self
            .sum()
            .iter()
            .map(|sum| (sum / f64::from(n_clients)).clamp(f32::MIN.into(), f32::MAX.into()) as f32)
            .collect();
        mean.resize(n_parameters, 0.0);
        mean
    }
}

/// What is added to each gradient: `c − c_i`.
pub fn correction(c: &[f32], own: &[f32]) -> Vec<f32> {
    c.iter().zip(own).map(|(c, own)| c - own).collect()
}

/// `Δc_i` by option II after `n_steps` steps from `x` to `y`: `(x − y) / (K rate) − c`, of what
/// learns.
pub fn change_from_steps((x, y): (&[f32], &[f32]), c: &[f32], n_steps: u64, rate: f64) -> Vec<f32> {
    let change = |((x, y), c): ((&f32, &f32), &f32)| {
        ((f64::from(*x) - f64::from(*y)) / (n_steps as f64 * rate) - f64::from(*c)) as f32
    };
    x.iter().zip(y).zip(c).map(change).collect()
}
