//! A device's side: counting neighbours with noise, and passing walks on.

use super::clustering::Published;
use super::dictionary::Dictionary;
use super::message::{Budget, Walk};
use super::{Absent, Done, FedWalk, Message, Pool, SelfHop, Work, counter};
use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
use folkmoot_privacy::Laplace;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const NOISE: Purpose = Purpose(*b"fw-noise");
const HOP: Purpose = Purpose(*b"fw-hop  ");
const REROUTE: Purpose = Purpose(*b"fw-again");

/// A device's state: what it was sent in phase A.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    plan: Option<Arc<[u8]>>,
    dictionary: Option<Arc<Dictionary>>,
    published: Option<Arc<Published>>,
}

type Cx<'a, 'b, 'c> = &'a mut Context<'b, 'c, FedWalk>;

impl Client {
    pub(super) fn handle(
        &mut self,
        system: &FedWalk,
        event: Event<FedWalk>,
        cx: Cx<'_, '_, '_>,
    ) -> Result<(), StrategyError> {
        let Party::Client(me) = cx.me() else { return Ok(()) };
        let neighbours = system.neighbours(me.0);
        match event {
            Event::Message { message, .. } => match message {
                Message::GroupPlan(plan) => self.count_neighbours(system, neighbours, plan, cx)?,
                Message::Dictionary(dictionary) => {
                    self.dictionary = Some(Arc::clone(&dictionary));
                    if system.params.m_upload {
                        let rows = neighbours.len() as f64;
                        let cost = rows * (system.n_bins as f64 + floor_log2(rows));
                        cx.compute(
                            Work::BuildMatrix {
                                dictionary,
                                vertex: me.0,
                            },
                            cost,
                        );
                    }
                }
                Message::Start(budget) => {
                    let mut sequence = Vec::with_capacity(budget.left as usize + 1);
                    if system.params.prepend_start {
                        sequence.push(me.0);
                    }
                    self.walk(system, neighbours, budget, sequence, cx);
                }
                Message::Walk(walk) => self.walk(system, neighbours, walk.budget, walk.sequence, cx),
                Message::TreeAndMatrix { published, .. } => self.published = published,
                Message::DegreeVector(_) | Message::OrderedMatrix(_) | Message::Sequence(_) => {
                    return Err(StrategyError(
                        "a device got a message that is for the server".to_owned(),
                    ));
                }
            },
            Event::Done(Done::Matrix(matrix)) => {
                cx.spend(1, f64::INFINITY);
                cx.send(Party::Server, Message::OrderedMatrix(matrix));
            }
            Event::Undelivered {
                message: Message::Walk(walk),
                ..
            } => reroute(system, neighbours, walk, cx),
            _ => {}
        }
        Ok(())
    }

    /// A2: neighbours per bin, each count with Laplace noise of scale 1/epsilon.
    fn count_neighbours(
        &mut self,
        system: &FedWalk,
        neighbours: &[u32],
        plan: Arc<[u8]>,
        cx: Cx<'_, '_, '_>,
    ) -> Result<(), StrategyError> {
        let epsilon = system.params.epsilon_degree;
        let noise = Laplace::for_epsilon(epsilon, 1.0).map_err(|error| StrategyError(error.to_string()))?;
        let mut counts = vec![0.0; system.n_bins];
        for &v in neighbours {
            counts[usize::from(plan[v as usize])] += 1.0;
        }
        let mut rng = cx.rng(NOISE);
        let noisy = counts
            .iter()
            .map(|count| (count + noise.sample(&mut rng)) as f32)
            .collect();
        self.plan = Some(plan);
        cx.spend(0, epsilon);
        cx.send(Party::Server, Message::DegreeVector(noisy));
        Ok(())
    }

    /// Phase B, steps 1 to 4, at the device that holds the walk.
    fn walk(
        &self,
        system: &FedWalk,
        neighbours: &[u32],
        mut budget: Budget,
        mut sequence: Vec<u32>,
        cx: Cx<'_, '_, '_>,
    ) {
        let mut rng = cx.rng(HOP);
        loop {
            if neighbours.is_empty() {
                cx.send(Party::Server, Message::Sequence(sequence));
                return;
            }
            let u = neighbours[rng::index(&mut rng, neighbours.len())];
            sequence.push(u);
            cx.spend(2, f64::INFINITY);
            if budget.left <= 1 {
                cx.send(Party::Server, Message::Sequence(sequence));
                return;
            }
            let predicts = budget.left > 2 && rng::unit(&mut rng) < f64::from(budget.predictor_prob);
            let Some(next) = predicts.then(|| self.predict(system, u, &mut rng, cx)).flatten() else {
                budget.left -= 1;
                cx.send(
                    client(u),
                    Message::Walk(Walk {
                        budget,
                        sequence,
                        tries: 0,
                    }),
                );
                return;
            };
            sequence.push(if system.params.literal_line27 { u } else { next });
            cx.spend(2, f64::INFINITY);
            budget.left -= 2;
            let to = client(next);
            if to == cx.me() {
                cx.count(counter::SELF_HOPS, 1);
                if system.params.self_hop == SelfHop::Free {
                    continue;
                }
            }
            cx.send(
                to,
                Message::Walk(Walk {
                    budget,
                    sequence,
                    tries: 0,
                }),
            );
            return;
        }
    }

    /// A vertex of `u`'s pool; none when the pool is empty or this device does not know what it takes to tell.
    fn predict(&self, system: &FedWalk, u: u32, rng: &mut SimRng, cx: Cx<'_, '_, '_>) -> Option<u32> {
        // A dry run makes no tree: its pools are as large, and that is what messages depend on.
        let kind = if cx.dry_run() { Pool::Vector } else { system.params.pool };
        let pool = match (kind, &self.plan, &self.dictionary, &self.published) {
            (Pool::Vector, Some(plan), Some(dictionary), _) => dictionary.pool(u, plan),
            (kind, Some(plan), Some(dictionary), Some(published)) => published.pool(u, plan, dictionary, kind),
            _ => &[],
        };
        let (counter, next) = match pool.is_empty() {
            true => (counter::EMPTY_POOLS, None),
            false => (counter::PREDICTED_HOPS, Some(pool[rng::index(rng, pool.len())])),
        };
        cx.count(counter, 1);
        if let Some(next) = next {
            // Seen from above, for the score alone: no device knows whose neighbour a predicted vertex is.
            cx.count(counter::HITS, u64::from(system.are_neighbours(u, next)));
        }
        next
    }
}

/// The next holder is away: another neighbour of the sender's takes the place of the last entry.
fn reroute(system: &FedWalk, neighbours: &[u32], mut walk: Walk, cx: Cx<'_, '_, '_>) {
    let Absent::Reroute { tries, .. } = system.params.absent else {
        return;
    };
    if walk.tries >= tries || neighbours.is_empty() {
        cx.count(counter::GIVEN_UP, 1);
        return;
    }
    let u = neighbours[rng::index(&mut cx.rng(REROUTE), neighbours.len())];
    walk.sequence.pop();
    walk.sequence.push(u);
    walk.tries += 1;
    cx.count(counter::REROUTED, 1);
    cx.spend(2, f64::INFINITY);
    cx.send(client(u), Message::Walk(walk));
}

fn client(vertex: u32) -> Party {
    Party::Client(ClientId(vertex))
}

/// log2 of a row count for the cost of sorting, 0 for none.
fn floor_log2(rows: f64) -> f64 {
    f64::from((rows as u64).checked_ilog2().unwrap_or(0))
}
