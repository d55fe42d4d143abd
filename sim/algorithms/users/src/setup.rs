//! From settings and a data set to a run of [`LocalGnn`]: checks, public facts, and the data of
//! each user.

use crate::evaluator::Worth;
use crate::local_gnn::{Facts, LocalGnn, Server};
use crate::settings::Params;
use crate::users::{User, Users};
use folkmoot_engine::prelude::*;
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of, without_weights};
use serde_bytes::ByteBuf;
use std::sync::Arc;

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = LocalGnn;

    fn about(&self) -> About {
        About {
            rounds: Some(1),
            lints: Params::lints(self),
            terms: crate::terms::TERMS.to_vec(),
            split: Some(split_of(&self.split, "all users with a class")),
            headline: &["test_accuracy", "link_auc", "edge_epsilon", "payload_bytes"],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let (dataset, refuse) = (source.dataset, |why: String| Err(StrategyError(why)));
        if dataset.is_graph_level() || dataset.graphs.len() != 1 || dataset.graph().is_directed() {
            return refuse(format!(
                "needs one undirected graph whose nodes are users, and {} is none; choose another data set",
                dataset.name
            ));
        }
        without_weights(dataset)?;
        let Some(features) = &dataset.features else {
            return refuse(format!(
                "{} has no features; choose a set with some, such as ContextualSbm() or Planetoid",
                dataset.name
            ));
        };
        let Some(labels) = dataset.node_labels.as_ref().filter(|labels| !labels.is_multi_label()) else {
            return refuse(format!(
                "needs one class for a node, and {} has none or several; choose another data set",
                dataset.name
            ));
        };
        let (n_users, n_clients) = (dataset.n_nodes() as u32, source.n_clients());
        if n_clients != n_users {
            return refuse(format!(
                "needs one client per node, {n_users}; got {n_clients} (use partition: NodePerClient)"
            ));
        }
        if n_users < 3 || labels.n_classes() < 2 || features.n_columns() == 0 {
            return refuse("needs at least 3 users, 2 classes and a feature".to_owned());
        }
        Ok(Facts {
            n_users,
            n_features: features.n_columns() as u32,
            n_classes: labels.n_classes() as u32,
        })
    }

    fn build(&self, facts: &Facts) -> Result<LocalGnn, StrategyError> {
        let named = |field: &str| {
            let field = field.to_owned();
            move |StrategyError(why)| StrategyError(format!("{field}.{why}"))
        };
        self.features
            .suits(facts.n_features as usize)
            .map_err(named("features"))?;
        self.edges.suits(facts.n_users).map_err(named("edges"))?;
        Ok(LocalGnn {
            params: self.clone(),
            facts: *facts,
        })
    }

    fn share(&self, _: &Facts, _: &LocalGnn, source: &Source<'_>) -> Result<Shared<LocalGnn>, StrategyError> {
        let users = Arc::new(Users::new(self, source));
        Ok(Shared {
            shards: Box::new(Arc::clone(&users)),
            evaluator: Box::new(Worth(users)),
        })
    }
}

impl Shards<LocalGnn> for Arc<Users> {
    fn n_clients(&self) -> u32 {
        self.roles.len() as u32
    }

    fn shard(&self, client: ClientId) -> User<'_> {
        self.user(client.0)
    }

    fn size(&self, _: ClientId) -> u64 {
        1
    }

    fn trusted(&self) -> Option<&'static str> {
        self.knows_edges
            .then_some("tells the server all edges, as the owner of a network knows them")
    }

    fn prepare(&self, _: &LocalGnn, server: &mut Server, _: &Setup<'_>) {
        if !self.knows_edges {
            return;
        }
        for node in 0..self.roles.len() as u32 {
            let mut list = Vec::new();
            put_u32s(&mut list, self.dataset.graph().neighbours(node));
            server.know_edges(node, ByteBuf::from(list));
        }
    }
}
