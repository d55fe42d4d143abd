//! Exact unlearning.

use crate::plan::Plan;
use crate::{ServerState, UnlearningMethod};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_rounds::OwnModel;
use std::collections::BTreeMap;

/// Training starts again from the initial model, without the data, for as many rounds as before.
/// The model is that of a run that never had the data, to the bit. Streams are named by their
/// round, so small batches and dropouts are drawn anew.
#[component(name = "Retrain", about = "exact: training from the initial model without the data")]
#[derive(Clone, Copy, Debug)]
pub struct Retrain {}

impl UnlearningMethod for Retrain {
    fn n_rounds(&self, trained: u32) -> u32 {
        trained
    }

    fn begin(
        &self,
        _: &Plan,
        (state, _): (&ServerState, &[f32]),
        _: &mut BTreeMap<u32, OwnModel>,
    ) -> Result<Option<Vec<f32>>, StrategyError> {
        Ok(Some(state.initial.clone()))
    }
}
