//! What users have told the server.

use crate::edges::Reports;
use crate::features::Estimate;
use crate::matrix::Matrix;
use crate::settings::Params;
use crate::train::Sample;
use folkmoot_draws::{SimRng, shuffle};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// A report of each user on each thing; nothing of those who sent none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    pub features: Vec<Option<ByteBuf>>,
    /// The class that a user says it has.
    pub labels: Vec<Option<u32>>,
    pub edges: Vec<Option<ByteBuf>>,
}

impl Told {
    pub(crate) fn new(n_users: u32) -> Told {
        let n = n_users as usize;
        Told {
            features: vec![None; n],
            labels: vec![None; n],
            edges: vec![None; n],
        }
    }

    /// The reports on edges.
    pub fn reports(&self) -> Reports<'_> {
        Reports(&self.edges)
    }

    /// The rows that the server takes reports on features for; of those who sent none all zeros.
    pub(crate) fn rows(&self, params: &Params, n_features: usize) -> Result<Vec<Estimate>, StrategyError> {
        let (features, range) = (&params.features, params.range);
        let one = |(user, report): (usize, &Option<ByteBuf>)| match report {
            None => Ok(Estimate::default()),
            Some(report) => {
                let unread = || StrategyError(format!("the report of user {user} on its features cannot be read"));
                features.read(report, n_features, range).ok_or_else(unread)
            }
        };
        self.features.iter().enumerate().map(one).collect()
    }

    /// What a network is trained on: rows, classes that were told, and who of those who told theirs
    /// validates, drawn.
    pub(crate) fn sample(&self, params: &Params, n_features: usize, rng: &mut SimRng) -> Result<Sample, StrategyError> {
        let rows = Matrix::new(&self.rows(params, n_features)?, n_features);
        let mut told: Vec<u32> = (0..)
            .zip(&self.labels)
            .filter_map(|(user, class)| class.map(|_| user))
            .collect();
        shuffle(rng, &mut told);
        let split = params.split;
        let share = split.validation / (split.train + split.validation);
        // Somebody trains, if anybody has told its class.
        let n_validating = ((share * told.len() as f64).round() as usize).min(told.len().saturating_sub(1));
        let (mut trains, mut validates) = (vec![false; self.labels.len()], vec![false; self.labels.len()]);
        for (at, user) in told.into_iter().enumerate() {
            let role = if at < n_validating { &mut validates } else { &mut trains };
            role[user as usize] = true;
        }
        Ok(Sample {
            rows,
            labels: self.labels.iter().map(|class| class.unwrap_or(0)).collect(),
            trains,
            validates,
        })
    }
}
