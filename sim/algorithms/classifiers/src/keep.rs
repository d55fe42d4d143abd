//! What a card has a run of classifiers keep: its models, their answers, and which client holds
//! what for which purpose.
//!
//! These are files below `artifacts/` that other programs read. They change nothing of the run and
//! are no part of its fingerprint.

use crate::attacks::Models;
use crate::classifier::{Classifier, Held, Parts, Query, Task};
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
pub fn assignment(partition: &Partition, divided: &[Parts], sheet: &mut Sheet) {
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
pub fn models(left: &Left, layout: &Layout, sheet: &mut Sheet) {
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
    let n_clients = known.shards().len();
    let mut write = |tables: [ArtifactTable; 2], model: &(dyn Fn(usize) -> &'m [f32] + Sync)| {
        let of_client = |client: usize| -> Vec<Query> {
            let (shard, items) = (&known.shards()[client], partition.shard(client));
            classifier.asked(shard, items, model(client))
        };
        let answers: Vec<Vec<Query>> = (0..n_clients).into_par_iter().map(of_client).collect();
        let outputs = (classifier.task(), classifier.network().n_classes());
        write_answers(tables, outputs, (divided, &answers), sheet);
    };
    if let Some(model) = &left.server {
        write(SERVER_TABLES, &|_| model);
    }
    if let Some(own) = &left.own {
        write([OWN_PREDICTIONS, OWN_OUTPUTS], &|client| &own[client]);
    }
}

/// The tables of the server's answers: of classes, and of labels or numbers.
pub const SERVER_TABLES: [ArtifactTable; 2] = [PREDICTIONS, OUTPUTS];

/// Writes down the answers to each client's items.
pub fn write_answers(
    [of_classes, of_outputs]: [ArtifactTable; 2],
    (task, n_classes): (Task, usize),
    (divided, answers): (&[Parts], &[Vec<Query>]),
    sheet: &mut Sheet,
) {
    let classes = (0..n_classes).map(|class| format!("probability_{class}"));
    let (table, more) = match task {
        Task::Classes => (of_classes, classes.collect()),
        Task::Labels | Task::Numbers => (of_outputs, Vec::new()),
    };
    let mut text = table.header(&more);
    for (client, asked) in answers.iter().enumerate() {
        for query in asked {
            write_answer(task, (client, part_of(&divided[client], query.item)), query, &mut text);
        }
    }
    sheet.artifact(table.file, text.into_bytes());
}

/// The lines of one item.
fn write_answer(task: Task, (client, part): (usize, &str), query: &Query, text: &mut String) {
    let item = query.item;
    if task == Task::Classes {
        let (label, predicted) = (query.class, largest(&query.logits));
        let _ = write!(text, "{item},{client},{part},{label},{predicted}");
        for share in softmax(&query.logits) {
            let _ = write!(text, ",{share}");
        }
        text.push('\n');
        return;
    }
    for (output, (truth, answer)) in query.truth.iter().zip(&query.logits).enumerate() {
        let truth = match truth.is_nan() {
            true => String::new(),
            false => truth.to_string(),
        };
        let answer = match task {
            Task::Labels => sigmoid(*answer),
            Task::Classes | Task::Numbers => *answer,
        };
        let _ = writeln!(text, "{item},{client},{part},{output},{truth},{answer}");
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
