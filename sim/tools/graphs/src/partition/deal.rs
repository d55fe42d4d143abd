//! Dealing items to clients: sizes first, then who goes where. No loop here waits for luck.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use folkmoot_draws::{SimRng, dirichlet, draw_first};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::{MAX_ENTRIES, PartitionError};
use crate::Dataset;

/// Sizes that differ by at most 1, the larger ones first.
pub(super) fn even_sizes(n_items: usize, n_clients: usize) -> Vec<usize> {
    (0..n_clients)
        .map(|client| n_items / n_clients + usize::from(client < n_items % n_clients))
        .collect()
}

/// Whole numbers near `shares × n_items` with the sum `n_items`: the differences of the rounded
/// running sums.
fn apportion(shares: &[f64], n_items: usize) -> Vec<usize> {
    let mut sum = 0.0;
    let mut dealt = 0;
    let mut sizes = Vec::with_capacity(shares.len());
    for (at, share) in shares.iter().enumerate() {
        sum += share;
        // The last running sum is 1 up to rounding, so it is not computed.
        let upto = if at + 1 == shares.len() {
            n_items
        } else {
            ((sum * n_items as f64).round() as usize).min(n_items)
        };
        let upto = upto.max(dealt);
        sizes.push(upto - dealt);
        dealt = upto;
    }
    sizes
}

/// Sizes by Dirichlet shares; clients below `min_size` get one item after another from the client
/// that has most then.
pub(super) fn skewed_sizes(
    n_items: usize,
    n_clients: usize,
    alpha: f64,
    min_size: usize,
    rng: &mut SimRng,
) -> Vec<usize> {
    let mut sizes = apportion(&dirichlet(rng, alpha, n_clients), n_items);
    fill_up(&mut sizes, min_size, |_, _| {});
    sizes
}

/// Shuffles the items and deals them out in runs of the given sizes.
pub(super) fn by_sizes(n_items: usize, sizes: &[usize], rng: &mut SimRng) -> Vec<Vec<u32>> {
    let mut items: Vec<u32> = (0..n_items as u32).collect();
    items.shuffle(rng);
    let mut rest = items.as_slice();
    let take = |size: &usize| {
        let (shard, left) = rest.split_at(*size);
        rest = left;
        shard.to_vec()
    };
    sizes.iter().map(take).collect()
}

/// The items of each class, unlabelled ones last; `None` if the set has no labels at all.
pub(super) fn items_by_class(dataset: &Dataset, rng: &mut SimRng) -> Option<Vec<Vec<u32>>> {
    let mut by_class;
    if dataset.is_graph_level() {
        let labels = dataset.graph_labels.as_ref()?;
        let n_classes = labels.iter().max().map_or(0, |&most| most as usize + 1);
        by_class = vec![Vec::new(); n_classes];
        for (item, &class) in (0..).zip(labels) {
            by_class[class as usize].push(item);
        }
    } else {
        let labels = dataset.node_labels.as_ref()?;
        by_class = vec![Vec::new(); labels.n_classes() + 1];
        for node in 0..dataset.n_items() as u32 {
            let class = match labels.of(node) {
                [] => labels.n_classes(),
                [class] => *class as usize,
                several => several[rng.random_range(0..several.len() as u32) as usize] as usize,
            };
            by_class[class].push(node);
        }
    }
    Some(by_class)
}

/// Spreads every class over the clients by Dirichlet shares of its own, then fills up shards below
/// `min_size`.
pub(super) fn by_class(
    classes: Vec<Vec<u32>>,
    n_clients: usize,
    alpha: f64,
    min_size: usize,
    rng: &mut SimRng,
) -> Vec<Vec<u32>> {
    let mut shards = vec![Vec::new(); n_clients];
    for mut items in classes {
        if items.is_empty() {
            continue;
        }
        items.shuffle(rng);
        let mut rest = items.as_slice();
        for (shard, size) in shards
            .iter_mut()
            .zip(apportion(&dirichlet(rng, alpha, n_clients), items.len()))
        {
            let (part, left) = rest.split_at(size);
            shard.extend_from_slice(part);
            rest = left;
        }
    }
    let mut sizes: Vec<usize> = shards.iter().map(Vec::len).collect();
    fill_up(&mut sizes, min_size, |from, to| {
        let at = rng.random_range(0..shards[from].len() as u64) as usize;
        let item = shards[from].swap_remove(at);
        shards[to].push(item);
    });
    shards
}

/// For each part so many shards, each of a share of its items, at least one, drawn without
/// repetition.
pub(super) fn copies(
    parts: &[Vec<u32>],
    copies: u32,
    share: f64,
    rng: &mut SimRng,
) -> Result<Vec<Vec<u32>>, PartitionError> {
    let size = |part: &[u32]| ((share * part.len() as f64) as usize).max(1);
    let n_entries = parts
        .iter()
        .map(|part| size(part))
        .sum::<usize>()
        .saturating_mul(copies as usize);
    if n_entries > MAX_ENTRIES {
        return Err(PartitionError::TooLarge { n_entries });
    }
    let draw = |part: &Vec<u32>| {
        let mut items = part.clone();
        draw_first(rng, &mut items, size(part));
        items.truncate(size(part));
        items
    };
    let each = parts.iter().flat_map(|part| std::iter::repeat_n(part, copies as usize));
    Ok(each.map(draw).collect())
}

/// Moves single items from the largest shard (of equals, the first) to each that is below
/// `min_size`, in ascending order.
///
/// Needs `n_clients × min_size <= n_items`; then the largest shard is above `min_size` as long as
/// another is below, and the number of moves is what is missing.
fn fill_up(sizes: &mut [usize], min_size: usize, mut move_one: impl FnMut(usize, usize)) {
    let mut by_size: BTreeSet<(usize, Reverse<usize>)> = sizes
        .iter()
        .enumerate()
        .map(|(client, &size)| (size, Reverse(client)))
        .collect();
    for to in 0..sizes.len() {
        if sizes[to] >= min_size {
            continue;
        }
        by_size.remove(&(sizes[to], Reverse(to)));
        while sizes[to] < min_size {
            let Some((size, Reverse(from))) = by_size.pop_last() else {
                break;
            };
            move_one(from, to);
            sizes[from] = size - 1;
            by_size.insert((size - 1, Reverse(from)));
            sizes[to] += 1;
        }
        by_size.insert((sizes[to], Reverse(to)));
    }
}
