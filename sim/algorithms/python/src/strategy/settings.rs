//! The settings of `PythonStrategy`, as a card writes them.

use crate::Params;
use crate::examples::DpSgd;
use folkmoot_classifiers::classifier::{Inputs, Split};
use folkmoot_parts::{Free, Rules, component};
use folkmoot_rounds::Protocol;
use std::collections::BTreeMap;

/// Settings of a whole algorithm in Python.
#[component(
    name = "PythonStrategy",
    about = "a whole algorithm in Python: your own handlers of messages, timers and work, in worker processes",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyParams {
    /// File of the app (`.py`), beside the card or in a data folder; or an installed module, such
    /// as `folkmoot.examples.random_walk`.
    #[component(default = "strategy.py")]
    pub app: String,
    /// Settings of the app, read as `cx.config`.
    pub config: BTreeMap<String, Free>,
    /// Number of rounds that the app is to make, read as `cx.n_rounds`; the app ends the run.
    #[component(default = 100, in = 1..=1_000_000)]
    pub rounds: u32,
    /// Rounds between evaluations; the last round is always evaluated.
    #[component(default = 1, at_least = 1)]
    pub evaluate_every: u32,
    /// Number of worker processes; without it, as many as the run has threads. No result depends on
    /// it.
    #[component(in = 1..=1024)]
    pub workers: Option<u32>,
    /// Device that the app computes on, read as `cx.device`. On a device other than `cpu`, workers
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
}

impl StrategyParams {
    fn rules(&self, rules: &mut Rules) {
        rules.require(!self.app.is_empty(), "app", "must name a file or a module");
    }

    /// The settings of an app that trains, as far as both have them.
    pub(super) fn app(&self) -> Params {
        Params {
            app: self.app.clone(),
            config: self.config.clone(),
            workers: self.workers,
            device: self.device.clone(),
            deterministic: self.deterministic,
            memory_gb: self.memory_gb,
            inputs: self.inputs,
            split: self.split,
            evaluate_at_client_every: 0,
            dp_sgd: DpSgd::default(),
            attacks: Vec::new(),
            protocol: Protocol {
                rounds: self.rounds,
                ..Protocol::default()
            },
        }
    }
}
