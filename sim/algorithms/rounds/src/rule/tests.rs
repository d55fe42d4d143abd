//! The rules against their definitions.

use super::*;
use folkmoot_draws::{Purpose, Streams};
use proptest::prelude::*;

/// Updates of clients 0, 1, …, all numbers learning, from a model or, without one, as changes.
pub(super) fn updates<'a>(model: &'a [f32], values: &'a [Vec<f32>]) -> Updates<'a> {
    let update = |(i, values): (usize, &'a Vec<f32>)| Update {
        client: ClientId(i as u32),
        weight: 1.0,
        discount: 1.0,
        values,
    };
    Updates {
        all: values.iter().enumerate().map(update).collect(),
        model,
        n_trainable: values[0].len(),
    }
}

/// What a rule makes of updates without a memory.
fn combined(rule: &dyn Rule, updates: &Updates<'_>) -> Vec<f64> {
    rule.combine(
        updates,
        &mut RuleContext::new(
            &mut RuleMemory::default(),
            Streams::new(1).global(Purpose(*b"ru-tests")),
        ),
    )
}

fn column(values: &[f32]) -> Vec<Vec<f32>> {
    values.iter().map(|x| vec![*x]).collect()
}

#[test]
fn the_mean_counts_weights_and_shrinks_by_discounts() {
    let values = column(&[1.0, 4.0]);
    let mut updates = updates(&[], &values);
    updates.all[1].weight = 3.0;
    assert_eq!(combined(&Mean {}, &updates), [13.0 / 4.0]);
    updates.all[1].discount = 0.5;
    assert_eq!(combined(&Mean {}, &updates), [7.0 / 4.0]);
}

#[test]
fn the_trimmed_mean_cuts_both_ends_and_no_outlier_leaves_a_trace() {
    let trimmed = |share: f64, values: &[f32]| combined(&TrimmedMean { share }, &updates(&[], &column(values)))[0];
    assert_eq!(trimmed(0.2, &[1e30, 1.0, 2.0, 3.0, 4.0]), 3.0);
    assert_eq!(trimmed(0.2, &[-1e30, 1.0, 2.0, 3.0, 1e30]), 2.0);
    assert_eq!(trimmed(0.0, &[1.0, 2.0, 6.0]), 3.0);
    // Two fifths are two of five and two of six.
    assert_eq!(trimmed(0.4, &[9.0, 1.0, 5.0, -8.0, 7.0]), 5.0);
    assert_eq!(trimmed(0.4, &[9.0, 1.0, 5.0, -8.0, 7.0, 6.0]), 5.5);
    // Each coordinate by itself.
    let rows = [vec![0.0, 9.0], vec![1.0, -9.0], vec![9.0, 2.0]];
    assert_eq!(combined(&TrimmedMean { share: 0.3 }, &updates(&[], &rows)), [1.0, 2.0]);
}

#[test]
fn a_trimmed_mean_cuts_the_share_that_is_meant_and_never_all() {
    let n_cut = |share: f64, n: usize| TrimmedMean { share }.n_cut(n);
    assert_eq!([n_cut(0.29, 100), n_cut(0.07, 100), n_cut(0.1, 19)], [29, 7, 1]);
    assert_eq!(
        [n_cut(0.0, 100), n_cut(0.1, 3)],
        [0, 1],
        "a share that is not 0 cuts something"
    );
    assert_eq!([n_cut(0.499_999_999_99, 10), n_cut(0.4, 2), n_cut(0.4, 1)], [4, 0, 0]);
    assert_eq!((TrimmedMean { share: 0.1 }).fewest(), 3);
    assert_eq!((TrimmedMean { share: 0.0 }).fewest(), 1);
}

#[test]
fn clipping_shortens_long_changes_and_leaves_the_others() {
    let clip = NormClip { bound: 5.0 };
    // From the model (1, 1): the change (30, 40) becomes (3, 4), and (0, 0) stays.
    let rows = [vec![31.0, 41.0], vec![1.0, 1.0]];
    assert_eq!(combined(&clip, &updates(&[1.0, 1.0], &rows)), [2.5, 3.0]);
    // The same as changes, the second three times as heavy and the first stale.
    let changes = [vec![30.0, 40.0], vec![0.0, 1.0]];
    let mut stale = updates(&[], &changes);
    stale.all[0].discount = 0.5;
    stale.all[1].weight = 3.0;
    assert_eq!(combined(&clip, &stale), [1.5 / 4.0, 5.0 / 4.0]);
    let outlier = [vec![1e30, 0.0]];
    let cut = combined(&NormClip { bound: 2.0 }, &updates(&[1.0, 1.0], &outlier));
    assert!((cut[0] - 3.0).abs() < 1e-12 && cut[1] == 1.0, "{cut:?}");
}

#[test]
fn what_does_not_learn_is_clipped_by_itself() {
    let rows = [vec![3.0, 4.0, 1e6]];
    let mut updates = updates(&[0.0, 0.0, 1.0], &rows);
    updates.n_trainable = 2;
    assert_eq!(combined(&NormClip { bound: 5.0 }, &updates), [3.0, 4.0, 6.0]);
}

#[test]
fn a_median_is_the_middle_or_between_the_two_in_it() {
    let median = |values: &[f32]| combined(&Median {}, &updates(&[], &column(values)))[0];
    assert_eq!(median(&[7.0]), 7.0);
    assert_eq!(median(&[1e30, 1.0, -1e30, 3.0, 2.0]), 2.0);
    assert_eq!(median(&[4.0, 1e30, 1.0, -1e30]), 2.5);
}

/// Six updates at whole numbers, by hand: with one faulty each is scored by its three nearest.
#[test]
fn krum_takes_whoever_lies_among_its_likes_and_of_equals_the_first() {
    let krum = |faulty, chosen, values: &[f32]| combined(&Krum { faulty, chosen }, &updates(&[], &column(values)))[0];
    let values = [0.0, 1.0, 2.0, 4.0, 100.0, 3.0];
    // Scores: 0: 1 + 4 + 9, 1: 1 + 1 + 4, 2: 1 + 1 + 4, 4: 1 + 4 + 9, 3: 1 + 1 + 4.
    assert_eq!(krum(1, 1, &values), 1.0);
    assert_eq!(krum(1, 2, &values), 1.5);
    // Squares, not lengths, with the two nearest: 9 + 9 is less than 0 + 25, and 3 + 3 is more than
    // 0 + 5.
    assert_eq!(krum(1, 1, &[8.0, -3.0, 3.0, 0.0, 8.0]), 0.0);
    assert_eq!(Krum { faulty: 1, chosen: 1 }.fewest(), 5);
    use folkmoot_parts::Value;
    assert_eq!(Krum { faulty: 1, chosen: 3 }.broken()[0].path, "chosen");
    assert!(Krum { faulty: 2, chosen: 3 }.broken().is_empty());
}

proptest! {
    /// However wrong, one update in five does not make Krum's leave the others' range, nor a
    /// median.
    #[test]
    fn robust_rules_stay_within_the_sound(sound in prop::collection::vec(-1.0f32..1.0, 4..9), wrong in -1e30f32..1e30, at in 0usize..4) {
        let mut all = sound.clone();
        all.insert(at, wrong);
        let (least, most) = sound.iter().fold((f32::MAX, f32::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
        let rules: [&dyn Rule; 2] = [&Median {}, &Krum { faulty: 1, chosen: 2 }];
        for rule in rules {
            let combined = combined(rule, &updates(&[], &column(&all)))[0];
            prop_assert!(f64::from(least) <= combined && combined <= f64::from(most), "{combined} of {all:?}");
        }
    }

    /// Half of the updates, less one, may be anything: each number stays within what the others
    /// sent.
    #[test]
    fn a_trimmed_mean_stays_within_the_sound(sound in prop::collection::vec(-1.0f32..1.0, 3..9), wrong in -1e30f32..1e30) {
        let f = (sound.len() - 1) / 2;
        let mut all = sound.clone();
        all.extend(std::iter::repeat_n(wrong, f));
        let share = (f as f64 + 0.5) / all.len() as f64;
        prop_assume!(share < 0.5);
        let trimmed = combined(&TrimmedMean { share }, &updates(&[], &column(&all)))[0];
        let (least, most) = sound.iter().fold((f32::MAX, f32::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
        prop_assert!(f64::from(least) <= trimmed && trimmed <= f64::from(most), "{trimmed} of {all:?}");
    }

    /// Who sent what does not matter: a trimmed mean to the bit, the others to rounding.
    #[test]
    fn no_rule_reads_the_order_of_clients(values in prop::collection::vec(-10.0f32..10.0, 3..9), turn in 0usize..9) {
        let turned: Vec<f32> = values.iter().cycle().skip(turn % values.len()).take(values.len()).copied().collect();
        let both = |rule: &dyn Rule| [&values, &turned].map(|values| combined(rule, &updates(&[0.5], &column(values)))[0]);
        let [a, b] = both(&TrimmedMean { share: 0.25 });
        prop_assert_eq!(a.to_bits(), b.to_bits());
        let rules: [&dyn Rule; 3] = [&Mean {}, &NormClip { bound: 2.0 }, &Median {}];
        for rule in rules {
            let [a, b] = both(rule);
            prop_assert!((a - b).abs() < 1e-12);
        }
    }

    /// A clipped change is as long as the bound allows, and no shorter than it must be.
    #[test]
    fn a_clipped_change_keeps_to_its_bound(change in prop::collection::vec(-1e3f32..1e3, 1..6), bound in 1e-3..1e4f64) {
        let norm = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, x| sum + x * x).sqrt();
        let before = norm(&mut change.iter().map(|x| f64::from(*x)));
        let after = norm(&mut combined(&NormClip { bound }, &updates(&[], &[change])).into_iter());
        prop_assert!((after - before.min(bound)).abs() <= 1e-9 * bound);
    }
}
