//! Prediction tasks: one class, several labels or numbers per item, as the data set has them.

use super::data::refuse;
use super::{Split, Target};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Labels, Targets, TaskLabels};
use folkmoot_scenarios::algorithm::Source;
use serde::Serialize;

/// Prediction task. It follows from the data set; classes go before labels, labels before numbers.
///
/// | data | task | outputs | loss, a mean, if a card names no other |
/// |---|---|---|---|
/// | one class per item | `Classes` | a logit per class | softmax cross entropy over items |
/// | several classes per node; binary tasks, some missing | `Labels` | a logit per label | binary cross entropy over known labels |
/// | numbers, some missing | `Numbers` | a number per target | squared error over known standardised numbers |
///
/// A node without any class is unlabelled, and in no split. An item of the other tasks is in a
/// split if one of its labels or numbers is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    #[default]
    Classes,
    Labels,
    Numbers,
}

impl Task {
    /// The task of a data set; `Classes` too where there is nothing to learn.
    pub fn of(dataset: &Dataset, target: Target) -> Task {
        let is_multi_label = |labels: &Labels| labels.is_multi_label();
        let of_graphs = dataset.is_graph_level();
        let has_classes = match of_graphs {
            true => dataset.graph_labels.is_some() || target == Target::NodeLabels,
            false => dataset
                .node_labels
                .as_ref()
                .is_some_and(|labels| !is_multi_label(labels)),
        };
        let has_labels = tasks(dataset).is_some() || (!of_graphs && dataset.node_labels.is_some());
        match (has_classes, has_labels, targets(dataset)) {
            (true, ..) => Task::Classes,
            (_, true, _) => Task::Labels,
            (.., Some(_)) => Task::Numbers,
            (.., None) => Task::Classes,
        }
    }

    pub(super) fn is_classes(&self) -> bool {
        *self == Task::Classes
    }

    /// Outputs of a network: classes, labels or numbers.
    pub fn n_outputs(self, dataset: &Dataset) -> usize {
        match self {
            Task::Classes => dataset.n_classes,
            Task::Labels => tasks(dataset).map_or(dataset.n_classes, TaskLabels::n_tasks),
            Task::Numbers => targets(dataset).map_or(0, |targets| targets.names().len()),
        }
    }
}

/// Binary labels of the items, with missing ones.
fn tasks(dataset: &Dataset) -> Option<&TaskLabels> {
    match dataset.is_graph_level() {
        true => dataset.graph_tasks.as_ref(),
        false => dataset.node_tasks.as_ref(),
    }
}

/// Numbers of the items.
fn targets(dataset: &Dataset) -> Option<&Targets> {
    let of_items = |targets: &&Targets| targets.are_of_graphs() == dataset.is_graph_level();
    dataset.targets.as_ref().filter(of_items)
}

/// The scale of a number to predict: a network predicts `(x − mean) / deviation`. Scores are in the
/// number's own unit.
///
/// Public: mean and population standard deviation over the known numbers of the training items of
/// all clients, an item once for each client that trains on it. Of equal numbers the deviation is
/// set to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetScale {
    pub name: String,
    pub mean: f64,
    pub deviation: f64,
}

impl TargetScale {
    /// The scale of each number of a data set, none for another task.
    ///
    /// # Errors
    ///
    /// When a number is infinite, or a target has no known number to train on.
    pub(super) fn of_training(
        task: Task,
        split: Split,
        source: &Source<'_>,
    ) -> Result<Vec<TargetScale>, StrategyError> {
        let (dataset, partition) = (source.dataset, source.partition);
        let (Task::Numbers, Some(targets)) = (task, targets(dataset)) else {
            return Ok(Vec::new());
        };
        split.suits(dataset, partition)?;
        let known = Known::of(task, dataset, &[])?;
        let mut columns = vec![Vec::new(); targets.names().len()];
        for client in 0..partition.n_clients() {
            let labelled = known.labelled(partition.shard(client));
            let [train, ..] = split.divide(dataset, client as u32, labelled, source.streams);
            for item in train {
                let row = targets.of(item).iter().zip(&mut columns);
                row.filter(|(x, _)| !x.is_nan())
                    .for_each(|(x, column)| column.push(f64::from(*x)));
            }
        }
        let scale = |(name, column): (&String, Vec<f64>)| {
            if column.is_empty() {
                return refuse(format!(
                    "the number {} is missing for every training item; raise split.train, or leave it out of the data",
                    name.escape_debug()
                ));
            }
            let n = column.len() as f64;
            let mean = column.iter().sum::<f64>() / n;
            let variance = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            let is_constant = column.iter().all(|x| *x == column[0]);
            Ok(TargetScale {
                name: name.clone(),
                mean,
                deviation: if is_constant { 1.0 } else { variance.sqrt() },
            })
        };
        targets.names().iter().zip(columns).map(scale).collect()
    }

    /// A standardised number in its own unit.
    pub(super) fn unscaled(&self, x: f32) -> f64 {
        f64::from(x) * self.deviation + self.mean
    }
}

/// What is known of the items of a data set.
pub(super) struct Known {
    /// By item; empty for other tasks.
    classes: Vec<Option<u32>>,
    /// Labels 0 and 1, or standardised numbers, NaN where unknown, of shape `(n_items, width)`.
    values: Vec<f32>,
    width: usize,
}

impl Known {
    /// Numbers are scaled by `scales`, one for each target, and stay as they are without any.
    ///
    /// # Errors
    ///
    /// When there is nothing to learn, a class is out of range, a number is infinite, or the data
    /// set has another number of items.
    pub(super) fn of(task: Task, dataset: &Dataset, scales: &[TargetScale]) -> Result<Known, StrategyError> {
        let width = task.n_outputs(dataset);
        let values: Vec<f32> = match (task, tasks(dataset), &dataset.node_labels, targets(dataset)) {
            (Task::Labels, Some(tasks), ..) => (0..tasks.n_graphs() as u32)
                .flat_map(|item| tasks.of(item))
                .map(|label| label.map_or(f32::NAN, |label| f32::from(u8::from(label))))
                .collect(),
            (Task::Labels, _, Some(labels), _) => {
                let mut values = vec![0.0; labels.n_nodes() * width];
                for (node, row) in (0..).zip(values.chunks_exact_mut(width)) {
                    match labels.of(node) {
                        [] => row.fill(f32::NAN),
                        own => own.iter().for_each(|class| row[*class as usize] = 1.0),
                    }
                }
                values
            }
            (Task::Numbers, .., Some(targets)) => {
                if let Some(at) = targets.values().iter().position(|x| x.is_infinite()) {
                    let (item, name) = (at / width, targets.names()[at % width].escape_debug());
                    return refuse(format!(
                        "the number {name} of item {item} is {}, and numbers to predict must be finite or missing (NaN)",
                        targets.values()[at]
                    ));
                }
                let scaled = |(at, x): (usize, &f32)| match scales.get(at % width) {
                    Some(scale) => ((f64::from(*x) - scale.mean) / scale.deviation) as f32,
                    None => *x,
                };
                targets.values().iter().enumerate().map(scaled).collect()
            }
            _ => {
                let classes = classes(dataset)?;
                return Ok(Known {
                    classes,
                    values: Vec::new(),
                    width: 0,
                });
            }
        };
        let (got, items) = (values.len() / width.max(1), dataset.n_items());
        if got != items {
            return refuse(format!("the data set has labels for {got} items and {items} items"));
        }
        Ok(Known {
            classes: Vec::new(),
            values,
            width,
        })
    }

    fn row(&self, item: u32) -> &[f32] {
        &self.values[item as usize * self.width..][..self.width]
    }

    /// The class of an item, if it has one.
    pub(super) fn class(&self, item: u32) -> Option<u32> {
        self.classes.get(item as usize).copied().flatten()
    }

    /// The items among `items` of which something is known, in their order.
    pub(super) fn labelled(&self, items: &[u32]) -> Vec<u32> {
        let is_known = |item: &u32| match self.width {
            0 => self.class(*item).is_some(),
            _ => self.row(*item).iter().any(|x| !x.is_nan()),
        };
        items.iter().copied().filter(is_known).collect()
    }

    /// The truth of some items; an item without a class has class 0.
    pub(super) fn truth(&self, items: &[u32]) -> Truth {
        let mut truth = Truth {
            width: self.width,
            ..Truth::default()
        };
        for &item in items {
            match self.width {
                0 => truth.classes.push(self.class(item).unwrap_or_default()),
                _ => truth.push(self.row(item)),
            }
        }
        truth
    }
}

/// The class of each item, if it has one.
fn classes(dataset: &Dataset) -> Result<Vec<Option<u32>>, StrategyError> {
    let n_classes = dataset.n_classes;
    let classes: Vec<Option<u32>> = match (&dataset.graph_labels, &dataset.node_labels) {
        (Some(labels), _) => labels.iter().map(|class| Some(*class)).collect(),
        (None, Some(labels)) if !dataset.is_graph_level() && !labels.is_multi_label() => {
            (0..labels.n_nodes() as u32).map(|node| labels.single(node)).collect()
        }
        _ if dataset.is_graph_level() && (dataset.targets.is_some() || dataset.node_tasks.is_some()) => {
            return refuse(
                "the labels or numbers of this data set are of nodes, and its items are whole graphs; store the graphs as one, or \
                 labels or numbers of graphs",
            );
        }
        _ => return refuse(dataset.no_classes()),
    };
    if classes.len() != dataset.n_items() {
        let (got, items) = (classes.len(), dataset.n_items());
        return refuse(format!("the data set has classes for {got} items and {items} items"));
    }
    if n_classes < 2 {
        return refuse(format!(
            "there must be at least 2 classes to tell apart, got {n_classes}"
        ));
    }
    match classes
        .iter()
        .position(|class| class.is_some_and(|c| c as usize >= n_classes))
    {
        Some(item) => refuse(format!(
            "item {item} has class {}, and classes must lie below {n_classes}",
            classes[item].unwrap_or_default()
        )),
        None => Ok(classes),
    }
}

/// True answers for the rows of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Truth {
    /// One per row; empty where values are asked for.
    pub(super) classes: Vec<u32>,
    /// Labels 0 and 1, or standardised numbers, 0 where unknown: shape `(n_rows, width)`.
    pub(super) values: Vec<f32>,
    /// Which of `values` are known.
    pub(super) known: Vec<bool>,
    /// Values per row; 0 for classes.
    pub(super) width: usize,
}

impl Truth {
    pub(super) fn of_classes(classes: Vec<u32>) -> Truth {
        Truth {
            classes,
            ..Truth::default()
        }
    }

    pub(super) fn n_rows(&self) -> usize {
        match self.width {
            0 => self.classes.len(),
            width => self.values.len() / width,
        }
    }

    /// Adds a row of values, NaN where unknown.
    fn push(&mut self, row: &[f32]) {
        self.known.extend(row.iter().map(|x| !x.is_nan()));
        self.values
            .extend(row.iter().map(|x| if x.is_nan() { 0.0 } else { *x }));
    }

    /// Becomes an empty one like `other`, with the memory that it has.
    pub(super) fn clear_for(&mut self, other: &Truth) {
        self.classes.clear();
        self.values.clear();
        self.known.clear();
        self.width = other.width;
    }

    /// Adds all rows of another.
    pub(super) fn extend(&mut self, other: &Truth) {
        self.classes.extend(&other.classes);
        self.values.extend(&other.values);
        self.known.extend(&other.known);
        self.width = other.width;
    }

    /// Adds one row of another.
    pub(super) fn extend_by(&mut self, other: &Truth, row: usize) {
        let values = row * other.width..(row + 1) * other.width;
        self.classes.extend(other.classes.get(row));
        self.values.extend(&other.values[values.clone()]);
        self.known.extend(&other.known[values]);
    }

    /// Gets `n` rows: class 0, or unknown values, behind those that are there.
    pub(super) fn resize(&mut self, n: usize) {
        match self.width {
            0 => self.classes.resize(n, 0),
            width => {
                self.values.resize(n * width, 0.0);
                self.known.resize(n * width, false);
            }
        }
    }

    /// The values of a row and which of them are known; none for classes.
    pub(super) fn row(&self, row: usize) -> (&[f32], &[bool]) {
        let values = row * self.width..(row + 1) * self.width;
        (&self.values[values.clone()], &self.known[values])
    }

    /// Writes into `to` which values of the rows of `mask` are known.
    pub(super) fn known_in(&self, mask: &[bool], to: &mut Vec<bool>) {
        to.clear();
        if self.width > 0 {
            let rows = self.known.chunks_exact(self.width).zip(mask);
            to.extend(rows.flat_map(|(row, counts)| row.iter().map(move |known| *known && *counts)));
        }
    }
}
