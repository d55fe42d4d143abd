//! FedNova: updates by how far their steps reach.

use super::{Federated, Learned, Local, Method, OptimiserState, Params};
use crate::classifier::{LocalOptimiser, Training};
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Aggregation, Personalisation, Rule, RuleContext, Secure, Travels, Update, Updates};

/// FedNova: updates are divided by how far a client's steps reach, so that who makes more steps
/// does not pull the model to itself.
///
/// J. Wang, Q. Liu, H. Liang, G. Joshi, H. V. Poor. Tackling the Objective Inconsistency Problem in
/// Heterogeneous Federated Optimization. NeurIPS 2020, equations 3 to 5 and section 5.
/// <https://arxiv.org/abs/2007.07481>
///
/// | exchange | direction | payload                                                  | bytes            |
/// |----------|-----------|----------------------------------------------------------|------------------|
/// | `model`  | downlink  | weights `x`                                              | 4 × n_params     |
/// | `update` | uplink    | training samples as `u32`, weights `y_i`, `‖a_i‖₁` `f32` | 4 × n_params + 8 |
///
/// `x ← x + τ Σ p_i (y_i − x) / ‖a_i‖₁` with `τ = Σ p_i ‖a_i‖₁` and the weights `p_i` of
/// `protocol.weighting`. `‖a_i‖₁` is the sum of the coefficients with which the client's gradients
/// stand in `x − y_i`, over the rate: the number of steps, more of them with momentum and fewer
/// with `training.fedprox_mu`. Steps are counted as they are made, a short last batch among them.
/// Where all are equal, the model is federated averaging's to the bit. What does not learn, such as
/// running statistics, is averaged.
///
/// What it minimises is the mean of the clients' losses by these weights. Averaging counts who
/// makes more steps for more, so with `weighting: Uniform` its model suits clients with many
/// samples better, and with them scores over all test items at once; `weighting: Samples` is the
/// paper's.
///
/// Deviation from the released code: with momentum and a proximal term together the coefficients
/// are those of the steps that are made, where the pull passes through the momentum; the code's
/// recursion is that of neither.
#[component(
    name = "FedNova",
    about = "FedNova: averaging of updates normalised by their local steps (NeurIPS 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedNova {}

/// `‖a‖₁` after so many steps: what `x − y` is, over the rate, if every gradient is 1. Each is at
/// least 0 where the rate times the pull is at most 1, as the settings' rule has it. The pull is
/// part of the gradient that the momentum adds up; beside it, with `w ← w − rate (v + pull)`, the
/// sum would be another.
fn coefficients(n_steps: u64, momentum: f64, rate_times_pull: f64) -> f64 {
    let (mut sum, mut velocity) = (0.0, 0.0);
    for _ in 0..n_steps {
        velocity = momentum * velocity + 1.0 - rate_times_pull * sum;
        sum += velocity;
    }
    sum
}

/// Momentum, and the rate times the strength of the proximal term.
fn steps_of(training: &Training) -> (f64, f64) {
    let momentum = match training.optimiser {
        LocalOptimiser::Sgd { momentum } => momentum,
        LocalOptimiser::Adam | LocalOptimiser::AdamW => 0.0,
    };
    (momentum, training.learning_rate * training.fedprox_mu)
}

impl Method for FedNova {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Err("clients of FedNova also tell how far their steps reach, which lengthens what a clip has cut; use Global")
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let classifier = local.classifier();
        let (mut sent, n_steps) =
            classifier.train_along(local.shard, local.parameters, &local.course(), &mut local.rng());
        let (momentum, pull) = steps_of(classifier.training());
        sent.push(coefficients(n_steps, momentum, pull) as f32);
        Learned::sent(sent)
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let Params { training, protocol, .. } = params;
        let is_sgd = matches!(training.optimiser, LocalOptimiser::Sgd { .. });
        let rule = "must be Sgd() with FedNova: the normalisation of Adam's steps would depend on the gradients";
        rules.require(is_sgd, "training.optimiser", rule);
        let (_, pull) = steps_of(training);
        let rule = format!(
            "times training.learning_rate must be at most 1 with FedNova, got {pull}; larger values reverse steps"
        );
        rules.require(pull <= 1.0 || pull.is_nan(), "training.fedprox_mu", rule);
        let rule = "must be Fresh with FedNova, whose normalisation assumes zero initial momentum";
        rules.require(params.optimiser_state == OptimiserState::Fresh, "optimiser_state", rule);
        let rule = "must be Synchronous with FedNova: updates are normalised within one round";
        rules.require(
            protocol.aggregation == Aggregation::Synchronous,
            "protocol.aggregation",
            rule,
        );
        let rule = "must be Off with FedNova: the server normalises individual updates";
        rules.require(protocol.secure == Secure::Off, "protocol.secure", rule);
    }
}

impl Personalisation<Federated> for FedNova {
    fn travels(&self, federated: &Federated) -> Travels {
        Travels::whole(federated).and(1)
    }

    fn combine(
        &self,
        federated: &Federated,
        rule: &dyn Rule,
        updates: &Updates<'_>,
        context: &mut RuleContext<'_>,
    ) -> Vec<f64> {
        let n = federated.common.n_parameters();
        let reach = |update: &Update<'_>| f64::from(update.values[n]);
        let (mut sum, mut weights) = (0.0, 0.0);
        for update in &updates.all {
            sum += update.weight * reach(update);
            weights += update.weight;
        }
        let effective = sum / weights;
        let rescaled = |update: &Update<'_>| -> Vec<f32> {
            // Who says that it made no step has nothing to be rescaled, as everybody in a dry run.
            let factor = if reach(update) > 0.0 {
                effective / reach(update)
            } else {
                1.0
            };
            let mut values = update.values[..n].to_vec();
            // A factor of 1 leaves no trace of a difference and a sum.
            if factor != 1.0 {
                for (y, x) in values.iter_mut().zip(updates.model).take(updates.n_trainable) {
                    *y = (f64::from(*x) + factor * (f64::from(*y) - f64::from(*x))) as f32;
                }
            }
            values
        };
        let rescaled: Vec<Vec<f32>> = updates.all.iter().map(rescaled).collect();
        let rescaled = updates.all.iter().zip(&rescaled);
        let rescaled = Updates {
            all: rescaled.map(|(update, values)| Update { values, ..*update }).collect(),
            ..*updates
        };
        rule.combine(&rescaled, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_those_of_the_papers_closed_forms() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 5e-5 * b, "{a} and {b}");
        assert_eq!(coefficients(7, 0.0, 0.0), 7.0);
        assert_eq!(coefficients(0, 0.9, 0.1), 0.0);
        near(coefficients(5, 0.9, 0.0), 13.1441);
        near(coefficients(3, 0.5, 0.0), 4.25);
        near(coefficients(5, 0.0, 0.1), 4.0951);
        // Both together, where the pull passes through the momentum as the gradient does.
        near(coefficients(5, 0.9, 0.1), 10.2916);
    }
}
