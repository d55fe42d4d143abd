//! Clients with the largest losses.
//!
//! Y. J. Cho, J. Wang and G. Joshi. Towards Understanding Biased Client Selection in Federated
//! Learning. AISTATS 2022, the variant `rpow-d`. <https://arxiv.org/abs/2010.01243>

use super::{Candidates, ClientSelection};
use crate::fault::StrategyError;
use folkmoot_draws::{SimRng, exponential};
use folkmoot_metrics::ClientId;
use folkmoot_parts::{Rules, component};
use std::sync::LazyLock;

static LOSS: LazyLock<[String; 1]> = LazyLock::new(|| ["loss".to_owned()]);

/// Of `candidates` clients, drawn without replacement with probabilities proportional to their
/// samples, the `n` with the largest losses `F_k(w)`.
///
/// A client reports its loss with each update, and the server uses the last one that came. The loss
/// of a client from which none came counts as infinite. Ties are broken at random.
///
/// Deviations from the paper: the loss is that of the model that the client received, on its
/// training items; the paper's `rpow-d` reports the mean over the local iterations. The server
/// knows the samples of a client by its first answer; before, a client counts as the mean of those
/// known.
#[component(
    name = "PowerOfChoice",
    about = "power-of-choice: of random candidates, the clients with the largest last losses (Cho et al. 2022)",
    rules
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerOfChoice {
    /// Number of clients, `m` in the paper.
    #[component(required, at_least = 1)]
    pub n: u32,
    /// Number of candidates, `d` in the paper: at least `n`, at most `n_clients`. With
    /// `candidates` = `n`, selection ignores losses.
    #[component(required, at_least = 1)]
    pub candidates: u32,
}

impl PowerOfChoice {
    fn rules(&self, rules: &mut Rules) {
        let rule = format!("must be at least {} (n), got {}", self.n, self.candidates);
        rules.require(self.candidates >= self.n, "candidates", rule);
    }
}

impl ClientSelection for PowerOfChoice {
    fn name(&self) -> &str {
        "PowerOfChoice"
    }

    /// Draws an exponential number per client: the smallest `E_k / p_k` are a sample without
    /// replacement (Efraimidis and Spirakis 2006).
    fn select(&self, clients: &mut Candidates<'_>, mut rng: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        let samples = |id: ClientId| clients.known(id).and_then(|known| known.n_samples);
        let (mut n, mut sum) = (0, 0.0);
        for (_, known) in clients.all_known() {
            if let Some(samples) = known.n_samples {
                n += 1;
                sum += f64::from(samples);
            }
        }
        let mean = if sum > 0.0 { sum / f64::from(n) } else { 1.0 };
        let mut drawn: Vec<(f64, ClientId)> = (0..clients.n_clients)
            .map(ClientId)
            .map(|id| (exponential(&mut rng) / samples(id).map_or(mean, f64::from), id))
            .collect();
        drawn.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        drawn.truncate(self.candidates as usize);
        let loss = |id: ClientId| {
            let loss = clients.known(id).and_then(|known| known.metrics.first());
            loss.filter(|loss| !loss.is_nan()).copied().unwrap_or(f32::INFINITY)
        };
        let mut ids: Vec<ClientId> = drawn.into_iter().map(|(_, id)| id).collect();
        // A stable sort: candidates of one loss stay in the order in which they were drawn.
        ids.sort_by(|a, b| loss(*b).total_cmp(&loss(*a)));
        ids.truncate(self.n as usize);
        Ok(ids)
    }

    fn asked(&self, n_clients: u32) -> u32 {
        self.n.min(n_clients)
    }

    fn check_clients(&self, n_clients: u32, rules: &mut Rules) {
        let rule = format!(
            "must lie in {}..={n_clients} (n_clients), got {}",
            self.n, self.candidates
        );
        rules.require((self.n..=n_clients).contains(&self.candidates), "candidates", rule);
    }

    fn metrics(&self) -> &[String] {
        &*LOSS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Known;
    use folkmoot_draws::Streams;
    use folkmoot_metrics::Round;
    use std::collections::BTreeMap;

    fn known(clients: &[(u32, u32, f32)]) -> BTreeMap<ClientId, Known> {
        let one = |&(id, n_samples, loss): &(u32, u32, f32)| {
            let known = Known {
                n_samples: Some(n_samples),
                metrics: vec![loss],
                ..Known::default()
            };
            (ClientId(id), known)
        };
        clients.iter().map(one).collect()
    }

    fn select(known: &BTreeMap<ClientId, Known>, (n, candidates): (u32, u32), round: u32) -> Vec<u32> {
        let selection = PowerOfChoice { n, candidates };
        let clients = Candidates::of_none(5, Round(round));
        let selected = clients.knowing(known).select(&selection, Streams::new(1));
        selected.unwrap().into_iter().map(|id| id.0).collect()
    }

    /// With all clients as candidates, no draw matters: by hand.
    #[test]
    fn the_largest_losses_are_selected_and_an_unknown_one_counts_as_infinite() {
        let all = known(&[(0, 1, 0.5), (1, 1, 2.0), (2, 9, 1.0), (3, 1, f32::NAN), (4, 1, 0.1)]);
        assert_eq!(select(&all, (1, 5), 0), [3], "NaN is no loss");
        assert_eq!(select(&all, (3, 5), 0), [1, 2, 3]);
        let four = known(&[(0, 1, 0.5), (1, 1, 2.0), (2, 9, 1.0), (4, 1, 0.1)]);
        assert_eq!(select(&four, (2, 5), 0), [1, 3], "client 3 has never answered");
    }

    /// With `d = m = 1`, a client is selected with the probability of its share: within 4 standard
    /// errors of 4000 draws. Client 3 is unknown and counts as the mean of the four others.
    #[test]
    fn candidates_are_drawn_in_proportion_to_samples() {
        let four = known(&[(0, 10, 9.0), (1, 10, 1.0), (2, 40, 0.0), (4, 0, 9.0)]);
        let mut n = [0.0; 5];
        (0..4000).for_each(|round| n[select(&four, (1, 1), round)[0] as usize] += 1.0);
        // The mean of the four known is 15, so shares are 10, 10, 40, 15 and 0 of 75.
        for (share, n) in [10.0, 10.0, 40.0, 15.0, 0.0].into_iter().zip(n) {
            let p: f64 = share / 75.0;
            let error = (p * (1.0 - p) * 4000.0).sqrt();
            assert!((n - 4000.0 * p).abs() <= 4.0 * error, "{n} of {p}");
        }
    }

    #[test]
    fn candidates_lie_between_n_and_the_population() {
        use folkmoot_parts::Value;
        let broken = |n, candidates| {
            let selection = PowerOfChoice { n, candidates };
            let mut rules = Rules::default();
            selection.check_clients(9, &mut rules);
            (selection.broken().len(), rules.into_broken().len())
        };
        assert_eq!([broken(3, 3), broken(3, 2), broken(3, 10)], [(0, 0), (1, 1), (0, 1)]);
    }
}
