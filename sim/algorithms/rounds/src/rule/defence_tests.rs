//! Aggregators against malicious updates, by their definitions.

use super::tests::updates;
use super::*;
use folkmoot_draws::{Purpose, Streams};

const TESTS: Purpose = Purpose(*b"ru-tests");

/// What a rule makes of updates, and whom it excludes.
fn combined(rule: &dyn Rule, updates: &Updates<'_>, memory: &mut RuleMemory) -> (Vec<f64>, Vec<u32>) {
    let mut context = RuleContext::new(memory, Streams::new(1).global(TESTS));
    let combined = rule.combine(updates, &mut context);
    (combined, context.excluded.iter().map(|client| client.0).collect())
}

fn fresh(rule: &dyn Rule, model: &[f32], values: &[Vec<f32>]) -> (Vec<f64>, Vec<u32>) {
    combined(rule, &updates(model, values), &mut RuleMemory::default())
}

#[track_caller]
fn assert_near(found: &[f64], expected: &[f64]) {
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
    let all = found.len() == expected.len() && found.iter().zip(expected).all(is_near);
    assert!(all, "{found:?}, expected {expected:?}");
}

fn column(values: &[f32]) -> Vec<Vec<f32>> {
    values.iter().map(|x| vec![*x]).collect()
}

/// Three honest updates that spread about (1, 1), and two colluding ones that go the other way.
fn attacked() -> Vec<Vec<f32>> {
    vec![
        vec![1.0, 0.9],
        vec![0.9, 1.0],
        vec![1.0, 1.1],
        vec![-30.0, -29.0],
        vec![-30.0, -29.1],
    ]
}

#[test]
fn the_geometric_median_has_the_least_sum_of_distances() {
    let rule = GeometricMedian {
        iterations: 500,
        smoothing: 1e-9,
    };
    // On a line it is the median.
    let (found, _) = fresh(&rule, &[0.0], &column(&[0.0, 1.0, 50.0]));
    assert!((found[0] - 1.0).abs() < 1e-3, "{found:?}");
    // Of the corners of a square its middle.
    let square = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]].map(|corner: [f32; 2]| corner.to_vec());
    assert_near(&fresh(&rule, &[0.0, 0.0], &square).0, &[1.0, 1.0]);
    // One iteration: weights 1 / distance from the mean 2.
    let once = GeometricMedian {
        iterations: 1,
        smoothing: 1e-6,
    };
    let (found, _) = fresh(&once, &[0.0], &column(&[0.0, 0.0, 6.0]));
    assert_near(&found, &[6.0 * 0.25 / (0.5 + 0.5 + 0.25)]);
}

#[test]
fn centred_clipping_cuts_about_the_last_change() {
    let rule = CentredClipping {
        radius: 1.0,
        iterations: 1,
    };
    let mut memory = RuleMemory::default();
    let values = column(&[11.0, 11.0, -90.0]);
    let (first, _) = combined(&rule, &updates(&[10.0], &values), &mut memory);
    assert_near(&first, &[10.0 + 1.0 / 3.0]);
    let (second, _) = combined(&rule, &updates(&[10.0], &values), &mut memory);
    assert_near(&second, &[10.0 + 1.0 / 3.0 + (2.0 / 3.0 + 2.0 / 3.0 - 1.0) / 3.0]);
    assert_near(&memory.numbers, &[4.0 / 9.0]);
}

#[test]
fn bulyan_averages_what_lies_in_the_middle_of_what_krum_chooses() {
    let rule = Bulyan { faulty: 1 };
    assert_eq!(rule.fewest(), 7);
    // Krum leaves out 100 and one end; of the five that are left the three about the median.
    let (found, _) = fresh(&rule, &[0.0], &column(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0]));
    let among = [2.0, 3.0, 4.0, 5.0];
    assert!(among.contains(&found[0]), "{found:?}");
    for wrong in [-1e6, 1e6] {
        let (found, _) = fresh(&rule, &[0.0], &column(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, wrong]));
        assert!((1.0..=6.0).contains(&found[0]), "{found:?}");
    }
    // Without a Byzantine update it is the mean of all.
    assert_near(
        &fresh(&Bulyan { faulty: 0 }, &[0.0], &column(&[1.0, 2.0, 6.0])).0,
        &[3.0],
    );
}

#[test]
fn fools_gold_excludes_clients_that_move_alike() {
    let rule = FoolsGold { confidence: 1.0 };
    let apart = vec![
        vec![1.0, 0.0, 0.0, 0.0],
        vec![0.0, 1.0, 0.0, 0.0],
        vec![0.0, 0.0, 1.0, 0.0],
    ];
    let sybils = vec![vec![0.0, 0.0, 0.0, 5.0]; 2];
    let all = [apart.clone(), sybils].concat();
    let (found, excluded) = fresh(&rule, &[0.0; 4], &all);
    assert_eq!(excluded, [3, 4]);
    assert_near(&found, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0]);
    assert_eq!(fresh(&rule, &[0.0; 4], &apart).1, Vec::<u32>::new());
    // If all updates are equal, all are excluded, and the model stays.
    let (found, excluded) = fresh(&rule, &[2.0, 2.0], &[vec![3.0, 3.0], vec![3.0, 3.0]]);
    assert_eq!((excluded, found), (vec![0, 1], vec![2.0, 2.0]));
    // Histories count: what was alike in the first round is remembered.
    let mut memory = RuleMemory::default();
    combined(&rule, &updates(&[0.0; 4], &all), &mut memory);
    let later: Vec<Vec<f32>> = (0..5)
        .map(|i| (0..4).map(|j| if i % 4 == j { 0.1 } else { 0.0 }).collect())
        .collect();
    assert_eq!(combined(&rule, &updates(&[0.0; 4], &later), &mut memory).1, [3, 4]);
}

#[test]
fn flame_takes_the_majority_of_directions_at_the_median_length() {
    let rule = Flame { noise: 0.0 };
    let (found, excluded) = fresh(&rule, &[0.0, 0.0], &attacked());
    assert_eq!(excluded, [3, 4]);
    // The median of the five lengths is that of the longest honest update, so that none is cut.
    assert_near(&found, &[2.9 / 3.0, 1.0]);
    let (cut, _) = fresh(&rule, &[0.0], &column(&[1.0, 2.0, 6.0]));
    assert_near(&cut, &[(1.0 + 2.0 + 2.0) / 3.0]);
    // Two directions with half of the updates each: they are joined.
    let halves = column(&[1.0, 1.0, -1.0, -1.0]);
    assert_eq!(fresh(&rule, &[0.0], &halves).1, Vec::<u32>::new());
    // The noise has the stated deviation: three sigma of a variance over 10 000 numbers.
    let n = 10_000;
    let (noisy, _) = fresh(&Flame { noise: 0.5 }, &vec![0.0; n], &vec![vec![0.01; n]; 3]);
    let variance = noisy.iter().map(|x| (x - 0.01) * (x - 0.01)).sum::<f64>() / n as f64;
    assert!(
        (variance / 0.25 - 1.0).abs() < 3.0 * (2.0 / n as f64).sqrt(),
        "{variance}"
    );
}

#[test]
fn fl_trust_weighs_by_the_direction_of_the_servers_change() {
    let rule = FlTrust { items: 10 };
    assert_eq!(rule.trusted_items(), Some(10));
    let values = vec![vec![4.0, 0.0], vec![0.0, 9.0], vec![3.0, 3.0], vec![-5.0, 0.0]];
    let mut memory = RuleMemory::default();
    let mut context = RuleContext::new(&mut memory, Streams::new(1).global(TESTS));
    context.trusted = Some(vec![2.0, 0.0]);
    let found = rule.combine(&updates(&[0.0, 0.0], &values), &mut context);
    let excluded: Vec<u32> = context.excluded.iter().map(|client| client.0).collect();
    assert_eq!(excluded, [1, 3]);
    // Cosines 1 and 1/√2; both changes at length 2.
    let half = 0.5_f64.sqrt();
    assert_near(
        &found,
        &[
            (2.0 + half * 2.0 * half) / (1.0 + half),
            half * 2.0 * half / (1.0 + half),
        ],
    );
}

/// Updates as models about a model, and as changes about 0, mean the same.
#[test]
fn models_and_changes_are_combined_alike() {
    let model = [0.5_f32, -0.25];
    let moved: Vec<Vec<f32>> = attacked()
        .iter()
        .map(|x| x.iter().zip(model).map(|(x, m)| x + m).collect())
        .collect();
    let rules: [&dyn Rule; 5] = [
        &GeometricMedian {
            iterations: 3,
            smoothing: 1e-6,
        },
        &CentredClipping {
            radius: 1.0,
            iterations: 2,
        },
        &FoolsGold { confidence: 1.0 },
        &Flame { noise: 0.01 },
        &Bulyan { faulty: 0 },
    ];
    let changes = attacked();
    for (i, rule) in rules.into_iter().enumerate() {
        let of_models = fresh(rule, &model, &moved).0;
        let as_changes = updates(&[], &changes);
        let of_changes = combined(rule, &as_changes, &mut RuleMemory::default()).0;
        let back: Vec<f64> = of_models.iter().zip(model).map(|(x, m)| x - f64::from(m)).collect();
        for (a, b) in back.iter().zip(&of_changes) {
            assert!((a - b).abs() < 1e-5, "rule {i}: {back:?}, {of_changes:?}");
        }
    }
}
