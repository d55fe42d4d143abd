//! Laplace noise on every bit of a user's list, and the largest sums kept.

use super::{BIT, EdgeRelease, Reports, Suspicion, of_bits};
use crate::links::Links;
use crate::own::{OwnEdges, place_of, refused};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_privacy::NoisyCounts;

/// At most so many users, whose numbers are 576 MB.
const MAX_USERS: u32 = 12_000;

/// Laplace noise of scale `1 / epsilon` on every bit of a user's neighbour list, 4 bytes each. The
/// server keeps the pairs with the largest sums, as many as the total of all reports estimates
/// (LapGraph with its own count; Wu et al., S&P 2022).
#[component(
    name = "LaplaceEdges",
    about = "Laplace noise on every bit of a user's list of neighbours"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceEdges {
    /// Privacy budget ε of one bit of one neighbour list.
    #[component(default = 4.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
}

/// What each has told of all others.
struct Told(Vec<Vec<f32>>);

impl Told {
    fn new(reports: Reports<'_>) -> Result<Told, StrategyError> {
        let n_others = reports.n_users() as usize - 1;
        let read = |_, report: &[u8]| {
            let values = WireReader::new(report).rest_f32().ok()?;
            (values.len() == n_others && values.iter().all(|value| value.is_finite())).then_some(values)
        };
        reports.read(read).map(Told)
    }

    /// What a user has told of another; half where it told nothing, which says nothing.
    fn of(&self, i: u32, j: u32) -> f32 {
        let told = self.0[i as usize].get(place_of(i, j) as usize);
        told.copied().unwrap_or(0.5)
    }

    fn sum(&self, i: u32, j: u32) -> f32 {
        self.of(i, j) + self.of(j, i)
    }

    fn is_silent(&self, user: u32) -> bool {
        self.0[user as usize].is_empty()
    }

    /// All pairs of users of whom both have spoken.
    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let n = self.0.len() as u32;
        let speak = |user: &u32| !self.is_silent(*user);
        (0..n)
            .filter(speak)
            .flat_map(move |i| (i + 1..n).filter(speak).map(move |j| (i, j)))
    }
}

impl EdgeRelease for LaplaceEdges {
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        vec![of_bits("Laplace noise: edges", self.epsilon)]
    }

    fn suits(&self, n_users: u32) -> Result<(), StrategyError> {
        match n_users <= MAX_USERS {
            true => Ok(()),
            false => Err(StrategyError(format!(
                "LaplaceEdges: must have at most {MAX_USERS} users, whose numbers the server holds one for each pair, got {n_users}; take EdgeResponse() or Blink()"
            ))),
        }
    }

    fn report(&self, mut own: OwnEdges<'_>) -> Result<Vec<u8>, StrategyError> {
        let noise = NoisyCounts::new(self.epsilon, 1.0, BIT)
            .map_err(refused)?
            .of_whole_numbers();
        let values = own.real_bits(&noise)?;
        let mut report = Vec::with_capacity(4 * values.len());
        values.iter().for_each(|value| put_f32s(&mut report, &[*value as f32]));
        Ok(report)
    }

    fn links(&self, reports: Reports<'_>) -> Result<Links, StrategyError> {
        let told = Told::new(reports)?;
        let mut sums: Vec<f32> = told.pairs().map(|(i, j)| told.sum(i, j)).collect();
        let all: f64 = sums.iter().map(|sum| 0.5 * f64::from(*sum)).sum();
        // The cast of what is below 0 gives 0.
        let n_edges = (all.round() as usize).min(sums.len());
        let mut rows = vec![Vec::new(); told.0.len()];
        if n_edges > 0 {
            let (_, least, _) = sums.select_nth_unstable_by(n_edges - 1, |a, b| b.total_cmp(a));
            let least = *least;
            for (i, j) in told.pairs().filter(|(i, j)| told.sum(*i, *j) >= least) {
                rows[i as usize].push(j);
                rows[j as usize].push(i);
            }
            rows.iter_mut().for_each(|row: &mut Vec<u32>| row.sort_unstable());
        }
        Ok(Links::named(&rows, true))
    }

    /// The sums, and how much likelier they are for an edge than for none.
    fn suspect(&self, reports: Reports<'_>, pairs: &[(u32, u32)]) -> Result<Vec<Suspicion>, StrategyError> {
        let told = Told::new(reports)?;
        let ratio = |value: f32| f64::from(value.abs()) - f64::from((value - 1.0).abs());
        let likelier = |&(i, j): &(u32, u32)| self.epsilon * (ratio(told.of(i, j)) + ratio(told.of(j, i)));
        Ok(vec![
            Suspicion {
                name: "lists",
                scores: pairs.iter().map(|&(i, j)| f64::from(told.sum(i, j))).collect(),
            },
            Suspicion {
                name: "posterior",
                scores: pairs.iter().map(likelier).collect(),
            },
        ])
    }
}
