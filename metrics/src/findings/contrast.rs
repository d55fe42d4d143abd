//! How arms differ from the baselines that the card's question names: paired differences with
//! their 95 % confidence intervals, for primary metrics and for targets.

use super::{Arm, headline, is_timeless};
use crate::estimate::Estimate;
use crate::key::{base, in_words};
use crate::metric::Unit;
use crate::spread::Spread;
use crate::sweep_dir::{Contrast, PointRow, SWEEPS, SweepDir};
use crate::target::{self, Target};
use crate::term::{Better, Meaning};
use crate::words::{counted, last_part};
use std::collections::{BTreeMap, BTreeSet};

/// Differences whose adjusted p is below this are significant.
pub const LEVEL: f64 = 0.05;
/// Under fewer seeds a difference that is the same under each may be so by chance.
const CONSTANT: usize = 3;
/// So many arms are named in a sentence; the others are counted.
const NAMED: usize = 2;

/// An arm compared with its baseline, in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The arm's number among [`arms`](super::arms), and that of its baseline.
    pub arms: [usize; 2],
    /// What distinguishes the arm and its baseline: the values that the contrast names.
    pub names: [String; 2],
    /// The larger of the two means, without its sign.
    pub size: f64,
    /// The arm's number less the baseline's, over the seeds that both have.
    pub paired: Spread,
    /// The p value of no difference, adjusted for the contrasts of the same metric at the same
    /// values of the other axes (Holm 1979); `None` with one seed, and where every seed has the
    /// same difference.
    pub p: Option<f64>,
    /// The values of the other axes.
    others: Vec<String>,
    /// The place of the value in its axis, where that is an axis of numbers.
    dose: Option<usize>,
}

/// Every contrast of a sweep in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The metric's name in summaries.
    pub metric: String,
    /// Its name in words.
    pub words: String,
    pub unit: Unit,
    /// The differences, in the order of the contrasts and arms.
    pub differences: Vec<Difference>,
    /// What runs took that did not reach the target, where some did not: the horizon at which
    /// every number is cut off (restricted mean).
    pub censored_at: Option<f64>,
}

/// What the seeds decide of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The same number under every seed.
    Identical,
    /// Larger than the baseline: significantly, or by the same under each of three seeds or more.
    Higher,
    /// Smaller than the baseline: significantly, or by the same under each of three seeds or more.
    Lower,
    NotSignificant,
    /// Too few seeds in common: none, one, or two that have the same difference.
    Unknown,
}

impl Difference {
    fn estimate(&self, unit: Unit) -> Estimate {
        Estimate::of_difference(&self.paired, unit, self.size)
    }

    /// What the seeds decide.
    pub fn decision(&self) -> Decision {
        let mean = self.paired.mean;
        match (self.paired.n(), self.p) {
            (0, _) => Decision::Unknown,
            _ if !mean.is_finite() => Decision::Unknown,
            (_, None) if mean == 0.0 => Decision::Identical,
            (n, None) if n < CONSTANT => Decision::Unknown,
            (_, Some(p)) if p >= LEVEL => Decision::NotSignificant,
            _ if mean > 0.0 => Decision::Higher,
            _ => Decision::Lower,
        }
    }
}

/// The contrasts of a sweep: of what each target took in virtual time and in bytes, then of each
/// metric of its headline. Those in which no arm has a number are left out.
pub fn contrasts(sweep: &SweepDir, arms: &[Arm<'_>]) -> Vec<Finding> {
    let pairs = pairs(sweep, arms);
    if pairs.is_empty() {
        return Vec::new();
    }
    let names = sweep.points.iter().flat_map(|row| row.summary.keys());
    let mut targets: Vec<Target> = names
        .filter_map(|name| Target::of_name(name, target::REACHED))
        .collect();
    targets.sort_by(|a, b| {
        (&a.score, a.value)
            .partial_cmp(&(&b.score, b.value))
            .expect("values are finite")
    });
    targets.dedup();
    let took = targets
        .iter()
        .flat_map(|target| [target::TIME, target::BYTES].map(|number| target.name_of(number)));
    let metrics = took.chain(headline(sweep));
    let found = metrics.map(|metric| finding(sweep, arms, &pairs, metric));
    found.filter(|finding| !finding.differences.is_empty()).collect()
}

/// An arm and its baseline, by their places among the arms, and the contrast that compares them.
type Pair<'a> = ([usize; 2], &'a Contrast);

/// Every arm that a contrast compares, with the arm that differs from it in the contrast's axis
/// alone.
fn pairs<'a>(sweep: &'a SweepDir, arms: &[Arm<'_>]) -> Vec<Pair<'a>> {
    let axes = &sweep.manifest.axes;
    let of_contrast = |contrast: &'a Contrast| {
        let axis = axes.iter().position(|axis| axis.path == contrast.axis)?;
        let index = axes[axis].values.iter().position(|value| *value == contrast.baseline)?;
        let leader = axes[axis].with.as_ref().unwrap_or(&axes[axis].path);
        // Axes that move together take their values of the same place.
        let moves = |i: usize| axes[i].path == *leader || axes[i].with.as_ref() == Some(leader);
        let baseline_of = |arm: &Arm<'_>| {
            let value = |(i, own): (usize, &String)| match moves(i) {
                true => axes[i].values.get(index).cloned().unwrap_or_default(),
                false => own.clone(),
            };
            let values: Vec<String> = arm.values.iter().enumerate().map(value).collect();
            arms.iter().position(|other| other.values == values)
        };
        let compared = arms
            .iter()
            .enumerate()
            .filter(move |(_, arm)| arm.values[axis] == contrast.value);
        let found: Vec<Pair<'a>> = compared
            .filter_map(|(i, arm)| Some(([i, baseline_of(arm)?], contrast)))
            .collect();
        Some(found)
    };
    sweep
        .manifest
        .contrasts
        .iter()
        .filter_map(of_contrast)
        .flatten()
        .collect()
}

fn finding(sweep: &SweepDir, arms: &[Arm<'_>], pairs: &[Pair<'_>], metric: String) -> Finding {
    let term = sweep.manifest.terms.get(base(&metric));
    let took = target::totals(&metric);
    let (words, unit) = match took.is_empty() {
        true => (
            term.map_or(base(&metric), |term| &term.words).to_owned() + &in_words(&metric),
            sweep.manifest.units.get(base(&metric)).copied().unwrap_or_default(),
        ),
        false => of_target(sweep, &metric),
    };
    let compared = || pairs.iter().flat_map(|(arms, _)| arms).map(|i| &arms[*i]);
    let horizon = match took.is_empty() {
        true => None,
        false => target::horizon(&metric, compared().flat_map(|arm| &arm.rows).map(|row| &row.summary)),
    };
    let by_seed = |arm: &Arm<'_>| -> BTreeMap<u64, f64> {
        let number = |row: &&PointRow| Some((row.seed, target::restricted(&metric, horizon, &row.summary)?));
        arm.rows.iter().filter_map(number).collect()
    };
    // Where no run arrives there is nothing to compare.
    let is_reached = horizon.is_none() || compared().any(|arm| !arm.numbers(&metric).is_empty());
    let numbers: Vec<f64> = compared().flat_map(|arm| arm.numbers(&metric)).collect();
    let is_timeless = is_timeless(&metric, &numbers);
    let mut differences: Vec<Difference> = Vec::new();
    for (both, contrast) in pairs.iter().filter(|_| is_reached && !is_timeless) {
        let [own, other] = both.map(|i| by_seed(&arms[i]));
        if own.is_empty() || other.is_empty() {
            continue;
        }
        let paired: Vec<f64> = own.iter().filter_map(|(seed, a)| Some(a - other.get(seed)?)).collect();
        let paired = Spread::of(&paired);
        let mean = |numbers: &BTreeMap<u64, f64>| numbers.values().sum::<f64>() / numbers.len() as f64;
        let others = others(sweep, contrast, &arms[both[0]]);
        let with = match others.is_empty() {
            true => String::new(),
            false => format!(" with {}", others.join(", ")),
        };
        differences.push(Difference {
            arms: *both,
            names: [
                called(&contrast.axis, &contrast.value) + &with,
                called(&contrast.axis, &contrast.baseline),
            ],
            size: mean(&own).abs().max(mean(&other).abs()),
            p: paired.p_value(0.0, 0.0),
            paired,
            others,
            dose: dose(sweep, contrast),
        });
    }
    // Of two sweeps every configuration is compared with its own counterpart, and all comparisons
    // are one family.
    if pairs.iter().all(|(_, contrast)| contrast.axis == SWEEPS) {
        holm(differences.iter_mut().collect());
    } else {
        let families: BTreeSet<Vec<String>> = differences.iter().map(|one| one.others.clone()).collect();
        for family in families {
            holm(differences.iter_mut().filter(|one| one.others == family).collect());
        }
    }
    Finding {
        metric,
        words,
        unit,
        differences,
        censored_at: horizon,
    }
}

/// What a target took: the words for it and its unit.
fn of_target(sweep: &SweepDir, metric: &str) -> (String, Unit) {
    let (words, unit) = match base(metric) {
        target::TIME => ("Time", Unit::Seconds),
        target::BYTES => ("Bytes", Unit::Bytes),
        _ => ("Rounds", Unit::Count),
    };
    let target = Target::of_name(metric, base(metric));
    let to = target.map_or(String::new(), |target| {
        let term = sweep.manifest.terms.get(base(&target.score));
        format!(" to reach {} {}", small(term, &target.score), target.value)
    });
    (format!("{words}{to}"), unit)
}

/// The words for a metric within a sentence.
pub fn small(term: Option<&Meaning>, name: &str) -> String {
    term.map_or_else(
        || name.to_owned(),
        |term| within(&(term.words.clone() + &in_words(name))),
    )
}

/// Words that began a sentence, within one: abbreviations keep their capitals.
fn within(words: &str) -> String {
    let is_word = words.chars().nth(1).is_some_and(|c| c.is_lowercase() || c == ' ');
    match is_word {
        true => {
            let first = words.chars().take(1).flat_map(char::to_lowercase);
            first.chain(words.chars().skip(1)).collect()
        }
        false => words.to_owned(),
    }
}

/// A value in a sentence: a number with the last part of its axis' path before it, words of one's
/// own in quotes.
fn called(axis: &str, value: &str) -> String {
    let is_number = value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
    let is_name = value.starts_with(char::is_uppercase) && !value.contains(' ');
    match (is_number, is_name) {
        (true, _) => format!("{} {value}", last_part(axis)),
        (false, true) => value.to_owned(),
        (false, false) => format!("\"{value}\""),
    }
}

/// The values of an arm on the axes that a contrast leaves as they are, those of one value
/// excepted.
fn others(sweep: &SweepDir, contrast: &Contrast, arm: &Arm<'_>) -> Vec<String> {
    let axes = sweep.manifest.axes.iter().zip(arm.values);
    let others = axes.filter(|(axis, _)| {
        axis.path != contrast.axis && axis.with.as_ref() != Some(&contrast.axis) && axis.values.len() > 1
    });
    others.map(|(axis, value)| called(&axis.path, value)).collect()
}

fn dose(sweep: &SweepDir, contrast: &Contrast) -> Option<usize> {
    let axis = sweep.manifest.axes.iter().find(|axis| axis.path == contrast.axis)?;
    let is_of_numbers = axis.values.iter().all(|value| value.parse::<f64>().is_ok());
    let place = axis.values.iter().position(|value| *value == contrast.value);
    place.filter(|_| is_of_numbers)
}

/// Multiplies p values so that all of them may be read at one level (Holm 1979).
fn holm(mut family: Vec<&mut Difference>) {
    // A difference that is the same under every seed has no p and belongs to the family all the
    // same.
    let n = family.iter().filter(|one| one.paired.n() > 1).count();
    family.retain(|one| one.p.is_some());
    family.sort_by(|a, b| a.p.partial_cmp(&b.p).expect("p values are numbers"));
    let mut least = 0.0_f64;
    for (rank, one) in family.into_iter().enumerate() {
        let adjusted = one.p.map_or(1.0, |p| (p * (n - rank) as f64).min(1.0));
        least = least.max(adjusted);
        one.p = Some(least);
    }
}

impl Finding {
    /// A difference as a table shows it, significant ones marked with a star.
    pub fn cell(&self, difference: &Difference) -> String {
        let text = || difference.estimate(self.unit).to_string();
        match difference.decision() {
            Decision::Identical => "identical".to_owned(),
            Decision::Higher | Decision::Lower => text() + " *",
            Decision::NotSignificant => text(),
            Decision::Unknown if difference.paired.n() == 0 => "no common seed".to_owned(),
            Decision::Unknown => text(),
        }
    }

    /// Whether every arm has the baseline's number under every seed.
    pub fn is_identical(&self) -> bool {
        self.differences.iter().all(|one| one.decision() == Decision::Identical)
    }

    /// Whether some difference is significant, or unknown: of one seed.
    fn is_news(&self) -> bool {
        let is_news =
            |one: &Difference| matches!(one.decision(), Decision::Higher | Decision::Lower | Decision::Unknown);
        self.differences.iter().any(is_news)
    }

    fn seeds(&self) -> String {
        let seeds: Vec<usize> = self.differences.iter().map(|one| one.paired.n()).collect();
        match seeds.iter().min().zip(seeds.iter().max()) {
            Some((least, most)) if least != most => format!("{least} to {most} seeds"),
            Some((_, n)) => counted(*n, "seed"),
            None => String::new(),
        }
    }

    /// Under which seeds numbers are identical.
    fn in_seeds(&self) -> String {
        match self.seeds().as_str() {
            "1 seed" => "under the one seed".to_owned(),
            seeds => format!("in all {seeds}"),
        }
    }

    /// Said where an interval excludes 0 that the correction for several comparisons overrules.
    fn after_correction(&self) -> String {
        let compared = self.differences.iter().filter(|one| one.paired.n() > 1);
        let excludes = |one: &Difference| {
            one.paired
                .interval_95()
                .is_some_and(|(low, high)| low > 0.0 || high < 0.0)
        };
        let is_overruled = |one: &Difference| one.decision() == Decision::NotSignificant && excludes(one);
        match self.differences.iter().any(is_overruled) {
            true => format!(" after Holm's correction for {} comparisons", compared.count()),
            false => String::new(),
        }
    }

    /// What the differences are from: a name, where all have the same.
    fn against(&self) -> String {
        let first = self.differences.first().map_or("", |one| one.names[1].as_str());
        match self.differences.iter().all(|one| one.names[1] == first) {
            true => first.to_owned(),
            false => "their baselines".to_owned(),
        }
    }

    /// The comparison in a sentence.
    pub fn sentence(&self) -> String {
        let seeds = self.seeds();
        match self.differences.as_slice() {
            [one] => self.of_one(one, &seeds),
            all => self.of_many(all, &seeds),
        }
    }

    fn of_one(&self, one: &Difference, seeds: &str) -> String {
        let [arm, baseline] = &one.names;
        let words = &self.words;
        let written = one.estimate(self.unit).to_string();
        let size = written.trim_start_matches(['+', '−']);
        let order = if one.paired.mean > 0.0 { "higher" } else { "lower" };
        match one.decision() {
            Decision::Identical => format!("{words}: {arm} and {baseline} are identical {}.", self.in_seeds()),
            Decision::Higher | Decision::Lower => {
                format!("{words}: {arm} is {order} than {baseline} by {size} ({seeds}).")
            }
            Decision::NotSignificant => {
                format!("{words}: {arm} and {baseline} do not differ significantly ({written}, {seeds}).")
            }
            Decision::Unknown if one.paired.n() == 0 => {
                format!("{words}: {arm} and {baseline} have no seed in common.")
            }
            Decision::Unknown => format!("{words}: {arm} minus {baseline} is {written} ({seeds}: no interval)."),
        }
    }

    fn of_many(&self, all: &[Difference], seeds: &str) -> String {
        let words = &self.words;
        let against = self.against();
        let has_one_baseline = all.iter().all(|one| one.names[1] == all[0].names[1]);
        let of = |decision: Decision| {
            let mut found: Vec<&Difference> = all.iter().filter(|one| one.decision() == decision).collect();
            // The clearest first.
            found.sort_by(|a, b| b.paired.mean.abs().total_cmp(&a.paired.mean.abs()));
            found
        };
        let [higher, lower, unknown] = [Decision::Higher, Decision::Lower, Decision::Unknown].map(of);
        if self.is_identical() {
            return format!("{words}: identical to {against} {}.", self.in_seeds());
        }
        if higher.is_empty() && lower.is_empty() && unknown.is_empty() {
            let after = self.after_correction();
            return format!("{words}: no significant difference from {against}{after} ({seeds}).");
        }
        let listed = |label: &str, found: &[&Difference]| {
            let name = |one: &&Difference| {
                let written = one.estimate(self.unit);
                match has_one_baseline {
                    true => format!("{} ({written})", one.names[0]),
                    false => format!("{} versus {} ({written})", one.names[0], one.names[1]),
                }
            };
            if found.is_empty() {
                return None;
            }
            if let [first, .., last] = along(found).as_slice() {
                return Some(format!("{label} from {} to {}", name(first), name(last)));
            }
            let names: Vec<String> = found.iter().take(NAMED).map(name).collect();
            let more = match found.len().saturating_sub(NAMED) {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            Some(format!("{label} for {}{more}", names.join(", ")))
        };
        if seeds == "1 seed" && !unknown.is_empty() {
            let named = listed("", &unknown).unwrap_or_default();
            let same = of(Decision::Identical).len();
            let same = match same {
                0 => String::new(),
                n => format!("; identical for {}", counted(n, "other")),
            };
            return format!(
                "{words} compared with {against} (one seed, so no interval): {}{same}.",
                named.trim_start_matches(" for ").trim_start_matches(" from ")
            );
        }
        let others = |label: &str, decision: Decision| {
            let n = of(decision).len();
            (n > 0).then(|| format!("{label} for {}", counted(n, "other")))
        };
        let parts = [
            listed("higher", &higher),
            listed("lower", &lower),
            listed("no interval (one seed)", &unknown),
            others("identical", Decision::Identical),
            others("not significantly different", Decision::NotSignificant),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{words} compared with {against} ({seeds}): {}.", parts.join("; "))
    }
}

/// Differences along an axis of numbers in its order, if they are of neighbouring values; else
/// none.
fn along<'a>(found: &[&'a Difference]) -> Vec<&'a Difference> {
    let mut places: Vec<(usize, &Difference)> = found.iter().filter_map(|one| Some((one.dose?, *one))).collect();
    places.sort_by_key(|(place, _)| *place);
    let are_neighbours = places.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
    match are_neighbours && places.len() == found.len() && found.len() > NAMED {
        true => places.into_iter().map(|(_, one)| one).collect(),
        false => Vec::new(),
    }
}

/// The findings in at most `most` sentences: those with significant differences, and one for all
/// metrics that have none, which comes first where it answers the first question.
pub fn sentences(found: &[Finding], most: usize) -> Vec<String> {
    let (news, others): (Vec<&Finding>, Vec<&Finding>) = found.iter().partition(|finding| finding.is_news());
    let room = if others.is_empty() {
        most
    } else {
        most.saturating_sub(1)
    };
    let mut said: Vec<String> = news.iter().take(room).map(|finding| finding.sentence()).collect();
    let without = match others.as_slice() {
        [] => return said,
        [one] => one.sentence(),
        [first, ..] => {
            let words: Vec<String> = others.iter().map(|finding| within(&finding.words)).collect();
            let (against, seeds) = (first.against(), first.seeds());
            let after = others.iter().map(|finding| finding.after_correction()).max();
            let after = after.unwrap_or_default();
            format!(
                "No significant difference from {against}{after} ({seeds}) in these metrics: {}.",
                words.join("; ")
            )
        }
    };
    match found.first().is_some_and(Finding::is_news) {
        true => said.push(without),
        false => said.insert(0, without),
    }
    said
}

/// Of those `among` the arms that have a number, those that are not significantly worse than the
/// best: as `told` says where it compares the two, else by paired differences over common seeds,
/// after Holm's correction. None where no value is better, one arm has it, every arm is among them,
/// or there is one seed, which decides nothing.
pub fn best(
    arms: &[Arm<'_>],
    among: &[usize],
    metric: &str,
    better: Option<Better>,
    told: &[Difference],
) -> Vec<usize> {
    let Some(better) = better else {
        return Vec::new();
    };
    let numbers = |arm: &Arm<'_>| -> BTreeMap<u64, f64> {
        let number = |row: &&PointRow| Some((row.seed, *row.summary.get(metric)?));
        arm.rows.iter().filter_map(number).collect()
    };
    let all: Vec<(usize, BTreeMap<u64, f64>)> = among
        .iter()
        .map(|at| (*at, numbers(&arms[*at])))
        .filter(|(_, numbers)| !numbers.is_empty() && numbers.values().all(|x| x.is_finite()))
        .collect();
    let mean = |numbers: &BTreeMap<u64, f64>| Spread::of(&numbers.values().copied().collect::<Vec<_>>()).mean;
    let sign = if better == Better::Higher { 1.0 } else { -1.0 };
    let Some((first, best)) = all
        .iter()
        .max_by(|a, b| (sign * mean(&a.1)).total_cmp(&(sign * mean(&b.1))))
    else {
        return Vec::new();
    };
    let behind = |(i, own): &(usize, BTreeMap<u64, f64>)| {
        let behind = best
            .iter()
            .filter_map(|(seed, best)| Some(sign * (best - own.get(seed)?)));
        let paired = Spread::of(&behind.collect::<Vec<f64>>());
        Difference {
            arms: [*i, *first],
            names: Default::default(),
            size: mean(own).abs().max(mean(best).abs()),
            p: paired.p_value(0.0, 0.0),
            paired,
            others: Vec::new(),
            dose: None,
        }
    };
    if all.iter().all(|(_, numbers)| numbers.len() == 1) {
        return Vec::new();
    }
    // What is said of a pair stays so: its correction is for the contrasts of the card.
    let of_told = |i: usize| {
        told.iter()
            .find(|one| one.arms == [i, *first] || one.arms == [*first, i])
    };
    let others = || all.iter().filter(|(i, _)| i != first);
    let mut compared: Vec<Difference> = others().filter(|(i, _)| of_told(*i).is_none()).map(behind).collect();
    holm(compared.iter_mut().collect());
    let decided = others().filter_map(|(i, _)| Some((*i, of_told(*i)?)));
    let is_worse = |one: &Difference| match one.decision() {
        // Of two arms that the card compares, the one that is not the best.
        Decision::Higher | Decision::Lower => true,
        Decision::Unknown => one.paired.n() == 0 || one.paired.mean != 0.0,
        _ => false,
    };
    let all_decided = decided.chain(compared.iter().map(|one| (one.arms[0], one)));
    let worse: Vec<usize> = all_decided.filter(|(_, one)| is_worse(one)).map(|(i, _)| i).collect();
    let found: Vec<usize> = all.iter().map(|(i, _)| *i).filter(|i| !worse.contains(i)).collect();
    match found.len() == all.len() {
        true => Vec::new(),
        false => found,
    }
}
