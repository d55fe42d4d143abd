//! The rule for baselines: a score that has not beaten the constant answer supports no verdict.
//!
//! A method that beats a baseline which answers one class whatever it is asked has shown that the
//! baseline did not learn, and nothing about the method. So each accuracy that a claim compares
//! with is first compared with its constant answer: that of the client's majority class where
//! clients answer one by one, else that of the majority class of all training items. Areas under
//! the ROC curve of class labels have the constant 0.5.

use super::{Evidence, spread_text};
use crate::claims::{Measure, Rule, Test};
use folkmoot_metrics::{CLIENT_MAJORITY, CLIENT_PRIOR, LABEL_PRIOR, MAJORITY_CLASS, MetricKey, Spread, TRAINING_MEAN};

/// How the reason begins where a baseline has failed.
pub(super) const NO_VERDICT: &str = "no verdict";

/// The score of the constant answer in a metric.
enum Constant {
    /// It depends on the data, and a run has it as a number of its own.
    Measured(Measure),
    /// It is the same for all data.
    Fixed(f64),
}

/// The accuracy of the same run, by which a score that has no constant answer of its own is judged.
fn accuracy(measure: &Measure) -> Option<Measure> {
    let is_of_classes = ["test_macro_f1", "test_micro_f1", "test_balanced_accuracy", "test_loss"];
    is_of_classes.contains(&measure.metric.as_str()).then(|| Measure {
        run: measure.run.clone(),
        metric: "test_accuracy".to_owned(),
    })
}

/// The constant answer of a metric of the test items, where there is one.
fn constant(measure: &Measure) -> Option<Constant> {
    let of = |control: &str| {
        Some(Constant::Measured(Measure {
            run: measure.run.clone(),
            metric: MetricKey::of(&measure.metric).against(control).to_string(),
        }))
    };
    match measure.metric.as_str() {
        "test_own_accuracy" | "test_client_accuracy" => of(CLIENT_MAJORITY),
        "test_accuracy" => of(MAJORITY_CLASS),
        "test_own_average_precision" | "test_client_average_precision" => of(CLIENT_PRIOR),
        "test_average_precision" => of(LABEL_PRIOR),
        "test_r2" => of(TRAINING_MEAN),
        "test_roc_auc" => Some(Constant::Fixed(0.5)),
        _ => None,
    }
}

/// The numbers of the constant answers that a test needs, beside its own.
pub(super) fn constants(test: &Test) -> impl Iterator<Item = Measure> {
    let of = |measure: &Measure| match constant(measure)? {
        Constant::Measured(measure) => Some(measure),
        Constant::Fixed(_) => None,
    };
    baselines(test).flat_map(move |baseline| {
        let accuracy = accuracy(baseline);
        let constant = of(accuracy.as_ref().unwrap_or(baseline));
        [accuracy, constant].into_iter().flatten()
    })
}

/// What a test compares with.
fn baselines(test: &Test) -> impl Iterator<Item = &Measure> {
    let is_compared = matches!(test.rule, Rule::Shape(_) | Rule::Interaction(_)) && test.pool.is_empty();
    let others = test
        .against
        .iter()
        .filter(move |_| is_compared && test.may_fail.is_empty());
    others.flat_map(|against| {
        [&against.other]
            .into_iter()
            .chain(against.elsewhere.iter().map(|[_, other]| other))
    })
}

/// Why the comparison supports no verdict, if its baseline has not beaten the constant answer: the
/// 95 % interval of the difference, paired by seed, reaches 0. A record without the constant answer
/// supports none either.
pub(super) fn failure(test: &Test, evidence: &Evidence) -> Option<String> {
    baselines(test).find_map(|baseline| {
        let accuracy = accuracy(baseline);
        let baseline = match &accuracy {
            // Recorded runs may lack it.
            Some(accuracy) if evidence.of(accuracy).is_empty() => return None,
            Some(accuracy) => accuracy,
            None => baseline,
        };
        let scores = evidence.of(baseline);
        let (gains, said): (Vec<f64>, String) = match constant(baseline)? {
            Constant::Fixed(value) => (scores.values().map(|score| score - value).collect(), value.to_string()),
            Constant::Measured(constant) => {
                let constants = evidence.of(&constant);
                if constants.is_empty() {
                    return Some(format!(
                        "the record lacks the constant answer {constant}",
                        constant = constant.metric
                    ));
                }
                let pairs = scores
                    .iter()
                    .filter_map(|(seed, score)| Some((score, constants.get(seed)?)));
                let gains = pairs.map(|(score, constant)| score - constant).collect();
                let values: Vec<f64> = constants.into_values().collect();
                (gains, format!("{:.3}", Spread::of(&values).mean))
            }
        };
        let gain = Spread::of(&gains);
        let low = gain.interval_95().map_or(f64::NEG_INFINITY, |(low, _)| low);
        (low <= 0.0).then(|| {
            let scores: Vec<f64> = scores.into_values().collect();
            format!(
                "{NO_VERDICT}: the baseline {} has {}, which does not beat the constant answer ({said})",
                baseline.run,
                spread_text(&Spread::of(&scores))
            )
        })
    })
}
