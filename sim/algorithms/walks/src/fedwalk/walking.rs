//! Phase B at a device: choosing, encoding and predicting, and waiting for what that takes.

use super::client::{Client, Cx};
use super::clustering::Published;
use super::dictionary::Dictionary;
use super::encoder::{Entries, Scale};
use super::message::{Budget, Walk};
use super::options::{Absent, Pool, SelfHop};
use super::{FedWalk, Predicted, Up, counter, mechanism};
use crate::node_embedding::OwnVertex;
use folkmoot_draws::{index, unit};
use folkmoot_engine::prelude::*;
use folkmoot_privacy::{Mechanism, NoiseForm, PrivacyCost, ReleaseError};
use serde::{Deserialize, Serialize};

const HOP: Purpose = Purpose(*b"fw-hop  ");
const REROUTE: Purpose = Purpose(*b"fw-again");

/// A walk at its holder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Held {
    budget: Budget,
    sequence: Vec<u32>,
    next: Next,
    /// The round in which it came, which it goes on to count for.
    round: Round,
}

/// What a walk's holder does next with it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Next {
    /// Append the start itself.
    Start(u32),
    Choose,
    /// Append this neighbour, and decide whether to predict.
    Entry(u32),
    /// Predict from this neighbour.
    Predict(u32),
    /// Append the second entry, and send the walk to the predicted vertex.
    Jump {
        entry: u32,
        to: u32,
    },
}

impl Held {
    /// A walk that begins at `start`.
    pub(super) fn started(system: &FedWalk, budget: Budget, start: u32, round: Round) -> Self {
        let next = match system.params.prepend_start {
            true => Next::Start(start),
            false => Next::Choose,
        };
        Held {
            sequence: Vec::with_capacity(budget.left as usize + 1),
            budget,
            next,
            round,
        }
    }

    /// A walk that came from another device.
    pub(super) fn arrived(walk: Walk, round: Round) -> Self {
        Held {
            budget: walk.budget,
            sequence: walk.sequence,
            next: Next::Choose,
            round,
        }
    }

    /// The vertex whose scores it takes to go on, if any.
    fn reads(&self, system: &FedWalk) -> Option<u32> {
        let encodes = system.entries.reads_scores();
        match self.next {
            Next::Choose => None,
            Next::Start(u) | Next::Entry(u) | Next::Jump { entry: u, .. } => encodes.then_some(u),
            Next::Predict(u) => system.params.pool.reads_tree().then_some(u),
        }
    }

    fn sent_on(self, left: u32) -> Walk {
        Walk {
            budget: Budget { left, ..self.budget },
            sequence: self.sequence,
        }
    }
}

impl Client {
    /// Goes on with a walk that has just come.
    pub(super) fn take_up(
        &mut self,
        system: &FedWalk,
        own: OwnVertex<'_>,
        held: Held,
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        let mut hops = cx.rng(HOP);
        self.go_on(system, own, held, &mut hops, cx)
    }

    /// Goes on with the walks that waited for what has come, in the order in which they came.
    pub(super) fn resume(&mut self, system: &FedWalk, own: OwnVertex<'_>, cx: Cx<'_, '_>) -> Result<(), StrategyError> {
        let mut hops = cx.rng(HOP);
        for held in std::mem::take(&mut self.waiting) {
            cx.continue_round(held.round);
            self.go_on(system, own, held, &mut hops, cx)?;
        }
        Ok(())
    }

    /// Phase B, steps 1 to 4, until the walk leaves this device or has to wait.
    fn go_on(
        &mut self,
        system: &FedWalk,
        own: OwnVertex<'_>,
        mut held: Held,
        hops: &mut SimRng,
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        let (me, neighbours) = (own.vertex(), own.neighbours());
        loop {
            if let Some(vertex) = held.reads(system)
                && !self.can_read(system, vertex)
            {
                self.wait(system, held, vertex, cx);
                return Ok(());
            }
            held.next = match held.next {
                Next::Start(start) => {
                    let entry = self.encode(system, start, cx)?;
                    held.sequence.push(entry);
                    Next::Choose
                }
                Next::Choose => {
                    if neighbours.is_empty() {
                        cx.send(Up::Sequence(held.sequence));
                        return Ok(());
                    }
                    Next::Entry(neighbours[index(hops, neighbours.len())])
                }
                Next::Entry(u) => {
                    let entry = self.encode(system, u, cx)?;
                    held.sequence.push(entry);
                    if held.budget.left == system.params.walk_length && system.params.attacks {
                        self.first_entries.push(entry);
                    }
                    if held.budget.left <= 1 {
                        cx.send(Up::Sequence(held.sequence));
                        return Ok(());
                    }
                    let predicts = held.budget.left > 2 && unit(hops) < f64::from(held.budget.predictor_prob);
                    if !predicts {
                        let left = held.budget.left - 1;
                        Client::send_on(held.sent_on(left), u, 0, cx);
                        return Ok(());
                    }
                    Next::Predict(u)
                }
                Next::Predict(u) => match self.predict(system, own, u, hops, cx) {
                    Some(to) => Next::Jump {
                        entry: if system.params.literal_line27 { u } else { to },
                        to,
                    },
                    None => {
                        let left = held.budget.left - 1;
                        Client::send_on(held.sent_on(left), u, 0, cx);
                        return Ok(());
                    }
                },
                Next::Jump { entry, to } => {
                    let entry = self.encode(system, entry, cx)?;
                    held.sequence.push(entry);
                    let left = held.budget.left - 2;
                    cx.count(counter::SELF_HOPS, u64::from(to == me));
                    if to != me || system.params.self_hop == SelfHop::Message {
                        Client::send_on(held.sent_on(left), to, 0, cx);
                        return Ok(());
                    }
                    held.budget.left = left;
                    Next::Choose
                }
            };
        }
    }

    /// Whether this device has what it takes to tell `vertex` from others.
    fn can_read(&self, system: &FedWalk, vertex: u32) -> bool {
        let has_tree = self.has_tree && self.dictionary.is_some();
        has_tree && (!system.params.asks_for_rows() || self.rows.binary_search(&vertex).is_ok())
    }

    /// Keeps a walk until the tree, or the row of `vertex`, comes.
    fn wait(&mut self, system: &FedWalk, held: Held, vertex: u32, cx: Cx<'_, '_>) {
        if self.has_tree
            && system.params.asks_for_rows()
            && let Err(at) = self.requested.binary_search(&vertex)
        {
            self.requested.insert(at, vertex);
            cx.count(counter::ROW_REQUESTS, 1);
            let vertex = cx.unprotected(mechanism::REQUEST, vertex);
            cx.send(Up::RowRequest(vertex));
        }
        self.waiting.push(held);
    }

    fn encode(&self, system: &FedWalk, vertex: u32, cx: Cx<'_, '_>) -> Result<u32, StrategyError> {
        if matches!(system.entries, Entries::Plain) {
            return Ok(cx.unprotected(mechanism::ENTRY, vertex));
        }
        let entry = match (&system.entries, &self.published, &self.dictionary) {
            (Entries::Alone { mechanism, .. }, ..) => cx.release(mechanism::ENTRY, mechanism.as_ref(), &vertex)?,
            (Entries::ByScore { scale, promised }, Some(published), Some(dictionary)) => {
                let by_score = ByScore {
                    published,
                    dictionary,
                    scale,
                    promised: *promised,
                };
                cx.release(mechanism::ENTRY, &by_score, &vertex)?
            }
            _ => cx.unprotected(mechanism::ENTRY, vertex),
        };
        cx.count(counter::ENCODED, 1);
        cx.count(counter::CHANGED, u64::from(entry != vertex));
        Ok(entry)
    }

    /// A vertex of `u`'s pool; none when the pool is empty or this device does not know what it
    /// takes to tell.
    fn predict(&self, system: &FedWalk, own: OwnVertex<'_>, u: u32, rng: &mut SimRng, cx: Cx<'_, '_>) -> Option<u32> {
        let mut one_of = |pool: &[u32]| (!pool.is_empty()).then(|| pool[index(rng, pool.len())]);
        let next = match (system.params.pool, &self.plan, &self.dictionary, &self.published) {
            (Pool::Oracle, ..) => one_of(own.neighbours_of(u)),
            // A neighbour is another vertex, so there are two at least.
            (Pool::Random, ..) => Some(another(u, system.n_nodes(), rng)),
            (Pool::Vector, Some(plan), Some(dictionary), _) => one_of(dictionary.pool(u, plan)),
            (kind, Some(plan), Some(dictionary), Some(published)) => one_of(published.pool(u, plan, dictionary, kind)),
            _ => None,
        };
        let counter = match next {
            None => counter::EMPTY_POOLS,
            Some(_) => counter::PREDICTED_HOPS,
        };
        cx.count(counter, 1);
        if let Some(to) = next {
            cx.show(Predicted { from: u, to });
        }
        next
    }

    /// The next holder is away: another neighbour of the sender's takes the place of the last
    /// entry.
    pub(super) fn reroute(
        &mut self,
        system: &FedWalk,
        own: OwnVertex<'_>,
        (mut walk, tried): (Walk, u32),
        cx: Cx<'_, '_>,
    ) -> Result<(), StrategyError> {
        let Absent::Reroute { tries, .. } = system.params.absent else {
            return Ok(());
        };
        // Only vertices whose entry can be made at once are tried: the walk has waited for the
        // time-out already.
        let can_encode = |u: &u32| !system.entries.reads_scores() || self.can_read(system, *u);
        let known: Vec<u32> = own.neighbours().iter().copied().filter(can_encode).collect();
        if tried >= u32::from(tries) || known.is_empty() {
            cx.count(counter::GIVEN_UP, 1);
            return Ok(());
        }
        let u = known[index(&mut cx.rng(REROUTE), known.len())];
        let entry = self.encode(system, u, cx)?;
        walk.sequence.pop();
        walk.sequence.push(entry);
        let is_first = walk.sequence.len() == 1 + usize::from(system.params.prepend_start);
        if let Some(first) = self.first_entries.last_mut().filter(|_| is_first) {
            *first = entry;
        }
        cx.count(counter::REROUTED, 1);
        Client::send_on(walk, u, tried + 1, cx);
        Ok(())
    }
}

/// A vertex other than `u`, each as likely.
fn another(u: u32, n_nodes: usize, rng: &mut SimRng) -> u32 {
    let other = index(rng, n_nodes - 1) as u32;
    other + u32::from(other >= u)
}

/// An encoder that reads scores, on the published tree (Eqs. 9-12).
struct ByScore<'a> {
    published: &'a Published,
    dictionary: &'a Dictionary,
    scale: &'a Scale,
    promised: Option<f64>,
}

impl Mechanism for ByScore<'_> {
    type Input = u32;
    type Release = u32;

    fn release_in(&self, _: NoiseForm, vertex: &u32, rng: &mut SimRng) -> Result<u32, ReleaseError> {
        Ok(self.published.encode(*vertex, self.dictionary, self.scale, rng))
    }

    /// What is not promised is measured.
    fn cost(&self) -> PrivacyCost {
        let audit = || self.published.audit(self.dictionary, self.scale);
        let measured = || audit().map_or(f64::INFINITY, |audit| audit.worst_log_ratio);
        PrivacyCost {
            epsilon: self.promised.unwrap_or_else(measured),
            delta: 0.0,
            unit: "one vertex",
        }
    }
}
