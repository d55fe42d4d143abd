//! The settings of `Python`, as a card writes them.

use crate::examples::DpSgd;
use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::{Inputs, Split};
use folkmoot_parts::{Chosen, Free, Rules, component};
use folkmoot_rounds::{Protocol, Trains};
use serde_json::Value;
use std::collections::BTreeMap;

/// Settings of federated training by functions in Python.
#[component(
    name = "Python",
    about = "federated training by your own functions in Python, such as PyTorch models, in worker processes",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// File of the app (`.py`), beside the card or in a data folder; or an installed module, such
    /// as `folkmoot.examples.softmax`.
    #[component(default = "client.py")]
    pub app: String,
    /// Settings of the app, read as `ctx.config`.
    pub config: BTreeMap<String, Free>,
    /// Number of worker processes; without it, as many as the run has threads. No result depends on
    /// it.
    #[component(in = 1..=1024)]
    pub workers: Option<u32>,
    /// Device that the app computes on, read as `ctx.device`. On a device other than `cpu`, workers
    /// are started one by one instead of being forked.
    #[component(default = "cpu")]
    pub device: String,
    /// Reject operations of PyTorch without a deterministic implementation. Without this, results
    /// on a GPU may differ from run to run.
    #[component(default = true)]
    pub deterministic: bool,
    /// Address space of each worker; without it, unlimited.
    #[component(above = 0, unit = "GB")]
    pub memory_gb: Option<f64>,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test sets.
    pub split: Split,
    /// Clients call `@fm.evaluate_at_client` in every so many rounds and send its metrics; 0 for
    /// never.
    #[component(default = 1)]
    pub evaluate_at_client_every: u32,
    /// Training with `protocol.private: Items`.
    pub dp_sgd: DpSgd,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// Attacks on the trained model, after the run. `LossThreshold` reads `@fm.predict`, and
    /// `GradientInversion` reads `@fm.gradient`.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

impl Params {
    /// The features and sets of shards. An app that loads its clients' data reads none.
    pub(crate) fn reads(&self, functions: &Value) -> (Inputs, Split) {
        match functions.get("client_data") {
            Some(_) => (Inputs::Constant, Split::All),
            None => (self.inputs, self.split),
        }
    }

    fn rules(&self, rules: &mut Rules) {
        rules.require(!self.app.is_empty(), "app", "must name a file or a module");
        self.protocol.suits(&trains(), rules);
        let is_free = rules.is_broken("protocol.aggregator") || self.protocol.aggregator.trusted_items().is_none();
        let rule = "trains at the server, where an app has no function; use another aggregator";
        rules.require(is_free, "protocol.aggregator", rule);
    }
}

/// What a protocol may ask of training by an app.
pub(crate) fn trains() -> Trains {
    Trains {
        sends_model_alone: Ok(()),
        // What an app states is known once it is imported.
        hides_items: Ok(()),
        has_items: true,
        ..Trains::default()
    }
}
