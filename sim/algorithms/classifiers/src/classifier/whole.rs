//! What a model of nodes is worth on the whole graph, whatever its clients know of it.

use super::data::{Part, Source as Parts};
use super::{Classifier, Held, Split};
use folkmoot_engine::prelude::*;
use folkmoot_scenarios::algorithm::Source;

/// All nodes of one graph with all its edges, which no client has; for the evaluator.
pub struct Whole {
    /// One shard: those who train at some client train, the published test part validates, and
    /// those who train nowhere (of the published test part, where there is one) test.
    held: Held,
    /// The share of the published test part that trains at some client.
    trained: Option<f64>,
}

impl Classifier {
    /// The whole graph; `None` for a set of graphs.
    ///
    /// # Errors
    ///
    /// As [`share`](Self::share).
    pub fn whole(&self, split: Split, source: &Source<'_>) -> Result<Option<Whole>, StrategyError> {
        let (dataset, partition) = (source.dataset, source.partition);
        if dataset.is_graph_level() {
            return Ok(None);
        }
        let parts = Parts::new(self.reading(split), dataset)?;
        let mut trains = vec![false; dataset.n_nodes()];
        for client in 0..partition.n_clients() {
            let [train, ..] = parts.parts(client as u32, partition.shard(client), source.streams);
            train.iter().for_each(|node| trains[*node as usize] = true);
        }
        let nodes: Vec<u32> = (0..dataset.n_nodes() as u32).collect();
        let labelled = parts.labelled(&nodes);
        let is_published = |node: &u32| dataset.splits.as_ref().is_none_or(|splits| splits.test[*node as usize]);
        let (trained, unseen): (Vec<u32>, Vec<u32>) = labelled.into_iter().partition(|node| trains[*node as usize]);
        let held_out: Vec<u32> = unseen.into_iter().filter(is_published).collect();
        let mut published = Vec::new();
        if dataset.splits.is_some() {
            published = [trained.iter().copied().filter(is_published).collect(), held_out.clone()].concat();
            published.sort_unstable();
        }
        let share = (published.len() - held_out.len().min(published.len())) as f64 / published.len() as f64;
        Ok(Some(Whole {
            trained: (!published.is_empty()).then_some(share),
            held: Held {
                shards: vec![parts.nodes(0, &nodes, [trained, published, held_out])?],
                sizes: vec![nodes.len() as u64],
                tried: None,
                has_trusted: false,
            },
        }))
    }
}

impl Whole {
    /// Writes down whether a model of classes has learned: its accuracy on what `clients` train on,
    /// as they see it, on the published test part and on what none of them trains on, both with all
    /// edges; each beside the class that most training nodes have.
    pub fn conclude(&self, classifier: &Classifier, clients: &Held, parameters: &[f32], sheet: &mut Sheet) {
        for (name, held, part) in [
            ("train_accuracy", clients, Part::Train),
            ("published_test_accuracy", &self.held, Part::Validation),
            ("held_out_accuracy", &self.held, Part::Test),
        ] {
            let majority = held.majority_accuracy(part, classifier.network().n_classes());
            if let (Some(accuracy), Some(majority)) = (classifier.lead_score(held, part, parameters), majority) {
                sheet.number(name, accuracy);
                sheet.reference(name, "majority_class", majority);
            }
        }
        if let Some(share) = self.trained {
            sheet.number("published_test_trained", share);
        }
    }
}
