//! A device's side: counting neighbours with noise, keeping what the server publishes, and passing walks on.

use super::clustering::Published;
use super::dictionary::Dictionary;
use super::walking::Held;
use super::{Done, FedWalk, Message, Work, mechanism};
use folkmoot_draws::Purpose;
use folkmoot_engine::prelude::*;
use folkmoot_privacy::Laplace;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const NOISE: Purpose = Purpose(*b"fw-noise");
const MATRIX_NOISE: Purpose = Purpose(*b"fw-matrx");

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

pub(super) type Cx<'a, 'b, 'c> = &'a mut Context<'b, 'c, FedWalk>;

impl Client {
    pub(super) fn handle(
        &mut self,
        system: &FedWalk,
        event: Event<FedWalk>,
        cx: Cx<'_, '_, '_>,
    ) -> Result<(), StrategyError> {
        let Party::Client(me) = cx.me() else { return Ok(()) };
        match event {
            Event::Message { message, .. } => match message {
                Message::GroupPlan(plan) => self.count_neighbours(system, me.0, plan, cx)?,
                Message::Dictionary(dictionary) => self.keep_dictionary(system, me.0, dictionary, cx),
                Message::TreeAndMatrix { published, .. } => {
                    self.published = published;
                    self.has_tree = true;
                    self.resume(system, cx);
                }
                Message::Start(budget) => self.take_up(system, Held::started(system, budget, me.0, cx.round()), cx),
                Message::Walk(walk) => self.take_up(system, Held::arrived(walk, cx.round()), cx),
                Message::Row { vertex, .. } => {
                    if let Err(at) = self.rows.binary_search(&vertex) {
                        self.rows.insert(at, vertex);
                    }
                    self.resume(system, cx);
                }
                Message::DegreeVector(_)
                | Message::OrderedMatrix(_)
                | Message::Sequence(_)
                | Message::RowRequest(_) => {
                    return Err(StrategyError(
                        "a device got a message that is for the server".to_owned(),
                    ));
                }
            },
            Event::Done(Done::Matrix(mut matrix)) => {
                if let Some(epsilon) = system.params.epsilon_matrix {
                    let noise = laplace(epsilon)?;
                    let mut rng = cx.rng(MATRIX_NOISE);
                    let add = |x: &mut f32| *x = (f64::from(*x) + noise.sample(&mut rng)) as f32;
                    matrix.iter_mut().for_each(add);
                }
                // Whatever the noise, the number of rows is the number of neighbours.
                cx.spend(mechanism::MATRIX, f64::INFINITY);
                cx.send(Party::Server, Message::OrderedMatrix(matrix));
            }
            Event::Undelivered {
                message: Message::Walk(walk),
                ..
            } => self.reroute(system, walk, cx),
            _ => {}
        }
        Ok(())
    }

    /// A2: neighbours per bin, each count with Laplace noise of scale 1/epsilon.
    fn count_neighbours(
        &mut self,
        system: &FedWalk,
        me: u32,
        plan: Arc<[u8]>,
        cx: Cx<'_, '_, '_>,
    ) -> Result<(), StrategyError> {
        let epsilon = system.params.epsilon_degree;
        let noise = laplace(epsilon)?;
        let mut rng = cx.rng(NOISE);
        let counts = system.counts(me, &plan);
        let noisy = counts
            .iter()
            .map(|count| (count + noise.sample(&mut rng)) as f32)
            .collect();
        self.plan = Some(plan);
        cx.spend(mechanism::DEGREES, epsilon);
        cx.send(Party::Server, Message::DegreeVector(noisy));
        Ok(())
    }

    /// A3: with it a device knows what its own matrix must be.
    fn keep_dictionary(&mut self, system: &FedWalk, me: u32, dictionary: Arc<Dictionary>, cx: Cx<'_, '_, '_>) {
        self.dictionary = Some(Arc::clone(&dictionary));
        if system.params.m_upload {
            let rows = system.neighbours(me).len() as f64;
            let cost = rows * (system.n_bins as f64 + floor_log2(rows));
            cx.compute(Work::BuildMatrix { dictionary, vertex: me }, cost);
        }
        // It may be the last thing that a walk waited for.
        self.resume(system, cx);
    }
}

fn laplace(epsilon: f64) -> Result<Laplace, StrategyError> {
    Laplace::for_epsilon(epsilon, 1.0).map_err(|error| StrategyError(error.to_string()))
}

/// log2 of a row count for the cost of sorting, 0 for none.
fn floor_log2(rows: f64) -> f64 {
    f64::from((rows as u64).checked_ilog2().unwrap_or(0))
}
