//! FedGTA: models of clients whose neighbourhoods are alike are averaged.

use super::method::{cosine, has_own_models};
use super::{Common, Federated, Learned, Local, Method, Params};
use crate::classifier::{Nodes, Part, Task};
use folkmoot_engine::prelude::ClientId;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Answers, Personalisation, Travels};

/// FedGTA: each client is sent the mean of the models of those whose labels lie about their graphs
/// as about its own, those counting for more whose labels are more certain.
///
/// X. Li, Z. Wu, W. Zhang, Y. Zhu, R.-H. Li, G. Wang. FedGTA: Topology-aware Averaging for
/// Federated Graph Learning. VLDB 2023. <https://arxiv.org/abs/2401.11755>
///
/// | exchange | direction | payload                                                                    | bytes                          |
/// |----------|-----------|----------------------------------------------------------------------------|--------------------------------|
/// | `model`  | downlink  | the weights for this client                                                | 4 × n_params                   |
/// | `update` | uplink    | training samples as `u32`, weights, moments of labels and confidence `f32` | 4 × n_params + 4 × n_moments + 8 |
///
/// After its training a client takes what the model says of each node, with training labels in
/// their places, and passes it along the edges: `steps` times `F ← a Â F + (1 − a) F₀`, and `F₀`
/// added at training nodes, with `Â` the normalised adjacency with loops. Of `softmax F` it sends
/// the first `orders` moments of each class over its nodes; of `softmax(F / temperature)` the
/// confidence `H = Σ_v degree(v) (n_classes / e + Σ_c p_vc ln p_vc)`. The server sends client `i`
/// the mean of the models `j` whose moments have a cosine above `similarity` with its own, weighted
/// by `H_j`; its own is always among them. Where none of these has any confidence, it is its own.
///
/// Deviations from the authors' code: the network is the card's, not GAMLP; the client's own model
/// is kept whatever `similarity` is; a client without edges has no confidence, so nobody else takes
/// its model.
#[component(
    name = "FedGta",
    about = "FedGTA: averaging among clients with similar label distributions over their graphs (VLDB 2023)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedGta {
    /// Threshold of the cosine similarity of moments; clients above it are averaged.
    #[component(default = 0.5, in = -2..=2)]
    pub similarity: f64,
    /// Type of moments sent per class.
    pub moments: Moments,
    /// Maximum order of the moments.
    #[component(default = 10, in = 1..=100)]
    pub orders: u32,
    /// Number of label-propagation steps.
    #[component(default = 5, in = 0..=1_000)]
    pub steps: u32,
    /// Weight of neighbours in label propagation, a in the paper.
    #[component(default = 0.5, in = 0..=1)]
    pub neighbours: f64,
    /// Softmax temperature for the confidence.
    #[component(default = 20.0, above = 0)]
    pub temperature: f64,
}

/// Moments of class probabilities over nodes.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// Raw moments, then central moments.
    #[default]
    Both,
    /// Raw moments.
    Raw,
    /// Central moments.
    Central,
}

impl FedGta {
    fn n_moments(&self, n_classes: usize) -> usize {
        let kinds = if self.moments == Moments::Both { 2 } else { 1 };
        kinds * self.orders as usize * n_classes
    }

    /// What labels come to when they are passed along the edges: shape `(n_nodes, n_classes)`.
    fn passed(&self, nodes: &Nodes<'_>, mut first: Vec<f64>, n_classes: usize) -> Vec<f64> {
        let trained = nodes.are_in(Part::Train);
        for node in (0..nodes.labels.len()).filter(|node| trained[*node]) {
            one_hot(&mut first[node * n_classes..][..n_classes], nodes.labels[node]);
        }
        nodes.pass_labels(&first, nodes.are_in(Part::Train), self.neighbours, self.steps)
    }

    /// What the server is told of nodes of which the model says `probabilities`, shape
    /// `(n_nodes, n_classes)`: the moments, and the confidence last.
    pub fn told(&self, nodes: &Nodes<'_>, probabilities: Vec<f64>, n_classes: usize) -> Vec<f32> {
        let passed = self.passed(nodes, probabilities, n_classes);
        let sharp = |temperature: f64| {
            let mut rows = passed.clone();
            for (node, row) in rows.chunks_exact_mut(n_classes).enumerate() {
                match nodes.are_in(Part::Train)[node] {
                    true => one_hot(row, nodes.labels[node]),
                    false => softmax(row, temperature),
                }
            }
            rows
        };
        let mut told = self.moments_of(&sharp(1.0), n_classes);
        told.push(confidence(nodes, &sharp(self.temperature), n_classes));
        told.into_iter().map(|x| x as f32).collect()
    }

    /// How much the model of each counts in that of each, a row for each, by the moments and the
    /// confidence that each has told.
    pub fn counts(&self, told: &[(&[f32], f64)]) -> Vec<Vec<f64>> {
        let row = |(i, (own, _)): (usize, &(&[f32], f64))| {
            let count = |(j, (moments, confidence)): (usize, &(&[f32], f64))| {
                let is_alike = i == j || cosine(own, moments) > self.similarity;
                if is_alike { confidence.max(0.0) } else { 0.0 }
            };
            let mut row: Vec<f64> = told.iter().enumerate().map(count).collect();
            if row.iter().sum::<f64>() <= 0.0 {
                row[i] = 1.0;
            }
            row
        };
        told.iter().enumerate().map(row).collect()
    }

    /// The moments of rows of shape `(n, n_classes)`: kind by kind, order by order, class by class.
    fn moments_of(&self, rows: &[f64], n_classes: usize) -> Vec<f64> {
        let n = (rows.len() / n_classes).max(1) as f64;
        let mean_of = |base: &[f64], order: i32| -> Vec<f64> {
            let mut sums = vec![0.0; n_classes];
            for row in rows.chunks_exact(n_classes) {
                for ((sum, x), base) in sums.iter_mut().zip(row).zip(base) {
                    *sum += power(x - base, order);
                }
            }
            sums.iter().map(|sum| sum / n).collect()
        };
        let zero = vec![0.0; n_classes];
        let orders = 1..=self.orders as i32;
        let raw = || orders.clone().flat_map(|order| mean_of(&zero, order));
        let mean = mean_of(&zero, 1);
        let central = || orders.clone().flat_map(|order| mean_of(&mean, order));
        match self.moments {
            Moments::Both => raw().chain(central()).collect(),
            Moments::Raw => raw().collect(),
            Moments::Central => central().collect(),
        }
    }
}

/// Products in a fixed order, as the library's power is not.
fn power(x: f64, order: i32) -> f64 {
    (0..order).fold(1.0, |product, _| product * x)
}

fn one_hot(row: &mut [f64], class: u32) {
    row.fill(0.0);
    row[class as usize] = 1.0;
}

fn softmax(row: &mut [f64], temperature: f64) {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut()
        .for_each(|x| *x = libm::exp((*x - largest) / temperature));
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= sum);
}

/// How certain labels are, summed over nodes by their degrees; 0 where each class is as likely as
/// `1 / e`, and never less.
fn confidence(nodes: &Nodes<'_>, rows: &[f64], n_classes: usize) -> f64 {
    let most = n_classes as f64 / std::f64::consts::E;
    let of_row = |(node, row): (usize, &[f64])| {
        let entropy: f64 = row.iter().map(|p| p * libm::log(p + 1e-8)).sum();
        nodes.degree(node) as f64 * (most + entropy)
    };
    rows.chunks_exact(n_classes)
        .enumerate()
        .map(of_row)
        .sum::<f64>()
        .max(0.0)
}

impl Method for FedGta {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Err("clients of FedGta also tell moments of what their model says of their nodes; use Global")
    }

    /// Labels are passed along edges in the time of a forward pass.
    fn passes(&self, epochs: f64) -> f64 {
        epochs + 1.0 / 3.0
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let n_classes = local.classifier().network().n_classes();
        let mut sent = local.train(local.parameters);
        let nodes = local.shard.nodes().expect("checked to be nodes");
        let probabilities = local.classifier().probabilities(local.shard, &sent);
        sent.extend(self.told(&nodes, probabilities, n_classes));
        Learned::sent(sent)
    }

    fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
        None
    }

    fn check(&self, common: &Common) -> Result<(), &'static str> {
        let classifier = &common.classifier;
        if classifier.task() != Task::Classes {
            return Err(
                "FedGta passes classes along edges, and this data set has labels or numbers to learn; choose another method, such as Global(), or a set whose nodes have one class each",
            );
        }
        match classifier.network().is_graph_level() {
            true => Err(
                "FedGta passes labels along the edges of one graph, and a graph has one label; use a set whose nodes have labels",
            ),
            false => Ok(()),
        }
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        has_own_models(params, rules, "FedGta");
    }
}

impl Personalisation<Federated> for FedGta {
    fn travels(&self, federated: &Federated) -> Travels {
        let network = federated.common.classifier.network();
        Travels::whole(federated).and(self.n_moments(network.n_classes()) + 1)
    }

    fn rows(
        &self,
        federated: &Federated,
        _: &mut Vec<f64>,
        answers: &Answers<'_>,
    ) -> Option<Vec<(ClientId, Vec<f64>)>> {
        let n = federated.common.n_parameters();
        let told: Vec<(&[f32], f64)> = (answers.updates.all.iter())
            .map(|update| {
                let (confidence, moments) = update.values[n..].split_last().expect("it ends with the confidence");
                (moments, f64::from(*confidence))
            })
            .collect();
        Some(answers.each(self.counts(&told)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_learning::Csr;

    fn fed_gta(moments: Moments) -> FedGta {
        FedGta {
            similarity: 0.5,
            moments,
            orders: 3,
            steps: 1,
            neighbours: 0.5,
            temperature: 20.0,
        }
    }

    fn near(got: &[f64], expected: &[f64]) {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{got}, not {expected}");
        }
    }

    /// One node of degree 2 and two classes: 2 (2/e + ln 1/2) where both are as likely, 4/e where
    /// one is certain.
    #[test]
    fn confidence_is_what_it_is_by_hand() {
        let matrix = Csr::from_entries(3, 3, &[(0, 0, 1.0), (0, 1, 1.0), (0, 2, 1.0)]).unwrap();
        let nodes = Nodes {
            matrix: &matrix,
            labels: &[0; 3],
            masks: &[const { Vec::new() }; 3],
        };
        let of = |row: [f64; 2]| confidence(&nodes, &[row, [0.5; 2], [0.5; 2]].concat(), 2);
        near(&[of([0.5, 0.5]), of([1.0, 0.0])], &[0.085224, 1.471518]);
    }

    /// Two joined nodes, the first with a label: `Â` is 1/2 everywhere.
    #[test]
    fn labels_are_passed_as_by_hand() {
        let matrix = Csr::from_arcs(2, &[(0, 1), (1, 0)], None).unwrap();
        let masks = [vec![true, false], Vec::new(), Vec::new()];
        let nodes = Nodes {
            matrix: &matrix,
            labels: &[0, 0],
            masks: &masks,
        };
        let method = fed_gta(Moments::Both);
        near(&method.passed(&nodes, vec![0.5; 4], 2), &[1.875, 0.125, 0.625, 0.375]);
        let still = FedGta { steps: 0, ..method };
        near(&still.passed(&nodes, vec![0.5; 4], 2), &[1.0, 0.0, 0.5, 0.5]);
        // 2 kinds of 3 orders of 2 classes, then the confidence; the training node counts as its
        // label.
        let told = method.told(&nodes, vec![0.5; 4], 2);
        assert_eq!(told.len(), 13);
        let other = 1.0 / (1.0 + libm::exp(-0.25));
        near(
            &[f64::from(told[0]), f64::from(told[1])],
            &[(1.0 + other) / 2.0, (1.0 - other) / 2.0],
        );
    }

    #[test]
    fn first_moments_sum_to_one_and_central_ones_are_nothing() {
        let rows = [0.2, 0.8, 0.5, 0.5, 0.9, 0.1];
        let raw = fed_gta(Moments::Raw).moments_of(&rows, 2);
        near(
            &[raw[0] + raw[1], raw[0], raw[2]],
            &[1.0, 1.6 / 3.0, (0.04 + 0.25 + 0.81) / 3.0],
        );
        let central = fed_gta(Moments::Central).moments_of(&rows, 2);
        near(&central[..2], &[0.0, 0.0]);
        near(&[central[2]], &[1.1 / 3.0 - (1.6f64 / 3.0).powi(2)]);
        assert_eq!(fed_gta(Moments::Both).moments_of(&rows, 2), [raw, central].concat());
    }
}
