//! The choice of an SVM's `C` and kernel width by cross-validation on a matrix of distances.

use folkmoot_draws::SimRng;
use folkmoot_metrics::Spread;
use folkmoot_parts::{Rules, component};
use rayon::prelude::*;

use super::{Split, Svm, clip_negative, finite, splits, stratified_folds};
use crate::evaluation::{EvaluationError, require, same_length};

/// A grid of settings for the kernel `exp(-gamma × distance)`, which is indefinite for most
/// distances between graphs.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct SvmGrid {
    /// Values of `C` to try (Jin & Chen 2022).
    #[component(default = DECADES.to_vec(), above = 0)]
    pub c: Vec<f64>,
    /// Values of the kernel parameter `gamma` to try (Jin & Chen 2022).
    #[component(default = (0..21).map(|power| f64::from(1_u32 << power) / 1024.0).collect(), above = 0)]
    pub gamma: Vec<f64>,
    /// Number of folds by which [`cross_validate`](Self::cross_validate) selects within its
    /// training items.
    #[component(default = 5, at_least = 2)]
    pub n_inner_folds: usize,
    /// Tolerance of the solver, as [`Svm::tolerance`].
    #[component(default = 1e-3, above = 0)]
    pub tolerance: f64,
    /// Maximum number of solver steps, as [`Svm::max_steps`]. Large values of `C` in the default
    /// grid may need many steps if classes are not separable.
    #[component(default = 100_000, at_least = 1)]
    pub max_steps: u64,
    /// Clip negative eigenvalues of the kernel, as [`clip_negative`], over training and test items
    /// together.
    pub clip: bool,
}

/// Written out, for a power computed step by step is off by a rounding.
const DECADES: [f64; 15] = [
    1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7,
];

/// The best point of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridChoice {
    /// Its `C`.
    pub c: f64,
    /// Its `gamma`.
    pub gamma: f64,
    /// How many test items of all splits were right at each point, of shape `(n_gamma, n_c)`.
    pub n_correct: Vec<u32>,
    /// How many test items the splits have.
    pub n_tested: u32,
    /// How many fits, over all points and splits, stopped at the last step allowed; their
    /// predictions count all the same.
    pub n_stopped: u32,
}

/// What an SVM compares items by.
#[derive(Clone, Copy, Debug)]
pub enum Comparison<'a> {
    /// Symmetric distances of shape `(n, n)`: the kernel is `exp(-gamma × distance)`.
    Distances(&'a [f64]),
    /// A symmetric kernel of shape `(n, n)`, taken as it is: there is no `gamma` to choose, and the
    /// choice says 1.
    Kernel(&'a [f64]),
}

/// The outcome on items that took no part in any choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    pub choice: GridChoice,
    /// The class that each test item was given, in their order.
    pub predictions: Vec<u32>,
    /// How many of them are right.
    pub n_correct: u32,
    /// Whether the last fit stopped at the last step allowed.
    pub stopped: bool,
}

/// The outcome of a nested cross-validation.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossValidated {
    /// The class that each item was given by the model that had not seen it.
    pub predictions: Vec<u32>,
    /// The share of right ones over the folds, in 0..=1.
    pub accuracy: Spread,
    /// That share in each fold.
    pub by_fold: Vec<f64>,
    /// What each fold's training items chose.
    pub choices: Vec<GridChoice>,
    /// In how many folds the fit to all training items stopped at the last step allowed.
    pub n_stopped: u32,
}

impl SvmGrid {
    /// What no range says.
    fn rules(&self, rules: &mut Rules) {
        for (field, values) in [("c", &self.c), ("gamma", &self.gamma)] {
            rules.require(!values.is_empty(), field, "must have a number to try, got none");
        }
    }

    /// The point that predicts most test items of `splits` right; of equal ones that with the first
    /// `C`, then the first `gamma`: in ascending lists, the one that fits the least.
    ///
    /// `distances` is symmetric, of shape `(y.len(), y.len())`.
    ///
    /// # Errors
    /// [`EvaluationError`] for illegal settings, a shape that does not fit, distances that are not
    /// finite or so negative that the kernel overflows, no splits, and a split without training or
    /// test items or with items that do not exist.
    ///
    /// # Determinism
    /// No draws. The result does not depend on the number of threads.
    ///
    /// # Complexity
    /// A fit of [`Svm::fit`] for every point and split, and a [`spectrum`](super::spectrum()) for
    /// every `gamma` if the kernel is clipped, in parallel; `8 n²` bytes for every `gamma`, and as
    /// much for every thread.
    pub fn select(&self, distances: &[f64], y: &[u32], splits: &[Split]) -> Result<GridChoice, EvaluationError> {
        self.check(distances, y, false)?;
        check_splits(splits, y.len())?;
        let mut choices = self.choose(Comparison::Distances(distances), y, &[splits.to_vec()])?;
        Ok(choices.swap_remove(0))
    }

    /// Chooses as [`select`](Self::select) by `splits`, then fits the training items of `outer` at
    /// the point chosen and predicts its test items.
    ///
    /// # Errors
    /// As [`select`](Self::select), for `outer` too.
    ///
    /// # Determinism
    /// As [`select`](Self::select).
    pub fn choose_and_test(
        &self,
        items: Comparison<'_>,
        y: &[u32],
        splits: &[Split],
        outer: &Split,
    ) -> Result<Tested, EvaluationError> {
        let (Comparison::Distances(values) | Comparison::Kernel(values)) = items;
        self.check(values, y, matches!(items, Comparison::Kernel(_)))?;
        check_splits(splits, y.len())?;
        check_splits(std::slice::from_ref(outer), y.len())?;
        let choice = self.choose(items, y, &[splits.to_vec()])?.swap_remove(0);
        let kernel = self.kernel(items, y.len(), choice.gamma)?;
        let Predicted {
            classes,
            n_correct,
            stopped,
        } = self.predict(&kernel, y, outer, choice.c);
        Ok(Tested {
            choice,
            predictions: classes,
            n_correct,
            stopped,
        })
    }

    /// Nested cross-validation: each of `n_folds` stratified folds is predicted by a model whose
    /// `C` and `gamma` were chosen on the other folds alone, by [`select`](Self::select) over
    /// `n_inner_folds` stratified folds of those.
    ///
    /// # Errors
    /// As [`select`](Self::select), and if `n_folds` or `n_inner_folds` is less than 2 or more than
    /// there are items to divide.
    ///
    /// # Determinism
    /// Draws the outer folds from `rng`, then the inner ones of each outer fold. The result does
    /// not depend on the number of threads.
    pub fn cross_validate(
        &self,
        distances: &[f64],
        y: &[u32],
        n_folds: usize,
        rng: &mut SimRng,
    ) -> Result<CrossValidated, EvaluationError> {
        self.check(distances, y, false)?;
        let outer = splits(&stratified_folds(y, n_folds, rng)?);
        let mut inner = Vec::with_capacity(outer.len());
        for split in &outer {
            let classes: Vec<u32> = split.train.iter().map(|&item| y[item as usize]).collect();
            let within = stratified_folds(&classes, self.n_inner_folds, rng).map_err(|error| match error {
                EvaluationError::Setting { rule, .. } => EvaluationError::Setting {
                    field: "n_inner_folds",
                    rule,
                },
                other => other,
            })?;
            let items = |at: Vec<u32>| at.into_iter().map(|at| split.train[at as usize]).collect();
            let named = splits(&within).into_iter().map(|Split { train, test }| Split {
                train: items(train),
                test: items(test),
            });
            inner.push(named.collect::<Vec<_>>());
        }
        let distances = Comparison::Distances(distances);
        let choices = self.choose(distances, y, &inner)?;
        let mut predicted = vec![Predicted::default(); outer.len()];
        for &gamma in &self.gamma {
            let chosen: Vec<usize> = (0..outer.len()).filter(|&fold| choices[fold].gamma == gamma).collect();
            if chosen.is_empty() {
                continue;
            }
            let kernel = self.kernel(distances, y.len(), gamma)?;
            let found: Vec<Predicted> = (chosen.par_iter().with_max_len(1))
                .map(|&fold| self.predict(&kernel, y, &outer[fold], choices[fold].c))
                .collect();
            std::iter::zip(chosen, found).for_each(|(fold, found)| predicted[fold] = found);
        }
        let mut predictions = vec![0; y.len()];
        let mut by_fold = Vec::with_capacity(outer.len());
        for (split, predicted) in outer.iter().zip(&predicted) {
            by_fold.push(f64::from(predicted.n_correct) / split.test.len() as f64);
            for (&item, &class) in split.test.iter().zip(&predicted.classes) {
                predictions[item as usize] = class;
            }
        }
        Ok(CrossValidated {
            predictions,
            accuracy: Spread::of(&by_fold),
            by_fold,
            choices,
            n_stopped: predicted.iter().map(|predicted| u32::from(predicted.stopped)).sum(),
        })
    }

    fn check(&self, values: &[f64], y: &[u32], is_kernel: bool) -> Result<(), EvaluationError> {
        for (field, values) in [("c", &self.c), ("gamma", &self.gamma)] {
            require(!values.is_empty(), field, || {
                "must have a value or more, got none".to_string()
            })?;
            for &value in values {
                require(value.is_finite() && value > 0.0, field, || {
                    format!("must be finite and greater than 0, got {value}")
                })?;
            }
        }
        require(self.n_inner_folds >= 2, "n_inner_folds", || {
            format!("must be at least 2, got {}", self.n_inner_folds)
        })?;
        self.svm(1.0).check()?;
        let name = if is_kernel { "kernel" } else { "distances" };
        same_length(name, y.len() * y.len(), values.len())?;
        finite(name, values)?;
        if is_kernel {
            return Ok(());
        }
        let least = values.iter().copied().fold(0.0, f64::min);
        let widest = self.gamma.iter().copied().fold(0.0, f64::max);
        require(-least * widest < 300.0, "distances", || {
            format!("must be at least 0 up to rounding, got {least}")
        })
    }

    fn svm(&self, c: f64) -> Svm {
        Svm {
            c,
            tolerance: self.tolerance,
            max_steps: self.max_steps,
        }
    }

    /// The choice of each group of splits.
    fn choose(
        &self,
        items: Comparison<'_>,
        y: &[u32],
        groups: &[Vec<Split>],
    ) -> Result<Vec<GridChoice>, EvaluationError> {
        let gammas = match items {
            Comparison::Distances(_) => &self.gamma[..],
            Comparison::Kernel(_) => &[1.0],
        };
        let cells: Vec<(usize, usize, &Split)> = (0..groups.len())
            .flat_map(|group| (0..self.c.len()).map(move |c| (group, c)))
            .flat_map(|(group, c)| groups[group].iter().map(move |split| (group, c, split)))
            .collect();
        let of_gamma = |&gamma: &f64| {
            let kernel = self.kernel(items, y.len(), gamma)?;
            let predict = |&(_, c, split): &(usize, usize, &Split)| {
                let Predicted { n_correct, stopped, .. } = self.predict(&kernel, y, split, self.c[c]);
                (n_correct, u32::from(stopped))
            };
            Ok(cells
                .par_iter()
                .with_max_len(1)
                .map(predict)
                .collect::<Vec<(u32, u32)>>())
        };
        let found: Vec<Result<Vec<(u32, u32)>, EvaluationError>> =
            gammas.par_iter().with_max_len(1).map(of_gamma).collect();
        let mut counts = vec![(vec![0; gammas.len() * self.c.len()], 0); groups.len()];
        for (rank, found) in found.into_iter().enumerate() {
            for (&(group, c, _), (n_correct, stopped)) in cells.iter().zip(found?) {
                counts[group].0[rank * self.c.len() + c] += n_correct;
                counts[group].1 += stopped;
            }
        }
        let best = |(n_correct, n_stopped): (Vec<u32>, u32), group: &Vec<Split>| {
            let points = (0..self.c.len()).flat_map(|c| (0..gammas.len()).map(move |gamma| (gamma, c)));
            let mut best = (0, 0);
            for (gamma, c) in points {
                if n_correct[gamma * self.c.len() + c] > n_correct[best.0 * self.c.len() + best.1] {
                    best = (gamma, c);
                }
            }
            GridChoice {
                c: self.c[best.1],
                gamma: gammas[best.0],
                n_correct,
                n_tested: group.iter().map(|split| split.test.len() as u32).sum(),
                n_stopped,
            }
        };
        Ok(counts
            .into_iter()
            .zip(groups)
            .map(|(n, group)| best(n, group))
            .collect())
    }

    /// The kernel, entry by entry, clipped if that is asked for.
    fn kernel(&self, items: Comparison<'_>, n: usize, gamma: f64) -> Result<Vec<f64>, EvaluationError> {
        let entry = |distance: &f64| libm::exp(-gamma * distance);
        let kernel: Vec<f64> = match items {
            Comparison::Distances(distances) => distances.par_iter().with_min_len(4096).map(entry).collect(),
            Comparison::Kernel(kernel) => kernel.to_vec(),
        };
        if self.clip {
            clip_negative(&kernel, n)
        } else {
            Ok(kernel)
        }
    }

    /// Fits a split's training items and predicts its test items.
    fn predict(&self, kernel: &[f64], y: &[u32], split: &Split, c: f64) -> Predicted {
        let n = y.len();
        let model = self.svm(c).fit_items(kernel, n, y, &split.train);
        let class = |&item: &u32| {
            let row = &kernel[item as usize * n..][..n];
            model.vote(|at| row[split.train[at as usize] as usize])
        };
        let classes: Vec<u32> = split.test.iter().map(class).collect();
        let right = std::iter::zip(&split.test, &classes).filter(|(item, class)| y[**item as usize] == **class);
        Predicted {
            n_correct: right.count() as u32,
            stopped: !model.converged(),
            classes,
        }
    }
}

/// Every split has training and test items, all of them below `n`.
fn check_splits(splits: &[Split], n: usize) -> Result<(), EvaluationError> {
    require(!splits.is_empty(), "splits", || {
        "must be one or more, got 0".to_string()
    })?;
    for split in splits {
        let known = split.train.iter().chain(&split.test).all(|&item| (item as usize) < n);
        require(known, "splits", || format!("items must lie below {n}"))?;
        require(!split.train.is_empty() && !split.test.is_empty(), "splits", || {
            "must have training and test items".to_string()
        })?;
    }
    Ok(())
}

/// What a fit makes of its test items.
#[derive(Clone, Default)]
struct Predicted {
    classes: Vec<u32>,
    n_correct: u32,
    stopped: bool,
}

#[cfg(test)]
mod tests;
