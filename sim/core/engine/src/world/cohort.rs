//! Cohorts: whom the server asks to take part in a round.

use folkmoot_draws::{Purpose, Streams, draw_first, unit};
use folkmoot_metrics::{ClientId, Round};
use folkmoot_parts::{Rules, component};

/// Client selection per round.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CohortSpec {
    /// All clients.
    #[default]
    All,
    /// A fixed number of clients, sampled without replacement.
    Size {
        /// Number of clients, at most `n_clients`.
        #[component(required, at_least = 1)]
        n: u32,
        /// Over-selection: selects `n × over_select` clients; the round is complete with `n`
        /// results.
        #[component(default = 1.0, in = 1..=100)]
        over_select: f64,
    },
    /// A fraction of the clients, sampled without replacement; at least one client.
    Fraction {
        /// Fraction of the clients.
        #[component(required, above = 0, at_most = 1)]
        share: f64,
        /// Over-selection factor, as for `Size`.
        #[component(default = 1.0, in = 1..=100)]
        over_select: f64,
    },
    /// Poisson sampling: each client is selected independently, so a round may have no clients. The
    /// round waits for all selected clients.
    Poisson {
        /// Probability that a client is selected.
        #[component(required, above = 0, at_most = 1)]
        rate: f64,
    },
}

impl CohortSpec {
    /// What depends on the number of clients.
    pub fn check_clients(&self, n_clients: u32, rules: &mut Rules) {
        if let CohortSpec::Size { n, .. } = *self {
            let rule = format!("must lie in 1..={n_clients} (n_clients), got {n}");
            rules.require((1..=n_clients).contains(&n), "n", rule);
        }
    }

    /// With how many results a round of `n_clients` clients is complete; more than are asked where
    /// that is drawn.
    pub fn needed(&self, n_clients: u32) -> u32 {
        match *self {
            CohortSpec::All | CohortSpec::Poisson { .. } => n_clients,
            CohortSpec::Size { n, .. } => n.min(n_clients),
            CohortSpec::Fraction { share, .. } => {
                ((share * f64::from(n_clients)).round() as u32).clamp(1, n_clients.max(1))
            }
        }
    }

    /// How many of `n_clients` clients are asked on average.
    pub fn mean_asked(&self, n_clients: u32) -> f64 {
        match *self {
            CohortSpec::Poisson { rate } => rate * f64::from(n_clients),
            _ => f64::from(self.asked(n_clients)),
        }
    }

    /// How many of `n_clients` clients are asked, at most.
    pub fn asked(&self, n_clients: u32) -> u32 {
        match *self {
            CohortSpec::All | CohortSpec::Poisson { .. } => n_clients,
            CohortSpec::Size { over_select, .. } | CohortSpec::Fraction { over_select, .. } => {
                (f64::from(self.needed(n_clients)) * over_select)
                    .ceil()
                    .min(f64::from(n_clients)) as u32
            }
        }
    }

    /// The clients asked in `round`, ascending. Draws one index per client asked, or a coin per
    /// client, from the round's own stream.
    pub fn sample(&self, n_clients: u32, round: Round, streams: Streams) -> Vec<ClientId> {
        if *self == CohortSpec::All {
            return (0..n_clients).map(ClientId).collect();
        }
        let asked = self.asked(n_clients) as usize;
        let mut rng = streams.party(Purpose(*b"cohort  "), folkmoot_metrics::Party::Server, round);
        let mut ids: Vec<ClientId> = (0..n_clients).map(ClientId).collect();
        if let CohortSpec::Poisson { rate } = *self {
            ids.retain(|_| unit(&mut rng) < rate);
            return ids;
        }
        draw_first(&mut rng, &mut ids, asked);
        ids.truncate(asked);
        ids.sort_unstable();
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cohort_has_no_repeats_and_the_asked_size() {
        let spec = CohortSpec::Size {
            n: 10,
            over_select: 1.3,
        };
        let cohort = spec.sample(50, Round(2), Streams::new(1));
        assert_eq!(cohort.len(), 13);
        assert!(cohort.windows(2).all(|pair| pair[0] < pair[1]));
        assert_ne!(cohort, spec.sample(50, Round(3), Streams::new(1)));
        assert_eq!(spec.needed(50), 10);
        assert_eq!(
            CohortSpec::Fraction {
                share: 0.001,
                over_select: 1.0
            }
            .sample(50, Round(0), Streams::new(1))
            .len(),
            1
        );
    }

    /// Sizes spread as those of coins do: mean `q N`, variance `q (1 − q) N`, within 4 standard
    /// errors.
    #[test]
    fn coins_draw_cohorts_of_every_size() {
        let spec = CohortSpec::Poisson { rate: 0.2 };
        let sizes: Vec<f64> = (0..4000)
            .map(|round| spec.sample(10, Round(round), Streams::new(1)).len() as f64)
            .collect();
        let mean = sizes.iter().sum::<f64>() / 4000.0;
        let variance = sizes.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / 4000.0;
        assert!(
            (mean - spec.mean_asked(10)).abs() < 4.0 * (1.6f64 / 4000.0).sqrt(),
            "{mean}"
        );
        assert!((variance - 1.6).abs() < 0.2, "{variance}");
        assert!(sizes.contains(&0.0));
        let all = CohortSpec::Poisson { rate: 1.0 };
        assert_eq!(all.sample(10, Round(0), Streams::new(1)).len(), 10);
    }

    #[test]
    fn a_cohort_is_no_larger_than_the_population() {
        let broken = |spec: CohortSpec| {
            let mut rules = Rules::default();
            spec.check_clients(9, &mut rules);
            rules.into_broken().len()
        };
        let size = |n| CohortSpec::Size { n, over_select: 1.0 };
        assert_eq!([size(9), size(10), CohortSpec::All].map(broken), [0, 1, 0]);
    }
}
