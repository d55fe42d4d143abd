//! The views of earlier graphs, from which negatives are drawn.

use super::options::Order;
use folkmoot_draws::{SimRng, draw_first, index};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A view that is kept: the graph, and its matrix if it is noisy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) item: u32,
    pub(super) matrix: Vec<f32>,
}

/// At most so many views. It keeps the memory of those that leave.
#[derive(Debug)]
pub(super) struct Queue {
    views: VecDeque<Kept>,
    spare: Vec<Kept>,
    candidates: Vec<u32>,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue {
            views: VecDeque::new(),
            spare: Vec::new(),
            candidates: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.spare.extend(self.views.drain(..));
    }

    /// All views, the oldest first: what a client keeps until its next training.
    pub(super) fn to_vec(&self) -> Vec<Kept> {
        self.views.iter().cloned().collect()
    }

    pub(super) fn get(&self, place: u32) -> &Kept {
        &self.views[place as usize]
    }

    /// Takes a view in, and lets one go if there are then more than `most`.
    pub(super) fn insert(&mut self, item: u32, matrix: &[f32], most: usize, order: Order) {
        if self.views.len() >= most {
            self.spare.extend(match order {
                Order::Fifo => self.views.pop_front(),
                Order::Lifo => self.views.pop_back(),
            });
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.item = item;
        kept.matrix.clear();
        kept.matrix.extend_from_slice(matrix);
        self.views.push_back(kept);
    }

    /// Appends to `chosen` the places of `k` views of graphs that `is_negative` takes: different
    /// ones while there are any, then all of them and some again; nothing if there is none.
    ///
    /// # Determinism
    ///
    /// One index for each of the `k`, but none for the first of all where there are fewer.
    pub(super) fn draw(
        &mut self,
        k: usize,
        is_negative: impl Fn(u32) -> bool,
        rng: &mut SimRng,
        chosen: &mut Vec<u32>,
    ) {
        let candidates = &mut self.candidates;
        candidates.clear();
        let views = (0..).zip(&self.views);
        candidates.extend(views.filter(|(_, kept)| is_negative(kept.item)).map(|(place, _)| place));
        let n = candidates.len();
        if n == 0 {
            return;
        }
        if n < k {
            chosen.extend_from_slice(candidates);
            chosen.extend((n..k).map(|_| candidates[index(rng, n)]));
            return;
        }
        draw_first(rng, candidates, k);
        chosen.extend_from_slice(&candidates[..k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Purpose, Streams};

    fn items(queue: &Queue) -> Vec<u32> {
        queue.views.iter().map(|kept| kept.item).collect()
    }

    #[test]
    fn the_oldest_or_the_youngest_leaves() {
        for (order, left) in [(Order::Fifo, [2, 3, 4]), (Order::Lifo, [0, 1, 4])] {
            let mut queue = Queue::new();
            (0..5).for_each(|item| queue.insert(item, &[item as f32], 3, order));
            assert_eq!(items(&queue), left);
            assert_eq!(queue.get(2).matrix, [4.0]);
            queue.clear();
            queue.insert(9, &[], 3, order);
            assert_eq!((items(&queue), queue.get(0).matrix.len()), (vec![9], 0));
        }
    }

    #[test]
    fn negatives_differ_while_there_are_enough_and_all_come_as_often() {
        let mut queue = Queue::new();
        (0..10).for_each(|item| queue.insert(item, &[], 10, Order::Fifo));
        let mut rng = Streams::new(3).global(Purpose(*b"testtest"));
        let mut counts = [0u32; 10];
        for _ in 0..3_000 {
            let mut chosen = Vec::new();
            queue.draw(3, |item| item % 2 == 0, &mut rng, &mut chosen);
            chosen.iter().for_each(|place| counts[*place as usize] += 1);
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(chosen.len(), 3);
        }
        // Each of five with probability 3/5: a deviation of 27.
        assert!((0..10).all(|i| if i % 2 == 0 {
            counts[i].abs_diff(1_800) < 108
        } else {
            counts[i] == 0
        }));
        let mut chosen = Vec::new();
        queue.draw(7, |item| item < 2, &mut rng, &mut chosen);
        assert_eq!((chosen.len(), &chosen[..2]), (7, [0, 1].as_slice()));
        assert!(chosen.iter().all(|place| *place < 2));
        chosen.clear();
        queue.draw(7, |_| false, &mut rng, &mut chosen);
        assert!(chosen.is_empty());
    }
}
