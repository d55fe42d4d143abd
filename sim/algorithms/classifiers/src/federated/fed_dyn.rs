//! FedDyn: a regulariser that each client keeps up.

use super::{Federated, Kept, Learned, Local, Method, Params};
use crate::classifier::Course;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Aggregation, Personalisation, Weighting};

/// FedDyn: each client's loss is bent in every round so that where all clients rest is where the
/// sum of their losses does.
///
/// D. A. E. Acar, Y. Zhao, R. Matas Navarro, M. Mattina, P. N. Whatmough, V. Saligrama. Federated
/// Learning Based on Dynamic Regularization. ICLR 2021, algorithm 1.
/// <https://arxiv.org/abs/2111.04263>
///
/// | exchange | direction | payload                                        | bytes            |
/// |----------|-----------|------------------------------------------------|------------------|
/// | `model`  | downlink  | weights `θ`                                    | 4 × n_params     |
/// | `update` | uplink    | training samples as `u32`, then weights `θ_i`  | 4 × n_params + 4 |
///
/// A client lessens `f_i(w) − λ_i·w + strength/2 ‖w − θ‖²` from `w = θ`, and then sets
/// `λ_i ← λ_i − strength (θ_i − θ)`, of what learns. The server sets
/// `h ← h − strength/N Σ (θ_i − θ)`, over all `N` clients' number, and `θ ← mean θ_i − h/strength`.
/// All begin at 0. So `h = mean λ_i` over all clients, as long as every update that is sent is
/// taken in: behind a codec or a clip `θ_i` is on both sides what the server reads. Noise that the
/// server adds to a sum is in `h` alone.
///
/// Deviations from the paper: an update that is late, lost or refused has changed its client's
/// `λ_i` and not `h`, and the difference stays; what does not learn, such as running statistics, is
/// averaged.
#[component(
    name = "FedDyn",
    about = "FedDyn: averaging with a dynamic regulariser at each client (ICLR 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedDyn {
    /// Strength of the dynamic regulariser, alpha in the paper.
    #[component(default = 0.1, above = 0, f32)]
    pub strength: f64,
}

impl Method for FedDyn {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn carries_scale(&self) -> bool {
        true
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let n = local.classifier().network().layout().n_trainable();
        let own = local.kept.map_or_else(|| vec![0.0; n], <[f32]>::to_vec);
        let correction: Vec<f32> = own.iter().map(|x| -x).collect();
        let course = Course {
            pull: Some((self.strength as f32, local.parameters)),
            correction: &correction,
            ..local.course()
        };
        let sent = local.train_along(local.parameters, &course);
        Learned {
            kept: local.learns().then_some(own),
            sent,
        }
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let Params { training, protocol, .. } = params;
        let rule = "must be 0 with FedDyn: its proximal term is method.strength";
        rules.require(training.fedprox_mu == 0.0, "training.fedprox_mu", rule);
        let rule = "must be Uniform with FedDyn: the server's state is the unweighted mean of the clients' states";
        rules.require(protocol.weighting == Weighting::Uniform, "protocol.weighting", rule);
        let rule = "must be Synchronous with FedDyn: all updates of a round must start from one model";
        rules.require(
            protocol.aggregation == Aggregation::Synchronous,
            "protocol.aggregation",
            rule,
        );
        let rule = "must be Mean with FedDyn: the server's state sums the clients' updates";
        rules.require(protocol.aggregator.is_mean(), "protocol.aggregator", rule);
        let rule = "must be Average() with FedDyn, which has its own server update";
        rules.require(
            protocol.server_optimizer.takes_mean(),
            "protocol.server_optimizer",
            rule,
        );
    }
}

impl Personalisation<Federated> for FedDyn {
    /// A client adds up the change that the server reads, so that both count alike.
    fn is_read(&self, kept: &mut Option<Kept>, change: &dyn Fn() -> Option<Vec<f32>>) {
        let Some(now) = kept else { return };
        let Some(numbers) = &now.numbers else { return };
        let strength = self.strength as f32;
        let after = |change| -> Vec<f32> { numbers.iter().zip(change).map(|(own, x)| own - strength * x).collect() };
        let after = change().map(after);
        match after.filter(|after| after.iter().all(|x| x.is_finite())) {
            Some(after) => now.numbers = Some(after),
            // A rejected update leaves no trace: with moments, those that it began with are kept.
            None if now.moments.is_none() => *kept = None,
            None => {}
        }
    }

    fn settle(
        &self,
        federated: &Federated,
        memory: &mut Vec<f64>,
        model: &[f32],
        mut mean: Vec<f64>,
        weight: f64,
    ) -> Vec<f64> {
        let common = &federated.common;
        memory.resize(common.classifier.network().layout().n_trainable(), 0.0);
        let strength = f64::from(self.strength as f32);
        for ((h, mean), x) in memory.iter_mut().zip(&mut mean).zip(model) {
            *h -= strength / f64::from(common.n_clients) * weight * (*mean - f64::from(*x));
            *mean -= *h / strength;
        }
        mean
    }
}
