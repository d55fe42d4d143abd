//! Client selection: whom the server asks to take part in a round.

use super::known::Candidates;
use crate::fault::StrategyError;
use folkmoot_draws::{SimRng, draw_first, unit};
use folkmoot_metrics::ClientId;
use folkmoot_parts::{Component, Rules, component};
use folkmoot_privacy::Sampling;

/// A way to select the clients of a round, as a card names it in `cohort`.
///
/// It sees what the server knows and no client's data. A selection from outside is registered by
/// `Registry::add_selection`.
///
/// ```
/// use folkmoot_engine::prelude::*;
/// use folkmoot_engine::world::{Candidates, ClientSelection, World};
///
/// /// One client after the other.
/// struct InTurn;
/// impl ClientSelection for InTurn {
///     fn name(&self) -> &str { "InTurn" }
///     fn asked(&self, _: u32) -> u32 { 1 }
///     fn select(
///         &self,
///         clients: &mut Candidates<'_>,
///         _: SimRng,
///     ) -> Result<Vec<ClientId>, StrategyError> {
///         Ok(vec![ClientId(clients.round.0 % clients.n_clients)])
///     }
/// }
/// let world = World { cohort: Box::new(InTurn), ..World::ideal() };
/// assert_eq!(world.cohort.needed(9), 1);
/// ```
pub trait ClientSelection: Send + Sync {
    /// As a card calls it, for messages.
    fn name(&self) -> &str;

    /// The clients of a round, in any order, each once. Called once per round; `rng` is the
    /// round's own stream for it.
    ///
    /// # Errors
    ///
    /// Ends the run. So does a client that does not exist, or one that is selected twice.
    fn select(&self, clients: &mut Candidates<'_>, rng: SimRng) -> Result<Vec<ClientId>, StrategyError>;

    /// How many of `n_clients` clients are selected, at most.
    fn asked(&self, n_clients: u32) -> u32;

    /// With how many results a round of `n_clients` clients is complete; more than are selected
    /// where that varies. Default: as many as are selected at most.
    fn needed(&self, n_clients: u32) -> u32 {
        self.asked(n_clients)
    }

    /// How many of `n_clients` clients are selected on average. Default: as many as at most.
    fn mean_asked(&self, n_clients: u32) -> f64 {
        f64::from(self.asked(n_clients))
    }

    /// Notes the rules that depend on the number of clients. Default: none.
    fn check_clients(&self, _n_clients: u32, _rules: &mut Rules) {}

    /// How clients are sampled, each with the probability `mean_asked / n_clients`, if the
    /// accounting of privacy may rely on it. Default: it may not, and client-level differential
    /// privacy rejects the selection.
    fn sampling(&self) -> Option<Sampling> {
        None
    }

    /// Whether asynchronous rounds may replace it after the first by uniform draws, so many clients
    /// at a time. Default: no, and they reject it.
    fn suits_asynchrony(&self) -> bool {
        false
    }

    /// The metrics that clients report with their updates, at 4 bytes each, such as `loss`.
    /// Default: none.
    fn metrics(&self) -> &[String] {
        &[]
    }

    /// Whether it looks at what the server knows of clients; otherwise nothing is kept of them.
    /// Default: yes.
    fn remembers(&self) -> bool {
        true
    }
}

/// All clients.
#[component(name = "All")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct All {}

impl ClientSelection for All {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn select(&self, clients: &mut Candidates<'_>, _: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        Ok(all(clients))
    }

    fn asked(&self, n_clients: u32) -> u32 {
        n_clients
    }

    fn sampling(&self) -> Option<Sampling> {
        Some(Sampling::Poisson)
    }

    fn suits_asynchrony(&self) -> bool {
        true
    }

    fn remembers(&self) -> bool {
        false
    }
}

/// A fixed number of clients, sampled without replacement.
#[component(name = "Size")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Number of clients, at most `n_clients`.
    #[component(required, at_least = 1)]
    pub n: u32,
    /// Over-selection: selects `n × over_select` clients; the round is complete with `n`
    /// results.
    #[component(default = 1.0, in = 1..=100)]
    pub over_select: f64,
}

impl ClientSelection for Size {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn select(&self, clients: &mut Candidates<'_>, rng: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        Ok(sampled(clients, self.asked(clients.n_clients), rng))
    }

    fn asked(&self, n_clients: u32) -> u32 {
        over_selected(self.needed(n_clients), self.over_select, n_clients)
    }

    fn needed(&self, n_clients: u32) -> u32 {
        self.n.min(n_clients)
    }

    fn check_clients(&self, n_clients: u32, rules: &mut Rules) {
        let rule = format!("must lie in 1..={n_clients} (n_clients), got {}", self.n);
        rules.require((1..=n_clients).contains(&self.n), "n", rule);
    }

    fn sampling(&self) -> Option<Sampling> {
        Some(Sampling::FixedSize)
    }

    fn suits_asynchrony(&self) -> bool {
        true
    }

    fn remembers(&self) -> bool {
        false
    }
}

/// A fraction of the clients, sampled without replacement; at least one client.
#[component(name = "Fraction")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction {
    /// Fraction of the clients.
    #[component(required, above = 0, at_most = 1)]
    pub share: f64,
    /// Over-selection factor, as for `Size`.
    #[component(default = 1.0, in = 1..=100)]
    pub over_select: f64,
}

impl ClientSelection for Fraction {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn select(&self, clients: &mut Candidates<'_>, rng: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        Ok(sampled(clients, self.asked(clients.n_clients), rng))
    }

    fn asked(&self, n_clients: u32) -> u32 {
        over_selected(self.needed(n_clients), self.over_select, n_clients)
    }

    fn needed(&self, n_clients: u32) -> u32 {
        ((self.share * f64::from(n_clients)).round() as u32).clamp(1, n_clients.max(1))
    }

    fn sampling(&self) -> Option<Sampling> {
        Some(Sampling::FixedSize)
    }

    fn suits_asynchrony(&self) -> bool {
        true
    }

    fn remembers(&self) -> bool {
        false
    }
}

/// Poisson sampling: each client is selected independently, so a round may have no clients. The
/// round waits for all selected clients.
#[component(name = "Poisson")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    /// Probability that a client is selected.
    #[component(required, above = 0, at_most = 1)]
    pub rate: f64,
}

impl ClientSelection for Poisson {
    fn name(&self) -> &str {
        Self::NAME
    }

    /// Draws one number per client.
    fn select(&self, clients: &mut Candidates<'_>, mut rng: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        let mut ids = all(clients);
        ids.retain(|_| unit(&mut rng) < self.rate);
        Ok(ids)
    }

    fn asked(&self, n_clients: u32) -> u32 {
        n_clients
    }

    fn mean_asked(&self, n_clients: u32) -> f64 {
        self.rate * f64::from(n_clients)
    }

    fn sampling(&self) -> Option<Sampling> {
        Some(Sampling::Poisson)
    }

    fn remembers(&self) -> bool {
        false
    }
}

fn all(clients: &Candidates<'_>) -> Vec<ClientId> {
    (0..clients.n_clients).map(ClientId).collect()
}

/// `n` clients without replacement; draws one index for each.
fn sampled(clients: &Candidates<'_>, n: u32, mut rng: SimRng) -> Vec<ClientId> {
    let mut ids = all(clients);
    draw_first(&mut rng, &mut ids, n as usize);
    ids.truncate(n as usize);
    ids
}

fn over_selected(needed: u32, factor: f64, n_clients: u32) -> u32 {
    (f64::from(needed) * factor).ceil().min(f64::from(n_clients)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::Streams;
    use folkmoot_metrics::Round;

    fn sample(spec: impl ClientSelection, n_clients: u32, round: u32) -> Vec<ClientId> {
        Candidates::of_none(n_clients, Round(round))
            .select(&spec, Streams::new(1))
            .unwrap()
    }

    #[test]
    fn a_cohort_has_no_repeats_and_the_asked_size() {
        let spec = Size {
            n: 10,
            over_select: 1.3,
        };
        let cohort = sample(spec, 50, 2);
        assert_eq!(cohort.len(), 13);
        assert!(cohort.windows(2).all(|pair| pair[0] < pair[1]));
        assert_ne!(cohort, sample(spec, 50, 3));
        assert_eq!(spec.needed(50), 10);
        assert_eq!(
            sample(
                Fraction {
                    share: 0.001,
                    over_select: 1.0
                },
                50,
                0
            )
            .len(),
            1
        );
    }

    /// Sizes spread as those of coins do: mean `q N`, variance `q (1 − q) N`, within 4 standard
    /// errors.
    #[test]
    fn coins_draw_cohorts_of_every_size() {
        let spec = Poisson { rate: 0.2 };
        let sizes: Vec<f64> = (0..4000).map(|round| sample(spec, 10, round).len() as f64).collect();
        let mean = sizes.iter().sum::<f64>() / 4000.0;
        let variance = sizes.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / 4000.0;
        assert!(
            (mean - spec.mean_asked(10)).abs() < 4.0 * (1.6f64 / 4000.0).sqrt(),
            "{mean}"
        );
        assert!((variance - 1.6).abs() < 0.2, "{variance}");
        assert!(sizes.contains(&0.0));
        let all = Poisson { rate: 1.0 };
        assert_eq!(sample(all, 10, 0).len(), 10);
    }

    #[test]
    fn a_cohort_is_no_larger_than_the_population() {
        let broken = |spec: &dyn ClientSelection| {
            let mut rules = Rules::default();
            spec.check_clients(9, &mut rules);
            rules.into_broken().len()
        };
        let size = |n| Size { n, over_select: 1.0 };
        let all: [&dyn ClientSelection; 3] = [&size(9), &size(10), &All {}];
        assert_eq!(all.map(broken), [0, 1, 0]);
    }
}
