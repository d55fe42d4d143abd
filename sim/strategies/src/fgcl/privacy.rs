//! What views cost and what they give away: releases, totals by each composition, guesses of edges, degrees.
//!
//! Two tables are neighbours if they differ by one edge of one graph. Graphs share no edge, so the worst graph counts, not their
//! sum. What leaves a client, its weights, is made of noisy views; features, labels and numbers of nodes are in it without noise.

use super::Params;
use super::options::{Draws, Views};
use super::study::View;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::PrivacyRow;
use folkmoot_privacy::{Laplace, Mechanism};
use rayon::prelude::*;

const ATTACK: Purpose = Purpose(*b"fg-guess");
/// Training graphs whose edges are guessed: spread evenly over all.
const MOST_GRAPHS: usize = 64;
/// How many views a guess is made of.
const USES: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];

impl Params {
    /// The budget that the paper would state: that of one view, the larger of two.
    pub(super) fn claimed(&self) -> Option<f64> {
        self.setting.epsilons().into_iter().reduce(f64::max)
    }
}

/// What the views of all rounds have cost about the graph that was used most, by each composition, beside what the paper claims.
pub(super) fn totals(views: &PrivacyRow, sheet: &mut Sheet) {
    let of_all = "epsilon_all_rounds";
    sheet.number(of_all, views.epsilon_worst_client);
    let references = [
        ("claimed", views.epsilon_claimed),
        ("advanced", views.epsilon_advanced),
        ("renyi", views.epsilon_renyi),
    ];
    for (label, epsilon) in references {
        if let Some(epsilon) = epsilon {
            sheet.reference(of_all, label, epsilon);
        }
    }
}

impl View<'_> {
    /// How often pairs are guessed wrongly from one view and from all that `n_rounds` rounds draw, beside the theory for one, and how
    /// many degrees of first views are not positive.
    ///
    /// The guess is the likelier answer: the sum of the logarithms of the likelihood ratios decides, and where it is 0 a coin.
    pub(super) fn attacks(&self, n_rounds: u64, sheet: &mut Sheet) {
        let Some(noise) = &self.fgcl.noise else { return };
        let graphs: Vec<u32> = self.data.shards.concat();
        let n = graphs.len().min(MOST_GRAPHS);
        let chosen = (0..n).map(|i| graphs[i * graphs.len() / n]);
        let n_views = match self.fgcl.params.views {
            Views::Fresh => n_rounds * u64::from(self.fgcl.params.training.epochs) * noise.tables.len() as u64,
            Views::Fixed => noise.tables.len() as u64,
        };
        let uses: Vec<u32> = USES.into_iter().filter(|uses| u64::from(*uses) <= n_views).collect();
        let chosen: Vec<u32> = chosen.collect();
        let counts: Vec<Guesses> = chosen.into_par_iter().map(|item| self.guess(item, &uses)).collect();
        let mut all = Guesses::new(uses.len());
        counts.iter().for_each(|counts| all.add(counts));
        if all.n_pairs > 0 {
            let error = |wrong: u64| wrong as f64 / (2 * all.n_pairs) as f64;
            for (i, (uses, wrong)) in uses.iter().zip(&all.wrong).enumerate() {
                if i == 0 {
                    sheet.number("edge_guess_error", error(*wrong));
                    sheet.reference("edge_guess_error", "theory", noise.tables[0].law.guess_error());
                }
                sheet.point("edge_guess_error", ("views", uses), error(*wrong));
            }
        }
        if all.n_degrees > 0 {
            let share = |part: u64, all: u64| part as f64 / all as f64;
            sheet.number(
                Unit::Share.of("nonpositive_degrees"),
                share(all.n_nonpositive, all.n_degrees),
            );
            sheet.number(
                Unit::Share.of("graphs_with_nonpositive_degree"),
                share(all.n_spoilt, all.n_graphs),
            );
        }
    }

    fn guess(&self, item: u32, uses: &[u32]) -> Guesses {
        let mut guesses = Guesses::new(uses.len());
        let (Some(noise), graph) = (&self.fgcl.noise, &self.data.items[item as usize]) else {
            return guesses;
        };
        let n = graph.n_nodes;
        let mut rng = self.streams.counted(ATTACK, Party::Server, Round(0), u64::from(item));
        let (mut table, mut ratios) = (Vec::new(), vec![0.0f64; n * n]);
        let mut joined = vec![false; n * n];
        graph
            .edges
            .iter()
            .for_each(|(u, v)| joined[*u as usize * n + *v as usize] = true);
        for view in 0..uses.last().copied().unwrap_or(1) {
            let law = view as usize % noise.tables.len();
            noise.tables[law]
                .release_into(graph, &mut rng, &mut table)
                .expect("every table has noise");
            for u in 0..n {
                for v in u + 1..n {
                    ratios[u * n + v] += ratio(&noise.tables[law].law, table[u * n + v]);
                    if self.fgcl.params.draws == Draws::PerEntry {
                        ratios[u * n + v] += ratio(&noise.tables[law].law, table[v * n + u]);
                    }
                }
            }
            if let Some(at) = uses.iter().position(|uses| *uses == view + 1) {
                for u in 0..n {
                    for v in u + 1..n {
                        let (ratio, is_edge) = (ratios[u * n + v], joined[u * n + v]);
                        // Half a point where a coin decides.
                        guesses.wrong[at] += if ratio == 0.0 {
                            1
                        } else {
                            2 * u64::from((ratio > 0.0) != is_edge)
                        };
                    }
                }
            }
            if view == 0
                && let Some(degrees) = noise.raw_degrees(n, table.clone())
            {
                let n_nonpositive = degrees.iter().filter(|degree| **degree <= 0.0).count() as u64;
                guesses.n_nonpositive = n_nonpositive;
                guesses.n_degrees = n as u64;
                guesses.n_spoilt = u64::from(n_nonpositive > 0);
            }
        }
        guesses.n_pairs = (n * n.saturating_sub(1) / 2) as u64;
        guesses.n_graphs = 1;
        guesses
    }
}

/// `ln (p(value | edge) / p(value | none))`: `(|value| − |value − 1|) / b`, without the rounding of that difference.
fn ratio(law: &Laplace, value: f32) -> f64 {
    (2.0 * f64::from(value) - 1.0).clamp(-1.0, 1.0) / law.scale()
}

/// Counts over graphs.
struct Guesses {
    /// Half points, for each number of uses.
    wrong: Vec<u64>,
    n_pairs: u64,
    n_graphs: u64,
    n_degrees: u64,
    n_nonpositive: u64,
    /// Graphs with a degree that is not positive.
    n_spoilt: u64,
}

impl Guesses {
    fn new(n_uses: usize) -> Guesses {
        Guesses {
            wrong: vec![0; n_uses],
            n_pairs: 0,
            n_graphs: 0,
            n_degrees: 0,
            n_nonpositive: 0,
            n_spoilt: 0,
        }
    }

    fn add(&mut self, other: &Guesses) {
        self.wrong
            .iter_mut()
            .zip(&other.wrong)
            .for_each(|(sum, more)| *sum += more);
        self.n_pairs += other.n_pairs;
        self.n_graphs += other.n_graphs;
        self.n_degrees += other.n_degrees;
        self.n_nonpositive += other.n_nonpositive;
        self.n_spoilt += other.n_spoilt;
    }
}
