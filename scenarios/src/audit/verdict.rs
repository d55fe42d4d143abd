//! A claim compared with measured numbers: the verdict, and what it rests on.

use super::Evidence;
use super::baseline;
use crate::claims::{Change, Claim, Measure, Pooled, Printed, Rule, Shape, Test};
use folkmoot_metrics::{Estimate, Spread, Unit};
use std::collections::BTreeMap;
use std::fmt;

/// How far the printed number may lie from the measured mean, in standard errors.
pub const STANDARD_ERRORS: f64 = 4.0;

/// How many seeds an interval takes: two whose values happen to be equal would give one without a
/// width, and scores are shares of few test items.
const LEAST_SEEDS: usize = 3;

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It holds to the digit, or by reading, or as a bound.
    Exact,
    /// The whole interval of the difference from the printed number lies within the stated margin.
    Statistical,
    /// The order or trend holds.
    Shape,
    /// It does not hold.
    Refuted,
    /// The printed number lies within four standard errors, which is no agreement: its interval
    /// exceeds the margin.
    NotContradicted,
    /// The runs are there and do not decide it.
    Inconclusive,
    /// Runs or data are missing.
    NotRun,
    /// No run could decide it: the paper does not define it, has another set-up, or the baseline
    /// has not learned.
    NotDecidable,
}

impl Verdict {
    /// All of them, in the order of tables.
    pub const ALL: [Verdict; 8] = [
        Verdict::Exact,
        Verdict::Statistical,
        Verdict::Shape,
        Verdict::Refuted,
        Verdict::NotContradicted,
        Verdict::Inconclusive,
        Verdict::NotRun,
        Verdict::NotDecidable,
    ];

    /// Whether it says that a claim holds or does not.
    pub fn is_decided(self) -> bool {
        self <= Verdict::Refuted
    }

    /// Whether it says that a claim holds: exactly, within error, or as a trend.
    pub fn is_reproduced(self) -> bool {
        self < Verdict::Refuted
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Exact => "reproduced exactly",
            Verdict::Statistical => "reproduced within error",
            Verdict::Shape => "reproduced as a trend",
            Verdict::Refuted => "contradicted",
            Verdict::NotContradicted => "not contradicted",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotRun => "not run",
            Verdict::NotDecidable => "not testable",
        })
    }
}

/// What was found of a claim.
#[derive(Clone, Debug)]
pub struct Finding {
    pub verdict: Verdict,
    /// Why, where the numbers do not say it.
    pub why: String,
    /// What was measured, scaled as the printed number is: over seeds, or over their differences.
    pub measured: Option<Spread>,
    /// The p value of the test behind the verdict, where there is one.
    pub p: Option<f64>,
    /// The least false discovery rate, over the tests of its paper, at which it is a discovery
    /// (Benjamini and Hochberg 1995).
    pub q: Option<f64>,
    /// How often the record had been looked at when it got its present seeds; 1 where they came at
    /// once.
    pub looks: u32,
    /// Seeds that its cards state and that the record lacks.
    pub missing: Vec<u64>,
    /// Whether a number of it is of an older version of the results.
    pub is_stale: bool,
}

impl Finding {
    fn new(verdict: Verdict, why: impl Into<String>, measured: Option<Spread>) -> Finding {
        Finding {
            verdict,
            why: why.into(),
            measured,
            p: None,
            q: None,
            looks: 1,
            missing: Vec::new(),
            is_stale: false,
        }
    }

    fn with_p(self, p: Option<f64>) -> Finding {
        Finding { p, ..self }
    }

    /// Whether it is a decision by a test that survives a false discovery rate of 5 % in its paper;
    /// `None` without a test.
    pub fn survives(&self) -> Option<bool> {
        self.q.filter(|_| self.verdict.is_decided()).map(|q| q <= 0.05)
    }

    /// The measured mean with its interval, as tables have it.
    pub fn text(&self) -> String {
        self.measured.as_ref().map_or_else(String::new, spread_text)
    }
}

/// The mean with the half-width of its 95 % confidence interval over seeds.
pub fn spread_text(spread: &Spread) -> String {
    Estimate::of_spread(spread, Unit::Number).to_string()
}

/// Gives a claim its verdict by the test that is asked for; without a quick twin there is none that
/// is quick.
pub fn decide(claim: &Claim, quick: bool, evidence: &Evidence) -> Finding {
    let test = match (quick, &claim.quick, &claim.test.rule) {
        (false, ..) | (true, None, Rule::Reading { .. } | Rule::NotDecidable(_) | Rule::NoData(_)) => &claim.test,
        (true, Some(quick), _) => quick,
        (true, None, _) => return Finding::new(Verdict::NotRun, "no quick test; see without --quick", None),
    };
    let Some(measure) = test.measure.as_ref() else {
        return match &test.rule {
            Rule::Reading { holds: true, because } => Finding::new(Verdict::Exact, because, None),
            Rule::Reading { because, .. } => Finding::new(Verdict::Refuted, because, None),
            Rule::NoData(why) => Finding::new(Verdict::NotRun, why, None),
            Rule::NotDecidable(why) => Finding::new(Verdict::NotDecidable, why, None),
            _ => Finding::new(Verdict::NotRun, "nothing is measured", None),
        };
    };
    let mut finding = by_run(test, measure, &claim.printed, evidence);
    if let Some(why) = baseline::failure(test, evidence).filter(|_| finding.verdict.is_decided()) {
        finding = Finding::new(Verdict::NotDecidable, why, finding.measured);
    }
    let measures = test.measures();
    finding.looks = measures
        .iter()
        .map(|measure| evidence.looks(measure))
        .max()
        .unwrap_or(1);
    finding.is_stale = measures.iter().any(|measure| evidence.is_stale(measure));
    finding.missing = measures
        .iter()
        .flat_map(|measure| evidence.missing_seeds(&measure.run.to_string()))
        .collect();
    finding.missing.sort_unstable();
    finding.missing.dedup();
    finding
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
        return Finding::new(Verdict::NotRun, why, None);
    }
    if let Some(measure) = evidence.lacks_total(test) {
        let why = format!(
            "the record lacks when the runs ended that did not reach the target: {}",
            measure.run
        );
        return Finding::new(Verdict::NotRun, why, None);
    }
    // Of an order, whose arms are compared with each other, the first one stands for all.
    let first = test.steps().into_iter().next();
    let (measured, differences) = judged(test, first.as_ref().unwrap_or(measure), evidence);
    if measured.is_empty() {
        return Finding::new(Verdict::NotRun, "no seed has all of its numbers", None);
    }
    if measured.iter().any(|value| value.is_nan()) {
        return Finding::new(
            Verdict::Inconclusive,
            "under some seed there is no such number (NaN)",
            None,
        );
    }
    let finding = judge(test, printed, evidence, &measured, differences);
    match evidence.censoring(test) {
        Some(said) => Finding {
            verdict: match test.against {
                Some(_) => finding.verdict,
                None => of_lower_bounds(test, &finding, printed),
            },
            why: [finding.why.as_str(), &said]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("; "),
            ..finding
        },
        None => finding,
    }
}

/// The verdict on a number itself where some runs do not reach the target: theirs is larger than
/// what was measured. So it can be found too large, and never small enough.
fn of_lower_bounds(test: &Test, finding: &Finding, printed: &str) -> Verdict {
    let is_larger = || {
        let printed = Printed::parse(printed).map(|printed| printed.value);
        finding
            .measured
            .zip(printed)
            .is_some_and(|(measured, printed)| measured.mean > printed)
    };
    let stands = match (&test.rule, finding.verdict) {
        (_, verdict) if !verdict.is_decided() => true,
        (Rule::AtLeast(_), Verdict::Exact) | (Rule::Shape(Shape::Above(_)), Verdict::Shape) => true,
        (Rule::AtMost(_) | Rule::Shape(Shape::Below(_)), Verdict::Refuted) => true,
        (Rule::Exact | Rule::Statistical | Rule::Within(_), Verdict::Refuted) => is_larger(),
        _ => false,
    };
    if stands { finding.verdict } else { Verdict::Inconclusive }
}

fn judge(
    test: &Test,
    printed: &str,
    evidence: &Evidence,
    measured: &[f64],
    differences: Option<[Spread; 2]>,
) -> Finding {
    let spread = Spread::of(measured);
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
        (Rule::Statistical, Some(printed)) => statistical(&spread, &printed, test),
        (Rule::Within(margin), Some(printed)) => within(&spread, &printed, *margin),
        (Rule::Shown(why), _) => found(Verdict::NotDecidable, why.clone()),
        (Rule::Shape(Shape::Order(_)), _) => {
            let steps = test.steps();
            let pairs = steps.windows(2);
            let falls = pairs.map(|pair| changes(evidence, &pair[0], &pair[1], Change::Points, test.scale));
            let falls: Vec<Vec<f64>> = falls.map(|fall| fall.into_values().collect()).collect();
            stepwise(&falls, None)
        }
        (Rule::Shape(shape), _) => sided(shape, measured),
        (Rule::Interaction(shape), _) => {
            let finding = sided(shape, measured);
            let said = differences
                .map(|[here, there]| format!("here {}, elsewhere {}", spread_text(&here), spread_text(&there)));
            let why = said.into_iter().chain([finding.why]).filter(|text| !text.is_empty());
            Finding {
                why: why.collect::<Vec<_>>().join(": "),
                ..finding
            }
        }
        (Rule::Exact | Rule::Statistical | Rule::Within(_), None)
        | (Rule::Reading { .. } | Rule::NotDecidable(_) | Rule::NoData(_), _) => {
            found(Verdict::NotDecidable, "there is no number to compare with".to_owned())
        }
    }
}

/// What the rule judges, a number a seed; of an interaction also the two differences, over the
/// seeds that have all four numbers.
fn judged(test: &Test, measure: &Measure, evidence: &Evidence) -> (Vec<f64>, Option<[Spread; 2]>) {
    if let (Some(against), false) = (&test.against, test.pool.is_empty()) {
        return (pooled(test, against.change, evidence), None);
    }
    let Some(against) = &test.against else {
        let own = evidence.restricted(measure, measure).into_values();
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
    let others = evidence.restricted(other, measure);
    let change = |value: f64, other: f64| match change {
        Change::Points => scale * (value - other),
        Change::Percent => 100.0 * (value / other - 1.0),
    };
    let pairs = evidence.restricted(measure, other).into_iter();
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
        Shape::Order(_) => Finding::new(
            Verdict::NotDecidable,
            "there is no number to compare with",
            Some(spread),
        ),
    }
}

fn statistical(spread: &Spread, printed: &Printed, test: &Test) -> Finding {
    let Some(own) = spread.standard_error().filter(|_| spread.n() >= LEAST_SEEDS) else {
        return Finding::new(Verdict::NotRun, undecided(spread.n()), Some(*spread));
    };
    let of_printed = match (printed.deviation, test.printed_runs) {
        (Some(deviation), runs) => deviation / f64::from(runs.unwrap_or(spread.n() as u32)).sqrt(),
        (None, Some(runs)) => spread.sample_std() / f64::from(runs).sqrt(),
        (None, None) => 0.0,
    };
    let error = own.hypot(of_printed);
    let distance = (spread.mean - printed.value).abs();
    // What is printed is rounded.
    let rounding = 0.5 * 0.1f64.powi(printed.decimals as i32);
    let decimals = printed.decimals.max(1);
    if distance > STANDARD_ERRORS * error + rounding {
        let why = match error > 0.0 {
            true => format!("{:.1} standard errors away", distance / error),
            false => String::new(),
        };
        let p = spread.p_value(printed.value, of_printed);
        return Finding::new(Verdict::Refuted, why, Some(*spread)).with_p(p);
    }
    let off = format!("off by {distance:.decimals$}");
    // The farthest end of the interval says which margin would pass.
    let (low, high) = spread
        .interval_with(of_printed)
        .unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let farthest = (printed.value - low).max(high - printed.value);
    let would_pass = format!("a margin of {farthest:.decimals$} would pass");
    match test.margin {
        Some(margin) if farthest <= margin => {
            let p = spread.p_outside(printed.value, margin, of_printed);
            let why = format!("{off}; margin {margin}");
            Finding::new(Verdict::Statistical, why, Some(*spread)).with_p(p)
        }
        margin => {
            let stated = margin.map_or(String::new(), |margin| format!(", {margin} is stated"));
            let why = format!("{off}; {would_pass}{stated}");
            let p = spread.p_value(printed.value, of_printed);
            Finding::new(Verdict::NotContradicted, why, Some(*spread)).with_p(p)
        }
    }
}

fn within(spread: &Spread, printed: &Printed, margin: f64) -> Finding {
    let distance = (spread.mean - printed.value).abs();
    let decimals = printed.decimals.max(1);
    let said = format!("off by {distance:.decimals$}, {margin} would pass");
    let Some((low, high)) = interval(spread) else {
        return Finding::new(Verdict::NotRun, undecided(spread.n()), Some(*spread));
    };
    let (low, high) = (low - printed.value, high - printed.value);
    let (verdict, why) = if low >= -margin && high <= margin {
        (Verdict::Statistical, said)
    } else if low > margin || high < -margin {
        (Verdict::Refuted, said)
    } else {
        (Verdict::Inconclusive, format!("{said}: {}", undecided(spread.n())))
    };
    Finding::new(verdict, why, Some(*spread)).with_p(by_margin(spread, printed.value, margin, verdict))
}

/// The p value of a mean within a margin of a number, or, where it was found outside, of one at the
/// nearer end.
fn by_margin(spread: &Spread, expected: f64, margin: f64, verdict: Verdict) -> Option<f64> {
    match verdict {
        Verdict::Refuted => spread.p_value(expected + margin.copysign(spread.mean - expected), 0.0),
        _ => spread.p_outside(expected, margin, 0.0),
    }
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

/// The verdict where an interval decides nothing: too few seeds were run, or they do not suffice.
fn no_decision(n_seeds: usize) -> Verdict {
    match n_seeds < LEAST_SEEDS {
        true => Verdict::NotRun,
        false => Verdict::Inconclusive,
    }
}

/// Whether each list of differences is of positive mean.
fn stepwise(steps: &[Vec<f64>], measured: Option<Spread>) -> Finding {
    let n = steps.iter().map(Vec::len).min().unwrap_or(0);
    let (mut is_refuted, mut is_open) = (false, false);
    let mut said = Vec::new();
    // All steps have to hold: the largest p value is that of their conjunction.
    let mut p = Some(0.0_f64);
    for step in steps {
        let spread = Spread::of(step);
        said.push(spread_text(&spread));
        let (low, high) = interval(&spread).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        is_refuted |= high <= 0.0;
        is_open |= low <= 0.0;
        p = p.zip(spread.p_value(0.0, 0.0)).map(|(a, b)| a.max(b));
    }
    let verdict = match (is_refuted, is_open) {
        (true, _) => Verdict::Refuted,
        (false, true) => no_decision(n),
        (false, false) => Verdict::Shape,
    };
    let undecided = if verdict.is_decided() {
        String::new()
    } else {
        undecided(n)
    };
    let why = match steps {
        [_] => undecided,
        _ => format!(
            "steps {}{}{undecided}",
            said.join("; "),
            if undecided.is_empty() { "" } else { ": " }
        ),
    };
    // One step the other way refutes an order, whatever the others are.
    if is_refuted && steps.len() > 1 {
        let reversed = steps.iter().map(|step| Spread::of(step)).filter(|step| step.mean < 0.0);
        let least = reversed
            .filter_map(|step| step.p_value(0.0, 0.0))
            .min_by(f64::total_cmp);
        p = least.map(|p| (p * steps.len() as f64).min(1.0));
    }
    Finding::new(verdict, why, measured).with_p(p.filter(|_| n >= LEAST_SEEDS))
}

fn alike(spread: &Spread, most: f64) -> Finding {
    let (verdict, why) = match interval(spread) {
        Some((low, high)) if low >= -most && high <= most => (Verdict::Shape, String::new()),
        Some((low, high)) if low > most || high < -most => (Verdict::Refuted, format!("more than {most} apart")),
        _ => (no_decision(spread.n()), undecided(spread.n())),
    };
    let p = by_margin(spread, 0.0, most, verdict).filter(|_| spread.n() >= LEAST_SEEDS);
    Finding::new(verdict, why, Some(*spread)).with_p(p)
}

/// Gives every finding with a p value its q value: the least false discovery rate, over these
/// tests, at which it is one of the discoveries (Benjamini and Hochberg 1995).
pub(super) fn discover(findings: &mut [Finding]) {
    let mut tests: Vec<usize> = (0..findings.len()).filter(|i| findings[*i].p.is_some()).collect();
    let p = |findings: &[Finding], i: usize| findings[i].p.unwrap_or(1.0);
    tests.sort_by(|a, b| p(findings, *a).total_cmp(&p(findings, *b)).then(a.cmp(b)));
    let mut least = 1.0_f64;
    for (rank, i) in tests.iter().enumerate().rev() {
        least = least.min(p(findings, *i) * tests.len() as f64 / (rank + 1) as f64);
        findings[*i].q = Some(least);
    }
}
