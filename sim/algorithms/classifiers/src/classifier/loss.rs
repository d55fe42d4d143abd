//! Training losses by name, as cards choose them: `training.loss`.
//!
//! A loss is a component, so any crate may add one. The metric `loss` is the loss of the task,
//! whatever a model is trained with, so that arms with different losses can be compared.

mod focal;

pub use focal::Focal;

use super::data::View;
use super::task::Task;
use folkmoot_learning::{Tape, Var};
use folkmoot_parts::{component, component_type};

/// A training loss.
///
/// ```
/// use folkmoot_classifiers::classifier::loss::{Loss, Truths};
/// use folkmoot_learning::{Tape, Var};
///
/// /// The Brier score: squared difference of probabilities and one-hot classes.
/// struct Brier;
///
/// impl Loss for Brier {
///     fn loss<'g>(&'g self, tape: &mut Tape<'g>, outputs: Var, truths: Truths<'g>) -> Var {
///         let shares = tape.softmax(outputs, None);
///         let (rows, classes) = tape.shape(shares);
///         let one_hot = tape.constant_with(rows, classes, |to| truths.one_hot(1.0, to));
///         let counted = tape.constant_with(rows, classes, |to| truths.by_row(1.0, to));
///         let error = tape.subtract(shares, one_hot);
///         let squares = tape.square(error);
///         let squares = tape.multiply(squares, counted);
///         let sum = tape.sum(squares);
///         tape.scale(1.0 / truths.n_counted().max(1) as f32, sum)
///     }
/// }
/// ```
pub trait Loss: Send + Sync {
    /// Whether it is defined for the task. Default: for one class per item.
    fn suits(&self, task: Task) -> bool {
        task == Task::Classes
    }

    /// The mean loss of `outputs` over the rows that count, shape `(1, 1)`; 0 without any.
    ///
    /// Outputs are the logits of classes or labels, or standardised numbers, a row for each item.
    fn loss<'g>(&'g self, tape: &mut Tape<'g>, outputs: Var, truths: Truths<'g>) -> Var;
}

component_type!(Loss, "loss", OfTask {});

/// The true classes, labels or numbers of the rows of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Truths<'g> {
    pub task: Task,
    /// The class of each row; empty for other tasks.
    pub classes: &'g [u32],
    /// Which rows count; all of them without a mask.
    pub mask: Option<&'g [bool]>,
    /// Labels 0 and 1, or standardised numbers, of shape `(n_rows, width)`; empty for classes.
    pub values: &'g [f32],
    /// Which values count: those that are known, of rows that count.
    pub known: &'g [bool],
}

impl<'g> Truths<'g> {
    pub(super) fn of(task: Task, view: View<'g>) -> Self {
        Truths {
            task,
            classes: &view.truth.classes,
            mask: view.mask,
            values: &view.truth.values,
            known: view.known,
        }
    }

    /// The number of rows with a class that count.
    pub fn n_counted(&self) -> usize {
        let all = self.classes.len();
        self.mask
            .map_or(all, |mask| mask.iter().filter(|counts| **counts).count())
    }

    /// Writes `weight` at the class of each row that counts, and 0 elsewhere, into `to` of shape
    /// `(n_rows, n_classes)`.
    pub fn one_hot(&self, weight: f32, to: &mut [f32]) {
        let width = to.len() / self.classes.len().max(1);
        to.fill(0.0);
        for (row, class) in self.classes.iter().enumerate() {
            if self.mask.is_none_or(|mask| mask[row]) {
                to[row * width + *class as usize] = weight;
            }
        }
    }

    /// Writes `weight` into each row that counts, and 0 elsewhere, into `to` of shape
    /// `(n_rows, n_classes)`.
    pub fn by_row(&self, weight: f32, to: &mut [f32]) {
        let width = to.len() / self.classes.len().max(1);
        for (row, to) in to.chunks_mut(width.max(1)).enumerate() {
            let counts = self.mask.is_none_or(|mask| mask[row]);
            to.fill(if counts { weight } else { 0.0 });
        }
    }
}

/// The loss of the task: softmax cross entropy for classes, binary cross entropy for labels,
/// squared error for numbers.
#[component(
    name = "OfTask",
    about = "cross entropy for classes and labels, squared error for numbers"
)]
#[derive(Clone, Copy, Debug)]
pub struct OfTask {}

impl Loss for OfTask {
    fn suits(&self, _: Task) -> bool {
        true
    }

    fn loss<'g>(&'g self, tape: &mut Tape<'g>, outputs: Var, truths: Truths<'g>) -> Var {
        match truths.task {
            Task::Classes => tape.cross_entropy(outputs, truths.classes, truths.mask),
            Task::Labels => tape.logistic_loss(outputs, truths.values, Some(truths.known)),
            Task::Numbers => tape.mean_squared_error(outputs, truths.values, Some(truths.known)),
        }
    }
}
