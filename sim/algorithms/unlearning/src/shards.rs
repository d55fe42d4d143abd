//! Groups of clients with a model each.

use crate::plan::Plan;
use crate::{ServerState, UnlearningMethod};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_rounds::OwnModel;
use std::collections::BTreeMap;
use std::sync::Arc;

/// SISA: clients are in groups, and each group has a model of its own, which federated averaging
/// trains among its clients. The models answer together, by the mean of their probabilities. After
/// the request only the groups of affected clients are trained again, from the initial model and
/// without the data, for as many rounds as before: their models, and so all, are those of a run
/// that never had the data.
///
/// L. Bourtoule et al. Machine Unlearning. IEEE S&P 2021, section IV: sharding and aggregation.
/// <https://arxiv.org/abs/1912.03817>
///
/// Deviations from the paper: a shard is a group of clients, and its data are not sliced.
/// `model_distance` is absent: several models have no distance to one. The server stores one model
/// for each group in place of one.
#[component(
    name = "Shards",
    about = "SISA: groups of clients with a model each, of which the affected are retrained (Bourtoule et al. 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Shards {
    /// Number of groups; client `k` is in group `k` modulo this number.
    #[component(default = 2, in = 2..=1_000)]
    pub groups: u32,
}

impl UnlearningMethod for Shards {
    fn n_rounds(&self, trained: u32) -> u32 {
        trained
    }

    fn n_models(&self) -> u32 {
        self.groups
    }

    fn takes_part(&self, _: u32, client: u32, plan: &Plan) -> bool {
        plan.stays(client) && plan.is_group_affected(client)
    }

    fn begin(
        &self,
        plan: &Plan,
        (state, _): (&ServerState, &[f32]),
        own: &mut BTreeMap<u32, OwnModel>,
    ) -> Result<Option<Vec<f32>>, StrategyError> {
        let initial = state.initial.clone().into();
        for client in (0..plan.n_clients()).filter(|client| plan.is_group_affected(*client)) {
            own.insert(client, OwnModel(Arc::clone(&initial)));
        }
        Ok(None)
    }
}
