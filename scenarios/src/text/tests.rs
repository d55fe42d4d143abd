//! The text layer as a whole, on a small type that resembles the real card.

mod any_text;
mod axes;
mod messages;
mod settings;
mod sources;

use std::num::NonZeroU32;

use ron::value::RawValue;
use serde::Deserialize;

use super::{Problems, Source, recover};

/// A card with the shapes of the real one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Card {
    pub(super) question: String,
    pub(super) seed: u64,
    pub(super) dataset: Dataset,
    pub(super) strategy: Option<Box<RawValue>>,
    pub(super) cohort: Cohort,
    pub(super) network: Network,
    pub(super) deadline_ms: Option<f64>,
    pub(super) n_hops: Option<NonZeroU32>,
    pub(super) drop_prob: Prob,
    pub(super) area: Option<(f64, f64)>,
    pub(super) sweep: Sweep,
}

impl Default for Card {
    fn default() -> Self {
        Self {
            question: String::new(),
            seed: 0,
            dataset: Dataset::DcSbm {
                n_nodes: 10,
                n_classes: 2,
            },
            strategy: None,
            cohort: Cohort::default(),
            network: Network::Ideal,
            deadline_ms: None,
            n_hops: None,
            drop_prob: Prob(0.0),
            area: None,
            sweep: Sweep::default(),
        }
    }
}

/// A type that checks its own range.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Prob(f64);

impl TryFrom<f64> for Prob {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("must lie in 0..=1, got {value}"))
        }
    }
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) enum Dataset {
    DcSbm { n_nodes: u32, n_classes: u16 },
}

#[derive(Debug, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cohort {
    pub(super) size: u32,
    pub(super) is_uniform: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Network {
    Ideal,
    Links {
        latency: Latency,
        #[serde(default)]
        loss_prob: f64,
    },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Latency {
    Fixed(f64),
    LogNormal { median_ms: f64, sigma: f64 },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sweep {
    pub(super) axes: std::collections::BTreeMap<String, Vec<Box<RawValue>>>,
    pub(super) seeds: Vec<u64>,
}

/// A strategy's parameters, looked up by name and parsed out of the middle of the card.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FedWalk {
    pub(super) walk_length: u32,
    pub(super) predictor_prob: f64,
}

impl Default for FedWalk {
    fn default() -> Self {
        Self {
            walk_length: 80,
            predictor_prob: 0.0,
        }
    }
}

pub(super) const WHOLE: &str = r#"// The main study.
(
    question: "how many?",
    seed: 1,
    dataset: DcSbm(n_nodes: 1000, n_classes: 10),
    strategy: FedWalk(walk_length: 40, predictor_prob: 0.2),
    network: Links(latency: LogNormal(median_ms: 40, sigma: 0.5), loss_prob: 0.01),
    sweep: (axes: { "strategy.predictor_prob": [0.0, 0.1], "cohort.size": [5] }, seeds: [1, 2]),
)
"#;

pub(super) fn source(text: &str) -> Source {
    Source::new("small.ron", text).unwrap()
}

/// The problems of a card as lines, without the headline.
pub(super) fn problems(text: &str) -> Vec<String> {
    lines(&recover::<Card>(&source(text)).1)
}

pub(super) fn lines(problems: &Problems) -> Vec<String> {
    problems
        .to_string()
        .lines()
        .skip(1)
        .map(|line| line.trim_start().to_owned())
        .collect()
}
