//! A metric of trained classifiers.

use folkmoot::classifiers::attacks::{Attack, Present, Target, add_attack};
use folkmoot::classifiers::classifier::{Classifier, Held, Part};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// The mean over classes of the recall on test nodes. It evaluates the model as an attack does,
/// from above; `attacks` of a card names it.
#[component(name = "BalancedAccuracy", about = "mean recall over classes on test nodes")]
#[derive(Clone, Copy, Debug)]
struct BalancedAccuracy {}

impl BalancedAccuracy {
    /// The value of the models that `model` gives for clients, and the number of nodes that it is
    /// over.
    fn value<'m>(classifier: &Classifier, held: &Held, model: impl Fn(usize) -> &'m [f32]) -> Option<(f64, u64)> {
        let n_classes = classifier.network().n_classes();
        let mut counts = vec![[0_u64; 2]; n_classes];
        for (client, shard) in held.shards().iter().enumerate() {
            let nodes = shard.nodes()?;
            let logits = classifier.logits(shard, model(client));
            let rows = logits.chunks(n_classes).zip(nodes.labels).zip(nodes.are_in(Part::Test));
            for ((row, label), _) in rows.filter(|(_, tests)| **tests) {
                let larger = |best: usize, class: usize| if row[class] > row[best] { class } else { best };
                let predicted = (1..n_classes).fold(0, larger);
                let [hits, n] = &mut counts[*label as usize];
                *hits += u64::from(predicted == *label as usize);
                *n += 1;
            }
        }
        let there = counts.iter().filter(|[_, n]| *n > 0);
        let recalls: Vec<f64> = there.map(|[hits, n]| *hits as f64 / *n as f64).collect();
        let n = counts.iter().map(|[_, n]| n).sum();
        (!recalls.is_empty()).then(|| (recalls.iter().sum::<f64>() / recalls.len() as f64, n))
    }
}

impl Attack for BalancedAccuracy {
    /// After the run: a number of `summary.json`.
    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let value = Self::value(target.classifier, target.held(), |client| target.last.models.of(client));
        sheet.number_if("test_balanced_accuracy", value.map(|(value, _)| value));
        Ok(())
    }

    /// After each round: a row of `scores.csv`, and so a curve, which a card may give a target.
    fn after_round(&self, present: &Present<'_>, sheet: &mut Sheet) {
        if let Some((value, n)) = Self::value(present.classifier, present.held(), |_| present.model) {
            sheet.score("test", "balanced_accuracy", value, n);
        }
    }

    fn terms() -> Vec<Term> {
        let about = "Mean over classes of the share of their test nodes whose class is predicted.";
        let term = Term::new("balanced_accuracy", "Balanced accuracy", Unit::Number, about, "");
        vec![term.from(0.0).up_to(1.0).higher()]
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    add_attack::<BalancedAccuracy>(registry)?;
    registry.add_card("metric", include_str!("../cards/metric.ron"))
}
