//! Blink: bits and degrees under noise, and at the server what is then believed of every pair.
//!
//! X. Zhu, V. Y. F. Tan, X. Xiao. Blink: Link Local Differential Privacy in Graph Neural Networks
//! via Bayesian Estimation. CCS 2023, algorithms 1 to 3. <https://arxiv.org/abs/2309.03190>
//!
//! A user sends a bit for each other user and its degree: `ceil((n − 1) / 8) + 4` bytes. The server
//! fits the beta model of the degrees ([`Prior`](super::prior::Prior)), weighs it with both bits of
//! each pair, and learns on the pairs it believes in. Deviation: degrees are rounded, see there.

use super::prior::{Prior, posterior};
use super::{BIT, EdgeRelease, Reports, Suspicion, of_bits, of_degrees};
use crate::bits::{Bits, pack, unpack};
use crate::links::{Arcs, Links, Weighed};
use crate::own::{OwnEdges, place_of, refused, user_at};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_privacy::{NoisyCounts, SparseBits};
use rayon::prelude::*;

/// Randomised response on bits and a noisy degree; the server computes the posterior of every pair
/// by Bayes' rule.
#[component(
    name = "Blink",
    about = "randomised neighbour lists and noisy degrees, with a posterior per pair at the server (CCS 2023)"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blink {
    /// Privacy budget ε of one bit of one neighbour list, for degree and bits together.
    #[component(default = 4.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
    /// Fraction of the budget for the degree (delta in the paper); matters most at small ε.
    #[component(default = 0.1, above = 0, below = 1)]
    pub degree_share: f64,
    /// Graph that the server trains on.
    pub graph: Graph,
}

/// Graph that the server trains on, from the posterior of pairs.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    /// Pairs with a posterior above 1/2, unweighted.
    #[default]
    Hard,
    /// All pairs, weighted by their posterior.
    Soft,
    /// The most likely pairs, as many as expected edges, weighted by their posterior; ties with the
    /// last are included.
    Hybrid,
}

/// What the server holds.
struct Held {
    /// Whom each has named, and who has named each.
    said: Bits,
    heard: Bits,
    prior: Prior,
    /// For nobody, one and both of a pair having named the other: by the classes of its users.
    tables: [Vec<f64>; 3],
}

impl Held {
    fn belief(&self, i: usize, j: usize) -> f64 {
        let named = usize::from(self.said.has(i, j)) + usize::from(self.heard.has(i, j));
        self.tables[named][self.at(i, j)]
    }

    fn at(&self, i: usize, j: usize) -> usize {
        let [a, b] = [i, j].map(|user| self.prior.classes[user] as usize);
        a * self.prior.u.len() + b
    }

    /// Those pairs whose belief is one that `keeps` says, with it.
    fn kept(&self, keeps: impl Fn(f64) -> bool + Sync) -> Vec<Vec<(u32, f32)>> {
        let n = self.said.len();
        let row = |i: usize| {
            let belief = |j: usize| (j as u32, self.belief(i, j));
            let all = (0..n).filter(|&j| j != i).map(belief);
            all.filter(|(_, p)| keeps(*p)).map(|(j, p)| (j, p as f32)).collect()
        };
        (0..n).into_par_iter().map(row).collect()
    }

    /// The least belief among as many of the strongest as there should be arcs, which is the sum of
    /// all; above all where that is none.
    fn threshold(&self) -> f64 {
        let (n, n_classes) = (self.said.len(), self.prior.u.len());
        // How many arcs have each belief: whole numbers, so no order of adding changes them.
        let count = |mut counts: Vec<u64>, i: usize| {
            for j in (0..n).filter(|&j| j != i) {
                let named = usize::from(self.said.has(i, j)) + usize::from(self.heard.has(i, j));
                counts[named * n_classes * n_classes + self.at(i, j)] += 1;
            }
            counts
        };
        let none = || vec![0_u64; 3 * n_classes * n_classes];
        let sum = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let counts = (0..n)
            .into_par_iter()
            .with_min_len(1_024)
            .fold(none, count)
            .reduce(none, sum);
        let beliefs = self.tables.iter().flatten().copied();
        let mut groups: Vec<(f64, u64)> = beliefs.zip(counts).filter(|(_, count)| *count > 0).collect();
        groups.sort_by(|a, b| b.0.total_cmp(&a.0));
        let all: f64 = groups.iter().map(|(belief, count)| belief * *count as f64).sum();
        let (wanted, mut found) = (all as u64, 0);
        for (belief, count) in groups {
            found += count;
            if found >= wanted && wanted > 0 {
                return belief;
            }
        }
        f64::INFINITY
    }
}

impl Blink {
    fn budgets(&self) -> (f64, f64) {
        let degree = self.degree_share * self.epsilon;
        (degree, self.epsilon - degree)
    }

    fn bits(&self, n_bits: u32) -> Result<SparseBits, StrategyError> {
        SparseBits::new(self.budgets().1, n_bits, BIT).map_err(refused)
    }

    fn held(&self, reports: Reports<'_>) -> Result<Held, StrategyError> {
        let n = reports.n_users();
        let mut said = Bits::new(n as usize);
        let mut degrees = vec![None; n as usize];
        let read = |user: u32, report: &[u8]| {
            let (bits, degree) = report.split_at_checked(report.len().checked_sub(4)?)?;
            degrees[user as usize] = Some(f64::from(WireReader::new(degree).f32().ok()?));
            let places = unpack(bits, n - 1)?;
            places
                .into_iter()
                .for_each(|place| said.set(user as usize, user_at(user, place) as usize));
            Some(())
        };
        reports.read(read)?;
        let prior = Prior::new(&degrees, 1.0 / self.budgets().0);
        let flip = self.bits(1)?.flip_probability();
        let n_classes = prior.u.len() as u32;
        let table = |n_named: u32| {
            let row = |a: u32| (0..n_classes).map(move |b| (a, b));
            let belief = |(a, b): (u32, u32)| posterior(prior.of(a, b), n_named, flip);
            (0..n_classes).flat_map(row).map(belief).collect()
        };
        Ok(Held {
            heard: said.transposed(),
            said,
            tables: [table(0), table(1), table(2)],
            prior,
        })
    }
}

impl EdgeRelease for Blink {
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let (degree, bits) = self.budgets();
        vec![of_bits("Blink: edges", bits), of_degrees(degree)]
    }

    fn report(&self, mut own: OwnEdges<'_>) -> Result<Vec<u8>, StrategyError> {
        let (me, n_others) = (own.me(), own.n_users() - 1);
        let noise = NoisyCounts::new(self.budgets().0, 1.0, BIT)
            .map_err(refused)?
            .of_whole_numbers();
        let degree = own.degree(&noise)?;
        let told = own.all_bits(&self.bits(n_others)?)?;
        let mut report = pack(told.into_iter().map(|other| place_of(me, other)), n_others);
        put_f32s(&mut report, &[degree as f32]);
        Ok(report)
    }

    fn links(&self, reports: Reports<'_>) -> Result<Links, StrategyError> {
        let held = self.held(reports)?;
        Ok(match self.graph {
            Graph::Hard => {
                let plain = |row: Vec<(u32, f32)>| row.into_iter().map(|(j, _)| j).collect();
                let rows: Vec<Vec<u32>> = held.kept(|p| p > 0.5).into_iter().map(plain).collect();
                Links::named(&rows, true)
            }
            Graph::Soft => Links::Weighed(Weighed {
                tables: held.tables.map(|table| table.into_iter().map(|p| p as f32).collect()),
                classes: held.prior.classes,
                said: held.said,
                heard: held.heard,
            }),
            Graph::Hybrid => {
                let threshold = held.threshold();
                Links::symmetric(Arcs::weighted(&held.kept(|p| p >= threshold)))
            }
        })
    }

    /// The bits, and what the server believes.
    fn suspect(&self, reports: Reports<'_>, pairs: &[(u32, u32)]) -> Result<Vec<Suspicion>, StrategyError> {
        let held = self.held(reports)?;
        let named = |&(i, j): &(u32, u32)| {
            let [i, j] = [i as usize, j as usize];
            f64::from(u8::from(held.said.has(i, j)) + u8::from(held.heard.has(i, j)))
        };
        let belief = |&(i, j): &(u32, u32)| held.belief(i as usize, j as usize);
        Ok(vec![
            Suspicion {
                name: "lists",
                scores: pairs.iter().map(named).collect(),
            },
            Suspicion {
                name: "posterior",
                scores: pairs.iter().map(belief).collect(),
            },
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_bytes::ByteBuf;

    /// Reports of a ring of `n` users without any noise.
    fn ring(n: u32) -> Vec<Option<ByteBuf>> {
        let one = |me: u32| {
            let others = [(me + 1) % n, (me + n - 1) % n].map(|other| place_of(me, other));
            let mut report = pack(others.into_iter(), n - 1);
            put_f32s(&mut report, &[2.0]);
            Some(ByteBuf::from(report))
        };
        (0..n).map(one).collect()
    }

    fn blink(epsilon: f64, graph: Graph) -> Blink {
        Blink {
            epsilon,
            degree_share: 0.1,
            graph,
        }
    }

    /// With a large budget all three graphs are the one there is; weights are 1.
    #[test]
    fn without_noise_the_graph_is_the_one_there_is() {
        let reports = ring(9);
        for graph in [Graph::Hard, Graph::Soft, Graph::Hybrid] {
            let links = blink(600.0, graph).links(Reports(&reports)).unwrap();
            let mut sums = vec![0.0; 9];
            links.product(&(0..9).map(|i| i as f32).collect::<Vec<_>>(), 1, &mut sums);
            for (i, sum) in sums.iter().enumerate() {
                let expected = ((i + 1) % 9 + (i + 8) % 9) as f32;
                assert!((sum - expected).abs() < 1e-4, "{graph:?} {i}: {sum}");
            }
            assert_eq!(links.n_arcs(), 18, "{graph:?}");
        }
    }

    /// With hardly any budget bits say nothing: what is believed is what degrees say, alike for all
    /// pairs of a ring.
    #[test]
    fn without_a_budget_the_belief_is_the_prior() {
        let reports = ring(9);
        let held = blink(1e-6, Graph::Soft).held(Reports(&reports)).unwrap();
        for j in 1..9 {
            assert!((held.belief(0, j) - held.prior.of_users(0, j as u32)).abs() < 1e-6);
        }
        assert_eq!(blink(1e-6, Graph::Hard).links(Reports(&reports)).unwrap().n_arcs(), 0);
    }

    /// Who says nothing is joined to nobody, and a report that is none is an error.
    #[test]
    fn the_silent_are_left_out() {
        let mut reports = ring(7);
        reports[3] = None;
        for graph in [Graph::Hard, Graph::Soft, Graph::Hybrid] {
            let degrees = blink(600.0, graph).links(Reports(&reports)).unwrap().degrees();
            assert!(
                degrees[3] == 0.0 && (degrees[2] - 1.0).abs() < 1e-3,
                "{graph:?} {degrees:?}"
            );
        }
        reports[3] = Some(ByteBuf::from(vec![1, 2, 3]));
        let why = blink(1.0, Graph::Hard).links(Reports(&reports)).unwrap_err();
        assert!(why.0.contains("user 3"), "{why}");
    }
}
