//! The shape of a card: every field, its default, range and unit.

use crate::algorithm::Keep;
use folkmoot_engine::world::{DropoutSpec, OutageSpec};
use folkmoot_parts::{Shape, Value, component};
use folkmoot_privacy::NoiseForm;
use ron::value::RawValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A card as written. Only `dataset` and `strategy` must be given.
#[component]
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// Research question of the run.
    pub question: String,
    /// Paper with table or theorem.
    pub paper: String,
    /// Seed of all random streams.
    #[component(default = 1)]
    pub seed: u64,
    /// Data set: a name, a file, or a generator.
    pub dataset: Named,
    /// Partition of the data among clients.
    #[component(default = Named::of("NodePerClient"))]
    pub partition: Named,
    /// Algorithm and its parameters.
    pub strategy: Named,
    /// Network model.
    #[component(default = Named::of("Ideal"))]
    pub network: Named,
    /// Header bytes per transmission; by default those of IPv4 and TCP without options.
    #[component(default = 40, in = 0..=65_535, unit = "bytes")]
    pub header_bytes: u32,
    /// Compute speed of clients.
    #[component(default = Named::of("Ideal"))]
    pub devices: Named,
    /// Availability model: when clients are online.
    #[component(default = Named::of("Always"))]
    pub availability: Named,
    /// Regional outages, in addition to `availability`.
    pub outages: OutageSpec,
    /// Dropout of clients during a round.
    pub dropout: DropoutSpec,
    /// Client selection per round.
    #[component(default = Named::of("All"))]
    pub cohort: Named,
    /// Round deadline in virtual time; without it the server waits for all selected clients.
    #[component(above = 0, at_most = 1e12, unit = "ms")]
    pub deadline_ms: Option<f64>,
    /// Maximum virtual time of the run; unlimited by default.
    #[component(above = 0, at_most = 1e9, unit = "s")]
    pub horizon_s: Option<f64>,
    /// Target values of metrics by their names in `summary.json`; reports rounds, virtual time and
    /// bytes until reached. Metrics that are better lower must be at most the target, all others at
    /// least.
    pub targets: BTreeMap<String, f64>,
    /// Early stopping.
    pub stop: StopFile,
    /// Figures to draw, by their names in `figures` (`*` matches anything), of runs and of the
    /// sweep in one list. By default the most commonly useful ones; `plot --all` draws the others.
    pub figures: Vec<String>,
    /// Delta at which the total privacy loss of a run is stated.
    #[component(default = 0.00001, above = 0, at_most = 0.5)]
    pub delta: f64,
    /// Form of the Laplace and Gaussian noise of privacy mechanisms. Other cards are unaffected.
    pub noise: NoiseForm,
    /// Counters to record per round in `observations.csv`, which is not part of the result.
    pub observe: Vec<String>,
    /// Evaluators that other crates add to the algorithm: their metrics, attacks and curves are part
    /// of the result.
    pub evaluators: Vec<Named>,
    /// Artifacts to save in `artifacts/`, for algorithms that train classifiers: final models,
    /// predictions, and assignment of items to clients and splits. They are not part of the result
    /// and do not change its fingerprint.
    pub keep: Vec<Keep>,
    /// Parameters of a sweep.
    pub sweep: SweepFile,
}

/// Early stopping, checked after each round. Messages already sent for the next round count as in
/// flight.
#[component]
#[derive(Clone, Copy, Debug)]
pub struct StopFile {
    /// Stop at divergence: a non-finite loss, or ten consecutive rounds with all updates rejected.
    pub diverged: bool,
    /// Stop after a round whose metrics reach all targets.
    pub target_reached: bool,
}

/// Parameters of `folkmoot sweep`.
#[component]
#[derive(Clone, Debug)]
pub struct SweepFile {
    /// Arms by name: the fields that differ from the card, possibly none, as paths and values like
    /// `--set`. Axes multiply the arms.
    pub arms: BTreeMap<String, BTreeMap<String, Named>>,
    /// Axes: the path of a field and the values to try, such as
    /// `{ "strategy.protocol.rounds": [5, 10] }`. Several axes are combined; the first varies
    /// slowest.
    pub axes: BTreeMap<String, Vec<Named>>,
    /// Axes that vary together, as lists of paths: all take their first values, then their second,
    /// and so on.
    pub zip: Vec<Vec<String>>,
    /// Display names of an axis's values in tables and figures, one unique name per value; by
    /// default the values themselves.
    pub names: BTreeMap<String, Vec<String>>,
    /// Seeds of every arm.
    #[component(default = vec![1, 2, 3])]
    pub seeds: Vec<u64>,
    /// Baseline: name of an arm or an axis value that all others are compared with, paired by seed,
    /// with 95 % confidence intervals. Use `AXIS=VALUE` if several axes have the value.
    pub baseline: String,
    /// Pairs of arms or axis values to compare; the second is the baseline.
    pub contrasts: Vec<Vec<String>>,
    /// Primary metrics, drawn first.
    pub headline: Vec<String>,
}

/// A value that is read later, by whatever its name stands for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Named(Box<RawValue>);

impl Named {
    /// What a card would write; it must be right.
    pub(crate) fn of(text: &str) -> Self {
        Named(RawValue::from_boxed_ron(text.into()).expect("the text of a part is RON"))
    }

    /// As the card has it.
    pub(crate) fn text(&self) -> &str {
        self.0.get_ron().trim()
    }
}

/// Nothing: what must be given has no default.
impl Default for Named {
    fn default() -> Self {
        Named::of("()")
    }
}

impl Value for Named {
    fn shape() -> Shape {
        Shape::Named
    }
}
