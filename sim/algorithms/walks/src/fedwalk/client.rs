//! A device's side: counting neighbours with noise, keeping what the server publishes, and passing
//! walks on.

use super::clustering::Published;
use super::dictionary::Dictionary;
use super::message::Walk;
use super::options::Curious;
use super::walking::Held;
use super::{Done, Down, FedWalk, PACKING, Peer, Rows, Up, Work, mechanism};
use crate::node_embedding::OwnVertex;
use folkmoot_draws::unit;
use folkmoot_engine::prelude::*;
use folkmoot_learning::skip_gram::Corpus;
use folkmoot_privacy::{Laplace, Mechanism, NoiseForm, NoisyCounts, PrivacyCost, ReleaseError, Values};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A device's state: what it was sent, and the walks that wait here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    #[serde(with = "shared")]
    pub(super) plan: Option<Arc<[u8]>>,
    #[serde(with = "shared")]
    pub(super) dictionary: Option<Arc<Dictionary>>,
    #[serde(with = "shared")]
    pub(super) published: Option<Arc<Published>>,
    /// The message of phase A5 has come, whatever was in it.
    pub(super) has_tree: bool,
    /// The rows of the matrix that the server sent on request, ascending.
    pub(super) rows: Vec<u32>,
    /// The rows that the server was asked for, ascending.
    pub(super) requested: Vec<u32>,
    pub(super) waiting: Vec<Held>,
    /// The first entry of each walk that began here: what an observer reads who knows where walks
    /// begin.
    pub(super) first_entries: Vec<u32>,
    /// What a curious device makes of each walk that it was sent: vertices of which each is a
    /// neighbour of the next, as far as nothing was encoded or predicted.
    pub(super) heard: Option<Box<Corpus>>,
}

const CURIOUS: Purpose = Purpose(*b"fw-curio");

pub(super) type Cx<'a, 'b> = &'a mut ClientContext<'b, FedWalk>;

impl Client {
    pub(super) fn new(system: &FedWalk, own: OwnVertex<'_>, setup: &Setup<'_>) -> Self {
        let is_curious = match system.params.curious {
            Curious::Nobody => false,
            Curious::Share { share } => {
                let mut rng = setup.rng(CURIOUS);
                rng.set_stream(u64::from(own.vertex()));
                unit(&mut rng) < share
            }
            Curious::Hubs { degree } => own.neighbours().len() >= degree as usize,
        };
        Client {
            heard: is_curious.then(Box::default),
            ..Client::default()
        }
    }

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
            ClientEvent::Message(Down::PackedDictionary(dictionary)) => {
                self.keep_dictionary(system, own, dictionary.content, cx)
            }
            ClientEvent::Message(Down::TreeAndMatrix(published)) => {
                self.published = published.content;
                self.has_tree = true;
                if system.params.rows == Rows::Neighbours && system.params.m_upload && !own.neighbours().is_empty() {
                    self.requested = own.neighbours().to_vec();
                    let wanted = cx.unprotected(mechanism::REQUEST, own.neighbours().into());
                    cx.send(Up::RowsWanted(wanted));
                }
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
            ClientEvent::Message(Down::Rows(_)) => {
                // They are those of the neighbours, the only ones that are asked for in this way.
                self.rows.extend_from_slice(own.neighbours());
                self.rows.sort_unstable();
                self.resume(system, own, cx)
            }
            ClientEvent::Peer {
                from,
                message: Peer::Walk(walk),
            } => {
                if let Some(heard) = &mut self.heard {
                    heard.push(told(own.neighbours(), from.0, &walk.sequence));
                }
                self.take_up(system, own, Held::arrived(walk, cx.round()), cx)
            }
            ClientEvent::Done(Done::Matrix(matrix)) => {
                let noise = system
                    .params
                    .epsilon_matrix
                    .map(|epsilon| Laplace::for_epsilon(epsilon, 1.0));
                let noise = noise.transpose().map_err(|error| StrategyError(error.to_string()))?;
                let matrix = cx.release(mechanism::MATRIX, &MatrixNoise(noise), &matrix)?;
                cx.send(Up::OrderedMatrix(system.pack(&matrix, &mut cx.rng(PACKING))));
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
        let noise = noise
            .map_err(|error| StrategyError(error.to_string()))?
            .of_whole_numbers();
        let counts = system.counts(own.neighbours(), &plan);
        let noisy = cx.release(mechanism::DEGREES, &noise, &counts)?;
        self.plan = Some(plan);
        let noisy: Box<[f32]> = noisy.into_iter().map(|count| count as f32).collect();
        cx.send(Up::DegreeVector(system.pack(&noisy, &mut cx.rng(PACKING))));
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

/// What a walk with these entries, come from `from`, tells its holder. The last entry is the
/// holder. The one before stands for the sender if that is a neighbour; if not, the sender has
/// predicted the holder from the entry before, its neighbour, and the one before that stands for
/// it. Whatever an entry was encoded to, the sender is known.
fn told(neighbours: &[u32], from: u32, entries: &[u32]) -> Vec<u32> {
    let (_, before) = entries.split_last().unwrap_or((&0, &[]));
    let is_neighbour = neighbours.binary_search(&from).is_ok();
    let n_after = usize::from(!is_neighbour).min(before.len());
    let (before, after) = before.split_at(before.len() - n_after);
    let (_, before) = before.split_last().unwrap_or((&0, &[]));
    [before, &[from], after].concat()
}

/// An uploaded matrix with noise on every entry, if any. It bounds nothing: whatever the noise, the
/// number of rows is the number of neighbours.
struct MatrixNoise(Option<Laplace>);

impl Mechanism for MatrixNoise {
    type Input = Box<[f32]>;
    type Release = Box<[f32]>;

    /// Draws for each entry, in order, if there is noise; in floating point one `u64`.
    fn release_in(&self, form: NoiseForm, matrix: &Box<[f32]>, rng: &mut SimRng) -> Result<Box<[f32]>, ReleaseError> {
        let Some(noise) = self.0 else {
            return Ok(matrix.clone());
        };
        let (n, sensitivity) = (matrix.len(), f64::INFINITY);
        let noise = noise.noise(form, Values::Real { n, sensitivity })?;
        let values: Vec<f64> = matrix.iter().map(|x| f64::from(*x)).collect();
        Ok(noise.add_to(&values, rng)?.into_iter().map(|x| x as f32).collect())
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost::UNPROTECTED
    }
}

/// log2 of a row count for the cost of sorting, 0 for none.
fn floor_log2(rows: f64) -> f64 {
    f64::from((rows as u64).checked_ilog2().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_tells_its_holder_of_the_sender_in_clear() {
        // 4 is a neighbour, so 6 is what 4 was encoded to; 5 is none, has predicted the holder from
        // 6, and 2 is what 5 was encoded to.
        assert_eq!(told(&[4, 8], 4, &[1, 2, 6, 9]), [1, 2, 4]);
        assert_eq!(told(&[4, 8], 5, &[1, 2, 6, 9]), [1, 5, 6]);
        // Of a walk's first message, and of its first when two vertices were appended.
        assert_eq!(told(&[4, 8], 4, &[9]), [4]);
        assert_eq!(told(&[4, 8], 5, &[6, 9]), [5, 6]);
        assert_eq!(told(&[4, 8], 5, &[9]), [5]);
    }
}
