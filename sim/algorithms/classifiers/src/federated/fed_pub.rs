//! FED-PUB: models of clients that answer alike on a graph of nobody's are averaged, and each
//! client has a mask of its own.

use super::method::{cosine, has_own_models};
use super::{Common, Federated, Learned, Local, Method, Params};
use folkmoot_draws::{Purpose, Streams, bernoulli, normal};
use folkmoot_engine::prelude::ClientId;
use folkmoot_learning::{Batch, Csr, Moments, Slot};
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Answers, Personalisation, Travels};
use std::ops::Range;

const PROXY: Purpose = Purpose(*b"fd-proxy");
/// The graph on which models are compared: blocks of so many nodes, and an edge inside a block with
/// this probability.
const BLOCKS: u32 = 5;
const BLOCK: u32 = 100;
const EDGE: f64 = 0.1;
/// A mask's number of less than this counts as none.
const PRUNED: f32 = 1e-3;

/// FED-PUB: each client is sent a mean of all models in which those count for more that see a
/// random graph as its own does, and keeps a mask over the weights that it alone trains.
///
/// J. Baek, W. Jeong, J. Jin, J. Yoon, S. J. Hwang. Personalized Subgraph Federated Learning. ICML
/// 2023. <https://arxiv.org/abs/2206.10206>
///
/// | exchange | direction | payload                                                         | bytes                        |
/// |----------|-----------|-----------------------------------------------------------------|------------------------------|
/// | `model`  | downlink  | the weights for this client                                     | 4 × n_params                 |
/// | `update` | uplink    | training samples as `u32`, weights, functional embedding `f32`  | 4 × n_params + 4 × hidden + 4 |
///
/// A client trains weights `W` and a mask `M` over every weight matrix, with `W ∘ M` in the
/// network; masks begin at 1, and stay at their clients. The functional embedding is the mean row
/// of the last graph layer over a graph of five blocks of 100 nodes, an edge inside a block with
/// probability 0.1, features from the standard normal law. The server sends client `i` the mean of
/// all models of the round, weighted by `exp(similarity_scale × cos(h_i, h_j))`. A client answers
/// with `W ∘ M`, where numbers of the mask below 0.001 count as 0.
///
/// Deviations from the authors' code: the graph is drawn by everybody from the public `start_seed`,
/// so nothing is sent for it; embeddings are of the row that the head reads; steps are over all
/// items at once. `optimiser_state: Kept` is theirs. There, neither penalty of the paper reaches
/// the gradient: `sparsity` and `nearness` of 0 are what its numbers were made with, and the paper
/// states 0.001 for both.
#[component(
    name = "FedPub",
    about = "FED-PUB: averaging by similarity of client models, with personalised masks (ICML 2023)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedPub {
    /// Scale of the similarities in the softmax, tau in the paper; 0 averages all equally. The
    /// authors' scripts use 3 and 5, their code defaults to 10.
    #[component(default = 10.0, in = 0..=1e4)]
    pub similarity_scale: f64,
    /// Weight of the L1 norm of the mask in the loss.
    #[component(default = 0.0, at_least = 0, f32)]
    pub sparsity: f64,
    /// Weight of the distance (L2 norm per tensor) to the received model in the loss, from a
    /// client's second training on.
    #[component(default = 0.0, at_least = 0, f32)]
    pub nearness: f64,
}

/// Where each tensor that learns lies in a model, and whether it has a mask: weight matrices do,
/// biases do not.
fn tensors(common: &Common) -> Vec<(Range<usize>, bool)> {
    let layout = common.classifier.network().layout();
    let learns = layout.slots().iter().filter(|slot| slot.trainable);
    let tensor = |slot: &Slot| {
        let is_matrix = slot.rows > 1 && slot.name.ends_with(".weight");
        (layout.range(slot.parameter), is_matrix)
    };
    learns.map(tensor).collect()
}

/// The graph of nobody's.
fn proxy(common: &Common) -> &Batch {
    common.proxy.get_or_init(|| {
        let rng = &mut Streams::new(u64::from(common.start_seed)).global(PROXY);
        let mut arcs = Vec::new();
        for first in (0..BLOCKS).map(|block| block * BLOCK) {
            for u in first..first + BLOCK {
                let others = (u + 1..first + BLOCK).filter(|_| bernoulli(rng, EDGE));
                arcs.extend(others.flat_map(|v| [(u, v), (v, u)]));
            }
        }
        let n_nodes = BLOCKS * BLOCK;
        let n = n_nodes as usize * common.classifier.network().n_features();
        let features: Vec<f32> = (0..n).map(|_| normal(rng) as f32).collect();
        let adjacency = Csr::from_arcs(n_nodes, &arcs, None).expect("nodes are of the graph");
        common.classifier.batch(&adjacency, &features)
    })
}

/// `W ∘ M`, in the place of a whole model; of a mask's numbers those that `counts`.
fn masked(model: &[f32], mask: &[f32], counts: impl Fn(f32) -> bool) -> Vec<f32> {
    let mut masked = model.to_vec();
    for (w, m) in masked.iter_mut().zip(mask) {
        *w *= if counts(*m) { *m } else { 0.0 };
    }
    masked
}

fn is_kept(m: f32) -> bool {
    m.abs() >= PRUNED
}

impl FedPub {
    /// How much the model of each counts in that of each, a row for each, by their embeddings: what
    /// a softmax over a row divides by its sum.
    pub fn counts(&self, embeddings: &[&[f32]]) -> Vec<Vec<f64>> {
        let row = |own: &&[f32]| {
            let count = |other: &&[f32]| libm::exp(self.similarity_scale * (cosine(own, other) - 1.0));
            embeddings.iter().map(count).collect()
        };
        embeddings.iter().map(row).collect()
    }

    /// The mask that a client has: all of it 1 before its first training. It is as long as what
    /// learns.
    fn mask(local: &Local<'_>) -> Vec<f32> {
        let n = local.classifier().network().layout().n_trainable();
        local.kept.map_or_else(|| vec![1.0; n], <[f32]>::to_vec)
    }

    /// Weights and mask after training from what was sent.
    fn trained(&self, local: &Local<'_>) -> (Vec<f32>, Vec<f32>) {
        let classifier = local.classifier();
        let (mut weights, mut mask) = (local.parameters.to_vec(), FedPub::mask(local));
        let (n, tensors) = (mask.len(), tensors(local.common));
        let nearness = if local.kept.is_some() {
            self.nearness as f32
        } else {
            0.0
        };
        let (optimiser, mut rng) = (classifier.training().build(), local.rng());
        let mut moments = local.moments.map_or_else(Moments::new, |[of_sent, _]| of_sent.take());
        for _ in 0..local.passes.unwrap_or(classifier.epochs()) {
            let gradient = classifier.loss_gradient(local.shard, &masked(&weights, &mask, |_| true), &mut rng);
            let mut both = [&weights[..n], &mask[..]].concat();
            let mut way = vec![0.0; 2 * n];
            for (range, has_mask) in &tensors {
                let change = |i: usize| weights[i] - local.parameters[i];
                let length = range.clone().map(|i| f64::from(change(i)).powi(2)).sum::<f64>().sqrt() as f32;
                for i in range.clone() {
                    let pull = if length > 0.0 {
                        nearness * change(i) / length
                    } else {
                        0.0
                    };
                    way[i] = gradient[i] * mask[i] + pull;
                    if *has_mask {
                        way[n + i] = gradient[i] * weights[i] + self.sparsity as f32 * sign(mask[i]);
                    }
                }
            }
            optimiser.step(&mut moments, &mut both, &way);
            weights[..n].copy_from_slice(&both[..n]);
            for (range, _) in tensors.iter().filter(|(_, has_mask)| *has_mask) {
                mask[range.clone()].copy_from_slice(&both[n..][range.clone()]);
            }
        }
        if let Some([of_sent, _]) = local.moments {
            of_sent.set(moments);
        }
        (weights, mask)
    }
}

fn sign(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

impl Method for FedPub {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Err("clients of FedPub also tell the mean row of a graph, and the server compares them one by one; use Global")
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        if !local.learns() {
            let mut sent = local.parameters.to_vec();
            let n = sent.len() + local.classifier().network().n_hidden();
            sent.resize(n, 0.0);
            return Learned::sent(sent);
        }
        let (mut sent, mask) = self.trained(local);
        let model = masked(&sent, &mask, is_kept);
        sent.extend(local.classifier().mean_row(proxy(local.common), &model));
        Learned { sent, kept: Some(mask) }
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        masked(local.parameters, &FedPub::mask(local), is_kept)
    }

    fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
        None
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        has_own_models(params, rules, "FedPub");
        let rule = "must not be GinBatchNorm with FedPub: running statistics cannot be masked";
        let has_statistics = params.model.encoder.has_statistics();
        rules.require(!has_statistics, "model.encoder", rule.to_owned());
        let rule = "must be omitted with FedPub, which trains full-batch";
        rules.require(
            params.training.batch_size.is_none(),
            "training.batch_size",
            rule.to_owned(),
        );
        let rule = "must be 0 with FedPub: its proximal term is nearness";
        rules.require(
            params.training.fedprox_mu == 0.0,
            "training.fedprox_mu",
            rule.to_owned(),
        );
    }
}

impl Personalisation<Federated> for FedPub {
    fn travels(&self, federated: &Federated) -> Travels {
        let network = federated.common.classifier.network();
        Travels::whole(federated).and(network.n_hidden())
    }

    fn rows(
        &self,
        federated: &Federated,
        _: &mut Vec<f64>,
        answers: &Answers<'_>,
    ) -> Option<Vec<(ClientId, Vec<f64>)>> {
        let n = federated.common.n_parameters();
        let embeddings = answers.updates.all.iter().map(|update| &update.values[n..]);
        let embeddings: Vec<&[f32]> = embeddings.collect();
        Some(answers.each(self.counts(&embeddings)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two embeddings at a right angle, at a scale of 3: 0.952574 and 0.047426.
    #[test]
    fn models_count_by_a_softmax_of_cosines() {
        let (x, y) = ([2.0, 0.0], [0.0, 0.5]);
        let of = |similarity_scale: f64| {
            let method = FedPub {
                similarity_scale,
                ..FedPub::default()
            };
            method.counts(&[&x, &y])
        };
        let rows = of(3.0);
        for (i, row) in rows.iter().enumerate() {
            let sum: f64 = row.iter().sum();
            assert!((row[i] / sum - 0.952574).abs() < 5e-7 && (row[1 - i] / sum - 0.047426).abs() < 5e-7);
        }
        assert_eq!(of(0.0), [[1.0; 2]; 2]);
        assert_eq!(of(1e4), [[1.0, 0.0], [0.0, 1.0]]);
    }

    #[test]
    fn a_mask_is_pruned_where_a_model_answers() {
        assert_eq!(
            masked(&[2.0, 2.0, 2.0, 7.0], &[1.0, -0.5, 1e-4], is_kept),
            [2.0, -1.0, 0.0, 7.0]
        );
    }
}
