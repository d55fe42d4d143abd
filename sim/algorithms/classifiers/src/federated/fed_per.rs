//! FedPer and FedRep: shared graph layers, and heads that are never sent.

use super::cut::Cut;
use super::{Federated, Learned, Local, Method, Params};
use crate::classifier::Course;
use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Personalisation, Travels};
use std::ops::Range;

/// FedPer: the graph layers are learned together, and each client has a head of its own, which is
/// never sent.
///
/// M. G. Arivazhagan, V. Aggarwal, A. K. Singh, S. Choudhary. Federated Learning with
/// Personalization Layers. 2019, section 3. <https://arxiv.org/abs/1912.00818>
///
/// | exchange | direction | payload                                              | bytes                       |
/// |----------|-----------|------------------------------------------------------|-----------------------------|
/// | `model`  | downlink  | weights of the shared layers                         | 4 × (n_params − n_head)     |
/// | `update` | uplink    | training samples as `u32`, weights of the shared layers | 4 × (n_params − n_head) + 4 |
///
/// The head is the linear layers behind the graph layers, or the last graph layer where
/// `model.head_layers` is 0. All parameters train at once. Heads begin alike, drawn from the public
/// `start_seed`. Running statistics of shared layers are shared.
#[component(
    name = "FedPer",
    about = "FedPer: shared graph layers and a personalised head that is never sent (2019)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedPer {
    /// Whether the first graph layer is personal, too: for clients with different node features, as
    /// from different data sets.
    pub own_inputs: bool,
}

/// FedRep: as FedPer, but in each round a client first trains its head while the shared layers
/// stay, and then these while its head stays.
///
/// L. Collins, H. Hassani, A. Mokhtari, S. Shakkottai. Exploiting Shared Representations for
/// Personalized Federated Learning. ICML 2021, algorithm 1. <https://arxiv.org/abs/2102.07078>
///
/// | exchange | direction | payload                                              | bytes                       |
/// |----------|-----------|------------------------------------------------------|-----------------------------|
/// | `model`  | downlink  | weights of the shared layers                         | 4 × (n_params − n_head)     |
/// | `update` | uplink    | training samples as `u32`, weights of the shared layers | 4 × (n_params − n_head) + 4 |
///
/// Of the `training.epochs` of a round the last `shared_epochs` train the shared layers. What stays
/// does so to the bit, running statistics among it. The rest is as with FedPer.
#[component(
    name = "FedRep",
    about = "FedRep: shared graph layers and a personalised head, trained alternately (ICML 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedRep {
    /// Number of final local epochs that train the shared layers; at most `training.epochs`. With 0
    /// they never change.
    #[component(default = 1, in = 0..=100_000)]
    pub shared_epochs: u32,
}

impl Method for FedPer {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn carries_scale(&self) -> bool {
        true
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let cut = Cut::between(local.common, self.own_inputs);
        let whole = cut.own(local);
        cut.learned(&local.train(&whole))
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        Cut::between(local.common, self.own_inputs).own(local)
    }

    fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
        None
    }
}

impl Personalisation<Federated> for FedPer {
    fn travels(&self, federated: &Federated) -> Travels {
        Cut::between(&federated.common, self.own_inputs).travels(&federated.common)
    }

    fn initial(&self, federated: &Federated, rng: &mut SimRng) -> Vec<f32> {
        Cut::between(&federated.common, self.own_inputs).initial(&federated.common, rng)
    }
}

impl Method for FedRep {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn carries_scale(&self) -> bool {
        true
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let (cut, classifier, mut rng) = (Cut::before_head(local.common), local.classifier(), local.rng());
        let epochs = local.passes.unwrap_or(classifier.training().epochs);
        let mut turn = |whole: &[f32], frozen: &[Range<usize>], course: Course<'_>, epochs| {
            let course = Course {
                frozen,
                epochs: Some(epochs),
                ..course
            };
            classifier.train_along(local.shard, whole, &course, &mut rng).0
        };
        let of_head = epochs.saturating_sub(self.shared_epochs);
        let whole = turn(&cut.own(local), &cut.shared, local.own_course(), of_head);
        cut.learned(&turn(&whole, &cut.head, local.course(), self.shared_epochs))
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        Cut::before_head(local.common).own(local)
    }

    fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
        None
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let epochs = params.training.epochs;
        let rule = format!("must be at most {epochs} (training.epochs), got {}", self.shared_epochs);
        rules.require(self.shared_epochs <= epochs, "method.shared_epochs", rule);
    }
}

impl Personalisation<Federated> for FedRep {
    fn travels(&self, federated: &Federated) -> Travels {
        Cut::before_head(&federated.common).travels(&federated.common)
    }

    fn initial(&self, federated: &Federated, rng: &mut SimRng) -> Vec<f32> {
        Cut::before_head(&federated.common).initial(&federated.common, rng)
    }
}
