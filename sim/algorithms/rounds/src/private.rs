//! Privacy in training: what one client, or one item of its data, can do to the model is bounded,
//! and noise hides the rest.
//!
//! # Whole clients
//!
//! Each client's change of the model is cut to a length, all numbers together, every change counts
//! as much, and Gaussian noise is added to their sum. The model moves by the sum over as many
//! clients as are asked *on average*: by how many have come it would tell who was there. A round
//! that nobody answers releases its noise all the same.
//!
//! H. B. McMahan, D. Ramage, K. Talwar and L. Zhang. Learning Differentially Private Recurrent
//! Language Models. ICLR 2018, algorithm 1 with flat clipping and the estimator of a fixed
//! denominator. <https://arxiv.org/abs/1710.06963>
//!
//! | noise | who must be trusted | what is charged |
//! |---|---|---|
//! | at the server | the server | every client, for every round, by the law of a random sample: others see models, and not who was asked |
//! | at the clients | nobody but the clients | who sends, when it sends, without a sample: the server knows whom it asked |
//!
//! - **Neighbours.** With `cohort: Poisson` and `All`, that a client is there or not: the sum moves
//!   by the clip. With cohorts of a fixed size, that one client is another: it moves by twice the
//!   clip. Noise at clients: that a client sends its change or none.
//! - **Shares.** Of `n` clients in the roster of secure aggregation each adds noise of `1 / n` of
//!   the variance. Clients that drop out afterwards take their shares along, so that a sum of `m`
//!   clients has `m / n` of the variance. The server reconstructs no sum of fewer clients than the
//!   threshold `t`. A client does not know `m` when it sends, so each is charged for the noise of
//!   `t` shares: the least that a sum can have.
//! - **What a client keeps**, such as a model of its own, may go into its next change, which is cut
//!   all the same. The guarantee is of what is sent: a score of a client's own model is for whoever
//!   evaluates the run, and nothing protects it.
//! - **Rounding.** Discrete noise covers the rounding of values to its grid
//!   ([`folkmoot_privacy::noise`]). Shares have grids that fixed point holds, so sums are exact. A
//!   sum of discrete Gaussian shares is not discrete Gaussian: with a share of `s` steps both
//!   differ in each value by a ratio of at most `exp(10 n exp(-π² s²))` (P. Kairouz, Z. Liu and T.
//!   Steinke. The Distributed Discrete Gaussian Mechanism for Federated Learning with Secure
//!   Aggregation. ICML 2021, proposition 14), which is nothing from ten steps on. Floating-point
//!   noise has the stated guarantees for real numbers only.
//!
//! # Single items
//!
//! Each step of a client's training draws its items by coins, cuts the gradient of each to a length
//! and adds Gaussian noise to their sum; the step goes along that sum over as many items as are
//! drawn *on average*. What is sent is made of such sums alone, so nothing else of an update is
//! charged, and whoever sees it, the server too, learns no more. Each client is charged for the
//! steps of the updates that it sends. Neighbours differ in that one item takes part or not; how
//! many items a client holds is no secret: the number goes with every update, and the steps follow
//! from it.
//!
//! Without a limit and noise nothing is left but who is in a step. Where all items are in each, the
//! training is the plain one to the bit; where they are drawn by coins it is another algorithm than
//! a pass over batches.
//!
//! M. Abadi et al. Deep Learning with Differential Privacy. CCS 2016, algorithm 1.
//! <https://arxiv.org/abs/1607.00133>

use super::secure::STEP;
use super::{Exchange, Protocol, Rounds, Secure, SidePayload, Trainer};
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::ClientSelection;
use folkmoot_parts::{Rules, component};
use folkmoot_privacy::{DELTA, Gaussian, NoPrivacy, SampledGaussian, Sampling};

/// Differential privacy of training.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Private {
    /// No differential privacy: updates are neither clipped nor noised.
    #[default]
    Off,
    /// Client-level DP (DP-FedAvg; McMahan et al. 2018): each client's model update is clipped, and
    /// Gaussian noise is added to the sum.
    Clients {
        /// Clipping norm: maximum Euclidean norm of a client's whole update. If omitted, updates
        /// are not clipped.
        #[component(above = 0, in = 1e-6..=1e6)]
        clip: Option<f64>,
        /// Noise multiplier: standard deviation of the noise on the sum, divided by `clip`. 0 adds
        /// no noise and gives no protection.
        #[component(default = 1.0, in = 0..=1e6)]
        noise_multiplier: f64,
        /// Where the noise is added.
        noise_at: NoiseAt,
    },
    /// Example-level DP, one example per graph (DP-SGD; Abadi et al. 2016). In every local step,
    /// per-graph gradients are clipped and Gaussian noise is added to their sum. Batches are
    /// Poisson samples with mean size `training.batch_size`; if it is omitted, each step uses all
    /// graphs. Without batch size, clipping and noise, training is bit-identical to training
    /// without DP.
    Items {
        /// Clipping norm: maximum Euclidean norm of a graph's whole gradient. If omitted, gradients
        /// are not clipped.
        #[component(above = 0, in = 1e-6..=1e6)]
        clip: Option<f64>,
        /// Noise multiplier: standard deviation of the noise on the sum, divided by `clip`. 0 adds
        /// no noise and gives no protection.
        #[component(default = 1.0, in = 0..=1e6)]
        noise_multiplier: f64,
    },
}

/// How single items are hidden in a client's training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenItems {
    /// The greatest length of an item's gradient; infinite for no limit.
    pub clip: f64,
    /// The standard deviation of the noise over the clip; 0 for none.
    pub noise_multiplier: f64,
}

impl HiddenItems {
    /// The noise on a sum of gradients of items that are each in it with probability `rate`; `None`
    /// where nothing protects.
    pub fn noise(&self, rate: f64) -> Option<SampledGaussian> {
        let std = self.noise_multiplier * self.clip;
        let made = || SampledGaussian::new(std, self.clip, (Sampling::Poisson, rate), DELTA, "one graph");
        (self.noise_multiplier > 0.0).then(|| made().expect("rules of the protocol"))
    }
}

/// Where the noise is added.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseAt {
    /// At the server, to the sum.
    #[default]
    Server,
    /// At the clients: each adds a part of the noise, under secure aggregation (distributed DP).
    Clients,
}

/// What a charge is about.
const UNIT: &str = "one client";

impl Private {
    /// Whether changes of whole clients are cut.
    pub(super) fn hides_clients(self) -> bool {
        matches!(self, Private::Clients { .. })
    }

    /// How a client's training hides its items, if it does.
    pub(super) fn items(self) -> Option<HiddenItems> {
        match self {
            Private::Items { clip, noise_multiplier } => Some(HiddenItems {
                clip: clip.unwrap_or(f64::INFINITY),
                noise_multiplier,
            }),
            Private::Off | Private::Clients { .. } => None,
        }
    }

    /// Whether what is sent is made of noisy sums alone, which are charged where they are made.
    pub(super) fn is_charged_in_training(self) -> bool {
        self.items().is_some_and(|items| items.noise_multiplier > 0.0)
    }

    /// The greatest length of a change.
    pub(super) fn clip(self) -> f64 {
        match self {
            Private::Clients { clip: Some(clip), .. } => clip,
            _ => f64::INFINITY,
        }
    }

    /// Over the clip, if noise is added.
    fn noise(self) -> Option<(NoiseAt, f64)> {
        match self {
            Private::Clients {
                noise_multiplier,
                noise_at,
                ..
            } => (noise_multiplier > 0.0).then_some((noise_at, noise_multiplier)),
            Private::Off | Private::Items { .. } => None,
        }
    }

    /// Where noise is added, if any is.
    pub(super) fn noise_at(self) -> Option<NoiseAt> {
        match self {
            _ if self.is_charged_in_training() => Some(NoiseAt::Clients),
            _ => Some(self.noise()?.0),
        }
    }

    /// Whether the sum that the server learns has its noise already.
    pub(super) fn has_shares(self) -> bool {
        matches!(self.noise(), Some((NoiseAt::Clients, _)))
    }

    /// The noise that the server adds to a sum over a cohort of `n_clients`; `None` where nothing
    /// protects.
    fn at_server(self, cohort: &dyn ClientSelection, n_clients: u32) -> Option<SampledGaussian> {
        let (NoiseAt::Server, noise) = self.noise()? else {
            return None;
        };
        let sampling = cohort.sampling().expect("the server's setup checks it");
        let moves = match sampling {
            Sampling::Poisson => 1.0,
            Sampling::FixedSize => 2.0,
        };
        let rate = (cohort.mean_asked(n_clients) / f64::from(n_clients)).min(1.0);
        let clip = self.clip();
        let made = SampledGaussian::new(noise * clip, moves * clip, (sampling, rate), DELTA, UNIT);
        Some(made.expect("rules of the protocol"))
    }

    /// A client's share of the noise where `n` take part, of whom at least `fewest` stay: the noise
    /// of those is `sqrt(fewest)` times as large, which is as if the clip were so much smaller.
    pub(super) fn share(self, n: usize, fewest: usize) -> Option<Gaussian> {
        let (NoiseAt::Clients, noise) = self.noise()? else {
            return None;
        };
        let (clip, root) = (self.clip(), |n: usize| (n as f64).sqrt());
        let made = Gaussian::new(noise * clip / root(n), clip / root(fewest), DELTA, UNIT);
        Some(made.expect("rules of the protocol").on_grid_of(STEP))
    }

    /// The mechanism of its own in the ledger; noise at clients stands in the place of the weights.
    pub(super) fn mechanism(self) -> Option<MechanismInfo> {
        let mechanism = match self.noise() {
            _ if !self.hides_clients() => return None,
            Some((NoiseAt::Clients, _)) => return None,
            Some((NoiseAt::Server, _)) => "Gaussian noise: sum of changes",
            None => "none: sum of changes",
        };
        Some(MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: UNIT.to_owned(),
            claimed: None,
        })
    }

    /// What ties it to the other settings.
    pub(super) fn rules(protocol: &Protocol, rules: &mut Rules) {
        let (clip, noise_multiplier) = match protocol.private {
            Private::Off => return,
            Private::Clients {
                clip, noise_multiplier, ..
            }
            | Private::Items { clip, noise_multiplier } => (clip, noise_multiplier),
        };
        let mut require = |holds: bool, field: &str, rule: &str| rules.require(holds, field, rule.to_owned());
        let is_some = noise_multiplier == 0.0 || noise_multiplier >= 1e-3;
        require(is_some, "private.noise_multiplier", "must be 0 or at least 0.001");
        let is_bounded = clip.is_some() || noise_multiplier == 0.0;
        require(
            is_bounded,
            "private.clip",
            "is required with noise: the noise scale is a multiple of it",
        );
        let rule = "needs aggregation: Synchronous; otherwise a client may contribute twice to a sum, and the number of updates in it is not fixed";
        require(protocol.aggregation == super::Aggregation::Synchronous, "private", rule);
        if protocol.private.hides_clients() {
            Private::rules_of_clients(protocol, rules);
        }
    }

    fn rules_of_clients(protocol: &Protocol, rules: &mut Rules) {
        let is_secure = protocol.secure != Secure::Off;
        let mut require = |holds: bool, field: &str, rule: &str| rules.require(holds, field, rule.to_owned());
        let is_hidden = is_secure || !protocol.private.has_shares();
        let rule = "must be Server with secure: Off; one client's part of the noise does not protect an individually visible update";
        require(is_hidden, "private.noise_at", rule);
        let rule = "needs weighting: Uniform; sample weights would make the sensitivity to one client unbounded";
        require(protocol.weighting == super::Weighting::Uniform, "private", rule);
        let rule = "must be 1 with private; every round updates the model, however many updates arrive";
        require(protocol.min_updates == 1, "min_updates", rule);
        let rule = "must be Mean with private; the clipping norm does not bound the sensitivity of other rules";
        let is_mean = rules.is_broken("aggregator") || protocol.aggregator.is_mean();
        rules.require(is_mean, "aggregator", rule.to_owned());
        if !rules.is_broken("uplink_codec") {
            let rule = "must be a codec without error feedback with private; a residual from earlier rounds would exceed the clipping norm";
            rules.require(!protocol.uplink_codec.feeds_back(), "uplink_codec", rule.to_owned());
            let rule = "must be Plain with private and secure; a codec may increase the norm of a clipped update";
            rules.require(
                !is_secure || protocol.uplink_codec.is_plain(),
                "uplink_codec",
                rule.to_owned(),
            );
        }
        if !rules.is_broken("downlink_codec") {
            let rule =
                "must be Plain with private and secure; updates are clipped relative to the server's exact model";
            rules.require(
                !is_secure || protocol.downlink_codec.is_plain(),
                "downlink_codec",
                rule.to_owned(),
            );
        }
    }
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Rounds<R, P, X> {
    /// The server's own release, behind all others.
    fn noise_channel(&self) -> Channel {
        Channel::new(1 + self.mechanisms.len(), Purpose(*b"rd-noise"))
    }

    /// What the server makes of a sum over its cohort: with its noise, unless that is in it.
    pub(super) fn release_sum(
        &self,
        sum: Vec<f64>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<Vec<f64>, StrategyError> {
        if self.protocol().private.has_shares() {
            return Ok(sum);
        }
        match self.protocol().private.at_server(cx.selection(), cx.n_clients()) {
            Some(noise) => cx.release(self.noise_channel(), &noise, &sum),
            None => cx.release(self.noise_channel(), &NoPrivacy::<[f64]>::new(), &sum),
        }
    }
}

/// By how much a change is to be shortened, at most 1.
pub(super) fn factor(model: &[f32], update: &[f32], clip: f64) -> f64 {
    let square = |(x, y): (&f32, &f32)| (f64::from(*y) - f64::from(*x)) * (f64::from(*y) - f64::from(*x));
    let norm = model.iter().zip(update).map(square).sum::<f64>().sqrt();
    if norm > clip { clip / norm } else { 1.0 }
}

/// Cuts the change from `model` to `update` to a length. What rounding then adds to it is taken off
/// again, so that it is never longer.
pub(super) fn cut(model: &[f32], update: &mut [f32], clip: f64) {
    let full = update.to_vec();
    let (mut factor_now, mut slack) = (factor(model, update, clip), 1e-7);
    while factor(model, update, clip) < 1.0 {
        for ((x, y), full) in model.iter().zip(&mut *update).zip(&full) {
            *y = (f64::from(*x) + factor_now * (f64::from(*full) - f64::from(*x))) as f32;
        }
        factor_now *= (1.0f64 - slack).max(0.0);
        slack *= 2.0;
    }
}
