//! Client selection by an app: its `@fm.select`, asked once per round.

use crate::app::seed;
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use crate::trainer::AtWork;
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::{Candidates, ClientSelection, Known};
use serde_json::json;
use std::sync::Arc;

/// Client selection by an app.
pub(crate) struct BySelect {
    pub(crate) app: Arc<AtWork>,
    pub(crate) metrics: Vec<String>,
}

impl ClientSelection for BySelect {
    fn name(&self) -> &str {
        "@fm.select"
    }

    /// The app may select all; a round waits for those that it does select.
    fn asked(&self, n_clients: u32) -> u32 {
        n_clients
    }

    fn metrics(&self) -> &[String] {
        &self.metrics
    }

    fn select(&self, clients: &mut Candidates<'_>, rng: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        let working = self.app.working()?;
        let checking = rng.clone();
        let round = clients.round.0;
        let all: Vec<Option<&Known>> = (0..clients.n_clients).map(|id| clients.known(ClientId(id))).collect();
        let whole = |value: &dyn Fn(&Known) -> Option<i64>, missing: i64| -> Vec<i64> {
            let of = |known: &Option<&Known>| known.and_then(value).unwrap_or(missing);
            all.iter().map(of).collect()
        };
        let n_selected = whole(&|known| Some(known.n_selected.into()), 0);
        let n_answers = whole(&|known| Some(known.n_answers.into()), 0);
        let last_round = whole(&|known| known.answered.map(|round| round.0.into()), -1);
        let n_samples = whole(&|known| known.n_samples.map(i64::from), -1);
        let seconds = all.iter().map(|known| known.and_then(|known| known.seconds));
        let seconds: Vec<f64> = seconds.map(|seconds| seconds.unwrap_or(f64::NAN)).collect();
        let metric = |at: usize, known: &Option<&Known>| known.and_then(|known| known.metrics.get(at)).copied();
        let names = 0..self.metrics.len();
        let metrics: Vec<f32> = names
            .flat_map(|at| all.iter().map(move |known| metric(at, known).unwrap_or(f32::NAN)))
            .collect();
        let n = all.len();
        let request = Frame::new("select", json!({"round": round, "seed": seed(rng)})).with(vec![
            Array::numbers("n_selected", "int64", vec![n], &n_selected),
            Array::numbers("n_answers", "int64", vec![n], &n_answers),
            Array::numbers("last_round", "int64", vec![n], &last_round),
            Array::numbers("n_samples", "int64", vec![n], &n_samples),
            Array::numbers("seconds", "float64", vec![n], &seconds),
            Array::numbers("metrics", "float32", vec![self.metrics.len(), n], &metrics),
        ]);
        let failed = |trouble: Trouble| working.failure(&format!("@fm.select in round {round}"), &request, &trouble);
        let mut reply = self.app.ask(&request, || checking)?.map_err(failed)?;
        let ids = reply.take("ids").filter(|ids| ids.dtype == "int64");
        let ids = ids.ok_or_else(|| failed(Trouble::Pool("the worker's answer has no ids".to_owned())))?;
        let each = ids.bytes.chunks_exact(8);
        let id = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        let id = |bytes: &[u8]| ClientId(u32::try_from(id(bytes)).unwrap_or(u32::MAX));
        Ok(each.map(id).collect())
    }
}
