//! Answers of a training that trains no network of this crate, such as a user's own in Python.

use crate::classifier::Parts;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::Seen;

/// The parts of such a training that an attack reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The network and how it is trained, which only the algorithms of this crate have.
    Network,
    /// Logits of items.
    Predictions,
    /// Logits of items by models that the same training makes of other training items.
    Shadows,
    /// Updates as the server reads them.
    Updates,
    /// Gradients of single items.
    Gradients,
}

/// The same training on other training items, of each client its own, under another seed: logits of
/// [`Answers::items`] by what it comes to.
pub type Retrain<'a> = dyn Fn(&[Parts], u64) -> Result<Vec<Vec<f64>>, StrategyError> + Sync + 'a;

/// Answers of a training to an attacker.
pub struct Answers<'a> {
    /// All labelled items, clients ascending.
    pub items: &'a [Item],
    /// The labelled items of each client by part.
    pub divided: &'a [Parts],
    /// The streams of the run.
    pub streams: Streams,
    /// Updates of the last rounds, the oldest first: of as many as some attack asks for.
    pub seen: &'a [Seen],
    /// Trains shadow models.
    pub retrain: &'a Retrain<'a>,
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
    pub client: u32,
    /// Its id in the data set.
    pub item: u32,
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
