//! FedPer and FedRep: shared graph layers, and heads that are never sent.

use super::{Common, Learned, Local, Method, Params};
use crate::classifier::Course;
use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, part};
use std::ops::Range;

/// FedPer: the graph layers are learned together, and each client has a head of its own, which is never sent.
///
/// M. G. Arivazhagan, V. Aggarwal, A. K. Singh, S. Choudhary. Federated Learning with Personalization Layers. 2019, section 3.
/// <https://arxiv.org/abs/1912.00818>
///
/// | exchange | direction | payload                                              | bytes                       |
/// |----------|-----------|------------------------------------------------------|-----------------------------|
/// | `model`  | downlink  | weights of the shared layers                         | 4 × (n_params − n_head)     |
/// | `update` | uplink    | training samples as `u32`, weights of the shared layers | 4 × (n_params − n_head) + 4 |
///
/// The head is the linear layers behind the graph layers, or the last graph layer where `model.head_layers` is 0. All parameters train at
/// once. Heads begin alike, drawn from the public `start_seed`. Running statistics of shared layers are shared.
#[part(
    name = "FedPer",
    about = "shared graph layers, and a head of each client that is never sent (2019)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedPer {}

/// FedRep: as FedPer, but in each round a client first trains its head while the shared layers stay, and then these while its head stays.
///
/// L. Collins, H. Hassani, A. Mokhtari, S. Shakkottai. Exploiting Shared Representations for Personalized Federated Learning. ICML 2021,
/// algorithm 1. <https://arxiv.org/abs/2102.07078>
///
/// | exchange | direction | payload                                              | bytes                       |
/// |----------|-----------|------------------------------------------------------|-----------------------------|
/// | `model`  | downlink  | weights of the shared layers                         | 4 × (n_params − n_head)     |
/// | `update` | uplink    | training samples as `u32`, weights of the shared layers | 4 × (n_params − n_head) + 4 |
///
/// Of the `training.epochs` of a round the last `shared_epochs` train the shared layers. What stays does so to the bit, running statistics
/// among it. The rest is as with FedPer.
#[part(
    name = "FedRep",
    about = "shared graph layers and a head of each client, trained in turns (ICML 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedRep {
    /// The last of a round's epochs, which train the shared layers; at most `training.epochs`. With 0 these never change.
    #[part(default = 1, in = 0..=100_000)]
    pub shared_epochs: u32,
}

/// Where the head and the rest lie in a whole model.
struct Cut {
    head: Vec<Range<usize>>,
    shared: Vec<Range<usize>>,
}

impl Cut {
    fn of(common: &Common) -> Cut {
        let head = common.classifier.network().last_layers();
        let ends = head.iter().map(|range| range.start).chain([common.n_parameters()]);
        let starts = [0].into_iter().chain(head.iter().map(|range| range.end));
        let shared = starts.zip(ends).map(|(start, end)| start..end);
        Cut {
            shared: shared.filter(|range| !range.is_empty()).collect(),
            head,
        }
    }

    fn n_shared(&self, below: usize) -> usize {
        let within = |range: &Range<usize>| range.end.min(below).saturating_sub(range.start);
        self.shared.iter().map(within).sum()
    }

    /// The whole model of which these are the parts.
    fn join(&self, shared: &[f32], head: &[f32]) -> Vec<f32> {
        let mut whole = vec![0.0; shared.len() + head.len()];
        for (ranges, mut part) in [(&self.shared, shared), (&self.head, head)] {
            for range in ranges {
                let (now, later) = part.split_at(range.len());
                whole[range.clone()].copy_from_slice(now);
                part = later;
            }
        }
        whole
    }

    /// Those parts of a whole model, one behind the other.
    fn take(ranges: &[Range<usize>], whole: &[f32]) -> Vec<f32> {
        ranges.iter().flat_map(|range| &whole[range.clone()]).copied().collect()
    }

    /// A client's model: what is shared as it came, and its own head.
    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        match local.kept {
            Some(head) => self.join(local.parameters, head),
            None => self.join(local.parameters, &Cut::take(&self.head, &local.common.start())),
        }
    }

    fn learned(&self, whole: &[f32]) -> Learned {
        Learned {
            sent: Cut::take(&self.shared, whole),
            kept: Some(Cut::take(&self.head, whole)),
        }
    }
}

/// What both have in common but how they train.
macro_rules! has_heads {
    () => {
        fn n_down(&self, common: &Common) -> usize {
            Cut::of(common).n_shared(usize::MAX)
        }

        fn n_trainable(&self, common: &Common) -> usize {
            Cut::of(common).n_shared(common.classifier.network().layout().n_trainable())
        }

        fn initial(&self, common: &Common, rng: &mut SimRng) -> Vec<f32> {
            Cut::take(
                &Cut::of(common).shared,
                &common.classifier.network().layout().initialise(rng),
            )
        }

        fn own(&self, local: &Local<'_>) -> Vec<f32> {
            Cut::of(local.common).own(local)
        }

        fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
            None
        }
    };
}

impl Method for FedPer {
    has_heads!();

    fn train(&self, local: &Local<'_>) -> Learned {
        let cut = Cut::of(local.common);
        let whole = cut.own(local);
        cut.learned(&local.train(&whole))
    }
}

impl Method for FedRep {
    has_heads!();

    fn train(&self, local: &Local<'_>) -> Learned {
        let (cut, classifier, mut rng) = (Cut::of(local.common), local.classifier(), local.rng());
        let epochs = local.passes.unwrap_or(classifier.training().epochs);
        let mut turn = |whole: &[f32], frozen: &[Range<usize>], epochs| {
            let course = Course {
                frozen,
                epochs: Some(epochs),
                ..Course::default()
            };
            classifier.train_along(local.shard, whole, &course, &mut rng).0
        };
        let whole = turn(&cut.own(local), &cut.shared, epochs.saturating_sub(self.shared_epochs));
        cut.learned(&turn(&whole, &cut.head, self.shared_epochs))
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let epochs = params.training.epochs;
        let rule = format!("must be at most {epochs} (training.epochs), got {}", self.shared_epochs);
        rules.require(self.shared_epochs <= epochs, "method.shared_epochs", rule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_model_is_joined_as_it_was() {
        let cut = Cut {
            head: vec![2..4, 6..7],
            shared: vec![0..2, 4..6, 7..9],
        };
        let whole: Vec<f32> = (0..9).map(|x| x as f32).collect();
        let (shared, head) = (Cut::take(&cut.shared, &whole), Cut::take(&cut.head, &whole));
        assert_eq!(
            (&shared[..], &head[..]),
            (&[0.0, 1.0, 4.0, 5.0, 7.0, 8.0][..], &[2.0, 3.0, 6.0][..])
        );
        assert_eq!(cut.join(&shared, &head), whole);
        assert_eq!([0, 1, 5, 9].map(|below| cut.n_shared(below)), [0, 1, 3, 6]);
    }
}
