//! What a target took, where not every run reached it.
//!
//! Compared over the seeds in which both runs arrive, the slower one is favoured: its worst seeds
//! are left out. So what a target took is restricted to a horizon: the least total of a run that
//! did not arrive, over both sides. Every number is the smaller of its own and the horizon, and is
//! known of every seed (restricted mean survival time; Royston and Parmar 2013). Where all arrive
//! there is no horizon.

use super::Evidence;
use crate::claims::{Measure, Test};
use folkmoot_metrics::target::totals;
use std::collections::BTreeMap;

/// The totals that a test needs where a run does not reach its target.
pub(super) fn needed(test: &Test) -> Vec<Measure> {
    let of = |measure: Measure| {
        totals(&measure.metric).iter().map(move |total| Measure {
            run: measure.run.clone(),
            metric: (*total).to_owned(),
        })
    };
    test.measures().into_iter().flat_map(of).collect()
}

/// The horizon of two numbers, and of each how many runs arrive and how many there are.
type Censored = (f64, [(usize, usize); 2]);

impl Evidence {
    /// What a run had come to under each seed, whether it reached the target or not; `None` of a
    /// seed whose total is not on record.
    fn totals(&self, measure: &Measure) -> BTreeMap<u64, Option<f64>> {
        let runs = self.runs.get(&measure.run.to_string()).into_iter().flatten();
        let total = |values: &BTreeMap<String, f64>| {
            let parts = totals(&measure.metric).iter().map(|total| values.get(*total).copied());
            parts.sum::<Option<f64>>()
        };
        runs.map(|(&seed, measured)| (seed, total(&measured.values))).collect()
    }

    /// The horizon of two numbers, and of each how many runs arrive and how many there are; `None`
    /// where all arrive.
    ///
    /// # Errors
    ///
    /// The number of which the total of a run that did not arrive is not on record.
    fn horizon(&self, both: [&Measure; 2]) -> Result<Option<Censored>, Measure> {
        let mut horizon: Option<f64> = None;
        let mut arrivals = [(0, 0); 2];
        for (measure, (n_arrived, n)) in both.into_iter().zip(&mut arrivals) {
            let arrived = self.of(measure);
            let totals = self.totals(measure);
            (*n_arrived, *n) = (arrived.len(), totals.len());
            for (_, total) in totals.into_iter().filter(|(seed, _)| !arrived.contains_key(seed)) {
                let total = total.ok_or_else(|| measure.clone())?;
                horizon = Some(horizon.map_or(total, |least| least.min(total)));
            }
        }
        Ok(horizon.map(|horizon| (horizon, arrivals)))
    }

    /// A number by seed; of what a target took, restricted to the horizon that it and `partner`
    /// have.
    pub(super) fn restricted(&self, measure: &Measure, partner: &Measure) -> BTreeMap<u64, f64> {
        let own = self.of(measure);
        if totals(&measure.metric).is_empty() {
            return own;
        }
        let Ok(Some((horizon, _))) = self.horizon([measure, partner]) else {
            return own;
        };
        let seeds = self.totals(measure).into_keys();
        seeds
            .map(|seed| (seed, own.get(&seed).map_or(horizon, |value| value.min(horizon))))
            .collect()
    }

    /// The pairs of numbers that a test compares.
    fn compared(test: &Test) -> Vec<[&Measure; 2]> {
        let (Some(measure), Some(against)) = (&test.measure, &test.against) else {
            return test.measure.iter().map(|measure| [measure, measure]).collect();
        };
        let elsewhere = against.elsewhere.iter().map(|[there, other]| [there, other]);
        [[measure, &against.other]].into_iter().chain(elsewhere).collect()
    }

    /// How the numbers of a test are censored, where some run does not reach its target.
    pub(super) fn censoring(&self, test: &Test) -> Option<String> {
        let said = Self::compared(test).into_iter().filter_map(|pair| {
            if totals(&pair[0].metric).is_empty() {
                return None;
            }
            let (horizon, [(a, of_a), (b, of_b)]) = self.horizon(pair).ok()??;
            let horizon = horizon * test.scale;
            Some(match pair[0] == pair[1] {
                true => format!("censored at {horizon}: {a} of {of_a} runs arrive"),
                false => format!("censored at {horizon}: {a} of {of_a} and {b} of {of_b} runs arrive"),
            })
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// The number that a test needs of a run that did not reach its target, and that the record
    /// lacks.
    pub(super) fn lacks_total(&self, test: &Test) -> Option<Measure> {
        Self::compared(test)
            .into_iter()
            .filter(|pair| !totals(&pair[0].metric).is_empty())
            .find_map(|pair| self.horizon(pair).err())
    }
}
