//! An attack on trained classifiers: what models reveal about the items that they were trained on.

use folkmoot::classifiers::attacks::{Attack, Guesses, Target, add_attack};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// Membership inference by confidence: an item counts as a training item if the model prefers one
/// class by far.
#[component(name = "Confidence", about = "membership inference by the confidence of the model")]
#[derive(Clone, Copy, Debug)]
struct Confidence {}

impl Attack for Confidence {
    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let queries = target.queries(target.last);
        let scores: Vec<f64> = queries.iter().map(|query| confidence(&query.logits)).collect();
        let is_member: Vec<bool> = target.pool().iter().map(|item| item.trains).collect();
        let guesses = Guesses {
            is_one: &is_member,
            scores: &scores,
        };
        guesses.write("confidence_membership", None, None, sheet);
        Ok(())
    }

    fn terms() -> Vec<Term> {
        let auc = "ROC AUC of the confidence of the last model; chance is 0.5.";
        let found = "True positive rate at 1 % false positives.";
        let terms = [
            ("confidence_membership_auc", "AUC of membership by confidence", auc),
            ("confidence_membership_found", "TPR of membership by confidence", found),
        ];
        let term = |(name, label, about)| Term::new(name, label, Unit::Number, about, "").from(0.0).up_to(1.0);
        terms.map(term).to_vec()
    }
}

/// The margin by which the largest logit exceeds the next one.
fn confidence(logits: &[f64]) -> f64 {
    let [most, next] = logits.iter().fold([f64::NEG_INFINITY; 2], |[most, next], x| {
        if *x > most { [*x, most] } else { [most, next.max(*x)] }
    });
    most - next
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    add_attack::<Confidence>(registry)?;
    registry.add_card("attack", include_str!("../cards/attack.ron"))
}
