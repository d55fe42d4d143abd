//! Training by an app, as rounds ask for it.

use crate::aggregate::ByAggregate;
use crate::app::{Shard, Started, Working, seed};
use crate::evaluator::Found;
use crate::examples::DpSgd;
use crate::kept::KeptArray;
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use crate::select::BySelect;
use folkmoot_draws::{SimRng, unit};
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::ClientSelection;
use folkmoot_learning::Layout;
use folkmoot_rounds::{Aggregator, Task, Trained, Trainer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

const CHECK: Purpose = Purpose(*b"py-check");

/// Training by the functions of an app.
pub struct App {
    shared: Arc<AtWork>,
    dp_sgd: DpSgd,
}

/// An app that works once it has data.
pub(crate) struct AtWork {
    started: Arc<Started>,
    working: OnceLock<Working>,
    /// The share of jobs that two workers do, to compare.
    checked: f64,
}

impl AtWork {
    pub(crate) fn new(started: Arc<Started>, checked: f64) -> AtWork {
        AtWork {
            started,
            working: OnceLock::new(),
            checked,
        }
    }

    pub(crate) fn started(&self) -> &Arc<Started> {
        &self.started
    }

    /// Puts it to work.
    pub(crate) fn works(&self, working: Working) {
        // An app is shared out once.
        let _ = self.working.set(working);
    }

    pub(crate) fn working(&self) -> Result<&Working, StrategyError> {
        let working = self.working.get();
        working.ok_or_else(|| StrategyError("the app has no data".to_owned()))
    }

    /// Whether another worker is to repeat a call, by the call's own stream.
    pub(crate) fn is_checked(&self, rng: impl FnOnce() -> SimRng) -> bool {
        self.checked > 0.0 && unit(&mut rng()) < self.checked
    }

    /// The answer of a worker, and of another one where it is checked.
    pub(crate) fn ask(
        &self,
        request: &Frame<'_>,
        rng: impl FnOnce() -> SimRng,
    ) -> Result<Result<Frame<'static>, Trouble>, StrategyError> {
        let pool = &self.working()?.pool;
        let asked = pool.ask(request, None);
        Ok(asked.and_then(|(worker, reply)| {
            if self.is_checked(rng) {
                let mut repeated = request.clone();
                repeated.header.insert("again".to_owned(), true.into());
                let (_, again) = pool.ask(&repeated, Some(worker))?;
                is_same(&reply, &again)?;
            }
            Ok(reply)
        }))
    }
}

/// Two answers to one request are the same.
pub(crate) fn is_same(one: &Frame<'_>, other: &Frame<'_>) -> Result<(), Trouble> {
    match difference(one, other) {
        None => Ok(()),
        Some(difference) => Err(Trouble::Pool(format!(
            "not deterministic: {difference} when another worker repeats it; draw from ctx.rng alone, and read no clock or \
             module state"
        ))),
    }
}

impl App {
    /// With so large a share of jobs done twice.
    pub(crate) fn new(started: Arc<Started>, checked: f64, dp_sgd: DpSgd) -> App {
        App {
            shared: Arc::new(AtWork::new(started, checked)),
            dp_sgd,
        }
    }

    /// The metrics that a function of the app asks for; `None` if the app has no such function.
    fn asked_by(&self, function: &str) -> Option<Vec<String>> {
        let options = self.started().functions.get(function)?;
        Some(serde_json::from_value(options.get("metrics")?.clone()).unwrap_or_default())
    }

    /// Its client selection.
    pub(crate) fn selection(&self) -> Option<Arc<dyn ClientSelection>> {
        let (app, metrics) = (Arc::clone(&self.shared), self.asked_by("select")?);
        Some(Arc::new(BySelect { app, metrics }))
    }

    /// Its aggregator.
    pub(crate) fn aggregator(&self) -> Option<Arc<dyn Aggregator>> {
        let (app, metrics) = (Arc::clone(&self.shared), self.asked_by("aggregate")?);
        Some(Arc::new(ByAggregate { app, metrics }))
    }

    pub(crate) fn dp_sgd(&self) -> &DpSgd {
        &self.dp_sgd
    }

    pub(crate) fn started(&self) -> &Arc<Started> {
        self.shared.started()
    }

    pub(crate) fn works(&self, working: Working) {
        self.shared.works(working);
    }

    pub(crate) fn working(&self) -> Result<&Working, StrategyError> {
        self.shared.working()
    }
}

/// What a client keeps between trainings, and never sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The `state` of its last update that has one, in JSON; arrays stand there by name.
    form: Option<String>,
    arrays: Vec<KeptArray>,
    /// The metrics of its trainings with their rounds, for the evaluator.
    pub(crate) metrics: Vec<(u32, Vec<Found>)>,
    /// A digest of each of its updates, with the round.
    pub(crate) digests: Vec<(u32, u64)>,
}

impl Trainer for App {
    type Shard<'a> = &'a Shard;
    type ClientState = Kept;

    fn layout(&self) -> &Layout {
        &self.started().layout
    }

    fn n_samples(&self, shard: &Shard) -> u32 {
        shard.n_train
    }

    fn cost(&self, shard: &Shard, _: Round) -> f64 {
        shard.cost
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Kept> {
        // As everywhere, it answers with the model as it came.
        if task.shard.n_train == 0 {
            return Trained::model(task.parameters.to_vec());
        }
        let trained = match task.hidden_items {
            Some(hidden) => self.train_hidden(&task, hidden, Some(task.rng())),
            None => self.asked(&task),
        };
        trained.unwrap_or_else(|why| Trained::failed(task.parameters, why))
    }

    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<Kept> {
        let hidden = task.hidden_items.filter(|_| task.shard.n_train > 0);
        let trained = hidden.map(|hidden| self.train_hidden(&task, hidden, None));
        let trained = trained.unwrap_or_else(|| Ok(Trained::model(task.parameters.to_vec())));
        trained.unwrap_or_else(|why| Trained::failed(task.parameters, why))
    }
}

impl App {
    fn asked(&self, task: &Task<'_, '_, Self>) -> Result<Trained<Kept>, StrategyError> {
        let working = self.shared.working()?;
        let (client, round) = (task.shard.client, task.round().0);
        let mut request = Frame::new(
            "train",
            json!({"client": client, "shard": task.shard.shard, "round": round, "now": task.now().as_secs(), "seed": seed(task.rng())}),
        )
        .with(vec![Array::floats("params", task.parameters)]);
        Self::give_state(&mut request, task)?;
        let what = || format!("training of client {client} in round {round}");
        let failed = |trouble: Trouble| working.failure(&what(), &request, &trouble);
        let mut reply = self.answered(&request, task)?.map_err(failed)?;
        let unread = |why: &str| failed(Trouble::Pool(format!("the worker's answer cannot be read: {why}")));
        let update = reply.take("update").and_then(|update| update.as_floats());
        let update = update.filter(|update| update.len() == task.parameters.len());
        let parameters = update.ok_or_else(|| unread("it has no update of the model's length"))?;
        if let Some(at) = parameters.iter().position(|x| !x.is_finite()) {
            return Err(unread(&format!("number {at} of the update is {}", parameters[at])));
        }
        let digest = blake3::hash(bytemuck::cast_slice(&parameters));
        let digest = digest.as_bytes()[..8]
            .try_into()
            .map(u64::from_be_bytes)
            .unwrap_or_default();
        let n_samples = reply.header.get("weight").and_then(Value::as_u64);
        let found = Found::listed(&reply).ok_or_else(|| unread("its metrics are none"))?;
        let reported = |name: &String| {
            let metric = found.iter().find(|found| found.is(name));
            let metric = metric.ok_or_else(|| {
                let asks = format!("fm.Update has no metric {name}, which client selection or aggregation asks for");
                failed(Trouble::Pool(format!(
                    "{asks}; return fm.Update(..., metrics={{{name:?}: ...}})"
                )))
            })?;
            Ok(metric.number() as f32)
        };
        let metrics = task
            .metrics
            .iter()
            .map(reported)
            .collect::<Result<_, StrategyError>>()?;
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
        kept.digests.push((round, digest));
        Ok(Trained {
            n_samples: n_samples.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            kept: Some(kept),
            metrics,
            ..Trained::model(parameters)
        })
    }

    /// Puts what the client of a task has kept into a request.
    pub(crate) fn give_state<'a>(request: &mut Frame<'a>, task: &Task<'_, 'a, Self>) -> Result<(), StrategyError> {
        let Some((kept, form)) = task.kept.and_then(|kept| Some((kept, kept.form.as_ref()?))) else {
            return Ok(());
        };
        let form: Value = serde_json::from_str(form).map_err(|error| {
            let client = task.shard.client;
            StrategyError(format!("the state of client {client} cannot be read: {error}"))
        })?;
        request.header.insert("state".to_owned(), form);
        request.arrays.extend(kept.arrays.iter().map(KeptArray::as_sent));
        Ok(())
    }

    /// The answer to a client's job; of a share of them two workers' answers, which must be equal.
    pub(crate) fn answered(
        &self,
        request: &Frame<'_>,
        task: &Task<'_, '_, Self>,
    ) -> Result<Result<Frame<'static>, Trouble>, StrategyError> {
        self.shared.ask(request, || task.rng_for(CHECK))
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
