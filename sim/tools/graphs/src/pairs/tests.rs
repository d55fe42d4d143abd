use proptest::prelude::*;
use rand::SeedableRng;

use super::*;

fn rng(seed: u64) -> SimRng {
    SimRng::seed_from_u64(seed)
}

#[test]
fn value_stability() {
    let labels = [0, 1, 0, 2, 1, 0];
    let sampler = PairSampler::new(&labels, &[0, 1, 2, 3, 4, 5]).unwrap();
    let drawn: Vec<(u32, u32)> = sampler
        .epoch(&mut rng(7))
        .iter()
        .map(|pair| (pair.first, pair.second))
        .collect();
    let expected = [
        (0, 2),
        (0, 1),
        (3, 3),
        (3, 5),
        (5, 0),
        (5, 3),
        (2, 5),
        (2, 3),
        (4, 1),
        (4, 0),
        (1, 4),
        (1, 2),
    ];
    assert_eq!(drawn, expected);
}

#[test]
fn a_graph_alone_in_its_class_matches_itself() {
    let sampler = PairSampler::new(&[0, 1, 1], &[0, 1, 2]).unwrap();
    assert_eq!(sampler.n_single(), 1);
    let epoch = sampler.epoch(&mut rng(1));
    let own = epoch.iter().find(|pair| pair.first == 0 && pair.matches).unwrap();
    assert_eq!(own.second, 0);
    let others = epoch.iter().filter(|pair| pair.first != 0 && pair.matches);
    assert!(others.clone().count() == 2 && others.clone().all(|pair| pair.first != pair.second));
}

#[test]
fn only_the_items_of_the_part_are_drawn() {
    let labels = [0, 0, 1, 1, 2, 2];
    let epoch = PairSampler::new(&labels, &[0, 4, 5]).unwrap().epoch(&mut rng(3));
    assert!(
        epoch
            .iter()
            .flat_map(|pair| [pair.first, pair.second])
            .all(|item| [0, 4, 5].contains(&item))
    );
}

#[test]
fn parts_without_a_second_class_are_refused() {
    let error = PairSampler::new(&[4, 4, 5], &[0, 1]).unwrap_err();
    assert!(error.to_string().contains("got 2 graphs of 1;"), "{error}");
    assert!(PairSampler::new(&[], &[]).is_err());
    assert_eq!(
        PairSampler::new(&[0, 1], &[0, 2]).unwrap_err(),
        PairError::Item { item: 2, n_items: 2 }
    );
}

/// Classes of 1, 2 and 97 items: the partner that does not match an item of the first class is of
/// the second in half the draws, and within a class every other item is as likely. Bounds are five
/// standard errors.
#[test]
fn partners_follow_the_stated_law() {
    let labels: Vec<u32> = (0..100).map(|item| u32::from(item > 0) + u32::from(item > 2)).collect();
    let items: Vec<u32> = (0..100).collect();
    let sampler = PairSampler::new(&labels, &items).unwrap();
    let mut rng = rng(5);
    let (mut second, mut next) = (0.0, 0.0);
    let n_epochs = 4_000;
    for _ in 0..n_epochs {
        for pair in sampler.epoch(&mut rng) {
            second += f64::from(u8::from(pair.first == 0 && !pair.matches && pair.second < 3));
            next += f64::from(u8::from(pair.first == 50 && pair.matches && pair.second < 51));
        }
    }
    let within = |count: f64, share: f64| {
        let deviation = (f64::from(n_epochs) * share * (1.0 - share)).sqrt();
        (count - f64::from(n_epochs) * share).abs() < 5.0 * deviation
    };
    assert!(within(second, 0.5), "{second}");
    assert!(within(next, 47.0 / 96.0), "{next}");
}

proptest! {
    #[test]
    fn every_item_has_one_pair_of_each_kind(labels in prop::collection::vec(0_u32..6, 2..60), seed in any::<u64>()) {
        let items: Vec<u32> = (0..labels.len() as u32).collect();
        let Ok(sampler) = PairSampler::new(&labels, &items) else {
            prop_assert!(labels.iter().all(|label| *label == labels[0]));
            return Ok(());
        };
        let epoch = sampler.epoch(&mut rng(seed));
        let mut firsts: Vec<u32> = Vec::new();
        for pairs in epoch.chunks(2) {
            prop_assert_eq!(pairs[0].first, pairs[1].first);
            prop_assert_eq!((pairs[0].matches, pairs[1].matches), (true, false));
            for pair in pairs {
                prop_assert_eq!(pair.matches, labels[pair.first as usize] == labels[pair.second as usize]);
            }
            let alone = labels.iter().filter(|label| **label == labels[pairs[0].first as usize]).count() == 1;
            prop_assert_eq!(pairs[0].first == pairs[0].second, alone);
            firsts.push(pairs[0].first);
        }
        firsts.sort_unstable();
        prop_assert_eq!(firsts, items);
        prop_assert_eq!(epoch, sampler.epoch(&mut rng(seed)));
    }
}
