use super::*;
use crate::sweep_dir::Contrast;
use crate::{Axis, Meaning, SweepManifest};
use std::path::PathBuf;

fn meaning(words: &str, better: Option<Better>) -> Meaning {
    Meaning {
        words: words.to_owned(),
        range: (None, None),
        better,
        about: String::new(),
        attack: None,
        scored: None,
        split: None,
    }
}

fn axis(path: &str, values: &[&str], with: Option<&str>) -> Axis {
    Axis {
        path: path.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        with: with.map(str::to_owned),
    }
}

fn contrast(axis: &str, value: &str, baseline: &str) -> Contrast {
    Contrast {
        axis: axis.to_owned(),
        value: value.to_owned(),
        baseline: baseline.to_owned(),
    }
}

/// A sweep over `axes` with the loss of each arm under each seed, where it has one.
fn sweep(axes: Vec<Axis>, contrasts: Vec<Contrast>, losses: &[&[Option<f64>]]) -> SweepDir {
    let manifest = SweepManifest {
        axes,
        contrasts,
        seeds: (1..=losses[0].len() as u64).collect(),
        headline: vec!["test_loss".to_owned(), "nowhere".to_owned()],
        terms: BTreeMap::from([("test_loss".to_owned(), meaning("Test loss", Some(Better::Lower)))]),
        finished: true,
        ..SweepManifest::default()
    };
    let rows = manifest.points().into_iter().zip(losses.iter().copied().flatten());
    let row = |(point, loss): (crate::Point, &Option<f64>)| PointRow {
        point: point.point,
        values: point.values,
        seed: point.seed,
        summary: loss.map(|x| ("test_loss".to_owned(), x)).into_iter().collect(),
    };
    SweepDir {
        path: PathBuf::new(),
        points: rows.map(row).collect(),
        manifest,
    }
}

fn some<const N: usize>(values: [f64; N]) -> [Option<f64>; N] {
    values.map(Some)
}

/// A sweep over an optimiser of three values, the first of which is the baseline.
fn three(losses: [&[Option<f64>]; 3]) -> SweepDir {
    let axes = vec![axis("strategy.optimiser", &["Sgd", "Adam", "Yogi"], None)];
    let contrasts = ["Adam", "Yogi"].map(|value| contrast("strategy.optimiser", value, "Sgd"));
    sweep(axes, contrasts.to_vec(), &losses)
}

fn said(sweep: &SweepDir) -> Vec<String> {
    contrasts(sweep, &arms(sweep)).iter().map(Finding::sentence).collect()
}

#[test]
fn arms_are_compared_with_the_baseline_seed_by_seed() {
    // Seeds differ by more than arms do: unpaired, nothing would be significant.
    let sgd = some([1.0, 3.0, 5.0, 7.0]);
    let adam = some([0.5, 2.4, 4.5, 6.6]);
    let yogi = some([1.1, 2.9, 5.2, 6.8]);
    let sweep = three([&sgd, &adam, &yogi]);
    assert_eq!(
        said(&sweep),
        [
            "Test loss compared with Sgd (4 seeds): lower for Adam (−0.50 ± 0.13); not significantly different for 1 other."
        ]
    );
    let found = &contrasts(&sweep, &arms(&sweep))[0];
    let decisions: Vec<Decision> = found.differences.iter().map(Difference::decision).collect();
    assert_eq!(decisions, [Decision::Lower, Decision::NotSignificant]);
    // scipy.stats.ttest_rel(adam, sgd).pvalue is 0.00117; of two contrasts the smaller is doubled.
    let p = found.differences[0].p.unwrap();
    assert!((p - 2.0 * 0.001_168).abs() < 1e-5, "{p}");
    assert_eq!(found.cell(&found.differences[0]), "−0.50 ± 0.13 *");
    assert_eq!(found.cell(&found.differences[1]), "0.0 ± 0.3");
}

#[test]
fn what_several_contrasts_find_by_chance_is_not_significant() {
    // Alone this difference has p = 0.043.
    let (a, b) = (some([0.0, 0.0, 0.0, 0.0]), some([1.0, 2.0, 3.0, 0.8]));
    let alone = sweep(
        vec![axis("arm", &["a", "b"], None)],
        vec![contrast("arm", "b", "a")],
        &[&a, &b],
    );
    assert_eq!(
        said(&alone),
        ["Test loss: \"b\" is higher than \"a\" by 1.7 ± 1.6 (4 seeds)."]
    );
    let both = three([&a, &b, &some([0.0, 1.0, -1.0, 0.5])]);
    assert_eq!(
        said(&both),
        ["Test loss: no significant difference from Sgd after Holm's correction for 2 comparisons (4 seeds)."]
    );
}

#[test]
fn doses_are_told_in_their_order_and_metrics_without_a_difference_together() {
    let axes = vec![axis("strategy.epsilon", &["0", "1", "2", "4"], None)];
    let of = |value: &str| contrast("strategy.epsilon", value, "0");
    let noise = [0.01, -0.01, 0.0, 0.02];
    let arm = |mean: f64, at: usize| [0, 1, 2, 3].map(|seed| Some(mean + noise[(seed + at) % 4]));
    let losses = [arm(1.0, 0), arm(2.0, 1), arm(3.0, 2), arm(4.0, 3)];
    let losses: Vec<&[Option<f64>]> = losses.iter().map(|row| row.as_slice()).collect();
    let mut sweep = sweep(axes, vec![of("4"), of("1"), of("2")], &losses);
    assert_eq!(
        said(&sweep),
        [
            "Test loss compared with epsilon 0 (4 seeds): higher from epsilon 1 (+1.00 ± 0.03) to epsilon 4 (+3.00 ± 0.03)."
        ]
    );
    sweep.manifest.headline = ["test_loss", "bytes", "rounds"].map(str::to_owned).to_vec();
    for row in &mut sweep.points {
        row.summary.insert("bytes".to_owned(), 5.0);
        row.summary.insert("rounds".to_owned(), row.seed as f64);
    }
    let found = contrasts(&sweep, &arms(&sweep));
    assert!(!found[0].is_identical() && found[1].is_identical());
    assert_eq!(
        sentences(&found, 3)[1..],
        ["No significant difference from epsilon 0 (4 seeds) in these metrics: bytes; rounds."]
    );
    assert_eq!(sentences(&found, 1).len(), 1);
    // Where the first question has no answer, that is said first.
    sweep.manifest.headline = ["rounds", "test_loss", "bytes"].map(str::to_owned).to_vec();
    let said = sentences(&contrasts(&sweep, &arms(&sweep)), 3);
    assert_eq!(
        said[0],
        "No significant difference from epsilon 0 (4 seeds) in these metrics: rounds; bytes."
    );
    assert!(said[1].starts_with("Test loss compared with epsilon 0"), "{said:?}");
}

#[test]
fn one_seed_equal_numbers_and_no_common_seed_have_sentences_of_their_own() {
    let two = |a: &[Option<f64>], b: &[Option<f64>]| {
        let axes = vec![axis("strategy.rate", &["0.1", "0.2"], None)];
        said(&sweep(axes, vec![contrast("strategy.rate", "0.2", "0.1")], &[a, b]))
    };
    let same = some([0.25, 0.5]);
    assert_eq!(
        two(&same, &same),
        ["Test loss: rate 0.2 and rate 0.1 are identical in all 2 seeds."]
    );
    assert_eq!(
        two(&[Some(1.0)], &[Some(0.75)]),
        ["Test loss: rate 0.2 minus rate 0.1 is −0.2500 (1 seed: no interval)."]
    );
    assert_eq!(
        two(&[Some(1.0)], &[Some(1.0)]),
        ["Test loss: rate 0.2 and rate 0.1 are identical under the one seed."]
    );
    assert_eq!(
        two(&[Some(1.0), None], &[None, Some(2.0)]),
        ["Test loss: rate 0.2 and rate 0.1 have no seed in common."]
    );
    // The same difference under every seed needs no interval; under two it may be so by chance.
    assert_eq!(
        two(&some([1.0, 2.0, 4.0]), &some([1.5, 2.5, 4.5])),
        ["Test loss: rate 0.2 is higher than rate 0.1 by 0.5000 (3 seeds)."]
    );
    assert_eq!(
        two(&some([1.0, 2.0]), &some([1.5, 2.5])),
        ["Test loss: rate 0.2 minus rate 0.1 is +0.5000 (2 seeds: no interval)."]
    );
    assert!(two(&[None, None], &[None, None]).is_empty());
    assert!(two(&some([f64::NAN, 1.0]), &some([1.0, 1.0]))[0].contains("n/a"));
}

#[test]
fn other_axes_stay_as_they_are_and_axes_that_move_together_move() {
    let axes = vec![
        axis("strategy.model", &["A", "B"], None),
        axis("strategy.rate", &["0.1", "0.3"], Some("strategy.model")),
        axis("seed_of_data", &["1", "2"], None),
    ];
    let losses = [some([1.0, 2.0]), some([2.0, 3.0]), some([3.0, 4.0]), some([5.0, 6.0])];
    let losses: Vec<&[Option<f64>]> = losses.iter().map(|row| row.as_slice()).collect();
    let sweep = sweep(axes, vec![contrast("strategy.model", "B", "A")], &losses);
    let found = contrasts(&sweep, &arms(&sweep));
    let of: Vec<([usize; 2], f64)> = found[0]
        .differences
        .iter()
        .map(|one| (one.arms, one.paired.mean))
        .collect();
    assert_eq!(of, [([2, 0], 2.0), ([3, 1], 3.0)]);
    // Each value of the other axis is a family of its own.
    assert!(found[0].differences.iter().all(|one| one.p.is_none()));
    assert_eq!(found[0].differences[1].names[0], "B with seed_of_data 2");
}

#[test]
fn what_a_target_took_is_cut_off_where_a_run_did_not_arrive() {
    let mut sweep = three([&some([1.0, 1.0]), &some([1.0, 1.0]), &some([1.0, 1.0])]);
    let reached = "target_reached[test_loss=0.5]";
    let time = "virtual_s_to_target[test_loss=0.5]";
    // Arm by arm: when each run arrives, if it does, and when it ends.
    let runs = [
        (Some(10.0), 100.0),
        (Some(20.0), 100.0),
        (Some(15.0), 90.0),
        (None, 40.0),
        (None, 50.0),
        (None, 60.0),
    ];
    for (row, (arrives, ends)) in sweep.points.iter_mut().zip(runs) {
        row.summary
            .insert(reached.to_owned(), f64::from(u8::from(arrives.is_some())));
        row.summary.insert("virtual_s".to_owned(), ends);
        row.summary.extend(arrives.map(|x| (time.to_owned(), x)));
    }
    let arms = arms(&sweep);
    let found = contrasts(&sweep, &arms);
    let of_time = found.iter().find(|finding| finding.metric == time).unwrap();
    assert_eq!(of_time.censored_at, Some(40.0));
    let means: Vec<f64> = of_time.differences.iter().map(|one| one.paired.mean).collect();
    // Adam: 15 − 10 and 40 − 20. Yogi arrives never: 40 − 10 and 40 − 20.
    assert_eq!(means, [12.5, 25.0]);
    // On an ideal network a time is a number of hops, and no answer.
    let mut ideal = sweep.clone();
    for row in &mut ideal.points {
        row.summary.values_mut().for_each(|x| *x *= 1e-9);
        row.summary.insert(reached.to_owned(), 1.0);
    }
    let of_ideal = contrasts(&ideal, &super::arms(&ideal));
    assert!(of_ideal.iter().all(|finding| finding.metric != time), "{of_ideal:?}");
    let cells = targets_of(&ideal);
    assert_eq!(cells[0], "no time");
    let targets = targets(&sweep, &arms);
    assert_eq!(
        targets[0].arms.iter().map(|arm| arm.0).collect::<Vec<_>>(),
        [[2, 2], [1, 2], [0, 2]]
    );
    assert_eq!(targets[0].arms[2].1[0].estimate.to_string(), "");
}

/// The virtual time that each arm takes to the first target, as it is written.
fn targets_of(sweep: &SweepDir) -> Vec<String> {
    let found = targets(sweep, &arms(sweep));
    found[0]
        .arms
        .iter()
        .map(|(_, took)| took[0].estimate.to_string())
        .collect()
}

#[test]
fn every_arm_that_is_not_significantly_worse_is_among_the_best() {
    let close = three([&some([1.0, 2.0, 3.0]), &some([1.1, 1.9, 3.1]), &some([2.0, 3.1, 4.0])]);
    let of = |sweep: &SweepDir, better| {
        let all: Vec<usize> = (0..arms(sweep).len()).collect();
        best(&arms(sweep), &all, "test_loss", better, &[])
    };
    assert_eq!(of(&close, Some(Better::Lower)), [0, 1]);
    assert_eq!(of(&close, Some(Better::Higher)), [2]);
    assert!(of(&close, None).is_empty());
    // Where all are, none is marked.
    let same = three([&some([1.0, 2.0]), &some([2.0, 1.0]), &some([1.5, 1.5])]);
    assert!(of(&same, Some(Better::Lower)).is_empty());
    // One seed decides nothing.
    assert!(of(&three([&[Some(3.0)], &[Some(1.0)], &[None]]), Some(Better::Lower)).is_empty());
}

/// The sentences of a sweep and the marks of its table say the same of a pair.
#[test]
fn marks_follow_what_the_contrasts_say() {
    // Adam against the baseline has p = 0.043: not significant among the card's two contrasts, but
    // among the two comparisons with the best, of which the other has a far smaller p.
    let (sgd, adam) = (some([1.0, 2.0, 3.0, 0.8]), some([0.0; 4]));
    let sweep = three([&sgd, &adam, &some([2.0, 2.1, 1.9, 2.05])]);
    let (arms, found) = (arms(&sweep), contrasts(&sweep, &arms(&sweep)));
    assert_eq!(found[0].differences[0].decision(), Decision::NotSignificant);
    let marked = |told: &[Difference]| best(&arms, &[0, 1, 2], "test_loss", Some(Better::Lower), told);
    assert_eq!(marked(&[]), [1]);
    assert_eq!(marked(&found[0].differences), [0, 1]);
    assert_eq!(columns(&sweep, &arms)[0].best, [0, 1]);
}
