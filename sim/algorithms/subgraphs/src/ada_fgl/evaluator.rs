//! Scores of AdaFGL's two steps: the global model, and the personalised networks.

use super::Personal;
use super::likeness::softmax;
use super::personal::{PersonalResult, personalise};
use folkmoot_classifiers::classifier::{Accuracy, Held, Nodes, Part};
use folkmoot_classifiers::federated::{Federated, conclude_own};
use folkmoot_draws::Purpose;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::{ClientScoreRow, Spread};
use folkmoot_rounds::{RoundEnd, RoundEvaluator};
use rayon::prelude::*;
use std::sync::Arc;

const SECOND: Purpose = Purpose(*b"ada-2nd ");
const LI: &str = "Li et al., ICDE 2024";

/// Of the second step.
pub(super) const TERMS: &[Term] = terms! {
    "homophily", "Homophily of labels", Number [fraction]:
        "Fraction of a client's hidden training labels predicted correctly by label propagation from the others, mean over clients.",
        LI;
    "alike_degree", "Similar nodes", Number [from(0.0)]:
        "Nodes of the same client linked to a node by similar predictions of the global model, mean over all nodes.",
        LI;
    "own_gain", "Gain of the second step", Number [higher, scored(Own, Own, Clients)]:
        "Accuracy of a client's personalised model minus that of the global model on the same items, mean over clients.";
};

/// Scores of both steps.
pub(super) struct Second {
    pub(super) personal: Personal,
    pub(super) held: Arc<Held>,
}

impl RoundEvaluator<Federated> for Second {
    fn after_round(&self, task: &Federated, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        Accuracy(Arc::clone(&self.held)).of_round(task.as_ref(), parameters, sheet);
    }

    fn reads_clients(&self, _: &Federated) -> bool {
        false
    }

    fn controls(&self, task: &Federated, sheet: &mut Sheet) {
        task.as_ref().controls(&self.held, &["client", "own"], sheet);
    }

    fn scores(&self, end: &RoundEnd<'_, Federated>, sheet: &mut Sheet) {
        let (classifier, round) = (end.trainer.as_ref(), Round(end.n_rounds()));
        let held: &Held = &self.held;
        classifier.conclude(held, end.parameters, sheet);
        let shards: Vec<_> = (0..).zip(held.shards()).collect();
        let made = shards.into_par_iter().map(|(client, shard)| {
            let nodes = shard.nodes().filter(|nodes| !nodes.labels.is_empty())?;
            let logits = classifier.logits(shard, end.parameters);
            let mut rng = end.run.streams.party(SECOND, Party::Client(ClientId(client)), round);
            let features = classifier.scaled_features(shard, end.parameters);
            let made = personalise(&nodes, &features, &logits, &self.personal, &mut rng);
            let n_classes = logits.len() / nodes.labels.len();
            let own = row(client, &nodes, &made.shares, n_classes);
            let common = row(client, &nodes, &softmax(&logits, n_classes), n_classes);
            Some((nodes.labels.len(), made, own.zip(common)))
        });
        let made: Vec<Option<(usize, PersonalResult, _)>> = made.collect();
        let made: Vec<(usize, PersonalResult, _)> = made.into_iter().flatten().collect();
        let homophily: Vec<f64> = made.iter().map(|(_, made, _)| made.homophily).collect();
        let n_nodes: usize = made.iter().map(|(n, ..)| n).sum();
        if n_nodes > 0 {
            let n_alike: usize = made.iter().map(|(_, made, _)| made.n_alike).sum();
            sheet.number("homophily", Spread::of(&homophily).mean);
            sheet.number("alike_degree", n_alike as f64 / n_nodes as f64);
        }
        let scored: Vec<(ClientScoreRow, ClientScoreRow)> = made.into_iter().filter_map(|(.., rows)| rows).collect();
        let gains: Vec<f64> = scored
            .iter()
            .map(|(own, common)| own.accuracy - common.accuracy)
            .collect();
        let rows: Vec<ClientScoreRow> = scored.into_iter().map(|(own, _)| own).collect();
        if !gains.is_empty() {
            sheet.number("own_gain", Spread::of(&gains).mean);
        }
        conclude_own(&rows, sheet);
        sheet.client_scores(rows);
    }
}

/// The scores of these shares of classes, of shape `(n_nodes, n_classes)`, on a client's nodes;
/// `None` without test nodes.
fn row(client: u32, nodes: &Nodes<'_>, shares: &[f32], n_classes: usize) -> Option<ClientScoreRow> {
    let score = |part| {
        let asked = nodes.are_in(part);
        let (mut items, mut hits, mut loss) = (0, 0, 0.0);
        for (node, answer) in shares
            .chunks_exact(n_classes)
            .enumerate()
            .filter(|(node, _)| asked[*node])
        {
            let class = nodes.labels[node] as usize;
            let most = (1..n_classes).fold(0, |most, class| if answer[class] > answer[most] { class } else { most });
            items += 1;
            hits += u64::from(most == class);
            loss -= libm::log(f64::from(answer[class]).max(1e-30));
        }
        (items > 0).then(|| (items, hits as f64 / items as f64, loss / items as f64))
    };
    let (items, accuracy, loss) = score(Part::Test)?;
    Some(ClientScoreRow {
        client,
        items,
        accuracy,
        loss: Some(loss).filter(|loss| loss.is_finite()),
        validation_accuracy: score(Part::Validation).map(|(_, accuracy, _)| accuracy),
    })
}
