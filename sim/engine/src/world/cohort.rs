//! Cohorts: whom the server asks to take part in a round.

use super::Breach;
use folkmoot_draws::{Purpose, Streams, draw_first};
use folkmoot_metrics::{ClientId, Round};
use serde::{Deserialize, Serialize};

/// The card's `cohort`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum CohortSpec {
    /// Everybody.
    #[default]
    All,
    /// A fixed number of clients, drawn without replacement.
    Size {
        /// How many, 1..=n_clients.
        n: u32,
        /// Asks `n × over_select` clients, >= 1; the round is complete with `n`. Default 1.
        #[serde(default = "one")]
        over_select: f64,
    },
    /// A share of the clients, drawn without replacement.
    Fraction {
        /// In (0, 1]; at least one client is asked.
        share: f64,
        /// As for `Size`.
        #[serde(default = "one")]
        over_select: f64,
    },
}

fn one() -> f64 {
    1.0
}

impl CohortSpec {
    /// Every rule it breaks.
    pub fn check(&self, n_clients: u32) -> Vec<Breach> {
        let mut breaches = Vec::new();
        match *self {
            CohortSpec::All => {}
            CohortSpec::Size { n, .. } if !(1..=n_clients).contains(&n) => {
                breaches.push((
                    "n".to_owned(),
                    format!("must lie in 1..={n_clients} (n_clients), got {n}"),
                ));
            }
            CohortSpec::Fraction { share, .. } if !(share > 0.0 && share <= 1.0) => {
                breaches.push(("share".to_owned(), format!("must lie in (0, 1], got {share}")));
            }
            _ => {}
        }
        if let CohortSpec::Size { over_select, .. } | CohortSpec::Fraction { over_select, .. } = *self
            && !(1.0..=100.0).contains(&over_select)
        {
            breaches.push((
                "over_select".to_owned(),
                format!("must lie in 1..=100, got {over_select}"),
            ));
        }
        breaches
    }

    /// With how many results a round of `n_clients` clients is complete.
    pub fn needed(&self, n_clients: u32) -> u32 {
        match *self {
            CohortSpec::All => n_clients,
            CohortSpec::Size { n, .. } => n.min(n_clients),
            CohortSpec::Fraction { share, .. } => {
                ((share * f64::from(n_clients)).round() as u32).clamp(1, n_clients.max(1))
            }
        }
    }

    /// How many of `n_clients` clients are asked.
    pub fn asked(&self, n_clients: u32) -> u32 {
        match *self {
            CohortSpec::All => n_clients,
            CohortSpec::Size { over_select, .. } | CohortSpec::Fraction { over_select, .. } => {
                (f64::from(self.needed(n_clients)) * over_select)
                    .ceil()
                    .min(f64::from(n_clients)) as u32
            }
        }
    }

    /// The clients asked in `round`, ascending. Draws one index per client asked, from the round's own stream.
    pub fn sample(&self, n_clients: u32, round: Round, streams: Streams) -> Vec<ClientId> {
        if *self == CohortSpec::All {
            return (0..n_clients).map(ClientId).collect();
        }
        let asked = self.asked(n_clients) as usize;
        let mut rng = streams.party(Purpose(*b"cohort  "), folkmoot_metrics::Party::Server, round);
        let mut ids: Vec<ClientId> = (0..n_clients).map(ClientId).collect();
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
}
