//! Answers of a training that trains no network of this crate, such as a user's own in Python.

use folkmoot_engine::prelude::*;

/// The parts of such a training that an attack reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The network and how it is trained, which only the algorithms of this crate have.
    Network,
    /// Logits of items.
    Predictions,
    /// Gradients of single items.
    Gradients,
}

/// Answers of a training to an attacker.
pub struct Answers<'a> {
    /// All labelled items.
    pub items: &'a [Item],
    /// Logits of each item by the last model; empty where no attack reads them.
    pub last: &'a [Vec<f64>],
    /// The same by a model that is not trained.
    pub first: &'a [Vec<f64>],
    /// Classes, the outputs of the last layer.
    pub n_classes: usize,
    /// Inputs of the last layer.
    pub n_inputs: usize,
    /// Updates of the last round; empty where no attack reads them.
    pub updates: &'a [Inverted],
}

/// An item that an attacker asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub class: u32,
    /// Whether it is a training item.
    pub trains: bool,
}

/// An update as an attacker reads it.
#[derive(Clone, Debug)]
pub struct Inverted {
    /// Its clients; several of a masked sum.
    pub clients: Vec<ClientId>,
    /// The negative change of the last layer: weights of shape `(n_inputs, n_classes)`, then biases
    /// `(n_classes,)`.
    pub gradient: Vec<f64>,
    /// The gradient of the same layer by each training item of these clients, with the item's
    /// class.
    pub items: Vec<(Vec<f64>, u32)>,
}
