//! Attackers where there is something to find and where there is nothing, and what each of them can
//! and cannot see.

use super::*;
use folkmoot_draws::{SeedableRng, index, normal};

fn network() -> PerceptronSettings {
    PerceptronSettings {
        layers: 2,
        width: 16,
        epochs: 60,
        learning_rate: 0.005,
        batch: 16,
        standardise: true,
    }
}

/// `n` rows of `width` standard normal numbers in groups of 3, with labels below 3 that are drawn,
/// and what `mark` does to a row by its label and its group.
fn rows(n: usize, width: usize, seed: u64, mark: impl Fn(&mut [f32], u32, u32)) -> Known {
    let mut rng = SimRng::seed_from_u64(seed);
    let mut known = Known::default();
    let mut table = Vec::new();
    for i in 0..n {
        let (label, group) = (index(&mut rng, 3) as u32, i as u32 / 3);
        let mut row: Vec<f32> = (0..width).map(|_| normal(&mut rng) as f32).collect();
        mark(&mut row, label, group);
        table.push(row);
        known.labels.push(label);
        known.groups.push(group);
    }
    known.rows = Table::from_rows(table);
    known
}

/// For every attacker its area among those it knows, and its area among those it does not.
fn areas(mark: impl Fn(&mut [f32], u32, u32) + Copy) -> Vec<(Kind, f64, f64)> {
    let (known, targets) = (rows(300, 8, 1, mark), rows(300, 8, 2, mark));
    let mut rng = SimRng::seed_from_u64(3);
    let guesses = Attackers::default().guess(&network(), &known, &targets.rows, 3, &mut rng);
    let area = |guess: &Guess| {
        let auc = macro_auc(&targets.labels, &guess.scores, 3).unwrap();
        (guess.kind, guess.known_auc.unwrap(), auc)
    };
    guesses.iter().map(area).collect()
}

fn best(found: &[(Kind, f64, f64)]) -> (Kind, f64) {
    let known: Vec<Option<f64>> = found.iter().map(|(_, known, _)| Some(*known)).collect();
    let (kind, _, auc) = found[first_best(&known).unwrap()];
    (kind, auc)
}

/// An area of 300 guesses of three labels has a standard error of about 0.02 where there is
/// nothing.
#[test]
fn a_planted_mark_is_found_by_everybody_and_nothing_by_nobody() {
    for (kind, known, auc) in areas(|row, label, _| row[label as usize] += 2.5) {
        assert!(known > 0.85 && auc > 0.85, "{kind:?}: {known} {auc}");
    }
    for (kind, known, auc) in areas(|_, _, _| {}) {
        assert!(
            (known - 0.5).abs() < 0.1 && (auc - 0.5).abs() < 0.08,
            "{kind:?}: {known} {auc}"
        );
    }
}

/// The product of two numbers has no part along either: a plane sees nothing of it, and is not
/// chosen.
#[test]
fn the_attacker_is_chosen_by_what_it_can_see() {
    let found = areas(|row, label, _| {
        let size = row[0].abs() + 0.5;
        row[0] = if row[1] > 0.0 { size } else { -size };
        if label == 1 {
            row[0] = -row[0];
        }
        row[2] += if label == 2 { 4.0 } else { 0.0 };
    });
    let auc_of = |wanted| found.iter().find(|(kind, ..)| *kind == wanted).unwrap().2;
    let (kind, auc) = best(&found);
    assert!(kind != Kind::Ridge && auc > 0.9, "{found:?}");
    assert!(auc > auc_of(Kind::Ridge) + 0.1, "{found:?}");
}

/// Whoever could learn from one row of a group to guess another would be sure of it, and know
/// nothing of any other group.
#[test]
fn folds_part_no_group() {
    let mut known = rows(120, 1, 4, |_, _, _| {});
    let code: Vec<[f32; 12]> = known
        .groups
        .iter()
        .map(|group| std::array::from_fn(|bit| (group >> bit & 1) as f32))
        .collect();
    known.rows = Table::from_rows(&code);
    for (label, group) in known.labels.iter_mut().zip(&known.groups) {
        // One label a group, without any order in them.
        *label = group.wrapping_mul(2_654_435_761) >> 16 & 1;
    }
    let mut rng = SimRng::seed_from_u64(5);
    let by_item: Vec<u32> = (0..120).collect();
    let area = |known: &Known, rng: &mut SimRng| {
        let one = Attackers {
            penalties: Vec::new(),
            neighbours: vec![1],
            trees: 0,
            network: false,
            ..Attackers::default()
        };
        one.guess(&network(), known, &known.rows, 2, rng)[0].known_auc.unwrap()
    };
    let parted = area(
        &Known {
            groups: by_item,
            ..known.clone()
        },
        &mut rng,
    );
    let whole = area(&known, &mut rng);
    assert!(parted > 0.95, "{parted}");
    assert!((whole - 0.5).abs() < 0.25, "{whole}");
    let folds = folds::by_group(&known.groups, 5, &mut rng);
    for group in 0..40 {
        assert!(folds[3 * group..][..3].iter().all(|fold| *fold == folds[3 * group]));
    }
    let sizes = [0, 1, 2, 3, 4].map(|fold| folds::part(&folds, fold).1.len());
    assert_eq!(sizes, [24; 5]);
}

#[test]
fn threads_do_not_matter() {
    let mark = |row: &mut [f32], label: u32, _| row[label as usize] += 1.0;
    let (known, targets) = (rows(90, 8, 1, mark), rows(30, 8, 2, mark));
    let guess = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut rng = SimRng::seed_from_u64(3);
        pool.install(|| Attackers::default().guess(&network(), &known, &targets.rows, 3, &mut rng))
    };
    let alone = guess(1);
    assert_eq!(alone.len(), 4);
    assert!(alone == guess(3));
}

/// Who knows one group, one label or one row still guesses; from numbers that are not finite nobody
/// does.
#[test]
fn little_knowledge_is_no_knowledge_of_others() {
    let all = rows(12, 4, 1, |_, _, _| {});
    for n in [1, 3] {
        let known = all.select(&(0..n).collect::<Vec<u32>>());
        let mut rng = SimRng::seed_from_u64(1);
        let guesses = Attackers::default().guess(&network(), &known, &all.rows, 3, &mut rng);
        assert_eq!(guesses.len(), 4);
        for guess in guesses {
            assert!(
                guess.known_auc.is_none() && guess.scores.len() == 36,
                "{:?}",
                guess.kind
            );
            assert!(guess.scores.iter().all(|score| score.is_finite()), "{:?}", guess.kind);
        }
    }
    let mut broken = all.clone();
    broken.rows = Table::from_rows(all.rows.rows().map(|row| [row[0], f32::NAN]));
    let mut rng = SimRng::seed_from_u64(1);
    assert!(
        Attackers::default()
            .guess(&network(), &broken, &broken.rows, 3, &mut rng)
            .is_empty()
    );
}

/// `0.5 (x − 3)² + 50 (y + 1)²`, in few steps whatever its shape.
#[test]
fn the_search_finds_the_bottom_of_a_narrow_valley() {
    let end = ridge::minimise(vec![0.0, 0.0], |w| {
        let (a, b) = (w[0] - 3.0, w[1] + 1.0);
        (0.5 * a * a + 50.0 * b * b, vec![a, 100.0 * b])
    });
    assert!((end[0] - 3.0).abs() < 1e-3 && (end[1] + 1.0).abs() < 1e-3, "{end:?}");
}

/// A rare label that carries no mark: by pairs across folds its rows would lie below all others,
/// which were guessed by those who knew one more of it.
#[test]
fn a_rare_label_is_guessed_by_chance_and_not_below_it() {
    let mean = (0..20)
        .map(|seed| {
            let known = rows(45, 4, 100 + seed, |_, _, _| {});
            let one = Attackers {
                penalties: vec![1e6],
                neighbours: Vec::new(),
                trees: 0,
                network: false,
                ..Attackers::default()
            };
            let mut rng = SimRng::seed_from_u64(seed);
            one.guess(&network(), &known, &known.rows, 3, &mut rng)[0]
                .known_auc
                .unwrap()
        })
        .sum::<f64>()
        / 20.0;
    // Twenty areas of a standard error of 0.06 each: four of their mean's are 0.06.
    assert!((mean - 0.5).abs() < 0.06, "{mean}");
}
