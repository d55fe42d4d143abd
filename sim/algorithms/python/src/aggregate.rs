//! Aggregation by an app: its `@fm.aggregate` instead of the card's aggregator.

use crate::app::seed;
use crate::kept::KeptState;
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use crate::trainer::AtWork;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{Aggregating, Aggregator};
use serde_json::json;
use std::sync::Arc;

/// Aggregation by an app.
pub(crate) struct ByAggregate {
    pub(crate) app: Arc<AtWork>,
    pub(crate) metrics: Vec<String>,
}

impl Aggregator for ByAggregate {
    fn name(&self) -> &str {
        "@fm.aggregate"
    }

    fn metrics(&self) -> &[String] {
        &self.metrics
    }

    fn aggregate(&self, of: Aggregating<'_>, state: &mut Vec<u8>) -> Result<Vec<f32>, StrategyError> {
        let working = self.app.working()?;
        let kept = KeptState::read(state)?;
        let checking = of.rng.clone();
        let (round, n) = (of.round.0, of.updates.len());
        let clients: Vec<u32> = of.updates.iter().map(|update| update.client.0).collect();
        let staleness: Vec<u32> = of.updates.iter().map(|update| update.staleness).collect();
        let weights: Vec<f64> = of.updates.iter().map(|update| update.weight).collect();
        let metrics: Vec<f32> = of.updates.iter().flat_map(|update| update.metrics.clone()).collect();
        let rows: Vec<f32> = of
            .updates
            .iter()
            .flat_map(|update| update.values.iter().copied())
            .collect();
        let request = json!({"round": round, "seed": seed(of.rng), "clients": clients, "staleness": staleness});
        let mut request = Frame::new("aggregate", request).with(vec![
            Array::floats("params", of.model),
            Array::numbers("updates", "float32", vec![n, of.model.len()], &rows),
            Array::numbers("weights", "float64", vec![n], &weights),
            Array::numbers("metrics", "float32", vec![n, self.metrics.len()], &metrics),
        ]);
        kept.put("state", &mut request)?;
        let failed = |trouble: Trouble| working.failure(&format!("@fm.aggregate in round {round}"), &request, &trouble);
        let mut reply = self.app.ask(&request, || checking)?.map_err(failed)?;
        let model = reply.take("model").and_then(|model| model.as_floats());
        let model = model.filter(|model| model.len() == of.model.len());
        let model = model.ok_or_else(|| {
            failed(Trouble::Pool(
                "the worker's answer has no model of the right length".to_owned(),
            ))
        })?;
        if let Some(kept) = KeptState::taken("state", &mut reply) {
            *state = kept.written();
        }
        Ok(model)
    }
}
