//! Node classification: shuffles, training ratios, decisions and F1.

use folkmoot_draws::{SimRng, shuffle_by_words};
use folkmoot_graphs::{Embeddings, Labels};
use folkmoot_metrics::Spread;
use folkmoot_parts::component;
use rayon::prelude::*;

use super::logistic::Rows;
use super::{EvaluationError, LogisticRegression, finite, legal, require, same_length};
use crate::labels::{Counts, F1};

/// Rule that turns scores into labels.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// The number of labels of each test node is known and as many top scores are taken; ties go to
    /// the smaller label (DeepWalk).
    #[default]
    KnownCount,
    /// Every label with a probability above this threshold; the usual value is 0.5.
    Threshold(#[component(required, above = 0, below = 1)] f64),
}

/// Multi-label classification of nodes from their vectors.
///
/// Only labelled nodes take part. In each shuffle, the first `train_ratio` of them, rounded down,
/// train one model per label, and the rest is predicted.
///
/// ```
/// use folkmoot_graphs::{Embeddings, Labels};
/// use folkmoot_scores::evaluation::NodeClassification;
/// use folkmoot_draws::{SeedableRng, SimRng};
///
/// let labels = Labels::from_single(2, &(0..40).map(|v| Some(v % 2)).collect::<Vec<_>>())?;
/// let vectors = Embeddings::new(1, (0..40).map(|v| (v % 2) as f32).collect());
/// let scores = NodeClassification::default().evaluate(&vectors, &labels, &mut SimRng::seed_from_u64(1))?;
/// assert_eq!(scores[8].micro.mean, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct NodeClassification {
    /// Training fractions of the labelled nodes.
    #[component(default = (1..10).map(|tenth| f64::from(tenth) / 10.0).collect(), above = 0, below = 1)]
    pub train_ratios: Vec<f64>,
    /// Number of random orders of the nodes; all training fractions use the same.
    #[component(default = 10, at_least = 1)]
    pub n_shuffles: usize,
    /// Rule that turns scores into labels.
    pub decision: Decision,
    /// Logistic regression.
    pub regression: LogisticRegression,
}

/// The scores at one training ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioScores {
    pub train_ratio: f64,
    /// How many nodes train.
    pub n_train: usize,
    /// How many nodes are predicted.
    pub n_test: usize,
    /// Micro-F1 over the shuffles, in 0..=1.
    pub micro: Spread,
    /// Macro-F1 over the shuffles, in 0..=1.
    pub macro_mean: Spread,
    /// (micro, macro) of each shuffle.
    pub by_shuffle: Vec<(f64, f64)>,
}

impl NodeClassification {
    /// Scores the vectors; one entry per training ratio, in their order.
    ///
    /// # Errors
    /// [`EvaluationError`] for illegal settings, labels that do not fit, vectors that are not
    /// finite, and a ratio that leaves no node on one side.
    ///
    /// # Determinism
    /// Draws `n_shuffles` × (labelled nodes − 1) 32-bit words of `rng`, shuffle after shuffle. The
    /// result does not depend on the number of threads.
    ///
    /// # Complexity
    /// `n_shuffles` × ratios × labels fits of [`LogisticRegression::fit`], in parallel.
    pub fn evaluate(
        &self,
        vectors: &Embeddings,
        labels: &Labels,
        rng: &mut SimRng,
    ) -> Result<Vec<RatioScores>, EvaluationError> {
        let nodes: Vec<u32> = (0..labels.n_nodes() as u32)
            .filter(|&v| !labels.of(v).is_empty())
            .collect();
        self.fits(nodes.len())?;
        same_length("labels", vectors.n_vertices(), labels.n_nodes())?;
        finite("vectors", vectors.values())?;
        let orders: Vec<Vec<u32>> = (0..self.n_shuffles)
            .map(|_| {
                let mut order = nodes.clone();
                shuffle_by_words(rng, &mut order);
                order
            })
            .collect();
        let cells: Vec<(usize, usize)> = (0..self.train_ratios.len())
            .flat_map(|ratio| (0..orders.len()).map(move |order| (ratio, order)))
            .collect();
        let scores: Vec<(f64, f64)> = cells
            .par_iter()
            .with_max_len(1)
            .map(|&(ratio, order)| {
                let n_train = n_train(self.train_ratios[ratio], nodes.len());
                let (train, test) = orders[order].split_at(n_train);
                self.score(vectors, labels, train, test)
            })
            .collect();
        let by_ratio = self.train_ratios.iter().zip(scores.chunks(self.n_shuffles));
        Ok(by_ratio
            .map(|(&train_ratio, scores)| RatioScores {
                train_ratio,
                n_train: n_train(train_ratio, nodes.len()),
                n_test: nodes.len() - n_train(train_ratio, nodes.len()),
                micro: Spread::of(&scores.iter().map(|score| score.0).collect::<Vec<f64>>()),
                macro_mean: Spread::of(&scores.iter().map(|score| score.1).collect::<Vec<f64>>()),
                by_shuffle: scores.to_vec(),
            })
            .collect())
    }

    fn fits(&self, n_nodes: usize) -> Result<(), EvaluationError> {
        legal(self)?;
        for &ratio in &self.train_ratios {
            let n_train = n_train(ratio, n_nodes);
            require(n_train > 0 && n_train < n_nodes, "train_ratios", || {
                format!("{ratio} of {n_nodes} labelled nodes leaves none to train or none to test")
            })?;
        }
        Ok(())
    }

    /// Micro- and macro-F1 of one split.
    fn score(&self, vectors: &Embeddings, labels: &Labels, train: &[u32], test: &[u32]) -> (f64, f64) {
        let gather = |nodes: &[u32]| Rows::new(vectors.dim(), nodes.iter().map(|&v| vectors.of(v)));
        let (train_rows, test_rows) = (gather(train), gather(test));
        let scores: Vec<Vec<f64>> = (0..labels.n_classes() as u32)
            .into_par_iter()
            .map(|class| {
                let y: Vec<bool> = train.iter().map(|&v| labels.of(v).contains(&class)).collect();
                test_rows.scores_of(&self.regression.fit_rows(&train_rows, &y))
            })
            .collect();
        let mut counts = vec![Counts::default(); labels.n_classes()];
        for (i, &node) in test.iter().enumerate() {
            let actual = labels.of(node);
            let predicted = self.decide(&scores, i, actual.len());
            for &class in &predicted {
                let hit = actual.contains(&class);
                counts[class as usize].hits += u64::from(hit);
                counts[class as usize].false_alarms += u64::from(!hit);
            }
            for &class in actual.iter().filter(|class| !predicted.contains(class)) {
                counts[class as usize].misses += 1;
            }
        }
        let f1 = F1::of(&counts);
        (f1.micro, f1.macro_mean)
    }

    /// The labels of test node `i`, which really has `n_labels`.
    fn decide(&self, scores: &[Vec<f64>], i: usize, n_labels: usize) -> Vec<u32> {
        let mut classes: Vec<u32> = (0..scores.len() as u32).collect();
        let score = |class: u32| scores[class as usize][i];
        match self.decision {
            Decision::KnownCount => {
                // The sort is stable, so among equal scores the smaller label stays first.
                classes.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
                classes.truncate(n_labels);
            }
            Decision::Threshold(p) => {
                let least = libm::log(p / (1.0 - p));
                classes.retain(|&class| score(class) > least);
            }
        }
        classes
    }
}

fn n_train(ratio: f64, n_nodes: usize) -> usize {
    (ratio * n_nodes as f64) as usize
}

#[cfg(test)]
mod tests {
    use folkmoot_draws::SeedableRng;

    use super::*;

    /// 60 nodes in three classes, node 0 in two of them; vectors are noisy indicators of the first
    /// class.
    fn three_classes() -> (Embeddings, Labels) {
        let mut pairs: Vec<(u32, u32)> = (0..60).map(|v| (v, v % 3)).collect();
        pairs.push((0, 2));
        let values = (0..60u32)
            .flat_map(|v| (0..3).map(move |k| if v % 3 == k { 1.0 } else { 0.0 } + ((v * 7 + k) % 10) as f32 / 8.0))
            .collect();
        (Embeddings::new(3, values), Labels::from_pairs(60, 4, &pairs).unwrap())
    }

    fn evaluate(task: &NodeClassification) -> Vec<RatioScores> {
        let (vectors, labels) = three_classes();
        task.evaluate(&vectors, &labels, &mut SimRng::seed_from_u64(2)).unwrap()
    }

    #[test]
    fn scores_have_the_same_bits_for_any_number_of_threads() {
        let results = [1, 2, 5].map(|n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| evaluate(&NodeClassification::default()))
        });
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0], results[2]);
    }

    #[test]
    fn separable_classes_are_found_and_an_absent_class_scores_zero() {
        let task = NodeClassification {
            regression: LogisticRegression {
                c: 100.0,
                ..LogisticRegression::default()
            },
            train_ratios: vec![0.5],
            ..NodeClassification::default()
        };
        let scores = evaluate(&task);
        assert_eq!((scores[0].n_train, scores[0].n_test), (30, 30));
        assert!(scores[0].micro.mean > 0.9, "{scores:?}");
        // The fourth class has no node, so the best macro mean is 3/4.
        assert!(scores[0].macro_mean.mean > 0.67 && scores[0].macro_mean.mean <= 0.75);
        assert_eq!(scores[0].by_shuffle.len(), 10);
    }

    #[test]
    fn a_threshold_may_give_no_label_or_several() {
        let with = |p: f64| {
            let task = NodeClassification {
                decision: Decision::Threshold(p),
                ..NodeClassification::default()
            };
            evaluate(&task)[4].micro.mean
        };
        assert!(with(0.5) > 0.5);
        assert_eq!(with(0.999), 0.0, "nothing is that certain");
        // Everything but the class without nodes, whose score is minus infinity: 1 right of 3
        // guesses.
        assert!((with(0.001) - 0.5).abs() < 0.02);
    }

    #[test]
    fn ties_go_to_the_smaller_label() {
        let task = NodeClassification::default();
        assert_eq!(task.decide(&[vec![0.5], vec![1.0], vec![0.5], vec![0.5]], 0, 2), [1, 0]);
    }

    #[test]
    fn what_cannot_be_scored_is_an_error() {
        let (vectors, labels) = three_classes();
        let text = |task: NodeClassification, vectors: &Embeddings| {
            let mut rng = SimRng::seed_from_u64(2);
            task.evaluate(vectors, &labels, &mut rng).unwrap_err().to_string()
        };
        let task = NodeClassification::default();
        let ratios = |train_ratios: Vec<f64>| NodeClassification {
            train_ratios,
            ..task.clone()
        };
        assert_eq!(
            text(ratios(vec![1.0]), &vectors),
            "train_ratios.0: must be greater than 0 and less than 1, got 1"
        );
        assert_eq!(
            text(ratios(vec![0.01]), &vectors),
            "train_ratios: 0.01 of 60 labelled nodes leaves none to train or none to test"
        );
        let none = NodeClassification {
            n_shuffles: 0,
            ..task.clone()
        };
        assert_eq!(text(none, &vectors), "n_shuffles: must be at least 1, got 0");
        assert_eq!(
            text(task.clone(), &Embeddings::new(3, vec![0.0; 9])),
            "labels: must have 3 items, got 60"
        );
        let broken = Embeddings::new(1, vec![f32::NAN; 60]);
        assert_eq!(text(task, &broken), "vectors[0]: must be finite");
    }
}
