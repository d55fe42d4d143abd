//! A device's side: counting neighbours with noise, keeping what the server publishes, and passing walks on.

use super::clustering::Published;
use super::dictionary::Dictionary;
use super::message::Walk;
use super::walking::Held;
use super::{Done, Down, FedWalk, Peer, Up, Work, mechanism};
use crate::node_embedding::OwnVertex;
use folkmoot_engine::prelude::*;
use folkmoot_privacy::{Laplace, Mechanism, NoisyCounts, PrivacyCost, ReleaseError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A device's state: what it was sent, and the walks that wait here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    pub(super) plan: Option<Arc<[u8]>>,
    pub(super) dictionary: Option<Arc<Dictionary>>,
    pub(super) published: Option<Arc<Published>>,
    /// The message of phase A5 has come, whatever was in it.
    pub(super) has_tree: bool,
    /// The rows of the matrix that the server sent on request, ascending.
    pub(super) rows: Vec<u32>,
    /// The rows that the server was asked for, ascending.
    pub(super) requested: Vec<u32>,
    pub(super) waiting: Vec<Held>,
    /// The first entry of each walk that began here: what an observer reads who knows where walks begin.
    pub(super) first_entries: Vec<u32>,
}

pub(super) type Cx<'a, 'b> = &'a mut ClientContext<'b, FedWalk>;

impl Client {
    pub(super) fn handle(
        &mut self,
        system: &FedWalk,
        own: OwnVertex<'_>,
        event: ClientEvent<FedWalk>,
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Message(Down::GroupPlan(plan)) => self.count_neighbours(system, own, plan, cx),
            ClientEvent::Message(Down::Dictionary(dictionary)) => self.keep_dictionary(system, own, dictionary, cx),
            ClientEvent::Message(Down::TreeAndMatrix(published)) => {
                self.published = published.content;
                self.has_tree = true;
                self.resume(system, own, cx)
            }
            ClientEvent::Message(Down::Start(budget)) => {
                let held = Held::started(system, budget, own.vertex(), cx.round());
                self.take_up(system, own, held, cx)
            }
            ClientEvent::Message(Down::Row(row)) => {
                if let Err(at) = self.rows.binary_search(&row.content) {
                    self.rows.insert(at, row.content);
                }
                self.resume(system, own, cx)
            }
            ClientEvent::Peer {
                message: Peer::Walk(walk),
                ..
            } => self.take_up(system, own, Held::arrived(walk, cx.round()), cx),
            ClientEvent::Done(Done::Matrix(matrix)) => {
                let noise = system
                    .params
                    .epsilon_matrix
                    .map(|epsilon| Laplace::for_epsilon(epsilon, 1.0));
                let noise = noise.transpose().map_err(|error| StrategyError(error.to_string()))?;
                let matrix = cx.release(mechanism::MATRIX, &MatrixNoise(noise), &matrix)?;
                cx.send(Up::OrderedMatrix(matrix));
                Ok(())
            }
            ClientEvent::UndeliveredPeer {
                message: Peer::Walk(walk),
                note: tries,
                ..
            } => self.reroute(system, own, (walk, tries), cx),
            ClientEvent::Start | ClientEvent::Done(_) | ClientEvent::Timer(_) | ClientEvent::Undelivered { .. } => {
                Ok(())
            }
        }
    }

    /// A2: neighbours per bin, each count with Laplace noise of scale 1/epsilon.
    fn count_neighbours(
        &mut self,
        system: &FedWalk,
        own: OwnVertex<'_>,
        plan: Arc<[u8]>,
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        let noise = NoisyCounts::new(system.params.epsilon_degree, 1.0, "one neighbour");
        let noise = noise.map_err(|error| StrategyError(error.to_string()))?;
        let counts = system.counts(own.neighbours(), &plan);
        let noisy = cx.release(mechanism::DEGREES, &noise, &counts)?;
        self.plan = Some(plan);
        cx.send(Up::DegreeVector(noisy.into_iter().map(|count| count as f32).collect()));
        Ok(())
    }

    /// A3: with it a device knows what its own matrix must be.
    fn keep_dictionary(
        &mut self,
        system: &FedWalk,
        own: OwnVertex<'_>,
        dictionary: Arc<Dictionary>,
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        self.dictionary = Some(Arc::clone(&dictionary));
        if system.params.m_upload {
            let rows = own.neighbours().len() as f64;
            let cost = rows * (system.n_bins as f64 + floor_log2(rows));
            cx.compute(Work::BuildMatrix { dictionary }, cost);
        }
        // It may be the last thing that a walk waited for.
        self.resume(system, own, cx)
    }

    /// Sends a walk on; `tries` is how often this hop was tried before.
    pub(super) fn send_on(walk: Walk, to: u32, tries: u32, cx: Cx<'_, '_>) {
        cx.send_peer_noted(ClientId(to), Peer::Walk(walk), tries);
    }
}

/// An uploaded matrix with noise on every entry, if any. It bounds nothing: whatever the noise, the number of rows is the number of
/// neighbours.
struct MatrixNoise(Option<Laplace>);

impl Mechanism for MatrixNoise {
    type Input = Box<[f32]>;
    type Release = Box<[f32]>;

    /// Draws one `u64` for each entry, in order, if there is noise.
    fn release(&self, matrix: &Box<[f32]>, rng: &mut SimRng) -> Result<Box<[f32]>, ReleaseError> {
        let mut matrix = matrix.clone();
        if let Some(noise) = self.0 {
            let add = |x: &mut f32| *x = (f64::from(*x) + noise.sample(rng)) as f32;
            matrix.iter_mut().for_each(add);
        }
        Ok(matrix)
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost::UNPROTECTED
    }
}

/// log2 of a row count for the cost of sorting, 0 for none.
fn floor_log2(rows: f64) -> f64 {
    f64::from((rows as u64).checked_ilog2().unwrap_or(0))
}
