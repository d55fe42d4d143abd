//! Training by an app, as rounds ask for it.

use crate::app::{Shard, Started, Working, seed};
use crate::evaluator::Found;
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use folkmoot_draws::{SimRng, unit};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Layout;
use folkmoot_rounds::{Personalisation, Task, Trained, Trainer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

const CHECK: Purpose = Purpose(*b"py-check");

/// Training by the functions of an app.
pub struct App {
    started: Arc<Started>,
    working: OnceLock<Working>,
    /// The share of jobs that two workers do, to compare.
    checked: f64,
}

impl App {
    pub(crate) fn new(started: Arc<Started>) -> App {
        App {
            started,
            working: OnceLock::new(),
            checked: 0.0,
        }
    }

    pub(crate) fn started(&self) -> &Arc<Started> {
        &self.started
    }

    /// Puts it to work; a share of jobs is done twice.
    pub(crate) fn works(&self, working: Working) {
        // An app is shared out once.
        let _ = self.working.set(working);
    }

    pub(crate) fn working(&self) -> Option<&Working> {
        self.working.get()
    }
}

/// What a client keeps between trainings, and never sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The `state` of its last update that has one, in JSON; arrays stand there by name.
    form: Option<String>,
    arrays: Vec<KeptArray>,
    /// The metrics of its trainings with their rounds, for whoever evaluates the run.
    pub(crate) metrics: Vec<(u32, Vec<Found>)>,
}

/// An array as [`Array`], for checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KeptArray {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
}

impl KeptArray {
    fn of(array: Array<'static>) -> KeptArray {
        KeptArray {
            name: array.name.into_owned(),
            dtype: array.dtype.into_owned(),
            shape: array.shape,
            bytes: array.bytes.into_owned(),
        }
    }

    fn as_sent(&self) -> Array<'_> {
        Array {
            name: self.name.as_str().into(),
            dtype: self.dtype.as_str().into(),
            shape: self.shape.clone(),
            bytes: self.bytes.as_slice().into(),
        }
    }
}

/// The model before the first round is the app's.
pub(crate) struct FromApp;

impl Personalisation<App> for FromApp {
    fn initial(&self, app: &App, _: &mut SimRng) -> Vec<f32> {
        app.started.initial.clone()
    }
}

impl Trainer for App {
    type Shard<'a> = &'a Shard;
    type ClientState = Kept;

    fn layout(&self) -> &Layout {
        &self.started.layout
    }

    fn n_samples(&self, shard: &Shard) -> u32 {
        shard.n_train
    }

    fn cost(&self, shard: &Shard) -> f64 {
        shard.cost
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Kept> {
        // As everywhere, it answers with the model as it came.
        if task.shard.n_train == 0 {
            return Trained::model(task.parameters.to_vec());
        }
        self.asked(&task)
            .unwrap_or_else(|why| Trained::failed(task.parameters, why))
    }
}

impl App {
    fn asked(&self, task: &Task<'_, '_, Self>) -> Result<Trained<Kept>, StrategyError> {
        let working = self
            .working()
            .ok_or_else(|| StrategyError("the app has no data".to_owned()))?;
        let (client, round) = (task.shard.client, task.round().0);
        let mut request = Frame::new(
            "train",
            json!({"client": client, "round": round, "seed": seed(task.rng())}),
        )
        .with(vec![Array::floats("params", task.parameters)]);
        if let Some((kept, form)) = task.kept.and_then(|kept| Some((kept, kept.form.as_ref()?))) {
            let form: Value = serde_json::from_str(form)
                .map_err(|error| StrategyError(format!("the state of client {client} cannot be read: {error}")))?;
            request.header.insert("state".to_owned(), form);
            request.arrays.extend(kept.arrays.iter().map(KeptArray::as_sent));
        }
        let what = || format!("training of client {client} in round {round}");
        let failed = |trouble: Trouble| working.failure(&what(), &request, &trouble);
        let (worker, mut reply) = working.pool.ask(&request, None).map_err(failed)?;
        if self.checked > 0.0 && unit(&mut task.rng_for(CHECK)) < self.checked {
            let (_, again) = working.pool.ask(&request, Some(worker)).map_err(failed)?;
            if let Some(difference) = difference(&reply, &again) {
                let why = format!(
                    "not deterministic: {difference} when another worker repeats it; draw from ctx.rng alone, and read no clock or \
                     module state"
                );
                return Err(failed(Trouble::Pool(why)));
            }
        }
        let unread = |why: &str| failed(Trouble::Pool(format!("the worker's answer cannot be read: {why}")));
        let update = reply.take("update").and_then(|update| update.as_floats());
        let update = update.filter(|update| update.len() == task.parameters.len());
        let parameters = update.ok_or_else(|| unread("it has no update of the model's length"))?;
        if let Some(at) = parameters.iter().position(|x| !x.is_finite()) {
            return Err(unread(&format!("number {at} of the update is {}", parameters[at])));
        }
        let n_samples = reply.header.get("weight").and_then(Value::as_u64);
        let found = Found::listed(&reply).ok_or_else(|| unread("its metrics are none"))?;
        let mut kept = task.kept.cloned().unwrap_or_default();
        if let Some(form) = reply.header.get("state") {
            kept.form = Some(form.to_string());
            kept.arrays = std::mem::take(&mut reply.arrays)
                .into_iter()
                .map(KeptArray::of)
                .collect();
        }
        if !found.is_empty() {
            kept.metrics.push((round, found));
        }
        let kept = (kept != Kept::default()).then_some(kept);
        Ok(Trained {
            n_samples: n_samples.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            kept,
            ..Trained::model(parameters)
        })
    }

    /// The same with so large a share of jobs done twice.
    pub(crate) fn checking(self, checked: f64) -> App {
        App { checked, ..self }
    }
}

/// In what two answers differ, if they do.
pub(crate) fn difference(one: &Frame<'_>, other: &Frame<'_>) -> Option<String> {
    for (field, value) in &one.header {
        let again = other.header.get(field);
        if again != Some(value) {
            let again = again.map_or("nothing".to_owned(), Value::to_string);
            return Some(format!("{field} is {value}, and then {again},"));
        }
    }
    for array in &one.arrays {
        let Some(again) = other.arrays.iter().find(|again| again.name == array.name) else {
            return Some(format!("array {} is missing", array.name));
        };
        if again != array {
            let n = array
                .bytes
                .iter()
                .zip(again.bytes.iter())
                .filter(|(a, b)| a != b)
                .count();
            return Some(format!("{} differs in {n} of {} bytes", array.name, array.bytes.len()));
        }
    }
    None
}
