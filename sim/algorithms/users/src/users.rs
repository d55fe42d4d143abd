//! Who holds what: each user one node of the data set.

use crate::settings::Params;
use folkmoot_draws::shuffle;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Dataset;
use folkmoot_scenarios::algorithm::Source;
use std::sync::Arc;

const SPLIT: Purpose = Purpose(*b"us-split");

/// What a user's class is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is told: to train, or to validate.
    Tells,
    /// It is never told, and asked for at the end.
    Tests,
    /// The user has none.
    Nothing,
}

pub struct Users {
    pub(crate) dataset: Arc<Dataset>,
    pub(crate) roles: Vec<Role>,
    range: (f64, f64),
    /// Whether the server knows all edges from the start.
    pub(crate) knows_edges: bool,
}

/// One user: its features, its class if it is to be told, and its neighbours.
#[derive(Clone, Copy)]
pub struct User<'a> {
    users: &'a Users,
    node: u32,
}

impl Users {
    /// Draws who tells its class.
    pub(crate) fn new(params: &Params, source: &Source<'_>) -> Users {
        let dataset = source.dataset;
        let class = |node: &u32| dataset.node_labels.as_ref().and_then(|labels| labels.single(*node));
        let n = dataset.n_nodes() as u32;
        let mut labelled: Vec<u32> = (0..n).filter(|node| class(node).is_some()).collect();
        shuffle(&mut source.streams.global(SPLIT), &mut labelled);
        let told = ((params.split.train + params.split.validation) * labelled.len() as f64).round() as usize;
        let mut roles = vec![Role::Nothing; n as usize];
        for (at, node) in labelled.into_iter().enumerate() {
            roles[node as usize] = if at < told.max(1) { Role::Tells } else { Role::Tests };
        }
        Users {
            dataset: Arc::clone(dataset),
            roles,
            range: params.range,
            knows_edges: params.edges.n_lists() == 0,
        }
    }

    /// The user at `node`.
    pub(crate) fn user(&self, node: u32) -> User<'_> {
        User { users: self, node }
    }

    /// The class of each user, told or not.
    pub(crate) fn class(&self, node: u32) -> Option<u32> {
        self.dataset.node_labels.as_ref()?.single(node)
    }

    /// The middle of the public range: a feature above it is one that a user has.
    pub(crate) fn middle(&self) -> f64 {
        0.5 * (self.range.0 + self.range.1)
    }

    /// The features of a user within the public range, and how many were moved there.
    pub(crate) fn features(&self, node: u32) -> (Vec<f64>, u64) {
        let features = self.dataset.features.as_ref();
        let mut row = vec![0.0; features.map_or(0, |features| features.n_columns())];
        if let Some(features) = features {
            features.write_row(node, &mut row);
        }
        let (low, high) = self.range;
        let mut moved = 0;
        let within = |x: f32| {
            let x = f64::from(x);
            moved += u64::from(!(low..=high).contains(&x));
            x.clamp(low, high)
        };
        (row.into_iter().map(within).collect(), moved)
    }
}

impl<'a> User<'a> {
    /// Its features within the public range, and how many were moved there.
    pub fn features(self) -> (Vec<f64>, u64) {
        self.users.features(self.node)
    }

    /// Its class, if it is to tell one.
    pub fn label(self) -> Option<u32> {
        match self.users.roles[self.node as usize] {
            Role::Tells => self.users.class(self.node),
            Role::Tests | Role::Nothing => None,
        }
    }

    pub fn neighbours(self) -> &'a [u32] {
        self.users.dataset.graph().neighbours(self.node)
    }
}
