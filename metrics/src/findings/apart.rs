//! A sentence for each number of a sweep's headline: which arm is highest, which lowest, and how far apart they are.

use super::{Arm, arms, headline};
use crate::key::{base, in_words};
use crate::metric::Unit;
use crate::spread::Spread;
use crate::sweep_dir::{PointRow, SweepDir};
use crate::term::Better;
use crate::words::{last_part, measured};
use std::collections::BTreeMap;

/// The number of a headline in the two arms that are farthest apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    /// The number's name in summaries.
    pub metric: String,
    /// Its name in words.
    pub words: String,
    /// What it is measured in.
    pub unit: Unit,
    /// How many arms have it.
    pub n_arms: usize,
    /// The arm that one would rather have, or the higher one: what it is called, and its mean over seeds.
    pub first: (String, f64),
    /// The arm at the other end.
    pub last: (String, f64),
    /// The first less the last, by the seeds that both have.
    ///
    /// Its interval is that of one pair which nobody chose: the farthest of many pairs lie apart by chance, too.
    pub apart: Spread,
}

/// What the numbers of the headline come to, those that two arms or more have.
pub fn apart(sweep: &SweepDir) -> Vec<Apart> {
    let arms = arms(sweep);
    let of_metric = |metric: &String| {
        let by_seed = |arm: &Arm<'_>| -> BTreeMap<u64, f64> {
            let number = |row: &&PointRow| Some((row.seed, *row.summary.get(metric)?));
            arm.rows.iter().filter_map(number).collect()
        };
        let numbers = arms.iter().map(|arm| (arm, by_seed(arm)));
        let mut means: Vec<(&Arm<'_>, BTreeMap<u64, f64>, f64)> = numbers
            .map(|(arm, by_seed)| {
                let values: Vec<f64> = by_seed.values().copied().collect();
                (arm, by_seed, Spread::of(&values).mean)
            })
            .filter(|(.., mean)| mean.is_finite())
            .collect();
        let term = sweep.manifest.terms.get(base(metric));
        // Arms with one mean keep their order.
        means.sort_by(|a, b| match term.and_then(|term| term.better) {
            Some(Better::Lower) => a.2.total_cmp(&b.2),
            _ => b.2.total_cmp(&a.2),
        });
        let (first, last) = match means.as_slice() {
            [first, .., last] => (first, last),
            _ => return None,
        };
        let both = first.1.iter().filter_map(|(seed, a)| Some(a - last.1.get(seed)?));
        let called = |of: &(&Arm<'_>, _, f64)| {
            let name = name_of(sweep, of.0.values);
            match means.iter().filter(|(.., mean)| *mean == of.2).count() {
                0 | 1 => (name, of.2),
                n => (format!("{name} and {} more", n - 1), of.2),
            }
        };
        Some(Apart {
            metric: metric.clone(),
            words: term.map_or(base(metric), |term| &term.words).to_owned() + &in_words(metric),
            unit: sweep.manifest.units.get(base(metric)).copied().unwrap_or_default(),
            n_arms: means.len(),
            first: called(first),
            last: called(last),
            apart: Spread::of(&both.collect::<Vec<f64>>()),
        })
    };
    headline(sweep).iter().filter_map(of_metric).collect()
}

impl Apart {
    /// In a sentence.
    pub fn sentence(&self) -> String {
        let number = |x: f64| measured(&self.metric, x, self.unit);
        let Apart {
            words,
            first,
            last,
            apart,
            ..
        } = self;
        if first.1 == last.1 {
            return format!("{words}: the same in all {} arms, {}.", self.n_arms, number(first.1));
        }
        let (head, tail) = match first.1 > last.1 {
            true => ("highest", "lowest"),
            false => ("lowest", "highest"),
        };
        let of = match self.n_arms {
            2 => String::new(),
            n => format!(" of {n}"),
        };
        let seeds = format!("{} seeds", apart.n());
        let far = match apart.interval_95() {
            Some((low, high)) => {
                let decided = if low <= 0.0 && high >= 0.0 {
                    ", which does not tell them apart"
                } else {
                    ""
                };
                let half = number(high - apart.mean);
                format!("{} ± {half} apart over {seeds}{decided}", number(apart.mean.abs()))
            }
            None if apart.n() == 0 => "no seed in common".to_owned(),
            None => format!(
                "{} apart with one seed, which has no interval",
                number(apart.mean.abs())
            ),
        };
        let ((first, best), (last, worst)) = (first, last);
        format!(
            "{words}: {head}{of} with {first} ({}), {tail} with {last} ({}); {far}.",
            number(*best),
            number(*worst)
        )
    }
}

/// What an arm is called in a sentence: names as they are, numbers with the last part of their axis' path before them.
fn name_of(sweep: &SweepDir, values: &[String]) -> String {
    let named =
        |(axis, value): (&crate::Axis, &String)| match value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok() {
            true => format!("{} {value}", last_part(&axis.path)),
            false => value.clone(),
        };
    let all: Vec<String> = sweep.manifest.axes.iter().zip(values).map(named).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Meaning, SweepManifest};
    use std::path::PathBuf;

    /// A sweep over a rate of three arms under two seeds, with these numbers, arm by arm.
    fn sweep(numbers: [[Option<f64>; 2]; 3], better: Option<Better>) -> SweepDir {
        let meaning = Meaning {
            words: "Loss".to_owned(),
            range: (None, None),
            better,
            about: String::new(),
            attack: None,
            scored: None,
            split: None,
        };
        let manifest = SweepManifest {
            axes: vec![Axis {
                path: "strategy.rate".to_owned(),
                values: ["0.1", "0.2", "Adam"].map(str::to_owned).to_vec(),
                with: None,
            }],
            seeds: vec![7, 8],
            headline: vec!["loss".to_owned(), "nowhere".to_owned()],
            terms: BTreeMap::from([("loss".to_owned(), meaning)]),
            finished: true,
            ..SweepManifest::default()
        };
        let rows = manifest.points().into_iter().zip(numbers.into_iter().flatten());
        let row = |(point, number): (crate::Point, Option<f64>)| PointRow {
            point: point.point,
            values: point.values,
            seed: point.seed,
            summary: number.map(|x| ("loss".to_owned(), x)).into_iter().collect(),
        };
        SweepDir {
            path: PathBuf::new(),
            points: rows.map(row).collect(),
            manifest,
        }
    }

    fn said(numbers: [[Option<f64>; 2]; 3], better: Option<Better>) -> Vec<String> {
        let found = apart(&sweep(numbers, better));
        found.iter().map(Apart::sentence).collect()
    }

    #[test]
    fn the_arms_that_are_farthest_apart_are_named_with_their_paired_difference() {
        let numbers = [[1.0, 3.0], [5.0, 7.0], [2.0, 4.0]].map(|row| row.map(Some));
        // The seeds differ by more than the arms, and say the same of them.
        let far = "4 ± 0 apart over 2 seeds.";
        let lower = format!("Loss: lowest of 3 with rate 0.1 (2), highest with rate 0.2 (6); {far}");
        assert_eq!(said(numbers, Some(Better::Lower)), [lower]);
        let higher = format!("Loss: highest of 3 with rate 0.2 (6), lowest with rate 0.1 (2); {far}");
        assert_eq!(said(numbers, None), [higher]);
    }

    #[test]
    fn what_the_seeds_do_not_tell_apart_is_said_to_be_so() {
        let numbers = [[Some(1.0), Some(3.0)], [None, None], [Some(2.0), Some(3.0)]];
        let t = 12.706 * 0.5;
        assert_eq!(
            said(numbers, Some(Better::Higher)),
            [format!(
                "Loss: highest with Adam (2.500000), lowest with rate 0.1 (2); 0.500000 ± {t:.6} apart over 2 seeds, which does not tell \
                 them apart."
            )]
        );
        let one = [[Some(1.0), None], [None; 2], [Some(2.0), None]];
        assert!(said(one, None)[0].ends_with("1 apart with one seed, which has no interval."));
        let none = [[Some(1.0), None], [None; 2], [None, Some(2.0)]];
        assert!(said(none, None)[0].ends_with("no seed in common."));
    }

    #[test]
    fn one_arm_alone_and_arms_that_are_equal_are_not_compared() {
        assert!(said([[Some(1.0); 2], [None; 2], [None; 2]], None).is_empty());
        assert!(said([[Some(f64::NAN); 2], [Some(1.0); 2], [None; 2]], None).is_empty());
        assert_eq!(said([[Some(1.0); 2]; 3], None), ["Loss: the same in all 3 arms, 1."]);
    }
}
