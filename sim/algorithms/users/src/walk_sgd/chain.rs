//! Where a walk goes next: chains over the links of clients, what they visit in the long run, and
//! jumps.

use folkmoot_draws::{SimRng, bernoulli, index, unit};
use folkmoot_graphs::Graph;
use folkmoot_parts::component;

/// Transition rule of a walk.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chain {
    /// Moves to a neighbour with probability `1 / (1 + max(d_u, d_v))` (`d`: number of neighbours),
    /// otherwise stays. The stationary distribution is uniform.
    #[default]
    MaxDegree,
    /// Metropolis-Hastings: proposes a uniform neighbour and accepts with probability `min(1, d_u
    /// π_v / (d_v π_u))`. The stationary distribution is the importance `π`.
    Metropolis {
        /// Importance of clients.
        importance: Importance,
    },
}

/// Importance of clients, known to all.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Importance {
    /// Equal for all.
    #[default]
    Uniform,
    /// Proportional to the number of neighbours.
    Degree,
    /// Higher for a few clients.
    Few {
        /// Interval: one in every this many clients is important, starting with client 0.
        #[component(default = 10, in = 2..=1_000_000)]
        every: u32,
        /// Importance relative to the other clients.
        #[component(default = 100.0, in = 1e-6..=1e6)]
        factor: f64,
    },
}

/// Random jumps against entrapment: a number of hops to uniform neighbours without training steps
/// in between.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jumps {
    /// Jump probability p_J.
    #[component(default = 0.1, in = 0..=1)]
    pub prob: f64,
    /// Probability p_d that a jump ends after a hop; the number of hops is geometric.
    #[component(default = 0.5, above = 0, at_most = 1)]
    pub end_prob: f64,
    /// Maximum number of hops of a jump.
    #[component(default = 10, in = 1..=65_535)]
    pub most: u32,
}

impl Jumps {
    /// How many hops a jump takes, in 1..=most: by the geometric law that is cut off there.
    pub fn hops(&self, rng: &mut SimRng) -> u32 {
        let stay = 1.0 - self.end_prob;
        if stay <= 0.0 {
            return 1;
        }
        // P(R > r) = (stay^r − stay^most) / (1 − stay^most).
        let rest = libm::pow(stay, f64::from(self.most));
        let above = rest + (1.0 - unit(rng)) * (1.0 - rest);
        let hops = (libm::log(above) / libm::log(stay)).ceil();
        // The cast of what is below 0 gives 0.
        (hops as u32).clamp(1, self.most)
    }
}

impl Importance {
    fn of(self, graph: &Graph, client: u32) -> f64 {
        match self {
            Importance::Uniform => 1.0,
            Importance::Degree => graph.degree(client) as f64,
            Importance::Few { every, factor } if client.is_multiple_of(every) => factor,
            Importance::Few { .. } => 1.0,
        }
    }
}

impl Chain {
    /// How likely a walk at `u` goes to its neighbour `v`.
    pub fn step_probability(self, graph: &Graph, u: u32, v: u32) -> f64 {
        let [of_u, of_v] = [u, v].map(|client| graph.degree(client) as f64);
        match self {
            Chain::MaxDegree => 1.0 / (1.0 + of_u.max(of_v)),
            Chain::Metropolis { importance } => {
                let [u, v] = [u, v].map(|client| importance.of(graph, client));
                // One product on both sides of the balance, so that both have the same bits.
                (v / of_v).min(u / of_u) / u
            }
        }
    }

    /// How likely a walk at `u` stays there.
    pub fn stay_probability(self, graph: &Graph, u: u32) -> f64 {
        let neighbours = graph.neighbours(u).iter();
        neighbours.fold(1.0, |left, v| left - self.step_probability(graph, u, *v))
    }

    /// The share of steps that each client is visited in in the long run.
    pub fn stationary(self, graph: &Graph) -> Vec<f64> {
        let weight = |client: u32| match self {
            Chain::MaxDegree => 1.0,
            Chain::Metropolis { importance } => importance.of(graph, client),
        };
        let weights: Vec<f64> = (0..graph.n_nodes() as u32).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    /// Where a walk at `u` goes; itself, if it stays.
    ///
    /// # Determinism
    ///
    /// Draws one number for the neighbour, and for Metropolis-Hastings a second one for whether it
    /// goes there.
    pub fn next(self, graph: &Graph, u: u32, rng: &mut SimRng) -> u32 {
        let neighbours = graph.neighbours(u);
        if neighbours.is_empty() {
            return u;
        }
        match self {
            Chain::MaxDegree => {
                let mut left = unit(rng);
                for &v in neighbours {
                    left -= self.step_probability(graph, u, v);
                    if left < 0.0 {
                        return v;
                    }
                }
                u
            }
            Chain::Metropolis { .. } => {
                let v = neighbours[index(rng, neighbours.len())];
                let accepts = self.step_probability(graph, u, v) * neighbours.len() as f64;
                if bernoulli(rng, accepts.min(1.0)) { v } else { u }
            }
        }
    }
}

/// A neighbour of `u`, each alike; itself where it has none.
pub fn any_neighbour(graph: &Graph, u: u32, rng: &mut SimRng) -> u32 {
    match graph.neighbours(u) {
        [] => u,
        neighbours => neighbours[index(rng, neighbours.len())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    fn path() -> Graph {
        Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], false).unwrap()
    }

    fn uneven() -> Graph {
        Graph::from_edges(6, &[(0, 1), (0, 2), (0, 3), (0, 4), (4, 5), (1, 2)], false).unwrap()
    }

    const FEW: Chain = Chain::Metropolis {
        importance: Importance::Few { every: 3, factor: 7.0 },
    };
    const ALL: [Chain; 4] = [
        Chain::MaxDegree,
        Chain::Metropolis {
            importance: Importance::Uniform,
        },
        Chain::Metropolis {
            importance: Importance::Degree,
        },
        FEW,
    ];

    /// A path of four: a third along each link, and two thirds or a third to stay.
    #[test]
    fn a_path_has_the_weights_of_a_hand() {
        let graph = path();
        let third = 1.0 / 3.0;
        for (u, v) in graph.arcs() {
            assert_eq!(Chain::MaxDegree.step_probability(&graph, u, v), third);
        }
        for (u, expected) in (0..).zip([2.0 * third, third, third, 2.0 * third]) {
            let stays = Chain::MaxDegree.stay_probability(&graph, u);
            assert!((stays - expected).abs() < 1e-15, "{u}: {stays}");
        }
    }

    /// `π_u P_uv = π_v P_vu` to the last bit but one, rows leave something or nothing to stay, and
    /// what is visited alike has a symmetric matrix.
    #[test]
    fn chains_are_in_detailed_balance() {
        for graph in [path(), uneven()] {
            for chain in ALL {
                let pi = chain.stationary(&graph);
                assert!((pi.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                for (u, v) in graph.arcs() {
                    let [there, back] =
                        [(u, v), (v, u)].map(|(u, v)| pi[u as usize] * chain.step_probability(&graph, u, v));
                    assert!((there - back).abs() <= 2.0 * f64::EPSILON * there, "{chain:?} {u} {v}");
                }
                for u in 0..graph.n_nodes() as u32 {
                    let stays = chain.stay_probability(&graph, u);
                    assert!(stays >= -1e-12, "{chain:?} {u}: {stays}");
                }
            }
        }
    }

    /// Steps, and staying, have the stated probabilities, within 4 standard errors.
    #[test]
    fn walks_step_as_they_should() {
        let n = 40_000;
        let of_path = [0, 1].map(|u| (path(), u));
        for (graph, u) in [0, 4, 5].map(|u| (uneven(), u)).into_iter().chain(of_path) {
            for chain in ALL {
                let mut rng = SimRng::seed_from_u64(u64::from(u));
                let mut counts = [0.0; 6];
                (0..n).for_each(|_| counts[chain.next(&graph, u, &mut rng) as usize] += 1.0);
                let steps = graph
                    .neighbours(u)
                    .iter()
                    .map(|&v| (v, chain.step_probability(&graph, u, v)));
                for (v, p) in steps.chain([(u, chain.stay_probability(&graph, u))]) {
                    // A sum of what is left of 1 may be a last bit below 0.
                    let p = p.max(0.0);
                    let error = (p * (1.0 - p) / f64::from(n)).sqrt();
                    assert!(
                        (counts[v as usize] / f64::from(n) - p).abs() < 4.0 * error + 1e-12,
                        "{chain:?} {u} {v}"
                    );
                }
            }
        }
    }

    /// Hops of a jump follow the geometric law that is cut off, within 4 standard errors.
    #[test]
    fn jumps_are_as_long_as_they_should_be() {
        let jumps = Jumps {
            prob: 1.0,
            end_prob: 0.3,
            most: 4,
        };
        let (mut counts, mut rng) = ([0.0; 5], SimRng::seed_from_u64(2));
        (0..40_000).for_each(|_| counts[jumps.hops(&mut rng) as usize] += 1.0);
        let laws = [0.3, 0.21, 0.147, 0.1029].map(|p| p / (1.0 - 0.7_f64.powi(4)));
        for (hops, p) in (1..).zip(laws) {
            let error = (p * (1.0 - p) / 40_000.0_f64).sqrt();
            assert!((counts[hops] / 40_000.0 - p).abs() < 4.0 * error, "{hops}: {counts:?}");
        }
        let certain = Jumps { end_prob: 1.0, ..jumps };
        assert_eq!(certain.hops(&mut rng), 1);
    }
}
