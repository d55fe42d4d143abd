//! Membership by small losses.

use super::numbers::{Guesses, count};
use super::{Answers, Attack, PoolItem, Reads, Target};
use crate::classifier::Query;
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;

/// Whose loss is small was trained on: whoever may ask the last model guesses for each labelled
/// item whether it trained.
///
/// The score of an item is the cross entropy of its class, negated; the attacker says *member*
/// below the mean loss of the items that train. Nobody trains on the items that validate and test,
/// which are the others. In a set of nodes all edges that a client knows stay, whether or not their
/// ends train. Written down are `loss_membership_auc`, `loss_membership_found`,
/// `loss_membership_advantage` and `loss_membership_others`; beside them, `@untrained`, the same of
/// a model that nobody has trained.
///
/// S. Yeom, I. Giacomelli, M. Fredrikson, S. Jha. Privacy Risk in Machine Learning: Analyzing the
/// Connection to Overfitting. CSF 2018, adversary 2 and its experiment's bound.
#[component(
    name = "LossThreshold",
    about = "membership inference by a loss threshold (Yeom et al. 2018)"
)]
#[derive(Clone, Copy, Debug)]
pub struct LossThreshold {}

const NAME: &str = "loss_membership";

impl Attack for LossThreshold {
    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let pool = target.pool();
        let is_member: Vec<bool> = pool.iter().map(|item| item.trains).collect();
        let scores = [target.last, target.first].map(|answering| {
            let asked = target.queries(answering);
            let of_item = |(asked, item): (&Query, &PoolItem)| score(&asked.logits, item.class);
            asked.iter().zip(&pool).map(of_item).collect()
        });
        write(&is_member, scores, sheet);
        Ok(())
    }

    fn reads(&self) -> Reads {
        Reads::Predictions
    }

    fn attack_answers(&self, answers: &Answers<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let is_member: Vec<bool> = answers.items.iter().map(|item| item.trains).collect();
        let of = |logits: &[Vec<f64>]| -> Vec<f64> {
            let items = answers.items.iter().zip(logits);
            items.map(|(item, logits)| score(logits, item.class)).collect()
        };
        write(&is_member, [of(answers.last), of(answers.first)], sheet);
        Ok(())
    }
}

/// Writes down what the scores of the last model and of an untrained one come to.
fn write(is_member: &[bool], [last, first]: [Vec<f64>; 2], sheet: &mut Sheet) {
    count("loss_membership_others", is_member, sheet);
    for (scores, label) in [(last, None), (first, Some("untrained"))] {
        let of_members = || scores.iter().zip(is_member).filter(|(_, is_member)| **is_member);
        let bound = of_members().map(|(score, _)| score).sum::<f64>() / of_members().count() as f64;
        let guesses = Guesses {
            is_one: is_member,
            scores: &scores,
        };
        guesses.write(NAME, Some(bound), label, sheet);
    }
}

/// The logarithm of the probability of the item's class.
fn score(logits: &[f64], class: u32) -> f64 {
    logits[class as usize] - log_sum_exp(logits.iter().copied())
}

/// `ln Σ exp x`, without overflow.
pub(super) fn log_sum_exp(all: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = all.clone().fold(f64::NEG_INFINITY, f64::max);
    most + libm::log(all.map(|x| libm::exp(x - most)).sum())
}
