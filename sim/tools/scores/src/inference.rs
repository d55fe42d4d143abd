//! Guessing a property from rows of numbers: attackers of several kinds, and which of them knows
//! best.
//!
//! | attacker | what it is | what cross-validation chooses |
//! |---|---|---|
//! | `ridge` | multinomial logistic regression with a penalty on the squares of its weights | the penalty |
//! | `neighbours` | the labels of the nearest known rows, each weighted by one over its distance | how many |
//! | `forest` | a random forest, of the crate `rafor` | - |
//! | `network` | a perceptron that stops when a fifth of the known rows, which it does not learn from, are guessed best | - |
//!
//! An attacker is told the labels of some rows, which come in groups, such as the graphs of one
//! function: folds never part a group, because what is guessed is of groups that nobody knows. Its
//! settings, and which attacker speaks for all of them, are chosen by the area under the ROC curve
//! of guesses of known rows by those who did not learn from them; whom they are asked about decides
//! nothing. Its number is a lower bound: another attacker may see more in the same rows.
//!
//! The forest is a crate's because a tree is no work for this project. `rafor` takes a seed, runs
//! on one thread where it is told to, sorts stably, splits by the Gini index in `f64` without a
//! transcendental function, and gives shares of classes; `linfa-trees` sums the values of a hash
//! map, and `smartcore` gives the class of a majority alone, which has no area.

mod folds;
mod forest;
mod neighbours;
mod network;
mod ridge;
mod scaling;
mod table;
#[cfg(test)]
mod tests;

pub use network::{Perceptron, PerceptronSettings};
pub use scaling::Scaling;
pub use table::{Known, Table};

use folkmoot_draws::{Purpose, Rng, SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use rayon::prelude::*;

const FIT: Purpose = Purpose(*b"inferfit");

/// Attack models and their hyperparameter grids.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Attackers {
    /// Number of cross-validation folds over the known rows.
    #[component(default = 5, in = 2..=100)]
    pub folds: u32,
    /// L2 penalties of the logistic regression, relative to the mean loss per row; empty: not used.
    #[component(default = vec![10.0, 1.0, 0.1, 0.01, 0.001], above = 0, in = 1e-9..=1e9)]
    pub penalties: Vec<f64>,
    /// Numbers of neighbours of k-nearest neighbours; empty: not used.
    #[component(default = vec![1, 3, 10, 30], in = 1..=100_000)]
    pub neighbours: Vec<u32>,
    /// Trees of the random forest; 0: not used.
    #[component(default = 100, in = 0..=10_000)]
    pub trees: u32,
    /// Whether to use the multilayer perceptron.
    #[component(default = true)]
    pub network: bool,
}

/// A kind of attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ridge,
    Neighbours,
    Forest,
    Network,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Ridge, Kind::Neighbours, Kind::Forest, Kind::Network];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ridge => "ridge",
            Kind::Neighbours => "neighbours",
            Kind::Forest => "forest",
            Kind::Network => "network",
        }
    }
}

/// What one attacker says.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    pub kind: Kind,
    /// The chosen penalty or number of neighbours; how many trees or epochs there were to choose
    /// from.
    pub setting: f64,
    /// The area under the ROC curve of its guesses of known rows from those of other groups; `None`
    /// where all are of one group.
    pub known_auc: Option<f64>,
    /// Its scores, shape `(n_targets, n_classes)`.
    pub scores: Vec<f64>,
}

impl Attackers {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.penalties.is_empty() && self.neighbours.is_empty() && self.trees == 0 && !self.network
    }

    /// Every attacker's guess of the `targets`, in the order of [`Kind::ALL`]. Nobody guesses from
    /// rows with a number that is not finite, or without any.
    ///
    /// # Determinism
    ///
    /// Draws one word and what folds need. Attackers and folds run in parallel, each with a stream
    /// of its own.
    pub fn guess(
        &self,
        network: &PerceptronSettings,
        known: &Known,
        targets: &Table,
        n_classes: usize,
        rng: &mut SimRng,
    ) -> Vec<Guess> {
        let streams = Streams::new(rng.next_u64());
        let folds = folds::by_group(&known.groups, self.folds as usize, rng);
        let n_folds = folds.iter().max().map_or(0, |&last| last as usize + 1);
        // A single group can tell nothing of others.
        let n_folds = if n_folds < 2 { 0 } else { n_folds };
        if known.labels.is_empty() || !known.rows.is_finite() || !targets.is_finite() {
            return Vec::new();
        }
        let kinds: Vec<(Kind, Vec<f64>)> = Kind::ALL.map(|kind| (kind, self.settings(kind, network))).into();
        let kinds: Vec<(Kind, Vec<f64>)> = kinds.into_iter().filter(|(_, settings)| !settings.is_empty()).collect();
        // The last of an attacker's fits is from all that is known.
        let jobs: Vec<(usize, usize)> = (0..kinds.len())
            .flat_map(|kind| (0..=n_folds).map(move |fold| (kind, fold)))
            .collect();
        let fit = |&(at, fold): &(usize, usize)| -> Vec<Vec<f64>> {
            let (kind, settings) = &kinds[at];
            let mut rng = streams.counted(FIT, Party::Server, Round(fold as u32), *kind as u64);
            if fold == n_folds {
                return kind.fit(settings, network, known, targets, n_classes, &mut rng);
            }
            let (train, test) = folds::part(&folds, fold as u32);
            let asked = known.rows.select(&test);
            kind.fit(settings, network, &known.select(&train), &asked, n_classes, &mut rng)
        };
        let mut fits: Vec<Vec<Vec<f64>>> = jobs.par_iter().map(fit).collect();
        let mut guesses = Vec::new();
        for ((kind, settings), fits) in kinds.iter().zip(fits.chunks_exact_mut(n_folds + 1)) {
            let (whole, parts) = fits
                .split_last_mut()
                .expect("the fit from all that is known is the last");
            let known_auc = |at: usize| {
                let guessed = parts.iter().enumerate().map(|(fold, part)| {
                    let (_, test) = folds::part(&folds, fold as u32);
                    let labels: Vec<u32> = test.iter().map(|&item| known.labels[item as usize]).collect();
                    (labels, part[at].as_slice())
                });
                auc_within(guessed, n_classes)
            };
            let areas: Vec<Option<f64>> = (0..settings.len()).map(known_auc).collect();
            let at = first_best(&areas).unwrap_or(settings.len() / 2);
            guesses.push(Guess {
                kind: *kind,
                setting: settings[at],
                known_auc: areas[at],
                scores: std::mem::take(&mut whole[at]),
            });
        }
        guesses
    }

    fn settings(&self, kind: Kind, network: &PerceptronSettings) -> Vec<f64> {
        match kind {
            Kind::Ridge => {
                // From the strongest on, each begins where the one before has ended.
                let mut penalties = self.penalties.clone();
                penalties.sort_by(|a, b| b.total_cmp(a));
                penalties
            }
            Kind::Neighbours => self.neighbours.iter().map(|&k| f64::from(k)).collect(),
            Kind::Forest => (self.trees > 0).then_some(f64::from(self.trees)).into_iter().collect(),
            Kind::Network => self.network.then_some(f64::from(network.epochs)).into_iter().collect(),
        }
    }
}

impl Kind {
    /// The scores of `targets` by what is known, for each of the settings.
    fn fit(
        self,
        settings: &[f64],
        network: &PerceptronSettings,
        known: &Known,
        targets: &Table,
        n_classes: usize,
        rng: &mut SimRng,
    ) -> Vec<Vec<f64>> {
        match self {
            Kind::Ridge => ridge::learn_and_score(settings, known, targets, n_classes),
            Kind::Neighbours => neighbours::learn_and_score(settings, known, targets, n_classes),
            Kind::Forest => vec![forest::learn_and_score(
                settings[0] as usize,
                known,
                targets,
                n_classes,
                rng.next_u64(),
            )],
            Kind::Network => vec![network.learn_and_score(known, targets, n_classes, rng)],
        }
    }
}

/// The place of the greatest area, the first of equal ones; `None` if there is no area.
pub fn first_best(areas: &[Option<f64>]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (at, area) in areas.iter().enumerate() {
        if let Some(area) = area
            && best.is_none_or(|(_, most)| *area > most)
        {
            best = Some((at, *area));
        }
    }
    best.map(|(at, _)| at)
}

/// The mean over classes of the share of pairs of a row of that class and a row of another, guessed
/// in one fold, in which the first has the higher score; ties count one half. `None` where there is
/// no such pair.
///
/// Rows of different folds are not compared: where a class is rare, whoever does not know one of
/// its rows thinks it rarer, and guesses of such rows would come out below chance.
pub fn auc_within<'a>(folds: impl Iterator<Item = (Vec<u32>, &'a [f64])>, n_classes: usize) -> Option<f64> {
    let mut sums = vec![(0.0, 0.0); n_classes];
    for (labels, scores) in folds {
        for (class, (won, pairs)) in sums.iter_mut().enumerate() {
            let positive: Vec<bool> = labels.iter().map(|&label| label as usize == class).collect();
            let scores: Vec<f64> = scores.iter().skip(class).step_by(n_classes).copied().collect();
            let n_positive = positive.iter().filter(|is| **is).count();
            if let Ok(area) = crate::auc(&positive, &scores) {
                let n_pairs = (n_positive * (labels.len() - n_positive)) as f64;
                *won += n_pairs * area;
                *pairs += n_pairs;
            }
        }
    }
    let areas: Vec<f64> = sums
        .iter()
        .filter(|(_, pairs)| *pairs > 0.0)
        .map(|(won, pairs)| won / pairs)
        .collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

/// The mean over classes of the area under the ROC curve of that class against the rest, for scores
/// of shape `(n, n_classes)`. Classes that no row has, or all have, are left out of the mean;
/// `None` if none is left, or a score is no number.
pub fn macro_auc(labels: &[u32], scores: &[f64], n_classes: usize) -> Option<f64> {
    let is = |&label: &u32| (0..n_classes as u32).map(move |class| class == label);
    let positive: Vec<bool> = labels.iter().flat_map(is).collect();
    let labelled = vec![true; positive.len()];
    let areas = crate::masked_auc(&positive, &labelled, scores, n_classes).ok()?;
    areas.mean
}
