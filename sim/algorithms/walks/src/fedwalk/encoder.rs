//! The encoder of walk entries: what becomes of a vertex before its index is appended to a walk, a
//! part that a card names as `encoder`.
//!
//! As printed (Eqs. 9-12) it is the exponential mechanism: `P[Enc(u) = v]` is proportional to
//! `exp(epsilon × score(u, v))`, where the score is minus the dissimilarity of the two times the
//! leaves under their lowest common ancestor in the published tree.

mod law;

pub use law::Audit;
pub(super) use law::Law;

use folkmoot_engine::prelude::StrategyError;
use folkmoot_parts::{component, component_type};
use folkmoot_privacy::{Exponential, Mechanism, RandomisedResponse as Response};

/// A way to encode.
pub trait Encoder: Send + Sync {
    /// What `privacy.csv` calls its mechanism, before `: walk entry`.
    fn mechanism(&self) -> &'static str;

    /// How an entry is made of a vertex, one of `n_nodes`, at a budget of `epsilon` for each; asked
    /// once before the run.
    ///
    /// # Errors
    ///
    /// When there is no such mechanism.
    fn entries(&self, n_nodes: u32, epsilon: f64) -> Result<Entries, StrategyError>;
}

component_type!(Encoder, "walk encoder", AsPublished {});

/// How an entry is made of a vertex.
pub enum Entries {
    /// It is the vertex: nothing protects it.
    Plain,
    /// By a mechanism that reads the vertex and nothing else.
    Alone {
        /// The mechanism; what it releases is a vertex, too.
        mechanism: Box<dyn Mechanism<Input = u32, Release = u32>>,
        /// With what probability a vertex stays what it is, for the summary.
        keep_probability: f64,
    },
    /// By the exponential mechanism on the scores of all pairs, for which clients need the tree and
    /// the dissimilarities.
    ByScore {
        /// The factor before the score.
        scale: Scale,
        /// The epsilon of an entry that the factor promises; where it promises none, what the law
        /// costs is measured over all pairs.
        promised: Option<f64>,
    },
}

/// The factor before the score.
pub enum Scale {
    Fixed(f64),
    /// A function of the largest absolute score of any pair, which is above 0; it takes O(n²) time
    /// to find.
    OfLargest(Box<dyn Fn(f64) -> f64 + Send + Sync>),
}

impl Entries {
    /// Whether clients need the tree and the dissimilarities.
    pub fn reads_scores(&self) -> bool {
        matches!(self, Entries::ByScore { .. })
    }

    /// Whether the largest score of all pairs is needed.
    pub fn is_scaled(&self) -> bool {
        let Entries::ByScore { scale, .. } = self else {
            return false;
        };
        matches!(scale, Scale::OfLargest(_))
    }
}

/// The exponential mechanism with the printed factor: probability proportional to exp(epsilon ×
/// score). Its true cost is whatever the scores make it, not epsilon.
#[component(
    name = "AsPublished",
    alias = "AsPrinted",
    about = "exponential mechanism as published, exp(epsilon × score); its true epsilon depends on the range of the scores"
)]
#[derive(Clone, Copy, Debug)]
pub struct AsPublished {}

/// The exponential mechanism as it must be for its epsilon: exp(epsilon × score / 2Δ), Δ the
/// largest absolute score of any pair.
#[component(
    name = "Calibrated",
    about = "calibrated exponential mechanism, exp(epsilon × score / 2Δ), Δ the largest absolute score of any pair"
)]
#[derive(Clone, Copy, Debug)]
pub struct Calibrated {}

/// exp(epsilon × score / Δ): scores scaled to 0..=1.
#[component(
    name = "Normalised",
    about = "exponential mechanism with scores scaled to 0..=1: exp(epsilon × score / Δ)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Normalised {}

/// The vertex itself with probability e^epsilon / (e^epsilon + |V| - 1), else any other one alike:
/// epsilon per entry, truly.
#[component(
    name = "RandomisedResponse",
    about = "randomised response: the true vertex with probability e^epsilon / (e^epsilon + |V| - 1), else a uniformly drawn other; exactly epsilon per entry"
)]
#[derive(Clone, Copy, Debug)]
pub struct RandomisedResponse {}

/// The vertex itself.
#[component(name = "Identity", about = "the true vertex, without privacy")]
#[derive(Clone, Copy, Debug)]
pub struct Identity {}

impl Encoder for AsPublished {
    fn mechanism(&self) -> &'static str {
        "exponential as published"
    }

    fn entries(&self, _: u32, epsilon: f64) -> Result<Entries, StrategyError> {
        let (scale, promised) = (Scale::Fixed(epsilon), None);
        Ok(Entries::ByScore { scale, promised })
    }
}

impl Encoder for Calibrated {
    fn mechanism(&self) -> &'static str {
        "exponential calibrated"
    }

    fn entries(&self, _: u32, epsilon: f64) -> Result<Entries, StrategyError> {
        let scale = move |largest| {
            let mechanism = Exponential::calibrated(epsilon, largest, "one vertex");
            mechanism.map_or(0.0, |mechanism| mechanism.scale())
        };
        let (scale, promised) = (Scale::OfLargest(Box::new(scale)), Some(epsilon));
        Ok(Entries::ByScore { scale, promised })
    }
}

impl Encoder for Normalised {
    fn mechanism(&self) -> &'static str {
        "exponential normalised"
    }

    fn entries(&self, _: u32, epsilon: f64) -> Result<Entries, StrategyError> {
        let (scale, promised) = (Scale::OfLargest(Box::new(move |largest| epsilon / largest)), None);
        Ok(Entries::ByScore { scale, promised })
    }
}

impl Encoder for RandomisedResponse {
    fn mechanism(&self) -> &'static str {
        "randomised response"
    }

    fn entries(&self, n_nodes: u32, epsilon: f64) -> Result<Entries, StrategyError> {
        // One vertex alone has no other to become.
        if n_nodes < 2 {
            return Ok(Entries::Plain);
        }
        let response =
            Response::new(epsilon, n_nodes, "one vertex").map_err(|error| StrategyError(error.to_string()))?;
        Ok(Entries::Alone {
            keep_probability: response.keep_probability(),
            mechanism: Box::new(response),
        })
    }
}

impl Encoder for Identity {
    fn mechanism(&self) -> &'static str {
        "none"
    }

    fn entries(&self, _: u32, _: f64) -> Result<Entries, StrategyError> {
        Ok(Entries::Plain)
    }
}
