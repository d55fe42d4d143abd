//! Training in rounds: the shared part of all federated algorithms of that family.
//!
//! A [`Trainer`] is local training: a model's layout, samples, cost and the training of one client.
//! [`Rounds`] turns it into a [`Strategy`]: it draws cohorts, sends the model, waits for a number
//! of answers, a deadline or the end of all traffic, aggregates the updates and begins the next
//! round. [`Protocol`] holds the settings; `message` has the message table. What only some
//! algorithms need is a value given to `Rounds`:
//!
//! | value | for | used by |
//! |---|---|---|
//! | [`Statistics`] | sums over clients before training | a common scale of inputs |
//! | [`Exchange`] | messages before training | FedGCN, FedSage |
//! | [`SidePayload`] | payloads with models and updates | SCAFFOLD, GW-LDP |
//! | [`Personalisation`] | models that differ between clients | methods of `Federated` |
//!
//! - **Sums** over clients are in double precision, in ascending order of the clients.
//! - **Ties**: where a round needs fewer updates than it asks for, the first count; of those that
//!   come at the same instant a named stream draws.
//! - **Refused**: an update with a number that is not finite takes no part;
//!   `artifacts/refused_updates.csv` names its client and round, and the counter `refused_updates`
//!   counts it.
//! - **Failed**: a training that cannot be done ([`Trained::failed`]) ends the run when its result
//!   is due.
//! - **Rules**: a [`Rule`] makes one update of those that have come, a [`ServerOptimiser`] a step
//!   of that; both are parts of any crate.
//! - **No update** in a round, fewer than `min_updates` or than the rule needs, or none with any
//!   weight: the model and the server's moments stay as they are, and `rounds_without_update`
//!   counts the round. One update is a mean like any other.
//! - **Mixed** rounds are FedAsync's: each update that comes is mixed into the model by a share
//!   that shrinks with its age.
//! - **Late** updates of synchronous rounds are counted and dropped. In buffered aggregation no
//!   update is late, only stale.
//! - **Jobs**: training is a job of the engine and overlaps across windows; nothing of it depends
//!   on the threads.
//!
//! - **Opening**: with [`Statistics`] the first round trains nothing. It asks for numbers of each
//!   client and adds them up, under secure aggregation if that is on. The result is sent with every
//!   model, so that a client that joins later has it, and never comes back. Adding up a client's
//!   numbers takes no time on its device.
//! - **Exchange**: with an [`Exchange`] the first round trains nothing. All clients, not a cohort,
//!   send messages to the server or to each other; `exchange` describes it.
//! - **Private** rounds bound what one client can do to the model and add noise; `private` says who
//!   is protected from whom.
//! - **Secure aggregation** hides single updates from the server; `secure` has its messages and
//!   what is real about it.
//!
//! What a client trains depends on the model it was sent, its shard, and the stream named by client
//! and round alone.
//!
//! J. Nguyen et al. Federated Learning with Buffered Asynchronous Aggregation. AISTATS 2022.
//! <https://arxiv.org/abs/2106.06639>
//!
//! Deviation from FedBuff: a client that does not answer is replaced when the deadline of a round
//! comes, or when nothing is under way any more; the paper does not say what becomes of it.

mod additions;
mod adversary;
#[cfg(test)]
mod adversary_tests;
mod aggregator;
#[cfg(test)]
mod buffered_tests;
mod client;
mod coding;
#[cfg(test)]
mod coding_tests;
mod evaluator;
mod exchange;
#[cfg(test)]
mod exchange_tests;
mod job;
pub mod known;
pub mod message;
mod opening;
pub mod packed;
mod personalisation;
mod private;
#[cfg(test)]
mod private_tests;
mod rounds;
mod rule;
#[cfg(test)]
mod rule_tests;
mod secure;
#[cfg(test)]
mod secure_tests;
mod selection;
#[cfg(test)]
mod selection_tests;
mod server;
mod server_optimiser;
mod settings;
mod side_payload;
mod task;
mod terms;
#[cfg(test)]
mod tests;
mod trainer;
mod trains;

pub use additions::{Items, Reports, Statistics};
pub use adversary::{
    Adversary, CRAFTED, Colluding, Crafting, Drawn, FreeRider, GaussianNoise, InnerProduct, LabelFlip, LittleIsEnough,
    Malicious, MaliciousClients, MinMax, MinSum, NodeBackdoor, Perturbation, Poison, Scaled, Shape, SignFlip, Spread,
    SubgraphBackdoor, Trigger,
};
pub use aggregator::{Aggregating, Aggregator, ClientUpdate};
pub use client::Client;
pub use evaluator::is_evaluated;
pub use evaluator::{RoundEnd, RoundEvaluator, Watched};
pub use exchange::{Exchange, Gathered, Heard, Preparation, Says};
pub use job::{Done, Work};
pub use message::{Extra, Order};
pub use opening::Opening;
pub use personalisation::{Answers, Memory, OwnModel, Personalisation, Travels};
pub use private::{HiddenItems, NoiseAt, Private};
pub use rounds::Rounds;
pub use rule::{
    Bulyan, CentredClipping, FlTrust, Flame, FoolsGold, GeometricMedian, Krum, Mean, Median, NormClip, Rule,
    RuleContext, RuleMemory, TrimmedMean, Update, Updates,
};
pub use server::{Seen, SeenUpdate, Server};
pub use server_optimiser::{Adam, Average, Momentum, ServerMoments, ServerOptimiser, Yogi};
pub use settings::{Absent, Aggregation, Completeness, Discount, Protocol, Secure, Weighting};
pub use side_payload::SidePayload;
pub use task::{Task, Trained};
pub use terms::TERMS;
pub use trainer::Trainer;
pub use trains::{NO_ITEMS, NOT_SAID, STATISTICS, Trains};

use folkmoot_draws::Purpose;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::ClientSelection;
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use message::{Down, Peer, Up};

/// The counters of every strategy that trains in rounds, each at its place.
pub const COUNTERS: &[&str] = &{
    let mut names = [""; 4];
    names[REFUSED] = "refused_updates";
    names[LATE] = "late_updates";
    names[LOST] = "lost_models";
    names[EMPTY] = "rounds_without_update";
    names
};
const REFUSED: usize = 0;
const LATE: usize = 1;
const LOST: usize = 2;
const EMPTY: usize = 3;

const INITIAL: Purpose = Purpose(*b"rd-start");
const PARTIAL: Purpose = Purpose(*b"rd-parts");
const LOCAL: Purpose = Purpose(*b"rd-local");

/// The place of the protocol's own mechanism, that weights are sent as they are.
const WEIGHTS: usize = 0;

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Strategy for Rounds<R, P, X> {
    type Down = Down<P::Order, X::Message>;
    type Up = Up<P::Extra, X::Message>;
    type Peer = Peer<X::Message>;
    type Shard<'a> = R::Shard<'a>;
    type Work = Work<P::Order, R::ClientState, X::Message>;
    type Done = Done<P::Extra, R::ClientState, X::Message>;
    type Server = Server<P::ServerState, X::ServerState, X::Message>;
    type Client = Client<P::Extra, R::ClientState, X::Message>;
    type Sight = ();

    const COUNTERS: &'static [&'static str] = R::COUNTERS;

    fn server(&self, setup: &Setup<'_>) -> Result<Self::Server, StrategyError> {
        self.check()?;
        if setup.n_clients == 0 {
            return Err(StrategyError(
                "there is nobody to train; use a partition with clients".to_owned(),
            ));
        }
        let n_clients = setup.n_clients;
        let asked = setup.selection().asked(n_clients);
        if self.protocol.min_updates > asked && !self.is_buffered() {
            return Err(StrategyError(format!(
                "protocol.min_updates: must be at most {asked} (clients asked in a round), got {}",
                self.protocol.min_updates
            )));
        }
        let fewest = self.protocol.aggregator.fewest();
        let needed = setup.selection().needed(n_clients);
        if fewest > needed && !self.is_buffered() {
            return Err(StrategyError(format!(
                "protocol.aggregator: needs at least {fewest} updates, and a round takes at most {needed}; ask more clients with cohort"
            )));
        }
        if let Aggregation::Buffered { size, .. } = self.protocol.aggregation
            && size > n_clients
        {
            return Err(StrategyError(format!(
                "protocol.aggregation.size: must be at most {n_clients} (clients), got {size}"
            )));
        }
        self.suits(setup)?;
        if !setup.selection().suits_asynchrony() && self.is_buffered() {
            return Err(StrategyError(
                "cohort: must be All, Size or Fraction with protocol.aggregation: Buffered or Mixed, where as many train at a time".to_owned(),
            ));
        }
        if self.protocol.private.hides_clients() && needed < asked {
            return Err(StrategyError(
                "cohort.over_select: must be 1 with protocol.private; whom one client is faster than would depend on it".to_owned(),
            ));
        }
        if self.is_secure() && asked > secure::MAX_CLIENTS {
            return Err(StrategyError(format!(
                "protocol.secure: takes at most {} clients a round, got {asked}; ask fewer with cohort",
                secure::MAX_CLIENTS
            )));
        }
        self.protocol.malicious.clients.check(n_clients)?;
        Ok(Server::new(self.initial(setup), &self.protocol))
    }

    fn client(&self, _: R::Shard<'_>, _: &Setup<'_>) -> Result<Self::Client, StrategyError> {
        Ok(Client::new())
    }

    fn on_server(
        &self,
        server: &mut Self::Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        server.handle(self, event, cx)
    }

    fn on_client(
        &self,
        shard: R::Shard<'_>,
        client: &mut Self::Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        client.handle(self, shard, event, cx)
    }

    fn perform(&self, shard: Option<R::Shard<'_>>, work: &Self::Work, cx: &JobContext) -> Self::Done {
        self.work(shard.expect("clients train"), work, cx, false)
    }

    fn placeholder(&self, shard: Option<R::Shard<'_>>, work: &Self::Work, cx: &JobContext) -> Self::Done {
        self.work(shard.expect("clients train"), work, cx, true)
    }

    fn sized_by_values(&self) -> Vec<&'static str> {
        let Protocol {
            downlink_codec: down,
            uplink_codec: up,
            ..
        } = &self.protocol;
        let (down, up) = (
            packed::sized_by_values(&**down, &["packed_model"]),
            packed::sized_by_values(&**up, &["packed_update", "reported_packed_update", P::Extra::PACKED]),
        );
        [down, up, self.sized_by_values.clone()].concat()
    }

    /// Vectors as large as the model: of the server its model, its optimiser's two and a sum of
    /// doubled precision; of a selected client the model that it was sent and the one that it
    /// trains, its gradient and its update; of any client what it keeps for itself, and what its
    /// codec left out.
    fn heap_bytes(&self, n_here: u32, setup: &Setup<'_>) -> u64 {
        let share = f64::from(n_here) / f64::from(setup.n_clients.max(1));
        let selected = setup.world.cohort.mean_asked(setup.n_clients) * share;
        let kept = u32::from(self.added.method.is_some()) + u32::from(self.protocol.uplink_codec.feeds_back());
        let n_vectors = 5.0 + (4.0 + f64::from(self.keeps)) * selected + f64::from(kept) * f64::from(n_here);
        (4.0 * self.trainer.layout().len() as f64 * n_vectors) as u64
    }

    fn absence(&self, message: &Letter<Self>) -> Absence {
        let is_given_up = match message {
            Letter::Down(_) => true,
            // What is kept of a training may rest on the server having its extra, so its sender is
            // to know.
            Letter::Up(Up::Extra(_) | Up::PackedExtra(_)) if P::TAKES_BACK => {
                return Absence::Tell { after: SimSpan::ZERO };
            }
            // What it has said is to be said again.
            Letter::Up(Up::PackedUpdate(..) | Up::ReportedPacked(..) | Up::Masked(_))
                if self.protocol.uplink_codec.feeds_back() =>
            {
                return Absence::Tell { after: SimSpan::ZERO };
            }
            Letter::Up(up) => !matches!(
                up,
                Up::Update(..)
                    | Up::PackedUpdate(..)
                    | Up::Reported(..)
                    | Up::ReportedPacked(..)
                    | Up::Extra(_)
                    | Up::PackedExtra(_)
                    | Up::Statistics(_)
                    | Up::Told(_)
                    | Up::Ready
            ),
            Letter::Peer(_) => false,
        };
        match self.protocol.absent {
            Absent::GiveUp if is_given_up => Absence::Tell { after: SimSpan::ZERO },
            _ => Absence::Wait,
        }
    }

    fn selection(&self) -> Option<&dyn ClientSelection> {
        self.added.selection.as_deref()
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let in_training = self.protocol.private.is_charged_in_training();
        let weights = MechanismInfo {
            mechanism: match self.protocol.secure {
                _ if in_training => "Gaussian noise: sums of gradients",
                _ if self.protocol.private.has_shares() => "Gaussian noise: shares, on the sum of changes",
                Secure::Off => "none: weights",
                Secure::Pairwise { .. } => "none: sum of weights",
            }
            .to_owned(),
            unit: if in_training { "one graph" } else { "one shard" }.to_owned(),
            claimed: None,
        };
        let opening = match (self.exchange.is_some(), self.n_fixed() > 0, self.protocol.secure) {
            (true, ..) => Some(format!("none: {}", X::Message::NAME)),
            (false, true, Secure::Off) => Some("none: statistics".to_owned()),
            (false, true, Secure::Pairwise { .. }) => Some("none: sum of statistics".to_owned()),
            (false, false, _) => None,
        };
        let statistics = opening.map(|mechanism| MechanismInfo {
            mechanism,
            unit: "one shard".to_owned(),
            claimed: None,
        });
        let all = std::iter::once(weights).chain(self.mechanisms.iter().cloned());
        all.chain(statistics).chain(self.protocol.private.mechanism()).collect()
    }
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_artifact_tables(&[evaluator::REFUSED_UPDATES]);
    registry.add_component::<dyn Adversary, SignFlip>()?;
    registry.add_component::<dyn Adversary, GaussianNoise>()?;
    registry.add_component::<dyn Adversary, Scaled>()?;
    registry.add_component::<dyn Adversary, FreeRider>()?;
    registry.add_component::<dyn Adversary, InnerProduct>()?;
    registry.add_component::<dyn Adversary, LittleIsEnough>()?;
    registry.add_component::<dyn Adversary, MinMax>()?;
    registry.add_component::<dyn Adversary, MinSum>()?;
    registry.add_component::<dyn Adversary, LabelFlip>()?;
    registry.add_component::<dyn Adversary, SubgraphBackdoor>()?;
    registry.add_component::<dyn Adversary, NodeBackdoor>()?;
    registry.add_component::<dyn Rule, Mean>()?;
    registry.add_component::<dyn Rule, TrimmedMean>()?;
    registry.add_component::<dyn Rule, NormClip>()?;
    registry.add_component::<dyn Rule, Median>()?;
    registry.add_component::<dyn Rule, Krum>()?;
    registry.add_component::<dyn Rule, Bulyan>()?;
    registry.add_component::<dyn Rule, GeometricMedian>()?;
    registry.add_component::<dyn Rule, CentredClipping>()?;
    registry.add_component::<dyn Rule, FoolsGold>()?;
    registry.add_component::<dyn Rule, Flame>()?;
    registry.add_component::<dyn Rule, FlTrust>()?;
    registry.add_component::<dyn ServerOptimiser, Average>()?;
    registry.add_component::<dyn ServerOptimiser, Momentum>()?;
    registry.add_component::<dyn ServerOptimiser, Adam>()?;
    registry.add_component::<dyn ServerOptimiser, Yogi>()
}
