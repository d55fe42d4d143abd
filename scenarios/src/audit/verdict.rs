//! A claim held against numbers: the verdict, and what it rests on.

use super::Evidence;
use crate::claims::{Change, Claim, Measure, Pooled, Printed, Rule, Shape, Test};
use folkmoot_metrics::Spread;
use std::collections::BTreeMap;
use std::fmt;

/// How far the printed number may lie from the measured mean, in standard errors.
pub const STANDARD_ERRORS: f64 = 4.0;

/// How many seeds an interval takes: two whose values happen to be equal would give one without a width, and scores are shares of few test items.
const LEAST_SEEDS: usize = 3;

/// What is to be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It holds to the digit, or by reading, or as a bound.
    Exact,
    /// The printed number lies within four standard errors, or within the margin that the claim states.
    Statistical,
    /// The order or trend holds.
    Shape,
    /// It does not hold.
    Refuted,
    /// Nothing decides it.
    Open,
}

impl Verdict {
    /// All of them, in the order of tables.
    pub const ALL: [Verdict; 5] = [
        Verdict::Exact,
        Verdict::Statistical,
        Verdict::Shape,
        Verdict::Refuted,
        Verdict::Open,
    ];
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Exact => "exact",
            Verdict::Statistical => "statistical",
            Verdict::Shape => "shape",
            Verdict::Refuted => "refuted",
            Verdict::Open => "open",
        })
    }
}

/// What was found of a claim.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where the numbers do not say it.
    pub why: String,
    /// What was measured, scaled as the printed number is: over seeds, or over their differences.
    pub measured: Option<Spread>,
}

impl Finding {
    fn new(verdict: Verdict, why: impl Into<String>, measured: Option<Spread>) -> Finding {
        Finding {
            verdict,
            why: why.into(),
            measured,
        }
    }

    /// The measured mean and its standard error, as tables have it.
    pub fn text(&self) -> String {
        self.measured.as_ref().map_or_else(String::new, spread_text)
    }
}

/// `32.638 ± 0.001`: with two digits of the standard error, or six digits of a number without one.
pub fn spread_text(spread: &Spread) -> String {
    match spread.standard_error() {
        Some(error) if error > 0.0 && error.is_finite() => {
            let two_digits = |&decimals: &usize| error * 10f64.powi(decimals as i32) >= 9.95;
            let decimals = (0..9).find(two_digits).unwrap_or(9);
            format!("{:.decimals$} ± {error:.decimals$}", spread.mean)
        }
        _ if spread.mean.abs() >= 1e7 => format!("{:.4e}", spread.mean),
        _ => {
            let text = format!("{:.5}", spread.mean);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// Gives a claim its verdict by the test that is asked for; without a quick twin there is none that is quick.
pub fn decide(claim: &Claim, quick: bool, evidence: &Evidence) -> Finding {
    let test = match (quick, &claim.quick, &claim.test.rule) {
        (false, ..) | (true, None, Rule::Reading { .. } | Rule::Open(_)) => &claim.test,
        (true, Some(quick), _) => quick,
        (true, None, _) => return Finding::new(Verdict::Open, "no quick test; see without --quick", None),
    };
    match test.measure.as_ref() {
        Some(measure) => by_run(test, measure, &claim.printed, evidence),
        None => match &test.rule {
            Rule::Reading { holds: true, because } => Finding::new(Verdict::Exact, because, None),
            Rule::Reading { because, .. } => Finding::new(Verdict::Refuted, because, None),
            Rule::Open(why) => Finding::new(Verdict::Open, why, None),
            _ => Finding::new(Verdict::Open, "nothing is measured", None),
        },
    }
}

fn by_run(test: &Test, measure: &Measure, printed: &str, evidence: &Evidence) -> Finding {
    let missing = test
        .measures()
        .into_iter()
        .find(|measure| evidence.of(measure).is_empty());
    if let Some(measure) = missing {
        let why = match evidence.runs.contains_key(&measure.run.to_string()) {
            true => format!("the run has no number {}: {}", measure.metric, measure.run),
            false => format!("not run: {}", measure.run),
        };
        return Finding::new(Verdict::Open, why, None);
    }
    let (measured, differences) = judged(test, measure, evidence);
    if measured.is_empty() {
        return Finding::new(Verdict::Open, "no seed has all of its numbers", None);
    }
    if measured.iter().any(|value| value.is_nan()) {
        return Finding::new(Verdict::Open, "under some seed there is no such number (NaN)", None);
    }
    let spread = Spread::of(&measured);
    let found = |verdict, why: String| Finding::new(verdict, why, Some(spread));
    let bound = |keeps: bool| match keeps {
        true => found(Verdict::Exact, String::new()),
        false => found(Verdict::Refuted, String::new()),
    };
    match (&test.rule, Printed::parse(printed)) {
        (Rule::AtMost(most), _) => bound(measured.iter().all(|value| value <= most)),
        (Rule::AtLeast(least), _) => bound(measured.iter().all(|value| value >= least)),
        (Rule::Exact, Some(printed)) => {
            let decimals = printed.decimals;
            let wanted = format!("{:.decimals$}", printed.value);
            bound(measured.iter().all(|value| format!("{value:.decimals$}") == wanted))
        }
        (Rule::Statistical, Some(printed)) => statistical(&spread, &printed),
        (Rule::Within(margin), Some(printed)) => within(&spread, &printed, *margin),
        (Rule::Shown(why), _) => found(Verdict::Open, why.clone()),
        (Rule::Shape(Shape::Order(_)), _) => {
            let steps = test.steps();
            let pairs = steps.windows(2);
            let falls = pairs.map(|pair| changes(evidence, &pair[0], &pair[1], Change::Points, test.scale));
            let falls: Vec<Vec<f64>> = falls.map(|fall| fall.into_values().collect()).collect();
            stepwise(&falls, None)
        }
        (Rule::Shape(shape), _) => sided(shape, &measured),
        (Rule::Interaction(shape), _) => {
            let finding = sided(shape, &measured);
            let said = differences
                .map(|[here, there]| format!("here {}, elsewhere {}", spread_text(&here), spread_text(&there)));
            let why = said.into_iter().chain([finding.why]).filter(|text| !text.is_empty());
            Finding {
                why: why.collect::<Vec<_>>().join(": "),
                ..finding
            }
        }
        (Rule::Exact | Rule::Statistical | Rule::Within(_), None) | (Rule::Reading { .. } | Rule::Open(_), _) => {
            found(Verdict::Open, "there is no number to compare with".to_owned())
        }
    }
}

/// What the rule judges, a number a seed; of an interaction also the two differences, over the seeds that have all four numbers.
fn judged(test: &Test, measure: &Measure, evidence: &Evidence) -> (Vec<f64>, Option<[Spread; 2]>) {
    if let (Some(against), false) = (&test.against, test.pool.is_empty()) {
        return (pooled(test, against.change, evidence), None);
    }
    let Some(against) = &test.against else {
        let own = evidence.of(measure).into_values();
        return (own.map(|value| value * test.scale).collect(), None);
    };
    let of = |measure, other| changes(evidence, measure, other, against.change, test.scale);
    let here = of(measure, &against.other);
    let Some([measure, other]) = &against.elsewhere else {
        return (here.into_values().collect(), None);
    };
    let there = of(measure, other);
    let pairs = here
        .into_iter()
        .filter_map(|(seed, here)| Some((here, *there.get(&seed)?)));
    let (here, there): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let interaction = here.iter().zip(&there).map(|(here, there)| here - there);
    (
        interaction.collect(),
        Some([&here, &there].map(|side| Spread::of(side))),
    )
}

/// The mean difference of each card under each seed that has all of its own.
fn pooled(test: &Test, change: Change, evidence: &Evidence) -> Vec<f64> {
    let mut of_cards: BTreeMap<&str, Vec<BTreeMap<u64, f64>>> = BTreeMap::new();
    for Pooled { measure, other } in &test.pool {
        let differences = changes(evidence, measure, other, change, test.scale);
        of_cards.entry(&measure.run.card).or_default().push(differences);
    }
    let means = of_cards.values().flat_map(|all| {
        let of_seed = |seed: &u64| -> Option<f64> {
            let values: Option<Vec<f64>> = all.iter().map(|differences| differences.get(seed).copied()).collect();
            Some(values?.iter().sum::<f64>() / all.len() as f64)
        };
        all.first()
            .into_iter()
            .flat_map(BTreeMap::keys)
            .filter_map(of_seed)
            .collect::<Vec<f64>>()
    });
    means.collect()
}

/// How two numbers differ, by each seed that both have.
fn changes(evidence: &Evidence, measure: &Measure, other: &Measure, change: Change, scale: f64) -> BTreeMap<u64, f64> {
    let others = evidence.of(other);
    let change = |value: f64, other: f64| match change {
        Change::Points => scale * (value - other),
        Change::Percent => 100.0 * (value / other - 1.0),
    };
    let pairs = evidence.of(measure).into_iter();
    pairs
        .filter_map(|(seed, value)| Some((seed, change(value, *others.get(&seed)?))))
        .collect()
}

/// On which side of zero differences lie; an order has none of its own.
fn sided(shape: &Shape, measured: &[f64]) -> Finding {
    let spread = Spread::of(measured);
    match shape {
        Shape::More => stepwise(&[measured.to_vec()], Some(spread)),
        Shape::Less => stepwise(&[measured.iter().map(|value| -value).collect()], Some(spread)),
        Shape::Alike(most) => alike(&spread, *most),
        Shape::Above(least) => stepwise(&[measured.iter().map(|value| value - least).collect()], Some(spread)),
        Shape::Below(most) => stepwise(&[measured.iter().map(|value| most - value).collect()], Some(spread)),
        Shape::Order(_) => Finding::new(Verdict::Open, "there is no number to compare with", Some(spread)),
    }
}

fn statistical(spread: &Spread, printed: &Printed) -> Finding {
    let Some(error) = spread.standard_error().filter(|_| spread.n() >= LEAST_SEEDS) else {
        return Finding::new(Verdict::Open, undecided(spread.n()), Some(*spread));
    };
    let of_printed = printed.deviation.unwrap_or(0.0) / (spread.n() as f64).sqrt();
    let error = (error * error + of_printed * of_printed).sqrt();
    let distance = (spread.mean - printed.value).abs();
    // What is printed is rounded.
    let rounding = 0.5 * 0.1f64.powi(printed.decimals as i32);
    match distance <= STANDARD_ERRORS * error + rounding {
        // So that nobody takes a wide margin for agreement.
        true => {
            let most = STANDARD_ERRORS * error + rounding;
            let decimals = printed.decimals.max(1);
            let why = format!("off by {distance:.decimals$}, {most:.decimals$} would pass");
            Finding::new(Verdict::Statistical, why, Some(*spread))
        }
        false if error > 0.0 => {
            let why = format!("{:.1} standard errors away", distance / error);
            Finding::new(Verdict::Refuted, why, Some(*spread))
        }
        false => Finding::new(Verdict::Refuted, "", Some(*spread)),
    }
}

fn within(spread: &Spread, printed: &Printed, margin: f64) -> Finding {
    let distance = (spread.mean - printed.value).abs();
    let decimals = printed.decimals.max(1);
    let said = format!("off by {distance:.decimals$}, {margin} would pass");
    let Some((low, high)) = interval(spread) else {
        return Finding::new(Verdict::Open, undecided(spread.n()), Some(*spread));
    };
    let (low, high) = (low - printed.value, high - printed.value);
    let (verdict, why) = if low >= -margin && high <= margin {
        (Verdict::Statistical, said)
    } else if low > margin || high < -margin {
        (Verdict::Refuted, said)
    } else {
        (Verdict::Open, format!("{said}: {}", undecided(spread.n())))
    };
    Finding::new(verdict, why, Some(*spread))
}

/// What a rule judges by: the interval of 95 %, where there are seeds enough for one.
fn interval(spread: &Spread) -> Option<(f64, f64)> {
    spread.interval_95().filter(|_| spread.n() >= LEAST_SEEDS)
}

fn undecided(n_seeds: usize) -> String {
    match n_seeds {
        1 => format!("one seed, and a verdict takes {LEAST_SEEDS}"),
        n if n < LEAST_SEEDS => format!("{n} seeds, and a verdict takes {LEAST_SEEDS}"),
        n => format!("undecided over {n} seeds"),
    }
}

/// Whether each list of differences is of positive mean.
fn stepwise(steps: &[Vec<f64>], measured: Option<Spread>) -> Finding {
    let mut verdict = Verdict::Shape;
    let mut said = Vec::new();
    for step in steps {
        let spread = Spread::of(step);
        said.push(spread_text(&spread));
        let (low, high) = interval(&spread).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        if high <= 0.0 {
            verdict = Verdict::Refuted;
        } else if low <= 0.0 && verdict == Verdict::Shape {
            verdict = Verdict::Open;
        }
    }
    let n = steps.iter().map(Vec::len).min().unwrap_or(0);
    let undecided = if verdict == Verdict::Open {
        undecided(n)
    } else {
        String::new()
    };
    let why = match steps {
        [_] => undecided,
        _ => format!(
            "steps {}{}{undecided}",
            said.join("; "),
            if undecided.is_empty() { "" } else { ": " }
        ),
    };
    Finding::new(verdict, why, measured)
}

fn alike(spread: &Spread, most: f64) -> Finding {
    let (verdict, why) = match interval(spread) {
        Some((low, high)) if low >= -most && high <= most => (Verdict::Shape, String::new()),
        Some((low, high)) if low > most || high < -most => (Verdict::Refuted, format!("more than {most} apart")),
        _ => (Verdict::Open, undecided(spread.n())),
    };
    Finding::new(verdict, why, Some(*spread))
}
