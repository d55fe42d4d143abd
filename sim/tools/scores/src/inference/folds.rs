//! Folds that part no group.

use folkmoot_draws::{SimRng, shuffle};

/// The fold of each item, below `n_folds` or the number of groups if that is less: groups in a
/// random order go where fewest items are.
///
/// # Determinism
///
/// Shuffles the groups.
pub(super) fn by_group(groups: &[u32], n_folds: usize, rng: &mut SimRng) -> Vec<u32> {
    let mut order = groups.to_vec();
    order.sort_unstable();
    order.dedup();
    let distinct = order.clone();
    shuffle(rng, &mut order);
    let mut sizes = vec![0_usize; n_folds.min(distinct.len())];
    let mut fold_of = vec![0; distinct.len()];
    for group in order {
        let least = (0..sizes.len())
            .min_by_key(|&fold| sizes[fold])
            .expect("there are folds where there are groups");
        sizes[least] += groups.iter().filter(|&&other| other == group).count();
        fold_of[place(&distinct, group)] = least as u32;
    }
    groups.iter().map(|&group| fold_of[place(&distinct, group)]).collect()
}

fn place(distinct: &[u32], group: u32) -> usize {
    distinct.binary_search(&group).expect("a group is among the groups")
}

/// The items outside and inside a fold, ascending.
pub(super) fn part(folds: &[u32], fold: u32) -> (Vec<u32>, Vec<u32>) {
    (0..folds.len() as u32).partition(|&item| folds[item as usize] != fold)
}
