//! Phase B at a device: choosing, encoding and predicting, and waiting for what that takes.

use super::client::{Client, Cx};
use super::message::{Budget, Walk};
use super::options::{Absent, Encoder, Pool, Rows, SelfHop};
use super::{FedWalk, Message, counter, mechanism};
use folkmoot_draws::{Purpose, SimRng, index, unit};
use folkmoot_engine::prelude::*;
use folkmoot_privacy::Mechanism;
use serde::{Deserialize, Serialize};

const HOP: Purpose = Purpose(*b"fw-hop  ");
const ENCODE: Purpose = Purpose(*b"fw-encod");
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
    /// Choose a neighbour.
    Choose,
    /// Append this neighbour, and decide whether to predict.
    Entry(u32),
    /// Predict from this neighbour.
    Predict(u32),
    /// Append the second entry, and send the walk to the predicted vertex.
    Jump { entry: u32, to: u32 },
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
        let encodes = system.params.encoder.reads_scores();
        match self.next {
            Next::Choose => None,
            Next::Start(u) | Next::Entry(u) | Next::Jump { entry: u, .. } => encodes.then_some(u),
            Next::Predict(u) => (system.params.pool != Pool::Vector).then_some(u),
        }
    }

    fn sent_on(self, left: u32) -> Message {
        Message::Walk(Walk {
            budget: Budget { left, ..self.budget },
            sequence: self.sequence,
            tries: 0,
        })
    }
}

/// The streams of one event: what encoding draws moves no walk.
struct Draws {
    hops: SimRng,
    encoding: SimRng,
}

impl Draws {
    fn new(cx: &Context<'_, '_, FedWalk>, hops: Purpose) -> Self {
        Draws {
            hops: cx.rng(hops),
            encoding: cx.rng(ENCODE),
        }
    }
}

impl Client {
    /// Goes on with a walk that has just come.
    pub(super) fn take_up(&mut self, system: &FedWalk, held: Held, cx: Cx<'_, '_, '_>) {
        let mut draws = Draws::new(cx, HOP);
        self.go_on(system, held, &mut draws, cx);
    }

    /// Goes on with the walks that waited for what has come, in the order in which they came.
    pub(super) fn resume(&mut self, system: &FedWalk, cx: Cx<'_, '_, '_>) {
        let mut draws = Draws::new(cx, HOP);
        for held in std::mem::take(&mut self.waiting) {
            cx.continue_round(held.round);
            self.go_on(system, held, &mut draws, cx);
        }
    }

    /// Phase B, steps 1 to 4, until the walk leaves this device or has to wait.
    fn go_on(&mut self, system: &FedWalk, mut held: Held, draws: &mut Draws, cx: Cx<'_, '_, '_>) {
        let Party::Client(me) = cx.me() else { return };
        let neighbours = system.neighbours(me.0);
        loop {
            if let Some(vertex) = held.reads(system)
                && !self.can_read(system, vertex, neighbours, cx.dry_run())
            {
                self.wait(held, vertex, cx);
                return;
            }
            held.next = match held.next {
                Next::Start(start) => {
                    let entry = self.encode(system, start, &mut draws.encoding, cx);
                    held.sequence.push(entry);
                    Next::Choose
                }
                Next::Choose => {
                    if neighbours.is_empty() {
                        cx.send(Party::Server, Message::Sequence(held.sequence));
                        return;
                    }
                    Next::Entry(neighbours[index(&mut draws.hops, neighbours.len())])
                }
                Next::Entry(u) => {
                    let entry = self.encode(system, u, &mut draws.encoding, cx);
                    held.sequence.push(entry);
                    if held.budget.left == system.params.walk_length && system.params.attacks {
                        self.first_entries.push(entry);
                    }
                    if held.budget.left <= 1 {
                        cx.send(Party::Server, Message::Sequence(held.sequence));
                        return;
                    }
                    let predicts =
                        held.budget.left > 2 && unit(&mut draws.hops) < f64::from(held.budget.predictor_prob);
                    if !predicts {
                        let left = held.budget.left - 1;
                        cx.send(client(u), held.sent_on(left));
                        return;
                    }
                    Next::Predict(u)
                }
                Next::Predict(u) => match self.predict(system, u, &mut draws.hops, cx) {
                    Some(to) => Next::Jump {
                        entry: if system.params.literal_line27 { u } else { to },
                        to,
                    },
                    None => {
                        let left = held.budget.left - 1;
                        cx.send(client(u), held.sent_on(left));
                        return;
                    }
                },
                Next::Jump { entry, to } => {
                    let entry = self.encode(system, entry, &mut draws.encoding, cx);
                    held.sequence.push(entry);
                    let left = held.budget.left - 2;
                    cx.count(counter::SELF_HOPS, u64::from(to == me.0));
                    if to != me.0 || system.params.self_hop == SelfHop::Message {
                        cx.send(client(to), held.sent_on(left));
                        return;
                    }
                    held.budget.left = left;
                    Next::Choose
                }
            };
        }
    }

    /// Whether this device has what it takes to tell `vertex` from others.
    fn can_read(&self, system: &FedWalk, vertex: u32, neighbours: &[u32], dry_run: bool) -> bool {
        let has_tree = self.has_tree && (dry_run || self.dictionary.is_some());
        let has_row = || match system.params.rows {
            Rows::All | Rows::Off => true,
            Rows::Neighbours if neighbours.binary_search(&vertex).is_ok() => true,
            Rows::Neighbours | Rows::OnRequest => self.rows.binary_search(&vertex).is_ok(),
        };
        has_tree && (!system.params.m_upload || has_row())
    }

    /// Keeps a walk until the tree, or the row of `vertex`, comes.
    fn wait(&mut self, held: Held, vertex: u32, cx: Cx<'_, '_, '_>) {
        if self.has_tree
            && let Err(at) = self.requested.binary_search(&vertex)
        {
            self.requested.insert(at, vertex);
            cx.count(counter::ROW_REQUESTS, 1);
            cx.send(Party::Server, Message::RowRequest(vertex));
        }
        self.waiting.push(held);
    }

    /// Enc(vertex).
    fn encode(&self, system: &FedWalk, vertex: u32, rng: &mut SimRng, cx: Cx<'_, '_, '_>) -> u32 {
        let (encoder, epsilon) = (system.params.encoder, system.params.epsilon_encoder);
        // The size of a message does not depend on its entries.
        if encoder == Encoder::Identity || cx.dry_run() {
            cx.spend(mechanism::ENTRY, f64::INFINITY);
            return vertex;
        }
        let (entry, spent) = match (&system.response, &self.published, &self.dictionary) {
            (Some(response), ..) => (response.release(&vertex, rng).unwrap_or(vertex), epsilon),
            (None, Some(published), Some(dictionary)) => {
                let law = (encoder, epsilon);
                // Calibration promises its epsilon; what the others cost is measured.
                let spent = match encoder {
                    Encoder::Calibrated => epsilon,
                    _ => published
                        .audit(dictionary, law)
                        .map_or(f64::INFINITY, |audit| audit.worst_log_ratio),
                };
                (published.encode(vertex, dictionary, law, rng), spent)
            }
            _ => (vertex, f64::INFINITY),
        };
        cx.spend(mechanism::ENTRY, spent);
        cx.count(counter::ENCODED, 1);
        cx.count(counter::CHANGED, u64::from(entry != vertex));
        entry
    }

    /// A vertex of `u`'s pool; none when the pool is empty or this device does not know what it takes to tell.
    fn predict(&self, system: &FedWalk, u: u32, rng: &mut SimRng, cx: Cx<'_, '_, '_>) -> Option<u32> {
        let pool = match (system.params.pool, &self.plan, &self.dictionary, &self.published) {
            (Pool::Vector, Some(plan), Some(dictionary), _) => dictionary.pool(u, plan),
            (kind, Some(plan), Some(dictionary), Some(published)) => published.pool(u, plan, dictionary, kind),
            _ => &[],
        };
        let (counter, next) = match pool.is_empty() {
            true => (counter::EMPTY_POOLS, None),
            false => (counter::PREDICTED_HOPS, Some(pool[index(rng, pool.len())])),
        };
        cx.count(counter, 1);
        if let Some(next) = next {
            // Seen from above, for the score alone: no device knows whose neighbour a predicted vertex is.
            cx.count(counter::HITS, u64::from(system.are_neighbours(u, next)));
        }
        next
    }

    /// The next holder is away: another neighbour of the sender's takes the place of the last entry.
    pub(super) fn reroute(&mut self, system: &FedWalk, mut walk: Walk, cx: Cx<'_, '_, '_>) {
        let Absent::Reroute { tries, .. } = system.params.absent else {
            return;
        };
        let Party::Client(me) = cx.me() else { return };
        let neighbours = system.neighbours(me.0);
        if walk.tries >= tries || neighbours.is_empty() {
            cx.count(counter::GIVEN_UP, 1);
            return;
        }
        let mut draws = Draws::new(cx, REROUTE);
        // Only vertices whose entry can be made at once are tried: the walk has waited for the time-out already.
        let can_encode =
            |u: &u32| !system.params.encoder.reads_scores() || self.can_read(system, *u, neighbours, cx.dry_run());
        let known: Vec<u32> = neighbours.iter().copied().filter(can_encode).collect();
        if known.is_empty() {
            cx.count(counter::GIVEN_UP, 1);
            return;
        }
        let u = known[index(&mut draws.hops, known.len())];
        let entry = self.encode(system, u, &mut draws.encoding, cx);
        walk.sequence.pop();
        walk.sequence.push(entry);
        let is_first = walk.sequence.len() == 1 + usize::from(system.params.prepend_start);
        if let Some(first) = self.first_entries.last_mut().filter(|_| is_first) {
            *first = entry;
        }
        walk.tries += 1;
        cx.count(counter::REROUTED, 1);
        cx.send(client(u), Message::Walk(walk));
    }
}

fn client(vertex: u32) -> Party {
    Party::Client(ClientId(vertex))
}
