//! The shape of a card: every field, its default, range and unit.

use crate::algorithm::Keep;
use folkmoot_engine::world::{CohortSpec, DropoutSpec, OutageSpec};
use folkmoot_parts::{Shape, Value, component};
use ron::value::RawValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A card as written. Only `dataset` and `strategy` must be given.
#[component]
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// The question that the run answers.
    pub question: String,
    /// The paper and its table or theorem.
    pub paper: String,
    /// Seed of every random stream.
    #[component(default = 1)]
    pub seed: u64,
    /// The data: a data set's name, a file, or a generator.
    pub dataset: Named,
    /// How the data are shared out.
    #[component(default = Named::of("NodePerClient"))]
    pub partition: Named,
    /// The federated system and its parameters.
    pub strategy: Named,
    /// How messages travel.
    #[component(default = Named::of("Ideal"))]
    pub network: Named,
    /// Header bytes of every transmission; by default those of IPv4 and TCP without options.
    #[component(default = 40, in = 0..=65_535, unit = "bytes")]
    pub header_bytes: u32,
    /// How fast clients compute.
    #[component(default = Named::of("Ideal"))]
    pub devices: Named,
    /// When clients are online.
    #[component(default = Named::of("Always"))]
    pub availability: Named,
    /// Regions that now and then go away with all of their clients, on top of that.
    pub outages: OutageSpec,
    /// Who leaves in mid-round.
    pub dropout: DropoutSpec,
    /// Whom the server asks in a round.
    pub cohort: CohortSpec,
    /// How long a round may take, in virtual time; without it the server waits for everybody.
    #[component(above = 0, at_most = 1e12, unit = "ms")]
    pub deadline_ms: Option<f64>,
    /// When the run ends at the latest, in virtual time; without it never.
    #[component(above = 0, at_most = 1e9, unit = "s")]
    pub horizon_s: Option<f64>,
    /// Scores that the run is to reach, by their names in `summary.json`: how many rounds, how much
    /// virtual time and how many bytes it took. A score of which its strategy says that lower is
    /// better is to be at most that, any other at least.
    pub targets: BTreeMap<String, f64>,
    /// What ends the run early.
    pub stop: StopFile,
    /// The figures that answer the question, by their names below `figures`, `*` standing for
    /// anything: of the runs and of the sweep in one list. Without any, those that answer most
    /// questions; `plot --all` draws the others.
    pub figures: Vec<String>,
    /// The probability but for which totals of privacy over a run hold (delta).
    #[component(default = 0.00001, above = 0, at_most = 0.5)]
    pub delta: f64,
    /// Counters to record by round in `observations.csv`, which is no part of the result.
    pub observe: Vec<String>,
    /// What a run leaves below `artifacts/` besides its results: of strategies that train
    /// classifiers the last models, what these predict, and which client holds each item for which
    /// purpose. It is no part of the result, and its fingerprint stays.
    pub keep: Vec<Keep>,
    /// What a sweep varies.
    pub sweep: SweepFile,
}

/// What ends a run before its last round: scores are looked at when a round has ended, and what the
/// server has sent for the next by then is counted as under way.
#[component]
#[derive(Clone, Copy, Debug)]
pub struct StopFile {
    /// Training that has diverged: a loss that is not finite, or ten rounds in a row in which every
    /// update was refused.
    pub diverged: bool,
    /// A round whose scores reach all targets.
    pub target_reached: bool,
}

/// What `folkmoot sweep` varies.
#[component]
#[derive(Clone, Debug)]
pub struct SweepFile {
    /// Arms by their names, each by the fields in which it differs from the card, which may be
    /// none: their paths and values, as `--set` takes them. Axes multiply the arms.
    pub arms: BTreeMap<String, BTreeMap<String, Named>>,
    /// Path of a field to the values it takes; the first axis varies slowest.
    pub axes: BTreeMap<String, Vec<Named>>,
    /// Axes that move together, as lists of their paths: all have their first values at once, then
    /// their second, and so on.
    pub zip: Vec<Vec<String>>,
    /// Path of an axis to names for its values, one each and different, which tables and figures
    /// then show; where there are none, the values as they are written.
    pub names: BTreeMap<String, Vec<String>>,
    /// The seeds of every arm.
    #[component(default = vec![1, 2, 3])]
    pub seeds: Vec<u64>,
    /// The name of an arm, or of a value of an axis, with which all others are compared: paired by
    /// seed, with 95 % confidence intervals. `AXIS=VALUE` where several axes have such a value.
    pub baseline: String,
    /// Pairs of arms, or of values of an axis, to compare: the second is the baseline of the first.
    pub contrasts: Vec<Vec<String>>,
    /// Summary numbers that answer the question, drawn first.
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
