//! What a card has a run of classifiers keep: its models, their answers, and which client holds
//! what for which purpose.
//!
//! These are files below `artifacts/` that other programs read. They change nothing of the run and
//! are no part of its fingerprint.

use crate::attacks::Models;
use crate::classifier::{Classifier, Held, Parts, Task};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Partition;
use folkmoot_learning::Layout;
use folkmoot_metrics::artifacts::{
    ASSIGNMENT, ArtifactTable, MODEL, MODEL_LAYOUT, OUTPUTS, OWN_MODELS, OWN_OUTPUTS, OWN_PREDICTIONS, PREDICTIONS,
};
use folkmoot_metrics::npy::npy_f32;
use rayon::prelude::*;
use std::fmt::Write;

/// The models that a run leaves.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// The server's, if it has a whole one.
    pub server: Option<Vec<f32>>,
    /// Those of clients that answer with models of their own, one each.
    pub own: Option<Vec<Vec<f32>>>,
}

impl From<Option<Models>> for Left {
    fn from(models: Option<Models>) -> Left {
        match models {
            Some(Models::One(server)) => Left {
                server: Some(server),
                own: None,
            },
            Some(Models::OfClients(own)) => Left {
                server: None,
                own: Some(own),
            },
            Some(Models::Together(_)) | None => Left::default(),
        }
    }
}

/// The names of the parts, in the order of [`Parts`].
const PARTS: [&str; 3] = ["train", "validation", "test"];

/// Writes down who holds what, and what for.
pub(crate) fn assignment(partition: &Partition, divided: &[Parts], sheet: &mut Sheet) {
    let mut table = ASSIGNMENT.header(&[]);
    for (client, parts) in divided.iter().enumerate() {
        let mut items: Vec<u32> = partition.shard(client).to_vec();
        items.sort_unstable();
        for item in items {
            let _ = writeln!(table, "{item},{client},{}", part_of(parts, item));
        }
    }
    sheet.artifact(ASSIGNMENT.file, table.into_bytes());
}

fn part_of(parts: &Parts, item: u32) -> &'static str {
    let of = parts
        .iter()
        .zip(PARTS)
        .find(|(part, _)| part.binary_search(&item).is_ok());
    of.map_or("", |(_, name)| name)
}

/// Writes the models down, as their numbers lie in messages.
pub(crate) fn models(left: &Left, layout: &Layout, sheet: &mut Sheet) {
    if let Some(model) = &left.server {
        sheet.artifact(MODEL, npy_f32(model, &[model.len()]));
    }
    if let Some(own) = &left.own {
        let columns = own.first().map_or(0, Vec::len);
        sheet.artifact(OWN_MODELS, npy_f32(&own.concat(), &[own.len(), columns]));
    }
    let mut table = MODEL_LAYOUT.header(&[]);
    for slot in layout.slots() {
        let from = layout.range(slot.parameter).start;
        let learns = u8::from(slot.trainable);
        let _ = writeln!(table, "{},{from},{},{},{learns}", slot.name, slot.rows, slot.columns);
    }
    sheet.artifact(MODEL_LAYOUT.file, table.into_bytes());
}

/// Writes down what the models answer, of clients that look at what they know.
pub(crate) fn predictions<'m>(
    left: &'m Left,
    (classifier, known): (&Classifier, &Held),
    (partition, divided): (&Partition, &[Parts]),
    sheet: &mut Sheet,
) {
    let is_of_classes = classifier.task() == Task::Classes;
    let mut write = |tables: [ArtifactTable; 2], model: &(dyn Fn(usize) -> &'m [f32] + Sync)| {
        let of_client = |client: usize| -> String {
            let (shard, items) = (&known.shards()[client], partition.shard(client));
            let mut lines = String::new();
            for asked in classifier.asked(shard, items, model(client)) {
                let part = part_of(&divided[client], asked.item);
                if !is_of_classes {
                    for (output, (truth, answer)) in asked.truth.iter().zip(&asked.logits).enumerate() {
                        let truth = if truth.is_nan() {
                            String::new()
                        } else {
                            truth.to_string()
                        };
                        let answer = match classifier.task() {
                            Task::Labels => sigmoid(*answer),
                            Task::Classes | Task::Numbers => *answer,
                        };
                        let _ = writeln!(lines, "{},{client},{part},{output},{truth},{answer}", asked.item);
                    }
                    continue;
                }
                let (label, predicted) = (asked.class, largest(&asked.logits));
                let _ = write!(lines, "{},{client},{part},{label},{predicted}", asked.item);
                for share in softmax(&asked.logits) {
                    let _ = write!(lines, ",{share}");
                }
                lines.push('\n');
            }
            lines
        };
        let [of_classes, of_outputs] = tables;
        let classes = (0..classifier.network().n_classes()).map(|class| format!("probability_{class}"));
        let (table, more) = match is_of_classes {
            true => (of_classes, classes.collect()),
            false => (of_outputs, Vec::new()),
        };
        let lines: Vec<String> = (0..known.shards().len()).into_par_iter().map(of_client).collect();
        sheet.artifact(table.file, (table.header(&more) + &lines.concat()).into_bytes());
    };
    if let Some(model) = &left.server {
        write([PREDICTIONS, OUTPUTS], &|_| model);
    }
    if let Some(own) = &left.own {
        write([OWN_PREDICTIONS, OWN_OUTPUTS], &|client| &own[client]);
    }
}

/// The position of the largest number, of equals the first.
fn largest(logits: &[f64]) -> usize {
    let larger = |best: usize, class: usize| if logits[class] > logits[best] { class } else { best };
    (1..logits.len()).fold(0, larger)
}

/// The probability of a label, of its logit.
fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-logit))
}

/// The probabilities of classes, of logits.
fn softmax(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| libm::exp(logit - most)).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_and_logits_may_be_large() {
        let shares = softmax(&[1000.0, 1000.0 + libm::log(3.0)]);
        assert_eq!(largest(&[0.5, 2.0, 2.0, -1.0]), 1);
        assert!(
            (shares[0] - 0.25).abs() < 1e-12 && (shares[1] - 0.75).abs() < 1e-12,
            "{shares:?}"
        );
    }

    #[test]
    fn an_item_of_no_part_is_assigned_to_none() {
        let parts: Parts = [vec![1, 4], vec![2], vec![7]];
        assert_eq!(
            [4, 2, 7, 3].map(|item| part_of(&parts, item)),
            ["train", "validation", "test", ""]
        );
    }
}
