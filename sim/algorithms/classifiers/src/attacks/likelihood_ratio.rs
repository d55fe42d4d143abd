//! Membership by shadow models.

use super::loss_threshold::log_sum_exp;
use super::numbers::{Guesses, count};
use super::{AnsweredItem as Item, Answers, Attack, PoolItem, Reads, Target};
use crate::classifier::{Parts, Query};
use folkmoot_draws::{Rng, shuffle};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use rayon::prelude::*;

/// Membership by the likelihood ratio of LiRA: what models that were trained with an item say of
/// it, against what those say that were not.
///
/// An item's signal is `ln p_y − ln Σ_{c ≠ y} p_c`, the odds of its class, from the logits in
/// double precision. For each of so many pairs each client's labelled items are cut into halves by
/// chance, and a shadow model is trained on each half, by the whole strategy under a seed of its
/// own: so each item is in half of the models. *Online* is `ln N(signal; in) − ln N(signal; out)`,
/// a member above 0; *offline*, which needs no model that was trained with the item, is how many
/// standard deviations the signal is above those without it, a member above 1.645, where 5 % of the
/// others would be: the one-sided test. Means and deviations of both sides are each from their own
/// models.
///
/// Beside each, `@other_model`, stands the same attack on the first shadow in place of the model
/// that is asked: what it finds of the members is nothing but chance. The items are the pool of
/// `LossThreshold`; shadows are trained most like the target where half of it trains, as with
/// `split: Shares(train: 0.5, validation: 0)`.
///
/// N. Carlini, S. Chien, M. Nasr, S. Song, A. Terzis, F. Tramèr. Membership Inference Attacks From
/// First Principles. IEEE S&P 2022, algorithm 1 and equation 4. Not as in the paper: one query an
/// item, without augmentations.
#[component(
    name = "LikelihoodRatio",
    about = "LiRA: membership inference by shadow models, online and offline (Carlini et al. 2022)"
)]
#[derive(Clone, Copy, Debug)]
pub struct LikelihoodRatio {
    /// Number of pairs of shadow models; each model costs a whole run.
    #[component(default = 8, in = 3..=512)]
    pub pairs: u32,
    /// Variance of the signals.
    pub variance: Variance,
}

/// Estimator of the variance of an item's signals.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variance {
    /// Mean over all items, separately for models trained with and without the item; for fewer than
    /// about 64 models.
    #[default]
    Shared,
    /// Per item.
    Own,
}

const HALVES: Purpose = Purpose(*b"at-halfs");
const SEEDS: Purpose = Purpose(*b"at-seeds");
/// One-sided, 5 %.
const BOUND: f64 = 1.644_853_626_951_472_2;
/// Keeps signals without any spread apart.
const LEAST: f64 = 1e-30;

impl Attack for LikelihoodRatio {
    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let pool = target.pool();
        let signals = |asked: Vec<Query>| -> Vec<f64> {
            let of_item = |(asked, item): (&Query, &PoolItem)| signal(&asked.logits, item.class);
            asked.iter().zip(&pool).map(of_item).collect()
        };
        let shadow = |halved: &[Parts], seed: u64| {
            let source = target.data.source();
            let held = target.classifier.share_divided(target.data.split, halved, &source)?;
            let answering = (target.train)(&held, &source, seed)?;
            let trained = halved.iter().enumerate().flat_map(|(client, [train, _, other])| {
                let mut all: Vec<(u32, bool)> = train.iter().map(|item| (*item, true)).collect();
                all.extend(other.iter().map(|item| (*item, false)));
                all.retain(|(item, _)| target.is_asked(client, *item));
                all.sort_unstable();
                all.into_iter().map(|(_, trained)| trained)
            });
            Ok(Shadow {
                trained: trained.collect(),
                signals: signals(target.queries(&answering)),
            })
        };
        let is_member: Vec<bool> = pool.iter().map(|item| item.trains).collect();
        let shadows = self.shadows(&target.data.divided, target.data.streams, shadow)?;
        self.compare(&is_member, &signals(target.queries(target.last)), &shadows, sheet);
        Ok(())
    }

    fn reads(&self) -> Reads {
        Reads::Shadows
    }

    fn attack_answers(&self, answers: &Answers<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let signals = |logits: &[Vec<f64>]| -> Vec<f64> {
            let items = answers.items.iter().zip(logits);
            items.map(|(item, logits)| signal(logits, item.class)).collect()
        };
        let shadow = |halved: &[Parts], seed: u64| {
            let logits = (answers.retrain)(halved, seed)?;
            let trains = |item: &Item| halved[item.client as usize][0].binary_search(&item.item).is_ok();
            Ok(Shadow {
                trained: answers.items.iter().map(trains).collect(),
                signals: signals(&logits),
            })
        };
        let is_member: Vec<bool> = answers.items.iter().map(|item| item.trains).collect();
        let shadows = self.shadows(answers.divided, answers.streams, shadow)?;
        self.compare(&is_member, &signals(answers.last), &shadows, sheet);
        Ok(())
    }
}

/// What is known of a shadow model: which items trained it, and what it says of all.
pub(super) struct Shadow {
    pub(super) trained: Vec<bool>,
    pub(super) signals: Vec<f64>,
}

impl LikelihoodRatio {
    /// Pairs of shadow models, each of one half of the items of `divided` and of the other.
    fn shadows(
        &self,
        divided: &[Parts],
        streams: Streams,
        train: impl Fn(&[Parts], u64) -> Result<Shadow, StrategyError> + Sync,
    ) -> Result<Vec<Shadow>, StrategyError> {
        let one = |number: u32| {
            let stream = |purpose, number: u32| streams.counted(purpose, Party::Server, Round(0), u64::from(number));
            let mut rng = stream(HALVES, number / 2);
            let halved = divided.iter().map(|parts| halved(parts, number % 2 == 1, &mut rng));
            train(&halved.collect::<Vec<Parts>>(), stream(SEEDS, number).next_u64())
        };
        let shadows: Vec<Result<Shadow, StrategyError>> = (0..2 * self.pairs).into_par_iter().map(one).collect();
        shadows.into_iter().collect()
    }

    fn compare(&self, is_member: &[bool], signals: &[f64], shadows: &[Shadow], sheet: &mut Sheet) {
        count("lira_others", is_member, sheet);
        self.write(signals, shadows, is_member, None, sheet);
        let other = &shadows[0].signals;
        self.write(other, &shadows[2..], is_member, Some("other_model"), sheet);
    }

    fn write(&self, signals: &[f64], shadows: &[Shadow], is_member: &[bool], label: Option<&str>, sheet: &mut Sheet) {
        let [online, offline] = scores(self.variance, signals, shadows);
        for (name, scores, bound) in [("lira_online", online, 0.0), ("lira_offline", offline, BOUND)] {
            let guesses = Guesses {
                is_one: is_member,
                scores: &scores,
            };
            guesses.write(name, Some(bound), label, sheet);
        }
    }
}

/// One half of a client's items trains and the other tests; `second` swaps them. Of an odd number
/// the first half is the larger.
fn halved(parts: &Parts, second: bool, rng: &mut SimRng) -> Parts {
    let mut first = parts.concat();
    first.sort_unstable();
    shuffle(rng, &mut first);
    let mut other = first.split_off(first.len().div_ceil(2));
    first.sort_unstable();
    other.sort_unstable();
    match second {
        false => [first, Vec::new(), other],
        true => [other, Vec::new(), first],
    }
}

/// The odds of the item's class.
fn signal(logits: &[f64], class: u32) -> f64 {
    let others = logits.iter().enumerate().filter(|(c, _)| *c != class as usize);
    logits[class as usize] - log_sum_exp(others.map(|(_, x)| *x))
}

/// Online and offline scores of signals, given shadows of which each item is in some and not in
/// some.
pub(super) fn scores(variance: Variance, signals: &[f64], shadows: &[Shadow]) -> [Vec<f64>; 2] {
    let side = |trained: bool| -> Vec<[f64; 2]> {
        let of_item = |item: usize| {
            let all: Vec<f64> = shadows
                .iter()
                .filter(|shadow| shadow.trained[item] == trained)
                .map(|shadow| shadow.signals[item])
                .collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let squares: f64 = all.iter().map(|x| (x - mean) * (x - mean)).sum();
            [mean, squares / (all.len() - 1) as f64]
        };
        let mut all: Vec<[f64; 2]> = (0..signals.len()).map(of_item).collect();
        if variance == Variance::Shared {
            let shared = all.iter().map(|[_, variance]| variance).sum::<f64>() / all.len() as f64;
            all.iter_mut().for_each(|[_, variance]| *variance = shared);
        }
        all
    };
    let (within, without) = (side(true), side(false));
    let log_density = |x: f64, [mean, variance]: [f64; 2]| {
        let deviation = variance.sqrt() + LEAST;
        let z = (x - mean) / deviation;
        -z * z / 2.0 - libm::log(deviation)
    };
    let online = signals
        .iter()
        .zip(&within)
        .zip(&without)
        .map(|((x, within), without)| log_density(*x, *within) - log_density(*x, *without));
    let offline = signals
        .iter()
        .zip(&without)
        .map(|(x, [mean, variance])| (x - mean) / (variance.sqrt() + LEAST));
    [online.collect(), offline.collect()]
}
