//! Settings of gossip, and what ties them.

use super::{Params, Weights};
use crate::attacks;
use folkmoot_parts::{Broken, Rules, component};
use folkmoot_rounds::packed;

/// Order of local training and averaging.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Each client trains as set in `training`, sends the result, and averages: `x_i ← sum_j W_ij
    /// y_j`. With one step of plain gradient descent it is adapt-then-combine D-PSGD.
    #[default]
    Averaging,
    /// D-PSGD: each client sends its model, computes one gradient step on one batch meanwhile, and
    /// adds it to the mean: `x_i ← sum_j W_ij x_j − rate × gradient at x_i` (Lian et al. 2017,
    /// algorithm 1). `training.epochs` has no effect.
    Dpsgd,
    /// Asynchronous pairwise gossip: each client wakes at random times, trains and meets one random
    /// neighbour. Both move to the mean of their models (Boyd et al. 2006).
    Pairwise {
        /// Mean of the exponentially distributed pause between two meetings of a client.
        #[component(default = 1.0, in = 0..=1e9, unit = "s")]
        pause_s: f64,
    },
}

/// Attack target.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attacked {
    /// For a client's data, its own model, which its users can query, and that of every neighbour.
    #[default]
    Clients,
    /// The mean of all models, which no client has: the counterpart of a global model.
    Mean,
}

impl Params {
    pub(super) fn rules(&self, rules: &mut Rules) {
        for (i, attack) in self.attacks.iter().enumerate() {
            let field = format!("attacks.{i}");
            if !rules.is_broken(&field) {
                let rule = "needs the updates received by a server, and Gossip has no server; omit it";
                rules.require(attack.n_rounds() == 0, &field, rule);
            }
        }
        self.malicious.rounds_rule("malicious.", rules);
        if !self.malicious.clients.is_none() && !rules.is_broken("malicious.adversary") {
            let rule = "colludes, and in gossip no two clients train in the same round for certain; use an adversary that does not collude";
            rules.require(!self.malicious.adversary.colludes(), "malicious.adversary", rule);
        }
        if !rules.is_broken("codec") {
            let is_sound = self.codec.suits_models() || self.codec.feeds_back();
            let rule = "must be Plain, Half, Bfloat, Uniform, Qsgd or another codec that sends every value, or use error feedback (feedback: true): otherwise neighbours never receive some values";
            rules.require(is_sound, "codec", rule);
        }
    }
}

impl Method {
    pub(super) fn is_pairwise(self) -> bool {
        matches!(self, Method::Pairwise { .. })
    }
}

/// Initial models of clients.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The same for all clients, drawn from a public seed.
    #[default]
    Alike,
    /// Drawn independently by each client.
    Own,
}

impl Params {
    /// What is allowed and hardly meant.
    pub(super) fn lints(&self) -> Vec<Broken> {
        let mut lints = [
            self.training.lints(),
            packed::lints("codec", &*self.codec, self.model.hidden, true),
        ]
        .concat();
        if self.method == Method::Dpsgd && self.training.epochs > 1 {
            lints.push(Broken {
                path: "training.epochs".to_owned(),
                rule: format!(
                    "Dpsgd takes one step on one batch per round, so {} epochs have no effect; omit it, or set method: Averaging",
                    self.training.epochs
                ),
            });
        }
        lints.extend(attacks::doubt(&self.attacks, self.attacked != Attacked::default()));
        if !self.codec.suits_models() && self.mixing > 0.5 {
            lints.push(Broken {
                path: "mixing".to_owned(),
                rule: format!(
                    "is {:?} with a sparsifying codec, whose residuals of several rounds may make models diverge; try a mixing rate near the fraction of values sent",
                    self.mixing
                ),
            });
        }
        if self.method.is_pairwise() && self.weights != Weights::default() {
            lints.push(Broken {
                path: "weights".to_owned(),
                rule: "has no effect in Pairwise, where two clients move to the mean of their models; omit it"
                    .to_owned(),
            });
        }
        lints
    }
}
