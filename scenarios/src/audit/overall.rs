//! Whole printed tables: one difference from print over all cells, in place of one verdict a cell.
//!
//! The cells of a table are not independent: those of one data set share its splits, so that
//! their residuals are correlated. The model is
//! `measured − printed = table + set + split(set, seed) + rest`, with sets fixed and splits random.
//! In a table that every seed fills, its estimate for a set is the mean over seeds of the mean
//! over the set's cells. The variance of these means includes the correlation.
//!
//! Assumption: the printed cells of a set share one split, which no paper here states. They then
//! add the variance of one seed. If each printed cell has its own split, the interval is too wide.

use super::Evidence;
use crate::claims::{Claim, Measure, Printed, Rule};
use folkmoot_metrics::{Spread, t_95};
use std::collections::{BTreeMap, BTreeSet};

/// A mean difference from print, with its 95 % interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// How many cells it is over.
    pub n_cells: usize,
    /// Seeds, the same for all cells of a set; the least over sets.
    pub n_seeds: usize,
    /// The mean of measured minus printed.
    pub mean: f64,
    /// Half the width of the 95 % interval, by Student's t with the degrees of freedom of Welch and
    /// Satterthwaite.
    pub half_width: f64,
}

/// The differences of a table from print: by card, each of which has its own data set, and over all
/// of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    pub sets: BTreeMap<String, Difference>,
    /// The mean over cards; nothing without a card.
    pub all: Option<Difference>,
}

impl Difference {
    /// `-0.021 (95 % interval -0.055 to 0.013)`.
    pub fn text(&self) -> String {
        let (low, high) = (self.mean - self.half_width, self.mean + self.half_width);
        format!("{:.3} (95 % interval {low:.3} to {high:.3})", self.mean)
    }
}

/// The printed number of a claim and what is measured of it, where one run tells it by itself.
fn cell(claim: &Claim) -> Option<(&Measure, f64)> {
    let test = &claim.test;
    let is_number = matches!(test.rule, Rule::Statistical | Rule::Within(_)) && test.against.is_none();
    let measure = test.measure.as_ref().filter(|_| is_number && test.pool.is_empty())?;
    Some((measure, Printed::parse(&claim.printed)?.value))
}

/// The numbers that [`compare`] needs.
pub fn measures<'a>(claims: impl Iterator<Item = &'a Claim>, set: &[String]) -> BTreeSet<Measure> {
    claims.filter_map(cell).map(|(measure, _)| with(measure, set)).collect()
}

fn with(measure: &Measure, set: &[String]) -> Measure {
    let mut measure = measure.clone();
    measure.run.set.extend_from_slice(set);
    measure
}

/// Compares printed numbers with measured ones; every run has the settings `set` in addition, and
/// printed numbers are of `printed_runs` runs. A cell with fewer than two seeds is left out, and so
/// is a card whose cells have fewer than two seeds in common.
pub fn compare<'a>(
    claims: impl Iterator<Item = &'a Claim>,
    set: &[String],
    printed_runs: u32,
    evidence: &Evidence,
) -> Overview {
    let mut cells: BTreeMap<String, Vec<BTreeMap<u64, f64>>> = BTreeMap::new();
    for claim in claims {
        let Some((measure, printed)) = cell(claim) else {
            continue;
        };
        let mut values = evidence.of(&with(measure, set));
        values
            .values_mut()
            .for_each(|value| *value = *value * claim.test.scale - printed);
        values.retain(|_, value| value.is_finite());
        if values.len() > 1 {
            cells.entry(measure.run.card.clone()).or_default().push(values);
        }
    }
    let mut sets = BTreeMap::new();
    let (mut sum, mut variance, mut welch) = (0.0, 0.0, 0.0);
    for (card, cells) in cells {
        let is_common = |seed: &&u64| cells.iter().all(|values| values.contains_key(seed));
        let seeds: Vec<u64> = cells[0].keys().filter(is_common).copied().collect();
        if seeds.len() < 2 {
            continue;
        }
        let mean_of = |seed: &u64| cells.iter().map(|values| values[seed]).sum::<f64>() / cells.len() as f64;
        let spread = Spread::of(&seeds.iter().map(mean_of).collect::<Vec<f64>>());
        let n = seeds.len() as f64;
        let of_set = spread.sample_std().powi(2) * (1.0 / n + 1.0 / f64::from(printed_runs));
        sum += spread.mean;
        variance += of_set;
        welch += of_set * of_set / (n - 1.0);
        let difference = Difference {
            n_cells: cells.len(),
            n_seeds: seeds.len(),
            mean: spread.mean,
            half_width: t_95(seeds.len() - 1) * of_set.sqrt(),
        };
        sets.insert(card, difference);
    }
    let n_sets = sets.len() as f64;
    let all = (!sets.is_empty()).then(|| Difference {
        n_cells: sets.values().map(|set| set.n_cells).sum(),
        n_seeds: sets.values().map(|set| set.n_seeds).min().unwrap_or(0),
        mean: sum / n_sets,
        // A whole number of degrees of freedom, rounded down, widens the interval.
        half_width: match welch > 0.0 {
            true => t_95((variance * variance / welch) as usize) * variance.sqrt() / n_sets,
            false => 0.0,
        },
    });
    Overview { sets, all }
}
