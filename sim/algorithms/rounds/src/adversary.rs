//! Malicious clients: which they are, in which rounds, and what they send instead of their updates,
//! as a card writes `protocol.malicious`.
//!
//! A malicious client knows what every client knows: the model that it was sent, its own data, the
//! round. Adversaries that collude know the honest updates of all malicious clients of the round,
//! too, exchanged outside of the protocol: no message is counted for it. The server notices
//! nothing of it. A malicious client obeys the protocol in all else: it answers as fast as an
//! honest one, its update passes its codec, and a clip of private training holds for it as where
//! the server enforces it.

mod alone;
mod clients;
mod poisoned;
mod together;

pub use alone::{FreeRider, GaussianNoise, Scaled, SignFlip};
pub use clients::{Drawn, MaliciousClients};
pub use poisoned::{LabelFlip, NodeBackdoor, Poison, Shape, Spread, SubgraphBackdoor, Trigger};
pub use together::{InnerProduct, LittleIsEnough, MinMax, MinSum, Perturbation};

use crate::{Aggregation, Exchange, Rounds, Secure, SidePayload, Trainer};
use folkmoot_draws::{SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Chosen, Rules, component, component_type};
use std::sync::Arc;

/// What an adversary draws in a round.
pub const CRAFTED: Purpose = Purpose(*b"rd-craft");

/// Malicious clients.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Malicious {
    /// Which clients are malicious.
    pub clients: MaliciousClients,
    /// What they send.
    pub adversary: Chosen<dyn Adversary>,
    /// First round of the attack.
    pub from_round: u32,
    /// Last round of the attack; by default that of the run.
    pub until_round: Option<u32>,
}

/// What malicious clients send. Changes are those of the numbers of the model that learn, in double
/// precision; running statistics stay those of the training.
///
/// ```
/// use folkmoot_rounds::{Adversary, Crafting};
///
/// /// Sends a hundredth of the honest change.
/// struct Lazy;
///
/// impl Adversary for Lazy {
///     fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
///         Some(own.change.iter().map(|x| x / 100.0).collect())
///     }
/// }
/// ```
pub trait Adversary: Send + Sync {
    /// The change that a malicious client sends instead of its own; `None` for its own.
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>>;

    /// Whether malicious clients train at all; otherwise they answer without computing. Default:
    /// yes.
    fn trains(&self) -> bool {
        true
    }

    /// What malicious clients change in their training items, in the rounds of the attack. Default:
    /// nothing.
    fn poison(&self) -> Option<Poison> {
        None
    }

    /// Whether they make their updates of those of all malicious clients in the round. Default: no.
    fn colludes(&self) -> bool {
        false
    }

    /// The change that each colluding client sends; `None` for its own.
    fn craft_together(&self, _: &Colluding) -> Option<Vec<f64>> {
        None
    }
}

component_type!(Adversary, "adversary", SignFlip { factor: 1.0 });

/// What a malicious client knows when it makes its update.
pub struct Crafting<'a> {
    /// The model that it was sent: the numbers that learn.
    pub model: &'a [f32],
    /// The change by its honest training; zeros if it did not train.
    pub change: &'a [f64],
    pub round: Round,
    /// Its own stream for this.
    pub rng: SimRng,
}

/// What colluding clients know of a round.
#[derive(Clone, Debug)]
pub struct Colluding {
    /// The honest changes of the malicious clients, in ascending order of the clients; at least
    /// one, all of one length.
    pub changes: Vec<Vec<f64>>,
    /// Updates in the round, with those of the malicious clients.
    pub n_updates: usize,
}

impl Malicious {
    /// What ties its rounds, which stand below `path`.
    pub fn rounds_rule(&self, path: &str, rules: &mut Rules) {
        if let Some(until) = self.until_round {
            let rule = format!("must be at least {} (from_round), got {until}", self.from_round);
            rules.require(until >= self.from_round, &format!("{path}until_round"), rule);
        }
    }

    /// The clients that attack in a round, ascending; `drawn` is where a run keeps who they are,
    /// `size` gives the number of items of a client, and `rng` the run's stream for a purpose.
    pub fn attackers(
        &self,
        (round, drawn): (Round, &Drawn),
        (n_clients, size): (u32, impl Fn(ClientId) -> u64),
        rng: impl Fn(Purpose) -> SimRng,
    ) -> Arc<[u32]> {
        match self.attacks(round) {
            true => drawn.of(&self.clients, (n_clients, size), || rng(clients::CHOSEN)),
            false => Arc::default(),
        }
    }

    /// What a malicious client trains to instead of `trained`, from `model`: both are the numbers
    /// that learn.
    pub fn craft_alone(&self, model: &[f32], trained: &mut [f32], round: Round, rng: SimRng) {
        let change: Vec<f64> = change(trained, model).collect();
        let mut own = Crafting {
            model,
            change: &change,
            round,
            rng,
        };
        if let Some(crafted) = self.adversary.craft(&mut own) {
            apply(trained, model, &crafted);
        }
    }

    /// Whether an attack takes place in a round, if there are malicious clients.
    fn attacks(&self, round: Round) -> bool {
        (self.from_round..=self.until_round.unwrap_or(u32::MAX)).contains(&round.0)
    }

    /// The malicious clients of a run with these streams, ascending, of clients with so many items.
    pub fn drawn(&self, sizes: &[u64], streams: Streams) -> Vec<u32> {
        let size = |client: ClientId| sizes[client.0 as usize];
        self.clients
            .of(sizes.len() as u32, size, &mut streams.global(clients::CHOSEN))
    }

    /// What malicious clients change in their training items, if there are such clients.
    pub fn poison(&self) -> Option<Poison> {
        if self.clients.is_none() {
            return None;
        }
        self.adversary.poison()
    }

    /// What ties its settings to those of the protocol.
    pub(crate) fn rules(protocol: &crate::Protocol, rules: &mut Rules) {
        let malicious = &protocol.malicious;
        if malicious.clients.is_none() || rules.is_broken("malicious.adversary") {
            return;
        }
        malicious.rounds_rule("malicious.", rules);
        if malicious.adversary.colludes() {
            let rule = "colludes, and with secure aggregation nothing in the simulation sees the updates of several clients; set secure: Off, or \
                        an adversary that does not collude";
            rules.require(protocol.secure == Secure::Off, "malicious.adversary", rule);
            let rule = "colludes, which needs uplink_codec: Plain: colluding clients make one update of what they would send uncompressed";
            let is_plain = rules.is_broken("uplink_codec") || protocol.uplink_codec.is_plain();
            rules.require(is_plain, "malicious.adversary", rule);
            let rule =
                "colludes, and with aggregation: Mixed there is one update at a time; use Synchronous or Buffered";
            let is_mixed = matches!(protocol.aggregation, Aggregation::Mixed { .. });
            rules.require(!is_mixed, "malicious.adversary", rule);
        }
    }
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Rounds<R, P, X> {
    /// The clients that attack in a round, ascending; `size` and `rng` as those of
    /// [`Malicious::attackers`].
    pub(crate) fn attackers(
        &self,
        round: Round,
        clients: (u32, impl Fn(ClientId) -> u64),
        rng: impl Fn(Purpose) -> SimRng,
    ) -> Arc<[u32]> {
        let malicious = &self.protocol.malicious;
        malicious.attackers((round, &self.drawn), clients, rng)
    }

    /// The numbers that learn of an update, and those of the model that they belong to.
    fn learning<'u, 'm>(&self, update: &'u mut [f32], model: &'m [f32]) -> (&'u mut [f32], &'m [f32]) {
        let (learning, others) = update.split_at_mut(self.n_learning());
        let model = &model[self.begins(others)..][..learning.len()];
        (learning, model)
    }

    /// Makes a malicious client's update of its honest one, both models.
    pub(crate) fn craft(&self, model: &[f32], update: &mut [f32], cx: &JobContext) {
        let (update, model) = self.learning(update, model);
        let malicious = &self.protocol.malicious;
        malicious.craft_alone(model, update, cx.round(), cx.round_rng(CRAFTED));
    }

    /// Makes the updates of colluding clients of their honest ones: each with the model that it is
    /// a change of, or none where updates are changes, in ascending order of the clients.
    pub(crate) fn collude(&self, updates: &mut [(&mut [f32], &[f32])], n_updates: usize) {
        let changes = updates.iter_mut().map(|(update, model)| {
            let (update, model) = self.based(update, model);
            change(update, model).collect()
        });
        let round = Colluding {
            changes: changes.collect(),
            n_updates,
        };
        if round.changes.is_empty() {
            return;
        }
        if let Some(crafted) = self.protocol.malicious.adversary.craft_together(&round) {
            for (update, model) in updates {
                let (update, model) = self.based(update, model);
                apply(update, model, &crafted);
            }
        }
    }

    fn based<'u, 'm>(&self, update: &'u mut [f32], model: &'m [f32]) -> (&'u mut [f32], &'m [f32]) {
        match model.is_empty() {
            true => (update.split_at_mut(self.n_learning()).0, model),
            false => self.learning(update, model),
        }
    }
}

/// The change that an update is of a model, or the update itself without one.
fn change<'a>(update: &'a [f32], model: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
    let base = |i: usize| model.get(i).map_or(0.0, |x| f64::from(*x));
    update.iter().enumerate().map(move |(i, y)| f64::from(*y) - base(i))
}

/// Makes the update one with this change.
fn apply(update: &mut [f32], model: &[f32], change: &[f64]) {
    assert_eq!(
        update.len(),
        change.len(),
        "an adversary changes each number that learns"
    );
    for (i, (y, change)) in update.iter_mut().zip(change).enumerate() {
        *y = (model.get(i).map_or(0.0, |x| f64::from(*x)) + change) as f32;
    }
}
