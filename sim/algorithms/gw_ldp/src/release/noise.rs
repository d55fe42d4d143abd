//! Embeddings as they are, or with noise that guarantees nothing.

use super::{Release, Request, Table};
use crate::Facts;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_parts::{Chosen, component};
use folkmoot_privacy::{self as privacy, NoPrivacy, ParameterError};

/// Nothing: it is sent as it is.
#[component(name = "Plain", about = "embeddings are sent unperturbed")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plain {}

/// Uniform noise within `radius` on every value: what the paper's figures show. It protects
/// nothing.
#[component(
    name = "Additive",
    about = "uniform noise within a radius on every value, as in the paper's figures; no privacy guarantee"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Additive {
    /// Radius: maximum absolute noise per value.
    #[component(required, above = 0, in = 1e-12..=1e12)]
    pub radius: f64,
}

/// Normal noise on every value, as the authors' code has it, without a sensitivity: it guarantees
/// nothing.
#[component(
    name = "Gaussian",
    about = "Gaussian noise on every value, as in the authors' code; no privacy guarantee, since the sensitivity is not bounded"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    /// Standard deviation of the noise. If omitted, 1 / number of nodes of the first graph.
    #[component(above = 0, in = 1e-12..=1e12)]
    pub std: Option<f64>,
}

impl Gaussian {
    /// The standard deviation; before it is settled that of a first graph of one node.
    fn std(&self) -> f64 {
        self.std.unwrap_or(1.0)
    }
}

impl Release for Plain {
    fn mechanism(&self) -> &'static str {
        "none: embeddings"
    }

    fn table(&self, _: usize, _: usize) -> Result<Table, ParameterError> {
        Ok(Table::Reals(Box::new(NoPrivacy::<[f64]>::new())))
    }

    fn request(&self) -> Option<Request> {
        Some(Request::short(0, &[]))
    }
}

impl Release for Additive {
    fn mechanism(&self) -> &'static str {
        "none: uniform noise"
    }

    fn table(&self, _: usize, _: usize) -> Result<Table, ParameterError> {
        Ok(Table::Reals(Box::new(privacy::Additive::new(self.radius)?)))
    }

    fn request(&self) -> Option<Request> {
        Some(Request::short(2, &self.radius.to_le_bytes()))
    }
}

impl Release for Gaussian {
    fn mechanism(&self) -> &'static str {
        "none: Gaussian noise without a sensitivity"
    }

    fn settled(&self, _: usize, facts: &Facts) -> Result<Option<Chosen<dyn Release>>, StrategyError> {
        let of_first = 1.0 / f64::from(facts.first_graph_nodes);
        let std = Some(self.std.unwrap_or(of_first));
        Ok(Some(Chosen::new(Gaussian { std })))
    }

    fn table(&self, _: usize, _: usize) -> Result<Table, ParameterError> {
        Ok(Table::Reals(Box::new(privacy::Gaussian::as_released(self.std())?)))
    }

    fn request(&self) -> Option<Request> {
        Some(Request::short(3, &self.std().to_le_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_parts::Value;

    #[test]
    fn noise_has_a_size() {
        assert_eq!(Additive { radius: 0.0 }.broken()[0].path, "radius");
        assert_eq!(Gaussian { std: Some(0.0) }.broken()[0].path, "std");
        assert!(Gaussian::default().broken().is_empty());
    }
}
