//! The shape of a card: every field, its default, range and unit.

use folkmoot_engine::world::{AvailabilitySpec, CohortSpec, DeviceSpec, DropoutSpec, NetworkSpec};
use folkmoot_graphs::{DatasetSpec, PartitionSpec};
use ron::value::RawValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A card as written. Only `dataset` and `strategy` must be given.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScenarioFile {
    /// The question that the run answers. Default empty.
    pub question: String,
    /// The paper and its table or theorem. Default empty.
    pub paper: String,
    /// Seed of every random stream. Default 1.
    pub seed: u64,
    /// The data: a data set's name, a file, or a generator.
    pub dataset: Option<DatasetSpec>,
    /// How the data are shared out. Default `NodePerClient`.
    pub partition: PartitionSpec,
    /// The federated system and its parameters, by name: see `folkmoot list`.
    pub strategy: Box<RawValue>,
    /// How messages travel. Default `Ideal`.
    pub network: NetworkSpec,
    /// Header bytes of every transmission, 0..=65535. Default 40 (IPv4 and TCP without options).
    pub header_bytes: u32,
    /// How fast clients compute. Default `Ideal`.
    pub devices: DeviceSpec,
    /// When clients are online. Default `Always`.
    pub availability: AvailabilitySpec,
    /// Who leaves in mid-round. Default nobody.
    pub dropout: DropoutSpec,
    /// Whom the server asks in a round. Default `All`.
    pub cohort: CohortSpec,
    /// How long a round may take, milliseconds of virtual time, > 0. Default: the server waits for everybody.
    pub deadline_ms: Option<f64>,
    /// When the run ends at the latest, seconds of virtual time, > 0. Default: never.
    pub horizon_s: Option<f64>,
    /// Counters to record by round in `observations.csv`, which is no part of the result. Default none.
    pub observe: Vec<String>,
    /// What a sweep varies. Default: nothing but the seeds 1, 2 and 3.
    pub sweep: SweepFile,
}

/// What `folkmoot sweep` varies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SweepFile {
    /// Path of a field to the values it takes; the first axis varies slowest. Default none.
    pub axes: BTreeMap<String, Vec<Box<RawValue>>>,
    /// Path of an axis to names for its values, one each and different, which tables and figures then show. Default: the values as
    /// they are written.
    pub names: BTreeMap<String, Vec<String>>,
    /// The seeds of every arm. Default 1, 2, 3.
    pub seeds: Vec<u64>,
    /// Summary numbers that answer the question, drawn first. Default none.
    pub headline: Vec<String>,
}

impl Default for SweepFile {
    fn default() -> Self {
        SweepFile {
            axes: BTreeMap::new(),
            names: BTreeMap::new(),
            seeds: vec![1, 2, 3],
            headline: Vec::new(),
        }
    }
}

impl Default for ScenarioFile {
    fn default() -> Self {
        ScenarioFile {
            question: String::new(),
            paper: String::new(),
            seed: 1,
            dataset: None,
            partition: PartitionSpec::default(),
            strategy: RawValue::from_boxed_ron("()".into()).expect("an empty struct is RON"),
            network: NetworkSpec::default(),
            header_bytes: 40,
            devices: DeviceSpec::default(),
            availability: AvailabilitySpec::default(),
            dropout: DropoutSpec::default(),
            cohort: CohortSpec::default(),
            deadline_ms: None,
            horizon_s: None,
            observe: Vec::new(),
            sweep: SweepFile::default(),
        }
    }
}
