//! Recovery from stored updates.

use crate::plan::Plan;
use crate::{Local, Params, ServerState, UnlearningMethod};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Average;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{ClientUpdate, OwnModel};
use std::collections::BTreeMap;

/// FedEraser: the server stores the updates of every `interval`-th round. After the request it
/// adds those of the first stored round that are not of affected clients to the initial model.
/// From there on one round for each later stored round follows: clients that stay train for
/// `calibration_epochs` epochs, and the server moves the model by the weighted mean of
/// `‖U‖ Û / ‖Û‖`, where `U` is the stored update of a client and `Û` its new one.
///
/// G. Liu, X. Ma, Y. Yang, C. Wang, J. Liu. FedEraser: Enabling Efficient Client-Level Data Removal
/// from Federated Learning Models. IWQoS 2021, equations 1 to 6.
///
/// Deviations from the paper: where only items are to be forgotten, the stored updates of their
/// clients are used for their lengths alone. Numbers that do not learn, such as running statistics,
/// are averaged.
#[component(
    name = "FedEraser",
    about = "FedEraser: stored updates, calibrated by short training (Liu et al. 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedEraser {
    /// Rounds from one stored round to the next, Δt in the paper; less than `protocol.rounds`.
    #[component(default = 2, at_least = 1)]
    pub interval: u32,
    /// Local epochs of a calibration.
    #[component(default = 1, in = 1..=10_000)]
    pub calibration_epochs: u32,
}

impl UnlearningMethod for FedEraser {
    fn n_rounds(&self, trained: u32) -> u32 {
        trained.div_ceil(self.interval).saturating_sub(1)
    }

    fn stores(&self, round: u32, _: u32) -> bool {
        round.is_multiple_of(self.interval)
    }

    fn begin(
        &self,
        plan: &Plan,
        (state, _): (&ServerState, &[f32]),
        _: &mut BTreeMap<u32, OwnModel>,
    ) -> Result<Option<Vec<f32>>, StrategyError> {
        let none = "method: FedEraser has no stored update of the first round by an unaffected client; set method: Retrain(), or let updates arrive";
        let change = state.mean_change(0, |client| !plan.is_affected(client));
        let change = change.ok_or_else(|| StrategyError(none.to_owned()))?;
        Ok(Some(
            state.initial.iter().zip(change).map(|(x, change)| x + change).collect(),
        ))
    }

    fn passes(&self, _: u32, _: f64) -> f64 {
        f64::from(self.calibration_epochs)
    }

    fn train(&self, local: Local<'_>) -> Vec<f32> {
        let epochs = Some(self.calibration_epochs);
        local
            .classifier
            .train_passes(local.shard, local.parameters, epochs, local.rng)
    }

    fn aggregate(
        &self,
        round: u32,
        state: &ServerState,
        (model, updates): (&[f32], &[ClientUpdate]),
        n_learning: usize,
    ) -> Option<Vec<f32>> {
        let round = (round + 1) * self.interval;
        let stored = |client: ClientId| {
            let mut of_round = state.stored.iter().filter(|stored| stored.round == round);
            of_round.find(|stored| stored.client == client.0)
        };
        let both = updates
            .iter()
            .filter_map(|update| Some((update, stored(update.client)?)));
        let calibrated: Vec<(Vec<f32>, f64)> = both
            .map(|(update, stored)| {
                let (learning, _) = stored.change.split_at(n_learning);
                (calibrated(model, &update.values, learning), update.weight)
            })
            .collect();
        let calibrated: Vec<(&[f32], f64)> = calibrated.iter().map(|(x, weight)| (&x[..], *weight)).collect();
        let mut mean = Average::new();
        mean.add_all(&calibrated);
        Some(mean.mean().unwrap_or_else(|| model.to_vec()))
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let rule = format!("must be less than protocol.rounds ({})", params.protocol.rounds);
        rules.require(self.interval < params.protocol.rounds, "method.interval", rule);
    }
}

/// `model` moved by as much as `stored` is long, in the direction of `trained`; numbers behind
/// those of `stored` are those of `trained`.
pub(crate) fn calibrated(model: &[f32], trained: &[f32], stored: &[f32]) -> Vec<f32> {
    let change = |(y, x): (&f32, &f32)| f64::from(*y) - f64::from(*x);
    let n = stored.len();
    let changes: Vec<f64> = trained.iter().zip(model).take(n).map(change).collect();
    let length = |squares: f64| squares.sqrt();
    let new = length(changes.iter().map(|x| x * x).sum());
    let old = length(stored.iter().map(|x| f64::from(*x) * f64::from(*x)).sum());
    let scale = if new > 0.0 { old / new } else { 0.0 };
    let learning = model
        .iter()
        .zip(&changes)
        .map(|(x, change)| (f64::from(*x) + scale * change) as f32);
    learning.chain(trained[n..].iter().copied()).collect()
}
